/* SPDX-License-Identifier: Apache-2.0 */
/* A function's instructions, as objdump of binutils prints them:
 *     1227:<TAB>mul    %rdx
 * Whoever has no objdump gets the addresses. */
#include "base/number.h"
#include "cli/annotate.h"
#include "os/process.h"

#define DISASSEMBLY_MOST ((size_t)64 << 20)

static bool parse_line(struct str line, struct annotated_code *code)
{
    struct str address = str_trim(str_cut(&line, ':'));
    uint64_t value;
    if (line.len < 2 || line.ptr[0] != '\t' || !number_parse_hex(address, &value))
        return false;
    *code = (struct annotated_code){.address = value, .text = str_trim(line)};
    return true;
}

/* Gives each instruction the samples from its address up to the next one's. */
static void share_samples(const struct annotation *f, struct annotated_code *code,
                          size_t count)
{
    size_t at = 0;
    for (size_t i = 0; i < f->address_count && count; i++) {
        const struct annotated_address *a = &f->addresses[i];
        while (at + 1 < count && code[at + 1].address <= a->address)
            at++;
        code[at].samples.weight += a->samples.weight;
        code[at].samples.count += a->samples.count;
    }
}

static bool parse_code(struct str text, struct annotated_code **code, size_t *count,
                       struct arena *arena)
{
    size_t cap = 0;
    *code = NULL;
    *count = 0;
    text = arena_str(arena, text);
    while (text.len) {
        struct str line = str_cut(&text, '\n');
        struct annotated_code *items =
            arena_grow(arena, *code, &cap, *count + 1, sizeof *items);
        if (!items)
            return false;
        *code = items;
        *count += parse_line(line, &items[*count]);
    }
    return true;
}

bool annotation_disassemble(const struct annotation *f, struct annotated_code **code,
                            size_t *count, struct arena *arena, struct error *err)
{
    char from[40], to[40], path[4096];
    if (f->is_jit)
        return error_set(err, "it is code that a JIT made, and in no file");
    if (f->path.len == 0 || f->path.len >= sizeof path)
        return error_set(err, "the file with the code is not on this machine");
    format_text(from, sizeof from, "--start-address=0x%llx", (unsigned long long)f->low);
    format_text(to, sizeof to, "--stop-address=0x%llx", (unsigned long long)f->high);
    format_text(path, sizeof path, "%.*s", STR_ARG(f->path));
    const char *const argv[] = {
        "objdump", "--disassemble", "--no-show-raw-insn", from, to, "--", path, NULL};
    struct output text = OUTPUT_KEEP;
    bool ok = os_process_run(argv, &text, DISASSEMBLY_MOST, err);
    ok = ok && (parse_code(output_kept(&text), code, count, arena) || error_memory(err));
    output_deinit(&text);
    if (!ok)
        return false;
    share_samples(f, *code, *count);
    return *count || error_set(err, "objdump prints no instructions of it");
}
