/* SPDX-License-Identifier: Apache-2.0 */
/* The dictionary of an OTLP request, to which its profiles refer by index: 0 is "none". */
#ifndef STOKE_INGEST_OTLP_TABLES_H
#define STOKE_INGEST_OTLP_TABLES_H

#include "codec/protobuf.h"
#include "import/runs.h"
#include "ingest/ingest.h"

/* An attribute: a text, or another value, which is not used. */
struct otlp_attribute {
    struct str key, text;
};

struct otlp_mapping {
    module_id module;
    uint32_t kind; /* of its frames */
    uint64_t start, end, offset;
};

/* Frames, outermost first, and the number of their run. */
struct otlp_location {
    uint32_t first, count, run;
};

struct otlp_tables {
    struct ingest *in;
    struct str *strings;
    struct otlp_attribute *attributes;
    struct otlp_mapping *mappings;
    string_id *functions; /* their names */
    struct otlp_location *locations;
    stack_id *stacks;
    frame_id *frames; /* of the locations */
    size_t string_count, attribute_count, mapping_count, function_count;
    size_t location_count, stack_count, frame_count;
    size_t string_cap, attribute_cap, mapping_cap, function_cap;
    size_t location_cap, stack_cap, frame_cap;
    struct trie sequences; /* of frames: a node numbers a run */
    struct runs runs;
    uint32_t *path; /* locations of a stack, leaf first */
    size_t path_cap;
};

/* Reads the dictionary of a request of `size` bytes. False with err set if it is damaged: also
 * if it refers to entries that do not exist. */
bool otlp_tables_read(struct otlp_tables *t, struct ingest *in,
                      struct proto_reader dictionary, size_t size, struct error *err);

/* The text with that index; empty if it does not exist. */
struct str otlp_string(const struct otlp_tables *t, uint64_t index);

/* Reads a KeyValue, of a resource or of the dictionary. */
bool otlp_attribute_read(const struct otlp_tables *t, struct proto_reader in,
                         struct otlp_attribute *a);

/* Sets the error "the OTLP request is damaged: WHAT". Returns false. */
bool otlp_damaged(const char *what, struct error *err);

#endif
