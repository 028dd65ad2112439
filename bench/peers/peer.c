/* The workloads of bench/alloc.c and bench/trees.c with another allocator.
 *
 *   bench_peer_<name> alloc|trees
 *
 * If the allocator needs it, dropped objects are freed: objects in batches of 4,096, and trees
 * after they have been walked. */
#include "peers/peer.h"
#include "support/bench.h"

#include <stdio.h>
#include <string.h>

enum { PAYLOAD = 32, OBJECTS = 4000000, BATCH = 4096, ALLOC_ROUNDS = 15, DEPTH = 18, LEAST_DEPTH = 4, TREE_ROUNDS = 5 };

/* ------------------------------------------------------------- allocation */

static void prepare(void *argument, unsigned number)
{
    (void)argument, (void)number;
    peer_thread_begin();
}

static void allocate(void *argument, unsigned number)
{
    (void)argument, (void)number;
    uint64_t *batch[BATCH];
    for (uint64_t done = 0; done < OBJECTS; done += BATCH) {
        for (unsigned i = 0; i < BATCH; i++) {
            batch[i] = peer_alloc(PAYLOAD);
            batch[i][2] = i;
        }
        bench_keep((uint64_t)batch);
        for (unsigned i = 0; i < BATCH; i++) peer_free(batch[i]);
    }
}

static void finish(void *argument, unsigned number)
{
    (void)argument, (void)number;
    peer_thread_end();
}

static const struct bench_work work = {prepare, allocate, finish};

static double allocate_once(void *argument)
{
    const unsigned *threads = argument;
    return bench_threads(*threads, &work, NULL) / OBJECTS * 1e9;
}

static void measure_alloc(void)
{
    struct bench_sample sample;
    for (unsigned threads = 1; threads <= 2; threads++) {
        char row[80];
        bench_repeat(&sample, ALLOC_ROUNDS, allocate_once, &threads);
        snprintf(row, sizeof row, PEER_NAME ": %s, best of %d", threads == 1 ? "one thread" : "two threads", ALLOC_ROUNDS);
        bench_result(row, bench_lowest(&sample), "ns", BENCH_NO_GOAL, 0);
    }
}

/* ------------------------------------------------------------------ trees */

struct node {
    struct node *left;
    struct node *right;
};

static struct node *make(unsigned depth)
{
    struct node *node = peer_alloc(sizeof *node);
    node->left = depth == 0 ? NULL : make(depth - 1);
    node->right = depth == 0 ? NULL : make(depth - 1);
    return node;
}

static uint64_t count(const struct node *node) { return node->left == NULL ? 1 : 1 + count(node->left) + count(node->right); }

static void drop(struct node *node)
{
    if (node->left != NULL) {
        drop(node->left);
        drop(node->right);
    }
    peer_free(node);
}

static void check(const struct node *tree, unsigned depth)
{
    if (count(tree) != ((uint64_t)2 << depth) - 1) bench_fail("a tree of depth %u is not whole", depth);
}

static double trees(void *argument)
{
    (void)argument;
    double begin = bench_now();
    struct node *stretch = make(DEPTH + 1);
    check(stretch, DEPTH + 1);
    drop(stretch);
    struct node *lasting = make(DEPTH);
    for (unsigned depth = LEAST_DEPTH; depth <= DEPTH; depth += 2) {
        for (uint64_t i = (uint64_t)1 << (DEPTH - depth + LEAST_DEPTH); i != 0; i--) {
            struct node *tree = make(depth);
            check(tree, depth);
            drop(tree);
        }
    }
    check(lasting, DEPTH);
    drop(lasting);
    return bench_now() - begin;
}

static void measure_trees(void)
{
    struct bench_sample sample;
    char row[80];
    bench_repeat(&sample, TREE_ROUNDS, trees, NULL);
    snprintf(row, sizeof row, PEER_NAME ", best of %d", TREE_ROUNDS);
    bench_result(row, bench_lowest(&sample), "s", BENCH_NO_GOAL, 0);
}

int main(int argc, char **argv)
{
    peer_begin();
    if (argc == 2 && strcmp(argv[1], "alloc") == 0)
        measure_alloc();
    else if (argc == 2 && strcmp(argv[1], "trees") == 0)
        measure_trees();
    else
        bench_fail("usage: %s alloc|trees", argv[0]);
    return 0;
}
