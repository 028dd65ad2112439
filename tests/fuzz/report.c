/*
 * The reader of event traces and its page (`coexgc report`): the input is the file. Whatever it holds, there is a page or a message. The
 * page is UTF-8 text without control characters and without infinite coordinates, in proportion to the file.
 */
#include "support/fuzz.h"
#include "support/fuzz_text.h"

#include "report.h"

enum { PAGE_BYTES = 64 << 10, PAGE_BYTES_EACH = 64 }; /* of an empty trace, and for each byte of the file */

/* Every number that the page draws is in an attribute, and quotes of names are escaped. */
static void check_page(const char *page, size_t length, size_t input)
{
    fuzz_expect(length <= PAGE_BYTES + PAGE_BYTES_EACH * input);
    fuzz_check_text(page, length);
    fuzz_expect(strstr(page, "=\"nan") == NULL && strstr(page, "=\"-nan") == NULL);
    fuzz_expect(strstr(page, "=\"inf") == NULL && strstr(page, "=\"-inf") == NULL);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct json_reader reader;
    struct trace trace;
    json_open_bytes(&reader, "input", data, size);
    bool good = trace_read(&trace, &reader);
    fuzz_check_outcome(&reader, good);
    if (good) {
        char *page = NULL;
        size_t length = 0;
        FILE *file = open_memstream(&page, &length);
        report_write(file, &trace, "input");
        fclose(file);
        check_page(page, length, size);
        free(page);
    }
    trace_free(&trace);
    json_close(&reader);
    return 0;
}
