/* Prints the records of processes, maps, samples and losses of a recording, in the
 * order of time and as in `perf script -D`:
 *
 *   records RECORDING
 *
 * Then "flaw N COUNT" lines (enum perf_flaw), for the flaws of the recording. */
#include "os/file.h"
#include "perf/perf_data.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

static void print_protection(const struct perf_mmap *m)
{
    putchar(m->protection & 1 ? 'r' : '-');
    putchar(m->protection & 2 ? 'w' : '-');
    putchar(m->protection & 4 ? 'x' : '-');
    putchar(m->flags & 1 ? 's' : 'p');
}

static void print_map(const struct perf_data *d, const struct perf_record *r)
{
    struct perf_mmap m;
    if (!perf_map_of(d, r, &m))
        return;
    printf("PERF_RECORD_MMAP%s %d/%d: [%#" PRIx64 "(%#" PRIx64 ") @ ",
           r->type == PERF_MMAP2 ? "2" : "", (int)m.pid, (int)m.tid, m.start, m.size);
    printf(m.offset ? "%#" PRIx64 : "%" PRIx64, m.offset);
    if (r->type == PERF_MMAP) {
        printf("]: %c", r->misc & PERF_MISC_COMM_EXEC ? 'r' : 'x');
    } else if (m.build_id.len) {
        printf(" <");
        for (size_t i = 0; i < m.build_id.len; i++)
            printf("%02x", (unsigned char)m.build_id.ptr[i]);
        printf(">]: ");
        print_protection(&m);
    } else {
        printf(" %02x:%02x %" PRIu64 "]: ", m.major, m.minor, m.inode);
        print_protection(&m);
    }
    printf(" %.*s\n", STR_ARG(m.path));
}

static void print_task(const struct perf_data *d, const struct perf_record *r)
{
    struct perf_task t;
    if (!perf_task_of(d, r, &t))
        return;
    if (r->type == PERF_COMM)
        printf("PERF_RECORD_COMM%s: %.*s:%u/%u\n",
               r->misc & PERF_MISC_COMM_EXEC ? " exec" : "", STR_ARG(t.name), t.pid,
               t.tid);
    else
        printf("PERF_RECORD_%s(%u:%u):(%u:%u)\n", r->type == PERF_FORK ? "FORK" : "EXIT",
               t.pid, t.tid, t.parent_pid, t.parent_tid);
}

static void print_sample(const struct perf_data *d, const struct perf_record *r)
{
    struct perf_sample s;
    if (!perf_sample_of(d, r, &s))
        return;
    printf("PERF_RECORD_SAMPLE(IP, %#x): %d/%d: ", r->misc, (int)s.pid, (int)s.tid);
    printf("%#" PRIx64 " period: %" PRIu64 " addr: ", s.ip, s.period);
    printf(s.address ? "%#" PRIx64 "\n" : "%" PRIx64 "\n", s.address);
}

static void print_record(const struct perf_data *d, const struct perf_record *r)
{
    uint64_t lost;
    switch (r->type) {
    case PERF_MMAP:
    case PERF_MMAP2:
        print_map(d, r);
        break;
    case PERF_COMM:
    case PERF_FORK:
    case PERF_EXIT:
        print_task(d, r);
        break;
    case PERF_SAMPLE:
        print_sample(d, r);
        break;
    case PERF_LOST:
    case PERF_LOST_SAMPLES:
        if (perf_lost_of(d, r, &lost))
            printf("PERF_RECORD_LOST%s %" PRIu64 "\n",
                   r->type == PERF_LOST ? "" : "_SAMPLES", lost);
        break;
    default:
        break;
    }
}

int main(int argc, char **argv)
{
    struct error err = {0};
    struct os_input file;
    struct perf_data d;
    struct perf_record r;
    if (argc != 2 || !os_input_open(&file, argv[1], &err)) {
        fprintf(stderr, "records: %s\n", err.message);
        return 1;
    }
    struct source in = os_input_source(&file);
    bool ok = perf_data_init(&d, &in, &err);
    while (ok && perf_data_next(&d, &r, &err))
        print_record(&d, &r);
    for (size_t i = 0; ok && i < PERF_FLAWS; i++)
        if (d.flaws[i])
            printf("flaw %zu %" PRIu64 "\n", i, d.flaws[i]);
    if (!ok)
        fprintf(stderr, "records: %s\n", err.message);
    perf_data_deinit(&d);
    source_deinit(&in);
    os_input_close(&file);
    return ok ? 0 : 1;
}
