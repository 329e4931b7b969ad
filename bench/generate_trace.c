/* SPDX-License-Identifier: Apache-2.0 */
/* Writes an instruction trace for the benchmark to standard output, and the traced program
 * to a file: generate_trace KIND MEGABYTES PROGRAM
 *
 *   single   TracerV's binary format, a core that retires one instruction per cycle
 *   wide     the same, up to four per cycle
 *   text     TracerV's text
 *
 * The program has several thousand functions that call functions at higher addresses, with
 * loops, branches, calls by register and tail calls; about every fifth instruction is a jump.
 * Branches are random, from one seed: each run is identical. */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FUNCTIONS 3000
#define OPS_MOST 120
#define DEPTH_MOST 200
#define BASE 0x80000000u

enum kind { PLAIN, SHORT, BRANCH, LOOP, CALL, CALL_REGISTER, TAIL, RETURN };

struct op {
    enum kind kind;
    uint32_t address;
    uint32_t target; /* an op of the function, or a function */
};

struct function {
    struct op ops[OPS_MOST];
    uint32_t count;
};

static struct function functions[FUNCTIONS];
static uint8_t code[FUNCTIONS * OPS_MOST * 4];
static size_t code_size;
static uint64_t seed = 7;

static uint32_t random_below(uint32_t limit)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)((seed >> 32) * limit >> 32);
}

/* --- The program ------------------------------------------------------------------- */

static enum kind choose(uint32_t function, uint32_t i, uint32_t count)
{
    bool calls = function + 1 < FUNCTIONS;
    if (i + 1 == count)
        return function == 0 ? TAIL : RETURN;
    switch (random_below(60)) {
    case 0:
        return calls ? CALL : PLAIN;
    case 1:
        return calls && random_below(4) == 0 ? CALL_REGISTER : PLAIN;
    case 2:
        return calls && function && random_below(8) == 0 ? TAIL : PLAIN;
    case 3:
    case 4:
    case 5:
    case 6:
        return i > 4 ? LOOP : PLAIN;
    case 7:
    case 8:
    case 9:
    case 10:
        return i + 8 < count ? BRANCH : PLAIN;
    default:
        return random_below(3) ? PLAIN : SHORT;
    }
}

static uint32_t choose_target(uint32_t function, uint32_t i, enum kind kind)
{
    if (kind == LOOP)
        return i - 1 - random_below(i < 12 ? i : 12);
    if (kind == BRANCH)
        return i + 2 + random_below(6);
    if (kind == TAIL && function == 0)
        return 0; /* the program never ends */
    uint32_t behind = FUNCTIONS - function - 1, near = behind < 400 ? behind : 400;
    return function + 1 + random_below(near ? near : 1);
}

static void make_functions(void)
{
    uint32_t address = BASE;
    for (uint32_t f = 0; f < FUNCTIONS; f++) {
        functions[f].count = 24 + random_below(OPS_MOST - 24);
        for (uint32_t i = 0; i < functions[f].count; i++) {
            enum kind kind = choose(f, i, functions[f].count);
            functions[f].ops[i] = (struct op){kind, address, choose_target(f, i, kind)};
            address += kind == SHORT || kind == RETURN ? 2 : 4;
        }
    }
    code_size = address - BASE;
}

/* --- Machine code ------------------------------------------------------------------ */

static uint32_t bits(uint32_t x, unsigned low, unsigned count, unsigned to)
{
    return (x >> low & ((1u << count) - 1)) << to;
}

static uint32_t encode_branch(uint32_t by)
{
    return 0x00b50063 | bits(by, 12, 1, 31) | bits(by, 5, 6, 25) | bits(by, 1, 4, 8) |
           bits(by, 11, 1, 7);
}

static uint32_t encode_jump(uint32_t by, uint32_t link)
{
    return 0x6f | link << 7 | bits(by, 20, 1, 31) | bits(by, 1, 10, 21) |
           bits(by, 11, 1, 20) | bits(by, 12, 8, 12);
}

static uint32_t encode(const struct function *f, const struct op *op)
{
    bool inside = op->kind == BRANCH || op->kind == LOOP;
    uint32_t to =
        inside ? f->ops[op->target].address : functions[op->target].ops[0].address;
    switch (op->kind) {
    case PLAIN:
        return 0x00150513; /* addi a0, a0, 1 */
    case SHORT:
        return 0x0505; /* c.addi a0, 1 */
    case BRANCH:
    case LOOP:
        return encode_branch(to - op->address);
    case CALL:
        return encode_jump(to - op->address, 1);
    case TAIL:
        return encode_jump(to - op->address, 0);
    case CALL_REGISTER:
        return 0x000300e7; /* jalr ra, 0(t1) */
    case RETURN:
        return 0x8082; /* c.jr ra */
    }
    return 0;
}

static void put(uint8_t *at, uint64_t value, size_t size)
{
    for (size_t i = 0; i < size; i++)
        at[i] = (uint8_t)(value >> (i * 8));
}

static void make_code(void)
{
    for (uint32_t f = 0; f < FUNCTIONS; f++)
        for (uint32_t i = 0; i < functions[f].count; i++) {
            const struct op *op = &functions[f].ops[i];
            bool is_short = op->kind == SHORT || op->kind == RETURN;
            put(code + (op->address - BASE), encode(&functions[f], op), is_short ? 2 : 4);
        }
}

/* --- ELF file ---------------------------------------------------------------------- */

enum { HEAD = 64, PHDR = 56, SHDR = 64, SYMBOL = 24, CODE_AT = 4096, NAME = 16 };

static void put_section(uint8_t *at, uint32_t name, uint32_t type, uint64_t flags,
                        uint64_t address, uint64_t offset, uint64_t size, uint32_t link,
                        uint64_t entry)
{
    put(at, name, 4);
    put(at + 4, type, 4);
    put(at + 8, flags, 8);
    put(at + 16, address, 8);
    put(at + 24, offset, 8);
    put(at + 32, size, 8);
    put(at + 40, link, 4);
    put(at + 56, entry, 8);
}

static void put_head(uint8_t *file, uint64_t sections)
{
    static const uint8_t magic[] = {0x7f, 'E', 'L', 'F', 2, 1, 1};
    memcpy(file, magic, sizeof magic);
    put(file + 16, 2, 2);   /* executable */
    put(file + 18, 243, 2); /* RISC-V */
    put(file + 20, 1, 4);
    put(file + 24, BASE, 8);
    put(file + 32, HEAD, 8);
    put(file + 40, sections, 8);
    put(file + 52, HEAD, 2);
    put(file + 54, PHDR, 2);
    put(file + 56, 1, 2);
    put(file + 58, SHDR, 2);
    put(file + 60, 5, 2);
    put(file + 62, 4, 2);
    put(file + HEAD, 1, 4);     /* loaded */
    put(file + HEAD + 4, 5, 4); /* readable, executable */
    put(file + HEAD + 8, CODE_AT, 8);
    put(file + HEAD + 16, BASE, 8);
    put(file + HEAD + 24, BASE, 8);
    put(file + HEAD + 32, code_size, 8);
    put(file + HEAD + 40, code_size, 8);
    put(file + HEAD + 48, 4096, 8);
}

static bool write_program(const char *path)
{
    static const char names[] = "\0.text\0.symtab\0.strtab\0.shstrtab";
    size_t symbols = CODE_AT + ((code_size + 7) & ~(size_t)7);
    size_t strings = symbols + (FUNCTIONS + 1) * SYMBOL;
    size_t titles = strings + 1 + FUNCTIONS * NAME;
    size_t sections = (titles + sizeof names + 7) & ~(size_t)7,
           size = sections + 5 * SHDR;
    uint8_t *file = calloc(1, size);
    if (!file)
        return false;
    put_head(file, sections);
    memcpy(file + CODE_AT, code, code_size);
    for (uint32_t f = 0; f < FUNCTIONS; f++) {
        uint8_t *symbol = file + symbols + (f + 1) * SYMBOL;
        const struct op *ops = functions[f].ops, *last = &ops[functions[f].count - 1];
        put(symbol, 1 + f * NAME, 4);
        symbol[4] = 0x12; /* a global function */
        put(symbol + 6, 1, 2);
        put(symbol + 8, ops[0].address, 8);
        put(symbol + 16, last->address + (last->kind == RETURN ? 2 : 4) - ops[0].address,
            8);
        snprintf((char *)file + strings + 1 + f * NAME, NAME, "function%u", f % 10000);
    }
    memcpy(file + titles, names, sizeof names);
    uint8_t *section = file + sections + SHDR;
    put_section(section, 1, 1, 6, BASE, CODE_AT, code_size, 0, 0);
    put_section(section + SHDR, 7, 2, 0, 0, symbols, strings - symbols, 3, SYMBOL);
    put_section(section + 2 * SHDR, 15, 3, 0, 0, strings, titles - strings, 0, 0);
    put_section(section + 3 * SHDR, 23, 3, 0, 0, titles, sizeof names, 0, 0);
    FILE *out = fopen(path, "wb");
    bool ok = out && fwrite(file, 1, size, out) == size;
    ok = out && fclose(out) == 0 && ok;
    free(file);
    return ok;
}

/* --- The trace --------------------------------------------------------------------- */

struct writer {
    const char *kind;
    uint64_t cycle;
    uint64_t record[5]; /* of the wide form */
    size_t used;
    size_t bytes;
};

static void write_record(struct writer *w)
{
    if (w->used == 0)
        return;
    w->record[0] = w->cycle;
    w->bytes += fwrite(w->record, 1, sizeof w->record, stdout);
    memset(w->record, 0, sizeof w->record);
    w->used = 0;
}

static void write_instruction(struct writer *w, uint64_t pc)
{
    uint64_t single[2] = {w->cycle, pc | (uint64_t)1 << 63};
    if (w->kind[0] == 'w') {
        w->record[++w->used] = single[1];
        if (w->used < 4 && random_below(3))
            return;
        write_record(w);
    } else if (w->kind[0] == 's') {
        w->bytes += fwrite(single, 1, sizeof single, stdout);
    } else {
        w->bytes += (size_t)printf("Cycle: %016llu I0: %016llx\n",
                                   (unsigned long long)w->cycle, (unsigned long long)pc);
    }
    w->cycle += random_below(16) ? 1 : 1 + random_below(20);
}

struct input_location {
    uint32_t function, op;
};

/* Executes an instruction and finds the next one. False if the program returns. */
static bool advance(struct input_location *at, struct input_location *stack,
                    size_t *depth)
{
    const struct op *op = &functions[at->function].ops[at->op];
    struct input_location next = {at->function, at->op + 1};
    bool deep = *depth == DEPTH_MOST;
    if ((op->kind == BRANCH && random_below(2)) || (op->kind == LOOP && random_below(4)))
        next.op = op->target;
    else if (op->kind == TAIL)
        next = (struct input_location){op->target, 0};
    if ((op->kind == CALL || op->kind == CALL_REGISTER) && !deep) {
        stack[(*depth)++] = next;
        next = (struct input_location){op->target, 0};
    }
    if (op->kind == RETURN && *depth == 0)
        return false;
    *at = op->kind == RETURN ? stack[--*depth] : next;
    return true;
}

static void write_trace(const char *kind, size_t bytes)
{
    static struct input_location stack[DEPTH_MOST];
    struct writer w = {.kind = kind, .cycle = 1000};
    struct input_location at = {0, 0};
    size_t depth = 0;
    fputs("# Clock Domain: baseClock, Relative Frequency: 1/1 of Base Clock\n", stdout);
    while (w.bytes < bytes) {
        write_instruction(&w, functions[at.function].ops[at.op].address);
        if (!advance(&at, stack, &depth))
            break;
    }
    write_record(&w);
}

int main(int argc, char **argv)
{
    if (argc != 4 || !strchr("swt", argv[1][0])) {
        fprintf(stderr, "usage: generate_trace single|wide|text MEGABYTES PROGRAM\n");
        return 2;
    }
    make_functions();
    make_code();
    if (!write_program(argv[3]))
        return 1;
    write_trace(argv[1], strtoul(argv[2], NULL, 10) * 1000000);
    return fflush(stdout) == 0 ? 0 : 1;
}
