/* The configuration: the defaults, then the struct of the caller, then the environment. The result
 * is checked at the end. */
#ifndef CX_GC_OPTIONS_H
#define CX_GC_OPTIONS_H

#include <coex/gc.h>

void cx_options_default(coex_gc_config *config);

/* Fills `config`. 0, or a code with the error recorded. `given` may be NULL, or of an older version (shorter). */
int cx_options_resolve(coex_gc_config *config, const coex_gc_config *given);

/* Reads a comma list of name=value into `config`. `variable` is its name, for the error. Exposed for tests. */
int cx_options_parse(coex_gc_config *config, const char *variable, const char *text);

#endif
