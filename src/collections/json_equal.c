/* Equality and hash of whole values, without recursion: the containers that are being looked at are on a stack outside of the heap. They need no
 * roots, as in json_print.c. */
#include "collections/json_value.h"

#include "collections/string.h"

#include "base/os.h"

#include <coex/collections/list.h>

enum { JSON_POLL = 512 }; /* values between two polls */

struct json_visit {
    coex_handle a, b; /* b: what is compared with */
    uint64_t cursor;
    uint64_t sum; /* hash so far */
    uint64_t key; /* hash of the key whose value is being looked at */
    bool is_object;
};

struct json_visits {
    struct json_visit *visit;
    uint64_t depth, room;
    uint64_t values;
};

static bool json_visits_push(struct json_visits *visits, coex_handle a, coex_handle b, bool is_object)
{
    if (visits->depth == visits->room) {
        uint64_t room = visits->room == 0 ? 32 : visits->room * 2;
        struct json_visit *larger = cx_os_allocate(room * sizeof *larger);
        if (larger == NULL) return cx_fail_false(COEX_STATUS_MEMORY);
        if (visits->depth != 0) memcpy(larger, visits->visit, visits->depth * sizeof *larger);
        cx_os_free(visits->visit);
        visits->visit = larger;
        visits->room = room;
    }
    visits->visit[visits->depth++] = (struct json_visit){.a = a, .b = b, .is_object = is_object};
    return true;
}

static void json_visits_poll(struct json_visits *visits)
{
    if (++visits->values % JSON_POLL == 0) coex_gc_safepoint();
}

/* The next value of the innermost container, and its key if it is an object; false at the end. */
static bool json_visits_next(struct json_visit *visit, coex_handle *key, coex_handle *value)
{
    if (visit->is_object) return cx_json_object_next(visit->a, &visit->cursor, key, value);
    if (visit->cursor == coex_list_len(visit->a)) return false;
    *value = coex_list_get(visit->a, visit->cursor++);
    return true;
}

/* --------------------------------------------------------------- equality */

static bool json_equal_numbers(coex_handle a, coex_handle b)
{
    struct json_scalar x, y;
    return cx_json_number(a, &x) && cx_json_number(b, &y) && x.kind == y.kind && x.bits == y.bits;
}

/* Two values: true if they are equal as far as this goes; containers of the same size are put on the stack. */
static bool json_equal_step(struct json_visits *visits, coex_handle a, coex_handle b)
{
    if (a == b) return true;
    coex_json_kind kind = coex_json_kind_of(a);
    if (kind != coex_json_kind_of(b)) return false;
    switch (kind) {
    case COEX_JSON_INT:
    case COEX_JSON_FLOAT:
        return json_equal_numbers(a, b);
    case COEX_JSON_STRING:
        return coex_string_equal(a, b);
    case COEX_JSON_ARRAY:
    case COEX_JSON_OBJECT:
        return coex_json_len(a) == coex_json_len(b) && json_visits_push(visits, a, b, kind == COEX_JSON_OBJECT);
    default:
        return false; /* equal ones are equal words */
    }
}

static bool json_equal_next(struct json_visits *visits)
{
    struct json_visit *visit = &visits->visit[visits->depth - 1];
    coex_handle key = 0, value = 0, other;
    uint64_t index = visit->cursor;
    if (!json_visits_next(visit, &key, &value)) {
        visits->depth--;
        return true;
    }
    if (visit->is_object) {
        struct json_text text;
        json_text_of(key, &text);
        other = cx_json_find(visit->b, &text);
    } else {
        other = coex_list_get(visit->b, index);
    }
    return json_equal_step(visits, value, other);
}

bool coex_json_equal(coex_handle a, coex_handle b)
{
    struct json_visits visits = {0};
    if (!json_is_json(a) || !json_is_json(b)) return cx_fail_false(COEX_STATUS_KIND);
    bool equal = json_equal_step(&visits, a, b);
    while (equal && visits.depth != 0) {
        equal = json_equal_next(&visits);
        json_visits_poll(&visits);
    }
    cx_os_free(visits.visit);
    return equal;
}

/* ------------------------------------------------------------------- hash */

/* Of anything but a container. */
static uint64_t json_hash_scalar(coex_handle json)
{
    struct json_scalar number;
    if (cx_json_number(json, &number)) return cx_hash_word(number.bits + number.kind * UINT64_C(0x9e3779b97f4a7c15));
    return coex_kind_of(json) == COEX_KIND_STRING ? coex_string_hash(json) : cx_hash_word(json);
}

/* A value's hash goes into that of the container around it. Entries of an object are summed, so that order does not matter. */
static void json_hash_add(struct json_visit *visit, uint64_t hash)
{
    if (visit->is_object)
        visit->sum += cx_hash_word(visit->key ^ cx_hash_word(hash));
    else
        visit->sum = cx_hash_word(visit->sum ^ hash);
}

/* Takes the innermost container off; its hash. */
static uint64_t json_hash_close(struct json_visits *visits)
{
    const struct json_visit *visit = &visits->visit[--visits->depth];
    return cx_hash_word(visit->sum + (visit->is_object ? 1 : 2) * UINT64_C(0xd6e8feb86659fd93));
}

uint64_t coex_json_hash(coex_handle json)
{
    struct json_visits visits = {0};
    uint64_t hash = 0;
    if (!json_is_json(json)) return cx_fail(COEX_STATUS_KIND);
    for (coex_handle key = 0, value = json;;) {
        coex_json_kind kind = coex_json_kind_of(value);
        bool container = kind == COEX_JSON_ARRAY || kind == COEX_JSON_OBJECT;
        if (container && !json_visits_push(&visits, value, 0, kind == COEX_JSON_OBJECT)) break;
        if (!container) hash = json_hash_scalar(value);
        if (!container && visits.depth != 0) json_hash_add(&visits.visit[visits.depth - 1], hash);
        json_visits_poll(&visits);
        while (visits.depth != 0 && !json_visits_next(&visits.visit[visits.depth - 1], &key, &value)) {
            hash = json_hash_close(&visits);
            if (visits.depth != 0) json_hash_add(&visits.visit[visits.depth - 1], hash);
        }
        if (visits.depth == 0) {
            cx_os_free(visits.visit);
            return hash;
        }
        if (visits.visit[visits.depth - 1].is_object) visits.visit[visits.depth - 1].key = coex_string_hash(key);
    }
    cx_os_free(visits.visit);
    return 0;
}
