/*
 * Reads as much of pprof's format as tests of the allocation profile need: strings, functions, locations and samples.
 */
#ifndef COEX_TESTS_SUPPORT_PPROF_READER_H
#define COEX_TESTS_SUPPORT_PPROF_READER_H

#include "support/test.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { OBJECTS, BYTES, LIVE_OBJECTS, LIVE_BYTES, VALUES };

struct message {
    const uint8_t *at, *end;
};

static inline uint64_t read_number(struct message *message)
{
    uint64_t value = 0;
    for (unsigned shift = 0; message->at < message->end; shift += 7) {
        uint8_t byte = *message->at++;
        value |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80) return value;
    }
    test_fail(__FILE__, __LINE__, "the profile ends inside a number");
}

/* The next field: its number, and its value or its bytes. False: no more. */
static inline bool next_field(struct message *message, unsigned *field, uint64_t *value, struct message *bytes)
{
    if (message->at == message->end) return false;
    uint64_t tag = read_number(message);
    *field = (unsigned)(tag >> 3);
    *value = read_number(message);
    expect((tag & 7) == 0 || (tag & 7) == 2);
    if ((tag & 7) == 2) {
        expect(*value <= (uint64_t)(message->end - message->at));
        *bytes = (struct message){message->at, message->at + *value};
        message->at += *value;
    }
    return true;
}

/* The value of a field that is a number; 0: it is not there. */
static inline uint64_t number_in(struct message message, unsigned wanted)
{
    struct message bytes = {0};
    unsigned field;
    uint64_t value;
    while (next_field(&message, &field, &value, &bytes)) {
        if (field == wanted) return value;
    }
    return 0;
}

struct profile {
    uint8_t *bytes;
    struct message *string, *sample;
    uint64_t strings, samples, locations, mappings, period, drop_frames;
    uint64_t *location_function; /* by the number of the location */
    uint64_t *function_name;     /* by the number of the function */
    uint64_t *comment, comments;
    uint64_t value[VALUES]; /* sums over all samples */
};

static inline void profile_add_sample(struct profile *profile, struct message sample)
{
    struct message bytes = {0};
    unsigned field;
    uint64_t value;
    profile->sample[profile->samples++] = sample;
    while (next_field(&sample, &field, &value, &bytes)) {
        for (int i = 0; field == 2 && i < VALUES; i++) profile->value[i] += read_number(&bytes);
    }
}

static inline void profile_add_location(struct profile *profile, struct message location)
{
    struct message bytes = {0};
    unsigned field;
    uint64_t value, id = number_in(location, 1);
    profile->locations++;
    while (next_field(&location, &field, &value, &bytes)) {
        if (field == 4) profile->location_function[id] = number_in(bytes, 1);
    }
}

static inline struct profile profile_read(const char *path)
{
    FILE *file = fopen(path, "rb");
    expect(file != NULL && fseek(file, 0, SEEK_END) == 0);
    size_t size = (size_t)ftell(file), most = size / 2 + 1; /* no field is shorter than two bytes */
    struct profile profile = {.bytes = malloc(size + 1), .string = calloc(most, sizeof(struct message))};
    profile.sample = calloc(most, sizeof(struct message));
    profile.location_function = calloc(most, 8);
    profile.function_name = calloc(most, 8);
    profile.comment = calloc(most, 8);
    rewind(file);
    expect(fread(profile.bytes, 1, size, file) == size);
    fclose(file);
    struct message all = {profile.bytes, profile.bytes + size}, part = {0};
    unsigned field;
    uint64_t value;
    while (next_field(&all, &field, &value, &part)) {
        if (field == 2) profile_add_sample(&profile, part);
        if (field == 4) profile_add_location(&profile, part);
        if (field == 5) profile.function_name[number_in(part, 1)] = number_in(part, 2);
        if (field == 6) profile.string[profile.strings++] = part;
        if (field == 7) profile.drop_frames = value;
        if (field == 12) profile.period = value;
        if (field == 13) profile.comment[profile.comments++] = value;
        profile.mappings += field == 3;
    }
    return profile;
}

/* Frees all but the sums. */
static inline void profile_free(struct profile *profile)
{
    free(profile->bytes);
    free(profile->string);
    free(profile->sample);
    free(profile->location_function);
    free(profile->function_name);
    free(profile->comment);
    profile->bytes = NULL;
    profile->string = profile->sample = NULL;
    profile->location_function = profile->function_name = profile->comment = NULL;
}

static inline bool profile_string_is(const struct profile *profile, uint64_t number, const char *text)
{
    size_t length = (size_t)(profile->string[number].end - profile->string[number].at);
    return length == strlen(text) && memcmp(profile->string[number].at, text, length) == 0;
}

/* Whether a sample has the function in its stack; `leaf`: as the innermost one. */
static inline bool profile_sample_has(const struct profile *profile, struct message sample, const char *function, bool leaf)
{
    struct message stack = {0};
    unsigned field;
    uint64_t value;
    bool found = false;
    do {
        if (!next_field(&sample, &field, &value, &stack)) return false;
    } while (field != 1);
    for (bool first = true; stack.at < stack.end; first = false) {
        uint64_t name = profile->function_name[profile->location_function[read_number(&stack)]];
        found = found || (profile_string_is(profile, name, function) && (first || !leaf));
    }
    return found;
}

/* The sum of one value over the samples that have the function in their stack, or as their innermost one. */
static inline uint64_t profile_sum(const struct profile *profile, const char *function, int index, bool leaf)
{
    struct profile sums = {.sample = calloc(1, sizeof(struct message))};
    for (uint64_t i = 0; i < profile->samples; i++) {
        sums.samples = 0;
        if (profile_sample_has(profile, profile->sample[i], function, leaf)) profile_add_sample(&sums, profile->sample[i]);
    }
    free(sums.sample);
    return sums.value[index];
}

static inline bool profile_says(const struct profile *profile, const char *part)
{
    for (uint64_t i = 0; i < profile->comments; i++) {
        struct message text = profile->string[profile->comment[i]];
        if (memmem(text.at, (size_t)(text.end - text.at), part, strlen(part)) != NULL) return true;
    }
    return false;
}

static inline void expect_about(double value, double wanted, double part)
{
    if (value < wanted * (1 - part) || value > wanted * (1 + part))
        test_fail(__FILE__, __LINE__, "%g is not about %g", value, wanted);
}

#endif
