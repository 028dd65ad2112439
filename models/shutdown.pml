/* Shutdown, and threads that come, come back and go meanwhile: a model of its own.
 *
 * The life lock excludes init, shutdown and fork from each other, and from threads that come and go. A thread that comes back from
 * native mode takes no lock: this is the path that must be short. The generation counts the lives of the runtime; it is odd while
 * one is up. A thread belongs to the one that it attached to.
 *
 *     shutdown, with the life lock                                 a thread that comes back
 *     wait until no cycle runs; a thread in managed code: the end  another generation than its own: the end
 *     let no other begin, wait again, stop the collector           NATIVE -> MANAGED by compare-and-swap; while it is CLAIMED
 *     NATIVE -> CLAIMED, every thread, for good; MANAGED: the end  look at the generation again
 *     raise the generation, take everything down                   and also when the swap has succeeded
 *
 * "The end" is one clear line and the end of the process. Records stay mapped, and the next life has the same ones: hence the
 * last look, for a thread that slept through shutdown and init, and swaps the mode of a record that has another owner by now.
 *
 * INV-THREAD-5, INV-SHUTDOWN-1 and INV-SHUTDOWN-2 are asserted: nobody is in managed code, comes or goes, nor does the collector run, when things are not there; who
 * is in managed mode has it to himself; who waits for the life lock to go is not told that it is in managed code. Spin reports
 * deadlocks: a thread may stay in native code for ever, and shutdown still comes to its end. */

#define NOTHING       0
#define SHUT_OUT    210          /* shutdown looks for threads in managed mode, and does not claim the others */
#define STOP_FIRST  211          /* ... claims them before the collector has stopped */
#define JOIN        212          /* ... does not wait for the collector */
#define AWAIT_LOOK  213          /* ... looks for threads in managed mode once, and then waits for the cycle */
#define CLOSE       214          /* ... lets a cycle begin after it has waited */
#define WAIT_LOOK   215          /* who comes back does not look at the generation while it is claimed */
#define RETURN_LATE 216          /* ... nor when its swap has succeeded */
#define ENTER_LATE  217          /* ... nor does who goes native, and comes back for a request */
#define ATTACH_LIFE 218          /* who attaches does not take the life lock */
#define ATTACH_LOOK 219          /* ... does not look whether the runtime is up, when it has it */
#define EXIT_LIFE   220          /* who goes does not take the life lock */
#define EXIT_NATIVE 221          /* ... waits for it in managed mode */
#ifndef WITHOUT
#define WITHOUT NOTHING
#endif
#define without(step) (WITHOUT == step)

#ifndef THREADS
#define THREADS 1                /* at most 2. In the second life, who brings it up has a record, too */
#endif
#ifndef LIVES
#define LIVES   2
#endif
#define RECORDS (THREADS + 1)
#define MAIN    THREADS          /* who brings up and shuts down, as a thread */

#define MANAGED 0
#define NATIVE  1
#define CLAIMED 2

bit  ended;                      /* somebody has said the line */
bit  life;                       /* the lock */
byte generation = 1;
bit  there = 1;                  /* tables and heap */
bit  stopping, running, alive = 1; /* the collector: none shall begin; a cycle runs; it has not stopped */

bit  live[RECORDS];              /* changes under the registry lock, which is one step here */
byte mode[RECORDS];
bit  pending[RECORDS];           /* a request that is not answered */
byte mine[THREADS + 1];          /* the generation that a thread has attached to; 0: none. Its own knowledge, as are: */
byte record[THREADS + 1];
bit  native[THREADS + 1];
bit  goes[RECORDS];              /* ghost: its owner waits for the life lock, to go */

#define UP            (generation & 1)
#define REGISTERED(t) (mine[t] == generation)
#define MODE          mode[record[me]]
#define THE_END(text) printf(text); ended = 1; false

inline lock()   { atomic { !life -> life = 1 } }
inline unlock() { life = 0 }
inline touch()  { assert(there) }
inline work()   { assert(there && REGISTERED(me) && MODE == MANAGED) }

/* --------------------------------------------------------------------------------------------------------------- a thread */

/* From native to managed mode; it stays native if this is not its life any more. */
inline take_back()
{
  do
  :: atomic { MODE == NATIVE -> MODE = MANAGED; native[me] = 0; printf("T%d: is managed\n", me) };
     if
     :: atomic { REGISTERED(me) || without(RETURN_LATE) -> break }
     :: atomic { !REGISTERED(me) && !without(RETURN_LATE) -> MODE = NATIVE; native[me] = 1; break }
     fi
  :: atomic { MODE != NATIVE && !REGISTERED(me) && !without(WAIT_LOOK) -> break }
  od
}

/* A request may have come before the store: whoever wins the mode answers it. */
inline go_native()
{
  do
  :: atomic { assert(MODE == MANAGED); MODE = NATIVE };
     if :: !pending[record[me]] -> break :: pending[record[me]] fi;
     if :: atomic { MODE == NATIVE -> MODE = MANAGED } :: MODE != NATIVE -> break fi;
     if
     :: atomic { REGISTERED(me) || without(ENTER_LATE) -> work(); pending[record[me]] = 0 }
     :: atomic { !REGISTERED(me) && !without(ENTER_LATE) -> MODE = NATIVE; break }
     fi
  od;
  native[me] = 1
}

inline attach(r)
{
  atomic { touch();
    record[me] = r;
    live[record[me]] = 1; MODE = MANAGED; pending[record[me]] = 0 };
  atomic { touch(); mine[me] = generation; printf("T%d: attaches\n", me) }
}

/* Unregister, and the exit of a thread that is registered, in either mode. */
inline detach()
{
  if
  :: !REGISTERED(me)                                   /* what it had is gone */
  :: atomic { REGISTERED(me) -> printf("T%d: goes\n", me) };
     if :: !native[me] && !without(EXIT_NATIVE) -> go_native() :: else fi;
     goes[record[me]] = 1;
     if :: !without(EXIT_LIFE) -> lock() :: else fi;
     if
     :: REGISTERED(me) ->
          if :: native[me] -> take_back() :: else fi;
          if
          :: !native[me] -> work();                    /* its buffer and its blocks go to whom they belong */
               atomic { work(); live[record[me]] = 0; pending[record[me]] = 0; goes[record[me]] = 0 }
          :: else
          fi
     :: else
     fi;
     if :: !without(EXIT_LIFE) -> unlock() :: else fi
  fi;
  atomic { mine[me] = 0; native[me] = 0; record[me] = 0 }
}

proctype thread(byte me)
{
  {
    do
    :: atomic { mine[me] == 0 -> skip };
       if
       :: if :: !without(ATTACH_LIFE) -> lock() :: else fi;
          if
          :: UP || without(ATTACH_LOOK) -> attach((!live[0] -> 0 : (!live[1] -> 1 : RECORDS - 1)))
          :: atomic { !UP && !without(ATTACH_LOOK) -> THE_END("T: attaches to nothing. The end\n") }
          fi;
          if :: !without(ATTACH_LIFE) -> unlock() :: else fi
       :: break
       fi
    :: atomic { mine[me] != 0 && !native[me] -> skip };
       if
       :: work()                                       /* managed code: fast paths look at nothing */
       :: atomic { pending[record[me]] -> work(); pending[record[me]] = 0 }
       :: go_native()
       :: detach()
       :: skip; lock(); unlock()                       /* it forks, or cancels a spawn */
       fi
    :: atomic { mine[me] != 0 && native[me] -> skip };
       if
       :: if :: REGISTERED(me) -> take_back() :: !REGISTERED(me) fi;
          if :: atomic { native[me] -> THE_END("T: was shut down. The end\n") } :: else fi
       :: detach()
       :: break                                        /* it never comes back */
       fi
    od
  } unless { ended }
}

/* ------------------------------------------------------------------------------------------------------------ the collector */

inline ask(r) { if :: live[r] -> pending[r] = 1 :: else fi }

/* One handshake stands for a cycle. Anybody may have asked for it. */
proctype collector()
{
  byte r;
  {
    do
    :: atomic { stopping -> alive = 0; break }
    :: atomic { !stopping -> running = 1; touch(); ask(0); ask(1);
#if RECORDS == 3
         ask(2);
#endif
         printf("C: asks\n") };
       do
       :: atomic { r < RECORDS && !pending[r] -> r++ }
       :: atomic { r < RECORDS && pending[r] && mode[r] == NATIVE -> mode[r] = CLAIMED; printf("C: claims %d\n", r) };
          atomic { touch(); pending[r] = 0 };
          mode[r] = NATIVE
       :: atomic { r == RECORDS -> r = 0; running = 0; break }
       od
    od
  } unless { ended }
}

/* ------------------------------------------------------------------------------------------------------------- init, shutdown */

#define IN_MANAGED(r) (live[r] && mode[r] == MANAGED)
#if RECORDS == 2
#define ANY_MANAGED   (IN_MANAGED(0) || IN_MANAGED(1))
#define ANY_GOES      (IN_MANAGED(0) && goes[0] || IN_MANAGED(1) && goes[1])
#else
#define ANY_MANAGED   (IN_MANAGED(0) || IN_MANAGED(1) || IN_MANAGED(2))
#define ANY_GOES      (IN_MANAGED(0) && goes[0] || IN_MANAGED(1) && goes[1] || IN_MANAGED(2) && goes[2])
#endif

inline refuse() { atomic { ANY_MANAGED -> assert(!ANY_GOES); THE_END("S: a thread is in managed code. The end\n") } }
inline await()
{
#if WITHOUT == AWAIT_LOOK
  if :: refuse() :: !ANY_MANAGED fi;
  !running
#else
  if :: refuse() :: !running fi
#endif
}
inline claim()
{
  do
  :: atomic { r < RECORDS && live[r] && mode[r] == NATIVE ->
       if :: !without(SHUT_OUT) -> mode[r] = CLAIMED; printf("S: claims %d\n", r) :: else fi; r++ }
  :: atomic { r < RECORDS && live[r] && mode[r] == MANAGED -> THE_END("S: a thread is in managed code. The end\n") }
  :: atomic { r < RECORDS && !live[r] -> r++ }
  :: atomic { r == RECORDS -> r = 0; break }
  od
}
inline close() { stopping = 1 }
inline join()  { if :: without(JOIN) :: !alive fi }

inline shut_down()
{
  lock();
  if :: REGISTERED(me) -> go_native() :: else fi;
#if WITHOUT == STOP_FIRST
  await(); claim(); close(); await(); join();
#elif WITHOUT == CLOSE
  await(); await(); close(); join(); claim();
#else
  await(); close(); await(); join(); claim();
#endif
  atomic { generation++; printf("S: shuts down\n") };
  atomic { there = 0; printf("S: takes down\n") };
  atomic { mine[me] = 0; native[me] = 0; unlock() }
}

active proctype main()
{
  byte me = MAIN, r;
  {
    atomic { run collector(); run thread(0);
#if THREADS == 2
      run thread(1)
#endif
    };
    shut_down();
#if LIVES == 2
    lock();
    atomic { alive = 1; stopping = 0; there = 1;
      do :: r < RECORDS -> live[r] = 0; mode[r] = MANAGED; pending[r] = 0; goes[r] = 0; r++ :: else -> r = 0; break od };
    atomic { generation++; printf("S: brings up\n"); run collector() };
    attach(0);
    unlock();
    go_native();
    take_back();
    work();
    shut_down()
#endif
  } unless { ended }
}
