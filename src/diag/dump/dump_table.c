/* coex_gc_dump_handle_table: the table as it stands, from its bitmaps. No cycle, no lock; what changes meanwhile may show either way.
 *
 * There is no free list (docs/decisions/0010): free handles are the clear bits of `allocated`, and the list that is printed is the order
 * in which a search from the beginning would find them. Numbers are those of slots: in `checked` builds a handle has its generation above. */
#include "diag/heap/object_view.h"
#include "gc/api/runtime.h"

#include <coex/gc_diag.h>
#include <inttypes.h>

enum { TABLE_SHOWN_FREE = 3 }; /* free handles that are written out, as many as fit a line at a glance */

struct dump_table {
    uint64_t size;
    uint64_t in_use, retired, held, unclaimed; /* unclaimed: nobody's, not even held */
    uint64_t next_fresh;                       /* first handle behind all that were ever claimed */
    uint64_t first_free[TABLE_SHOWN_FREE];
    uint64_t words, available;
};

static uint64_t table_free_bits(const struct cx_handles *handles, uint64_t word)
{
    uint64_t free = ~cx_a64_load_acquire(&handles->allocated[word]);
    return word == 0 ? free & ~(uint64_t)1 : free;
}

static void table_count_free(struct dump_table *dump, uint64_t word, uint64_t bits)
{
    for (uint64_t rest = bits, at = dump->unclaimed; rest != 0 && at < TABLE_SHOWN_FREE; rest &= rest - 1)
        dump->first_free[at++] = word * 64 + (uint64_t)__builtin_ctzll(rest);
    dump->unclaimed += (uint64_t)__builtin_popcountll(bits);
}

/* Handles of a word that have an object, by their slots. */
static uint64_t table_in_use(const struct cx_handles *handles, uint64_t word, uint64_t allocated)
{
    uint64_t used = 0;
    for (uint64_t bits = allocated; bits != 0; bits &= bits - 1) {
        uint64_t bit = (uint64_t)__builtin_ctzll(bits);
        if (cx_handle_payload(handles, word * 64 + bit) != NULL) used |= (uint64_t)1 << bit;
    }
    return used;
}

static void table_count(struct dump_table *dump)
{
    const struct cx_handles *handles = &cx_world.handles;
    *dump = (struct dump_table){.size = cx_a64_load_acquire(&handles->committed), .next_fresh = 1};
    dump->words = dump->size / 64;
    for (uint64_t word = 0; word < dump->words; word++) {
        uint64_t free = table_free_bits(handles, word), allocated = ~free & (word == 0 ? ~(uint64_t)1 : UINT64_MAX);
        uint64_t used = table_in_use(handles, word, allocated),
                 retired = cx_a64_load_relaxed(&handles->retired[word]) & allocated & ~used;
        dump->in_use += (uint64_t)__builtin_popcountll(used);
        dump->retired += (uint64_t)__builtin_popcountll(retired);
        dump->held += (uint64_t)__builtin_popcountll(allocated & ~used & ~retired);
        if (allocated != 0) dump->next_fresh = (word + 1) * 64;
        dump->available += cx_bit_test(handles->available, word);
        table_count_free(dump, word, free);
    }
}

static void table_print_summary(struct cx_text *text, const struct dump_table *dump)
{
    cx_text_print(text, "=== HANDLE TABLE ===\nTable size: %" PRIu64 " slots\nHandles in use: %" PRIu64 "\n", dump->size,
                  dump->in_use);
    cx_text_print(text, "Handles free: %" PRIu64 "\nHandles retired: %" PRIu64 "\nNext bump alloc: %" PRIu64 "\n",
                  dump->held + dump->unclaimed, dump->retired, dump->next_fresh);
}

static void table_print_in_use(struct cx_text *text, const struct dump_table *dump)
{
    struct cx_object_view view;
    cx_text_print(text, "\nIn-use handles:\n");
    for (uint64_t word = 0; word < dump->words; word++) {
        for (uint64_t bits = ~table_free_bits(&cx_world.handles, word); bits != 0; bits &= bits - 1) {
            uint64_t index = word * 64 + (uint64_t)__builtin_ctzll(bits);
            if (index == 0 || !cx_object_view_take(&view, cx_object_view_handle_at(index))) continue;
            cx_text_print(text, "  [%" PRIu64 "] -> 0x%" PRIx64 " (", index, (uint64_t)(uintptr_t)view.payload);
            cx_text_name(text, view.name);
            cx_text_print(text, ")\n");
        }
    }
}

/* Handles that are allocated and have no object: retired ones, or those that threads hold for their next objects. */
static void table_print_empty(struct cx_text *text, const struct dump_table *dump, bool retired, const char *heading)
{
    const struct cx_handles *handles = &cx_world.handles;
    cx_text_print(text, "\n%s\n", heading);
    for (uint64_t word = 0; word < dump->words; word++) {
        uint64_t bits = ~table_free_bits(handles, word), gone = cx_a64_load_relaxed(&handles->retired[word]);
        for (bits &= retired ? gone : ~gone; bits != 0; bits &= bits - 1) {
            uint64_t index = word * 64 + (uint64_t)__builtin_ctzll(bits);
            if (index != 0 && cx_handle_payload(handles, index) == NULL) cx_text_print(text, "  [%" PRIu64 "] -> NULL\n", index);
        }
    }
}

static void table_print_free(struct cx_text *text, const struct dump_table *dump)
{
    uint64_t shown = dump->unclaimed < TABLE_SHOWN_FREE ? dump->unclaimed : TABLE_SHOWN_FREE;
    cx_text_print(text, "\nFree list head: %" PRIu64 "\nFree list: ", dump->first_free[0]);
    for (uint64_t i = 0; i < shown; i++) cx_text_print(text, "%s%" PRIu64, i == 0 ? "" : " -> ", dump->first_free[i]);
    cx_text_print(text, "%s(%" PRIu64 " entries)\n", dump->unclaimed > shown ? " -> ... " : shown == 0 ? "" : " ", dump->unclaimed);
    cx_text_print(text, "Available words: %" PRIu64 " of %" PRIu64 "\n", dump->available, dump->words);
}

void coex_gc_dump_handle_table(int32_t verbosity)
{
    struct dump_table dump = {0};
    struct cx_text text = {0};
    if (cx_runtime_is_up()) table_count(&dump);
    table_print_summary(&text, &dump);
    if (verbosity >= 1) table_print_in_use(&text, &dump);
    if (verbosity >= 2) {
        table_print_empty(&text, &dump, true, "Retired handles:");
        table_print_empty(&text, &dump, false, "Held handles:");
        table_print_free(&text, &dump);
    }
    cx_text_write(&text);
}
