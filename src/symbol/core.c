/* SPDX-License-Identifier: Apache-2.0 */
#include "symbol/core.h"
#include "base/array.h"

enum {
    NT_PRSTATUS = 1,
    NT_PRPSINFO = 3,
    NT_FILE = 0x46494c45,
    NT_SIGINFO = 0x53494749,
};

/* Offsets in struct elf_prstatus and elf_prpsinfo of 64-bit processes. */
enum { STATUS_SIGNAL = 12, STATUS_PID = 32, STATUS_REGISTERS = 112 };
enum { INFO_PID = 24, INFO_NAME = 40, NAME_SIZE = 16, INFO_ARGS = 56, ARGS_SIZE = 80 };

#define NONE 0xff

/* perf's numbers of the registers in struct user_regs_struct of x86-64. */
static const uint8_t x86_64_order[27] = {
    23, 22,   21, 20,   6, 1, 19,   18,   17,   16,   0,    2,    3,   4,
    5,  NONE, 8,  NONE, 9, 7, NONE, NONE, NONE, NONE, NONE, NONE, NONE};
enum { X86_64_SP = 7, X86_64_FS_BASE = 21, ARM64_SP = 31, ARM64_COUNT = 33 };

static void read_registers(const struct core *c, struct core_thread *t, struct bytes *b)
{
    size_t count = c->machine == ARCH_X86_64 ? 27 : ARM64_COUNT;
    for (size_t i = 0; i < count; i++) {
        uint64_t value = bytes_u64(b);
        size_t number = c->machine == ARCH_X86_64 ? x86_64_order[i] : i;
        if (c->machine == ARCH_X86_64 && i == X86_64_FS_BASE)
            t->thread_pointer = value;
        if (number == NONE)
            continue;
        t->values[number] = value;
        t->present |= (uint64_t)1 << number;
    }
    t->stack_pointer = t->values[c->machine == ARCH_X86_64 ? X86_64_SP : ARM64_SP];
}

static void add_thread(struct core *c, struct str note)
{
    struct core_thread t = {0};
    struct bytes b = elf_cursor(&c->elf, note);
    bytes_seek(&b, STATUS_SIGNAL);
    unsigned signal = bytes_u16(&b);
    bytes_seek(&b, STATUS_PID);
    t.tid = (int32_t)bytes_u32(&b);
    bytes_seek(&b, STATUS_REGISTERS);
    read_registers(c, &t, &b);
    if (b.failed || t.tid <= 0 || c->thread_count == CORE_THREADS_MAX) {
        c->rejected++;
        return;
    }
    if (c->thread_count == 0 && c->signal == 0)
        c->signal = signal;
    struct core_thread *added =
        ARRAY_APPEND(c->elf.arena, c->threads, c->thread_count, c->thread_cap);
    if (added)
        *added = t;
}

/* A string in a field of fixed size. */
static struct str field(struct str note, size_t offset, size_t size)
{
    struct str s = str_part(note, offset, size);
    const char *end = s.len ? memchr(s.ptr, 0, s.len) : NULL;
    return end ? str_head(s, (size_t)(end - s.ptr)) : s;
}

static void read_process(struct core *c, struct str note)
{
    struct bytes b = elf_cursor(&c->elf, note);
    bytes_seek(&b, INFO_PID);
    int32_t pid = (int32_t)bytes_u32(&b);
    if (b.failed || note.len < INFO_ARGS || pid <= 0) {
        c->rejected++;
        return;
    }
    c->pid = pid;
    c->name = field(note, INFO_NAME, NAME_SIZE);
    c->command = str_trim_right(field(note, INFO_ARGS, ARGS_SIZE));
}

/* Count, page size, the mappings in order of address, then their paths. */
static void read_files(struct core *c, struct str note)
{
    struct bytes b = elf_cursor(&c->elf, note), names = b;
    uint64_t count = bytes_u64(&b), page = bytes_u64(&b), last = 0;
    if (b.failed || count > CORE_FILES_MAX || count > bytes_left(&b) / 24 ||
        c->file_count) {
        c->rejected++;
        return;
    }
    bytes_seek(&names, 16 + count * 24);
    for (uint64_t i = 0; i < count; i++) {
        struct core_file f = {.start = bytes_u64(&b), .end = 0};
        f.end = bytes_u64(&b);
        uint64_t pages = bytes_u64(&b);
        f.path = bytes_string(&names);
        if (names.failed || f.start < last || f.end <= f.start ||
            __builtin_mul_overflow(pages, page, &f.offset)) {
            c->rejected++;
            continue;
        }
        last = f.end;
        struct core_file *added =
            ARRAY_APPEND(c->elf.arena, c->files, c->file_count, c->file_cap);
        if (added)
            *added = f;
    }
}

static void read_note(struct core *c, struct str owner, uint32_t type, struct str note)
{
    if (!str_equal(owner, STR("CORE")))
        return;
    if (type == NT_PRSTATUS)
        add_thread(c, note);
    else if (type == NT_PRPSINFO)
        read_process(c, note);
    else if (type == NT_FILE)
        read_files(c, note);
    else if (type == NT_SIGINFO && note.len >= 4) {
        struct bytes b = elf_cursor(&c->elf, note);
        c->signal = bytes_u32(&b);
    }
}

static void read_notes(struct core *c, struct str notes)
{
    struct bytes b = elf_cursor(&c->elf, notes);
    while (bytes_left(&b) >= 12) {
        uint64_t name_size = bytes_u32(&b), size = bytes_u32(&b);
        uint32_t type = bytes_u32(&b);
        struct str owner = field(bytes_take(&b, name_size), 0, (size_t)name_size);
        bytes_skip(&b, -name_size & 3);
        struct str note = bytes_take(&b, size);
        if (b.failed) {
            c->rejected++;
            return;
        }
        read_note(c, owner, type, note);
        uint64_t padding = -size & 3;
        bytes_skip(&b, padding < bytes_left(&b) ? padding : bytes_left(&b));
    }
}

/* Segments may overlap, so that notes of few bytes could be read many times: the sum of their
 * sizes is at most that of the file. */
static void read_segments(struct core *c)
{
    uint64_t left = c->elf.file.len;
    for (size_t i = 0; i < c->elf.segment_count; i++) {
        const struct elf_segment *s = &c->elf.segments[i];
        struct str part = str_part(c->elf.file, s->offset, s->file_size);
        if (s->offset > c->elf.file.len)
            part = STR("");
        if (s->file_size > part.len &&
            __builtin_add_overflow(c->missing, s->file_size - part.len, &c->missing))
            c->missing = UINT64_MAX;
        if (s->type == ELF_PT_NOTE && part.len <= left) {
            left -= part.len;
            read_notes(c, part);
        }
    }
}

bool core_init(struct core *c, struct str bytes, struct arena *arena, struct error *err)
{
    *c = (struct core){.name = STR(""), .command = STR("")};
    if (!elf_init(&c->elf, bytes, arena, err))
        return false;
    if (c->elf.type != ELF_CORE)
        return error_set(err, "it is an ELF file, but not a core file");
    c->machine = c->elf.machine == ELF_X86_64    ? ARCH_X86_64
                 : c->elf.machine == ELF_AARCH64 ? ARCH_ARM64
                                                 : ARCH_UNKNOWN;
    if (!c->elf.is_64 || c->elf.big_endian || c->machine == ARCH_UNKNOWN)
        return error_set(err, "core files of this machine are not supported");
    read_segments(c);
    return !arena->failed || error_memory(err);
}

const struct core_file *core_file_at(const struct core *c, uint64_t address)
{
    size_t low = 0, high = c->file_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (c->files[middle].end <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low < c->file_count && c->files[low].start <= address ? &c->files[low] : NULL;
}

int core_is_code(const struct core *c, uint64_t address)
{
    for (size_t i = 0; i < c->elf.segment_count; i++) {
        const struct elf_segment *s = &c->elf.segments[i];
        if (s->type == ELF_PT_LOAD && address >= s->address &&
            address - s->address < s->memory_size)
            return (s->flags & ELF_PF_X) != 0;
    }
    return -1;
}
