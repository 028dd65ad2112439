/* coex_gc_fragmentation_report: how the free space of the heap is cut up. A visit: when marking has ended, the lines that are neither marked
 * nor held are those that this cycle's sweep frees, so the report is exact for the cycle it runs in.
 *
 * A free piece is a run of free lines inside a block, an empty block (objects never cross blocks), or a run of free pages of the
 * large-object space. */
#include "diag/text.h"
#include "diag/heap/visit.h"

#include <coex/gc_diag.h>
#include <inttypes.h>

enum { FRAGMENT_CLASSES = 7, FRAGMENT_SLICE_BLOCKS = 256 };

static const struct {
    const char *label;
    uint64_t below;
} fragment_class[FRAGMENT_CLASSES] = {
    {"< 64 bytes:", 64},  {"64-256 bytes:", 256}, {"256-1KB:", 1024},      {"1KB-4KB:", 4096},
    {"4KB-16KB:", 16384}, {"16KB-64KB:", 65536},  {"> 64KB:", UINT64_MAX},
};

struct fragment_report {
    uint32_t block, blocks;
    bool begun;
    uint64_t size; /* of the heap */
    uint64_t free, scattered, largest;
    uint64_t pieces[FRAGMENT_CLASSES], bytes[FRAGMENT_CLASSES];
};

static void fragment_add(struct fragment_report *report, uint64_t bytes, uint64_t count)
{
    unsigned bucket = 0;
    if (bytes == 0 || count == 0) return;
    while (bytes >= fragment_class[bucket].below) bucket++;
    report->pieces[bucket] += count;
    report->bytes[bucket] += bytes * count;
    report->free += bytes * count;
    if (bytes > report->largest) report->largest = bytes;
}

/* Runs of lines that nothing alive is on. */
static void fragment_add_lines(struct fragment_report *report, const struct cx_block *block)
{
    uint64_t run = 0;
    for (unsigned line = 0; line < CX_BLOCK_LINES; line++) {
        uint64_t live = cx_a64_load_relaxed(&block->marked[line / 64]) | cx_a64_load_relaxed(&block->held[line / 64]);
        if ((live >> (line % 64) & 1) == 0) {
            run++;
            continue;
        }
        fragment_add(report, run * CX_LINE_BYTES, 1);
        report->scattered += run * CX_LINE_BYTES;
        run = 0;
    }
    fragment_add(report, run * CX_LINE_BYTES, 1);
    if (run < CX_BLOCK_LINES) report->scattered += run * CX_LINE_BYTES;
}

static void fragment_add_run(void *context, uint64_t bytes) { fragment_add(context, bytes, 1); }

static bool fragment_visit(void *context)
{
    struct fragment_report *report = context;
    struct cx_heap *heap = &cx_world.heap;
    if (!report->begun) {
        report->begun = true;
        cx_mutex_lock(&heap->lock);
        report->blocks = cx_a32_load_acquire(&heap->count);
        uint32_t fresh = heap->committed - report->blocks;
        report->size = (uint64_t)heap->committed * CX_BLOCK_BYTES;
        cx_mutex_unlock(&heap->lock);
        fragment_add(report, CX_BLOCK_BYTES, fresh);
        report->size += cx_large_each_free(&heap->large, fragment_add_run, report);
    }
    uint32_t end = report->block + FRAGMENT_SLICE_BLOCKS < report->blocks ? report->block + FRAGMENT_SLICE_BLOCKS : report->blocks;
    for (; report->block < end; report->block++) {
        const struct cx_block *block = &heap->blocks[report->block];
        if (cx_a32_load_acquire(&block->state) == CX_BLOCK_FREE)
            fragment_add(report, CX_BLOCK_BYTES, 1);
        else
            fragment_add_lines(report, block);
    }
    return report->block < report->blocks;
}

static double fragment_percent(uint64_t part, uint64_t whole) { return whole == 0 ? 0 : (double)part * 100.0 / (double)whole; }

/* A quarter of the free space in pieces: half the blocks that an allocator takes are still whole or nearly so. */
static const char *fragment_advice(double index)
{
    if (index < 0.25) return "Fragmentation is low, compaction not needed";
    if (index < 0.50) return "Fragmentation is moderate, compaction may help";
    return "Fragmentation is high, compaction recommended";
}

static void fragment_write(void *context)
{
    const struct fragment_report *report = context;
    struct cx_text text = {0};
    uint64_t allocated = report->size - report->free;
    double index = fragment_percent(report->scattered, report->free) / 100.0;
    cx_text_print(&text, "=== FRAGMENTATION REPORT ===\nHeap size: %" PRIu64 " bytes\n", report->size);
    cx_text_print(&text, "Allocated: %" PRIu64 " bytes (%.1f%%)\n", allocated, fragment_percent(allocated, report->size));
    cx_text_print(&text, "Free: %" PRIu64 " bytes (%.1f%%)\n\nFree block distribution:\n", report->free,
                  fragment_percent(report->free, report->size));
    for (int i = 0; i < FRAGMENT_CLASSES; i++)
        cx_text_print(&text, "  %-15s %" PRIu64 " blocks (%.1f%% of free space)\n", fragment_class[i].label, report->pieces[i],
                      fragment_percent(report->bytes[i], report->free));
    cx_text_print(&text, "\nFragmentation index: %.2f (0=perfect, 1=fully fragmented)\n", index);
    cx_text_print(&text, "Largest allocation possible: %" PRIu64 " bytes\n\nRecommendation: %s\n", report->largest,
                  fragment_advice(index));
    cx_text_write(&text);
}

void coex_gc_fragmentation_report(void)
{
    struct fragment_report report = {0};
    cx_visit_run("coex_gc_fragmentation_report", false, fragment_visit, fragment_write, &report);
}
