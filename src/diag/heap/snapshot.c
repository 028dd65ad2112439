/* coex_gc_write_heap_snapshot: copies the graph in a visit, then finds what hangs in the air, then has it written. See snapshot.h. */
#include "diag/heap/snapshot.h"

#include "diag/heap/object_view.h"
#include "gc/error.h"
#include "gc/api/runtime.h"
#include "gc/marking/weak_references.h"

#include <coex/gc_diag.h>

enum { SNAPSHOT_SLICE_WORDS = 16384 };

static const uint64_t snapshot_most = (uint64_t)1 << 32; /* words of a list: address space, not memory */

struct snapshot_call {
    struct cx_snapshot shot;
    const char *path;
    int code;
};

/* ---------------------------------------------------------------- the visit */

static bool snapshot_begin(struct cx_snapshot *shot)
{
    shot->begun = true;
    shot->words = cx_a64_load_acquire(&cx_world.handles.committed) / 64;
    shot->rank = cx_os_allocate((shot->words + 1) * sizeof *shot->rank);
    return shot->rank != NULL && cx_root_list_init(&shot->roots) && cx_vector_init(&shot->objects, snapshot_most) &&
           cx_vector_init(&shot->edges, snapshot_most) && cx_vector_init(&shot->floating, snapshot_most);
}

static void snapshot_end(struct cx_snapshot *shot)
{
    cx_os_free(shot->rank);
    cx_root_list_fini(&shot->roots);
    cx_vector_fini(&shot->objects);
    cx_vector_fini(&shot->edges);
    cx_vector_fini(&shot->floating);
}

/* A slice of the ranks. False: all are there. */
static bool snapshot_rank_some(struct cx_snapshot *shot)
{
    uint64_t end = shot->word + SNAPSHOT_SLICE_WORDS < shot->words ? shot->word + SNAPSHOT_SLICE_WORDS : shot->words;
    for (; shot->word < end; shot->word++)
        shot->rank[shot->word + 1] =
            shot->rank[shot->word] + (uint32_t)__builtin_popcountll(cx_a64_load_relaxed(&cx_world.handles.marked[shot->word]));
    return shot->word < shot->words;
}

/* During the visit, by the marks. */
static bool snapshot_number_gct(const struct cx_snapshot *shot, coex_handle handle, uint64_t *number)
{
    uint64_t index = cx_index_of(handle), word = index / 64, bit = (uint64_t)1 << (index % 64);
    uint64_t marked = word < shot->words ? cx_a64_load_relaxed(&cx_world.handles.marked[word]) : 0;
    *number = word < shot->words ? shot->rank[word] + (uint64_t)__builtin_popcountll(marked & (bit - 1)) : 0;
    return (marked & bit) != 0;
}

static void snapshot_add_edge(struct cx_snapshot *shot, uint64_t offset, coex_handle value, uint64_t weak)
{
    uint64_t number;
    if (!cx_is_reference(value) || !snapshot_number_gct(shot, value, &number)) return;
    if (!cx_vector_push(&shot->edges, number | (offset / 8 & 0x7fffffff) << 32 | weak)) shot->no_memory = true;
}

static void snapshot_see_reference(void *context, uint64_t offset, coex_handle value)
{
    snapshot_add_edge(context, offset, value, 0);
}

static void snapshot_see_object(void *context, coex_handle handle)
{
    struct cx_snapshot *shot = context;
    struct cx_object_view view;
    bool there = cx_object_view_take(&view, handle) && view.type != NULL;
    uint64_t id = there ? view.type->id : 0, most = ((uint64_t)1 << 44) - 1;
    if (there) cx_object_view_each(&view, snapshot_see_reference, shot);
    if (there && cx_weak_is_type(view.type->id)) snapshot_add_edge(shot, 0, cx_object_view_word(&view, 0), CX_SNAPSHOT_WEAK);
    if (!cx_vector_push(&shot->objects, id << 44 | (view.bytes < most ? view.bytes : most)) ||
        !cx_vector_push(&shot->objects, cx_index_of(handle)) || !cx_vector_push(&shot->objects, shot->edges.count))
        shot->no_memory = true;
}

static bool snapshot_visit(void *context)
{
    struct cx_snapshot *shot = &((struct snapshot_call *)context)->shot;
    if (!shot->begun && !snapshot_begin(shot)) shot->no_memory = true;
    if (shot->no_memory) return false;
    if (!shot->gathered && cx_root_list_gather_gct(&shot->roots)) return true;
    shot->gathered = true;
    return snapshot_rank_some(shot) || cx_walk_some_gct(&shot->walk, snapshot_see_object, shot);
}

/* ---------------------------------------------------------------- behind it */

/* The number of a handle's object, when the marks are gone; UINT64_MAX: it is not in the snapshot. */
static uint64_t snapshot_number(const struct cx_snapshot *shot, coex_handle handle)
{
    uint64_t word = cx_index_of(handle) / 64;
    for (uint64_t i = word < shot->words ? shot->rank[word] : UINT64_MAX; i != UINT64_MAX && i < shot->rank[word + 1]; i++) {
        if (cx_snapshot_index(shot, i) == cx_index_of(handle)) return i;
    }
    return UINT64_MAX;
}

struct snapshot_search {
    const struct cx_snapshot *shot;
    uint64_t *reached; /* a bit per object */
    uint32_t *queue;
    uint64_t head, tail;
};

static bool snapshot_reach(struct snapshot_search *search, uint64_t number)
{
    uint64_t bit = (uint64_t)1 << (number % 64);
    if ((search->reached[number / 64] & bit) != 0) return false;
    search->reached[number / 64] |= bit;
    search->queue[search->tail++] = (uint32_t)number;
    return true;
}

static void snapshot_follow(struct snapshot_search *search)
{
    while (search->head < search->tail) {
        uint64_t number = search->queue[search->head++], to = cx_snapshot_edges_to(search->shot, number);
        for (uint64_t i = cx_snapshot_edges_from(search->shot, number); i < to; i++) {
            uint64_t edge = *cx_vector_at(&search->shot->edges, i);
            if ((edge & CX_SNAPSHOT_WEAK) == 0) snapshot_reach(search, cx_edge_target(edge));
        }
    }
}

/* Roots get numbers in place of handles; those of objects that are not in it (born in this cycle) are dropped. */
static void snapshot_resolve_roots(struct cx_snapshot *shot)
{
    struct cx_root *roots = (struct cx_root *)(void *)shot->roots.range.base;
    uint64_t kept = 0;
    for (uint64_t i = 0; i < shot->roots.count; i++) {
        uint64_t number = snapshot_number(shot, roots[i].handle);
        if (number == UINT64_MAX) continue;
        roots[kept] = roots[i];
        roots[kept++].handle = number;
    }
    shot->roots.count = kept;
}

/* What no root leads to: overwritten or dropped while the cycle ran. Viewers want everything to hang on something. */
static bool snapshot_find_floating(struct cx_snapshot *shot)
{
    uint64_t count = cx_snapshot_count(shot);
    struct snapshot_search search = {.shot = shot};
    search.reached = cx_os_allocate((count / 64 + 1) * sizeof(uint64_t));
    search.queue = cx_os_allocate((count + 1) * sizeof(uint32_t));
    bool good = search.reached != NULL && search.queue != NULL;
    for (uint64_t i = 0; good && i < shot->roots.count; i++) snapshot_reach(&search, cx_root_list_at(&shot->roots, i)->handle);
    if (good) snapshot_follow(&search);
    for (uint64_t number = 0; good && number < count; number++) {
        if (!snapshot_reach(&search, number)) continue;
        good = cx_vector_push(&shot->floating, number);
        snapshot_follow(&search);
    }
    cx_os_free(search.reached);
    cx_os_free(search.queue);
    return good;
}

static bool snapshot_connect(struct cx_snapshot *shot)
{
    snapshot_resolve_roots(shot);
    return snapshot_find_floating(shot);
}

static void snapshot_finish(void *context)
{
    struct snapshot_call *call = context;
    struct cx_snapshot *shot = &call->shot;
    if (shot->no_memory || shot->roots.cut || !snapshot_connect(shot))
        call->code =
            cx_error_set(COEX_GC_ENOMEM, "no memory for a snapshot of %llu objects", (unsigned long long)cx_snapshot_count(shot));
    else
        call->code = cx_snapshot_write(shot, call->path);
    snapshot_end(shot);
}

int coex_gc_write_heap_snapshot(const char *path)
{
    struct snapshot_call call = {.path = path};
    if (path == NULL || path[0] == '\0')
        return cx_error_set(COEX_GC_EINVAL,
                            "coex_gc_write_heap_snapshot: `path` must be the name of a file");
    if (!cx_runtime_is_up()) return cx_error_set(COEX_GC_ESTATE, "coex_gc_write_heap_snapshot: the runtime is not initialised");
    if (!cx_visit_run("coex_gc_write_heap_snapshot", true, snapshot_visit, snapshot_finish, &call))
        return cx_error_set(
            COEX_GC_ESTATE,
            "coex_gc_write_heap_snapshot: the runtime was shut down during the call");
    return call.code;
}
