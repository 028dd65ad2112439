/* The mark queue: handles on their way to a marker, in chunks, and the list of full chunks.
 *
 * A thread (mutator or marker) fills a chunk of its own. A full chunk goes to the list, and any
 * marker takes it from there. An entry is a *candidate*: a handle that a marker marks, unless it
 * is marked already, and then traces. A handle may therefore be in several chunks, and no object
 * is lost or traced twice. A marked object that is only partly traced is a *rest*. A rest consists
 * of two entries that always stay together. The lower entry is the handle of the object. The upper
 * entry is a word with CX_GREY_REST, the kind of the rest, and the index at which tracing
 * continues.
 *
 * INV-QUEUE-1  Queueing a handle cannot fail. If no chunk is available, the bit of the handle is
 *              set in the grey bitmap of the handle table. The collector searches this bitmap when
 *              it has no other work. `spilled` means that some bit is set, or was set when the
 *              clearing of the bitmap began.
 * INV-QUEUE-3  A rest has no bit in the bitmap. If no chunk is available, the rest goes to `rest`,
 *              an array with a few places in this struct. Markers take from this array before they
 *              take a chunk, so each marker adds no more rests than its queues hold.
 * INV-QUEUE-4  chunks = free + cold + out. A cold chunk has no pages and therefore cannot be
 *              linked. Its number is on a stack beside the range. */
#ifndef CX_GC_MARKING_MARK_QUEUE_H
#define CX_GC_MARKING_MARK_QUEUE_H

#include "base/lock.h"
#include "base/report.h"
#include "base/os.h"
#include "gc/budget.h"
#include "gc/heap/handle_table.h"

enum {
    CX_CHUNK_BYTES = 4096,
    CX_CHUNK_ENTRIES = CX_CHUNK_BYTES / 8 - 2,
    CX_CHUNKS_WAITING = 256 /* full chunks on the list beyond which mutators use the bitmap: 1 MiB */
};

/* This entry is a rest, and the handle is below it. Bits 60 to 62 are its kind, the others the index. */
#define CX_GREY_REST       ((uint64_t)1 << 63)
#define CX_GREY_REST_KIND  ((uint64_t)7 << 60)
#define CX_GREY_REST_INDEX (((uint64_t)1 << 60) - 1)
#define CX_REST_ARRAY      (CX_GREY_REST | (uint64_t)0 << 60) /* elements from `index` on */
#define CX_REST_FAR        (CX_GREY_REST | (uint64_t)1 << 60) /* far references from number `index` on */
#define CX_REST_OBJECT     (CX_GREY_REST | (uint64_t)2 << 60) /* all of it */
#define CX_REST_EPHEMERONS (CX_GREY_REST | (uint64_t)3 << 60) /* the ephemerons that wait for this key (weak_references.h) */

enum { CX_GREY_RESTS = 256 }; /* places for rests without a chunk: a marker adds about 32 before it takes from there */

struct cx_chunk {
    struct cx_chunk *next;
    uint64_t count;
    uint64_t entry[CX_CHUNK_ENTRIES];
};
_Static_assert(sizeof(struct cx_chunk) == CX_CHUNK_BYTES, "a chunk fills its bytes");

struct cx_mark_queue {
    cx_mutex lock;
    struct cx_chunk *free;           /* under the lock */
    struct cx_chunk *full;           /* under the lock */
    cx_a64 full_count;               /* W: under the lock, release. R: anyone, acquire */
    uint32_t assistants;             /* mutators that are marking; under the lock */
    cx_a32 assist_wanted;            /* W: mutators, relaxed; collector resets. R: collector relaxed */
    cx_a32 assist_allowed;           /* W: collector release. R: mutators acquire. INV-MARK-1 */
    cx_a32 spilled;                  /* W: who spills, release; collector resets, acq_rel. R: collector */
    cx_a32 rests;                    /* W: under the lock, release. R: anyone, acquire */
    uint64_t rest[CX_GREY_RESTS][2]; /* handle, rest; under the lock. INV-QUEUE-3 */
    uint64_t most_chunks;            /* a limit for tests */
    uint64_t chunks;                 /* ever made: free ones, cold ones and those that are out. Under the lock, as what follows */
    uint64_t free_count;             /* on the list `free` */
    uint64_t out;                    /* filled, or being filled or traced, by whoever it is */
    uint64_t out_most;               /* the most of them since the last cycle ended */
    uint64_t needed[2];              /* the same of the last cycle, and of the one before */
    uint64_t cold;                   /* chunks whose pages were given back: their numbers are in cold_range */
    cx_range range;
    cx_range cold_range;
    struct cx_handles *handles;
};

int cx_mark_queue_init(struct cx_mark_queue *queue, struct cx_handles *handles);
void cx_mark_queue_fini(struct cx_mark_queue *queue);

struct cx_chunk *cx_mark_queue_take_empty(struct cx_mark_queue *queue); /* NULL: no memory */
void cx_mark_queue_give_empty(struct cx_mark_queue *queue, struct cx_chunk *chunk);
void cx_mark_queue_give_full(struct cx_mark_queue *queue, struct cx_chunk *chunk);
/* A cycle has ended: what the next one needs is measured from here. */
void cx_mark_queue_cycle_ended_gct(struct cx_mark_queue *queue);
/* Gives the pages of free chunks back to the operating system, beyond what each of the last two cycles needed. Returns false when there
 * are no more of them. INV-QUEUE-4 */
bool cx_mark_queue_trim_gct(struct cx_mark_queue *queue, struct cx_budget *budget);
struct cx_chunk *cx_mark_queue_take_full(struct cx_mark_queue *queue); /* NULL: none */
/* INV-QUEUE-2  The collector ends a round only when the list is empty and nobody is assisting: an assistant counts from the moment it
 *             takes its first chunk (same critical section) until it has handed back what it did not trace. */
struct cx_chunk *cx_mark_queue_begin_assist(struct cx_mark_queue *queue); /* NULL: nothing to do, nothing begun */
void cx_mark_queue_end_assist(struct cx_mark_queue *queue);
bool cx_mark_queue_is_quiet(struct cx_mark_queue *queue);
void cx_mark_queue_spill(struct cx_mark_queue *queue, coex_handle handle);
/* Keeps a rest for which there is no chunk, INV-QUEUE-3. Returns false if there is no place. */
bool cx_mark_queue_keep_rest(struct cx_mark_queue *queue, coex_handle handle, uint64_t rest);
/* Takes one. Returns false if there is none. */
bool cx_mark_queue_take_rest(struct cx_mark_queue *queue, coex_handle *handle, uint64_t *rest);
/* Drops chunks of the list and rests, because a cycle starts from its roots. Returns true if there are
 * more. */
bool cx_mark_queue_drop_some_gct(struct cx_mark_queue *queue, struct cx_budget *budget);

/* Nobody has a chunk any more but this thread, which has let go of its own. */
void cx_mark_queue_fork_child(struct cx_mark_queue *queue);

/* One more chunk for *buffer, whose full one, if any, goes to the list. False: no memory, *buffer is NULL then. */
bool cx_mark_queue_next_chunk(struct cx_mark_queue *queue, struct cx_chunk **buffer);

static inline void cx_mark_queue_push(struct cx_mark_queue *queue, struct cx_chunk **buffer, coex_handle handle)
{
    if (CX_UNLIKELY(*buffer == NULL || (*buffer)->count == CX_CHUNK_ENTRIES) && !cx_mark_queue_next_chunk(queue, buffer)) {
        cx_mark_queue_spill(queue, handle);
        return;
    }
    (*buffer)->entry[(*buffer)->count++] = handle;
}

/* Hands over what is in *buffer, if anything. */
void cx_mark_queue_hand_over(struct cx_mark_queue *queue, struct cx_chunk **buffer);

#endif
