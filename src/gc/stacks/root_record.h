/* Root records: the contents of the shadow stacks in one cycle, for visits of the heap.
 *
 * A stack cannot be read while its thread runs on it. But in each cycle every word of the stack is
 * read once. The owner reads its top frames at ROOTS and the frames that it returns into, and the
 * collector reads all other frames (shadow_stack.h). While recording is on, the thread that reads
 * a word also copies it to a record. A record therefore costs a thread a copy of words that it
 * reads anyway, and no thread waits. When marking has ended, the records are the stacks as the
 * cycle saw them.
 *
 *     a record          [from, to) of one stack: the words that a freeze covers, or the words above
 *                       them that the owner reads at ROOTS. A stack that is frozen again has
 *                       several records. The last freeze is the stack, together with the words
 *                       above it if the owner read them
 *     its words         headers and slots are copied unchanged. For a local, the record holds the
 *                       value of the local, with COEX_GC_LOCAL_BIT unless it is 0 or an immediate
 *
 * INV-RECORD-1  Recording is switched on before SYNC is published, and switched off after the
 *               visits, when no word is frozen. A freeze and the reads of its words therefore see
 *               the same setting. The `record` of a shadow stack belongs to its last freeze or is
 *               NULL.
 * INV-RECORD-2  Two threads never write the same word of a record, because spans are claimed or
 *               cut (INV-SHADOW-2, INV-SHADOW-4). The flush handshakes make all words visible to
 *               the collector before a visit reads them. */
#ifndef CX_GC_STACKS_ROOT_RECORD_H
#define CX_GC_STACKS_ROOT_RECORD_H

#include "gc/budget.h"
#include "gc/stacks/shadow_stack.h"

#define CX_ROOT_RECORD_NOBODY UINT32_MAX

struct cx_root_record {
    struct cx_root_record *next;
    uint32_t stack;    /* number of the stack */
    uint32_t thread;   /* number of the thread that was on it at its ROOTS answer, or CX_ROOT_RECORD_NOBODY: what was frozen */
    uint64_t os_id;    /* of that thread */
    uint64_t from, to; /* word numbers */
    uint64_t order;    /* a later record of the same stack has a higher number */
    cx_range range;    /* that it lies in, if it is a long one */
    uint64_t word[];
};

/* The collector's, INV-RECORD-1. */
void cx_root_record_begin_gct(void);
/* All records so far, the last one made first. Between the end of marking and cx_root_record_end_gct. */
const struct cx_root_record *cx_root_record_list_gct(void);
/* Some record could not be made: no memory. */
bool cx_root_record_is_short_gct(void);
/* Ends the recording and frees the records. Returns true if some are left. */
bool cx_root_record_end_gct(struct cx_budget *budget);
/* The cycle is forgotten. */
void cx_root_record_fork_child(void);

bool cx_root_record_is_on(void);
/* Freezes [0, end) of a stack (cx_shadow_freeze). If recording is on, a record is made, and the words
 * are written down as they are read. */
void cx_root_record_freeze(struct cx_shadow *shadow, uint64_t end);
/* Words that their thread reads at ROOTS. */
void cx_root_record_add_top(const struct cx_shadow *shadow, struct cx_span span, uint32_t thread, uint64_t os_id);
/* Frozen words are read: writes them into the record of their freeze, if there is one. */
void cx_root_record_fill(const struct cx_shadow *shadow, struct cx_span span);

#endif
