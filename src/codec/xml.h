/* SPDX-License-Identifier: Apache-2.0 */
/* A streaming XML reader. It returns one piece at a time: an opening tag, a closing
 * tag, or text.
 *
 * It builds no tree. Tags may be nested XML_DEPTH_MAX deep, and a piece may be
 * XML_PIECE_MAX bytes long; closing tags must match. The five predefined entities and
 * character references are supported; a document type with its own declarations is
 * rejected, so nothing expands. Comments and processing instructions are skipped. */
#ifndef STOKE_CODEC_XML_H
#define STOKE_CODEC_XML_H

#include "base/output.h"
#include "base/source.h"

#define XML_DEPTH_MAX 256
#define XML_PIECE_MAX ((size_t)16 << 20)

enum xml_piece { XML_END, XML_OPEN, XML_CLOSE, XML_TEXT };

struct xml {
    struct source *source;
    struct error *err; /* receives errors */
    bool failed;       /* the text is not valid XML, or the source failed; see err */
    bool damaged;      /* failed because of the text */
    bool cut;          /* the text ended inside an element */
    uint64_t line;     /* of the piece, from 1 */
    struct str name;   /* of the tag; valid until the next piece */
    struct str text;   /* raw text with entities; valid until the next piece */
    struct str attributes;
    unsigned depth;
    uint64_t open[XML_DEPTH_MAX]; /* hashes of the open tags' names */
    uint64_t next_line;
    bool close_next; /* the last tag was empty, <a/> */
    bool raw;        /* the text is a CDATA section */
};

/* Initialises the reader, which owns nothing. The source must outlive it. */
void xml_init(struct xml *x, struct source *in, struct error *err);

/* The next piece. XML_END at the end, and on failure (see failed). */
enum xml_piece xml_next(struct xml *x);

/* The raw value of an attribute of the current opening tag. False if there is none. */
bool xml_attribute(const struct xml *x, struct str name, struct str *value);

/* The text with its entities replaced, in `scratch` if it has any. Unknown entities are
 * unchanged. */
struct str xml_decode(struct str text, struct output *scratch);

#endif
