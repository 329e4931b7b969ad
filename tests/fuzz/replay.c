/* Runs a fuzz driver with files, without libFuzzer: replay FILE-OR-FOLDER... Each file
 * is a test and is passed to every variant of the driver. */
#include "fuzz.h"
#include <ftw.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define HANG_SECONDS 120
#define FILE_MAX ((size_t)64 << 20)

static unsigned count;
static char current[5000]; /* the current input, for crash reports */

static void report_and_exit(int number)
{
    const char *how = number == SIGALRM ? "hung: " : "crashed: ";
    if (write(STDERR_FILENO, how, strlen(how)) > 0 &&
        write(STDERR_FILENO, current, strlen(current)) > 0)
        (void)!write(STDERR_FILENO, "\n", 1);
    signal(number, SIG_DFL);
    raise(number);
}

/* Reads *size bytes, or as many as there are. */
static uint8_t *read_file(const char *path, size_t *size)
{
    FILE *file = fopen(path, "rb");
    uint8_t *bytes = malloc(*size ? *size : 1);
    *size = file && bytes ? fread(bytes, 1, *size, file) : 0;
    if (file)
        fclose(file);
    return bytes;
}

static int replay(const char *path, const struct stat *st, int kind, struct FTW *ftw)
{
    (void)ftw;
    if (kind != FTW_F)
        return 0;
    /* a buffer of FILE_MAX for each file takes a sanitizer longer than most drivers take */
    size_t size = (size_t)st->st_size < FILE_MAX ? (size_t)st->st_size : FILE_MAX;
    uint8_t *bytes = read_file(path, &size);
    for (size_t v = 0; bytes && v < fuzz_variants(); v++) {
        size_t used = size;
        snprintf(current, sizeof current, "%s: %s", fuzz_choose(v, bytes, &used), path);
        /* A copy of the exact size, so that a sanitizer detects reads beyond it. */
        uint8_t *exact = malloc(used ? used : 1);
        memcpy(exact, bytes, used);
        alarm(HANG_SECONDS);
        LLVMFuzzerTestOneInput(exact, used);
        free(exact);
    }
    free(bytes);
    printf("ok %u - %s\n", ++count, path);
    fflush(stdout);
    return 0;
}

int main(int argc, char **argv)
{
    static const int signals[] = {SIGALRM, SIGABRT, SIGSEGV, SIGBUS, SIGFPE};
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++)
        signal(signals[i], report_and_exit);
    for (int i = 1; i < argc; i++)
        if (access(argv[i], F_OK) == 0)
            nftw(argv[i], replay, 20, FTW_PHYS);
        else
            printf("ok %u - %s # SKIP not found\n", ++count, argv[i]);
    printf("1..%u\n", count);
    return 0;
}
