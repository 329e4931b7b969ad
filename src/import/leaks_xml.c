/* SPDX-License-Identifier: Apache-2.0 */
/* The XML of valgrind's memcheck (--xml=yes). An error has the same text as the report, and its frames
 * are elements:
 *
 *   <error>
 *     <kind>Leak_DefinitelyLost</kind>
 *     <xwhat><text>10 bytes in 1 blocks are definitely lost in loss record 1 of 2</text></xwhat>
 *     <stack><frame>
 *       <ip>0x109182</ip><obj>/srv/a</obj><fn>use</fn><dir>/srv</dir><file>a.c</file><line>6</line>
 *     </frame></stack>
 *   </error> */
#include "base/number.h"
#include "codec/xml.h"
#include "import/leaks.h"

#define PART_MOST 4096 /* bytes of a part of a frame */

enum part { PART_IP, PART_OBJECT, PART_NAME, PART_FILE, PART_LINE, PART_COUNT };

struct leaks_xml {
    struct stacktext *t;
    struct xml xml;
    struct output decoded, line;
    struct str parts[PART_COUNT]; /* of the current frame; empty: not stated */
    char room[PART_COUNT][PART_MOST];
    bool in_error;
};

static void save_part(struct leaks_xml *r, struct str element, struct str text)
{
    static const char *const names[] = {"ip", "obj", "fn", "file", "line"};
    for (size_t i = 0; i < PART_COUNT; i++) {
        if (!str_equal(element, str_of(names[i])))
            continue;
        text = str_head(text, PART_MOST);
        memcpy(r->room[i], text.ptr, text.len);
        r->parts[i] = (struct str){r->room[i], text.len};
    }
}

/* As memcheck writes the frame in its text: "at 0x109182: use (a.c:6)", "at 0x1: ??? (in /srv/a)". */
static void end_frame(struct leaks_xml *r)
{
    const struct str *p = r->parts;
    struct output *o = &r->line;
    o->used = 0;
    output_text(o, "at ");
    output_str(o, p[PART_IP].len ? p[PART_IP] : STR("0x0"));
    output_text(o, ": ");
    output_str(o, p[PART_NAME].len ? p[PART_NAME] : STR("???"));
    bool has_file = p[PART_FILE].len && p[PART_LINE].len;
    if (has_file || p[PART_OBJECT].len) {
        output_text(o, has_file ? " (" : " (in ");
        output_str(o, p[has_file ? PART_FILE : PART_OBJECT]);
        output_text(o, has_file ? ":" : "");
        output_str(o, has_file ? p[PART_LINE] : STR(""));
        output_char(o, ')');
    }
    leaks_frame(r->t, output_contents(o));
}

static void take_text(struct leaks_xml *r, struct str element)
{
    struct str text = str_trim(xml_decode(r->xml.text, &r->decoded));
    uint64_t pid;
    if (text.len == 0)
        return;
    if (str_equal(element, STR("pid")) && number_parse_u64(text, &pid) &&
        pid <= INT64_MAX)
        r->t->pid = (int64_t)pid;
    else if (r->in_error &&
             (str_equal(element, STR("what")) || str_equal(element, STR("text"))))
        leaks_begin(r->t, text);
    else if (r->in_error)
        save_part(r, element, text);
}

static void open_element(struct leaks_xml *r, struct str element)
{
    if (str_equal(element, STR("error")))
        r->in_error = true;
    if (str_equal(element, STR("frame")))
        for (size_t i = 0; i < PART_COUNT; i++)
            r->parts[i] = STR("");
}

static void close_element(struct leaks_xml *r, struct str element)
{
    if (r->in_error && str_equal(element, STR("frame")))
        end_frame(r);
    else if (str_equal(element, STR("stack")))
        leaks_end(r->t);
    else if (str_equal(element, STR("error")))
        r->in_error = false;
}

static void read_pieces(struct leaks_xml *r)
{
    char name[32];
    struct str element = STR("");
    enum xml_piece piece;
    while (!builder_failed(r->t->b) && (piece = xml_next(&r->xml)) != XML_END) {
        if (piece == XML_TEXT) {
            take_text(r, element);
            continue;
        }
        if (piece == XML_OPEN)
            open_element(r, r->xml.name);
        else
            close_element(r, r->xml.name);
        element = str_head(r->xml.name, piece == XML_OPEN ? sizeof name : 0);
        memcpy(name, element.ptr, element.len);
        element.ptr = name;
    }
}

bool leaks_read_xml(struct stacktext *t, struct source *in, bool *damaged,
                    struct error *err)
{
    struct leaks_xml *r = arena_zalloc(&t->arena, 1, sizeof *r);
    if (!r)
        return error_memory(err);
    r->t = t;
    xml_init(&r->xml, in, err);
    read_pieces(r);
    leaks_end(t);
    *damaged = r->xml.damaged;
    if (r->xml.damaged || r->xml.cut) {
        builder_warn(t->b,
                     "the XML text is damaged or truncated: the part before is used",
                     r->xml.line, 0, STR(""));
        t->b->profile->facts.incomplete = true;
    }
    bool ok = !r->xml.failed || r->xml.damaged;
    t->b->profile->arena.failed |= r->decoded.failed || r->line.failed;
    output_deinit(&r->decoded);
    output_deinit(&r->line);
    return ok;
}
