/* The JSON benchmark of a peer. A peer defines two functions, and prints the same rows as
 * bench_values_json. */
#ifndef BENCH_PEERS_JSON_PEER_H
#define BENCH_PEERS_JSON_PEER_H

#include "support/bench.h"
#include "support/json_documents.h"

enum { ROUNDS = 7 };

/* Reads the text into a tree, writes the tree into text, frees it. NULL or 0: it failed. */
static void *peer_parse(const char *text, uint64_t bytes);
static uint64_t peer_write(void *tree);
static void peer_free(void *tree);

static int peer_run(const char *name)
{
    for (int i = 0; i < JSON_DOCUMENTS; i++) {
        uint64_t bytes;
        char *text = json_document_make(i, &bytes), label[96];
        double parse = 1e9, write = 1e9;
        for (int round = 0; round < ROUNDS; round++) {
            double start = bench_now();
            void *tree = peer_parse(text, bytes);
            double parsed = bench_now();
            if (tree == NULL || peer_write(tree) == 0) bench_fail("%s can't do %s", name, json_document_names[i]);
            double written = bench_now();
            peer_free(tree);
            parse = parsed - start < parse ? parsed - start : parse;
            write = written - parsed < write ? written - parsed : write;
        }
        snprintf(label, sizeof label, "%-9s parse   %s", name, json_document_names[i]);
        bench_result(label, (double)bytes / parse / 1e6, "MB/s", BENCH_NO_GOAL, 0);
        snprintf(label, sizeof label, "%-9s write   %s", name, json_document_names[i]);
        bench_result(label, (double)bytes / write / 1e6, "MB/s", BENCH_NO_GOAL, 0);
        free(text);
    }
    return 0;
}

#endif
