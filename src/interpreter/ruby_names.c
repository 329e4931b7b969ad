/* SPDX-License-Identifier: Apache-2.0 */
/* Names: an id is a number of a table, which is an Array of Arrays. No symbol leads to the table,
 * but the VM has a list of objects that are never freed, and the table is among them. */
#include "base/format.h"
#include "base/utf8.h"
#include "interpreter/ruby.h"

/* The flags of objects. */
#define TYPE_MASK 0x1fu
#define TYPE_CLASS 2u
#define TYPE_MODULE 3u
#define TYPE_STRING 5u
#define TYPE_ARRAY 7u
#define FLAG_SINGLETON ((uint64_t)1 << 12)
#define FLAG_STRING_ON_HEAP ((uint64_t)1 << 13)
#define FLAG_ARRAY_INSIDE ((uint64_t)1 << 13)
#define STRING_INSIDE_SHIFT 14
#define STRING_INSIDE_MAX 31
#define ARRAY_INSIDE_SHIFT 15
#define ARRAY_INSIDE_MAX 3

/* The table of names has parts of PART names, each name with its string and its symbol. */
#define PART 512
#define SCOPE_SHIFT 4 /* bits of an id that are not its number */

/* Searches of the table, and objects that are searched for it. */
#define SEARCHES_MAX 4
#define MARKED_MAX 64

#define VARIABLES_MAX 4096 /* of a class */

/* The number of the operator +. */
#define NAME_PLUS 43

static struct str to_utf8(struct str s, struct arena *arena)
{
    char text[INTERPRETER_NAME_MAX + 4];
    size_t used = 0;
    while (s.len && used + 4 <= INTERPRETER_NAME_MAX) {
        size_t bad = 1, length = utf8_length(s, &bad);
        if (length)
            memcpy(text + used, s.ptr, length);
        used += length ? length : utf8_write(UTF8_REPLACEMENT, text + used);
        s = str_skip(s, length ? length : bad);
    }
    return arena_str(arena, (struct str){text, used});
}

struct str ruby_string(struct memory *m, uint64_t value, struct arena *arena)
{
    unsigned char head[32];
    char bytes[INTERPRETER_NAME_MAX];
    if (!memory_read(m, value, head, sizeof head))
        return STR("");
    uint64_t flags = memory_get_u64(head);
    bool on_heap = flags & FLAG_STRING_ON_HEAP;
    uint64_t length = on_heap ? memory_get_u64(head + 16)
                              : flags >> STRING_INSIDE_SHIFT & STRING_INSIDE_MAX;
    uint64_t at = on_heap ? memory_get_u64(head + 24) : value + 16;
    if ((flags & TYPE_MASK) != TYPE_STRING || length > INT64_MAX) {
        m->failed = true;
        return STR("");
    }
    if (length > INTERPRETER_NAME_MAX)
        length = INTERPRETER_NAME_MAX;
    if (length == 0 || !memory_read(m, at, bytes, (size_t)length))
        return STR("");
    struct str s = {bytes, (size_t)length};
    return utf8_valid(s) == s.len ? arena_str(arena, s) : to_utf8(s, arena);
}

uint64_t ruby_element(struct memory *m, uint64_t array, uint64_t index)
{
    unsigned char head[40];
    if (!memory_read(m, array, head, sizeof head))
        return 0;
    uint64_t flags = memory_get_u64(head);
    bool inside = flags & FLAG_ARRAY_INSIDE;
    uint64_t length = inside ? flags >> ARRAY_INSIDE_SHIFT & ARRAY_INSIDE_MAX
                             : memory_get_u64(head + 16);
    uint64_t at = inside ? array + 16 : memory_get_u64(head + 32);
    if ((flags & TYPE_MASK) != TYPE_ARRAY || index >= length || length > INT64_MAX / 8)
        return 0;
    return memory_u64(m, at + index * 8);
}

/* --- Ids ---------------------------------------------------------------------------- */

/* The String of a name; 0 if there is none. */
static uint64_t name_string(struct memory *m, uint64_t names, uint64_t number)
{
    uint64_t part = ruby_element(m, names, number / PART);
    return part ? ruby_element(m, part, number % PART * 2) : 0;
}

static bool is_table(struct memory *m, uint64_t array)
{
    unsigned char plus[17];
    uint64_t string = name_string(m, array, NAME_PLUS);
    bool is = string && memory_read(m, string, plus, sizeof plus) &&
              (memory_get_u64(plus) & TYPE_MASK) == TYPE_STRING &&
              (memory_get_u64(plus) >> STRING_INSIDE_SHIFT & STRING_INSIDE_MAX) == 1 &&
              plus[16] == '+';
    m->failed = m->exhausted;
    return is;
}

/* Searches for the table of names: the list has Arrays of objects. */
static void find_names(struct ruby *ruby, struct memory *m)
{
    uint64_t vm = memory_u64(m, ruby->vm);
    uint64_t marked = memory_u64(m, vm + ruby->layout->vm_marked);
    ruby->searches++;
    for (size_t i = 0; i < MARKED_MAX && !m->failed; i++) {
        uint64_t list = ruby_element(m, marked, i);
        if (list == 0)
            return;
        for (size_t j = 0; j < MARKED_MAX && !m->failed; j++) {
            uint64_t object = ruby_element(m, list, j);
            m->failed = m->exhausted;
            if (object && is_table(m, object)) {
                ruby->names = object;
                return;
            }
        }
    }
}

static struct str name_of(struct ruby *ruby, struct memory *m, uint64_t id,
                          struct arena *arena)
{
    if (!ruby->names && ruby->searches < SEARCHES_MAX)
        find_names(ruby, m);
    uint64_t number = id > ruby->layout->name_last ? id >> SCOPE_SHIFT : id;
    uint64_t string = ruby->names ? name_string(m, ruby->names, number) : 0;
    struct str name = string ? ruby_string(m, string, arena) : STR("");
    m->failed = m->exhausted;
    return name;
}

/* --- Classes ------------------------------------------------------------------------ */

/* A variable of a class: a hash table has an array of entries, each with the hash, the id
 * and the value. *key is the id if it is known. */
static uint64_t class_variable(struct ruby *ruby, struct memory *m, uint64_t class,
                               struct str name, uint64_t *key)
{
    const struct ruby_layout *l = ruby->layout;
    unsigned char table[56], entry[24];
    char room[64];
    uint64_t fields = memory_u64(m, class + l->class_fields);
    if (!memory_read(m, memory_u64(m, fields + l->fields_variables), table, sizeof table))
        return 0;
    uint64_t count = memory_get_u64(table + 40), entries = memory_get_u64(table + 48);
    for (uint64_t i = 0; i < count && i < VARIABLES_MAX; i++) {
        if (!memory_read(m, entries + i * sizeof entry, entry, sizeof entry))
            return 0;
        uint64_t id = memory_get_u64(entry + 8);
        if (*key == 0 && id && name.len < sizeof room) {
            uint64_t string = name_string(m, ruby->names, id >> SCOPE_SHIFT);
            unsigned char head[32];
            memory_read(m, string, head, sizeof head);
            bool on_heap = memory_get_u64(head) & FLAG_STRING_ON_HEAP;
            memory_read(m, on_heap ? memory_get_u64(head + 24) : string + 16, room,
                        name.len);
            if (!m->failed && memcmp(room, name.ptr, name.len) == 0)
                *key = id;
            m->failed = m->exhausted;
        }
        if (*key && id == *key)
            return memory_get_u64(entry + 16);
    }
    return 0;
}

static struct str class_name(struct ruby *ruby, struct memory *m, uint64_t class,
                             struct arena *arena)
{
    uint64_t string =
        class_variable(ruby, m, class, STR("__classpath__"), &ruby->key_class);
    struct str name = string ? ruby_string(m, string, arena) : STR("");
    m->failed = m->exhausted;
    return name;
}

/* The class that a singleton class belongs to; 0 if it is that of another object. */
static uint64_t attached_class(struct ruby *ruby, struct memory *m, uint64_t class)
{
    uint64_t object =
        class_variable(ruby, m, class, STR("__attached__"), &ruby->key_attached);
    uint64_t type = object ? memory_u64(m, object) & TYPE_MASK : 0;
    m->failed = m->exhausted;
    return type == TYPE_CLASS || type == TYPE_MODULE ? object : 0;
}

/* A method of a class: "Integer#times", or of the class itself: "File.read". */
static struct str qualified(struct ruby *ruby, struct memory *m, uint64_t class,
                            struct str name, struct arena *arena)
{
    uint64_t flags = memory_u64(m, class);
    m->failed = m->exhausted;
    bool is_singleton = (flags & TYPE_MASK) == TYPE_CLASS && flags & FLAG_SINGLETON;
    if (!ruby->names && ruby->searches < SEARCHES_MAX)
        find_names(ruby, m);
    if (is_singleton)
        class = attached_class(ruby, m, class);
    struct str of = class && ruby->names ? class_name(ruby, m, class, arena) : STR("");
    size_t length = of.len + 1 + name.len;
    char *text = of.len && name.len ? arena_alloc(arena, length + 1) : NULL;
    if (!text)
        return name;
    format_text(text, length + 1, "%.*s%c%.*s", STR_ARG(of), is_singleton ? '.' : '#',
                STR_ARG(name));
    return str_head((struct str){text, length}, INTERPRETER_NAME_MAX);
}

struct str ruby_method_name(struct ruby *ruby, struct memory *m, uint64_t method,
                            uint64_t label, struct arena *arena)
{
    uint64_t class = memory_u64(m, method + RUBY_METHOD_OWNER);
    uint64_t id = memory_u64(m, method + RUBY_METHOD_NAME);
    struct str name = label       ? ruby_string(m, label, arena)
                      : m->failed ? STR("")
                                  : name_of(ruby, m, id, arena);
    m->failed = m->exhausted;
    return qualified(ruby, m, class, name, arena);
}
