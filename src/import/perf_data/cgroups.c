/* SPDX-License-Identifier: Apache-2.0 */
/* Control groups: the label cgroup=PATH of samples (perf record --all-cgroups). */
#include "base/array.h"
#include "import/perf_data/profile.h"
#include "model/sample_labels.h"

void perf_cgroup_named(struct perf_profile *p, const struct perf_record *r)
{
    uint64_t id;
    struct str path;
    if (!perf_cgroup_of(&p->data, r, &id, &path) || path.len == 0)
        return;
    uint64_t *number = idmap_put(&p->cgroup_numbers, &p->maps, id);
    if (!number || (*number && str_equal(p->cgroups[*number - 1].path, path)))
        return;
    struct perf_cgroup *group =
        ARRAY_APPEND(&p->maps, p->cgroups, p->cgroup_count, p->cgroup_cap);
    if (!group)
        return;
    *group = (struct perf_cgroup){.path = arena_str(&p->maps, path)};
    *number = p->cgroup_count;
}

struct str perf_profile_cgroup(const struct perf_profile *p, uint64_t id)
{
    const uint64_t *number = idmap_find(&p->cgroup_numbers, id);
    return number && *number ? p->cgroups[*number - 1].path : STR("");
}

label_set_id perf_cgroup_labels(struct perf_profile *p, const struct perf_sample *s)
{
    if (p->consumer || !(s->event->sample_type & PERF_SAMPLE_CGROUP))
        return 0;
    const uint64_t *number = idmap_find(&p->cgroup_numbers, s->cgroup);
    if (!number || *number == 0)
        return 0;
    struct perf_cgroup *group = &p->cgroups[*number - 1];
    if (group->labels == 0) {
        label_id label = builder_label_text(&p->raw, STR("cgroup"), group->path);
        group->labels = builder_label_set(&p->raw, &label, 1);
    }
    return group->labels;
}
