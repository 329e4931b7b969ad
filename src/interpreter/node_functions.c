/* SPDX-License-Identifier: Apache-2.0 */
/* Names of JavaScript functions. What the calls of a function have in common is an object (V8:
 * SharedFunctionInfo) with the script and, once it is compiled, a description of its scope,
 * which has the names and the position in the source. */
#include "base/array.h"
#include "base/format.h"
#include "interpreter/node.h"

#define SCOPE_FIRST 8         /* the first word of a scope */
#define SCOPE_NAMES_MOST 75   /* more names of variables are in a table */
#define SCOPE_VARIABLES 65536 /* at most */
#define SCOPE_HAS_POSITION \
    5 /* from this first word of variables on, positions are before */

/* What a scope contains. */
struct scope {
    uint64_t name, inferred; /* strings; or 0 */
    bool has_start;
    uint32_t start; /* position in the source */
};

static uint64_t scope_word(struct memory *m, uint64_t scope, uint64_t index)
{
    return memory_u64(m, scope - NODE_TAG + SCOPE_FIRST + index * NODE_WORD);
}

static bool is_string(struct memory *m, const struct node_layout *l, uint64_t value)
{
    return node_is_object(value) && node_type(m, l, value) < l->first_nonstring;
}

/* Reads what follows the variables: sometimes a number; the function's name and a number, if it
 * can have one; sometimes the name that V8 gives it; its position, in older versions. */
static void read_scope(struct memory *m, const struct node_layout *l, uint64_t object,
                       struct scope *s)
{
    uint64_t at = l->scope_variables;
    uint64_t count = node_number(scope_word(m, object, l->scope_locals));
    if (m->failed || count > SCOPE_VARIABLES)
        return;
    at += count + (count < SCOPE_NAMES_MOST ? count : 1);
    uint64_t first = scope_word(m, object, at);
    if (!node_is_object(first) && !is_string(m, l, first))
        first = scope_word(m, object, ++at);
    if (is_string(m, l, first)) {
        s->name = first;
        at += 2;
    }
    uint64_t inferred = scope_word(m, object, at);
    if (node_is_object(inferred)) {
        s->inferred = is_string(m, l, inferred) ? inferred : 0;
        at++;
    }
    if (l->scope_variables >= SCOPE_HAS_POSITION)
        at = l->scope_variables - 2;
    uint64_t start = scope_word(m, object, at), end = scope_word(m, object, at + 1);
    s->has_start = !m->failed && !node_is_object(start) && !node_is_object(end) &&
                   node_number(start) <= node_number(end) && node_number(end) > 0;
    s->start = node_number(start);
}

/* Reads the names and the position of a function. */
static struct scope scope_of(struct memory *m, const struct node_layout *l,
                             uint64_t shared)
{
    struct scope s = {0};
    uint64_t value = node_field(m, shared, l->shared_name);
    uint32_t type = node_type(m, l, value);
    if (type < l->first_nonstring)
        s.name = value;
    else if (type == l->scope)
        read_scope(m, l, value, &s);
    m->failed = m->exhausted;
    return s;
}

/* The script of a function; 0 if it has none, as builtins. */
static uint64_t script_of(struct memory *m, const struct node_layout *l, uint64_t shared)
{
    uint64_t script = node_field(m, shared, l->shared_script);
    if (node_type(m, l, script) != l->script) /* of a debugger, which has the function */
        script = node_field(m, script, NODE_WORD);
    return node_type(m, l, script) == l->script ? script : 0;
}

/* The path of a file, from its URL or as it is. */
static struct str path_of(struct str name)
{
    struct str prefix = STR("file://");
    return str_starts(name, prefix) ? str_skip(name, prefix.len) : name;
}

/* Functions without a name are distinguished by their lines. */
static struct str anonymous(uint32_t line, bool is_script, struct arena *arena)
{
    char text[48];
    if (is_script)
        return STR("(script)");
    if (line == 0)
        return STR("(anonymous)");
    format_text(text, sizeof text, "(anonymous:%u)", line);
    return arena_str(arena, str_of(text));
}

static struct node_function read_function(struct node *node, struct memory *m,
                                          uint64_t shared, uint32_t check,
                                          struct arena *arena)
{
    const struct node_layout *l = &node->layout;
    struct node_function f = {.check = check, .name = STR(""), .file = STR("")};
    struct scope scope = scope_of(m, l, shared);
    uint64_t script = script_of(m, l, shared);
    m->failed = m->exhausted;
    if (script) {
        f.file = path_of(node_string(m, l, node_field(m, script, l->script_name), arena));
        f.lines = node_script_lines(node, m, script, f.file, arena);
    }
    if (scope.has_start)
        f.line = node_line_at(node, f.lines, scope.start);
    f.name = scope.name ? node_string(m, l, scope.name, arena) : STR("");
    if (f.name.len == 0 && scope.inferred)
        f.name = node_string(m, l, scope.inferred, arena);
    bool is_script = scope.has_start && scope.start == 0;
    if (f.name.len == 0)
        f.name = anonymous(f.line, is_script, arena);
    m->failed = m->exhausted;
    return f;
}

/* Whether the object is still the function that was walked. */
static bool is_there(const struct node *node, struct memory *m,
                     const struct interpreter_walk_frame *walked, uint64_t shared)
{
    const struct node_layout *l = &node->layout;
    if (node_type(m, l, shared) != l->shared)
        return false;
    uint64_t script = node_field(m, shared, l->shared_script);
    uint32_t literal = memory_u32(m, shared + node->walk.code_first_line);
    return !m->failed && interpreter_walk_check(script, literal) == walked->check;
}

/* The function, from the cache if it is unchanged; NULL if out of memory or too much was
 * cached. */
static const struct node_function *find_function(struct node *node, struct memory *m,
                                                 uint64_t shared, uint32_t check,
                                                 struct arena *arena)
{
    uint64_t *index = idmap_put(&node->by_address, arena, shared);
    if (!index || node->cached > NODE_CACHED_MAX)
        return NULL;
    if (*index && node->functions[*index - 1].check == check)
        return &node->functions[*index - 1];
    struct node_function f = read_function(node, m, shared, check, arena);
    node->cached += f.name.len + f.file.len + sizeof f;
    struct node_function *cached = *index ? &node->functions[*index - 1] : NULL;
    if (!cached) {
        cached = ARRAY_APPEND(arena, node->functions, node->function_count,
                              node->function_cap);
        if (!cached)
            return NULL;
        *index = node->function_count;
    }
    *cached = f;
    return cached;
}

bool node_describe(struct interpreter_runtime *r,
                   const struct interpreter_walk_frame *walked,
                   struct interpreter_frame *frame)
{
    struct node *node = r->data;
    struct memory m = memory_of(r->access);
    uint64_t shared = (walked->code & ~INTERPRETER_WALK_BITS) | NODE_TAG;
    if (!is_there(node, &m, walked, shared))
        return false;
    const struct node_function *f =
        find_function(node, &m, shared, walked->check, r->arena);
    if (!f)
        return false;
    int64_t position = -1;
    if (!(walked->code & INTERPRETER_WALK_COMPILED))
        position = node_bytecode_position(&m, &node->layout, shared,
                                          (uint32_t)walked->instruction);
    *frame = (struct interpreter_frame){
        .function = f->name,
        .file = f->file,
        .line =
            position >= 0 ? node_line_at(node, f->lines, (uint32_t)position) : f->line,
        .is_entry = true,
        .is_native = walked->code & INTERPRETER_WALK_CALLEE,
    };
    return true;
}
