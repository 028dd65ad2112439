/* See options.h. Runs in init, on one thread. One row per option: where it may stand, what it means, its range. */
#include "gc/options.h"

#include "base/os.h"
#include "base/report.h"
#include "gc/error.h"
#include "gc/layout.h"

#include <limits.h>
#include <string.h>

#define OPTION_TUNING    "COEX_GC"
#define OPTION_DEBUGGING "COEX_GC_DEBUG"

enum option_unit { OPTION_COUNT, OPTION_BYTES, OPTION_SWITCH, OPTION_TEXT, OPTION_STRESS };

struct option {
    const char *variable;
    const char *name;
    enum option_unit unit;
    size_t offset;
    uint64_t least, most;
};

#define OPTION_TEXT_MOST 4095 /* bytes */

#define OPTION(variable, name, unit, field, least, most)                                                                           \
    {                                                                                                                              \
        variable, name, unit, offsetof(coex_gc_config, field), least, most                                                         \
    }

static const struct option option_table[] = {
    OPTION(OPTION_TUNING, "handles", OPTION_COUNT, initial_handles, 64, CX_MAX_HANDLES),
    OPTION(OPTION_TUNING, "maxhandles", OPTION_COUNT, max_handles, 4096, CX_MAX_HANDLES),
    OPTION(OPTION_TUNING, "heap", OPTION_BYTES, initial_heap, CX_BLOCK_BYTES, CX_MAX_OBJECT),
    OPTION(OPTION_TUNING, "heaplimit", OPTION_BYTES, heap_limit, 0, CX_MAX_OBJECT),
    OPTION(OPTION_TUNING, "memlimit", OPTION_BYTES, memlimit, 0, CX_MAX_OBJECT),
    OPTION(OPTION_TUNING, "percent", OPTION_COUNT, percent, 1, 1000000),
    OPTION(OPTION_TUNING, "allocations", OPTION_COUNT, trigger_allocations, 0, UINT64_MAX),
    OPTION(OPTION_TUNING, "slots", OPTION_COUNT, shadow_stack_slots, 1024, (uint64_t)1 << 31),
    OPTION(OPTION_TUNING, "threads", OPTION_COUNT, gc_threads, 0, 1),
    OPTION(OPTION_TUNING, "warn", OPTION_COUNT, safepoint_warn_ms, 1, 1000000000),
    OPTION(OPTION_TUNING, "trace", OPTION_COUNT, trace_level, 0, 4),
    OPTION(OPTION_TUNING, "gctrace", OPTION_SWITCH, gctrace, 0, 1),
    OPTION(OPTION_TUNING, "events", OPTION_TEXT, events, 1, OPTION_TEXT_MOST),
    OPTION(OPTION_DEBUGGING, "stress", OPTION_STRESS, stress, 0, UINT64_MAX),
    OPTION(OPTION_DEBUGGING, "poison", OPTION_SWITCH, poison, 0, 1),
    OPTION(OPTION_DEBUGGING, "verify", OPTION_SWITCH, verify, 0, 1),
    OPTION(OPTION_DEBUGGING, "barriers", OPTION_SWITCH, barriers, 0, CX_CHECKED),
    OPTION(OPTION_DEBUGGING, "stale", OPTION_SWITCH, stale, 0, 1),
};

#define OPTION_ROWS (sizeof option_table / sizeof option_table[0])

static uint64_t option_power_of_two_from(uint64_t value)
{
    uint64_t power = 1;
    while (power < value) power *= 2;
    return power;
}

void cx_options_default(coex_gc_config *config)
{
    /* No object takes less than 16 bytes, so memory can't hold more handles than this. */
    uint64_t handles = option_power_of_two_from(cx_os_physical_memory() / 16);
    *config = (coex_gc_config){
        .size = sizeof *config,
        .initial_handles = 1048576,
        .max_handles = handles < ((uint64_t)1 << 26) ? (uint64_t)1 << 26 : handles,
        .initial_heap = (uint64_t)64 << 20,
        .percent = 100,
        .shadow_stack_slots = (uint64_t)16 << 20,
        .gc_threads = 1,
        .safepoint_warn_ms = 1000,
    };
}

/* Where a text from the environment, or the caller's, is kept: there is one such option. Under the lock of init. */
static char option_text[OPTION_TEXT_MOST + 1];

/* False: it is empty, or too long. */
static bool option_set_text(coex_gc_config *config, const struct option *row, const char *text, size_t length)
{
    if (length < row->least || length > row->most) return false;
    memmove(option_text, text, length);
    option_text[length] = '\0';
    *(const char **)(void *)((char *)config + row->offset) = option_text;
    return true;
}

/* Of a text: its length; none is in order. */
static uint64_t option_get(const coex_gc_config *config, const struct option *row)
{
    const char *field = (const char *)config + row->offset;
    if (row->unit == OPTION_TEXT) {
        const char *text = *(const char *const *)(const void *)field;
        return text == NULL ? row->least : strlen(text);
    }
    if (row->unit == OPTION_SWITCH) return *(const bool *)(const void *)field;
    return *(const uint64_t *)(const void *)field;
}

static void option_set(coex_gc_config *config, const struct option *row, uint64_t value)
{
    char *field = (char *)config + row->offset;
    if (row->unit == OPTION_SWITCH)
        *(bool *)(void *)field = value != 0;
    else
        *(uint64_t *)(void *)field = value;
}

/* Reads digits; false if there are none or they pass 64 bits. */
static bool option_read_number(const char **text, const char *end, uint64_t *value)
{
    const char *at = *text;
    *value = 0;
    for (; at < end && *at >= '0' && *at <= '9'; at++) {
        uint64_t digit = (uint64_t)(*at - '0');
        if (*value > (UINT64_MAX - digit) / 10) return false;
        *value = *value * 10 + digit;
    }
    bool any = at > *text;
    *text = at;
    return any;
}

/* K, M, G, T in steps of 1024, with or without iB or B. False: something else, or past 64 bits. */
static bool option_apply_unit(const char *text, const char *end, uint64_t *value)
{
    static const char letters[] = "KMGT";
    const char *letter = text < end ? memchr(letters, *text, 4) : NULL;
    unsigned shift = 0;
    if (letter != NULL) {
        shift = 10 * (unsigned)(letter - letters + 1);
        text++;
        if (end - text == 2 && text[0] == 'i' && text[1] == 'B') text += 2;
    }
    if (end - text == 1 && *text == 'B') text++;
    if (text != end || *value > UINT64_MAX >> shift) return false;
    *value <<= shift;
    return true;
}

/* interval, min:interval or min:interval:max: a cycle at allocation `min` of a thread, then at every interval-th, up to max. In front of
 * it r: at random; w: wait for each. */
static bool option_read_stress(coex_gc_config *config, const char *text, const char *end)
{
    uint64_t number[3] = {0};
    int count = 0;
    bool random = false, wait = false;
    for (; text < end && (*text == 'r' || *text == 'w'); text++) *(*text == 'r' ? &random : &wait) = true;
    do {
        if (count > 0) text++; /* the colon */
        if (!option_read_number(&text, end, &number[count++])) return false;
    } while (count < 3 && text < end && *text == ':');
    if (text != end || (count == 3 && number[2] < number[0])) return false;
    config->stress = number[count > 1];
    config->stress_from = count > 1 ? number[0] : 0;
    config->stress_to = number[2];
    config->stress_random = random;
    config->stress_wait = wait;
    return true;
}

static int option_parse_one(coex_gc_config *config, const char *variable, const char *from, const char *end)
{
    const char *equals = memchr(from, '=', (size_t)(end - from));
    int shown = (int)(end - from > 60 ? 60 : end - from);
    if (equals == NULL)
        return cx_error_set(COEX_GC_EOPTION, "%s: '%.*s' must have the form option=value", variable,
                            shown, from);
    for (size_t i = 0; i < OPTION_ROWS; i++) {
        const struct option *row = &option_table[i];
        size_t length = strlen(row->name);
        if (strcmp(row->variable, variable) != 0 || length != (size_t)(equals - from) || memcmp(row->name, from, length) != 0)
            continue;
        const char *at = equals + 1;
        uint64_t value;
        if (row->unit == OPTION_TEXT) {
            if (option_set_text(config, row, at, (size_t)(end - at))) return COEX_GC_OK;
            return cx_error_set(
                COEX_GC_EOPTION,
                "%s: the value of '%.*s' must be the name of a file, at most %d bytes", variable,
                shown, from, OPTION_TEXT_MOST);
        }
        if (row->unit == OPTION_STRESS) {
            if (option_read_stress(config, at, end)) return COEX_GC_OK;
            return cx_error_set(COEX_GC_EOPTION,
                                "%s: the value of '%.*s' must be N, min:N or min:N:max", variable,
                                shown, from);
        }
        bool good =
            option_read_number(&at, end, &value) && (row->unit == OPTION_BYTES ? option_apply_unit(at, end, &value) : at == end);
        if (!good)
            return cx_error_set(COEX_GC_EOPTION, "%s: the value of '%.*s' must be %s", variable,
                                shown, from,
                                row->unit == OPTION_BYTES    ? "a size such as 64MiB"
                                : row->unit == OPTION_SWITCH ? "0 or 1"
                                                             : "a number");
        if (value < row->least || value > row->most)
            return cx_error_set(
                COEX_GC_EOPTION, "%s: the value of '%.*s' must be from %llu to %llu", variable,
                shown, from, (unsigned long long)row->least, (unsigned long long)row->most);
        option_set(config, row, value);
        return COEX_GC_OK;
    }
    return cx_error_set(COEX_GC_EOPTION, "%s: '%.*s' is not an option", variable,
                        (int)(equals - from > 60 ? 60 : equals - from), from);
}

int cx_options_parse(coex_gc_config *config, const char *variable, const char *text)
{
    while (text != NULL && *text != '\0') {
        const char *end = strchr(text, ',');
        if (end == NULL) end = text + strlen(text);
        int code = option_parse_one(config, variable, text, end);
        if (code != COEX_GC_OK) return code;
        text = *end == ',' ? end + 1 : end;
    }
    return COEX_GC_OK;
}

static int options_take_given(coex_gc_config *config, const coex_gc_config *given)
{
    if (given == NULL) return COEX_GC_OK;
    if (given->size < offsetof(coex_gc_config, initial_heap) || given->size > 4096)
        return cx_error_set(
            COEX_GC_EINVAL,
            "coex_gc_init_with: config->size is %llu; coex_gc_config_default sets it",
            (unsigned long long)given->size);
    memcpy(config, given, given->size < sizeof *config ? (size_t)given->size : sizeof *config);
    config->size = sizeof *config;
    for (size_t i = 0; i < OPTION_ROWS; i++) { /* the caller's texts are the caller's */
        const struct option *row = &option_table[i];
        const char *text = row->unit == OPTION_TEXT ? *(const char **)(void *)((char *)config + row->offset) : NULL;
        if (text != NULL && !option_set_text(config, row, text, strlen(text)))
            return cx_error_set(
                COEX_GC_EINVAL,
                "coex_gc_init_with: option %s must be the name of a file, at most %d bytes",
                row->name, OPTION_TEXT_MOST);
    }
    return COEX_GC_OK;
}

static int options_check(const coex_gc_config *config)
{
    for (size_t i = 0; i < OPTION_ROWS; i++) {
        const struct option *row = &option_table[i];
        uint64_t value = option_get(config, row);
        if (value < row->least || value > row->most)
            return cx_error_set(COEX_GC_EINVAL, "option %s is %llu, but must be from %llu to %llu",
                                row->name, (unsigned long long)value,
                                (unsigned long long)row->least, (unsigned long long)row->most);
    }
    if (config->initial_handles > config->max_handles)
        return cx_error_set(COEX_GC_EINVAL, "initial_handles must not exceed max_handles");
    if (config->heap_limit != 0 && config->heap_limit < (uint64_t)1 << 20)
        return cx_error_set(COEX_GC_EINVAL, "heap_limit must be 0 or at least 1 MiB");
    return COEX_GC_OK;
}

int cx_options_resolve(coex_gc_config *config, const coex_gc_config *given)
{
    cx_options_default(config);
    int code = options_take_given(config, given);
    if (code == COEX_GC_OK) code = cx_options_parse(config, OPTION_TUNING, cx_os_environment(OPTION_TUNING));
    if (code == COEX_GC_OK) code = cx_options_parse(config, OPTION_DEBUGGING, cx_os_environment(OPTION_DEBUGGING));
    if (code == COEX_GC_OK) code = options_check(config);
    if (config->heap_limit != 0 && config->initial_heap > config->heap_limit) config->initial_heap = config->heap_limit;
    return code;
}
