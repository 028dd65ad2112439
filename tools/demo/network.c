/* The data of the demo, and the requests that work on it. Any number of threads at once.
 *
 *     users (mutable array) --> user (mutable) --+--> posts: newest first, each immutable, older ones behind it
 *                                                +--> follows: the ids of others, replaced as a whole
 *                                                +--> name
 *     index (mutable array of chains) --> entry --> user            by the hash of the name
 *     cache (mutable array) --> timeline --> tree of posts by number, persistent: an insertion copies the path
 *
 * Three global roots hold it all. What is shared is changed by compare-and-exchange in a mutable object; everything else is made
 * once and dropped. Rooting is as gc.h asks for: what a function holds across a safepoint is in a slot of its frame. */
#include "demo.h"

#include <string.h>

enum {
    POSTS_MOST = 64, /* of a user; then the older half goes */
    POSTS_KEPT = 32,
    FOLLOWS_MOST = 12,
    POSTS_EACH = 4, /* of each followed user in a timeline */
    BUCKETS = 4096,
    CACHE = 4096,
    TIMELINE_LIFE_MS = 400,
    TEXT_LEAST = 24,
    TEXT_SPREAD = 96,
    CHECKED_POSTS = 4 /* of a timeline's posts, how many have their text read at each visit: 1 in so many */
};

struct user {
    coex_handle posts;
    coex_handle follows;
    coex_handle name;
    uint64_t id;
};

struct post {
    coex_handle older;
    coex_handle text;
    uint64_t number;
    uint32_t author;
    uint32_t length; /* of the list that starts here */
    uint64_t sum;    /* of all the others and the text */
};

struct follows {
    uint64_t count;
    uint32_t id[];
};

struct entry {
    coex_handle next;
    coex_handle user;
    uint64_t hash;
};

struct node {
    coex_handle left;
    coex_handle right;
    coex_handle post;
    uint64_t number;
};

struct timeline {
    coex_handle tree;
    uint64_t owner;
    uint64_t count;
    uint64_t sum; /* of the posts' numbers */
    uint64_t born_ns;
};

struct link {
    coex_handle rest;
    coex_handle text;
    uint64_t value;
};

static struct {
    uint32_t text, user, post, follows, entry, node, timeline, link, array;
} type;

/* The global roots: read and written through coex_gc_global_… only. */
static coex_handle users_root, index_root, cache_root;

static atomic_ullong next_number; /* of posts: unique, rising */

/* ------------------------------------------------------------------ pieces */

static coex_handle make(uint64_t size, uint32_t id, void **payload)
{
    coex_handle fresh = coex_gc_alloc_at(size, id, payload);
    if (fresh == 0) demo_fail("out of memory: %s", coex_gc_error_detail());
    return fresh;
}

/* FNV-1a over words, with the tail as one more. */
static uint64_t hash_bytes(const void *bytes, uint64_t size)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325), word;
    for (uint64_t at = 0; at < size; at += sizeof word) {
        word = 0;
        memcpy(&word, (const char *)bytes + at, size - at < sizeof word ? size - at : sizeof word);
        hash = (hash ^ word) * UINT64_C(0x100000001b3);
        hash ^= hash >> 29;
    }
    return hash;
}

static uint64_t hash_text(coex_handle text) { return hash_bytes(coex_gc_handle_deref(text), coex_gc_size(text)); }

static uint64_t post_sum(const struct post *post, uint64_t text_hash)
{
    uint64_t words[] = {post->number, post->author, text_hash};
    return hash_bytes(words, sizeof words);
}

static uint64_t name_of(uint64_t user, char name[32])
{
    return (uint64_t)snprintf(name, 32, "user-%05llu", (unsigned long long)user);
}

static coex_handle user_of(uint64_t id) { return coex_gc_load(coex_gc_global_load(&users_root), id * 8); }

coex_handle network_text(uint64_t *random)
{
    static const char letters[] = "etaoinshrdlu etaoin etaon eta ei";
    void *payload;
    uint64_t size = TEXT_LEAST + demo_random(random) % TEXT_SPREAD;
    coex_handle text = make(size, type.text, &payload);
    for (uint64_t at = 0, bits = 0; at < size; at++, bits >>= 5) {
        if (at % 12 == 0) bits = demo_random(random);
        ((char *)payload)[at] = letters[bits % 32];
    }
    return text;
}

/* ------------------------------------------------------------------- posts */

/* A post in front of `older`; the caller keeps both arguments rooted. */
static coex_handle make_post(coex_handle text, coex_handle older, uint64_t author, uint64_t number)
{
    void *payload;
    coex_handle fresh = make(sizeof(struct post), type.post, &payload);
    struct post *post = payload;
    post->older = older;
    post->text = text;
    post->number = number;
    post->author = (uint32_t)author;
    post->length = older == 0 ? 1 : ((const struct post *)coex_gc_handle_deref(older))->length + 1;
    post->sum = post_sum(post, hash_text(text));
    return fresh;
}

/* The newest POSTS_KEPT posts of a list as a list of its own. If somebody has posted meanwhile, the next one who does will see to it. */
static void trim_posts(struct demo_tally *tally, coex_handle user)
{
    enum { USER, HEAD, FRESH, OLD, SLOTS = OLD + POSTS_KEPT };
    coex_handle *slots = coex_gc_enter_frame_with(SLOTS, 1, &user);
    slots[HEAD] = coex_gc_load(user, offsetof(struct user, posts));
    coex_handle at = slots[HEAD];
    for (unsigned i = 0; i < POSTS_KEPT && at != 0; i++, at = coex_gc_load(at, offsetof(struct post, older))) slots[OLD + i] = at;
    for (unsigned i = POSTS_KEPT; i-- > 0;) {
        if (slots[OLD + i] == 0) continue;
        const struct post *old = coex_gc_handle_deref(slots[OLD + i]);
        /* The text is rooted by the old post, which is in a slot. */
        slots[FRESH] = make_post(old->text, slots[FRESH], old->author, old->number);
    }
    coex_handle expected = slots[HEAD];
    uint64_t before = ((const struct post *)coex_gc_handle_deref(expected))->length;
    uint64_t after = ((const struct post *)coex_gc_handle_deref(slots[FRESH]))->length;
    if (coex_gc_compare_exchange(slots[USER], offsetof(struct user, posts), &expected, slots[FRESH]))
        demo_add(&tally->trimmed, before - after);
    coex_gc_leave_frame(slots);
}

void network_post(struct demo_tally *tally, uint64_t id, coex_handle text)
{
    enum { TEXT, USER, OLDER, SLOTS };
    coex_handle *slots = coex_gc_enter_frame_with(SLOTS, 1, &text);
    slots[USER] = user_of(id);
    uint64_t number = atomic_fetch_add(&next_number, 1), length;
    for (;;) {
        slots[OLDER] = coex_gc_load(slots[USER], offsetof(struct user, posts));
        coex_handle fresh = make_post(slots[TEXT], slots[OLDER], id, number), expected = slots[OLDER];
        length = ((const struct post *)coex_gc_handle_deref(fresh))->length;
        if (coex_gc_compare_exchange(slots[USER], offsetof(struct user, posts), &expected, fresh)) break;
    }
    demo_add(&tally->posted, 1);
    if (length >= POSTS_MOST) trim_posts(tally, slots[USER]);
    coex_gc_leave_frame(slots);
}

static void check_post(struct demo_tally *tally, const struct post *post)
{
    demo_check(tally, post->sum == post_sum(post, hash_text(post->text)), "a post is not what was posted");
}

/* -------------------------------------------------------------- follows */

/* One more id, or one in place of the oldest: a new object in either case. */
void network_follow(struct demo_tally *tally, uint64_t id, uint64_t other)
{
    enum { USER, OLD, SLOTS };
    coex_handle *slots = coex_gc_enter_frame(SLOTS);
    slots[USER] = user_of(id);
    slots[OLD] = coex_gc_load(slots[USER], offsetof(struct user, follows));
    uint64_t count = slots[OLD] == 0 ? 0 : ((const struct follows *)coex_gc_handle_deref(slots[OLD]))->count;
    uint64_t keep = count < FOLLOWS_MOST ? count : FOLLOWS_MOST - 1;
    void *payload;
    coex_handle fresh = make(sizeof(struct follows) + (keep + 1) * sizeof(uint32_t), type.follows, &payload);
    struct follows *follows = payload;
    if (keep != 0) {
        const struct follows *old = coex_gc_handle_deref(slots[OLD]);
        memcpy(follows->id, old->id + (count - keep), keep * sizeof old->id[0]);
    }
    follows->id[keep] = (uint32_t)other;
    follows->count = keep + 1;
    coex_handle expected = slots[OLD];
    bool mine = coex_gc_compare_exchange(slots[USER], offsetof(struct user, follows), &expected, fresh);
    demo_check(tally, mine || expected != slots[OLD], "an exchange failed for no reason");
    coex_gc_leave_frame(slots);
}

/* ------------------------------------------------------------------ search */

/* Finds a user by name, as a stranger would. */
void network_search(struct demo_tally *tally, uint64_t id)
{
    char name[32];
    uint64_t size = name_of(id, name), hash = hash_bytes(name, size);
    coex_handle at = coex_gc_load(coex_gc_global_load(&index_root), hash % BUCKETS * 8), found = 0;
    for (; at != 0 && found == 0; at = coex_gc_load(at, offsetof(struct entry, next))) {
        const struct entry *entry = coex_gc_handle_deref(at);
        if (entry->hash != hash) continue;
        coex_handle text = coex_gc_load(entry->user, offsetof(struct user, name));
        if (coex_gc_size(text) == size && memcmp(coex_gc_handle_deref(text), name, size) == 0) found = entry->user;
    }
    demo_check(tally, found != 0 && ((const struct user *)coex_gc_handle_deref(found))->id == id, "a user is not found by name");
    coex_gc_safepoint();
}

/* --------------------------------------------------------------- timelines */

/* The tree with one more post in it; the old tree stays as it is. */
static coex_handle tree_insert(coex_handle tree, coex_handle post)
{
    enum { TREE, POST, CHILD, SLOTS };
    coex_handle *slots = coex_gc_enter_frame_with(SLOTS, 2, (coex_handle[]){tree, post});
    uint64_t number = ((const struct post *)coex_gc_handle_deref(post))->number;
    const struct node *old = coex_gc_handle_deref(tree);
    coex_handle result = tree;
    if (old == NULL || old->number != number) {
        bool left = old != NULL && number < old->number;
        if (old != NULL) slots[CHILD] = tree_insert(left ? old->left : old->right, slots[POST]);
        void *payload;
        result = make(sizeof(struct node), type.node, &payload);
        struct node *fresh = payload;
        old = coex_gc_handle_deref(slots[TREE]); /* addresses do not outlive a safepoint */
        if (old == NULL) {
            *fresh = (struct node){.post = slots[POST], .number = number};
        } else {
            *fresh = *old;
            *(left ? &fresh->left : &fresh->right) = slots[CHILD];
        }
    }
    coex_gc_leave_frame(slots);
    return result;
}

struct walk {
    struct demo_tally *tally;
    uint64_t last, count, sum, turn;
};

/* In order. Reads only: no safepoint inside, so nothing needs a slot. */
static void tree_walk(coex_handle tree, struct walk *walk)
{
    if (tree == 0) return;
    const struct node *node = coex_gc_handle_deref(tree);
    tree_walk(node->left, walk);
    const struct post *post = coex_gc_handle_deref(node->post);
    demo_check(walk->tally, node->number >= walk->last && post->number == node->number, "a timeline is out of order");
    if (walk->turn++ % CHECKED_POSTS == 0) check_post(walk->tally, post);
    walk->last = node->number + 1;
    walk->count++;
    walk->sum += node->number;
    tree_walk(node->right, walk);
}

static coex_handle make_timeline(struct demo_tally *tally, uint64_t id)
{
    enum { FOLLOWS, TREE, POST, SLOTS };
    coex_handle *slots = coex_gc_enter_frame(SLOTS);
    slots[FOLLOWS] = coex_gc_load(user_of(id), offsetof(struct user, follows));
    uint64_t count = slots[FOLLOWS] == 0 ? 0 : ((const struct follows *)coex_gc_handle_deref(slots[FOLLOWS]))->count;
    for (uint64_t i = 0; i < count; i++) {
        const struct follows *follows = coex_gc_handle_deref(slots[FOLLOWS]);
        slots[POST] = coex_gc_load(user_of(follows->id[i]), offsetof(struct user, posts));
        for (unsigned taken = 0; taken < POSTS_EACH && slots[POST] != 0; taken++) {
            slots[TREE] = tree_insert(slots[TREE], slots[POST]);
            slots[POST] = coex_gc_load(slots[POST], offsetof(struct post, older));
        }
    }
    void *payload;
    coex_handle fresh = make(sizeof(struct timeline), type.timeline, &payload);
    struct walk walk = {.tally = tally};
    tree_walk(slots[TREE], &walk);
    *(struct timeline *)payload = (struct timeline){slots[TREE], id, walk.count, walk.sum, demo_now_ns()};
    coex_gc_leave_frame(slots);
    return fresh;
}

static bool timeline_is_fresh(const struct timeline *timeline)
{
    return demo_now_ns() - timeline->born_ns < (uint64_t)TIMELINE_LIFE_MS * 1000000;
}

void network_read_timeline(struct demo_tally *tally, uint64_t id, uint64_t *random)
{
    coex_handle *slots = coex_gc_enter_frame(1);
    uint64_t place = id % CACHE * 8;
    slots[0] = coex_gc_load(coex_gc_global_load(&cache_root), place);
    const struct timeline *timeline = coex_gc_handle_deref(slots[0]);
    if (timeline == NULL || timeline->owner != id || !timeline_is_fresh(timeline)) {
        slots[0] = make_timeline(tally, id);
        coex_gc_store(coex_gc_global_load(&cache_root), place, slots[0]);
        timeline = coex_gc_handle_deref(slots[0]);
        demo_add(&tally->built, 1);
    } else {
        demo_add(&tally->hits, 1);
    }
    struct walk walk = {.tally = tally, .turn = demo_random(random)};
    tree_walk(timeline->tree, &walk);
    demo_check(tally, walk.count == timeline->count && walk.sum == timeline->sum, "a timeline has changed");
    coex_gc_leave_frame(slots);
}

uint64_t network_cache_size(void) { return CACHE; }

void network_expire(struct demo_tally *tally, uint64_t from, uint64_t to)
{
    coex_handle cache = coex_gc_global_load(&cache_root);
    for (uint64_t i = from; i < to; i++) {
        coex_handle old = coex_gc_load(cache, i * 8);
        if (old == 0 || timeline_is_fresh(coex_gc_handle_deref(old))) continue;
        if (coex_gc_compare_exchange(cache, i * 8, &old, 0)) demo_add(&tally->expired, 1);
    }
}

/* ------------------------------------------------------------- discussions */

coex_handle network_batch(uint64_t count, uint64_t *random)
{
    enum { LIST, TEXT, SLOTS };
    coex_handle *slots = coex_gc_enter_frame(SLOTS);
    for (uint64_t i = 0; i < count; i++) {
        slots[TEXT] = network_text(random);
        void *payload;
        coex_handle fresh = make(sizeof(struct link), type.link, &payload);
        *(struct link *)payload = (struct link){slots[LIST], slots[TEXT], hash_text(slots[TEXT])};
        slots[LIST] = fresh;
    }
    coex_handle batch = slots[LIST];
    coex_gc_leave_frame(slots);
    return batch;
}

coex_handle network_batch_text(coex_handle batch) { return coex_gc_load(batch, offsetof(struct link, text)); }
coex_handle network_batch_rest(coex_handle batch) { return coex_gc_load(batch, offsetof(struct link, rest)); }

/* Reads a discussion to its end and comes back with a summary: one frame for each answer, and an object made on the way back. */
static coex_handle read_answers(struct demo_tally *tally, coex_handle answer)
{
    enum { ANSWER, REST, SLOTS };
    coex_handle *slots = coex_gc_enter_frame_with(SLOTS, 1, &answer);
    coex_handle rest = network_batch_rest(answer);
    if (rest != 0) slots[REST] = read_answers(tally, rest);
    void *payload;
    coex_handle fresh = make(sizeof(struct link), type.link, &payload);
    const struct link *mine = coex_gc_handle_deref(slots[ANSWER]), *below = coex_gc_handle_deref(slots[REST]);
    demo_check(tally, mine->value == hash_text(mine->text), "an answer is not what was said");
    /* The chain of summaries is not kept: each says how many answers lie below it. */
    *(struct link *)payload = (struct link){.value = below == NULL ? 1 : below->value + 1};
    coex_gc_leave_frame(slots);
    return fresh;
}

void network_discussion(struct demo_tally *tally, uint64_t depth, uint64_t *random)
{
    coex_handle *slots = coex_gc_enter_frame(1);
    slots[0] = network_batch(depth, random);
    coex_handle summary = read_answers(tally, slots[0]);
    demo_check(tally, ((const struct link *)coex_gc_handle_deref(summary))->value == depth, "a discussion has lost an answer");
    if (depth > demo_get(&tally->frames)) atomic_store_explicit(&tally->frames, depth, memory_order_relaxed);
    coex_gc_leave_frame(slots);
}

/* ----------------------------------------------------------------- archive */

/* Writes or compares, post by post, newest first; returns how many bytes. */
static size_t serialise(coex_handle head, char *buffer, size_t size, bool *same)
{
    size_t used = 0;
    for (coex_handle at = head; at != 0; at = coex_gc_load(at, offsetof(struct post, older))) {
        const struct post *post = coex_gc_handle_deref(at);
        uint64_t length = coex_gc_size(post->text);
        if (size - used < length) break;
        const void *text = coex_gc_handle_deref(post->text);
        if (same == NULL)
            memcpy(buffer + used, text, length);
        else
            *same = *same && memcmp(buffer + used, text, length) == 0;
        used += length;
    }
    return used;
}

size_t network_copy_posts(uint64_t user, char *buffer, size_t size, coex_handle *head)
{
    *head = coex_gc_load(user_of(user), offsetof(struct user, posts));
    return serialise(*head, buffer, size, NULL);
}

bool network_same_posts(coex_handle head, const char *buffer, size_t size)
{
    bool same = true;
    return serialise(head, (char *)(uintptr_t)buffer, size, &same) == size && same;
}

/* ----------------------------------------------------------- begin and end */

static void register_types(void)
{
    static const uint32_t user_refs[] = {offsetof(struct user, posts), offsetof(struct user, follows), offsetof(struct user, name)};
    static const uint32_t post_refs[] = {offsetof(struct post, older), offsetof(struct post, text)};
    static const uint32_t entry_refs[] = {offsetof(struct entry, next), offsetof(struct entry, user)};
    static const uint32_t node_refs[] = {offsetof(struct node, left), offsetof(struct node, right), offsetof(struct node, post)};
    static const uint32_t timeline_refs[] = {offsetof(struct timeline, tree)};
    static const uint32_t link_refs[] = {offsetof(struct link, rest), offsetof(struct link, text)};
    const coex_gc_type types[] = {
        {.name = "text"},
        {.name = "user", .size = sizeof(struct user), .ref_offsets = user_refs, .ref_count = 3, .flags = COEX_GC_MUTABLE},
        {.name = "post", .size = sizeof(struct post), .ref_offsets = post_refs, .ref_count = 2},
        {.name = "follows"},
        {.name = "entry", .size = sizeof(struct entry), .ref_offsets = entry_refs, .ref_count = 2},
        {.name = "node", .size = sizeof(struct node), .ref_offsets = node_refs, .ref_count = 3},
        {.name = "timeline", .size = sizeof(struct timeline), .ref_offsets = timeline_refs, .ref_count = 1},
        {.name = "link", .size = sizeof(struct link), .ref_offsets = link_refs, .ref_count = 2},
        {.name = "array", .flags = COEX_GC_MUTABLE | COEX_GC_REF_ARRAY},
    };
    uint32_t *const ids[] = {&type.text, &type.user,     &type.post, &type.follows, &type.entry,
                             &type.node, &type.timeline, &type.link, &type.array};
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
        *ids[i] = coex_gc_register_type(&types[i]);
        if (*ids[i] == 0) demo_fail("a type is refused: %s", coex_gc_error_detail());
    }
}

static void make_root(coex_handle *root, uint64_t elements)
{
    void *payload;
    if (coex_gc_add_global_root(root) != COEX_GC_OK) demo_fail("no memory for a root");
    coex_gc_global_store(root, make(elements * 8, type.array, &payload));
}

/* A user with a name, and an entry for it in the index. */
static void make_user(uint64_t id)
{
    enum { NAME, USER, SLOTS };
    coex_handle *slots = coex_gc_enter_frame(SLOTS);
    char name[32];
    uint64_t size = name_of(id, name), hash = hash_bytes(name, size);
    void *payload;
    slots[NAME] = make(size, type.text, &payload);
    memcpy(payload, name, size);
    slots[USER] = make(sizeof(struct user), type.user, &payload);
    *(struct user *)payload = (struct user){.name = slots[NAME], .id = id};
    coex_gc_store(coex_gc_global_load(&users_root), id * 8, slots[USER]);
    coex_handle entry = make(sizeof(struct entry), type.entry, &payload);
    coex_handle buckets = coex_gc_global_load(&index_root);
    *(struct entry *)payload = (struct entry){coex_gc_load(buckets, hash % BUCKETS * 8), slots[USER], hash};
    coex_gc_store(buckets, hash % BUCKETS * 8, entry);
    coex_gc_leave_frame(slots);
}

void network_create(uint64_t seed)
{
    struct demo_tally nobody = {0};
    uint64_t random = demo_random_state(seed, 0);
    register_types();
    make_root(&users_root, NETWORK_USERS);
    make_root(&index_root, BUCKETS);
    make_root(&cache_root, CACHE);
    coex_handle *slots = coex_gc_enter_frame(1);
    for (uint64_t id = 0; id < NETWORK_USERS; id++) make_user(id);
    for (uint64_t id = 0; id < NETWORK_USERS; id++) {
        for (unsigned i = 0; i < NETWORK_FIRST_POSTS; i++) {
            slots[0] = network_text(&random);
            network_post(&nobody, id, slots[0]);
            network_follow(&nobody, id, demo_random(&random) % NETWORK_USERS);
        }
    }
    coex_gc_leave_frame(slots);
}

void network_destroy(void)
{
    coex_gc_remove_global_root(&cache_root);
    coex_gc_remove_global_root(&index_root);
    coex_gc_remove_global_root(&users_root);
}

/* ------------------------------------------------------------------- audit */

static uint64_t audit_posts(struct demo_tally *tally, const struct user *user)
{
    const struct post *head = coex_gc_handle_deref(user->posts);
    uint64_t count = 0, before = UINT64_MAX;
    for (coex_handle at = user->posts; at != 0; at = coex_gc_load(at, offsetof(struct post, older))) {
        const struct post *post = coex_gc_handle_deref(at);
        check_post(tally, post);
        demo_check(tally, post->author == user->id, "a post is in the wrong hands");
        /* Two posts of one user may be numbered in one order and published in the other: numbers differ, no more. */
        demo_check(tally, post->number != before, "a post is there twice");
        before = post->number;
        count++;
    }
    demo_check(tally, head != NULL && head->length == count, "a list of posts has the wrong length");
    return count;
}

struct network_audit network_audit(struct demo_tally *tally, uint64_t posted, uint64_t trimmed)
{
    struct network_audit audit = {0};
    for (uint64_t id = 0; id < NETWORK_USERS; id++) {
        const struct user *user = coex_gc_handle_deref(user_of(id));
        demo_check(tally, user->id == id, "a user is at the wrong place");
        audit.users++;
        audit.posts += audit_posts(tally, user);
        if (user->follows != 0) audit.follows += ((const struct follows *)coex_gc_handle_deref(user->follows))->count;
        network_search(tally, id);
    }
    for (uint64_t i = 0; i < CACHE; i++) {
        coex_handle handle = coex_gc_load(coex_gc_global_load(&cache_root), i * 8);
        if (handle == 0) continue;
        const struct timeline *timeline = coex_gc_handle_deref(handle);
        struct walk walk = {.tally = tally};
        tree_walk(timeline->tree, &walk);
        demo_check(tally, walk.count == timeline->count && walk.sum == timeline->sum, "a timeline has changed");
        audit.timelines++;
    }
    uint64_t first = (uint64_t)NETWORK_USERS * NETWORK_FIRST_POSTS;
    demo_check(tally, audit.posts == first + posted - trimmed, "posts are missing, or are there twice");
    return audit;
}
