/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/options/history.h"
#include "base/number.h"
#include "cli/message.h"
#include "os/machine.h"
#include <time.h>

#define DAY ((uint64_t)86400)

/* A time, and the length of what its text names: 14:30 is a minute. */
struct when {
    uint64_t second; /* since 1970 */
    uint64_t length; /* seconds; 0: up to now */
};

/* --- Times -------------------------------------------------------------------------- */

static bool bad_time(struct str text, struct error *err)
{
    error_set(err, "invalid time '%.*s'", STR_ARG(text));
    return error_hint(err, "14:30, 14:30:05, 2026-11-23T14:30, -5m, now or @SECONDS");
}

/* "-5m", "90s", "2h", "1d" before now */
static bool parse_ago(struct str text, uint64_t now, struct when *w)
{
    static const uint64_t seconds[] = {1, 60, 3600, DAY};
    uint64_t n;
    if (text.len < 2)
        return false;
    size_t unit = str_find(STR("smhd"), text.ptr[text.len - 1]);
    if (unit == sizeof seconds / sizeof *seconds ||
        !number_parse_u64(str_head(text, text.len - 1), &n) || n > 1000000)
        return false;
    n *= seconds[unit];
    *w = (struct when){now > n ? now - n : 0, 0};
    return true;
}

/* Two digits, at most `most`. */
static bool take_two(struct str *s, int most, int *value)
{
    uint64_t n;
    if (s->len < 2 || !number_parse_u64(str_head(*s, 2), &n) || n > (uint64_t)most)
        return false;
    *value = (int)n;
    *s = str_skip(*s, 2);
    return true;
}

static bool take_char(struct str *s, char c)
{
    bool is = s->len && s->ptr[0] == c;
    *s = str_skip(*s, is);
    return is;
}

/* YYYY-MM-DD */
static bool take_date(struct str *s, struct tm *t)
{
    uint64_t year;
    struct str rest = str_skip(*s, 4);
    if (s->len < 10 || !number_parse_u64(str_head(*s, 4), &year) || year < 1970 ||
        !take_char(&rest, '-') || !take_two(&rest, 12, &t->tm_mon) ||
        !take_char(&rest, '-') || !take_two(&rest, 31, &t->tm_mday))
        return false;
    t->tm_year = (int)year - 1900;
    t->tm_mon--;
    *s = rest;
    return t->tm_mon >= 0 && t->tm_mday > 0;
}

/* HH:MM or HH:MM:SS */
static bool take_clock(struct str *s, struct tm *t, struct when *w)
{
    if (!take_two(s, 23, &t->tm_hour) || !take_char(s, ':') ||
        !take_two(s, 59, &t->tm_min))
        return false;
    w->length = 60;
    if (take_char(s, ':')) {
        w->length = 1;
        return take_two(s, 59, &t->tm_sec);
    }
    return true;
}

/* The time at which local clocks show `t`, with or without summer time; false if there is none. */
static bool is_local(struct tm t, int summer, time_t *second)
{
    int hour = t.tm_hour, minute = t.tm_min;
    t.tm_isdst = summer;
    *second = mktime(&t);
    return t.tm_isdst == summer && t.tm_hour == hour && t.tm_min == minute;
}

/* Where clocks are set back, a time occurs twice: the first is meant. What mktime would choose
 * depends on the times that it had before. */
static uint64_t local_second(struct tm t, int days_later)
{
    time_t standard, summer;
    t.tm_mday += days_later;
    bool is_standard = is_local(t, 0, &standard), is_summer = is_local(t, 1, &summer);
    time_t second = is_summer && (!is_standard || summer < standard) ? summer : standard;
    return second > 0 ? (uint64_t)second : 0;
}

static bool parse_local(struct str s, uint64_t now, struct when *w)
{
    time_t today = (time_t)now;
    struct tm t;
    if (!localtime_r(&today, &t))
        return false;
    t.tm_hour = t.tm_min = t.tm_sec = 0;
    bool dated = take_date(&s, &t);
    w->length = 0;
    if (!dated || take_char(&s, 'T') || take_char(&s, ' '))
        if (!take_clock(&s, &t, w))
            return false;
    w->second = local_second(t, 0);
    if (!w->length) /* some days have 23 or 25 hours */
        w->length = local_second(t, 1) - w->second;
    if (!dated && w->second > now)
        w->second = local_second(t, -1);
    return s.len == 0;
}

static bool parse_time(struct str s, uint64_t now, struct when *w, struct error *err)
{
    bool minus = s.len && s.ptr[0] == '-';
    if (str_starts(s, STR("now-")))
        s = str_skip(s, 3), minus = true;
    *w = (struct when){now, 0};
    if (str_equal(s, STR("now")))
        return true;
    if (minus ? parse_ago(str_skip(s, 1), now, w) : parse_local(s, now, w))
        return true;
    w->length = 1;
    if (s.len && s.ptr[0] == '@' && number_parse_u64(str_skip(s, 1), &w->second) &&
        w->second < (uint64_t)1 << 33)
        return true;
    return bad_time(s, err);
}

bool history_parse(const char *text, uint64_t now, struct store_span *span,
                   struct error *err)
{
    struct str all = str_of(text), dots = STR("..");
    size_t at = str_search(all, dots);
    uint64_t second = now / STORE_SECOND + 1; /* so that now is included */
    struct when from, to;
    if (!parse_time(str_head(all, at), second, &from, err))
        return false;
    to.second = from.length ? from.second + from.length : second;
    if (at < all.len && !parse_time(str_skip(all, at + dots.len), second, &to, err))
        return false;
    if (to.second <= from.second) {
        error_set(err, "the span '%s' ends before it begins", text);
        return error_hint(err, "--at 14:30..14:35; with dates: "
                               "--at 2026-11-22T23:55..2026-11-23T00:05");
    }
    *span = (struct store_span){from.second * STORE_SECOND, to.second * STORE_SECOND};
    return true;
}

/* --- Reading ------------------------------------------------------------------------ */

static void write_time(uint64_t ns, char *text, size_t size)
{
    time_t second = (time_t)(ns / STORE_SECOND);
    struct tm t;
    if (!localtime_r(&second, &t) || !strftime(text, size, "%Y-%m-%d %H:%M:%S", &t))
        text[0] = 0;
}

/* Says what the store has when the span has nothing. */
static bool no_samples(struct store *s, const char *at, struct error *err)
{
    struct store_usage u;
    char first[32], last[32];
    if (!s->kind->usage(s, &u, err))
        return false;
    error_set(err, "the store has no samples of %s", at);
    if (u.windows == 0)
        return error_hint(err, "the store is empty: is stoke daemon running?");
    write_time(u.first, first, sizeof first);
    write_time(u.last, last, sizeof last);
    return error_hint(err, "it has %s to %s", first, last);
}

static struct profile *read_span(const struct load_settings *settings, struct store *s,
                                 const char *at, struct error *err)
{
    struct store_span span;
    struct builder b;
    struct profile *p = NULL;
    if (!history_parse(at, os_clock_real(), &span, err))
        return NULL;
    if (!builder_init(&b, settings->keep ? BUILD_KEEP : BUILD_COUNT)) {
        error_memory(err);
        return NULL;
    }
    b.modules_alike = settings->modules_alike;
    bool ok = s->kind->read(s, &span, &b, err);
    if (ok && b.profile->sample_count == 0 && !settings->import.empty)
        ok = no_samples(s, at, err);
    if (ok)
        p = builder_finish(&b, err);
    builder_deinit(&b);
    return p;
}

static struct store *open_store(const char *location, struct error *err)
{
    char room[4096];
    if (!location)
        location = store_default_location(STORE_READ, room, sizeof room);
    return store_open(location, STORE_READ, err);
}

/* What a day costs, from the span that the store has. */
static double bytes_per_day(const struct store_usage *u)
{
    double span = (double)(u->last - u->first) / (double)STORE_SECOND;
    return span > 0 ? (double)u->bytes / span * (double)DAY : 0;
}

static void write_usage(const struct store_usage *u, struct output *o)
{
    char first[32] = "", last[32] = "";
    double rows = u->rows ? (double)u->rows : 1;
    write_time(u->first, first, sizeof first);
    write_time(u->last, last, sizeof last);
    output_format(o, "time       %s to %s\n", u->windows ? first : "", last);
    output_format(o, "windows    %llu\n", (unsigned long long)u->windows);
    output_format(o, "samples    %llu, %llu lost\n", (unsigned long long)u->samples,
                  (unsigned long long)u->lost);
    output_format(o, "rows       %llu, %.2f bytes each\n", (unsigned long long)u->rows,
                  (double)u->data_bytes / rows);
    output_format(o, "distinct   %llu stacks, %llu frames, %llu series\n",
                  (unsigned long long)u->stacks, (unsigned long long)u->frames,
                  (unsigned long long)u->series);
    output_format(o, "file       %.1f MB, %.2f bytes per row, %.1f MB per day so far\n",
                  (double)u->bytes / 1e6, (double)u->bytes / rows,
                  bytes_per_day(u) / 1e6);
}

/* --- Triggers ------------------------------------------------------------------------- */

#define TRIGGERS_SHOWN 10
#define MINUTE ((uint64_t)60)

struct trigger {
    uint64_t from, to; /* seconds: of minutes */
    char name[64];     /* "cpu" */
    char text[96];     /* "cpu 97 %" */
};

struct triggers {
    struct trigger last[TRIGGERS_SHOWN]; /* of number n: at n % TRIGGERS_SHOWN */
    uint64_t count;
};

/* Minutes that follow one another are one recording. */
static void add_trigger(struct triggers *t, uint64_t second, struct str name,
                        int64_t value, struct str unit)
{
    for (size_t i = 0; i < TRIGGERS_SHOWN && i < t->count; i++)
        if (t->last[i].to == second && str_equal(str_of(t->last[i].name), name)) {
            t->last[i].to += MINUTE;
            return;
        }
    struct trigger *to = &t->last[t->count++ % TRIGGERS_SHOWN];
    to->from = second;
    to->to = second + MINUTE;
    format_text(to->name, sizeof to->name, "%.*s", STR_ARG(name));
    format_text(to->text, sizeof to->text, "%.*s %lld %.*s", STR_ARG(name),
                (long long)value, STR_ARG(unit));
}

static bool find_triggers(void *context, const struct store_metric_block *b)
{
    const struct str prefix = STR("trigger.");
    for (size_t k = 0; k < STORE_BLOCK_VALUES; k++)
        for (size_t i = 0; i < b->count; i++) {
            const struct store_metric *m = &b->items[i];
            if (m->values[k] != STORE_NO_VALUE && str_starts(m->name, prefix))
                add_trigger(context, b->start + k * b->step,
                            str_skip(m->name, prefix.len), m->values[k], m->unit);
        }
    return true;
}

static bool write_triggers(struct store *s, const struct store_usage *u, struct output *o,
                           struct error *err)
{
    struct store_span span = {u->first - u->first % (MINUTE * STORE_SECOND),
                              u->last + STORE_SECOND};
    struct triggers t = {.count = 0};
    if (u->windows &&
        !s->kind->read_metrics(s, &span, (uint32_t)MINUTE, find_triggers, &t, err))
        return false;
    if (t.count)
        output_format(o, "triggers   %llu\n", (unsigned long long)t.count);
    for (uint64_t i = t.count > TRIGGERS_SHOWN ? t.count - TRIGGERS_SHOWN : 0;
         i < t.count; i++) {
        const struct trigger *one = &t.last[i % TRIGGERS_SHOWN];
        char time[32];
        write_time(one->from * STORE_SECOND, time, sizeof time);
        output_format(o, "           %.16s  %s\n", time, one->text);
    }
    return true;
}

bool history_print_usage(const char *location, struct error *err)
{
    struct store_usage u = {0};
    struct output o = OUTPUT_BUFFER;
    struct store *s = open_store(location, err);
    bool ok = s && s->kind->usage(s, &u, err);
    if (ok) {
        if (u.last < u.first)
            u.last = u.first;
        write_usage(&u, &o);
        ok = write_triggers(s, &u, &o, err);
    }
    if (ok) {
        ok = message_lines(output_contents(&o)) ||
             error_set(err, "cannot write the output");
    }
    output_deinit(&o);
    store_close(s);
    return ok;
}

struct profile *history_load(const struct load_settings *settings, const char *at,
                             struct error *err)
{
    struct store *s = open_store(settings->history.store, err);
    if (!s)
        return NULL;
    struct profile *p = read_span(settings, s, at, err);
    store_close(s);
    return p;
}
