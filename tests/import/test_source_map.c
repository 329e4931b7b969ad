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

static void check_location(struct source_maps *maps, const char *url, int64_t line,
                           int64_t column, const char *name, const char *file,
                           uint32_t source_line)
{
    struct source_location location;
    assert_true(source_maps_find(maps, str_of(url), line, column, &location));
    assert_str(location.name, name);
    assert_str(location.file, file);
    assert_int_equal(location.line, source_line);
}

static void locations_are_found(void **state)
{
    (void)state;
    struct source_map m;
    struct error err;
    struct source_location location;
    assert_true(read_map(&m, plain, sizeof plain - 1, &err));
    struct source_maps maps = {&m, 1};
    const char *url = "https://x.test/js/app.min.js?v=3#top";
    check_location(&maps, url, 0, 0, "", "src/app.ts", 10);
    check_location(&maps, url, 0, 8, "", "src/app.ts", 10);
    check_location(&maps, url, 0, 9, "render", "src/app.ts", 10);
    check_location(&maps, url, 0, 40, "drawRow", "src/table.ts", 100);
    check_location(&maps, "app.min.js", 0, 100000, "", "src/table.ts", 120);
    check_location(&maps, url, 2, 4, "", "src/app.ts", 1);
    assert_false(
        source_maps_find(&maps, str_of(url), 2, 3, &location)); /* no mapping there */
    assert_false(source_maps_find(&maps, str_of(url), 1, 3, &location));
    assert_false(source_maps_find(&maps, str_of(url), -1, 3, &location));
    assert_false(
        source_maps_find(&maps, STR("https://x.test/other.js"), 0, 9, &location));
    assert_false(source_maps_find(NULL, str_of(url), 0, 9, &location));
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
    check_location(&maps, "app.min.js", 0, 9, "", "b", 2);
    check_location(&maps, "app.min.js", 0, 10, "", "a", 1);
    source_map_deinit(&m);
}

static void check_refused(const char *text, const char *message)
{
    struct source_map m;
    struct error err;
    assert_false(read_map(&m, text, strlen(text), &err));
    if (!str_has(str_of(err.message), str_of(message)))
        fail_msg("got \"%s\", expected \"%s\"", err.message, message);
    source_map_deinit(&m);
}

static void others_are_refused(void **state)
{
    (void)state;
    check_refused("{\"nodes\":[]}", "no mappings in it");
    check_refused("{\"version\":3,\"sections\":[]}", "with sections");
    check_refused("{\"mappings\":\"AAAA,A!AA\"}", "damaged at byte 6");
    check_refused("{\"mappings\":\"AAAAAA\"}", "damaged at byte 5");
    check_refused("{\"mappings\":\"g\"}", "damaged");
    check_refused("{\"mappings\":\"gggggggggggggggA\"}", "damaged");
    check_refused("[1", "");
}

/* Sums out of range, missing sources: no location is found, and memory outside of the
 * map is not read. */
static void every_byte_may_be_wrong(void **state)
{
    (void)state;
    char text[sizeof plain];
    struct error err;
    struct source_location location;
    for (size_t i = 0; i < sizeof plain - 1; i++) {
        for (int c = 0x20; c < 0x7f; c += 3) {
            struct source_map m;
            memcpy(text, plain, sizeof plain);
            text[i] = (char)c;
            if (read_map(&m, text, sizeof plain - 1, &err)) {
                struct source_maps maps = {&m, 1};
                for (int64_t column = 0; column < 200; column += 20)
                    if (source_maps_find(&maps, STR("app.min.js"), 0, column, &location))
                        assert_true(location.line > 0);
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
        UNIT(locations_are_found),
        UNIT(mappings_are_put_in_order),
        UNIT(others_are_refused),
        UNIT(every_byte_may_be_wrong),
    };
    return UNITS_RUN(units);
}
