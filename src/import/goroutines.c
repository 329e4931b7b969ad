/* SPDX-License-Identifier: Apache-2.0 */
/* The stacks of goroutines: a panic, SIGQUIT, debug.PrintStack, and
 * /debug/pprof/goroutine?debug=2.
 *
 *   goroutine 18 [chan receive, 5 minutes, locked to thread]:
 *   main.(*Server).wait(0xc000012345, {0x4a1f2f, 0x5})
 *   	/src/server.go:40 +0x1d
 *   created by main.main in goroutine 1
 *   	/src/main.go:12 +0x25
 *
 * Every stack has weight 1; its outermost frame is the state of the goroutine, "[chan
 * receive]". The line "created by" is no caller. "...additional frames elided..." marks
 * a truncated stack.
 * Source: runtime/traceback.go. */
#include "base/number.h"
#include "import/stacktext.h"

struct goroutines {
    struct stacktext text; /* first */
    struct output state;   /* "[chan receive]" */
    bool open;             /* a header was read */
    bool after_frame;      /* the next line is the location of a frame */
    bool after_creation;   /* the next line is the location of the go statement */
};

/* "goroutine 18 [chan receive, 5 minutes]:"; "goroutine 0 [idle]:"; newer versions print
 * more between the number and the state: "goroutine 1 gp=0xc000 m=0 mp=0x57 [running]:". */
static bool parse_header(struct str line, uint64_t *id, struct str *state)
{
    struct str rest = line, word = str_word(&rest);
    size_t open = str_find(rest, '[');
    if (!str_equal(word, STR("goroutine")) || !str_ends(line, STR("]:")) ||
        open == rest.len)
        return false;
    *state = str_skip(rest, open + 1);
    state->len -= 2;
    *state = str_head(*state, str_find(*state, ','));
    return number_parse_u64(str_word(&rest), id);
}

/* The name of "main.(*Server).wait(0xc000012345, {0x4a1f2f, 0x5})": without the last
 * group of parentheses. Empty if the line is not a call. */
static struct str called(struct str line)
{
    size_t depth = 0;
    if (!str_ends(line, STR(")")))
        return STR("");
    for (size_t at = line.len; at-- > 0;) {
        depth += line.ptr[at] == ')';
        depth -= line.ptr[at] == '(';
        if (depth == 0)
            return str_head(line, at);
    }
    return STR("");
}

static void end_goroutine(struct goroutines *g)
{
    struct stacktext *t = &g->text;
    struct text_frame f = TEXT_FRAME;
    if (g->open && t->b->path.count) {
        f.name = output_contents(&g->state);
        f.kind = FRAME_MARKER;
        f.verbatim = true;
        if (f.name.len)
            builder_path_add(t->b, stacktext_frame(t, &f));
        stacktext_end(t);
    }
    builder_path_clear(t->b);
    g->open = g->after_frame = g->after_creation = false;
}

static void begin_goroutine(struct goroutines *g, uint64_t id, struct str state)
{
    end_goroutine(g);
    g->state.used = 0;
    if (state.len) {
        output_char(&g->state, '[');
        output_str(&g->state, state);
        output_char(&g->state, ']');
    }
    g->text.tid = id <= INT64_MAX ? (int64_t)id : ID_NONE;
    g->open = true;
}

/* "\t/src/server.go:40 +0x1d fp=0xc00004df30 sp=0xc00004df10 pc=0x463a3d" */
static void read_location(struct goroutines *g, struct str line)
{
    uint64_t number;
    struct str text = str_trim(line);
    text = str_head(text, str_rsearch(text, STR(" fp=0x")));
    text = str_head(text, str_rsearch(text, STR(" +0x")));
    struct str file = stacktext_split_location(text, &number);
    if (g->after_frame)
        stacktext_location(&g->text, file, number);
    g->after_frame = g->after_creation = false;
}

/* Other text ends the stack: "exit status 2", the registers after a signal. */
static void read_frame(struct goroutines *g, struct str line)
{
    struct text_frame f = TEXT_FRAME;
    f.name = called(line);
    f.verbatim = true;
    if (f.name.len == 0) {
        end_goroutine(g);
        return;
    }
    if (g->text.options->signatures)
        f.name = line;
    builder_path_add(g->text.b, stacktext_frame(&g->text, &f));
    g->after_frame = true;
}

static bool is_elided(struct str line)
{
    return str_starts(line, STR("...")) && str_has(line, STR("frames elided..."));
}

static void goroutines_line(struct stacktext *t, struct str line)
{
    struct goroutines *g = (struct goroutines *)t;
    struct str state;
    uint64_t id;
    line = str_trim_right(line);
    if (parse_header(line, &id, &state))
        begin_goroutine(g, id, state);
    else if (!g->open)
        return; /* the message of the panic, and what the program wrote */
    else if (line.len == 0)
        end_goroutine(g);
    else if (line.ptr[0] == '\t')
        read_location(g, line);
    else if (is_elided(line))
        stacktext_cut(t);
    else if (str_starts(line, STR("created by ")))
        g->after_creation = true;
    else if (!g->after_creation)
        read_frame(g, line);
}

static void goroutines_finish(struct stacktext *t)
{
    struct goroutines *g = (struct goroutines *)t;
    end_goroutine(g);
    t->b->profile->arena.failed |= g->state.failed;
}

static bool goroutines_read(struct source *in, const struct import_options *options,
                            struct builder *b, struct error *err)
{
    struct goroutines g = {.text = {.weight = 1, .finish = goroutines_finish}};
    bool ok = stacktext_read(&g.text, in, options, b, goroutines_line, err);
    output_deinit(&g.state);
    return ok;
}

/* Whether a header is followed by a call and its location. */
static int goroutines_probe(struct str head)
{
    struct str line, state;
    uint64_t id;
    while (stacktext_probe_line(&head, &line)) {
        if (!parse_header(line, &id, &state) || !stacktext_probe_line(&head, &line) ||
            called(line).len == 0 || !stacktext_probe_line(&head, &line))
            continue;
        if (str_starts(line, STR("\t")) && str_find(line, ':') < line.len)
            return 90;
    }
    return 0;
}

const struct importer import_goroutines = {
    .name = "goroutines",
    .suffixes = "",
    .summary = "stacks of goroutines: Go panics, SIGQUIT, goroutine?debug=2",
    .probe = goroutines_probe,
    .read = goroutines_read,
};
