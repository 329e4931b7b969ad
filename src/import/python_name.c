/* SPDX-License-Identifier: Apache-2.0 */
#include "import/python_name.h"

struct str python_short_path(struct str function, struct str path)
{
    struct str name;
    bool module = str_equal(function, STR("<module>"));
    size_t slash = str_rfind(path, '/');
    if (slash == path.len)
        slash = str_rfind(path, '\\');
    if (slash == path.len)
        return path;
    name = str_skip(path, slash + 1);
    if (!module && !str_starts(name, STR("__")))
        return name;
    struct str folder = str_head(path, slash);
    size_t before = str_rfind(folder, path.ptr[slash]);
    return before == folder.len ? path : str_skip(path, before + 1);
}

void python_write_label(struct output *o, struct str name, struct str path, uint64_t line)
{
    output_str(o, name);
    if (path.len == 0)
        return;
    output_text(o, " (");
    output_str(o, python_short_path(name, path));
    output_char(o, ':');
    output_u64(o, line);
    output_char(o, ')');
}
