// std::unordered_map: mutable, with a list for each bucket.
#include "peers/map.h"

#include <string>
#include <unordered_map>

static std::unordered_map<uint64_t, uint64_t> *table;
static std::unordered_map<std::string, uint64_t> *text_table;

static void build(const uint64_t *keys, uint64_t count)
{
    table = new std::unordered_map<uint64_t, uint64_t>;
    for (uint64_t i = 0; i < count; i++) (*table)[keys[i]] = i;
}

static uint64_t lookup(const uint64_t *keys, uint64_t count)
{
    uint64_t sum = 0;
    for (uint64_t i = 0; i < count; i++) {
        auto found = table->find(keys[i]);
        if (found != table->end()) sum += found->second;
    }
    return sum;
}

static uint64_t iterate(void)
{
    uint64_t sum = 0;
    for (const auto &entry : *table) sum += entry.second;
    return sum;
}

static void take_out(const uint64_t *keys, uint64_t count)
{
    for (uint64_t i = 0; i < count; i++) table->erase(keys[i]);
}

static void drop(void) { delete table; }

static void build_text(char *const *keys, uint64_t count)
{
    text_table = new std::unordered_map<std::string, uint64_t>;
    for (uint64_t i = 0; i < count; i++) (*text_table)[keys[i]] = i;
}

static uint64_t lookup_text(char *const *keys, uint64_t count)
{
    uint64_t sum = 0;
    for (uint64_t i = 0; i < count; i++) {
        auto found = text_table->find(keys[i]);
        if (found != text_table->end()) sum += found->second;
    }
    return sum;
}

static void drop_text(void) { delete text_table; }

extern "C" const struct map_subject map_subject_std = {"std::unordered_map", build,       lookup,   iterate, take_out, drop,
                                                       build_text,           lookup_text, drop_text};
