/* Tells the machine code of the library from that of the program, by address: in the shared library and in the
 * archive alike, with and without symbols. Any thread, no lock. */
#ifndef CX_BASE_OWN_CODE_H
#define CX_BASE_OWN_CODE_H

#include <stdbool.h>

/* Returns true if the instruction at `address` belongs to a function of the library. Always false in a library that
 * was built with link-time optimisation (own_code_mark.h). */
bool cx_own_code_has(const void *address);

#endif
