/*
 * What makes a cycle start, and what does not: one crossing of a trigger is one request, and a wake-up of the GC thread is none.
 */
#include "support/borders.h"

#include <dirent.h>

/* ---- the trigger -------------------------------------------------------------------------------------------------- */

enum { ALLOCATORS = 4, TRIGGER = 200000 };

static void allocate_some(unsigned index, void *unused)
{
    (void)index, (void)unused;
    coex_gc_register_thread();
    make_garbage(TRIGGER * 6 / 5 / ALLOCATORS);
    coex_gc_unregister_thread();
}

/* All threads come to the trigger at about the same time, and each of them may ask; after the cycle, who allocates more has not crossed it
 * again. */
TEST(one_crossing_of_the_trigger_gives_one_cycle)
{
    coex_gc_config config = quiet_config();
    config.trigger_allocations = TRIGGER;
    start_with(&config);
    nodes_init();
    for (uint64_t crossing = 1; crossing <= 3; crossing++) {
        COEX_GC_NATIVE(run_threads(ALLOCATORS, allocate_some, NULL));
        for (int i = 0; i < 5; i++) {
            coex_gc_wait_for_completion();
            make_garbage(TRIGGER / 10);
        }
        coex_gc_wait_for_completion();
        ck_assert_uint_eq(stats_now().collections_completed, crossing);
        coex_gc_set_trigger_threshold(TRIGGER); /* counts from here */
    }
    coex_gc_shutdown();
}

/* ---- wake-ups ----------------------------------------------------------------------------------------------------- */

/* How often the GC thread has gone to sleep. */
static uint64_t sleeps_of_gc_thread(void)
{
    uint64_t sleeps = 0;
    DIR *tasks = opendir("/proc/self/task");
    expect(tasks != NULL);
    for (struct dirent *task; (task = readdir(tasks)) != NULL;) {
        char path[320], line[128];
        bool found = false;
        snprintf(path, sizeof path, "/proc/self/task/%s/status", task->d_name);
        FILE *status = fopen(path, "r");
        if (status == NULL) continue;
        while (fgets(line, sizeof line, status) != NULL) {
            found = found || strcmp(line, "Name:\tcoexgc\n") == 0;
            if (found) sscanf(line, "voluntary_ctxt_switches: %" SCNu64, &sleeps);
        }
        fclose(status);
    }
    closedir(tasks);
    return sleeps;
}

/* After a cycle it wakes up by itself, to give memory back: its condition does not hold, and it sleeps again. */
TEST(a_gc_thread_that_wakes_up_without_a_request_starts_no_cycle)
{
    way_start();
    make_garbage(100000);
    coex_gc_collect();
    uint64_t sleeps = sleeps_of_gc_thread();
    double until = now_seconds() + 15;
    while (sleeps_of_gc_thread() < sleeps + 2 && now_seconds() < until) COEX_GC_NATIVE(sleep_ms(50));
    ck_assert_uint_ge(sleeps_of_gc_thread(), sleeps + 1);
    ck_assert_uint_eq(stats_now().collections_completed, 1);
    coex_gc_shutdown();
}
