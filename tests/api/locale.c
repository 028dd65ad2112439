/*
 * Numbers in the library's text do not depend on the locale: a program may have set one in which a comma stands for
 * the point. The test has localedef make one; where that is not possible there is nothing to test.
 */
#include "support/objects.h"

#include <ctype.h>
#include <locale.h>
#include <sys/stat.h>
#include <unistd.h>

static char folder[64];

static bool makes_commas(void)
{
    char text[16];
    snprintf(text, sizeof text, "%.1f", 1.5);
    return strcmp(text, "1,5") == 0;
}

/* Sets a locale with commas for the process. False: this machine has none, and can't make one. */
static bool set_comma_locale(void)
{
    char command[256];
    snprintf(folder, sizeof folder, "/tmp/coex-locale-XXXXXX");
    expect(mkdtemp(folder) != NULL);
    snprintf(command, sizeof command, "localedef -i de_DE -f UTF-8 %s/de_DE.UTF-8 >/dev/null 2>&1", folder);
    if (system(command) != 0) printf("localedef did not make a locale\n");
    setenv("LOCPATH", folder, 1);
    bool set = setlocale(LC_ALL, "de_DE.UTF-8") != NULL && makes_commas();
    snprintf(command, sizeof command, "rm -rf %s", folder);
    expect(system(command) == 0);
    return set;
}

/* No comma stands between two digits, and there are points. */
static void expect_points(FILE *output)
{
    static char text[1 << 20];
    fflush(output);
    rewind(output);
    size_t length = fread(text, 1, sizeof text - 1, output), points = 0;
    text[length] = '\0';
    for (size_t i = 1; i + 1 < length; i++) {
        bool between = isdigit((unsigned char)text[i - 1]) && isdigit((unsigned char)text[i + 1]);
        if (between && text[i] == ',') test_fail(__FILE__, __LINE__, "a comma in a number: %.80s", text + (i < 40 ? 0 : i - 40));
        points += between && text[i] == '.';
    }
    ck_assert_uint_gt(points, 0);
    ck_assert(makes_commas()); /* and the program's own text is as it was */
    ck_assert_str_eq(setlocale(LC_ALL, NULL), "de_DE.UTF-8");
    rewind(output);
    expect(ftruncate(fileno(output), 0) == 0);
}

static void comma_start(coex_gc_config *config, FILE *output)
{
    coex_gc_set_output(output);
    start_with(config);
    uint32_t type = type_pair();
    for (int i = 0; i < 100000; i++) new_pair(type, 0, 0);
    coex_gc_collect();
}

TEST(text_for_prometheus_has_points_in_a_locale_of_commas)
{
    if (!set_comma_locale()) return;
    FILE *output = tmpfile();
    coex_gc_config config = quiet_config();
    comma_start(&config, NULL);
    ck_assert_int_eq(coex_gc_write_prometheus(output), COEX_GC_OK);
    expect_points(output);
    coex_gc_shutdown();
    fclose(output);
}

TEST(lines_about_cycles_have_points_in_a_locale_of_commas)
{
    if (!set_comma_locale()) return;
    FILE *output = tmpfile();
    coex_gc_config config = quiet_config();
    config.gctrace = true;
    config.trace_level = 1;
    comma_start(&config, output);
    expect_points(output);
    coex_gc_set_output(NULL);
    coex_gc_shutdown();
    fclose(output);
}

TEST(dumps_have_points_in_a_locale_of_commas)
{
    if (!set_comma_locale()) return;
    FILE *output = tmpfile();
    coex_gc_config config = quiet_config();
    comma_start(&config, output);
    coex_gc_dump_stats();
    expect_points(output);
    coex_gc_dump_heap(0);
    expect_points(output);
    coex_gc_fragmentation_report();
    expect_points(output);
    coex_gc_set_output(NULL);
    coex_gc_shutdown();
    fclose(output);
}
