/* See trace.h. Events of others in the same file are passed over: the format is meant to be mixed. */
#include "trace.h"

#include "coexgc.h"
#include "numerals.h"
#include "text.h"

#include <search.h>
#include <stdlib.h>
#include <string.h>

#define TRACE_ADD(trace, name)                                                                                                     \
    ((void)((trace)->name = trace_make_room((trace)->name, (trace)->name##_count, &(trace)->name##_room, sizeof *(trace)->name)),  \
     &(trace)->name[(trace)->name##_count++])

static void *trace_make_room(void *list, size_t count, size_t *room, size_t size)
{
    if (count < *room) return list;
    *room = *room == 0 ? 64 : *room * 2;
    char *larger = command_allocate(list, *room * size);
    memset(larger + count * size, 0, (*room - count) * size);
    return larger;
}

/* ------------------------------------------------------------ one event */

enum { EVENT_VALUES = 16, EVENT_TEXT = 640 };

struct event_value {
    char key[24];
    double number;
    char text[EVENT_TEXT]; /* "": it is a number */
};

struct event {
    char phase[4], category[16], name[128];
    double at, length; /* seconds; microseconds while the event is read */
    double thread;
    int count;
    struct event_value value[EVENT_VALUES];
};

static void event_copy(char *to, size_t room, const struct json_reader *reader) { text_copy(to, room, reader->text); }

static bool event_read_values(struct event *event, struct json_reader *reader)
{
    enum json_token token;
    while ((token = json_next(reader)) == JSON_KEY) {
        struct event_value spare, *value = event->count < EVENT_VALUES ? &event->value[event->count++] : &spare;
        memset(value, 0, sizeof *value);
        event_copy(value->key, sizeof value->key, reader);
        token = json_next(reader);
        if (token == JSON_NUMBER)
            value->number = reader->number;
        else if (token == JSON_STRING)
            event_copy(value->text, sizeof value->text, reader);
        else if (!json_skip(reader, token))
            return false;
    }
    return token == JSON_OBJECT_END;
}

static bool event_read_field(struct event *event, struct json_reader *reader)
{
    char key[16];
    event_copy(key, sizeof key, reader);
    enum json_token token = json_next(reader);
    if (token == JSON_STRING && strcmp(key, "ph") == 0)
        event_copy(event->phase, sizeof event->phase, reader);
    else if (token == JSON_STRING && strcmp(key, "cat") == 0)
        event_copy(event->category, sizeof event->category, reader);
    else if (token == JSON_STRING && strcmp(key, "name") == 0)
        event_copy(event->name, sizeof event->name, reader);
    else if (token == JSON_NUMBER && strcmp(key, "ts") == 0)
        event->at = reader->number;
    else if (token == JSON_NUMBER && strcmp(key, "dur") == 0)
        event->length = reader->number;
    else if (token == JSON_NUMBER && strcmp(key, "tid") == 0)
        event->thread = reader->number;
    else if (token == JSON_OBJECT && strcmp(key, "args") == 0)
        return event_read_values(event, reader);
    else
        return json_skip(reader, token);
    return true;
}

static double event_number(const struct event *event, const char *key)
{
    for (int i = 0; i < event->count; i++) {
        if (strcmp(event->value[i].key, key) == 0) return event->value[i].number;
    }
    return 0;
}

static const char *event_text(const struct event *event, const char *key)
{
    for (int i = 0; i < event->count; i++) {
        if (strcmp(event->value[i].key, key) == 0) return event->value[i].text;
    }
    return "";
}

static bool event_is(const struct event *event, const char *phase, const char *category)
{
    return strcmp(event->phase, phase) == 0 && strcmp(event->category, category) == 0;
}

/* ---------------------------------------------------------- is it ours? */

static bool event_is_ours(const struct event *event)
{
    static const char *const kinds[][2] = {{"X", "cycle"},  {"X", "stop"}, {"X", "handshake"}, {"X", "stage"},
                                           {"C", "heap"},   {"C", "user"}, {"C", "handles"},   {"i", "type"},
                                           {"i", "blocks"}, {"i", "late"}, {"i", "native"}};
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        if (event_is(event, kinds[i][0], kinds[i][1])) return true;
    }
    return false;
}

static bool event_check_number(struct json_reader *reader, const char *key, double number)
{
    if (number >= 0 && number <= TRACE_MOST) return true;
    char shown[24];
    text_copy(shown, sizeof shown, key);
    json_refuse(reader, "the event's \"%s\" is %g, and not from 0 to 2^64", shown, number);
    return false;
}

/* Is all of an event of this collector as the collector would write it? */
static bool event_check(const struct event *event, struct json_reader *reader)
{
    if (!event_check_number(reader, "ts", event->at) || !event_check_number(reader, "dur", event->length)) return false;
    for (int i = 0; i < event->count; i++) {
        if (!event_check_number(reader, event->value[i].key, event->value[i].number)) return false;
    }
    const char *full = event_text(event, "full");
    if (!event_is(event, "i", "blocks") || full[strspn(full, "0123456789abcdef")] == '\0') return true;
    json_refuse(reader, "the event's \"full\" has a character that is not a hexadecimal digit");
    return false;
}

/* ------------------------------------------------------------- the lists */

/* An entry of a tree. */
struct trace_key {
    double id;
    const char *text; /* NULL: the id counts */
    uint32_t index;
};

static int trace_compare_keys(const void *a, const void *b)
{
    const struct trace_key *left = a, *right = b;
    if (left->text != NULL) return strcmp(left->text, right->text);
    return left->id < right->id ? -1 : left->id > right->id;
}

/* Returns the index that the key has in the tree. A key that is new is copied and gets the index that it came with. */
static uint32_t trace_find(void **tree, const struct trace_key *key)
{
    struct trace_key *const *found = tfind(key, tree, trace_compare_keys);
    if (found != NULL) return (*found)->index;
    struct trace_key *copy = command_allocate(NULL, sizeof *copy);
    *copy = *key;
    if (tsearch(copy, tree, trace_compare_keys) == NULL) command_out_of_memory(sizeof *copy);
    return key->index;
}

static uint32_t trace_thread_of(struct trace *trace, double id)
{
    struct trace_key key = {.id = id, .index = (uint32_t)trace->thread_count};
    uint32_t index = trace_find(&trace->thread_tree, &key);
    if (index < trace->thread_count) return index;
    struct trace_thread *thread = TRACE_ADD(trace, thread);
    thread->id = id;
    snprintf(thread->name, sizeof thread->name, "thread %.15g", id);
    return index;
}

/* The text of a new key must last: it becomes the list's before the tree sees it. */
static uint32_t trace_name_of(struct trace_name **list, size_t *count, size_t *room, void **tree, const char *text)
{
    char *copy = command_allocate(NULL, strlen(text) + 1);
    strcpy(copy, text);
    struct trace_key key = {.text = copy, .index = (uint32_t)*count};
    uint32_t index = trace_find(tree, &key);
    if (index < *count) {
        free(copy);
        return index;
    }
    *list = trace_make_room(*list, *count, room, sizeof **list);
    (*list)[(*count)++].text = copy;
    return index;
}

#define TRACE_NAME(trace, list, text)                                                                                              \
    trace_name_of(&(trace)->list, &(trace)->list##_count, &(trace)->list##_room, &(trace)->list##_tree, text)

static void trace_take_span(struct trace *trace, const struct event *event)
{
    if (event_is(event, "X", "cycle")) {
        *TRACE_ADD(trace, cycle) = (struct trace_cycle){.begin = event->at,
                                                        .length = event->length,
                                                        .number = event_number(event, "cycle"),
                                                        .marked = event_number(event, "marked"),
                                                        .swept = event_number(event, "swept"),
                                                        .used_before = event_number(event, "used_before")};
    } else if (event_is(event, "X", "stop")) {
        uint32_t thread = trace_thread_of(trace, event->thread);
        *TRACE_ADD(trace, stop) = (struct trace_stop){.at = event->at,
                                                      .length = event->length,
                                                      .cpu = event_number(event, "cpu_us") / 1e6,
                                                      .answer = event_number(event, "answer_us") / 1e6,
                                                      .thread = thread};
    } else if (event_is(event, "X", "handshake")) {
        struct trace_handshake *handshake = TRACE_ADD(trace, handshake);
        handshake->at = event->at;
        handshake->length = event->length;
        text_copy(handshake->request, sizeof handshake->request, event_text(event, "request"));
    }
}

static void trace_take_counter(struct trace *trace, const struct event *event)
{
    if (event_is(event, "C", "heap"))
        *TRACE_ADD(trace, heap) = (struct trace_heap){event->at,
                                                      event_number(event, "used"),
                                                      event_number(event, "goal"),
                                                      event_number(event, "live"),
                                                      event_number(event, "committed"),
                                                      event_number(event, "external")};
    else if (event_is(event, "C", "handles"))
        *TRACE_ADD(trace, handles) = (struct trace_handles){event->at, event_number(event, "in_use"),
                                                            event_number(event, "retired"), event_number(event, "table")};
    else if (event_is(event, "C", "user"))
        *TRACE_ADD(trace, point) =
            (struct trace_point){event->at, event_number(event, "value"), TRACE_NAME(trace, counter, event->name)};
}

static void trace_take_instant(struct trace *trace, const struct event *event)
{
    if (event_is(event, "i", "type")) {
        uint32_t type = TRACE_NAME(trace, type, event_text(event, "type"));
        *TRACE_ADD(trace, survival) = (struct trace_survival){event->at,
                                                              event_number(event, "live"),
                                                              event_number(event, "live_bytes"),
                                                              event_number(event, "dead"),
                                                              event_number(event, "dead_bytes"),
                                                              type};
    } else if (event_is(event, "i", "blocks")) {
        const char *full = event_text(event, "full");
        char *copy = command_allocate(NULL, strlen(full) + 1);
        strcpy(copy, full);
        *TRACE_ADD(trace, map) =
            (struct trace_map){event->at, event_number(event, "blocks"), event_number(event, "block_bytes"), copy};
    } else if (event_is(event, "i", "late")) {
        uint32_t thread = trace_thread_of(trace, event->thread);
        *TRACE_ADD(trace, late) = (struct trace_late){event->at, event_number(event, "ms"), thread};
    } else if (event_is(event, "i", "native")) {
        uint32_t index = trace_thread_of(trace, event->thread);
        trace->thread[index].native++;
    }
}

/* Stages are kept until the cycle they are of comes, which is written behind them. */
struct trace_stages {
    double begin[TRACE_STAGES], length[TRACE_STAGES];
};

static void trace_take_stage(struct trace *trace, struct trace_stages *stages, const struct event *event)
{
    if (event_is(event, "X", "stage")) {
        uint32_t stage = TRACE_NAME(trace, stage_name, event->name);
        if (stage >= TRACE_STAGES) return;
        stages->begin[stage] = event->at;
        stages->length[stage] = event->length;
    } else if (event_is(event, "X", "cycle")) {
        struct trace_cycle *cycle = &trace->cycle[trace->cycle_count - 1];
        for (int i = 0; i < TRACE_STAGES; i++) {
            if (stages->begin[i] >= cycle->begin - 1e-6) cycle->stage[i] = stages->length[i];
        }
        memset(stages, 0, sizeof *stages);
    }
}

static void trace_take_name(struct trace *trace, const struct event *event)
{
    if (strcmp(event->name, "thread_name") != 0) return;
    uint32_t index = trace_thread_of(trace, event->thread); /* before the list is looked at: it may move */
    struct trace_thread *thread = &trace->thread[index];
    text_copy(thread->name, sizeof thread->name, event_text(event, "name"));
}

/* Returns false if the event is of this collector and a number of it makes no sense. */
static bool trace_take(struct trace *trace, struct trace_stages *stages, struct event *event, struct json_reader *reader)
{
    if (strcmp(event->phase, "M") == 0) trace_take_name(trace, event);
    if (!event_is_ours(event)) return true;
    if (!event_check(event, reader)) return false;
    event->at /= 1e6;
    event->length /= 1e6;
    if (event->at + event->length > trace->end) trace->end = event->at + event->length;
    trace_take_span(trace, event);
    trace_take_counter(trace, event);
    trace_take_instant(trace, event);
    trace_take_stage(trace, stages, event);
    return true;
}

/* -------------------------------------------------------------- the file */

static bool trace_read_events(struct trace *trace, struct json_reader *reader)
{
    struct trace_stages stages = {{0}, {0}};
    struct event event;
    enum json_token token;
    while ((token = json_next(reader)) != JSON_ARRAY_END) {
        if (token != JSON_OBJECT)
            return token == JSON_ERROR ? false : json_refuse(reader, "an event that is no object") != JSON_ERROR;
        memset(&event, 0, offsetof(struct event, value));
        while ((token = json_next(reader)) == JSON_KEY) {
            if (!event_read_field(&event, reader)) return false;
        }
        if (token != JSON_OBJECT_END || !trace_take(trace, &stages, &event, reader)) return false;
    }
    return true;
}

static bool trace_read_other(struct trace *trace, struct json_reader *reader)
{
    struct event event;
    memset(&event, 0, sizeof event);
    if (!event_read_values(&event, reader)) return false;
    text_copy(trace->writer, sizeof trace->writer, event_text(&event, "writer"));
    trace->events = event_number(&event, "events");
    trace->dropped = event_number(&event, "dropped");
    return event_check_number(reader, "events", trace->events) && event_check_number(reader, "dropped", trace->dropped);
}

static bool trace_read_file(struct trace *trace, struct json_reader *reader)
{
    enum json_token token = json_next(reader);
    bool any = token == JSON_ARRAY;
    if (any && !trace_read_events(trace, reader)) return false; /* the short form: events and nothing else */
    if (!any && token != JSON_OBJECT) return json_refuse(reader, "this is not a trace: neither an object nor a list") != JSON_ERROR;
    while (token == JSON_OBJECT || token == JSON_KEY) {
        token = json_next(reader);
        if (token != JSON_KEY) break;
        bool events = strcmp(reader->text, "traceEvents") == 0, other = strcmp(reader->text, "otherData") == 0;
        enum json_token first = json_next(reader);
        bool good = events && first == JSON_ARRAY   ? trace_read_events(trace, reader)
                    : other && first == JSON_OBJECT ? trace_read_other(trace, reader)
                                                    : json_skip(reader, first);
        if (!good) return false;
        any = any || events;
    }
    if (token == JSON_ERROR || json_next(reader) != JSON_END) return false;
    return any || json_refuse(reader, "this is not a trace: it has no traceEvents") != JSON_ERROR;
}

/* Each sample of types lies within its cycle. */
static void trace_sum_types(struct trace *trace)
{
    size_t at = 0;
    for (size_t i = 0; i < trace->cycle_count; i++) {
        struct trace_cycle *cycle = &trace->cycle[i];
        for (; at < trace->survival_count && trace->survival[at].at <= cycle->begin + cycle->length; at++) {
            if (trace->survival[at].at < cycle->begin) continue;
            cycle->live_bytes += trace->survival[at].live_bytes;
            cycle->dead_bytes += trace->survival[at].dead_bytes;
        }
    }
}

bool trace_read(struct trace *trace, struct json_reader *reader)
{
    memset(trace, 0, sizeof *trace);
    struct numerals numerals = numerals_enter();
    bool good = trace_read_file(trace, reader);
    numerals_leave(numerals);
    if (!good) return false;
    if (trace->cycle_count + trace->heap_count + trace->stop_count == 0 && strncmp(trace->writer, "coexgc", 6) != 0)
        return json_refuse(reader, "no event in it is of this collector") != JSON_ERROR;
    trace_sum_types(trace);
    return true;
}

static void trace_free_names(struct trace_name *names, size_t count)
{
    for (size_t i = 0; i < count; i++) free(names[i].text);
    free(names);
}

void trace_free(struct trace *trace)
{
    for (size_t i = 0; i < trace->map_count; i++) free(trace->map[i].full);
    trace_free_names(trace->type, trace->type_count);
    trace_free_names(trace->counter, trace->counter_count);
    trace_free_names(trace->stage_name, trace->stage_name_count);
    void *const trees[] = {trace->thread_tree, trace->type_tree, trace->counter_tree, trace->stage_name_tree};
    for (size_t i = 0; i < sizeof trees / sizeof trees[0]; i++) tdestroy(trees[i], free);
    free(trace->cycle);
    free(trace->heap);
    free(trace->handles);
    free(trace->stop);
    free(trace->handshake);
    free(trace->thread);
    free(trace->survival);
    free(trace->map);
    free(trace->point);
    free(trace->late);
    memset(trace, 0, sizeof *trace);
}
