/* gc_threads=0: the threads do the collector's work: a model of its own.
 *
 * Whoever steps takes the collector's role by try-lock, and has it until its time is over, the cycle ends, or the answer of another
 * thread is missing. Where the cycle is (`stage`, what is grey, what was asked) belongs to the role, not to a thread: the next one goes
 * on there. In a step, a thread in managed mode answers its own requests between two slices; `collect` steps in native mode, where
 * the slices answer for it, whoever runs them, until a cycle that began after its call has ended.
 *
 * The protocol of the cycle is that of cycle.pml, which has it in finer steps; here an operation of a thread is one step. Objects have
 * one field (FIELDS), that they are born with; there is a global root cell.
 *
 * Asserted: nothing is reclaimed that can be reached; one thread has the role; nothing is asked for before all have answered what was
 * asked before; a step that ends before its time does so for the answer of another thread. Spin reports deadlocks: each thread ends by a
 * collect, and no collect waits for ever. */

#define NOTHING         0
#define TRY_LOCK        290      /* a step goes on though another thread has the role */
#define OWN_ANSWER      291      /* who steps does not answer its own requests */
#define COLLECT_NATIVE  292      /* collect steps in managed mode, and answers nothing */
#define ONE_CYCLE       293      /* a request that comes while a cycle runs begins it anew */
#define ASKED_STAYS     294      /* who takes the role asks again */
#define GREY_STAYS      295      /* who takes the role begins with nothing grey */
#ifndef WITHOUT
#define WITHOUT NOTHING
#endif
#define without(step) (WITHOUT == step)

#define ALL        6
#define SET(h)     ((1 << (h)) & ALL)
#define IN(set, h) (((set) >> (h)) & 1)

#define IDLE    0
#define SYNC    1
#define ROOTS   2
#define MARK    3

byte field[3];                   /* field[0]: the global root cell */
byte allocated, marked, born;    /* sets of handles */
byte frame[2], buffer[2];
bit  pending[2], barrier[2], black[2], native[2];
byte phase, handed;

bit  role;                       /* the lock; and what is under it: */
byte stage, grey;
bit  asked;                      /* the stage has asked, and waits for the answers */
bit  wanted, running;
byte waits[2];                   /* in collect, for a cycle to begin (1), to end (2) */

byte have;                       /* ghost: threads that have the role */
byte reach;                      /* ghost, zero between steps */

/* The protocol can't tell these states apart. */
inline reduce()
{
  handed = handed & ~marked; born = born & ~marked;
  buffer[0] = buffer[0] & ~(marked | handed); buffer[1] = buffer[1] & ~(marked | handed)
}

inline answer(t)
{
  if
  :: phase == SYNC  -> barrier[t] = 1
  :: phase == ROOTS -> black[t] = 1; handed = handed | buffer[t] | frame[t]; buffer[t] = 0
  :: phase == MARK  -> handed = handed | buffer[t]; buffer[t] = 0
  :: phase == IDLE  -> barrier[t] = 0; black[t] = 0; buffer[t] = 0
  fi;
  pending[t] = 0; reduce(); printf("T%d answers for T%d, phase %d\n", me, t, phase)
}

/* ------------------------------------------------------------------------------------------------------------------ slices */

inline mark(set) { assert(((set) & ~allocated) == 0); grey = grey | ((set) & ~marked); marked = marked | (set); reduce() }

inline reclaim(x)
{
  if
  :: IN(allocated & ~(marked | born), x) ->
       reach = SET(field[0]) | frame[0] | frame[1];
       if :: IN(reach, 1) -> reach = reach | SET(field[1]) :: else fi;
       if :: IN(reach, 2) -> reach = reach | SET(field[2]) :: else fi;
       assert(!IN(reach, x)); reach = 0;
       allocated = allocated & ~SET(x); field[x] = 0; printf("T%d: reclaims o%d\n", me, x)
  :: else
  fi
}

#define HANDSHAKE (stage == 1 || stage == 2 || stage == 4 || stage == 7)
#define PHASE     (stage == 1 -> SYNC : (stage == 2 -> ROOTS : (stage == 4 -> MARK : IDLE)))
#define LATE(t)   (pending[t] && !native[t])

/* Of threads in native mode, also oneself. A claim is one step here: cycle.pml has it in several. */
inline answer_for(t) { if :: pending[t] && native[t] -> answer(t) :: else fi }

inline all_answered()
{
  asked = 0;
  if
  :: stage == 2 -> phase = MARK; v = SET(field[0]); mark(v); v = 0; stage = 3
  :: stage == 4 -> stage = ((handed & ~marked) != 0 -> 3 : 5)
  :: stage == 7 -> running = 0; stage = 0; marked = 0; born = 0;
       if :: waits[0] == 2 -> waits[0] = 0 :: else fi;
       if :: waits[1] == 2 -> waits[1] = 0 :: else fi;
       printf("T%d: the cycle ends\n", me)
  :: stage == 1 -> stage = 2
  fi
}

/* Each slice is one step, but those that begin a handshake or sweep: others come in between. */
inline slice()
{
  if
  :: atomic { stage == 0 -> marked = 0; born = 0; handed = 0; grey = 0; stage = 1 }
  :: atomic { HANDSHAKE && !asked -> assert(!pending[0] && !pending[1]);
       phase = PHASE; asked = 1; pending[0] = 1; pending[1] = 1; printf("T%d: asks, phase %d\n", me, phase) }
  :: atomic { HANDSHAKE && asked -> answer_for(0); answer_for(1) };
     atomic { if :: !pending[0] && !pending[1] -> all_answered() :: else fi }
  :: atomic { stage == 3 && handed != 0 -> v = handed; handed = 0; mark(v); v = 0 }
  :: atomic { stage == 3 && handed == 0 && grey != 0 ->
       v = (grey & 2 -> 1 : 2); grey = grey & ~SET(v); v = SET(field[v]); mark(v); v = 0 }
  :: atomic { stage == 3 && handed == 0 && grey == 0 -> stage = 4 }
  :: atomic { stage == 5 -> reclaim(1); stage = 6 }
  :: atomic { stage == 6 -> reclaim(2); stage = 7 }
  fi
}

#define CAN_BEGIN (wanted && (!running || without(ONE_CYCLE)))

/* By try-lock. */
inline take_role()
{
  role = 1; have++; assert(have == 1);
  if
  :: CAN_BEGIN -> wanted = 0; running = 1; stage = 0; asked = 0;
       if :: waits[0] == 1 -> waits[0] = 2 :: else fi;
       if :: waits[1] == 1 -> waits[1] = 2 :: else fi;
       printf("T%d: begins a cycle\n", me)
  :: else
  fi;
  if :: without(ASKED_STAYS) -> asked = 0 :: else fi;
  if :: without(GREY_STAYS) -> grey = 0 :: else fi
}
inline give_role() { role = 0; have-- }

#define FREE     (!role || without(TRY_LOCK))
#define OWN      (pending[me] && !waits[me] && !native[me] && !without(OWN_ANSWER))
#define WAITING  (HANDSHAKE && asked && (LATE(0) || LATE(1)) && !OWN)
/* A step would get somewhere. (One that would not takes the role, looks, and gives it back.) */
#define WORTH    (FREE && (CAN_BEGIN || running && !WAITING))

/* With the role. */
inline step()
{
  do
  :: atomic { OWN -> answer(me) }
  :: !OWN && running && !WAITING -> slice()
  :: atomic { running && WAITING -> assert(waits[me] || LATE(1 - me)); give_role(); break }
  :: atomic { !running -> give_role(); break }
  :: atomic { running -> give_role(); break }          /* its time is over */
  od
}

/* --------------------------------------------------------------------------------------------------------------- a thread */

inline shade(h) { buffer[me] = buffer[me] | (SET(h) & ~marked) }

inline store_global(h)
{
  if
  :: barrier[me] ->
       if :: !IN(born, field[0]) -> shade(field[0]) :: else fi;
       if :: phase == SYNC || phase == ROOTS -> shade(h) :: else fi
  :: else
  fi;
  field[0] = h; reduce()
}
inline make(f)
{
  v = (IN(allocated, 1) -> 2 : 1); allocated = allocated | SET(v); field[v] = f;
  if :: black[me] -> born = born | SET(v) :: else fi;
  frame[me] = frame[me] | SET(v); v = 0
}

proctype thread(byte me)
{
  byte v;
  do
  :: atomic { allocated != ALL -> make(0) }
#ifdef FIELDS
  :: atomic { allocated != ALL && frame[me] != 0 -> make((frame[me] & 2 -> 1 : 2)) }
  :: atomic { IN(frame[me], 1) && field[1] != 0 -> frame[me] = frame[me] | SET(field[1]) }
  :: atomic { IN(frame[me], 2) && field[2] != 0 -> frame[me] = frame[me] | SET(field[2]) }
#endif
  :: atomic { field[0] != 0 -> frame[me] = frame[me] | SET(field[0]) }
  :: atomic { IN(frame[me], 1) -> store_global(1) }
  :: atomic { IN(frame[me], 2) -> store_global(2) }
  :: atomic { field[0] != 0 -> store_global(0) }
  :: atomic { IN(frame[me], 1) -> frame[me] = frame[me] & ~SET(1) }
  :: atomic { IN(frame[me], 2) -> frame[me] = frame[me] & ~SET(2) }
  :: atomic { pending[me] -> answer(me) }
  :: atomic { !running && !wanted -> wanted = 1 }      /* async */
  :: atomic { WORTH -> take_role() }; step()
  :: break
  od;
  /* collect */
  atomic { wanted = 1; waits[me] = 1; native[me] = !without(COLLECT_NATIVE); printf("T%d: collects\n", me) };
  do
  :: atomic { waits[me] != 0 && WORTH -> take_role() }; step()
  :: atomic { waits[me] == 0 -> break }
  od
  /* and stays native */
}

init { atomic { run thread(0); run thread(1) } }
