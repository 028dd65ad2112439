/*
 * See dump_parser.h.
 */
#include "support/dump_parser.h"
#include "support/keep.h"

#include <coex/gc_diag.h>
#include <unistd.h>

/* ---- capturing ------------------------------------------------------------------------------------------------------ */

static FILE *captured;
static int errors_before = -1;

static char *read_file(FILE *file)
{
    long size;
    fflush(file);
    fseek(file, 0, SEEK_END);
    size = ftell(file);
    rewind(file);
    char *text = keep_alloc((size_t)size + 1);
    expect(fread(text, 1, (size_t)size, file) == (size_t)size);
    fclose(file);
    return text;
}

void capture_begin(void)
{
    captured = tmpfile();
    expect(captured != NULL);
    coex_gc_set_output(captured);
}

char *capture_end(void)
{
    coex_gc_set_output(NULL);
    return read_file(captured);
}

void capture_errors_begin(void)
{
    fflush(stderr);
    captured = tmpfile();
    errors_before = dup(STDERR_FILENO);
    expect(captured != NULL && errors_before >= 0 && dup2(fileno(captured), STDERR_FILENO) >= 0);
}

char *capture_errors_end(void)
{
    fflush(stderr);
    expect(dup2(errors_before, STDERR_FILENO) >= 0);
    close(errors_before);
    return read_file(captured);
}

/* ---- lines ---------------------------------------------------------------------------------------------------------- */

char *lines_take(dump_lines *lines)
{
    char *line = lines->next;
    if (line == NULL || *line == '\0') return NULL;
    char *end = strchr(line, '\n');
    if (end == NULL) test_fail(__FILE__, __LINE__, "line %d has no end: '%s'", lines->number + 1, line);
    *end = '\0';
    lines->next = end + 1;
    lines->whole = line;
    lines->number++;
    return line;
}

static _Noreturn void lines_fail(const dump_lines *lines, const char *wanted)
{
    test_fail(__FILE__, __LINE__, "line %d is '%s', expected: %s", lines->number, lines->whole, wanted);
}

/* The next line, which must be there. */
static char *lines_need(dump_lines *lines, const char *wanted)
{
    char *line = lines_take(lines);
    if (line == NULL) test_fail(__FILE__, __LINE__, "the text ends after line %d, expected: %s", lines->number, wanted);
    return line;
}

static void lines_need_text(dump_lines *lines, const char *text)
{
    if (strcmp(lines_need(lines, text), text) != 0) lines_fail(lines, text);
}

static bool lines_is_next(const dump_lines *lines, const char *text)
{
    return lines->next != NULL && strncmp(lines->next, text, strlen(text)) == 0;
}

static void lines_need_end(dump_lines *lines)
{
    if (lines_take(lines) != NULL) lines_fail(lines, "the end");
}

/* A line that scanf reads as a whole: `wanted` ends with %n. */
#define NEED(lines, wanted, ...)                                                                                                   \
    do {                                                                                                                           \
        int end_ = -1;                                                                                                             \
        const char *line_ = lines_need((lines), (wanted));                                                                         \
        sscanf(line_, (wanted), __VA_ARGS__, &end_);                                                                               \
        if (end_ < 0 || line_[end_] != '\0') lines_fail((lines), (wanted));                                                        \
    } while (0)

/* One more element of an array that grows. */
#define GROW(array, count)                                                                                                         \
    do {                                                                                                                           \
        (array) = keep_grow((array), (count), sizeof *(array));                                                                    \
        (count)++;                                                                                                                 \
    } while (0)

static void copy_text(char *to, size_t room, const char *from, size_t length)
{
    expect(length < room);
    memcpy(to, from, length);
    to[length] = '\0';
}

/* ---- stats ---------------------------------------------------------------------------------------------------------- */

uint64_t parse_stat(const char *text, const char *name, const char *part)
{
    char wanted[80], *end;
    snprintf(wanted, sizeof wanted, "\n  %s: ", name);
    const char *at = strstr(text, wanted);
    if (at == NULL) test_fail(__FILE__, __LINE__, "there is no statistic %s", name);
    at += strlen(wanted);
    if (part != NULL) {
        const char *line_end = strchr(at, '\n');
        snprintf(wanted, sizeof wanted, "%s=", part);
        at = strstr(at, wanted);
        expect(at != NULL && at < line_end);
        at += strlen(wanted);
    }
    uint64_t value = strtoull(at, &end, 10);
    expect(end != at);
    return value;
}

unsigned parse_stats_count(const char *text)
{
    unsigned count = 0;
    for (const char *at = text; (at = strstr(at, "\n  ")) != NULL; at++) count++;
    return count;
}

/* ---- heap ----------------------------------------------------------------------------------------------------------- */

/* "    0020: 00 01 ...", which goes on where the line before ended. */
static void parse_hex(dump_lines *lines, dump_heap_object *object)
{
    int end = -1;
    uint64_t offset;
    const char *line = lines_need(lines, "hex");
    sscanf(line, "    %" SCNx64 ": %n", &offset, &end);
    if (end < 0 || offset != object->byte_count) lines_fail(lines, "the next bytes in hex");
    for (const char *at = line + end; *at != '\0'; at += at[2] == ' ' ? 3 : 2) {
        unsigned byte;
        if (sscanf(at, "%2x", &byte) != 1) lines_fail(lines, "two hex digits");
        GROW(object->bytes, object->byte_count);
        object->bytes[object->byte_count - 1] = (unsigned char)byte;
    }
}

static void parse_heap_object(dump_lines *lines, dump_heap *heap)
{
    GROW(heap->object, heap->count);
    dump_heap_object *object = &heap->object[heap->count - 1];
    NEED(lines, "  Handle %" SCNu64 ": type=%63[^,], size=%" SCNu64 ", addr=0x%" SCNx64 "%n", &object->handle, object->type,
         &object->size, &object->address);
    while (lines_is_next(lines, "    ")) parse_hex(lines, object);
}

dump_heap parse_heap(char *text)
{
    dump_heap heap = {0};
    dump_lines lines = {.next = text};
    lines_need_text(&lines, "=== HEAP DUMP ===");
    NEED(&lines, "Heap size: %" SCNu64 " bytes (%" SCNu64 " MB)%n", &heap.size, &heap.size_mb);
    NEED(&lines, "Heap used: %" SCNu64 " bytes (%lf MB)%n", &heap.used, &heap.used_mb);
    NEED(&lines, "Free blocks: %" SCNu64 "%n", &heap.free_blocks);
    NEED(&lines, "Largest free: %" SCNu64 " bytes%n", &heap.largest);
    heap.has_objects = *lines.next != '\0';
    if (!heap.has_objects) return heap;
    lines_need_text(&lines, "");
    NEED(&lines, "Live objects (%" SCNu64 " total):%n", &heap.total);
    while (*lines.next != '\0') parse_heap_object(&lines, &heap);
    expect_eq(heap.count, heap.total);
    return heap;
}

const dump_heap_object *heap_find(const dump_heap *heap, coex_handle handle)
{
    for (uint64_t i = 0; i < heap->count; i++) {
        if (heap->object[i].handle == handle) return &heap->object[i];
    }
    return NULL;
}

/* ---- handle table --------------------------------------------------------------------------------------------------- */

static void parse_entries(dump_lines *lines, dump_table *table)
{
    table->has_entries = true;
    lines_need_text(lines, "");
    lines_need_text(lines, "In-use handles:");
    while (lines_is_next(lines, "  [")) {
        GROW(table->entry, table->entry_count);
        dump_entry *entry = &table->entry[table->entry_count - 1];
        NEED(lines, "  [%" SCNu64 "] -> 0x%" SCNx64 " (%63[^)])%n", &entry->handle, &entry->address, entry->type);
    }
    expect_eq(table->entry_count, table->in_use);
}

static uint64_t *parse_empty(dump_lines *lines, const char *heading, uint64_t *count)
{
    uint64_t *list = NULL;
    lines_need_text(lines, "");
    lines_need_text(lines, heading);
    while (lines_is_next(lines, "  [")) {
        GROW(list, *count);
        NEED(lines, "  [%" SCNu64 "] -> NULL%n", &list[*count - 1]);
    }
    return list;
}

/* "Free list: 1 -> 2 -> 3 -> ... (N entries)" */
static void parse_free_list(dump_lines *lines, dump_table *table)
{
    lines_need_text(lines, "");
    NEED(lines, "Free list head: %" SCNu64 "%n", &table->free_head);
    char *at = lines_need(lines, "the free list"), *end;
    if (strncmp(at, "Free list: ", 11) != 0) lines_fail(lines, "Free list: ");
    for (at += 11; *at >= '0' && *at <= '9'; at = strncmp(end, " -> ", 4) == 0 ? end + 4 : end + 1) {
        expect(table->free_shown < 8);
        table->free_first[table->free_shown++] = strtoull(at, &end, 10);
    }
    if (strncmp(at, "... ", 4) == 0) at += 4;
    int length = -1;
    sscanf(at, "(%" SCNu64 " entries)%n", &table->free_entries, &length);
    if (length < 0 || at[length] != '\0') lines_fail(lines, "(N entries)");
    NEED(lines, "Available words: %" SCNu64 " of %" SCNu64 "%n", &table->available, &table->words);
}

dump_table parse_table(char *text)
{
    dump_table table = {0};
    dump_lines lines = {.next = text};
    lines_need_text(&lines, "=== HANDLE TABLE ===");
    NEED(&lines, "Table size: %" SCNu64 " slots%n", &table.size);
    NEED(&lines, "Handles in use: %" SCNu64 "%n", &table.in_use);
    NEED(&lines, "Handles free: %" SCNu64 "%n", &table.free);
    NEED(&lines, "Handles retired: %" SCNu64 "%n", &table.retired);
    NEED(&lines, "Next bump alloc: %" SCNu64 "%n", &table.next);
    if (*lines.next != '\0') parse_entries(&lines, &table);
    table.has_free = *lines.next != '\0';
    if (!table.has_free) return table;
    table.retired_list = parse_empty(&lines, "Retired handles:", &table.retired_count);
    table.held_list = parse_empty(&lines, "Held handles:", &table.held_count);
    parse_free_list(&lines, &table);
    lines_need_end(&lines);
    return table;
}

const dump_entry *table_find(const dump_table *table, coex_handle handle)
{
    for (uint64_t i = 0; i < table->entry_count; i++) {
        if (table->entry[i].handle == handle) return &table->entry[i];
    }
    return NULL;
}

/* ---- shadow stacks -------------------------------------------------------------------------------------------------- */

static char *parse_slots(const dump_lines *lines, dump_frame *frame, char *at)
{
    uint64_t count = 0;
    if (strncmp(at, " [", 2) != 0) lines_fail(lines, "a list of handles");
    for (at += 2;; at += 2) {
        char *end, kind = *at;
        if ((kind != 'h' && kind != 'i') || at[1] != '=') lines_fail(lines, "h=N or i=N");
        frame->slot = keep_grow(frame->slot, count, sizeof *frame->slot);
        frame->immediate = keep_grow(frame->immediate, count, sizeof *frame->immediate);
        frame->immediate[count] = kind == 'i';
        frame->slot[count++] = strtoull(at + 2, &end, 10);
        at = end;
        if (*at == ']') break;
        if (strncmp(at, ", ", 2) != 0) lines_fail(lines, "a comma");
    }
    expect_eq(count, frame->count);
    return at + 1;
}

static void parse_frame(dump_lines *lines, dump_stack *stack)
{
    int end = -1;
    GROW(stack->frame, stack->frame_count);
    dump_frame *frame = &stack->frame[stack->frame_count - 1];
    char *at = lines_need(lines, "a frame");
    sscanf(at, "  Frame %" SCNu64 ": %" SCNu64 " handles%n", &frame->number, &frame->count, &end);
    if (end < 0) lines_fail(lines, "Frame N: K handles");
    at += end;
    if (frame->count != 0) at = parse_slots(lines, frame, at);
    frame->watermark = strcmp(at, "  <- watermark") == 0;
    if (!frame->watermark && *at != '\0') lines_fail(lines, "the end of the line, or the watermark");
    expect(stack->frame_count == 1 || frame->number + 1 == stack->frame[stack->frame_count - 2].number);
    if (frame->watermark) expect_eq(frame->number, stack->watermark);
}

static void parse_stack(dump_lines *lines, dump_stacks *stacks)
{
    GROW(stacks->stack, stacks->count);
    dump_stack *stack = &stacks->stack[stacks->count - 1];
    lines_need_text(lines, "");
    NEED(lines, "%63[^:]:%n", stack->name);
    NEED(lines, "  Stack depth: %" SCNu64 "%n", &stack->depth);
    if (lines_is_next(lines, "  Watermark: none"))
        lines_need_text(lines, "  Watermark: none");
    else
        NEED(lines, "  Watermark: %" SCNu64 " (active)%n", &stack->watermark);
    while (lines_is_next(lines, "  Frame ")) parse_frame(lines, stack);
    uint64_t numbered = 0, marked = 0;
    for (uint64_t i = 0; i < stack->frame_count; i++) {
        numbered += stack->frame[i].number != 0;
        marked += stack->frame[i].watermark;
    }
    expect_eq(numbered, stack->depth);
    expect_eq(marked, stack->watermark != 0);
}

dump_stacks parse_stacks(char *text)
{
    dump_stacks stacks = {0};
    dump_lines lines = {.next = text};
    lines_need_text(&lines, "=== SHADOW STACKS ===");
    NEED(&lines, "Registered threads: %" SCNu64 "%n", &stacks.threads);
    while (*lines.next != '\0') parse_stack(&lines, &stacks);
    uint64_t threads = 0;
    for (uint64_t i = 0; i < stacks.count; i++) threads += strncmp(stacks.stack[i].name, "Thread ", 7) == 0;
    expect_eq(threads, stacks.threads);
    return stacks;
}

const dump_stack *stacks_find(const dump_stacks *stacks, const char *name)
{
    for (uint64_t i = 0; i < stacks->count; i++) {
        if (strcmp(stacks->stack[i].name, name) == 0) return &stacks->stack[i];
    }
    return NULL;
}

uint64_t stack_slot(const dump_stack *stack, uint64_t number, uint64_t slot)
{
    for (uint64_t i = 0; i < stack->frame_count; i++) {
        if (stack->frame[i].number == number && slot < stack->frame[i].count) return stack->frame[i].slot[slot];
    }
    test_fail(__FILE__, __LINE__, "%s has no slot %" PRIu64 " in frame %" PRIu64, stack->name, slot, number);
}

/* ---- object --------------------------------------------------------------------------------------------------------- */

/* "5678 -> String "hello"  (name)": what comes after "handle = ". */
static void parse_reference(dump_field *field, const char *rest)
{
    const char *arrow = strstr(rest, " -> "), *name = strstr(rest, "  (");
    size_t value = arrow != NULL ? (size_t)(arrow - rest) : strcspn(rest, " ");
    copy_text(field->value, sizeof field->value, rest, value);
    if (arrow != NULL)
        copy_text(field->target, sizeof field->target, arrow + 4, name != NULL ? (size_t)(name - arrow - 4) : strlen(arrow + 4));
    if (name != NULL) copy_text(field->name, sizeof field->name, name + 3, strlen(name + 3) - 1);
}

static void parse_field(dump_lines *lines, dump_object *object)
{
    int end = -1;
    GROW(object->field, object->field_count);
    dump_field *field = &object->field[object->field_count - 1];
    const char *line = lines_need(lines, "a field");
    sscanf(line, "  offset %" SCNu64 ": %15[^ ] = %n", &field->offset, field->kind, &end);
    if (end < 0) lines_fail(lines, "offset N: kind = value");
    if (strcmp(field->kind, "handle") == 0 || strcmp(field->kind, "immediate") == 0)
        parse_reference(field, line + end);
    else
        copy_text(field->value, sizeof field->value, line + end, strlen(line + end));
}

dump_object parse_object(char *text)
{
    dump_object object = {0};
    dump_lines lines = {.next = text};
    char none[40];
    lines_need_text(&lines, "=== OBJECT DUMP ===");
    NEED(&lines, "Handle: %" SCNu64 "%n", &object.handle);
    if (lines_is_next(&lines, "Address: none")) {
        NEED(&lines, "Address: none (%39[^)])%n", none);
        lines_need_end(&lines);
        return object;
    }
    object.is_object = true;
    NEED(&lines, "Address: 0x%" SCNx64 "%n", &object.address);
    NEED(&lines, "Type: %63[^(](id=%" SCNu32 ")%n", object.type, &object.type_id);
    object.type[strlen(object.type) - 1] = '\0'; /* the blank */
    NEED(&lines, "Size: %" SCNu64 " bytes%n", &object.size);
    object.marked = lines_is_next(&lines, "Mark bit: 1");
    lines_need_text(&lines, object.marked ? "Mark bit: 1 (matches current)" : "Mark bit: 0 (does not match current)");
    lines_need_text(&lines, "Forwarded: no");
    if (lines_is_next(&lines, "Pinned: 1 ")) {
        lines_need_text(&lines, "Pinned: 1 time");
        object.pins = 1;
    } else if (lines_is_next(&lines, "Pinned: ")) {
        NEED(&lines, "Pinned: %" SCNu64 " times%n", &object.pins);
    }
    lines_need_text(&lines, "");
    lines_need_text(&lines, "Header:");
    NEED(&lines, "  size: %" SCNu64 "%n", &object.header_size);
    NEED(&lines, "  type_id: %" SCNu32 "%n", &object.header_type);
    NEED(&lines, "  flags: 0x%" SCNx64 "%n", &object.flags);
    NEED(&lines, "  forward: %" SCNu64 "%n", &object.forward);
    lines_need_text(&lines, "");
    lines_need_text(&lines, "Fields:");
    while (*lines.next != '\0') parse_field(&lines, &object);
    return object;
}

const dump_field *object_field(const dump_object *object, uint64_t offset)
{
    for (uint64_t i = 0; i < object->field_count; i++) {
        if (object->field[i].offset == offset) return &object->field[i];
    }
    test_fail(__FILE__, __LINE__, "there is no field at offset %" PRIu64, offset);
}

/* ---- fragmentation -------------------------------------------------------------------------------------------------- */

dump_fragments parse_fragments(char *text)
{
    static const char *const label[FRAGMENT_CLASSES] = {
        "< 64 bytes:     ", "64-256 bytes:   ", "256-1KB:        ", "1KB-4KB:        ",
        "4KB-16KB:       ", "16KB-64KB:      ", "> 64KB:         "};
    dump_fragments report = {0};
    dump_lines lines = {.next = text};
    lines_need_text(&lines, "=== FRAGMENTATION REPORT ===");
    NEED(&lines, "Heap size: %" SCNu64 " bytes%n", &report.size);
    NEED(&lines, "Allocated: %" SCNu64 " bytes (%lf%%)%n", &report.allocated, &report.allocated_percent);
    NEED(&lines, "Free: %" SCNu64 " bytes (%lf%%)%n", &report.free, &report.free_percent);
    lines_need_text(&lines, "");
    lines_need_text(&lines, "Free block distribution:");
    for (int i = 0; i < FRAGMENT_CLASSES; i++) {
        int end = -1;
        const char *line = lines_need(&lines, label[i]);
        if (strncmp(line, "  ", 2) != 0 || strncmp(line + 2, label[i], 16) != 0) lines_fail(&lines, label[i]);
        sscanf(line + 18, "%" SCNu64 " blocks (%lf%% of free space)%n", &report.blocks[i], &report.percent[i], &end);
        if (end < 0 || line[18 + end] != '\0') lines_fail(&lines, "N blocks (P% of free space)");
    }
    lines_need_text(&lines, "");
    NEED(&lines, "Fragmentation index: %lf (0=perfect, 1=fully fragmented)%n", &report.index);
    NEED(&lines, "Largest allocation possible: %" SCNu64 " bytes%n", &report.largest);
    lines_need_text(&lines, "");
    NEED(&lines, "Recommendation: %79[^\n]%n", report.recommendation);
    lines_need_end(&lines);
    return report;
}

/* ---- why ------------------------------------------------------------------------------------------------------------ */

static void parse_step(dump_lines *lines, dump_why *why)
{
    int end = -1;
    GROW(why->step, why->count);
    dump_step *step = &why->step[why->count - 1];
    const char *line = lines_need(lines, "a step");
    sscanf(line, "  handle %" SCNu64 " (%63[^)])%n", &step->handle, step->type, &end);
    if (end < 0) lines_fail(lines, "handle N (TYPE)");
    if (line[end] == '\0') return;
    if (strncmp(line + end, ", field ", 8) != 0) lines_fail(lines, ", field NAME");
    copy_text(step->field, sizeof step->field, line + end + 8, strlen(line + end + 8));
}

dump_why parse_why(char *text)
{
    dump_why why = {0};
    dump_lines lines = {.next = text};
    lines_need_text(&lines, "=== WHY ALIVE ===");
    const char *line = lines_need(&lines, "Handle: N (TYPE)");
    expect(sscanf(line, "Handle: %" SCNu64 " (%63[^)])", &why.handle, why.type) >= 1);
    if (!lines_is_next(&lines, "Root: ")) {
        NEED(&lines, "%119[^\n]%n", why.reason);
        lines_need_end(&lines);
        return why;
    }
    NEED(&lines, "Root: %79[^\n]%n", why.root);
    while (*lines.next != '\0') {
        if (lines_is_next(&lines, "  ..."))
            NEED(&lines, "  ... (%" SCNu64 " objects between)%n", &why.left_out);
        else
            parse_step(&lines, &why);
    }
    expect(why.count > 0 && why.step[why.count - 1].handle == why.handle && why.step[why.count - 1].field[0] == '\0');
    for (uint64_t i = 0; i + 1 < why.count; i++) expect(why.step[i].field[0] != '\0');
    return why;
}

/* ---- validation ----------------------------------------------------------------------------------------------------- */

dump_faults parse_faults(char *text)
{
    dump_faults faults = {0};
    dump_lines lines = {.next = text};
    uint64_t count = 0;
    if (*text == '\0') return faults;
    lines_need_text(&lines, "=== HEAP VALIDATION FAILED ===");
    while (lines_is_next(&lines, "Error: ")) {
        GROW(faults.line, faults.count);
        faults.line[faults.count - 1] = lines_need(&lines, "an error") + strlen("Error: ");
    }
    NEED(&lines, "Validation found %" SCNu64 " errors%n", &count);
    lines_need_end(&lines);
    expect_eq(faults.count, count);
    expect(count != 0);
    return faults;
}

bool faults_have(const dump_faults *faults, const char *part)
{
    for (uint64_t i = 0; i < faults->count; i++) {
        if (strstr(faults->line[i], part) != NULL) return true;
    }
    return false;
}
