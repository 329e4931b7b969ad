/* SPDX-License-Identifier: Apache-2.0 */
/* Code without a file that runs for a moment, and the perf map that names it "jitted". The map is
 * removed at the end if there is an argument. */
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

/* mov ecx, 2^24; loop: dec ecx; jne loop; ret */
static const unsigned char code[] = {0xb9, 0, 0, 0, 1, 0xff, 0xc9, 0x75, 0xfc, 0xc3};

int main(int argc, char **argv)
{
    char name[64];
    void *at = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
                    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    struct timespec used = {0};
    snprintf(name, sizeof name, "/tmp/perf-%d.map", (int)getpid());
    FILE *map = fopen(name, "w");
    if (at == MAP_FAILED || !map)
        return 1;
    memcpy(at, code, sizeof code);
    fprintf(map, "%lx %zx jitted\n", (unsigned long)at, sizeof code);
    fclose(map);
    while (used.tv_sec == 0 && used.tv_nsec < 400000000) {
        ((void (*)(void))at)();
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
    }
    if (argc > 1)
        remove(name);
    (void)argv;
    puts(name);
    return 0;
}
