/* Prints the rows of a file's call frame information, which tests/unwind.py compares
 * with other tools; and compares the compiled table with the rows.
 *
 *    rows eh|debug FILE   every FDE: "@ OFFSET START END", then its rows "START CFA RULES"
 *    rows table FILE      checks the table against the rows, before and after it was
 *                       written and read; prints statistics
 *    rows time FILE       the time to build the table */
#include "unwind/registers.h"
#include "unwind/source.h"
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static struct str map_file(const char *path)
{
    struct stat st;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &st) != 0) {
        perror(path);
        exit(2);
    }
    void *at = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    close(fd);
    if (at == MAP_FAILED)
        exit(2);
    return (struct str){at, (size_t)st.st_size};
}

static void die(const struct error *err)
{
    fprintf(stderr, "%s\n", err->message);
    exit(2);
}

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* --- Rows --------------------------------------------------------------------------- */

static void print_rule(const struct cfi_row *row, unsigned i)
{
    long long v = (long long)row->value[i];
    switch (row->how[i]) {
    case CFI_UNDEFINED:
        printf(" %u=u", i);
        break;
    case CFI_SAME:
        printf(" %u=s", i);
        break;
    case CFI_OFFSET:
        printf(" %u=c%+lld", i, v);
        break;
    case CFI_VALUE_OFFSET:
        printf(" %u=v%+lld", i, v);
        break;
    case CFI_REGISTER:
        printf(" %u=r%lld", i, v);
        break;
    case CFI_EXPRESSION:
        printf(" %u=exp", i);
        break;
    case CFI_VALUE_EXPRESSION:
        printf(" %u=vexp", i);
        break;
    default:
        break;
    }
}

static void print_row(const struct cfi_row *row)
{
    printf("%llx ", (unsigned long long)row->start);
    if (row->cfa == CFI_CFA_EXPRESSION)
        printf("exp");
    else if (row->cfa == CFI_CFA_REGISTER)
        printf("%llu%+lld", (unsigned long long)row->cfa_register,
               (long long)row->cfa_value);
    else
        printf("none");
    for (unsigned i = 0; i < CFI_REGISTERS; i++)
        print_rule(row, i);
    putchar('\n');
}

static void print_section(const struct cfi_section *section)
{
    static struct cfi_program program;
    struct cfi_reader reader = cfi_reader_of(section);
    struct cfi_fde fde;
    cfi_program_init(&program, section);
    while (cfi_next(&reader, &fde)) {
        printf("@ %llx %llx %llx\n", (unsigned long long)fde.offset,
               (unsigned long long)fde.start, (unsigned long long)fde.end);
        cfi_rows_begin(&program, &fde);
        while (cfi_rows_next(&program))
            print_row(&program.row);
        if (program.broken)
            puts("broken");
    }
    printf("left out: %zu\n", reader.broken);
}

/* --- The table ---------------------------------------------------------------------- */

static bool same_rule(const struct unwind_rule *a, const struct unwind_rule *b)
{
    return memcmp(a, b, sizeof *a) == 0;
}

/* Returns true if the table finds this FDE: another one may overlap it. */
static bool is_found(const struct unwind_table *t, const struct cfi_fde *fde,
                     const struct cfi_section *section, uint64_t address)
{
    const struct cfi_section *from;
    struct cfi_fde found;
    return unwind_table_fde(t, address, &from, &found) && found.offset == fde->offset &&
           from->bytes.ptr == section->bytes.ptr;
}

static size_t check_section(const struct unwind_table *t,
                            const struct cfi_section *section, size_t *general,
                            size_t *overlapped)
{
    static struct cfi_program program;
    struct cfi_reader reader = cfi_reader_of(section);
    struct cfi_fde fde;
    size_t rows = 0;
    cfi_program_init(&program, section);
    while (cfi_next(&reader, &fde)) {
        cfi_rows_begin(&program, &fde);
        for (; cfi_rows_next(&program); rows++) {
            const struct cfi_row *row = &program.row;
            struct unwind_rule rule = unwind_rule_of(&program);
            *general += rule.cfa == CFA_GENERAL;
            if (same_rule(unwind_table_find(t, row->start), &rule) &&
                same_rule(unwind_table_find(t, row->end - 1), &rule))
                continue;
            if (!is_found(t, &fde, section, row->start)) {
                ++*overlapped;
                continue;
            }
            printf("wrong rule at %llx\n", (unsigned long long)row->start);
            exit(1);
        }
    }
    return rows;
}

static void check_table(const struct unwind_table *t, const char *what)
{
    size_t rows = 0, general = 0, overlapped = 0;
    for (size_t i = 0; i < t->section_count; i++)
        rows += check_section(t, &t->sections[i], &general, &overlapped);
    printf("%s: %zu rows of %zu FDEs as %zu rows, %zu rules, general %zu, "
           "overlapped %zu, broken %zu\n",
           what, rows, t->fde_count, t->row_count, t->rule_count, general, overlapped,
           t->broken);
}

int main(int argc, char **argv)
{
    struct arena arena = ARENA_INIT;
    struct error err;
    struct elf elf;
    struct unwind_source source;
    struct unwind_table table, again;
    if (argc < 3)
        return 2;
    if (!elf_init(&elf, map_file(argv[2]), &arena, &err))
        die(&err);
    unwind_source_of(&source, &elf, NULL);
    if (strcmp(argv[1], "time") == 0) {
        for (int i = 0; i < 3; i++) {
            struct arena own = ARENA_INIT;
            double start = now();
            if (!unwind_table_build(&table, &source, &own, &err))
                die(&err);
            printf("%.2f ms, %zu FDEs, %zu rows\n", 1e3 * (now() - start),
                   table.fde_count, table.row_count);
            start = now();
            struct str bytes = unwind_table_bytes(&table, &own);
            double middle = now();
            if (!unwind_table_load(&again, bytes, &source, &own, &err))
                die(&err);
            printf("  %zu bytes, written in %.2f ms, read in %.2f ms\n", bytes.len,
                   1e3 * (middle - start), 1e3 * (now() - middle));
            arena_deinit(&own);
        }
    } else if (strcmp(argv[1], "table") == 0) {
        if (!unwind_table_build(&table, &source, &arena, &err))
            die(&err);
        check_table(&table, "built");
        if (!unwind_table_load(&again, unwind_table_bytes(&table, &arena), &source,
                               &arena, &err))
            die(&err);
        check_table(&again, "read");
    } else {
        bool debug = strcmp(argv[1], "debug") == 0;
        for (size_t i = 0; i < source.section_count; i++)
            if (source.sections[i].is_debug_frame == debug)
                print_section(&source.sections[i]);
    }
    arena_deinit(&arena);
    return 0;
}
