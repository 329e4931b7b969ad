/* SPDX-License-Identifier: Apache-2.0 */
#include "agents/qemu/options.h"
#include "base/number.h"

#define EXAMPLE "-plugin libstoke_qemu.so,out=FILE[,selector=N,start=X,end=Y]"

/* The number of an instruction is decimal; an address and an encoding are hexadecimal,
 * as in FireSim's configuration. "-1" as the end means never. */
static bool parse_edge(struct trace_options *o, const char *name, const char *value,
                       uint64_t *out, struct error *err)
{
    struct str text = str_of(value);
    bool decimal = o->selector <= 1;
    if (decimal ? number_parse_u64(text, out) : number_parse_hex(text, out))
        return true;
    error_set(err, "invalid %s=%s: not a %s number", name, value,
              decimal ? "decimal" : "hexadecimal");
    return error_hint(err, "with selector %u it is %s", o->selector,
                      o->selector <= 1 ? "the number of an instruction, from 0"
                      : o->selector == 2
                          ? "an address"
                          : "mask << 32 | value, such as ffffffff00008013");
}

/* The value of an argument if it has this name, else NULL. */
static const char *value_of(const char *argument, const char *name)
{
    size_t length = strlen(name);
    bool is_it = strncmp(argument, name, length) == 0 && argument[length] == '=';
    return is_it ? argument + length + 1 : NULL;
}

static bool sort_arguments(struct trace_options *o, int argc, char **argv,
                           const char **values, struct error *err)
{
    static const char *const names[] = {"out", "selector", "start", "end"};
    for (int i = 0; i < argc; i++) {
        size_t at = 0;
        while (at < 4 && !value_of(argv[i], names[at]))
            at++;
        if (at == 4) {
            error_set(err, "there is no option '%s'", argv[i]);
            return error_hint(err, "%s", EXAMPLE);
        }
        values[at] = value_of(argv[i], names[at]);
    }
    o->out = values[0];
    if (o->out && *o->out)
        return true;
    error_set(err, "where to write is missing");
    return error_hint(err, "%s", EXAMPLE);
}

bool trace_options_parse(struct trace_options *o, int argc, char **argv,
                         struct error *err)
{
    const char *values[4] = {NULL};
    *o = (struct trace_options){.end = UINT64_MAX};
    if (!sort_arguments(o, argc, argv, values, err))
        return false;
    uint64_t selector = 0;
    if (values[1] && (!number_parse_u64(str_of(values[1]), &selector) || selector > 3)) {
        error_set(err, "selector=%s is none", values[1]);
        return error_hint(err, "0 everything, 1 numbers of instructions, 2 addresses, "
                               "3 instructions as mask and value");
    }
    o->selector = (uint32_t)selector;
    if (selector >= 2 && !values[2]) {
        error_set(err, "selector=%u needs a start", o->selector);
        return error_hint(err, "start=%s",
                          selector == 2 ? "80000000" : "ffffffff00008013");
    }
    if (values[2] && !parse_edge(o, "start", values[2], &o->start, err))
        return false;
    o->has_end = values[3] && strcmp(values[3], "-1") != 0;
    return !o->has_end || parse_edge(o, "end", values[3], &o->end, err);
}
