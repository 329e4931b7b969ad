/* SPDX-License-Identifier: Apache-2.0 */
/* The viewer's page, which is part of the program (web/build.py makes it): from
 * viewer_page up to viewer_page_end. Nothing lies between them where the program was
 * built without it. Likewise what lays out its call graphs: a script that stands in the
 * page as text, in an element "graphviz". */
#ifndef STOKE_EXPORT_HTML_PAGE_H
#define STOKE_EXPORT_HTML_PAGE_H

#include "export/exporter.h"

extern const char viewer_page[], viewer_page_end[];
extern const char viewer_graphviz[], viewer_graphviz_end[];

/* Writes the page, with the profile in it; with none where p is NULL. False, with err
 * set, where the program was built without it, or memory is short. */
bool html_put_page(const struct profile *p, const struct export_options *options,
                   struct output *out, struct error *err);

#endif
