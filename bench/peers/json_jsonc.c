/* JSON with json-c: trees of reference-counted objects, and linked hash tables. json-c keeps the
 * text of every double that it reads and writes it again, so its figure for writing numbers is
 * that of a copy. An additional row writes the same doubles without their text, as a program
 * that has computed them would. */
#include "peers/json_peer.h"

#include <json-c/json.h>
#include <json-c/json_visit.h>

static void *peer_parse(const char *text, uint64_t bytes)
{
    struct json_tokener *tokener = json_tokener_new();
    void *tree = tokener != NULL ? json_tokener_parse_ex(tokener, text, (int)bytes) : NULL;
    json_tokener_free(tokener);
    return tree;
}

static uint64_t peer_write(void *tree)
{
    size_t bytes = 0;
    return json_object_to_json_string_length(tree, JSON_C_TO_STRING_PLAIN, &bytes) != NULL ? bytes : 0;
}

static void peer_free(void *tree) { json_object_put(tree); }

static int forget_text(json_object *value, int flags, json_object *parent, const char *key, size_t *index, void *argument)
{
    (void)flags, (void)parent, (void)key, (void)index, (void)argument;
    if (json_object_is_type(value, json_type_double)) json_object_set_serializer(value, NULL, NULL, NULL);
    return JSON_C_VISIT_RETURN_CONTINUE;
}

static void write_computed_numbers(void)
{
    uint64_t bytes, written = 0;
    char *text = json_document_make(JSON_NUMBERS, &bytes);
    double seconds = 1e9;
    for (int round = 0; round < ROUNDS; round++) {
        json_object *tree = peer_parse(text, bytes);
        if (tree == NULL || json_c_visit(tree, 0, forget_text, NULL) != 0) bench_fail("json-c can't do numbers");
        double start = bench_now();
        written = peer_write(tree);
        double took = bench_now() - start;
        peer_free(tree);
        seconds = took < seconds ? took : seconds;
    }
    if (written == 0) bench_fail("json-c can't write numbers");
    bench_result("json-c    write   numbers, computed", (double)bytes / seconds / 1e6, "MB/s", BENCH_NO_GOAL, 0);
    free(text);
}

int main(void)
{
    int status = peer_run("json-c");
    write_computed_numbers();
    return status;
}
