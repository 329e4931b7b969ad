/* SPDX-License-Identifier: Apache-2.0 */
/* The calls for the tracks. */
#include "web/core/state.h"

/* The tracks of the opened profile; a comparison has none. */
static bool need_tracks(void)
{
    if (!core.opened[0])
        return error_set(&core.err, "nothing is open");
    return core.tracks.made || tracks_init(&core.tracks, core.opened[0], &core.err);
}

/* The list of the tracks; null if there are none. */
int EXPORT(core_tracks)(void)
{
    struct json_writer w = begin_reply();
    if (!need_tracks())
        return end_reply(false);
    if (core.tracks.timed && !core.both)
        reply_tracks(&w, &core.tracks);
    else
        output_text(&core.reply, "null");
    return end_reply(true);
}

/* The reply is what tracks_draw writes. */
int EXPORT(core_tracks_draw)(const uint32_t *tracks, uint32_t count, double from,
                             double to, uint32_t columns)
{
    begin_reply();
    return end_reply(need_tracks() && tracks_draw(&core.tracks, tracks, count, from, to,
                                                  columns, &core.reply, &core.err));
}
