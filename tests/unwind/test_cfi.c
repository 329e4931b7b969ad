/* SPDX-License-Identifier: Apache-2.0 */
#include "section.h"
#include "unit.h"

static struct cfi_program program;

/* Starts with the rows of the section's first FDE. */
static void begin_first(const struct cfi_section *section)
{
    struct cfi_reader reader = cfi_reader_of(section);
    struct cfi_fde fde;
    assert_true(cfi_next(&reader, &fde));
    cfi_program_init(&program, section);
    cfi_rows_begin(&program, &fde);
}

static void assert_row(uint64_t start, uint64_t end, uint64_t cfa_register,
                       int64_t offset)
{
    assert_true(cfi_rows_next(&program));
    assert_int_equal(program.row.start, start);
    assert_int_equal(program.row.end, end);
    assert_int_equal(program.row.cfa, CFI_CFA_REGISTER);
    assert_int_equal(program.row.cfa_register, cfa_register);
    assert_int_equal(program.row.cfa_value, offset);
}

static void rows_of_a_prologue(void **state)
{
    struct maker m = {.used = 0};
    (void)state;
    make_x86_64_cie(&m);
    /* push %rbp; mov %rsp,%rbp; ...; leave */
    make_fde(&m, 0x1000, 0x40,
             STR("\x41\x0e\x10\x86\x02\x43\x0d\x06\x02\x3a\x0c\x07\x08\x00"));
    struct cfi_section section = made_section(&m, ARCH_X86_64);
    begin_first(&section);
    assert_row(0x1000, 0x1001, 7, 8);
    assert_int_equal(program.row.how[16], CFI_OFFSET);
    assert_int_equal(program.row.value[16], -8);
    assert_int_equal(program.row.how[6], CFI_UNSPECIFIED);
    assert_row(0x1001, 0x1004, 7, 16);
    assert_int_equal(program.row.how[6], CFI_OFFSET);
    assert_int_equal(program.row.value[6], -16);
    assert_false(cfi_is_popped(&program, 6));
    assert_row(0x1004, 0x103e, 6, 16);
    assert_row(0x103e, 0x1040, 7, 8);
    assert_true(cfi_is_popped(&program, 6)); /* although the rule still exists */
    assert_false(cfi_rows_next(&program));
    assert_false(program.broken);
}

/* A leaf function may save registers below the stack pointer. */
static void the_red_zone_is_not_popped(void **state)
{
    struct maker m = {.used = 0};
    (void)state;
    make_x86_64_cie(&m);
    make_fde(&m, 0x1000, 0x40, STR("\x44\x86\x02\x00"));
    struct cfi_section section = made_section(&m, ARCH_X86_64);
    begin_first(&section);
    assert_row(0x1000, 0x1004, 7, 8);
    assert_row(0x1004, 0x1040, 7, 8);
    assert_int_equal(program.row.how[6], CFI_OFFSET);
    assert_false(cfi_is_popped(&program, 6));
}

static void states_are_remembered(void **state)
{
    struct maker m = {.used = 0};
    (void)state;
    make_x86_64_cie(&m);
    make_fde(&m, 0x1000, 0x40,
             STR("\x41\x0e\x10\x83\x02\x44\x0a\x0e\x08\xc3\x41\x0b\x42\xc3\x0e\x18"));
    struct cfi_section section = made_section(&m, ARCH_X86_64);
    begin_first(&section);
    assert_row(0x1000, 0x1001, 7, 8);
    assert_row(0x1001, 0x1005, 7, 16);
    assert_row(0x1005, 0x1006, 7, 8);
    assert_int_equal(program.row.how[3], CFI_UNSPECIFIED);
    assert_row(0x1006, 0x1008, 7, 16);
    assert_int_equal(program.row.how[3], CFI_OFFSET);
    assert_row(0x1008, 0x1040, 7, 24);
    assert_int_equal(program.row.how[3], CFI_UNSPECIFIED);
}

static void every_kind_of_rule(void **state)
{
    struct maker m = {.used = 0};
    (void)state;
    make_x86_64_cie(&m);
    make_fde(&m, 0x1000, 0x40,
             STR("\x07\x00"             /* rax undefined */
                 "\x08\x01"             /* rdx the same */
                 "\x09\x02\x03"         /* rcx in rbx */
                 "\x14\x04\x02"         /* rsi is CFA-16 */
                 "\x15\x05\x7e"         /* rdi is CFA+16 */
                 "\x10\x06\x02\x77\x08" /* rbp at rsp+8 */
                 "\x16\x08\x02\x77\x10" /* r8 is rsp+16 */
                 "\x05\x09\x03"         /* r9 at CFA-24 */
                 "\x11\x0a\x7d"         /* r10 at CFA+24 */
                 "\x2f\x0b\x04"         /* r11 at CFA+32 */
                 "\x05\x7f\x03"         /* an ignored register */
                 "\x2e\x10"             /* the size of arguments */
                 "\x0f\x03\x77\x08\x06" /* CFA is *(rsp+8) */
                 ));
    struct cfi_section section = made_section(&m, ARCH_X86_64);
    begin_first(&section);
    assert_true(cfi_rows_next(&program));
    const struct cfi_row *row = &program.row;
    static const uint8_t how[] = {CFI_UNDEFINED,   CFI_SAME,         CFI_REGISTER,
                                  CFI_UNSPECIFIED, CFI_VALUE_OFFSET, CFI_VALUE_OFFSET,
                                  CFI_EXPRESSION,  CFI_UNSPECIFIED,  CFI_VALUE_EXPRESSION,
                                  CFI_OFFSET,      CFI_OFFSET,       CFI_OFFSET};
    for (size_t i = 0; i < sizeof how; i++)
        assert_int_equal(row->how[i], how[i]);
    assert_int_equal(row->value[2], 3);
    assert_int_equal(row->value[4], -16);
    assert_int_equal(row->value[5], 16);
    assert_int_equal(row->value[9], -24);
    assert_int_equal(row->value[10], 24);
    assert_int_equal(row->value[11], 32);
    assert_true(str_equal(cfi_expression(&section, row->value[6]), STR("\x77\x08")));
    assert_int_equal(row->cfa, CFI_CFA_EXPRESSION);
    assert_true(str_equal(cfi_expression(&section, row->cfa_value), STR("\x77\x08\x06")));
    assert_int_equal(row->end, 0x1040);
}

static void rows_before_an_invalid_operation_are_valid(void **state)
{
    struct maker m = {.used = 0};
    (void)state;
    make_x86_64_cie(&m);
    make_fde(&m, 0x1000, 0x40, STR("\x41\x0e\x10\x44\x3e"));
    struct cfi_section section = made_section(&m, ARCH_X86_64);
    begin_first(&section);
    assert_row(0x1000, 0x1001, 7, 8);
    assert_row(0x1001, 0x1005, 7, 16);
    assert_false(cfi_rows_next(&program));
    assert_true(program.broken);
    m = (struct maker){.used = 0};
    make_x86_64_cie(&m);
    make_fde(&m, 0x1000, 0x40, STR("\x0b")); /* nothing was remembered */
    begin_first(&section);
    assert_false(cfi_rows_next(&program));
    assert_true(program.broken);
}

static void remembered_rows_are_limited(void **state)
{
    struct maker m = {.used = 0};
    char many[CFI_REMEMBERED_MAX + 2];
    (void)state;
    memset(many, 0x0a, sizeof many);
    many[sizeof many - 1] = 0x41;
    make_x86_64_cie(&m);
    make_fde(&m, 0x1000, 0x40, (struct str){many + 1, sizeof many - 1});
    struct cfi_section section = made_section(&m, ARCH_X86_64);
    begin_first(&section);
    assert_row(0x1000, 0x1001, 7, 8);
    m = (struct maker){.used = 0};
    make_x86_64_cie(&m);
    make_fde(&m, 0x1000, 0x40, (struct str){many, sizeof many});
    section = made_section(&m, ARCH_X86_64);
    begin_first(&section);
    assert_false(cfi_rows_next(&program));
}

static void signed_return_addresses(void **state)
{
    struct maker m = {.used = 0};
    struct cfi_fde fde;
    (void)state;
    make_cie(&m, "zRBS", 4, 0x78, 30, (struct str){"\x0c\x1f\x00", 3});
    make_fde(&m, 0x1000, 0x40, STR("\x41\x2d\x41\x0e\x10\x9d\x02\x9e\x01\x4a\x2d"));
    struct cfi_section section = made_section(&m, ARCH_ARM64);
    struct cfi_reader reader = cfi_reader_of(&section);
    assert_true(cfi_next(&reader, &fde));
    assert_true(fde.cie.signs_with_b && fde.cie.is_signal);
    begin_first(&section);
    assert_row(0x1000, 0x1004, 31, 0);
    assert_false(program.row.return_signed);
    assert_row(0x1004, 0x1008, 31, 0);
    assert_true(program.row.return_signed);
    assert_row(0x1008, 0x1030, 31, 16);
    assert_int_equal(program.row.value[29], -16);
    assert_int_equal(program.row.value[30], -8);
    assert_row(0x1030, 0x1040, 31, 16);
    assert_false(program.row.return_signed);
}

/* --- Entries ------------------------------------------------------------------------ */

static void debug_frame_of_version_4_and_64_bits(void **state)
{
    static const char bytes[] =
        "\xff\xff\xff\xff\x1c\0\0\0\0\0\0\0"
        "\xff\xff\xff\xff\xff\xff\xff\xff"
        "\x04\0\x08\0\x01\x78\x10\x0c\x07\x08\x90\x01\0\0\0\0\0\0\0\0"
        "\xff\xff\xff\xff\x1c\0\0\0\0\0\0\0"
        "\0\0\0\0\0\0\0\0"
        "\0\x10\0\0\0\0\0\0\x40\0\0\0\0\0\0\0\x41\x0e\x10\0";
    struct cfi_section section = {.bytes = {bytes, sizeof bytes - 1},
                                  .machine = ARCH_X86_64,
                                  .is_debug_frame = true};
    struct cfi_reader reader = cfi_reader_of(&section);
    struct cfi_fde fde;
    (void)state;
    assert_true(cfi_next(&reader, &fde));
    assert_int_equal(fde.start, 0x1000);
    assert_int_equal(fde.end, 0x1040);
    assert_int_equal(fde.cie.return_register, 16);
    assert_false(cfi_next(&reader, &fde));
    assert_int_equal(reader.broken, 0);
    begin_first(&section);
    assert_row(0x1000, 0x1001, 7, 8);
    assert_row(0x1001, 0x1040, 7, 16);
}

static void invalid_entries_are_skipped(void **state)
{
    struct maker m = {.used = 0};
    struct cfi_fde fde;
    (void)state;
    make_x86_64_cie(&m);
    make_fde(&m, 0x1000, 0x40, STR("\x41\x0e\x10"));
    make_begin(&m);
    make_number(&m, 3, 4); /* without a CIE */
    make_number(&m, 0, 8);
    make_number(&m, 0, 4);
    make_end(&m);
    make_number(&m, 0, 4); /* a terminator in the middle */
    make_cie(&m, "q", 1, 0x78, 16, X86_64_PROGRAM);
    make_fde(&m, 0x1800, 0x40, STR("\x41"));
    make_x86_64_cie(&m);
    make_fde(&m, 0x2000, 0x40, STR("\x41\x0e\x10"));
    make_number(&m, 1000, 4); /* longer than the section */
    struct cfi_section section = made_section(&m, ARCH_X86_64);
    struct cfi_reader reader = cfi_reader_of(&section);
    assert_true(cfi_next(&reader, &fde));
    assert_int_equal(fde.start, 0x1000);
    assert_true(cfi_next(&reader, &fde));
    assert_int_equal(fde.start, 0x2000);
    struct cfi_fde again;
    assert_true(cfi_at(&section, fde.offset, &again));
    assert_int_equal(again.end, 0x2040);
    assert_false(cfi_at(&section, 0, &again)); /* a CIE */
    assert_false(cfi_next(&reader, &fde));
    assert_int_equal(reader.broken, 3);
}

static uint64_t pointer(struct str bytes, uint8_t encoding)
{
    struct cfi_section section = {.bytes = bytes,
                                  .address = 0x500,
                                  .machine = ARCH_X86_64,
                                  .text = 0x10000,
                                  .data = 0x20000};
    struct bytes in = bytes_of(bytes, false);
    uint64_t value;
    bytes_skip(&in, 1);
    return cfi_pointer(&section, &in, encoding, 8, 0x30000, &value) ? value : 1;
}

static void pointer_encodings(void **state)
{
    struct str minus = STR("\0\xfe\xff\xff\xff\xff\xff\xff\xff....");
    struct str aligned = STR("..\0\0\0\0\0\0\x07\0\0\0\0\0\0\0");
    (void)state;
    assert_true(pointer(minus, 0x00) == 0xfffffffffffffffe);
    assert_true(pointer(minus, 0x02) == 0xfffe);
    assert_true(pointer(minus, 0x0a) == 0xfffffffffffffffe);
    assert_true(pointer(minus, 0x03) == 0xfffffffe);
    assert_true(pointer(minus, 0x0b) == 0xfffffffffffffffe);
    assert_true(pointer(minus, 0x1b) == 0x4ff);
    assert_true(pointer(minus, 0x2c) == 0xfffe);
    assert_true(pointer(minus, 0x3c) == 0x1fffe);
    assert_true(pointer(minus, 0x4b) == 0x2fffe);
    assert_true(pointer(STR("\0\x82\x01"), 0x01) == 130);
    assert_true(pointer(STR("\0\x7f"), 0x09) == UINT64_MAX);
    assert_true(pointer(aligned, 0x50) == 7);
    assert_true(pointer(minus, 0x9b) == 1); /* indirect */
    assert_true(pointer(minus, 0xff) == 1); /* omitted */
    assert_true(pointer(minus, 0x05) == 1); /* not an encoding */
    assert_true(pointer(STR("\0\x01"), 0x03) == 1);
}

static void the_header_finds_fdes(void **state)
{
    static const char bytes[] = "\x01\x1b\x03\x3b\xfc\x0f\0\0\x03\0\0\0"
                                "\0\x10\0\0\0\x01\0\0"
                                "\0\x20\0\0\0\x02\0\0"
                                "\0\x30\0\0\0\x03\0\0";
    struct str all = {bytes, sizeof bytes - 1};
    struct cfi_header h;
    uint64_t fde = 0;
    (void)state;
    assert_true(cfi_header_read(all, 0x100000, ARCH_X86_64, false, &h));
    assert_int_equal(h.eh_frame, 0x101000);
    assert_int_equal(h.count, 3);
    assert_false(cfi_header_find(&h, 0x100fff, &fde));
    assert_true(cfi_header_find(&h, 0x101000, &fde));
    assert_int_equal(fde, 0x100100);
    assert_true(cfi_header_find(&h, 0x102fff, &fde));
    assert_int_equal(fde, 0x100200);
    assert_true(cfi_header_find(&h, UINT64_MAX, &fde));
    assert_int_equal(fde, 0x100300);
    assert_true(cfi_header_read(str_head(all, 25), 0x100000, ARCH_X86_64, false, &h));
    assert_int_equal(h.count, 1); /* as many as fit */
    assert_false(cfi_header_read(STR("\x02\x1b\x03\x3b"), 0, ARCH_X86_64, false, &h));
}

int main(void)
{
    const struct CMUnitTest units[] = {
        UNIT(rows_of_a_prologue),
        UNIT(the_red_zone_is_not_popped),
        UNIT(states_are_remembered),
        UNIT(every_kind_of_rule),
        UNIT(rows_before_an_invalid_operation_are_valid),
        UNIT(remembered_rows_are_limited),
        UNIT(signed_return_addresses),
        UNIT(debug_frame_of_version_4_and_64_bits),
        UNIT(invalid_entries_are_skipped),
        UNIT(pointer_encodings),
        UNIT(the_header_finds_fdes),
    };
    return UNITS_RUN(units);
}
