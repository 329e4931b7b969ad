/* SPDX-License-Identifier: Apache-2.0 */
/* perf.data: what the Linux kernel and perf record write, as records in the order of
 * time.
 *
 * The reader takes the file and pipe forms in both byte orders, compressed or not, and
 * gives one record after the other; functions take a record apart. Nothing is copied:
 * strings, stack dumps and chains are views of the input.
 *
 * Sources: include/uapi/linux/perf_event.h (kernel records, samples),
 * tools/perf/Documentation/perf.data-file-format.txt and tools/lib/perf/include/perf/
 * event.h (file, features, records of perf's own) of Linux.
 *
 * A folder, as perf record --threads writes it, is a file, and files of records alone,
 * one a thread: of those together, all are put in order.
 *
 * A file in memory or mapped is read where it lies. From a pipe, the window of the source
 * keeps what is not yet in order. Hostile input costs time and memory in proportion to
 * its size: corrupted records are passed over, and the next sound one is looked for. */
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

/* What was recorded: a perf_event_attr. */
struct perf_event {
    struct str name; /* as perf shows it; all have one once the last record was given */
    bool named;      /* by the recording; else made of type and config */
    uint32_t type;   /* enum perf_event_type, or a number of the machine's */
    uint64_t config;
    uint64_t period; /* or, with PERF_FLAG_FREQUENCY, samples a second */
    uint64_t sample_type, read_format, flags, branch_type;
    uint64_t user_registers, interrupt_registers; /* masks */
    uint32_t stack_size;                          /* of a dump */
    const struct tracepoint_format *format; /* of a tracepoint's raw part; or NULL */
    uint32_t clock; /* of the times, with PERF_FLAG_CLOCK: clock_gettime's number */
};

/* What the recording says of itself. Empty or 0 where it does not. With an input that
 * cannot be mapped, a file's are known behind its last record. */
struct perf_facts {
    struct str host, release, version, arch, cpu;
    struct str command; /* its words joined by spaces */
    uint32_t cpus_available, cpus_online;
    uint64_t time_first, time_last;
    enum architecture machine;
};

/* One record. Its bytes are good until the next one is asked for; see `moving`. */
struct perf_record {
    uint32_t type; /* enum perf_type, or one that is not known */
    uint16_t misc;
    struct str body; /* behind the header */
    uint64_t offset; /* in the file or, of unpacked ones, in the unpacked stream */
    uint64_t time;   /* ns, TIME_NONE where the record has none */
};

/* What was not as it should be, with the place of the first. */
enum perf_flaw {
    PERF_FLAW_TRUNCATED,  /* the recording ends within a record */
    PERF_FLAW_UNFINISHED, /* the recorder was killed: no size, no features */
    PERF_FLAW_CORRUPTED,  /* bytes passed over to the next sound record */
    PERF_FLAW_UNKNOWN,    /* records of a type this reader does not know */
    PERF_FLAW_PACKED,     /* compressed records that cannot be unpacked */
    PERF_FLAW_HEADER,     /* a part of the header that makes no sense */
    PERF_FLAWS,
};

/* A record that waits for its turn. */
struct perf_waiting {
    uint64_t time, offset;
};

struct perf_unpacker;

struct perf_data {
    struct arena arena; /* its `failed` ends the reading */
    bool big_endian, piped;
    struct perf_event *events;
    size_t event_count, event_cap;
    struct perf_facts facts;
    struct strings paths;  /* of files with build ids */
    struct str *build_ids; /* by their number among the paths; lower-case hexadecimal */
    size_t build_id_cap;
    struct str *jit_maps; /* what JITs wrote of their code, as the recording has it */
    size_t jit_map_count, jit_map_cap;
    struct idmap jit_map_of; /* by process: the place among them + 1 */
    uint64_t aux_bytes;      /* of instruction traces, passed over */
    uint64_t flaws[PERF_FLAWS], flaw_offset[PERF_FLAWS];

    /* Set by the caller: called before bytes of records given earlier go. Until then they
     * stay where they are. May be NULL. */
    void (*moving)(void *context);
    void *moving_context;

    struct source *input;  /* the caller's */
    size_t file;           /* of a folder's files: which one is read */
    struct source section; /* a file's records */
    struct source *source; /* where records are read: one of these or the unpacker's */
    uint64_t cursor;       /* the offset of the next record */
    uint64_t keep;         /* what lies before is not needed any more */
    uint64_t last;         /* the offset of the record that was taken last */
    struct idmap resized;  /* by offset: how long a record is, not as its header has it */
    uint64_t section_left; /* of a file from a pipe: bytes to come */
    uint64_t features[4];  /* bits */
    uint64_t features_at;  /* the offset of their table; 0: none */
    struct idmap ids;      /* of events, to their place + 1 */
    struct idmap tracepoints; /* their numbers, to the same */
    bool one_layout;          /* all events' samples have the same fields */
    bool asks_build_ids;      /* some event has the kernel look for those of maps */
    struct perf_unpacker *unpacker;

    struct perf_waiting *waiting, *sorted; /* in order up to `due`; room for sorting */
    size_t waiting_count, waiting_cap, sorted_cap;
    uint32_t *order;
    size_t order_cap;
    size_t given, due;                /* how many were given, how many may be */
    uint64_t round_time, newest_time; /* the newest in the round before; of all */
    uint64_t payload;                 /* bytes to pass over before the next record */
    bool keeps_payload;               /* those are formats of tracepoints: */
    struct output formats;            /* so far */
    bool ended, input_failed;
};

/* Begins to read: the header, and of a file that lies in memory or can be mapped its
 * features. The source must outlive the reader, which is not to be moved. False, with err
 * set, where this is no recording, or of a kind that nobody reads any more. Deinit it in
 * either case. */
bool perf_data_init(struct perf_data *d, struct source *in, struct error *err);
void perf_data_deinit(struct perf_data *d);

/* The next record, in the order of time; those without one come where they stand. False
 * at the end; or, with err set, where the input could not be read. */
bool perf_data_next(struct perf_data *d, struct perf_record *r, struct error *err);

/* Counts damage to the record. */
void perf_data_damaged(struct perf_data *d, const struct perf_record *r);

/* Takes the next whole record out of bytes that are part of another; false where there is
 * none. The offset is the other's. */
bool perf_data_inner(const struct perf_data *d, struct str *bytes, uint64_t offset,
                     struct perf_record *r);

/* The build id that the recording has for a path; empty for none. */
struct str perf_data_build_id(const struct perf_data *d, struct str path);

/* The perf map that the recording has of a process; empty where it has none. */
struct str perf_data_jit_map(const struct perf_data *d, uint64_t pid);

/* --- Inside a record --------------------------------------------------------------- */

static inline struct bytes perf_body(const struct perf_data *d,
                                     const struct perf_record *r)
{
    return bytes_of(r->body, d->big_endian);
}

/* Numbers of 64 bits in a row. */
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

/* Whose record it is and when it was written: what stands behind every record but samples
 * where the events ask for it. Fields not recorded are PERF_ID_NONE, TIME_NONE, 0. */
struct perf_identity {
    uint32_t pid, tid, cpu;
    uint64_t time, id, stream_id;
};

struct perf_identity perf_identity(const struct perf_data *d,
                                   const struct perf_record *r);

/* MMAP and MMAP2. */
struct perf_map {
    uint32_t pid, tid; /* pid PERF_ID_NONE: the kernel's */
    uint64_t start, size, offset;
    uint32_t major, minor; /* or 0 */
    uint64_t inode, generation;
    struct str build_id; /* raw; or empty */
    uint32_t protection; /* PROT_*, 0 where not told */
    uint32_t flags;
    struct str path;
};
#define PERF_PROTECTION_EXEC 4u
#define PERF_MAP_HUGE_TLB 0x40000u

/* COMM: name. FORK and EXIT: the parents. */
struct perf_task {
    uint32_t pid, tid, parent_pid, parent_tid;
    struct str name;
};

/* KSYMBOL: a function in the kernel that came or went. */
struct perf_symbol {
    uint64_t address;
    uint32_t size;
    uint16_t type, flags; /* flags & 1: it went */
    struct str name;
};

/* CALLCHAIN_DEFERRED: the user part of a chain whose kernel part came before. */
struct perf_deferred {
    uint64_t cookie;
    struct perf_words chain;
};

/* Each takes the record apart; false where it is shorter than it must be. */
bool perf_map_of(const struct perf_data *d, const struct perf_record *r,
                 struct perf_map *m);
bool perf_task_of(const struct perf_data *d, const struct perf_record *r,
                  struct perf_task *t);
bool perf_symbol_of(const struct perf_data *d, const struct perf_record *r,
                    struct perf_symbol *s);
bool perf_deferred_of(const struct perf_data *d, const struct perf_record *r,
                      struct perf_deferred *c);

/* LOST and LOST_SAMPLES: how many. */
bool perf_lost_of(const struct perf_data *d, const struct perf_record *r,
                  uint64_t *count);

/* Registers as recorded: by the bits of the mask, from the lowest up. */
struct perf_registers {
    uint64_t abi; /* 0: none were taken, 1: of a 32-bit program, 2: of a 64-bit one */
    uint64_t mask;
    struct perf_words values;
};

/* A branch is three words: from, to, flags. */
#define PERF_BRANCH_WORDS 3

struct perf_sample {
    const struct perf_event *event;
    uint32_t mode; /* of the processor: misc & PERF_CPU_MODE */
    uint32_t pid, tid, cpu;
    uint64_t id, ip, time, address, stream_id, period; /* period: the event's if alone */
    struct str read; /* the counters; see perf_counter */
    struct perf_words chain;
    bool has_chain, has_ip;
    struct str raw; /* of a tracepoint */
    struct perf_words branches;
    uint64_t branch_index; /* of the hardware; or UINT64_MAX */
    struct perf_registers user, interrupt;
    struct str stack;     /* no longer than what was really taken */
    uint64_t stack_asked; /* the room that the recording had for it */
    uint64_t weight, data_source, transaction, physical_address, cgroup;
    uint64_t data_page_size, code_page_size;
    struct str aux;
    size_t rest; /* bytes of the record behind all parts; 0 where it may have others */
};

/* Takes a sample apart. False where it is of no event known, or shorter than it says. */
bool perf_sample_of(const struct perf_data *d, const struct perf_record *r,
                    struct perf_sample *s);

/* The place of a sample's or other record's event; -1 where it has none. */
int64_t perf_event_of(const struct perf_data *d, const struct perf_record *r);

/* A counter of a READ record or of a sample's read part. */
struct perf_counter {
    uint64_t value, enabled, running, id, lost;
};

/* Takes the i-th counter out of `read`, which perf_sample_of or perf_read_of gave. False
 * where there are no more. */
bool perf_counter_at(const struct perf_data *d, const struct perf_event *event,
                     struct str read, size_t i, struct perf_counter *c);

/* READ: whose, and the counters. */
bool perf_read_of(const struct perf_data *d, const struct perf_record *r, uint32_t *pid,
                  uint32_t *tid, struct str *read);

/* The machine whose registers these are, from what was recorded; x86-64 and AArch64 tell
 * themselves by which registers there are. */
enum architecture perf_machine(const struct perf_data *d,
                               const struct perf_registers *user);

#endif
