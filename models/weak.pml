/* Weak references and finalizers: a part of cycle.pml, for -DWEAK and -DFINALIZERS.
 *
 * There is one weak cell. Any thread puts something that it holds there at any time (the code's cells are filled once, at birth:
 * this is harder), and gets what is there. A get must not hand out what is about to be freed, and must not say null while the
 * target can be reached. One word says how things stand; in the code it has a number, how many gets have kept something alive,
 * of which the collector wants to know only whether it has changed since the last round of flushes began: `gets`.
 *
 *     OPEN --Start--> MARKING --empty round, no get--> CLEARED --all cells looked at--> OPEN
 *
 * INV-WEAK-1   A get counts itself by compare-and-swap, and then shades its target.
 * INV-WEAK-2   The collector reads the number before it asks for a flush, and decides by compare-and-swap.
 * INV-WEAK-3   A cell is cleared by compare-and-swap, before OPEN, before the sweep.
 * INV-WEAK-5   A get that finds its target marked looks at the word again: after the decision, the dead that have a finalizer
 *              are marked.
 * INV-FINAL-1  An object is in the list, or in the queue, or in neither: what is found dead leaves the one for the other.
 * INV-FINAL-2  Weak cells are cleared before the dead are revived.
 * INV-FINAL-3  A mutator gets what was revived only when it is traced. */

#define LIVING(h) (IN(marked, h) || IN(born, h) && !without(BORN_LIVES))

#ifdef WEAK
#define OPEN      0
#define MARKING   1
#define CLEARED   2

byte cell;
byte word;
bit  gets;
byte target[THREADS];             /* ghost: what a get under way is looking at */
bit  stale[THREADS];              /* ghost: it was reclaimed meanwhile */

inline end_get(h)
{
  assert(h == 0 || !stale[me]);
  put_into_frame(h);
  printf("T%d: weak get returns o%d\n", me, h);
  target[me] = 0; stale[me] = 0; x = 0; v = 0;
  goto end
}
inline get_again() { target[me] = 0; stale[me] = 0; x = 0; v = 0; goto get }

inline say_null()
{
  d_step { compute_reach(); assert(!IN(reach, v)); reach = 0 };       /* nobody misses it */
  end_get(0)
}

/* The collector: marking may have ended. */
inline decide()
{
  atomic { if :: gets == 0 || without(GET_COUNT) -> word = CLEARED; printf("C: decides\n") :: else -> goto marking fi }
}
inline clear_cells()
{
  atomic { if :: cell != 0 && !LIVING(cell) -> v = cell :: else fi };
  atomic {
    if
    :: v != 0 && (cell == v || without(CLEAR_SWAP)) ->
         d_step { compute_reach(); assert(!IN(reach, cell)); reach = 0 };
         printf("C: clears the cell, o%d\n", cell); cell = 0
    :: else
    fi;
    v = 0 };
  atomic { word = OPEN }
}

inline look_for_stale(i) { if :: IN(dead_now, target[i]) -> stale[i] = 1 :: else fi }
byte dead_now;                    /* scratch */
inline reclaim_weak(dead) { assert(!IN(dead, cell)); dead_now = dead; EACH_THREAD(look_for_stale); dead_now = 0 }
#endif

#ifdef FINALIZERS                 /* set of handles whose objects have one */
byte listed;
byte queue;                       /* a root */
byte ready;                       /* that part of the queue that mutators may take from */

#define FINALIZABLE(h) (SET(h) & FINALIZERS)

/* The collector: all that is dead is known. */
inline revive()
{
  atomic {
    v = listed & allocated & ~(marked | born);
    listed = listed & ~v; queue = queue | v;
    if :: without(FINAL_TRACED) -> ready = queue :: else fi;
    mark_set(v); v = 0; printf("C: revives, the queue is %d\n", queue) };
  do :: atomic { grey != 0 -> trace_one() } :: atomic { grey == 0 -> break } od;
  atomic {
#ifdef WEAK
    assert(!IN(queue & ~ready, cell));                 /* INV-FINAL-2 */
#endif
    ready = queue }
}

/* A root that ends. */
inline take_finalizable()
{
  atomic { ready != 0 -> h = LOWEST(ready); queue = queue & ~SET(h); ready = ready & ~SET(h); old[me] = h;
    printf("T%d: takes o%d from the queue\n", me, h) };
  atomic {
    if :: barrier[me] && !IN(born, h) && !without(FINAL_SHADE) -> shade(me, h) :: else fi;
    put_into_frame(h); old[me] = 0; h = 0 }
}
#endif
