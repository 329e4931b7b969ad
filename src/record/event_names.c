/* SPDX-License-Identifier: Apache-2.0 */
#include "base/format.h"
#include "base/number.h"
#include "perf/format.h"
#include "record/event_kind.h"

/* The kernel's events, each with all its names; the first is displayed. */
static const struct {
    const char *names;
    uint32_t type;
    uint64_t config;
} table[] = {
    {"cpu-clock", PERF_TYPE_SOFTWARE, PERF_SOFTWARE_CPU_CLOCK},
    {"task-clock", PERF_TYPE_SOFTWARE, PERF_SOFTWARE_TASK_CLOCK},
    {"cycles,cpu-cycles", PERF_TYPE_HARDWARE, PERF_HARDWARE_CYCLES},
    {"instructions", PERF_TYPE_HARDWARE, PERF_HARDWARE_INSTRUCTIONS},
    {"cache-references", PERF_TYPE_HARDWARE, PERF_HARDWARE_CACHE_REFERENCES},
    {"cache-misses", PERF_TYPE_HARDWARE, PERF_HARDWARE_CACHE_MISSES},
    {"branches,branch-instructions", PERF_TYPE_HARDWARE, PERF_HARDWARE_BRANCHES},
    {"branch-misses", PERF_TYPE_HARDWARE, PERF_HARDWARE_BRANCH_MISSES},
    {"bus-cycles", PERF_TYPE_HARDWARE, PERF_HARDWARE_BUS_CYCLES},
    {"stalled-cycles-frontend,idle-cycles-frontend", PERF_TYPE_HARDWARE,
     PERF_HARDWARE_STALLED_FRONTEND},
    {"stalled-cycles-backend,idle-cycles-backend", PERF_TYPE_HARDWARE,
     PERF_HARDWARE_STALLED_BACKEND},
    {"ref-cycles", PERF_TYPE_HARDWARE, PERF_HARDWARE_REF_CYCLES},
    {"page-faults,faults", PERF_TYPE_SOFTWARE, PERF_SOFTWARE_PAGE_FAULTS},
    {"minor-faults", PERF_TYPE_SOFTWARE, PERF_SOFTWARE_MINOR_FAULTS},
    {"major-faults", PERF_TYPE_SOFTWARE, PERF_SOFTWARE_MAJOR_FAULTS},
    {"context-switches,cs", PERF_TYPE_SOFTWARE, PERF_SOFTWARE_CONTEXT_SWITCHES},
    {"cpu-migrations,migrations", PERF_TYPE_SOFTWARE, PERF_SOFTWARE_CPU_MIGRATIONS},
    {"alignment-faults", PERF_TYPE_SOFTWARE, PERF_SOFTWARE_ALIGNMENT_FAULTS},
    {"emulation-faults", PERF_TYPE_SOFTWARE, PERF_SOFTWARE_EMULATION_FAULTS},
    {"cgroup-switches", PERF_TYPE_SOFTWARE, PERF_SOFTWARE_CGROUP_SWITCHES},
    {"bpf-output", PERF_TYPE_SOFTWARE, PERF_SOFTWARE_BPF_OUTPUT},
    {"dummy", PERF_TYPE_SOFTWARE, PERF_SOFTWARE_DUMMY},
};

#define COUNT(array) (sizeof(array) / sizeof *(array))

const char *record_event_name(size_t i)
{
    return i < COUNT(table) ? table[i].names : NULL;
}

static bool in_table(struct str name, struct record_event *e)
{
    for (size_t i = 0; i < COUNT(table); i++) {
        for (struct str names = str_of(table[i].names); names.len;) {
            if (!str_equal(str_cut(&names, ','), name))
                continue;
            e->type = table[i].type;
            e->config = table[i].config;
            return true;
        }
    }
    return false;
}

/* --- Caches ------------------------------------------------------------------------ */

/* By the kernel's numbers (perf_event.h, perf_hw_cache_id and the enums after it). */
static const struct {
    const char *names;
    unsigned ops; /* operations that it has: bits */
} caches[] = {
    {"L1-dcache,l1-d,l1d,L1-data", 7},
    {"L1-icache,l1-i,l1i,L1-instruction", 5},
    {"LLC,L2", 7},
    {"dTLB,d-tlb,Data-TLB", 7},
    {"iTLB,i-tlb,Instruction-TLB", 1},
    {"branch,branches,bpu,btb,bpc", 1},
    {"node", 7},
};

static const char *const ops[] = {
    "load,loads,read",
    "store,stores,write",
    "prefetch,prefetches,speculative-read,speculative-load",
};

static const char *const results[] = {"refs,reference,ops,access", "misses,miss"};

static char lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

/* Whether the text starts with the word, ignoring case, and ends there or continues with a '-'. */
static bool begins(struct str text, struct str word)
{
    if (text.len < word.len || (text.len > word.len && text.ptr[word.len] != '-'))
        return false;
    for (size_t i = 0; i < word.len; i++)
        if (lower(text.ptr[i]) != lower(word.ptr[i]))
            return false;
    return true;
}

/* Removes the longest matching word from *rest, and the '-' after it; returns its length, or 0. */
static size_t take_word(const char *words, struct str *rest)
{
    size_t longest = 0;
    for (struct str left = str_of(words); left.len;) {
        struct str word = str_cut(&left, ',');
        if (begins(*rest, word) && word.len > longest)
            longest = word.len;
    }
    if (longest)
        *rest = str_skip(*rest, longest + (rest->len > longest));
    return longest;
}

/* Removes one of several names from *rest; returns `count` if none matches. */
static size_t take_of(const char *const *words, size_t count, struct str *rest)
{
    for (size_t i = 0; i < count; i++)
        if (take_word(words[i], rest))
            return i;
    return count;
}

static bool of_cache(struct str name, struct record_event *e)
{
    struct str rest = name;
    size_t cache = 0;
    while (cache < COUNT(caches) && !take_word(caches[cache].names, &rest))
        cache++;
    if (cache == COUNT(caches))
        return false;
    size_t op = take_of(ops, COUNT(ops), &rest);
    size_t result = take_of(results, COUNT(results), &rest);
    if (op == COUNT(ops))
        op = take_of(ops, COUNT(ops), &rest); /* either may come first */
    op = op == COUNT(ops) ? 0 : op;
    result = result == COUNT(results) ? 0 : result;
    if (rest.len || !(caches[cache].ops >> op & 1))
        return false;
    e->type = PERF_TYPE_HW_CACHE;
    e->config = cache | op << 8 | result << 16;
    return true;
}

struct str event_cache_names(char *room, size_t size)
{
    size_t used = 0;
    for (size_t cache = 0; cache < COUNT(caches); cache++)
        for (size_t op = 0; op < COUNT(ops) && size - used > 1; op++) {
            if (!(caches[cache].ops >> op & 1))
                continue;
            struct str kind = str_of(caches[cache].names), what = str_of(ops[op]);
            struct str one = str_cut(&what, ','), many = str_cut(&what, ',');
            kind = str_cut(&kind, ',');
            used += format_text(room + used, size - used, "%s%.*s-%.*s,%.*s-%.*s-misses",
                                used ? "," : "", STR_ARG(kind), STR_ARG(many),
                                STR_ARG(kind), STR_ARG(one));
        }
    return (struct str){room, used};
}

/* --- All of them ------------------------------------------------------------------- */

/* "r1a8": a number from the processor's manual. */
static bool of_number(struct str name, struct record_event *e)
{
    if (name.len < 2 || name.ptr[0] != 'r' ||
        !number_parse_hex(str_skip(name, 1), &e->config))
        return false;
    e->type = PERF_TYPE_RAW;
    return true;
}

bool event_of_name(struct str name, struct record_event *e)
{
    return in_table(name, e) || of_cache(name, e) || of_number(name, e);
}
