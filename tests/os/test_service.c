/* SPDX-License-Identifier: Apache-2.0 */
/* A child answers questions; what it does wrong is only a missing answer. */
#include "os/service.h"
#include "unit.h"
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Answers with the question reversed; some questions have their own effect. */
static size_t reverse(void *context, struct str question, char *into)
{
    int *open_before = context;
    if (str_equal(question, STR("crash")))
        abort();
    if (str_equal(question, STR("end")))
        _exit(0);
    if (str_equal(question, STR("sleep")))
        sleep(1000); /* it is killed */
    if (str_equal(question, STR("files")))
        into[0] = fcntl(*open_before, F_GETFD) < 0 ? 'c' : 'o';
    else if (str_equal(question, STR("rights")))
        into[0] = execl("/bin/true", "true", (char *)NULL) < 0 ? 'n' : 'y';
    else
        for (size_t i = 0; i < question.len; i++)
            into[i] = question.ptr[question.len - 1 - i];
    return str_equal(question, STR("files")) || str_equal(question, STR("rights"))
               ? 1
               : question.len;
}

static struct os_service start(int *open_before)
{
    struct os_service s;
    struct error err;
    *open_before = dup(STDERR_FILENO);
    assert_true(*open_before > STDERR_FILENO);
    assert_true(os_service_start(&s, reverse, open_before, &err));
    return s;
}

static void questions_are_answered(void **state)
{
    char into[OS_SERVICE_MAX], *large = malloc(OS_SERVICE_MAX);
    int open_before;
    (void)state;
    struct os_service s = start(&open_before);
    assert_int_equal(os_service_ask(&s, STR("abc"), into), 3);
    assert_memory_equal(into, "cba", 3);
    memset(large, 'x', OS_SERVICE_MAX);
    assert_int_equal(os_service_ask(&s, (struct str){large, OS_SERVICE_MAX}, into),
                     OS_SERVICE_MAX);
    assert_memory_equal(into, large, OS_SERVICE_MAX);
    os_service_end(&s);
    os_service_end(&s);
    assert_int_equal(os_service_ask(&s, STR("abc"), into), 0);
    free(large);
    close(open_before);
}

static void the_child_is_restricted(void **state)
{
    char into[OS_SERVICE_MAX];
    int open_before;
    (void)state;
    struct os_service s = start(&open_before);
    assert_int_equal(os_service_ask(&s, STR("files"), into), 1);
    assert_int_equal(into[0], 'c');
    assert_int_equal(os_service_ask(&s, STR("rights"), into), 1);
    assert_int_equal(into[0], 'n');
    os_service_end(&s);
    close(open_before);
}

static void a_child_that_ends_gives_no_answer(void **state)
{
    static const char *const ends[] = {"crash", "end"};
    char into[OS_SERVICE_MAX];
    (void)state;
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        int open_before;
        struct os_service s = start(&open_before);
        assert_int_equal(os_service_ask(&s, str_of(ends[i]), into), 0);
        assert_int_equal(os_service_ask(&s, STR("abc"), into), 0);
        os_service_end(&s);
        close(open_before);
    }
}

/* Also not to later questions: the child is ended. */
static void a_child_that_is_late_gives_no_answer(void **state)
{
    char into[OS_SERVICE_MAX];
    int open_before;
    (void)state;
    struct os_service s = start(&open_before);
    s.limit = 20;
    assert_int_equal(os_service_ask(&s, STR("sleep"), into), 0);
    assert_int_equal(s.child.pid, 0);
    assert_int_equal(os_service_ask(&s, STR("abc"), into), 0);
    close(open_before);
}

int main(void)
{
    const struct CMUnitTest units[] = {
        cmocka_unit_test(questions_are_answered),
        cmocka_unit_test(the_child_is_restricted),
        cmocka_unit_test(a_child_that_ends_gives_no_answer),
        cmocka_unit_test(a_child_that_is_late_gives_no_answer),
    };
    return UNITS_RUN(units);
}
