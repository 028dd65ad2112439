/* See stack_pool.h. */
#include "gc/stacks/stack_pool.h"

#include "gc/error.h"
#include "gc/lock_rank.h"

enum {
    STACK_LEAST_CLASS = 6,      /* 64 words */
    STACK_ARENA_LEAST = 1 << 20 /* bytes, if the system refuses more */
};
#define STACK_ARENA_BYTES ((size_t)64 << 30) /* address space; memory comes as it is touched */

int cx_stacks_init(struct cx_stacks *stacks)
{
    *stacks = (struct cx_stacks){.vacant = CX_NO_STACK};
    if (!cx_range_reserve(&stacks->range, (size_t)CX_MAX_STACKS * sizeof(struct cx_shadow), 4096 * sizeof(struct cx_shadow)))
        return cx_error_set(COEX_GC_ENOMEM, "no address space for the records of shadow stacks");
    if (!cx_range_reserve(&stacks->arena, STACK_ARENA_BYTES, STACK_ARENA_LEAST)) {
        cx_range_release(&stacks->range);
        return cx_error_set(COEX_GC_ENOMEM, "no address space for coroutine stacks");
    }
    if (CX_CHECKED) /* if there is no room for it, coroutine stacks are not checked */
        (void)cx_range_reserve(&stacks->copies, stacks->arena.reserved, stacks->arena.reserved);
    cx_mutex_init(&stacks->lock, CX_RANK_STACKS);
    return COEX_GC_OK;
}

void cx_stacks_fini(struct cx_stacks *stacks)
{
    uint32_t count = cx_a32_load_acquire(&stacks->count);
    for (uint32_t i = 0; i < count; i++) cx_shadow_fini(cx_stack_at(stacks, i));
    cx_mutex_fini(&stacks->lock);
    cx_range_release(&stacks->copies);
    cx_range_release(&stacks->arena);
    cx_range_release(&stacks->range);
}

/* Commits at least `need` bytes, doubling. */
static bool stack_commit(cx_range *range, size_t need)
{
    size_t ahead = range->committed * 2;
    return need <= range->committed || cx_range_commit(range, ahead > need && ahead <= range->reserved ? ahead : need);
}

/* A vacant record, which keeps its reservation if it has one and is wanted for a home. */
static struct cx_shadow *stack_take_record_locked(struct cx_stacks *stacks)
{
    cx_mutex_assert_held(&stacks->lock);
    if (stacks->vacant != CX_NO_STACK) {
        struct cx_shadow *stack = cx_stack_at(stacks, stacks->vacant);
        stacks->vacant = stack->next;
        return stack;
    }
    uint32_t number = cx_a32_load_relaxed(&stacks->count);
    if (!stack_commit(&stacks->range, (size_t)(number + 1) * sizeof(struct cx_shadow))) {
        cx_error_set(COEX_GC_ENOMEM, "no room for more than %u shadow stacks", number);
        return NULL;
    }
    struct cx_shadow *stack = cx_stack_at(stacks, number);
    stack->number = number;
    stack->check = &stacks->lock;
    cx_a32_store_release(&stacks->count, number + 1);
    return stack;
}

static void stack_give_record_locked(struct cx_stacks *stacks, struct cx_shadow *stack)
{
    cx_a32_store_release(&stack->state, CX_SHADOW_VACANT);
    stack->next = stacks->vacant;
    stacks->vacant = stack->number;
}

struct cx_shadow *cx_stack_create_home(struct cx_stacks *stacks, uint64_t slots)
{
    cx_mutex_lock(&stacks->lock);
    struct cx_shadow *stack = stack_take_record_locked(stacks);
    if (stack != NULL && cx_shadow_init(stack, slots) != COEX_GC_OK) {
        stack_give_record_locked(stacks, stack);
        stack = NULL;
    }
    cx_mutex_unlock(&stacks->lock);
    if (stack == NULL) return NULL;
    cx_shadow_reset(stack, &stack->top);
    cx_a32_store_release(&stack->state, CX_SHADOW_ACTIVE);
    return stack;
}

/* Memory for 2^size_class words. */
static coex_handle *stack_take_words_locked(struct cx_stacks *stacks, unsigned size_class)
{
    coex_handle *words = stacks->free[size_class];
    if (words != NULL) {
        stacks->free[size_class] = (coex_handle *)(uintptr_t)words[0];
        return words;
    }
    uint64_t bytes = (uint64_t)sizeof(coex_handle) << size_class;
    if (bytes > stacks->arena.reserved - stacks->arena_used || !stack_commit(&stacks->arena, stacks->arena_used + bytes))
        return NULL;
    if (stacks->copies.base != NULL) (void)stack_commit(&stacks->copies, stacks->arena.committed);
    words = (coex_handle *)(void *)(stacks->arena.base + stacks->arena_used);
    stacks->arena_used += bytes;
    return words;
}

struct cx_shadow *cx_stack_create(struct cx_stacks *stacks, uint64_t slots, uint64_t done)
{
    unsigned size_class = STACK_LEAST_CLASS;
    while (size_class < CX_STACK_CLASSES - 1 && (uint64_t)1 << size_class < slots + 1) size_class++;
    cx_mutex_lock(&stacks->lock);
    struct cx_shadow *stack = stack_take_record_locked(stacks);
    coex_handle *words = stack != NULL && (uint64_t)1 << size_class > slots ? stack_take_words_locked(stacks, size_class) : NULL;
    if (stack != NULL && words == NULL) {
        stack_give_record_locked(stacks, stack);
        cx_error_set(COEX_GC_ENOMEM, "coex_gc_stack_create: no room for a stack of %llu slots",
                     (unsigned long long)slots);
    }
    size_t place = words != NULL ? (size_t)((char *)words - stacks->arena.base) : 0;
    bool checked = stacks->copies.base != NULL && place + ((size_t)sizeof *words << size_class) <= stacks->copies.committed;
    cx_mutex_unlock(&stacks->lock);
    if (words == NULL) return NULL;
    stack->copy = checked ? (uint64_t *)(void *)(stacks->copies.base + place) : NULL;
    stack->base = words;
    stack->end = words + ((size_t)1 << size_class);
    stack->size_class = size_class;
    cx_shadow_reset(stack, &stack->top);
    cx_a64_store_relaxed(&stack->done, done);
    cx_a64_store_relaxed(&stack->thread, 0);
    cx_a32_store_release(&stack->state, CX_SHADOW_SUSPENDED);
    return stack;
}

void cx_stack_destroy(struct cx_stacks *stacks, struct cx_shadow *stack)
{
    bool home = stack->range.base != NULL;
    coex_handle *words = stack->base;
    cx_a32_store_release(&stack->state, CX_SHADOW_VACANT);
    cx_shadow_drop_frozen(stack);
    if (!home) /* what it touched beyond a page goes back */
        cx_os_discard(words + 1, ((size_t)sizeof(coex_handle) << stack->size_class) - sizeof(coex_handle));
    cx_mutex_lock(&stacks->lock);
    cx_shadow_fini(stack);
    if (!home) {
        words[0] = (uint64_t)(uintptr_t)stacks->free[stack->size_class];
        stacks->free[stack->size_class] = words;
    }
    stack_give_record_locked(stacks, stack);
    cx_mutex_unlock(&stacks->lock);
}

void cx_stacks_fork_child(struct cx_stacks *stacks, const struct cx_shadow *own)
{
    uint32_t count = cx_a32_load_relaxed(&stacks->count);
    for (uint32_t i = 0; i < count; i++) {
        struct cx_shadow *stack = cx_stack_at(stacks, i);
        cx_shadow_drop_frozen(stack);
        if (stack == own || cx_a32_load_relaxed(&stack->state) != CX_SHADOW_ACTIVE) continue;
        cx_shadow_reset(stack, &stack->top);
        cx_a32_store_relaxed(&stack->state, CX_SHADOW_SUSPENDED);
    }
}
