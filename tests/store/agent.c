/* SPDX-License-Identifier: Apache-2.0 */
/* A simulated agent: writes windows with known samples to a store.
 *
 *   agent LOCATION HOST WINDOWS SAMPLES [SPOOL]
 *
 * Prints "window N samples M" after each window that is stored, the sum so far. With SPOOL it then
 * waits until that folder has no block any more. */
#include "model/sample_labels.h"
#include "os/machine.h"
#include "store/store.h"
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define START ((uint64_t)1790035170) /* half a minute before midnight, UTC */
#define LENGTH 10
#define TICK_US 10000
#define TICKS_MOST 30000 /* 5 minutes */

static uint64_t random_state;

static unsigned next_random(unsigned below)
{
    random_state = random_state * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)((random_state >> 33) % below);
}

/* Some frames have no name: half of these get one with a later window. */
static frame_id random_frame(struct builder *b)
{
    char name[32];
    unsigned which = next_random(40);
    struct frame f = {
        .module = which % 3 ? builder_module(b, STR("/usr/bin/program"), STR("00ff00ff"))
                            : builder_module(b, STR("/lib/a.so"), STR("")),
        .kind = which % 11 ? FRAME_USER : FRAME_KERNEL,
        .line = which % 5};
    format_text(name, sizeof name, "function '%u' \\ \"\n%u", which, which);
    if (which % 4)
        f.name = builder_string(b, str_of(name));
    else
        f.offset = 16 + which * 16;
    return builder_frame(b, &f);
}

static label_set_id random_labels(struct builder *b, const char *host)
{
    char service[32];
    label_id labels[3];
    format_text(service, sizeof service, "service%u", next_random(8));
    labels[0] = builder_label_text(b, STR("host"), str_of(host));
    labels[1] = builder_label_text(b, STR("service"), str_of(service));
    labels[2] = builder_label_number(b, STR("shard"), next_random(2), STR("id"));
    return builder_label_set(b, labels, 3);
}

static struct profile *make_window(uint64_t start, size_t samples, const char *host)
{
    struct builder b;
    struct error err;
    if (!builder_init(&b, BUILD_KEEP))
        return NULL;
    for (size_t i = 0; i < samples; i++) {
        struct sample s = {.time = start + next_random(LENGTH * 1000) * 1000000ull,
                           .cpu = CPU_NONE,
                           .count = 1 + next_random(2)};
        for (unsigned depth = next_random(30); depth; depth--)
            s.stack = builder_push(&b, s.stack, random_frame(&b));
        s.weight = (double)s.count * 52631578;
        s.event = builder_event(&b, STR("cpu-clock"), UNIT_NANOSECONDS);
        s.thread = builder_thread(&b, 1, 1, next_random(2) ? STR("main") : STR("worker"));
        builder_add_labelled(&b, &s, random_labels(&b, host));
    }
    struct profile *p = builder_finish(&b, &err);
    builder_deinit(&b);
    return p;
}

static uint64_t count_of(const struct profile *p)
{
    uint64_t count = 0;
    for (size_t i = 0; i < p->sample_count; i++)
        count += p->samples[i].count;
    return count;
}

static bool add_window(struct store *s, uint64_t number, size_t samples, const char *host,
                       uint64_t *sum, struct error *err)
{
    const struct store_name name = {STR("/usr/bin/program"), STR("00ff00ff"), 16, 400,
                                    STR("late name")};
    uint64_t start = (START + number * LENGTH) * STORE_SECOND;
    char done[STORE_DONE_SIZE];
    struct profile *p = make_window(start, samples, host);
    struct store_window w = {.profile = p,
                             .start = start,
                             .end = start + LENGTH * STORE_SECOND,
                             .rate = 19,
                             .lost = number % 3,
                             .names = &name,
                             .name_count = number == 1};
    bool ok = p && s->kind->fix(s, done, sizeof done, err) && s->kind->add(s, &w, err);
    if (done[0])
        printf("note %s\n", done);
    if (ok)
        *sum += count_of(p);
    profile_destroy(p);
    return ok;
}

static void count_blocks(void *context, struct str name)
{
    *(unsigned *)context +=
        str_ends(name, STR(".names")) || str_ends(name, STR(".samples"));
}

static bool wait_for_spool(const char *spool)
{
    unsigned blocks = 1;
    for (int i = 0; i < TICKS_MOST && blocks; i++) {
        blocks = 0;
        os_folder_each(spool, count_blocks, &blocks);
        if (blocks)
            usleep(TICK_US);
    }
    return blocks == 0;
}

int main(int argc, char **argv)
{
    struct error err = {.message = "usage"};
    struct store *s = argc >= 5 ? store_open(argv[1], STORE_WRITE, &err) : NULL;
    bool ok = s != NULL;
    uint64_t sum = 0, windows = s ? strtoull(argv[3], NULL, 10) : 0;
    random_state = s ? (unsigned char)argv[2][strlen(argv[2]) - 1] : 0;
    setvbuf(stdout, NULL, _IOLBF, 0);
    for (uint64_t i = 0; ok && i < windows; i++) {
        ok = add_window(s, i, strtoull(argv[4], NULL, 10), argv[2], &sum, &err);
        if (ok)
            printf("window %llu samples %llu\n", (unsigned long long)i,
                   (unsigned long long)sum);
    }
    if (!ok)
        fprintf(stderr, "agent: %s: %s\n", err.file, err.message);
    if (ok && argc > 5 && !wait_for_spool(argv[5]))
        ok = fprintf(stderr, "agent: the spool is not empty after 5 minutes\n") < 0;
    store_close(s);
    return ok ? 0 : 1;
}
