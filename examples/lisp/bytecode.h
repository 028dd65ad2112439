/* The instructions of the machine. The low 8 bits are the operation, and the bits above them are
 * its operand n. "Push" stores into the next free slot of the frame of the running procedure.
 * The frame has these slots:
 *
 *     slot 0   the running closure
 *     slot 1   the link, an immediate: the place where the caller continues
 *     slot 2…  parameters, then variables of let, then operands */
#ifndef LISP_BYTECODE_H
#define LISP_BYTECODE_H

#include "lisp.h"

enum operation {
    OP_CONSTANT,      /* push constant n */
    OP_LOCAL,         /* push slot n */
    OP_LOCAL_BOX,     /* push what the box in slot n holds */
    OP_FREE,          /* push captured value n */
    OP_FREE_BOX,      /* push what the box in captured value n holds */
    OP_GLOBAL,        /* push the global variable of the symbol in constant n */
    OP_SET_LOCAL_BOX, /* the next four pop what they store */
    OP_SET_FREE_BOX,
    OP_SET_GLOBAL,
    OP_DEFINE_GLOBAL,
    OP_MAKE_BOX,     /* put what slot n holds into a box, and that into slot n */
    OP_MAKE_CLOSURE, /* of the code in constant n; its captured values are pushed, and popped here */
    OP_POP,
    OP_SLIDE,         /* drop n values below the top one */
    OP_SAME,          /* pop two, push whether they are one */
    OP_JUMP,          /* to instruction n */
    OP_JUMP_IF_FALSE, /* pops */
    OP_JUMP_IF_TRUE,  /* keeps the value and jumps, or pops it and goes on */
    OP_CALL,          /* pop n arguments and a procedure below them, push its result */
    OP_TAIL_CALL,     /* the same instead of this procedure */
    OP_TAIL_APPLY,    /* pop a list of arguments and a procedure below it: a tail call */
    OP_RETURN,
    OP_MARK, /* make this a frame of catch (n = 1) or call/ec (0) */
    OP_UNMARK,
    OP_HALT /* return from vm_call */
};

enum { SLOT_CLOSURE, SLOT_LINK, SLOT_FIRST };

enum {
    MAX_PARAMETERS = 250,
    MAX_FRAME = 60000,
    MAX_OPERAND = 1 << 24 /* operands are below it; the place of an instruction is one, in a jump */
};

static inline uint32_t instruction(enum operation operation, uint32_t n) { return (uint32_t)operation | n << 8; }

static inline uint32_t *code_instructions(struct code *code) { return (uint32_t *)(void *)(code->constant + code->constants); }

#endif
