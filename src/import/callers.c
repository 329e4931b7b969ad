#include "import/callers.h"

bool callers_init(struct callers *c, struct arena *a)
{
    return memo_init(&c->memo, a, 32768);
}

/* Finds where the lines begin; false where there are too many. */
static bool index_lines(struct callers *c)
{
    struct str text = c->text;
    size_t at = 0;
    for (c->line_count = 0; at < text.len; c->line_count++) {
        if (c->line_count == CALLERS_LINES_MAX)
            return false;
        c->starts[c->line_count] = (uint32_t)at;
        at += str_find(str_skip(text, at), '\n') + 1;
    }
    c->starts[c->line_count] = (uint32_t)text.len;
    return true;
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

/* keys[k] stands for the text of the outermost k chunks. */
static void chain_keys(struct callers *c)
{
    size_t end = c->line_count;
    c->keys[0] = (struct hash128){HASH_C, HASH_D};
    for (size_t k = 1; k <= chunk_count(c); k++) {
        size_t start = chunk_start(c, k);
        struct hash128 h = hash_bytes128(c->text.ptr + c->starts[start],
                                         c->starts[end] - c->starts[start]);
        c->keys[k].lo = hash_mix(h.lo ^ HASH_C, c->keys[k - 1].lo ^ HASH_A);
        c->keys[k].hi = hash_mix(h.hi ^ HASH_D, c->keys[k - 1].hi ^ HASH_B);
        end = start;
    }
}

bool callers_find(struct callers *c, struct str text, stack_id *stack, size_t *lines)
{
    c->text = text;
    c->whole = hash_bytes128(text.ptr, text.len);
    c->known = 0;
    c->known_stack = 0;
    const uint64_t *value = memo_find(&c->memo, c->whole);
    if (value) {
        *stack = (stack_id)*value;
        *lines = (size_t)(*value >> 32);
        return true;
    }
    if (!index_lines(c)) {
        c->line_count = 0;
        return false;
    }
    chain_keys(c);
    for (size_t k = chunk_count(c); k > 0; k--) {
        value = memo_find(&c->memo, c->keys[k]);
        if (!value)
            continue;
        c->known = k;
        c->known_stack = (stack_id)*value;
        break;
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
    memo_put(&c->memo, c->whole, (uint64_t)c->line_count << 32 | stack);
    return stack;
}
