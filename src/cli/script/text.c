/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/script/text.h"
#include "base/number.h"

static void write_padded(struct output *o, struct str s, size_t width)
{
    for (size_t i = s.len; i < width; i++)
        output_char(o, ' ');
    output_str(o, s);
}

static void write_hex(struct output *o, uint64_t v, size_t width)
{
    char text[NUMBER_TEXT_MAX];
    write_padded(o, (struct str){text, number_write_hex(v, text)}, width);
}

void script_write_hex_marked(struct output *o, uint64_t v)
{
    if (v)
        output_text(o, "0x");
    write_hex(o, v, 0);
}

/* --- Heads ------------------------------------------------------------------------- */

/* What the record's own bits say: a map of data, an exec, a switch away from a thread. */
static const char *letters_of_record(const struct script_head *h)
{
    bool is_map = h->record == PERF_MMAP || h->record == PERF_MMAP2;
    bool is_switch = h->record == PERF_SWITCH || h->record == PERF_SWITCH_CPU_WIDE;
    if (is_map && h->misc & PERF_MISC_MMAP_DATA)
        return "M";
    if (h->record == PERF_COMM && h->misc & PERF_MISC_COMM_EXEC)
        return "E";
    if (is_switch && h->misc & PERF_MISC_SWITCH_OUT)
        return h->misc & PERF_MISC_SWITCH_OUT_PREEMPT ? "Sp" : "S";
    return "";
}

/* The mode of the processor as one letter and those of a record, in six columns. */
static void write_misc(struct output *o, const struct script_head *h)
{
    static const char modes[] = " KUHGg  ";
    char mode = modes[h->misc & PERF_CPU_MODE];
    const char *more = letters_of_record(h);
    size_t written = strlen(more) + (mode != ' ');
    if (mode != ' ')
        output_char(o, mode);
    output_text(o, more);
    for (; written < 6; written++)
        output_char(o, ' ');
}

/* The time to print, ns. Times of several CPUs can be a little out of order. */
static uint64_t shown_time(struct script_clock *clock, uint64_t time)
{
    uint64_t since = clock->started ? clock->since : time;
    if (!clock->relative && !clock->delta)
        return time;
    if (clock->delta || !clock->started)
        clock->since = time;
    clock->started = true;
    return time > since ? time - since : 0;
}

void script_write_time(struct output *o, struct script_clock *clock, uint64_t time)
{
    char text[40];
    uint64_t ns = time == TIME_NONE ? 0 : shown_time(clock, time);
    size_t n =
        format_text(text, sizeof text, clock->ns ? "%llu.%09llu" : "%llu.%06llu",
                    (unsigned long long)(ns / 1000000000),
                    (unsigned long long)(ns % 1000000000 / (clock->ns ? 1 : 1000)));
    write_padded(o, (struct str){text, n}, clock->ns ? 15 : 12);
    output_text(o, ": ");
}

void script_write_head(struct output *o, const struct script_head *h)
{
    uint32_t fields = h->fields;
    if (fields & FIELD_COMM) {
        write_padded(o, h->comm, h->has_chain && fields & FIELD_IP ? 0 : 16);
        output_char(o, ' ');
    }
    if (fields & FIELD_PID && fields & FIELD_TID)
        output_format(o, "%5d/%-5d ", (int)h->pid, (int)h->tid);
    else if (fields & (FIELD_PID | FIELD_TID))
        output_format(o, "%5d ", (int)(fields & FIELD_PID ? h->pid : h->tid));
    if (fields & FIELD_CPU)
        output_format(o, "[%03d] ", (int)h->cpu);
    if (fields & FIELD_MISC)
        write_misc(o, h);
    if (h->time_at)
        *h->time_at = o->used;
    else if (fields & FIELD_TIME)
        script_write_time(o, h->clock, h->time);
}

void script_write_event(struct output *o, const struct script_head *h)
{
    if (!(h->fields & FIELD_EVENT))
        return;
    write_padded(o, h->event, h->event_width);
    output_text(o, ": ");
}

/* --- Frames ------------------------------------------------------------------------ */

/* "file.c:12", or "libc.so.6[27249]" if it is unknown. */
static void write_location(struct output *o, const struct script_frame *f)
{
    if (f->module.len == 0 && f->file.len == 0)
        return;
    output_text(o, "\n  ");
    if (f->file.len) {
        output_str(o, f->file);
        output_format(o, ":%u", f->line);
        return;
    }
    output_str(o, str_basename(f->module));
    output_char(o, '[');
    write_hex(o, f->in_module, 0);
    output_char(o, ']');
}

void script_write_frame(struct output *o, uint32_t fields, bool in_chain,
                        const struct script_frame *f)
{
    if (in_chain)
        output_char(o, '\t');
    if (fields & FIELD_IP)
        write_hex(o, f->address, 16);
    if (fields & FIELD_SYM) {
        output_char(o, ' ');
        output_str(o, f->name.len ? f->name : STR("[unknown]"));
        if (fields & FIELD_SYMOFF && f->name.len && f->has_offset) {
            output_text(o, "+0x");
            write_hex(o, f->offset, 0);
        }
    }
    if (f->inlined) {
        output_text(o, " (inlined)");
    } else if (fields & FIELD_DSO) {
        output_text(o, " (");
        output_str(o, f->module.len ? f->module : STR("[unknown]"));
        output_char(o, ')');
    }
    if (fields & FIELD_SRCLINE)
        write_location(o, f);
    if (in_chain)
        output_char(o, '\n');
}

/* --- Branches ---------------------------------------------------------------------- */

void script_write_branches(struct output *o, struct perf_words branches)
{
    for (size_t i = 0; i < perf_branch_count(branches); i++) {
        struct perf_branch b = perf_branch_at(branches, i);
        output_text(o, " 0x");
        write_hex(o, b.from, 0);
        output_text(o, "/0x");
        write_hex(o, b.to, 0);
        output_format(o, "/%c/%c/%c/%u/%s ",
                      b.missed      ? 'M'
                      : b.predicted ? 'P'
                                    : '-',
                      b.in_transaction ? 'X' : '-', b.aborted ? 'A' : '-', b.cycles,
                      b.type);
    }
}

/* --- Accesses to memory ------------------------------------------------------------- */

/* A part of union perf_mem_data_src of the kernel's perf_event.h. */
static unsigned source_bits(uint64_t source, unsigned at, unsigned count)
{
    return (unsigned)(source >> at & ((1u << count) - 1));
}

/* The names of the bits that are set, with "or" between them; `*written` counts them. */
static void write_bits(struct output *o, unsigned bits, const char *const *names,
                       size_t count, unsigned *written)
{
    for (size_t i = 0; i < count; i++) {
        if (!(bits >> i & 1) || !names[i])
            continue;
        output_text(o, (*written)++ ? " or " : "");
        output_text(o, names[i]);
    }
}

static void write_level(struct output *o, uint64_t source)
{
    static const char *const levels[] = {"N/A",
                                         NULL,
                                         NULL,
                                         "L1",
                                         "LFB/MAB",
                                         "L2",
                                         "L3",
                                         "Local RAM",
                                         "Remote RAM (1 hop)",
                                         "Remote RAM (2 hops)",
                                         "Remote Cache (1 hop)",
                                         "Remote Cache (2 hops)",
                                         "I/O",
                                         "Uncached"};
    static const char *const hops[] = {"", "core, same node", "node, same socket",
                                       "socket, same board", "board"};
    static const char *const numbers[16] = {
        [9] = "CXL",  [10] = "I/O",  [11] = "Any cache", [12] = "LFB/MAB",
        [13] = "RAM", [14] = "PMEM", [15] = "N/A"};
    unsigned level = source_bits(source, 5, 14), number = source_bits(source, 33, 4);
    unsigned hop = source_bits(source, 43, 3), written = 0;
    bool remote = source_bits(source, 37, 1);
    size_t before = o->used;
    output_text(o, remote ? "Remote " : "");
    if (hop)
        output_format(o, "%s ", hop < sizeof hops / sizeof *hops ? hops[hop] : "");
    else
        write_bits(o, level, levels, sizeof levels / sizeof *levels, &written);
    if (number) {
        output_text(o, written++ ? " or " : "");
        if (numbers[number])
            output_text(o, numbers[number]);
        else
            output_format(o, "L%u", number);
    }
    output_text(o, o->used == before ? "N/A" : "");
    output_text(o, level & 2 ? " hit" : "");
    output_text(o, level & 4 ? " miss" : "");
}

static void write_snoop(struct output *o, uint64_t source)
{
    static const char *const names[] = {"N/A", "None", "Hit", "Miss", "HitM"};
    static const char *const more[] = {"Fwd", "Peer"};
    unsigned written = 0;
    write_bits(o, source_bits(source, 19, 5), names, 5, &written);
    write_bits(o, source_bits(source, 38, 2), more, 2, &written);
    output_text(o, written ? "" : "N/A");
}

static void write_tlb(struct output *o, uint64_t source)
{
    static const char *const names[] = {"N/A", NULL, NULL, "L1", "L2", "Walker", "Fault"};
    unsigned bits = source_bits(source, 26, 7), written = 0;
    write_bits(o, bits, names, sizeof names / sizeof *names, &written);
    output_text(o, written ? "" : "N/A");
    output_text(o, bits & 2 ? " hit" : "");
    output_text(o, bits & 4 ? " miss" : "");
}

static const char *operation(uint64_t source)
{
    static const char *const names[] = {"N/A", "LOAD", "STORE", "PFETCH", "EXEC"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (source >> i & 1)
            return names[i];
    return "No";
}

void script_write_data_source(struct output *o, uint64_t source, size_t *width)
{
    size_t before = o->used;
    unsigned lock = source_bits(source, 24, 2), blocked = source_bits(source, 40, 3);
    write_hex(o, source, 16);
    output_format(o, " |OP %s|LVL ", operation(source));
    write_level(o, source);
    output_text(o, "|SNP ");
    write_snoop(o, source);
    output_text(o, "|TLB ");
    write_tlb(o, source);
    output_format(o, "|LCK %s|BLK ", lock & 1 ? "N/A" : lock & 2 ? "Yes" : "No");
    if (!blocked || blocked & 1)
        output_text(o, " N/A");
    else
        output_format(o, "%s%s", blocked & 2 ? " Data" : "", blocked & 4 ? " Addr" : "");
    size_t length = o->used - before;
    if (length > *width)
        *width = length;
    for (; length < *width; length++)
        output_char(o, ' ');
}

void script_write_page_size(struct output *o, uint64_t size)
{
    static const char units[] = "BKMG";
    unsigned unit = 0;
    if (size == 0) {
        output_text(o, " N/A");
        return;
    }
    for (; size / 1024 > 1 && unit < 3; unit++)
        size /= 1024;
    output_format(o, " %llu%c", (unsigned long long)size, units[unit]);
}

/* --- Registers --------------------------------------------------------------------- */

const char *script_register_name(enum architecture machine, unsigned number, char *text,
                                 size_t size)
{
    static const char *const names[] = {
        "AX", "BX", "CX", "DX", "SI", "DI", "BP",  "SP",  "IP",  "FLAGS", "CS",  "SS",
        "DS", "ES", "FS", "GS", "R8", "R9", "R10", "R11", "R12", "R13",   "R14", "R15"};
    if (machine == ARCH_X86_64 && number < sizeof names / sizeof *names)
        return names[number];
    format_text(text, size, "x%u", number);
    return text;
}

void script_write_registers(struct output *o, enum architecture machine,
                            const struct perf_registers *registers)
{
    char text[16];
    size_t at = 0;
    output_format(o, " ABI:%llu ", (unsigned long long)registers->abi);
    for (unsigned i = 0; i < 64; i++) {
        if (!(registers->mask >> i & 1) || at >= perf_word_count(registers->values))
            continue;
        output_format(o, "%5s:0x", script_register_name(machine, i, text, sizeof text));
        write_hex(o, perf_word(registers->values, at++), 0);
        output_char(o, ' ');
    }
}

/* --- Records that are not samples -------------------------------------------------- */

static void write_map(struct output *o, const struct perf_record *r,
                      const struct perf_mmap *m)
{
    const char *name = r->type == PERF_MMAP ? "MMAP" : "MMAP2";
    bool data =
        r->misc &
        PERF_MISC_SWITCH_OUT; /* for maps, this bit is PERF_RECORD_MISC_MMAP_DATA */
    output_format(o, "PERF_RECORD_%s %d/%d: [", name, (int)m->pid, (int)m->tid);
    script_write_hex_marked(o, m->start);
    output_char(o, '(');
    script_write_hex_marked(o, m->size);
    output_text(o, ") @ ");
    script_write_hex_marked(o, m->offset);
    if (r->type == PERF_MMAP) {
        output_format(o, "]: %c ", data ? 'r' : 'x');
        output_str(o, m->path);
        output_char(o, '\n');
        return;
    }
    if (m->build_id.len) {
        output_text(o, " <");
        for (size_t i = 0; i < m->build_id.len; i++)
            output_format(o, "%02x", (unsigned char)m->build_id.ptr[i]);
        output_char(o, '>');
    } else {
        output_format(o, " %02x:%02x %llu %llu", m->major, m->minor,
                      (unsigned long long)m->inode, (unsigned long long)m->generation);
    }
    output_format(o, "]: %c%c%c%c ", m->protection & 1 ? 'r' : '-',
                  m->protection & 2 ? 'w' : '-', m->protection & 4 ? 'x' : '-',
                  m->flags & 1 ? 's' : 'p');
    output_str(o, m->path);
    output_char(o, '\n');
}

static void write_task(struct output *o, const struct perf_record *r,
                       const struct perf_task *t)
{
    if (r->type == PERF_COMM) {
        output_text(o, r->misc & PERF_MISC_COMM_EXEC ? "PERF_RECORD_COMM exec: "
                                                     : "PERF_RECORD_COMM: ");
        output_str(o, t->name);
        output_format(o, ":%d/%d\n", (int)t->pid, (int)t->tid);
        return;
    }
    output_format(o, "PERF_RECORD_%s(%d:%d):(%d:%d)\n",
                  r->type == PERF_FORK ? "FORK" : "EXIT", (int)t->pid, (int)t->tid,
                  (int)t->parent_pid, (int)t->parent_tid);
}

static void write_switch(struct output *o, const struct perf_data *d,
                         const struct perf_record *r)
{
    bool out = r->misc & PERF_MISC_SWITCH_OUT;
    const char *how = !out                                        ? "IN         "
                      : !(r->misc & PERF_MISC_SWITCH_OUT_PREEMPT) ? "OUT        "
                                                                  : "OUT preempt";
    if (r->type == PERF_SWITCH) {
        output_format(o, "PERF_RECORD_SWITCH %s\n", how);
        return;
    }
    struct bytes b = perf_body(d, r);
    int pid = (int)bytes_u32(&b), tid = (int)bytes_u32(&b);
    output_format(o, "PERF_RECORD_SWITCH_CPU_WIDE %s  %s pid/tid: %5d/%-5d\n", how,
                  out ? "next" : "prev", pid, tid);
}

#define NAMESPACES_MOST 64

static bool write_namespaces(struct output *o, const struct perf_data *d,
                             const struct perf_record *r)
{
    static const char *const names[] = {"net",  "uts", "ipc",   "pid",
                                        "user", "mnt", "cgroup"};
    struct bytes b = perf_body(d, r);
    int pid = (int)bytes_u32(&b), tid = (int)bytes_u32(&b);
    uint64_t count = bytes_u64(&b);
    if (b.failed || count > NAMESPACES_MOST || count > bytes_left(&b) / 16)
        return false;
    output_format(o, "PERF_RECORD_NAMESPACES %d/%d - nr_namespaces: %u\n\t\t[", pid, tid,
                  (unsigned)count);
    for (unsigned i = 0; i < count; i++) {
        uint64_t device = bytes_u64(&b), inode = bytes_u64(&b);
        output_format(o, "%s%u/%s: %llu/", i && i % 4 == 0 ? "\n\t\t " : "", i,
                      i < sizeof names / sizeof *names ? names[i] : "unknown",
                      (unsigned long long)device);
        script_write_hex_marked(o, inode);
        output_text(o, i + 1 < count ? ", " : "");
    }
    output_text(o, "]\n");
    return true;
}

static bool write_cgroup(struct output *o, const struct perf_data *d,
                         const struct perf_record *r)
{
    uint64_t id;
    struct str path;
    if (!perf_cgroup_of(d, r, &id, &path))
        return false;
    output_format(o, "PERF_RECORD_CGROUP cgroup: %llu ", (unsigned long long)id);
    output_str(o, path);
    output_char(o, '\n');
    return true;
}

bool script_write_record(struct output *o, const struct perf_data *d,
                         const struct perf_record *r)
{
    struct perf_mmap map;
    struct perf_task task;
    uint64_t lost;
    switch (r->type) {
    case PERF_MMAP:
    case PERF_MMAP2:
        if (!perf_map_of(d, r, &map))
            return false;
        write_map(o, r, &map);
        return true;
    case PERF_COMM:
    case PERF_FORK:
    case PERF_EXIT:
        if (!perf_task_of(d, r, &task))
            return false;
        write_task(o, r, &task);
        return true;
    case PERF_LOST:
    case PERF_LOST_SAMPLES:
        if (!perf_lost_of(d, r, &lost))
            return false;
        output_format(o, "PERF_RECORD_%s lost %llu\n",
                      r->type == PERF_LOST ? "LOST" : "LOST_SAMPLES",
                      (unsigned long long)lost);
        return true;
    case PERF_SWITCH:
    case PERF_SWITCH_CPU_WIDE:
        write_switch(o, d, r);
        return true;
    case PERF_NAMESPACES:
        return write_namespaces(o, d, r);
    case PERF_CGROUP:
        return write_cgroup(o, d, r);
    default:
        return false;
    }
}
