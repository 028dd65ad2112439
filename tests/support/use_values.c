/* Linked into test programs that use values: their types are there in every runtime that a test starts. */
#include <coex/values.h>

#include <stdlib.h>

__attribute__((constructor)) static void use_values(void)
{
    if (coex_values_init() != COEX_GC_OK) abort();
}
