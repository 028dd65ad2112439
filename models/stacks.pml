/* Coroutine stacks: a part of cycle.pml, for -DSTACKS. Beside the threads' own stacks there is one more, which any thread may
 * switch to when nobody is on it; a thread that is on it has left its own stack behind, suspended.
 *
 *     state        SUSPENDED, ACTIVE (a thread is on it), TAKEN (the collector freezes it)
 *     stack_done   in this cycle it was frozen, or scanned; Start makes all not done
 *
 * INV-STACK-1  What a black thread switches away from is done; what a white one leaves is not.
 * INV-STACK-2  A black thread that switches to a stack that is not done freezes all of it, and then runs the return barrier for
 *              its top frame, with no safepoint in between.
 * INV-STACK-3  In MARK the collector freezes suspended stacks that are not done; a switch waits for that. A flush is asked for
 *              when every stack is done and read.
 * INV-STACK-4  What is frozen stays frozen for the rest of the cycle, whoever enters and leaves the
 *              stack. A black thread may have taken a handle out of a frozen frame, with nothing
 *              else to vouch for it. */

#if defined(SPAWN) || !defined(WATERMARK)
#error "STACKS needs WATERMARK, and threads that stay"
#endif

#define SHADOWS    (THREADS + 1)  /* the threads' own, by number, and then the coroutine's */
#define COROUTINE  THREADS
#define SUSPENDED  0
#define ACTIVE     1
#define TAKEN      2

byte on[THREADS];                 /* the stack that a thread is on. W: owner */
byte stack_state[SHADOWS];
bit  stack_done[SHADOWS];

#define ON(t)            on[t]
#define OTHER(t)         (on[t] == COROUTINE -> t : COROUTINE)
#define STACK_IS_DONE(s) stack_done[s]
#define FREEZE_DONE(s)   stack_done[s] = 1
#if THREADS == 1
#define ANY_SHADOW(p)         (p(0) || p(1))
#define CHOOSE_SHADOW(var, p) if :: p(0) -> var = 0 :: p(1) -> var = 1 fi
#define ALL_DONE              (stack_done[0] && stack_done[1] || without(SUSPENDED_SCAN))
#define NONE_DONE             stack_done[0] = 0; stack_done[1] = 0
#else
#define ANY_SHADOW(p)         (p(0) || p(1) || p(2))
#define CHOOSE_SHADOW(var, p) if :: p(0) -> var = 0 :: p(1) -> var = 1 :: p(2) -> var = 2 fi
#define ALL_DONE              (stack_done[0] && stack_done[1] && stack_done[2] || without(SUSPENDED_SCAN))
#define NONE_DONE             stack_done[0] = 0; stack_done[1] = 0; stack_done[2] = 0
#endif
#define CAN_SWITCH(s)    (stack_state[s] == SUSPENDED || stack_state[s] == TAKEN && without(SWITCH_WAIT))
#define TO_FREEZE(s)     (stack_state[s] == SUSPENDED && !stack_done[s])

/* Compare-and-swap of the state makes the other stack this thread's; then it leaves the one that it is on, and enters the other. */
inline switch_stack()
{
  atomic { CAN_SWITCH(OTHER(me)) -> v2 = OTHER(me); stack_state[v2] = ACTIVE; take_along();
    printf("T%d: switches to stack %d with o%d\n", me, v2, old[me]) };
  atomic {
    if
    :: colour[me] == WHITE && !without(WHITE_LEAVES) ->
         stack_done[ON(me)] = 0;
         if :: without(KEEP_FROZEN) -> lo[ON(me)] = 0; hi[ON(me)] = 0; done[ON(me)] = 0 :: else fi
    :: else
    fi;
    stack_state[ON(me)] = SUSPENDED };
  atomic {
    on[me] = v2; v2 = 0; x = top[ON(me)];
    if
    :: colour[me] == BLACK && !stack_done[ON(me)] && !without(ENTER_FREEZE) -> freeze(ON(me), top[ON(me)] + 1)
    :: else
    fi };
#if WITHOUT != ENTER_BARRIER
  thaw();
#endif
  put_down();
  x = 0
}

/* Destroy the coroutine's stack, and make a new one. What is in it is scanned first: somebody may have got something out of it. */
inline renew_stack()
{
  atomic { ON(me) != COROUTINE && CAN_SWITCH(COROUTINE) ->
    stack_state[COROUTINE] = ACTIVE; printf("T%d: destroys the stack\n", me) };
  atomic {
    if
    :: colour[me] == BLACK && !stack_done[COROUTINE] -> freeze(COROUTINE, top[COROUTINE] + 1)
    :: else
    fi;
    v2 = hi[COROUTINE]; hi[COROUTINE] = lo[COROUTINE] };
  atomic { done[COROUTINE] >= lo[COROUTINE] };
  d_step {
    gi = lo[COROUTINE];
    do
    :: gi < v2 && !without(DESTROY_SCAN) -> buffer[me] = buffer[me] | (frame[COROUTINE * FRAMES + gi] & ~marked); gi++
    :: else -> break
    od;
    gi = 0;
    do :: gi < FRAMES -> frame[COROUTINE * FRAMES + gi] = 0; gi++ :: else -> break od;
    gi = 0; v2 = 0;
    top[COROUTINE] = 0; lo[COROUTINE] = 0; hi[COROUTINE] = 0; done[COROUTINE] = 0;
    stack_done[COROUTINE] = (colour[me] == BLACK);
    stack_state[COROUTINE] = SUSPENDED;
    reduce()
  }
}

/* The collector, in MARK. */
inline freeze_suspended()
{
  atomic { ANY_SHADOW(TO_FREEZE) -> CHOOSE_SHADOW(t, TO_FREEZE); stack_state[t] = TAKEN; printf("C: freezes stack %d\n", t) };
  atomic { freeze(t, top[t] + 1) };
  atomic { stack_state[t] = SUSPENDED; t = 0 }
}
