/* SPDX-License-Identifier: Apache-2.0 */
#include "http/library.h"
#include <dlfcn.h>

#define FILE_NAME "libmicrohttpd.so.12"

const struct http_library *http_library;

/* POSIX returns functions as object pointers here, which C does not allow to convert. */
static bool find(void *handle, const char *name, void *function)
{
    void *found = dlsym(handle, name);
    memcpy(function, &found, sizeof found);
    return found != NULL;
}

bool http_library_load(struct error *err)
{
    static struct http_library functions;
    if (http_library)
        return true;
    void *handle = dlopen(FILE_NAME, RTLD_NOW | RTLD_LOCAL);
    bool whole = handle != NULL;
#define FIND(name) whole = whole && find(handle, "MHD_" #name, &functions.name);
    HTTP_LIBRARY_FUNCTIONS(FIND)
#undef FIND
    if (whole) {
        http_library = &functions;
        return true;
    }
    const char *reason = dlerror();
    error_set(err, "cannot load %s, which serves HTTP: %s", FILE_NAME,
              reason ? reason : "a function is missing");
    return error_hint(err, "install the package libmicrohttpd12");
}
