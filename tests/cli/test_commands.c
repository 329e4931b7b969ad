/* SPDX-License-Identifier: Apache-2.0 */
#include "base/strings.h"
#include "cli/command.h"
#include "unit.h"

/* The options of a command, one after the other. */
struct cursor {
    const struct option_group *group;
    const struct option *option;
};

static bool next_option(struct cursor *at)
{
    if (at->option)
        at->option++;
    while (at->group->options) {
        if (!at->option)
            at->option = at->group->options;
        if (at->option->names)
            return true;
        at->group++;
        at->option = NULL;
    }
    return false;
}

static void test_summaries(void **state)
{
    (void)state;
    for (size_t i = 0; commands[i]; i++) {
        const struct command *c = commands[i];
        assert_ptr_equal(command_named(c->name), c);
        assert_true(c->summary && c->usage && c->groups && c->run);
        assert_true(strlen(c->summary) < 64); /* a line of `stoke help` */
    }
}

/* Shared groups of options must not use a name twice: only the first option would
 * work. */
static void test_names_are_unique(void **state)
{
    (void)state;
    for (size_t i = 0; commands[i]; i++) {
        struct arena a = ARENA_INIT;
        struct strings names;
        bool letters[256] = {false};
        assert_true(strings_init(&names, &a));
        for (struct cursor at = {commands[i]->groups, NULL}; next_option(&at);) {
            for (struct str rest = str_of(at.option->names); rest.len;) {
                struct str name = str_cut(&rest, ',');
                if (strings_find(&names, name))
                    fail_msg("%s has two options --%.*s", commands[i]->name,
                             STR_ARG(name));
                strings_add(&names, name);
            }
            unsigned char letter = (unsigned char)option_letter(at.group, at.option);
            if (letter && letters[letter])
                fail_msg("%s has two options -%c", commands[i]->name, letter);
            letters[letter] = true;
        }
        arena_deinit(&a);
    }
}

/* Each option has a field for its value, and takes a value or not. */
static void test_kinds(void **state)
{
    (void)state;
    for (size_t i = 0; commands[i]; i++) {
        for (struct cursor at = {commands[i]->groups, NULL}; next_option(&at);) {
            const struct option *o = at.option;
            bool flag = o->kind == OPTION_FLAG || o->kind == OPTION_CLEAR ||
                        o->kind == OPTION_SET || o->kind == OPTION_COUNT;
            if (o->kind != OPTION_IGNORED && o->kind != OPTION_REPLACED &&
                flag != !o->arg)
                fail_msg("%s --%s: a value, or none?", commands[i]->name, o->names);
            if ((o->kind == OPTION_CHOICE && !o->choices) ||
                (o->kind == OPTION_PARSED) != (o->parse != NULL))
                fail_msg("%s --%s: choices, or a parser, missing", commands[i]->name,
                         o->names);
            if (at.group->base + o->offset >= commands[i]->settings_size)
                fail_msg("%s --%s: outside of the settings", commands[i]->name, o->names);
        }
    }
}

/* Options whose value is anything: their parser only collects it. */
static bool takes_anything(const struct option *o)
{
    static const char *const names[] = {"event,event-filter,only-event",
                                        "event",
                                        "drop-event",
                                        "label",
                                        "drop-label",
                                        "comm,only-comm",
                                        "drop-comm",
                                        "base",
                                        "field-separator",
                                        "comms",
                                        "dso,dsos",
                                        "symbol,symbols"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(o->names, names[i]) == 0)
            return true;
    return o->kind == OPTION_STRING || o->kind == OPTION_LIST ||
           o->kind == OPTION_IGNORED;
}

/* The value is refused with its option, itself and what is allowed, and the command ends
 * with the status of a wrong command line, before it opens its files. */
static void assert_refused(const struct command *c, const struct option *o,
                           const char *value)
{
    char word[200], name[100], file[] = "/no/such/file";
    char *argv[] = {(char *)(uintptr_t)c->name, word, file, NULL};
    struct error err = {0};
    int rest;
    void *settings = calloc(1, c->settings_size);
    assert_non_null(settings);
    snprintf(name, sizeof name, "--%.*s", (int)strcspn(o->names, ","), o->names);
    snprintf(word, sizeof word, "%s=%s", name, value);
    bool ok = options_parse(c->groups, settings, 3, argv, &rest, &err);
    options_free(c->groups, settings);
    free(settings);
    if (ok || !strstr(err.message, name) || !strstr(err.message, value) || !err.hint[0])
        fail_msg("%s %s said '%s', try '%s'", c->name, word, err.message, err.hint);
    assert_int_equal(command_run(c, 3, argv), STATUS_USAGE);
}

/* Every option of every command, with a value that it cannot have. */
static void test_wrong_values(void **state)
{
    (void)state;
    for (size_t i = 0; commands[i]; i++) {
        for (struct cursor at = {commands[i]->groups, NULL}; next_option(&at);) {
            const struct option *o = at.option;
            if (!o->arg || takes_anything(o))
                continue;
            assert_refused(commands[i], o, "(nope");
            assert_refused(commands[i], o, "[:1");
            if (o->kind == OPTION_INT)
                assert_refused(commands[i], o, "1.5");
            if (o->kind == OPTION_INT || o->kind == OPTION_NUMBER)
                assert_refused(commands[i], o, o->least < 0 ? "-2" : "-1");
        }
    }
}

int main(void)
{
    const struct CMUnitTest units[] = {UNIT(test_summaries), UNIT(test_names_are_unique),
                                       UNIT(test_kinds), UNIT(test_wrong_values)};
    return UNITS_RUN(units);
}
