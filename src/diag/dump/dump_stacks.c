/* coex_gc_dump_shadow_stacks: the stacks as the root scan of a cycle read them. And the same of a process that stands still. */
#include "diag/heap/visit.h"
#include "gc/api/runtime.h"

#include <coex/gc_diag.h>
#include <inttypes.h>

enum { STACKS_SLICE_WORDS = 2048 };

struct dump_stack {
    const struct cx_stack_view *view;
    bool counted;    /* the frames are counted, and the head is printed */
    uint64_t at;     /* counting: the next word. Then: the end of the next frame to print, going down */
    uint64_t frames; /* counted, or left to print; the bottom's is not one of them */
    uint64_t frozen; /* of them: below the watermark */
};

struct dump_stacks {
    struct cx_text text;
    struct cx_stack_view *views;
    uint64_t count, next;
    struct dump_stack one;
    bool begun, shortened;
};

static bool stacks_count_some(struct dump_stack *stack)
{
    const struct cx_stack_view *view = stack->view;
    uint64_t end = stack->at + STACKS_SLICE_WORDS < view->words ? stack->at + STACKS_SLICE_WORDS : view->words;
    for (; stack->at < end; stack->at++) {
        if (stack->at == 0 || !cx_shadow_is_header(cx_stack_view_word(view, stack->at))) continue;
        stack->frames++;
        stack->frozen += stack->at < view->watermark;
    }
    return stack->at < view->words;
}

static void stacks_print_head(struct cx_text *text, const struct dump_stack *stack)
{
    char name[64];
    cx_stack_view_name(stack->view, name, sizeof name);
    cx_text_print(text, "\n%s:\n  Stack depth: %" PRIu64 "\n", name, stack->frames);
    if (stack->frozen != 0)
        cx_text_print(text, "  Watermark: %" PRIu64 " (active)\n", stack->frozen);
    else
        cx_text_print(text, "  Watermark: none\n");
}

static void stacks_print_slot(struct cx_text *text, uint64_t word, bool first)
{
    if (coex_is_immediate(word))
        cx_text_print(text, "%si=%" PRIu64, first ? "" : ", ", coex_immediate_bits(word));
    else
        cx_text_print(text, "%sh=%" PRIu64, first ? "" : ", ", word);
}

/* The frame whose last word is before `end`; returns its header's number. The bottom's frame (0) is printed if it holds something. */
static uint64_t stacks_print_frame(struct cx_text *text, const struct dump_stack *stack, uint64_t end)
{
    const struct cx_stack_view *view = stack->view;
    uint64_t header = end - 1;
    while (header > 0 && !cx_shadow_is_header(cx_stack_view_word(view, header))) header--;
    uint64_t slots = end - header - 1;
    if (header == 0 && slots == 0) return 0;
    cx_text_print(text, "  Frame %" PRIu64 ": %" PRIu64 " handles", header == 0 ? 0 : stack->frames, slots);
    for (uint64_t i = 0; i < slots; i++) {
        if (i == 0) cx_text_print(text, " [");
        stacks_print_slot(text, cx_stack_view_word(view, header + 1 + i), i == 0);
    }
    cx_text_print(text, "%s%s\n", slots != 0 ? "]" : "", header != 0 && end == view->watermark ? "  <- watermark" : "");
    return header;
}

/* A slice of one stack. False: it is done. */
static bool stacks_print_some(struct cx_text *text, struct dump_stack *stack)
{
    if (!stack->counted) {
        if (stacks_count_some(stack)) return true;
        stacks_print_head(text, stack);
        stack->counted = true;
        return true;
    }
    uint64_t least = stack->at > STACKS_SLICE_WORDS ? stack->at - STACKS_SLICE_WORDS : 0;
    while (stack->at > least) {
        stack->at = stacks_print_frame(text, stack, stack->at);
        stack->frames -= stack->frames != 0;
    }
    return stack->at > 0;
}

static bool stacks_visit(void *context)
{
    struct dump_stacks *dump = context;
    if (!dump->begun) {
        uint64_t threads = 0;
        dump->begun = true;
        dump->views = cx_visit_stacks_gct(&dump->count);
        dump->shortened = cx_root_record_is_short_gct() || dump->views == NULL;
        for (uint64_t i = 0; i < dump->count; i++) threads += dump->views[i].thread != CX_ROOT_RECORD_NOBODY;
        cx_text_print(&dump->text, "=== SHADOW STACKS ===\nRegistered threads: %" PRIu64 "\n", threads);
        return true;
    }
    if (dump->next == dump->count) return false;
    dump->one.view = &dump->views[dump->next];
    if (stacks_print_some(&dump->text, &dump->one)) return true;
    dump->next++;
    dump->one = (struct dump_stack){0};
    return true;
}

static void stacks_write(void *context)
{
    struct dump_stacks *dump = context;
    if (dump->shortened) cx_text_print(&dump->text, "(some stacks are missing: there was no memory to write them down)\n");
    cx_text_write(&dump->text);
    cx_os_free(dump->views);
}

void coex_gc_dump_shadow_stacks(void)
{
    struct dump_stacks dump = {0};
    if (!cx_visit_run("coex_gc_dump_shadow_stacks", true, stacks_visit, stacks_write, &dump) && !cx_runtime_is_up()) {
        cx_text_print(&dump.text, "=== SHADOW STACKS ===\nRegistered threads: 0\n");
        cx_text_write(&dump.text);
    }
}

void coex_gc_debug_stacks(void)
{
    struct cx_text text = {.direct = true};
    struct cx_stack_view view;
    cx_text_print(&text, "=== SHADOW STACKS ===\nRegistered threads: %u\n", cx_a32_load_relaxed(&cx_world.registry.live));
    if (!cx_runtime_is_up()) return;
    for (uint64_t at = 0; cx_stack_view_next_live(&at, &view);) {
        struct dump_stack stack = {.view = &view};
        while (stacks_print_some(&text, &stack)) {
        }
    }
}
