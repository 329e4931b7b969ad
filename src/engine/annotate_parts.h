/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the files of engine/annotate. */
#ifndef STOKE_ENGINE_ANNOTATE_PARTS_H
#define STOKE_ENGINE_ANNOTATE_PARTS_H

#include "engine/annotate.h"
#include "resolve/local_resolver.h"

/* The location of a function's code. */
struct annotation_code {
    object_id object;   /* 0: there is no file */
    uint64_t low, high; /* of a function without a symbol; else 0 */
};

/* Completes a function that has names, sampled addresses and their sum: adds the range,
 * the lines and the instructions. Returns false if out of memory. */
bool annotation_build(struct annotation *f, const struct annotation_code *code,
                      const struct resolver *resolver, struct arena *arena);

/* Makes room for the samples of other events in a built function. */
bool annotation_add_others(struct annotation *f, size_t count, struct arena *arena);

/* Counts samples of another event at an address of the function. */
void annotation_count_other(struct annotation *f, size_t other, uint64_t address,
                            const struct annotated *samples);

/* Appends an ELF file that contains f->bytes, at the function's address. */
void annotation_write_image(const struct annotation *f, struct output *out);

/* Makes instructions of f->bytes with objdump of binutils. Returns false, with the
 * reason in f->no_code, if there are none: then f has its sampled addresses only. */
bool annotation_disassemble(struct annotation *f, struct arena *arena);

#endif
