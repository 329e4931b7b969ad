/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of the ClickHouse store share. stoke-store(5) describes the tables.
 *
 * Statements are constants with numbers of ours: no text of a profile, a label or a user is part
 * of one. Data goes to the server and back as RowBinary. What the server sends is hostile input.
 *
 * The writer never waits for the server. A window becomes blocks, which are files in a folder (the
 * spool); it is stored when they are on the disk. A thread sends them (ship.c). */
#ifndef STOKE_STORE_CLICKHOUSE_PARTS_H
#define STOKE_STORE_CLICKHOUSE_PARTS_H

#include "base/bytes.h"
#include "base/idmap.h"
#include "os/thread.h"
#include "os/web_client.h"
#include "store/store.h"

#define CLICKHOUSE_SCHEME "clickhouse://"
#define CLICKHOUSE_VERSION 2 /* of the tables */
#define CLICKHOUSE_DAY 86400 /* s: a partition */

/* --- The address (address.c) ------------------------------------------------------------ */

struct clickhouse_address {
    char origin[320]; /* "https://HOST:PORT" */
    char user[128], password[512];
    char database[64];      /* letters, digits and "_" only */
    char authorities[1024]; /* a file; empty: those of the system */
    char spool[2048];       /* a folder */
    uint64_t spool_bytes;   /* that the spool holds at most */
    uint64_t spool_seconds; /* age of a block that is sent */
    bool is_local;
};

/* Parses clickhouse://USER@HOST:PORT/DATABASE?OPTION=VALUE&... and reads the password. */
bool clickhouse_address_parse(struct clickhouse_address *a, const char *location,
                              struct error *err);

/* --- Requests (client.c) ---------------------------------------------------------------- */

struct clickhouse_client {
    struct os_web_client *web;
    const struct clickhouse_address *address;
};

/* How a request failed. */
struct clickhouse_failure {
    bool is_unsent; /* the server has not seen it */
    unsigned code;  /* the server's; 0: none */
};

/* `stops`: see os_web_settings. */
bool clickhouse_connect(struct clickhouse_client *c, const struct clickhouse_address *a,
                        const int *stops, struct error *err);
void clickhouse_disconnect(struct clickhouse_client *c); /* a zeroed one is allowed */

/* A statement without a result. It does not refer to the database of the address unless
 * `in_database`. */
bool clickhouse_run(struct clickhouse_client *c, bool in_database, const char *sql,
                    struct error *err);

/* Inserts rows: gzip of RowBinary. `statement` ends with "FORMAT RowBinary". */
bool clickhouse_insert(struct clickhouse_client *c, const char *statement,
                       struct str packed, struct clickhouse_failure *failure,
                       struct error *err);

/* Calls `record` at the beginning of each record of the result, which is RowBinary. It reads the
 * record; if that fails because bytes are missing, it is called again with more. It may be called
 * several times for one record, so it changes nothing before it has read it. False ends the
 * query, with err set by the record. */
typedef bool clickhouse_record(void *context, struct bytes *b, struct error *err);
bool clickhouse_query(struct clickhouse_client *c, const char *sql,
                      clickhouse_record *record, void *context, struct error *err);

/* A result that is one UInt64. */
bool clickhouse_number(struct clickhouse_client *c, const char *sql, uint64_t *number,
                       struct error *err);

/* A text of RowBinary. */
static inline struct str clickhouse_text(struct bytes *b)
{
    return bytes_take(b, bytes_uleb(b));
}

static inline double clickhouse_double(struct bytes *b)
{
    uint64_t bits = bytes_u64(b);
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* --- Tables (schema.c) ------------------------------------------------------------------ */

bool clickhouse_schema_create(struct clickhouse_client *c, struct error *err);
bool clickhouse_schema_check(struct clickhouse_client *c, struct error *err);

/* The numbers of the server's version; 18016 for 18.16. */
bool clickhouse_server_version(struct clickhouse_client *c, uint64_t *version,
                               struct error *err);

/* --- Blocks (block.c) ------------------------------------------------------------------- */

enum clickhouse_table {
    CLICKHOUSE_FRAMES,
    CLICKHOUSE_STACKS,
    CLICKHOUSE_SERIES,
    CLICKHOUSE_NAMES,
    CLICKHOUSE_METRICS,
    CLICKHOUSE_SAMPLES,
    CLICKHOUSE_TABLES
};

/* A part of a block: rows for one partition of one table, which are inserted at once. */
struct clickhouse_part {
    uint32_t table, day, rows;
    uint64_t block; /* of samples: their key */
    uint64_t start, end, samples, lost;
    double rate;
    struct str packed;
};

#define CLICKHOUSE_BLOCK_MAX ((size_t)1 << 30)

void clickhouse_block_begin(struct output *o);
void clickhouse_block_add(struct output *o, const struct clickhouse_part *part);
void clickhouse_block_end(struct output *o);

/* Checks the whole block; then b is at the first part. */
bool clickhouse_block_open(struct bytes *b, struct str bytes);
/* False at the end. */
bool clickhouse_block_next(struct bytes *b, struct clickhouse_part *part);

/* Numbers of RowBinary. */
void clickhouse_put(struct output *o, uint64_t value, unsigned size);
void clickhouse_put_double(struct output *o, double value);
void clickhouse_put_text(struct output *o, struct str text);

/* --- The spool and its thread (spool.c, ship.c) ----------------------------------------- */

struct clickhouse_file {
    uint64_t number; /* order */
    uint64_t second; /* when its window ended */
    uint64_t bytes;
    bool has_samples;
    bool was_tried; /* a part may be stored already */
};

struct clickhouse_spool {
    const struct clickhouse_address *address;
    int lock; /* file descriptor; -1 */
    struct os_lock guard;
    struct clickhouse_file *files; /* oldest first, from `first` on */
    size_t first, count, cap;      /* count includes those before `first` */
    uint64_t bytes, next;
    bool is_sending;          /* the first file is in use */
    uint64_t dropped;         /* blocks that were dropped and are not in the table yet */
    uint64_t dropped_samples; /* files of samples among them */
};

bool clickhouse_spool_open(struct clickhouse_spool *s, const struct clickhouse_address *a,
                           struct error *err);
void clickhouse_spool_close(struct clickhouse_spool *s); /* a zeroed one is allowed */

/* Adds a block: its file is on the disk when this returns true. Drops the oldest files if there
 * are too many. *forgets becomes true if a dropped file had names and stacks. */
bool clickhouse_spool_add(struct clickhouse_spool *s, struct str bytes, bool has_samples,
                          uint64_t second, bool *forgets, struct error *err);

/* The oldest file, which is then in use. False if there is none. */
bool clickhouse_spool_take(struct clickhouse_spool *s, struct clickhouse_file *file);
bool clickhouse_spool_read(struct clickhouse_spool *s, const struct clickhouse_file *file,
                           struct arena *a, struct str *bytes, struct error *err);
/* The file in use was sent, is damaged, or has to be sent again. */
void clickhouse_spool_sent(struct clickhouse_spool *s);
void clickhouse_spool_damaged(struct clickhouse_spool *s);
void clickhouse_spool_retry(struct clickhouse_spool *s, bool was_tried);

/* Blocks that were dropped; the number is in the table now. */
uint64_t clickhouse_spool_dropped(struct clickhouse_spool *s);
void clickhouse_spool_dropped_stored(struct clickhouse_spool *s, uint64_t dropped);

struct clickhouse_shipper {
    struct clickhouse_spool *spool;
    struct os_thread thread;
    struct os_lock lock;
    struct os_condition changed;
    int stops;      /* atomic; not 0: end now */
    bool ends;      /* end when nothing is left, or at the first failure */
    bool has_ended; /* the thread */
    bool is_failing, was_failing;
    char error[400];
    uint64_t sent;     /* blocks */
    unsigned failures; /* one after the other */
    const char *host;
};

bool clickhouse_shipper_start(struct clickhouse_shipper *s,
                              struct clickhouse_spool *spool, struct error *err);
void clickhouse_shipper_wake(struct clickhouse_shipper *s);
/* Sends what is left, for a few seconds at most. */
void clickhouse_shipper_stop(struct clickhouse_shipper *s);

/* --- The store -------------------------------------------------------------------------- */

/* What this writer has sent for a day already. */
struct clickhouse_known {
    struct arena arena;
    struct idmap stacks, frames, series;
    uint64_t day;
};

struct clickhouse_store {
    struct store base; /* first */
    struct clickhouse_address address;
    struct clickhouse_client client; /* of readers */
    bool writes;
    struct clickhouse_known known;
    struct clickhouse_spool spool;
    struct clickhouse_shipper shipper;
    uint64_t writer, windows; /* a random number, which makes keys of blocks */
    uint64_t reported;        /* dropped blocks */
    char host[256];           /* this machine */
};

static inline struct clickhouse_store *clickhouse_store_of(struct store *s)
{
    return (struct clickhouse_store *)(void *)s;
}

void clickhouse_forget(struct clickhouse_store *s);

/* Makes the blocks of a window: names and stacks that are new, and samples. */
bool clickhouse_make_blocks(struct clickhouse_store *s, const struct store_window *w,
                            struct output *names, struct output *samples,
                            struct error *err);

bool clickhouse_store_read(struct store *s, const struct store_span *span,
                           struct builder *b, struct error *err);
bool clickhouse_store_read_metrics(struct store *s, const struct store_span *span,
                                   uint32_t step,
                                   bool (*each)(void *context,
                                                const struct store_metric_block *b),
                                   void *context, struct error *err);
bool clickhouse_store_usage(struct store *s, struct store_usage *u, struct error *err);

#endif
