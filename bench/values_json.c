/* Measures parsing and writing of JSON, compared with jansson, json-c and simdjson
 * (bench/peers/json_*). The documents are generated and are the same on every machine. Each peer
 * is a program that prints the same rows; scripts/bench runs the programs one after the other. */
#include "support/bench.h"
#include "support/json_documents.h"

#include <coex/values.h>
#include <coex/values/json.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROUNDS = 7 };

struct document {
    const char *name;
    char *text;
    uint64_t bytes;
    coex_handle *slot; /* the value, rooted */
};

static double parse_once(void *argument)
{
    struct document *document = argument;
    *document->slot = 0; /* the collector finds it when it comes by */
    double start = bench_now();
    *document->slot = coex_json_parse(document->text, document->bytes, NULL);
    double seconds = bench_now() - start;
    if (*document->slot == 0) bench_fail("%s was refused", document->name);
    return seconds;
}

static double write_once(void *argument)
{
    struct document *document = argument;
    double start = bench_now();
    coex_handle text = coex_json_stringify(*document->slot, 0);
    double seconds = bench_now() - start;
    if (text == 0) bench_fail("%s was not written", document->name);
    return seconds;
}

static double pieces_once(void *argument)
{
    struct document *document = argument;
    *document->slot = 0; /* the collector finds it when it comes by */
    FILE *file = fmemopen(document->text, document->bytes, "r");
    double start = bench_now();
    *document->slot = coex_json_parse_file(file, NULL, NULL);
    double seconds = bench_now() - start;
    fclose(file);
    if (*document->slot == 0) bench_fail("%s was refused", document->name);
    return seconds;
}

static void report(struct document *document, const char *what, double (*run)(void *argument))
{
    struct bench_sample sample;
    char text[96];
    bench_repeat(&sample, ROUNDS, run, document);
    snprintf(text, sizeof text, "coex      %-7s %s", what, document->name);
    bench_result(text, (double)document->bytes / bench_lowest(&sample) / 1e6, "MB/s", BENCH_NO_GOAL, 0);
}

int main(void)
{
    coex_gc_init();
    coex_values_init();
    coex_handle *slots = coex_gc_enter_frame(1);
    bench_heading("Json: parse and write, best of %d, megabytes of text a second", ROUNDS);
    for (int i = 0; i < JSON_DOCUMENTS; i++) {
        struct document document = {.name = json_document_names[i], .slot = slots};
        document.text = json_document_make(i, &document.bytes);
        report(&document, "pieces", pieces_once);
        report(&document, "parse", parse_once);
        report(&document, "write", write_once);
        free(document.text);
    }
    coex_gc_leave_frame(slots);
    coex_gc_shutdown();
    return 0;
}
