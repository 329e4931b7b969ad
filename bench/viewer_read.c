/* SPDX-License-Identifier: Apache-2.0 */
/* Reads a file with the native build of the viewer's core, for comparison with the WebAssembly:
 * viewer_read FILE [PIECE]
 *
 * Prints the CPU seconds of each step, like viewer_read.mjs. */
#include "web/core/core.h"
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define PIECE ((size_t)8 << 20)

static double seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static void step(const char *name)
{
    static double last;
    double now = seconds();
    printf("%s %.3f\n", name, now - last);
    last = seconds();
}

static struct profile *read_file(const char *path, struct error *err)
{
    struct loading l = {0};
    FILE *file = fopen(path, "rb");
    if (!file || !loading_begin(&l, str_of(path), err))
        return NULL;
    for (bool last = false; !last;) {
        char *room = loading_room(&l, PIECE);
        size_t got = room ? fread(room, 1, PIECE, file) : 0;
        last = got == 0;
        if (!room || !loading_feed(&l, got, last, err))
            return NULL;
    }
    fclose(file);
    return loading_finish(&l, err);
}

int main(int argc, char **argv)
{
    struct error err = {.location = LOCATION_NONE};
    struct shown shown;
    struct chart in_time, heavy;
    struct tree down;
    step("start");
    struct profile *p = argc > 1 ? read_file(argv[1], &err) : NULL;
    if (!p) {
        fprintf(stderr, "%s\n", err.message);
        return 1;
    }
    step("read");
    if (!shown_init(&shown, p, &(struct shown_options){.by_process = true}, &err))
        return 1;
    step("show");
    if (!chart_of_time(&in_time, &shown, p, NULL, &err))
        return 1;
    step("time");
    if (!chart_need(&in_time, 0, in_time.rows, &err))
        return 1;
    step("lanes");
    const struct tree_options by_size = {.kind = TREE_DOWN, .order = ORDER_SIZE};
    if (!tree_init(&down, &shown, &by_size, &err) ||
        !chart_of_tree(&heavy, &down, false, &err))
        return 1;
    step("heavy");
    printf("boxes %u\n", in_time.count);
    return 0;
}
