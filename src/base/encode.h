/* Encoders: an output that packs what is written to it into another output. */
#ifndef STOKE_BASE_ENCODE_H
#define STOKE_BASE_ENCODE_H

#include "base/error.h"
#include "base/output.h"

/* Under way; must not move until encoder_deinit. */
struct encoder {
    struct output output; /* what the writer writes to */
    struct output *to;
    void *state;
};

/* Packs into `to` with gzip. The same bytes in give the same bytes out, on every machine
 * with the same zlib. False when memory is short. */
bool encoder_init_gzip(struct encoder *e, struct output *to, struct error *err);

/* Packs what is left; `to` is still its owner's to finish. False when anything failed. */
bool encoder_finish(struct encoder *e);

/* Frees the encoder; not `to`. Also one whose init failed, or all zero. */
void encoder_deinit(struct encoder *e);

#endif
