/* The collection cycle of Coex, as a model for Spin.
 *
 * What this is
 *
 * The runtime collects garbage while the program's threads go on running. The protocol between them is short, and every step
 * of it is there because without it some object is lost in some interleaving that no test would meet in a year. This file
 * states the protocol in a language whose every interleaving can be tried, for a small heap and a few threads, over any number
 * of cycles. Spin tries them all. `models/run` does it for each feature, and then for each step of the protocol it leaves that
 * step out and expects Spin to find the object that is lost. README.md lists the invariants and says what is not modelled.
 *
 * The heap
 *
 * An object is a handle with one reference field. Handle 0 is the null handle; field[0] is the program's global root cell.
 * Four bitmaps have one bit for each handle; here each is a byte, used as a set:
 *
 *     allocated   given to a thread: an object, or held for one that is still to be made, or retired
 *     marked      reached in this cycle. Written by the collector alone
 *     born        allocated by a black thread in this cycle. The sweep spares it, marked or not
 *     retired     reclaimed by the last sweep; free after the next one, so that a stale handle can be told for a while
 *
 * The threads
 *
 * A thread has a stack of frames; a frame is the set of handles in its slots. It allocates, loads, stores, drops handles, calls
 * and returns, in any order. What the collector asks of it, it answers at a safepoint, which is any moment between two of these
 * operations. Inside an operation (the steps of a barriered store, say) there is none. A thread's part of the protocol:
 *
 *     pending   a request that it has not answered. In the code two epochs, requested and acked, that differ; the collector
 *               asks for nothing new before all have answered, so one bit says as much
 *     barrier   on or off: do its stores shade?
 *     colour    what its allocations are: WHITE, to be reached by marking, or BLACK, born
 *     buffer    handles that it has shaded. Shade(h): if h is not marked, put it into one's own buffer. The same handle
 *               may get there again, and into other buffers, until the collector has taken it out and marked it
 *     mode      managed, native, or claimed: in native mode the collector answers for it, after it has claimed it (NATIVE)
 *     frozen    frames that it can't change before it returns into them. The collector scans them from the oldest up, the
 *               thread's return barrier from the youngest down (WATERMARK)
 *
 * The cycle
 *
 *     Start     marks and born bits are cleared, handle by handle. Every barrier is off, every colour white
 *     SYNC      handshake. Answer: barrier on
 *     ROOTS     handshake. Answer: shade the top frame, freeze the older ones, go black, hand over the buffer
 *     MARK      take what was handed over, the global root cell, the frozen frames; trace
 *     flush     handshake in MARK, with nothing grey and nothing frozen. Answer: hand over the buffer. If none of the handles
 *               that came was still unmarked, marking has ended; else trace and ask again
 *     sweep     reclaim what is allocated and neither marked, nor born, nor retired; free what was retired before
 *     IDLE      handshake. Answer: barrier off, colour white, buffer dropped
 *
 * A store into a mutable field, while the barrier is on: read the old value, shade it (unless it was born in this cycle), in SYNC
 * and ROOTS shade the new value too, then compare-and-swap; if the field has changed meanwhile, start over.
 *
 * Weak references, finalizers and coroutine stacks are told in weak.pml and stacks.pml, which are parts of this file.
 *
 * What is asserted
 *
 * No object is reclaimed that a thread can still reach, nobody marks or hands out a handle that is not what it should be, no
 * line is released that an object or an allocating thread is on, no request is overlooked. Spin also reports deadlocks.
 *
 * How to read on
 *
 * `atomic` and `d_step` are one step: what stands inside can't be interleaved. Each is one atomic access in the code, or several
 * of which at most one touches what others can see. `without(STEP)` is true when the model is compiled to leave STEP out.
 * "Ghost" variables are the checker's own knowledge; the protocol never reads them.
 */

/* ------------------------------------------------------------------------------------------------ bounds and features */

#ifndef THREADS
#define THREADS 2
#endif
#ifndef HANDLES
#define HANDLES 2                /* at most 3 */
#endif
#ifndef MUTABLE
#define MUTABLE 2                /* set of handles whose objects are mutable; the others keep the field they were born with */
#endif
#ifndef LOCALS
#define LOCALS THREADS           /* so many threads have frames with a slot for each handle; a frame of the others has one slot */
#endif
#ifdef WATERMARK
#ifndef FRAMES
#ifdef STACKS
#define FRAMES 1
#else
#define FRAMES 3                 /* depth of thread 0's stack */
#endif
#endif
#ifndef OTHER_FRAMES
#define OTHER_FRAMES FRAMES      /* depth of the other threads' */
#endif
#else
#define FRAMES 1
#endif
#if defined(NATIVE) || defined(SPAWN) || defined(COLLECT)
#define MODES                    /* somebody is in native mode at some time */
#endif
/* Other features
 *   WORDS      threads hold handles before they hand them out      POLL      how a thread notices a request
 *   BLOCKS=n   the space that objects lie in: blocks of two lines  CHUNKS    a full buffer goes to the collector's list at once
 *   ASSIST     threads help to mark                                WEAK      a weak cell (weak.pml)
 *   STACKS     a coroutine's stack (stacks.pml)                    FINALIZERS=set   objects with a finalizer (weak.pml)
 *   SLOTS      coex_gc_set_slot                                    CARRY     a switch of stacks takes a handle along
 *   RUNS       lines of blocks that nobody owns (BLOCKS)
 * Variants
 *   EXCHANGE   a store is an exchange, and shades afterwards       BLACK_FROM_SYNC   a thread goes black at SYNC already
 * Smaller worlds
 *   LEAVES     objects have no fields                              PRIVATE   nor does a thread show them to others
 *   COARSE     a barrier reads the field and the phase at once     FRESH     o2 may be made with o1 in it, which nobody reads */
#if defined(POLL) && defined(MODES)
#error "POLL goes with threads that stay in managed mode"
#endif

/* ------------------------------------------------------------------------------------------- the steps one can leave out */

#define NOTHING              0
/* barrier */
#define DELETION_SHADE       1   /* the overwritten value is not shaded */
#define INSERTION_SHADE      2   /* the written value is not shaded in SYNC and ROOTS */
#define SWAP_STORE           3   /* a plain store instead of a compare-and-swap */
#define GLOBAL_BARRIER       4   /* stores into global root cells have no barrier */
/* cycle */
#define SYNC_HANDSHAKE      10   /* one handshake turns barriers on and scans roots */
#define ROOT_SCAN           11   /* the top frame is not shaded at ROOTS */
#define GLOBAL_SCAN         12   /* the global root cell is not scanned */
#define BLACK_BIRTH         13   /* black threads don't set born */
#define BORN_DROP           14   /* Start keeps the born bits of the last cycle */
#define CLEAR_BEFORE_SYNC   15   /* marks are cleared after SYNC has been published */
#define CLEAR_AFTER_IDLE    16   /* marks and born bits are cleared before all have answered IDLE */
#define IDLE_ANSWERS        17   /* Start does not wait for the answers to IDLE */
#define SWEEP_BEFORE_IDLE   18   /* IDLE is published before the sweep */
#define FLUSH               20   /* no flush at all */
#define FLUSH_AGAIN         21   /* one flush, whatever it brings */
#define FLUSH_AFTER_TRACE   22   /* a flush is asked for while there is something grey */
#define FLUSH_LIST          23   /* a round counts as empty though full buffers came outside it (CHUNKS) */
#define PHASE_FIRST         24   /* requests are published before the phase that they are about */
#define QUARANTINE          25   /* a reclaimed handle is free at once */
/* frozen frames */
#define RETURN_BARRIER      30   /* returning into a frozen frame does not scan it */
#define RETURN_WAIT         31   /* ... does not wait for the collector that is scanning it */
#define SCAN_DROPPED        32   /* unwinding scans the frame that it ends in, not those that it drops */
#define EXIT_SCAN           33   /* an exiting thread does not scan its frozen frames */
#define EXIT_WAIT           34   /* ... does not wait for the collector that is scanning one */
#define FLUSH_AFTER_FRAMES  35   /* a flush is asked for while there are frozen frames */
#define SLOT_OLD            36   /* coex_gc_set_slot does not shade what it overwrites (SLOTS) */
#define SLOT_NEW            37   /* ... what it writes, in SYNC and ROOTS */
#define SLOT_WHITE          38   /* ... what it overwrites, if the thread is white */
/* native mode */
#define ENTER_CHECK         40   /* entering native mode does not look for a request */
#define REQUEST_FIRST       41   /* the collector looks at the mode before it stores the request */
#define LEAVE_WAIT          42   /* leaving native mode does not wait while claimed */
#define LEAVE_BARRIER       43   /* ... does not run the return barrier for the top frame (WATERMARK) */
#define CLAIM_SWAP          44   /* the collector claims by a plain store */
/* threads that come and go */
#define SPAWN_ANSWER        50   /* a parent does not answer before it spawns; the child takes over the request */
#define SPAWN_STATE         51   /* a parent does not answer before it spawns; the child takes the state that belongs to the phase */
#define ATTACH_LOCK         52   /* attaching reads the phase before it takes the registry lock */
#define EXIT_BUFFER         53   /* an exiting thread drops its buffer */
/* handle words */
#define ROOTS_HELD          60   /* at ROOTS, born is not set for the handles that a thread holds */
#define TAKE_LOCK           61   /* claims of handles don't exclude each other */
#define AVAILABLE_FIRST     62   /* a claim reads allocated before it clears available */
#define BORN_FIRST          63   /* a claim sets allocated before born */
#define SWEEP_ALLOC_FIRST   64   /* the sweep reads born before allocated */
#define UNRETIRE_FIRST      65   /* the sweep clears allocated before retired */
#define ANNOUNCE_LAST       66   /* the sweep announces a word before it clears allocated */
#define EXIT_KEEPS          67   /* an exiting thread gives its handles back: clears born, then allocated */
#define ABANDON_VACANT      68   /* handles of vacant records are not abandoned when ROOTS is published */
#define ABANDON_WHITE       69   /* a thread that exits after that without an answer keeps its handles too */
#define NATIVE_HANDLES     130   /* the collector leaves a native thread its handles at ROOTS, and they are not born */
#define NATIVE_WHITE       131   /* ... gives them back when they are born already */
#define NATIVE_CLEAR_FIRST 132   /* ... announces the word, and then clears allocated */
#define RUN_HELD           134   /* a line taken from a block that nobody owns does not become HELD */
#define NATIVE_BLOCK       133   /* the collector leaves a native thread its hole at ROOTS, and it is not HELD */
/* lines */
#define ROOTS_HOLE          70   /* at ROOTS, a thread's hole does not become HELD */
#define BLACK_HOLE          71   /* a hole that a black thread takes does not become HELD */
#define LINE_MARK           72   /* marking an object does not mark its line */
#define HANDLES_THEN_LINES  73   /* lines are released before the handles are swept */
#define SWEEP_CLAIM         74   /* the sweep does not pass over blocks that have an owner */
#define LIST_ANEW           75   /* a sweep leaves the list of blocks with holes as the last one made it */
/* poll */
#define RESTORE_FIRST       80   /* the owner reads the request, then restores limit */
#define LIMIT_LAST          81   /* the collector zeroes limit, then stores the request */
/* assistants */
#define ASSIST_QUIET        85   /* marking may end while a thread assists */
#define ASSIST_COUNT        86   /* what is marked before the answers are in does not count for the round */
#define ASSIST_RETURN       87   /* an assistant drops what it has not traced */
/* collect() */
#define NEXT_CYCLE          90   /* collect() is content with the cycle that is under way */
/* coroutine stacks (STACKS) */
#define WHITE_LEAVES       100   /* what a white thread leaves stays done */
#define ENTER_FREEZE       101   /* a black thread does not freeze the stack that it enters */
#define ENTER_BARRIER      102   /* ... does not run the return barrier for its top frame */
#define SWITCH_WAIT        103   /* a switch does not wait while the collector freezes that stack */
#define SUSPENDED_SCAN     104   /* marking may end while a suspended stack is not done */
#define DESTROY_SCAN       105   /* what a destroyed stack holds is not scanned */
#define START_DONE         106   /* Start leaves stacks done */
#define KEEP_FROZEN        107   /* a white thread that leaves a stack forgets which frames of it are frozen */
#define ANSWER_FREEZE      108   /* a thread that answers ROOTS on a stack that is done freezes nothing */
/* weak references (WEAK) */
#define GET_SHADE          110   /* a get does not shade */
#define GET_SWAP_FIRST     111   /* a get shades, and then counts itself */
#define GET_SWAP           112   /* a get goes on though its swap has failed */
#define GET_COUNT          113   /* the collector decides whatever was got meanwhile */
#define COUNT_FIRST        114   /* the collector reads the number after the answers */
#define WORD_FIRST         115   /* a get reads the cell before the word */
#define LOOK_AGAIN         116   /* a get that reads CLEARED says null at once */
#define CLEAR_SWAP         117   /* cells are cleared by a plain store */
#define OPEN_BEFORE_SWEEP  118   /* cells are cleared after the sweep */
#define BORN_LIVES         119   /* born objects don't count as alive */
#define WORD_FROM_START    120   /* MARKING begins with MARK */
#define MARK_THEN_WORD     121   /* a get trusts a mark, whatever the word is by now (FINALIZERS) */
#define GET_QUARANTINE     122   /* a reclaimed handle is free at once */
/* finalizers (FINALIZERS) */
#define FINAL_TRACED       125   /* mutators may take what is revived and not traced yet */
#define FINAL_ROOT         126   /* the queue is no root */
#define FINAL_SHADE        127   /* what leaves the queue is not shaded */
#define WEAK_THEN_FINAL    128   /* the dead are revived before weak cells are cleared */

#ifndef WITHOUT
#define WITHOUT NOTHING
#endif
#define without(step) (WITHOUT == step)

/* For all threads; is there one; choose one. */
#if THREADS == 1
#define EACH_THREAD(f)  f(0)
#define ANY(p)          p(0)
#define CHOOSE(var, p)  var = 0
#else
#define EACH_THREAD(f)  f(0); f(1)
#define ANY(p)          (p(0) || p(1))
#define CHOOSE(var, p)  if :: p(0) -> var = 0 :: p(1) -> var = 1 fi
#endif

/* ------------------------------------------------------------------------------------------------------------- the heap */

#define ALL        ((1 << (HANDLES + 1)) - 2)
#define SET(h)     ((1 << (h)) & ALL)              /* { h }; the null handle is in no set */
#define IN(set, h) (((set) >> (h)) & 1)
#define LOWEST(set) (((set) & 2) -> 1 : (((set) & 4) -> 2 : 3))

byte field[HANDLES + 1];         /* field[0]: the global root cell */
byte allocated;
byte marked;                     /* W: collector */
byte born;
#ifdef WORDS                     /* all handles are in one word, the worst case for threads that share one */
byte retired;                    /* W: collector */
bit  available = 1;              /* the word may have free bits. W: claims clear, the sweep sets */
bit  handles_locked;             /* claims */
bit  freeing;                    /* ghost: the sweep has freed bits, and has not announced them yet */
byte slots;                      /* handles whose table slot is not NULL */
byte resting;                    /* ghost: reclaimed by the last sweep */
byte handle_bits[THREADS];       /* handles that a record holds: allocated, slot NULL */
#elif defined(WEAK)              /* a get relies on the quarantine */
byte retired;                    /* W: collector */
#else                            /* else a thread takes a handle when it makes an object, and a dead one is free at once: */
#define retired 0                /* this is harder on the protocol than it will be, and has fewer states */
#endif
#ifdef BLOCKS                    /* block b has the lines 2b - 1 and 2b; an object lies on one line, a line holds any number */
#define LINES        (2 * BLOCKS)
#define LINE(l)      ((1 << (l)) & ((1 << (LINES + 1)) - 2))
#define LINES_OF(b)  ((6 << (2 * (b) - 2)))
#define LOWEST_LINE(set) (((set) & 2) -> 1 : (((set) & 4) -> 2 : (((set) & 8) -> 3 : 4)))
mtype = { FREE, OWNED, USED, PARTIAL, SWEEPING };
mtype block_state[BLOCKS + 1] = FREE;
byte line_of[HANDLES + 1];       /* the table slot: where the object lies; 0: NULL */
byte line_marked;                /* W: collector */
byte line_held;                  /* W: the block's owner, or the collector for it */
byte line_free;                  /* W: the block's owner or sweeper */
byte partial;                    /* the list of blocks with holes. Under the heap's lock */
byte block[THREADS];             /* the block that a thread owns; 0: none */
byte hole[THREADS];              /* the line in it that it allocates in; 0: none */
byte sweep_next;                 /* the next block that a sweep looks at; 0: no sweep of lines is under way */
#endif

/* ---------------------------------------------------------------------------------------------------------- the threads */

#define WHITE 0
#define BLACK 1

#ifdef STACKS
#include "stacks.pml"
#else
#define SHADOWS             THREADS    /* each thread has one stack, and it is on it */
#define ON(t)               (t)
#define ANY_SHADOW          ANY
#define CHOOSE_SHADOW       CHOOSE
#define STACK_IS_DONE(s)    false
#define FREEZE_DONE(s)      skip
#define ALL_DONE            true
#endif

byte frame[SHADOWS * FRAMES];    /* sets of handles. W: owner, and only its top frame */
bit  pending[THREADS];           /* W: collector sets, who answers clears */
bit  barrier[THREADS];           /* W: who answers */
bit  colour[THREADS];            /* W: who answers */
byte buffer[THREADS];            /* a set. W: owner */
byte old[THREADS];               /* the value that a store under way is about to overwrite */

#ifdef WATERMARK
byte top[SHADOWS];               /* index of the top frame */
byte lo[SHADOWS], hi[SHADOWS];   /* frozen frames: lo <= i < hi. One word in the code, changed by compare-and-swap */
byte done[SHADOWS];              /* the collector has scanned the frames below. W: collector */
#define BASE(t)  (ON(t) * FRAMES)
#define TOP(t)   frame[BASE(t) + top[ON(t)]]
#if FRAMES == 1
#define ROOTED(t) frame[BASE(t)]
#elif FRAMES == 2
#define ROOTED(t) (frame[BASE(t)] | frame[BASE(t) + 1])
#else
#define ROOTED(t) (frame[BASE(t)] | frame[BASE(t) + 1] | frame[BASE(t) + 2])
#endif
#ifdef STACKS
#define DEPTH(t) (ON(t) == COROUTINE -> FRAMES : OTHER_FRAMES)
#else
#define DEPTH(t) (ON(t) == 0 -> FRAMES : OTHER_FRAMES)
#endif
#define FROZEN(s) (lo[s] < hi[s])
#else
#define TOP(t)    frame[t]
#define ROOTED(t) frame[t]       /* what a thread may use: an argument is rooted in the frame of some caller */
#define FROZEN(s) false
#endif

#ifdef MODES
#define MANAGED 0
#define IN_NATIVE 1
#define CLAIMED 2
byte mode[THREADS];
bit  looked[THREADS];            /* the collector found this thread managed, and waits for its own answer */
bit  settled[THREADS];           /* ghost: in native mode, past the look for requests */
/* Ghost: the request will not be answered: the collector waits for the thread, the thread blocks in native code. */
#define STRANDED(t) (pending[t] && looked[t] && mode[t] == IN_NATIVE && settled[t])
#define UNLOOK(t) looked[t] = 0
#else
#define UNLOOK(t) skip
#endif

#ifdef POLL
bit  limit[THREADS];             /* 1: the end of the shadow stack; 0: zero, take the slow path */
bit  slow[THREADS];              /* ghost: the owner is in the slow path and has not looked for the request yet */
bit  asking[THREADS];            /* ghost: the collector is between its two stores */
/* Ghost: the request will not be noticed: limit is restored, and nobody is about to look. */
#define SWALLOWED(t) (pending[t] && limit[t] && !slow[t] && !asking[t])
#endif

#ifdef SPAWN
bit  live[THREADS];              /* registered. W: under the registry lock */
#define LIVE(t) live[t]
#else
#define LIVE(t) true
#endif

#if defined(WEAK) || defined(FINALIZERS)
#include "weak.pml"
#endif

/* -------------------------------------------------------------------------------------------------------- the collector */

mtype = { MARK, ROOTS, SYNC, IDLE };               /* numbered from the right: IDLE < SYNC < ROOTS < MARK */

mtype phase = IDLE;              /* a handshake in MARK is a flush */
#if WITHOUT == PHASE_FIRST
mtype late;                      /* the phase that is published after its requests; 0: none */
#endif
byte handed;                     /* the list of buffers that were handed over, not looked at yet */
byte grey;                       /* marked, not traced yet. Collector's own */
#ifdef CHUNKS
bit  brought;                    /* some answer of this round had an unmarked handle (only for without(FLUSH_LIST)) */
#endif
#ifdef ASSIST
bit  assisting[THREADS];         /* under the list's lock, as the list itself */
bit  news;                       /* somebody has marked something since the last round began */
bit  answered;                   /* the answers of the round are in */
#define ASSISTING(i) assisting[i]
#define QUIET ((handed & ~marked) == 0 && (!ANY(ASSISTING) || without(ASSIST_QUIET)))
#endif
#ifdef COLLECT
byte ticket;                     /* thread 0 waits in collect(): 1 for a cycle to start, 2 for it to end; 0 does not wait */
byte garbage;                    /* ghost: what was garbage when it called */
#define COLLECTED (me != 0 || ticket == 0)
#else
#define COLLECTED true
#endif

/* ----------------------------------------------------------------------------------------------------- ghost: what is live */

byte reach, gi, gh;               /* scratch, zero between steps */

inline compute_reach()
{
  reach = SET(field[0]);
  gi = 0;
  do :: gi < SHADOWS * FRAMES -> reach = reach | frame[gi]; gi++ :: else -> break od;
  gi = 0;
  do :: gi < THREADS -> reach = reach | SET(old[gi]); gi++ :: else -> break od;
  gi = 0;
#ifdef FINALIZERS
  reach = reach | queue;
#endif
  do
  :: gi < HANDLES ->
       gh = 1;
       do
       :: gh <= HANDLES -> if :: IN(reach, gh) -> reach = reach | SET(field[gh]) :: else fi; gh++
       :: else -> break
       od;
       gi++
  :: else -> break
  od;
  gi = 0; gh = 0
}

/* ----------------------------------------------------------------------------------------------------------- fewer states */

/* The protocol can't tell these states apart, so only one of each kind is kept. Without one of the steps 10 to 29 it might: then,
 * and with UNREDUCED, nothing is done here.
 *   A handle that is marked, or is on the collector's list and so about to be, is passed over in a buffer.
 *   Born decides nothing for a handle that is marked.
 *   What the sweep has passed is alive, whether by mark or by birth.
 *   From the sweep to Start, marks and born bits decide only what gets into buffers, and those are dropped at IDLE; marks of lines
 *   decide nothing when no block is being swept. */
#if (WITHOUT < 10 || WITHOUT > 29) && !defined(UNREDUCED)
#define REDUCED
inline forget(i) { buffer[i] = (phase == IDLE -> 0 : buffer[i] & ~(marked | handed)) }
inline reduce()
{
  if :: phase == IDLE -> marked = 0; born = 0; handed = 0; reduce_lines() :: else fi;
  EACH_THREAD(forget); handed = handed & ~marked; born = born & ~marked
}
inline reduce_swept(set) { marked = marked | (born & (set)); born = born & ~(set) }
#ifdef BLOCKS
inline reduce_lines()
{
  if :: block_state[1] != SWEEPING && block_state[BLOCKS] != SWEEPING -> line_marked = 0; line_held = 0 :: else fi
}
#else
inline reduce_lines() { skip }
#endif
#else
inline reduce() { skip }
inline reduce_swept(set) { skip }
#endif
/* Ends a step and begins the next, where nobody sees the difference in a model that is reduced: a thread fills its own buffer;
 * Start clears bits that decide nothing. */
#if defined(REDUCED)
#define NEXT_STEP
#else
#define NEXT_STEP }; atomic {
#endif
#ifdef COARSE
#define NEXT_STEP_FINE           /* and where there is one: a store that has not read the phase yet */
#else
#define NEXT_STEP_FINE }; atomic {
#endif

/* ----------------------------------------------------------------------------------------------- what a thread's answer is */

inline hand_over(t)
{
#ifdef CHUNKS
  if :: (buffer[t] & ~marked) != 0 -> brought = 1 :: else fi;
#endif
  handed = handed | buffer[t]; buffer[t] = 0;
  reduce()
}

/* INV-BORN-1: what a thread allocates or holds between its ROOTS answer and its IDLE answer is born, and nothing else is.
 * INV-HEAP-4: the line it is in when it goes black becomes HELD. */
inline blacken(t)
{
  colour[t] = (without(BLACK_BIRTH) -> WHITE : BLACK);
#ifdef WORDS
  if :: without(ROOTS_HELD) :: else -> born = born | handle_bits[t] fi;
#endif
#ifdef BLOCKS
  if :: without(ROOTS_HOLE) :: else -> line_held = line_held | LINE(hole[t]) fi;
#endif
}

inline answer_sync(t)
{
  barrier[t] = 1;
#ifdef BLACK_FROM_SYNC
  colour[t] = BLACK
#endif
}

/* INV-IDLE-3: no buffer outlives its cycle. What is in one here is marked, or was allocated white by a thread that has answered
 * IDLE already; nothing in it is needed. */
inline answer_idle(t)
{
  barrier[t] = 0; colour[t] = WHITE; buffer[t] = 0
}

#ifdef WATERMARK
/* INV-SHADOW-3: a freeze drops nothing that is frozen: the collector has not begun to read, and the
 * new range ends no lower. (A thread that answers has just shaded its top frame.) */
inline freeze(s, end)
{
  assert(!FROZEN(s) || lo[s] == 0 && done[s] == 0 && hi[s] <= top[s] + 1);
  lo[s] = 0; hi[s] = end; done[s] = 0; FREEZE_DONE(s)
}

/* The frames of the stack that t is on, below `end`. A black thread may have been on it in this cycle
 * and have frozen some of them: these stay frozen, and so become those above. */
inline answer_frames(t, end)
{
  if
  :: STACK_IS_DONE(ON(t)) && without(ANSWER_FREEZE)
  :: else -> freeze(ON(t), end)
  fi
}
#endif

/* By the thread itself, at a safepoint. */
inline answer(t)
{
  if
  :: phase == IDLE  -> answer_idle(t)
  :: phase == SYNC  -> answer_sync(t)
  :: phase == ROOTS ->
       if :: without(SYNC_HANDSHAKE) -> barrier[t] = 1 :: else fi;
       if :: without(ROOT_SCAN) :: else -> buffer[t] = buffer[t] | (TOP(t) & ~marked) fi;        /* INV-ROOTS-1 */
#ifdef WATERMARK
       answer_frames(t, top[ON(t)]);                                  /* freeze all but the top frame */
#endif
       blacken(t);
       hand_over(t)
  :: phase == MARK  -> hand_over(t)
  fi;
  pending[t] = 0; UNLOOK(t);
  printf("T%d: answers %e\n", t, phase)
}

/* --------------------------------------------------------------------------------------------------------------- a thread */

inline shade(t, h)
{
  assert(h == 0 || IN(allocated & ~retired, h));       /* INV-MARK-3: what is reachable has an object */
  buffer[t] = buffer[t] | (SET(h) & ~marked);
  reduce()
}

/* INV-FLUSH-1: a full buffer goes to the list at once, also in the middle of a barrier. */
#ifdef CHUNKS
#define maybe_full(t) if :: true :: buffer[t] != 0 -> handed = handed | buffer[t]; buffer[t] = 0 fi
#else
#define maybe_full(t) skip
#endif

/* var becomes some element of set, or 0. */
inline pick_or_null(var, set)
{
  if
  :: var = 0
  :: IN(set, 1) -> var = 1
  :: IN(set, 2) -> var = 2
#if HANDLES > 2
  :: IN(set, 3) -> var = 3
#endif
  fi
}

inline pick(var, set)
{
  if
  :: IN(set, 1) -> var = 1
  :: IN(set, 2) -> var = 2
#if HANDLES > 2
  :: IN(set, 3) -> var = 3
#endif
  fi
}

inline put_into_frame(h) { TOP(me) = (me < LOCALS -> TOP(me) | SET(h) : SET(h)) }

/* A switch may take a handle along: an argument of what runs there, or a result. It may be out of any
 * frame of the stack that is left, as arguments are, or a fresh object with such a handle in it. */
#ifdef CARRY
inline take_along() { pick_or_null(old[me], ROOTED(me)) }
inline put_down()   { atomic { if :: old[me] != 0 -> put_into_frame(old[me]); old[me] = 0 :: else fi } }
#else
inline take_along() { skip }
inline put_down()   { skip }
#endif

/* ---- allocation ---- */

#ifdef WORDS
#define CAN_ALLOCATE (handle_bits[me] != 0)
#else
#define UNUSED       (ALL & ~allocated)
#define CAN_ALLOCATE (UNUSED != 0)
#endif
#ifdef BLOCKS
#define HAS_SPACE    (hole[me] != 0)
#else
#define HAS_SPACE    true
#endif

inline allocate()
{
#ifdef WORDS
  pick(h, handle_bits[me]);
#else
  if                                                   /* the lowest of each kind: which one it is does not matter */
  :: (UNUSED & MUTABLE) != 0  -> h = LOWEST(UNUSED & MUTABLE)
  :: (UNUSED & ~MUTABLE) != 0 -> h = LOWEST(UNUSED & ~MUTABLE)
  fi;
#endif
#ifdef FRESH
  if :: h == 2 -> pick_or_null(v, ROOTED(me) & SET(1)) :: else fi;
#elif !defined(LEAVES)
  pick_or_null(v, ROOTED(me));
#endif
  d_step {
#ifdef WORDS
    assert(IN(allocated & ~retired & ~slots, h));      /* INV-HANDLE-3: held, by this thread alone */
    handle_bits[me] = handle_bits[me] & ~SET(h);
    slots = slots | SET(h);
#else
    allocated = allocated | SET(h);
    born = born | (colour[me] == BLACK -> SET(h) : 0);
#endif
#ifdef FINALIZERS
    listed = listed | FINALIZABLE(h);
#endif
#ifdef BLOCKS
    line_of[h] = hole[me];
#endif
    field[h] = v;                                      /* an initialising store: nobody else has the object yet */
    put_into_frame(h);
    printf("T%d: allocates o%d -> o%d, colour %d\n", me, h, v, colour[me]);
    reduce(); h = 0; v = 0
  };
#ifdef BLOCKS
  if :: true :: hole[me] = 0 fi                        /* the hole has room for more, or not */
#endif
}

#ifdef WORDS
/* Claim what is free in the word. INV-HANDLE-1: claims exclude each other, and clear `available` before they read `allocated`.
 * INV-HANDLE-2: what is free is not born; a black claimer sets born, then allocated. */
inline take_handles()
{
  atomic { handle_bits[me] == 0 && available && (!handles_locked || without(TAKE_LOCK)) -> handles_locked = 1;
#if WITHOUT == AVAILABLE_FIRST
    v = ALL & ~allocated };
  atomic { available = 0 };
#else
    available = 0 };
  atomic { v = ALL & ~allocated };
#endif
#if WITHOUT == BORN_FIRST
  allocated = allocated | v;
#endif
  atomic {
    assert((v & born) == 0 || without(EXIT_KEEPS));    /* INV-HANDLE-2 */
    assert((v & resting) == 0);                        /* MI-6: a complete cycle lies between */
    if :: colour[me] == BLACK -> born = born | v :: else fi;
    printf("T%d: claims handles %d\n", me, v)
  };
  atomic { allocated = allocated | v; handle_bits[me] = v; v = 0; handles_locked = 0;
    assert((ALL & ~allocated) == 0 || available || freeing) }         /* INV-HANDLE-1: no free handle is forgotten */
}
#endif

#ifdef BLOCKS
/* The next block, if it has no owner and was not taken meanwhile (compare-and-swap of its state); else 0. INV-HEAP-1. */
inline sweep_claim(b)
{
  b = sweep_next; sweep_next++;
  if
  :: block_state[b] == USED || block_state[b] == PARTIAL || (without(SWEEP_CLAIM) && block_state[b] == OWNED) ->
       block_state[b] = SWEEPING
  :: else -> b = 0
  fi
}
/* INV-HEAP-4: a line is released if it is neither MARKED nor HELD. Then no object is on it, and nobody allocates in it. */
inline sweep_block(b, gone)
{
  atomic { gone = (b == 0 -> 0 : LINES_OF(b) & ~(line_marked | line_held)) };
  d_step {
    gh = 1;
    do :: gh <= HANDLES -> assert((LINE(line_of[gh]) & gone & ~line_free) == 0); gh++ :: else -> break od;
    gi = 0;
    do :: gi < THREADS -> assert((LINE(hole[gi]) & gone) == 0); gi++ :: else -> break od;
    gh = 0; gi = 0;
    line_free = (b == 0 -> line_free : (line_free & ~LINES_OF(b)) | gone);
    printf("sweep of block %d: lines %d are free\n", b, gone)
  }
}

/* INV-HEAP-1: a block has one owner, who alone takes holes from it, whatever the marks say. INV-HEAP-4: a hole that a black thread
 * takes is HELD as long as it owns the block: the sweep passes over those. */
#define TAKEABLE(b) (block_state[b] == FREE || IN(partial, b))

inline take_hole()
{
  if
  :: atomic { block[me] != 0 && hole[me] == 0 && (line_free & LINES_OF(block[me])) != 0 ->
       hole[me] = LOWEST_LINE(line_free & LINES_OF(block[me]));
       line_free = line_free & ~LINE(hole[me]);
       printf("T%d: takes line %d\n", me, hole[me]) };
     atomic { if :: colour[me] == BLACK && !without(BLACK_HOLE) -> line_held = line_held | LINE(hole[me]) :: else fi; reduce() }
  :: atomic { block[me] != 0 && hole[me] == 0 && (line_free & LINES_OF(block[me])) == 0 ->
       printf("T%d: gives up block %d\n", me, block[me]); block_state[block[me]] = USED; block[me] = 0 }
  :: atomic { block[me] == 0 && (TAKEABLE(1) || (BLOCKS > 1 && TAKEABLE(BLOCKS))) ->          /* under the heap's lock */
       if :: TAKEABLE(1) -> v = 1 :: BLOCKS > 1 && TAKEABLE(BLOCKS) -> v = BLOCKS fi;
       if :: IN(partial, v) -> partial = partial & ~(1 << v) :: else -> line_free = line_free | LINES_OF(v) fi;
       block_state[v] = OWNED; block[me] = v; v = 0;
       printf("T%d: takes block %d\n", me, block[me]) }
#ifdef RUNS
  /* INV-HEAP-6: a line of a block that nobody owns and that stays so, taken and HELD under the heap's lock. */
  :: atomic { hole[me] == 0 && partial != 0 ->
       if :: IN(partial, 1) -> v = 1 :: BLOCKS > 1 && IN(partial, BLOCKS) -> v = BLOCKS fi;
       hole[me] = LOWEST_LINE(line_free & LINES_OF(v));
       line_free = line_free & ~LINE(hole[me]);
       if :: (line_free & LINES_OF(v)) == 0 -> partial = partial & ~(1 << v); block_state[v] = USED :: else fi;
       if :: colour[me] == BLACK && !without(RUN_HELD) -> line_held = line_held | LINE(hole[me]) :: else fi;
       printf("T%d: takes line %d of block %d, which it does not own\n", me, hole[me], v); v = 0; reduce() }
#endif
  :: atomic { block[me] == 0 && sweep_next != 0 && sweep_next <= BLOCKS -> sweep_claim(v) };       /* sweeps for itself */
     sweep_block(v, x);
     atomic {
       if
       :: v == 0
       :: v != 0 && x != 0 -> block_state[v] = OWNED; block[me] = v
       :: v != 0 && x == 0 -> block_state[v] = USED
       fi;
       v = 0; x = 0 }
  fi
}
#endif

/* ---- loads and stores ---- */

#define LOADABLE(x) (field[x] != 0 && !IN(TOP(me), field[x]))

inline load(x)
{
  printf("T%d: loads o%d from o%d\n", me, field[x], x);
  put_into_frame(field[x])
}

/* INV-BARRIER-1: the value that a store replaces is shaded before the thread's next answer, unless it was born in this cycle.
 * INV-BARRIER-2: until MARK, so is the value that it writes, born or not. */
inline shade_old()
{
  if
  :: without(DELETION_SHADE) || IN(born, old[me])
  :: else -> shade(me, old[me])
  fi
}
inline shade_new()
{
  if
  :: (phase == SYNC || phase == ROOTS) && !without(INSERTION_SHADE) -> shade(me, v)
  :: else
  fi
}
/* INV-BARRIER-5: global root cells have the same barrier. */
#define BARRIERED (barrier[me] && !(without(GLOBAL_BARRIER) && x == 0))

/* ---- the return barrier ---- */

#ifdef WATERMARK
#ifdef STACKS
#define SETTABLE (top[ON(me)] > 0 || stack_state[OTHER(me)] == SUSPENDED)
#else
#define SETTABLE (top[ON(me)] > 0)
#endif
/* Frozen frames that are all scanned are written down as "none", whatever the numbers: fewer states. */
inline settle(s)
{
  if :: lo[s] == hi[s] && done[s] == lo[s] -> lo[s] = 0; hi[s] = 0; done[s] = 0 :: else fi
}

/* The frozen frames from x up are to be the thread's own again: those that nobody has scanned it scans itself, also those that it is
 * about to drop, for what is in them may be in an object by now, with no shade (INV-SHADOW-4). If the collector has claimed some of
 * them, it waits for that (INV-SHADOW-2). */
inline scan_own(from, to)
{
  gi = from;
  do
  :: gi < to && (!without(SCAN_DROPPED) || gi == x) -> buffer[me] = buffer[me] | (frame[BASE(me) + gi] & ~marked); gi++
  :: gi < to && without(SCAN_DROPPED) && gi != x -> gi++
  :: else -> break
  od;
  gi = 0
}
inline thaw()
{
  if
  :: atomic { hi[ON(me)] <= x && lo[ON(me)] <= x }                            /* nothing of it is frozen */
  :: atomic { hi[ON(me)] > x || lo[ON(me)] > x ->
       v2 = hi[ON(me)]; hi[ON(me)] = (lo[ON(me)] > x -> lo[ON(me)] : x);              /* compare-and-swap: cuts the range */
       printf("T%d: frozen frames from %d are its own\n", me, x) };
     atomic { lo[ON(me)] <= x || done[ON(me)] >= lo[ON(me)] || without(RETURN_WAIT) };
     atomic { d_step { scan_own(hi[ON(me)], v2); v2 = 0; reduce(); settle(ON(me)) }; maybe_full(me) }
  fi
}
#endif

proctype thread(byte me)
{
  byte x, v, h;
#ifdef WATERMARK
  byte v2;
#endif

#ifdef SPAWN
unborn:
  if
  :: atomic { live[me] -> goto in_native }                            /* spawned, in native mode */
  /* INV-THREAD-2: who attaches, under the registry lock, takes the state that belongs to the phase. It has no handles. */
  :: atomic { !live[me] -> v = phase;
#if WITHOUT == ATTACH_LOCK
     };
     atomic { if :: live[me] -> v = 0; goto in_native :: else fi;     /* a spawn has taken this record meanwhile */
#endif
       barrier[me] = (v != IDLE); colour[me] = (v >= ROOTS); v = 0; live[me] = 1;
       printf("T%d: attaches, barrier %d colour %d\n", me, barrier[me], colour[me]) }
  fi;
#endif

end:
  do
  /* ---- allocate, load, drop ---- */
  :: atomic { CAN_ALLOCATE && HAS_SPACE -> allocate() }
#ifdef WORDS
  :: take_handles()
#endif
#ifdef BLOCKS
  :: take_hole()
#endif
#ifndef PRIVATE
  :: atomic { LOADABLE(0) -> load(0) }
#endif
#if !defined(LEAVES) && !defined(FRESH)
  :: atomic { IN(ROOTED(me), 1) && LOADABLE(1) -> load(1) }
  :: atomic { IN(ROOTED(me), 2) && LOADABLE(2) -> load(2) }
#if HANDLES > 2
  :: atomic { IN(ROOTED(me), 3) && LOADABLE(3) -> load(3) }
#endif
#endif
  :: atomic { TOP(me) != 0 -> pick(h, TOP(me)); TOP(me) = TOP(me) & ~SET(h); printf("T%d: drops o%d\n", me, h); h = 0 }

#ifndef PRIVATE
  /* ---- store: field x = v. No safepoint inside; both stay in the frame ---- */
  :: atomic {
#ifdef LEAVES
       x = 0;
#else
       pick_or_null(x, ROOTED(me) & MUTABLE);
#endif
       pick_or_null(v, ROOTED(me));
       if
       :: field[x] == v -> x = 0; v = 0; goto end                     /* nothing would change */
       :: BARRIERED && field[x] != v -> goto again
       :: else -> printf("T%d: o%d = o%d, no barrier\n", me, x, v); field[x] = v; x = 0; v = 0; goto end
       fi };
again:
#ifdef EXCHANGE
     atomic { old[me] = field[x]; field[x] = v; printf("T%d: exchanges o%d in o%d for o%d\n", me, old[me], x, v) };
     atomic { shade_old(); maybe_full(me) };
     atomic { shade_new(); maybe_full(me); old[me] = 0; x = 0; v = 0 }
#else
     atomic { old[me] = field[x];
       printf("T%d: barrier reads o%d from o%d, to store o%d\n", me, old[me], x, v);
     NEXT_STEP
       shade_old(); maybe_full(me);
     NEXT_STEP_FINE
       shade_new(); maybe_full(me) };
     atomic {
       if
       :: field[x] == old[me] || without(SWAP_STORE) -> printf("T%d: o%d = o%d (was o%d)\n", me, x, v, field[x]); field[x] = v
       :: else -> goto again                                          /* INV-BARRIER-3: another thread was first */
       fi;
       old[me] = 0; x = 0; v = 0 }
#endif
#endif

#ifdef ASSIST
  /* ---- help to mark, in an allocation's slow path. INV-QUEUE-2: an assistant counts from the moment it takes something off the list
   *      until it has handed back what it did not trace. ---- */
  :: atomic { phase == MARK -> v = 1 };
     atomic { if :: handed == 0 -> v = 0; goto end :: else -> v = 0; pick(h, handed); handed = handed & ~SET(h); assisting[me] = 1 fi };
     atomic { if :: IN(marked, h) -> h = 0 :: else -> marked = marked | SET(h); news = 1; reduce() fi;
       printf("T%d: assists, marks o%d\n", me, h) };
     atomic { if :: h != 0 -> v = field[h]; h = 0 :: else fi };
     atomic { if :: without(ASSIST_RETURN) :: else -> handed = handed | (SET(v) & ~marked) fi;
       v = 0; assisting[me] = 0; reduce() }
#endif

  /* ---- safepoint ---- */
#ifdef POLL
  /* INV-POLL-1: the collector stores the request, then zeroes limit; the owner restores limit, then looks for the request. */
  :: atomic { !limit[me] -> slow[me] = 1; if :: without(RESTORE_FIRST) -> v = pending[me] :: else -> limit[me] = 1 fi };
     atomic { if :: without(RESTORE_FIRST) -> limit[me] = 1 :: else -> v = pending[me] fi;
       slow[me] = 0;
       if :: v -> v = 0; d_step { answer(me) } :: else -> v = 0 fi;
       assert(!SWALLOWED(me)) }
  :: atomic { pending[me] -> d_step { answer(me) } }                  /* an allocation's slow path looks at the request itself */
#else
  :: atomic { pending[me] -> d_step { answer(me) } }
#endif

#ifdef WATERMARK
  /* ---- call, with at most one argument ---- */
  :: atomic { top[ON(me)] + 1 < DEPTH(me) -> pick_or_null(v, ROOTED(me)); top[ON(me)]++; TOP(me) = SET(v);
       printf("T%d: calls, frame %d has o%d\n", me, top[ON(me)], v); v = 0 }
  /* ---- return by one frame or unwind by two, with at most one result ---- */
  :: atomic { top[ON(me)] > 0 ->
       pick_or_null(v, ROOTED(me));
       if :: x = top[ON(me)] - 1 :: top[ON(me)] > 1 -> x = top[ON(me)] - 2 fi };
#if WITHOUT != RETURN_BARRIER
     thaw();
#endif
     d_step {
       do :: top[ON(me)] > x -> TOP(me) = 0; top[ON(me)]-- :: else -> break od;
       put_into_frame(v);
       printf("T%d: returns o%d to frame %d\n", me, v, x);
       x = 0; v = 0
     }
#endif

#ifdef SLOTS
  /* ---- coex_gc_set_slot: an older frame of one's own stack, or one of a stack that nobody is on. The steps before the store touch
   *      nothing that others see, but for reading the phase: an old one shades more ---- */
  :: atomic { SETTABLE ->
       if
       :: top[ON(me)] > 0 -> x = BASE(me) + top[ON(me)] - 1
       :: top[ON(me)] > 1 -> x = BASE(me) + top[ON(me)] - 2
#ifdef STACKS
       :: stack_state[OTHER(me)] == SUSPENDED -> x = OTHER(me) * FRAMES + top[OTHER(me)]
#if FRAMES > 1
       :: stack_state[OTHER(me)] == SUSPENDED && top[OTHER(me)] > 0 -> x = OTHER(me) * FRAMES
#endif
#endif
       fi;
       if :: me < LOCALS -> pick_or_null(h, frame[x]) :: else -> h = (frame[x] == 0 -> 0 : LOWEST(frame[x])) fi;
       pick_or_null(v, ROOTED(me));
       d_step {
         old[me] = h;
         if :: barrier[me] && !without(SLOT_OLD) && (colour[me] == BLACK || !without(SLOT_WHITE)) -> shade_old() :: else fi;
         if :: barrier[me] && !without(SLOT_NEW) -> shade_new() :: else fi;
         frame[x] = (me < LOCALS -> frame[x] & ~SET(h) : 0) | SET(v);
         printf("T%d: sets a slot of frame %d from o%d to o%d\n", me, x, h, v);
         old[me] = 0; x = 0; v = 0; h = 0
       } }
#endif

#ifdef STACKS
  /* ---- coroutines ---- */
  :: switch_stack()
  :: renew_stack()
#endif

#ifdef WEAK
  /* ---- a weak cell: fill it; get what is in it. No safepoint inside ---- */
  :: atomic { ROOTED(me) != 0 -> pick(v, ROOTED(me)); cell = v; printf("T%d: the weak cell is o%d\n", me, v); v = 0 }
  :: atomic { cell != 0 && !IN(TOP(me), cell) -> goto get };
get:
#if WITHOUT == WORD_FIRST
     atomic { v = cell; target[me] = v };
     atomic { x = word };
#else
     atomic { x = word };
     atomic { v = cell; target[me] = v };
#endif
     atomic {
       if
       :: colour[me] == WHITE || v == 0 || x == OPEN || IN(born, v) && !without(BORN_LIVES) -> end_get(v)
       :: else -> h = IN(marked, v)
       fi };
     if
     :: atomic { h -> h = 0; if :: word == x || without(MARK_THEN_WORD) -> end_get(v) :: else -> get_again() fi }
     :: atomic { !h && x == CLEARED -> if :: word == CLEARED || without(LOOK_AGAIN) -> say_null() :: else -> get_again() fi }
     :: atomic { !h && x == MARKING ->
#if WITHOUT == GET_SWAP_FIRST
          shade(me, v) };
        atomic {
#endif
          if :: word == MARKING -> gets = 1 :: word != MARKING && without(GET_SWAP) :: else -> get_again() fi };
        atomic { if :: without(GET_SHADE) || stale[me] :: else -> shade(me, v) fi; end_get(v) }
     fi
#endif

#ifdef FINALIZERS
  /* ---- take an object that was found dead ---- */
  :: take_finalizable()
#endif

#ifdef MODES
  /* ---- native mode. INV-NATIVE-4: both sides store, then look: the thread its mode, then the request; the collector the
   *      request, then the mode. So at least one of them sees the other. ---- */
#ifdef NATIVE
  :: atomic { true -> goto enter_native }
#endif
#ifdef COLLECT
  /* collect(): a cycle that starts after the call. INV-COLLECT-1: what was garbage at the call is reclaimed at the return. */
  :: atomic { me == 0 ->
       ticket = (without(NEXT_CYCLE) && phase != IDLE -> 2 : 1);
       d_step { compute_reach(); garbage = allocated & ~retired & ~reach; reach = 0 };
       printf("T%d: collect(), garbage %d\n", me, garbage); goto enter_native }
#endif
  :: false;
enter_native:
     atomic { mode[me] = IN_NATIVE; printf("T%d: enters native mode\n", me) };
     atomic {
       if
       :: pending[me] && !without(ENTER_CHECK)
       :: else -> settled[me] = 1; assert(!STRANDED(me)); goto in_native
       fi };
     atomic {
       if
       :: mode[me] == IN_NATIVE -> mode[me] = MANAGED;                /* compare-and-swap: takes itself back, answers */
            if :: pending[me] -> d_step { answer(me) } :: else fi;
            goto enter_native
       :: else -> settled[me] = 1                                     /* the collector has it */
       fi };
in_native:
     /* INV-NATIVE-3: a thread does not come back while it is claimed. */
     atomic { COLLECTED && (mode[me] == IN_NATIVE || without(LEAVE_WAIT)) -> mode[me] = MANAGED; settled[me] = 0;
#ifdef COLLECT
       if :: me == 0 -> assert(garbage == 0) :: else fi;
#endif
       printf("T%d: leaves native mode\n", me)
#ifdef WATERMARK
       ; x = top[ON(me)]
#endif
     };
#ifdef WATERMARK
     /* INV-NATIVE-3: and then, since the collector may have frozen the whole stack, its top frame is returned into. */
#if WITHOUT != LEAVE_BARRIER
     thaw();
#endif
     x = 0
#endif
#endif

#ifdef SPAWN
  /* ---- spawn, with at most one argument, and exit; both under the registry lock ---- */
  /* INV-THREAD-7: the parent has answered; the child starts in native mode, with its argument in its first slot, in its parent's
   * state, with nothing pending. So those who owe an answer only get fewer. */
  :: atomic { !live[1 - me] && (!pending[me] || without(SPAWN_ANSWER) || without(SPAWN_STATE)) ->
       pick_or_null(v, ROOTED(me));
       d_step {
         x = 1 - me;
         frame[x * FRAMES] = SET(v);
         pending[x] = pending[me]; barrier[x] = barrier[me]; colour[x] = colour[me];
         if :: without(SPAWN_STATE) -> pending[x] = 0; barrier[x] = (phase != IDLE); colour[x] = (phase >= ROOTS) :: else fi;
         mode[x] = IN_NATIVE; looked[x] = 0; settled[x] = 0; live[x] = 1;
         printf("T%d: spawns T%d with o%d, pending %d barrier %d colour %d\n", me, x, v, pending[x], barrier[x], colour[x]);
         x = 0; v = 0
       } }
  /* INV-THREAD-8: who exits hands over its buffer, after it has scanned what is frozen. */
  :: atomic { true -> printf("T%d: exits\n", me) };
#if WITHOUT == EXIT_KEEPS
     born = born & ~handle_bits[me];
     allocated = allocated & ~handle_bits[me];
     atomic { handle_bits[me] = 0; available = 1 };
#endif
#ifdef WATERMARK
     atomic { v2 = hi[ON(me)]; hi[ON(me)] = lo[ON(me)] };
     atomic { done[ON(me)] >= lo[ON(me)] || without(EXIT_WAIT) };
     atomic { d_step { if :: without(EXIT_SCAN) :: else -> scan_own(hi[ON(me)], v2) fi; v2 = 0; reduce() } };
#endif
     atomic {
       if :: without(EXIT_BUFFER) -> buffer[me] = 0 :: else -> hand_over(me) fi;
#ifdef WATERMARK
       lo[ON(me)] = 0; hi[ON(me)] = 0; done[ON(me)] = 0;
       do :: top[ON(me)] > 0 -> TOP(me) = 0; top[ON(me)]-- :: else -> break od;
#endif
#ifdef WORDS
       /* INV-THREAD-4: its handles stay with the record. If they should be born by now and are not, they are abandoned. */
       if :: colour[me] == WHITE && phase >= ROOTS && !without(ABANDON_WHITE) -> handle_bits[me] = 0 :: else fi;
#endif
#ifdef BLOCKS
       if
       :: block[me] != 0 -> block_state[block[me]] = USED; line_free = line_free & ~LINES_OF(block[me])        /* until it is swept */
       :: else
       fi;
       block[me] = 0; hole[me] = 0;
#endif
       TOP(me) = 0; pending[me] = 0; barrier[me] = 0; colour[me] = WHITE; looked[me] = 0; live[me] = 0;
       goto unborn }
#endif
  od
}

/* ---------------------------------------------------------------------------------------------------- collector: handshakes */

#define PENDING(i) pending[i]

/* Ask all threads for something. INV-THREAD-2: in one critical section of the registry lock, so nobody comes or goes meanwhile, and
 * the phase before the requests that it explains (INV-BARRIER-4: so a barrier never reads an older one). */
inline publish(p)
{
#if WITHOUT == PHASE_FIRST
  late = p;
#else
  phase = p;
#endif
  reduce();
  EACH_THREAD(request);
#if defined(WORDS) && defined(SPAWN) && WITHOUT != ABANDON_VACANT
  if :: p == ROOTS -> EACH_THREAD(abandon) :: else fi; /* INV-THREAD-4: nobody will answer for vacant records */
#endif
  printf("C: publishes %e\n", p)
}
inline abandon(i) { if :: LIVE(i) :: else -> handle_bits[i] = 0 fi }
inline request(i)
{
  if
  :: LIVE(i) && !without(LIMIT_LAST) -> pending[i] = 1
  :: else
  fi;
#ifdef POLL
  if :: without(LIMIT_LAST) -> limit[i] = 0 :: else fi;
  asking[i] = 1                                        /* the other store follows while the collector waits */
#endif
#ifdef MODES
  assert(!STRANDED(i))
#endif
}

#ifdef MODES
/* The collector looks once at each thread that has not answered: native, it claims it and answers for it; managed, the thread
 * will answer. (Code that looks again from time to time does more than it must.) */
#define TO_LOOK(i)     (LIVE(i) && pending[i] && !looked[i])
#define NATIVE_ONE(i)  (TO_LOOK(i) && mode[i] == IN_NATIVE)
#define MANAGED_ONE(i) (TO_LOOK(i) && mode[i] != IN_NATIVE)

#define NOBODY         THREADS

inline early_look(i) { if :: LIVE(i) && mode[i] == MANAGED -> looked[i] = 1 :: else fi }

/* The collector has found thread t native, with a request. By now it may have come back, have answered, and even be native again, or gone:
 * the claim is a compare-and-swap, and then it looks at the request again (INV-NATIVE-3). */
inline claim(t)
{
  atomic {
    if
    :: mode[t] == IN_NATIVE || without(CLAIM_SWAP) -> mode[t] = CLAIMED; printf("C: claims T%d\n", t)
    :: else -> t = NOBODY
    fi };
  if
  :: atomic { t == NOBODY -> t = 0 }
  :: atomic { t != NOBODY && !pending[t] -> mode[t] = IN_NATIVE; t = 0 }
  :: atomic { t != NOBODY && pending[t] }; answer_for(t)
  fi
}

/* INV-THREAD-6: a native thread holds nothing after its ROOTS answer. Its handles are given back at once: they are not born, and the one
 * who sweeps is here. Its block is swept with the others. */
inline give_back(t)
{
#ifdef WORDS
#if WITHOUT == NATIVE_WHITE
  atomic { born = born | handle_bits[t] };
#endif
#if WITHOUT == NATIVE_CLEAR_FIRST
  atomic { if :: handle_bits[t] != 0 -> available = 1 :: else fi };
  atomic { allocated = allocated & ~handle_bits[t]; handle_bits[t] = 0; reduce() };
#elif WITHOUT != NATIVE_HANDLES
  atomic { allocated = allocated & ~handle_bits[t]; freeing = 1 };
  atomic { if :: handle_bits[t] != 0 -> available = 1 :: else fi; handle_bits[t] = 0; freeing = 0; reduce() };
#endif
#endif
#if defined(BLOCKS) && WITHOUT != NATIVE_BLOCK
  atomic { if :: block[t] != 0 -> block_state[block[t]] = USED :: else fi; block[t] = 0; hole[t] = 0; reduce() };
#endif
  skip
}

/* Thread t is claimed; this is answer() by another hand. */
inline answer_for(t)
{
  if
  :: atomic { phase == IDLE  -> answer_idle(t) }
  :: atomic { phase == SYNC  -> answer_sync(t) }
  :: atomic { phase == ROOTS ->
#ifdef WATERMARK
       answer_frames(t, top[ON(t)] + 1) };                            /* freeze the whole stack */
#else
       handed = handed | TOP(t) };
#endif
     give_back(t);
     atomic { if :: without(SYNC_HANDSHAKE) -> barrier[t] = 1 :: else fi;
              if :: without(NATIVE_HANDLES) || without(NATIVE_BLOCK) -> colour[t] = BLACK :: else -> blacken(t) fi };
     atomic { hand_over(t) }
  :: atomic { phase == MARK  -> hand_over(t) }
  fi;
  atomic { pending[t] = 0; UNLOOK(t); printf("C: answers %e for T%d\n", phase, t) };
  atomic { if :: mode[t] == CLAIMED -> mode[t] = IN_NATIVE :: else fi; t = 0 }
}
#endif

/* Look at every record, without a lock, until all have answered; then act. (The act is in the same step as the end of the wait: fewer
 * states. Where nobody comes or goes, so is the look at all records.) */
#ifdef SPAWN
#define AWAIT_THEN(act) do :: atomic { !pending[t] && t + 1 < THREADS -> t++ } \
                           :: atomic { !pending[t] && t + 1 == THREADS -> t = 0; act; break } ANSWER_FOR_NATIVE od
#else
#define AWAIT_THEN(act) do :: atomic { !ANY(PENDING) && ASKED -> act; break } ZERO_LIMITS ANSWER_FOR_NATIVE TRACE_ON od
#endif
#if WITHOUT == FLUSH_AFTER_TRACE
#define TRACE_ON :: atomic { grey != 0 -> trace_one() }
#else
#define TRACE_ON
#endif
#ifdef MODES
#define ANSWER_FOR_NATIVE \
  :: atomic { ANY(MANAGED_ONE) -> CHOOSE(v, MANAGED_ONE); looked[v] = 1; v = 0 } \
  :: atomic { ANY(NATIVE_ONE) -> CHOOSE(v, NATIVE_ONE) }; claim(v)
#else
#define ANSWER_FOR_NATIVE
#endif
#if defined(POLL)
#define ASKING(i) asking[i]
#define ASKED (!ANY(ASKING))
#define ZERO_LIMITS :: atomic { ANY(ASKING) -> CHOOSE(v, ASKING); zero_limit(v); v = 0 }
inline zero_limit(i)
{
  if :: without(LIMIT_LAST) -> pending[i] = 1 :: else -> limit[i] = 0 fi;
  asking[i] = 0;
  assert(!SWALLOWED(i))
}
#elif WITHOUT == PHASE_FIRST
#define ASKED (late == 0)
#define ZERO_LIMITS :: atomic { late != 0 -> phase = late; late = 0 }
#else
#define ASKED true
#define ZERO_LIMITS
#endif

/* ------------------------------------------------------------------------------------------------------- collector: marking */

/* INV-MARK-1: only the collector marks, and what it marks becomes grey in the same step. */
inline mark_set(set)
{
  assert(((set) & ~(allocated & ~retired)) == 0);      /* INV-MARK-3 */
#ifdef ASSIST
  if :: ((set) & ~marked) != 0 -> news = 1 :: else fi;
#endif
  grey = grey | ((set) & ~marked);
  marked = marked | (set);
  reduce()
}

inline take_handed() { mark_set(handed); handed = 0 }

inline trace_one()
{
  h = LOWEST(grey); grey = grey & ~SET(h);
#ifdef BLOCKS
  if :: without(LINE_MARK) :: else -> line_marked = line_marked | LINE(line_of[h]) fi;
#endif
  mark_set(SET(field[h]));
  printf("C: traces o%d -> o%d\n", h, field[h]); h = 0
}

#ifdef WATERMARK
#define ANY_FROZEN ANY_SHADOW(FROZEN)
/* The oldest frozen frame of some stack: claim it, scan it, say so. INV-SHADOW-2: meanwhile its thread waits if it needs it, also to
 * exit. */
inline scan_frozen()
{
  atomic { grey == 0 && ANY_FROZEN ->
    CHOOSE_SHADOW(t, FROZEN);
    v = lo[t]; lo[t]++;                                /* compare-and-swap of the range */
    printf("C: claims frame %d of stack %d\n", v, t) };
  atomic { assert(LIVE(t)); mark_set(frame[t * FRAMES + v]); printf("C: scans frame %d of stack %d\n", v, t) };
  atomic { assert(LIVE(t)); done[t] = v + 1; d_step { settle(t); t = 0; v = 0 } }
}
#else
#define ANY_FROZEN false
#endif

#if defined(WEAK) || defined(FINALIZERS)
#define MARKED ended
#else
#define MARKED sweep
#endif

#ifdef CHUNKS
#define BROUGHT_NOTHING ((handed & ~marked) == 0 || (without(FLUSH_LIST) && !brought))
#else
#define BROUGHT_NOTHING ((handed & ~marked) == 0)
#endif

/* ---------------------------------------------------------------------------------------------------- collector: the sweep */

/* INV-SWEEP-1: what is reclaimed can't be reached. */
inline reclaim(dead)
{
  compute_reach();
  assert(((dead) & reach) == 0);
  reach = 0;
  h = 1;
  do
  :: h <= HANDLES ->
       if
       :: IN(dead, h) -> field[h] = 0; printf("C: reclaims o%d\n", h);
#ifdef BLOCKS
            line_of[h] = 0;
#endif
       :: else
       fi;
       h++
  :: else -> break
  od;
  h = 0;
#ifdef WORDS
  gi = 0;
  do :: gi < THREADS -> assert((handle_bits[gi] & (dead)) == 0); gi++ :: else -> break od;     /* INV-BORN-1: nor is it held */
  gi = 0;
  slots = slots & ~(dead);
  resting = dead;
#endif
#ifdef WEAK
  reclaim_weak(dead);
#endif
#ifdef COLLECT
  garbage = garbage & ~(dead);
#endif
}

#define DEAD(set) ((set) & ~(marked | born | retired))

#ifdef WORDS
/* One word. What is dead is retired; what the last sweep retired is free. INV-HANDLE-2: allocated is read before the others.
 * INV-HANDLE-4: slot, then retired; retired, then allocated, then available. */
inline sweep_handles()
{
#if WITHOUT == SWEEP_ALLOC_FIRST
  v = DEAD(ALL);
  atomic { was_retired = retired; v = v & allocated; d_step { reclaim(v) } };
#else
  v = allocated;
  atomic { was_retired = retired; v = DEAD(v); d_step { reclaim(v) } };
#endif
#if WITHOUT == QUARANTINE
  was_retired = v; v = 0;
#endif
#if WITHOUT == ANNOUNCE_LAST
  available = 1;
#endif
#if WITHOUT == UNRETIRE_FIRST
  atomic { allocated = allocated & ~was_retired; freeing = 1 };
  retired = v;
#else
  retired = v;
  atomic { allocated = allocated & ~was_retired; freeing = 1 };
#endif
  atomic { if :: was_retired != 0 && !without(ANNOUNCE_LAST) -> available = 1 :: else fi; freeing = 0; was_retired = 0; v = 0;
    assert((ALL & ~allocated) == 0 || available || handles_locked) }  /* INV-HANDLE-1: no free handle is forgotten */
}
#else
/* Handle by handle. */
inline sweep_one(q)
{
  if
#if defined(WEAK) && WITHOUT != GET_QUARANTINE
  :: IN(retired, q) -> retired = retired & ~SET(q); allocated = allocated & ~SET(q)
  :: DEAD(allocated & SET(q)) != 0 -> reclaim(SET(q)); retired = retired | SET(q)
#else
  :: DEAD(allocated & SET(q)) != 0 -> reclaim(SET(q)); allocated = allocated & ~SET(q)
#endif
  :: else
  fi;
  reduce_swept(SET(q))
}
inline sweep_handles()
{
  d_step { sweep_one(1) };
  d_step { sweep_one(2) };
#if HANDLES > 2
  d_step { sweep_one(3) };
#endif
}
#endif

#ifdef BLOCKS
/* By the collector. (A thread that sweeps for itself keeps the block if there is a hole in it: take_hole.) INV-HEAP-2: after all
 * handles have been swept. */
inline sweep_lines()
{
  atomic { sweep_next = 1; if :: without(LIST_ANEW) :: else -> partial = 0 fi };
  do
  :: atomic { sweep_next <= BLOCKS -> sweep_claim(v) };
     sweep_block(v, h);
     atomic {
       if
       :: v == 0
       :: v != 0 && h == LINES_OF(v) -> block_state[v] = FREE; line_free = line_free & ~h
       :: v != 0 && h != LINES_OF(v) && h != 0 -> block_state[v] = PARTIAL; partial = partial | (1 << v)
       :: v != 0 && h == 0 -> block_state[v] = USED
       fi;
       v = 0; h = 0 }
  :: atomic { sweep_next > BLOCKS -> sweep_next = 0; break }
  od
}
#endif

/* --------------------------------------------------------------------------------------------------- collector: the cycle */

/* INV-CLEAR-1: bits are cleared before SYNC is published; INV-IDLE-1: and after all have answered IDLE: every barrier is off,
 * every colour white. No lock is held. INV-BORN-1: no born bit outlives its cycle. */
inline clear_one(h)
{
  marked = marked & ~SET(h);
  if :: without(BORN_DROP) :: else -> born = born & ~SET(h) fi;
  handed = 0                                           /* left by threads that exited after the last flush */
}

proctype collector()
{
  byte h, t, v;
#ifdef WORDS
  byte was_retired;
#endif

start:
  /* ---- Start, handle by handle; SYNC ---- */
#if defined(STACKS) && WITHOUT != START_DONE
  atomic { NONE_DONE };
#endif
#if defined(WEAK) && WITHOUT != WORD_FROM_START
  atomic { word = MARKING };
#endif
#ifdef BLOCKS
  atomic { line_marked = 0; line_held = 0 };
#endif
#if WITHOUT == REQUEST_FIRST
  atomic { EACH_THREAD(early_look) };
#endif
#if WITHOUT != CLEAR_BEFORE_SYNC && WITHOUT != CLEAR_AFTER_IDLE
  atomic { clear_one(1);
  NEXT_STEP
    clear_one(2);
#if HANDLES > 2
  NEXT_STEP
    clear_one(3);
#endif
  NEXT_STEP
#else
  atomic {
#endif
#if WITHOUT == SYNC_HANDSHAKE
    publish(ROOTS) };
#else
    publish(SYNC);
#ifdef COLLECT
    if :: ticket == 1 -> ticket = 2 :: else fi
#endif
  };
#if WITHOUT == CLEAR_BEFORE_SYNC
  atomic { clear_one(1); clear_one(2) };
#endif

  /* ---- ROOTS. INV-BARRIER-6: every barrier is on before the first root scan ---- */
  AWAIT_THEN(publish(ROOTS));
#endif

  /* ---- MARK ---- */
  AWAIT_THEN(phase = MARK);
#if WITHOUT == WORD_FROM_START
  atomic { word = MARKING };
#endif
#if defined(FINALIZERS) && WITHOUT != FINAL_ROOT
  atomic { mark_set(queue) };
#endif
  atomic { take_handed(); if :: without(GLOBAL_SCAN) :: else -> mark_set(SET(field[0])) fi };        /* INV-ROOTS-2 */
marking:
  do
  :: atomic { grey != 0 -> trace_one() }
#ifdef WATERMARK
  :: scan_frozen()
#endif
#if defined(STACKS)
  :: freeze_suspended()
#endif
#ifdef ASSIST
  :: atomic { (handed & ~marked) != 0 -> take_handed() }
  :: atomic { !answered && grey == 0 && QUIET -> news = 0; publish(MARK) };
     AWAIT_THEN(answered = 1; if :: without(ASSIST_COUNT) -> news = 0 :: else fi)
  :: atomic { answered && grey == 0 && QUIET -> answered = 0; if :: news :: else -> goto sweep fi }
#else
  /* INV-FLUSH-2: a flush starts with nothing grey and nothing frozen. */
  :: atomic { (grey == 0 || without(FLUSH_AFTER_TRACE)) && (!ANY_FROZEN && ALL_DONE || without(FLUSH_AFTER_FRAMES)) ->
#ifdef CHUNKS
       brought = 0;
#endif
       if :: without(FLUSH) -> goto sweep :: else fi;
#ifdef WEAK
       gets = 0;
#endif
       publish(MARK) };
     /* INV-FLUSH-1: marking ends after a round in which nobody marks anything: no handle came that was still unmarked. */
     AWAIT_THEN(if :: BROUGHT_NOTHING && grey == 0 && !ANY_FROZEN -> goto MARKED :: else -> take_handed() fi);
#if WITHOUT == FLUSH_AGAIN
     do :: atomic { grey != 0 -> trace_one() } :: atomic { grey == 0 -> goto sweep } od
#endif
#endif
  od;

#if defined(WEAK) || defined(FINALIZERS)
ended:
#endif
#ifdef WEAK
#if WITHOUT == COUNT_FIRST
  atomic { gets = 0 };
#endif
  decide();
#if WITHOUT != OPEN_BEFORE_SWEEP && WITHOUT != WEAK_THEN_FINAL
  clear_cells();
#endif
#endif
#ifdef FINALIZERS
  revive();
#endif
#if WITHOUT == WEAK_THEN_FINAL
  clear_cells();
#endif

sweep:
  /* ---- sweep ---- */
#if WITHOUT == SWEEP_BEFORE_IDLE
  atomic { publish(IDLE) };
#endif
#if WITHOUT == HANDLES_THEN_LINES
  sweep_lines();
#endif
  sweep_handles();
#if defined(BLOCKS) && WITHOUT != HANDLES_THEN_LINES
  sweep_lines();
#endif

  /* ---- IDLE. INV-IDLE-2: published when the sweep has ended ---- */
#if WITHOUT != SWEEP_BEFORE_IDLE
  atomic { publish(IDLE) };
#endif
#if WITHOUT == CLEAR_AFTER_IDLE
  atomic { clear_one(1); clear_one(2) };
#endif
  /* INV-IDLE-1: all answer before the next Start. */
#if WITHOUT != IDLE_ANSWERS
  AWAIT_THEN(skip);
#endif
#ifdef COLLECT
  atomic { if :: ticket == 2 -> ticket = 0 :: else fi };
#endif
  goto start
}

inline start_thread(t)
{
#ifdef STACKS
  on[t] = t; stack_state[t] = ACTIVE;
#endif
#ifdef SPAWN
  live[t] = (t == 0); mode[t] = (t == 0 -> IN_NATIVE : MANAGED);
#endif
#ifdef POLL
  limit[t] = 1;
#endif
  run thread(t)
}

init
{
  atomic {
    start_thread(0);
#if THREADS > 1
    start_thread(1);
#endif
    run collector()
  }
}
