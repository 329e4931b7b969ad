/* SPDX-License-Identifier: Apache-2.0 */
/* The kernel's symbols: /proc/kallsyms, or a copy saved with a recording.
 *
 * A line is "ADDRESS TYPE NAME", followed by "\t[MODULE]" for modules (and [bpf] for
 * BPF programs). Types are those of nm. Functions and data are read, so that a function
 * ends where data begins; the file contains no sizes. */
#ifndef STOKE_SYMBOL_KALLSYMS_H
#define STOKE_SYMBOL_KALLSYMS_H

#include "symbol/symbol_table.h"

struct kallsyms_facts {
    /* all addresses are 0: kernel.kptr_restrict hid them from the reader */
    bool hidden;
    uint64_t bad_lines; /* skipped */
};

/* Fills and finishes a table; `text` must outlive it. Addresses are those at the time
 * when the text was read. False only when out of memory. */
bool kallsyms_init(struct symbol_table *t, struct str text, struct arena *arena,
                   struct kallsyms_facts *facts, struct error *err);

/* The address of the first line with this name (and no module), such as "_stext", which
 * shows how far KASLR moved the kernel at boot. Reads the whole text. */
bool kallsyms_address(struct str text, struct str name, uint64_t *address);

#endif
