/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/options/config.h"
#include "base/format.h"
#include "os/mapping.h"
#include <stdlib.h>

#define CONFIG_MAX ((size_t)1 << 20)

/* The text without white space at its ends, terminated there. */
static char *trim(char *text)
{
    struct str all = str_trim(str_of(text));
    char *begin = text + (all.len ? all.ptr - text : 0);
    begin[all.len] = '\0';
    return begin;
}

static bool parse_line(const struct option_group *groups, void *settings, char *line,
                       struct error *err)
{
    char *value = strchr(line, '=');
    if (value)
        *value++ = '\0';
    char *name = trim(line);
    if (!name[0]) {
        error_set(err, "a line without the name of an option");
        return error_hint(err, "name = value, as on the command line: rate = 19");
    }
    return options_set(groups, settings, name, value ? trim(value) : NULL, err);
}

bool config_parse(const struct option_group *groups, void *settings, const char *file,
                  char *text, struct error *err)
{
    for (uint64_t number = 1; text; number++) {
        char *end = strchr(text, '\n');
        if (end)
            *end = '\0';
        char *line = trim(text);
        if (line[0] && line[0] != '#' && !parse_line(groups, settings, line, err)) {
            format_text(err->file, sizeof err->file, "%s", file);
            return error_at_line(err, number, 0, STR(""));
        }
        text = end ? end + 1 : NULL;
    }
    return true;
}

bool config_read(const struct option_group *groups, void *settings, const char *file,
                 char **text, struct error *err)
{
    struct os_mapping m = OS_MAPPING_NONE;
    *text = NULL;
    if (!os_mapping_open(&m, file, err))
        return false;
    bool fits = m.bytes.len <= CONFIG_MAX && str_find(m.bytes, '\0') == m.bytes.len;
    *text = fits ? malloc(m.bytes.len + 1) : NULL;
    if (*text)
        format_text(*text, m.bytes.len + 1, "%.*s", STR_ARG(m.bytes));
    os_mapping_close(&m);
    if (!fits)
        return error_set(err, "'%s' is not a text file, or is too large", file);
    return *text ? config_parse(groups, settings, file, *text, err) : error_memory(err);
}
