#include "transform/transform.h"

struct profile *transform_merge(const struct profile *const *profiles, size_t count,
                                struct error *err)
{
    struct builder b;
    struct profile *merged = NULL;
    bool keep = count > 0;
    for (size_t i = 0; i < count; i++)
        keep &= profiles[i]->kept;
    if (builder_init(&b, keep ? BUILD_KEEP : BUILD_COUNT)) {
        for (size_t i = 0; i < count; i++)
            builder_merge(&b, profiles[i]);
        merged = builder_finish(&b, err);
    } else {
        error_memory(err);
    }
    builder_deinit(&b);
    return merged;
}
