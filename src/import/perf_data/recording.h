/* SPDX-License-Identifier: Apache-2.0 */
/* Reading a recording sample by sample: the interface for everything that is not the
 * importer, such as `stoke script`, `stoke top` and `stoke annotate`.
 *
 * perf_data_replay reads a perf.data, from a file or a pipe, and passes its samples and
 * records to a consumer. Between the calls it follows processes and maps, unwinds stack
 * dumps and asks the resolver for objects, so that a consumer deals with locations only.
 *
 * Calls. For every sample there are two:
 *   sample()  when the record is read. Its fields are known, its stack is not.
 *   stack()   when the stack is known. Samples are unwound in batches, so this is up to
 *             some thousand records later.
 * stack() calls come in the order of the sample() calls, except for samples whose user
 * chain the kernel writes into a later record (PERF_RECORD_CALLCHAIN_DEFERRED).
 * record() is called for every record that is not a sample, after its effect on processes
 * and maps. end() is called once, after all others, unless reading failed.
 *
 * Threads. All calls come in the thread that called perf_data_replay. One consumer serves
 * one reading at a time; different readings in different threads share nothing.
 *
 * Lifetime. struct perf_profile is the state of one reading. The pointer, and everything
 * that an accessor returns, is valid from the first call to the return of end(), except
 * where noted. A struct perf_record and a struct perf_sample, with the bytes that they
 * point to, are valid during the call only.
 *
 * Units. Times are nanoseconds of the recording's clock, TIME_NONE if there is none. The
 * weight of a sample is in the unit of its event: see perf_event_unit. */
#ifndef STOKE_IMPORT_PERF_DATA_RECORDING_H
#define STOKE_IMPORT_PERF_DATA_RECORDING_H

#include "import/importer.h"
#include "model/resolver.h"
#include "perf/perf_data.h"

/* The state of one reading. Its fields are private to src/import/perf_data. */
struct perf_profile;

/* An address in a file. Ids count from 1 in the order in which locations occur in the
 * samples, and are the same for every number of threads. 0 is "unknown". */
typedef uint32_t location_id;

struct perf_consumer {
    void *context;  /* first argument of every call */
    bool leaf_only; /* stacks have one location, where the sample was taken */
    bool
        with_reasons; /* stacks of waits end with a location that becomes the wait's reason */

    /* Every record, as it is read. May be NULL. */
    void (*raw)(void *context, struct perf_profile *p, const struct perf_record *r);

    /* A record that is not a sample. May be NULL. */
    void (*record)(void *context, struct perf_profile *p, const struct perf_record *r);

    /* A sample. `sample` has time, thread, CPU, event (index into the events of
     * perf_profile_data), count and weight. The consumer may set sample->stack to a value
     * of its own: it comes back with stack(). Returns false to drop the sample. */
    bool (*sample)(void *context, struct perf_profile *p, const struct perf_sample *s,
                   struct sample *sample);

    /* The stack of a sample, root first, as builder_push_run takes it. The first `unwound`
     * locations come from a stack dump. `locations` is valid during the call. */
    void (*stack)(void *context, struct perf_profile *p, const struct sample *sample,
                  const location_id *locations, size_t count, size_t unwound);

    /* The recording is read. */
    void (*end)(void *context, struct perf_profile *p);
};

/* Reads a recording and passes its samples to the consumer. The builder gets threads,
 * facts and warnings, but no samples. Source, options, builder and consumer stay the
 * caller's. Returns false and sets err if this is not a recording, the input cannot be
 * read, or if out of memory. */
bool perf_data_replay(struct source *in, const struct import_options *options,
                      struct builder *b, const struct perf_consumer *consumer,
                      struct error *err);

/* --- Recordings in several files ----------------------------------------------------- */

/* perf record --switch-output writes one recording into several files, each with the
 * processes and maps that are new since the one before. A session carries what was read
 * of one file to the next. All zero at first; set import_options.session to it for each
 * file in turn. */
struct perf_session {
    struct perf_profile *carried; /* from the file before, or NULL */
    uint64_t identity;            /* of its recording */
};

void perf_session_deinit(struct perf_session *s);

/* --- Properties of the recording ----------------------------------------------------- */

/* Events, facts and byte order, for the functions of perf/perf_data.h. A recording from a
 * pipe may add events and facts as it is read. */
const struct perf_data *perf_profile_data(const struct perf_profile *p);

/* The arguments of perf_data_replay. The resolver is NULL if the options have none. */
struct builder *perf_profile_builder(struct perf_profile *p);
const struct resolver *perf_profile_resolver(const struct perf_profile *p);

/* True if the event, an index into perf_profile_data's events, has had a sample. */
bool perf_event_seen(const struct perf_profile *p, size_t event);

/* The thread's index in the builder's profile, added if it is new; 0 if out of memory. */
thread_id perf_profile_thread(struct perf_profile *p, uint32_t pid, uint32_t tid);

/* The name that the thread has now; perf's ":-1" if both ids are PERF_ID_NONE. */
struct str perf_profile_comm(struct perf_profile *p, uint32_t pid, uint32_t tid);

/* The path of the control group with that id, or empty. */
struct str perf_profile_cgroup(const struct perf_profile *p, uint64_t id);

/* The memory of the reading in bytes, and its number of files. Both grow with the
 * processes and files that occur, so an endless reading must start again from time to
 * time. */
struct perf_profile_size {
    size_t bytes, files;
};
struct perf_profile_size perf_profile_size(const struct perf_profile *p);

/* --- Locations ----------------------------------------------------------------------- */

struct perf_location_info {
    uint64_t address; /* as the resolver takes it: an offset in the file, or by_address */
    uint64_t pc;      /* as sampled, with import_options.every_address; else 0 */
    bool is_call;     /* a return address: the call is before it */
    bool by_address;  /* not a file with offsets: the kernel, a JIT's code, unknown */
    object_id object; /* 0: none */
    struct str module, build_id; /* as perf shows it, lower-case hexadecimal; or empty */
    struct str
        symbol; /* if the "file" is one function, such as a BPF program; else empty */
    uint64_t symbol_start; /* its address; 0: unknown */

    /* The functions at the address, an inlined one before its caller. None if unknown, or
     * if perf_profile_name was not called since the location occurred. */
    const struct resolved_frame *frames;
    size_t frame_count;
};

/* Asks the resolver for the names of all locations that are new since the last call, in
 * one request. Call it rarely: build IDs of a pipe come at its end. Returns false if
 * out of memory. */
bool perf_profile_name(struct perf_profile *p);

/* The same for the locations that have no name so far, which the resolver may know by now. */
void perf_profile_name_again(struct perf_profile *p);

/* The properties of a location. All zero and empty for 0. */
struct perf_location_info perf_profile_location(const struct perf_profile *p,
                                                location_id location);

/* Adds an item that is not a sample to the queue of samples: stack() is called with it and
 * no locations after the samples before it. */
void perf_profile_enqueue(struct perf_profile *p, const struct sample *item);

/* Calls stack() for all samples and items that were queued before. */
void perf_profile_flush(struct perf_profile *p);

/* Makes a profile of the samples that a consumer collected. `collected` has location ids
 * instead of frames, and samples with the events and threads of sample(). The reading
 * may continue. Returns false if out of memory. */
bool perf_profile_snapshot(struct perf_profile *p, const struct profile *collected,
                           struct builder *b);

#endif
