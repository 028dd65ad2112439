/* See root_list.h. */
#include "diag/heap/root_list.h"

#include "gc/marking/finalizers.h"
#include "gc/marking/global_roots.h"

#include <inttypes.h>

enum { ROOT_LIST_SLICE_WORDS = 8192, ROOT_LIST_PIECE = 256 };

static const uint64_t root_list_most = (uint64_t)1 << 31; /* roots; address space, not memory */

bool cx_root_list_init(struct cx_root_list *list)
{
    *list = (struct cx_root_list){0};
    return cx_range_reserve(&list->range, root_list_most * sizeof(struct cx_root), (size_t)1 << 20);
}

void cx_root_list_fini(struct cx_root_list *list)
{
    cx_os_free(list->stacks);
    cx_range_release(&list->range);
    list->stacks = NULL;
    list->count = 0;
}

static void root_list_add(struct cx_root_list *list, const struct cx_root *root)
{
    size_t need = (size_t)(list->count + 1) * sizeof *root, ahead = list->range.committed * 2;
    if (need > list->range.committed &&
        !cx_range_commit(&list->range, ahead > need && ahead <= list->range.reserved ? ahead : need)) {
        list->cut = true;
        return;
    }
    ((struct cx_root *)(void *)list->range.base)[list->count++] = *root;
}

/* ------------------------------------------------------------------- stacks */

/* Where the youngest frame begins. */
static uint64_t root_list_top_frame(const struct cx_stack_view *view)
{
    uint64_t at = view->words;
    while (at > 0 && !cx_shadow_is_header(cx_stack_view_word(view, at - 1))) at--;
    return at > 0 ? at - 1 : 0;
}

/* A slice of the words of one stack. False: it is done. */
static bool root_list_add_words(struct cx_root_list *list, const struct cx_stack_view *view, uint64_t most)
{
    uint64_t end = view->words - list->slot > most ? list->slot + most : view->words, top = root_list_top_frame(view);
    bool suspended = view->thread == CX_ROOT_RECORD_NOBODY;
    for (; list->slot < end; list->slot++) {
        uint64_t word = cx_stack_view_word(view, list->slot);
        if (cx_shadow_is_header(word)) {
            list->header = list->slot;
            list->frame += list->slot != 0;
        } else if (cx_is_reference(word) && cx_handle_is_object(&cx_world.handles, word)) {
            root_list_add(list, &(struct cx_root){.handle = word,
                                                 .kind = suspended ? CX_ROOT_SUSPENDED : CX_ROOT_THREAD,
                                                 .owner = suspended ? view->stack : view->thread,
                                                 .where = list->frame,
                                                 .slot = (uint32_t)(list->slot - list->header - 1),
                                                 .top = list->header == top});
        }
    }
    return list->slot < view->words;
}

/* ------------------------------------------------------------------- others */

static void root_list_add_cell(void *context, uint64_t cell, uint64_t pins, coex_handle handle)
{
    bool global = cell != 0;
    root_list_add(context,
                 &(struct cx_root){.handle = handle, .kind = global ? CX_ROOT_GLOBAL : CX_ROOT_PIN, .where = global ? cell : pins});
}

/* A piece of the cells, then of the pins. False: that was the end. */
static bool root_list_add_cells(struct cx_root_list *list, bool lock)
{
    bool anew;
    uint64_t which = list->cursor.list, before = list->count;
    if (which == 2) return false;
    if (list->cursor.at == 0) list->list_start = list->count;
    bool more = cx_roots_read(&list->cursor, &anew, root_list_add_cell, list, lock);
    if (anew && before != list->list_start) { /* the table was rebuilt: what came of it before comes again */
        struct cx_root *roots = (struct cx_root *)(void *)list->range.base;
        for (uint64_t from = before; from < list->count; from++) roots[from - before + list->list_start] = roots[from];
        list->count -= before - list->list_start;
    }
    return more;
}

static bool root_list_add_queue(struct cx_root_list *list, bool lock)
{
    coex_handle piece[ROOT_LIST_PIECE];
    uint64_t count = cx_finalize_read(&list->queue_at, piece, ROOT_LIST_PIECE, lock);
    for (uint64_t i = 0; i < count; i++)
        root_list_add(list, &(struct cx_root){.handle = piece[i], .kind = CX_ROOT_FINALIZER, .where = i});
    return count != 0;
}

bool cx_root_list_gather_gct(struct cx_root_list *list)
{
    if (!list->begun) {
        list->begun = true;
        list->stacks = cx_visit_stacks_gct(&list->stack_count);
        if (list->stacks == NULL || cx_root_record_is_short_gct()) list->cut = true;
    }
    if (list->stack < list->stack_count) {
        if (root_list_add_words(list, &list->stacks[list->stack], ROOT_LIST_SLICE_WORDS)) return true;
        list->stack++;
        list->slot = list->header = list->frame = 0;
        return true;
    }
    return root_list_add_cells(list, true) || root_list_add_queue(list, true);
}

void cx_root_list_gather_live(struct cx_root_list *list)
{
    struct cx_stack_view view;
    for (uint64_t at = 0; cx_stack_view_next_live(&at, &view);) {
        list->slot = list->header = list->frame = 0;
        root_list_add_words(list, &view, UINT64_MAX);
    }
    while (root_list_add_cells(list, false)) {
    }
    while (root_list_add_queue(list, false)) {
    }
}

void cx_root_print(struct cx_text *text, const struct cx_root *root)
{
    char name[64];
    struct cx_stack_view view = {.thread = root->kind == CX_ROOT_THREAD ? root->owner : CX_ROOT_RECORD_NOBODY, .stack = root->owner};
    switch (root->kind) {
    case CX_ROOT_THREAD:
    case CX_ROOT_SUSPENDED:
        cx_stack_view_name(&view, name, sizeof name);
        cx_text_print(text, "%s, frame %" PRIu64 ", slot %u", name, root->where, root->slot);
        break;
    case CX_ROOT_GLOBAL:
        cx_text_print(text, "global root at 0x%" PRIx64, root->where);
        break;
    case CX_ROOT_PIN:
        cx_text_print(text, "pin (%" PRIu64 " %s)", root->where, root->where == 1 ? "time" : "times");
        break;
    case CX_ROOT_FINALIZER:
        cx_text_print(text, "queue of finalizers");
        break;
    }
}
