/* Verifiers: they look at the whole heap between marking and the sweep, on the collector, beside running mutators.
 *
 * INV-VERIFY-1  When marking has ended, everything reachable is marked or born. So each reference of a marked object, and of a born
 *               object that is complete, leads to an object that is marked or born; whichever does not is about to be lost.
 * INV-VERIFY-2  The sweep touches nothing that is marked: each marked handle still has its object, header, references and space.
 *
 * Born objects are being filled by threads that do not wait for us. Which of them are complete is settled by one more flush: the
 * handles allocated before it, less those that threads hold when they answer or leave, name objects made before the answer. */
#ifndef CX_GC_DEBUG_VERIFIER_H
#define CX_GC_DEBUG_VERIFIER_H

#include "gc/marking/marker.h"

/* Before a flush handshake: from now on threads note what they hold. After it: checks INV-VERIFY-1; the first edge that breaks it
 * (parent, field, child) ends the program. */
void cx_verify_begin_gct(void);
void cx_verify_marks_gct(void);
/* After the sweep: the first marked object that it has harmed ends the program. */
void cx_verify_swept_gct(void);

/* Checks table, headers, references, bitmaps and overlaps of marked objects. Each fault is given to `report` as a line. Returns how
 * many there are. */
typedef void (*cx_fault_reporter)(void *context, const char *line);
uint32_t cx_verify_heap_gct(cx_fault_reporter report, void *context);

#endif
