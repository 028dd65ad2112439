/* See profile.h. */
#include "diag/events/profile.h"

#include "base/os.h"
#include "base/own_code.h"
#include "base/schedule_point.h"
#include "gc/error.h"
#include "gc/api/runtime.h"
#include "gc/threads/native_transition.h"
#include "gc/lock_rank.h"

#include <coex/gc_diag.h>
#include <errno.h>
#include <string.h>

enum {
    PROFILE_INTERVAL = 512 << 10,   /* as in Go and tcmalloc: cheap, and enough to see */
    PROFILE_MOST_SITES = 1 << 18,   /* with stacks of 20 frames 60 MB */
    PROFILE_MOST_SAMPLED = 1 << 22, /* 128 MB */
    PROFILE_PLACES = 1 << 16,       /* of the table: never grown, which would take too long with the lock held */
    PROFILE_WALKERS = 4,            /* frames that may lie inside ours: one is known */
    PROFILE_OWN_FRAMES = 16         /* room for frames of the library, which are cut off */
};

struct cx_profile cx_profile = {
    .lock = CX_MUTEX_INITIALIZER(CX_RANK_PROFILE),
    .most_sites = PROFILE_MOST_SITES,
    .most_sampled = PROFILE_MOST_SAMPLED,
};

/* -------------------------------------------------------------------- sites */

static uint64_t profile_hash(uint32_t type, void *const *frame, uint32_t depth)
{
    uint64_t hash = type;
    for (uint32_t i = 0; i < depth; i++) hash = (hash ^ (uintptr_t)frame[i]) * UINT64_C(0x9e3779b97f4a7c15) ^ hash >> 29;
    return hash;
}

static bool profile_is_site(const struct cx_site *site, uint64_t hash, uint32_t type, void *const *frame, uint32_t depth)
{
    return site->hash == hash && site->type == type && site->depth == depth &&
           memcmp(site->frame, frame, depth * sizeof *frame) == 0;
}

/* Returns the site of a call stack, a new one if need be; NULL if there are too many or there is no memory. */
static struct cx_site *profile_site_locked(struct cx_profile *profile, uint32_t type, void *const *frame, uint32_t depth)
{
    uint64_t hash = profile_hash(type, frame, depth);
    struct cx_site **place = &profile->table[(hash ^ hash >> 32) % PROFILE_PLACES];
    for (struct cx_site *site = *place; site != NULL; site = site->next) {
        if (profile_is_site(site, hash, type, frame, depth)) return site;
    }
    size_t frames = depth * sizeof *frame;
    struct cx_site *site = profile->site_count < profile->most_sites ? cx_os_allocate(sizeof *site + frames) : NULL;
    if (site == NULL) return NULL;
    *site = (struct cx_site){.next = *place, .older = profile->newest, .hash = hash, .type = type, .depth = depth};
    memcpy(site->frame, frame, frames);
    *place = profile->newest = site;
    profile->site_count++;
    return site;
}

/* ------------------------------------------------------------------ samples */

/* Remembers a sample. Returns false if there are too many or there is no memory. */
static bool profile_remember_locked(struct cx_profile *profile, const struct cx_sampled *sampled)
{
    struct cx_sampled_chunk *chunk = profile->sampled;
    if (profile->sampled_count >= profile->most_sampled) return false;
    if (chunk == NULL || chunk->count == CX_PROFILE_CHUNK) {
        chunk = cx_os_allocate(sizeof *chunk);
        if (chunk == NULL) return false;
        chunk->next = profile->sampled;
        profile->sampled = chunk;
    }
    chunk->sampled[chunk->count++] = *sampled;
    profile->sampled_count++;
    return true;
}

static void profile_count_locked(struct cx_profile *profile, const struct cx_sampled *sampled)
{
    struct cx_profile_counts *counts = sampled->counts;
    counts->objects += sampled->objects;
    counts->bytes += sampled->bytes;
    if (counts == &profile->other) cx_a64_add_relaxed(&profile->other_samples, 1);
    if (profile_remember_locked(profile, sampled)) {
        counts->live_objects += sampled->objects;
        counts->live_bytes += sampled->bytes;
    } else {
        cx_a64_add_relaxed(&profile->unfollowed_samples, 1);
        profile->unfollowed_bytes += sampled->bytes;
    }
}

/* A return address is one past its call. */
static bool profile_is_own(const void *frame) { return cx_own_code_has((const char *)frame - 1); }

/* Returns how many of the innermost frames belong to the library, or to what walks the stack for it (a sanitizer's
 * own function). Frames of the library further out (it has called the program back) stay, and so does the outermost
 * frame of a stack that is the library's alone. */
static uint32_t profile_own_frames(void *const *frame, uint32_t depth)
{
    uint32_t own = 0;
    while (own < PROFILE_WALKERS && own + 1 < depth && !profile_is_own(frame[own])) own++;
    if (own == PROFILE_WALKERS) return 0; /* the library's code is not marked */
    while (own + 1 < depth && profile_is_own(frame[own])) own++;
    return own;
}

/* Not a safepoint: the object is complete, and the handle is the caller's. */
void cx_profile_take(coex_handle handle, uint64_t bytes)
{
    struct cx_profile *profile = &cx_profile;
    void *frame[PROFILE_OWN_FRAMES + CX_PROFILE_DEPTH];
    uint32_t depth = cx_os_backtrace(frame, PROFILE_OWN_FRAMES + CX_PROFILE_DEPTH), own = profile_own_frames(frame, depth);
    depth = depth - own < CX_PROFILE_DEPTH ? depth - own : CX_PROFILE_DEPTH;
    void *payload = cx_handle_payload(&cx_world.handles, handle);
    const struct cx_type *type = cx_type_at(&cx_world.types, cx_header_type(*cx_header_of(payload)));
    double size = (double)cx_round8(cx_type_payload_size(type, payload) + cx_type_prefix(type));
    cx_mutex_lock(&profile->lock);
    struct cx_site *site = profile->table != NULL ? profile_site_locked(profile, type->id, frame + own, depth) : NULL;
    struct cx_profile_counts *counts = site != NULL ? &site->counts : &profile->other;
    profile_count_locked(profile, &(struct cx_sampled){handle, counts, (double)bytes / size, (double)bytes});
    cx_mutex_unlock(&profile->lock);
}

/* ---------------------------------------------------------------- the marked */

/* Moves the samples of living objects to the front of the chunk. Returns how many there are. Every object that was
 * sampled before this cycle's roots is marked, born or dead, and handles of the dead are not reused before a sweep. */
static uint32_t profile_part_gct(struct cx_sampled_chunk *chunk)
{
    uint32_t living = 0;
    for (uint32_t i = 0; i < chunk->count; i++) {
        struct cx_sampled sampled = chunk->sampled[i];
        if (!cx_handle_is_marked(&cx_world.handles, sampled.handle) && !cx_handle_is_born(&cx_world.handles, sampled.handle))
            continue;
        chunk->sampled[i] = chunk->sampled[living];
        chunk->sampled[living++] = sampled;
    }
    return living;
}

/* Subtracts the dead, which are behind the living. Returns false if the sites are gone. */
static bool profile_strike_gct(struct cx_profile *profile, struct cx_sampled_chunk *chunk, uint32_t living, uint64_t generation)
{
    cx_mutex_lock(&profile->lock);
    bool same = profile->generation == generation;
    for (uint32_t i = living; same && i < chunk->count; i++) {
        chunk->sampled[i].counts->live_objects -= chunk->sampled[i].objects;
        chunk->sampled[i].counts->live_bytes -= chunk->sampled[i].bytes;
    }
    if (same) profile->sampled_count -= chunk->count - living;
    cx_mutex_unlock(&profile->lock);
    chunk->count = living;
    return same;
}

/* Adds a chunk to those that stay: fills up the first of them, and frees the chunk if nothing is left in it. */
static void profile_keep(struct cx_sampled_chunk **kept, struct cx_sampled_chunk *chunk)
{
    struct cx_sampled_chunk *first = *kept;
    while (first != NULL && chunk->count != 0 && first->count < CX_PROFILE_CHUNK)
        first->sampled[first->count++] = chunk->sampled[--chunk->count];
    if (chunk->count == 0) {
        cx_os_free(chunk);
        return;
    }
    chunk->next = first;
    *kept = chunk;
}

static void profile_free_samples(struct cx_sampled_chunk *chunk)
{
    while (chunk != NULL) {
        struct cx_sampled_chunk *next = chunk->next;
        cx_os_free(chunk);
        chunk = next;
    }
}

/* Puts the chunks that stay back, before those that were filled meanwhile; not if they are of a profile that is gone. */
static void profile_put_back_gct(struct cx_profile *profile, struct cx_sampled_chunk *kept, uint64_t generation)
{
    struct cx_sampled_chunk *last = kept;
    while (last->next != NULL) last = last->next;
    cx_mutex_lock(&profile->lock);
    bool same = profile->generation == generation;
    if (same) {
        last->next = profile->sampled;
        profile->sampled = kept;
    }
    cx_mutex_unlock(&profile->lock);
    if (!same) profile_free_samples(kept);
}

void cx_profile_mark_end_gct(void)
{
    struct cx_profile *profile = &cx_profile;
    struct cx_sampled_chunk *kept = NULL;
    cx_mutex_lock(&profile->lock);
    struct cx_sampled_chunk *chunk = profile->sampled;
    uint64_t generation = profile->generation;
    profile->sampled = NULL;
    cx_mutex_unlock(&profile->lock);
    CX_SCHEDULE_POINT("profile-samples-taken");
    while (chunk != NULL) {
        struct cx_sampled_chunk *next = chunk->next;
        if (!profile_strike_gct(profile, chunk, profile_part_gct(chunk), generation)) chunk->count = 0;
        profile_keep(&kept, chunk);
        chunk = next;
    }
    if (kept != NULL) profile_put_back_gct(profile, kept, generation);
}

/* ------------------------------------------------------------- start and stop */

static void profile_free_sites(struct cx_site *site)
{
    while (site != NULL) {
        struct cx_site *older = site->older;
        cx_os_free(site);
        site = older;
    }
}

static void profile_begin_locked(struct cx_profile *profile, struct cx_site **table, uint64_t interval)
{
    profile->generation++;
    profile->interval = interval;
    profile->table = table;
    profile->newest = NULL;
    profile->site_count = 0;
    profile->other = (struct cx_profile_counts){0};
    profile->sampled = NULL;
    profile->sampled_count = 0;
    profile->unfollowed_bytes = 0;
    cx_a64_store_relaxed(&profile->other_samples, 0);
    cx_a64_store_relaxed(&profile->unfollowed_samples, 0);
    cx_a64_store_relaxed(&cx_world.events.sample_interval, interval);
}

/* Begins a new generation with an empty table, and frees what the old one has gathered, outside the lock. Returns
 * false if a profile is being taken and another was to begin. */
static bool profile_renew(struct cx_profile *profile, struct cx_site **table, uint64_t interval)
{
    cx_mutex_lock(&profile->lock);
    bool free_to_go = interval == 0 || cx_a64_load_relaxed(&cx_world.events.sample_interval) == 0;
    struct cx_site *sites = free_to_go ? profile->newest : NULL, **unused = free_to_go ? profile->table : table;
    struct cx_sampled_chunk *samples = free_to_go ? profile->sampled : NULL;
    if (free_to_go) profile_begin_locked(profile, table, interval);
    cx_mutex_unlock(&profile->lock);
    profile_free_sites(sites);
    profile_free_samples(samples);
    cx_os_free(unused);
    return free_to_go;
}

int coex_gc_profile_start(uint64_t interval_bytes)
{
    void *frame[CX_PROFILE_DEPTH];
    if (!cx_runtime_is_up()) return cx_error_set(COEX_GC_ESTATE, "coex_gc_profile_start: the runtime is not initialised");
    if (interval_bytes > (uint64_t)1 << 40) return cx_error_set(COEX_GC_EINVAL, "coex_gc_profile_start: `interval_bytes` must be at most 1 TiB");
    struct cx_site **table = cx_os_allocate(PROFILE_PLACES * sizeof *table);
    if (table == NULL) return cx_error_set(COEX_GC_ENOMEM, "coex_gc_profile_start: no memory for a profile");
    cx_os_backtrace(frame, CX_PROFILE_DEPTH); /* what it loads the first time, it loads here */
    bool begun = profile_renew(&cx_profile, table, interval_bytes != 0 ? interval_bytes : PROFILE_INTERVAL);
    return begun ? COEX_GC_OK : cx_error_set(COEX_GC_EALREADY, "coex_gc_profile_start: a profile is already being recorded");
}

void coex_gc_profile_stop(void)
{
    if (cx_runtime_is_up()) cx_a64_store_relaxed(&cx_world.events.sample_interval, 0);
}

void cx_profile_fini(void) { profile_renew(&cx_profile, NULL, 0); }
void cx_profile_fork_lock(void) { cx_mutex_lock(&cx_profile.lock); }
void cx_profile_fork_unlock(void) { cx_mutex_unlock(&cx_profile.lock); }
