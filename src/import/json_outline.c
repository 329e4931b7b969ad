/* SPDX-License-Identifier: Apache-2.0 */
#include "import/json_outline.h"
#include "base/hash.h"

void json_outline_init(struct json_outline *o)
{
    memset(o, 0, offsetof(struct json_outline, text));
}

static void put(struct json_outline *o, struct str s)
{
    if (s.len <= OUTLINE_SIZE - o->used) {
        memcpy(o->text + o->used, s.ptr, s.len);
        o->used += s.len;
    }
}

/* Whether the key is new and there is room for it. */
static bool is_new(struct json_outline *o, struct str key)
{
    uint64_t hash = hash_bytes(key.ptr, key.len) | 1;
    size_t at = (size_t)(hash >> 32) % OUTLINE_KEYS;
    while (o->known[at] && o->known[at] != hash)
        at = (at + 1) % OUTLINE_KEYS;
    if (o->known[at] || o->key_count == OUTLINE_KEYS / 2)
        return false;
    o->known[at] = hash;
    o->key_count++;
    return true;
}

/* At a colon: the string before it is a key. */
static void take_key(struct json_outline *o)
{
    struct str key = {o->word, o->word_length};
    bool fits = o->has_string && key.len && key.len <= OUTLINE_KEY_MAX;
    o->broken |= !o->has_string;
    o->has_string = false;
    o->is_schema = fits && str_equal(key, STR("$schema"));
    if (!fits || byte_is_digit(key.ptr[0]) || !is_new(o, key) ||
        o->used + key.len + 3 > OUTLINE_SIZE)
        return;
    put(o, STR("\""));
    put(o, key);
    put(o, STR("\":"));
}

static void end_string(struct json_outline *o)
{
    o->in_string = false;
    o->has_string = true;
    if (o->is_schema && o->word_length <= OUTLINE_KEY_MAX) {
        put(o, STR("\""));
        put(o, (struct str){o->word, o->word_length});
        put(o, STR("\""));
    }
    o->is_schema = false;
}

/* Inside a string: skips to its end, or to the end of the piece. */
static size_t pass_string(struct json_outline *o, struct str s)
{
    size_t at = 0;
    for (; at < s.len; at++) {
        char c = s.ptr[at];
        if (!o->escaped && c == '"') {
            end_string(o);
            return at + 1;
        }
        o->escaped = !o->escaped && c == '\\';
        if (o->word_length <= OUTLINE_KEY_MAX)
            o->word[o->word_length++] = c;
    }
    return at;
}

static bool in_value_word(char c)
{
    return byte_is_word(c) || c == '-' || c == '+' || c == '.' || c == ',';
}

/* A byte outside of strings. */
static void take_byte(struct json_outline *o, char c)
{
    bool opens = c == '{' || c == '[', closes = c == '}' || c == ']';
    if (byte_is_space(c))
        return;
    if (!o->started) {
        o->started = true;
        o->broken = !opens;
        put(o, (struct str){&c, 1});
    }
    if (c == ':') {
        take_key(o);
        return;
    }
    o->broken |= o->has_string && c != ',' && !closes;
    o->has_string = false;
    o->depth += opens;
    o->broken |= closes && o->depth == 0;
    o->depth -= closes && o->depth;
    o->ended |= closes && o->depth == 0;
    if (c == '"') {
        o->in_string = true;
        o->word_length = 0;
    } else if (!opens && !closes) {
        o->broken |= !in_value_word(c);
    }
    o->is_schema &= c == '"';
}

void json_outline_feed(struct json_outline *o, struct str piece)
{
    size_t at = 0;
    while (at < piece.len && !o->broken && !o->ended) {
        if (o->in_string)
            at += pass_string(o, str_skip(piece, at));
        else
            take_byte(o, piece.ptr[at++]);
    }
}
