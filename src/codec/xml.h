/* SPDX-License-Identifier: Apache-2.0 */
/* An XML reader that hands out one piece after the other: a tag opened, a tag closed,
 * text.
 *
 * It keeps no tree. Tags may nest XML_DEPTH_MAX deep and a piece may be XML_PIECE_MAX
 * bytes long; the closing tags must match. The five entities and character references are
 * known; a document type with declarations of its own is refused, so nothing expands.
 * Comments and processing instructions are passed over. */
#ifndef STOKE_CODEC_XML_H
#define STOKE_CODEC_XML_H

#include "base/output.h"
#include "base/source.h"

#define XML_DEPTH_MAX 256
#define XML_PIECE_MAX ((size_t)16 << 20)

enum xml_piece { XML_END, XML_OPEN, XML_CLOSE, XML_TEXT };

struct xml {
    struct source *source;
    struct error *err; /* where an error goes */
    bool failed;       /* the text is no XML, or the source failed; err says how */
    bool damaged;      /* it is the text */
    bool cut;          /* the text ended inside of an element */
    uint64_t line;     /* of the piece, from 1 */
    struct str name;   /* of the tag; good until the next piece */
    struct str text;   /* as it stands, entities and all; good until the next piece */
    struct str attributes;
    unsigned depth;
    uint64_t open[XML_DEPTH_MAX]; /* hashes of the open tags' names */
    uint64_t next_line;
    bool close_next; /* the tag handed out last was empty, <a/> */
    bool raw;        /* the text is a CDATA section's */
};

/* Begins to read. The source must outlive the reader, which owns nothing. */
void xml_init(struct xml *x, struct source *in, struct error *err);

/* The next piece. XML_END at the end, and on failure (see failed). */
enum xml_piece xml_next(struct xml *x);

/* The value of the attribute of the tag just opened, as it stands. False where it has
 * none of that name. */
bool xml_attribute(const struct xml *x, struct str name, struct str *value);

/* The text with its entities replaced, in `scratch` where it has any. What is no known
 * entity stays as it is. */
struct str xml_decode(struct str text, struct output *scratch);

#endif
