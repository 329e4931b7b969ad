/* SPDX-License-Identifier: Apache-2.0 */
/* Truncated recordings, read with all files that they refer to (tests/fuzz/recording):
 * every sample that is complete before the end is read, within a second and 64 MiB. The
 * truncated sample may be read too. */
#include "os/folder.h"
#include "perf/format.h"
#include "recording.h"
#include "sanitized.h"
#include <malloc.h>
#include <sys/resource.h>
#include <time.h>

#define SECONDS_MAX 1.0
#define KILOBYTES_MAX (64L << 10)
#define PIPE_STEP 5 /* of the cuts that are also read from a pipe */
/* A sanitizer is slow, and finds the same faults in a third of the cuts: of all parts of words. */
#define CUT_STEP (SANITIZED ? 3 : 1)

static struct recording recording;

static uint64_t word_at(struct str file, size_t at)
{
    struct bytes b = bytes_of(str_skip(file, at), false);
    return bytes_u64(&b);
}

/* Offset of the records in the file, from its header. */
static size_t records_at(struct str file)
{
    return (size_t)word_at(file, 40);
}

/* The number of samples that end at or before `cut`. */
static uint64_t samples_before(struct str file, size_t cut)
{
    uint64_t count = 0;
    size_t at = records_at(file), end = at + (size_t)word_at(file, 48);
    while (at < end && at < cut) {
        struct bytes b = bytes_of(str_skip(file, at), false);
        uint32_t type = bytes_u32(&b);
        bytes_skip(&b, 2);
        at += bytes_u16(&b);
        count += type == PERF_SAMPLE && at <= cut;
    }
    return count;
}

static double seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static long peak(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_maxrss;
}

/* Reads the truncated recording, from memory or in bites from a pipe. */
static void check_cut(size_t cut, size_t bite)
{
    struct str file = recording.whole[RECORDING];
    struct error err = {.message = ""};
    char *exact = malloc(cut + 1); /* so that a sanitizer detects reads beyond the end */
    memcpy(exact, file.ptr, cut);
    struct bites pipe = {.text = exact, .length = cut, .bite = bite};
    struct source in = bite ? source_reading(bites_read, &pipe, STR("pipe"))
                            : source_of((struct str){exact, cut}, STR("memory"));
    struct builder b;
    double begun = seconds();
    assert_true(builder_init(&b, BUILD_COUNT));
    bool ok = recording_read(&recording, &in, RECORDING_LINES, &b, &err);
    uint64_t expected = samples_before(file, cut);
    if (!ok && (expected || !err.message[0]))
        fail_msg("cut at %zu: %s", cut, err.message);
    /* The truncated sample may have all parts that are needed. */
    uint64_t more = b.profile->facts.samples - expected;
    if (more > 1)
        fail_msg("cut at %zu: %lu samples of %lu", cut,
                 (unsigned long)b.profile->facts.samples, (unsigned long)expected);
    assert_true(seconds() - begun < SECONDS_MAX);
    builder_deinit(&b);
    source_deinit(&in);
    free(exact);
}

static void test_truncated_recordings(void **state)
{
    struct folder *f = *state;
    long before;
    assert_true(recording_open(&recording, f->path));
    size_t size = recording.whole[RECORDING].len;
    check_cut(size, 0);
    before = peak();
    for (size_t cut = 0; cut <= size; cut += CUT_STEP) {
        check_cut(cut, 0);
        if (cut % PIPE_STEP == 0)
            check_cut(cut, 1 + cut % 997);
    }
    if (!SANITIZED) /* a sanitizer retains freed memory */
        assert_true(peak() - before < KILOBYTES_MAX);
}

/* Both byte orders give the same result: stacks are unwound, addresses have names. */
static void test_all_sources_of_names(void **state)
{
    struct folder *f = *state;
    struct output folded[2] = {OUTPUT_BUFFER, OUTPUT_BUFFER};
    assert_true(recording_open(&recording, f->path));
    for (int big = 0; big < 2; big++) {
        struct error err = {.message = ""};
        struct builder b;
        struct source in =
            source_of(recording.whole[big ? RECORDING_BIG : RECORDING], STR("memory"));
        assert_true(builder_init(&b, BUILD_COUNT));
        assert_true(recording_read(&recording, &in, RECORDING_LINES, &b, &err));
        assert_true(recording_fold(b.profile, &folded[big]));
        builder_deinit(&b);
    }
    assert_true(recording_has_names(output_contents(&folded[0])));
    assert_true(str_equal(output_contents(&folded[0]), output_contents(&folded[1])));
    output_deinit(&folded[0]);
    output_deinit(&folded[1]);
}

int main(void)
{
    const struct CMUnitTest units[] = {
        UNIT_IN_FOLDER(test_all_sources_of_names),
        UNIT_IN_FOLDER(test_truncated_recordings),
    };
    unsetenv("HOME"); /* no perf cache */
    /* Large blocks come from the kernel and are not filled: in tens of thousands of reads, that
     * takes most of the time. */
    mallopt(M_MMAP_THRESHOLD, 128 << 10);
    mallopt(M_PERTURB, 0);
    return UNITS_RUN(units);
}
