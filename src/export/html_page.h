/* SPDX-License-Identifier: Apache-2.0 */
/* The viewer's page, which is part of the program (web/build.py makes it): from
 * viewer_page to viewer_page_end; empty if the program was built without it. The same
 * for the script that lays out call graphs, which is embedded as text in an element
 * "graphviz". */
#ifndef STOKE_EXPORT_HTML_PAGE_H
#define STOKE_EXPORT_HTML_PAGE_H

#include "export/exporter.h"

extern const char viewer_page[], viewer_page_end[];
extern const char viewer_graphviz[], viewer_graphviz_end[];

/* Writes the page, with the profile in it if p is not NULL. False, with err set, if
 * the program was built without the viewer, or if out of memory. */
bool html_put_page(const struct profile *p, const struct export_options *options,
                   struct output *out, struct error *err);

#endif
