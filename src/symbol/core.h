/* SPDX-License-Identifier: Apache-2.0 */
/* ELF core files of 64-bit processes (x86-64, AArch64), from the kernel or gdb's gcore.
 *
 * Source: fs/binfmt_elf.c and include/uapi/linux/elfcore.h of the kernel. No field is trusted:
 * every count and offset is limited to the bytes of the file, notes with false sizes are
 * skipped, and what is readable of a truncated file is available. */
#ifndef STOKE_SYMBOL_CORE_H
#define STOKE_SYMBOL_CORE_H

#include "base/architecture.h"
#include "symbol/elf.h"

#define CORE_REGISTERS 64
#define CORE_THREADS_MAX 65536
#define CORE_FILES_MAX ((size_t)1 << 17) /* the kernel's default is half of it */

struct core_thread {
    int64_t tid;
    uint64_t values[CORE_REGISTERS]; /* in perf's numbering */
    uint64_t present;                /* bit per register */
    uint64_t stack_pointer, thread_pointer;
};

/* A mapped file, of NT_FILE. */
struct core_file {
    uint64_t start, end, offset;
    struct str path;
};

struct core {
    struct elf elf; /* elf_bytes_at reads the memory */
    enum architecture machine;
    struct core_thread *threads; /* the first one received the signal */
    size_t thread_count, thread_cap;
    struct core_file *files; /* by address, without overlaps */
    size_t file_count, file_cap;
    int64_t pid;              /* 0: unknown */
    struct str name, command; /* of NT_PRPSINFO; or empty */
    unsigned signal;          /* that ended the process; 0: none, or unknown */
    uint64_t missing;         /* bytes of memory behind the end of a truncated file */
    size_t rejected;          /* notes and entries that are not valid */
};

/* `bytes` must remain valid while the core is used; memory comes from the arena. False, with err
 * set, if it is not a core file of a supported machine. */
bool core_init(struct core *c, struct str bytes, struct arena *arena, struct error *err);

/* The file that is mapped at an address; NULL: none. */
const struct core_file *core_file_at(const struct core *c, uint64_t address);

/* Whether code may be at an address: 1 yes, 0 no, -1 the core does not describe it. */
int core_is_code(const struct core *c, uint64_t address);

#endif
