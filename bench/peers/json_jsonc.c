/* Json with json-c: trees of counted objects, linked hash tables. It keeps the text of every double that it reads, and writes that
 * again: its figure for writing numbers is that of a copy. */
#include "peers/json_peer.h"

#include <json-c/json.h>

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

int main(void) { return peer_run("json-c"); }
