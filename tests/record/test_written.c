/* SPDX-License-Identifier: Apache-2.0 */
/* The writer of perf.data, step by step: after each of its system calls the file must be readable,
 * and contain at least what it contained before; whichever call fails, as on a full disk, what was
 * written before stays valid, and the writer reports why.
 * Linked so that the writer's calls come through here (-Wl,--wrap). */
#include "perf/perf_data.h"
#include "record/perf_data_write.h"
#include "unit.h"
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

ssize_t __real_pwrite64(int fd, const void *bytes, size_t size, off_t offset);
ssize_t __wrap_pwrite64(int fd, const void *bytes, size_t size, off_t offset);

/* Behaviour of a call. */
enum fault { FAULT_NONE, FAULT_ERROR, FAULT_SHORT };

static struct calls {
    unsigned calls, failing; /* from the failing-th call on */
    enum fault fault;
    int why;
    void (*after)(int fd);
} calls;

ssize_t __wrap_pwrite64(int fd, const void *bytes, size_t size, off_t offset)
{
    bool fails = calls.fault != FAULT_NONE && ++calls.calls >= calls.failing;
    if (calls.fault == FAULT_NONE)
        calls.calls++;
    if (fails && calls.fault == FAULT_ERROR) {
        errno = calls.why;
        return -1;
    }
    /* a full disk takes a part first */
    if (fails) {
        calls.fault = FAULT_ERROR;
        size = size > 1 ? size / 2 : size;
    }
    ssize_t put = __real_pwrite64(fd, bytes, size, offset);
    if (calls.after)
        calls.after(fd);
    return put;
}

/* --- Reading what is there --------------------------------------------------------- */

struct seen {
    bool opens;
    size_t samples, names;
    uint64_t flaws;
    struct str host;
    char host_room[256];
    size_t features;
};

static char *read_file(int fd, size_t *size)
{
    struct stat st;
    assert_int_equal(fstat(fd, &st), 0);
    *size = (size_t)st.st_size;
    char *bytes = malloc(*size + 1);
    assert_non_null(bytes);
    assert_int_equal(pread(fd, bytes, *size, 0), st.st_size);
    return bytes;
}

static void check_sample(const struct perf_data *d, const struct perf_record *r,
                         size_t number)
{
    struct perf_sample s;
    assert_true(perf_sample_of(d, r, &s));
    assert_int_equal(s.time, 1000 + number);
    assert_int_equal(s.ip, 0x400000 + number % 100);
    assert_int_equal(perf_word_count(s.chain), 3);
    assert_int_equal(perf_word(s.chain, 2), 0x500000 + number % 7);
}

static struct seen read_all(int fd)
{
    struct seen seen = {.host = STR("")};
    struct perf_data d;
    struct perf_record r;
    struct error err = {.message = ""};
    size_t size;
    char *bytes = read_file(fd, &size);
    struct source in = source_of((struct str){bytes, size}, STR("written"));
    seen.opens = perf_data_init(&d, &in, &err);
    while (seen.opens && perf_data_next(&d, &r, &err)) {
        if (r.type == PERF_SAMPLE)
            check_sample(&d, &r, seen.samples++);
        seen.names += r.type == PERF_COMM;
    }
    for (unsigned i = 0; i < PERF_FLAWS; i++)
        seen.flaws += i == PERF_FLAW_UNFINISHED ? 0 : d.flaws[i];
    snprintf(seen.host_room, sizeof seen.host_room, "%.*s", STR_ARG(d.facts.host));
    for (unsigned i = 0; i < 256; i++)
        seen.features += d.features[i / 64] >> i % 64 & 1;
    perf_data_deinit(&d);
    free(bytes);
    return seen;
}

/* --- Writing ----------------------------------------------------------------------- */

static const char *const words[] = {"stoke", "record"};

struct writing {
    struct record_layout layout;
    struct perf_file_event event;
    struct perf_file_head head;
    struct os_data_file file;
    struct perf_data_writer writer;
    struct record_maker maker;
    size_t given;
};

static bool begin(struct writing *w, bool packed, struct error *err)
{
    *w = (struct writing){.layout = record_layout_of(false, PERF_SAMPLE_CALLCHAIN)};
    w->maker.layout = &w->layout;
    w->event = (struct perf_file_event){
        .attr = {.type = PERF_TYPE_SOFTWARE,
                 .size = PERF_ATTR_SIZE,
                 .period = 99,
                 .sample_type = w->layout.sample_type,
                 .flags = PERF_FLAG_SAMPLE_ID_ALL | PERF_FLAG_FREQUENCY},
        .name = "cpu-clock"};
    w->head = (struct perf_file_head){.events = &w->event,
                                      .event_count = 1,
                                      .command = words,
                                      .command_count = 2,
                                      .packed = packed,
                                      .pack_level = -1};
    if (!os_data_file_create_hidden(&w->file, err))
        fail_msg("%s", err->message);
    return perf_data_writer_init(&w->writer, &w->file, &w->head, err);
}

static void give_sample(struct writing *w)
{
    struct record_maker *m = &w->maker;
    struct record_sink to = perf_data_writer_sink(&w->writer);
    record_begin(m, PERF_SAMPLE, PERF_MODE_USER);
    record_put_u64(m, 0x400000 + w->given % 100);
    record_put_u32(m, 7);
    record_put_u32(m, 8);
    record_put_u64(m, 1000 + w->given);
    record_put_u64(m, 0);
    record_put_u64(m, 10101010);
    record_put_u64(m, 3);
    record_put_u64(m, PERF_CONTEXT_USER);
    record_put_u64(m, 0x400000 + w->given % 100);
    record_put_u64(m, 0x500000 + w->given % 7);
    struct record r = record_end_bare(m, 1000 + w->given);
    record_pass(&to, &r);
    w->given++;
}

static void give(struct writing *w, size_t count)
{
    struct record_sink to = perf_data_writer_sink(&w->writer);
    struct record r = record_make_name(&w->maker, 7, 8, STR("someone"), 1000 + w->given);
    record_pass(&to, &r);
    for (size_t i = 0; i < count; i++)
        give_sample(w);
    to.round(to.context);
}

static void end(struct writing *w)
{
    struct error ignored;
    perf_data_writer_deinit(&w->writer);
    os_data_file_close(&w->file, &ignored);
}

/* Some flushes of several sizes, one of them in many pieces. */
static const size_t sizes[] = {1, 3, 20, 9000, 0, 700, 2};

static bool write_all(struct writing *w, bool packed, struct error *err)
{
    if (!begin(w, packed, err))
        return false;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        if (sizes[i])
            give(w, sizes[i]);
        if (!perf_data_writer_flush(&w->writer, err))
            return false;
    }
    return perf_data_writer_finish(&w->writer, err);
}

/* --- Tests ------------------------------------------------------------------------- */

static size_t states, most, with_features;

static void check_state(int fd)
{
    struct seen seen = read_all(fd);
    states++;
    if (!seen.opens) /* as long as there is nothing in it */
        assert_int_equal(most, 0);
    assert_int_equal(seen.flaws, 0);
    assert_true(seen.samples >= most);
    most = seen.samples;
    with_features += seen.features > 0;
    if (seen.features)
        assert_true(seen.host_room[0]);
}

static void test_every_state_is_readable(void **state)
{
    (void)state;
    for (int packed = 0; packed < 2; packed++) {
        struct writing w;
        struct error err = {.message = ""};
        states = most = with_features = 0;
        calls.fault = FAULT_NONE;
        calls.after = check_state;
        assert_true(write_all(&w, packed, &err));
        calls.after = NULL;
        struct seen seen = read_all(w.file.fd);
        assert_int_equal(seen.samples, w.given);
        assert_int_equal(seen.names, 6);
        assert_int_equal(seen.flaws, 0);
        assert_true(seen.features >= 12);
        assert_true(states > 20);
        assert_true(with_features > states / 3);
        end(&w);
    }
}

/* The n-th call fails: what was flushed before it is there, and the reason is reported. */
static void check_fault(bool packed, enum fault fault, int why, unsigned n, bool *over)
{
    struct writing w;
    struct error err = {.message = ""};
    calls.fault = fault;
    calls.failing = n;
    calls.why = why;
    calls.calls = 0;
    bool ok = write_all(&w, packed, &err);
    bool happened = calls.calls >= n;
    size_t flushed = 0;
    calls.fault = FAULT_NONE;
    *over = !happened;
    if (happened && ok)
        fail_msg("call %u failed without an error", n);
    if (happened && !strstr(err.message, strerror(why)))
        fail_msg("call %u: '%s'", n, err.message);
    if (happened && n > 1) {
        struct seen seen = read_all(w.file.fd);
        flushed = seen.samples;
        /* the failing call may be the first or a later one of a flush */
        assert_true(seen.opens || n <= 5);
        assert_true(seen.samples <= w.given);
    }
    if (happened && n > 10 && flushed == 0)
        fail_msg("call %u: what was flushed before it is missing", n);
    end(&w);
}

static void test_every_failure_is_reported(void **state)
{
    static const struct {
        enum fault fault;
        int why;
    } ways[] = {{FAULT_ERROR, ENOSPC}, {FAULT_ERROR, EIO}, {FAULT_SHORT, ENOSPC}};
    (void)state;
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        for (int packed = 0; packed < 2; packed++) {
            bool over = false;
            unsigned n = 1;
            for (; !over; n++)
                check_fault(packed, ways[i].fault, ways[i].why, n, &over);
            assert_true(n > 20);
        }
    }
}

/* Nothing was lost before the fault: the disk is full at the last flush but one. */
static void test_what_was_flushed_stays(void **state)
{
    struct writing w;
    struct error err = {.message = ""};
    (void)state;
    calls.fault = FAULT_NONE;
    assert_true(begin(&w, true, &err));
    give(&w, 100);
    assert_true(perf_data_writer_flush(&w.writer, &err));
    size_t flushed = w.given;
    give(&w, 100);
    calls = (struct calls){.fault = FAULT_ERROR, .failing = 1, .why = ENOSPC};
    assert_false(perf_data_writer_flush(&w.writer, &err));
    assert_true(err.hint[0]);
    assert_false(perf_data_writer_finish(&w.writer, &err));
    calls.fault = FAULT_NONE;
    struct seen seen = read_all(w.file.fd);
    assert_int_equal(seen.samples, flushed);
    assert_int_equal(seen.flaws, 0);
    assert_true(seen.features >= 10);
    end(&w);
}

int main(void)
{
    const struct CMUnitTest units[] = {UNIT(test_every_state_is_readable),
                                       UNIT(test_every_failure_is_reported),
                                       UNIT(test_what_was_flushed_stays)};
    return UNITS_RUN(units);
}
