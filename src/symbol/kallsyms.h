/* SPDX-License-Identifier: Apache-2.0 */
/* The kernel's own symbols: /proc/kallsyms, or a copy that was saved with a recording.
 *
 * A line is "ADDRESS TYPE NAME", for modules (and BPF programs: [bpf]) with "\t[MODULE]"
 * behind it. Types are nm's: functions and data are taken, so that a function ends where
 * data begins; sizes are not told. */
#ifndef STOKE_SYMBOL_KALLSYMS_H
#define STOKE_SYMBOL_KALLSYMS_H

#include "symbol/table.h"

struct kallsyms_facts {
    bool hidden;        /* all addresses are 0: kernel.kptr_restrict, for who read it */
    uint64_t bad_lines; /* left out */
};

/* Fills and finishes a table; `text` outlives it. An address in it is the kernel's at the
 * time when the text was read. False only when memory is short. */
bool kallsyms_init(struct symbol_table *t, struct str text, struct arena *arena,
                   struct kallsyms_facts *facts, struct error *err);

/* The address of the first line with this name (and no module), as "_stext", by which one
 * tells how far the kernel was moved when it booted. Reads all of the text. */
bool kallsyms_address(struct str text, struct str name, uint64_t *address);

#endif
