/* layout: the words that compiled code may touch, and the numbers it needs, from the same tables as the struct that has them. As a table
 * for people, as JSON for code generators, and as docs/reference/abi.md, which a test compares with what this prints. */
#define COEX_GC_NO_INLINE
#include "coexgc.h"

#include <coex/gc.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

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

enum { LAYOUT_WORDS = sizeof words / sizeof words[0], LAYOUT_NUMBERS = sizeof numbers / sizeof numbers[0] };

static void layout_markdown(void)
{
    puts("# The ABI\n\nPrinted by `coexgc layout --markdown` from `include/coex/gc_abi.h`; do not edit.\n\n"
         "What code generators may touch directly. Everything else goes through the functions of `<coex/gc.h>`. Offsets and "
         "numbers\n"
         "do not change within a soname.\n\n"
         "## A thread's words\n\n"
         "`coex_gc_self` (thread-local, initial-exec) points at them. `limit` is also written by the collector: read it as a "
         "relaxed\n"
         "atomic.\n\n| offset | word | type | written by | meaning |\n|---|---|---|---|---|");
    for (size_t i = 0; i < LAYOUT_WORDS; i++)
        printf("| %u | `%s` | `%s` | %s | %s |\n", words[i].offset, words[i].name, words[i].type, words[i].writers,
               words[i].meaning);
    puts("\n## Numbers\n\n| name | value | meaning |\n|---|---|---|");
    for (size_t i = 0; i < LAYOUT_NUMBERS; i++)
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
}

static void layout_text(void)
{
    printf("ABI of coexgc %s\n\nWords of a thread (coex_gc_self points at them)\n%8s  %-12s %-14s %s\n", coex_gc_version(),
           "offset", "name", "type", "meaning");
    for (size_t i = 0; i < LAYOUT_WORDS; i++)
        printf("%8u  %-12s %-14s %s\n", words[i].offset, words[i].name, words[i].type, words[i].meaning);
    printf("\nNumbers\n%20s  %-26s %s\n", "value", "name", "meaning");
    for (size_t i = 0; i < LAYOUT_NUMBERS; i++)
        printf(numbers[i].value > 0xffffffff ? "  0x%016" PRIx64 "  %-26s %s\n" : "%20" PRIu64 "  %-26s %s\n", numbers[i].value,
               numbers[i].name, numbers[i].meaning);
}

/* Nothing in the tables needs an escape but quotes. Numbers past 53 bits are written as text too, since many readers have doubles only. */
static void layout_json_text(const char *text)
{
    putchar('"');
    for (; *text != '\0'; text++) {
        if (*text == '"' || *text == '\\') putchar('\\');
        putchar(*text);
    }
    putchar('"');
}

static void layout_json_field(const char *name, const char *text)
{
    printf(", \"%s\": ", name);
    layout_json_text(text);
}

static void layout_json(void)
{
    printf("{\n  \"version\": \"%s\",\n  \"thread_words\": [", coex_gc_version());
    for (size_t i = 0; i < LAYOUT_WORDS; i++) {
        printf("%s\n    {\"name\": \"%s\", \"offset\": %u", i == 0 ? "" : ",", words[i].name, words[i].offset);
        layout_json_field("type", words[i].type);
        layout_json_field("writers", words[i].writers);
        layout_json_field("meaning", words[i].meaning);
        putchar('}');
    }
    fputs("\n  ],\n  \"numbers\": [", stdout);
    for (size_t i = 0; i < LAYOUT_NUMBERS; i++) {
        printf("%s\n    {\"name\": \"%s\", \"value\": %" PRIu64 ", \"hex\": \"0x%" PRIx64 "\"", i == 0 ? "" : ",", numbers[i].name,
               numbers[i].value, numbers[i].value);
        layout_json_field("meaning", numbers[i].meaning);
        putchar('}');
    }
    puts("\n  ]\n}");
}

static int layout_run(const struct command *command, int argc, char **argv)
{
    if (argc > 2) return command_misuse(command, "'%s' is one word too many", argv[2]);
    const char *form = argc > 1 ? argv[1] : "--text";
    if (strcmp(form, "--text") == 0)
        layout_text();
    else if (strcmp(form, "--json") == 0)
        layout_json();
    else if (strcmp(form, "--markdown") == 0)
        layout_markdown();
    else
        return command_misuse(command, "there is no option '%s'", form);
    return 0;
}

const struct command command_layout = {
    "layout",
    "[--text | --json | --markdown]",
    "Print the words and numbers that compiled code relies on",
    "They are those of the library that this program was built with, and do not change within a soname.\n\n"
    "  --text       a table (this is the default)\n"
    "  --json       for code generators: thread_words with offsets, and numbers\n"
    "  --markdown   docs/reference/abi.md\n",
    layout_run,
};
