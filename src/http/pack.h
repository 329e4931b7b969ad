/* SPDX-License-Identifier: Apache-2.0 */
/* Compression of a reply, if the client accepts one: zstd or gzip. */
#ifndef STOKE_HTTP_PACK_H
#define STOKE_HTTP_PACK_H

#include "base/output.h"

/* Replaces the body and sets *encoding if that makes it smaller. `accepted` is the field
 * Accept-Encoding. */
void http_pack(struct output *body, const char *type, const char *accepted,
               const char **encoding);

#endif
