/* SPDX-License-Identifier: Apache-2.0 */
#include "os/kernel_fields.h"
#include "os/mapping.h"
#include <fcntl.h>
#include <linux/btf.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define BTF_PATH "/sys/kernel/btf/vmlinux"
#define BTF_BYTES_MAX ((size_t)256 << 20)

/* Structures that are searched for one member: the named one, and those without a name. */
#define PARTS_MAX 32

struct types {
    struct str types, names;
};

/* A type and where the next one begins. */
struct type_at {
    struct btf_type head;
    struct str members;
};

static bool parse_header(struct str btf, struct types *t)
{
    struct btf_header h;
    if (btf.len < sizeof h)
        return false;
    memcpy(&h, btf.ptr, sizeof h);
    if (h.magic != BTF_MAGIC || h.hdr_len > btf.len)
        return false;
    struct str rest = str_skip(btf, h.hdr_len);
    if (h.type_off > rest.len || h.type_len > rest.len - h.type_off ||
        h.str_off > rest.len || h.str_len > rest.len - h.str_off)
        return false;
    t->types = str_head(str_skip(rest, h.type_off), h.type_len);
    t->names = str_head(str_skip(rest, h.str_off), h.str_len);
    return true;
}

/* The bytes that follow the head of a type. */
static size_t bytes_behind(const struct btf_type *t)
{
    size_t count = BTF_INFO_VLEN(t->info);
    switch (BTF_INFO_KIND(t->info)) {
    case BTF_KIND_INT:
    case BTF_KIND_VAR:
    case BTF_KIND_DECL_TAG:
        return 4;
    case BTF_KIND_ARRAY:
        return sizeof(struct btf_array);
    case BTF_KIND_ENUM:
    case BTF_KIND_FUNC_PROTO:
        return count * 8;
    case BTF_KIND_STRUCT:
    case BTF_KIND_UNION:
    case BTF_KIND_DATASEC:
    case BTF_KIND_ENUM64:
        return count * 12;
    default:
        return 0;
    }
}

static bool next_type(struct str *rest, struct type_at *at)
{
    if (rest->len < sizeof at->head)
        return false;
    memcpy(&at->head, rest->ptr, sizeof at->head);
    size_t behind = bytes_behind(&at->head);
    *rest = str_skip(*rest, sizeof at->head);
    if (behind > rest->len)
        return false;
    at->members = str_head(*rest, behind);
    *rest = str_skip(*rest, behind);
    return true;
}

static bool is_named(const struct types *t, uint32_t offset, struct str name)
{
    return offset < t->names.len && name.len < t->names.len - offset &&
           memcmp(t->names.ptr + offset, name.ptr, name.len) == 0 &&
           t->names.ptr[offset + name.len] == 0;
}

static bool has_members(const struct btf_type *t)
{
    unsigned kind = BTF_INFO_KIND(t->info);
    return kind == BTF_KIND_STRUCT || kind == BTF_KIND_UNION;
}

/* A type by its name, or by its number if `name` is empty. */
static bool find_type(const struct types *t, struct str name, uint32_t number,
                      struct type_at *at)
{
    struct str rest = t->types;
    for (uint32_t i = 1; next_type(&rest, at); i++)
        if (name.len ? has_members(&at->head) && is_named(t, at->head.name_off, name)
                     : i == number)
            return has_members(&at->head);
    return false;
}

static uint32_t byte_offset(const struct type_at *at, const struct btf_member *m)
{
    bool has_bitfields = BTF_INFO_KFLAG(at->head.info);
    return (has_bitfields ? BTF_MEMBER_BIT_OFFSET(m->offset) : m->offset) / 8;
}

/* A structure, and where it begins in the one that is searched. */
struct part {
    struct type_at at;
    uint32_t offset;
};

static bool has_member(const struct types *t, const struct part *part, struct str name,
                       uint32_t *offset)
{
    struct btf_member m;
    for (struct str rest = part->at.members; rest.len; rest = str_skip(rest, sizeof m)) {
        memcpy(&m, rest.ptr, sizeof m);
        *offset = part->offset + byte_offset(&part->at, &m);
        if (is_named(t, m.name_off, name))
            return true;
    }
    return false;
}

/* Adds the structures without a name that are members. Each costs a search of all types. */
static void add_parts(const struct types *t, const struct part *outer, struct part *parts,
                      size_t *count)
{
    struct btf_member m;
    for (struct str rest = outer->at.members; rest.len && *count < PARTS_MAX;
         rest = str_skip(rest, sizeof m)) {
        memcpy(&m, rest.ptr, sizeof m);
        struct part *inner = &parts[*count];
        if (m.name_off || !find_type(t, STR(""), m.type, &inner->at))
            continue;
        inner->offset = outer->offset + byte_offset(&outer->at, &m);
        ++*count;
    }
}

/* Searches the outer structures first. */
static bool find_member(const struct types *t, const struct type_at *at, struct str name,
                        uint32_t *offset)
{
    struct part parts[PARTS_MAX] = {{.at = *at}};
    size_t count = 1;
    for (size_t i = 0; i < count; i++) {
        struct part outer = parts[i];
        if (has_member(t, &outer, name, offset))
            return true;
        add_parts(t, &outer, parts, &count);
    }
    return false;
}

bool os_kernel_fields_of(struct str btf, struct os_kernel_field *fields, size_t count,
                         struct error *err)
{
    struct types t;
    if (!parse_header(btf, &t))
        return error_set(err, "the kernel's description of its types is not valid");
    for (size_t i = 0; i < count; i++) {
        struct type_at at;
        if (!find_type(&t, str_of(fields[i].structure), 0, &at) ||
            !find_member(&t, &at, str_of(fields[i].member), &fields[i].offset))
            return error_set(err, "the kernel has no field '%s' in '%s'",
                             fields[i].member, fields[i].structure);
    }
    return true;
}

/* Maps the file, which Linux allows from 6.16 on; MAP_FAILED if it does not. */
static void *map_types(size_t *size)
{
    struct stat st;
    void *map = MAP_FAILED;
    int fd = open(BTF_PATH, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return map;
    if (fstat(fd, &st) == 0 && st.st_size > 0) {
        *size = (size_t)st.st_size;
        map = mmap(NULL, *size, PROT_READ, MAP_PRIVATE, fd, 0);
    }
    close(fd);
    return map;
}

bool os_kernel_fields(struct os_kernel_field *fields, size_t count, struct error *err)
{
    struct os_mapping read;
    size_t size = 0;
    void *map = map_types(&size);
    if (map != MAP_FAILED) {
        bool ok = os_kernel_fields_of((struct str){map, size}, fields, count, err);
        munmap(map, size);
        return ok;
    }
    if (!os_mapping_read(&read, BTF_PATH, BTF_BYTES_MAX, err))
        return false;
    bool ok = os_kernel_fields_of(read.bytes, fields, count, err);
    os_mapping_close(&read);
    return ok;
}
