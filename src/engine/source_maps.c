/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/source_maps.h"
#include "base/format.h"
#include "codec/decode.h"
#include "os/file.h"
#include <stdlib.h>

static bool load_map(struct source_map *m, const char *path, struct error *err)
{
    struct os_input input;
    struct decoder d;
    if (!os_input_open(&input, path, err))
        return false;
    struct source raw = os_input_source(&input);
    bool ok = decoder_init(&d, &raw, err);
    if (ok) {
        ok = source_map_read(m, &d.source, str_of(path), err);
        decoder_deinit(&d);
    }
    source_deinit(&raw);
    os_input_close(&input);
    if (!ok && err->file[0] == 0)
        format_text(err->file, sizeof err->file, "%s", path);
    return ok;
}

bool source_maps_load(struct source_maps *maps, const struct name_list *files,
                      struct error *err)
{
    *maps = (struct source_maps){0};
    if (files->count == 0)
        return true;
    maps->items = calloc(files->count, sizeof *maps->items);
    if (!maps->items)
        return error_memory(err);
    for (size_t i = 0; i < files->count; i++) {
        maps->count = i + 1;
        if (!load_map(&maps->items[i], files->items[i], err))
            return false;
    }
    return true;
}

void source_maps_free(struct source_maps *maps)
{
    for (size_t i = 0; i < maps->count; i++)
        source_map_deinit(&maps->items[i]);
    free(maps->items);
    *maps = (struct source_maps){0};
}

void source_maps_note(const struct source_maps *maps, const struct name_list *files,
                      const struct engine_report *report)
{
    for (size_t i = 0; i < maps->count; i++)
        if (maps->items[i].used == 0)
            engine_note(report, "no function is in the file that %s belongs to",
                        files->items[i]);
}
