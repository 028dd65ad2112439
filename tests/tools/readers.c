/*
 * The parts of coexgc's readers that no file reaches by itself: numbers of any size as text, names, and the process's locale.
 */
#include "support/test.h"

#include "page.h"
#include "report.h"
#include "snapshot.h"
#include "text.h"

#include <float.h>
#include <locale.h>
#include <math.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *print(const char *name, size_t most)
{
    static char text[256];
    FILE *file = fmemopen(text, sizeof text, "w");
    text_print(file, name, most);
    fputc('\0', file);
    fclose(file);
    return text;
}

static const char *print_html(const char *name)
{
    static char text[256];
    FILE *file = fmemopen(text, sizeof text, "w");
    text_print_html(file, name);
    fputc('\0', file);
    fclose(file);
    return text;
}

TEST(any_double_has_a_short_text)
{
    const char *(*const forms[])(double) = {page_count, page_bytes, page_time, page_percent, page_whole};
    const double numbers[] = {0,       -1,       1e15,    1e21,   9.99e20,  1e22,      1e40, 1e100,
                              DBL_MAX, -DBL_MAX, DBL_MIN, 5e-324, (double)INFINITY, (double)-INFINITY, (double)NAN};
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        for (size_t f = 0; f < sizeof forms / sizeof forms[0]; f++) ck_assert_uint_lt(strlen(forms[f](numbers[i])), 48);
    }
    ck_assert_str_eq(page_whole(1234567), "1,234,567");
    ck_assert_str_eq(page_whole(-123456), "-123,456");
    ck_assert_str_eq(page_whole(1e300), "1e+300");
    ck_assert_str_eq(page_count(999), "999");
}

TEST(names_are_printed_without_control_characters)
{
    ck_assert_str_eq(print("plain caf\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80", TEXT_WHOLE),
                     "plain caf\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80");
    ck_assert_str_eq(print("\x1b[31m\r\n\t\x7f", TEXT_WHOLE), "\\x1b[31m\\x0d\\x0a\\x09\\x7f");
    ck_assert_str_eq(print("\xc2\x9b"
                           "2J",
                           TEXT_WHOLE),
                     "\\xc2\\x9b"
                     "2J");
    ck_assert_str_eq(print("\xe2\x80\xae", TEXT_WHOLE), "\\xe2\\x80\\xae");
    ck_assert_str_eq(print("\xff\xc0\xaf\xed\xa0\x80\xf4\x90\x80\x80", TEXT_WHOLE),
                     "\\xff\\xc0\\xaf\\xed\\xa0\\x80\\xf4\\x90\\x80\\x80");
    ck_assert_str_eq(print("\xe2\x82", TEXT_WHOLE), "\\xe2\\x82");
    ck_assert_str_eq(print("\xc3\xa9\xc3\xa9\xc3\xa9", 2), "\xc3\xa9\xc3\xa9");
    ck_assert_str_eq(print_html("<a b=\"c\" d='e'>&\x1b\xff\xc3\xa9"),
                     "&lt;a b=&quot;c&quot; d=&#39;e&#39;&gt;&amp;\xef\xbf\xbd\xef\xbf\xbd\xc3\xa9");
}

TEST(copies_are_cut_between_characters)
{
    char small[6];
    text_copy(small, sizeof small, "abcde");
    ck_assert_str_eq(small, "abcde");
    text_copy(small, sizeof small, "abcd\xc3\xa9");
    ck_assert_str_eq(small, "abcd");
    text_copy(small, sizeof small, "\xe2\x82\xac\xe2\x82\xac");
    ck_assert_str_eq(small, "\xe2\x82\xac");
}

/* --------------------------------------------------------------------------------------------------------------- locale */

/* Makes the locale de_DE.UTF-8, whose decimal point is a comma, and sets it. Returns false if this machine can't make one. */
static bool set_comma_locale(void)
{
    char folder[] = "/tmp/coexgc-locale-XXXXXX", command[300];
    ck_assert_ptr_nonnull(mkdtemp(folder));
    snprintf(command, sizeof command, "localedef -i de_DE -f UTF-8 --no-archive %s/de_DE.UTF-8 >/dev/null 2>&1", folder);
    bool made = system(command) == 0;
    setenv("LOCPATH", folder, 1);
    bool set = made && setlocale(LC_ALL, "de_DE.UTF-8") != NULL && strcmp(localeconv()->decimal_point, ",") == 0;
    snprintf(command, sizeof command, "rm -rf %s", folder);
    ck_assert_int_eq(system(command), 0);
    return set;
}

static const char trace_text[] =
    "[{\"ph\":\"X\",\"cat\":\"cycle\",\"ts\":1234.5,\"dur\":2500.75,\"args\":{\"cycle\":1,\"marked\":10,\"swept\":4}},"
    "{\"ph\":\"C\",\"cat\":\"heap\",\"ts\":1.5,\"args\":{\"used\":123456,\"goal\":999999}},"
    "{\"ph\":\"X\",\"cat\":\"stop\",\"ts\":2.5,\"dur\":0.5,\"args\":{\"cpu_us\":0.25,\"answer_us\":0.125}}]";

static char *page_of_trace(void)
{
    static struct json_reader reader;
    struct trace trace;
    char *page;
    size_t length;
    json_open_bytes(&reader, "trace", trace_text, strlen(trace_text));
    ck_assert_msg(trace_read(&trace, &reader), "%s", reader.error);
    FILE *file = open_memstream(&page, &length);
    report_write(file, &trace, "trace");
    fclose(file);
    trace_free(&trace);
    json_close(&reader);
    return page;
}

static const char snapshot_text[] =
    "{\"snapshot\":{\"meta\":{\"node_fields\":[\"name\",\"self_size\",\"edge_count\"],\"edge_fields\":[\"to_node\"]}},"
    "\"nodes\":[0,1e1,2,1,25e0,0,2,125,0],\"edges\":[3,6],\"strings\":[\"root\",\"a\",\"b\"]}";

static char *tables_of_snapshot(void)
{
    static struct json_reader reader;
    struct snapshot snapshot;
    char *text;
    size_t length;
    json_open_bytes(&reader, "snapshot", snapshot_text, strlen(snapshot_text));
    ck_assert_msg(snapshot_load(&snapshot, &reader), "%s", reader.error);
    FILE *file = open_memstream(&text, &length);
    snapshot_print(file, &snapshot, "snapshot", 20);
    fclose(file);
    snapshot_free(&snapshot);
    json_close(&reader);
    return text;
}

TEST(numbers_do_not_depend_on_the_locale)
{
    char *page = page_of_trace(), *tables = tables_of_snapshot();
    ck_assert_ptr_nonnull(strstr(page, "2.5\u202fms"));
    ck_assert_ptr_nonnull(strstr(tables, " 78.1%"));
    if (!set_comma_locale()) {
        printf("skipped: no locale with a comma can be made here\n");
    } else {
        char *page_there = page_of_trace(), *tables_there = tables_of_snapshot();
        ck_assert(strcmp(page_there, page) == 0); /* both are too long for a message */
        ck_assert(strcmp(tables_there, tables) == 0);
        ck_assert_str_eq(localeconv()->decimal_point, ","); /* the process keeps its own */
        free(page_there);
        free(tables_there);
    }
    free(page);
    free(tables);
}
