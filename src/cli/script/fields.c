/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/script/fields.h"

static const struct {
    const char *name;
    uint32_t field;
    uint64_t recorded; /* bits of sample_type: the field needs one of them; 0: none */
} fields[] = {
    {"comm", FIELD_COMM, 0},
    {"tid", FIELD_TID, PERF_SAMPLE_TID},
    {"pid", FIELD_PID, PERF_SAMPLE_TID},
    {"time", FIELD_TIME, PERF_SAMPLE_TIME},
    {"cpu", FIELD_CPU, PERF_SAMPLE_CPU},
    {"event", FIELD_EVENT, 0},
    {"ip", FIELD_IP, PERF_SAMPLE_IP},
    {"sym", FIELD_SYM, 0},
    {"dso", FIELD_DSO, 0},
    {"addr", FIELD_ADDR, PERF_SAMPLE_ADDR},
    {"symoff", FIELD_SYMOFF, 0},
    {"srcline", FIELD_SRCLINE, 0},
    {"period", FIELD_PERIOD, 0},
    {"weight", FIELD_WEIGHT, PERF_SAMPLE_WEIGHT | PERF_SAMPLE_WEIGHT_STRUCT},
    {"phys_addr", FIELD_PHYS_ADDR, PERF_SAMPLE_PHYS_ADDR},
    {"misc", FIELD_MISC, 0},
    {"brstack", FIELD_BRSTACK, PERF_SAMPLE_BRANCH_STACK},
    {"trace", FIELD_TRACE, PERF_SAMPLE_RAW},
    {"iregs", FIELD_IREGS, PERF_SAMPLE_REGS_INTR},
    {"uregs", FIELD_UREGS, PERF_SAMPLE_REGS_USER},
    {"data_src", FIELD_DATA_SRC, PERF_SAMPLE_DATA_SRC},
    {"ins_lat", FIELD_INS_LAT, PERF_SAMPLE_WEIGHT_STRUCT},
    {"retire_lat", FIELD_RETIRE_LAT, PERF_SAMPLE_WEIGHT_STRUCT},
    {"cgroup", FIELD_CGROUP, PERF_SAMPLE_CGROUP},
    {"flags", FIELD_FLAGS, 0},
    {"data_page_size", FIELD_DATA_PAGE_SIZE, PERF_SAMPLE_DATA_PAGE_SIZE},
    {"code_page_size", FIELD_CODE_PAGE_SIZE, PERF_SAMPLE_CODE_PAGE_SIZE},
    {"synth", FIELD_SYNTH, 0},
    {"callindent", FIELD_CALLINDENT, 0},
};
#define FIELDS (sizeof fields / sizeof *fields)

static const struct {
    const char *name;
    unsigned type;
} types[] = {{"hw", PERF_TYPE_HARDWARE},      {"sw", PERF_TYPE_SOFTWARE},
             {"trace", PERF_TYPE_TRACEPOINT}, {"raw", PERF_TYPE_RAW},
             {"break", PERF_TYPE_BREAKPOINT}, {"other", PERF_TYPE_KNOWN}};

const char *script_field_name(uint32_t field)
{
    for (size_t i = 0; i < FIELDS; i++)
        if (field & fields[i].field)
            return fields[i].name;
    return "";
}

#define BY_TRACE "'stoke trace' reads instruction traces"
#define BY_BRSTACK "-F brstack prints the addresses"

/* Fields of perf script that are not printed here, and what prints them. */
static const struct {
    const char *name, *instead;
} refused[] = {{"ipc", BY_TRACE},
               {"brcntr", BY_TRACE},
               {"insn", "'stoke annotate' prints instructions"},
               {"insnlen", "'stoke annotate' prints instructions"},
               {"disasm", "'stoke annotate' prints instructions"},
               {"brstackinsn", "'stoke annotate' prints instructions; " BY_BRSTACK},
               {"brstackinsnlen", "'stoke annotate' prints instructions; " BY_BRSTACK},
               {"brstackdisasm", "'stoke annotate' prints instructions; " BY_BRSTACK},
               {"brstacksym", BY_BRSTACK},
               {"brstackoff", BY_BRSTACK},
               {"srccode", "-F +srcline prints the line; 'stoke annotate' its text"},
               {"metric", "'stoke stat' prints metrics"},
               {"tod", "-F time prints the time of the recording's clock"},
               {"dsoff", "-F dso,ip prints the module and the offset in it"},
               {"bpf-output", "perf script prints it"},
               {"machine_pid", "--pid and -F pid are of the host"},
               {"vcpu", "-F cpu is that of the host"}};

static uint32_t not_a_field(struct str name, struct error *err)
{
    char all[480];
    size_t used = 0;
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        if (!str_equal(name, str_of(refused[i].name)))
            continue;
        error_set(err, "the field '%.*s' of perf script is not printed", STR_ARG(name));
        error_hint(err, "%s", refused[i].instead);
        return 0;
    }
    for (size_t i = 0; i < FIELDS; i++)
        used += format_text(all + used, sizeof all - used, "%s%s", i ? ", " : "",
                            fields[i].name);
    error_set(err, "there is no field '%.*s'", STR_ARG(name));
    error_hint(err, "fields: %s", all);
    return 0;
}

static uint32_t field_named(struct str name, struct error *err)
{
    for (size_t i = 0; i < FIELDS; i++)
        if (str_equal(name, str_of(fields[i].name)))
            return fields[i].field;
    return not_a_field(name, err);
}

/* The types before the colon, as bits; all without one. */
static bool take_types(struct str *text, uint32_t *chosen, struct error *err)
{
    struct str whole = *text;
    *chosen = (1u << SCRIPT_TYPES) - 1;
    if (str_find(*text, ':') == text->len)
        return true;
    struct str name = str_cut(text, ':');
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        if (!str_equal(name, str_of(types[i].name)))
            continue;
        *chosen = 1u << types[i].type;
        return true;
    }
    error_set(err, "'%.*s': unknown type of events '%.*s'", STR_ARG(whole),
              STR_ARG(name));
    return error_hint(err, "types: hw, sw, trace, raw, break, other");
}

static uint32_t changed(uint32_t before, char sign, uint32_t field)
{
    return sign == '-' ? before & ~field : before | field;
}

bool script_fields_parse(const char *text, void *value, struct error *err)
{
    struct script_fields *f = value, next = *f;
    struct str rest = str_of(text);
    uint32_t of;
    bool fresh = false;
    if (!take_types(&rest, &of, err))
        return false;
    if (rest.len == 0 && of == (1u << SCRIPT_TYPES) - 1)
        return error_set(err, "the list of fields is empty");
    for (unsigned t = 0; t < SCRIPT_TYPES && rest.len == 0; t++)
        next.shown[t] = of >> t & 1 ? 0 : next.shown[t];
    while (rest.len) {
        struct str name = str_cut(&rest, ',');
        char sign =
            name.len && (name.ptr[0] == '+' || name.ptr[0] == '-') ? *name.ptr : 0;
        uint32_t field = field_named(str_skip(name, sign != 0), err);
        if (!field)
            return false;
        for (unsigned t = 0; t < SCRIPT_TYPES; t++) {
            if (!(of >> t & 1))
                continue;
            next.shown[t] = changed(sign || fresh ? next.shown[t] : 0, sign, field);
            next.chosen[t] = true;
        }
        fresh |= !sign;
    }
    *f = next;
    return true;
}

static unsigned type_of(const struct perf_event *e)
{
    return e->type < PERF_TYPE_KNOWN ? e->type : PERF_TYPE_KNOWN;
}

/* True if stacks of tracepoints are printed: perf prints them if one has a call
 * chain. */
static bool has_tracepoint_chain(const struct perf_data *d)
{
    for (size_t i = 0; i < d->event_count; i++)
        if (d->events[i].type == PERF_TYPE_TRACEPOINT &&
            d->events[i].sample_type & PERF_SAMPLE_CALLCHAIN)
            return true;
    return false;
}

uint32_t script_fields_of(const struct script_fields *f, const struct perf_data *d,
                          const struct perf_event *e, uint32_t *missing)
{
    unsigned type = type_of(e);
    uint32_t shown = f->shown[type], has = 0;
    if (type == PERF_TYPE_TRACEPOINT && !f->chosen[type] && has_tracepoint_chain(d))
        shown |= FIELDS_STACK;
    for (size_t i = 0; i < FIELDS; i++)
        if (!fields[i].recorded || e->sample_type & fields[i].recorded)
            has |= fields[i].field;
    *missing = f->chosen[type] ? shown & ~has : 0;
    return shown & has;
}
