/* SPDX-License-Identifier: Apache-2.0 */
#include "symbol/mangled.h"

/* The functions here are recursive, as deep as the name is nested, but at most
 * MANGLED_DEPTH_MAX. Each reads a part of the name and returns its cost.
 *
 * NOLINTBEGIN(misc-no-recursion): the depth is bounded here, and a grammar with thirty
 * kinds of parts is easiest to read as thirty functions. */

#define PARTS_MAX (MANGLED_LENGTH_MAX / 2)

struct walk {
    const char *at, *end;
    unsigned depth;
    bool failed;
    /* The parts that can be referred to (5.1.10). Each is stored with the maximum cost
     * up to it, so the result does not depend on numbering them exactly like the
     * runtime. */
    uint32_t parts[PARTS_MAX];
    size_t part_count;
    uint64_t argument; /* the maximum cost of a template argument */
    uint64_t pack;     /* the largest number of arguments */
    struct mangled *m;
    const char *begin;
};

static uint64_t encoding(struct walk *w, bool is_top, bool whole);
static uint64_t name(struct walk *w, bool is_top);
static uint64_t type(struct walk *w);
static uint64_t expression(struct walk *w);
static uint64_t template_args(struct walk *w);

static uint64_t fail(struct walk *w)
{
    w->failed = true;
    w->at = w->end;
    return 1;
}

static char peek(const struct walk *w)
{
    return w->at < w->end ? *w->at : '\0';
}

static char peek_next(const struct walk *w)
{
    return w->end - w->at > 1 ? w->at[1] : '\0';
}

static bool accept(struct walk *w, char c)
{
    bool yes = peek(w) == c && w->at < w->end;
    w->at += yes;
    return yes;
}

static bool accept_two(struct walk *w, const char *two)
{
    bool yes = peek(w) == two[0] && peek_next(w) == two[1];
    w->at += yes ? 2 : 0;
    return yes;
}

static void require(struct walk *w, char c)
{
    if (!accept(w, c))
        fail(w);
}

static bool is_one_of(char c, const char *set)
{
    return c && strchr(set, c);
}

/* Limits costs so that sums and products do not overflow. */
static uint64_t bounded(struct walk *w, uint64_t cost)
{
    if (cost <= MANGLED_COST_MAX)
        return cost;
    fail(w);
    return MANGLED_COST_MAX;
}

static bool enter(struct walk *w)
{
    if (w->failed || w->depth >= MANGLED_DEPTH_MAX) {
        fail(w);
        return false;
    }
    w->depth++;
    return true;
}

static uint64_t leave(struct walk *w, uint64_t cost)
{
    w->depth--;
    return bounded(w, cost);
}

static uint64_t add_part(struct walk *w, uint64_t cost)
{
    if (w->part_count == PARTS_MAX)
        return fail(w);
    uint32_t last = w->part_count ? w->parts[w->part_count - 1] : 1;
    uint32_t mine = (uint32_t)bounded(w, cost);
    w->parts[w->part_count++] = mine > last ? mine : last;
    return cost;
}

/* Decimal digits, with 'n' for minus; false if there are none. */
static bool number(struct walk *w, uint64_t *value)
{
    *value = 0;
    accept(w, 'n');
    if (!byte_is_digit(peek(w)))
        return false;
    while (byte_is_digit(peek(w)) && *value < UINT32_MAX)
        *value = *value * 10 + (uint64_t)(*w->at++ - '0');
    return *value < UINT32_MAX;
}

static void skip_number(struct walk *w)
{
    uint64_t value;
    number(w, &value);
}

/* [NUMBER] _ */
static void index_of(struct walk *w)
{
    skip_number(w);
    require(w, '_');
}

static uint64_t source_name(struct walk *w)
{
    uint64_t length;
    if (peek(w) == 'n' || !number(w, &length) || length == 0 ||
        length > (uint64_t)(w->end - w->at))
        return fail(w);
    w->at += length;
    return 1 + length / 16;
}

/* S [0-9A-Z]* _ (5.1.10) */
static uint64_t reference(struct walk *w)
{
    uint64_t which = 0;
    bool first = true;
    require(w, 'S');
    for (; byte_is_digit(peek(w)) || (peek(w) >= 'A' && peek(w) <= 'Z'); w->at++) {
        uint64_t digit = (uint64_t)(peek(w) - (byte_is_digit(peek(w)) ? '0' : 'A' - 10));
        which = which < PARTS_MAX ? which * 36 + digit : which;
        first = false;
    }
    require(w, '_');
    which += first ? 0 : 1;
    if (w->part_count == 0)
        return fail(w);
    /* A margin of two, in case the runtime counts a part that is not counted here. */
    which += 2;
    return 1 + w->parts[which < w->part_count ? which : w->part_count - 1];
}

/* T [NUMBER] _, TL NUMBER _ [NUMBER] _ */
static uint64_t template_param(struct walk *w)
{
    require(w, 'T');
    if (accept(w, 'L'))
        index_of(w);
    index_of(w);
    return bounded(w, 1 + w->argument);
}

/* Sa, Ss and so on: a predefined name. */
static bool is_known_name(const struct walk *w)
{
    return peek(w) == 'S' && is_one_of(peek_next(w), "absiod");
}

/* --- Names ------------------------------------------------------------------------ */

static uint64_t types_until(struct walk *w, char end)
{
    uint64_t cost = 1;
    while (!w->failed && peek(w) != end)
        cost = bounded(w, cost + type(w));
    require(w, end);
    return cost;
}

/* Ut [NUMBER] _, Ul TYPE+ E [NUMBER] _ */
static uint64_t unnamed_type(struct walk *w)
{
    uint64_t cost = 1;
    require(w, 'U');
    if (accept(w, 'l')) {
        while (peek(w) == 'T' && is_one_of(peek_next(w), "yn")) {
            bool typed = peek_next(w) == 'n';
            w->at += 2;
            cost += typed ? type(w) : 1;
        }
        cost += types_until(w, 'E');
    } else if (!accept(w, 't')) {
        return fail(w);
    }
    index_of(w);
    return cost;
}

/* Two letters (5.1.4); a conversion has a type, a literal operator a name. */
static uint64_t operator_name(struct walk *w)
{
    if (accept_two(w, "cv"))
        return 1 + type(w);
    if (accept_two(w, "li"))
        return 1 + source_name(w);
    if (peek(w) == 'v' && byte_is_digit(peek_next(w))) {
        w->at += 2;
        return 1 + source_name(w);
    }
    if (w->end - w->at < 2)
        return fail(w);
    w->at += 2;
    return 1;
}

static uint64_t constructor(struct walk *w)
{
    bool inherits = peek(w) == 'C' && peek_next(w) == 'I';
    w->at += inherits ? 2 : 1;
    if (!byte_is_digit(peek(w)))
        return fail(w);
    w->at++;
    return inherits ? 1 + type(w) : 1;
}

static uint64_t unqualified_name(struct walk *w)
{
    uint64_t cost;
    accept(w, 'L'); /* internal linkage */
    char c = peek(w);
    if (byte_is_digit(c)) {
        cost = source_name(w);
    } else if (c >= 'a' && c <= 'z') {
        cost = operator_name(w);
    } else if (accept_two(w, "DC")) { /* a structured binding */
        for (cost = 1; byte_is_digit(peek(w));)
            cost += source_name(w);
        require(w, 'E');
    } else if (c == 'C' || c == 'D') {
        cost = constructor(w);
    } else {
        cost = unnamed_type(w);
    }
    while (accept(w, 'B')) /* ABI tags */
        cost += source_name(w);
    return cost;
}

static bool is_cv(char c)
{
    return c == 'r' || c == 'V' || c == 'K';
}

/* Reads one piece of a nested name and adds it to `cost`. Sets whether it is a part
 * that can be referred to. */
static uint64_t nested_piece(struct walk *w, uint64_t cost, bool *is_part)
{
    *is_part = true;
    switch (peek(w)) {
    case 'S':
        *is_part = false;
        if (is_known_name(w) || peek_next(w) == 't') {
            w->at += 2;
            return cost + 1;
        }
        return cost + reference(w);
    case 'T':
        return cost + template_param(w);
    case 'I':
        return cost + template_args(w);
    case 'D':
        if (peek_next(w) == 't' || peek_next(w) == 'T')
            return cost + type(w);
        break;
    case 'M': /* a data member whose initialiser contains a lambda */
        w->at++;
        *is_part = false;
        return cost + 1;
    }
    return cost + unqualified_name(w);
}

/* N [CV] [REF] PIECE+ E */
static uint64_t nested_name(struct walk *w, bool is_top)
{
    uint64_t cost = 1;
    const char *quals;
    require(w, 'N');
    quals = w->at;
    while (is_cv(peek(w)))
        w->at++;
    if (peek(w) == 'R' || peek(w) == 'O')
        w->at++;
    if (is_top) {
        w->m->quals = (size_t)(quals - w->begin);
        w->m->quals_end = (size_t)(w->at - w->begin);
    }
    while (!w->failed && peek(w) != 'E') {
        bool is_part;
        cost = bounded(w, nested_piece(w, cost, &is_part));
        if (is_part && peek(w) != 'E')
            add_part(w, cost);
    }
    require(w, 'E');
    return cost;
}

/* _ DIGIT, __ NUMBER _ */
static void discriminator(struct walk *w)
{
    if (!accept(w, '_'))
        return;
    if (accept(w, '_'))
        index_of(w);
    else if (byte_is_digit(peek(w)))
        w->at++;
}

/* Z ENCODING E, followed by s, by a name, or by the name in a default argument. */
static uint64_t local_name(struct walk *w, bool is_top)
{
    require(w, 'Z');
    uint64_t cost = 1 + encoding(w, false, true);
    require(w, 'E');
    if (accept(w, 's')) {
        discriminator(w);
        return cost + 1;
    }
    if (accept(w, 'd'))
        index_of(w);
    cost += name(w, is_top);
    discriminator(w);
    return cost;
}

static uint64_t name_inside(struct walk *w, bool is_top)
{
    uint64_t cost = 1;
    bool is_part = true;
    if (peek(w) == 'N')
        return nested_name(w, is_top);
    if (peek(w) == 'Z')
        return local_name(w, is_top);
    bool in_std = accept_two(w, "St");
    if (!in_std && is_known_name(w)) {
        w->at += 2;
        is_part = false;
    } else if (!in_std && peek(w) == 'S') {
        cost += reference(w);
        is_part = false;
    } else {
        cost += unqualified_name(w);
    }
    if (peek(w) != 'I')
        return cost;
    if (is_part)
        add_part(w, cost);
    return cost + template_args(w);
}

static uint64_t name(struct walk *w, bool is_top)
{
    return enter(w) ? leave(w, name_inside(w, is_top)) : 1;
}

/* --- Types ------------------------------------------------------------------------ */

static uint64_t array_type(struct walk *w)
{
    uint64_t cost = 1;
    require(w, 'A');
    if (byte_is_digit(peek(w)))
        skip_number(w);
    else if (peek(w) != '_')
        cost += expression(w);
    require(w, '_');
    return cost + type(w);
}

/* F [Y] TYPE+ [REF] E */
static uint64_t function_type(struct walk *w)
{
    uint64_t cost = 1;
    require(w, 'F');
    accept(w, 'Y');
    while (!w->failed && peek(w) != 'E') {
        bool is_ref = is_one_of(peek(w), "RO") && peek_next(w) == 'E';
        w->at += is_ref;
        cost = bounded(w, cost + (is_ref ? 1 : type(w)));
    }
    require(w, 'E');
    return cost;
}

static uint64_t vector_type(struct walk *w)
{
    uint64_t cost = 1;
    if (accept(w, '_'))
        cost += expression(w);
    else
        skip_number(w);
    require(w, '_');
    return cost + type(w);
}

/* Types of two letters that begin with D. */
static uint64_t d_type(struct walk *w, bool *is_part)
{
    char c = peek_next(w);
    uint64_t cost = 1;
    *is_part = true;
    w->at += w->end - w->at >= 2 ? 2 : 0;
    switch (c) {
    case 'p': /* written once for each argument of a pack */
        return bounded(w, (1 + type(w)) * (1 + w->pack));
    case 't':
    case 'T':
        cost += expression(w);
        require(w, 'E');
        return cost;
    case 'v':
        return vector_type(w);
    case 'o':
    case 'x':
        return 1 + type(w);
    case 'O':
        cost += expression(w);
        require(w, 'E');
        return cost + type(w);
    case 'w':
        cost += types_until(w, 'E');
        return cost + type(w);
    case 'F': /* _FloatN; DF16b is bfloat16 */
        skip_number(w);
        *is_part = false;
        return accept(w, '_') || accept(w, 'x') || accept(w, 'b') ? cost : fail(w);
    case 'B':
    case 'U':
        *is_part = false;
        index_of(w);
        return cost;
    default:
        *is_part = false;
        return is_one_of(c, "acnisuhdef") ? cost : fail(w);
    }
}

/* U NAME [ARGS] TYPE, or an unnamed type */
static uint64_t vendor_qualified(struct walk *w)
{
    if (!byte_is_digit(peek_next(w)))
        return unnamed_type(w);
    require(w, 'U');
    uint64_t cost = 1 + source_name(w);
    if (peek(w) == 'I')
        cost += template_args(w);
    return cost + type(w);
}

/* Types that begin with S: sets *is_part if it is more than a reference. */
static uint64_t s_type(struct walk *w, bool *is_part)
{
    uint64_t cost;
    *is_part = true;
    if (peek_next(w) == 't')
        return name(w, false);
    *is_part = false;
    if (is_known_name(w)) {
        w->at += 2;
        cost = 1;
    } else {
        cost = reference(w);
    }
    if (peek(w) != 'I')
        return cost;
    *is_part = true;
    return cost + template_args(w);
}

static uint64_t t_type(struct walk *w)
{
    if (is_one_of(peek_next(w), "sue")) { /* struct, union, enum */
        w->at += 2;
        return 1 + name(w, false);
    }
    uint64_t cost = template_param(w);
    if (peek(w) != 'I')
        return cost;
    add_part(w, cost);
    return cost + template_args(w);
}

static uint64_t type_inside(struct walk *w, bool *is_part)
{
    char c = peek(w);
    *is_part = true;
    if (is_cv(c)) {
        while (is_cv(peek(w)))
            w->at++;
        return 1 + type(w);
    }
    switch (c) {
    case 'P':
    case 'R':
    case 'O':
    case 'C':
    case 'G':
        w->at++;
        return 1 + type(w);
    case 'F':
        return function_type(w);
    case 'A':
        return array_type(w);
    case 'M':
        w->at++;
        return 1 + type(w) + type(w);
    case 'T':
        return t_type(w);
    case 'S':
        return s_type(w, is_part);
    case 'D':
        return d_type(w, is_part);
    case 'U':
        return vendor_qualified(w);
    case 'u':
        w->at++;
        return 1 + source_name(w) + (peek(w) == 'I' ? template_args(w) : 0);
    case 'N':
    case 'Z':
        return name(w, false);
    }
    if (byte_is_digit(c))
        return name(w, false);
    *is_part = false;
    return is_one_of(c, "vwbcahstijlmxynofdegz") && w->at++ ? 1 : fail(w);
}

static uint64_t type(struct walk *w)
{
    bool is_part;
    if (!enter(w))
        return 1;
    uint64_t cost = leave(w, type_inside(w, &is_part));
    return is_part ? add_part(w, cost) : cost;
}

/* --- Expressions (5.1.6) ---------------------------------------------------------- */

static uint64_t expressions_until(struct walk *w, char end)
{
    uint64_t cost = 1;
    while (!w->failed && peek(w) != end)
        cost = bounded(w, cost + expression(w));
    require(w, end);
    return cost;
}

/* L TYPE VALUE E, L _Z ENCODING E */
static uint64_t literal(struct walk *w)
{
    require(w, 'L');
    if (accept_two(w, "_Z") || accept(w, 'Z')) {
        uint64_t cost = 1 + encoding(w, false, true);
        require(w, 'E');
        return cost;
    }
    uint64_t cost = 1 + type(w);
    while (w->at < w->end && *w->at != 'E')
        w->at++;
    require(w, 'E');
    return cost;
}

static uint64_t argument(struct walk *w)
{
    uint64_t cost;
    switch (peek(w)) {
    case 'L':
        return literal(w);
    case 'X':
        w->at++;
        cost = expression(w);
        require(w, 'E');
        return cost;
    case 'I':
    case 'J':
        return enter(w) ? leave(w, template_args(w)) : 1;
    default:
        return type(w);
    }
}

/* I ARGUMENT* E; inside it, J ARGUMENT* E is a pack */
static uint64_t template_args(struct walk *w)
{
    uint64_t cost = 1, count = 0;
    if (!accept(w, 'I') && !accept(w, 'J'))
        return fail(w);
    for (; !w->failed && peek(w) != 'E'; count++) {
        uint64_t one = argument(w);
        cost = bounded(w, cost + one);
    }
    require(w, 'E');
    if (cost > w->argument)
        w->argument = cost;
    if (count > w->pack)
        w->pack = count;
    return cost;
}

static uint64_t named_with_args(struct walk *w)
{
    uint64_t cost = accept_two(w, "on") ? operator_name(w) : unqualified_name(w);
    return peek(w) == 'I' ? cost + template_args(w) : cost;
}

/* sr TYPE NAME, srN TYPE NAME+ E NAME, sr NAME+ E NAME */
static uint64_t unresolved_name(struct walk *w)
{
    uint64_t cost = 1;
    bool many = accept(w, 'N');
    if (byte_is_digit(peek(w)) && !many) {
        while (!w->failed && byte_is_digit(peek(w)))
            cost = bounded(w, cost + named_with_args(w));
        accept(w, 'E');
        if (!byte_is_digit(peek(w)) && !is_one_of(peek(w), "od"))
            return cost;
        return cost + named_with_args(w);
    }
    cost += type(w);
    if (peek(w) == 'I')
        cost += template_args(w);
    while (many && !w->failed && peek(w) != 'E')
        cost = bounded(w, cost + named_with_args(w));
    if (many)
        require(w, 'E');
    accept_two(w, "dn");
    return cost + named_with_args(w);
}

/* fp [CV] [NUMBER] _, fL NUMBER p [CV] [NUMBER] _, fpT */
static uint64_t function_param(struct walk *w, bool is_outer)
{
    if (is_outer) {
        skip_number(w);
        require(w, 'p');
    } else if (accept(w, 'T')) {
        return 1;
    }
    while (is_cv(peek(w)))
        w->at++;
    index_of(w);
    return 1;
}

/* nw EXPRESSION* _ TYPE (E | pi EXPRESSION* E) */
static uint64_t new_expression(struct walk *w)
{
    uint64_t cost = expressions_until(w, '_');
    cost += type(w);
    if (accept_two(w, "pi") || accept_two(w, "il"))
        return cost + expressions_until(w, 'E');
    require(w, 'E');
    return cost;
}

static uint64_t conversion(struct walk *w)
{
    uint64_t cost = 1 + type(w);
    return accept(w, '_') ? cost + expressions_until(w, 'E') : cost + expression(w);
}

/* A fold: fl, fr OPERATOR EXPRESSION; fL, fR with two of them. */
static uint64_t fold(struct walk *w, bool two)
{
    w->at += w->end - w->at >= 2 ? 2 : 0;
    uint64_t cost = 1 + expression(w);
    cost += two ? expression(w) : 0;
    return bounded(w, cost * (1 + w->pack));
}

/* The operands of an operator: t a type, e an expression, n a name, E expressions until
 * E. */
static const struct operation {
    char code[3];
    const char *operands;
} operations[] = {
    {"ad", "e"},   {"de", "e"},  {"ng", "e"},  {"ps", "e"},  {"nt", "e"},  {"co", "e"},
    {"dl", "e"},   {"da", "e"},  {"te", "e"},  {"sz", "e"},  {"az", "e"},  {"nx", "e"},
    {"tw", "e"},   {"aw", "e"},  {"ti", "t"},  {"st", "t"},  {"at", "t"},  {"tr", ""},
    {"pl", "ee"},  {"mi", "ee"}, {"ml", "ee"}, {"dv", "ee"}, {"rm", "ee"}, {"an", "ee"},
    {"or", "ee"},  {"eo", "ee"}, {"aS", "ee"}, {"pL", "ee"}, {"mI", "ee"}, {"mL", "ee"},
    {"dV", "ee"},  {"rM", "ee"}, {"aN", "ee"}, {"oR", "ee"}, {"eO", "ee"}, {"ls", "ee"},
    {"rs", "ee"},  {"lS", "ee"}, {"rS", "ee"}, {"eq", "ee"}, {"ne", "ee"}, {"lt", "ee"},
    {"gt", "ee"},  {"le", "ee"}, {"ge", "ee"}, {"ss", "ee"}, {"aa", "ee"}, {"oo", "ee"},
    {"cm", "ee"},  {"pm", "ee"}, {"ix", "ee"}, {"ds", "ee"}, {"dt", "en"}, {"pt", "en"},
    {"qu", "eee"}, {"cl", "E"},  {"il", "E"},  {"tl", "tE"}, {"dc", "te"}, {"sc", "te"},
    {"cc", "te"},  {"rc", "te"},
};

static uint64_t operands(struct walk *w, const char *kinds)
{
    uint64_t cost = 1;
    for (; *kinds && !w->failed; kinds++) {
        if (*kinds == 't')
            cost += type(w);
        else if (*kinds == 'e')
            cost += expression(w);
        else if (*kinds == 'E')
            cost += expressions_until(w, 'E');
        else if (accept_two(w, "sr"))
            cost += unresolved_name(w);
        else
            cost += named_with_args(w);
    }
    return cost;
}

static uint64_t operation(struct walk *w)
{
    if (accept_two(w, "pp") || accept_two(w, "mm")) {
        accept(w, '_'); /* prefix form */
        return 1 + expression(w);
    }
    for (size_t i = 0; i < sizeof operations / sizeof *operations; i++)
        if (accept_two(w, operations[i].code))
            return operands(w, operations[i].operands);
    return fail(w);
}

static uint64_t expression_inside(struct walk *w)
{
    char c = peek(w);
    if (accept_two(w, "gs"))
        c = peek(w);
    if (c == 'L')
        return literal(w);
    if (c == 'T')
        return template_param(w);
    if (byte_is_digit(c) || (c == 'o' && peek_next(w) == 'n'))
        return named_with_args(w);
    if (accept_two(w, "sr"))
        return unresolved_name(w);
    if (accept_two(w, "fp"))
        return function_param(w, false);
    if (c == 'f' && peek_next(w) == 'L' && w->end - w->at > 2 &&
        byte_is_digit(w->at[2])) {
        w->at += 2;
        return function_param(w, true);
    }
    if (c == 'f' && is_one_of(peek_next(w), "lrLR")) {
        bool two = peek_next(w) == 'L' || peek_next(w) == 'R';
        w->at += 2;
        return fold(w, two);
    }
    if (accept_two(w, "sp"))
        return bounded(w, (1 + expression(w)) * (1 + w->pack));
    if (accept_two(w, "sP"))
        return expressions_until(w, 'E');
    if (accept_two(w, "sZ"))
        return 1 + expression(w);
    if (accept_two(w, "cv"))
        return conversion(w);
    if (accept_two(w, "nw") || accept_two(w, "na"))
        return new_expression(w);
    return operation(w);
}

static uint64_t expression(struct walk *w)
{
    return enter(w) ? leave(w, expression_inside(w)) : 1;
}

/* --- Encodings -------------------------------------------------------------------- */

/* h NUMBER _, v NUMBER _ NUMBER _ */
static void call_offset(struct walk *w)
{
    bool is_virtual = peek(w) == 'v';
    w->at += w->at < w->end;
    index_of(w);
    if (is_virtual)
        index_of(w);
}

static uint64_t special_name(struct walk *w)
{
    char kind = peek(w), c = peek_next(w);
    uint64_t cost = 1;
    if (kind == 'T' && is_one_of(c, "hv")) {
        w->at++;
        call_offset(w);
        return cost + encoding(w, false, true);
    }
    w->at += w->end - w->at >= 2 ? 2 : 0;
    if (kind == 'G') {
        if (c == 'T') {
            w->at += w->at < w->end;
            return cost + encoding(w, false, true);
        }
        if (c != 'V' && c != 'R')
            return fail(w);
        cost += name(w, false);
        while (c == 'R' && (byte_is_digit(peek(w)) || peek(w) == '_'))
            w->at++;
        return cost;
    }
    switch (c) {
    case 'c':
        call_offset(w);
        call_offset(w);
        return cost + encoding(w, false, true);
    case 'C':
        cost += type(w);
        index_of(w);
        return cost + type(w);
    case 'H':
    case 'W':
        return cost + name(w, false);
    case 'A':
        return cost + argument(w);
    default:
        return is_one_of(c, "VTISFJ") ? cost + type(w) : fail(w);
    }
}

static uint64_t encoding_inside(struct walk *w, bool is_top, bool whole)
{
    bool is_special = peek(w) == 'T' || peek(w) == 'G';
    uint64_t cost = 1 + (is_special ? special_name(w) : name(w, is_top));
    if (is_top) {
        w->m->is_special = is_special;
        w->m->name_end = (size_t)(w->at - w->begin);
    }
    while (whole && !is_special && !w->failed && peek(w) && peek(w) != 'E' &&
           peek(w) != '.' && peek(w) != '@')
        cost = bounded(w, cost + type(w));
    return cost;
}

static uint64_t encoding(struct walk *w, bool is_top, bool whole)
{
    return enter(w) ? leave(w, encoding_inside(w, is_top, whole)) : 1;
}

bool mangled_scan(struct str text, bool whole, struct mangled *m)
{
    struct walk w;
    if (!str_starts(text, STR("_Z")) || text.len > MANGLED_LENGTH_MAX)
        return false;
    w.argument = w.pack = 0;
    /* A second pass, for references to arguments that were not known in the first. */
    for (unsigned pass = 0; pass < 2; pass++) {
        *m = (struct mangled){0};
        w.begin = text.ptr;
        w.at = text.ptr + 2;
        w.end = text.ptr + text.len;
        w.depth = 0;
        w.failed = false;
        w.part_count = 0;
        w.m = m;
        (void)encoding(&w, true, whole);
        if (w.failed)
            return false;
        m->end = (size_t)(w.at - w.begin);
    }
    return true;
}

/* NOLINTEND(misc-no-recursion) */
