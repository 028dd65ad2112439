/* What all collections share inside: the types, the status, hashing.
 *
 * Every heap type of the collections has one row in CX_VALUE_TYPES and one descriptor, cx_type_<name>, in its module's file. All are
 * registered at each init of the runtime (coex_gc_at_init), so that their ids are there before any value is. */
#ifndef CX_VALUES_CORE_COMMON_H
#define CX_VALUES_CORE_COMMON_H

#include <coex/values/value.h>
#include <coex/gc.h>

/* Row: X(name, kind). Internal nodes, which no caller ever has in hand, are of kind OTHER. */
#define CX_VALUE_TYPES(X)                                                                                                          \
    X(list_words, LIST)                                                                                                            \
    X(list_refs, LIST)                                                                                                             \
    X(list_leaf_words, OTHER)                                                                                                      \
    X(list_leaf_refs, OTHER)                                                                                                       \
    X(list_node, OTHER)                                                                                                            \
    X(list_sized, OTHER)                                                                                                           \
    X(list_iterator, ITERATOR)                                                                                                     \
    X(list_builder_words, BUILDER)                                                                                                 \
    X(list_builder_refs, BUILDER)                                                                                                  \
    X(edit_leaf_words, OTHER)                                                                                                      \
    X(edit_leaf_refs, OTHER)                                                                                                       \
    X(edit_node, OTHER)                                                                                                            \
    X(edit_sized, OTHER)                                                                                                           \
    X(array, ARRAY)                                                                                                                \
    X(array_bytes, OTHER)                                                                                                          \
    X(array_refs, OTHER)                                                                                                           \
    X(array_builder, BUILDER)                                                                                                      \
    X(cell, CELL)                                                                                                                  \
    X(mutable_words, MUTABLE_ARRAY)                                                                                                \
    X(mutable_refs, MUTABLE_ARRAY)                                                                                                 \
    X(string, STRING)                                                                                                              \
    X(string_view, STRING)                                                                                                         \
    X(string_buffer, OTHER)                                                                                                        \
    X(string_builder, BUILDER)                                                                                                     \
    X(channel, CHANNEL)                                                                                                            \
    X(channel_bits, OTHER)                                                                                                         \
    X(channel_refs, OTHER)                                                                                                         \
    X(channel_cell, OTHER)                                                                                                         \
    X(map, MAP)                                                                                                                    \
    X(map_branch, OTHER)                                                                                                           \
    X(map_leaf, OTHER)                                                                                                             \
    X(map_few, OTHER)                                                                                                              \
    X(map_leaf_keys, OTHER)                                                                                                        \
    X(map_few_keys, OTHER)                                                                                                         \
    X(map_leaf_values, OTHER)                                                                                                      \
    X(map_few_values, OTHER)                                                                                                       \
    X(map_leaf_both, OTHER)                                                                                                        \
    X(map_few_both, OTHER)                                                                                                         \
    X(map_iterator, ITERATOR)                                                                                                      \
    X(map_builder, BUILDER)                                                                                                        \
    X(map_table, OTHER)                                                                                                            \
    X(map_table_refs, OTHER)                                                                                                       \
    X(set, SET)                                                                                                                    \
    X(set_leaf, OTHER)                                                                                                             \
    X(set_few, OTHER)                                                                                                              \
    X(set_leaf_keys, OTHER)                                                                                                        \
    X(set_few_keys, OTHER)                                                                                                         \
    X(json_number, JSON)                                                                                                           \
    X(json_object, JSON)                                                                                                           \
    X(json_large, JSON)                                                                                                            \
    X(json_shape, OTHER)                                                                                                           \
    X(json_index, OTHER)                                                                                                           \
    X(json_reader, ITERATOR)                                                                                                       \
    X(json_bytes, OTHER)                                                                                                           \
    X(json_refs, OTHER)

enum cx_value_type {
#define CX_VALUE_ENUM(name, kind) CX_TYPE_##name,
    CX_VALUE_TYPES(CX_VALUE_ENUM)
#undef CX_VALUE_ENUM
        CX_VALUE_TYPE_COUNT
};

#define CX_VALUE_EXTERN(name, kind) extern const coex_gc_type cx_type_##name;
CX_VALUE_TYPES(CX_VALUE_EXTERN)
#undef CX_VALUE_EXTERN

struct cx_values {
    uint32_t id[CX_VALUE_TYPE_COUNT + 1]; /* type ids of this life. W: init. Constant while the runtime is up */
    uint64_t seed[4];                     /* of hashes; drawn once per process */
    uint64_t spread;                      /* of tables of builders (map_table.h): odd, drawn with the seeds; 0: not yet */
};
extern struct cx_values cx_values;

/* The payload of a value of this type, or NULL: null, an immediate, or an object of another type. */
static inline void *cx_value_as(coex_handle word, enum cx_value_type type)
{
    if (word == 0 || coex_is_immediate(word)) return NULL;
    void *payload = coex_gc_handle_deref(word);
    return payload != NULL && coex_gc_type_at(payload) == cx_values.id[type] ? payload : NULL;
}

/* Records why something fails. The results are the nulls to return: return cx_fail(COEX_STATUS_RANGE); */
coex_handle cx_fail(coex_status status);
static inline bool cx_fail_false(coex_status status)
{
    cx_fail(status);
    return false; /* which the compiler knows where it is inlined */
}
/* The same after an allocation gave 0. */
coex_handle cx_fail_memory(void);

/* Keyed, so that nobody outside can make keys collide: SipHash-1-3 for bytes, two keyed folded multiplications for a word. */
uint64_t cx_hash_bytes(const void *bytes, uint64_t count);

/* The same in pieces: every piece but the last has a multiple of 8 bytes, and the last goes to cx_hash_end with the total. */
struct cx_hash {
    uint64_t v[4];
};
struct cx_hash cx_hash_begin(void);
void cx_hash_add(struct cx_hash *hash, const void *bytes, uint64_t count);
uint64_t cx_hash_end(struct cx_hash *hash, const void *bytes, uint64_t count, uint64_t total);

/* Bytes that an operation reads or writes between two polls: some ten microseconds of work. COEX_STRING_POLLED. */
enum { CX_VALUE_PIECE = 1 << 16 };

static inline uint64_t cx_hash_fold(uint64_t a, uint64_t b)
{
    __uint128_t product = (__uint128_t)a * b;
    return (uint64_t)product ^ (uint64_t)(product >> 64);
}

static inline uint64_t cx_hash_word(uint64_t word)
{
    uint64_t mixed = cx_hash_fold(word ^ cx_values.seed[0], cx_values.seed[2] | 1);
    return cx_hash_fold(mixed ^ cx_values.seed[1], cx_values.seed[3] | 1);
}

#endif
