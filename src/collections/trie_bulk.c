/* Whole trees at once: a sorted batch of changes, and two trees combined (trie.h).
 *
 * Both go down the tree place by place, at most CX_TRIE_LEVELS deep, gather what a node will hold in an image, and make each node once, when
 * all below it is done. A node that comes out as it was is the old one. Subtrees that nothing concerns are not looked at.
 *
 * Rooting: trees and batch are the caller's. New nodes are appended to a frame of their parent's until that is made. */
#include "collections/trie.h"

#include <string.h>

enum { BULK_PLACES = 1 << CX_TRIE_BITS };

/* ------------------------------------------------------------------- images */

struct bulk_image {
    uint32_t data, kids;
    unsigned words, children;
    uint64_t word[BULK_PLACES * 2];
    coex_handle child[BULK_PLACES];
};

static void image_begin(struct bulk_image *image)
{
    image->data = image->kids = 0;
    image->words = image->children = 0;
}

/* Places come in ascending order. */
static void image_add(struct bulk_image *image, uint32_t flavor, unsigned place, const struct cx_trie_part *part)
{
    if (part->is == CX_TRIE_ENTRY) {
        image->data |= (uint32_t)1 << place;
        image->word[image->words++] = part->key;
        if (cx_trie_stride(flavor) == 2) image->word[image->words++] = part->value;
    } else if (part->is == CX_TRIE_NODE) {
        image->kids |= (uint32_t)1 << place;
        image->child[image->children++] = part->node;
    }
}

static bool image_is(const struct bulk_image *image, coex_handle handle)
{
    if (handle == 0) return false;
    const struct cx_trie_node *node = cx_trie_at(handle);
    return node->maps == (image->data | (uint64_t)image->kids << 32) && memcmp(node->word, image->word, image->words * 8) == 0 &&
           memcmp(&node->word[image->words], image->child, image->children * 8) == 0;
}

/* What the image is as a part of a tree. `size`: entries in and below it, if it has children. */
static bool image_finish(const struct bulk_image *image, uint32_t flavor, uint64_t size, bool is_root, struct cx_trie_part *part)
{
    if ((image->data | image->kids) == 0) {
        *part = cx_trie_nothing();
        return true;
    }
    if (!is_root && image->kids == 0 && (image->data & (image->data - 1)) == 0) { /* INV-TRIE-1 */
        *part = cx_trie_entry(image->word[0], image->words == 2 ? image->word[1] : 0);
        return true;
    }
    coex_handle handle;
    struct cx_trie_node *node = cx_trie_new(flavor, image->data | (uint64_t)image->kids << 32, &handle);
    if (node == NULL) return false;
    memcpy(node->word, image->word, image->words * 8);
    memcpy(&node->word[image->words], image->child, image->children * 8);
    if (image->kids != 0) node->word[image->words + image->children] = COEX_IMMEDIATE(size);
    *part = cx_trie_subtree(handle);
    return true;
}

/* -------------------------------------------------------------------- views */

/* A part as if it were a node of some level: an entry lies at its place, alone. */
struct bulk_view {
    struct cx_trie_part part;
    uint32_t data, kids;
};

static unsigned bulk_place(uint64_t hash, unsigned level) { return (unsigned)(hash << (level * CX_TRIE_BITS) >> CX_TRIE_TOP); }

static struct bulk_view view_of(uint32_t flavor, const struct cx_trie_part *part, unsigned level)
{
    struct bulk_view view = {*part, 0, 0};
    if (part->is == CX_TRIE_ENTRY) view.data = (uint32_t)1 << bulk_place(cx_trie_hash(flavor, part->key), level);
    if (part->is == CX_TRIE_NODE) {
        uint64_t maps = cx_trie_at(part->node)->maps;
        view.data = cx_trie_data(maps);
        view.kids = cx_trie_kids(maps);
    }
    return view;
}

static struct cx_trie_part view_at(uint32_t flavor, const struct bulk_view *view, unsigned place)
{
    if (((view->data | view->kids) >> place & 1) == 0) return cx_trie_nothing();
    return view->part.is == CX_TRIE_NODE ? cx_trie_part_at(flavor, cx_trie_at(view->part.node), place) : view->part;
}

/* Copies places [from, to) of a view to an image. */
static void view_copy(uint32_t flavor, const struct bulk_view *view, unsigned from, unsigned to, struct bulk_image *image)
{
    uint32_t range = (uint32_t)((((uint64_t)1 << to) - 1) & ~(((uint64_t)1 << from) - 1));
    uint32_t data = view->data & range, kids = view->kids & range;
    if ((data | kids) == 0) return;
    if (view->part.is == CX_TRIE_ENTRY) {
        image_add(image, flavor, (unsigned)__builtin_ctz(data), &view->part);
        return;
    }
    const struct cx_trie_node *node = cx_trie_at(view->part.node);
    unsigned stride = cx_trie_stride(flavor), words = cx_trie_count(data) * stride, children = cx_trie_count(kids);
    memcpy(&image->word[image->words], &node->word[cx_trie_count(cx_trie_below(view->data, from)) * stride], words * 8);
    memcpy(&image->child[image->children],
           &node->word[cx_trie_count(view->data) * stride + cx_trie_count(cx_trie_below(view->kids, from))], children * 8);
    image->words += words;
    image->children += children;
    image->data |= data;
    image->kids |= kids;
}

/* ------------------------------------------------------------------ a batch */

/* The hash of the next change from index `at` on, which moves to it; 0 at the end. */
static uint64_t batch_next(const struct cx_trie_batch *batch, uint64_t *at)
{
    const uint64_t *hashes = coex_gc_handle_deref(batch->hashes);
    while (*at < batch->end && hashes[*at] == 0) (*at)++;
    return *at < batch->end ? hashes[*at] & ~CX_TRIE_REMOVED : 0;
}

/* Does a change belong to the subtree that `hash` leads to at `level`? */
static bool batch_is_below(uint64_t change, uint64_t hash, unsigned level)
{
    if (change == 0 || level == 0) return change != 0;
    return level == CX_TRIE_LEVELS ? change == hash : (change ^ hash) >> (64 - level * CX_TRIE_BITS) == 0;
}

static bool batch_is_alone(const struct cx_trie_batch *batch, uint64_t hash, unsigned level)
{
    uint64_t at = batch->at + 1;
    return !batch_is_below(batch_next(batch, &at), hash, level);
}

/* The next change, which is taken; true: to be set. */
static bool batch_take(struct cx_trie_batch *batch, uint64_t *key, uint64_t *value)
{
    uint64_t at = batch->at++;
    *key = ((const uint64_t *)coex_gc_handle_deref(batch->keys))[at];
    *value = batch->values != 0 ? ((const uint64_t *)coex_gc_handle_deref(batch->values))[at] : 0;
    return (((const uint64_t *)coex_gc_handle_deref(batch->hashes))[at] & CX_TRIE_REMOVED) == 0;
}

/* One change to what is no node: true if that settled it. */
static bool apply_one(uint32_t flavor, struct cx_trie_batch *batch, struct cx_trie_part *part)
{
    uint64_t key, value, at = batch->at;
    bool set = batch_take(batch, &key, &value);
    if (part->is == CX_TRIE_EMPTY) {
        if (set) *part = cx_trie_entry(key, value);
    } else if (cx_trie_same_key(flavor, part->key, key)) {
        *part = set ? cx_trie_entry(part->key, value) : cx_trie_nothing();
    } else if (set) {
        batch->at = at;
        return false;
    }
    return true;
}

/* All changes of one hash, where all of its bits are used up. */
static bool apply_collisions(uint32_t flavor, struct cx_trie_batch *batch, struct cx_trie_part *part, uint64_t hash)
{
    coex_handle *slots = coex_gc_enter_frame(1);
    bool done = true;
    while (done && batch_next(batch, &batch->at) == hash) {
        uint64_t key, value;
        done = batch_take(batch, &key, &value) ? cx_trie_collide(flavor, part, key, value) : cx_trie_uncollide(flavor, part, key);
        slots[0] = part->node;
    }
    coex_gc_leave_frame(slots);
    return done;
}

/* Makes `part`, which is at `level` on the way of `hash`, what it becomes by the changes below it, of which the next one is the first. */
static bool apply_below(uint32_t flavor, struct cx_trie_batch *batch, struct cx_trie_part *part, uint64_t hash, unsigned level)
{
    if (level == CX_TRIE_LEVELS) return apply_collisions(flavor, batch, part, hash);
    if (part->is != CX_TRIE_NODE && level != 0 && batch_is_alone(batch, hash, level) && apply_one(flavor, batch, part)) return true;
    coex_handle *slots = coex_gc_enter_frame(0);
    struct bulk_view view = view_of(flavor, part, level);
    struct bulk_image image;
    image_begin(&image);
    uint64_t size = cx_trie_part_size(flavor, part), change;
    unsigned copied = 0;
    bool done = true;
    while (done && batch_is_below(change = batch_next(batch, &batch->at), hash, level)) {
        unsigned place = bulk_place(change, level);
        view_copy(flavor, &view, copied, place, &image);
        struct cx_trie_part below = view_at(flavor, &view, place);
        size -= cx_trie_part_size(flavor, &below);
        done = apply_below(flavor, batch, &below, change, level + 1);
        if (!done) break;
        if (below.is == CX_TRIE_NODE) coex_gc_root(below.node);
        size += cx_trie_part_size(flavor, &below);
        image_add(&image, flavor, place, &below);
        copied = place + 1;
    }
    view_copy(flavor, &view, copied, BULK_PLACES, &image);
    if (done && !image_is(&image, part->node)) done = image_finish(&image, flavor, size, level == 0, part);
    coex_gc_leave_frame(slots);
    return done;
}

bool cx_trie_apply(uint32_t flavor, coex_handle *root, struct cx_trie_batch *batch)
{
    struct cx_trie_part part = cx_trie_subtree(*root);
    if (batch_next(batch, &batch->at) == 0) return true;
    if (!apply_below(flavor, batch, &part, 0, 0)) return false;
    *root = part.node;
    return true;
}

/* ---------------------------------------------------------------- two trees */

struct bulk_pair {
    enum cx_trie_operation operation;
    uint32_t flavor, other;
};

/* Has a part at `level` this key? */
static const uint64_t *combine_find(uint32_t flavor, const struct cx_trie_part *part, uint64_t hash, uint64_t key, unsigned level)
{
    if (part->is == CX_TRIE_ENTRY) return cx_trie_same_key(flavor, part->key, key) ? &part->key : NULL;
    if (part->is == CX_TRIE_EMPTY) return NULL;
    return cx_trie_find(flavor, part->node, level < CX_TRIE_LEVELS ? hash << (level * CX_TRIE_BITS) : 0, key);
}

static void combine_keep(struct cx_trie_part *a, bool keep)
{
    if (!keep) *a = cx_trie_nothing();
}

/* True: this needed no look below. */
static bool combine_merge_simple(const struct bulk_pair *pair, struct cx_trie_part *a, const struct cx_trie_part *b)
{
    if (b->is == CX_TRIE_EMPTY) return true;
    if (a->is == CX_TRIE_EMPTY) {
        *a = *b;
        return true;
    }
    if (a->is == CX_TRIE_NODE || b->is == CX_TRIE_NODE) return a->node == b->node;
    if (!cx_trie_same_key(pair->flavor, a->key, b->key)) return false;
    a->value = b->value;
    return true;
}

/* The same for intersect and minus. */
static bool combine_select_simple(const struct bulk_pair *pair, struct cx_trie_part *a, const struct cx_trie_part *b,
                                  unsigned level)
{
    bool keep_common = pair->operation == CX_TRIE_INTERSECT;
    if (a->is == CX_TRIE_EMPTY) return true;
    if (b->is == CX_TRIE_EMPTY) {
        combine_keep(a, !keep_common);
        return true;
    }
    if (a->is == CX_TRIE_NODE && a->node == b->node) {
        combine_keep(a, keep_common);
        return true;
    }
    if (a->is == CX_TRIE_ENTRY) {
        uint64_t hash = cx_trie_hash(pair->flavor, a->key);
        combine_keep(a, (combine_find(pair->other, b, hash, a->key, level) != NULL) == keep_common);
        return true;
    }
    if (b->is == CX_TRIE_ENTRY && keep_common) {
        const uint64_t *found = combine_find(pair->flavor, a, cx_trie_hash(pair->other, b->key), b->key, level);
        *a = found == NULL ? cx_trie_nothing() : cx_trie_entry(found[0], cx_trie_stride(pair->flavor) == 2 ? found[1] : 0);
        return true;
    }
    return false;
}

/* Entry `i` of a part where all bits are used up; false: it has no more. */
static bool combine_nth(uint32_t flavor, const struct cx_trie_part *part, uint64_t i, uint64_t *key, uint64_t *value)
{
    unsigned stride = cx_trie_stride(flavor);
    if (i >= cx_trie_part_size(flavor, part)) return false;
    const uint64_t *words = part->is == CX_TRIE_NODE ? &cx_trie_at(part->node)->word[i * stride] : &part->key;
    *key = words[0];
    *value = stride == 2 ? words[1] : 0;
    return true;
}

static bool combine_collisions(const struct bulk_pair *pair, struct cx_trie_part *a, const struct cx_trie_part *b)
{
    coex_handle *slots = coex_gc_enter_frame(1);
    struct cx_trie_part common = cx_trie_nothing();
    uint64_t key, value;
    bool done = true;
    for (uint64_t i = 0; done && combine_nth(pair->other, b, i, &key, &value); i++) {
        if (pair->operation == CX_TRIE_MERGE) {
            done = cx_trie_collide(pair->flavor, a, key, value);
        } else if (pair->operation == CX_TRIE_MINUS) {
            done = cx_trie_uncollide(pair->flavor, a, key);
        } else {
            const uint64_t *found = combine_find(pair->flavor, a, 0, key, CX_TRIE_LEVELS);
            if (found != NULL)
                done = cx_trie_collide(pair->flavor, &common, found[0], cx_trie_stride(pair->flavor) == 2 ? found[1] : 0);
        }
        slots[0] = pair->operation == CX_TRIE_INTERSECT ? common.node : a->node;
    }
    if (pair->operation == CX_TRIE_INTERSECT && cx_trie_part_size(pair->flavor, &common) != cx_trie_part_size(pair->flavor, a))
        *a = common;
    coex_gc_leave_frame(slots);
    return done;
}

static bool combine_below(const struct bulk_pair *pair, struct cx_trie_part *a, const struct cx_trie_part *b, unsigned level);

/* Place by place: the image of the result, and its size. What is new is rooted in the caller's frame. */
static bool combine_places(const struct bulk_pair *pair, const struct bulk_view *a, const struct bulk_view *b, unsigned level,
                           struct bulk_image *image, uint64_t *size)
{
    uint32_t flavor = pair->flavor, places = a->data | a->kids;
    if (pair->operation == CX_TRIE_MERGE) places |= b->data | b->kids;
    image_begin(image);
    *size = cx_trie_part_size(flavor, &a->part);
    for (; places != 0; places &= places - 1) {
        unsigned place = (unsigned)__builtin_ctz(places);
        struct cx_trie_part mine = view_at(flavor, a, place), was = mine, other = view_at(pair->other, b, place);
        if (!combine_below(pair, &mine, &other, level + 1)) return false;
        if (mine.is == CX_TRIE_NODE) coex_gc_root(mine.node);
        if (mine.is != was.is || mine.node != was.node)
            *size += cx_trie_part_size(flavor, &mine) - cx_trie_part_size(flavor, &was); /* may wrap around, and back */
        image_add(image, flavor, place, &mine);
    }
    return true;
}

/* Makes `a` what becomes of it by `b`, which is at the same place of the other tree. */
static bool combine_below(const struct bulk_pair *pair, struct cx_trie_part *a, const struct cx_trie_part *b, unsigned level)
{
    bool simple = pair->operation == CX_TRIE_MERGE ? combine_merge_simple(pair, a, b) : combine_select_simple(pair, a, b, level);
    if (simple) return true;
    if (level == CX_TRIE_LEVELS) return combine_collisions(pair, a, b);
    coex_handle *slots = coex_gc_enter_frame(0);
    struct bulk_view mine = view_of(pair->flavor, a, level), other = view_of(pair->other, b, level);
    struct bulk_image image;
    uint64_t size;
    bool done = combine_places(pair, &mine, &other, level, &image, &size);
    if (done && !image_is(&image, a->node)) {
        if (pair->operation == CX_TRIE_MERGE && image_is(&image, b->node))
            *a = *b;
        else
            done = image_finish(&image, pair->flavor, size, level == 0, a);
    }
    coex_gc_leave_frame(slots);
    return done;
}

bool cx_trie_combine(enum cx_trie_operation operation, uint32_t flavor, coex_handle root, uint32_t other_flavor, coex_handle other,
                     coex_handle *result)
{
    struct bulk_pair pair = {operation, flavor, other_flavor};
    struct cx_trie_part a = cx_trie_subtree(root), b = cx_trie_subtree(other);
    if (!combine_below(&pair, &a, &b, 0)) return false;
    *result = a.node;
    return true;
}
