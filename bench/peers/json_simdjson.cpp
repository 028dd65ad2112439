// JSON with simdjson, the upper bound. Its tree is an immutable tape that refers to no objects.
#include <simdjson.h>
#include <string>

#define _Noreturn [[noreturn]]
extern "C" {
#include "peers/json_peer.h"
}

namespace {
struct tape {
    simdjson::dom::parser parser;
    simdjson::dom::element root;
};
} // namespace

static void *peer_parse(const char *text, uint64_t bytes)
{
    tape *tree = new tape;
    // The text has room behind it (json_documents.h), so it is not copied.
    if (tree->parser.parse(text, bytes, false).get(tree->root) == simdjson::SUCCESS) return tree;
    delete tree;
    return nullptr;
}

static uint64_t peer_write(void *tree) { return simdjson::minify(static_cast<tape *>(tree)->root).size(); }
static void peer_free(void *tree) { delete static_cast<tape *>(tree); }

int main() { return peer_run("simdjson"); }
