/* The profile in pprof's format: a protocol buffer of the message perftools.profiles.Profile, not compressed, which pprof takes as well.
 * Addresses are written with the mappings they lie in and the names of their functions, so that the file says all by itself; lines and what
 * was inlined pprof finds in the programs, if it is asked to (-symbolize=force). Frames of the library were cut off when the samples were
 * taken, so there is no drop_frames.
 *
 * Works on a copy of the profile and holds no lock. */
#include "base/os.h"
#include "diag/escape.h"
#include "diag/events/profile_copy.h"
#include "diag/events/symbols.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* ----------------------------------------------------------- wire format */

struct pprof_buffer {
    unsigned char *bytes;
    size_t length, room;
    bool failed; /* no memory: what follows is dropped */
};

static void pprof_put(struct pprof_buffer *buffer, const void *bytes, size_t length)
{
    if (buffer->room - buffer->length < length && !buffer->failed) {
        size_t room = (buffer->room + length) * 2 + 256;
        unsigned char *larger = cx_os_allocate(room);
        buffer->failed = larger == NULL;
        if (!buffer->failed) {
            if (buffer->length != 0) memcpy(larger, buffer->bytes, buffer->length);
            cx_os_free(buffer->bytes);
            buffer->bytes = larger;
            buffer->room = room;
        }
    }
    if (buffer->failed || length == 0) return;
    memcpy(buffer->bytes + buffer->length, bytes, length);
    buffer->length += length;
}

static void pprof_put_number(struct pprof_buffer *buffer, uint64_t value)
{
    unsigned char bytes[10];
    size_t length = 0;
    for (; value >= 0x80; value >>= 7) bytes[length++] = (unsigned char)(value | 0x80);
    bytes[length++] = (unsigned char)value;
    pprof_put(buffer, bytes, length);
}

static void pprof_field(struct pprof_buffer *buffer, unsigned field, uint64_t value)
{
    if (value == 0) return; /* the default */
    pprof_put_number(buffer, field << 3);
    pprof_put_number(buffer, value);
}

static void pprof_bytes(struct pprof_buffer *buffer, unsigned field, const void *bytes, size_t length)
{
    pprof_put_number(buffer, field << 3 | 2);
    pprof_put_number(buffer, length);
    pprof_put(buffer, bytes, length);
}

/* The part becomes a field of the whole, and is empty again. */
static void pprof_message(struct pprof_buffer *whole, unsigned field, struct pprof_buffer *part)
{
    pprof_bytes(whole, field, part->bytes, part->length);
    whole->failed = whole->failed || part->failed;
    part->length = 0;
}

/* ------------------------------------------------------------- the profile */

enum {
    PROFILE_SAMPLE_TYPE = 1,
    PROFILE_SAMPLE = 2,
    PROFILE_MAPPING = 3,
    PROFILE_LOCATION = 4,
    PROFILE_FUNCTION = 5,
    PROFILE_STRING = 6,
    PROFILE_TIME = 9,
    PROFILE_PERIOD_TYPE = 11,
    PROFILE_PERIOD = 12,
    PROFILE_COMMENT = 13,
    PROFILE_DEFAULT_TYPE = 14
};

enum { PPROF_TYPES = 64 };

struct pprof {
    struct pprof_buffer whole, part, small;
    struct pprof_buffer strings; /* written last: fields of the whole already */
    uint64_t string_count;
    uint64_t *address; /* distinct, rising; the number in here + 1 is the location */
    size_t address_count;
    uint64_t mapping_count;
    struct pprof_map {
        uint64_t start, end, offset;
        bool has_symbols;
        struct cx_symbols symbols;
    } * map;
    uint64_t map_room;
    uint64_t type_key; /* the string "type" */
    struct pprof_type {
        uint32_t id;
        uint64_t name;   /* its string; 0: none yet */
    } type[PPROF_TYPES]; /* by id, the last one of each place */
};

/* Adds a string to the table, as UTF-8, and returns its number. It may be there already: few strings are written twice. */
static uint64_t pprof_string(struct pprof *pprof, const char *text)
{
    char piece[CX_ESCAPE_ROOM];
    while ((text = cx_escape_text(text, piece)) != NULL) pprof_put(&pprof->small, piece, strlen(piece));
    pprof_message(&pprof->strings, PROFILE_STRING, &pprof->small);
    return pprof->string_count++;
}

static void pprof_value_type(struct pprof *pprof, unsigned field, uint64_t type, uint64_t unit)
{
    pprof_field(&pprof->part, 1, type);
    pprof_field(&pprof->part, 2, unit);
    pprof_message(&pprof->whole, field, &pprof->part);
}

static void pprof_mapping(void *context, uint64_t start, uint64_t end, uint64_t offset, const char *path)
{
    struct pprof *pprof = context;
    if (pprof->mapping_count == pprof->map_room) return;
    struct pprof_map *map = &pprof->map[pprof->mapping_count++];
    *map = (struct pprof_map){.start = start, .end = end, .offset = offset};
    map->has_symbols = cx_symbols_load(&map->symbols, path);
    pprof_field(&pprof->part, 1, pprof->mapping_count);
    pprof_field(&pprof->part, 2, start);
    pprof_field(&pprof->part, 3, end);
    pprof_field(&pprof->part, 4, offset);
    pprof_field(&pprof->part, 5, pprof_string(pprof, path));
    pprof_field(&pprof->part, 7, map->has_symbols); /* has_functions */
    pprof_message(&pprof->whole, PROFILE_MAPPING, &pprof->part);
}

static int pprof_compare(const void *a, const void *b)
{
    uint64_t left = *(const uint64_t *)a, right = *(const uint64_t *)b;
    return left < right ? -1 : left > right;
}

/* A return address is one past its call. */
static uint64_t pprof_call_of(const void *frame) { return (uintptr_t)frame - 1; }

static bool pprof_gather(struct pprof *pprof, const struct cx_profile_copy *copy)
{
    size_t count = 0;
    for (const struct cx_profile_row *row = copy->rows; row != NULL; row = row->next) count += row->depth;
    pprof->address = cx_os_allocate((count + 1) * sizeof *pprof->address);
    if (pprof->address == NULL) return false;
    for (const struct cx_profile_row *row = copy->rows; row != NULL; row = row->next) {
        for (uint32_t i = 0; i < row->depth; i++) pprof->address[pprof->address_count++] = pprof_call_of(row->frame[i]);
    }
    qsort(pprof->address, pprof->address_count, sizeof *pprof->address, pprof_compare);
    count = 0;
    for (size_t i = 0; i < pprof->address_count; i++) {
        if (count == 0 || pprof->address[count - 1] != pprof->address[i]) pprof->address[count++] = pprof->address[i];
    }
    pprof->address_count = count;
    return true;
}

/* The number of the mapping; 0: none. */
static uint64_t pprof_mapping_of(const struct pprof *pprof, uint64_t address)
{
    for (uint64_t i = 0; i < pprof->mapping_count; i++) {
        if (address >= pprof->map[i].start && address < pprof->map[i].end) return i + 1;
    }
    return 0;
}

/* A function for each location, of the same number: pprof puts those of one name together. */
static void pprof_function(struct pprof *pprof, uint64_t number, const char *text)
{
    uint64_t name = pprof_string(pprof, text);
    pprof_field(&pprof->part, 1, number);
    pprof_field(&pprof->part, 2, name);
    pprof_field(&pprof->part, 3, name);
    pprof_message(&pprof->whole, PROFILE_FUNCTION, &pprof->part);
}

/* Returns the name of the function at an address; NULL if it has no symbol. */
static const char *pprof_name(const struct pprof *pprof, uint64_t address, uint64_t mapping, char *text, size_t room)
{
    const struct pprof_map *map = mapping != 0 ? &pprof->map[mapping - 1] : NULL;
    if (map == NULL || !map->has_symbols) return NULL;
    return cx_symbols_find(&map->symbols, address - map->start + map->offset, text, room);
}

/* A location with a function of the same number, unless `name` is NULL. */
static void pprof_location(struct pprof *pprof, uint64_t number, uint64_t mapping, uint64_t address, const char *name)
{
    if (name != NULL) pprof_function(pprof, number, name);
    pprof_field(&pprof->part, 1, number);
    pprof_field(&pprof->part, 2, mapping);
    pprof_field(&pprof->part, 3, address);
    if (name != NULL) {
        pprof_field(&pprof->small, 1, number);
        pprof_message(&pprof->part, 4, &pprof->small);
    }
    pprof_message(&pprof->whole, PROFILE_LOCATION, &pprof->part);
}

static void pprof_locations(struct pprof *pprof)
{
    char text[512];
    for (size_t i = 0; i < pprof->address_count; i++) {
        uint64_t address = pprof->address[i], mapping = pprof_mapping_of(pprof, address);
        pprof_location(pprof, i + 1, mapping, address, pprof_name(pprof, address, mapping, text, sizeof text));
    }
}

static uint64_t pprof_round(double value) { return value > 0 ? (uint64_t)(value + 0.5) : 0; }

/* A sample; its locations are in `small`. */
static void pprof_sample(struct pprof *pprof, const struct cx_profile_counts *counts, uint64_t type_name)
{
    pprof_message(&pprof->part, 1, &pprof->small);
    const double values[] = {counts->objects, counts->bytes, counts->live_objects, counts->live_bytes};
    for (size_t i = 0; i < sizeof values / sizeof values[0]; i++) pprof_put_number(&pprof->small, pprof_round(values[i]));
    pprof_message(&pprof->part, 2, &pprof->small);
    pprof_field(&pprof->small, 1, pprof->type_key);
    pprof_field(&pprof->small, 2, type_name);
    pprof_message(&pprof->part, 3, &pprof->small);
    pprof_message(&pprof->whole, PROFILE_SAMPLE, &pprof->part);
}

static uint64_t pprof_type_name(struct pprof *pprof, const struct cx_profile_row *row)
{
    struct pprof_type *known = &pprof->type[row->type % PPROF_TYPES];
    if (known->name == 0 || known->id != row->type) *known = (struct pprof_type){row->type, pprof_string(pprof, row->name)};
    return known->name;
}

static void pprof_row(struct pprof *pprof, const struct cx_profile_row *row)
{
    uint64_t type_name = pprof_type_name(pprof, row);
    for (uint32_t i = 0; i < row->depth; i++) {
        uint64_t call = pprof_call_of(row->frame[i]);
        const uint64_t *found = bsearch(&call, pprof->address, pprof->address_count, sizeof *pprof->address, pprof_compare);
        if (found != NULL) pprof_put_number(&pprof->small, (uint64_t)(found - pprof->address) + 1);
    }
    pprof_sample(pprof, &row->counts, type_name);
}

/* What has no site of its own: a location that is no address. */
static void pprof_other(struct pprof *pprof, const struct cx_profile_copy *copy)
{
    if (copy->other_samples == 0) return;
    uint64_t number = pprof->address_count + 1, type_name = pprof_string(pprof, "(other sites)");
    pprof_location(pprof, number, 0, 0, "(other sites)");
    pprof_put_number(&pprof->small, number);
    pprof_sample(pprof, &copy->other, type_name);
}

static void pprof_comment(struct pprof *pprof, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void pprof_comment(struct pprof *pprof, const char *format, ...)
{
    char text[256];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    pprof_field(&pprof->whole, PROFILE_COMMENT, pprof_string(pprof, text));
}

/* Says what the profile does not know; `pprof -comments` shows it. */
static void pprof_comments(struct pprof *pprof, const struct cx_profile_copy *copy)
{
    if (copy->other_samples != 0)
        pprof_comment(pprof,
                      "(other sites): %" PRIu64 " samples (%" PRIu64 " bytes) of call stacks beyond the first %" PRIu32
                      ", or for which there was no memory",
                      copy->other_samples, pprof_round(copy->other.bytes), copy->most_sites);
    if (copy->unfollowed_samples != 0)
        pprof_comment(pprof,
                      "what is in use is incomplete: %" PRIu64 " samples (%" PRIu64
                      " bytes) were too many to follow; a larger interval takes fewer samples",
                      copy->unfollowed_samples, pprof_round(copy->unfollowed_bytes));
}

/* In the order of the values of a sample. */
static void pprof_head(struct pprof *pprof, const struct cx_profile_copy *copy)
{
    pprof_string(pprof, ""); /* number 0 is empty, always */
    uint64_t count = pprof_string(pprof, "count"), bytes = pprof_string(pprof, "bytes");
    pprof_value_type(pprof, PROFILE_SAMPLE_TYPE, pprof_string(pprof, "alloc_objects"), count);
    pprof_value_type(pprof, PROFILE_SAMPLE_TYPE, pprof_string(pprof, "alloc_space"), bytes);
    pprof_value_type(pprof, PROFILE_SAMPLE_TYPE, pprof_string(pprof, "inuse_objects"), count);
    uint64_t in_use = pprof_string(pprof, "inuse_space");
    pprof_value_type(pprof, PROFILE_SAMPLE_TYPE, in_use, bytes);
    pprof_field(&pprof->whole, PROFILE_DEFAULT_TYPE, in_use);
    pprof_value_type(pprof, PROFILE_PERIOD_TYPE, pprof_string(pprof, "space"), bytes);
    pprof_field(&pprof->whole, PROFILE_PERIOD, copy->interval);
    pprof_field(&pprof->whole, PROFILE_TIME, (uint64_t)time(NULL) * 1000000000u);
}

static void pprof_all(struct pprof *pprof, const struct cx_profile_copy *copy)
{
    pprof_head(pprof, copy);
    pprof_comments(pprof, copy);
    cx_os_code_maps(pprof_mapping, pprof);
    pprof_locations(pprof);
    pprof->type_key = pprof_string(pprof, "type");
    for (const struct cx_profile_row *row = copy->rows; row != NULL; row = row->next) pprof_row(pprof, row);
    pprof_other(pprof, copy);
}

static int pprof_write_buffer(FILE *file, const struct pprof_buffer *buffer)
{
    if (buffer->failed) return ENOMEM;
    errno = 0;
    if (fwrite(buffer->bytes, 1, buffer->length, file) == buffer->length) return 0;
    return errno != 0 ? errno : EIO;
}

static void pprof_free(struct pprof *pprof)
{
    cx_os_free(pprof->whole.bytes);
    cx_os_free(pprof->part.bytes);
    cx_os_free(pprof->small.bytes);
    cx_os_free(pprof->strings.bytes);
    cx_os_free(pprof->address);
    for (uint64_t i = 0; i < pprof->mapping_count; i++) cx_symbols_free(&pprof->map[i].symbols);
    cx_os_free(pprof->map);
}

int cx_pprof_write(FILE *file, const struct cx_profile_copy *copy)
{
    struct pprof pprof = {.map_room = 1024};
    int failed = ENOMEM;
    pprof.map = cx_os_allocate(pprof.map_room * sizeof *pprof.map);
    if (pprof.map != NULL && pprof_gather(&pprof, copy)) {
        pprof_all(&pprof, copy);
        failed = pprof_write_buffer(file, &pprof.whole);
        if (failed == 0) failed = pprof_write_buffer(file, &pprof.strings);
    }
    pprof_free(&pprof);
    return failed;
}
