/* The binaries that a trace is of: found, opened and made ready. */
#ifndef STOKE_CLI_TRACE_BINARIES_H
#define STOKE_CLI_TRACE_BINARIES_H

#include "cli/option.h"
#include "cli/symbols.h"
#include "trace/binary.h"

struct trace_files {
    struct arena arena;
    struct trace_binary *binaries;
    size_t count;
    struct object **objects; /* whose the binaries' parts are; NULL: kallsyms' */
    struct os_mapping kallsyms;
};

/* Opens the binaries, those of the users behind the others. False with err set where one
 * cannot be read; deinit in either case. `kallsyms` may be NULL. */
bool trace_files_open(struct trace_files *f, const struct option_list *binaries,
                      const struct option_list *users, const char *kallsyms,
                      const struct resolve_settings *settings, struct error *err);
void trace_files_close(struct trace_files *f);

#endif
