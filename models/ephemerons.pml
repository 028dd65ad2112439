/* Ephemerons that wait for their keys, and markers that mark them meanwhile: a model of its own, for INV-WEAK-4.
 *
 * Ephemeron i has key i and value i + 1, so that each value is the next one's key: a chain. All ephemerons are reachable; object
 * 1 is reached at some time. Two markers take work from one list: an ephemeron to trace, or an object to mark. Who traces an
 * ephemeron whose key is not marked makes it wait in a table, sets the key's bit in `watched`, and looks at the mark again; who
 * marks an object looks at its bit afterwards, and if it is set takes what waits for it out of the table, under a lock, and
 * lists the values. When the list is empty and both are idle, every value in the chain must be marked. */

#define SET(i) (1 << (i))
#define IN(set, i) (((set) >> (i)) & 1)

#define NOTHING     0
#define WATCH_LOOK  200          /* who begins to wait does not look at the mark again */
#define WATCH_FIRST 201          /* ... looks before it sets the bit */
#define MARK_FIRST  202          /* who marks looks at the bit first */
#define WAIT_FIRST  203          /* the bit is set before the table has it */
#ifndef WITHOUT
#define WITHOUT NOTHING
#endif

byte marked, watched, waiting;   /* sets; ephemerons wait by the number of their key */
byte to_mark = SET(1);           /* the list: objects */
byte to_trace = SET(1) | SET(2); /* and ephemerons */
byte busy;                       /* markers that have taken something */

/* Under the lock: nobody sees the table in between. */
inline key_marked(k)
{
  atomic {
    if
    :: IN(waiting, k) -> waiting = waiting & ~SET(k); to_mark = to_mark | (SET(k + 1) & ~marked);
         printf("M%d: what waits for o%d is listed\n", _pid, k)
    :: else -> printf("M%d: nothing waits for o%d\n", _pid, k)
    fi }
}

proctype marker()
{
  byte i, seen;
  do
  :: atomic { to_mark != 0 -> busy++;
       if :: IN(to_mark, 1) -> i = 1 :: IN(to_mark, 2) -> i = 2 :: IN(to_mark, 3) -> i = 3 fi;
       to_mark = to_mark & ~SET(i); printf("M%d: marks o%d\n", _pid, i) };
#if WITHOUT == MARK_FIRST
     seen = IN(watched, i);
     marked = marked | SET(i);
#else
     marked = marked | SET(i);
     seen = IN(watched, i);
#endif
     if :: seen -> key_marked(i) :: else fi;
     atomic { i = 0; seen = 0; busy-- }
  :: atomic { to_trace != 0 -> busy++;
       if :: IN(to_trace, 1) -> i = 1 :: IN(to_trace, 2) -> i = 2 fi;
       to_trace = to_trace & ~SET(i); printf("M%d: traces ephemeron %d\n", _pid, i) };
     if
     :: atomic { IN(marked, i) -> to_mark = to_mark | (SET(i + 1) & ~marked) }
     :: atomic { !IN(marked, i) -> printf("M%d: its key is not marked, it will wait\n", _pid) };
#if WITHOUT != WAIT_FIRST
        waiting = waiting | SET(i);
#endif
#if WITHOUT == WATCH_FIRST
        seen = IN(marked, i);
        watched = watched | SET(i);
#else
        watched = watched | SET(i);
        seen = IN(marked, i);
#endif
#if WITHOUT == WAIT_FIRST
        waiting = waiting | SET(i);
#endif
#if WITHOUT != WATCH_LOOK
        if :: seen -> key_marked(i) :: else fi
#endif
     fi;
     atomic { i = 0; seen = 0; busy-- }
  :: atomic { to_mark == 0 && to_trace == 0 && busy == 0 -> assert(marked == (SET(1) | SET(2) | SET(3))); break }
  od
}

init { atomic { run marker(); run marker() } }
