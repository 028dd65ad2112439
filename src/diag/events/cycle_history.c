/* Lines about each cycle, on the stream that traces go to. Trace level 1 tells of its phases as they pass. COEX_GC=gctrace=1 prints one
 * line when it is over, in the order in which Go's gctrace has it:
 *
 *     gc 12 @3.482s 2%: 0.31+8.2+1.9 ms clock, 9.8 ms cpu, 40->44->21 MB, 42 MB goal, 183204 objects, 7 threads, stop 12/40 us
 *
 * number, time since init, part of one core that cycles have taken since then; clear and handshakes, mark, sweep; time on the CPU of who
 * ran it; heap when it began, when marking ended, and what is live; goal; objects marked; threads; stops: p99 and longest.
 *
 * Entered by the collector only. */
#include "base/os.h"
#include "diag/events/event_listener.h"
#include "gc/cycle/stages.h"
#include "gc/cycle/pace.h"
#include "diag/output.h"

#include <string.h>

static double cycle_history_mb(uint64_t bytes) { return (double)bytes / 1048576.0; }
static double cycle_history_ms(uint64_t ns) { return (double)ns / 1e6; }
/* Behind the point, so that two digits say something. */
static int cycle_history_digits(uint64_t ns) { return ns >= 10000000 ? 0 : ns >= 1000000 ? 1 : ns >= 100000 ? 2 : 3; }

static bool cycle_history_tell(const struct cx_event_statistics *listener) { return cx_a64_load_relaxed(&listener->trace_level) >= 1; }

/* The heap is full when it reaches what would start the next cycle. */
void cx_cycle_history_begin_gct(struct cx_event_statistics *listener, uint64_t number)
{
    listener->begin_ns = cx_os_now_ns();
    listener->begin_cpu_ns = cx_os_thread_cpu_ns();
    uint64_t goal = cx_a64_load_relaxed(&cx_pace.goal);
    if (cycle_history_tell(listener))
        cx_output_print("[GC] Collection #%llu starting (heap %llu%% full)\n", (unsigned long long)number,
                        (unsigned long long)(goal == 0 ? 0 : listener->used_at_begin * 100 / goal));
}

void cx_cycle_history_stage_gct(struct cx_event_statistics *listener, uint64_t stage)
{
    if (strcmp(cx_cycle_stage_name(stage), "roots") == 0) listener->roots_ns = cx_os_now_ns() - listener->begin_ns;
}

void cx_cycle_history_mark_end_gct(struct cx_event_statistics *listener)
{
    listener->used_at_mark_end = cx_a64_load_relaxed(&cx_world.heap.used);
    if (cycle_history_tell(listener)) cx_output_print("[GC] Mark phase: %llu objects marked\n", (unsigned long long)listener->marked);
}

void cx_cycle_history_sweep_end_gct(struct cx_event_statistics *listener)
{
    uint64_t used = cx_a64_load_relaxed(&cx_world.heap.used),
             free = cx_a64_load_relaxed(&cx_world.heap.swept_free_lines) * CX_LINE_BYTES;
    uint64_t left = used > free ? used - free : 0;
    if (cycle_history_tell(listener))
        cx_output_print("[GC] Sweep phase: %llu objects reclaimed (%.1f MB)\n", (unsigned long long)listener->swept,
                        cycle_history_mb(listener->used_at_mark_end > left ? listener->used_at_mark_end - left : 0));
}

static void cycle_history_line(const struct cx_event_statistics *listener, uint64_t number, uint64_t cpu_ns)
{
    uint64_t since = cx_os_now_ns() - listener->started_ns;
    uint64_t mark = listener->mark_ns > listener->roots_ns ? listener->mark_ns - listener->roots_ns : 0;
    cx_output_print("gc %llu @%.3fs %llu%%: %.*f+%.*f+%.*f ms clock, %.*f ms cpu, %.0f->%.0f->%.0f MB, %.0f MB goal, %llu objects, "
                    "%u threads, stop %.0f/%.0f us\n",
                    (unsigned long long)number, (double)since / 1e9,
                    (unsigned long long)(since == 0 ? 0 : listener->cycles_cpu_ns * 100 / since), cycle_history_digits(listener->roots_ns),
                    cycle_history_ms(listener->roots_ns), cycle_history_digits(mark), cycle_history_ms(mark), cycle_history_digits(listener->sweep_ns),
                    cycle_history_ms(listener->sweep_ns), cycle_history_digits(cpu_ns), cycle_history_ms(cpu_ns), cycle_history_mb(listener->used_at_begin),
                    cycle_history_mb(listener->used_at_mark_end), cycle_history_mb(cx_a64_load_relaxed(&cx_pace.live)),
                    cycle_history_mb(cx_a64_load_relaxed(&cx_pace.goal)), (unsigned long long)listener->marked,
                    cx_a32_load_relaxed(&cx_world.registry.live), (double)listener->last_stop_wall.p99 / 1e3,
                    (double)listener->last_stop_wall.max / 1e3);
}

void cx_cycle_history_end_gct(struct cx_event_statistics *listener, uint64_t number, uint64_t duration_ns)
{
    uint64_t now = cx_os_thread_cpu_ns();
    uint64_t cpu = now > listener->begin_cpu_ns ? now - listener->begin_cpu_ns : 0; /* 0: another thread has ended it */
    listener->cycles_cpu_ns += cpu;
    if (cycle_history_tell(listener))
        cx_output_print("[GC] Collection #%llu complete in %.1f ms\n", (unsigned long long)number, cycle_history_ms(duration_ns));
    if (cx_world.config.gctrace) cycle_history_line(listener, number, cpu);
}
