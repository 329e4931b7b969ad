/* SPDX-License-Identifier: Apache-2.0 */
/* The store: what is stored is read back, spans add up, one process writes. */
#include "model/sample_labels.h"
#include "store/store.h"
#include "unit.h"
#include <stdlib.h>
#include <unistd.h>
#if __has_include(<sqlite3.h>)
#include "store/stacks.h"
#include <sqlite3.h>
#endif

#define WINDOWS ((uint64_t)6)
#define SAMPLES 200
#define START ((uint64_t)1790000000)

static char folder[] = "/tmp/stoke-store-XXXXXX";
static char path[64];

static uint64_t random_state = 1;

static unsigned next_random(unsigned below)
{
    random_state = random_state * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)((random_state >> 33) % below);
}

static struct sample random_sample(struct builder *b, uint64_t start)
{
    char name[16];
    struct sample s = {.time = start + next_random(10) * STORE_SECOND + next_random(1000),
                       .cpu = CPU_NONE,
                       .count = 1,
                       .weight = 1e9 / 19};
    for (unsigned depth = next_random(6); depth; depth--) {
        struct frame f = {.module = builder_module(b, STR("/bin/program"), STR("00ff"))};
        format_text(name, sizeof name, "f%u", next_random(8));
        f.offset = next_random(4) ? 0 : next_random(9) + 1;
        f.name = f.offset ? 0 : builder_string(b, str_of(name));
        s.stack = builder_push(b, s.stack, builder_frame(b, &f));
    }
    s.event = builder_event(b, STR("cpu-clock"), UNIT_NANOSECONDS);
    format_text(name, sizeof name, "thread%u", next_random(3));
    s.thread = builder_thread(b, next_random(3), next_random(5), str_of(name));
    return s;
}

static struct profile *make_window(uint64_t start)
{
    struct builder b;
    struct error err;
    char name[16];
    assert_true(builder_init(&b, BUILD_KEEP));
    for (size_t i = 0; i < SAMPLES; i++) {
        struct sample s = random_sample(&b, start);
        format_text(name, sizeof name, "service%u", next_random(3));
        label_id label = builder_label_text(&b, STR("service"), str_of(name));
        builder_add_labelled(&b, &s, builder_label_set_add(&b, 0, label));
    }
    struct profile *p = builder_finish(&b, &err);
    assert_non_null(p);
    builder_deinit(&b);
    return p;
}

static uint64_t count_of(struct store *s, uint64_t from, uint64_t to)
{
    struct builder b;
    struct error err;
    struct store_span span = {from, to};
    assert_true(builder_init(&b, BUILD_COUNT));
    assert_true(s->kind->read(s, &span, &b, &err));
    uint64_t count = b.profile->facts.samples;
    builder_deinit(&b);
    return count;
}

static void store_windows(void)
{
    struct error err;
    struct store *s = store_open(path, STORE_WRITE, &err);
    assert_non_null(s);
    for (uint64_t i = 0; i < WINDOWS; i++) {
        uint64_t start = (START + 10 * i) * STORE_SECOND;
        struct profile *p = make_window(start);
        struct store_window w = {
            .profile = p, .start = start, .end = start + 10 * STORE_SECOND, .rate = 19};
        assert_true(s->kind->add(s, &w, &err));
        assert_int_equal(count_of(s, start, w.end), SAMPLES);
        profile_destroy(p);
    }
    assert_null(store_open(path, STORE_WRITE, &err));
    assert_non_null(strstr(err.message, "another process"));
    store_close(s);
}

static void spans_add_up(void **state)
{
    struct error err;
    (void)state;
    store_windows();
    struct store *s = store_open(path, STORE_READ, &err);
    assert_non_null(s);
    uint64_t from = START * STORE_SECOND, to = (START + 10 * WINDOWS) * STORE_SECOND;
    assert_int_equal(count_of(s, 0, UINT64_MAX), WINDOWS * SAMPLES);
    assert_int_equal(count_of(s, from, to), WINDOWS * SAMPLES);
    for (uint64_t middle = from; middle <= to; middle += 7 * STORE_SECOND)
        assert_int_equal(count_of(s, from, middle) + count_of(s, middle, to),
                         WINDOWS * SAMPLES);
    store_close(s);
}

/* All samples of a profile by stack text, thread, label: a sum that does not depend on
 * ids. */
static uint64_t digest(const struct profile *p)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < p->sample_count; i++) {
        const struct sample *s = &p->samples[i];
        uint64_t h = 1469598103934665603u + s->time / STORE_SECOND;
        struct str text = profile_string(p, p->threads[s->thread].name);
        for (stack_id k = s->stack;; k = p->stacks[k].parent) {
            for (size_t c = 0; c < text.len; c++)
                h = (h ^ (unsigned char)text.ptr[c]) * 1099511628211u;
            h = (h ^ p->frames[p->stacks[k].frame].offset) * 1099511628211u;
            if (k == 0)
                break;
            text = profile_string(p, p->frames[p->stacks[k].frame].name);
        }
        label_id label = p->label_sets[profile_labels(p, i)].label;
        text = profile_string(p, p->labels[label].text);
        h = (h ^ (unsigned char)text.ptr[text.len - 1]) * 1099511628211u;
        sum += h * s->count;
    }
    return sum;
}

static void what_is_stored_is_read_back(void **state)
{
    struct error err;
    struct builder b;
    (void)state;
    uint64_t start = (START + 1000) * STORE_SECOND;
    struct profile *p = make_window(start);
    struct store_window w = {
        .profile = p, .start = start, .end = start + 10 * STORE_SECOND};
    struct store *s = store_open(path, STORE_WRITE, &err);
    assert_non_null(s);
    assert_true(s->kind->add(s, &w, &err));
    struct store_span span = {w.start, w.end};
    assert_true(builder_init(&b, BUILD_KEEP));
    assert_true(s->kind->read(s, &span, &b, &err));
    assert_true(digest(b.profile) == digest(p));
    builder_deinit(&b);
    profile_destroy(p);
    store_close(s);
}

/* A profile with one sample in a function without a name. */
static struct profile *make_unnamed(uint64_t time, uint64_t offset)
{
    struct builder b;
    struct error err;
    assert_true(builder_init(&b, BUILD_KEEP));
    struct frame f = {.module = builder_module(&b, STR("/bin/late"), STR("00ff")),
                      .offset = offset};
    struct sample s = {.time = time, .cpu = CPU_NONE, .count = 1, .weight = 1};
    s.event = builder_event(&b, STR("cpu-clock"), UNIT_NANOSECONDS);
    s.thread = builder_thread(&b, 1, 1, STR("late"));
    s.stack = builder_push(&b, 0, builder_frame(&b, &f));
    builder_add(&b, &s);
    struct profile *p = builder_finish(&b, &err);
    builder_deinit(&b);
    return p;
}

static void add_unnamed(struct store *s, uint64_t start, uint64_t offset,
                        const struct store_name *names, size_t count)
{
    struct error err;
    struct profile *p = make_unnamed(start, offset);
    struct store_window w = {.profile = p,
                             .start = start,
                             .end = start + STORE_SECOND,
                             .names = names,
                             .name_count = count};
    assert_true(s->kind->add(s, &w, &err));
    profile_destroy(p);
}

static void check_leaf(struct store *s, uint64_t start, const char *name, uint64_t offset)
{
    struct builder b;
    struct error err;
    struct store_span span = {start, start + STORE_SECOND};
    assert_true(builder_init(&b, BUILD_KEEP));
    assert_true(s->kind->read(s, &span, &b, &err));
    const struct profile *p = b.profile;
    assert_int_equal(p->sample_count, 1);
    const struct frame *f = &p->frames[p->stacks[p->samples[0].stack].frame];
    assert_true(str_equal(profile_string(p, f->name), str_of(name)));
    assert_int_equal(f->offset, offset);
    builder_deinit(&b);
}

static void names_may_follow_later(void **state)
{
    struct error err;
    (void)state;
    uint64_t first = (START + 2000) * STORE_SECOND, second = first + 10 * STORE_SECOND;
    const struct store_name late = {STR("/bin/late"), STR("00ff"), 0x10, 0x20,
                                    STR("late_name")};
    struct store *s = store_open(path, STORE_WRITE, &err);
    assert_non_null(s);
    add_unnamed(s, first, 0x14, NULL, 0);
    check_leaf(s, first, "", 0x14);
    add_unnamed(s, second, 0x20, &late, 1);
    check_leaf(s, first, "late_name", 0);
    check_leaf(s, second, "", 0x20);
    store_close(s);
}

#if __has_include(<sqlite3.h>)

static void run_sql(sqlite3 *db, const char *sql)
{
    assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
}

/* Writes the stacks as version 1 does: a row each. */
static void make_rows_of_stacks(sqlite3 *db)
{
    sqlite3_stmt *q;
    struct error err;
    char sql[100];
    assert_int_equal(
        sqlite3_prepare_v2(db, "SELECT first, count, data FROM stacks", -1, &q, NULL),
        SQLITE_OK);
    while (sqlite3_step(q) == SQLITE_ROW) {
        struct arena arena = ARENA_INIT;
        struct store_stack *stacks;
        uint64_t first = (uint64_t)sqlite3_column_int64(q, 0);
        size_t count = (size_t)sqlite3_column_int64(q, 1);
        struct str bytes = {sqlite3_column_blob(q, 2),
                            (size_t)sqlite3_column_bytes(q, 2)};
        assert_true(store_stacks_decode(bytes, first, count, &arena, &stacks, &err));
        for (size_t i = 0; i < count; i++) {
            format_text(sql, sizeof sql, "INSERT INTO stack VALUES(%llu, %u, %u)",
                        (unsigned long long)(first + i), stacks[i].parent,
                        stacks[i].frame);
            run_sql(db, sql);
        }
        arena_deinit(&arena);
    }
    sqlite3_finalize(q);
}

/* Removes what a version did not have. */
static void make_version(int version)
{
    sqlite3 *db;
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    run_sql(db, "BEGIN; PRAGMA user_version=4");
    if (version < 4)
        run_sql(db, "DROP TABLE rollup; PRAGMA user_version=3");
    if (version < 3)
        run_sql(db, "DROP TABLE metrics; PRAGMA user_version=2");
    if (version < 2) {
        make_rows_of_stacks(db);
        run_sql(db, "DROP TABLE stacks; DROP TABLE symbol; PRAGMA user_version=1");
    }
    run_sql(db, "COMMIT");
    sqlite3_close(db);
}

static uint64_t digest_of_all(struct store *s)
{
    struct builder b;
    struct error err;
    struct store_span span = {0, (START + 1900) * STORE_SECOND};
    assert_true(builder_init(&b, BUILD_KEEP));
    assert_true(s->kind->read(s, &span, &b, &err));
    uint64_t sum = digest(b.profile);
    builder_deinit(&b);
    return sum;
}

/* Each older version is read, and continued by the writer. */
static void older_versions_are_read_and_continued(void **state)
{
    struct error err;
    (void)state;
    struct store *s = store_open(path, STORE_READ, &err);
    assert_non_null(s);
    uint64_t before = digest_of_all(s);
    store_close(s);
    for (int version = 4; version >= 1; version--) {
        make_version(version);
        s = store_open(path, STORE_READ, &err);
        assert_non_null(s);
        assert_true(digest_of_all(s) == before);
        store_close(s);
        s = store_open(path, STORE_WRITE, &err);
        assert_non_null(s);
        uint64_t later = (START + 3000 + 10 * (uint64_t)version) * STORE_SECOND;
        add_unnamed(s, later, 0x30, NULL, 0);
        assert_true(digest_of_all(s) == before);
        check_leaf(s, later, "", 0x30);
        store_close(s);
    }
}

/* --- Sums of hours and days --------------------------------------------------------- */

#define SUMS_START (START / 86400 * 86400 + 864000) /* a day begins */
#define SUMS_HOURS ((uint64_t)50)

/* Without times: samples that are counted have none. */
static uint64_t digest_counted(struct store *s, uint64_t from, uint64_t to)
{
    struct builder b;
    struct error err;
    struct store_span span = {from, to};
    assert_true(builder_init(&b, BUILD_COUNT));
    assert_true(s->kind->read(s, &span, &b, &err));
    for (size_t i = 0; i < b.profile->sample_count; i++)
        b.profile->samples[i].time = 0;
    uint64_t sum = digest(b.profile);
    builder_deinit(&b);
    return sum;
}

/* The same, read from windows: samples that are all retained are never read from sums. */
static uint64_t digest_timed(struct store *s, uint64_t from, uint64_t to)
{
    struct builder b;
    struct error err;
    struct store_span span = {from, to};
    assert_true(builder_init(&b, BUILD_KEEP));
    assert_true(s->kind->read(s, &span, &b, &err));
    for (size_t i = 0; i < b.profile->sample_count; i++)
        b.profile->samples[i].time = 0;
    uint64_t sum = digest(b.profile);
    builder_deinit(&b);
    return sum;
}

static void add_random(struct store *s, uint64_t second)
{
    struct error err;
    struct profile *p = make_window(second * STORE_SECOND);
    struct store_window w = {.profile = p,
                             .start = second * STORE_SECOND,
                             .end = (second + 10) * STORE_SECOND,
                             .lost = 1};
    assert_true(s->kind->add(s, &w, &err));
    profile_destroy(p);
}

static uint64_t number_in(const char *sql)
{
    sqlite3 *db;
    sqlite3_stmt *q;
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    assert_int_equal(sqlite3_prepare_v2(db, sql, -1, &q, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_step(q), SQLITE_ROW);
    uint64_t number = (uint64_t)sqlite3_column_int64(q, 0);
    sqlite3_finalize(q);
    sqlite3_close(db);
    return number;
}

static uint64_t sums_of(uint64_t step)
{
    char sql[80];
    format_text(sql, sizeof sql, "SELECT count(*) FROM rollup WHERE step = %llu",
                (unsigned long long)step);
    return number_in(sql);
}

/* Spans that begin and end in the middle of an hour have the same samples as before. */
static void sums_replace_windows(void **state)
{
    struct error err;
    struct store_limits none = {0};
    uint64_t before[8], spans[8][2], hour = 3600;
    (void)state;
    struct store *s = store_open(path, STORE_WRITE, &err);
    assert_non_null(s);
    for (uint64_t at = 0; at < SUMS_HOURS * hour; at += 1500) /* some cross an hour */
        add_random(s, SUMS_START + at + (at % 3600 == 0 ? 3595 : 0));
    for (size_t i = 0; i < 8; i++) {
        uint64_t from = next_random(60 * 3600), to = from + next_random(60 * 3600);
        spans[i][0] = (SUMS_START + from - 5 * hour) * STORE_SECOND;
        spans[i][1] = (SUMS_START + to - 5 * hour) * STORE_SECOND;
        before[i] = digest_counted(s, spans[i][0], spans[i][1]);
    }
    for (uint64_t i = 0; i < 4 * SUMS_HOURS; i++) /* each does one part of the upkeep */
        assert_true(s->kind->retain(s, &none, 0, &err));
    assert_true(sums_of(hour) >= SUMS_HOURS - 2);
    assert_int_equal(sums_of(24 * hour), 2);
    for (size_t i = 0; i < 8; i++)
        assert_true(digest_counted(s, spans[i][0], spans[i][1]) == before[i]);
    uint64_t from = SUMS_START * STORE_SECOND, to = from + 24 * hour * STORE_SECOND;
    uint64_t count = count_of(s, from, to);
    add_random(s, SUMS_START + 7200); /* the clock was set back */
    assert_int_equal(count_of(s, from, to), count + SAMPLES);
    assert_int_equal(sums_of(24 * hour), 1);
    store_close(s);
}

/* What is read from sums is what is read from windows, and the sum over the minutes. */
static void sums_are_those_of_minutes(void **state)
{
    struct error err;
    uint64_t hour = 3600, second = STORE_SECOND;
    (void)state;
    struct store *s = store_open(path, STORE_READ, &err);
    assert_non_null(s);
    for (uint64_t h = 1; h < SUMS_HOURS; h += 7) {
        uint64_t from = SUMS_START + h * hour, minutes = 0;
        for (uint64_t at = from; at < from + hour; at += 60)
            minutes += digest_counted(s, at * second, (at + 60) * second);
        assert_true(digest_counted(s, from * second, (from + hour) * second) == minutes);
    }
    for (size_t i = 0; i < 100; i++) {
        uint64_t from = (SUMS_START + next_random(40 * 3600)) * second;
        uint64_t to = from + (1 + next_random(50 * 3600)) * second;
        assert_true(digest_counted(s, from, to) == digest_timed(s, from, to));
    }
    store_close(s);
}

/* Losses are reported once, however a span is read. */
static void losses_are_counted_once(void **state)
{
    struct error err;
    struct builder b;
    struct store_span span = {(SUMS_START + 1000) * STORE_SECOND, UINT64_MAX};
    uint64_t lost[2];
    (void)state;
    struct store *s = store_open(path, STORE_READ, &err);
    assert_non_null(s);
    for (int mode = BUILD_COUNT; mode <= BUILD_KEEP; mode++) {
        assert_true(builder_init(&b, (enum build_mode)mode));
        assert_true(s->kind->read(s, &span, &b, &err));
        lost[mode] = b.profile->facts.lost;
        builder_deinit(&b);
    }
    assert_true(lost[0] > 100);
    assert_int_equal(lost[0], lost[1]);
    store_close(s);
}

/* Sums of removed windows are removed. */
static void sums_are_removed(void **state)
{
    struct error err;
    (void)state;
    struct store *s = store_open(path, STORE_WRITE, &err);
    assert_non_null(s);
    struct store_limits age = {.age = 3600 * STORE_SECOND};
    uint64_t now = (SUMS_START + (SUMS_HOURS + 1) * 3600) * STORE_SECOND;
    for (size_t i = 0; i < 8; i++)
        assert_true(s->kind->retain(s, &age, now, &err));
    assert_true(sums_of(3600) <= 2);
    assert_int_equal(sums_of(86400), 0);
    age.age = 1;
    for (size_t i = 0; i < 8; i++)
        assert_true(s->kind->retain(s, &age, now, &err));
    store_close(s);
}

/* --- Packing ------------------------------------------------------------------------ */

#define PACK_START (SUMS_START + 3600)
#define PACK_WINDOWS ((uint64_t)200)

static void digest_spans(struct store *s, uint64_t digests[50])
{
    random_state = 7; /* the same spans each time */
    for (size_t i = 0; i < 50; i++) {
        uint64_t from = PACK_START + next_random(2000), to = from + next_random(900);
        from *= STORE_SECOND;
        to *= STORE_SECOND;
        digests[i] = digest_timed(s, from, to);
        assert_true(digest_counted(s, from, to) == digests[i]);
    }
}

/* Calls `retain` until nothing is left to do: each call sums, packs windows or packs stacks. */
static void keep_up(struct store *s)
{
    static const char *const counts[] = {"SELECT count(*) FROM rollup",
                                         "SELECT count(*) FROM window",
                                         "SELECT count(*) FROM stacks"};
    struct error err;
    struct store_limits none = {0};
    uint64_t before[3], after;
    for (size_t i = 0; i < 3; i++)
        before[i] = number_in(counts[i]);
    for (unsigned call = 0, idle = 0; idle < 8; call++) {
        unsigned changed = 0;
        assert_true(call < 100);
        assert_true(s->kind->retain(s, &none, 0, &err));
        for (size_t i = 0; i < 3; i++, before[i - 1] = after) {
            after = number_in(counts[i]);
            changed += after != before[i];
        }
        assert_true(changed <= 1);
        idle = changed ? 0 : idle + 1;
    }
}

/* Windows of ten minutes become one, and pieces of stacks: what is read remains the same. */
static void what_is_packed_is_the_same(void **state)
{
    struct error err;
    struct store_usage before, after;
    uint64_t digests[50], packed[50];
    (void)state;
    struct store *s = store_open(path, STORE_WRITE, &err);
    assert_non_null(s);
    for (uint64_t i = 0; i < PACK_WINDOWS; i++)
        add_random(s, PACK_START + 10 * i);
    digest_spans(s, digests);
    assert_true(s->kind->usage(s, &before, &err));
    assert_int_equal(number_in("SELECT count(*) FROM window"), PACK_WINDOWS);
    assert_true(number_in("SELECT count(*) FROM stacks") > PACK_WINDOWS / 2);
    keep_up(s);
    assert_int_equal(number_in("SELECT count(*) FROM window"), PACK_WINDOWS - 3 * 59);
    assert_int_equal(number_in("SELECT count(*) FROM stacks"), 1);
    digest_spans(s, packed);
    assert_memory_equal(digests, packed, sizeof packed);
    assert_true(s->kind->usage(s, &after, &err));
    assert_true(after.samples == before.samples && after.lost == before.lost &&
                after.stacks == before.stacks && after.rows == before.rows);
    store_close(s);
}

static uint64_t lost_in(struct store *s, uint64_t from, uint64_t to)
{
    struct builder b;
    struct error err;
    struct store_span span = {from, to};
    assert_true(builder_init(&b, BUILD_COUNT));
    assert_true(s->kind->read(s, &span, &b, &err));
    uint64_t lost = b.profile->facts.lost;
    builder_deinit(&b);
    return lost;
}

/* The losses of a packed window are those of the parts of its time, whatever the parts are. */
static void losses_of_parts_add_up(void **state)
{
    struct error err;
    uint64_t begin = PACK_START * STORE_SECOND, all = 10 * PACK_WINDOWS * STORE_SECOND;
    (void)state;
    struct store *s = store_open(path, STORE_READ, &err);
    assert_non_null(s);
    for (size_t i = 0; i < 50; i++) {
        uint64_t from = begin + next_random(all / 2);
        uint64_t to = from + 1 + next_random(all / 2), sum = 0, at = from;
        while (at < to) {
            uint64_t next = at + 1 + next_random(all / 8);
            next = next < to ? next : to;
            sum += lost_in(s, at, next);
            at = next;
        }
        assert_int_equal(sum, lost_in(s, from, to));
    }
    uint64_t half =
        lost_in(s, begin, begin + 300 * STORE_SECOND); /* of the first 10 min */
    assert_in_range(half, 29, 30);
    assert_int_equal(lost_in(s, begin, begin + 600 * STORE_SECOND), 60);
    store_close(s);
}

/* A writer that begins reads packed stacks: it stores none of them again. */
static void packed_stacks_are_known(void **state)
{
    struct error err;
    struct store_usage before = {0}, after = {0};
    struct store_limits size = {.bytes = 1};
    (void)state;
    struct profile *p = make_window(PACK_START * STORE_SECOND);
    struct store_window w = {.profile = p,
                             .start = (PACK_START + 5000) * STORE_SECOND,
                             .end = (PACK_START + 5010) * STORE_SECOND};
    struct store *s = NULL;
    for (int i = 0; i < 2; i++) {
        s = store_open(path, STORE_WRITE, &err);
        assert_non_null(s);
        before = after;
        assert_true(s->kind->add(s, &w, &err));
        assert_true(s->kind->usage(s, &after, &err));
        if (i == 0)
            store_close(s);
    }
    assert_int_equal(after.stacks, before.stacks);
    assert_int_equal(number_in("SELECT count(DISTINCT era) FROM stacks"), 1);
    for (size_t i = 0; i < 4; i++)
        assert_true(s->kind->retain(s, &size, 0, &err));
    store_close(s);
    profile_destroy(p);
}

#endif

static void retention_removes_the_oldest(void **state)
{
    struct error err;
    struct store_usage u;
    (void)state;
    struct store *s = store_open(path, STORE_WRITE, &err);
    assert_non_null(s);
    struct store_limits later = {.age = 500 * STORE_SECOND};
    assert_true(s->kind->retain(s, &later, (START + 1500) * STORE_SECOND, &err));
    assert_true(s->kind->usage(s, &u, &err));
    uint64_t stacks = u.stacks, day = (START + 8 * 86400) * STORE_SECOND;
    assert_int_equal(count_of(s, 0, (START + 1900) * STORE_SECOND), SAMPLES);
    add_unnamed(s, day, 1, NULL, 0); /* a week later: another era */
    struct store_limits age = {.age = 100 * STORE_SECOND};
    assert_true(s->kind->retain(s, &age, day + 50 * STORE_SECOND, &err));
    assert_true(s->kind->usage(s, &u, &err));
    assert_int_equal(u.windows, 1);
    assert_int_equal(u.samples, 1);
    assert_true(stacks > 1 && u.stacks == 1);
    struct store_limits size = {.bytes = 1};
    assert_true(s->kind->retain(s, &size, (START + 1050) * STORE_SECOND, &err));
    assert_true(s->kind->usage(s, &u, &err));
    assert_int_equal(u.windows, 0);
    assert_int_equal(u.stacks + u.frames + u.series, 0);
    store_close(s);
}

#define MANY \
    66000 /* frames: more than a writer knows, so that the next window is of a new era */

static struct profile *make_many(uint64_t time)
{
    struct builder b;
    struct error err;
    char name[16];
    assert_true(builder_init(&b, BUILD_KEEP));
    event_id event = builder_event(&b, STR("cpu-clock"), UNIT_NANOSECONDS);
    for (unsigned i = 0; i < MANY; i++) {
        struct sample s = {.time = time, .cpu = CPU_NONE, .event = event, .count = 1};
        format_text(name, sizeof name, "many%u", i);
        s.stack = builder_push(&b, 0, builder_named_frame(&b, str_of(name)));
        s.weight = 1;
        builder_add(&b, &s);
    }
    struct profile *p = builder_finish(&b, &err);
    builder_deinit(&b);
    return p;
}

/* A window of a new era may be earlier than those of the era before, whose stacks stay. */
static void late_windows_remove_no_stacks(void **state)
{
    struct error err;
    (void)state;
    uint64_t time = START * STORE_SECOND, late = time - 100 * STORE_SECOND;
    struct store *s = store_open(path, STORE_WRITE, &err);
    assert_non_null(s);
    struct profile *p = make_many(time);
    struct store_window w = {.profile = p, .start = time, .end = time + STORE_SECOND};
    assert_true(s->kind->add(s, &w, &err));
    profile_destroy(p);
    add_unnamed(s, late, 1, NULL, 0);
    struct store_limits none = {0}, size = {.bytes = 1};
    assert_true(s->kind->retain(s, &none, time, &err));
    assert_int_equal(count_of(s, late, late + STORE_SECOND), 1);
    assert_int_equal(count_of(s, time, time + STORE_SECOND), MANY);
    assert_true(s->kind->retain(s, &size, time, &err));
    store_close(s);
}

/* --- Metrics ------------------------------------------------------------------------ */

#define MINUTE_START ((START + 7200) / 60 * 60)

static void add_metric(struct store *s, struct arena *a, uint64_t minute, size_t second,
                       int64_t value)
{
    struct error err;
    struct store_metric_block b = {.start = MINUTE_START + 60 * minute, .step = 1};
    struct store_window w = {.metrics = &b, .metric_count = 1};
    store_metric_put(&b, a, STR("cpu.user"), STR("ms/s"), 0)->values[second] = value;
    assert_true(s->kind->add(s, &w, &err));
}

static bool sum_block(void *context, const struct store_metric_block *b)
{
    int64_t *sum = context;
    for (size_t i = 0; i < b->count; i++)
        for (size_t k = 0; k < STORE_BLOCK_VALUES; k++)
            if (b->items[i].values[k] != STORE_NO_VALUE)
                *sum += b->items[i].values[k];
    return true;
}

static int64_t sum_of(struct store *s, uint64_t from, uint64_t to, uint32_t step)
{
    struct error err;
    int64_t sum = 0;
    struct store_span span = {from * STORE_SECOND, to * STORE_SECOND};
    assert_true(s->kind->read_metrics(s, &span, step, sum_block, &sum, &err));
    return sum;
}

/* Without samples; a minute is written several times. */
static void metrics_are_stored_and_removed(void **state)
{
    struct error err;
    struct arena a = ARENA_INIT;
    struct store_usage u;
    struct store_limits age = {.age = 120 * STORE_SECOND};
    (void)state;
    struct store *s = store_open(path, STORE_WRITE, &err);
    assert_non_null(s);
    for (uint64_t minute = 0; minute < 4; minute++) {
        add_metric(s, &a, minute, 3, 100);
        add_metric(s, &a, minute, 4, 10);
        add_metric(s, &a, minute, 3, 1); /* replaces */
    }
    assert_int_equal(sum_of(s, 0, UINT64_MAX / STORE_SECOND, 1), 44);
    assert_int_equal(sum_of(s, 0, UINT64_MAX / STORE_SECOND, 60), 0);
    assert_int_equal(sum_of(s, MINUTE_START + 59, MINUTE_START + 61, 1), 22);
    assert_int_equal(sum_of(s, MINUTE_START + 60, MINUTE_START + 120, 1), 11);
    assert_true(s->kind->retain(s, &age, (MINUTE_START + 240) * STORE_SECOND, &err));
    assert_int_equal(sum_of(s, 0, UINT64_MAX / STORE_SECOND, 1), 22);
    assert_true(s->kind->usage(s, &u, &err));
    assert_true(u.metric_bytes > 0);
    struct store_limits size = {.bytes = 1};
    assert_true(s->kind->retain(s, &size, (MINUTE_START + 240) * STORE_SECOND, &err));
    assert_int_equal(sum_of(s, 0, UINT64_MAX / STORE_SECOND, 1), 0);
    store_close(s);
    arena_deinit(&a);
}

/* Built without SQLite, there is no store. */
static bool is_absent(void)
{
    struct error err;
    struct store *s = store_open("/", STORE_READ, &err);
    store_close(s);
    return !s && strstr(err.message, "without SQLite");
}

static int make_folder(void **state)
{
    (void)state;
    if (!mkdtemp(folder))
        return 1;
    format_text(path, sizeof path, "%s/h.db", folder);
    return 0;
}

static int remove_folder(void **state)
{
    char lock[80];
    (void)state;
    format_text(lock, sizeof lock, "%s.lock", path);
    unlink(lock);
    unlink(path);
    return rmdir(folder);
}

#define RATES_START ((SUMS_START + 400 * 3600) / 600 * 600)

static void add_rated(struct store *s, uint64_t second, double rate)
{
    struct error err;
    struct profile *p = make_window(second * STORE_SECOND);
    struct store_window w = {.profile = p,
                             .start = second * STORE_SECOND,
                             .end = (second + 10) * STORE_SECOND,
                             .rate = rate};
    assert_true(s->kind->add(s, &w, &err));
    profile_destroy(p);
}

static uint64_t of_rates(const char *what, unsigned rate)
{
    char sql[160];
    format_text(
        sql, sizeof sql,
        "SELECT %s FROM window WHERE rate = %u AND start >= %llu AND start < %llu", what,
        rate, (unsigned long long)(RATES_START * STORE_SECOND),
        (unsigned long long)((RATES_START + 600) * STORE_SECOND));
    return number_in(sql);
}

/* Windows of one rate become one; those of another rate are a window of their own. Windows of
 * two rates that begin at the same time remain. */
static void rates_stay_exact(void **state)
{
    struct error err;
    struct store_limits none = {0};
    (void)state;
    struct store *s = store_open(path, STORE_WRITE, &err);
    assert_non_null(s);
    for (uint64_t i = 0; i < 90; i++)
        add_rated(s, RATES_START + 10 * i, i >= 20 && i < 25 ? 999 : 19);
    add_rated(s, RATES_START + 590, 7);
    for (uint64_t i = 0; i < 20; i++)
        assert_true(s->kind->retain(s, &none, 0, &err));
    assert_int_equal(of_rates("count(*)", 19), 3);
    assert_int_equal(of_rates("count(*)", 999), 1);
    assert_int_equal(of_rates("count(*)", 7), 1);
    assert_int_equal(of_rates("sum(samples)", 19), 55 * SAMPLES);
    assert_int_equal(of_rates("sum(samples)", 999), 5 * SAMPLES);
    assert_int_equal(of_rates("min(start)", 999), (RATES_START + 200) * STORE_SECOND);
    store_close(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(spans_add_up),
        cmocka_unit_test(what_is_stored_is_read_back),
        cmocka_unit_test(names_may_follow_later),
#if __has_include(<sqlite3.h>)
        cmocka_unit_test(older_versions_are_read_and_continued),
#endif
        cmocka_unit_test(retention_removes_the_oldest),
        cmocka_unit_test(late_windows_remove_no_stacks),
        cmocka_unit_test(metrics_are_stored_and_removed),
#if __has_include(<sqlite3.h>)
        cmocka_unit_test(sums_replace_windows),
        cmocka_unit_test(sums_are_those_of_minutes),
        cmocka_unit_test(losses_are_counted_once),
        cmocka_unit_test(sums_are_removed),
        cmocka_unit_test(what_is_packed_is_the_same),
        cmocka_unit_test(losses_of_parts_add_up),
        cmocka_unit_test(packed_stacks_are_known),
        cmocka_unit_test(rates_stay_exact),
#endif
    };
    if (is_absent()) {
        puts("1..1\nok 1 - store # SKIP stoke was built without SQLite");
        return 0;
    }
    return cmocka_run_group_tests_name("store", tests, make_folder, remove_folder);
}
