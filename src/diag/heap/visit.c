/* See visit.h. */
#include "diag/heap/visit.h"

#include "diag/heap/object_view.h"
#include "gc/cycle/collector.h"
#include "gc/api/runtime.h"
#include "gc/threads/native_transition.h"

#include <stdio.h>
#include <stdlib.h>

bool cx_visit_run(const char *function, bool stacks, bool (*run)(void *context), void (*write)(void *context), void *context)
{
    if (!cx_runtime_is_up()) return false;
    struct cx_thread *self = cx_thread_self();
    struct cx_visit visit = {.run = run, .context = context, .stacks = stacks};
    if (self != NULL) cx_transition_enter_self(self);
    cx_collector_visit(&visit);
    if (visit.done && write != NULL) write(context);
    if (self != NULL) cx_transition_leave_self(cx_thread_need_self(function));
    return visit.done;
}

/* --------------------------------------------------------------------- walk */

enum { VISIT_SLICE_OBJECTS = 256, VISIT_SLICE_WORDS = 8192 };

bool cx_walk_some_gct(struct cx_walk *walk, void (*visit)(void *context, coex_handle handle), void *context)
{
    const struct cx_handles *handles = &cx_world.handles;
    if (!walk->begun) {
        walk->begun = true;
        walk->words = cx_a64_load_acquire(&handles->committed) / 64;
    }
    uint64_t objects = 0, end = walk->word + VISIT_SLICE_WORDS < walk->words ? walk->word + VISIT_SLICE_WORDS : walk->words;
    for (; walk->word < end && objects < VISIT_SLICE_OBJECTS; walk->word++) {
        uint64_t bits = cx_a64_load_relaxed(&handles->marked[walk->word]);
        for (; bits != 0; bits &= bits - 1, objects++)
            visit(context, cx_object_view_handle_at(walk->word * 64 + (uint64_t)__builtin_ctzll(bits)));
    }
    return walk->word < walk->words;
}

/* ------------------------------------------------------------------- stacks */

static int visit_compare_records(const void *a, const void *b)
{
    const struct cx_root_record *one = *(const struct cx_root_record *const *)a, *other = *(const struct cx_root_record *const *)b;
    if (one->stack != other->stack) return one->stack < other->stack ? -1 : 1;
    return one->order > other->order ? -1 : one->order < other->order; /* the last one first */
}

static int visit_compare_stacks(const void *a, const void *b)
{
    const struct cx_stack_view *one = a, *other = b;
    if (one->thread != other->thread) return one->thread < other->thread ? -1 : 1; /* nobody's come last */
    return one->stack < other->stack ? -1 : one->stack > other->stack;
}

static struct cx_stack_view visit_join(const struct cx_root_record *frozen, const struct cx_root_record *top)
{
    struct cx_stack_view view = {.frozen = frozen, .top = top, .thread = CX_ROOT_RECORD_NOBODY};
    if (top != NULL) {
        view.thread = top->thread;
        view.os_id = top->os_id;
    }
    view.stack = top != NULL ? top->stack : frozen->stack;
    view.words = top != NULL ? top->to : frozen->to;
    view.watermark = frozen == NULL ? 0 : top != NULL && top->from < frozen->to ? top->from : frozen->to;
    return view;
}

struct cx_stack_view *cx_visit_stacks_gct(uint64_t *count)
{
    uint64_t records = 0, at = 0;
    *count = 0;
    for (const struct cx_root_record *record = cx_root_record_list_gct(); record != NULL; record = record->next) records++;
    const struct cx_root_record **sorted = cx_os_allocate((records + 1) * sizeof *sorted);
    struct cx_stack_view *views = cx_os_allocate((records + 1) * sizeof *views);
    if (sorted == NULL || views == NULL) {
        cx_os_free(sorted);
        cx_os_free(views);
        return NULL;
    }
    for (const struct cx_root_record *record = cx_root_record_list_gct(); record != NULL; record = record->next) sorted[at++] = record;
    qsort(sorted, records, sizeof *sorted, visit_compare_records);
    /* The last record of a stack, or the last two: an answer freezes a stack and then reads the
     * words above. Older ones are of words that were frozen again. */
    for (at = 0; at < records;) {
        const struct cx_root_record *last = sorted[at], *before = at + 1 < records ? sorted[at + 1] : NULL;
        bool top = last->thread != CX_ROOT_RECORD_NOBODY;
        bool pair = top && before != NULL && before->stack == last->stack && before->thread == CX_ROOT_RECORD_NOBODY;
        views[(*count)++] = visit_join(top ? (pair ? before : NULL) : last, top ? last : NULL);
        while (at < records && sorted[at]->stack == last->stack) at++;
    }
    qsort(views, *count, sizeof *views, visit_compare_stacks);
    cx_os_free(sorted);
    return views;
}

static struct cx_stack_view visit_live(const struct cx_shadow *shadow, const coex_handle *top)
{
    struct cx_stack_view view = {.live = shadow, .thread = CX_ROOT_RECORD_NOBODY, .stack = shadow->number};
    view.words = shadow->base != NULL && top >= shadow->base && top <= shadow->end ? (uint64_t)(top - shadow->base) : 0;
    view.watermark = cx_shadow_frozen_end(shadow);
    return view;
}

bool cx_stack_view_next_live(uint64_t *at, struct cx_stack_view *view)
{
    uint64_t threads = cx_a32_load_acquire(&cx_world.registry.count), stacks = cx_a32_load_acquire(&cx_world.stacks.count);
    for (; *at < threads; ++*at) {
        const struct cx_thread *thread = cx_registry_at(&cx_world.registry, (uint32_t)*at);
        if (cx_a32_load_acquire(&thread->state) != CX_THREAD_LIVE) continue;
        *view = visit_live(thread->shadow, thread->words.top);
        view->thread = thread->number;
        view->os_id = cx_a64_load_relaxed(&thread->os_id);
        ++*at;
        return true;
    }
    for (; *at < threads + stacks; ++*at) {
        const struct cx_shadow *stack = cx_stack_at(&cx_world.stacks, (uint32_t)(*at - threads));
        uint32_t state = cx_a32_load_acquire(&stack->state);
        if (state != CX_SHADOW_SUSPENDED && state != CX_SHADOW_CLAIMED) continue;
        *view = visit_live(stack, stack->top);
        ++*at;
        return true;
    }
    return false;
}

static uint64_t visit_raw_word(const struct cx_stack_view *view, uint64_t number)
{
    if (view->live != NULL) return cx_a64_load_acquire(cx_a64_at(&view->live->base[number]));
    if (view->top != NULL && number >= view->top->from) return view->top->word[number - view->top->from];
    return view->frozen != NULL && number < view->frozen->to ? view->frozen->word[number] : 0;
}

bool cx_stack_view_is_local(const struct cx_stack_view *view, uint64_t number)
{
    uint64_t word = visit_raw_word(view, number);
    return (word & COEX_GC_LOCAL_BIT) != 0 && !cx_shadow_is_header(word);
}

uint64_t cx_stack_view_word(const struct cx_stack_view *view, uint64_t number)
{
    uint64_t word = visit_raw_word(view, number);
    if ((word & COEX_GC_LOCAL_BIT) == 0 || cx_shadow_is_header(word)) return word;
    return view->live != NULL ? cx_shadow_reference(view->live, number) : word & ~COEX_GC_LOCAL_BIT;
}

void cx_stack_view_name(const struct cx_stack_view *view, char *name, size_t room)
{
    if (view->thread == CX_ROOT_RECORD_NOBODY)
        snprintf(name, room, "Stack %u (suspended)", view->stack);
    else
        snprintf(name, room, "Thread %u%s", view->thread, view->thread == 0 ? " (main)" : "");
}
