/* SPDX-License-Identifier: Apache-2.0 */
/* The engine without a command line records, merges, filters and saves, and is silent. */
#include "engine/record.h"
#include "engine/save.h"
#include "export/table.h"
#include "transform/transform.h"
#include "unit.h"
#include <unistd.h>

static struct error why;
static unsigned notes;

static void count_note(void *context, const char *text)
{
    notes += !context && text[0];
}

static bool record_and_merge(char *data, const char *out)
{
    struct engine_report report = {.note = count_note};
    struct engine_record_settings all = {.duration = (uint64_t)1e9, .path = data};
    struct load_settings load = {.import = {.samples = true}};
    struct transform_options only = {.filter = {.labels = {{"thread=io pool"}, 1}}};
    struct export_options export = {.table = &(struct table_options){.limit = 10}};
    char *files[] = {data, (char[]){TESTS_FOLDER "/import/go/labels.in"}};
    const struct transform *emptied;
    all.targets.everyone = true, all.sampling.rate = 99;
    struct profile *p = engine_record(&all, &load, &report, &why);
    bool recorded = p && p->facts.samples > 0;
    profile_destroy(p);
    p = recorded ? engine_load(&load, 2, files, &report, &why) : NULL;
    p = p ? transform_apply(&only, p, &emptied, &why) : NULL;
    bool ok = p && save_profile(exporter_named(STR("table")), p, &export, out, &why);
    profile_destroy(p);
    return ok;
}

static void records_merges_and_saves(void **state)
{
    char data[] = "/tmp/st-XXXXXX", out[] = "/tmp/st-XXXXXX", table[4096] = "";
    int shown[] = {dup(1), dup(2)}, printed = fileno(tmpfile());
    bool made = !*state && mkstemp(data) >= 0 && mkstemp(out) >= 0 && !fflush(NULL) &&
                dup2(printed, 1) == 1 && dup2(printed, 2) == 2;
    bool ok = made && record_and_merge(data, out);
    fflush(NULL), dup2(shown[0], 1), dup2(shown[1], 2);
    FILE *file = fopen(out, "r");
    ok = ok && fread(table, 1, sizeof table - 1, file) > 0;
    fclose(file), unlink(data), unlink(out);
    assert_int_equal(lseek(printed, 0, SEEK_END), 0); /* it printed nothing */
    if (made && !ok && strstr(why.message, "perf_event"))
        skip(); /* the kernel does not allow it */
    if (!ok || !strstr(table, "alloc: 3 in 3"))
        fail_msg("%s: %s; %u notes; table: %s", why.file, why.message, notes, table);
}

int main(void)
{
    const struct CMUnitTest units[] = {UNIT(records_merges_and_saves)};
    return UNITS_RUN(units);
}
