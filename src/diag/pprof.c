/* The profile in pprof's format: a protocol buffer of the message perftools.profiles.Profile, not compressed, which pprof takes as well.
 * Addresses are written with the mappings they lie in and the names of their functions, so that the file says all by itself; lines and what
 * was inlined pprof finds in the programs, if it is asked to (-symbolize=force). Frames of the collector itself are dropped by name
 * (drop_frames).
 *
 * Entered with the profile's lock held. */
#include "base/os.h"
#include "diag/profile.h"
#include "diag/symbols.h"

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
    PROFILE_DROP_FRAMES = 7,
    PROFILE_TIME = 9,
    PROFILE_PERIOD_TYPE = 11,
    PROFILE_PERIOD = 12,
    PROFILE_DEFAULT_TYPE = 14
};

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
};

/* Its number in the table of strings. Not looked for: few are written twice. */
static uint64_t pprof_string(struct pprof *pprof, const char *text)
{
    pprof_bytes(&pprof->strings, PROFILE_STRING, text, strlen(text));
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

static bool pprof_gather(struct pprof *pprof, const struct cx_profile *profile)
{
    size_t count = 0;
    for (uint32_t i = 0; i < profile->site_count; i++) count += profile->sites[i].depth;
    pprof->address = cx_os_allocate((count + 1) * sizeof *pprof->address);
    if (pprof->address == NULL) return false;
    for (uint32_t i = 0; i < profile->site_count; i++) {
        const struct cx_site *site = &profile->sites[i];
        for (uint32_t j = 0; j < site->depth; j++) pprof->address[pprof->address_count++] = pprof_call_of(site->frame[j]);
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
static bool pprof_function(struct pprof *pprof, uint64_t number, uint64_t mapping)
{
    char text[512];
    const struct pprof_map *map = mapping != 0 ? &pprof->map[mapping - 1] : NULL;
    if (map == NULL || !map->has_symbols) return false;
    uint64_t offset = pprof->address[number - 1] - map->start + map->offset;
    if (cx_symbols_find(&map->symbols, offset, text, sizeof text) == NULL) return false;
    uint64_t name = pprof_string(pprof, text);
    pprof_field(&pprof->part, 1, number);
    pprof_field(&pprof->part, 2, name);
    pprof_field(&pprof->part, 3, name);
    pprof_message(&pprof->whole, PROFILE_FUNCTION, &pprof->part);
    return true;
}

static void pprof_locations(struct pprof *pprof)
{
    for (size_t i = 0; i < pprof->address_count; i++) {
        uint64_t mapping = pprof_mapping_of(pprof, pprof->address[i]);
        bool named = pprof_function(pprof, i + 1, mapping);
        pprof_field(&pprof->part, 1, i + 1);
        pprof_field(&pprof->part, 2, mapping);
        pprof_field(&pprof->part, 3, pprof->address[i]);
        if (named) {
            pprof_field(&pprof->small, 1, i + 1);
            pprof_message(&pprof->part, 4, &pprof->small);
        }
        pprof_message(&pprof->whole, PROFILE_LOCATION, &pprof->part);
    }
}

static uint64_t pprof_round(double value) { return value > 0 ? (uint64_t)(value + 0.5) : 0; }

static void pprof_site(struct pprof *pprof, const struct cx_site *site, uint64_t type_key)
{
    for (uint32_t i = 0; i < site->depth; i++) {
        uint64_t call = pprof_call_of(site->frame[i]);
        const uint64_t *found = bsearch(&call, pprof->address, pprof->address_count, sizeof *pprof->address, pprof_compare);
        if (found != NULL) pprof_put_number(&pprof->small, (uint64_t)(found - pprof->address) + 1);
    }
    pprof_message(&pprof->part, 1, &pprof->small);
    const double values[] = {site->objects, site->bytes, site->live_objects, site->live_bytes};
    for (size_t i = 0; i < sizeof values / sizeof values[0]; i++) pprof_put_number(&pprof->small, pprof_round(values[i]));
    pprof_message(&pprof->part, 2, &pprof->small);
    const struct cx_type *type = cx_type_find(&cx_world.types, site->type);
    pprof_field(&pprof->small, 1, type_key);
    pprof_field(&pprof->small, 2, pprof_string(pprof, type != NULL ? type->descriptor->name : "?"));
    pprof_message(&pprof->part, 3, &pprof->small);
    pprof_message(&pprof->whole, PROFILE_SAMPLE, &pprof->part);
}

/* In the order of the values of a sample. */
static void pprof_head(struct pprof *pprof, const struct cx_profile *profile)
{
    pprof_string(pprof, ""); /* number 0 is empty, always */
    uint64_t count = pprof_string(pprof, "count"), bytes = pprof_string(pprof, "bytes");
    pprof_value_type(pprof, PROFILE_SAMPLE_TYPE, pprof_string(pprof, "alloc_objects"), count);
    pprof_value_type(pprof, PROFILE_SAMPLE_TYPE, pprof_string(pprof, "alloc_space"), bytes);
    pprof_value_type(pprof, PROFILE_SAMPLE_TYPE, pprof_string(pprof, "inuse_objects"), count);
    uint64_t in_use = pprof_string(pprof, "inuse_space");
    pprof_value_type(pprof, PROFILE_SAMPLE_TYPE, in_use, bytes);
    pprof_field(&pprof->whole, PROFILE_DEFAULT_TYPE, in_use);
    pprof_field(&pprof->whole, PROFILE_DROP_FRAMES,
                pprof_string(pprof, "cx_.*|coex_gc_alloc.*|coex_fast_alloc.*|alloc_.*|listen_.*|profile_.*"));
    pprof_value_type(pprof, PROFILE_PERIOD_TYPE, pprof_string(pprof, "space"), bytes);
    pprof_field(&pprof->whole, PROFILE_PERIOD, profile->interval);
    pprof_field(&pprof->whole, PROFILE_TIME, (uint64_t)time(NULL) * 1000000000u);
}

bool cx_pprof_write(FILE *file, const struct cx_profile *profile)
{
    struct pprof pprof = {.map_room = 1024};
    pprof.map = cx_os_allocate(pprof.map_room * sizeof *pprof.map);
    bool good = pprof.map != NULL && pprof_gather(&pprof, profile);
    if (good) {
        pprof_head(&pprof, profile);
        cx_os_code_maps(pprof_mapping, &pprof);
        pprof_locations(&pprof);
        uint64_t type_key = pprof_string(&pprof, "type");
        for (uint32_t i = 0; i < profile->site_count; i++) pprof_site(&pprof, &profile->sites[i], type_key);
        good = !pprof.whole.failed && !pprof.strings.failed;
        good = good && fwrite(pprof.whole.bytes, 1, pprof.whole.length, file) == pprof.whole.length &&
               fwrite(pprof.strings.bytes, 1, pprof.strings.length, file) == pprof.strings.length;
    }
    cx_os_free(pprof.whole.bytes);
    cx_os_free(pprof.part.bytes);
    cx_os_free(pprof.small.bytes);
    cx_os_free(pprof.strings.bytes);
    cx_os_free(pprof.address);
    for (uint64_t i = 0; i < pprof.mapping_count; i++) cx_symbols_free(&pprof.map[i].symbols);
    cx_os_free(pprof.map);
    return good;
}
