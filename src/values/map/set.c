/* The set: what set.h promises, on the tree of trie.h, most of it as the map does it (map.c). */
#include <coex/values/set.h>

#include "values/map/trie.h"

static const struct cx_map *set_look(coex_handle word)
{
    const struct cx_map *set = cx_value_as(word, CX_TYPE_set);
    if (set == NULL) cx_fail(COEX_STATUS_KIND);
    return set;
}

coex_handle coex_set_empty(uint32_t kind)
{
    return kind <= CX_TRIE_KEYS ? cx_map_wrap(CX_TRIE_SET | kind, 0) : cx_fail(COEX_STATUS_KIND);
}

uint32_t coex_set_kind(coex_handle set)
{
    const struct cx_map *it = set_look(set);
    return it != NULL ? (uint32_t)it->flavor & CX_TRIE_KEYS : 0;
}

uint64_t coex_set_len(coex_handle set)
{
    const struct cx_map *it = set_look(set);
    return it != NULL ? it->count : 0;
}

bool coex_set_has(coex_handle set, uint64_t element) { return cx_trie_get(set, element, NULL, CX_TYPE_set, COEX_STATUS_OK); }

bool coex_set_is_subset(coex_handle part, coex_handle set)
{
    const struct cx_map *mine = set_look(part), *other = cx_map_as(set);
    if (mine == NULL) return false;
    if (other == NULL || ((mine->flavor ^ other->flavor) & CX_TRIE_KEYS) != 0) return cx_fail_false(COEX_STATUS_KIND);
    return mine->count <= other->count &&
           cx_trie_is_subset((uint32_t)mine->flavor, mine->root, (uint32_t)other->flavor, other->root);
}

static coex_handle set_change(coex_handle set, uint64_t element, bool remove)
{
    const struct cx_map *it = set_look(set);
    uint64_t hash;
    if (it == NULL || !cx_trie_admit((uint32_t)it->flavor, &element, &hash)) return 0;
    uint32_t flavor = (uint32_t)it->flavor;
    coex_handle root = it->root, was = root;
    coex_handle *slots = coex_gc_enter_frame(1);
    bool done = remove ? cx_trie_remove(flavor, &root, hash, element, slots) : cx_trie_set(flavor, &root, hash, element, 0, slots);
    coex_handle result = !done ? 0 : root == was ? set : cx_map_wrap(flavor, root);
    coex_gc_leave_frame(slots);
    return result;
}

coex_handle coex_set_add(coex_handle set, uint64_t element) { return set_change(set, element, false); }
coex_handle coex_set_remove(coex_handle set, uint64_t element) { return set_change(set, element, true); }

static coex_handle set_combine(enum cx_trie_operation operation, coex_handle set, coex_handle other)
{
    const struct cx_map *it = set_look(set);
    return it != NULL ? cx_map_combine(operation, set, (uint32_t)it->flavor, other) : 0;
}

coex_handle coex_set_union(coex_handle set, coex_handle other) { return set_combine(CX_TRIE_MERGE, set, other); }
coex_handle coex_set_intersect(coex_handle set, coex_handle other) { return set_combine(CX_TRIE_INTERSECT, set, other); }
coex_handle coex_set_minus(coex_handle set, coex_handle other) { return set_combine(CX_TRIE_MINUS, set, other); }

coex_handle coex_set_to_list(coex_handle set)
{
    const struct cx_map *it = set_look(set);
    return it != NULL ? cx_map_list(set, 0, cx_trie_has_key_references((uint32_t)it->flavor)) : 0;
}

bool coex_set_each(coex_handle set, bool (*visit)(void *context, uint64_t element), void *context)
{
    const struct cx_map *it = set_look(set);
    struct cx_trie_walk walk;
    if (it == NULL) return false;
    cx_trie_walk(&walk, (uint32_t)it->flavor, it->root);
    for (const uint64_t *entry; (entry = cx_trie_next(&walk)) != NULL;) {
        if (!visit(context, *entry)) return false;
    }
    return true;
}

coex_handle coex_set_iterate(coex_handle set) { return set_look(set) != NULL ? cx_map_iterate(set) : 0; }

bool coex_set_next(coex_handle iterator, uint64_t *element)
{
    struct cx_trie_walk *walk = cx_map_walk_of(iterator, true);
    const uint64_t *entry = walk != NULL ? cx_trie_next(walk) : NULL;
    if (entry == NULL) return false;
    if (element != NULL) *element = *entry;
    return true;
}

coex_handle coex_set_builder(coex_handle set) { return set_look(set) != NULL ? cx_map_builder_new(set) : 0; }
bool coex_set_builder_add(coex_handle builder, uint64_t element) { return cx_map_builder_change(builder, true, element, 0, false); }
bool coex_set_builder_remove(coex_handle builder, uint64_t element)
{
    return cx_map_builder_change(builder, true, element, 0, true);
}
bool coex_set_builder_has(coex_handle builder, uint64_t element) { return cx_map_builder_find(builder, true, element, NULL) > 0; }
uint64_t coex_set_builder_len(coex_handle builder) { return cx_map_builder_size(builder, true); }
coex_handle coex_set_builder_finish(coex_handle builder) { return cx_map_builder_end(builder, true); }
