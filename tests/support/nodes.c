/*
 * See nodes.h. The types are global: a test has one runtime at a time.
 */
#include "support/nodes.h"

typedef struct link_node {
    node_head head;
    coex_handle child[2];
    uint64_t child_id[2];
} link_node;

typedef struct traced_entry {
    uint64_t id;
    coex_handle child;
} traced_entry;

typedef struct cell_node {
    node_head head;
    coex_handle field[NODE_CELL_FIELDS];
} cell_node;

typedef struct leaf_node {
    node_head head;
    uint64_t echo;
} leaf_node;

static uint32_t node_type[NODE_KINDS];
static uint64_t node_serial;

static void trace_node(const void *payload, uint64_t size, coex_gc_visitor *visitor)
{
    const node_head *head = payload;
    const traced_entry *entries = (const void *)(head + 1);
    for (uint64_t i = 0; i < (size - sizeof *head) / sizeof *entries; i++) coex_gc_visit(visitor, &entries[i].child);
}

static void register_kind(enum node_kind kind, const coex_gc_type *type)
{
    node_type[kind] = coex_gc_register_type(type);
    if (node_type[kind] == 0) test_fail(__FILE__, __LINE__, "type '%s': %s", type->name, coex_gc_error_detail());
}

void nodes_init(void)
{
    static const uint32_t link_refs[] = {offsetof(link_node, child[0]), offsetof(link_node, child[1])};
    static const uint32_t cell_refs[] = {offsetof(cell_node, field[0]), offsetof(cell_node, field[1]),
                                         offsetof(cell_node, field[2]), offsetof(cell_node, field[3])};
    register_kind(NODE_LEAF, &(coex_gc_type){.name = "leaf", .size = sizeof(leaf_node)});
    register_kind(NODE_LINK, &(coex_gc_type){.name = "link", .size = sizeof(link_node), .ref_offsets = link_refs, .ref_count = 2});
    register_kind(NODE_TUPLE, &(coex_gc_type){.name = "tuple", .flags = COEX_GC_REF_ARRAY, .array_offset = sizeof(node_head)});
    register_kind(NODE_BLOB, &(coex_gc_type){.name = "blob"});
    register_kind(NODE_TRACED, &(coex_gc_type){.name = "traced", .trace = trace_node});
    register_kind(NODE_ALIGNED, &(coex_gc_type){.name = "aligned", .size = sizeof(leaf_node), .align = 64});
    register_kind(NODE_CELL, &(coex_gc_type){.name = "cell",
                                             .size = sizeof(cell_node),
                                             .flags = COEX_GC_MUTABLE,
                                             .ref_offsets = cell_refs,
                                             .ref_count = NODE_CELL_FIELDS});
}

uint64_t node_fresh_id(enum node_kind kind)
{
    return (__atomic_fetch_add(&node_serial, 1, __ATOMIC_RELAXED) + 1) * NODE_ID_KINDS + kind;
}

uint64_t node_mix(uint64_t value)
{
    value = (value ^ (value >> 33)) * UINT64_C(0xff51afd7ed558ccd);
    value = (value ^ (value >> 33)) * UINT64_C(0xc4ceb9fe1a85ec53);
    return value ^ (value >> 33);
}

static const node_head *head_of(coex_handle node)
{
    const node_head *head = coex_gc_handle_deref(node);
    if (head == NULL) test_fail(__FILE__, __LINE__, "handle %" PRIu64 " names no object: it was reclaimed", node);
    return head;
}

uint64_t node_id(coex_handle node) { return node_is(node) ? head_of(node)->id : 0; }
uint32_t node_depth(coex_handle node)
{
    return node_is(node) && node_kind_of(node_id(node)) != NODE_CELL ? head_of(node)->depth : 0;
}
uint32_t node_count(coex_handle node) { return node_kind_of(node_id(node)) == NODE_BLOB ? 0 : head_of(node)->count; }
uint64_t node_cell_offset(uint32_t index) { return offsetof(cell_node, field) + index * sizeof(coex_handle); }

static uint64_t check_start(const node_head *head) { return node_mix(head->id ^ (uint64_t)head->depth << 32 ^ head->count); }
static uint64_t check_child(uint64_t check, coex_handle child)
{
    return node_mix(check ^ (node_is(child) ? node_id(child) : child));
}

coex_handle node_child(coex_handle node, uint32_t index)
{
    const node_head *head = head_of(node);
    switch (node_kind_of(head->id)) {
    case NODE_LINK:
        return ((const link_node *)(const void *)head)->child[index];
    case NODE_TUPLE:
        return ((const coex_handle *)(const void *)(head + 1))[index];
    case NODE_TRACED:
        return ((const traced_entry *)(const void *)(head + 1))[index].child;
    case NODE_CELL:
        return coex_gc_load(node, node_cell_offset(index));
    default:
        return 0;
    }
}

/* ---- making ----------------------------------------------------------------------------------------------- */

static uint64_t payload_size(enum node_kind kind, uint32_t count, uint32_t words)
{
    switch (kind) {
    case NODE_LINK:
        return sizeof(link_node);
    case NODE_TUPLE:
        return sizeof(node_head) + count * sizeof(coex_handle);
    case NODE_BLOB:
        return sizeof(node_head) + words * sizeof(uint64_t);
    case NODE_TRACED:
        return sizeof(node_head) + count * sizeof(traced_entry);
    case NODE_CELL:
        return sizeof(cell_node);
    default:
        return sizeof(leaf_node);
    }
}

static void fill_children(node_head *head, const coex_handle *children)
{
    enum node_kind kind = node_kind_of(head->id);
    for (uint32_t i = 0; i < head->count; i++) {
        if (kind == NODE_LINK) {
            ((link_node *)(void *)head)->child[i] = children[i];
            ((link_node *)(void *)head)->child_id[i] = node_id(children[i]);
        } else if (kind == NODE_TUPLE) {
            ((coex_handle *)(void *)(head + 1))[i] = children[i];
        } else if (kind == NODE_TRACED) {
            ((traced_entry *)(void *)(head + 1))[i] = (traced_entry){node_id(children[i]), children[i]};
        } else if (kind == NODE_CELL) {
            ((cell_node *)(void *)head)->field[i] = children[i];
        }
    }
}

static void fill_words(node_head *head)
{
    uint64_t *words = (uint64_t *)(void *)(head + 1);
    if (node_kind_of(head->id) == NODE_LEAF || node_kind_of(head->id) == NODE_ALIGNED) words[0] = ~head->id;
    for (uint32_t i = 0; node_kind_of(head->id) == NODE_BLOB && i < head->count; i++) words[i] = node_mix(head->id + i);
}

static void expect_zeroed(const uint64_t *words, uint64_t bytes, coex_handle node)
{
    for (uint64_t i = 0; i < bytes / 8; i++) {
        if (words[i] != 0)
            test_fail(__FILE__, __LINE__, "word %" PRIu64 " of new object %" PRIu64 " is 0x%" PRIx64 ", not zero", i, node,
                      words[i]);
    }
}

coex_handle node_make(uint64_t id, const coex_handle *children, uint32_t count, uint32_t words)
{
    enum node_kind kind = node_kind_of(id);
    void *payload;
    uint64_t size = payload_size(kind, count, words);
    coex_handle node = coex_gc_alloc_at(size, node_type[kind], &payload);
    if (node == 0) return 0;
    expect_zeroed(payload, size, node);
    node_head *head = payload;
    head->id = id;
    head->count = kind == NODE_BLOB ? words : count;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t depth = node_depth(children[i]) + 1;
        if (depth > head->depth) head->depth = depth;
    }
    fill_children(head, children);
    fill_words(head);
    head->check = check_start(head);
    for (uint32_t i = 0; i < count && kind != NODE_CELL; i++) head->check = check_child(head->check, children[i]);
    return node;
}

/* ---- verifying -------------------------------------------------------------------------------------------- */

static void fail_node(coex_handle node, const node_head *head, const char *what)
{
    test_fail(__FILE__, __LINE__, "handle %" PRIu64 " (id 0x%" PRIx64 ", check 0x%" PRIx64 ", depth %u, count %u at %p): %s", node,
              head->id, head->check, head->depth, head->count, (const void *)head, what);
}

static void verify_words(coex_handle node, const node_head *head)
{
    const uint64_t *words = (const uint64_t *)(const void *)(head + 1);
    enum node_kind kind = node_kind_of(head->id);
    if ((kind == NODE_LEAF || kind == NODE_ALIGNED) && words[0] != ~head->id) fail_node(node, head, "its echo is wrong");
    for (uint32_t i = 0; kind == NODE_BLOB && i < head->count; i++) {
        if (words[i] != node_mix(head->id + i)) fail_node(node, head, "its bytes are wrong");
    }
}

static void verify_child_ids(coex_handle node, const node_head *head)
{
    enum node_kind kind = node_kind_of(head->id);
    for (uint32_t i = 0; i < head->count; i++) {
        uint64_t noted;
        if (kind == NODE_LINK)
            noted = ((const link_node *)(const void *)head)->child_id[i];
        else if (kind == NODE_TRACED)
            noted = ((const traced_entry *)(const void *)(head + 1))[i].id;
        else
            return;
        if (noted != node_id(node_child(node, i))) fail_node(node, head, "a child is another object than the one it was made with");
    }
}

uint64_t node_verify(coex_handle node)
{
    const node_head *head = head_of(node);
    enum node_kind kind = node_kind_of(head->id);
    if (kind >= NODE_KINDS || coex_gc_type_of(node) != node_type[kind]) fail_node(node, head, "its type is wrong");
    uint64_t size = kind == NODE_BLOB ? payload_size(kind, 0, head->count) : payload_size(kind, head->count, 0);
    if (coex_gc_size(node) != size) fail_node(node, head, "its size is wrong");
    verify_words(node, head);
    verify_child_ids(node, head);
    uint64_t check = check_start(head);
    uint32_t children = kind == NODE_BLOB || kind == NODE_CELL ? 0 : head->count;
    for (uint32_t i = 0; i < children; i++) check = check_child(check, node_child(node, i));
    if (check != head->check) fail_node(node, head, "its checksum is wrong");
    return head->id;
}

void node_expect(coex_handle node, uint64_t id)
{
    uint64_t found = node_verify(node);
    if (found != id)
        test_fail(__FILE__, __LINE__, "handle %" PRIu64 " names object 0x%" PRIx64 " where 0x%" PRIx64 " was put", node, found, id);
}

coex_handle node_walk(coex_handle node, uint32_t steps, test_rng *rng)
{
    while (node_is(node)) {
        node_verify(node);
        uint32_t count = node_count(node);
        if (count == 0 || steps-- == 0) break;
        coex_handle next = node_child(node, (uint32_t)rng_below(rng, count));
        if (!node_is(next)) break;
        node = next;
    }
    return node;
}
