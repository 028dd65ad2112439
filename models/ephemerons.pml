/* Ephemerons that wait for their keys, and markers that mark them meanwhile: a model of its own, for INV-WEAK-4.
 *
 * Ephemeron 1 has key 1 and value 2, ephemeron 2 has key 2 and value 3: a chain. Ephemeron 3 has key 1 as well, and value 4. All
 * ephemerons are reachable; object 1 is reached at some time. Two markers take work from one list: an ephemeron to trace, an
 * object to mark, or a key to go on with. Who traces an ephemeron whose key is not marked makes it wait in a table, sets the key's
 * bit in `watched`, and looks at the mark again; who marks an object looks at its bit afterwards, and if it is set takes one
 * ephemeron that waits for it out of the table, under a lock, and lists its value. If others wait for the same key, it lists the
 * key to go on with. When the list is empty and both are idle, every value must be marked. */

#define SET(i) (1 << (i))
#define IN(set, i) (((set) >> (i)) & 1)

#define NOTHING     0
#define WATCH_LOOK  200          /* who begins to wait does not look at the mark again */
#define WATCH_FIRST 201          /* ... looks before it sets the bit */
#define MARK_FIRST  202          /* who marks looks at the bit first */
#define WAIT_FIRST  203          /* the bit is set before the table has it */
#define CONTINUE    204          /* who takes one of several does not list the key to go on with */
#ifndef WITHOUT
#define WITHOUT NOTHING
#endif

#define KEY(e) ((e) == 3 -> 1 : (e))

byte marked, watched;            /* sets of objects */
byte waiting;                    /* and of ephemerons */
byte to_mark = SET(1);           /* the list: objects, */
byte to_trace = SET(1) | SET(2) | SET(3); /* ephemerons, */
byte to_continue;                /* and keys */
byte busy;                       /* markers that have taken something */

inline take(e)
{
  waiting = waiting & ~SET(e); to_mark = to_mark | (SET(e + 1) & ~marked);
  printf("M%d: the value of ephemeron %d is listed\n", _pid, e)
}

/* Under the lock: nobody sees the table in between. At most one ephemeron is taken; which one does not matter. */
inline key_marked(k)
{
  atomic {
    if
    :: k == 1 && IN(waiting, 1) -> take(1)
    :: k == 1 && IN(waiting, 3) -> take(3)
    :: k == 2 && IN(waiting, 2) -> take(2)
    :: else -> printf("M%d: nothing waits for o%d\n", _pid, k)
    fi;
#if WITHOUT != CONTINUE
    if
    :: k == 1 && (IN(waiting, 1) || IN(waiting, 3)) -> to_continue = to_continue | SET(1)
    :: else
    fi
#endif
  }
}

proctype marker()
{
  byte i, seen;
  do
  :: atomic { to_mark != 0 -> busy++;
       if :: IN(to_mark, 1) -> i = 1 :: IN(to_mark, 2) -> i = 2 :: IN(to_mark, 3) -> i = 3 :: IN(to_mark, 4) -> i = 4 fi;
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
       if :: IN(to_trace, 1) -> i = 1 :: IN(to_trace, 2) -> i = 2 :: IN(to_trace, 3) -> i = 3 fi;
       to_trace = to_trace & ~SET(i); printf("M%d: traces ephemeron %d\n", _pid, i) };
     if
     :: atomic { IN(marked, KEY(i)) -> to_mark = to_mark | (SET(i + 1) & ~marked) }
     :: atomic { !IN(marked, KEY(i)) -> printf("M%d: its key is not marked, it will wait\n", _pid) };
#if WITHOUT != WAIT_FIRST
        waiting = waiting | SET(i);
#endif
#if WITHOUT == WATCH_FIRST
        seen = IN(marked, KEY(i));
        watched = watched | SET(KEY(i));
#else
        watched = watched | SET(KEY(i));
        seen = IN(marked, KEY(i));
#endif
#if WITHOUT == WAIT_FIRST
        waiting = waiting | SET(i);
#endif
#if WITHOUT != WATCH_LOOK
        i = KEY(i);
        if :: seen -> key_marked(i) :: else fi
#endif
     fi;
     atomic { i = 0; seen = 0; busy-- }
  :: atomic { to_continue != 0 -> busy++; to_continue = 0; i = 1 }; /* only this key can have several */
     key_marked(i);
     atomic { i = 0; busy-- }
  :: atomic { to_mark == 0 && to_trace == 0 && to_continue == 0 && busy == 0 ->
       assert(marked == (SET(1) | SET(2) | SET(3) | SET(4))); break }
  od
}

init { atomic { run marker(); run marker() } }
