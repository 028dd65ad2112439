/* See profile_copy.h. */
#include "diag/events/profile_copy.h"

#include "base/os.h"
#include "base/schedule_point.h"
#include "gc/error.h"
#include "gc/api/runtime.h"

#include <string.h>

enum { COPY_BLOCK = 1 << 15 }; /* bytes that are copied with the lock held: some ten microseconds */

struct cx_profile_block {
    struct cx_profile_block *next;
    size_t used;
    uint64_t words[COPY_BLOCK / 8];
};

/* Copies a site into the block. Returns false if there is no room. */
static bool copy_site_locked(struct cx_profile_copy *copy, struct cx_profile_block *block, const struct cx_site *site)
{
    const struct cx_type *type = cx_type_find(&cx_world.types, site->type);
    const char *name = type != NULL ? type->descriptor->name : "?";
    size_t frames = site->depth * sizeof site->frame[0], length = 0;
    while (length < CX_PROFILE_NAME - 1 && name[length] != '\0') length++;
    struct cx_profile_row *row = (void *)&block->words[block->used];
    size_t words = (sizeof *row + frames + length + 1 + 7) / 8;
    if (words > COPY_BLOCK / 8 - block->used) return false;
    *row = (struct cx_profile_row){.next = copy->rows, .counts = site->counts, .type = site->type, .depth = site->depth};
    memcpy(row->frame, site->frame, frames);
    row->name = (char *)row + sizeof *row + frames;
    memcpy(row->name, name, length);
    row->name[length] = '\0';
    block->used += words;
    copy->rows = row;
    return true;
}

/* Returns the first site that did not fit; NULL: all are copied. */
static const struct cx_site *copy_some_locked(struct cx_profile_copy *copy, struct cx_profile_block *block,
                                              const struct cx_site *site)
{
    while (site != NULL && copy_site_locked(copy, block, site)) site = site->older;
    return site;
}

static void copy_begin_locked(struct cx_profile_copy *copy, const struct cx_profile *profile)
{
    *copy = (struct cx_profile_copy){
        .interval = profile->interval,
        .other_samples = cx_a64_load_relaxed(&profile->other_samples),
        .unfollowed_samples = cx_a64_load_relaxed(&profile->unfollowed_samples),
        .most_sites = profile->most_sites,
        .other = profile->other,
        .unfollowed_bytes = profile->unfollowed_bytes,
    };
}

/* One attempt. Sets `*again` if the profile was started anew or the runtime went down in the middle of it. */
static int copy_try(struct cx_profile_copy *copy, struct cx_profile *profile, bool *again)
{
    cx_mutex_lock(&profile->lock);
    copy_begin_locked(copy, profile);
    uint64_t generation = profile->generation;
    const struct cx_site *site = profile->newest;
    cx_mutex_unlock(&profile->lock);
    CX_SCHEDULE_POINT("profile-copy-begun");
    if (copy->interval == 0) return cx_error_set(COEX_GC_ESTATE, "no profile was started");
    while (site != NULL && !*again) {
        struct cx_profile_block *block = cx_os_allocate(sizeof *block);
        if (block == NULL) return cx_error_set(COEX_GC_ENOMEM, "no memory to write a profile");
        block->next = copy->blocks;
        copy->blocks = block;
        cx_mutex_lock(&profile->lock);
        *again = profile->generation != generation;
        if (!*again) site = copy_some_locked(copy, block, site);
        cx_mutex_unlock(&profile->lock);
    }
    return COEX_GC_OK;
}

int cx_profile_copy_take(struct cx_profile_copy *copy)
{
    for (;;) {
        bool again = false;
        int code = copy_try(copy, &cx_profile, &again);
        if (!again) return code;
        cx_profile_copy_free(copy);
    }
}

void cx_profile_copy_free(struct cx_profile_copy *copy)
{
    for (struct cx_profile_block *block = copy->blocks; block != NULL;) {
        struct cx_profile_block *next = block->next;
        cx_os_free(block);
        block = next;
    }
    *copy = (struct cx_profile_copy){0};
}
