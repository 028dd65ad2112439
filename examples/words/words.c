/* Counts the words of its input on several threads. A channel carries lines to the workers, each
 * worker fills a map, and a second channel carries the maps back.
 *
 *     words < README.md          prints the ten most frequent words
 *
 * The worker shows two rules. A received value goes into a slot before the next safepoint. The
 * loop ends when the channel is closed and empty. */
#include <coex/values.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WORKERS = 3, SHOWN = 10, WAITING_LINES = 64 };

/* Everything here that gives 0 or false is out of memory: nothing else can fail. */
static coex_handle must(coex_handle made)
{
    if (made == 0) {
        fprintf(stderr, "words: %s\n", coex_status_string(coex_last_status()));
        exit(1);
    }
    return made;
}

/* slots[0]: the counts so far, a map from strings to numbers. Adds `times` to those of `word`, which the caller roots. */
static void count_word(coex_handle *slots, coex_handle word, uint64_t times)
{
    uint64_t before = 0;
    if (coex_map_has(slots[0], word)) coex_map_get(slots[0], word, &before);
    slots[0] = must(coex_map_set(slots[0], word, before + times));
}

enum { COUNTS, LINES, RESULTS, LINE, SPACE, SLOTS };

/* Its argument is a list: the channel to receive from, the channel to send to. */
static void *work(void *spawn)
{
    coex_handle argument = coex_gc_spawn_attach(spawn); /* rooted by the runtime */
    coex_handle *slots = coex_gc_enter_frame(SLOTS);
    slots[LINES] = coex_list_get(argument, 0);
    slots[RESULTS] = coex_list_get(argument, 1);
    slots[COUNTS] = must(coex_map_empty(COEX_MAP_STRING));
    slots[SPACE] = must(coex_string_from_c(" "));

    uint64_t received;
    while (coex_channel_receive(slots[LINES], &received)) {
        slots[LINE] = received; /* in a slot at once */
        slots[LINE] = must(coex_string_lower_ascii(slots[LINE]));
        slots[LINE] = must(coex_string_split(slots[LINE], slots[SPACE])); /* a list, which keeps its words alive */
        for (uint64_t i = 0; i < coex_list_len(slots[LINE]); i++) {
            coex_handle word = coex_list_get(slots[LINE], i);
            if (coex_string_len(word) > 0) count_word(slots, word, 1);
        }
    }
    coex_channel_send(slots[RESULTS], slots[COUNTS]);
    coex_gc_leave_frame(slots);
    coex_gc_unregister_thread();
    return NULL;
}

static void send_lines(coex_handle lines)
{
    char text[4096];
    coex_handle *slots = coex_gc_enter_frame(1);
    while (fgets(text, sizeof text, stdin) != NULL) { /* a file; from a terminal this would be in native mode */
        for (char *at = text; *at != 0; at++) {
            if (strchr("\n\t.,;:!?\"()", *at) != NULL) *at = ' ';
        }
        slots[0] = must(coex_string_from_lossy(text, strlen(text)));
        coex_channel_send(lines, slots[0]);
    }
    coex_gc_leave_frame(slots);
    coex_channel_close(lines);
}

static void start_worker(pthread_t *thread, coex_handle lines, coex_handle results)
{
    coex_handle both[] = {lines, results};
    coex_handle *slots = coex_gc_enter_frame(1);
    slots[0] = must(coex_list_from_words(both, 2, true));
    coex_gc_spawn *spawn = coex_gc_spawn_prepare(slots[0]);
    coex_gc_leave_frame(slots);
    if (spawn == NULL || pthread_create(thread, NULL, work, spawn) != 0) {
        fprintf(stderr, "words: no thread could be started\n");
        exit(1);
    }
}

/* Adds what a worker counted to slots[0]; slots[1] and slots[2] are used. */
static void add_counts(coex_handle *slots, coex_handle counts)
{
    uint64_t word, times;
    slots[1] = counts;
    slots[2] = must(coex_map_iterate(slots[1]));
    while (coex_map_next(slots[2], &word, &times)) count_word(slots, word, times);
}

/* The most frequent word first, of equals the one that comes first in order. Takes them out of slots[0]. */
static bool print_next(coex_handle *slots)
{
    uint64_t word, times, most = 0;
    slots[1] = 0;
    slots[2] = must(coex_map_iterate(slots[0]));
    while (coex_map_next(slots[2], &word, &times)) {
        if (times < most || (times == most && coex_string_compare(word, slots[1]) > 0)) continue;
        most = times;
        slots[1] = word;
    }
    if (most == 0) return false;
    printf("%6d  %.*s\n", (int)most, (int)coex_string_len(slots[1]), coex_string_data(slots[1]));
    slots[0] = must(coex_map_remove(slots[0], slots[1]));
    return true;
}

int main(void)
{
    pthread_t threads[WORKERS];
    coex_gc_init();
    coex_values_init();
    coex_handle *slots = coex_gc_enter_frame(5);
    slots[3] = must(coex_channel_new(WAITING_LINES, true));
    slots[4] = must(coex_channel_new(0, true));
    for (int i = 0; i < WORKERS; i++) start_worker(&threads[i], slots[3], slots[4]);
    send_lines(slots[3]);

    slots[0] = must(coex_map_empty(COEX_MAP_STRING));
    for (int i = 0; i < WORKERS; i++) {
        uint64_t counts;
        if (coex_channel_receive(slots[4], &counts)) add_counts(slots, counts);
    }
    for (int i = 0; i < WORKERS; i++) COEX_GC_NATIVE(pthread_join(threads[i], NULL));
    for (int i = 0; i < SHOWN && print_next(slots); i++) {
    }
    coex_gc_leave_frame(slots);
    coex_gc_shutdown();
    return 0;
}
