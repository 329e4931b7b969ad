/* From file names to a profile: open, unpack, find the format, read, split over the
 * cores. Shared by every command that takes profiles, with the options that steer it. */
#ifndef STOKE_CLI_LOAD_H
#define STOKE_CLI_LOAD_H

#include "cli/option.h"
#include "import/importer.h"

struct load_settings {
    const char *format; /* an importer's name, or NULL: found from the content */
    int64_t threads;    /* 0: as many as there are cores */
    bool keep;          /* set by a command that needs each sample with its time */
    bool quiet;
    bool own_warnings; /* set by a command that shows the warnings itself */
    struct import_options import;
    struct option_list skip_after;
};

/* The options of every command that reads profiles. */
extern const struct option load_options[];

/* Reads the files ("-" or none: standard input) into one profile, says what was wrong
 * with them, and hands it out; NULL with err set when any could not be read. */
struct profile *load_profiles(const struct load_settings *settings, int file_count,
                              char **files, struct error *err);

/* Picks the event of that name; 0 for NULL: the first. Says so once where there are more
 * and the user did not choose. False, with err set, when there is none of that name. */
bool load_choose_event(const struct profile *p, const char *name, bool quiet,
                       event_id *event, struct error *err);

#endif
