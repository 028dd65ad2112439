/* Builds a list of a hundred numbers, runs a collection, and prints the sum. */
#include <coex/gc.h>
#include <stdio.h>

typedef struct node {
    coex_handle next;
    uint64_t number;
} node;

int main(void)
{
    coex_gc_init();
    static const uint32_t references[] = {offsetof(node, next)};
    uint32_t type =
        coex_gc_register_type(&(coex_gc_type){.name = "node", .size = sizeof(node), .ref_offsets = references, .ref_count = 1});

    coex_handle *slots = coex_gc_enter_frame(1); /* what a slot names stays alive */
    for (uint64_t i = 1; i <= 100; i++) {
        void *payload;
        coex_handle fresh = coex_gc_alloc_at(sizeof(node), type, &payload);
        *(node *)payload = (node){.next = slots[0], .number = i};
        slots[0] = fresh;
    }
    coex_gc_collect(); /* the list is still here afterwards */

    uint64_t sum = 0;
    for (coex_handle h = slots[0]; h != 0; h = coex_gc_load(h, offsetof(node, next)))
        sum += ((node *)coex_gc_handle_deref(h))->number;
    printf("the sum is %d\n", (int)sum);
    coex_gc_leave_frame(slots); /* from here on it is garbage */
    coex_gc_shutdown();
    return 0;
}
