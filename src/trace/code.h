/* SPDX-License-Identifier: Apache-2.0 */
/* The code at an address of a trace: decoded once, then looked up.
 *
 * A site is an address of an instruction: the kind of instruction, and its location in
 * the source, which is a function with the calls inlined there. Sites are stored in
 * pages; a page is created at the first query for one of its addresses. One thread
 * only. */
#ifndef STOKE_TRACE_CODE_H
#define STOKE_TRACE_CODE_H

#include "base/idmap.h"
#include "base/trie.h"
#include "trace/binary.h"
#include "trace/instruction.h"

/* Numbers of functions and locations; 0: none. */
typedef uint32_t trace_function_id;
typedef uint32_t trace_location_id;

enum trace_function_flag {
    TRACE_FUNCTION_UNKNOWN = 1, /* code outside all binaries */
    TRACE_FUNCTION_INLINED = 2,
    TRACE_FUNCTION_LABEL =
        4, /* a local label of assembly: the function continues there */
    TRACE_FUNCTION_SWITCH = 8, /* returns in another task */
    TRACE_FUNCTION_SWAPS = 32, /* stores the stack pointer and loads another one */
    TRACE_FUNCTION_TWICE = 16, /* setjmp: returns again when longjmp is called */
};

struct trace_function {
    uint32_t binary;     /* number; 0: none */
    unsigned flags;      /* enum trace_function_flag */
    struct str name;     /* as in the file; empty: unknown */
    uint64_t start, end; /* addresses of the file; end 0: unknown */
    trace_location_id location;
    trace_location_id *locations; /* by 2 bytes from the start; NULL: no inlined calls */
    bool asked;                   /* inlined calls were looked up */
};

/* Unknown code belongs to one of these functions. Their numbers: */
enum { TRACE_UNKNOWN_USER = 1, TRACE_UNKNOWN_FIRMWARE, TRACE_UNKNOWN_KERNEL };

enum trace_site_flag {
    TRACE_SITE_ENTRY = 1,     /* a function begins here */
    TRACE_SITE_START = 2,     /* and a program begins here */
    TRACE_SITE_SIGRETURN = 4, /* an ecall that ends a signal handler */
    TRACE_SITE_LINKS = 8,     /* a jump; ra has the address after it */
};

struct trace_site {
    uint32_t bits; /* of the instruction */
    trace_location_id location;
    int32_t displacement;
    uint8_t kind;    /* enum instruction_kind */
    uint8_t length;  /* 0: not decoded yet */
    uint8_t advance; /* the length if the next instruction may follow, else 0 */
    uint8_t flags;   /* enum trace_site_flag */
};

_Static_assert(sizeof(struct trace_site) == 16, "four to a line of the cache");

#define TRACE_PAGE_SHIFT 10
#define TRACE_PAGE_SITES ((1u << TRACE_PAGE_SHIFT) / 2)

/* Unknown sites after the last one: code that passes the end of a page detects it by
 * them. */
struct trace_page {
    uint64_t number;
    uint32_t binary;
    uint64_t bias; /* added to addresses of the file */
    struct trace_site sites[TRACE_PAGE_SITES + 4];
};

/* Memory of RISC-V machines: boot code has the lowest addresses. */
#define TRACE_BOOT_END 0x10000u

#define TRACE_PAGE_CACHE 1024

/* Number of instructions that are examined to see whether a jump and link only reads
 * the PC. */
#define TRACE_AHEAD_OF_LINK 8

/* The call targets of a binary without complete symbols: a bit for each 2 bytes of a
 * segment. */
struct trace_targets {
    uint64_t *bits;
};

/* A binary with its state in this module. */
struct trace_known {
    const struct trace_binary *binary;
    struct dwarf_reader reader;
    bool asked, has_reader;
    struct trace_targets *targets; /* by segment; NULL: not searched yet */
    uint64_t instructions;         /* instructions in it, counted by trace_profile */
    uint64_t described;            /* of these, blocks of which the trace has the bytes */
    uint64_t differing;            /* of these, blocks that differ from the file */
};

/* A part of a binary that is at other addresses than in its file. */
struct trace_placement {
    uint64_t start, end, bias;
    uint32_t binary;
};

/* A range of addresses of a binary: its number (0: none), and its bias. */
struct trace_where {
    uint32_t binary;
    uint64_t bias;
};

struct trace_code {
    struct arena *arena;       /* the caller's */
    struct trace_known *known; /* [0] is none */
    size_t known_count, known_cap;
    struct trace_placement *placements;
    size_t placement_count, placement_cap;

    /* Results of the search for binaries by their bytes: biases that were found, and
     * the number of searches for a page that failed. */
    struct trace_where *found;
    size_t found_count, found_cap;
    struct idmap searched;
    uint32_t last_user; /* the programs found last */

    /* Addresses that several programs share, in a trace without bytes; and the program
     * that is assumed to be there (0: the first). */
    uint64_t shared_start, shared_size;
    uint32_t program;
    const char *const *switches; /* names of functions that switch tasks; ends in NULL */
    struct dwarf_query *queries; /* scratch */
    size_t query_cap;

    struct trace_function *functions;
    size_t function_count, function_cap;
    struct idmap by_symbol, by_name, by_target;
    struct trie
        locations; /* a child of the root is a function; deeper nodes are inlined calls */

    struct idmap pages; /* by number: struct trace_page * */
    struct {
        uint64_t number; /* + 1; 0: empty */
        struct trace_page *page;
    } cache[TRACE_PAGE_CACHE];
    struct idmap calls;           /* by return address: the location of the call */
    struct trace_site unknown[4]; /* [TRACE_UNKNOWN_...] */
    bool in_firmware; /* unknown low addresses belong to the firmware from now on */
    bool is_32;       /* a 32-bit machine, according to a binary */
};

/* The binaries must outlive the code. False if out of memory. */
bool trace_code_init(struct trace_code *c, struct arena *arena,
                     const struct trace_binary *binaries, size_t count);
void trace_code_deinit(struct trace_code *c);

/* The number of a binary, which is added if it is new; 0 if out of memory. */
uint32_t trace_code_add(struct trace_code *c, const struct trace_binary *binary);

static inline const struct trace_binary *trace_code_binary(const struct trace_code *c,
                                                           uint32_t number)
{
    return c->known[number].binary;
}

/* From now on the addresses from `start` to `end` belong to a binary, with `bias`
 * added to those of its file. Of several parts at an address the newest has priority. */
void trace_code_add_placement(struct trace_code *c, struct trace_placement placement);

/* The binary at an address. */
struct trace_where trace_code_where(const struct trace_code *c, uint64_t pc);

/* Finds the binary that has these bytes, which were executed at an address: several
 * programs may be at the same address. A position-independent binary is searched in
 * all its pages if there are enough bytes. A kernel or firmware that is mapped there
 * matches with different bytes, too, because it patches itself; a program does not. */
struct trace_where trace_code_match(struct trace_code *c, uint64_t pc, struct str bytes);

/* Sets where a binary is, from one address in it. Returns its number, or 0 if the
 * address is not in it. */
struct trace_where trace_code_where_in(const struct trace_code *c, uint64_t pc,
                                       uint32_t binary);

/* Addresses where machines begin execution, before any known program. */
static inline bool trace_code_boots(uint64_t pc)
{
    return pc < TRACE_BOOT_END;
}

/* Two instructions call rt_sigreturn, which ends a signal in Linux: the first of them. */
bool trace_site_begins_sigreturn(const struct trace_site *s);

/* The function with that number in the code of another tracer, as a number of this
 * one; 0 if out of memory. */
trace_function_id trace_code_adopt(struct trace_code *c, const struct trace_code *from,
                                   trace_function_id id);

/* The site at an address; never NULL. Its pointer stays valid. */
const struct trace_site *trace_code_find(struct trace_code *c, uint64_t pc);

/* The same, in a program of several at the same addresses: the program of the site
 * `from`. *scratch may be used for the result. */
const struct trace_site *trace_code_find_beside(struct trace_code *c, uint64_t pc,
                                                const struct trace_site *from,
                                                struct trace_site *scratch);

/* Creates the site of an instruction whose bytes are in the trace. */
void trace_code_describe(struct trace_code *c, uint64_t pc, uint32_t bits,
                         struct trace_where where, struct trace_site *site);

/* The same, if the instruction before is known: some kinds need both. */
void trace_code_follow(const struct trace_site *before, struct trace_site *site);

/* A call by register leads to an address of the binary in `where`: if no symbol covers
 * the address, a function begins there. */
void trace_code_call(struct trace_code *c, struct trace_where where, uint64_t pc);

/* The same, if the site is known. */
void trace_code_call_page(struct trace_code *c, uint64_t pc);

/* The start of the function without a symbol that contains `address` of a binary's
 * file, according to calls; 0: none. (calls.c) */
uint64_t trace_code_target(struct trace_code *c, uint32_t binary, uint64_t address);

/* Stores that an address of a binary's file is called; false if this is known, or a
 * symbol covers it. (calls.c) */
bool trace_code_add_target(struct trace_code *c, uint32_t binary, uint64_t address);

/* Whether two instructions shortly before the jump at an address of a binary's file
 * set ra to the address after the jump: then the three are a call. (calls.c) */
bool trace_code_links(const struct trace_code *c, uint32_t binary, uint64_t address);

/* The function of a location. */
static inline trace_function_id trace_location_function(const struct trace_code *c,
                                                        trace_location_id location)
{
    const struct trie_node *nodes = c->locations.nodes;
    while (nodes[location].parent)
        location = nodes[location].parent;
    return nodes[location].key;
}

static inline trace_function_id trace_site_function(const struct trace_code *c,
                                                    const struct trace_site *s)
{
    return trace_location_function(c, s->location);
}

/* Finds addresses that several of the known programs share. */
void trace_code_share(struct trace_code *c);

static inline bool trace_code_is_shared(const struct trace_code *c, uint64_t pc)
{
    return pc - c->shared_start < c->shared_size;
}

/* A program of several begins or continues at the first of these addresses: selects
 * the one whose code connects the most addresses; of equal ones `before`, if it is
 * among them. The others are hidden from now on. */
void trace_code_choose(struct trace_code *c, const uint64_t *pcs, size_t count,
                       uint32_t before);

/* The location of the call that returns to `pc`, in the binary of that number (0:
 * unknown); 0 if there is none. */
trace_location_id trace_code_call_before(struct trace_code *c, uint64_t pc,
                                         uint32_t binary);

#endif
