/* SPDX-License-Identifier: Apache-2.0 */
/* OpenTelemetry's profiles by HTTP: the message ExportProfilesServiceRequest.
 *
 * Its definition is not final. Samples are read in the field numbers of versions 1.8 and 1.9, and
 * in those of 1.10 and 1.11; all samples of a request say which they are. Version 1.7 and
 * earlier are refused. */
#ifndef STOKE_INGEST_OTLP_H
#define STOKE_INGEST_OTLP_H

#include "ingest/ingest.h"

/* Adds the profiles of a request. A profile with the same profile_id in the same body as an
 * earlier one is left out. False with err set if the request is refused. */
bool ingest_otlp(struct ingest *in, struct str body, struct error *err);

#endif
