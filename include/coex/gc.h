/* Coex: a precise, concurrent, embeddable garbage collector.
 *
 * This header is the whole public interface of the collector; gc_diag.h adds the tools to look inside, and gc_inline.h (included
 * at the end) holds the fast paths as inline functions of the same names. C11 and C++11.
 *
 * Words. A *handle* names an object for as long as it lives, wherever the object is in memory. A *payload* is the bytes of an
 * object that belong to you; sizes and offsets are payload bytes. A *safepoint* is a place where the collector may look at this
 * thread's roots. A *slot* is a word of the shadow stack that keeps what it names alive.
 *
 * The rooting rules, for interpreters and compiled code alike:
 *   1. At a safepoint every live handle is in a slot.
 *   2. Safepoints are: allocation, coex_gc_enter_frame, coex_gc_push_frame, coex_gc_safepoint, the native transitions, and every
 *      function that says so below. Leaving a frame, deref, load, store, init_ref and set_slot never are.
 *   3. The caller keeps every handle argument rooted until the call returns. A result comes back unrooted: store it before the
 *      next safepoint.
 *   4. A function writes only the slots of its own frame; another frame's only through coex_gc_set_root / coex_gc_set_slot.
 *   5. A raw address is dead after the next safepoint.
 *   6. An object whose type is not MUTABLE is complete at the next safepoint after its allocation.
 *      One exception: any thread may at any time write a plain word of it that only remembers what can be computed from the rest (a
 *      hash), whole, by a relaxed atomic store: the object may be copied at that moment, and the write be lost, which must do no harm.
 *   7. Blocking is done in native mode.
 *
 * Errors. Exhaustion (memory, handles, threads) gives the null handle or a code, after the embedder's out_of_memory handler had
 * its say. Misuse (an unknown type, a thread that is not registered, a broken frame) ends in one line on stderr and abort();
 * `checked` builds catch more of it. The library never prints otherwise unless asked to, never exits, and touches no signal. */
#ifndef COEX_GC_H
#define COEX_GC_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define COEX_API __attribute__((visibility("default")))
#else
#error "Coex needs a compiler with GNU C extensions (gcc or clang)"
#endif

/* ---------------------------------------------------------------- handles */

/* The name of an object; 0 is null. Bits 62 and 63 of a handle are always clear. In `checked` builds a handle carries a generation, and
 * one whose object is gone is told from one that was given out again; take it as a whole there, too. */
typedef uint64_t coex_handle;

#define COEX_NULL ((coex_handle)0)

/* A reference word with bit 62 set is an immediate: a small integer, a character, whatever fits in 62 bits. Tracing, barriers,
 * roots and collections pass over it, so a dynamic language keeps "integer or reference" in one word. */
#define COEX_IMMEDIATE_BIT   ((uint64_t)1 << 62)
#define COEX_IMMEDIATE(bits) (((uint64_t)(bits) & (COEX_IMMEDIATE_BIT - 1)) | COEX_IMMEDIATE_BIT)

static inline bool coex_is_immediate(uint64_t word) { return (word & COEX_IMMEDIATE_BIT) != 0; }
static inline uint64_t coex_immediate_bits(uint64_t word) { return word & (COEX_IMMEDIATE_BIT - 1); }

/* ------------------------------------------------------------------- life */

enum {
    COEX_GC_OK = 0,
    COEX_GC_EINVAL = 1,   /* an argument or a configuration value makes no sense */
    COEX_GC_EOPTION = 2,  /* COEX_GC or COEX_GC_DEBUG can't be read */
    COEX_GC_ENOMEM = 3,   /* the operating system gives no memory or address space */
    COEX_GC_ETHREAD = 4,  /* no thread could be started or registered */
    COEX_GC_EALREADY = 5, /* the runtime is initialised already */
    COEX_GC_ETYPE = 6,    /* a type descriptor is wrong; coex_gc_error_detail says how */
    COEX_GC_ELIMIT = 7,   /* a configured limit is reached: heap_limit, max_handles, types */
    COEX_GC_ESTATE = 8,   /* the runtime is not initialised */
    COEX_GC_ESYSTEM = 9   /* the operating system refused a call; coex_gc_error_detail says which */
};

/* Called when an allocation of `size` bytes has failed: it has waited for full cycles until one of them freed no more and no other
 * thread took what was free. Returns true to try once more. It runs on the thread that allocates and may free what it can (drop roots,
 * coex_gc_collect). An allocation inside it that finds no room returns the null handle at once. */
typedef bool (*coex_gc_out_of_memory)(uint64_t size, void *context);

typedef struct coex_gc_config {
    uint64_t size;                /* sizeof(coex_gc_config): versions the struct */
    uint64_t initial_handles;     /* handles committed at first; rounded up to whole table steps */
    uint64_t max_handles;         /* hard limit of handles */
    uint64_t initial_heap;        /* bytes committed at first */
    uint64_t heap_limit;          /* hard limit of heap bytes; 0: none but the address space reserved */
    uint64_t memlimit;            /* soft limit: cycles come earlier the closer the heap is to it; 0: none */
    uint64_t percent;             /* the heap may grow by this much over what survived before the next cycle starts (as GOGC) */
    uint64_t trigger_allocations; /* a cycle after this many allocations; 0: off */
    uint64_t shadow_stack_slots;  /* words of shadow stack a thread may use */
    uint64_t gc_threads;          /* 1, or 0: the cycle runs in slices on the mutators, see coex_gc_step */
    uint64_t safepoint_warn_ms;   /* a thread that has not answered after this long is named */
    uint64_t trace_level;         /* 0: silent; 1: the phases of each cycle; more: see coex_gc_set_trace_level */
    coex_gc_out_of_memory out_of_memory;
    void *context;        /* for out_of_memory */
    uint64_t stress;      /* debugging: ask for a cycle at every so-manieth allocation of a thread; 0: off */
    bool poison;          /* debugging: overwrite freed memory */
    bool verify;          /* debugging: mark again independently before each sweep, abort on a missed object */
    uint64_t stress_from; /* ... beginning with this one; 0: with the first that is due. Narrow the two to find a missing root */
    uint64_t stress_to;   /* ... and up to this one; 0: for ever */
    bool stress_wait; /* ... and the allocation waits until that cycle has ended: slow, and the surest way to find a missing root */
    bool stress_random; /* ... with random gaps of that many on average, the same in every run */
    bool gctrace;       /* a line for each cycle, as Go's gctrace has it; see docs/guide/debugging.md */
    bool stale;    /* debugging: freed handles stay out of use as long as possible, and the report of one that is used says what
                             it was: its type, where it was allocated, the cycle that freed it */
    bool barriers; /* debugging, in `checked` builds: find references that were written without a barrier */
    const char *events; /* a file for coex_gc_trace_start (<coex/gc_diag.h>) to begin with; NULL: none. The text is copied */
} coex_gc_config;

/* Fill with the defaults and set `size`. */
COEX_API void coex_gc_config_default(coex_gc_config *config);

/* Defaults, then COEX_GC and COEX_GC_DEBUG from the environment; registers this thread; starts the GC thread. A second call is a
 * no-op. A failure prints one line and aborts. */
COEX_API void coex_gc_init(void);

/* The same with a configuration (NULL: the defaults); the environment has the last word. 0, or a COEX_GC_E… code with nothing
 * left behind. */
COEX_API int coex_gc_init_with(const coex_gc_config *config);

/* Waits for a running cycle, ends the GC thread, gives everything back; coex_gc_init may follow again. The caller must be the
 * only managed thread. Threads may come (to wait, and find no runtime), go, and sit in native mode meanwhile. Without a runtime: a
 * no-op. */
COEX_API void coex_gc_shutdown(void);

/* For libraries on top: `hook` runs at the end of every init from now on (and at once if the runtime is up), on the thread that
 * initialises. It registers types, their describers, and what else must come after the runtime's own (fork hooks); it allocates nothing.
 * False from it makes init fail with this thread's last error, which it may set by coex_gc_set_error. Functions run in the order they came in; one that is known already is
 * not added again. False: it failed, or there is no room for more. */
COEX_API bool coex_gc_at_init(bool (*hook)(void));

COEX_API const char *coex_gc_error_string(int code);
COEX_API int coex_gc_last_error(void);           /* of this thread: why the last call that returned 0 or null did so */
COEX_API const char *coex_gc_error_detail(void); /* the same in words, "" if there is nothing to say */
/* Makes `code` (a COEX_GC_E… code) and `detail` (NULL: none) this thread's last error, for functions of coex_gc_at_init. Returns
 * `code`. */
COEX_API int coex_gc_set_error(int code, const char *detail);
COEX_API const char *coex_gc_version(void);

/* ------------------------------------------------------------------ types */

typedef struct coex_gc_visitor coex_gc_visitor;

/* For trace functions: tell the collector of a reference field. Reads the field once, atomically. */
COEX_API void coex_gc_visit(coex_gc_visitor *visitor, const coex_handle *field);

enum {
    COEX_GC_MUTABLE = 1,  /* anything in the payload may be written after birth; such objects never move */
    COEX_GC_REF_ARRAY = 2 /* the payload from array_offset to its end is handles */
};

#define COEX_GC_MAX_TYPES ((uint32_t)1 << 20)

typedef struct coex_gc_type {
    const char *name;
    uint64_t size;               /* fixed payload size, or 0: given at each allocation */
    const uint32_t *ref_offsets; /* byte offsets of handle fields in the payload, multiples of 8. In a type of variable size an
                                    offset past the end of an object is not there in that object */
    uint32_t ref_count;
    uint32_t flags;        /* COEX_GC_MUTABLE, COEX_GC_REF_ARRAY */
    uint32_t array_offset; /* with REF_ARRAY: the payload from here to its end is handles */
    void (*trace)(const void *payload, uint64_t size, coex_gc_visitor *visitor); /* instead of offsets. Called beside running
                                    mutators: reads references only through the visitor, allocates, blocks and derefs nothing.
                                    One call is one piece of work: a step, an assist and a fork may wait for all of it. Arrays
                                    and offsets are read in pieces, so prefer them for objects of more than some kilobytes */
    void (*finalize)(coex_handle object, void *context);
    void *finalize_context;
    const char *const *ref_names; /* names of the ref fields, for dumps */
    uint32_t align;               /* of the payload: 0 means 8; 16, 32 or 64 */
} coex_gc_type;

/* The descriptor is copied. Returns the id (> 0), or 0 with an error recorded. Any thread, any time. */
COEX_API uint32_t coex_gc_register_type(const coex_gc_type *type);

/* ---------------------------------------------------------------- objects */

/* A new object with a zeroed payload. For a type of fixed size, `size` is that size. 0 when memory or handles are exhausted
 * (coex_gc_last_error says which). A safepoint. */
COEX_API coex_handle coex_gc_alloc(uint64_t size, uint32_t type_id);

/* The same, and the payload's address, so that filling it reads no table. *payload is NULL when the result is 0. */
COEX_API coex_handle coex_gc_alloc_at(uint64_t size, uint32_t type_id, void **payload);

/* The payload's address, NULL for 0; valid until the next safepoint. Not for immediates. A handle that names no object is reported in
 * `checked` builds; otherwise it gives NULL, unless it is 2^32 or more and far beyond the table, where reading may fault, as it does
 * without a runtime. */
COEX_API void *coex_gc_handle_deref(coex_handle h);

COEX_API uint64_t coex_gc_size(coex_handle h);    /* payload bytes; 0 for null */
COEX_API uint32_t coex_gc_type_of(coex_handle h); /* type id; 0 for null */
COEX_API bool coex_gc_is_handle(uint64_t word); /* does this word name an object now? True for no other words; reads nothing else */

/* What the header and the tables say of an object (the four header fields of the classic layout, and more). */
typedef struct coex_gc_object {
    uint64_t size; /* bytes in the heap, header and padding included */
    uint64_t payload_size;
    uint32_t type_id;
    uint32_t flags;      /* COEX_GC_OBJECT_… */
    coex_handle forward; /* always 0: a handle never changes when its object moves */
    const void *address; /* of the payload */
} coex_gc_object;

enum {
    COEX_GC_OBJECT_MARKED = 1,
    COEX_GC_OBJECT_BORN = 2,
    COEX_GC_OBJECT_LARGE = 4,
    COEX_GC_OBJECT_MUTABLE = 8,
    COEX_GC_OBJECT_FROZEN = 16 /* of a MUTABLE type: coex_gc_freeze */
};

COEX_API bool coex_gc_object_info(coex_handle h, coex_gc_object *info); /* false: not an object */

/* ---------------------------------------------- references inside objects */

COEX_API coex_handle coex_gc_load(coex_handle object, uint64_t offset);

/* Only before the next safepoint after `fresh` was allocated; no barrier. */
COEX_API void coex_gc_init_ref(coex_handle fresh, uint64_t offset, coex_handle value);

/* With the barrier; the object is of a MUTABLE type, or still being filled. */
COEX_API void coex_gc_store(coex_handle object, uint64_t offset, coex_handle value);
COEX_API coex_handle coex_gc_exchange(coex_handle object, uint64_t offset, coex_handle value);
COEX_API bool coex_gc_compare_exchange(coex_handle object, uint64_t offset, coex_handle *expected, coex_handle desired);

/* An object of a MUTABLE type becomes immutable for good: no store follows, and it may move from then on (builders). */
COEX_API void coex_gc_freeze(coex_handle object);

/* ------------------------------------------------------------------ roots */

typedef struct coex_gc_frame coex_gc_frame;

/* A frame whose roots are the locals that `locals` points to. They hold handles (or 0) from here to the pop. A safepoint. */
COEX_API coex_gc_frame *coex_gc_push_frame(uint64_t num_roots, coex_handle **locals);
COEX_API void coex_gc_pop_frame(coex_gc_frame *frame);

/* The only ways to write a slot of another frame. */
COEX_API void coex_gc_set_root(coex_handle **locals, uint64_t index, coex_handle value);
COEX_API void coex_gc_set_slot(coex_handle *slot, coex_handle value);

/* A frame of zeroed slots in the shadow stack itself: what compiled code should use. A safepoint. */
COEX_API coex_handle *coex_gc_enter_frame(uint64_t num_slots);
/* The same with `handles` in its first `count` slots, stored before it polls: for callees that root their arguments. */
COEX_API coex_handle *coex_gc_enter_frame_with(uint64_t num_slots, uint64_t count, const coex_handle *handles);
COEX_API void coex_gc_leave_frame(coex_handle *slots);
/* longjmp, exceptions: pops every frame above the one that these slots (of enter_frame) begin. If frames of coex_gc_push_frame are among
 * them, call it before the longjmp: their roots are locals of functions that the jump leaves. */
COEX_API void coex_gc_unwind_to(coex_handle *slots);
/* Append a slot to the current frame. Not a safepoint. */
COEX_API void coex_gc_root(coex_handle value);

/* A cell outside the heap; from the add to the remove it is read and written only by load and store here. When it is added it holds 0, an
 * immediate, or a handle of this life of the runtime. Any thread. */
COEX_API int coex_gc_add_global_root(
    coex_handle *where); /* 0, COEX_GC_ENOMEM, or COEX_GC_EINVAL for NULL; adding twice is a no-op */
COEX_API void coex_gc_remove_global_root(coex_handle *where);
COEX_API coex_handle coex_gc_global_load(coex_handle *where);
COEX_API void coex_gc_global_store(coex_handle *where, coex_handle value);

/* ---------------------------------------------------------------- threads */

typedef struct coex_gc_thread coex_gc_thread;
typedef struct coex_gc_spawn coex_gc_spawn;

/* Registers the calling thread; does nothing if it is registered. A thread that exits registered is unregistered for it. Returns
 * COEX_GC_OK, or with the thread not registered COEX_GC_ENOMEM, COEX_GC_ETHREAD (no room for another thread) or COEX_GC_ESTATE (no
 * runtime: not yet, or shut down meanwhile). */
COEX_API int coex_gc_try_register_thread(void);
/* The same without a code. Without a runtime it aborts. If it fails otherwise, coex_gc_get_current_thread returns NULL, and the first
 * call that needs a registered thread aborts with the reason. */
COEX_API void coex_gc_register_thread(void);
COEX_API void coex_gc_unregister_thread(void); /* a no-op if it is not */
COEX_API coex_gc_thread *coex_gc_get_current_thread(void); /* NULL if it is not registered */
COEX_API void coex_gc_safepoint(void);

/* Start a thread with a handle. In the parent, before the thread is created: a record with the argument in its first slot, which
 * keeps it alive. NULL when there is no room. A safepoint. */
COEX_API coex_gc_spawn *coex_gc_spawn_prepare(coex_handle argument);
/* In the new thread, first thing: takes the record over, returns the argument (rooted in the first slot). */
COEX_API coex_handle coex_gc_spawn_attach(coex_gc_spawn *spawn);
/* In the parent, if the thread could not be created. */
COEX_API void coex_gc_spawn_cancel(coex_gc_spawn *spawn);

/* ------------------------------------------------------------- collecting */

COEX_API void coex_gc_async(void); /* ask for a full cycle, return at once; a no-op while one is pending or running */
COEX_API void coex_gc_wait_for_completion(
    void);                           /* returns when the cycle that runs or is pending at the call has ended. A safepoint */
COEX_API void coex_gc_collect(void); /* a full cycle that STARTS after this call, completed on return. A safepoint */
COEX_API void coex_gc_set_trigger_threshold(uint64_t allocations); /* 0 turns the count trigger off */

/* Without a GC thread (gc_threads = 0): works on the cycle that is asked for, for about so long, or until another thread owes an answer.
 * True: a cycle ended in this step, or none is asked for. Slow allocations step by themselves, in proportion to what they take;
 * coex_gc_collect steps to the end. A safepoint. */
COEX_API bool coex_gc_step(uint64_t microseconds);

/* ------------------------------------------------------------ native code */

/* Around a call that may block or run long. In between the thread touches no handle, no object and no slot; the collector answers
 * for it. Nestable. Both are safepoints. */
COEX_API void coex_gc_enter_native(void);
COEX_API void coex_gc_leave_native(void);

/* One native call in one line: COEX_GC_NATIVE(n = read(fd, buffer, size)); No handle in it, and no jump out of it. */
#define COEX_GC_NATIVE(statement)                                                                                                  \
    do {                                                                                                                           \
        coex_gc_enter_native();                                                                                                    \
        statement;                                                                                                                 \
        coex_gc_leave_native();                                                                                                    \
    } while (0)

/* Callbacks: managed mode within native mode, nestable, with balanced frames in between. A thread that the runtime has never seen is
 * attached by its first enter_managed, is in native mode outside of these pairs, and is detached when it exits. Both are safepoints.
 * False, with the thread as it was: no room for another thread, or no runtime (COEX_GC_ESTATE): not yet, or shut down meanwhile. */
COEX_API bool coex_gc_enter_managed(void);
COEX_API void coex_gc_leave_managed(void);

/* While an object is pinned it lives and its address stays: for native code that reads or writes its payload. Counted; any thread may
 * unpin. NULL when there is no memory for the pin. */
COEX_API void *coex_gc_pin(coex_handle h);
COEX_API void coex_gc_unpin(coex_handle h);

/* Memory that objects own outside the heap: counts for the pace and for memlimit as heap does. Any thread, also in native mode. */
COEX_API void coex_gc_adjust_external(int64_t bytes);

/* Locks `mutex`; waits in native mode if it must: the way to take a lock in managed code. A safepoint if it waits. */
COEX_API void coex_gc_mutex_lock(pthread_mutex_t *mutex);

/* -------------------------------------------------------------- coroutines */

/* A language with green threads has a shadow stack for each. A thread is on one stack at a time, at first on its own; any thread may switch to
 * a stack that nobody is on, in constant time, but not to another thread's own. What is on a suspended stack lives.
 * Only the thread that is on a stack reads its slots; the slots of a suspended stack are written with
 * coex_gc_set_slot, as long as nobody switches to it. A switch is not a safepoint, so a thread may take
 * a handle from one stack to the other, and roots it there. */
typedef struct coex_gc_stack coex_gc_stack;

COEX_API coex_gc_stack *coex_gc_stack_create(uint64_t slots);    /* room for so many words; NULL when there is none */
COEX_API coex_gc_stack *coex_gc_stack_switch(coex_gc_stack *to); /* returns the one that was left. Not a safepoint */
COEX_API void coex_gc_stack_destroy(coex_gc_stack *stack);       /* one that nobody is on, and that is no thread's own */

/* ------------------------------------------------ weak things, and the dying */

/* An object that refers to `target` without keeping it alive. Root it itself. 0 when memory is exhausted. A safepoint. */
COEX_API coex_handle coex_gc_weak_new(coex_handle target);
COEX_API coex_handle coex_gc_weak_get(coex_handle weak); /* the target, or 0 for good once it is gone. Not a safepoint */

/* While the key is alive, so is the value (a key that only its own value reaches is not alive); then both read 0, for good. An immediate
 * as a key lives for ever. new is a safepoint, the others are not. */
COEX_API coex_handle coex_gc_ephemeron_new(coex_handle key, coex_handle value);
COEX_API coex_handle coex_gc_ephemeron_key(coex_handle ephemeron);
COEX_API coex_handle coex_gc_ephemeron_value(coex_handle ephemeron);

/* Runs at most `limit` queued finalizers on this thread, returns how many. An object whose type has a finalizer is queued once, when it
 * is found dead, after weak references to it are cleared; objects of one cycle in the order of their allocation. It is alive while its
 * finalizer runs, and afterwards if that made it reachable; it is not finalized again. A safepoint. */
COEX_API uint64_t coex_gc_finalize(uint64_t limit);

#ifdef __cplusplus
}
#endif

#include <coex/gc_inline.h>

#endif
