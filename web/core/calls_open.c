/* SPDX-License-Identifier: Apache-2.0 */
/* The calls that open files: detection, pieces of data, comparison. */
#include "base/limits.h"
#include "codec/encoding.h"
#include "transform/transform.h"
#include "web/core/label_process.h"
#include "web/core/state.h"

/* How a file is compressed or encoded (enum encoding), from its first bytes. An archive
 * that an importer reads is ENCODING_NONE. */
uint32_t EXPORT(core_encoding)(const char *head, uint32_t length)
{
    struct str bytes = {head, length};
    enum encoding encoding = encoding_of(bytes);
    return encoding == ENCODING_ZIP && zip_is_profile(bytes) ? ENCODING_NONE : encoding;
}

int EXPORT(core_begin)(const char *name, uint32_t length)
{
    begin_reply();
    return end_reply(loading_begin(&core.loading, (struct str){name, length}, &core.err));
}

int EXPORT(core_format)(const char *name, uint32_t length)
{
    begin_reply();
    return end_reply(
        loading_format(&core.loading, (struct str){name, length}, &core.err));
}

void EXPORT(core_flaw)(uint32_t flaw)
{
    loading_flaw(&core.loading, (enum flaw)flaw);
}

/* Whether compressed data is rejected: the same limit as in the command line. */
int EXPORT(core_unpacks_too_far)(double in, double out)
{
    return limits_exceeded(&limits_default, (uint64_t)in, (uint64_t)out);
}

char *EXPORT(core_room)(uint32_t length)
{
    return loading_room(&core.loading, length);
}

int EXPORT(core_feed)(uint32_t length, int last)
{
    begin_reply();
    return end_reply(loading_feed(&core.loading, length, last, &core.err));
}

void EXPORT(core_cancel)(void)
{
    loading_deinit(&core.loading);
}

static bool compare(void)
{
    retire(&core.both);
    if (!core.opened[1])
        return true;
    core.both = comparison_whole(core.opened[1], core.opened[0], &core.err);
    return core.both != NULL;
}

/* Makes a profile of the data read so far; reading continues. */
int EXPORT(core_partial)(void)
{
    struct json_writer w = begin_reply();
    struct profile *p = loading_so_far(&core.loading, &core.err);
    if (!p)
        return end_reply(false);
    if (!label_processes(p)) {
        profile_destroy(p);
        return end_reply(error_memory(&core.err));
    }
    retire(&core.both);
    retire(&core.filtered);
    close_opened(1);
    close_opened(0);
    core.opened[0] = p;
    reply_profile(&w, p, p);
    return end_reply(true);
}

/* Stops reading. 0 if nothing was read; core_finish then has no result. */
int EXPORT(core_stop)(void)
{
    return loading_stop(&core.loading);
}

/* Makes the data the profile (0), or the one to compare with (1). Nothing is shown
 * until core_show. */
int EXPORT(core_finish)(uint32_t slot)
{
    struct json_writer w = begin_reply();
    if (slot == 0) {
        code_destroy(core.code);
        core.code = loading_take_code(&core.loading);
    }
    struct profile *p = loading_finish(&core.loading, &core.err);
    if (!p || slot >= PROFILES)
        return end_reply(false);
    if (!label_processes(p)) {
        profile_destroy(p);
        return end_reply(error_memory(&core.err));
    }
    retire(&core.filtered);
    if (slot == 0)
        close_opened(1);
    close_opened(slot);
    core.opened[slot] = p;
    if (!compare())
        return end_reply(false);
    reply_profile(&w, core.both ? core.both : p, core.opened[0]);
    return end_reply(true);
}

/* The source files that the opened file contains: [[name, text], ...]. */
int EXPORT(core_texts)(void)
{
    struct json_writer w = begin_reply();
    reply_texts(&w, core.code);
    return end_reply(true);
}

/* Where the samples are in the code that the opened file contains: of the same form as the
 * listings in a page that was made with them, without the text of the instructions. */
int EXPORT(core_listings)(void)
{
    struct json_writer w = begin_reply();
    return end_reply(reply_listings(&w, core.code) || error_memory(&core.err));
}

/* One of the compared profiles: 0 after, 1 before. */
int EXPORT(core_opened)(uint32_t slot)
{
    struct json_writer w = begin_reply();
    if (slot >= PROFILES || !core.opened[slot])
        return end_reply(error_set(&core.err, "nothing is open"));
    reply_profile(&w, core.opened[slot], core.opened[slot]);
    return end_reply(true);
}

/* Ends the comparison. */
int EXPORT(core_alone)(void)
{
    struct json_writer w = begin_reply();
    retire(&core.filtered);
    close_opened(1);
    compare();
    reply_profile(&w, core.opened[0], core.opened[0]);
    return end_reply(true);
}
