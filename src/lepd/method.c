/* SPDX-License-Identifier: Apache-2.0 */
#include "lepd/method.h"
#include "lepd/texts.h"

#define LEPD_CONSTANT(name, function) {name, function, NULL, NULL, false},
#define LEPD_FILE(name, path) {name, NULL, path, NULL, false},
#define LEPD_TEXT(name, function) {name, NULL, NULL, function, false},
#define LEPD_SLOW(name, function) {name, NULL, NULL, function, true},

const struct lepd_method lepd_methods[] = {
#include "lepd/methods.def"
};
const size_t lepd_method_count = sizeof lepd_methods / sizeof *lepd_methods;

const struct lepd_method *lepd_method_find(struct str name)
{
    for (size_t i = 0; i < lepd_method_count; i++)
        if (str_equal(name, str_of(lepd_methods[i].name)))
            return &lepd_methods[i];
    return NULL;
}

bool lepd_method_write(const struct lepd_method *method, const struct lepd_machine *m,
                       struct output *o)
{
    bool ok = method->file ? m->file(m->context, method->file, o) : method->write(m, o);
    return ok && !o->failed;
}

void lepd_say_hello(struct output *o)
{
    output_text(o, "Hello!");
}

void lepd_list_methods(struct output *o)
{
    for (size_t i = 0; i < lepd_method_count; i++)
        output_format(o, "%s ", lepd_methods[i].name);
}

void lepd_write_sysstat_line(const struct lepd_machine *m, struct output *o)
{
    struct lepd_clock c = m->clock(m->context, m->now->wall);
    output_format(o, "Linux %.*s (%.*s) \t%02u/%02u/%02u \t_%.*s_\t(%zu CPU)\n",
                  STR_ARG(m->release), STR_ARG(m->host), c.month, c.day, c.year % 100,
                  STR_ARG(m->architecture), m->now->cpu.count);
}

double lepd_interval(const struct lepd_machine *m)
{
    if (m->before)
        return metrics_seconds(m->before, m->now);
    return m->now->uptime > 0 ? m->now->uptime : 1;
}
