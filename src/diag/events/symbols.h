/* Names of functions by address, from the symbol tables of the files that this process runs. For who writes a profile: slow, and it takes
 * memory for the tables until it is told to forget them. */
#ifndef CX_DIAG_EVENTS_SYMBOLS_H
#define CX_DIAG_EVENTS_SYMBOLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The functions of one file, in the order of their places in it. */
struct cx_symbols {
    struct cx_symbol {
        uint64_t offset; /* in the file */
        uint64_t size;
        uint32_t name; /* in `names` */
    } * symbol;
    size_t count;
    char *names;
    size_t names_size;
};

/* False: it can't be read, or has no symbols. ELF, 64 bits, of this machine's byte order. */
bool cx_symbols_load(struct cx_symbols *symbols, const char *path);
/* The function at this place of the file, without what compilers add to names (.isra.0, .cold); NULL: unknown. */
const char *cx_symbols_find(const struct cx_symbols *symbols, uint64_t offset, char *name, size_t room);
void cx_symbols_free(struct cx_symbols *symbols);

#endif
