/* SPDX-License-Identifier: Apache-2.0 */
/* A function's instructions, as objdump of binutils prints them:
 *     1227:<TAB>mul    %rdx
 * Without objdump, only the addresses are known. */
#include "base/array.h"
#include "base/number.h"
#include "engine/annotate_parts.h"
#include "os/command.h"

#define DISASSEMBLY_MOST ((size_t)64 << 20)

static bool parse_line(struct str line, struct annotated_code *code)
{
    struct str address = str_trim(str_cut(&line, ':'));
    uint64_t value;
    if (line.len < 2 || line.ptr[0] != '\t' || !number_parse_hex(address, &value))
        return false;
    *code = (struct annotated_code){
        .address = value, .text = str_trim(line), .function = STR("")};
    return true;
}

/* Adds to each instruction the samples from its address up to the next instruction. */
static void share_samples(struct annotation *f)
{
    size_t at = 0;
    for (size_t i = 0; i < f->address_count && f->code_count; i++) {
        const struct annotated_address *a = &f->addresses[i];
        while (at + 1 < f->code_count && f->code[at + 1].address <= a->address)
            at++;
        f->code[at].samples.weight += a->samples.weight;
        f->code[at].samples.count += a->samples.count;
    }
}

static bool parse_code(struct str text, struct annotation *f, struct arena *arena)
{
    size_t cap = 0;
    text = arena_str(arena, text);
    while (text.len) {
        struct str line = str_cut(&text, '\n');
        if (!ARRAY_RESERVE(arena, f->code, cap, f->code_count + 1))
            return false;
        f->code_count += parse_line(line, &f->code[f->code_count]);
    }
    return true;
}

/* objdump reads the function from a file that has nothing else: it reads all symbols of a
 * file, which takes seconds for a large one. */
static bool run_objdump(const struct annotation *f, struct output *text,
                        struct error *err)
{
    const char *const argv[] = {"objdump", "--disassemble", "--no-show-raw-insn",
                                "/dev/stdin", NULL};
    const char *const styled[] = {"objdump", "--disassemble", "--no-show-raw-insn",
                                  "-M",      f->style,        "/dev/stdin",
                                  NULL};
    struct output image = OUTPUT_BUFFER;
    if (f->bytes.len == 0)
        return error_set(err, "%.*s", STR_ARG(f->no_code));
    annotation_write_image(f, &image);
    bool ok = (!image.failed || error_memory(err)) &&
              os_command_run(f->style ? styled : argv, output_contents(&image), text,
                             DISASSEMBLY_MOST, err);
    output_deinit(&image);
    return ok;
}

bool annotation_disassemble(struct annotation *f, struct arena *arena)
{
    struct error err = {.location = LOCATION_NONE};
    struct output text = OUTPUT_BUFFER;
    bool ok = run_objdump(f, &text, &err) &&
              (parse_code(output_contents(&text), f, arena) || error_memory(&err)) &&
              (f->code_count || error_set(&err, "objdump printed no instructions"));
    output_deinit(&text);
    if (!ok)
        f->no_code = arena_str(arena, str_of(err.message));
    share_samples(f);
    return ok;
}

/* "jne    1227 <main+0x27>", "mov    0x2e(%rip),%eax        # 4010 <sum>" */
bool annotated_target(struct str text, uint64_t *address, struct str *before,
                      struct str *said)
{
    size_t at = str_search(text, STR(" <"));
    if (at >= text.len || text.ptr[text.len - 1] != '>')
        return false;
    struct str front = str_head(text, at);
    size_t word = front.len;
    while (word && front.ptr[word - 1] != ' ' && front.ptr[word - 1] != '\t')
        word--;
    *before = str_head(front, word);
    *said = str_skip(str_head(text, text.len - 1), at + 2);
    return number_parse_hex(str_skip(front, word), address);
}
