/* Documents for the JSON benchmarks: numbers, strings, records, and a mixed tree, about 20 MB
 * each. They are the same in every run. */
#ifndef BENCH_SUPPORT_JSON_DOCUMENTS_H
#define BENCH_SUPPORT_JSON_DOCUMENTS_H

#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { JSON_NUMBERS, JSON_STRINGS, JSON_RECORDS, JSON_MIXED, JSON_DOCUMENTS };

static const char *const json_document_names[JSON_DOCUMENTS] = {"numbers", "strings", "records", "mixed"};

#define JSON_DOCUMENT_BYTES ((uint64_t)20 * 1000 * 1000)

struct json_document {
    char *text;
    uint64_t bytes;
    uint64_t random;
};

static inline uint64_t json_document_random(struct json_document *document)
{
    uint64_t *state = &document->random;
    *state ^= *state >> 12;
    *state ^= *state << 25;
    *state ^= *state >> 27;
    return *state * UINT64_C(0x2545f4914f6cdd1d) >> 11;
}

/* Polygons, as in maps: pairs of doubles, and some integers. */
static inline void json_document_numbers(struct json_document *document, char *at)
{
    char *begin = at;
    at += sprintf(at, "{\"type\":\"FeatureCollection\",\"rings\":[");
    while ((uint64_t)(at - begin) < JSON_DOCUMENT_BYTES) {
        at += sprintf(at, "{\"id\":%" PRIu64 ",\"ring\":[", json_document_random(document) % 1000000);
        for (int i = 0; i < 200; i++) {
            double x = (double)(json_document_random(document) % 360000000) / 1e6 - 180;
            double y = (double)json_document_random(document) / 9007199254740992.0 * 180 - 90;
            at += sprintf(at, "[%.6f,%.17g]%s", x, y, i < 199 ? "," : "");
        }
        at += sprintf(at, "]},");
    }
    at += sprintf(at - 1, "]}") - 1;
    document->bytes = (uint64_t)(at - begin);
}

/* Text: ASCII, some of it escaped, some of it in other scripts. */
static inline void json_document_strings(struct json_document *document, char *at)
{
    static const char *const words[] = {"the",
                                        "quick",
                                        "brown",
                                        "fox",
                                        "jumps over",
                                        "\\\"quoted\\\"",
                                        "line\\nbreak",
                                        "caf\xc3\xa9",
                                        "\xe6\x97\xa5\xe6\x9c\xac\xe8\xaa\x9e",
                                        "a somewhat longer piece of text",
                                        "\\u00fc",
                                        "0123456789"};
    char *begin = at;
    *at++ = '[';
    while ((uint64_t)(at - begin) < JSON_DOCUMENT_BYTES) {
        uint64_t length = 1 + json_document_random(document) % 12;
        *at++ = '"';
        for (uint64_t i = 0; i < length; i++) {
            uint64_t pick = json_document_random(document) % 40; /* most are plain */
            at += sprintf(at, "%s ", words[pick < 12 ? pick : pick % 5]);
        }
        *at++ = '"';
        *at++ = ',';
    }
    at[-1] = ']';
    document->bytes = (uint64_t)(at - begin);
}

/* Rows of a table, as programs exchange them. */
static inline void json_document_records(struct json_document *document, char *at)
{
    char *begin = at;
    *at++ = '[';
    for (uint64_t row = 0; (uint64_t)(at - begin) < JSON_DOCUMENT_BYTES; row++) {
        at += sprintf(at,
                      "{\"id\":%" PRIu64 ",\"name\":\"user %" PRIu64 "\",\"email\":\"user%" PRIu64
                      "@example.com\",\"active\":%s,\"score\":%.2f,\"tags\":[\"a%" PRIu64
                      "\",\"b\"],\"parent\":null,\"created_at\":%" PRIu64 "},",
                      row, json_document_random(document) % 100000, row, json_document_random(document) % 2 != 0 ? "true" : "false",
                      (double)(json_document_random(document) % 10000) / 100, json_document_random(document) % 50,
                      1600000000 + json_document_random(document) % 100000000);
    }
    at[-1] = ']';
    document->bytes = (uint64_t)(at - begin);
}

/* Nested things of all kinds, indented. */
static inline char *json_document_tree(struct json_document *document, char *at, int depth)
{
    uint64_t count = 1 + json_document_random(document) % 6, kind = json_document_random(document) % (depth > 0 ? 8 : 5);
    switch (kind) {
    case 0:
        return at + sprintf(at, "%" PRId64, (int64_t)(json_document_random(document) % 100000) - 50000);
    case 1:
        return at + sprintf(at, "%.4f", (double)(json_document_random(document) % 100000) / 7);
    case 2:
        return at + sprintf(at, "\"value %" PRIu64 "\"", json_document_random(document) % 1000);
    case 3:
        return at + sprintf(at, "%s", json_document_random(document) % 2 != 0 ? "true" : "null");
    case 4:
        return at + sprintf(at, "\"a text of some length, as they are in documents: %" PRIu64 "\"",
                            json_document_random(document) % 1000);
    default:
        break;
    }
    *at++ = kind == 5 ? '[' : '{';
    for (uint64_t i = 0; i < count; i++) {
        at += sprintf(at, "%s\n%*s", i != 0 ? "," : "", 2 * (9 - depth), "");
        if (kind != 5) at += sprintf(at, "\"field_%" PRIu64 "\": ", (i + json_document_random(document) % 3) * 7 % 40);
        at = json_document_tree(document, at, depth - 1);
    }
    at += sprintf(at, "\n%*s%c", 2 * (8 - depth), "", kind == 5 ? ']' : '}');
    return at;
}

static inline void json_document_mixed(struct json_document *document, char *at)
{
    char *begin = at;
    *at++ = '[';
    while ((uint64_t)(at - begin) < JSON_DOCUMENT_BYTES) {
        at = json_document_tree(document, at, 8);
        *at++ = ',';
    }
    at[-1] = ']';
    document->bytes = (uint64_t)(at - begin);
}

/* The text of a document, which the caller frees. Room behind it, because simdjson wants some. */
static inline char *json_document_make(int which, uint64_t *bytes)
{
    struct json_document document = {0, 0, UINT64_C(88172645463325252)};
    document.text = (char *)malloc(JSON_DOCUMENT_BYTES + 4 * 1000 * 1000);
    if (document.text == NULL) abort();
    switch (which) {
    case JSON_NUMBERS:
        json_document_numbers(&document, document.text);
        break;
    case JSON_STRINGS:
        json_document_strings(&document, document.text);
        break;
    case JSON_RECORDS:
        json_document_records(&document, document.text);
        break;
    default:
        json_document_mixed(&document, document.text);
        break;
    }
    *bytes = document.bytes;
    return document.text;
}

#ifdef __cplusplus
}
#endif

#endif
