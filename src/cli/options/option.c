/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/options/option.h"
#include "base/format.h"
#include "base/nearest.h"
#include "base/number.h"
#include "os/child.h"
#include <stdlib.h>
#include <unistd.h>

/* An option's first name, for "%.*s". */
#define OPTION_NAME(o) (int)str_find(str_of((o)->names), ','), (o)->names

/* The state of parsing. */
struct parsing {
    const struct option_group *groups;
    char *settings;
    int argc;
    char **argv;
    int at; /* the current argument */
    struct error *err;
    bool misspelled; /* the value is neither valid nor the name of a program */
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

/* The length from which the beginning of a name stands for it. */
#define ABBREVIATION_LEAST 3
#define LOWER_MOST 64 /* longer than all names */

static bool is_abbreviation(const struct option *o, struct str name)
{
    struct str names = str_of(o->names);
    while (names.len)
        if (str_starts(str_cut(&names, ','), name))
            return true;
    return false;
}

/* Returns the only option with a name that begins with `name`; NULL if there is none, or
 * several. */
static const struct option *find_abbreviated(const struct parsing *p, struct str name,
                                             const struct option_group **group)
{
    const struct option *found = NULL;
    for (const struct option_group *g = p->groups; g->options; g++) {
        for (const struct option *o = g->options; o->names; o++) {
            if (!is_abbreviation(o, name))
                continue;
            if (found)
                return NULL;
            found = o;
            *group = g;
        }
    }
    return found;
}

bool option_group_is_listed(const struct option_group *group)
{
    for (const struct option *o = group->options; o->names; o++)
        if (o->help)
            return true;
    return false;
}

char option_letter(const struct option_group *group, const struct option *o)
{
    bool taken = o->letter && group->taken && strchr(group->taken, o->letter);
    return taken ? 0 : o->letter;
}

static const struct option *find_letter(const struct parsing *p, char letter,
                                        const struct option_group **group)
{
    for (*group = p->groups; (*group)->options; (*group)++)
        for (const struct option *o = (*group)->options; o->names; o++)
            if (letter && option_letter(*group, o) == letter)
                return o;
    return NULL;
}

static bool set_choice(const struct option *o, const char *text, int *value,
                       struct error *err)
{
    char all[200];
    size_t used = format_text(all, sizeof all, "one of: ");
    struct nearest nearest = {.word = str_of(text)};
    for (int i = 0; o->choices[i]; i++) {
        if (strcmp(o->choices[i], text) == 0) {
            *value = i;
            return true;
        }
        nearest_offer(&nearest, str_of(o->choices[i]));
        if (used < sizeof all - 1)
            used += format_text(all + used, sizeof all - used, "%s%s", i ? ", " : "",
                                o->choices[i]);
    }
    error_set(err, "invalid value '%s' for --%.*s", text, OPTION_NAME(o));
    return nearest_hint(&nearest, "", all, err);
}

static bool set_list(const struct parsing *p, struct name_list *list, const char *text)
{
    if (!list->items)
        list->items = calloc((size_t)p->argc + 1, sizeof *list->items);
    if (!list->items)
        return error_memory(p->err);
    list->items[list->count++] = text;
    return true;
}

/* Calls the option's parser and prefixes its error message with the option's name. */
static bool set_parsed(const struct parsing *p, const struct option *o, void *value,
                       const char *text)
{
    char message[sizeof p->err->message];
    if (o->parse(text, value, p->err))
        return true;
    memcpy(message, p->err->message, sizeof message);
    format_text(p->err->message, sizeof p->err->message, "--%.*s: %s%s", OPTION_NAME(o),
                message, p->misspelled ? ", and no program has that name" : "");
    return false;
}

/* The limit for whole numbers: a double represents them exactly up to 2^53. */
#define NUMBER_MOST 1e15

static bool wrong_number(const struct option *o, const char *text, struct error *err)
{
    const char *kind = o->kind == OPTION_INT ? "whole number" : "number";
    error_set(err, "invalid value '%s' for --%.*s", text, OPTION_NAME(o));
    if (o->least == 0 && o->most == 0)
        return error_hint(err, "a %s", kind);
    if (o->least > 0 && o->least < 1e-9)
        return error_hint(err, "a %s above 0", kind);
    if (o->most >= UINT32_MAX)
        return error_hint(err, "a %s of at least %g", kind, o->least);
    return error_hint(err, "a %s from %g to %g", kind, o->least, o->most);
}

static bool set_number(const struct option *o, void *value, const char *text,
                       struct error *err)
{
    double number;
    bool bounded = o->least < o->most, whole = o->kind == OPTION_INT;
    if (!number_parse_double(str_of(text), &number) ||
        (bounded && (number < o->least || number > o->most)) ||
        (whole && (number > NUMBER_MOST || number < -NUMBER_MOST ||
                   number != (double)(int64_t)number)))
        return wrong_number(o, text, err);
    if (whole)
        *(int64_t *)value = (int64_t)number;
    else
        *(double *)value = number;
    return true;
}

/* Sets an option that takes a value. */
static bool set_text(const struct parsing *p, const struct option *o, void *value,
                     const char *text)
{
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
        return set_number(o, value, text, p->err);
    default:
        return true;
    }
}

/* Sets an option that takes no value. */
static void set_flag(const struct option *o, void *value, bool on)
{
    if (o->kind == OPTION_FLAG)
        *(bool *)value = on;
    else if (o->kind == OPTION_CLEAR)
        *(bool *)value = !on;
    else if (o->kind == OPTION_SET)
        *(int *)value = on ? o->value : 0;
    else if (o->kind == OPTION_COUNT)
        *(int *)value = on ? *(int *)value + 1 : 0;
}

/* True if a word starts with one of the option's choices, as "dwarf,8192" does. It is then
 * meant as the option's value, even if it is invalid. */
static bool is_meant(const struct option *o, const char *word)
{
    struct str rest = str_of(word), first = str_cut(&rest, ',');
    for (int i = 0; o->choices && o->choices[i]; i++)
        if (str_equal(str_of(o->choices[i]), first))
            return true;
    return false;
}

/* True if the argument after an option with an optional value is that value. Otherwise it
 * may be a file, or the program of a command. */
static bool is_value(const struct option *o, const char *text, void *value,
                     struct error *err)
{
    return is_meant(o, text) || o->parse(text, value, err) ||
           (!o->before_command && access(text, F_OK) != 0);
}

/* True if the argument after an option before a command must be a misspelled value of the
 * option: no program has its name, but the argument after it is the name of a program. */
static bool is_misspelled(const struct parsing *p, const struct option *o)
{
    const char *after = p->at + 2 < p->argc ? p->argv[p->at + 2] : NULL;
    return o->before_command && after && after[0] != '-' &&
           !os_program_exists(p->argv[p->at + 1]) && os_program_exists(after);
}

/* Returns the option's value: the text after '=' (`attached`), or the next argument. */
static const char *take_value(struct parsing *p, const struct option *o, void *value,
                              const char *attached)
{
    const char *next = p->at + 1 < p->argc ? p->argv[p->at + 1] : NULL;
    if (attached)
        return attached;
    if (o->fallback && (!next || next[0] == '-'))
        return o->fallback;
    if (o->fallback && !is_value(o, next, value, p->err)) {
        p->misspelled = is_misspelled(p, o);
        if (!p->misspelled)
            return o->fallback;
    }
    if (p->at + 1 < p->argc)
        return p->argv[++p->at];
    error_set(p->err, "--%.*s needs a value: %s", OPTION_NAME(o), o->arg);
    return NULL;
}

static bool unknown_option(const struct parsing *p, const char *word, struct str name)
{
    struct nearest nearest = {.word = name};
    for (const struct option_group *g = p->groups; g->options; g++)
        for (const struct option *o = g->options; o->names; o++)
            for (struct str names = str_of(o->help ? o->names : ""); names.len;)
                nearest_offer(&nearest, str_cut(&names, ','));
    error_set(p->err, "unknown option '%s'", word);
    return nearest_hint(&nearest, "--", "--help lists them all", p->err);
}

static bool refuse(const struct parsing *p, const char *word, const struct option *o)
{
    error_set(p->err, "the option '%s' does not exist here", word);
    return o->instead ? error_hint(p->err, "%s", o->instead) : false;
}

/* The option of a name, of its beginning, or of "no-" and one of these; *on: without that. */
static const struct option *find_long(const struct parsing *p, struct str name, bool *on,
                                      const struct option_group **group)
{
    const struct option *o = find_name(p, name, group);
    bool is_long = name.len >= ABBREVIATION_LEAST;
    *on = true;
    if (!o && str_starts(name, STR("no-"))) {
        o = find_name(p, str_skip(name, 3), group);
        *on = false;
    }
    if (!o && is_long) {
        o = find_abbreviated(p, name, group);
        *on = true;
    }
    if (!o && is_long && str_starts(name, STR("no-")) && name.len > 3) {
        o = find_abbreviated(p, str_skip(name, 3), group);
        *on = false;
    }
    return o;
}

/* As Perl's Getopt::Long, which FlameGraph's programs use: "--Title" is "--title". */
static const struct option *find_lower(const struct parsing *p, struct str name, bool *on,
                                       const struct option_group **group)
{
    char lower[LOWER_MOST];
    if (name.len > sizeof lower)
        return NULL;
    for (size_t i = 0; i < name.len; i++)
        lower[i] =
            (char)(name.ptr[i] | (name.ptr[i] >= 'A' && name.ptr[i] <= 'Z' ? 32 : 0));
    return find_long(p, (struct str){lower, name.len}, on, group);
}

static bool parse_long(struct parsing *p, const char *word)
{
    const char *dashes = word[1] == '-' ? word + 2 : word + 1;
    const char *equals = strchr(dashes, '=');
    struct str name = equals ? str_span(dashes, equals) : str_of(dashes);
    const struct option_group *group;
    bool on;
    const struct option *o = find_long(p, name, &on, &group);
    if (!o)
        o = find_lower(p, name, &on, &group);
    if (!o || (!on && o->arg))
        return unknown_option(p, word, name);
    if (o->kind == OPTION_REPLACED)
        return refuse(p, word, o);
    if (!o->arg) {
        if (equals && o->kind != OPTION_IGNORED)
            return error_set(p->err, "--%.*s takes no value", STR_ARG(name));
        set_flag(o, value_of(p, group, o), on);
        return true;
    }
    const char *text =
        take_value(p, o, value_of(p, group, o), equals ? equals + 1 : NULL);
    return text && set_text(p, o, value_of(p, group, o), text);
}

/* "yes", "no", or nothing, for an option without a value. */
static bool set_switch(const struct parsing *p, const struct option *o, void *value,
                       const char *text)
{
    bool on = !text || strcmp(text, "yes") == 0;
    if (!on && strcmp(text, "no") != 0) {
        error_set(p->err, "invalid value '%s' for %.*s", text, OPTION_NAME(o));
        return error_hint(p->err, "yes or no");
    }
    set_flag(o, value, on);
    return true;
}

bool options_set(const struct option_group *groups, void *settings, const char *name,
                 const char *value, struct error *err)
{
    struct parsing p = {.groups = groups, .settings = settings, .err = err};
    const struct option_group *group;
    const struct option *o = find_name(&p, str_of(name), &group);
    if (!o)
        return unknown_option(&p, name, str_of(name));
    if (o->kind == OPTION_REPLACED)
        return refuse(&p, name, o);
    if (!o->arg)
        return set_switch(&p, o, value_of(&p, group, o), value);
    if (!value || !value[0])
        value = o->fallback;
    if (!value)
        return error_set(err, "%.*s needs a value: %s", OPTION_NAME(o), o->arg);
    return set_text(&p, o, value_of(&p, group, o), value);
}

static bool parse_letters(struct parsing *p, const char *word)
{
    for (const char *letter = word + 1; *letter; letter++) {
        const struct option_group *group;
        const struct option *o = find_letter(p, *letter, &group);
        if (!o)
            return unknown_option(p, word, str_of(word + 1));
        if (o->kind == OPTION_REPLACED)
            return refuse(p, word, o);
        void *value = value_of(p, group, o);
        if (o->arg) {
            const char *text = take_value(p, o, value, letter[1] ? letter + 1 : NULL);
            return text && set_text(p, o, value, text);
        }
        set_flag(o, value, true);
    }
    return true;
}

static bool parse_all(struct parsing *p, bool ends_at_word, int *rest)
{
    const struct option_group *group;
    bool only_names = false;
    *rest = 0;
    for (; p->at < p->argc; p->at++) {
        char *word = p->argv[p->at];
        if (only_names || word[0] != '-' || word[1] == 0) {
            p->argv[(*rest)++] = word;
            only_names |= ends_at_word;
        } else if (strcmp(word, "--") == 0) {
            only_names = true;
        } else if (word[1] == '-' || (!find_letter(p, word[1], &group) &&
                                      find_name(p, str_of(word + 1), &group))) {
            if (!parse_long(p, word))
                return false;
        } else if (!parse_letters(p, word)) {
            return false;
        }
    }
    return true;
}

bool options_parse(const struct option_group *groups, void *settings, int argc,
                   char **argv, int *rest, struct error *err)
{
    struct parsing p = {groups, settings, argc, argv, 1, err, false};
    return parse_all(&p, false, rest);
}

bool options_parse_front(const struct option_group *groups, void *settings, int argc,
                         char **argv, int *rest, struct error *err)
{
    struct parsing p = {groups, settings, argc, argv, 1, err, false};
    return parse_all(&p, true, rest);
}

void options_free(const struct option_group *groups, void *settings)
{
    for (const struct option_group *g = groups; g->options; g++) {
        for (const struct option *o = g->options; o->names; o++) {
            if (o->kind != OPTION_LIST)
                continue;
            struct name_list *list =
                (struct name_list *)(void *)((char *)settings + g->base + o->offset);
            free((void *)list->items);
            *list = (struct name_list){0};
        }
    }
}
