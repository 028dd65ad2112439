/* Verifiers: check the whole heap while mutators run. INV-VERIFY-1 is checked between marking and
 * the sweep, and INV-VERIFY-2 after the sweep. Entered by the collector.
 *
 * INV-VERIFY-1  When marking has ended, every reachable object is marked or born. Each reference
 *               of a marked object, and of a born object that is complete, therefore leads to an
 *               object that is marked or born. Any other object that is referenced is about to be
 *               lost.
 * INV-VERIFY-2  The sweep changes no marked object. Each marked handle still has its object,
 *               header, references and space.
 *
 * Threads fill born objects while the verifier runs. One more flush determines which born objects
 * are complete. They are the handles that were allocated before the flush, without the handles
 * that a thread holds when it answers or exits. Each thread also checks its shadow stack when it
 * answers this flush (safepoint.c). */
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
