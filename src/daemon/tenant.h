/* SPDX-License-Identifier: Apache-2.0 */
/* What a tenant of a server may see: the samples with its label, and what belongs to them. */
#ifndef STOKE_DAEMON_TENANT_H
#define STOKE_DAEMON_TENANT_H

#include "http/server.h"
#include "model/profile.h"

/* A new profile of the samples with the label, without names, labels, events and facts of other
 * samples. Destroys p, which may be NULL. NULL with err set when out of memory. */
struct profile *daemon_tenant_restrict(const struct http_tenant *t, struct profile *p,
                                       struct error *err);

#endif
