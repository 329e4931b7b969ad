/* SPDX-License-Identifier: Apache-2.0 */
/* What is at an address of a trace: decoded once, then looked up.
 *
 * A site is an address at which instructions begin: the kind of instruction, and the
 * place in the source that it belongs to: a function with the calls inlined there. Sites
 * are kept in pages; a page is made when its first address is asked for. For one thread.
 */
#ifndef STOKE_TRACE_CODE_H
#define STOKE_TRACE_CODE_H

#include "base/idmap.h"
#include "base/trie.h"
#include "trace/binary.h"
#include "trace/instruction.h"

/* Numbers of functions and places; 0 is none. */
typedef uint32_t trace_function_id;
typedef uint32_t trace_place_id;

enum trace_function_flag {
    TRACE_FUNCTION_UNKNOWN = 1, /* code outside of the binaries */
    TRACE_FUNCTION_INLINED = 2,
    TRACE_FUNCTION_LABEL = 4,  /* a local label of assembly: its function goes on there */
    TRACE_FUNCTION_SWITCH = 8, /* returns as another task */
    TRACE_FUNCTION_SWAPS = 32, /* stores the stack pointer and loads another one */
    TRACE_FUNCTION_TWICE = 16, /* setjmp: returns again, whenever longjmp is called */
};

struct trace_function {
    uint32_t binary;     /* its number; 0: none */
    unsigned flags;      /* enum trace_function_flag */
    struct str name;     /* as it stands in the file; empty: not known */
    uint64_t start, end; /* addresses of the file; end 0: not known */
    trace_place_id place;
    trace_place_id *places; /* by 2 bytes from the start; NULL: nothing is inlined */
    bool asked;             /* for what is inlined */
};

/* The functions that all unknown code belongs to, and their numbers. */
enum { TRACE_UNKNOWN_USER = 1, TRACE_UNKNOWN_FIRMWARE, TRACE_UNKNOWN_KERNEL };

enum trace_site_flag {
    TRACE_SITE_ENTRY = 1,     /* a function begins here */
    TRACE_SITE_START = 2,     /* and a program */
    TRACE_SITE_SIGRETURN = 4, /* an ecall that ends a signal's handler */
    TRACE_SITE_LINKS = 8,     /* a jump; ra was set to the address behind it */
};

struct trace_site {
    uint32_t bits; /* of the instruction */
    trace_place_id place;
    int32_t displacement;
    uint8_t kind;    /* enum instruction_kind */
    uint8_t length;  /* 0: nothing is known of this address yet */
    uint8_t advance; /* the length where the next instruction may follow, else 0 */
    uint8_t flags;   /* enum trace_site_flag */
};

_Static_assert(sizeof(struct trace_site) == 16, "four to a line of the cache");

#define TRACE_PAGE_SHIFT 10
#define TRACE_PAGE_SITES ((1u << TRACE_PAGE_SHIFT) / 2)

/* Behind the last site stand some that nothing is known of: whoever steps over the end of
 * a page notices. */
struct trace_page {
    uint64_t number;
    uint32_t binary;
    uint64_t bias; /* added to the file's addresses */
    struct trace_site sites[TRACE_PAGE_SITES + 4];
};

/* Memory as RISC-V machines have it: boot code at the bottom. */
#define TRACE_BOOT_END 0x10000u

#define TRACE_PAGE_CACHE 1024

/* How many instructions are looked at to see whether a jump and link only reads the PC. */
#define TRACE_AHEAD_OF_LINK 8

/* What is called in a binary where no symbol with a size is: a bit for each 2 bytes of a
 * segment. */
struct trace_targets {
    uint64_t *bits;
};

/* A binary as it is known here. */
struct trace_known {
    const struct trace_binary *binary;
    struct dwarf_reader reader;
    bool asked, has_reader;
    struct trace_targets *targets; /* by segment; NULL: not searched for yet */
    uint64_t instructions;         /* that were in it: trace_profile counts them */
    uint64_t described; /* whose bits the trace tells, each once for each block */
    uint64_t differing; /* and of these, what the file has is another one */
};

/* A part of a binary that lies elsewhere than its file says. */
struct trace_placement {
    uint64_t start, end, bias;
    uint32_t binary;
};

/* Addresses of a binary: its number, 0 for none, and how far they were moved. */
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

    /* Where binaries were found by their bytes: a bias each, and how often a page was
     * searched for in vain. */
    struct trace_where *found;
    size_t found_count, found_cap;
    struct idmap searched;
    uint32_t last_user; /* of the programs that were found last */

    /* Addresses where several programs may be, in a trace of addresses alone; and which
     * of them is taken to be there (0: the first). */
    uint64_t shared_start, shared_size;
    uint32_t program;
    const char *const *switches; /* names of functions that switch tasks; ends in NULL */
    struct dwarf_query *queries; /* scratch */
    size_t query_cap;

    struct trace_function *functions;
    size_t function_count, function_cap;
    struct idmap by_symbol, by_name, by_target;
    struct trie places; /* a child of the root is a function, deeper ones are inlined */

    struct idmap pages; /* by number: struct trace_page * */
    struct {
        uint64_t number; /* + 1; 0: empty */
        struct trace_page *page;
    } cache[TRACE_PAGE_CACHE];
    struct idmap calls;           /* by the address behind: the place of a call */
    struct trace_site unknown[4]; /* [TRACE_UNKNOWN_...] */
    bool in_firmware;             /* unknown low addresses are now the firmware's */
    bool is_32;                   /* the machine has 32 bits, as a binary says */
};

/* The binaries outlive the code. False when memory is short. */
bool trace_code_init(struct trace_code *c, struct arena *arena,
                     const struct trace_binary *binaries, size_t count);
void trace_code_deinit(struct trace_code *c);

/* The number of a binary, made known where it is not; 0 when memory is short. */
uint32_t trace_code_add(struct trace_code *c, const struct trace_binary *binary);

static inline const struct trace_binary *trace_code_binary(const struct trace_code *c,
                                                           uint32_t number)
{
    return c->known[number].binary;
}

/* From now on addresses from `start` to `end` are those of a binary, `bias` more than in
 * its file. Of several parts at an address the newest counts. */
void trace_code_place(struct trace_code *c, struct trace_placement placement);

/* What is at an address. */
struct trace_where trace_code_where(const struct trace_code *c, uint64_t pc);

/* The binary that has these bytes, which ran at an address: several programs may lie at
 * the same one. A binary that may lie anywhere is looked for in all its pages, where
 * there are enough bytes to tell. A kernel or firmware that should be there is taken with
 * other bytes too (it patches itself), a program never. */
struct trace_where trace_code_match(struct trace_code *c, uint64_t pc, struct str bytes);

/* Where a binary lies, by an address in it: its number, or 0 where it is not there. */
struct trace_where trace_code_where_in(const struct trace_code *c, uint64_t pc,
                                       uint32_t binary);

/* Where machines begin to run, before any program that is known. */
static inline bool trace_code_boots(uint64_t pc)
{
    return pc < TRACE_BOOT_END;
}

/* The function of another one's code that has that number there; 0 when memory is short. */
trace_function_id trace_code_adopt(struct trace_code *c, const struct trace_code *from,
                                   trace_function_id id);

/* The site at an address; never NULL. It stays where it is. */
const struct trace_site *trace_code_find(struct trace_code *c, uint64_t pc);

/* The same, in a program where others may lie at the same address: that which `from`, a
 * site of it, belongs to. It may be put into *scratch. */
const struct trace_site *trace_code_find_beside(struct trace_code *c, uint64_t pc,
                                                const struct trace_site *from,
                                                struct trace_site *scratch);

/* Makes the site of an instruction whose bits the trace tells. */
void trace_code_describe(struct trace_code *c, uint64_t pc, uint32_t bits,
                         struct trace_where where, struct trace_site *site);

/* The same, where the instruction before is known, too: what only both tell. */
void trace_code_follow(const struct trace_site *before, struct trace_site *site);

/* A call by register leads to an address that `where` says the binary of: where no symbol
 * tells of a function there, one begins. */
void trace_code_call(struct trace_code *c, struct trace_where where, uint64_t pc);

/* The same, of an address whose site was found. */
void trace_code_call_page(struct trace_code *c, uint64_t pc);

/* The address of a binary's file that the function without a symbol begins at which
 * `address` is in, as calls tell; 0: none. (calls.c) */
uint64_t trace_code_target(struct trace_code *c, uint32_t binary, uint64_t address);

/* Notes that an address of a binary's file is called; false where that was known, or a
 * symbol tells more. (calls.c) */
bool trace_code_add_target(struct trace_code *c, uint32_t binary, uint64_t address);

/* Whether ra is set to the address behind the jump at an address of a binary's file, by
 * two instructions shortly before it: together they are a call. (calls.c) */
bool trace_code_links(const struct trace_code *c, uint32_t binary, uint64_t address);

/* The function of a place. */
static inline trace_function_id trace_place_function(const struct trace_code *c,
                                                     trace_place_id place)
{
    const struct trie_node *nodes = c->places.nodes;
    while (nodes[place].parent)
        place = nodes[place].parent;
    return nodes[place].key;
}

static inline trace_function_id trace_site_function(const struct trace_code *c,
                                                    const struct trace_site *s)
{
    return trace_place_function(c, s->place);
}

/* Finds out where several of the programs known lie. */
void trace_code_share(struct trace_code *c);

static inline bool trace_code_is_shared(const struct trace_code *c, uint64_t pc)
{
    return pc - c->shared_start < c->shared_size;
}

/* At the first of these addresses, where several programs may be, one begins or goes on:
 * the one whose code leads from each to the next the farthest; of those that are alike
 * `before`, if it is among them. From now on the others are not seen. */
void trace_code_choose(struct trace_code *c, const uint64_t *pcs, size_t count,
                       uint32_t before);

/* The place of the call in a binary (0: in none that is known) that returns to `pc`, or 0
 * where there is none. */
trace_place_id trace_code_call_before(struct trace_code *c, uint64_t pc, uint32_t binary);

#endif
