/* SPDX-License-Identifier: Apache-2.0 */
/* The engine without a command line: it records this machine, merges that with a file,
 * filters, writes a table, and prints nothing by itself. */
#include "engine/record.h"
#include "engine/save.h"
#include "export/table.h"
#include "transform/transform.h"
#include "unit.h"
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

static char folder[] = "/tmp/stoke-engine-XXXXXX";
static char data[64], folded[64], table[64];
static unsigned notes;
static struct error why;

static void count_note(void *context, const char *text)
{
    (void)context;
    notes += text[0] != 0;
}

static const struct engine_report report = {.note = count_note};

/* A process to sample. */
static pid_t spin(void)
{
    pid_t child = fork();
    if (child == 0)
        for (volatile unsigned i = 0;; i++)
            ;
    return child;
}

static bool record_spinning(void)
{
    struct engine_record_settings s = {
        .duration = 1000000000, .path = data, .sampling = {.rate = 999}};
    struct load_settings load = {.quiet = true};
    pid_t child = spin();
    s.targets.pids.items[s.targets.pids.count++] = (uint32_t)child;
    struct profile *p = engine_record(&s, &load, &report, &why);
    bool ok = p && p->facts.samples > 0;
    profile_destroy(p);
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    return ok;
}

/* The recording and the file as one profile, of which one function's stacks are left, as a
 * table. The two notes: which events were merged, and that their units differ. */
static bool merge_and_save(double *weight)
{
    struct load_settings load = {.import = {.samples = true}};
    struct transform_options only = {.focus = {{"^from_file$"}, 1, false}};
    struct table_options options = {.limit = 10};
    struct export_options export = {.table = &options};
    char *files[] = {data, folded};
    struct profile *p = engine_load(&load, 2, files, &report, &why);
    const struct transform *emptied;
    p = p ? transform_apply(&only, p, &emptied, &why) : NULL;
    bool ok = p && save_profile(exporter_named(STR("table")), p, &export, table, &why);
    for (size_t i = 0; ok && i < p->sample_count; i++)
        *weight += p->samples[i].weight;
    profile_destroy(p);
    return ok;
}

static void records_merges_and_saves(void **state)
{
    char text[4096] = "", said[64] = "";
    double weight = 0;
    (void)state;
    FILE *outputs = tmpfile(); /* what the process prints meanwhile */
    int out = dup(1), err = dup(2);
    fflush(NULL);
    dup2(fileno(outputs), 1);
    dup2(fileno(outputs), 2);
    bool recorded = record_spinning();
    bool saved = recorded && merge_and_save(&weight);
    fflush(NULL);
    dup2(out, 1);
    dup2(err, 2);
    rewind(outputs);
    size_t printed = fread(said, 1, sizeof said - 1, outputs);
    fclose(outputs);
    if (!recorded && (why.message[0] == 0 || strstr(why.message, "perf_event")))
        skip(); /* the kernel does not allow it */
    if (!saved)
        fail_msg("%s: %s", why.file, why.message);
    if (printed)
        fail_msg("it printed \"%s\"", said);
    assert_double(weight, 7);
    assert_int_equal(notes, 1);
    FILE *file = fopen(table, "r");
    assert_non_null(file);
    assert_true(fread(text, 1, sizeof text - 1, file) > 0);
    fclose(file);
    assert_non_null(strstr(text, "from_file"));
    assert_null(strstr(text, "spin"));
}

int main(void)
{
    const struct CMUnitTest units[] = {UNIT(records_merges_and_saves)};
    if (!mkdtemp(folder))
        return 1;
    snprintf(data, sizeof data, "%s/rec.data", folder);
    snprintf(folded, sizeof folded, "%s/f.folded", folder);
    snprintf(table, sizeof table, "%s/table.txt", folder);
    FILE *file = fopen(folded, "w");
    fputs("main;from_file 7\nmain;other 2\n", file);
    fclose(file);
    int failed = UNITS_RUN(units);
    unlink(data);
    unlink(folded);
    unlink(table);
    rmdir(folder);
    return failed;
}
