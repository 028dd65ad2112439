/*
 * The reader of heap snapshots and its tables (`coexgc snapshot-top`): the input is the file. Whatever it holds, there are two tables or a
 * message. In small graphs what a node and a type retain is compared with what node 0 does not reach without them.
 */
#include "support/fuzz.h"
#include "support/fuzz_text.h"

#include "dominators.h"
#include "snapshot.h"

enum { MODEL_NODES = 64, TEXT_BYTES = 4 << 10, TEXT_BYTES_EACH = 256 };

/* without[i][j]: node 0 reaches node j even if there is no node i. The last row: if all are there. */
static bool without[MODEL_NODES + 1][MODEL_NODES];

static void mark_reached(const struct snapshot *snapshot, uint32_t missing)
{
    uint32_t stack[MODEL_NODES], depth = 0;
    bool *seen = without[missing];
    memset(seen, 0, MODEL_NODES * sizeof *seen);
    if (missing != 0) {
        seen[0] = true;
        stack[depth++] = 0;
    }
    while (depth > 0) {
        uint32_t from = stack[--depth];
        for (uint64_t e = snapshot->first[from]; e < snapshot->first[from + 1]; e++) {
            uint32_t to = snapshot->to[e];
            if (seen[to] || to == missing) continue;
            seen[to] = true;
            stack[depth++] = to;
        }
    }
}

static bool is_reached(uint32_t node) { return without[MODEL_NODES][node]; }
static bool is_dominated(uint32_t by, uint32_t node) { return is_reached(node) && !without[by][node]; }

static double retained_by_node(const struct snapshot *snapshot, uint32_t node)
{
    double bytes = 0;
    for (uint32_t i = 0; i < snapshot->count; i++) bytes += is_dominated(node, i) ? snapshot->self[i] : 0;
    return bytes;
}

/* What is dominated by one of the type or more counts once. */
static double retained_by_type(const struct snapshot *snapshot, uint32_t name)
{
    double bytes = 0;
    for (uint32_t i = 0; i < snapshot->count; i++) {
        bool held = false;
        for (uint32_t j = 0; j < snapshot->count; j++) held = held || (snapshot->name[j] == name && is_dominated(j, i));
        bytes += held ? snapshot->self[i] : 0;
    }
    return bytes;
}

static bool is_near(double a, double b) { return a - b <= 1e-9 * (a + b) && b - a <= 1e-9 * (a + b); }

static void check_retained(const struct snapshot *snapshot)
{
    for (uint32_t i = 0; i < snapshot->count; i++) mark_reached(snapshot, i);
    mark_reached(snapshot, MODEL_NODES);
    for (uint32_t i = 0; i < snapshot->count; i++) {
        fuzz_expect((i < 1 || is_reached(i)) == (i < 1 || snapshot->dominator[i] != DOMINATORS_NONE));
        if (is_reached(i)) fuzz_expect(is_near(snapshot->retained[i], retained_by_node(snapshot, i)));
    }
    for (uint32_t i = 0; i < snapshot->string_count && i < MODEL_NODES; i++)
        fuzz_expect(is_near(snapshot->type[i].retained, retained_by_type(snapshot, i)));
}

static void check_table(const struct snapshot *snapshot, size_t input)
{
    char *text = NULL;
    size_t length = 0;
    FILE *file = open_memstream(&text, &length);
    snapshot_print(file, snapshot, "input", 1000);
    fclose(file);
    fuzz_expect(length <= TEXT_BYTES + TEXT_BYTES_EACH * input);
    fuzz_check_text(text, length);
    free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct json_reader reader;
    struct snapshot snapshot;
    json_open_bytes(&reader, "input", data, size);
    bool good = snapshot_load(&snapshot, &reader);
    fuzz_check_outcome(&reader, good);
    if (good) {
        check_table(&snapshot, size);
        if (snapshot.count <= MODEL_NODES) check_retained(&snapshot);
    }
    snapshot_free(&snapshot);
    json_close(&reader);
    return 0;
}
