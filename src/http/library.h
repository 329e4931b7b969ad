/* SPDX-License-Identifier: Apache-2.0 */
/* libmicrohttpd, which is loaded when a server starts: with the libraries that it needs,
 * it would take as long to load as everything else that a command does at its start. */
#ifndef STOKE_HTTP_LIBRARY_H
#define STOKE_HTTP_LIBRARY_H

#include "base/error.h"
#include <microhttpd.h>

/* Its functions, without the prefix MHD_. */
#define HTTP_LIBRARY_FUNCTIONS(X)       \
    X(add_response_header)              \
    X(basic_auth_get_username_password) \
    X(create_response_from_buffer)      \
    X(create_response_from_callback)    \
    X(destroy_response)                 \
    X(free)                             \
    X(get_connection_values)            \
    X(get_daemon_info)                  \
    X(lookup_connection_value)          \
    X(queue_response)                   \
    X(resume_connection)                \
    X(start_daemon)                     \
    X(stop_daemon)                      \
    X(suspend_connection)

struct http_library {
/* A parameter that is declared cannot be in parentheses. NOLINTNEXTLINE */
#define HTTP_LIBRARY_MEMBER(name) __typeof__(MHD_##name) *name;
    HTTP_LIBRARY_FUNCTIONS(HTTP_LIBRARY_MEMBER)
#undef HTTP_LIBRARY_MEMBER
};

/* NULL before the library is loaded; afterwards it does not change. */
extern const struct http_library *http_library;

/* Loads the library, once. */
bool http_library_load(struct error *err);

#endif
