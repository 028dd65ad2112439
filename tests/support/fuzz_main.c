/*
 * Runs a fuzz target without libFuzzer: replay_<name> [-runs=n] [file or directory...] runs each of these inputs, then n inputs that are random
 * changes of them, or n random bytes if there are none. COEX_TEST_SEED repeats the random part. The input that runs is in the file named
 * by COEX_FUZZ_LAST, if that is set.
 */
#include "support/fuzz.h"
#include "support/rng.h"

#include <dirent.h>
#include <inttypes.h>
#include <sys/stat.h>
#include <time.h>

enum { MAX_INPUTS = 4096, MAX_SIZE = 4096 };

struct input {
    uint8_t *data;
    size_t size;
};

static struct input inputs[MAX_INPUTS];
static unsigned input_count;

static _Noreturn void fail(const char *what, const char *path)
{
    fprintf(stderr, "fuzz: %s %s\n", what, path);
    exit(2);
}

static void read_file(const char *path)
{
    FILE *file = fopen(path, "rb");
    struct stat about;
    if (file == NULL || fstat(fileno(file), &about) != 0) fail("can't read", path);
    struct input input = {malloc((size_t)about.st_size + 1), (size_t)about.st_size};
    if (input.data == NULL || fread(input.data, 1, input.size, file) != input.size) fail("can't read", path);
    fclose(file);
    if (input_count == MAX_INPUTS) fail("too many inputs:", path);
    inputs[input_count++] = input;
}

static void read_path(const char *path)
{
    struct dirent **names;
    int count = scandir(path, &names, NULL, alphasort);
    if (count < 0) {
        read_file(path);
        return;
    }
    for (int i = 0; i < count; i++) {
        char name[4096];
        snprintf(name, sizeof name, "%s/%s", path, names[i]->d_name);
        if (names[i]->d_name[0] != '.') read_file(name);
        free(names[i]);
    }
    free(names);
}

static void run(const uint8_t *data, size_t size)
{
    const char *last = getenv("COEX_FUZZ_LAST");
    FILE *file = last != NULL ? fopen(last, "wb") : NULL;
    if (file != NULL) {
        fwrite(data, 1, size, file);
        fclose(file);
    }
    LLVMFuzzerTestOneInput(data, size);
}

/* A part of one input, a part of another behind it, and some bytes changed. */
static void run_changed(test_rng *rng)
{
    uint8_t data[2 * MAX_SIZE];
    size_t size = 0;
    for (int part = 0; part < 2; part++) {
        if (input_count == 0) {
            size_t count = (size_t)rng_below(rng, 256);
            for (size_t i = 0; i < count; i++) data[size++] = (uint8_t)rng_next(rng);
            continue;
        }
        const struct input *input = &inputs[rng_below(rng, input_count)];
        size_t from = (size_t)rng_below(rng, input->size + 1), count = (size_t)rng_below(rng, input->size - from + 1);
        if (count > MAX_SIZE) count = MAX_SIZE;
        memcpy(data + size, input->data + from, count);
        size += count;
    }
    for (uint64_t changes = rng_below(rng, 8); size != 0 && changes != 0; changes--)
        data[rng_below(rng, size)] = (uint8_t)rng_next(rng);
    run(data, size);
}

static uint64_t random_seed(void)
{
    const char *given = getenv("COEX_TEST_SEED");
    uint64_t seed = given != NULL ? strtoull(given, NULL, 0) : (uint64_t)time(NULL) * UINT64_C(0x9e3779b97f4a7c15);
    printf("COEX_TEST_SEED=0x%" PRIx64 " repeats this run\n", seed);
    fflush(stdout);
    return seed;
}

int main(int argc, char **argv)
{
    unsigned long long runs = 0;
    for (int i = 1; i < argc; i++) {
        if (sscanf(argv[i], "-runs=%llu", &runs) != 1) read_path(argv[i]);
    }
    for (unsigned i = 0; i < input_count; i++) run(inputs[i].data, inputs[i].size);
    test_rng rng = rng_from(random_seed());
    for (unsigned long long i = 0; i < runs; i++) run_changed(&rng);
    printf("%u inputs, %llu changed ones\n", input_count, runs);
    return 0;
}
