/* coex_gc_why: a breadth-first search from the roots, so that the path it finds is a shortest one. A visit, or, for debuggers, a walk through
 * a process that stands still; both the same text.
 *
 * Whatever is reached has a word in `reached`, by handle: who refers to it, and from which field. Roots come in three rounds, those of the
 * caller last and its top frame last of all: that somebody who asks has the object in a slot is not what he wants to know. */
#include "diag/heap/root_list.h"
#include "diag/heap/object_view.h"
#include "gc/api/runtime.h"

#include <coex/gc_diag.h>
#include <inttypes.h>

enum { WHY_SLICE_OBJECTS = 256, WHY_SLICE_ROOTS = 4096, WHY_ROUNDS = 3, WHY_SHOWN = 20 };

/* A word of `reached`: index of the parent, or number of the root + 1, in the low 36 bits; above them the field's offset / 8, or WHY_ROOT.
 * 0: not reached. */
#define WHY_ROOT ((uint64_t)0xfffffff)

struct why {
    coex_handle target;
    bool live;       /* a process that stands still: marks mean nothing */
    uint32_t caller; /* number of its thread, or CX_ROOT_RECORD_NOBODY */
    struct cx_text text;
    struct cx_root_list roots;
    cx_range reached; /* uint64_t[handles] */
    uint64_t handles;
    cx_range queue; /* uint64_t[handles]: indices to look at */
    uint64_t head, tail;
    uint64_t parent; /* index of the object that is looked at */
    bool begun, gathered, no_memory, found;
    unsigned round;
    uint64_t root; /* next one of the round */
};

static uint64_t *why_word(const cx_range *range, uint64_t number) { return &((uint64_t *)(void *)range->base)[number]; }

/* Address space for all handles; memory comes as it is touched. */
static bool why_begin(struct why *why)
{
    why->begun = true;
    why->handles = cx_a64_load_acquire(&cx_world.handles.committed);
    size_t bytes = (size_t)why->handles * sizeof(uint64_t);
    why->no_memory = !cx_root_list_init(&why->roots) || !cx_range_reserve(&why->reached, bytes, bytes) ||
                     !cx_range_reserve(&why->queue, bytes, bytes) || !cx_range_commit(&why->reached, bytes) ||
                     !cx_range_commit(&why->queue, bytes);
    return !why->no_memory;
}

static void why_end(struct why *why)
{
    cx_root_list_fini(&why->roots);
    cx_range_release(&why->reached);
    cx_range_release(&why->queue);
}

/* --------------------------------------------------------------- the search */

static bool why_is_here(const struct why *why, coex_handle handle)
{
    struct cx_object_view view;
    if (cx_index_of(handle) >= why->handles) return false;
    if (!why->live) return cx_handle_is_marked(&cx_world.handles, handle);
    return cx_object_view_take(&view, handle) && view.type != NULL;
}

/* What is asked for is an object, and has a chance to be found. */
static bool why_is_target(const struct why *why)
{
    return !coex_is_immediate(why->target) && cx_handle_is_object(&cx_world.handles, why->target) && why_is_here(why, why->target);
}

static void why_reach(struct why *why, coex_handle handle, uint64_t from, uint64_t field)
{
    uint64_t index = cx_index_of(handle);
    if (!why_is_here(why, handle) || *why_word(&why->reached, index) != 0) return;
    *why_word(&why->reached, index) = from | field << COEX_GC_HANDLE_BITS;
    *why_word(&why->queue, why->tail++) = index;
    if (index == cx_index_of(why->target)) why->found = true;
}

static void why_see_reference(void *context, uint64_t offset, coex_handle value)
{
    struct why *why = context;
    uint64_t field = offset / 8 < WHY_ROOT ? offset / 8 : WHY_ROOT - 1;
    if (!why->found) why_reach(why, value, why->parent, field);
}

static unsigned why_round_of(const struct why *why, const struct cx_root *root)
{
    if (root->kind != CX_ROOT_THREAD || root->owner != why->caller) return 0;
    return root->top ? 2 : 1;
}

/* The roots of this round that are left; false: none. */
static bool why_some_roots(struct why *why)
{
    for (int i = 0; i < WHY_SLICE_ROOTS && why->root < why->roots.count && !why->found; i++, why->root++) {
        const struct cx_root *root = cx_root_list_at(&why->roots, why->root);
        if (why_round_of(why, root) == why->round) why_reach(why, root->handle, why->root + 1, WHY_ROOT);
    }
    return why->root < why->roots.count && !why->found;
}

static bool why_some_objects(struct why *why)
{
    struct cx_object_view view;
    for (int i = 0; i < WHY_SLICE_OBJECTS && why->head < why->tail && !why->found; i++) {
        why->parent = *why_word(&why->queue, why->head++);
        if (cx_object_view_take(&view, cx_object_view_handle_at(why->parent))) cx_object_view_each(&view, why_see_reference, why);
    }
    return why->head < why->tail && !why->found;
}

/* A slice; false: it is found, or there is no path. */
static bool why_search(struct why *why)
{
    if (why->found || why->round == WHY_ROUNDS) return false;
    if (why_some_roots(why) || why_some_objects(why)) return true;
    why->round++;
    why->root = 0;
    return !why->found && why->round < WHY_ROUNDS;
}

/* ------------------------------------------------------------------ the text */

static void why_print_object(struct why *why, uint64_t index)
{
    struct cx_object_view view;
    bool there = cx_object_view_take(&view, cx_object_view_handle_at(index));
    cx_text_print(&why->text, "handle %" PRIu64 " (", cx_object_view_handle_at(index));
    if (there) cx_object_view_print_type(&why->text, &view, true);
    cx_text_print(&why->text, ")");
}

/* The path is kept from its end: turned round in place, by making each word point at the next one. Returns its length. */
static uint64_t why_turn(struct why *why, uint64_t *first, uint64_t *root)
{
    const uint64_t mask = ((uint64_t)1 << COEX_GC_HANDLE_BITS) - 1;
    uint64_t length = 1, at = cx_index_of(why->target), next = 0, field = WHY_ROOT;
    for (;;) {
        uint64_t word = *why_word(&why->reached, at);
        *why_word(&why->reached, at) = next | field << COEX_GC_HANDLE_BITS; /* what comes after, and in which field of this one */
        field = word >> COEX_GC_HANDLE_BITS;
        if (field == WHY_ROOT) {
            *first = at;
            *root = (word & mask) - 1;
            return length;
        }
        next = at;
        at = word & mask;
        length++;
    }
}

static void why_print_step(struct why *why, uint64_t index, uint64_t field)
{
    struct cx_object_view view;
    cx_text_print(&why->text, "  ");
    why_print_object(why, index);
    if (field != WHY_ROOT && cx_object_view_take(&view, cx_object_view_handle_at(index)) && view.type != NULL) {
        cx_text_print(&why->text, ", field ");
        cx_object_view_print_field(&why->text, &view, field * 8);
    }
    cx_text_print(&why->text, "\n");
}

/* A very long path, a list, is shown by its ends. */
static void why_print_path(struct why *why)
{
    const uint64_t mask = ((uint64_t)1 << COEX_GC_HANDLE_BITS) - 1;
    uint64_t at = 0, root = 0, length = why_turn(why, &at, &root);
    cx_text_print(&why->text, "Root: ");
    cx_root_print(&why->text, cx_root_list_at(&why->roots, root));
    cx_text_print(&why->text, "\n");
    for (uint64_t i = 0; i < length; i++) {
        uint64_t word = *why_word(&why->reached, at);
        if (i < WHY_SHOWN || i >= length - WHY_SHOWN)
            why_print_step(why, at, word >> COEX_GC_HANDLE_BITS);
        else if (i == WHY_SHOWN)
            cx_text_print(&why->text, "  ... (%" PRIu64 " objects between)\n", length - 2 * WHY_SHOWN);
        at = word & mask;
    }
}

static void why_print_no_path(struct why *why)
{
    if (why->no_memory || why->roots.cut)
        cx_text_print(&why->text, "No path found: there was no memory for the whole search\n");
    else if (why->live)
        cx_text_print(&why->text, "Not reachable from any root\n");
    else if (cx_handle_is_marked(&cx_world.handles, why->target))
        cx_text_print(&why->text, "Not reachable any more: it was when this cycle began, and the next one reclaims it\n");
    else if (cx_handle_is_born(&cx_world.handles, why->target))
        cx_text_print(&why->text, "Allocated while this cycle ran: it lives until the next one\n");
    else
        cx_text_print(&why->text, "Not reachable: this cycle reclaims it\n");
}

static void why_print(struct why *why)
{
    struct cx_object_view view;
    cx_text_print(&why->text, "=== WHY ALIVE ===\nHandle: %" PRIu64, why->target);
    if (coex_is_immediate(why->target) || !cx_object_view_take(&view, why->target)) {
        cx_text_print(&why->text, "\nNames no object\n");
        return;
    }
    cx_text_print(&why->text, " (");
    cx_object_view_print_type(&why->text, &view, true);
    cx_text_print(&why->text, ")\n");
    if (why->found)
        why_print_path(why);
    else
        why_print_no_path(why);
}

/* ----------------------------------------------------------------- the calls */

static bool why_visit(void *context)
{
    struct why *why = context;
    if (!why->begun && !why_begin(why)) why->round = WHY_ROUNDS;
    if (why->round < WHY_ROUNDS && why_is_target(why)) {
        if (!why->gathered && cx_root_list_gather_gct(&why->roots)) return true;
        why->gathered = true;
        if (why_search(why)) return true;
    }
    why_print(why);
    return false;
}

static void why_write(void *context)
{
    struct why *why = context;
    why_end(why);
    cx_text_write(&why->text);
}

bool coex_gc_why(coex_handle h)
{
    const struct cx_thread *self = cx_runtime_is_up() ? cx_thread_self() : NULL;
    struct why why = {.target = h, .caller = self != NULL ? self->number : CX_ROOT_RECORD_NOBODY};
    if (!cx_visit_run("coex_gc_why", true, why_visit, why_write, &why) && !cx_runtime_is_up()) {
        cx_text_print(&why.text, "=== WHY ALIVE ===\nHandle: %" PRIu64 "\nNames no object\n", h);
        cx_text_write(&why.text);
    }
    return why.found;
}

bool coex_gc_debug_why(coex_handle h)
{
    struct why why = {.target = h, .live = true, .caller = CX_ROOT_RECORD_NOBODY, .text = {.direct = true}};
    if (!cx_runtime_is_up()) return false;
    if (why_begin(&why) && why_is_target(&why)) {
        cx_root_list_gather_live(&why.roots);
        while (why_search(&why)) {
        }
    }
    why_print(&why);
    why_end(&why);
    return why.found;
}
