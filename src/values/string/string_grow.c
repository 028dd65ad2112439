/* Strings that grow: concatenation, and builders.
 *
 * Whoever concatenates a long text with a short one is likely to do it again. So the result is a view of a buffer that has room beside the
 * text, half as much as there is text, at the side where it grew; the next piece on that side takes its bytes of the room with one
 * compare-exchange and copies itself there, and its result is another view of the same buffer. If somebody was first (the same string was
 * continued twice), the text is copied to a buffer of its own. A byte is copied again only when the text has grown by half since, so all copying
 * together is in proportion to the result, at both sides: a new buffer keeps the room that is left at the other side.
 *
 * Strings of similar length, and short results, are copied: each byte of the shorter one pays for at most eight of the longer one. */
#include "values/number/number.h"
#include "values/string/string.h"

#include <stddef.h>
#include <string.h>

enum {
    GROW_COPIED = 256, /* a result up to here is copied: about what a view and taking room cost */
    GROW_RATIO = 8,    /* a text this many times longer than what comes to it gets room */
    GROW_LEAST = 64    /* first room of a builder */
};

const coex_gc_type cx_type_string_buffer = {.name = "string buffer", .flags = COEX_GC_MUTABLE};

static const uint32_t grow_builder_refs[] = {offsetof(struct cx_string_builder, buffer)};
static const char *const grow_builder_names[] = {"buffer"};
const coex_gc_type cx_type_string_builder = {.name = "string builder",
                                             .size = sizeof(struct cx_string_builder),
                                             .ref_offsets = grow_builder_refs,
                                             .ref_count = 1,
                                             .ref_names = grow_builder_names,
                                             .flags = COEX_GC_MUTABLE};

/* A buffer for `length` bytes of text, which are its own to write, with room before and behind. 0 records nothing. */
static coex_handle grow_buffer(uint64_t before, uint64_t length, uint64_t behind, struct cx_string_buffer **buffer)
{
    void *payload;
    uint64_t begin = offsetof(struct cx_string_buffer, text) + before;
    coex_handle h = coex_gc_alloc_at(begin + length + behind, cx_values.id[CX_TYPE_string_buffer], &payload);
    if (h == 0) return 0;
    *buffer = payload;
    cx_a64_store_relaxed(&(*buffer)->begin, begin);
    cx_a64_store_relaxed(&(*buffer)->end, begin + length);
    return h;
}

/* ---------------------------------------------------------- concatenation */

/* The two sides of one concatenation. `grown` is the longer one, `piece` comes to its end or (`front`) to its beginning. */
struct grow {
    coex_handle a, b;
    struct cx_string_text x, y; /* of a and b */
    uint64_t total;
    bool front;
};

static bool grow_open(struct grow *grow) { return cx_string_need(grow->a, &grow->x) && cx_string_need(grow->b, &grow->y); }
static const struct cx_string_text *grow_grown(const struct grow *grow) { return grow->front ? &grow->y : &grow->x; }
static const struct cx_string_text *grow_piece(const struct grow *grow) { return grow->front ? &grow->x : &grow->y; }

/* Writes both to an object that nobody else has. */
static void grow_write(const struct grow *grow, coex_handle object, char *to)
{
    struct cx_string_work work = cx_string_work(grow->total);
    cx_string_hold(&work, grow->a, &grow->x);
    cx_string_hold(&work, grow->b, &grow->y);
    cx_string_pin(&work, object);
    to = cx_string_move(&work, to, grow->x.text, grow->x.length);
    cx_string_move(&work, to, grow->y.text, grow->y.length);
    cx_string_work_end(&work);
}

/* The buffer that a text lies in, or NULL. */
static struct cx_string_buffer *grow_buffer_of(const struct cx_string_text *text)
{
    if (text->view == NULL) return NULL;
    void *payload = coex_gc_handle_deref(text->view->base);
    return coex_gc_type_at(payload) == cx_values.id[CX_TYPE_string_buffer] ? payload : NULL;
}

/* Room that nobody has taken right before or right behind this text. */
static uint64_t grow_room(const struct cx_string_text *text, bool front)
{
    struct cx_string_buffer *buffer = grow_buffer_of(text);
    if (buffer == NULL) return 0;
    uint64_t from = text->view->offset, to = from + text->length;
    if (front) return cx_a64_load_relaxed(&buffer->begin) == from ? from - offsetof(struct cx_string_buffer, text) : 0;
    return cx_a64_load_relaxed(&buffer->end) == to ? coex_gc_size_at(buffer) - to : 0;
}

/* Takes `bytes` of that room, which were there. False: somebody else was first. */
static bool grow_take(const struct cx_string_text *text, bool front, uint64_t bytes)
{
    struct cx_string_buffer *buffer = grow_buffer_of(text);
    uint64_t border = text->view->offset + (front ? 0 : text->length);
    return front ? cx_a64_cas_acq_rel(&buffer->begin, &border, border - bytes)
                 : cx_a64_cas_acq_rel(&buffer->end, &border, border + bytes);
}

/* The piece goes into the room beside the text. *taken is false if there is none any more. */
static coex_handle grow_in_place(struct grow *grow, bool *taken)
{
    void *view;
    *taken = true;
    coex_handle s = coex_gc_alloc_at(sizeof(struct cx_string_view), cx_values.id[CX_TYPE_string_view], &view);
    if (s == 0 || !grow_open(grow)) return cx_fail_memory();
    const struct cx_string_text *grown = grow_grown(grow), *piece = grow_piece(grow);
    *taken = grow_take(grown, grow->front, piece->length);
    if (!*taken) return 0; /* the view stays empty, and is garbage */
    uint64_t offset = grown->view->offset - (grow->front ? piece->length : 0);
    char *base = coex_gc_handle_deref(grown->view->base);
    cx_string_view_fill(view, grown->view->base, offset, grow->total, cx_string_both(&grow->x, &grow->y));
    struct cx_string_work work = cx_string_work(piece->length);
    cx_string_pin(&work, s);
    cx_string_hold(&work, grow->front ? grow->b : grow->a, grown);
    cx_string_hold(&work, grow->front ? grow->a : grow->b, piece);
    cx_string_move(&work, base + (grow->front ? offset : offset + grown->length), piece->text, piece->length);
    cx_string_work_end(&work);
    return s;
}

static coex_handle grow_copy(struct grow *grow)
{
    char *text;
    uint64_t known = cx_string_both(&grow->x, &grow->y);
    coex_handle s = cx_string_alloc(grow->total, (known & CX_STRING_ASCII) != 0, &text);
    if (s == 0 || !grow_open(grow)) return 0;
    grow_write(grow, s, text);
    return s;
}

/* Both go to a new buffer. *taken is false if there is no memory for one with room. */
static coex_handle grow_anew(struct grow *grow, bool *taken)
{
    struct cx_string_buffer *buffer;
    void *view = NULL;
    uint64_t other = grow_room(grow_grown(grow), !grow->front), room = grow->total / 2;
    if (other > grow->total) other = grow->total;
    coex_handle *slots = coex_gc_enter_frame(2);
    slots[0] = grow_buffer(grow->front ? room : other, grow->total, grow->front ? other : room, &buffer);
    *taken = slots[0] != 0;
    coex_handle s = 0;
    if (*taken) s = coex_gc_alloc_at(sizeof(struct cx_string_view), cx_values.id[CX_TYPE_string_view], &view);
    if (s != 0 && grow_open(grow)) {
        slots[1] = s;
        buffer = coex_gc_handle_deref(slots[0]);
        uint64_t offset = cx_a64_load_relaxed(&buffer->begin);
        cx_string_view_fill(view, slots[0], offset, grow->total, cx_string_both(&grow->x, &grow->y));
        grow_write(grow, slots[0], (char *)buffer + offset);
    }
    coex_gc_leave_frame(slots);
    return s != 0 || !*taken ? s : cx_fail_memory();
}

coex_handle coex_string_concat(coex_handle a, coex_handle b)
{
    struct grow grow = {.a = a, .b = b};
    bool taken;
    if (!grow_open(&grow)) return 0;
    if (grow.y.length == 0) return a;
    if (grow.x.length == 0) return b;
    grow.total = grow.x.length + grow.y.length;
    if (grow.total > COEX_STRING_MAX) return cx_fail(COEX_STATUS_SIZE);
    grow.front = grow.x.length < grow.y.length;
    uint64_t shorter = grow_piece(&grow)->length;
    if (grow_room(grow_grown(&grow), grow.front) >= shorter) {
        coex_handle s = grow_in_place(&grow, &taken);
        if (taken) return s;
    }
    if (grow.total > GROW_COPIED && grow.total / GROW_RATIO > shorter) {
        coex_handle s = grow_anew(&grow, &taken);
        if (taken) return s;
    }
    return grow_copy(&grow);
}

/* --------------------------------------------------------------- builders */

/* The buffer of a builder that is at work, or NULL with a status. */
static struct cx_string_buffer *grow_builder(coex_handle h)
{
    const struct cx_string_builder *builder = cx_value_as(h, CX_TYPE_string_builder);
    struct cx_string_buffer *buffer = builder != NULL ? coex_gc_handle_deref(builder->buffer) : NULL;
    if (buffer == NULL) cx_fail(builder == NULL ? COEX_STATUS_KIND : COEX_STATUS_STALE);
    return buffer;
}

static uint64_t grow_used(const struct cx_string_buffer *buffer)
{
    return cx_a64_load_relaxed(&buffer->end) - offsetof(struct cx_string_buffer, text);
}

coex_handle coex_string_builder_new(uint64_t room)
{
    struct cx_string_buffer *buffer;
    void *payload = NULL;
    if (room > COEX_STRING_MAX) return cx_fail(COEX_STATUS_SIZE);
    coex_handle *slots = coex_gc_enter_frame(1);
    slots[0] = grow_buffer(0, 0, room != 0 ? room : GROW_LEAST, &buffer);
    coex_handle h = 0;
    if (slots[0] != 0) h = coex_gc_alloc_at(sizeof(struct cx_string_builder), cx_values.id[CX_TYPE_string_builder], &payload);
    if (h != 0) {
        coex_gc_init_ref(h, offsetof(struct cx_string_builder, buffer), slots[0]);
        ((struct cx_string_builder *)payload)->ascii = 1;
    }
    coex_gc_leave_frame(slots);
    return h != 0 ? h : cx_fail_memory();
}

/* The text moves to a buffer with room for `bytes` more. Its end, or NULL with a status. */
static char *grow_builder_move(coex_handle h, uint64_t used, uint64_t bytes)
{
    struct cx_string_buffer *buffer;
    if (bytes > COEX_STRING_MAX - used) {
        cx_fail(COEX_STATUS_SIZE);
        return NULL;
    }
    coex_handle fresh = grow_buffer(0, used, bytes > used ? bytes : used, &buffer);
    if (fresh == 0 && bytes < used) fresh = grow_buffer(0, used, bytes, &buffer);
    struct cx_string_builder *builder = cx_value_as(h, CX_TYPE_string_builder);
    if (fresh == 0 || builder == NULL) {
        cx_fail_memory();
        return NULL;
    }
    const struct cx_string_buffer *old = coex_gc_handle_deref(builder->buffer);
    struct cx_string_work work = cx_string_work(used);
    cx_string_pin(&work, builder->buffer);
    cx_string_pin(&work, fresh);
    char *end = cx_string_move(&work, buffer->text, old->text, used);
    coex_gc_store(h, offsetof(struct cx_string_builder, buffer), fresh);
    cx_string_work_end(&work);
    return end;
}

/* Writes at `at`, in the room of a builder, what lies at `text`; the work holds that if it is in the heap. */
static void grow_builder_fill(coex_handle h, struct cx_string_work *work, char *at, const char *text, uint64_t bytes, bool ascii)
{
    cx_string_pin(work, ((const struct cx_string_builder *)coex_gc_handle_deref(h))->buffer);
    cx_string_move(work, at, text, bytes);
    cx_string_builder_wrote(h, bytes, ascii);
    cx_string_work_end(work);
}

char *cx_string_builder_room(coex_handle h, uint64_t bytes)
{
    struct cx_string_buffer *buffer = grow_builder(h);
    if (buffer == NULL) return NULL;
    uint64_t end = cx_a64_load_relaxed(&buffer->end);
    if (COEX_LIKELY(bytes <= coex_gc_size_at(buffer) - end)) return (char *)buffer + end;
    return grow_builder_move(h, grow_used(buffer), bytes);
}

void cx_string_builder_wrote(coex_handle h, uint64_t bytes, bool ascii)
{
    struct cx_string_buffer *buffer = grow_builder(h);
    if (buffer == NULL) return;
    cx_a64_store_relaxed(&buffer->end, cx_a64_load_relaxed(&buffer->end) + bytes);
    if (!ascii) ((struct cx_string_builder *)coex_gc_handle_deref(h))->ascii = 0;
}

bool coex_string_builder_append(coex_handle h, coex_handle s)
{
    struct cx_string_text text;
    if (grow_builder(h) == NULL || !cx_string_need(s, &text)) return false;
    char *at = cx_string_builder_room(h, text.length);
    if (at == NULL || !cx_string_open(s, &text)) return false;
    struct cx_string_work work = cx_string_work(text.length);
    cx_string_hold(&work, s, &text);
    grow_builder_fill(h, &work, at, text.text, text.length, cx_string_is_known_ascii(&text));
    return true;
}

static bool grow_builder_write(coex_handle h, const char *text, uint64_t bytes, bool ascii)
{
    char *at = cx_string_builder_room(h, bytes);
    if (at == NULL) return false;
    struct cx_string_work work = cx_string_work(bytes);
    grow_builder_fill(h, &work, at, text, bytes, ascii);
    return true;
}

bool coex_string_builder_append_from(coex_handle h, const char *utf8, uint64_t bytes)
{
    bool ascii = true;
    if (grow_builder(h) == NULL) return false;
    if (bytes > COEX_STRING_MAX) return cx_fail_false(COEX_STATUS_SIZE);
    if (bytes != 0 && utf8 == NULL) return cx_fail_false(COEX_STATUS_KIND);
    struct cx_string_work work = cx_string_work(bytes);
    if (bytes != 0 && cx_string_scan(&work, utf8, bytes, &ascii) != bytes) return cx_fail_false(COEX_STATUS_TEXT);
    return grow_builder_write(h, utf8, bytes, ascii);
}

bool coex_string_builder_append_char(coex_handle h, uint32_t character)
{
    char text[4];
    if (grow_builder(h) == NULL) return false;
    if (!cx_utf8_is_char(character)) return cx_fail_false(COEX_STATUS_TEXT);
    return grow_builder_write(h, text, cx_utf8_write(text, character), character < 0x80);
}

bool coex_string_builder_append_int(coex_handle h, int64_t value)
{
    char text[CX_NUMBER_INT_MAX];
    return grow_builder_write(h, text, cx_number_format_int64(text, value), true);
}

bool coex_string_builder_append_float(coex_handle h, double value)
{
    char text[CX_NUMBER_DOUBLE_MAX];
    return grow_builder_write(h, text, cx_number_format_double(text, value), true);
}

bool coex_string_builder_reserve(coex_handle h, uint64_t bytes) { return cx_string_builder_room(h, bytes) != NULL; }

bool coex_string_builder_truncate(coex_handle h, uint64_t bytes)
{
    struct cx_string_buffer *buffer = grow_builder(h);
    if (buffer == NULL) return false;
    uint64_t used = grow_used(buffer);
    if (bytes > used) return cx_fail_false(COEX_STATUS_RANGE);
    if (bytes < used && cx_utf8_continues(buffer->text[bytes])) return cx_fail_false(COEX_STATUS_TEXT);
    cx_a64_store_relaxed(&buffer->end, offsetof(struct cx_string_buffer, text) + bytes);
    return true;
}

uint64_t coex_string_builder_len(coex_handle h)
{
    const struct cx_string_buffer *buffer = grow_builder(h);
    return buffer != NULL ? grow_used(buffer) : 0;
}

/* A string that has its own memory, or a view of the buffer, whose room stays of use to whoever continues it. */
coex_handle coex_string_builder_finish(coex_handle h)
{
    const struct cx_string_buffer *buffer = grow_builder(h);
    if (buffer == NULL) return 0;
    const struct cx_string_builder *builder = coex_gc_handle_deref(h);
    uint64_t used = grow_used(buffer);
    bool copied = used <= GROW_COPIED || used < coex_gc_size_at(buffer) / 2;
    char *text = NULL;
    void *view = NULL;
    coex_handle s = copied ? cx_string_alloc(used, builder->ascii != 0, &text)
                           : coex_gc_alloc_at(sizeof(struct cx_string_view), cx_values.id[CX_TYPE_string_view], &view);
    if (s == 0) return cx_fail_memory();
    builder = coex_gc_handle_deref(h);
    buffer = coex_gc_handle_deref(builder->buffer);
    struct cx_string_work work = cx_string_work(copied ? used : 0);
    cx_string_pin(&work, s);
    cx_string_pin(&work, builder->buffer);
    if (copied)
        cx_string_move(&work, text, buffer->text, used);
    else
        cx_string_view_fill(view, builder->buffer, offsetof(struct cx_string_buffer, text), used,
                            builder->ascii != 0 ? CX_STRING_ASCII : 0);
    coex_gc_store(h, offsetof(struct cx_string_builder, buffer), 0);
    cx_string_work_end(&work);
    return s;
}
