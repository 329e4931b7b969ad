/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of the importer of Perfetto traces: the tables of names and stacks that a writer
 * sends in pieces (perfetto_tables.c), heap dumps (perfetto_heap.c), and the profile made of
 * them (perfetto_finish.c). Fields as in protos/perfetto/trace of the Perfetto project. */
#ifndef STOKE_IMPORT_PERFETTO_H
#define STOKE_IMPORT_PERFETTO_H

#include "base/idmap.h"
#include "codec/protobuf.h"
#include "import/importer.h"

enum perfetto_table {
    TABLE_NAMES,     /* of functions: string_id */
    TABLE_PATHS,     /* of mappings, in parts: string_id */
    TABLE_SOURCES,   /* string_id */
    TABLE_BUILD_IDS, /* string_id */
    TABLE_MAPPINGS,  /* module_id of `raw` */
    TABLE_FRAMES,    /* frame_id of `raw` */
    TABLE_STACKS,    /* stack_id of `raw` */
    TABLES
};

/* What the packets of one writer share. Its numbers are of no other writer. */
struct perfetto_sequence {
    struct idmap tables[TABLES]; /* by the writer's number */
    event_id event;              /* of its perf samples; 0: the default */
    double weight;               /* of a perf sample */
    event_id counter;            /* of its stack samples; 0: the default */
    double multiplier;           /* of the weights of stack samples */
    int64_t pid, tid;            /* of streaming profiles */
    uint64_t time;               /* ns: the last sample of streaming profiles */
};

/* What is known of a function's address from symbols at the end of the trace. */
struct perfetto_symbol {
    string_id path; /* of the module, in `raw` */
    uint64_t address;
    uint32_t first, count; /* its lines, outermost first */
};

struct perfetto_line {
    string_id name, file; /* in `raw` */
    uint32_t line;
};

/* What one process allocated in one stack: each dump has the sums since the start. */
struct perfetto_heap {
    uint64_t pid;
    string_id heap; /* its name in `raw`; 0: that of malloc */
    stack_id stack; /* of `raw` */
    uint64_t allocated, freed, peak, count;
};

struct perfetto {
    struct builder *b;
    const struct import_options *options;
    struct arena arena;
    struct builder raw; /* a frame has the address in its module, also if it has a name */
    struct idmap sequence_of; /* number of the sequence + 1 */
    struct perfetto_sequence *sequences;
    struct idmap thread_names, process_names; /* string_id of `raw` */
    struct perfetto_symbol *symbols;
    uint32_t *symbol_order; /* the symbols by module and address */
    struct perfetto_line *lines;
    struct perfetto_heap *heaps; /* [0] is unused */
    struct index heap_index;
    size_t sequence_count, sequence_cap, symbol_count, symbol_cap;
    size_t line_count, line_cap, heap_count, heap_cap;
    uint64_t offset; /* of the packet, for warnings */
};

/* A string of that field; empty if it is a number. */
string_id perfetto_string(struct perfetto *p, const struct proto_field *f);

/* Adds the entries of a message InternedData. Entries may refer to later ones of the message. */
void perfetto_intern(struct perfetto *p, struct perfetto_sequence *s, struct str message);

/* The same for the tables in a ProfilePacket of Android 10. */
void perfetto_intern_profile(struct perfetto *p, struct perfetto_sequence *s,
                             struct str message);

/* The stack of `raw` of that number; one frame without a name if it is missing. */
stack_id perfetto_stack(struct perfetto *p, const struct perfetto_sequence *s,
                        uint64_t number);

/* A stack of frame numbers in a message Callstack. */
stack_id perfetto_callstack(struct perfetto *p, const struct perfetto_sequence *s,
                            struct str message);

/* Collects a message ModuleSymbols. */
void perfetto_symbols(struct perfetto *p, struct str message);

/* Collects a message ProfilePacket: dumps of heaps. */
void perfetto_heap_dump(struct perfetto *p, struct perfetto_sequence *s,
                        struct str message);

/* Adds the last dump of each heap to `raw`. */
void perfetto_heap_finish(struct perfetto *p);

/* Makes the profile of `raw` and the symbols. */
void perfetto_finish(struct perfetto *p);

#endif
