/* A view of an object for dumps: what its header and type say, looked at with care.
 *
 * Whoever takes one may be on any thread, at any time, and the object may be dead, reused or damaged: the address is checked against the
 * heap, the type against the types, the size against the space. What was read may be out of date at once; it never leads outside. */
#ifndef CX_DIAG_HEAP_OBJECT_VIEW_H
#define CX_DIAG_HEAP_OBJECT_VIEW_H

#include "diag/text.h"
#include "gc/threads/thread_record.h"

#include <coex/gc_diag.h>

/* Reads objects and tables while their owners write them: each word is whole, and that is all a look needs. */
#define CX_BESIDE __attribute__((no_sanitize("thread")))

struct cx_object_view {
    coex_handle handle;
    char *payload;
    const struct cx_type *type; /* NULL: the header has none, or the address or the size makes no sense */
    const char *name;           /* of the type, or "?" */
    uint64_t header;
    uint64_t size;  /* of the payload */
    uint64_t bytes; /* in the heap, header and padding included; 0 without a type */
    bool large;
};

/* False: the slot is empty, or there is no such handle. */
bool cx_object_view_take(struct cx_object_view *view, coex_handle handle);
/* A word of the payload, and `count` bytes of it. */
uint64_t cx_object_view_word(const struct cx_object_view *view, uint64_t offset);
void cx_object_view_copy(const struct cx_object_view *view, uint64_t offset, unsigned char *bytes, uint64_t count);
/* Calls `visit` with each reference that is not null. */
typedef void (*cx_object_view_visitor)(void *context, uint64_t offset, coex_handle value);
void cx_object_view_each(const struct cx_object_view *view, cx_object_view_visitor visit, void *context);

/* What a field at `offset` is called. */
enum cx_field_kind {
    CX_FIELD_NAMED,   /* by ref_names, or by the runtime; `name` */
    CX_FIELD_CALLED,  /* by the type's namer; `called` */
    CX_FIELD_OFFSET,  /* listed without a name */
    CX_FIELD_ELEMENT, /* of an array of references; `index` */
    CX_FIELD_TRACED,  /* found by a trace function, without a name */
    CX_FIELD_PLAIN    /* not a reference, as far as the type says */
};
enum { CX_OBJECT_VIEW_NAME = 32 };
struct cx_field {
    enum cx_field_kind kind;
    const char *name;
    uint64_t index;
    char called[CX_OBJECT_VIEW_NAME];
};
struct cx_field cx_object_view_field(const struct cx_object_view *view, uint64_t offset);
/* "next", "[3]", "key 3" or "offset 16". */
void cx_object_view_print_field(struct cx_text *text, const struct cx_object_view *view, uint64_t offset);

/* What names the traced references of a type, or NULL; and what it says. False: nothing. */
coex_gc_namer cx_object_view_namer(const struct cx_type *type);
bool cx_object_view_call(coex_gc_namer name, uint64_t size, uint64_t offset, char called[CX_OBJECT_VIEW_NAME]);

/* The type's name; and, for a type with a describer, its text in quotes. */
void cx_object_view_print_type(struct cx_text *text, const struct cx_object_view *view, bool described);

/* The handle that has this place in the table, as users see it. */
static inline coex_handle cx_object_view_handle_at(uint64_t index) { return cx_handle_tag(&cx_world.handles, cx_index_of(index)); }

#endif
