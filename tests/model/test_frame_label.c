/* SPDX-License-Identifier: Apache-2.0 */
#include "model/builder.h"
#include "model/frame_label.h"
#include "unit.h"

static struct builder b;

static int start(void **state)
{
    (void)state;
    return builder_init(&b, BUILD_COUNT) ? 0 : -1;
}

static int end(void **state)
{
    (void)state;
    builder_deinit(&b);
    return 0;
}

static void assert_label(struct frame f, struct label_style style, const char *expected)
{
    struct output o = OUTPUT_BUFFER;
    label_frame(&o, b.profile, builder_frame(&b, &f), &style);
    assert_str(output_contents(&o), expected);
    output_deinit(&o);
}

static void assert_thread(thread_id thread, enum thread_style style, const char *expected)
{
    struct output o = OUTPUT_BUFFER;
    label_thread(&o, b.profile, thread, style);
    assert_str(output_contents(&o), expected);
    output_deinit(&o);
}

static void suffixes_show_the_kind(void **state)
{
    (void)state;
    assert_int_equal(label_suffix_kind(STR("read_[k]")), FRAME_KERNEL);
    assert_int_equal(label_suffix_kind(STR("read_[i]")), FRAME_INLINED);
    assert_int_equal(label_suffix_kind(STR("read_[j]")), FRAME_JIT);
    assert_int_equal(label_suffix_kind(STR("read_[w]")), FRAME_WAKER);
    assert_int_equal(label_suffix_kind(STR("read_[x]")), FRAME_USER);
    assert_int_equal(label_suffix_kind(STR("k]")), FRAME_USER);
    assert_str(label_without_suffix(STR("read_[k]")), "read");
    assert_str(label_without_suffix(STR("array[k]")), "array[k]");
}

static void suffixes_are_added_where_asked_for(void **state)
{
    (void)state;
    string_id name = builder_string(&b, STR("read"));
    struct label_style none = {0}, all = {.kernel = true, .jit = true};
    struct label_style plain = {.plain = true, .kernel = true};
    assert_label((struct frame){.name = name, .kind = FRAME_KERNEL}, none, "read");
    assert_label((struct frame){.name = name, .kind = FRAME_KERNEL}, all, "read_[k]");
    assert_label((struct frame){.name = name, .kind = FRAME_KERNEL}, plain, "read");
    assert_label((struct frame){.name = name, .kind = FRAME_JIT}, all, "read_[j]");
    assert_label((struct frame){.name = name, .kind = FRAME_INLINED}, none, "read_[i]");
    assert_label((struct frame){.name = name, .kind = FRAME_USER}, all, "read");
}

static void a_suffix_is_not_doubled(void **state)
{
    (void)state;
    string_id name = builder_string(&b, STR("read_[k]"));
    struct frame f = {.name = name, .kind = FRAME_KERNEL};
    assert_label(f, (struct label_style){.kernel = true}, "read_[k]");
    assert_label(f, (struct label_style){0}, "read_[k]");
    assert_label(f, (struct label_style){.plain = true}, "read");
}

static void an_unknown_frame_is_named_by_its_module(void **state)
{
    (void)state;
    module_id module = builder_module(&b, STR("/usr/lib/libc.so.6"), STR(""));
    struct label_style none = {0}, addresses = {.addresses = true};
    struct frame f = {.module = module, .address = 0x7f00};
    assert_label(f, none, "[libc.so.6]");
    assert_label(f, addresses, "[libc.so.6 <7f00>]");
    f.module = 0;
    assert_label(f, none, "[unknown]");
    assert_label(f, addresses, "[unknown <7f00>]");
    f.address = 0;
    f.kind = FRAME_KERNEL;
    assert_label(f, (struct label_style){.kernel = true, .addresses = true},
                 "[unknown <0>]_[k]");
}

static void threads_in_every_style(void **state)
{
    (void)state;
    thread_id t = builder_thread(&b, 12, 13, STR("my java"));
    assert_thread(t, THREAD_COMM, "my_java");
    assert_thread(t, THREAD_PID, "my_java-12");
    assert_thread(t, THREAD_TID, "my_java-12/13");
    assert_thread(t, THREAD_NONE, "");
    assert_thread(0, THREAD_TID, "");
    /* The start of a comment or of another encoding in folded lines. */
    assert_thread(builder_thread(&b, 1, 2, STR("#")), THREAD_COMM, "?");
    assert_thread(builder_thread(&b, 1, 2, STR("#")), THREAD_PID, "#-1");
    assert_thread(builder_thread(&b, 1, 3, STR("# a")), THREAD_COMM, "#_a");
    assert_thread(builder_thread(&b, 1, 4, STR("\xff\xfex")), THREAD_COMM, "?\xfex");
}

static void what_is_not_known_of_a_thread(void **state)
{
    (void)state;
    assert_thread(builder_thread(&b, ID_NONE, 13, STR("sh")), THREAD_TID, "sh-?/13");
    assert_thread(builder_thread(&b, ID_NONE, 13, STR("sh")), THREAD_PID, "sh-?");
    assert_thread(builder_thread(&b, ID_NONE, ID_NONE, STR("sh")), THREAD_TID, "sh");
    assert_thread(builder_thread(&b, 1, ID_NONE, STR("")), THREAD_TID, "1/?");
}

int main(void)
{
    const struct CMUnitTest units[] = {
        UNIT(suffixes_show_the_kind),  UNIT(suffixes_are_added_where_asked_for),
        UNIT(a_suffix_is_not_doubled), UNIT(an_unknown_frame_is_named_by_its_module),
        UNIT(threads_in_every_style),  UNIT(what_is_not_known_of_a_thread),
    };
    return cmocka_run_group_tests(units, start, end);
}
