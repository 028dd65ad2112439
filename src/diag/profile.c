/* See profile.h. */
#include "diag/profile.h"

#include "base/os.h"
#include "gc/error.h"
#include "gc/runtime.h"
#include "gc/transition.h"

#include <coex/gc_diag.h>
#include <errno.h>
#include <string.h>

enum {
    PROFILE_INTERVAL = 512 << 10, /* as Go and tcmalloc have it: little to pay, enough to see */
    PROFILE_MOST_SITES = 1 << 16,
    PROFILE_MOST_SAMPLED = 1 << 20
};

static struct cx_profile profile_state = {.lock = {.os = PTHREAD_MUTEX_INITIALIZER, .rank = CX_RANK_PROFILE}};

/* -------------------------------------------------------------------- sites */

/* A larger copy of an array; the old one goes. NULL, and the old one stays: no memory. */
static void *profile_grow(void *old, size_t bytes, size_t room)
{
    void *larger = cx_os_allocate(room);
    if (larger == NULL) return NULL;
    if (bytes != 0) memcpy(larger, old, bytes);
    cx_os_free(old);
    return larger;
}

static void profile_enter_locked(struct cx_profile *profile, uint32_t number)
{
    uint32_t *place = &profile->table[profile->sites[number].hash % profile->site_room];
    profile->sites[number].next = *place;
    *place = number + 1;
}

static bool profile_grow_sites_locked(struct cx_profile *profile)
{
    uint32_t room = profile->site_room == 0 ? 256 : profile->site_room * 2;
    if (room > PROFILE_MOST_SITES) return false;
    uint32_t *table = cx_os_allocate(room * sizeof *table);
    struct cx_site *sites =
        table != NULL ? profile_grow(profile->sites, profile->site_count * sizeof *sites, room * sizeof *sites) : NULL;
    if (sites == NULL) {
        cx_os_free(table);
        return false;
    }
    cx_os_free(profile->table);
    profile->sites = sites;
    profile->table = table;
    profile->site_room = room;
    for (uint32_t i = 0; i < profile->site_count; i++) profile_enter_locked(profile, i);
    return true;
}

static uint64_t profile_hash(uint32_t type, void *const *frame, uint32_t depth)
{
    uint64_t hash = type;
    for (uint32_t i = 0; i < depth; i++) hash = (hash ^ (uintptr_t)frame[i]) * UINT64_C(0x9e3779b97f4a7c15) ^ hash >> 29;
    return hash;
}

/* NULL: no memory. */
static struct cx_site *profile_site_locked(struct cx_profile *profile, uint32_t type, void *const *frame, uint32_t depth)
{
    uint64_t hash = profile_hash(type, frame, depth);
    if (profile->site_room != 0) {
        for (uint32_t at = profile->table[hash % profile->site_room]; at != 0; at = profile->sites[at - 1].next) {
            struct cx_site *site = &profile->sites[at - 1];
            if (site->hash == hash && site->type == type && site->depth == depth &&
                memcmp(site->frame, frame, depth * sizeof *frame) == 0)
                return site;
        }
    }
    if (profile->site_count == profile->site_room && !profile_grow_sites_locked(profile)) return NULL;
    struct cx_site *site = &profile->sites[profile->site_count];
    *site = (struct cx_site){.type = type, .depth = depth, .hash = hash};
    memcpy(site->frame, frame, depth * sizeof *frame);
    profile_enter_locked(profile, profile->site_count++);
    return site;
}

/* ------------------------------------------------------------------ samples */

static bool profile_remember_locked(struct cx_profile *profile, const struct cx_sampled *sampled)
{
    if (profile->sampled_count == profile->sampled_room) {
        uint64_t room = profile->sampled_room == 0 ? 1024 : profile->sampled_room * 2;
        if (room > PROFILE_MOST_SAMPLED) return false;
        void *larger = profile_grow(profile->sampled, profile->sampled_count * sizeof *sampled, room * sizeof *sampled);
        if (larger == NULL) return false;
        profile->sampled = larger;
        profile->sampled_room = room;
    }
    profile->sampled[profile->sampled_count++] = *sampled;
    return true;
}

/* Not a safepoint: the object is complete, and the handle is the caller's. */
void cx_profile_take(coex_handle handle, uint64_t bytes)
{
    struct cx_profile *profile = &profile_state;
    void *frame[CX_PROFILE_DEPTH];
    uint32_t depth = cx_os_backtrace(frame, CX_PROFILE_DEPTH);
    void *payload = cx_handle_payload(&cx_world.handles, handle);
    const struct cx_type *type = cx_type_at(&cx_world.types, cx_header_type(*cx_header_of(payload)));
    double size = (double)cx_round8(cx_type_payload_size(type, payload) + cx_type_prefix(type));
    cx_mutex_lock(&profile->lock);
    struct cx_site *site = profile_site_locked(profile, type->id, frame, depth);
    if (site == NULL) {
        profile->lost++;
    } else {
        struct cx_sampled sampled = {handle, (uint32_t)(site - profile->sites), (double)bytes / size, (double)bytes};
        site->objects += sampled.objects;
        site->bytes += sampled.bytes;
        if (profile_remember_locked(profile, &sampled)) {
            site->live_objects += sampled.objects;
            site->live_bytes += sampled.bytes;
        } else {
            profile->lost++;
        }
    }
    cx_mutex_unlock(&profile->lock);
}

/* Every object that was sampled before this cycle's roots is marked, born or dead; their handles are not reused before a sweep. */
void cx_profile_mark_end_gct(void)
{
    struct cx_profile *profile = &profile_state;
    cx_mutex_lock(&profile->lock);
    uint64_t kept = 0;
    for (uint64_t i = 0; i < profile->sampled_count; i++) {
        const struct cx_sampled *sampled = &profile->sampled[i];
        if (cx_handle_is_marked(&cx_world.handles, sampled->handle) || cx_handle_is_born(&cx_world.handles, sampled->handle)) {
            profile->sampled[kept++] = *sampled;
        } else {
            profile->sites[sampled->site].live_objects -= sampled->objects;
            profile->sites[sampled->site].live_bytes -= sampled->bytes;
        }
    }
    profile->sampled_count = kept;
    cx_mutex_unlock(&profile->lock);
}

/* ------------------------------------------------------------------- public */

static void profile_forget_locked(struct cx_profile *profile)
{
    cx_os_free(profile->sites);
    cx_os_free(profile->table);
    cx_os_free(profile->sampled);
    *profile = (struct cx_profile){.lock = profile->lock};
}

int coex_gc_profile_start(uint64_t interval_bytes)
{
    struct cx_profile *profile = &profile_state;
    void *frame[CX_PROFILE_DEPTH];
    if (!cx_runtime_is_up()) return cx_error_set(COEX_GC_ESTATE, "coex_gc_profile_start: the runtime is not initialised");
    if (interval_bytes > (uint64_t)1 << 40) return cx_error_set(COEX_GC_EINVAL, "coex_gc_profile_start: the interval is too large");
    cx_os_backtrace(frame, CX_PROFILE_DEPTH); /* what it loads the first time, it loads here */
    int code = COEX_GC_OK;
    cx_mutex_lock(&profile->lock);
    if (cx_a64_load_relaxed(&cx_world.events.sample_interval) != 0) {
        code = cx_error_set(COEX_GC_EALREADY, "a profile is being taken already");
    } else {
        profile->sampled_count = profile->site_count = 0;
        if (profile->table != NULL) memset(profile->table, 0, profile->site_room * sizeof *profile->table);
        profile->lost = 0;
        profile->interval = interval_bytes != 0 ? interval_bytes : PROFILE_INTERVAL;
        cx_a64_store_relaxed(&cx_world.events.sample_interval, profile->interval);
    }
    cx_mutex_unlock(&profile->lock);
    return code;
}

void coex_gc_profile_stop(void)
{
    if (cx_runtime_is_up()) cx_a64_store_relaxed(&cx_world.events.sample_interval, 0);
}

static int profile_write_locked(const struct cx_profile *profile, const char *path)
{
    if (path == NULL || path[0] == '\0') return cx_error_set(COEX_GC_EINVAL, "a profile needs the name of a file");
    if (profile->interval == 0) return cx_error_set(COEX_GC_ESTATE, "no profile was started");
    FILE *file = fopen(path, "wb");
    if (file == NULL) return cx_error_set(COEX_GC_EINVAL, "can't write the profile to %.200s: %s", path, strerror(errno));
    bool good = cx_pprof_write(file, profile);
    good = fclose(file) == 0 && good;
    return good ? COEX_GC_OK : cx_error_set(COEX_GC_EINVAL, "can't write the profile to %.200s", path);
}

int coex_gc_profile_write(const char *path)
{
    if (!cx_runtime_is_up()) return cx_error_set(COEX_GC_ESTATE, "coex_gc_profile_write: the runtime is not initialised");
    struct cx_thread *self = cx_thread_self();
    int before = cx_os_hold_cancellation();
    if (self != NULL) cx_transition_enter_self(self);
    cx_mutex_lock(&profile_state.lock);
    int code = profile_write_locked(&profile_state, path);
    cx_mutex_unlock(&profile_state.lock);
    if (self != NULL) cx_transition_leave_self(cx_thread_need_self("coex_gc_profile_write"));
    cx_os_allow_cancellation(before);
    return code;
}

void cx_profile_fini(void)
{
    cx_mutex_lock(&profile_state.lock);
    cx_mutex_unlock(&profile_state.lock);
    profile_forget_locked(&profile_state);
}

void cx_profile_fork_lock(void) { cx_mutex_lock(&profile_state.lock); }
void cx_profile_fork_unlock(void) { cx_mutex_unlock(&profile_state.lock); }
