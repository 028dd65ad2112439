/* JSON Pointer (RFC 6901): its parts, and what it leads to. Any thread.
 *
 * Changing something deep inside makes new containers from there upwards: the old ones on the way are gathered first, in an
 * array outside of the heap; they live because the whole is rooted. */
#include "values/json/json_pointer.h"

#include "values/json/json_value.h"

#include "base/os.h"

#include <coex/values/list.h>

/* ------------------------------------------------------------------ parts */

bool cx_json_pointer_check(const char *pointer, uint64_t bytes)
{
    if (bytes == 0) return true;
    if (pointer == NULL || *pointer != '/') return false;
    for (uint64_t i = 0; i < bytes; i++) {
        if (pointer[i] == '~' && (i + 1 == bytes || (pointer[i + 1] != '0' && pointer[i + 1] != '1'))) return false;
    }
    return true;
}

bool cx_json_part_next(const char **at, const char *end, struct json_part *part)
{
    if (*at == end) return false;
    part->text = *at + 1;
    const char *stop = memchr(part->text, '/', (size_t)(end - part->text));
    *at = stop != NULL ? stop : end;
    part->bytes = (uint64_t)(*at - part->text);
    return true;
}

/* The character at `i` of a part, which moves behind it. */
static char json_part_char(const struct json_part *part, uint64_t *i)
{
    char c = part->text[(*i)++];
    if (c != '~') return c;
    return part->text[(*i)++] == '0' ? '~' : '/';
}

bool cx_json_part_is(const struct json_part *part, const char *key, uint64_t bytes)
{
    uint64_t at = 0, same = 0;
    while (at < part->bytes && same < bytes && json_part_char(part, &at) == key[same]) same++;
    return at == part->bytes && same == bytes;
}

bool cx_json_part_index(const struct json_part *part, uint64_t *index)
{
    uint64_t sum = 0;
    if (part->bytes == 0 || part->bytes > 19 || (part->bytes > 1 && part->text[0] == '0')) return false;
    for (uint64_t i = 0; i < part->bytes; i++) {
        if (part->text[i] < '0' || part->text[i] > '9') return false;
        sum = sum * 10 + (uint64_t)(part->text[i] - '0');
    }
    *index = sum;
    return true;
}

uint64_t cx_json_part_read(const struct json_part *part, char *key)
{
    uint64_t count = 0;
    for (uint64_t at = 0; at < part->bytes;) key[count++] = json_part_char(part, &at);
    return count;
}

uint64_t cx_json_part_write(char *out, const char *key, uint64_t bytes)
{
    uint64_t count = 0;
    for (uint64_t i = 0; i < bytes; i++) {
        bool escape = key[i] == '~' || key[i] == '/';
        if (out != NULL) out[count] = escape ? '~' : key[i];
        if (out != NULL && escape) out[count + 1] = key[i] == '~' ? '0' : '1';
        count += 1 + (uint64_t)escape;
    }
    return count;
}

/* ---------------------------------------------------------------- getting */

/* Room for the longest key of a pointer: short ones need none of the system. */
struct json_key_room {
    char few[256];
    char *text;
};

static bool json_key_room_open(struct json_key_room *room, uint64_t bytes)
{
    room->text = bytes <= sizeof room->few ? room->few : cx_os_allocate(bytes);
    return room->text != NULL;
}

static void json_key_room_close(struct json_key_room *room)
{
    if (room->text != room->few) cx_os_free(room->text);
}

/* What a part leads to in a container. */
static coex_handle json_part_get(coex_handle json, const struct json_part *part, char *room)
{
    uint64_t index;
    switch (coex_json_kind_of(json)) {
    case COEX_JSON_OBJECT:
        return coex_json_get_text(json, room, cx_json_part_read(part, room));
    case COEX_JSON_ARRAY:
        if (part->bytes == 1 && *part->text == '-') return cx_fail(COEX_STATUS_RANGE);
        return cx_json_part_index(part, &index) ? coex_list_get(json, index) : cx_fail(COEX_STATUS_RANGE);
    default:
        return cx_fail(COEX_STATUS_KIND);
    }
}

coex_handle coex_json_pointer_get(coex_handle json, const char *pointer, uint64_t bytes)
{
    struct json_key_room room;
    struct json_part part;
    if (!json_is_json(json)) return cx_fail(COEX_STATUS_KIND);
    if (!cx_json_pointer_check(pointer, bytes)) return cx_fail(COEX_STATUS_TEXT);
    if (bytes == 0) return json;
    if (!json_key_room_open(&room, bytes)) return cx_fail_memory();
    for (const char *at = pointer, *end = pointer + bytes; json != 0 && cx_json_part_next(&at, end, &part);)
        json = json_part_get(json, &part, room.text);
    json_key_room_close(&room);
    return json;
}

/* --------------------------------------------------------------- changing */

/* The way down: each container, and the part that leads on from it. */
struct json_way {
    uint64_t count;
    struct json_step {
        coex_handle container;
        struct json_part part;
    } step[];
};

/* False with a status if it leads through nothing. The last part is not followed. */
static bool json_way_down(struct json_way *way, coex_handle json, const char *pointer, uint64_t bytes, char *room)
{
    const char *at = pointer, *end = pointer + bytes;
    struct json_part part;
    while (cx_json_part_next(&at, end, &part)) {
        way->step[way->count++] = (struct json_step){json, part};
        if (at == end) break;
        json = json_part_get(json, &part, room);
        if (json == 0) return false;
    }
    return true;
}

static coex_handle json_part_set(coex_handle json, const struct json_part *part, coex_handle value, char *room)
{
    uint64_t index;
    switch (coex_json_kind_of(json)) {
    case COEX_JSON_OBJECT:
        return coex_json_set_text(json, room, cx_json_part_read(part, room), value);
    case COEX_JSON_ARRAY:
        if (part->bytes == 1 && *part->text == '-') return coex_list_append(json, value);
        return cx_json_part_index(part, &index) ? coex_json_set_at(json, index, value) : cx_fail(COEX_STATUS_RANGE);
    default:
        return cx_fail(COEX_STATUS_KIND);
    }
}

static coex_handle json_part_remove(coex_handle json, const struct json_part *part, char *room)
{
    uint64_t index;
    switch (coex_json_kind_of(json)) {
    case COEX_JSON_OBJECT:
        return coex_json_remove_text(json, room, cx_json_part_read(part, room));
    case COEX_JSON_ARRAY:
        return cx_json_part_index(part, &index) ? coex_list_remove(json, index) : cx_fail(COEX_STATUS_RANGE);
    default:
        return cx_fail(COEX_STATUS_KIND);
    }
}

/* The way up with another value at its end, or (0) with none. */
static coex_handle json_way_up(const struct json_way *way, coex_handle value, char *room)
{
    coex_handle *slots = coex_gc_enter_frame_with(1, 1, &value);
    const struct json_step *step = &way->step[way->count - 1];
    slots[0] = value != 0 ? json_part_set(step->container, &step->part, value, room)
                          : json_part_remove(step->container, &step->part, room);
    for (uint64_t i = way->count - 1; i-- != 0 && slots[0] != 0;)
        slots[0] = json_part_set(way->step[i].container, &way->step[i].part, slots[0], room);
    coex_handle result = slots[0];
    coex_gc_leave_frame(slots);
    return result;
}

static coex_handle json_pointer_change(coex_handle json, const char *pointer, uint64_t bytes, coex_handle value)
{
    uint64_t parts = 0;
    struct json_key_room room;
    for (uint64_t i = 0; i < bytes; i++) parts += pointer[i] == '/';
    struct json_way *way = cx_os_allocate(sizeof *way + parts * sizeof way->step[0]);
    if (way == NULL) return cx_fail_memory();
    if (!json_key_room_open(&room, bytes)) {
        cx_os_free(way);
        return cx_fail_memory();
    }
    coex_handle result = json_way_down(way, json, pointer, bytes, room.text) ? json_way_up(way, value, room.text) : 0;
    json_key_room_close(&room);
    cx_os_free(way);
    return result;
}

coex_handle coex_json_pointer_set(coex_handle json, const char *pointer, uint64_t bytes, coex_handle value)
{
    if (!json_is_json(json) || !json_is_json(value)) return cx_fail(COEX_STATUS_KIND);
    if (!cx_json_pointer_check(pointer, bytes)) return cx_fail(COEX_STATUS_TEXT);
    return bytes != 0 ? json_pointer_change(json, pointer, bytes, value) : value;
}

coex_handle coex_json_pointer_remove(coex_handle json, const char *pointer, uint64_t bytes)
{
    if (!json_is_json(json)) return cx_fail(COEX_STATUS_KIND);
    if (!cx_json_pointer_check(pointer, bytes)) return cx_fail(COEX_STATUS_TEXT);
    return bytes != 0 ? json_pointer_change(json, pointer, bytes, 0) : cx_fail(COEX_STATUS_RANGE);
}
