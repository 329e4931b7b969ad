/* SPDX-License-Identifier: Apache-2.0 */
/* Reading perf.data: the records of the Linux kernel and of perf record, in the order of
 * time.
 *
 * The reader accepts the file and the pipe form, in both byte orders, compressed or not.
 * perf_data_next delivers one record after the other; other functions decode a record.
 * Nothing is copied: strings, stack dumps and chains point into the input. Sources:
 * include/uapi/linux/perf_event.h (kernel records, samples),
 * tools/perf/Documentation/perf.data-file-format.txt and
 * tools/lib/perf/include/perf/event.h (file, features, perf's records) of Linux.
 *
 * A folder, as perf record --threads writes it, has one such file, and one file per thread
 * that contains only records. The records of all files are sorted into one sequence.
 *
 * A file in memory or mapped is read in place. From a pipe, the window of the source
 * retains the records that are not sorted yet.
 *
 * The cost of hostile input is proportional to its size. Corrupted records are skipped up
 * to the next valid one. */
#ifndef STOKE_PERF_PERF_DATA_H
#define STOKE_PERF_PERF_DATA_H

#include "base/architecture.h"
#include "base/bytes.h"
#include "base/idmap.h"
#include "base/none.h"
#include "base/output.h"
#include "base/source.h"
#include "base/strings.h"
#include "perf/format.h"
#include "perf/tracepoint.h"

/* An event: a perf_event_attr. */
struct perf_event {
    struct str name; /* as perf shows it; every event has one after the last record */
    bool named;      /* by the recording; else made from type and config */
    uint32_t type;   /* enum perf_event_type, or a dynamic PMU's */
    uint64_t config;
    uint64_t period; /* or, with PERF_FLAG_FREQUENCY, samples per second */
    uint64_t sample_type, read_format, flags, branch_type;
    uint64_t user_registers, interrupt_registers; /* masks */
    uint32_t stack_size;                          /* of a stack dump, in bytes */
    const struct tracepoint_format *format; /* of a tracepoint's raw data; or NULL */
    uint32_t clock; /* clock id of the times, with PERF_FLAG_CLOCK */
};

/* Facts in the recording's header. Empty or 0 if unknown. If the input cannot be mapped,
 * the facts of a file are known after its last record. */
struct perf_facts {
    struct str host, release, version, arch, cpu;
    struct str command;      /* arguments joined by spaces */
    struct str interpreters; /* a line for each process (format.h); or empty */
    uint32_t cpus_available, cpus_online;
    uint64_t time_first, time_last;
    uint64_t time_sampled, time_used; /* CPU time, ns, if less was sampled than used */
    enum architecture machine;
};

struct perf_data;

/* Events that were recorded as a group: `count` of them from `first` on. */
struct perf_group {
    struct str name; /* or empty */
    size_t first, count;
    size_t number; /* of the next one */
};

/* Goes to the next group; begin with all zero. Returns false after the last one. */
bool perf_next_group(const struct perf_data *d, struct perf_group *group);

/* Writes what perf script --header prints of the header, except the time at which the file was
 * written. The facts of a pipe are known after its first records. */
void perf_header_write(const struct perf_data *d, struct output *o);

/* One record. Its bytes are valid until the next call of perf_data_next; see `moving`. */
struct perf_record {
    uint32_t type; /* enum perf_type, or an unknown one */
    uint16_t misc;
    struct str body; /* after the header */
    uint64_t offset; /* in the file; of a compressed one, in the decompressed stream */
    uint64_t time;   /* ns, or TIME_NONE */
};

/* Damage that was found. The offset of the first of each kind is stored. */
enum perf_flaw {
    PERF_FLAW_TRUNCATED,  /* the recording ends within a record */
    PERF_FLAW_UNFINISHED, /* the recorder was killed: no size, no features */
    PERF_FLAW_CORRUPTED,  /* bytes skipped to the next valid record */
    PERF_FLAW_UNKNOWN,    /* records of an unknown type */
    PERF_FLAW_PACKED,     /* compressed records that cannot be decompressed */
    PERF_FLAW_HEADER,     /* invalid data in the header */
    PERF_FLAWS,
};

/* A queued record. */
struct perf_waiting {
    uint64_t time, offset;
};

struct perf_unpacker;

struct perf_data {
    struct arena arena; /* if it fails, reading ends */
    bool big_endian, piped;
    struct perf_event *events;
    size_t event_count, event_cap;
    struct perf_facts facts;
    struct strings paths;  /* of files with build IDs */
    struct str *build_ids; /* by index of the path; lower-case hexadecimal */
    size_t build_id_cap;
    struct str *jit_maps; /* perf maps of JITs that the recording contains */
    size_t jit_map_count, jit_map_cap;
    struct idmap jit_map_of; /* by process: the index in jit_maps + 1 */
    uint64_t aux_bytes;      /* of instruction traces, which are skipped */
    uint64_t flaws[PERF_FLAWS], flaw_offset[PERF_FLAWS];

    /* Set by the caller: called before the bytes of earlier records move. They are valid
     * until then. May be NULL. */
    void (*moving)(void *context);
    void *moving_context;

    struct source *input;  /* the caller's */
    size_t file;           /* index of the folder's file that is read */
    struct source section; /* a file's records */
    struct source *source; /* of the records: one of these, or the decompressor's */
    uint64_t cursor;       /* the offset of the next record */
    uint64_t keep;         /* bytes before are no longer needed */
    uint64_t last;         /* the offset of the last record that was read */
    struct idmap resized;  /* by offset: the real size of a record with a wrong header */
    uint64_t section_left; /* bytes left, of a file that is read from a pipe */
    uint64_t features[4];  /* bits */
    /* The contents of the small ones, for perf_header_write; empty: not there. */
    struct str contents[PERF_FEATURES_OF_PERF];
    uint64_t data_at, data_size; /* of the records in a file; 0 in a pipe */
    uint64_t features_at;        /* the offset of their table; 0: none */
    struct idmap ids;            /* of events: index + 1 */
    struct idmap tracepoints;    /* by tracepoint id: index of the event + 1 */
    bool one_layout;             /* all events' samples have the same fields */
    bool asks_build_ids;         /* an event requests build IDs in maps */
    struct perf_unpacker *unpacker;

    struct perf_waiting *waiting, *sorted; /* the queue, sorted up to `due`; scratch */
    size_t waiting_count, waiting_cap, sorted_cap;
    uint32_t *order;
    size_t order_cap;
    size_t given, due;                /* delivered; may be delivered */
    uint64_t round_time, newest_time; /* newest time: of the round before; of all */
    uint64_t payload;                 /* bytes to skip before the next record */
    bool keeps_payload;               /* those are tracepoint formats: */
    struct output formats;            /* so far */
    bool ended, input_failed;
};

/* Starts to read: the header and, if the input is in memory or can be mapped, the
 * features. The source must outlive the reader, which must not be moved. Returns false
 * and sets err if this is not a recording, or of an unsupported version. Deinit it in
 * either case. */
bool perf_data_init(struct perf_data *d, struct source *in, struct error *err);
void perf_data_deinit(struct perf_data *d);

/* The next record in the order of time; records without a time are in the order of the
 * file. Returns false at the end, and with err set if the input cannot be read. */
bool perf_data_next(struct perf_data *d, struct perf_record *r, struct error *err);

/* Counts the record as corrupted. */
void perf_data_damaged(struct perf_data *d, const struct perf_record *r);

/* Reads the next complete record from bytes that are part of another record, whose offset
 * is given. Returns false if there is none. */
bool perf_data_inner(const struct perf_data *d, struct str *bytes, uint64_t offset,
                     struct perf_record *r);

/* The build ID that the recording has for a path, or empty. */
struct str perf_data_build_id(const struct perf_data *d, struct str path);

/* The perf map that the recording has for a process, or empty. */
struct str perf_data_jit_map(const struct perf_data *d, uint64_t pid);

/* --- Inside a record --------------------------------------------------------------- */

static inline struct bytes perf_body(const struct perf_data *d,
                                     const struct perf_record *r)
{
    return bytes_of(r->body, d->big_endian);
}

/* An array of 64-bit numbers. */
struct perf_words {
    struct str bytes;
    bool big_endian;
};

static inline size_t perf_word_count(struct perf_words w)
{
    return w.bytes.len / 8;
}

static inline uint64_t perf_word(struct perf_words w, size_t i)
{
    uint64_t value;
    memcpy(&value, w.bytes.ptr + i * 8, sizeof value);
    return w.big_endian ? __builtin_bswap64(value) : value;
}

#define PERF_ID_NONE UINT32_MAX

/* The identity of a record that is not a sample: the fields after its body, if the event
 * has sample_id_all. Missing fields are PERF_ID_NONE, TIME_NONE or 0. */
struct perf_identity {
    uint32_t pid, tid, cpu;
    uint64_t time, id, stream_id;
};

struct perf_identity perf_identity(const struct perf_data *d,
                                   const struct perf_record *r);

/* MMAP and MMAP2. */
struct perf_mmap {
    uint32_t pid, tid; /* pid PERF_ID_NONE: of the kernel */
    uint64_t start, size, offset;
    uint32_t major, minor; /* or 0 */
    uint64_t inode, generation;
    struct str build_id; /* raw; or empty */
    uint32_t protection; /* PROT_*, 0: unknown */
    uint32_t flags;
    struct str path;
};
#define PERF_PROTECTION_EXEC 4u
#define PERF_MAP_HUGE_TLB 0x40000u

/* COMM: the name. FORK and EXIT: the parents. */
struct perf_task {
    uint32_t pid, tid, parent_pid, parent_tid;
    struct str name;
};

/* KSYMBOL: a function of the kernel that is added or removed. */
struct perf_symbol {
    uint64_t address;
    uint32_t size;
    uint16_t type, flags; /* flags & 1: removed */
    struct str name;
};

/* CALLCHAIN_DEFERRED: the user part of an earlier call chain. */
struct perf_deferred {
    uint64_t cookie;
    struct perf_words chain;
};

/* Each decodes a record. Returns false if it is too short. */
bool perf_map_of(const struct perf_data *d, const struct perf_record *r,
                 struct perf_mmap *m);
bool perf_task_of(const struct perf_data *d, const struct perf_record *r,
                  struct perf_task *t);
bool perf_symbol_of(const struct perf_data *d, const struct perf_record *r,
                    struct perf_symbol *s);
bool perf_deferred_of(const struct perf_data *d, const struct perf_record *r,
                      struct perf_deferred *c);

/* CGROUP: the path of the control group with that id. */
bool perf_cgroup_of(const struct perf_data *d, const struct perf_record *r, uint64_t *id,
                    struct str *path);

/* LOST and LOST_SAMPLES: the count. */
bool perf_lost_of(const struct perf_data *d, const struct perf_record *r,
                  uint64_t *count);

/* Recorded registers: one value for each bit of the mask, from the lowest up. */
struct perf_registers {
    uint64_t abi; /* 0: none, 1: of a 32-bit process, 2: of a 64-bit one */
    uint64_t mask;
    struct perf_words values;
};

/* A branch is three words: from, to, flags. */
#define PERF_BRANCH_WORDS 3

struct perf_branch {
    uint64_t from, to;
    bool missed, predicted; /* neither: unknown */
    bool in_transaction, aborted;
    unsigned cycles;  /* since the branch before; 0: unknown */
    const char *type; /* "COND", or empty */
};

static inline size_t perf_branch_count(struct perf_words branches)
{
    return perf_word_count(branches) / PERF_BRANCH_WORDS;
}

struct perf_branch perf_branch_at(struct perf_words branches, size_t i);

struct perf_sample {
    const struct perf_event *event;
    uint32_t mode; /* CPU mode: misc & PERF_CPU_MODE */
    uint32_t pid, tid, cpu;
    uint64_t id, ip, time, address, stream_id,
        period;      /* period: the event's if not recorded */
    struct str read; /* the counters; see perf_counter */
    struct perf_words chain;
    bool has_chain, has_ip;
    struct str raw; /* raw data of a tracepoint */
    struct perf_words branches;
    uint64_t branch_index; /* of the hardware; or UINT64_MAX */
    struct perf_registers user, interrupt;
    struct str stack;     /* the part that was really copied */
    uint64_t stack_asked; /* the size that the recording reserved */
    uint64_t weight, data_source, transaction, physical_address, cgroup;
    uint64_t data_page_size, code_page_size;
    struct str aux;
    size_t
        rest; /* bytes of the record after all fields; 0 if the record may have unknown fields */
};

/* Decodes a sample. Returns false if its event is unknown or it is truncated. */
bool perf_sample_of(const struct perf_data *d, const struct perf_record *r,
                    struct perf_sample *s);

/* The index of a record's event; -1 if it has none. */
int64_t perf_event_of(const struct perf_data *d, const struct perf_record *r);

/* A counter of a READ record or of a sample's read part. */
struct perf_counter {
    uint64_t value, enabled, running, id, lost;
};

/* Reads the i-th counter of `read`, which is from perf_sample_of or perf_read_of. Returns
 * false if there are no more. */
bool perf_counter_at(const struct perf_data *d, const struct perf_event *event,
                     struct str read, size_t i, struct perf_counter *c);

/* READ: the thread, and the counters. */
bool perf_read_of(const struct perf_data *d, const struct perf_record *r, uint32_t *pid,
                  uint32_t *tid, struct str *read);

/* The architecture of the registers: x86-64 and AArch64 are recognized by their masks,
 * others from the recording's facts. */
enum architecture perf_machine(const struct perf_data *d,
                               const struct perf_registers *user);

#endif
