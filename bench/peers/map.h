/* The interface of the subjects of the map benchmark: integers to integers, and strings to
 * integers. Each subject holds one map at a time. */
#ifndef BENCH_PEERS_MAP_H
#define BENCH_PEERS_MAP_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct map_subject {
    const char *name;
    void (*build)(const uint64_t *keys, uint64_t count);      /* keys[i] to i, into a new map */
    uint64_t (*lookup)(const uint64_t *keys, uint64_t count); /* the sum of the values that are there */
    uint64_t (*iterate)(void);                                /* the sum of all values */
    void (*remove)(const uint64_t *keys, uint64_t count);
    void (*drop)(void);
    void (*build_text)(char *const *keys, uint64_t count);
    uint64_t (*lookup_text)(char *const *keys, uint64_t count);
    void (*drop_text)(void);
};

extern const struct map_subject map_subject_glib;
extern const struct map_subject map_subject_std;

#ifdef __cplusplus
}
#endif

#endif
