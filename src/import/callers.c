/* SPDX-License-Identifier: Apache-2.0 */
#include "import/callers.h"
#include "base/scan.h"

bool callers_init(struct callers *c, struct arena *a)
{
    return memo_init(&c->memo, a, 32768);
}

size_t callers_scan(struct callers *c, struct str text)
{
    c->text = text;
    return scan_lines(text, c->starts, CALLERS_LINES_MAX + 1, &c->entry_lines);
}

static size_t chunk_count(const struct callers *c)
{
    return (c->line_count + CALLERS_CHUNK - 1) / CALLERS_CHUNK;
}

/* The first line of the run of the outermost `chunks`. */
static size_t chunk_start(const struct callers *c, size_t chunks)
{
    size_t lines = chunks * CALLERS_CHUNK;
    return lines < c->line_count ? c->line_count - lines : 0;
}

/* keys[k] is the hash of the text of the outermost k chunks. */
static void chain_keys(struct callers *c)
{
    const uint32_t *starts = c->starts + c->first;
    size_t end = c->line_count;
    c->keys[0] = (struct hash128){HASH_C, HASH_D};
    for (size_t k = 1; k <= chunk_count(c); k++) {
        size_t start = chunk_start(c, k);
        struct hash128 h =
            hash_bytes128(c->text.ptr + starts[start], starts[end] - starts[start]);
        c->keys[k].lo = hash_mix(h.lo ^ HASH_C, c->keys[k - 1].lo ^ HASH_A);
        c->keys[k].hi = hash_mix(h.hi ^ HASH_D, c->keys[k - 1].hi ^ HASH_B);
        memo_prefetch(&c->memo, c->keys[k]);
        end = start;
    }
}

bool callers_find(struct callers *c, size_t from, size_t to, stack_id *stack)
{
    c->first = from;
    c->line_count = c->entry_lines <= CALLERS_LINES_MAX + 1 ? to - from : 0;
    if (c->line_count > CALLERS_LINES_MAX)
        c->line_count = 0;
    c->known = chunk_count(c);
    c->known_stack = 0;
    if (c->line_count == 0)
        return false;
    chain_keys(c);
    for (; c->known; c->known--) {
        const uint64_t *value = memo_find(&c->memo, c->keys[c->known]);
        if (!value)
            continue;
        *stack = c->known_stack = (stack_id)*value;
        return c->known == chunk_count(c);
    }
    return false;
}

size_t callers_unknown(const struct callers *c)
{
    return chunk_start(c, c->known);
}

stack_id callers_learn(struct callers *c, struct builder *b, size_t from)
{
    stack_id stack = c->known_stack;
    size_t count = b->path.count - from, done = 0;
    builder_path_reverse(b, from);
    for (size_t k = c->known + 1; k <= chunk_count(c); k++) {
        size_t start = chunk_start(c, k);
        size_t inner = start ? c->frames_at[start - 1] - from : 0;
        stack = builder_push_run(b, stack, b->path.items + from + done,
                                 count - inner - done, NULL);
        done = count - inner;
        memo_put(&c->memo, c->keys[k], stack);
    }
    return stack;
}
