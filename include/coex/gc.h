/* Coex: a precise, concurrent, embeddable garbage collector.
 *
 * This header is the public interface of the collector. <coex/gc_diag.h> adds dumps, traces,
 * profiles and statistics. <coex/gc_inline.h>, which this header includes at its end, has the fast
 * paths as inline functions. The headers are valid C11 and C++11.
 *
 *
 * Terms
 *
 *   handle      A 64-bit name of an object. It does not change while the object lives, even if the
 *               object moves. The handle 0 is null.
 *   payload     The bytes of an object that belong to the program. Sizes and offsets are in payload
 *               bytes.
 *   root        A place where the collector looks for handles: a slot, a global root, or a pin.
 *   slot        A word of a shadow stack. The object that it names stays alive.
 *   frame       The slots of one function call.
 *   safepoint   A call during which the collector may read the roots of the calling thread, and
 *               after which objects without a root may be gone.
 *   managed     The normal mode of a registered thread. The thread may use handles.
 *   native      The mode of a thread that blocks or runs foreign code. The thread uses no handles,
 *               and the collector does not wait for it.
 *
 *
 * The rooting rules
 *
 * The rules are the same for interpreters and for compiled code.
 *
 *   1. At a safepoint, every object that the thread will use again is reachable from a root. The
 *      usual way is to keep each live handle in a slot. A C variable or a register is not a root.
 *
 *   2. These functions are safepoints:
 *        - every allocation: coex_gc_alloc, coex_gc_alloc_at, coex_gc_weak_new,
 *          coex_gc_ephemeron_new
 *        - every entry of a frame: coex_gc_enter_frame, coex_gc_enter_frame_with,
 *          coex_gc_push_frame
 *        - every change of mode: coex_gc_enter_native, coex_gc_leave_native,
 *          coex_gc_enter_managed, coex_gc_leave_managed
 *        - coex_gc_safepoint, coex_gc_step, coex_gc_collect, coex_gc_wait_for_completion,
 *          coex_gc_finalize, coex_gc_spawn_prepare, and coex_gc_mutex_lock if it has to wait
 *        - every other function whose comment, or the comment of its section, says so
 *      All other functions are never safepoints, above all these:
 *        - the end of a frame: coex_gc_leave_frame, coex_gc_pop_frame, coex_gc_unwind_to
 *        - writes of slots: coex_gc_root, coex_gc_set_slot, coex_gc_set_root
 *        - access to objects: coex_gc_handle_deref, coex_gc_load, coex_gc_init_ref,
 *          coex_gc_store, coex_gc_exchange, coex_gc_compare_exchange, coex_gc_freeze,
 *          coex_gc_size, coex_gc_type_of, coex_gc_is_handle, coex_gc_object_info,
 *          coex_gc_weak_get, coex_gc_ephemeron_key, coex_gc_ephemeron_value
 *        - global roots, pins, and coroutine stacks: coex_gc_add_global_root, coex_gc_pin,
 *          coex_gc_stack_switch, and the functions declared with them
 *
 *   3. The caller keeps every handle that it passes to a function rooted until the function
 *      returns. A function returns a handle unrooted. The caller stores it in a slot before the
 *      next safepoint. (coex_gc_enter_frame_with and coex_gc_root are the exceptions: they root the
 *      handles that they are given.)
 *
 *   4. A function writes only the slots of its own frame directly. It writes slots of other frames
 *      with coex_gc_set_slot or coex_gc_set_root. It may read any slot of its thread.
 *
 *   5. The address of a payload is valid until the next safepoint, unless the object is pinned.
 *
 *   6. An object whose type is not COEX_GC_MUTABLE must be completely initialised at the first
 *      safepoint after its allocation. It is never written afterwards.
 *      There is one exception. A word that is not a reference may cache a value that can be
 *      computed from the rest of the object, for example a hash. Any thread may write this word at
 *      any time with one relaxed atomic store. The collector may copy the object at the same
 *      moment, and then the write is lost. The program must tolerate that.
 *
 *   7. A thread that blocks, or runs for a long time without a safepoint, does so in native mode.
 *
 *
 * Errors
 *
 * If memory, handles or threads are exhausted, a function returns the null handle, NULL, false or
 * an error code, and records the reason for coex_gc_last_error and coex_gc_error_detail. Before an
 * allocation fails, it waits for a full cycle and calls the out_of_memory handler of the embedder.
 *
 * Misuse prints one line on standard error and calls abort(). Examples are an unknown type, a
 * thread that is not registered, and a frame that is not the top frame. `checked` builds
 * (COEX_GC_CHECKED) detect more misuse. Unless a comment says otherwise, only a registered thread
 * in managed mode may call a function, and the runtime must be initialised. Most functions abort
 * otherwise. coex_gc_handle_deref, coex_gc_load, coex_gc_init_ref and coex_gc_store check this only
 * in `checked` builds.
 *
 * The library prints nothing else unless it is asked to. It never calls exit, and it installs no
 * signal handler. docs/reference/errors.md lists all codes, and the functions that abort. */
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

/* Names an object. Bits 62 and 63 of a handle are always clear. In `checked` builds a handle also
 * contains a generation, so that a stale handle differs from a later handle with the same index.
 * Programs must treat a handle as an opaque word in all builds. */
typedef uint64_t coex_handle;

#define COEX_NULL ((coex_handle)0)

/* A reference word with bit 62 set is an immediate. It holds 62 bits of the program's own, such as
 * a small integer or a character. Tracing, barriers, roots and collections ignore immediates. A
 * dynamic language can therefore keep "integer or reference" in one word. */
#define COEX_IMMEDIATE_BIT   ((uint64_t)1 << 62)
#define COEX_IMMEDIATE(bits) (((uint64_t)(bits) & (COEX_IMMEDIATE_BIT - 1)) | COEX_IMMEDIATE_BIT)

/* Returns true if `word` is an immediate. */
static inline bool coex_is_immediate(uint64_t word) { return (word & COEX_IMMEDIATE_BIT) != 0; }

/* Returns the 62 bits of the immediate `word`. */
static inline uint64_t coex_immediate_bits(uint64_t word)
{
    return word & (COEX_IMMEDIATE_BIT - 1);
}

/* ------------------------------------------------------------------- life */

/* Error codes. coex_gc_error_detail gives the reason for each of them. */
enum {
    COEX_GC_OK = 0,
    COEX_GC_EINVAL = 1,   /* An argument, a configuration value or a file is invalid. */
    COEX_GC_EOPTION = 2,  /* The environment variable COEX_GC or COEX_GC_DEBUG is invalid. */
    COEX_GC_ENOMEM = 3,   /* The operating system has no memory or address space left. */
    COEX_GC_ETHREAD = 4,  /* A thread could not be started or registered. */
    COEX_GC_EALREADY = 5, /* The runtime, a trace or a profile is already running. */
    COEX_GC_ETYPE = 6,    /* A type descriptor is invalid. */
    COEX_GC_ELIMIT = 7,   /* A limit is reached: heap_limit, max_handles, types or hooks. */
    COEX_GC_ESTATE = 8,   /* The runtime, a trace or a profile is not running. */
    COEX_GC_ESYSTEM = 9   /* The operating system refused a call. */
};

/* Called on the allocating thread when an allocation of `size` bytes has failed: it has waited
 * for full cycles until one of them freed no more and no other thread took what was free.
 * `context` comes from the configuration. The handler may free memory, for example by
 * dropping roots and calling coex_gc_collect. It returns true to retry the allocation once, or
 * false to let it fail. Allocations in the handler do not call it again; if they fail, they return
 * the null handle at once. */
typedef bool (*coex_gc_out_of_memory)(uint64_t size, void *context);

/* The configuration of the runtime. Call coex_gc_config_default first, then change fields.
 * docs/guide/embedding.md gives the defaults and the names of the environment options. */
typedef struct coex_gc_config {
    /* The size of this struct, which tells the library its version. */
    uint64_t size;
    /* Number of handles that are committed at init, rounded up to whole steps of the table. */
    uint64_t initial_handles;
    /* Hard limit of the number of handles. */
    uint64_t max_handles;
    /* Number of heap bytes that are committed at init. */
    uint64_t initial_heap;
    /* Hard limit of heap bytes. 0 means that only the reserved address space limits the heap. */
    uint64_t heap_limit;
    /* Soft limit in bytes. The closer the heap is to it, the earlier cycles start. 0 means none. */
    uint64_t memlimit;
    /* The heap may grow by this percentage over what survived the last cycle before the next cycle
     * starts (like GOGC of Go). */
    uint64_t percent;
    /* Number of allocations after which a cycle starts. 0 turns this trigger off. */
    uint64_t trigger_allocations;
    /* Number of shadow stack words that each thread may use. */
    uint64_t shadow_stack_slots;
    /* 1 starts a GC thread. 0 runs the cycle in slices on the mutators; see coex_gc_step. */
    uint64_t gc_threads;
    /* A thread that has not reached a safepoint after this many milliseconds is reported as
     * late. */
    uint64_t safepoint_warn_ms;
    /* 0 prints nothing, 1 prints the phases of each cycle. See coex_gc_set_trace_level. */
    uint64_t trace_level;
    /* The handler for exhausted memory, or NULL. */
    coex_gc_out_of_memory out_of_memory;
    /* The second argument of out_of_memory. */
    void *context;
    /* Debugging: every Nth allocation of a thread requests a cycle. 0 turns this off. */
    uint64_t stress;
    /* Debugging: freed memory is overwritten. */
    bool poison;
    /* Debugging: before each sweep, every reference of every live object is checked independently
     * of the marker. The runtime aborts if the sweep would free an object that is referred to. */
    bool verify;
    /* Debugging: the first allocation of a thread that `stress` counts. 0 means the first one that
     * is due. Narrow stress_from and stress_to to find the allocation at which a root is
     * missing. */
    uint64_t stress_from;
    /* Debugging: the last allocation of a thread that `stress` counts. 0 means no end. */
    uint64_t stress_to;
    /* Debugging: an allocation that requests a cycle for `stress` waits until the cycle has ended.
     * This is slow, and it is the most reliable way to find a missing root. */
    bool stress_wait;
    /* Debugging: `stress` requests cycles at random gaps of N allocations on average. The gaps are
     * the same in every run. */
    bool stress_random;
    /* Prints one line for each cycle, in the style of Go's gctrace (docs/guide/debugging.md). */
    bool gctrace;
    /* Debugging: freed handles stay unused for as long as possible. The report of a stale handle
     * gives its type, the place of its allocation, and the cycle that freed it. */
    bool stale;
    /* Debugging, only in `checked` builds: finds references that were written without a barrier. */
    bool barriers;
    /* Path of a file for an event trace that starts at init, or NULL. The path is copied. See
     * coex_gc_trace_start in <coex/gc_diag.h>. */
    const char *events;
} coex_gc_config;

/* Fills *config with the defaults and sets its field `size`. Never fails. */
COEX_API void coex_gc_config_default(coex_gc_config *config);

/* Initialises the runtime with the defaults and the environment variables COEX_GC and
 * COEX_GC_DEBUG, registers the calling thread and starts the GC thread. Does nothing if the runtime
 * is already initialised. On failure, prints one line and aborts. */
COEX_API void coex_gc_init(void);

/* Initialises the runtime like coex_gc_init, but with *config in place of the defaults. `config`
 * may be NULL, which means the defaults. The environment overrides *config. Returns COEX_GC_OK. On
 * failure, returns an error code and leaves nothing behind. If the runtime is already initialised,
 * returns COEX_GC_EALREADY and changes nothing. */
COEX_API int coex_gc_init_with(const coex_gc_config *config);

/* Waits for a running cycle, ends the GC thread and frees all memory of the runtime. A later
 * coex_gc_init starts a new runtime. Does nothing if there is no runtime. No other thread may be in
 * managed mode, or the function aborts. Other threads may be in native mode, and may register or
 * exit during the call. */
COEX_API void coex_gc_shutdown(void);

/* Registers `hook`, for libraries that build on the collector. The hook runs at the end of every
 * later init, on the initialising thread. If the runtime is already initialised, it also runs at
 * once. Hooks run in the order of their registration. A hook registers types, describers and
 * fork handlers, and must not allocate objects. If a hook returns false, init fails with the
 * last error of the thread, which the hook may set by coex_gc_set_error. Returns true if `hook`
 * is registered, also if it already was. Returns false if `hook` is NULL, if it failed, or if 64
 * hooks are already registered. */
COEX_API bool coex_gc_at_init(bool (*hook)(void));

/* Returns a description of the error code `code`, or "unknown error". Never returns NULL. */
COEX_API const char *coex_gc_error_string(int code);

/* Returns the error code of the last call on this thread that failed, or COEX_GC_OK if none has.
 * Calls that succeed do not change it, except coex_gc_init, which clears it. */
COEX_API int coex_gc_last_error(void);

/* Returns the reason for the last error of this thread as text, or "" if there is none. The text is
 * valid until the next failure on this thread. */
COEX_API const char *coex_gc_error_detail(void);

/* Makes `code` (a COEX_GC_E... code) and `detail` the last error of this thread, for hooks of
 * coex_gc_at_init. `detail` may be NULL. Returns `code`. */
COEX_API int coex_gc_set_error(int code, const char *detail);

/* Returns the version of the library, for example "0.2.0". */
COEX_API const char *coex_gc_version(void);

/* ------------------------------------------------------------------ types */

/* Passed to trace functions. */
typedef struct coex_gc_visitor coex_gc_visitor;

/* Reports the reference at *field to the collector. Only trace functions call it. It reads *field
 * once, atomically. */
COEX_API void coex_gc_visit(coex_gc_visitor *visitor, const coex_handle *field);

/* Flags of a type. */
enum {
    COEX_GC_MUTABLE =
        1, /* The payload may be written after initialisation. The object never moves. */
    COEX_GC_REF_ARRAY = 2 /* The payload from array_offset to its end consists of references. */
};

/* Type ids are smaller than this. */
#define COEX_GC_MAX_TYPES ((uint32_t)1 << 20)

/* The descriptor of a type. Fields that are 0 have no effect. */
typedef struct coex_gc_type {
    /* Name of the type for dumps and error messages. It must not be NULL or empty. */
    const char *name;
    /* Payload size in bytes. 0 means that each allocation gives the size. */
    uint64_t size;
    /* Byte offsets of the reference fields in the payload. They are multiples of 8. If the type has
     * a variable size, offsets beyond the end of an object are ignored. */
    const uint32_t *ref_offsets;
    /* Number of entries in ref_offsets. */
    uint32_t ref_count;
    /* COEX_GC_MUTABLE and COEX_GC_REF_ARRAY. */
    uint32_t flags;
    /* With COEX_GC_REF_ARRAY, offset of the first reference of the array. A multiple of 8. */
    uint32_t array_offset;
    /* Reports the references of an object with coex_gc_visit, in place of ref_offsets and
     * COEX_GC_REF_ARRAY. It runs while mutators run. It must read references only through the
     * visitor, and must not allocate, block or dereference handles. One call is one piece of work:
     * a step, an assist and a fork may wait for all of it. The collector reads arrays and offsets
     * in pieces, so prefer them for objects of more than a few kilobytes. */
    void (*trace)(const void *payload, uint64_t size, coex_gc_visitor *visitor);
    /* Finalizer, or NULL. See coex_gc_finalize. */
    void (*finalize)(coex_handle object, void *context);
    /* The second argument of `finalize`. */
    void *finalize_context;
    /* Names of the reference fields for dumps, in the order of ref_offsets, or NULL. */
    const char *const *ref_names;
    /* Alignment of the payload: 8, 16, 32 or 64. 0 means 8. */
    uint32_t align;
} coex_gc_type;

/* Registers a type and copies its descriptor *type. Returns its id, which is greater than 0. On
 * failure, returns 0 and records COEX_GC_ETYPE, COEX_GC_ELIMIT, COEX_GC_ENOMEM or COEX_GC_ESTATE.
 * Any thread may call it at any time, registered or not. Not a safepoint. */
COEX_API uint32_t coex_gc_register_type(const coex_gc_type *type);

/* ---------------------------------------------------------------- objects */

/* Allocates an object of type `type_id` with a zeroed payload of `size` bytes. If the type has a
 * fixed size, `size` must be that size. Returns 0 if memory or handles are exhausted, and records
 * COEX_GC_ENOMEM or COEX_GC_ELIMIT. Aborts if the type is unknown or `size` is wrong. A
 * safepoint. */
COEX_API coex_handle coex_gc_alloc(uint64_t size, uint32_t type_id);

/* Allocates like coex_gc_alloc, and stores the address of the payload in *payload, so that the
 * caller can fill it without a table lookup. Stores NULL if it returns 0. A safepoint. */
COEX_API coex_handle coex_gc_alloc_at(uint64_t size, uint32_t type_id, void **payload);

/* Returns the address of the payload of `h`, or NULL if `h` is 0. The address is valid until the
 * next safepoint. `h` must not be an immediate. If `h` names no object, `checked` builds abort. In
 * other builds the result is NULL, or the read faults if `h` is far beyond the table. Without a
 * runtime the read faults. Not a safepoint. */
COEX_API void *coex_gc_handle_deref(coex_handle h);

/* Returns the payload size of `h` in bytes, or 0 if `h` is 0. Aborts if `h` names no object. */
COEX_API uint64_t coex_gc_size(coex_handle h);

/* Returns the type id of `h`, or 0 if `h` is 0. Aborts if `h` names no object. */
COEX_API uint32_t coex_gc_type_of(coex_handle h);

/* Returns true if `word` currently names an object. Accepts any word, also without a runtime. */
COEX_API bool coex_gc_is_handle(uint64_t word);

/* The properties of an object. */
typedef struct coex_gc_object {
    /* Bytes of the object in the heap, including its header and padding. */
    uint64_t size;
    /* Bytes of the payload. */
    uint64_t payload_size;
    /* Id of the type. */
    uint32_t type_id;
    /* COEX_GC_OBJECT_MARKED and the other flags below. */
    uint32_t flags;
    /* Always 0, because a handle does not change when its object moves. */
    coex_handle forward;
    /* Address of the payload, valid until the next safepoint. */
    const void *address;
} coex_gc_object;

/* Flags of a coex_gc_object. */
enum {
    COEX_GC_OBJECT_MARKED = 1,  /* The current cycle has marked it. */
    COEX_GC_OBJECT_BORN = 2,    /* It was allocated black, so the current cycle spares it. */
    COEX_GC_OBJECT_LARGE = 4,   /* It has pages of its own. */
    COEX_GC_OBJECT_MUTABLE = 8, /* Its type is COEX_GC_MUTABLE. */
    COEX_GC_OBJECT_FROZEN = 16  /* coex_gc_freeze has made it immutable. */
};

/* Stores the properties of `h` in *info and returns true. If `h` names no object, fills *info with
 * zeros and returns false. */
COEX_API bool coex_gc_object_info(coex_handle h, coex_gc_object *info);

/* ---------------------------------------------- references inside objects */

/* In all functions of this section, `offset` is the byte offset of a reference in the payload of
 * the object. `checked` builds abort if it is not a multiple of 8, if it lies outside the payload,
 * or if a handle names no object. None of these functions is a safepoint. */

/* Returns the reference at `offset` of `object` (acquire order). */
COEX_API coex_handle coex_gc_load(coex_handle object, uint64_t offset);

/* Initialises the reference at `offset` of `fresh` with `value`, without a barrier. Only valid
 * before the first safepoint after `fresh` was allocated. */
COEX_API void coex_gc_init_ref(coex_handle fresh, uint64_t offset, coex_handle value);

/* Stores `value` at `offset` of `object` with the write barrier (release order). The type of
 * `object` must be COEX_GC_MUTABLE, unless the object is still being initialised. `checked` builds
 * abort if the object is frozen. */
COEX_API void coex_gc_store(coex_handle object, uint64_t offset, coex_handle value);

/* Stores `value` like coex_gc_store and returns the previous reference, in one atomic step. Aborts
 * if `object` names no object. */
COEX_API coex_handle coex_gc_exchange(coex_handle object, uint64_t offset, coex_handle value);

/* Stores `desired` like coex_gc_store if the reference is *expected, in one atomic step, and
 * returns true. Otherwise stores the current reference in *expected and returns false. Aborts if
 * `object` names no object. */
COEX_API bool coex_gc_compare_exchange(coex_handle object, uint64_t offset, coex_handle *expected,
                                       coex_handle desired);

/* Makes `object` immutable for ever. No store may follow, and the object may move from now on.
 * Builders use it. Aborts if `object` names no object or if its type is not COEX_GC_MUTABLE. */
COEX_API void coex_gc_freeze(coex_handle object);

/* ------------------------------------------------------------------ roots */

/* A frame whose roots are local variables. */
typedef struct coex_gc_frame coex_gc_frame;

/* Pushes a frame whose roots are the variables that locals[0] to locals[num_roots - 1] point to.
 * Each of them must hold 0, an immediate or a handle until the frame is popped. Aborts if the
 * shadow stack is full. A safepoint, but the variables are already roots. */
COEX_API coex_gc_frame *coex_gc_push_frame(uint64_t num_roots, coex_handle **locals);

/* Pops `frame`, which must be the top frame. `checked` builds abort if it is not. */
COEX_API void coex_gc_pop_frame(coex_gc_frame *frame);

/* Stores `value` in the variable *locals[index] of a frame of coex_gc_push_frame that is not the
 * caller's own. */
COEX_API void coex_gc_set_root(coex_handle **locals, uint64_t index, coex_handle value);

/* Stores `value` in *slot, a slot of a frame that is not the caller's own, or of a suspended
 * stack. */
COEX_API void coex_gc_set_slot(coex_handle *slot, coex_handle value);

/* Enters a frame of `num_slots` zeroed slots on the shadow stack and returns their address.
 * Compiled code should use these frames. Aborts if the shadow stack is full. A safepoint. */
COEX_API coex_handle *coex_gc_enter_frame(uint64_t num_slots);

/* Enters a frame like coex_gc_enter_frame, and copies handles[0] to handles[count - 1] into its
 * first slots before it polls. A callee can root its arguments with it. Aborts if `count` is
 * greater than `num_slots`, or if the shadow stack is full. A safepoint. */
COEX_API coex_handle *coex_gc_enter_frame_with(uint64_t num_slots, uint64_t count,
                                               const coex_handle *handles);

/* Leaves the top frame, whose slots are at `slots`. `checked` builds abort if `slots` belongs to
 * another frame. Not a safepoint. */
COEX_API void coex_gc_leave_frame(coex_handle *slots);

/* Leaves all frames above the frame of coex_gc_enter_frame whose slots are at `slots`. Exception
 * handlers and users of longjmp call it. If some of the frames come from coex_gc_push_frame, call
 * it before the longjmp, because the jump ends the life of their variables. Aborts if `slots` does
 * not begin a frame of the calling thread. Not a safepoint. */
COEX_API void coex_gc_unwind_to(coex_handle *slots);

/* Appends a slot with `value` to the top frame. Aborts if the shadow stack is full. Not a
 * safepoint. */
COEX_API void coex_gc_root(coex_handle value);

/* Makes the variable *where a global root, until it is removed. It may be anywhere outside the
 * heap. It must hold 0, an immediate or a handle of the current runtime. From now on, all threads
 * access it only with coex_gc_global_load and coex_gc_global_store. Adding it a second time has no
 * effect. Returns COEX_GC_OK, COEX_GC_EINVAL if `where` is NULL, or COEX_GC_ENOMEM. Any registered
 * thread may call it. */
COEX_API int coex_gc_add_global_root(coex_handle *where);

/* Removes the global root *where. Has no effect if `where` is not a global root or is NULL. Any
 * registered thread may call it. */
COEX_API void coex_gc_remove_global_root(coex_handle *where);

/* Returns the handle in the global root *where (acquire order). Never fails. */
COEX_API coex_handle coex_gc_global_load(coex_handle *where);

/* Stores `value` in the global root *where, with the write barrier (release order). */
COEX_API void coex_gc_global_store(coex_handle *where, coex_handle value);

/* ---------------------------------------------------------------- threads */

/* The words of a registered thread; see <coex/gc_abi.h>. */
typedef struct coex_gc_thread coex_gc_thread;

/* The record of a thread that is about to start. */
typedef struct coex_gc_spawn coex_gc_spawn;

/* Registers the calling thread. Does nothing if it is already registered. The thread is
 * unregistered when it exits. Returns COEX_GC_OK. On failure the thread stays unregistered, and the
 * result is COEX_GC_ENOMEM, COEX_GC_ETHREAD (no room for another thread) or COEX_GC_ESTATE (no
 * runtime). */
COEX_API int coex_gc_try_register_thread(void);

/* Registers the calling thread like coex_gc_try_register_thread, without a code. Aborts if there is
 * no runtime. On another failure, coex_gc_get_current_thread returns NULL, and the first call that
 * needs a registered thread aborts with the reason. */
COEX_API void coex_gc_register_thread(void);

/* Unregisters the calling thread and leaves all its frames. Does nothing if it is not registered.
 * Aborts if it is in native mode. */
COEX_API void coex_gc_unregister_thread(void);

/* Returns the words of the calling thread, or NULL if it is not registered. */
COEX_API coex_gc_thread *coex_gc_get_current_thread(void);

/* Polls: answers a request of the collector if there is one. A safepoint. */
COEX_API void coex_gc_safepoint(void);

/* Prepares a record for a new thread and roots `argument` in its first slot. The parent calls it
 * before it creates the thread. Returns NULL if there is no room for another thread. A
 * safepoint. */
COEX_API coex_gc_spawn *coex_gc_spawn_prepare(coex_handle argument);

/* Registers the calling thread with the record `spawn` and returns the argument, which stays rooted
 * in the first slot. It is the first call of the new thread. Aborts if the thread is already
 * registered, or if `spawn` is NULL or was already used. A safepoint. */
COEX_API coex_handle coex_gc_spawn_attach(coex_gc_spawn *spawn);

/* Releases the record `spawn`. The parent calls it if the thread could not be created. Aborts if
 * `spawn` is NULL or was already used. */
COEX_API void coex_gc_spawn_cancel(coex_gc_spawn *spawn);

/* ------------------------------------------------------------- collecting */

/* All functions of this section abort if there is no runtime. */

/* Requests a full cycle and returns at once. Has no effect while a cycle is requested or
 * running. */
COEX_API void coex_gc_async(void);

/* Waits until the cycle that is running or requested at the call has ended. Returns at once if
 * there is none. A safepoint. */
COEX_API void coex_gc_wait_for_completion(void);

/* Runs a full cycle that starts after the call, and waits until it has ended. A safepoint. */
COEX_API void coex_gc_collect(void);

/* Starts a cycle after every `allocations` allocations from now on. 0 turns this trigger off. */
COEX_API void coex_gc_set_trigger_threshold(uint64_t allocations);

/* Works on the requested cycle for about `microseconds`, or until it needs an answer from another
 * thread. It is for programs without a GC thread (gc_threads = 0). Returns true if a cycle ended in
 * this step or if none is requested. Slow allocations also work on the cycle, in proportion to the
 * memory that they take, and coex_gc_collect completes it. Aborts if there is a GC thread. A
 * safepoint. */
COEX_API bool coex_gc_step(uint64_t microseconds);

/* ------------------------------------------------------------ native code */

/* Enters native mode, before a call that may block or run for a long time. In native mode the
 * thread must not use handles, objects or slots. Calls may be nested. A safepoint. */
COEX_API void coex_gc_enter_native(void);

/* Leaves native mode, or one level of it. Aborts if the thread is not in native mode, or if the
 * runtime was shut down in the meantime. A safepoint. */
COEX_API void coex_gc_leave_native(void);

/* Runs one statement in native mode, for example COEX_GC_NATIVE(n = read(fd, buffer, size)). The
 * statement must not use handles or jump out. */
#define COEX_GC_NATIVE(statement)                                                                  \
    do {                                                                                           \
        coex_gc_enter_native();                                                                    \
        statement;                                                                                 \
        coex_gc_leave_native();                                                                    \
    } while (0)

/* Enters managed mode from native mode, for a callback. Calls may be nested. A thread that is not
 * registered is registered by its first call. Outside these calls it is in native mode, and it is
 * unregistered when it exits. Returns false and leaves the thread as it was if there is no room for
 * another thread, or if there is no runtime (COEX_GC_ESTATE). A safepoint. */
COEX_API bool coex_gc_enter_managed(void);

/* Returns to the mode before the matching coex_gc_enter_managed. Aborts if there is none, or if
 * frames that were entered after it have not been left. A safepoint. */
COEX_API void coex_gc_leave_managed(void);

/* Pins `h` and returns the address of its payload. A pinned object stays alive and keeps its
 * address, so that native code can use the payload. Pins are counted. Returns NULL if there is no
 * memory for the pin (COEX_GC_ENOMEM). Aborts if `h` names no object. */
COEX_API void *coex_gc_pin(coex_handle h);

/* Removes one pin of `h`. Any registered thread may call it. Aborts if `h` is not pinned. */
COEX_API void coex_gc_unpin(coex_handle h);

/* Adds `bytes`, which may be negative, to the memory outside the heap that objects own. This memory
 * counts for the pace of the collector and for memlimit. Any thread may call it, registered or not,
 * also in native mode. Aborts if there is no runtime. */
COEX_API void coex_gc_adjust_external(int64_t bytes);

/* Locks `mutex`. If it has to wait, it waits in native mode. Managed code should take its locks
 * with this function. A safepoint if it waits. */
COEX_API void coex_gc_mutex_lock(pthread_mutex_t *mutex);

/* -------------------------------------------------------------- coroutines */

/* The shadow stack of a coroutine. A thread uses one stack at a time, at first its own. It may
 * switch to any stack that no thread is using, except to the own stack of another thread. Objects
 * on a suspended stack stay alive.
 *
 * Only the thread that uses a stack may read its slots. While a stack is suspended and no thread
 * switches to it, its slots may be written with coex_gc_set_slot. A switch is not a safepoint. A
 * thread may therefore carry a handle from one stack to another and root it there. */
typedef struct coex_gc_stack coex_gc_stack;

/* Creates a stack with room for `slots` words. Returns NULL if there is no room
 * (COEX_GC_ENOMEM). */
COEX_API coex_gc_stack *coex_gc_stack_create(uint64_t slots);

/* Switches the calling thread to the stack `to`, in constant time, and returns the stack that it
 * left. Aborts if `to` is NULL, is used by a thread, was destroyed, or is the own stack of another
 * thread. Not a safepoint. */
COEX_API coex_gc_stack *coex_gc_stack_switch(coex_gc_stack *to);

/* Destroys `stack` with all its frames. Aborts if `stack` is NULL, is used by a thread, or does not
 * come from coex_gc_stack_create. Not a safepoint. */
COEX_API void coex_gc_stack_destroy(coex_gc_stack *stack);

/* ------------------------------------------ weak references and finalizers */

/* Creates a weak reference: an object that refers to `target` and does not keep it alive. The weak
 * reference itself needs a root. Returns 0 if memory or handles are exhausted. A safepoint. */
COEX_API coex_handle coex_gc_weak_new(coex_handle target);

/* Returns the target of `weak`, or 0 once the target is dead. Aborts if `weak` is not a weak
 * reference. Not a safepoint. */
COEX_API coex_handle coex_gc_weak_get(coex_handle weak);

/* Creates an ephemeron. It keeps `value` alive as long as `key` is alive, and does not keep `key`
 * alive. A key that only its own value refers to is not alive. When the key is dead, both read as 0
 * from then on. An immediate key never dies. Returns 0 if memory or handles are exhausted. A
 * safepoint. */
COEX_API coex_handle coex_gc_ephemeron_new(coex_handle key, coex_handle value);

/* Returns the key of `ephemeron`, or 0 once it is dead. Aborts if `ephemeron` is not an ephemeron.
 * Not a safepoint. */
COEX_API coex_handle coex_gc_ephemeron_key(coex_handle ephemeron);

/* Returns the value of `ephemeron`, or 0 once its key is dead. Aborts if `ephemeron` is not an
 * ephemeron. Not a safepoint. */
COEX_API coex_handle coex_gc_ephemeron_value(coex_handle ephemeron);

/* Runs at most `limit` queued finalizers on the calling thread and returns their number.
 *
 * An object whose type has a finalizer is queued once, when the collector finds it dead. Weak
 * references to it are cleared before that. Objects of one cycle are queued in the order of their
 * allocation. The object is alive while its finalizer runs. It stays alive if the finalizer makes
 * it reachable again, but it is not finalized a second time. A safepoint. */
COEX_API uint64_t coex_gc_finalize(uint64_t limit);

#ifdef __cplusplus
}
#endif

#include <coex/gc_inline.h>

#endif
