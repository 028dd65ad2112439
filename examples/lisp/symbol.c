/* Symbols. There is one symbol for each name, and it is never removed. The table is a vector of
 * buckets in a global root, and a bucket is a list of symbols. Any thread may add a symbol at
 * any time, with a compare-and-exchange of the head of a bucket and without a lock. */
#include "lisp.h"

enum { BUCKETS = 4096 };

static value table;

static uint64_t hash(const char *text, size_t length)
{
    uint64_t h = 14695981039346656037u; /* FNV-1a */
    for (size_t i = 0; i < length; i++) h = (h ^ (unsigned char)text[i]) * 1099511628211u;
    return h ^ h >> 32;
}

/* The symbol of that name in a bucket, or 0. No safepoint, so `text` may be the payload of a string. */
static value bucket_find(value bucket, const char *text, size_t length)
{
    for (; is_object(bucket); bucket = cdr(bucket)) {
        value name = symbol_name(car(bucket));
        if (string_length(name) == length && memcmp(string_text(name), text, length) == 0) return car(bucket);
    }
    return 0;
}

static value new_symbol(struct vm *vm, value name)
{
    void *payload;
    value symbol = new_object(vm, KIND_SYMBOL, sizeof(struct symbol), &payload);
    *(struct symbol *)payload = (struct symbol){.name = name};
    return symbol;
}

value intern_string(struct vm *vm, value string)
{
    value buckets = coex_gc_global_load(&table);
    uint64_t at = hash(string_text(string), string_length(string)) % BUCKETS;
    value *slots = coex_gc_enter_frame_with(3, 2, (value[]){string, vector_at(buckets, at)});
    value symbol = bucket_find(slots[1], string_text(string), string_length(string));
    while (symbol == 0) {
        slots[2] = new_symbol(vm, string);
        value longer = cons(vm, slots[2], slots[1]);
        value head = slots[1];
        if (coex_gc_compare_exchange(buckets, at * sizeof(value), &head, longer)) {
            symbol = slots[2];
        } else {
            slots[1] = head; /* another thread has added something: perhaps this very name */
            symbol = bucket_find(head, string_text(string), string_length(string));
        }
    }
    coex_gc_leave_frame(slots);
    return symbol;
}

value intern_text(struct vm *vm, const char *text, size_t length)
{
    value head = vector_at(coex_gc_global_load(&table), hash(text, length) % BUCKETS);
    value symbol = bucket_find(head, text, length);
    if (symbol != 0) return symbol;
    value *slots = coex_gc_enter_frame(1);
    slots[0] = new_string(vm, text, length);
    symbol = intern_string(vm, slots[0]);
    coex_gc_leave_frame(slots);
    return symbol;
}

value intern(struct vm *vm, const char *name) { return intern_text(vm, name, strlen(name)); }

void symbols_init(struct vm *vm)
{
    coex_gc_add_global_root(&table);
    coex_gc_global_store(&table, new_vector(vm, BUCKETS, NIL));
}
