/* Prints docs/abi.md: the words that compiled code may touch, from the same table as the struct that has them. A test compares what
 * this prints with the file in the repository. */
#define COEX_GC_NO_INLINE
#include <coex/gc.h>

#include <inttypes.h>
#include <stdio.h>

struct word {
    const char *type, *name;
    unsigned offset;
    const char *writers, *meaning;
};

#define WORD_ROW(type, name, offset, writers, meaning) {#type, #name, offset, writers, meaning},
static const struct word words[] = {COEX_GC_THREAD_WORDS(WORD_ROW)};

struct number {
    const char *name;
    uint64_t value;
    const char *meaning;
};

#define NUMBER(name, meaning) {#name, (uint64_t)(name), meaning},
static const struct number numbers[] = {
    NUMBER(COEX_GC_HANDLE_BITS, "low bits of a handle that index the table") NUMBER(
        COEX_GC_TYPE_SHIFT, "where the type id is in a header") NUMBER(COEX_GC_FLAGS_SHIFT, "where the flags are in a header")
        NUMBER(COEX_GC_HEADER_BYTES, "bytes of a header; in an object of variable size a length word of as many stands before it")
            NUMBER(COEX_GC_SMALL_MAX, "largest object, header included, that is bump-allocated")
                NUMBER(COEX_GC_MAX_TYPES, "type ids are below this; the shapes take so many words below the table")
                    NUMBER(COEX_GC_SHAPE_UNKNOWN, "shape of an id that no type has")
                        NUMBER(COEX_GC_SHAPE_VARIABLE, "shape of a type of variable size") NUMBER(
                            COEX_GC_SHAPE_SLOW, "shape of a type that is aligned, large, or has a finalizer: always the slow path")
                            NUMBER(COEX_GC_LOCAL_BIT, "in a shadow-stack word: the rest is the address of a local")
                                NUMBER(COEX_IMMEDIATE_BIT, "in a reference: the rest is not a handle")
                                    NUMBER(COEX_GC_FRAME_INLINE_MAX, "frames with more slots take the slow path")};

int main(void)
{
    puts("# The ABI\n\nPrinted by `coex-layout` from `include/coex/gc_abi.h`; do not edit.\n\n"
         "What code generators may touch directly. Everything else goes through the functions of `<coex/gc.h>`. Offsets and "
         "numbers\n"
         "do not change within a soname.\n\n"
         "## A thread's words\n\n"
         "`coex_gc_self` (thread-local, initial-exec) points at them. `limit` is also written by the collector: read it as a "
         "relaxed\n"
         "atomic.\n\n| offset | word | type | written by | meaning |\n|---|---|---|---|---|");
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        printf("| %u | `%s` | `%s` | %s | %s |\n", words[i].offset, words[i].name, words[i].type, words[i].writers,
               words[i].meaning);
    puts("\n## Numbers\n\n| name | value | meaning |\n|---|---|---|");
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
        printf(numbers[i].value > 0xffffffff ? "| `%s` | 0x%016" PRIx64 " | %s |\n" : "| `%s` | %" PRIu64 " | %s |\n",
               numbers[i].name, numbers[i].value, numbers[i].meaning);
    puts("\n## An object\n\n"
         "```\n"
         "fixed size:               [header][payload ...]\n"
         "variable size:    [length][header][payload ...]\n"
         "                                  ^ table[handle]\n"
         "header = handle | type << 36 | flags << 56\n"
         "```\n\n"
         "The shape of type `t` is the 64-bit word `table[t - 1048576]`: the payload size + 1 of a fixed size, or one of the "
         "shapes\n"
         "above.\n\n"
         "## The fast paths in words\n\n"
         "*Allocate.* If `handle_bits & (handle_bits - 1)` is 0, or the type's shape is not the size + 1, or `cursor` + header + "
         "size\n"
         "(rounded up to 8) passes `end`: call `coex_gc_alloc_slow`. Else: move `cursor`, clear the lowest bit of `handle_bits`, "
         "write\n"
         "the header, store the payload's address in `table[handle]` with release; the handle is `handle_base` + the bit's "
         "number.\n\n"
         "*Enter a frame of n slots.* If `top` + n + 1 words passes `limit`: call `coex_gc_enter_frame_slow`. Else write ~n, zero "
         "n\n"
         "slots, and move `top` past them.\n\n"
         "*Leave it.* If the frame's header is not above `watermark`: call `coex_gc_leave_frame_slow`. Else `top` = the header.\n\n"
         "*Poll.* If `limit` is 0: call `coex_gc_safepoint_slow`.\n\n"
         "*Store a reference.* If `barrier` is not 0: call `coex_gc_store_slow`. Else store with release.");
    return 0;
}
