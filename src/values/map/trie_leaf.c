/* Leaves of the tree, and lists of their entries (trie.h). */
#include "values/map/trie.h"

#include <string.h>

/* ------------------------------------------------------------------ order */

/* Any order that depends on nothing but the keys will do. */
static int leaf_order(uint32_t flavor, uint64_t hash, uint64_t key, uint64_t other)
{
    if (key == other) return 0;
    uint64_t other_hash = cx_trie_hash(flavor, other);
    if (hash != other_hash) return hash < other_hash ? -1 : 1;
    if (cx_trie_has_strings(flavor)) return cx_string_compare_quiet(key, other);
    return key < other ? -1 : 1;
}

/* Where a key is among sorted marks and keys, or where it belongs. */
static uint64_t leaf_search(uint32_t flavor, const uint8_t *marks, const uint64_t *keys, unsigned stride, uint64_t count,
                            uint64_t hash, uint64_t key, bool *same)
{
    uint8_t mark = cx_trie_mark(hash);
    uint64_t at = 0;
    while (at < count && marks[at] < mark) at++;
    for (; at < count && marks[at] == mark; at++) {
        int order = leaf_order(flavor, hash, key, keys[at * stride]);
        *same = order == 0;
        if (order <= 0) return at;
    }
    *same = false;
    return at;
}

/* ----------------------------------------------------------------- leaves */

/* A copy of `leaf` (0: empty) with `room` for one entry at `at` in place of `taken` (each 0 or 1). */
static bool leaf_splice(uint32_t flavor, coex_handle *leaf, uint64_t at, unsigned taken, unsigned room, uint8_t mark,
                        const uint64_t entry[2])
{
    coex_handle fresh;
    uint64_t count = *leaf != 0 ? cx_trie_at(*leaf)->head : 0, stride = cx_trie_stride(flavor), after = count - at - taken;
    struct cx_trie_node *node = cx_leaf_new(flavor, count + room - taken, &fresh);
    if (node == NULL) return false;
    uint8_t *marks = (uint8_t *)node->word;
    uint64_t *entries = node->word + cx_leaf_mark_words(node->head);
    if (count != 0) {
        const struct cx_trie_node *old = cx_trie_at(*leaf);
        const uint64_t *from = cx_leaf_entries(old);
        memcpy(marks, cx_leaf_marks(old), at);
        memcpy(marks + at + room, cx_leaf_marks(old) + at + taken, after);
        memcpy(entries, from, at * stride * 8);
        memcpy(entries + (at + room) * stride, from + (at + taken) * stride, after * stride * 8);
    }
    if (room != 0) {
        marks[at] = mark;
        memcpy(entries + at * stride, entry, stride * 8);
    }
    *leaf = fresh;
    return true;
}

static uint64_t leaf_find(uint32_t flavor, coex_handle leaf, uint64_t hash, uint64_t key, bool *same)
{
    *same = false;
    if (leaf == 0) return 0;
    const struct cx_trie_node *node = cx_trie_at(leaf);
    return leaf_search(flavor, cx_leaf_marks(node), cx_leaf_entries(node), cx_trie_stride(flavor), node->head, hash, key, same);
}

bool cx_leaf_set(uint32_t flavor, coex_handle *leaf, uint64_t hash, uint64_t key, uint64_t value)
{
    bool same;
    uint64_t at = leaf_find(flavor, *leaf, hash, key, &same), entry[2] = {key, value};
    if (same) {
        const uint64_t *old = cx_leaf_entries(cx_trie_at(*leaf)) + at * cx_trie_stride(flavor);
        if (cx_trie_stride(flavor) == 1 || old[1] == value) return true;
        entry[0] = old[0];
    }
    return leaf_splice(flavor, leaf, at, same, 1, cx_trie_mark(hash), entry);
}

bool cx_leaf_remove(uint32_t flavor, coex_handle *leaf, uint64_t hash, uint64_t key)
{
    bool same;
    uint64_t at = leaf_find(flavor, *leaf, hash, key, &same);
    if (!same) return true;
    if (cx_trie_at(*leaf)->head == 1) {
        *leaf = 0;
        return true;
    }
    return leaf_splice(flavor, leaf, at, 1, 0, 0, NULL);
}

/* ------------------------------------------------------------------ lists */

void cx_list_load(struct cx_trie_list *list, uint32_t flavor, coex_handle leaf)
{
    if (leaf == 0) return;
    const struct cx_trie_node *node = cx_trie_at(leaf);
    const uint64_t *entry = cx_leaf_entries(node);
    unsigned stride = cx_trie_stride(flavor);
    memcpy(&list->mark[list->count], cx_leaf_marks(node), node->head);
    for (uint64_t i = 0; i < node->head; i++, entry += stride) {
        list->key[list->count] = entry[0];
        list->value[list->count++] = stride == 2 ? entry[1] : 0;
    }
}

/* By insertion, of numbers that hold mark and index: there are few. */
void cx_list_sort(struct cx_trie_list *list, uint32_t flavor)
{
    uint32_t order[CX_TRIE_LIST];
    struct cx_trie_list old = *list;
    for (unsigned i = 0; i < list->count; i++) {
        uint32_t it = (uint32_t)old.mark[i] << 8 | i;
        uint64_t key = old.key[i];
        unsigned j = i;
        for (; j > 0 && order[j - 1] >> 8 >= it >> 8; j--) {
            uint64_t other = old.key[order[j - 1] & 0xff];
            if (order[j - 1] >> 8 == it >> 8 && leaf_order(flavor, cx_trie_hash(flavor, key), key, other) > 0) break;
            order[j] = order[j - 1];
        }
        order[j] = it;
    }
    for (unsigned i = 0; i < list->count; i++) {
        unsigned from = order[i] & 0xff;
        list->mark[i] = old.mark[from];
        list->key[i] = old.key[from];
        list->value[i] = old.value[from];
    }
}

/* Moves entries from `from` on to `to`. */
static void list_move(struct cx_trie_list *list, uint64_t from, uint64_t to)
{
    uint64_t count = list->count - from;
    memmove(&list->mark[to], &list->mark[from], count);
    memmove(&list->key[to], &list->key[from], count * 8);
    memmove(&list->value[to], &list->value[from], count * 8);
    list->count = (unsigned)(to + count);
    list->changed = true;
}

void cx_list_set(struct cx_trie_list *list, uint32_t flavor, uint64_t hash, uint64_t key, uint64_t value)
{
    bool same;
    uint64_t at = leaf_search(flavor, list->mark, list->key, 1, list->count, hash, key, &same);
    if (same) {
        list->changed |= list->value[at] != value;
        list->value[at] = value;
        return;
    }
    list_move(list, at, at + 1);
    list->mark[at] = cx_trie_mark(hash);
    list->key[at] = key;
    list->value[at] = value;
}

void cx_list_remove(struct cx_trie_list *list, uint32_t flavor, uint64_t hash, uint64_t key)
{
    bool same;
    uint64_t at = leaf_search(flavor, list->mark, list->key, 1, list->count, hash, key, &same);
    if (same) list_move(list, at + 1, at);
}

static bool list_leaf(const struct cx_trie_list *list, uint32_t flavor, coex_handle *leaf)
{
    struct cx_trie_node *node = cx_leaf_new(flavor, list->count, leaf);
    if (node == NULL) return false;
    uint64_t *entry = node->word + cx_leaf_mark_words(list->count);
    memcpy(node->word, list->mark, list->count);
    for (unsigned i = 0; i < list->count; i++) {
        *entry++ = list->key[i];
        if (cx_trie_stride(flavor) == 2) *entry++ = list->value[i];
    }
    return true;
}

static bool list_branch(const struct cx_trie_list *list, uint32_t flavor, unsigned level, coex_handle *root)
{
    struct cx_trie_image image;
    coex_handle *slots = coex_gc_enter_frame(0);
    cx_image_begin(&image, flavor, level, list->count);
    bool done = cx_image_add_list(&image, CX_TRIE_PLACES, list) && cx_image_finish(&image, root);
    coex_gc_leave_frame(slots);
    return done;
}

bool cx_list_tree(const struct cx_trie_list *list, uint32_t flavor, unsigned level, coex_handle *root)
{
    if (list->count == 0) {
        *root = 0;
        return true;
    }
    if (list->count <= CX_TRIE_LEAF || level == CX_TRIE_LEVELS) return list_leaf(list, flavor, root);
    return list_branch(list, flavor, level, root);
}
