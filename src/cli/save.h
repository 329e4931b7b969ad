/* From a profile to a file, through an exporter. */
#ifndef STOKE_CLI_SAVE_H
#define STOKE_CLI_SAVE_H

#include "export/exporter.h"

/* Writes to the file of that name, "-" for standard output. On failure false, with err
 * set, and a file of that name is as it was. */
bool save_profile(const struct exporter *e, const struct profile *p,
                  const struct export_options *options, const char *path,
                  struct error *err);

#endif
