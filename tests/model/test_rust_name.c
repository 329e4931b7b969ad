/* SPDX-License-Identifier: Apache-2.0 */
#include "model/rust_name.h"
#include "unit.h"

static void check(const char *name, const char *expected)
{
    struct output scratch = OUTPUT_BUFFER;
    assert_str(rust_name(str_of(name), &scratch), expected);
    output_deinit(&scratch);
}

static void hashes_are_cut_and_escapes_undone(void **state)
{
    (void)state;
    check("rg::main::h6909bd3a32e27a08", "rg::main");
    check("rg::main::h6909bd3a32e27a08 (.llvm.788)", "rg::main");
    check("_$LT$a..b..C$LT$$u27$s$C$$u20$M$GT$$GT$::run::h30ecedc997ad7e32",
          "<a::b::C<'s, M>>::run");
    check("a::_$u7b$$u7b$closure$u7d$$u7d$::h7cd9ec399e9db3f7", "a::_{{closure}}");
    check("$SP$$BP$$RF$$LP$$RP$::h7cd9ec399e9db3f7", "@*&()");
    check("a.b...c::h7cd9ec399e9db3f7", "a.b::.c");
}

static void other_names_stay(void **state)
{
    (void)state;
    check("", "");
    check("main", "main");
    check("_$LT$a..b", "_$LT$a..b");
    check("f(int) [clone .llvm.12]", "f(int) [clone .llvm.12]");
    check("h7cd9ec399e9db3fg7cd9ec399e9db3f7", "h7cd9ec399e9db3fg7cd9ec399e9db3f7");
}

static void unknown_escapes_stay(void **state)
{
    (void)state;
    check("a$x$b$u0a$$uffff$$::h7cd9ec399e9db3f7", "a$x$b$u0a$$uffff$$");
}

int main(void)
{
    static const struct CMUnitTest units[] = {
        UNIT(hashes_are_cut_and_escapes_undone),
        UNIT(other_names_stay),
        UNIT(unknown_escapes_stay),
    };
    return UNITS_RUN(units);
}
