/* SPDX-License-Identifier: Apache-2.0 */
#include "base/scan.h"
#include "codec/decode.h"
#include "web/core/core.h"
#include <stdlib.h>

/* The size at which a piece is read: large enough that the setup of an importer does
 * not matter, small enough that a file is never in memory as a whole. */
#define PIECE_SIZE ((size_t)32 << 20)

void code_destroy(struct code *c)
{
    if (c)
        code_deinit(c);
    free(c);
}

struct code *loading_take_code(struct loading *l)
{
    struct code *c = l->code;
    l->code = NULL;
    return c;
}

void loading_deinit(struct loading *l)
{
    if (l->begun)
        builder_deinit(&l->builder);
    free(l->bytes);
    arena_deinit(&l->head_arena);
    code_destroy(l->code);
    *l = (struct loading){0};
}

bool loading_begin(struct loading *l, struct str name, struct error *err)
{
    loading_deinit(l);
    format_text(l->name, sizeof l->name, "%.*s", STR_ARG(name));
    l->begun = true;
    return builder_init(&l->builder, BUILD_KEEP) || error_memory(err);
}

char *loading_room(struct loading *l, size_t room)
{
    if (room > SIZE_MAX / 2 - l->used)
        return NULL;
    if (l->cap - l->used < room) {
        size_t cap = l->cap + l->cap / 2;
        if (cap < l->used + room)
            cap = l->used + room;
        char *bytes = realloc(l->bytes, cap);
        if (!bytes)
            return NULL;
        l->bytes = bytes;
        l->cap = cap;
    }
    return l->bytes + l->used;
}

/* Files that users sometimes open by mistake. */
static const struct {
    const char *head, *what, *hint;
} MISTAKEN[] = {
    {"\x7f"
     "ELF",
     "this is a program, not a profile", "record one with 'stoke record ./program'"},
    {"\x89PNG", "this is a picture, not a profile", ""},
    {"\xff\xd8\xff", "this is a picture, not a profile", ""},
    {"%PDF", "this is a document, not a profile", ""},
    {"<svg", "this is a picture, not a profile",
     "open the profile that it was drawn from"},
    {"<?xml version=\"1.0\" standalone", "this is a picture, not a profile",
     "open the profile that it was drawn from"},
    {"<!doctype html", "this page contains no profile", ""},
    {"<!DOCTYPE html", "this page contains no profile", ""},
};

static bool set_unknown(const struct loading *l, struct error *err)
{
    struct str head = l->head;
    char names[400];
    for (size_t i = 0; i < sizeof MISTAKEN / sizeof *MISTAKEN; i++)
        if (str_starts(head, str_of(MISTAKEN[i].head))) {
            error_set(err, "%s", MISTAKEN[i].what);
            return error_hint(err, "%s", MISTAKEN[i].hint);
        }
    error_set(err, "the format of this file is unknown");
    detect_candidates(head, str_of(l->name), names, sizeof names);
    return error_hint(err, "choose its format: %s", names);
}

static void drop_mark(struct loading *l)
{
    struct str bytes = {l->bytes ? l->bytes : "", l->used};
    if (l->looked || !str_starts(bytes, STR("\xef\xbb\xbf")))
        return;
    l->used -= 3;
    memmove(l->bytes, l->bytes + 3, l->used);
}

/* Detects the format from the bytes so far. True if it is decided, or more bytes are
 * needed: see l->importer. */
static bool choose_importer(struct loading *l, bool last, struct error *err)
{
    drop_mark(l);
    if (!l->looked)
        detection_init(&l->detection);
    l->looked = true;
    struct str bytes = {l->bytes ? l->bytes : "", l->used};
    if (!l->chosen && !detect(&l->detection, bytes, last, str_of(l->name)))
        return true;
    l->head = arena_str(&l->head_arena, str_head(bytes, IMPORT_HEAD_SIZE));
    l->importer = l->chosen ? l->chosen : l->detection.found;
    if (l->importer)
        return true;
    if (l->used == 0)
        return error_set(err, "the file is empty");
    return set_unknown(l, err);
}

bool loading_format(struct loading *l, struct str format, struct error *err)
{
    l->chosen = importer_named(format);
    if (l->chosen || format.len == 0)
        return true;
    return error_set(err, "there is no format '%.*s'", STR_ARG(format));
}

/* A file with code is read whole. */
static bool prepare_code(struct loading *l)
{
    if (l->code || !str_equal(str_of(l->importer->name), STR("stoke")))
        return true;
    l->code = malloc(sizeof *l->code);
    return l->code && code_init(l->code);
}

/* Reads the first `length` bytes. Lines are counted over all pieces. */
static bool read_piece(struct loading *l, size_t length, bool whole, struct error *err)
{
    struct facts *facts = &l->builder.profile->facts;
    struct import_options options = {.lines = true, .cuts = true};
    struct str bytes = {l->bytes ? l->bytes : "", length};
    struct source s = source_of(bytes, str_of(l->name));
    unsigned known = facts->warning_count;
    if (!whole)
        options.head = l->head;
    else if (!prepare_code(l))
        return error_memory(err);
    options.code = l->code;
    bool ok = import_part(l->importer, &s, &options, &l->builder, err);
    source_deinit(&s);
    for (unsigned i = known; i < facts->warning_count; i++)
        if (facts->warnings[i].first.line)
            facts->warnings[i].first.line += l->lines;
    if (!ok && err->location.line)
        err->location.line += l->lines;
    if (!whole)
        l->lines += scan_count(bytes, '\n');
    l->done += length;
    l->used -= length;
    if (l->used)
        memmove(l->bytes, l->bytes + length, l->used);
    return ok;
}

/* Where the last record begins, which may be incomplete; searched for near the end; 0
 * if there is none. */
static size_t last_record(const struct loading *l)
{
    struct str bytes = {l->bytes, l->used};
    for (size_t back = IMPORT_HEAD_SIZE; back < l->used; back *= 4) {
        size_t at = l->importer->split(bytes, l->used - back);
        if (at < l->used)
            return at;
    }
    return 0;
}

bool loading_feed(struct loading *l, size_t length, bool last, struct error *err)
{
    l->used += length;
    if (!l->importer && l->used < IMPORT_HEAD_SIZE && !last)
        return true;
    if (!l->importer && !choose_importer(l, last, err))
        return false;
    if (!l->importer)
        return true;
    bool in_pieces = l->importer->split != NULL;
    if (last)
        return read_piece(l, l->used, !in_pieces || l->done == 0, err);
    if (!in_pieces || l->used < PIECE_SIZE)
        return true;
    size_t cut = last_record(l);
    return cut == 0 || read_piece(l, cut, false, err);
}

void loading_flaw(struct loading *l, enum flaw flaw)
{
    static const char *const texts[] = {
        [FLAW_DAMAGED] = DECODE_DAMAGED,
        [FLAW_TRUNCATED] = DECODE_TRUNCATED,
        [FLAW_TRAILING_BYTES] = DECODE_TRAILING_BYTES,
        [FLAW_TOO_MUCH] = "the decompressed data exceeds the limit: the rest is skipped"};
    if (l->begun && flaw >= FLAW_DAMAGED && flaw <= FLAW_TOO_MUCH)
        builder_warn(&l->builder, texts[flaw], 0, 0, STR(""));
}

static void say_part(struct profile *p)
{
    struct builder b = {.profile = p};
    builder_warn(&b, "only the beginning of the file was read", 0, 0, STR(""));
}

static bool has_samples(const struct loading *l)
{
    return l->begun && l->builder.profile->sample_count > 0;
}

struct profile *loading_so_far(struct loading *l, struct error *err)
{
    struct import_options options = {0};
    if (!has_samples(l)) {
        error_set(err, "nothing is read yet");
        return NULL;
    }
    if (!import_check(l->importer, &options, &l->builder, 0, err))
        return NULL;
    struct profile *p = profile_copy(l->builder.profile);
    if (p)
        say_part(p);
    else
        error_memory(err);
    return p;
}

bool loading_stop(struct loading *l)
{
    l->used = 0;
    if (!has_samples(l))
        return false;
    say_part(l->builder.profile);
    return true;
}

static bool weighs_something(const struct profile *p, struct error *err)
{
    for (size_t i = 0; i < p->sample_count; i++)
        if (p->samples[i].weight != 0)
            return true;
    error_set(err, "all weights are zero: there is nothing to show");
    return error_hint(err, "check the command that wrote the file");
}

struct profile *loading_finish(struct loading *l, struct error *err)
{
    struct import_options options = {0};
    struct profile *p = NULL;
    free(l->bytes);
    l->bytes = NULL;
    l->used = l->cap = 0;
    if (import_check(l->importer, &options, &l->builder, 0, err))
        p = builder_finish(&l->builder, err);
    loading_deinit(l);
    if (p && !weighs_something(p, err)) {
        profile_destroy(p);
        return NULL;
    }
    return p;
}
