/* fork, at any moment of a cycle: a model of its own.
 *
 * The collector works in slices, and has the role while a cycle runs; between two slices everything is consistent. Thread 0 forks,
 * in managed or in native mode. Prepare asks for the role (`fork_wanted`: the collector gives it away between two slices, so that
 * fork waits neither for an answer nor for the cycle), and then takes every other lock. The parent gives all of them back. The child
 * has thread 0 and nobody else, and makes the state that is between two cycles:
 *
 *     phase IDLE, the cycle begins anew, what was grey or in buffers is forgotten, no fork is wanted
 *     thread 0: nothing pending, barrier off, white, buffer empty; its frame, mode and handles stay
 *     the others: their records are vacant, nothing is pending there; the handles that they held are left to the sweep
 *     weak cells that were not looked at yet are still known
 *     the locks are free
 *
 * Marks and born bits stay: Start clears them. Then somebody asks for a cycle, which has a collector of its own, and another thread
 * may attach to the vacant record.
 *
 * The protocol of the cycle is that of cycle.pml, which has it in finer steps; here an operation of a thread is one step unless it
 * has a lock. Objects have one field, that they are born with; there are a global root cell and a weak cell.
 *
 * Asserted, in the parent and in the child: no object is reclaimed that can be reached, or that the weak cell names; no handle has
 * two owners. Spin reports deadlocks: a thread may go native and never come back, and then the cycle must come to its end, so in the
 * child nobody waits for a lock or an answer of somebody who is not there. */

#define NOTHING           0
#define PREPARE_ROLE      260    /* the collector is not stopped between two slices */
#define PREPARE_REGISTRY  261    /* the registry lock is not taken */
#define PREPARE_HANDLES   262    /* the lock of the handles is not taken */
#define LET_THROUGH       263    /* the collector keeps the role until its cycle ends */
#define CHILD_PHASE       264    /* the child keeps the phase */
#define CHILD_CYCLE       265    /* ... goes on with the cycle */
#define CHILD_THREADS     266    /* ... keeps the other threads */
#define CHILD_HELD        267    /* ... gives the handles of the others back, and their records keep them, too */
#define CHILD_CELLS       268    /* ... forgets cells that were not looked at yet */
#define CHILD_WANTED      269    /* ... still wants a fork */
#define CHILD_LOCKS       270    /* ... does not release what prepare took */
#ifndef WITHOUT
#define WITHOUT NOTHING
#endif
#define without(step) (WITHOUT == step)

#ifndef HANDLES
#define HANDLES 2                /* at most 2 */
#endif
#define ALL        ((1 << (HANDLES + 1)) - 2)
#define SET(h)     ((1 << (h)) & ALL)
#define IN(set, h) (((set) >> (h)) & 1)

#define MANAGED 0
#define NATIVE  1
#define CLAIMED 2

#define IDLE    0
#define SYNC    1
#define ROOTS   2
#define MARK    3

byte field[HANDLES + 1];         /* field[0]: the global root cell */
byte allocated, marked, born;    /* sets of handles */
byte cell;                       /* the weak cell */
bit  listed = 1;                 /* the collector's list has it */
bit  looked;                     /* the list is being put in order, and has been up to the cell */

byte frame[2], held[2], buffer[2];
bit  live[2], pending[2], barrier[2], black[2];
byte mode[2];

byte phase, stage;
byte handed, grey;
bit  role, registry, handles;    /* locks */
bit  fork_wanted;
bit  child;                      /* this is the child */

byte reach;                      /* ghost, zero between steps */

inline lock(l)     { atomic { !l -> l = 1 } }

/* The protocol can't tell these states apart: what is marked or handed over is passed over in a buffer; after the sweep, marks decide
 * nothing. */
inline reduce()
{
  handed = handed & ~marked; born = born & ~marked;
  buffer[0] = buffer[0] & ~(marked | handed); buffer[1] = buffer[1] & ~(marked | handed)
}
inline reduce_swept() { if :: WITHOUT == NOTHING -> marked = 0 :: else fi }

/* Features
 *   RETURNS   threads come back from native mode             WORDS    threads hold handles before they make objects of them
 *   ATTACH    thread 1 attaches at some time, also in the parent      FIELDS   objects have a field   WEAK   threads fill the weak cell */

/* --------------------------------------------------------------------------------------------------------------- threads */

#define HAND_OVER(t) handed = handed | (buffer[t] & ~marked); buffer[t] = 0; reduce()

inline answer(t)
{
  if
  :: phase == SYNC -> barrier[t] = 1
  :: phase == ROOTS -> buffer[t] = buffer[t] | (frame[t] & ~marked); black[t] = 1; born = born | held[t]; HAND_OVER(t)
  :: phase == MARK -> HAND_OVER(t)
  :: phase == IDLE -> barrier[t] = 0; black[t] = 0; buffer[t] = 0
  fi;
  pending[t] = 0
}

inline shade(h) { buffer[me] = buffer[me] | (SET(h) & ~marked) }

inline store_global(h)
{
  if
  :: barrier[me] ->
       if :: !IN(born, field[0]) -> shade(field[0]) :: else fi;
       if :: phase == SYNC || phase == ROOTS -> shade(h) :: else fi
  :: else
  fi;
  field[0] = h
}

/* A thread takes a handle before it makes an object of it. */
#ifdef WORDS
inline take_handle()
{
  lock(handles);
  atomic {
    if
    :: !IN(allocated, 1) -> h = 1
    :: HANDLES == 2 && IN(allocated, 1) && !IN(allocated, 2) -> h = 2
    :: else -> h = 0
    fi;
    allocated = allocated | SET(h);
    if :: black[me] -> born = born | SET(h) :: else fi };
  atomic { assert(((held[0] | held[1]) & SET(h)) == 0); held[me] = held[me] | SET(h); h = 0; handles = 0 }
}
inline make_object(f)
{
  h = (held[me] & 2 -> 1 : 2); held[me] = held[me] & ~SET(h); field[h] = f;
  frame[me] = frame[me] | SET(h); h = 0
}
#define CAN_MAKE (held[me] != 0)
#else
inline make_object(f)
{
  h = (!IN(allocated, 1) -> 1 : 2); allocated = allocated | SET(h); field[h] = f;
  if :: black[me] -> born = born | SET(h) :: else fi;
  frame[me] = frame[me] | SET(h); h = 0
}
#define CAN_MAKE (allocated != ALL && !handles)
#endif

inline operation()
{
  if
#ifdef WORDS
  :: held[me] == 0 -> take_handle()
#endif
  :: atomic { CAN_MAKE -> make_object(0) }
#ifdef FIELDS
  :: atomic { CAN_MAKE && frame[me] != 0 -> make_object((frame[me] & 2 -> 1 : 2)) }
  :: atomic { IN(frame[me], 1) && field[1] != 0 -> frame[me] = frame[me] | SET(field[1]) }
  :: atomic { IN(frame[me], 2) && field[2] != 0 -> frame[me] = frame[me] | SET(field[2]) }
#endif
  :: atomic { frame[me] = frame[me] | SET(field[0]) }
  :: atomic { IN(frame[me], 1) -> store_global(1) }
#if HANDLES == 2
  :: atomic { IN(frame[me], 2) -> store_global(2) }
#endif
  :: atomic { field[0] != 0 -> store_global(0) }
  :: atomic { IN(frame[me], 1) -> frame[me] = frame[me] & ~SET(1) }
#if HANDLES == 2
  :: atomic { IN(frame[me], 2) -> frame[me] = frame[me] & ~SET(2) }
#endif
#ifdef WEAK
  :: atomic { cell == 0 && frame[me] != 0 -> cell = (frame[me] & 2 -> 1 : 2) }
#endif
  :: atomic { pending[me] -> answer(me) }
  :: atomic { !pending[me] -> mode[me] = NATIVE; printf("T%d: goes native\n", me) }
  fi
}
inline native()
{
  if
#ifdef RETURNS
  :: atomic { mode[me] == NATIVE -> mode[me] = MANAGED }
#endif
  :: break                                             /* it stays there for ever */
  fi
}

/* INV-THREAD-2: the phase is read under the registry lock. */
inline attach()
{
  lock(registry);
  atomic { live[me] = 1; black[me] = (phase >= ROOTS); barrier[me] = (phase != IDLE); pending[me] = 0; mode[me] = MANAGED;
    printf("T%d: attaches\n", me) };
  registry = 0
}

/* Thread 1: the one that vanishes, and another one that the child starts. */
proctype other(bit side)
{
  byte me = 1, h;
  {
#ifndef ATTACH
    if :: side == 1 -> attach() :: else fi;
#else
    attach();
#endif
    do :: mode[me] == MANAGED -> operation() :: mode[me] != MANAGED -> native() od
  } unless { child != side }
}

/* --------------------------------------------------------------------------------------------------------------- the collector */

inline compute_reach()
{
  reach = SET(field[0]) | frame[0] | frame[1];
  if :: IN(reach, 1) -> reach = reach | SET(field[1]) :: else fi;
#if HANDLES == 2
  if :: IN(reach, 2) -> reach = reach | SET(field[2]) :: else fi;
  if :: IN(reach, 1) -> reach = reach | SET(field[1]) :: else fi
#endif
}
inline reclaim(x)
{
  atomic {
    if
    :: IN(allocated & ~(marked | born), x) ->
         compute_reach(); assert(!IN(reach, x)); reach = 0;
         assert(cell != x); assert(!IN(held[0] | held[1], x));
         allocated = allocated & ~SET(x); field[x] = 0; printf("C: reclaims o%d\n", x)
    :: else
    fi }
}
inline ask(p)
{
  lock(registry);
  atomic { phase = p; pending[0] = live[0]; pending[1] = live[1]; printf("C: asks, phase %d\n", p);
    if :: p == ROOTS && !live[1] -> held[1] = 0 :: else fi };         /* INV-THREAD-4 */
  atomic { registry = 0; stage++ }
}
inline claim(t) { atomic { pending[t] && mode[t] == NATIVE -> mode[t] = CLAIMED }; atomic { answer(t) }; mode[t] = NATIVE }
inline mark(set) { grey = grey | ((set) & ~marked); assert(((set) & ~allocated) == 0); marked = marked | (set); reduce() }

#if HANDLES == 2
#define RECLAIM_2 reclaim(2);
#else
#define RECLAIM_2
#endif
#define WAITS (stage == 2 || stage == 4 || stage == 8 || stage == 14)

inline slice()
{
  if
  :: stage == 0 -> marked = 0; atomic { born = 0; stage++ }
  :: stage == 1 -> ask(SYNC)
  :: stage == 3 -> ask(ROOTS)
  :: atomic { stage == 5 -> phase = MARK; mark(SET(field[0])); stage++ }
  :: atomic { stage == 6 && handed != 0 -> mark(handed); handed = 0 }
  :: atomic { stage == 6 && handed == 0 && grey != 0 -> v = (grey & 2 -> 1 : 2); grey = grey & ~SET(v); mark(SET(field[v])); v = 0 }
  :: atomic { stage == 6 && handed == 0 && grey == 0 -> stage++ }
  :: stage == 7 -> ask(MARK)
  :: atomic { stage == 9 -> stage = (handed & ~marked -> 6 : 10) }
  :: atomic { stage == 10 -> if :: listed && !IN(marked | born, cell) -> cell = 0 :: else fi; stage++ }
  :: atomic { stage == 11 && !looked -> looked = 1 }
  :: atomic { stage == 11 && looked -> looked = 0; stage++ }
  :: stage == 12 -> reclaim(1); RECLAIM_2 atomic { reduce_swept(); stage++ }
  :: stage == 13 -> ask(IDLE)
  :: atomic { WAITS && !pending[0] && !pending[1] -> stage++ }
  :: WAITS && pending[0] && mode[0] == NATIVE -> if :: claim(0) :: else fi
  :: WAITS && pending[1] && mode[1] == NATIVE -> if :: claim(1) :: else fi
  :: WAITS && fork_wanted && !without(LET_THROUGH)
  fi
}

inline let_fork_through()
{
  if
  :: fork_wanted && !without(LET_THROUGH) -> role = 0; !fork_wanted; lock(role)
  :: !fork_wanted || without(LET_THROUGH)
  fi
}

proctype collector(bit side)
{
  byte v;
  {
    do
    :: lock(role);
       do
       :: stage < 15 -> slice(); let_fork_through()
       :: atomic { stage == 15 -> stage = 0; role = 0; break }
       od
    od
  } unless { child != side }
}

/* --------------------------------------------------------------------------------------------------------------- fork */

inline in_child()
{
  child = 1; printf("the child\n");
  if :: !without(CHILD_PHASE) -> phase = IDLE :: else fi;
  if :: !without(CHILD_CYCLE) -> stage = 0 :: else fi;
  handed = 0; grey = 0;
  pending[0] = 0; black[0] = 0; barrier[0] = 0; buffer[0] = 0;
  if :: without(CHILD_HELD) -> allocated = allocated & ~held[1] :: else -> held[1] = 0 fi;
  if :: !without(CHILD_THREADS) -> live[1] = 0; pending[1] = 0 :: else fi;
  if :: !without(CHILD_THREADS) -> mode[1] = MANAGED :: else fi;
  black[1] = 0; barrier[1] = 0;
  frame[1] = 0; buffer[1] = 0;
  if :: without(CHILD_CELLS) && !looked -> listed = 0 :: else fi;
  looked = 0;
  if :: !without(CHILD_WANTED) -> fork_wanted = 0 :: else fi;
  if :: !without(CHILD_LOCKS) -> release() :: else fi
}

inline release() { if :: !without(PREPARE_ROLE) -> role = 0 :: else fi }

/* Of the locks that come after the role one waits for all at once: who has one does not wait for another. Nobody sees them taken. */
#define FREE(l, step) (!l || without(step))

inline do_fork()
{
  fork_wanted = 1;
  if :: !without(PREPARE_ROLE) -> lock(role) :: else fi;
  if
  :: atomic { FREE(registry, PREPARE_REGISTRY) && FREE(handles, PREPARE_HANDLES) -> in_child() };
     (_nr_pr == 1);                                    /* they are gone */
     atomic { run collector(1); if :: run other(1) :: skip fi }
  :: atomic { FREE(registry, PREPARE_REGISTRY) && FREE(handles, PREPARE_HANDLES) ->
       printf("the parent\n"); release(); fork_wanted = 0 }
  fi
}

active proctype forker()
{
  byte me, h;
  atomic {
    live[0] = 1;
#ifndef ATTACH
    live[1] = 1;
#endif
    run collector(0); run other(0) };
  do
  :: mode[me] == MANAGED -> operation()
  :: mode[me] != MANAGED -> native()
  :: !child -> do_fork()
  od
}
