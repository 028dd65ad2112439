/* Pins: a model of its own.
 *
 * A table under a lock has a count for each pinned object. Whoever holds an object pins it; any thread unpins, one unpin for each
 * pin. While an object is pinned its handle may be in a variable of native code, out of which any thread takes it into a slot: so it
 * comes from a place that has no barrier to a thread that may be black. Like a global root cell, the table is read in MARK, and what
 * leaves it is shaded first:
 *
 *     pin       count; then, in SYNC and ROOTS, shade
 *     unpin     shade, unless born in this cycle, if the barrier is on; then count down
 *     reading   piece by piece; if the table was rebuilt between two pieces, from its beginning
 *
 * An unpin shades whether it is the last one or not: it can't know before it has the lock.
 *
 * The protocol of the cycle is that of cycle.pml, which has it in finer steps; objects have no fields here. What is done under the lock
 * is one step. Asserted: nothing is reclaimed that is pinned, or that somebody holds in a slot or is about to unpin; no count goes
 * below zero. */

#define NOTHING      0
#define PIN_SCAN     280         /* pins are not read */
#define PIN_AGAIN    281         /* reading goes on where it was though the table has been rebuilt */
#define PIN_COUNT    282         /* pins are not counted: the first unpin is the last */
#define PIN_LOCK     283         /* counting takes no lock */
#define PIN_SHADE    284         /* a pin does not shade (EARLY) */
#define UNPIN_SHADE  285         /* an unpin does not shade */
#define UNPIN_WHITE  286         /* ... does not shade unless the thread is black */
#define UNPIN_LAST   287         /* ... shades if it sees that it is the last, before it has the lock */
#ifndef WITHOUT
#define WITHOUT NOTHING
#endif
#define without(step) (WITHOUT == step)

/* Variants
 *   EARLY      pins are read before all have answered ROOTS: then a pin must shade
 *   UNSHADED   a pin does not shade: as long as pins are read in MARK, every pin that is still there is found, and what is not
 *              has been shaded by its unpin */

#ifndef HANDLES
#define HANDLES     2            /* at most 2 */
#endif
#define PINS(h)     (3 - (h))    /* at most so many of one object at a time */
#define ALL         ((1 << (HANDLES + 1)) - 2)
#define SET(h)      ((1 << (h)) & ALL)
#define IN(set, h)  (((set) >> (h)) & 1)

mtype = { MARK, ROOTS, SYNC, IDLE };               /* numbered from the right: IDLE < SYNC < ROOTS < MARK */

byte allocated, marked, born;    /* sets of handles */
byte frame[2], buffer[2];        /* also sets */
bit  pending[2], barrier[2], black[2];
mtype phase = IDLE;
byte handed;

/* The table, under its lock */
byte count[3];
byte first = 1;                  /* the handle in the first piece; the other one is in the second */
bit  version;                    /* of the table */

byte owed[3];           /* ghost: pins that nobody has begun to take back */
byte using[2];                   /* ghost: the object that a pin or unpin is about */

#define HELD   ((count[1] != 0 -> SET(1) : 0) | (count[2] != 0 -> SET(2) : 0))
#define REACH  (frame[0] | frame[1] | SET(using[0]) | SET(using[1]) | HELD)

/* The protocol can't tell these states apart: what is marked or handed over is passed over in a buffer; after the sweep, marks and
 * born bits decide nothing. */
inline reduce()
{
  if :: phase == IDLE -> marked = 0; born = 0; handed = 0; buffer[0] = 0; buffer[1] = 0 :: else fi;
  handed = handed & ~marked; born = born & ~marked;
  buffer[0] = buffer[0] & ~(marked | handed); buffer[1] = buffer[1] & ~(marked | handed)
}

/* ----------------------------------------------------------------------------------------------------------------------- a thread */

inline shade(x)
{
  assert(IN(allocated, x));                            /* INV-MARK-3 */
  buffer[me] = buffer[me] | (SET(x) & ~marked); reduce()
}

inline answer()
{
  if
  :: phase == SYNC  -> barrier[me] = 1
  :: phase == ROOTS -> black[me] = 1; handed = handed | buffer[me] | frame[me]; buffer[me] = 0
  :: phase == MARK  -> handed = handed | buffer[me]; buffer[me] = 0
  :: phase == IDLE  -> barrier[me] = 0; black[me] = 0; buffer[me] = 0
  fi;
  pending[me] = 0; reduce(); printf("T%d: answers %e\n", me, phase)
}

/* A table that grows is rebuilt: everything may be elsewhere. */
inline maybe_rebuild() { if :: true :: first = 3 - first; version = 1 - version; printf("T%d: the table is rebuilt\n", me) fi }

#ifdef UNSHADED
#define SHADES false
#else
#define SHADES !without(PIN_SHADE)
#endif

inline pin(x)
{
  atomic { IN(frame[me], x) && count[x] < PINS(x) -> using[me] = x; n = count[x];
    printf("T%d: pins o%d\n", me, x);
#if WITHOUT == PIN_LOCK
  };
  atomic {
#endif
    if :: n == 0 -> maybe_rebuild() :: else fi;
    count[x] = n + 1; n = 0 };
  atomic {
    if
    :: barrier[me] && (phase == SYNC || phase == ROOTS) && SHADES -> shade(x)
    :: else
    fi;
    using[me] = 0; owed[x]++ }
}

#if WITHOUT == UNPIN_SHADE
#define IS_SHADED(x) false
#elif WITHOUT == UNPIN_WHITE
#define IS_SHADED(x) (black[me] && !IN(born, x))
#elif WITHOUT == UNPIN_LAST
#define IS_SHADED(x) (barrier[me] && !IN(born, x) && count[x] == 1)
#else
#define IS_SHADED(x) (barrier[me] && !IN(born, x))
#endif

inline unpin(x)
{
  atomic { owed[x] > 0 -> owed[x]--; using[me] = x; printf("T%d: unpins o%d\n", me, x);
    if :: IS_SHADED(x) -> shade(x) :: else fi };
#if WITHOUT == PIN_LOCK
  atomic { n = count[x] };
#endif
  atomic {
#if WITHOUT != PIN_LOCK
    n = count[x];
#endif
    assert(n > 0 || without(PIN_COUNT));
    count[x] = (without(PIN_COUNT) -> 0 : n - 1); n = 0; using[me] = 0;
    if :: true :: frame[me] = frame[me] | SET(x) fi }  /* it goes on with it, or not */
}

proctype thread(byte me)
{
  byte n;
end:
  do
  :: atomic { allocated != ALL ->
       n = (IN(allocated, 1) -> 2 : 1); allocated = allocated | SET(n); frame[me] = frame[me] | SET(n);
       if :: black[me] -> born = born | SET(n) :: else fi;
       printf("T%d: makes o%d\n", me, n); n = 0; reduce() }
  :: atomic { IN(frame[me], 1) -> frame[me] = frame[me] & ~SET(1) }
  :: atomic { IN(frame[me], 2) -> frame[me] = frame[me] & ~SET(2) }
  :: atomic { pending[me] -> answer() }
  :: pin(1)
  :: unpin(1)
#if HANDLES == 2
  :: pin(2)
  :: unpin(2)
#endif
  :: atomic { owed[1] > 0 && !IN(frame[me], 1) -> frame[me] = frame[me] | SET(1); printf("T%d: gets o1\n", me) }
  :: atomic { owed[2] > 0 && !IN(frame[me], 2) -> frame[me] = frame[me] | SET(2); printf("T%d: gets o2\n", me) }
  od
}

/* ------------------------------------------------------------------------------------------------------------------ the collector */

inline publish(p) { phase = p; pending[0] = 1; pending[1] = 1; reduce(); printf("C: publishes %e\n", p) }
#define ANSWERED (!pending[0] && !pending[1])

inline mark(set) { assert(((set) & ~allocated) == 0); marked = marked | (set); reduce() }

/* Two pieces. Marking twice does no harm. */
inline read_pins()
{
  do
  :: atomic { seen = version; v = HELD & SET(first); mark(v); printf("C: reads the first piece of the pins\n") };
     atomic {
       if
       :: seen != version && !without(PIN_AGAIN)
       :: else -> v = HELD & SET(3 - first); mark(v); v = 0; printf("C: reads the second piece\n"); seen = 0; break
       fi }
  od
}
#if WITHOUT == PIN_SCAN
#define READ_PINS skip
#else
#define READ_PINS read_pins()
#endif

inline reclaim(x)
{
  atomic {
    if
    :: IN(allocated & ~(marked | born), x) ->
         assert(!IN(REACH, x)); allocated = allocated & ~SET(x); printf("C: reclaims o%d\n", x)
    :: else
    fi }
}

proctype collector()
{
  bit seen;
  byte v;
  do
  :: atomic { marked = 0; born = 0; publish(SYNC) };
     atomic { ANSWERED -> publish(ROOTS) };
#ifdef EARLY
     READ_PINS;
#endif
     atomic { ANSWERED -> phase = MARK };
#ifndef EARLY
     READ_PINS;
#endif
     do
     :: atomic { mark(handed); publish(MARK) };
        atomic { ANSWERED -> if :: (handed & ~marked) == 0 -> break :: else fi }
     od;
     reclaim(1);
     reclaim(2);
     atomic { publish(IDLE) };
     ANSWERED
  od
}

init { atomic { run thread(0); run thread(1); run collector() } }
