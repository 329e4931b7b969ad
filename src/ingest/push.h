/* SPDX-License-Identifier: Apache-2.0 */
/* Pyroscope's entrance push.v1.PusherService/Push: series of profiles in pprof's format, as a
 * message of protocol buffers:
 *
 *   PushRequest       1 series             RawProfileSeries  1 labels  2 samples
 *   LabelPair         1 name  2 value      RawSample         1 raw_profile (gzip)  2 ID */
#ifndef STOKE_INGEST_PUSH_H
#define STOKE_INGEST_PUSH_H

#include "ingest/ingest.h"

/* Adds the profiles of a request. A profile with the same labels, ID and content as an earlier
 * one is left out. False with err set if the request is refused. */
bool ingest_push(struct ingest *in, struct str body, struct error *err);

#endif
