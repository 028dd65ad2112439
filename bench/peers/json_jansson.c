/* JSON with jansson: trees of reference-counted objects, and hash tables that keep insertion
 * order. */
#include "peers/json_peer.h"

#include <jansson.h>

static void *peer_parse(const char *text, uint64_t bytes) { return json_loadb(text, bytes, 0, NULL); }

static uint64_t peer_write(void *tree)
{
    char *text = json_dumps(tree, JSON_COMPACT);
    uint64_t good = text != NULL;
    free(text);
    return good;
}

static void peer_free(void *tree) { json_decref(tree); }

int main(void) { return peer_run("jansson"); }
