/* SPDX-License-Identifier: Apache-2.0 */
#include "resolve/mapped_file.h"
#include "symbol/symtab.h"

bool mapped_file_open(struct mapped_file *m, uint32_t pid,
                      const struct find_settings *find, struct arena *arena)
{
    struct find_settings settings = *find;
    struct object_request request = {.path = m->path,
                                     .build_id = m->build_id,
                                     .pid = pid,
                                     .host = STR(""),
                                     .release = STR(""),
                                     .jit_map = STR("")};
    struct str other = STR("");
    if (m->opened)
        return m->has_file;
    settings.only_mapped = true;
    m->opened = true;
    m->found.mapping = OS_MAPPING_NONE;
    m->has_file =
        str_starts(m->path, STR("/")) &&
        find_object(&settings, &request, &m->found, &other, arena) == FIND_FOUND;
    return m->has_file;
}

void mapped_file_close(struct mapped_file *m)
{
    if (m->has_file)
        os_mapping_close(&m->found.mapping);
    m->has_file = false;
}

bool mapped_file_bias(const struct mapped_file *m, uint64_t *bias)
{
    return m->has_file && elf_load_bias(&m->found.elf, m->start, m->offset, bias);
}

bool mapped_file_symbol(struct mapped_file *m, struct str name, uint64_t *address)
{
    uint64_t bias, value;
    if (!mapped_file_bias(m, &bias) || !symtab_find(&m->found.elf, name, &value))
        return false;
    *address = value + bias;
    return true;
}
