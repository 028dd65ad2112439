/* Writes a trace as trace-event JSON, one event a line: https://ui.perfetto.dev, chrome://tracing and `coexgc report` read it.
 *
 * Lanes (tid): the collector has one of its own, whoever runs the cycle; each thread that stopped has its own. Times are microseconds
 * from the start of the trace. What happened is written with its duration ("X") when its end is in the ring; since records are put at
 * the end of what they tell, the file is in order of ends, which readers sort. */
#include "base/os.h"
#include "diag/escape.h"
#include "diag/events/trace.h"
#include "gc/cycle/stages.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

enum {
    JSON_COLLECTOR = 4194305, /* above the largest thread id that Linux gives out */
    JSON_THREADS = 1024       /* named at most; a power of two */
};

struct json {
    FILE *file;
    uint64_t pid;
    uint64_t begin_ns;
    bool any; /* an event is written: the next needs a comma */
    uint32_t thread[JSON_THREADS];
    char map[CX_TRACE_MAP_CELLS + 1]; /* cells so far */
};

static void json_text(FILE *file, const char *text)
{
    char shown[256], piece[CX_ESCAPE_ROOM];
    size_t used = 0;
    shown[used++] = '"';
    while ((text = cx_escape_json(text, piece)) != NULL) {
        size_t length = strlen(piece);
        if (used + length > sizeof shown - 1) {
            fwrite(shown, 1, used, file);
            used = 0;
        }
        memcpy(shown + used, piece, length);
        used += length;
    }
    shown[used++] = '"';
    fwrite(shown, 1, used, file);
}

static void json_micros(struct json *json, const char *before, uint64_t ns)
{
    fprintf(json->file, "%s%" PRIu64 ".%03" PRIu64, before, ns / 1000, ns % 1000);
}

/* Opens an event; the caller writes the rest from ,"args" on and the brace. */
static void json_open(struct json *json, const char *phase, const char *category, const char *name, const struct cx_trace_record *record,
                      uint64_t length_ns)
{
    uint64_t end_ns = record->time_ns;
    uint64_t begin = end_ns - length_ns > json->begin_ns && end_ns >= length_ns ? end_ns - length_ns - json->begin_ns : 0;
    fprintf(json->file, "%s{\"ph\":\"%s\",\"cat\":\"%s\",\"name\":", json->any ? ",\n" : "", phase, category);
    json->any = true;
    json_text(json->file, name);
    fprintf(json->file, ",\"pid\":%" PRIu64 ",\"tid\":%" PRIu64, json->pid,
            record->thread == 0 ? (uint64_t)JSON_COLLECTOR : record->thread);
    json_micros(json, ",\"ts\":", begin);
    if (*phase == 'X') json_micros(json, ",\"dur\":", length_ns);
}

static void json_name(struct json *json, const char *what, uint64_t thread, const char *name)
{
    fprintf(json->file,
            "%s{\"ph\":\"M\",\"name\":\"%s\",\"pid\":%" PRIu64 ",\"tid\":%" PRIu64 ",\"args\":{\"name\":", json->any ? ",\n" : "",
            what, json->pid, thread);
    json->any = true;
    json_text(json->file, name);
    fputs("}}", json->file);
}

/* A thread is named once, by the name that it has now. */
static void json_meet(struct json *json, uint32_t id)
{
    for (uint32_t i = 0; i < 16; i++) {
        uint32_t *place = &json->thread[(id + i) % JSON_THREADS];
        if (*place == id) return;
        if (*place != 0) continue;
        char name[64], shown[96];
        *place = id;
        if (cx_os_thread_name(id, name, sizeof name))
            snprintf(shown, sizeof shown, "%s %u", name, id);
        else
            snprintf(shown, sizeof shown, "thread %u", id);
        json_name(json, "thread_name", id, shown);
        return;
    }
}

static const char *json_request(uint64_t kind)
{
    static const char *const names[] = {"none", "sync", "roots", "flush", "idle"};
    return kind < sizeof names / sizeof names[0] ? names[kind] : "?";
}

/* ------------------------------------------------------------- the kinds */

static void json_cycle(struct json *json, const struct cx_trace_record *record)
{
    const uint64_t *v = record->value;
    json_open(json, "X", "cycle", "cycle", record, v[1]);
    fprintf(json->file,
            ",\"args\":{\"cycle\":%" PRIu64 ",\"marked\":%" PRIu64 ",\"swept\":%" PRIu64 ",\"used_before\":%" PRIu64 "}}", v[0],
            v[2], v[3], v[4]);
}

static void json_stop(struct json *json, const struct cx_trace_record *record)
{
    const uint64_t *v = record->value;
    json_meet(json, record->thread);
    json_open(json, "X", "stop", "stop", record, v[1]);
    json_micros(json, ",\"args\":{\"cpu_us\":", v[0]);
    json_micros(json, ",\"answer_us\":", v[2]);
    fputs("}}", json->file);
}

static void json_native(struct json *json, const struct cx_trace_record *record)
{
    json_meet(json, record->thread);
    json_open(json, "i", "native", "answered in native mode", record, 0);
    fprintf(json->file, ",\"s\":\"t\",\"args\":{\"request\":\"%s\"}}", json_request(record->value[1]));
}

static void json_late(struct json *json, const struct cx_trace_record *record)
{
    json_meet(json, record->thread);
    json_open(json, "i", "late", "late", record, 0);
    fprintf(json->file, ",\"s\":\"p\",\"args\":{\"ms\":%" PRIu64 "}}", record->value[1]);
}

static void json_counters(struct json *json, const struct cx_trace_record *record, const char *name, const char *const *fields)
{
    json_open(json, "C", name, name, record, 0);
    fputs(",\"args\":", json->file);
    for (int i = 0; fields[i] != NULL; i++)
        fprintf(json->file, "%s\"%s\":%" PRIu64, i == 0 ? "{" : ",", fields[i], record->value[i]);
    fputs("}}", json->file);
}

static void json_type(struct json *json, const struct cx_trace_record *record)
{
    const uint64_t *v = record->value;
    const struct cx_type *type = cx_type_find(&cx_world.types, (uint32_t)v[0]);
    json_open(json, "i", "type", "type", record, 0);
    fputs(",\"s\":\"t\",\"args\":{\"type\":", json->file);
    json_text(json->file, v[0] == 0 ? "others" : type != NULL ? type->descriptor->name : "?");
    fprintf(json->file, ",\"live\":%" PRIu64 ",\"live_bytes\":%" PRIu64 ",\"dead\":%" PRIu64 ",\"dead_bytes\":%" PRIu64 "}}", v[1],
            v[2], v[3], v[4]);
}

/* Written when its last part is there; a map whose beginning was overwritten is left out. */
static void json_map(struct json *json, const struct cx_trace_record *record)
{
    uint64_t part = record->value[0] >> 48, cells = record->value[0] >> 32 & 0xffff, blocks = record->value[0] & 0xffffffff;
    if (part == 0) json->map[0] = '\0';
    size_t from = (size_t)part * 64, at = 0;
    while (json->map[at] != '\0') at++;
    if (at != from || cells > CX_TRACE_MAP_CELLS) return;
    for (size_t i = 0; i < 64 && from + i < cells; i++) {
        json->map[from + i] = "0123456789abcdef"[record->value[1 + i / 16] >> (i % 16 * 4) & 15];
        json->map[from + i + 1] = '\0';
    }
    if (from + 64 < cells) return;
    json_open(json, "i", "blocks", "blocks", record, 0);
    fprintf(json->file, ",\"s\":\"t\",\"args\":{\"blocks\":%" PRIu64 ",\"block_bytes\":%d,\"full\":\"%s\"}}", blocks,
            CX_BLOCK_BYTES, json->map);
    json->map[0] = '\0';
}

static void json_record(struct json *json, const struct cx_trace_record *record)
{
    static const char *const heap[] = {"used", "goal", "live", "committed", "external", NULL};
    static const char *const handles[] = {"in_use", "retired", "table", NULL};
    const uint64_t *v = record->value;
    switch ((enum cx_trace_kind)record->kind) {
    case CX_TRACE_CYCLE:
        json_cycle(json, record);
        break;
    case CX_TRACE_STAGE:
        json_open(json, "X", "stage", cx_cycle_stage_name(v[0]), record, v[1]);
        fputs("}", json->file);
        break;
    case CX_TRACE_HANDSHAKE:
        json_open(json, "X", "handshake", "handshake", record, v[0]);
        fprintf(json->file, ",\"args\":{\"request\":\"%s\"}}", json_request(v[1]));
        break;
    case CX_TRACE_STOP:
        json_stop(json, record);
        break;
    case CX_TRACE_NATIVE:
        json_native(json, record);
        break;
    case CX_TRACE_LATE:
        json_late(json, record);
        break;
    case CX_TRACE_HEAP:
        json_counters(json, record, "heap", heap);
        break;
    case CX_TRACE_HANDLES:
        json_counters(json, record, "handles", handles);
        break;
    case CX_TRACE_TYPE:
        json_type(json, record);
        break;
    case CX_TRACE_MAP:
        json_map(json, record);
        break;
    case CX_TRACE_COUNTER:
        json_open(json, "C", "user", (const char *)(uintptr_t)v[0], record, 0);
        fprintf(json->file, ",\"args\":{\"value\":%" PRIu64 "}}", v[1]);
        break;
    }
}

int cx_trace_write_json(FILE *file, const struct cx_ring *ring, const struct cx_trace_extent *extent)
{
    struct json json = {.file = file, .pid = cx_os_process_id(), .begin_ns = extent->begin_ns};
    struct cx_trace_record record;
    uint64_t unread = 0;
    fputs("{\"displayTimeUnit\":\"ms\",\"traceEvents\":[\n", file);
    json_name(&json, "process_name", 0, "coexgc");
    json_name(&json, "thread_name", JSON_COLLECTOR, "collector");
    for (uint64_t ticket = extent->first; ticket < extent->last; ticket++) {
        if (ferror(file) != 0) return errno != 0 ? errno : EIO; /* a full disk: the rest would be made for nothing */
        if (cx_ring_get(ring, ticket, &record))
            json_record(&json, &record);
        else
            unread++;
    }
    const coex_gc_config *config = &cx_world.config;
    fprintf(file,
            "\n],\"otherData\":{\"writer\":\"coexgc %s\",\"events\":%" PRIu64 ",\"dropped\":%" PRIu64 ",\"percent\":%" PRIu64
            ",\"gc_threads\":%" PRIu64 "}}\n",
            COEX_GC_VERSION_STRING, extent->last - extent->first - unread, extent->dropped, config->percent, config->gc_threads);
    return ferror(file) == 0 ? 0 : errno != 0 ? errno : EIO;
}
