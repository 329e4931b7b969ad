#include "export/exporter.h"
#include "import/importer.h"
#include "unit.h"

static struct profile *read_parts(const char *format,
                                  const struct import_options *options, struct str text,
                                  size_t cut)
{
    const struct importer *im = importer_named(str_of(format));
    struct str parts[] = {str_head(text, cut), str_skip(text, cut)};
    struct error err = {.location = LOCATION_NONE};
    struct builder b;
    assert_non_null(im);
    assert_true(builder_init(&b, BUILD_COUNT));
    for (int i = 0; i < 2; i++) {
        struct source s = source_of(parts[i], STR("text"));
        assert_true(im->read(&s, options, &b, &err));
    }
    struct profile *p = builder_finish(&b, &err);
    builder_deinit(&b);
    assert_non_null(p);
    return p;
}

static struct profile *read_all(const char *format, struct import_options options,
                                const char *text)
{
    return read_parts(format, &options, str_of(text), strlen(text));
}

/* The last frame with that name, whose location was set. */
static struct frame frame_named(const struct profile *p, const char *name)
{
    for (size_t i = p->frame_count; i-- > 1;)
        if (str_equal(profile_string(p, p->frames[i].name), str_of(name)))
            return p->frames[i];
    fail_msg("there is no frame %s", name);
    return p->frames[0];
}

static void assert_location(const struct profile *p, const char *name, const char *file,
                            unsigned line)
{
    struct frame f = frame_named(p, name);
    assert_str(profile_string(p, f.file), file);
    assert_int_equal(f.line, line);
}

static void locations_are_read_on_request(void **state)
{
    (void)state;
    const char *gdb = "Thread 1 (LWP 7):\n"
                      "#0  0x10 in wait (s=\"(at x:1)\") at wait.c:48\n"
                      "#1  0x20 in run (\n"
                      "    argc=1)\n"
                      "    at run.c:25\n"
                      "#2  0x30 in main () from /lib/x.so\n"
                      "TID 8:\n"
                      "#0  0x40     poll - /lib/libc.so.6\n"
                      "    ../sysdeps/poll.c:3:7\n";
    struct profile *p = read_all("gdb", (struct import_options){.lines = true}, gdb);
    assert_location(p, "wait", "wait.c", 48);
    assert_location(p, "poll", "../sysdeps/poll.c", 3);
    assert_str(profile_string(p, p->modules[frame_named(p, "main").module].path),
               "/lib/x.so");
    assert_int_equal(p->threads[1].tid, 7);
    assert_int_equal(p->threads[2].tid, 8);
    profile_destroy(p);

    p = read_all("gdb", (struct import_options){0}, gdb);
    assert_location(p, "wait", "", 0);
    assert_location(p, "poll", "", 0);
    profile_destroy(p);

    p = read_all("jstack", (struct import_options){.lines = true},
                 "\"a\" prio=5 nid=0x10\n   java.lang.Thread.State: RUNNABLE\n"
                 "\tat A.b(java.base@17.0.2/A.java:3)\n\tat A.c(Native Method)\n");
    assert_location(p, "A.b", "A.java", 3);
    assert_location(p, "A.c", "", 0);
    assert_int_equal(p->threads[1].tid, 16);
    profile_destroy(p);

    p = read_all("faulthandler", (struct import_options){.lines = true},
                 "Stack (most recent call first):\n  File \"a.py\", line 3 in f\n");
    assert_location(p, "a.py:3:f", "a.py", 3);
    profile_destroy(p);
}

static void addresses_are_read_on_request(void **state)
{
    (void)state;
    const char *text = "TID 8:\n#0  0x40 poll\n#1  0x50\n";
    struct profile *p = read_all("gdb", (struct import_options){.addresses = true}, text);
    assert_int_equal(frame_named(p, "poll").address, 0);
    assert_int_equal(frame_named(p, "").address, 0x50);
    profile_destroy(p);
    p = read_all("gdb", (struct import_options){.every_address = true}, text);
    assert_int_equal(frame_named(p, "poll").address, 0x40);
    assert_int_equal(frame_named(p, "").address, 0x50);
    profile_destroy(p);
}

static void signatures_are_read_on_request(void **state)
{
    (void)state;
    struct import_options options = {.signatures = true};
    struct profile *p = read_all("gdb", options, "TID 8:\n#0  0x40 A::f(int) const\n");
    frame_named(p, "A::f(int) const");
    profile_destroy(p);
    p = read_all("dtrace", options, "\n  a`A::f(int)+0x3\n 1\n");
    frame_named(p, "a`A::f(int)");
    profile_destroy(p);
    p = read_all("bpftrace", options, "@[\n  A::f(int)+3\n]: 1\n");
    frame_named(p, "A::f(int)");
    profile_destroy(p);
}

static void assert_folded(const struct profile *p, struct output *out)
{
    struct error err;
    out->used = 0;
    assert_true(
        exporter_named(STR("folded"))->write(p, &(struct export_options){0}, out, &err));
}

/* An importer of the whole, and two importers that split it at any offset, read the
 * same. */
static void check_splits(const char *format, const char *text)
{
    const struct importer *im = importer_named(str_of(format));
    struct import_options options = {0};
    struct output whole = OUTPUT_BUFFER, parts = OUTPUT_BUFFER;
    struct str all = str_of(text);
    struct profile *p = read_all(format, options, text);
    size_t splits = 0;
    assert_folded(p, &whole);
    profile_destroy(p);
    for (size_t from = 1; from < all.len; from++) {
        size_t cut = im->split(all, from);
        assert_true(cut >= from && cut <= all.len);
        splits += cut < all.len;
        p = read_parts(format, &options, all, cut);
        assert_folded(p, &parts);
        profile_destroy(p);
        if (!str_equal(output_contents(&whole), output_contents(&parts)))
            fail_msg("cut at %zu: got\n%.*s, expected\n%.*s", cut,
                     STR_ARG(output_contents(&parts)), STR_ARG(output_contents(&whole)));
    }
    assert_true(splits > 0);
    output_deinit(&whole);
    output_deinit(&parts);
}

static void splits_lie_between_stacks(void **state)
{
    (void)state;
    check_splits("dtrace", "CPU     ID      FUNCTION:NAME\n  0  64091    :tick-60s\n\n\n"
                           "              a`b+0x1\n              a`c\n               2\n"
                           "\n              a`b\n              x`c\n             884\n"
                           "  bash\n              a`b\n              a`c\n         3\n"
                           "      1234\n              a`c\n\n              d`e\n    4\n");
    check_splits("stap", " 0xffffffff8103ce3b : idle+0xb/0x10 [kernel]\n"
                         " 0xffffffff8101c6a3 : cpu_idle+0x53/0x1d0 [kernel]\n\t2404\n\n"
                         " 0xffffffff8101c6a3 : cpu_idle+0x53/0x1d0 [kernel]\n\t6\n"
                         " 0x4004f4 : main+0x14/0x20 [/srv/till]\njava\n\t17\n");
    check_splits("bpftrace", "Attaching 1 probe...\n@[\n    a+1\n    b+2\n, \n    c+3\n"
                             ", bash]: 3\n@[, java]: 4\n@[\n    a+2\n]: 5\n");
}

/* Truncated stacks are counted, and marked if requested. */
static void check_cut(const char *format, const char *text, const char *expected)
{
    for (unsigned marked = 0; marked < 2; marked++) {
        struct profile *p =
            read_all(format, (struct import_options){.cuts = marked}, text);
        struct export_options options = {.tree = {.threads = THREAD_NONE}};
        struct output out = OUTPUT_BUFFER;
        struct error err;
        assert_int_equal(p->facts.truncated, 1);
        assert_true(exporter_named(STR("folded"))->write(p, &options, &out, &err));
        if (marked)
            assert_str(output_contents(&out), expected);
        else
            assert_false(str_has(output_contents(&out), STR(TRUNCATED_MARK)));
        output_deinit(&out);
        profile_destroy(p);
    }
}

static void what_the_text_says_is_cut_is_marked(void **state)
{
    (void)state;
    check_cut("gdb",
              "Thread 2 (LWP 8):\n#0  0x40 in b ()\n"
              "(More stack frames follow...)\n\n"
              "Thread 1 (LWP 7):\n#0  0x10 in a ()\n#1  0x20 in main ()\n",
              "[truncated];b 1\nmain;a 1\n");
    check_cut("gdb",
              "Thread 1 (LWP 7):\n#0  0x10 in a ()\n"
              "Backtrace stopped: previous frame inner to this frame (corrupt stack?)\n",
              "[truncated];a 1\n");
    check_cut("faulthandler",
              "Thread 0x7 (most recent call first):\n"
              "  File \"a.py\", line 3 in f\n  ...\n\n"
              "Thread 0x8 (most recent call first):\n"
              "  File \"a.py\", line 9 in g\n",
              "[truncated];a.py:3:f 1\na.py:9:g 1\n");
    check_cut("jstack",
              "\"x\" #1 prio=5 tid=0x1 nid=0x1 runnable  [0x2]\n"
              "   java.lang.Thread.State: RUNNABLE\n\tat A.f(A.java:5)\n\t...\n\n"
              "\"y\" #2 prio=5 tid=0x3 nid=0x2 runnable  [0x4]\n"
              "   java.lang.Thread.State: RUNNABLE\n\t...\n\tat A.g(A.java:9)\n",
              "A.g 1\n[truncated];A.f 1\n");
}

int main(void)
{
    static const struct CMUnitTest units[] = {
        UNIT(locations_are_read_on_request),       UNIT(addresses_are_read_on_request),
        UNIT(signatures_are_read_on_request),      UNIT(splits_lie_between_stacks),
        UNIT(what_the_text_says_is_cut_is_marked),
    };
    return UNITS_RUN(units);
}
