#include "cli/option.h"
#include "base/format.h"
#include "base/number.h"
#include <stdlib.h>

/* An option's first name, for "%.*s". */
#define OPTION_NAME(o) (int)str_find(str_of((o)->names), ','), (o)->names

/* The options under way: where in argv, and what was found there. */
struct parsing {
    const struct option_group *groups;
    char *settings;
    int argc;
    char **argv;
    int at;
    struct error *err;
};

static void *value_of(const struct parsing *p, const struct option_group *group,
                      const struct option *o)
{
    return p->settings + group->base + o->offset;
}

static bool name_matches(const struct option *o, struct str name)
{
    struct str names = str_of(o->names);
    while (names.len)
        if (str_equal(str_cut(&names, ','), name))
            return true;
    return false;
}

static const struct option *find_name(const struct parsing *p, struct str name,
                                      const struct option_group **group)
{
    for (*group = p->groups; (*group)->options; (*group)++)
        for (const struct option *o = (*group)->options; o->names; o++)
            if (name_matches(o, name))
                return o;
    return NULL;
}

static const struct option *find_letter(const struct parsing *p, char letter,
                                        const struct option_group **group)
{
    for (*group = p->groups; (*group)->options; (*group)++)
        for (const struct option *o = (*group)->options; o->names; o++)
            if (o->letter == letter)
                return o;
    return NULL;
}

static bool set_choice(const struct option *o, const char *text, int *value,
                       struct error *err)
{
    char all[200] = "";
    size_t used = 0;
    for (int i = 0; o->choices[i]; i++) {
        if (strcmp(o->choices[i], text) == 0) {
            *value = i;
            return true;
        }
        if (used < sizeof all - 1)
            used += format_text(all + used, sizeof all - used, "%s%s", i ? ", " : "",
                                o->choices[i]);
    }
    error_set(err, "--%.*s cannot be '%s'", OPTION_NAME(o), text);
    return error_hint(err, "it is one of: %s", all);
}

static bool set_list(const struct parsing *p, struct option_list *list, const char *text)
{
    if (!list->items)
        list->items = calloc((size_t)p->argc + 1, sizeof *list->items);
    if (!list->items)
        return error_memory(p->err);
    list->items[list->count++] = text;
    return true;
}

/* Puts the option's name before what its own parser said of the value. */
static bool set_parsed(const struct parsing *p, const struct option *o, void *value,
                       const char *text)
{
    char said[sizeof p->err->message];
    if (o->parse(text, value, p->err))
        return true;
    memcpy(said, p->err->message, sizeof said);
    format_text(p->err->message, sizeof p->err->message, "--%.*s: %s", OPTION_NAME(o),
                said);
    return false;
}

/* Sets an option that takes a value. */
static bool set_text(const struct parsing *p, const struct option *o, void *value,
                     const char *text)
{
    double number;
    switch (o->kind) {
    case OPTION_STRING:
        *(const char **)value = text;
        return true;
    case OPTION_LIST:
        return set_list(p, value, text);
    case OPTION_CHOICE:
        return set_choice(o, text, value, p->err);
    case OPTION_PARSED:
        return set_parsed(p, o, value, text);
    case OPTION_INT:
    case OPTION_NUMBER:
        if (!number_parse_double(str_of(text), &number) ||
            (o->kind == OPTION_INT &&
             (number > 1e15 || number < -1e15 || number != (double)(int64_t)number)))
            return error_set(p->err, "--%.*s takes a number, not '%s'", OPTION_NAME(o),
                             text);
        if (o->kind == OPTION_INT)
            *(int64_t *)value = (int64_t)number;
        else
            *(double *)value = number;
        return true;
    default:
        return true;
    }
}

/* Sets an option that takes none. */
static void set_flag(const struct option *o, void *value, bool on)
{
    if (o->kind == OPTION_FLAG)
        *(bool *)value = on;
    else if (o->kind == OPTION_CLEAR)
        *(bool *)value = !on;
    else if (o->kind == OPTION_SET)
        *(int *)value = on ? o->value : 0;
}

/* The option's value: what stands behind '=' or in the next argument. */
static const char *take_value(struct parsing *p, const struct option *o,
                              const char *attached)
{
    if (attached)
        return attached;
    if (p->at + 1 < p->argc)
        return p->argv[++p->at];
    error_set(p->err, "--%.*s needs a value: %s", OPTION_NAME(o), o->arg);
    return NULL;
}

/* What the user may have meant: the first name that the word begins with, or begins. */
static const char *nearest_name(const struct parsing *p, struct str word)
{
    for (const struct option_group *g = p->groups; g->options; g++) {
        for (const struct option *o = g->options; o->names; o++) {
            struct str names = str_of(o->names), name = str_cut(&names, ',');
            size_t shorter = name.len < word.len ? name.len : word.len;
            if (o->help && shorter >= 3 && memcmp(name.ptr, word.ptr, shorter) == 0)
                return o->names;
        }
    }
    return NULL;
}

static bool unknown_option(const struct parsing *p, const char *word, struct str name)
{
    const char *nearest = nearest_name(p, name);
    error_set(p->err, "unknown option '%s'", word);
    if (nearest)
        return error_hint(p->err, "did you mean --%.*s? --help lists them all",
                          (int)str_find(str_of(nearest), ','), nearest);
    return error_hint(p->err, "--help lists the options");
}

static bool parse_long(struct parsing *p, const char *word)
{
    const char *dashes = word[1] == '-' ? word + 2 : word + 1;
    const char *equals = strchr(dashes, '=');
    struct str name = equals ? str_span(dashes, equals) : str_of(dashes);
    const struct option_group *group;
    const struct option *o = find_name(p, name, &group);
    bool on = true;
    if (!o && str_starts(name, STR("no-"))) {
        o = find_name(p, str_skip(name, 3), &group);
        on = false;
    }
    if (!o || (!on && o->arg))
        return unknown_option(p, word, name);
    if (!o->arg) {
        if (equals)
            return error_set(p->err, "--%.*s takes no value", STR_ARG(name));
        set_flag(o, value_of(p, group, o), on);
        return true;
    }
    const char *text = take_value(p, o, equals ? equals + 1 : NULL);
    return text && set_text(p, o, value_of(p, group, o), text);
}

static bool parse_letters(struct parsing *p, const char *word)
{
    for (const char *letter = word + 1; *letter; letter++) {
        const struct option_group *group;
        const struct option *o = find_letter(p, *letter, &group);
        if (!o)
            return unknown_option(p, word, str_of(word + 1));
        void *value = value_of(p, group, o);
        if (o->arg) {
            const char *text = take_value(p, o, letter[1] ? letter + 1 : NULL);
            return text && set_text(p, o, value, text);
        }
        set_flag(o, value, true);
    }
    return true;
}

bool options_parse(const struct option_group *groups, void *settings, int argc,
                   char **argv, int *rest, struct error *err)
{
    struct parsing p = {groups, settings, argc, argv, 1, err};
    const struct option_group *group;
    bool only_names = false;
    *rest = 0;
    for (; p.at < argc; p.at++) {
        char *word = argv[p.at];
        if (only_names || word[0] != '-' || word[1] == 0) {
            argv[(*rest)++] = word;
        } else if (strcmp(word, "--") == 0) {
            only_names = true;
        } else if (word[1] == '-' || (!find_letter(&p, word[1], &group) &&
                                      find_name(&p, str_of(word + 1), &group))) {
            if (!parse_long(&p, word))
                return false;
        } else if (!parse_letters(&p, word)) {
            return false;
        }
    }
    return true;
}

void options_free(const struct option_group *groups, void *settings)
{
    for (const struct option_group *g = groups; g->options; g++) {
        for (const struct option *o = g->options; o->names; o++) {
            if (o->kind != OPTION_LIST)
                continue;
            struct option_list *list =
                (struct option_list *)(void *)((char *)settings + g->base + o->offset);
            free((void *)list->items);
            *list = (struct option_list){0};
        }
    }
}
