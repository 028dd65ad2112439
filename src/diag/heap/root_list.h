/* The roots of a cycle in one list: who has them, and where.
 *
 * Gathered during a visit from the records of the stacks, the global cells, the pins and the queue of finalizers, a slice at a time; or all
 * at once in a process that stands still. 32 bytes a root, in a reserved range. */
#ifndef CX_DIAG_HEAP_ROOT_LIST_H
#define CX_DIAG_HEAP_ROOT_LIST_H

#include "diag/heap/visit.h"
#include "base/vector.h"

enum cx_root_kind { CX_ROOT_THREAD, CX_ROOT_SUSPENDED, CX_ROOT_GLOBAL, CX_ROOT_PIN, CX_ROOT_FINALIZER };

struct cx_root {
    coex_handle handle;
    enum cx_root_kind kind;
    uint32_t owner; /* of a frame: number of the thread, or of the suspended stack */
    uint64_t where; /* of a frame: its number, 0 is the bottom's. Global: address of the cell. Pin: how often */
    uint32_t slot;  /* of a frame: number of the slot */
    bool top;       /* of a frame: it is the youngest one */
};

struct cx_root_list {
    cx_range range; /* struct cx_root[] */
    uint64_t count;
    bool cut; /* no memory for all of them */
    bool begun;
    /* while it is gathered */
    struct cx_stack_view *stacks;
    uint64_t stack_count, stack;
    uint64_t slot, header, frame;
    struct cx_mark_cursor cursor;
    uint64_t list_start; /* count when the cursor's list began */
    uint64_t queue_at;
};

bool cx_root_list_init(struct cx_root_list *list);
void cx_root_list_fini(struct cx_root_list *list);
/* Goes on by a slice. False: all roots are there. */
bool cx_root_list_gather_gct(struct cx_root_list *list);
/* In a process that stands still. */
void cx_root_list_gather_live(struct cx_root_list *list);

static inline const struct cx_root *cx_root_list_at(const struct cx_root_list *list, uint64_t number)
{
    return &((const struct cx_root *)(const void *)list->range.base)[number];
}

/* "Thread 0 (main), frame 3, slot 1", "global root at 0x…", "pin (2 times)", "queue of finalizers". */
void cx_root_print(struct cx_text *text, const struct cx_root *root);

#endif
