#include "base/format.h"
#include "export/palette.h"
#include "model/frame_label.h"
#include "unit.h"

static color color_in(const char *palette, const char *name, enum frame_kind kind)
{
    const struct palette *p = palette_named(str_of(palette));
    assert_non_null(p);
    return palette_color(p, str_of(name), kind, COLOR_BY_NAME, 0);
}

static int red_of(color c)
{
    return (int)(c >> 16);
}

static int green_of(color c)
{
    return (int)(c >> 8 & 0xff);
}

static int blue_of(color c)
{
    return (int)(c & 0xff);
}

static void every_palette_has_readable_colours(void **state)
{
    (void)state;
    for (int i = 0; palette_names[i]; i++) {
        assert_ptr_equal(palette_numbered(i), palette_named(str_of(palette_names[i])));
        for (int n = 0; n < 500; n++) {
            char name[20];
            format_text(name, sizeof name, "f_%d", n);
            color c = color_in(palette_names[i], name, FRAME_USER);
            unsigned light = (c >> 16) * 299 + (c >> 8 & 0xff) * 587 + (c & 0xff) * 114;
            assert_true(light > 120 * 1000); /* dark text is readable on it */
        }
    }
    assert_null(palette_named(STR("no such")));
}

static void a_name_has_one_colour(void **state)
{
    (void)state;
    assert_int_equal(color_in("hot", "main", FRAME_USER),
                     color_in("hot", "main", FRAME_USER));
    assert_int_equal(color_in("hot", "main", FRAME_USER),
                     color_in("hot", "main_[k]", FRAME_KERNEL));
    assert_int_not_equal(color_in("hot", "main", FRAME_USER),
                         color_in("hot", "niam", FRAME_USER));
}

static void names_that_begin_alike_look_alike(void **state)
{
    const struct palette *hot = palette_named(STR("hot"));
    color a = palette_color(hot, STR("tcp_v4_rcv"), FRAME_USER, COLOR_BY_PREFIX, 0);
    color b = palette_color(hot, STR("tcp_v4_rcu"), FRAME_USER, COLOR_BY_PREFIX, 0);
    (void)state;
    assert_true(abs(green_of(a) - green_of(b)) < 12);
}

static void seeds_change_random_colours(void **state)
{
    const struct palette *hot = palette_named(STR("hot"));
    int changed = 0;
    (void)state;
    for (uint32_t seed = 0; seed < 20; seed++)
        changed += palette_color(hot, STR("f"), FRAME_USER, COLOR_RANDOM, seed) !=
                   palette_color(hot, STR("f"), FRAME_USER, COLOR_RANDOM, seed + 1);
    assert_true(changed > 15);
}

static bool is_green(color c)
{
    return green_of(c) > red_of(c) && green_of(c) > blue_of(c) + 20;
}

static bool is_orange(color c)
{
    return red_of(c) > green_of(c) + 50 && green_of(c) > blue_of(c) + 40;
}

static void mixed_palettes_distinguish_frames(void **state)
{
    (void)state;
    assert_true(is_green(color_in("java", "org/apache/Foo.bar", FRAME_USER)));
    assert_true(is_green(color_in("java", "Lorg/apache/Foo;.bar", FRAME_USER)));
    assert_true(is_green(color_in("java", "Interpreter_[j]", FRAME_USER)));
    assert_true(is_green(color_in("java", "Interpreter", FRAME_JIT)));
    assert_true(is_orange(color_in("java", "sys_write_[k]", FRAME_USER)));
    assert_true(is_orange(color_in("java", "sys_write", FRAME_KERNEL)));
    color aqua = color_in("java", "org/apache/Foo.inlined_[i]", FRAME_USER);
    assert_true(abs(green_of(aqua) - blue_of(aqua)) < 12);
    color yellow = color_in("java", "JavaCalls::call", FRAME_USER);
    assert_true(red_of(yellow) > 200 && green_of(yellow) > 180);
    assert_true(is_green(color_in("perl", "Perl_runops_standard", FRAME_USER)));
    assert_true(is_orange(color_in("rust", "<core::iter::Map as Iterator>::next", 0)));
    assert_true(is_green(color_in("python", "main (app.py:3)", FRAME_USER)));
    color waker = color_in("chain", "wake_up_[w]", FRAME_USER);
    color woken = color_in("chain", "schedule", FRAME_USER);
    assert_true(green_of(waker) > red_of(waker) + 50);
    assert_true(blue_of(woken) > green_of(woken) + 20);
}

/* Which plain palette a palette with rules selects for a name. */
static void assert_plain(const char *mixed, const char *name, enum frame_kind kind,
                         const char *plain)
{
    char bare[200];
    struct str cut = label_without_suffix(str_of(name));
    format_text(bare, sizeof bare, "%.*s", STR_ARG(cut));
    if (color_in(mixed, name, kind) != color_in(plain, bare, FRAME_USER))
        fail_msg("%s is not %s in %s", name, plain, mixed);
}

/* The same choice as flamegraph.pl and inferno-flamegraph. */
static void java_is_recognised_by_marks_and_names(void **state)
{
    static const char *const green[] = {"java/lang/String.foo",
                                        "java.lang.String.foo",
                                        "Ljava/lang/String;::foo",
                                        "org/apache/Foo.bar_[j]",
                                        "f_[j]",
                                        "java/util/HashMap.get_[0]",
                                        "java/util/HashMap.get_[1]",
                                        "scala.Option.map",
                                        "sbt.execute.work",
                                        "Main.main",
                                        "Compile",
                                        "a/b/C$1.run",
                                        NULL};
    static const char *const yellow[] = {"JavaCalls::call", "-[NSObject init]",
                                         "+[NSObject new]", NULL};
    static const char *const red[] = {"start_thread", "[libjvm.so]", "",  "f.isra.0",
                                      "g.cold",       "some:thing",  NULL};
    (void)state;
    for (size_t i = 0; green[i]; i++)
        assert_plain("java", green[i], FRAME_USER, "green");
    for (size_t i = 0; yellow[i]; i++)
        assert_plain("java", yellow[i], FRAME_USER, "yellow");
    for (size_t i = 0; red[i]; i++)
        assert_plain("java", red[i], FRAME_USER, "red");
    assert_plain("java", "java/lang/String.foo_[i]", FRAME_USER, "aqua");
    assert_plain("java", "java/lang/String.foo_[k]", FRAME_USER, "orange");
}

static void javascript_is_recognised_by_marks_and_paths(void **state)
{
    (void)state;
    assert_plain("js", "LazyCompile:~f /srv/a.js:1_[j]", FRAME_USER, "green");
    assert_plain("js", "f /srv/a.js:10:3", FRAME_USER, "green");
    assert_plain("js", "f file:///srv/a.mjs:10:3", FRAME_USER, "green");
    assert_plain("js", " ", FRAME_USER, "green");
    assert_plain("js", "Builtin:ArrayMap_[j]", FRAME_USER, "aqua");
    assert_plain("js", "Builtin:ArrayMap", FRAME_JIT, "aqua");
    assert_plain("js", "LazyCompile:emit events.js:156_[j]", FRAME_USER, "aqua");
    assert_plain("js", "some:thing", FRAME_USER, "aqua");
    assert_plain("js", "f /srv/node_modules/x/a.js:1", FRAME_USER, "purple");
    assert_plain("js", "*f /srv/node_modules/x/a.js:1_[j]", FRAME_USER, "purple");
    assert_plain("js", "v8::internal::Run", FRAME_USER, "yellow");
    assert_plain("js", "do_syscall_64_[k]", FRAME_USER, "orange");
    assert_plain("js", "malloc", FRAME_USER, "red");
}

/* Every colour of a palette with rules is in its legend, as the middle of the plain
 * palette. */
static void mixed_palettes_have_a_legend(void **state)
{
    static const char *const mixed[] = {"java", "js", "perl", "python", "rust", "chain"};
    struct palette_key keys[PALETTE_KEYS_MAX];
    (void)state;
    for (size_t i = 0; i < sizeof mixed / sizeof *mixed; i++) {
        size_t count = palette_legend(palette_named(str_of(mixed[i])), keys);
        assert_true(count >= 2 && count <= PALETTE_KEYS_MAX);
        for (size_t k = 0; k < count; k++)
            for (size_t other = 0; other < k; other++)
                assert_int_not_equal(keys[k].color, keys[other].color);
    }
    assert_int_equal(palette_legend(palette_named(STR("hot")), keys), 0);
}

static void change_is_red_or_blue(void **state)
{
    color grew = color_by_change(1, false), shrank = color_by_change(-1, false);
    color same = color_by_change(0, false), little = color_by_change(0.1, false);
    (void)state;
    assert_true(red_of(grew) > blue_of(grew) + 100);
    assert_true(blue_of(shrank) > red_of(shrank) + 100);
    assert_true(abs(red_of(same) - blue_of(same)) < 12);
    assert_true(blue_of(little) < blue_of(same) && blue_of(little) > blue_of(grew));
    color hardly = color_by_change(0.0002, false); /* one sample of five thousand */
    assert_true(abs(blue_of(hardly) - blue_of(same)) < 8);
    assert_int_not_equal(color_by_change(1, true), grew);
    assert_int_equal(color_by_change(7, false), grew);
    assert_true(green_of(color_by_share(1)) < green_of(color_by_share(0)) - 80);
}

static void assert_parses(const char *text, bool ok, color expected)
{
    color c = 0x123456;
    assert_int_equal(color_parse(str_of(text), &c), ok);
    assert_int_equal(c, ok ? expected : 0x123456);
}

static void colours_are_read(void **state)
{
    (void)state;
    assert_parses("#ff8000", true, 0xff8000);
    assert_parses("#F80", true, 0xff8800);
    assert_parses("rgb(1, 2,255)", true, 0x0102ff);
    assert_parses("#0x1234", false, 0);
    assert_parses("#12345", false, 0);
    assert_parses("rgb(1,2)", false, 0);
    assert_parses("rgb(1,2,3,4)", false, 0);
    assert_parses("rgb(1,2,256)", false, 0);
    assert_parses("red", false, 0);
    assert_parses("", false, 0);
    assert_true(color_is_light(0xf8d775));
    assert_false(color_is_light(0xe600e6));
}

static void a_map_is_read_and_written_sorted(void **state)
{
    struct palette_map m;
    struct output o = OUTPUT_BUFFER;
    color c;
    (void)state;
    assert_true(palette_map_init(&m));
    assert_true(palette_map_read(&m, STR("operator->->rgb(1,2,3)")));
    assert_true(palette_map_read(&m, STR("b->rgb(4,5,6)")));
    assert_false(palette_map_read(&m, STR("b rgb(4,5,6)")));
    assert_false(palette_map_read(&m, STR("b->blue")));
    palette_map_set(&m, STR("a"), 0x0708ff);
    palette_map_set(&m, STR("b"), 0x040506);
    assert_true(palette_map_find(&m, STR("operator->"), &c));
    assert_int_equal(c, 0x010203);
    assert_false(palette_map_find(&m, STR("c"), &c));
    assert_true(palette_map_write(&m, &o));
    assert_str(output_contents(&o),
               "a->rgb(7,8,255)\nb->rgb(4,5,6)\noperator->->rgb(1,2,3)\n");
    output_deinit(&o);
    palette_map_deinit(&m);
}

/* flamegraph.pl also stores a colour for its root, which has no name. */
static void a_map_of_flamegraph_pl_is_read(void **state)
{
    struct palette_map m;
    struct output o = OUTPUT_BUFFER;
    color c;
    (void)state;
    assert_true(palette_map_init(&m));
    assert_true(palette_map_read(&m, STR("->rgb(1,2,3)")));
    assert_true(palette_map_read(&m, STR("f->rgb(4,5,6)")));
    assert_false(m.changed);
    assert_true(palette_map_find(&m, STR("f"), &c) && c == 0x040506);
    assert_true(palette_map_find(&m, STR(""), &c) && c == 0x010203);
    palette_map_set(&m, STR("f"), 0x040506);
    palette_map_set(&m, STR("two\nlines"), 0x070809);
    assert_false(m.changed);
    assert_true(palette_map_write(&m, &o));
    assert_str(output_contents(&o), "->rgb(1,2,3)\nf->rgb(4,5,6)\n");
    output_deinit(&o);
    palette_map_deinit(&m);
}

static uint32_t next_random(uint32_t *state)
{
    return *state = *state * 1664525 + 1013904223;
}

static size_t random_name(uint32_t *seed, char *room)
{
    static const char bytes[] = "ab->;: \t\x01\x7f\xff\xc3()rgb1,";
    size_t length = next_random(seed) >> 16 & 15;
    for (size_t i = 0; i < length; i++)
        room[i] = bytes[(next_random(seed) >> 16) % (sizeof bytes - 1)];
    return length;
}

/* A map that is written is read back unchanged, whatever bytes a name has. */
static void a_written_map_is_the_same_when_read(void **state)
{
    uint32_t seed = 1;
    (void)state;
    for (int round = 0; round < 200; round++) {
        struct palette_map m, again;
        struct output first = OUTPUT_BUFFER, second = OUTPUT_BUFFER;
        assert_true(palette_map_init(&m) && palette_map_init(&again));
        for (uint32_t i = next_random(&seed) >> 16 & 63; i > 0; i--) {
            char name[16];
            size_t length = random_name(&seed, name);
            palette_map_set(&m, (struct str){name, length}, next_random(&seed) >> 8);
        }
        assert_true(palette_map_write(&m, &first));
        struct str text = output_contents(&first);
        while (text.len)
            assert_true(palette_map_read(&again, str_cut(&text, '\n')));
        assert_false(again.changed);
        assert_true(palette_map_write(&again, &second));
        assert_true(str_equal(output_contents(&first), output_contents(&second)));
        output_deinit(&first);
        output_deinit(&second);
        palette_map_deinit(&m);
        palette_map_deinit(&again);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        UNIT(every_palette_has_readable_colours),
        UNIT(a_name_has_one_colour),
        UNIT(names_that_begin_alike_look_alike),
        UNIT(seeds_change_random_colours),
        UNIT(mixed_palettes_distinguish_frames),
        UNIT(change_is_red_or_blue),
        UNIT(colours_are_read),
        UNIT(a_map_is_read_and_written_sorted),
        UNIT(java_is_recognised_by_marks_and_names),
        UNIT(javascript_is_recognised_by_marks_and_paths),
        UNIT(mixed_palettes_have_a_legend),
        UNIT(a_map_of_flamegraph_pl_is_read),
        UNIT(a_written_map_is_the_same_when_read),
    };
    return UNITS_RUN(tests);
}
