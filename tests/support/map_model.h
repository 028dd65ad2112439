/* Compares maps and sets with a simple model: an array that holds the presence and the value of
 * each key.
 *
 * A world has several maps of one kind with their models. world_step performs a random operation
 * on one of the maps and on its model, and does the quick comparisons. world_check compares
 * everything. `draw` supplies the random choices, so that a fuzzer can make them. */
#ifndef COEX_TESTS_SUPPORT_MAP_MODEL_H
#define COEX_TESTS_SUPPORT_MAP_MODEL_H

#include <coex/values.h>
#include <coex/values/map.h>
#include <coex/values/set.h>
#include <coex/values/string.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WORLD_MAPS = 5, WORLD_KEYS = 400, WORLD_SLOTS = 2 * WORLD_MAPS + 2 + 2 * WORLD_KEYS };

#define world_expect(condition)                                                                                                    \
    do {                                                                                                                           \
        if (!(condition)) {                                                                                                        \
            fprintf(stderr, "%s:%d: '%s' does not hold\n", __FILE__, __LINE__, #condition);                                        \
            abort();                                                                                                               \
        }                                                                                                                          \
    } while (0)

struct model {
    bool has[WORLD_KEYS];
    uint64_t value[WORLD_KEYS];
    unsigned count;
};

struct world {
    uint32_t kind;
    unsigned keys; /* number of keys in use, at most WORLD_KEYS */
    uint64_t (*draw)(void *context, uint64_t bound);
    void *context;
    uint64_t (*word)(unsigned i);           /* returns integer keys; NULL for the default keys */
    coex_handle *map, *set, *work, *string; /* slots */
    struct model model[WORLD_MAPS];
};

static inline uint64_t world_draw(struct world *world, uint64_t bound) { return world->draw(world->context, bound); }

/* Returns key `i` as a word. Each string exists twice, and either object may be returned. */
static inline uint64_t world_key(struct world *world, unsigned i)
{
    double number = i == 0 ? (world_draw(world, 2) == 0 ? -0.0 : 0.0) : -1.0 - (double)i / 8;
    uint64_t bits;
    switch (world->kind & 3) {
    case COEX_MAP_INTEGER:
        return world->word != NULL ? world->word(i) : i * UINT64_C(0x123456789);
    case COEX_MAP_FLOAT:
        memcpy(&bits, &number, 8);
        return bits;
    case COEX_MAP_STRING:
        return world->string[2 * i + world_draw(world, 2)];
    default:
        return i == 0 ? 0 : i % 2 == 0 ? COEX_IMMEDIATE(i) : world->string[2 * i];
    }
}

static inline unsigned world_index(struct world *world, uint64_t key)
{
    char text[32];
    double number;
    switch (world->kind & 3) {
    case COEX_MAP_INTEGER:
        for (unsigned i = 0; world->word != NULL; i++) {
            if (world->word(i) == key) return i;
        }
        return (unsigned)(key / UINT64_C(0x123456789));
    case COEX_MAP_FLOAT:
        memcpy(&number, &key, 8);
        world_expect(key != (uint64_t)1 << 63);
        return key == 0 ? 0 : (unsigned)((-1.0 - number) * 8);
    case COEX_MAP_STRING:
        break;
    default:
        if (key == 0) return 0;
        if (coex_is_immediate(key)) return (unsigned)coex_immediate_bits(key);
    }
    memset(text, 0, sizeof text);
    world_expect(coex_string_copy(key, 0, text, sizeof text - 1) > 4);
    return (unsigned)strtoul(text + 4, NULL, 10);
}

/* Returns a value that no key has, as a word of the map's kind. */
static inline uint64_t world_value(struct world *world)
{
    uint64_t n = world_draw(world, WORLD_KEYS * 2);
    if ((world->kind & COEX_MAP_REFERENCES) == 0) return n * UINT64_C(0x9e3779b97f4a7c15);
    return n % 3 == 0 ? COEX_IMMEDIATE(n) : n % 3 == 1 ? 0 : world->string[n];
}

static inline void world_begin(struct world *world, uint32_t kind, unsigned keys, coex_handle *slots)
{
    world->kind = kind;
    world->keys = keys;
    world->map = slots;
    world->set = world->map + WORLD_MAPS;
    world->work = world->set + WORLD_MAPS;
    world->string = world->work + 2;
    memset(world->model, 0, sizeof world->model);
    for (unsigned i = 0; i < 2 * WORLD_KEYS; i++) {
        char text[32];
        int length = snprintf(text, sizeof text, "key %u", i / 2);
        coex_gc_set_slot(&world->string[i], coex_string_from(text, (uint64_t)length));
        world_expect(world->string[i] != 0);
    }
    for (unsigned i = 0; i < WORLD_MAPS; i++) {
        coex_gc_set_slot(&world->map[i], coex_map_empty(kind));
        coex_gc_set_slot(&world->set[i], coex_set_empty(kind & 3));
        world_expect(world->map[i] != 0 && world->set[i] != 0);
    }
}

/* ---- comparing ------------------------------------------------------------------------------- */

/* Compares map `m` with its model, entry by entry, by iteration and by lookup. */
static inline void world_check_map(struct world *world, unsigned m)
{
    const struct model *model = &world->model[m];
    uint64_t key, value, seen = 0;
    world_expect(coex_map_len(world->map[m]) == model->count && coex_set_len(world->set[m]) == model->count);
    coex_gc_set_slot(&world->work[0], coex_map_iterate(world->map[m]));
    coex_gc_set_slot(&world->work[1], coex_set_iterate(world->set[m]));
    while (coex_map_next(world->work[0], &key, &value)) {
        unsigned i = world_index(world, key);
        uint64_t element;
        world_expect(i < WORLD_KEYS && model->has[i] && model->value[i] == value);
        /* The set has the same order. */
        world_expect(coex_set_next(world->work[1], &element) && world_index(world, element) == i);
        seen++;
    }
    world_expect(seen == model->count && !coex_set_next(world->work[1], &key));
    for (unsigned i = 0; i < world->keys; i++) {
        bool found = coex_map_get(world->map[m], world_key(world, i), &value);
        world_expect(found == model->has[i] && (!found || value == model->value[i]));
        world_expect(coex_set_has(world->set[m], world_key(world, i)) == model->has[i]);
    }
}

/* Rebuilds map `m` from its model, in another order and with other functions, and expects
 * equality. */
static inline void world_check_rebuilt(struct world *world, unsigned m)
{
    const struct model *model = &world->model[m];
    coex_gc_set_slot(&world->work[0], coex_map_empty(world->kind));
    bool builder = world_draw(world, 2) == 0;
    if (builder) coex_gc_set_slot(&world->work[0], coex_map_builder(world->work[0]));
    unsigned step = 1 + 2 * (unsigned)world_draw(world, 3), start = (unsigned)world_draw(world, world->keys);
    if (world->keys % step == 0) step = 1;
    for (unsigned n = 0, i = start; n < world->keys; n++, i = (i + step) % world->keys) {
        if (!model->has[i]) continue;
        if (builder)
            world_expect(coex_map_builder_set(world->work[0], world_key(world, i), model->value[i]));
        else
            coex_gc_set_slot(&world->work[0], coex_map_set(world->work[0], world_key(world, i), model->value[i]));
        world_expect(world->work[0] != 0);
    }
    if (builder) coex_gc_set_slot(&world->work[0], coex_map_builder_finish(world->work[0]));
    world_expect(coex_map_len(world->work[0]) == model->count);
    world_expect(coex_value_equal(world->work[0], world->map[m]));
    world_expect(coex_value_hash(world->work[0]) == coex_value_hash(world->map[m]));
    coex_gc_set_slot(&world->work[0], coex_map_key_set(world->map[m]));
    world_expect(coex_value_equal(world->work[0], world->set[m]));
}

static inline void world_check(struct world *world)
{
    for (unsigned m = 0; m < WORLD_MAPS; m++) {
        world_check_map(world, m);
        world_check_rebuilt(world, m);
        unsigned other = (m + 1) % WORLD_MAPS;
        const struct model *a = &world->model[m], *b = &world->model[other];
        bool same = memcmp(a->has, b->has, sizeof a->has) == 0, subset = true;
        for (unsigned i = 0; i < world->keys; i++) {
            if (a->has[i] && !b->has[i]) subset = false;
        }
        world_expect(coex_value_equal(world->set[m], world->set[other]) == same);
        world_expect(coex_set_is_subset(world->set[m], world->set[other]) == subset);
    }
}

/* ---- changing -------------------------------------------------------------------------------- */

static inline void model_set(struct model *model, unsigned i, uint64_t value)
{
    model->count += !model->has[i];
    model->has[i] = true;
    model->value[i] = value;
}

static inline void model_remove(struct model *model, unsigned i)
{
    model->count -= model->has[i];
    model->has[i] = false;
    model->value[i] = 0;
}

static inline void world_put(struct world *world, unsigned m, coex_handle map, coex_handle set)
{
    world_expect(map != 0 && set != 0);
    coex_gc_set_slot(&world->map[m], map);
    coex_gc_set_slot(&world->set[m], set);
}

static inline void world_set(struct world *world, unsigned m, unsigned i)
{
    uint64_t value = world_value(world), key = world_key(world, i);
    bool same = world->model[m].has[i] && world->model[m].value[i] == value;
    coex_handle was = world->map[m];
    coex_gc_set_slot(&world->work[0], coex_map_set(was, key, value));
    if (same) world_expect(world->work[0] == was);
    world_put(world, m, world->work[0], coex_set_add(world->set[m], key));
    model_set(&world->model[m], i, value);
}

static inline void world_remove(struct world *world, unsigned m, unsigned i)
{
    uint64_t key = world_key(world, i);
    coex_handle was = world->map[m];
    coex_gc_set_slot(&world->work[0], coex_map_remove(was, key));
    if (!world->model[m].has[i]) world_expect(world->work[0] == was);
    world_put(world, m, world->work[0], coex_set_remove(world->set[m], key));
    model_remove(&world->model[m], i);
}

/* Combines map `m` with another map or with the set of its keys: 0 merge, 1 intersect, 2 minus. */
static inline void world_combine(struct world *world, unsigned m, unsigned other, unsigned operation)
{
    coex_handle (*const maps[])(coex_handle, coex_handle) = {coex_map_merge, coex_map_intersect, coex_map_minus};
    coex_handle (*const sets[])(coex_handle, coex_handle) = {coex_set_union, coex_set_intersect, coex_set_minus};
    struct model *a = &world->model[m];
    const struct model *b = &world->model[other];
    bool mixed = operation != 0 && world_draw(world, 2) == 0;
    coex_gc_set_slot(&world->work[0], maps[operation](world->map[m], mixed ? world->set[other] : world->map[other]));
    coex_handle set = sets[operation](world->set[m], mixed ? world->map[other] : world->set[other]);
    bool changed = false;
    for (unsigned i = 0; i < world->keys; i++) {
        bool had = a->has[i];
        uint64_t value = a->value[i];
        if (operation == 0 && b->has[i]) model_set(a, i, b->value[i]);
        if (operation != 0 && b->has[i] != (operation == 1)) model_remove(a, i);
        changed |= had != a->has[i] || value != a->value[i];
    }
    if (!changed) world_expect(world->work[0] == world->map[m]);
    world_put(world, m, world->work[0], set);
}

static inline void world_build(struct world *world, unsigned m)
{
    struct model *model = &world->model[m];
    coex_gc_set_slot(&world->work[0], coex_map_builder(world->map[m]));
    coex_gc_set_slot(&world->work[1], coex_set_builder(world->set[m]));
    for (unsigned n = (unsigned)world_draw(world, 2 * world->keys); n != 0; n--) {
        unsigned i = (unsigned)world_draw(world, world->keys);
        uint64_t key = world_key(world, i), value;
        switch (world_draw(world, 8)) {
        case 0:
        case 1:
            world_expect(coex_map_builder_remove(world->work[0], key) && coex_set_builder_remove(world->work[1], key));
            model_remove(model, i);
            break;
        case 2:
            world_expect(coex_map_builder_get(world->work[0], key, &value) == model->has[i]);
            world_expect(!model->has[i] || value == model->value[i]);
            world_expect(coex_set_builder_has(world->work[1], key) == model->has[i]);
            break;
        case 3:
            if (world_draw(world, 16) != 0) break;
            world_expect(coex_map_builder_len(world->work[0]) == model->count);
            world_expect(coex_set_builder_len(world->work[1]) == model->count);
            break;
        default:
            value = world_value(world);
            world_expect(coex_map_builder_set(world->work[0], key, value) && coex_set_builder_add(world->work[1], key));
            model_set(model, i, value);
        }
    }
    coex_gc_set_slot(&world->work[0], coex_map_builder_finish(world->work[0]));
    world_put(world, m, world->work[0], coex_set_builder_finish(world->work[1]));
}

static inline void world_step(struct world *world)
{
    unsigned m = (unsigned)world_draw(world, WORLD_MAPS), other = (unsigned)world_draw(world, WORLD_MAPS);
    unsigned what = (unsigned)world_draw(world, 32);
    if (what < 3) {
        world_combine(world, m, other, what);
    } else if (what == 3) {
        world_build(world, m);
    } else if (what == 4) { /* a copy that shares all nodes */
        world_put(world, m, world->map[other], world->set[other]);
        world->model[m] = world->model[other];
    } else if (what < 16) {
        world_remove(world, m, (unsigned)world_draw(world, world->keys));
    } else {
        world_set(world, m, (unsigned)world_draw(world, world->keys));
    }
    world_expect(coex_map_len(world->map[m]) == world->model[m].count);
}

#endif
