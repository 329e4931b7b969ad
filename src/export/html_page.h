/* The viewer's page, which is part of the program (web/build.py makes it): from
 * viewer_page up to viewer_page_end. Nothing lies between them where the program was
 * built without it. */
#ifndef STOKE_EXPORT_HTML_PAGE_H
#define STOKE_EXPORT_HTML_PAGE_H

extern const char viewer_page[], viewer_page_end[];

#endif
