/* SPDX-License-Identifier: Apache-2.0 */
#include "resolve/kernel_functions.h"
#include "os/machine.h"
#include "symbol/kallsyms.h"
#include <stdlib.h>

#define PART ((size_t)256 << 10) /* of the text, which is sorted for the most part */

/* No function is that large: the next symbol is in another part of the address space. */
#define FAR ((uint64_t)64 << 20)

/* --- Reading ------------------------------------------------------------------------ */

/* Of data symbols in a row, the first is enough: the function before it ends there. */
static void append(struct kernel_functions *k, const struct symbol *s)
{
    bool is_function = s->kind != SYMBOL_OBJECT;
    size_t length = is_function ? s->name.len : 0;
    bool after_data = k->count && k->items[k->count - 1].length == 0;
    if (k->count == k->cap || length > k->size - k->used || (!is_function && after_data))
        return;
    k->items[k->count++] = (struct kernel_function){
        .address = s->address, .name = (uint32_t)k->used, .length = (uint32_t)length};
    memcpy(k->names + k->used, s->name.ptr, length);
    k->used += length;
}

static void take_lines(void *context, struct str lines)
{
    struct kernel_functions *k = context;
    struct arena arena = ARENA_INIT;
    struct kallsyms_facts facts;
    struct symbol_table table;
    struct error ignored;
    if (kallsyms_init(&table, lines, &arena, &facts, &ignored) && !facts.hidden)
        for (size_t i = 0; i < table.count; i++) {
            struct symbol s = symbol_table_get(&table, i);
            append(k, &s);
        }
    arena_deinit(&arena);
}

static int compare(const void *left, const void *right)
{
    const struct kernel_function *a = left, *b = right;
    return (a->address > b->address) - (a->address < b->address);
}

bool kernel_functions_read(struct kernel_functions *k)
{
    char *room = malloc(PART);
    k->count = k->used = 0;
    bool ok = room && os_read_lines("/proc/kallsyms", room, PART, take_lines, k);
    free(room);
    qsort(k->items, k->count, sizeof *k->items, compare);
    return ok && k->count > 0;
}

/* --- Looking up --------------------------------------------------------------------- */

/* The last one that begins at or before the address; `count` if there is none. */
static size_t last_before(const struct kernel_functions *k, uint64_t address)
{
    size_t from = 0, to = k->count;
    while (from < to) {
        size_t middle = from + (to - from) / 2;
        if (k->items[middle].address <= address)
            from = middle + 1;
        else
            to = middle;
    }
    return from ? from - 1 : k->count;
}

/* Padding before each function has a symbol of its own, and is never executed: see
 * find_symbol in namer.c. */
const struct kernel_function *kernel_functions_find(const struct kernel_functions *k,
                                                    uint64_t address, bool is_call,
                                                    uint64_t *end)
{
    size_t i = last_before(k, address - is_call);
    if (i == k->count)
        return NULL;
    if (is_call && str_starts(kernel_function_name(k, &k->items[i]), STR("__pfx_")) &&
        i + 1 < k->count && k->items[i + 1].address == address)
        i++;
    const struct kernel_function *f = &k->items[i];
    *end = i + 1 < k->count ? k->items[i + 1].address : f->address + FAR;
    bool inside = f->length && address - f->address < FAR;
    return inside ? f : NULL;
}
