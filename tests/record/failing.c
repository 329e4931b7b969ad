/* Preloaded into the recorder: from the FAIL_AT-th write to a file on, all writes fail with the
 * errno FAIL_WITH; with FAIL_SHORT, the first of them after half of its bytes. For
 * tests/record_faults.py. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/types.h>

static int number(const char *name)
{
    const char *text = getenv(name);
    return text ? atoi(text) : 0;
}

ssize_t pwrite64(int fd, const void *bytes, size_t size, off_t offset)
{
    static ssize_t (*real)(int, const void *, size_t, off_t);
    static int calls;
    if (!real)
        *(void **)&real = dlsym(RTLD_NEXT, "pwrite64");
    if (++calls < number("FAIL_AT"))
        return real(fd, bytes, size, offset);
    if (calls == number("FAIL_AT") && number("FAIL_SHORT") && size > 1)
        return real(fd, bytes, size / 2, offset);
    errno = number("FAIL_WITH");
    return -1;
}

ssize_t pwrite(int fd, const void *bytes, size_t size, off_t offset)
{
    return pwrite64(fd, bytes, size, offset);
}
