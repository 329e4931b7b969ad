/* SPDX-License-Identifier: Apache-2.0 */
#include "lepd/machine.h"
#include "base/format.h"
#include "base/number.h"
#include "os/host.h"
#include "os/proc.h"

static struct str read_text(void *context, const char *path, struct arena *a)
{
    struct output text = OUTPUT_BUFFER;
    struct str copy = STR("");
    (void)context;
    if (os_read_whole(path, &text))
        copy = arena_str(a, output_contents(&text));
    output_deinit(&text);
    return copy;
}

struct visit {
    void (*each)(void *to, uint32_t pid, uint32_t user);
    void *to;
};

static void visit_name(void *context, struct str name)
{
    const struct visit *v = context;
    uint64_t pid;
    uint32_t user = 0;
    if (number_parse_u64(name, &pid) && os_process_user((uint32_t)pid, &user))
        v->each(v->to, (uint32_t)pid, user);
}

static void each_process(void *context,
                         void (*each)(void *to, uint32_t pid, uint32_t user), void *to)
{
    struct visit visit = {each, to};
    (void)context;
    os_folder_each("/proc", visit_name, &visit);
}

const struct metrics_source lepd_metrics_source = {NULL, read_text, each_process};

static bool read_file(void *context, const char *path, struct output *o)
{
    (void)context;
    return os_read_whole(path, o);
}

static bool read_space(void *context, const char *path, struct lepd_filesystem *out)
{
    struct os_space space;
    (void)context;
    if (!os_space_read(path, &space))
        return false;
    *out = (struct lepd_filesystem){space.device, space.size, space.used, space.usable};
    return true;
}

static bool read_log(void *context, struct output *o)
{
    (void)context;
    return os_kernel_messages(o);
}

static void write_user(void *context, uint32_t user, char *room, size_t size)
{
    (void)context;
    os_user_name(user, room, size);
}

static struct lepd_clock read_clock(void *context, uint64_t time)
{
    struct os_local_time t = os_local_time(time);
    (void)context;
    return (struct lepd_clock){t.year, t.month, t.day, t.hour, t.minute, t.second};
}

void lepd_machine_init(struct lepd_machine *m, const struct os_machine *facts)
{
    *m = (struct lepd_machine){.host = str_of(facts->host),
                               .release = str_of(facts->release),
                               .architecture = str_of(facts->arch),
                               .page_size = os_page_size(),
                               .file = read_file,
                               .filesystem = read_space,
                               .kernel_log = read_log,
                               .user_name = write_user,
                               .clock = read_clock};
}
