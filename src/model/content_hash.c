/* SPDX-License-Identifier: Apache-2.0 */
#include "model/content_hash.h"
#include "base/sha256.h"
#include "model/frame_label.h"

static void add_number(struct sha256 *h, uint64_t number, unsigned size)
{
    unsigned char bytes[8];
    for (unsigned i = 0; i < size; i++)
        bytes[i] = (unsigned char)(number >> (8 * i));
    sha256_add(h, bytes, size);
}

static void add_text(struct sha256 *h, struct str text)
{
    add_number(h, text.len, 4);
    sha256_add(h, text.ptr, text.len);
}

static struct content_hash end_hash(struct sha256 *h)
{
    unsigned char digest[SHA256_SIZE];
    struct content_hash hash;
    sha256_end(h, digest);
    memcpy(hash.bytes, digest, sizeof hash.bytes);
    return hash;
}

/* The tag and the kind come first. */
static void begin_frame(struct sha256 *h, char tag, const struct frame *f)
{
    sha256_begin(h);
    add_number(h, (unsigned char)tag, 1);
    add_number(h, f->kind, 1);
}

/* The suffix of a folded line ("_[k]") is removed: the kind has the same information. */
static struct str bare_name(const struct profile *p, const struct frame *f)
{
    struct str name = profile_string(p, f->name);
    bool marked = f->kind != FRAME_USER && label_suffix_kind(name) == f->kind;
    return marked ? label_without_suffix(name) : name;
}

struct content_hash content_hash_frame(const struct profile *p, frame_id frame)
{
    const struct frame *f = &p->frames[frame];
    const struct module *m = &p->modules[f->module];
    struct str build_id = profile_string(p, m->build_id);
    struct str module = str_basename(profile_string(p, m->path));
    bool is_jit = f->kind == FRAME_JIT;
    struct sha256 h;
    if (is_jit) /* the names of its files contain process ids, its code moves */
        module = build_id = STR("");
    if (f->name || f->kind == FRAME_MARKER) {
        begin_frame(&h, 'N', f);
        add_text(&h, bare_name(p, f));
        add_text(&h, profile_string(p, f->file));
        add_text(&h, module);
    } else {
        begin_frame(&h, build_id.len ? 'B' : 'M', f);
        add_text(&h, build_id.len ? build_id : module);
        add_number(&h, is_jit ? 0 : f->offset, 8);
    }
    return end_hash(&h);
}

struct content_hash content_hash_stack(const struct content_hash *parent,
                                       const struct content_hash *frame)
{
    struct sha256 h;
    sha256_begin(&h);
    add_number(&h, 'S', 1);
    sha256_add(&h, parent->bytes, sizeof parent->bytes);
    sha256_add(&h, frame->bytes, sizeof frame->bytes);
    return end_hash(&h);
}

void content_hash_text(const struct content_hash *hash, char text[CONTENT_HASH_TEXT])
{
    static const char digits[] = "0123456789abcdef";
    for (size_t i = 0; i < sizeof hash->bytes; i++) {
        text[2 * i] = digits[hash->bytes[i] >> 4];
        text[2 * i + 1] = digits[hash->bytes[i] & 15];
    }
    text[CONTENT_HASH_TEXT - 1] = 0;
}

bool content_hashes_init(struct content_hashes *h, const struct profile *p,
                         struct error *err)
{
    *h = (struct content_hashes){.arena = ARENA_INIT};
    h->frames = arena_zalloc(&h->arena, p->frame_count, sizeof *h->frames);
    h->stacks = arena_zalloc(&h->arena, p->stack_count, sizeof *h->stacks);
    if (!h->frames || !h->stacks)
        return error_memory(err);
    for (frame_id i = 1; i < p->frame_count; i++)
        h->frames[i] = content_hash_frame(p, i);
    for (stack_id i = 1; i < p->stack_count; i++)
        h->stacks[i] = content_hash_stack(&h->stacks[p->stacks[i].parent],
                                          &h->frames[p->stacks[i].frame]);
    return true;
}

void content_hashes_deinit(struct content_hashes *h)
{
    arena_deinit(&h->arena);
}
