/*
 * The event ring: what is read back is what was written, whole, whatever many threads write meanwhile; the oldest records go first.
 */
#include "support/test.h"

#include "diag/events/ring.h"

static struct cx_ring ring;

static struct cx_trace_record record_of(uint64_t writer, uint64_t serial)
{
    struct cx_trace_record record = {.time_ns = writer, .thread = (uint32_t)writer, .kind = (uint32_t)serial};
    for (unsigned i = 0; i < CX_TRACE_VALUES; i++) record.value[i] = writer * 1000003 + serial * (i + 1);
    return record;
}

static void expect_whole(const struct cx_trace_record *record)
{
    uint64_t serial = record->value[1] - record->value[0];
    for (unsigned i = 0; i < CX_TRACE_VALUES; i++) expect_eq(record->value[i], record->time_ns * 1000003 + serial * (i + 1));
    expect_eq(record->thread, record->time_ns);
    expect_eq(record->kind, (uint32_t)serial);
}

TEST(records_come_back_in_the_order_of_their_tickets)
{
    expect(cx_ring_init(&ring, 64));
    for (uint64_t i = 0; i < 50; i++) {
        struct cx_trace_record record = record_of(7, i);
        cx_ring_put(&ring, &record);
    }
    expect_eq(cx_ring_now(&ring), 50);
    expect_eq(cx_ring_oldest(&ring, 0), 0);
    for (uint64_t i = 0; i < 50; i++) {
        struct cx_trace_record record;
        expect(cx_ring_get(&ring, i, &record));
        expect_whole(&record);
        expect_eq(record.kind, i);
    }
    struct cx_trace_record record;
    expect(!cx_ring_get(&ring, 50, &record)); /* not written yet */
    cx_ring_fini(&ring);
}

TEST(the_oldest_records_are_overwritten_and_counted)
{
    expect(cx_ring_init(&ring, 64));
    for (uint64_t i = 0; i < 1000; i++) {
        struct cx_trace_record record = record_of(3, i);
        cx_ring_put(&ring, &record);
    }
    expect_eq(cx_ring_oldest(&ring, 0), 1000 - 64);
    expect_eq(cx_ring_oldest(&ring, 990), 990);
    struct cx_trace_record record;
    expect(!cx_ring_get(&ring, 1000 - 65, &record));
    for (uint64_t i = 1000 - 64; i < 1000; i++) {
        expect(cx_ring_get(&ring, i, &record));
        expect_eq(record.kind, i);
    }
    expect_eq(cx_a64_load_relaxed(&ring.lost), 0);
    cx_ring_fini(&ring);
}

/* ---- many writers ------------------------------------------------------------------------------------------ */

enum { WRITERS = 4 };

static uint64_t per_writer(void) { return test_is_sanitized() ? 20000 : 300000; }

static void write_many(unsigned index, void *unused)
{
    (void)unused;
    for (uint64_t i = 0; i < per_writer(); i++) {
        struct cx_trace_record record = record_of(index + 1, i);
        cx_ring_put(&ring, &record);
    }
}

static void write_or_read(unsigned index, void *unused)
{
    if (index < WRITERS) {
        write_many(index, unused);
        return;
    }
    uint64_t whole = 0;
    while (cx_ring_now(&ring) < per_writer() * WRITERS) {
        uint64_t last = cx_ring_now(&ring);
        for (uint64_t ticket = cx_ring_oldest(&ring, 0); ticket < last; ticket++) {
            struct cx_trace_record record;
            if (!cx_ring_get(&ring, ticket, &record)) continue;
            expect_whole(&record);
            whole++;
        }
    }
    expect(whole > 0);
}

TEST(what_is_read_while_others_write_is_whole)
{
    expect(cx_ring_init(&ring, 256)); /* small: writers lap each other and the reader */
    run_threads(WRITERS + 1, write_or_read, NULL);
    uint64_t there = 0;
    for (uint64_t ticket = cx_ring_oldest(&ring, 0); ticket < cx_ring_now(&ring); ticket++) {
        struct cx_trace_record record;
        there += cx_ring_get(&ring, ticket, &record);
    }
    expect(there + cx_a64_load_relaxed(&ring.lost) >= 256); /* what is not there was counted */
    expect(there > 0);
    cx_ring_fini(&ring);
}
