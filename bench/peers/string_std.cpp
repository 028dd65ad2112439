// std::string and <charconv>. This peer does not validate UTF-8.
#include "peers/string.h"

#include <charconv>
#include <cstring>
#include <string>
#include <vector>

static uint64_t make(const struct string_pieces *pieces)
{
    uint64_t sum = 0;
    for (uint64_t i = 0; i < pieces->count; i++) {
        std::string *s = new std::string(pieces->text + i * pieces->size, pieces->size);
        sum += s->size();
        delete s;
    }
    return sum;
}

static uint64_t append(const struct string_pieces *pieces)
{
    std::string s;
    for (uint64_t i = 0; i < pieces->count; i++) s.append(pieces->text + i * pieces->size, pieces->size);
    return s.size();
}

static uint64_t find(const char *text, uint64_t length, const char *what, uint64_t wanted)
{
    static std::string s;
    if (s.size() != length) s.assign(text, length);
    std::string w(what, wanted);
    uint64_t count = 0;
    for (size_t at = 0; (at = s.find(w, at)) != std::string::npos; at += wanted) count++;
    return count;
}

static uint64_t split(const char *text, uint64_t length)
{
    static std::string s;
    if (s.size() != length) s.assign(text, length);
    std::vector<std::string> lines;
    size_t from = 0, at;
    while ((at = s.find('\n', from)) != std::string::npos) {
        lines.emplace_back(s, from, at - from);
        from = at + 1;
    }
    lines.emplace_back(s, from);
    return lines.size();
}

static uint64_t write(const double *numbers, uint64_t count)
{
    uint64_t sum = 0;
    for (uint64_t i = 0; i < count; i++) {
        char text[32];
        auto end = std::to_chars(text, text + sizeof text, numbers[i]);
        std::string s(text, end.ptr);
        sum += s.size() != 0;
    }
    return sum;
}

static double read(const char *const *texts, uint64_t count)
{
    double sum = 0;
    for (uint64_t i = 0; i < count; i++) {
        double value = 0;
        std::from_chars(texts[i], texts[i] + strlen(texts[i]), value);
        sum += value;
    }
    return sum;
}

extern "C" const struct string_subject string_subject_std = {"C++ std::string", make,  append, nullptr, find, split,
                                                             nullptr,           write, read};
