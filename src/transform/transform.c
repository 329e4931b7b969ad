/* SPDX-License-Identifier: Apache-2.0 */
#include "transform/transform.h"

#define TRANSFORM(name) extern const struct transform transform_##name;
#include "transform/transforms.def"
#undef TRANSFORM

#define TRANSFORM(name) &transform_##name,
const struct transform *const transforms[] = {
#include "transform/transforms.def"
    NULL};
#undef TRANSFORM

const struct transform *transform_named(struct str name)
{
    for (size_t i = 0; transforms[i]; i++)
        if (str_equal(str_of(transforms[i]->name), name))
            return transforms[i];
    return NULL;
}

struct profile *transform_run(const struct transform *t, const struct profile *from,
                              const struct transform_options *o, struct error *err)
{
    struct builder b;
    struct profile *p = NULL;
    if (builder_init(&b, from->all_samples ? BUILD_KEEP : BUILD_COUNT)) {
        builder_merge_facts(&b, from);
        if (t->run(from, o, &b, err))
            p = builder_finish(&b, err);
    } else {
        error_memory(err);
    }
    builder_deinit(&b);
    return p;
}

struct profile *transform_apply(const struct transform_options *o, struct profile *p,
                                const struct transform **emptied, struct error *err)
{
    *emptied = NULL;
    for (size_t i = 0; p && transforms[i]; i++) {
        if (!transforms[i]->requested(o))
            continue;
        struct profile *to = transform_run(transforms[i], p, o, err);
        if (to && p->sample_count && !to->sample_count)
            *emptied = transforms[i];
        profile_destroy(p);
        p = to;
    }
    return p;
}
