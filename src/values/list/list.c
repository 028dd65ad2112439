/* Lists: the public operations that give lists, and those that look. The tree is in list_tree.c, builders are in list_builder.c.
 *
 * What fits in the tail is done here with one allocation. Arguments are rooted by the caller; addresses are read again after every
 * allocation. */
#include <coex/values/list.h>

#include "values/array/array.h"
#include "values/list/list_tree.h"

#include <string.h>

/* ------------------------------------------------------------------- looking */

uint64_t coex_list_len(coex_handle list)
{
    bool refs;
    const struct cx_list *l = cx_list_as(list, &refs);
    return l != NULL ? l->count : cx_fail(COEX_STATUS_KIND);
}

bool coex_list_has_handles(coex_handle list)
{
    bool refs;
    return cx_list_as(list, &refs) != NULL ? refs : cx_fail_false(COEX_STATUS_KIND);
}

/* The word's address, or NULL with a status. */
static inline const uint64_t *list_at(coex_handle list, uint64_t index)
{
    bool refs;
    const struct cx_list *l = cx_list_as(list, &refs);
    if (COEX_UNLIKELY(l == NULL || index >= l->count)) {
        cx_fail(l == NULL ? COEX_STATUS_KIND : COEX_STATUS_RANGE);
        return NULL;
    }
    uint64_t in_tree = cx_list_in_tree(l->shape);
    return index >= in_tree ? &l->tail[index - in_tree] : cx_list_find(l->root, l->shape, index);
}

uint64_t coex_list_get(coex_handle list, uint64_t index)
{
    const uint64_t *word = list_at(list, index);
    return COEX_LIKELY(word != NULL) ? *word : 0;
}

bool coex_list_read(coex_handle list, uint64_t index, uint64_t *value)
{
    const uint64_t *word = list_at(list, index);
    if (word == NULL) return false;
    *value = *word;
    return true;
}

/* The leaf of a word of the tree, and the word's place in it. */
static struct cx_list_part list_leaf(const struct cx_list *l, uint64_t index, uint64_t *offset)
{
    struct cx_list_part tree = cx_list_tree_of(l->root, l->shape);
    if ((l->shape & CX_LIST_RELAXED) != 0) return cx_list_leaf(tree, index, offset);
    coex_handle at = l->root;
    for (uint64_t shift = l->shape & CX_LIST_SHIFT_MASK; shift != 0; shift -= CX_LIST_BITS)
        at = ((const coex_handle *)coex_gc_handle_deref(at))[(index >> shift) % CX_LIST_WIDTH];
    *offset = index % CX_LIST_WIDTH;
    uint64_t left = tree.count - (index - *offset);
    return (struct cx_list_part){at, left < CX_LIST_WIDTH ? left : CX_LIST_WIDTH, 0};
}

/* The words from `index` on in its leaf or in the tail. */
static const uint64_t *list_run(const struct cx_list *l, uint64_t index, uint64_t *count)
{
    uint64_t in_tree = cx_list_in_tree(l->shape);
    if (index >= in_tree) {
        *count = l->count - index;
        return &l->tail[index - in_tree];
    }
    uint64_t offset;
    struct cx_list_part leaf = list_leaf(l, index, &offset);
    *count = leaf.count - offset;
    return (const uint64_t *)coex_gc_handle_deref(leaf.node) + offset;
}

const uint64_t *coex_list_chunk(coex_handle list, uint64_t index, uint64_t *count)
{
    bool refs;
    const struct cx_list *l = cx_list_as(list, &refs);
    *count = 0;
    if (l != NULL && index < l->count) return list_run(l, index, count);
    cx_fail(l == NULL ? COEX_STATUS_KIND : COEX_STATUS_RANGE);
    return NULL;
}

enum { POLL_EVERY = 128 }; /* leaves, between two polls: some tens of microseconds */

static void list_words(const struct cx_list *l, uint64_t from, uint64_t count, uint64_t *words)
{
    uint64_t run;
    for (uint64_t done = 0; done < count; done += run) {
        const uint64_t *at = list_run(l, from + done, &run);
        if (run > count - done) run = count - done;
        memcpy(words + done, at, run * sizeof *words);
    }
}

bool coex_list_copy(coex_handle list, uint64_t from, uint64_t count, uint64_t *words)
{
    bool refs;
    const struct cx_list *l = cx_list_as(list, &refs);
    if (l == NULL) return cx_fail_false(COEX_STATUS_KIND);
    if (from > l->count || count > l->count - from) return cx_fail_false(COEX_STATUS_RANGE);
    for (uint64_t done = 0, some; done < count; done += some) {
        some = count - done < POLL_EVERY * CX_LIST_WIDTH ? count - done : POLL_EVERY * CX_LIST_WIDTH;
        if (done != 0) coex_gc_safepoint();
        list_words(coex_gc_handle_deref(list), from + done, some, words + done);
    }
    return true;
}

/* -------------------------------------------------------------------- making */

static const struct cx_list_part empty_tree = {0, 0, 0};

coex_handle coex_list_empty(bool handles) { return cx_list_make(empty_tree, NULL, 0, handles); }

/* Leaves the work, and gives the list of what it made. */
static coex_handle list_finish(struct cx_list_work *work, struct cx_list_part tree, const uint64_t *tail, uint64_t count)
{
    coex_handle list = work->failed ? cx_fail_memory() : cx_list_make(tree, tail, count, work->refs);
    cx_list_work_end(work);
    return list;
}

/* A list of the same tree and another tail. */
static coex_handle list_with_tail(const struct cx_list *l, const uint64_t *tail, uint64_t count, bool refs)
{
    return cx_list_make(cx_list_tree_of(l->root, l->shape), tail, count, refs);
}

/* What can be seen of a list after its address is dead. */
struct list_parts {
    struct cx_list_part tree;
    uint64_t tail[2 * CX_LIST_WIDTH]; /* with room for another's, behind it */
    uint64_t in_tail;
};

static void list_take_apart(const struct cx_list *l, struct list_parts *parts)
{
    parts->tree = cx_list_tree_of(l->root, l->shape);
    parts->in_tail = l->count - parts->tree.count;
    memcpy(parts->tail, l->tail, parts->in_tail * sizeof l->tail[0]);
}

/* The list of a tree and of up to 64 words behind it, the first of which become a leaf if the tail can't hold them all. */
static coex_handle list_spill(const struct list_parts *parts, bool refs)
{
    struct cx_list_part tree = parts->tree;
    if (parts->in_tail <= CX_LIST_WIDTH) return cx_list_make(tree, parts->tail, parts->in_tail, refs);
    struct cx_list_work work = cx_list_work_begin(refs);
    struct cx_list_part leaf = cx_list_make_leaf(&work, parts->tail, CX_LIST_WIDTH);
    if (!work.failed) tree = cx_list_push(&work, tree, leaf);
    return list_finish(&work, tree, parts->tail + CX_LIST_WIDTH, parts->in_tail - CX_LIST_WIDTH);
}

/* ------------------------------------------------------- append, set, pop, slice */

static coex_handle list_append_full(const struct cx_list *l, uint64_t value, bool refs)
{
    struct list_parts parts;
    list_take_apart(l, &parts);
    parts.tail[parts.in_tail++] = value;
    return list_spill(&parts, refs);
}

coex_handle coex_list_append(coex_handle list, uint64_t value)
{
    bool refs;
    void *payload;
    const struct cx_list *l = cx_list_as(list, &refs);
    if (l == NULL) return cx_fail(COEX_STATUS_KIND);
    if (l->count == COEX_LIST_MAX) return cx_fail(COEX_STATUS_SIZE);
    uint64_t in_tail = l->count - cx_list_in_tree(l->shape);
    if (in_tail == CX_LIST_WIDTH) return list_append_full(l, value, refs);
    uint64_t size = sizeof *l + in_tail * sizeof value;
    coex_handle longer =
        coex_gc_alloc_at(size + sizeof value, cx_values.id[refs ? CX_TYPE_list_refs : CX_TYPE_list_words], &payload);
    if (longer == 0) return cx_fail_memory();
    memcpy(payload, coex_gc_handle_deref(list), size);
    struct cx_list *fresh = payload;
    fresh->count++;
    fresh->tail[in_tail] = value;
    return longer;
}

/* A copy of a list, to be changed before the next safepoint. NULL with a status: no memory. */
static struct cx_list *list_duplicate(coex_handle list, bool refs, coex_handle *copy)
{
    void *payload;
    const struct cx_list *l = coex_gc_handle_deref(list);
    uint64_t size = sizeof *l + (l->count - cx_list_in_tree(l->shape)) * sizeof l->tail[0];
    *copy = coex_gc_alloc_at(size, cx_values.id[refs ? CX_TYPE_list_refs : CX_TYPE_list_words], &payload);
    if (*copy == 0) {
        cx_fail_memory();
        return NULL;
    }
    memcpy(payload, coex_gc_handle_deref(list), size);
    return payload;
}

static coex_handle list_set_in_tree(coex_handle list, uint64_t index, uint64_t value, bool refs)
{
    coex_handle copy = 0, *slot = coex_gc_enter_frame(1);
    const struct cx_list *l = coex_gc_handle_deref(list);
    coex_handle root = cx_list_replace(cx_list_tree_of(l->root, l->shape), index, value, refs, slot);
    struct cx_list *fresh = root != 0 ? list_duplicate(list, refs, &copy) : NULL;
    if (fresh != NULL) fresh->root = root;
    coex_gc_leave_frame(slot);
    return root != 0 ? copy : cx_fail_memory();
}

coex_handle coex_list_set(coex_handle list, uint64_t index, uint64_t value)
{
    bool refs;
    coex_handle copy;
    const struct cx_list *l = cx_list_as(list, &refs);
    if (l == NULL) return cx_fail(COEX_STATUS_KIND);
    if (index >= l->count) return cx_fail(COEX_STATUS_RANGE);
    uint64_t in_tree = cx_list_in_tree(l->shape);
    if (index < in_tree) return list_set_in_tree(list, index, value, refs);
    struct cx_list *fresh = list_duplicate(list, refs, &copy);
    if (fresh != NULL) fresh->tail[index - in_tree] = value;
    return copy;
}

/* More than 32 words: there is a tree left, unless all that is left of it is to be the tail. */
static coex_handle list_slice_long(const struct cx_list *l, uint64_t from, uint64_t to, bool refs)
{
    uint64_t tail[CX_LIST_WIDTH];
    struct cx_list_part tree = cx_list_tree_of(l->root, l->shape);
    uint64_t end = tree.count; /* of what stays in the tree */
    if (to <= tree.count) {    /* the last leaf becomes the tail */
        uint64_t offset;
        cx_list_leaf(tree, to - 1, &offset);
        end = to - 1 - offset;
    }
    list_words(l, end, to - end, tail);
    struct cx_list_work work = cx_list_work_begin(refs);
    tree = cx_list_cut(&work, tree, from, end);
    return list_finish(&work, tree, tail, to - end);
}

coex_handle coex_list_slice(coex_handle list, uint64_t from, uint64_t to)
{
    bool refs;
    uint64_t tail[CX_LIST_WIDTH];
    const struct cx_list *l = cx_list_as(list, &refs);
    if (l == NULL) return cx_fail(COEX_STATUS_KIND);
    if (from > to || to > l->count) return cx_fail(COEX_STATUS_RANGE);
    if (to - from == l->count) return list;
    if (to - from > CX_LIST_WIDTH) return list_slice_long(l, from, to, refs);
    list_words(l, from, to - from, tail);
    return cx_list_make(empty_tree, tail, to - from, refs);
}

coex_handle coex_list_pop(coex_handle list)
{
    bool refs;
    const struct cx_list *l = cx_list_as(list, &refs);
    if (l == NULL) return cx_fail(COEX_STATUS_KIND);
    if (l->count == 0) return cx_fail(COEX_STATUS_RANGE);
    uint64_t in_tail = l->count - cx_list_in_tree(l->shape);
    if (in_tail == 1) return coex_list_slice(list, 0, l->count - 1);
    struct list_parts parts;
    list_take_apart(l, &parts);
    return cx_list_make(parts.tree, parts.tail, in_tail - 1, refs);
}

/* ------------------------------------------------------- concat, insert, remove */

static coex_handle list_concat(const struct cx_list *a, const struct cx_list *b, bool refs)
{
    struct list_parts first, second;
    list_take_apart(a, &first);
    list_take_apart(b, &second);
    if (second.tree.count == 0) {
        memcpy(first.tail + first.in_tail, second.tail, second.in_tail * sizeof second.tail[0]);
        first.in_tail += second.in_tail;
        return list_spill(&first, refs);
    }
    struct cx_list_work work = cx_list_work_begin(refs);
    struct cx_list_part tree = first.tree, leaf = cx_list_make_leaf(&work, first.tail, first.in_tail);
    if (!work.failed) tree = cx_list_push(&work, tree, leaf);
    if (!work.failed) tree = cx_list_join(&work, tree, second.tree);
    return list_finish(&work, tree, second.tail, second.in_tail);
}

coex_handle coex_list_concat(coex_handle a, coex_handle b)
{
    bool refs_a, refs_b;
    const struct cx_list *first = cx_list_as(a, &refs_a), *second = cx_list_as(b, &refs_b);
    if (first == NULL || second == NULL || refs_a != refs_b) return cx_fail(COEX_STATUS_KIND);
    if (first->count + second->count > COEX_LIST_MAX) return cx_fail(COEX_STATUS_SIZE);
    if (second->count == 0) return a;
    if (first->count == 0) return b;
    return list_concat(first, second, refs_a);
}

coex_handle coex_list_insert(coex_handle list, uint64_t index, uint64_t value)
{
    bool refs;
    struct list_parts parts;
    const struct cx_list *l = cx_list_as(list, &refs);
    if (l == NULL) return cx_fail(COEX_STATUS_KIND);
    if (index > l->count) return cx_fail(COEX_STATUS_RANGE);
    if (index == l->count) return coex_list_append(list, value);
    if (l->count == COEX_LIST_MAX) return cx_fail(COEX_STATUS_SIZE);
    list_take_apart(l, &parts);
    if (index >= parts.tree.count) {
        uint64_t *at = parts.tail + (index - parts.tree.count);
        memmove(at + 1, at, (l->count - index) * sizeof *at);
        *at = value;
        parts.in_tail++;
        return list_spill(&parts, refs);
    }
    struct cx_list_work work = cx_list_work_begin(refs);
    struct cx_list_part tree = cx_list_put_in(&work, parts.tree, index, value);
    return list_finish(&work, tree, parts.tail, parts.in_tail);
}

coex_handle coex_list_remove(coex_handle list, uint64_t index)
{
    bool refs;
    struct list_parts parts;
    const struct cx_list *l = cx_list_as(list, &refs);
    if (l == NULL) return cx_fail(COEX_STATUS_KIND);
    if (index >= l->count) return cx_fail(COEX_STATUS_RANGE);
    if (index == l->count - 1) return coex_list_pop(list);
    list_take_apart(l, &parts);
    if (index >= parts.tree.count) {
        uint64_t *at = parts.tail + (index - parts.tree.count);
        memmove(at, at + 1, (l->count - index - 1) * sizeof *at);
        return list_with_tail(l, parts.tail, parts.in_tail - 1, refs);
    }
    struct cx_list_work work = cx_list_work_begin(refs);
    struct cx_list_part tree = cx_list_take_out(&work, parts.tree, index);
    return list_finish(&work, tree, parts.tail, parts.in_tail);
}

/* ------------------------------------------------------------------ iterators */

struct list_iterator {
    coex_handle list;
    coex_handle leaf; /* or the list itself: its tail */
    uint64_t next;    /* index of the word that comes next */
    uint64_t at;      /* its place in the leaf's payload, in words */
    uint64_t left;    /* words from there on in the leaf */
};

static const uint32_t iterator_refs[] = {offsetof(struct list_iterator, list), offsetof(struct list_iterator, leaf)};
static const char *const iterator_names[] = {"list", "leaf"};
const coex_gc_type cx_type_list_iterator = {.name = "list iterator",
                                            .size = sizeof(struct list_iterator),
                                            .ref_offsets = iterator_refs,
                                            .ref_count = 2,
                                            .ref_names = iterator_names,
                                            .flags = COEX_GC_MUTABLE};

coex_handle coex_list_iterate(coex_handle list, uint64_t from)
{
    bool refs;
    void *payload;
    const struct cx_list *l = cx_list_as(list, &refs);
    if (l == NULL) return cx_fail(COEX_STATUS_KIND);
    if (from > l->count) return cx_fail(COEX_STATUS_RANGE);
    coex_handle iterator = coex_gc_alloc_at(sizeof(struct list_iterator), cx_values.id[CX_TYPE_list_iterator], &payload);
    if (iterator == 0) return cx_fail_memory();
    *(struct list_iterator *)payload = (struct list_iterator){.list = list, .next = from};
    return iterator;
}

/* Goes to the leaf of the next word; false at the end. */
static bool iterator_advance(coex_handle iterator, struct list_iterator *it)
{
    bool refs;
    const struct cx_list *l = cx_list_as(it->list, &refs);
    if (it->next == l->count) return false;
    struct cx_list_part tree = cx_list_tree_of(l->root, l->shape);
    if (it->next >= tree.count) {
        coex_gc_store(iterator, offsetof(struct list_iterator, leaf), it->list);
        it->at = offsetof(struct cx_list, tail) / sizeof(uint64_t) + it->next - tree.count;
        it->left = l->count - it->next;
        return true;
    }
    struct cx_list_part leaf = list_leaf(l, it->next, &it->at);
    coex_gc_store(iterator, offsetof(struct list_iterator, leaf), leaf.node);
    it->left = leaf.count - it->at;
    return true;
}

bool coex_list_next(coex_handle iterator, uint64_t *value)
{
    struct list_iterator *it = cx_value_as(iterator, CX_TYPE_list_iterator);
    if (COEX_UNLIKELY(it == NULL)) return cx_fail_false(COEX_STATUS_KIND);
    if (COEX_UNLIKELY(it->left == 0) && !iterator_advance(iterator, it)) return false;
    *value = ((const uint64_t *)coex_gc_handle_deref(it->leaf))[it->at++];
    it->next++;
    it->left--;
    return true;
}

const uint64_t *coex_list_next_chunk(coex_handle iterator, uint64_t *count)
{
    struct list_iterator *it = cx_value_as(iterator, CX_TYPE_list_iterator);
    *count = 0;
    if (it == NULL) {
        cx_fail(COEX_STATUS_KIND);
        return NULL;
    }
    if (it->left == 0 && !iterator_advance(iterator, it)) return NULL;
    const uint64_t *words = (const uint64_t *)coex_gc_handle_deref(it->leaf) + it->at;
    *count = it->left;
    it->next += it->left;
    it->at += it->left;
    it->left = 0;
    return words;
}

/* ---------------------------------------------------------------------- arrays */

static void list_to_buffer(coex_handle list, coex_handle buffer, uint64_t count, bool refs)
{
    uint64_t run, leaves = 0;
    for (uint64_t done = 0; done < count; done += run) {
        const uint64_t *words = list_run(coex_gc_handle_deref(list), done, &run);
        cx_array_write(buffer, done * sizeof *words, words, run * sizeof *words, refs);
        if (++leaves % POLL_EVERY == 0) coex_gc_safepoint();
    }
}

coex_handle coex_list_to_array(coex_handle list)
{
    bool refs;
    const struct cx_list *l = cx_list_as(list, &refs);
    if (l == NULL) return cx_fail(COEX_STATUS_KIND);
    uint64_t count = l->count, element = sizeof(uint64_t) << 1 | (refs ? 1 : 0);
    coex_handle *slot = coex_gc_enter_frame(1), array = 0;
    slot[0] = cx_array_new_buffer(count * sizeof(uint64_t), refs);
    if (slot[0] != 0 || count == 0) {
        if (count != 0) list_to_buffer(list, slot[0], count, refs);
        array = cx_array_wrap(slot[0], count, element);
    }
    coex_gc_leave_frame(slot);
    return array;
}
