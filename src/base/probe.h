/* Probes for tracers (perf, bpftrace, SystemTap, gdb): static ones of the provider "coexgc", each a single nop in the code and a note
 * in the object file. Where the system has no <sys/sdt.h> at build time they are nothing. */
#ifndef CX_BASE_PROBE_H
#define CX_BASE_PROBE_H

#if defined(__has_include)
#if __has_include(<sys/sdt.h>)
#include <sys/sdt.h>
#define CX_HAS_PROBES 1
#endif
#endif

#ifdef CX_HAS_PROBES
#define CX_PROBE(name, a, b) DTRACE_PROBE2(coexgc, name, a, b)
#else
#define CX_HAS_PROBES        0
#define CX_PROBE(name, a, b) ((void)(a), (void)(b))
#endif

#endif
