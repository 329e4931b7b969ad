/* SPDX-License-Identifier: Apache-2.0 */
#include "perf/interpreted.h"

/* A path must fit into a record. */
#define FILE_PART_MAX 3000
#define FUNCTION_PART_MAX 900

static void put_escaped(struct output *out, struct str text)
{
    for (size_t i = 0; i < text.len; i++) {
        unsigned char c = (unsigned char)text.ptr[i];
        if (c == '/' || c == '%' || c < ' ' || c == 127)
            output_format(out, "%%%02x", c);
        else
            output_char(out, (char)c);
    }
}

static struct str head_utf8(struct str text, size_t most)
{
    if (text.len <= most)
        return text;
    while (most && ((unsigned char)text.ptr[most] & 0xc0) == 0x80)
        most--;
    return str_head(text, most);
}

bool perf_interpreted_path(struct output *path, const char *language, struct str file,
                           struct str function)
{
    struct output name = OUTPUT_BUFFER;
    put_escaped(&name, function.len ? function : STR("?"));
    output_format(path, PERF_INTERPRETED_PREFIX "%s/", language);
    output_str(path, head_utf8(file, FILE_PART_MAX));
    output_char(path, '/');
    output_str(path, head_utf8(output_contents(&name), FUNCTION_PART_MAX));
    path->failed |= name.failed;
    output_deinit(&name);
    return !path->failed;
}
