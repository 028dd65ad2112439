/*
 * run_threads: a group of threads that start together and are joined together.
 */
#include "support/test.h"

#include <pthread.h>

typedef struct thread_group {
    pthread_barrier_t start;
    void (*fn)(unsigned index, void *arg);
    void *arg;
} thread_group;

typedef struct group_member {
    thread_group *group;
    pthread_t thread;
    unsigned index;
} group_member;

static void *member_run(void *arg)
{
    group_member *self = arg;
    pthread_barrier_wait(&self->group->start);
    self->group->fn(self->index, self->group->arg);
    return NULL;
}

void run_threads(unsigned n, void (*fn)(unsigned index, void *arg), void *arg)
{
    thread_group group = {.fn = fn, .arg = arg};
    if (n == 0) return;
    group_member *members = calloc(n, sizeof *members);
    expect(members != NULL);
    expect(pthread_barrier_init(&group.start, NULL, n) == 0);
    for (unsigned i = 0; i < n; i++) {
        members[i].group = &group;
        members[i].index = i;
        expect(pthread_create(&members[i].thread, NULL, member_run, &members[i]) == 0);
    }
    for (unsigned i = 0; i < n; i++) expect(pthread_join(members[i].thread, NULL) == 0);
    pthread_barrier_destroy(&group.start);
    free(members);
}
