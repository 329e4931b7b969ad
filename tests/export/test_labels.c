/* SPDX-License-Identifier: Apache-2.0 */
/* Labels that are written are read back: generated label sets, through pprof, speedscope
 * and .stoke, and from pprof to pprof. */
#include "export/exporter.h"
#include "import/importer.h"
#include "model/sample_labels.h"
#include "unit.h"

#define SAMPLES 6000
#define LABELS_A_SAMPLE 6

static uint32_t state_of_random = 12345;

static uint32_t any(uint32_t limit)
{
    state_of_random = state_of_random * 1664525 + 1013904223;
    return (state_of_random >> 8) % limit;
}

/* Text with what formats may trip over, though always UTF-8. */
static struct str any_text(char *out)
{
    static const char *const pieces[] = {"",   "a",      "=",   " ",   "\n",   "\t", "\"",
                                         "\\", "\x01",   ";",   "é",   "日",   "0",  "[",
                                         "]",  "thread", "pid", "web", "\x7f", ",",  "{"};
    size_t length = 0;
    for (uint32_t n = any(5); n > 0; n--) {
        const char *piece = pieces[any(sizeof pieces / sizeof *pieces)];
        memcpy(out + length, piece, strlen(piece));
        length += strlen(piece);
    }
    if (any(20) == 0)
        out[length++] = 0;
    return (struct str){out, length};
}

static label_id any_label(struct builder *b)
{
    static const int64_t numbers[] = {0, 1, -1, INT64_MAX, INT64_MIN, 4096, 77};
    char key[64], value[64];
    struct str name = any_text(key);
    if (str_equal(name, STR("thread")) || str_equal(name, STR("pid")))
        name = STR("x"); /* those would be read as the sample's thread */
    if (any(2))
        return builder_label_text(b, name, any_text(value));
    int64_t number = any(3) ? (int64_t)any(50) : numbers[any(7)];
    return builder_label_number(b, name, number, any(2) ? STR("") : any_text(value));
}

/* Each sample has a stack and a thread that no other has. */
static struct profile *generated(void)
{
    struct builder b;
    struct error err;
    assert_true(builder_init(&b, BUILD_COUNT));
    for (uint32_t i = 0; i < SAMPLES; i++) {
        label_id labels[LABELS_A_SAMPLE + 1];
        size_t count = any(LABELS_A_SAMPLE);
        char name[20];
        struct str text = {name, (size_t)snprintf(name, sizeof name, "f%u", i)};
        struct sample s = {.time = TIME_NONE, .cpu = CPU_NONE, .count = 1, .weight = 1};
        s.event = builder_event(&b, STR("samples"), UNIT_COUNT);
        s.stack = builder_push(&b, 0, builder_named_frame(&b, text));
        if (any(2))
            s.thread = builder_thread(&b, any(2) ? (int64_t)any(3) : ID_NONE,
                                      any(2) ? (int64_t)any(3) : ID_NONE, STR("java"));
        for (size_t k = 0; k < count; k++)
            labels[k] = any_label(&b);
        if (count && any(4) == 0)
            labels[count++] = labels[0];
        builder_add_labelled(&b, &s, builder_label_set(&b, labels, count));
    }
    struct profile *p = builder_finish(&b, &err);
    assert_non_null(p);
    builder_deinit(&b);
    return p;
}

static struct profile *converted(const struct profile *p, const char *format)
{
    struct export_options options = {.tree.threads = THREAD_TID};
    struct import_options everything = {.lines = true};
    struct output out = OUTPUT_BUFFER;
    struct error err = {.message = ""};
    struct builder b;
    assert_true(exporter_named(str_of(format))->write(p, &options, &out, &err));
    struct source in = source_of(output_contents(&out), STR("memory"));
    assert_true(builder_init(&b, BUILD_COUNT));
    if (!import_read(importer_named(str_of(format)), &in, &everything, &b, &err))
        fail_msg("%s", err.message);
    struct profile *read = builder_finish(&b, &err);
    builder_deinit(&b);
    source_deinit(&in);
    output_deinit(&out);
    assert_non_null(read);
    assert_int_equal(read->facts.warning_count, 0);
    return read;
}

static bool same_label(const struct profile *p, label_id a, const struct profile *q,
                       label_id b)
{
    const struct sample_label *x = &p->labels[a], *y = &q->labels[b];
    return str_equal(profile_string(p, x->key), profile_string(q, y->key)) &&
           str_equal(profile_string(p, x->text), profile_string(q, y->text)) &&
           str_equal(profile_string(p, x->unit), profile_string(q, y->unit)) &&
           x->is_number == y->is_number && x->number == y->number;
}

/* The same labels, each as often. */
static bool same_sets(const struct profile *p, label_set_id a, const struct profile *q,
                      label_set_id b)
{
    label_id left[LABELS_MAX];
    size_t count = 0;
    for (; b; b = q->label_sets[b].parent)
        left[count++] = q->label_sets[b].label;
    for (; a; a = p->label_sets[a].parent) {
        size_t i = 0;
        while (i < count && !same_label(p, p->label_sets[a].label, q, left[i]))
            i++;
        if (i == count)
            return false;
        left[i] = left[--count];
    }
    return count == 0;
}

/* The row whose stack is the frame of that name. */
static size_t row_of(const struct profile *p, struct str name, const size_t *by_name)
{
    return by_name[strings_find(&p->strings, name)];
}

static size_t *rows_by_name(const struct profile *p)
{
    size_t *rows = calloc(p->strings.count, sizeof *rows);
    for (size_t i = 0; i < p->sample_count; i++)
        rows[p->frames[p->stacks[p->samples[i].stack].frame].name] = i;
    return rows;
}

static void assert_same_labels(const struct profile *p, const struct profile *q)
{
    size_t *rows = rows_by_name(q);
    assert_int_equal(p->sample_count, q->sample_count);
    for (size_t i = 0; i < p->sample_count; i++) {
        const struct sample *s = &p->samples[i];
        struct str name = profile_string(p, p->frames[p->stacks[s->stack].frame].name);
        size_t row = row_of(q, name, rows);
        const struct thread *t = &p->threads[s->thread];
        const struct thread *u = &q->threads[q->samples[row].thread];
        assert_true(t->pid == u->pid && t->tid == u->tid);
        label_set_id a = profile_labels(p, i), b = profile_labels(q, row);
        if (!same_sets(p, a, q, b))
            fail_msg("sample %zu has other labels", i);
    }
    free(rows);
}

static void pprof_keeps_labels(void **state)
{
    (void)state;
    struct profile *p = generated();
    assert_true(p->label_set_count > 3000);
    struct profile *q = converted(p, "pprof"), *again = converted(q, "pprof");
    assert_same_labels(p, q);
    assert_same_labels(q, again);
    profile_destroy(again);
    profile_destroy(q);
    profile_destroy(p);
}

static void speedscope_keeps_labels(void **state)
{
    (void)state;
    struct profile *p = generated(), *q = converted(p, "speedscope");
    assert_same_labels(p, q);
    profile_destroy(q);
    profile_destroy(p);
}

static void stoke_keeps_labels(void **state)
{
    (void)state;
    struct profile *p = generated(), *q = converted(p, "stoke");
    assert_same_labels(p, q);
    assert_int_equal(p->label_set_count, q->label_set_count);
    profile_destroy(q);
    profile_destroy(p);
}

int main(void)
{
    const struct CMUnitTest units[] = {UNIT(pprof_keeps_labels),
                                       UNIT(speedscope_keeps_labels),
                                       UNIT(stoke_keeps_labels)};
    return UNITS_RUN(units);
}
