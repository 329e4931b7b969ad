/* Runs code outside all files, like a JIT, and describes it in /tmp/perf-PID.map. The
 * tests of hostile maps replace that map.
 *
 *   jit MILLISECONDS
 *   jit MILLISECONDS gone: runs until a process of the same working directory (the recorder of
 *                          the test) holds the map open, too, for 10 s of CPU time at most,
 *                          and deletes the map at its end
 *   jit MILLISECONDS none: writes no map */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

/* mov $10000000,%ecx; 1: dec %ecx; jnz 1b; ret */
static const unsigned char code[] = {0xb9, 0x80, 0x96, 0x98, 0x00,
                                     0xff, 0xc9, 0x75, 0xfc, 0xc3};

/* Whether a link of /proc leads to the path. */
static int leads_to(const char *link, const char *path)
{
    char target[4096];
    ssize_t n = readlink(link, target, sizeof target - 1);
    return n > 0 && (target[n] = 0, strcmp(target, path) == 0);
}

static int has_open(int pid, const char *path)
{
    char folder[64], link[400];
    snprintf(folder, sizeof folder, "/proc/%d/fd", pid);
    DIR *files = opendir(folder);
    int found = 0;
    for (struct dirent *d; files && !found && (d = readdir(files));) {
        snprintf(link, sizeof link, "%s/%s", folder, d->d_name);
        found = leads_to(link, path);
    }
    if (files)
        closedir(files);
    return found;
}

/* Whether a process of this directory has the map open: others, of the whole machine, may open
 * it as well. */
static int is_held(const char *path)
{
    char here[4096], link[64];
    DIR *processes = getcwd(here, sizeof here) ? opendir("/proc") : NULL;
    int found = 0;
    for (struct dirent *d; processes && !found && (d = readdir(processes));) {
        int pid = atoi(d->d_name);
        snprintf(link, sizeof link, "/proc/%d/cwd", pid);
        found = pid > 0 && leads_to(link, here) && has_open(pid, path);
    }
    if (processes)
        closedir(processes);
    return found;
}

/* A recorder may not run for as long as this program does, on a busy machine. */
static int was_opened(int watch, const char *path)
{
    char events[512];
    return watch < 0 || (read(watch, events, sizeof events) > 0 && is_held(path));
}

int main(int argc, char **argv)
{
    int left = argc > 1 ? atoi(argv[1]) : 100;
    void *room = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
                      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    char path[64];
    if (room == MAP_FAILED)
        return 1;
    memcpy(room, code, sizeof code);
    snprintf(path, sizeof path, "/tmp/perf-%d.map", (int)getpid());
    if (argc > 2 && strcmp(argv[2], "none") == 0)
        snprintf(path, sizeof path, "/dev/null");
    FILE *map = fopen(path, "w");
    if (!map)
        return 1;
    int gone = argc > 2 && strcmp(argv[2], "gone") == 0;
    int watch = gone ? inotify_init1(IN_NONBLOCK) : -1;
    if (gone && inotify_add_watch(watch, path, IN_OPEN) < 0)
        return 1;
    fprintf(map, "%llx 1000 compiled_at_run_time\n", (unsigned long long)(uintptr_t)room);
    fclose(map);
    clock_t end = clock() + left * (CLOCKS_PER_SEC / 1000),
            last = end + 10 * CLOCKS_PER_SEC;
    void (*run)(void);
    memcpy(&run, &room, sizeof run);
    while (clock() < end || (!was_opened(watch, path) && clock() < last))
        run();
    if (gone)
        unlink(path);
    printf("%d\n", (int)getpid());
    return 0;
}
