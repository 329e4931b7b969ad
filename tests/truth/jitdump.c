/* Runs code outside all files, overwrites it with other code, and describes both in
 * jit-PID.dump, in the format of perf's jitdump-specification.txt: first_code, then
 * second_code at the same address, then moved_code, which is first_code at another
 * address.
 *
 *   jitdump MILLISECONDS of each */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* mov $10000000,%ecx; 1: dec %ecx; jnz 1b; ret */
static const unsigned char code[] = {0xb9, 0x80, 0x96, 0x98, 0x00,
                                     0xff, 0xc9, 0x75, 0xfc, 0xc3};

struct header {
    uint32_t magic, version, size, machine, pad, pid;
    uint64_t time, flags;
};

struct load {
    uint32_t id, size;
    uint64_t time;
    uint32_t pid, tid;
    uint64_t mapped, address, code_size, index;
};

struct move {
    uint32_t id, size;
    uint64_t time;
    uint32_t pid, tid;
    uint64_t mapped, from, to, code_size, index;
};

struct lines {
    uint32_t id, size;
    uint64_t time, address, count;
    uint64_t at;
    uint32_t line, discriminator;
};

static uint64_t now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static void run(void *at, int milliseconds)
{
    void (*function)(void);
    clock_t end = clock() + milliseconds * (CLOCKS_PER_SEC / 1000);
    memcpy(&function, &at, sizeof function);
    while (clock() < end)
        function();
}

static void write_line(FILE *dump, void *at, const char *file, uint32_t line)
{
    size_t length = strlen(file) + 1;
    struct lines l = {.id = 2,
                      .size = (uint32_t)(sizeof l + length),
                      .time = now(),
                      .address = (uintptr_t)at,
                      .count = 1,
                      .at = (uintptr_t)at,
                      .line = line};
    fwrite(&l, sizeof l, 1, dump);
    fwrite(file, length, 1, dump);
}

static void load(FILE *dump, void *at, uint64_t index, const char *name)
{
    size_t length = strlen(name) + 1;
    memcpy(at, code, sizeof code);
    struct load l = {.id = 0,
                     .size = (uint32_t)(sizeof l + length + sizeof code),
                     .time = now(),
                     .pid = (uint32_t)getpid(),
                     .tid = (uint32_t)getpid(),
                     .mapped = (uintptr_t)at,
                     .address = (uintptr_t)at,
                     .code_size = sizeof code,
                     .index = index};
    fwrite(&l, sizeof l, 1, dump);
    fwrite(name, length, 1, dump);
    fwrite(code, sizeof code, 1, dump);
    fflush(dump);
}

static void move(FILE *dump, void *from, void *to, uint64_t index)
{
    memcpy(to, code, sizeof code);
    struct move m = {.id = 1,
                     .size = sizeof m,
                     .time = now(),
                     .pid = (uint32_t)getpid(),
                     .tid = (uint32_t)getpid(),
                     .mapped = (uintptr_t)to,
                     .from = (uintptr_t)from,
                     .to = (uintptr_t)to,
                     .code_size = sizeof code,
                     .index = index};
    fwrite(&m, sizeof m, 1, dump);
    fflush(dump);
}

int main(int argc, char **argv)
{
    int milliseconds = argc > 1 ? atoi(argv[1]) : 100;
    char path[64];
    snprintf(path, sizeof path, "jit-%d.dump", (int)getpid());
    FILE *dump = fopen(path, "w+");
    char *room = mmap(NULL, 8192, PROT_READ | PROT_WRITE | PROT_EXEC,
                      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (!dump || room == MAP_FAILED)
        return 1;
    struct header h = {.magic = 0x4A695444,
                       .version = 1,
                       .size = sizeof h,
                       .machine = 62,
                       .pid = (uint32_t)getpid(),
                       .time = now()};
    fwrite(&h, sizeof h, 1, dump);
    fflush(dump);
    /* this map shows the path of the dump to a recorder */
    if (mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fileno(dump), 0) ==
        MAP_FAILED)
        return 1;
    write_line(dump, room, "first.script", 7);
    load(dump, room, 1, "first_code");
    run(room, milliseconds);
    load(dump, room, 2, "second_code");
    run(room, milliseconds);
    move(dump, room, room + 4096, 1);
    run(room + 4096, milliseconds);
    printf("%d %llx\n", (int)getpid(), (unsigned long long)(uintptr_t)room);
    return fclose(dump) != 0;
}
