#include "import/source_map.h"
#include "unit.h"

static bool read_map(struct source_map *m, const char *text, size_t length,
                     struct error *err)
{
    struct source in = source_of((struct str){text, length}, STR("map"));
    *err = (struct error){.message = ""};
    return source_map_read(m, &in, STR("/srv/app.min.js.map"), err);
}

/* "AASA": column 0, source 0, line 9, column 0; and so on, by differences. */
static const char plain[] =
    "{\"mappings\":\"AASA,SAASA,qBC0FP,SAAOC,yCAoBL;;IDvHJ\",\"version\":3,"
    "\"sourceRoot\":\"src/\",\"sources\":[\"app.ts\",\"table.ts\"],"
    "\"names\":[\"render\",\"drawRow\"]}";

static void check_place(struct source_maps *maps, const char *url, int64_t line,
                        int64_t column, const char *name, const char *file,
                        uint32_t source_line)
{
    struct source_place place;
    assert_true(source_maps_find(maps, str_of(url), line, column, &place));
    assert_str(place.name, name);
    assert_str(place.file, file);
    assert_int_equal(place.line, source_line);
}

static void places_are_found(void **state)
{
    (void)state;
    struct source_map m;
    struct error err;
    struct source_place place;
    assert_true(read_map(&m, plain, sizeof plain - 1, &err));
    struct source_maps maps = {&m, 1};
    const char *url = "https://x.test/js/app.min.js?v=3#top";
    check_place(&maps, url, 0, 0, "", "src/app.ts", 10);
    check_place(&maps, url, 0, 8, "", "src/app.ts", 10);
    check_place(&maps, url, 0, 9, "render", "src/app.ts", 10);
    check_place(&maps, url, 0, 40, "drawRow", "src/table.ts", 100);
    check_place(&maps, "app.min.js", 0, 100000, "", "src/table.ts", 120);
    check_place(&maps, url, 2, 4, "", "src/app.ts", 1);
    assert_false(source_maps_find(&maps, str_of(url), 2, 3, &place)); /* nothing there */
    assert_false(source_maps_find(&maps, str_of(url), 1, 3, &place));
    assert_false(source_maps_find(&maps, str_of(url), -1, 3, &place));
    assert_false(source_maps_find(&maps, STR("https://x.test/other.js"), 0, 9, &place));
    assert_false(source_maps_find(NULL, str_of(url), 0, 9, &place));
    assert_int_equal(m.used, 6);
    source_map_deinit(&m);
}

/* Columns may go back within a line. */
static void mappings_are_put_in_order(void **state)
{
    (void)state;
    static const char text[] = "{\"version\":3,\"sources\":[\"a\",\"b\"],\"names\":[],"
                               "\"mappings\":\"UAAA,RCCA\"}"; /* column 10, then 2 */
    struct source_map m;
    struct error err;
    assert_true(read_map(&m, text, sizeof text - 1, &err));
    struct source_maps maps = {&m, 1};
    check_place(&maps, "app.min.js", 0, 9, "", "b", 2);
    check_place(&maps, "app.min.js", 0, 10, "", "a", 1);
    source_map_deinit(&m);
}

static void check_refused(const char *text, const char *message)
{
    struct source_map m;
    struct error err;
    assert_false(read_map(&m, text, strlen(text), &err));
    if (!str_has(str_of(err.message), str_of(message)))
        fail_msg("got \"%s\", wanted \"%s\"", err.message, message);
    source_map_deinit(&m);
}

static void others_are_refused(void **state)
{
    (void)state;
    check_refused("{\"nodes\":[]}", "no mappings in it");
    check_refused("{\"version\":3,\"sections\":[]}", "in sections");
    check_refused("{\"mappings\":\"AAAA,A!AA\"}", "damaged at their byte 6");
    check_refused("{\"mappings\":\"AAAAAA\"}", "damaged at their byte 5");
    check_refused("{\"mappings\":\"g\"}", "damaged");
    check_refused("{\"mappings\":\"gggggggggggggggA\"}", "damaged");
    check_refused("[1", "");
}

/* Sums that leave the range, sources that are not there: nothing is found, nothing is
 * read that is not the map's. */
static void every_byte_may_be_wrong(void **state)
{
    (void)state;
    char text[sizeof plain];
    struct error err;
    struct source_place place;
    for (size_t i = 0; i < sizeof plain - 1; i++) {
        for (int c = 0x20; c < 0x7f; c += 3) {
            struct source_map m;
            memcpy(text, plain, sizeof plain);
            text[i] = (char)c;
            if (read_map(&m, text, sizeof plain - 1, &err)) {
                struct source_maps maps = {&m, 1};
                for (int64_t column = 0; column < 200; column += 20)
                    if (source_maps_find(&maps, STR("app.min.js"), 0, column, &place))
                        assert_true(place.line > 0);
            } else {
                assert_true(err.message[0]);
            }
            source_map_deinit(&m);
        }
    }
}

int main(void)
{
    const struct CMUnitTest units[] = {
        UNIT(places_are_found),
        UNIT(mappings_are_put_in_order),
        UNIT(others_are_refused),
        UNIT(every_byte_may_be_wrong),
    };
    return UNITS_RUN(units);
}
