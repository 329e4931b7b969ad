/* SPDX-License-Identifier: Apache-2.0 */
#include "symbol/demangle.h"
#include "symbol/mangled.h"
#include "unit.h"
#include <time.h>

static struct output scratch;

static void assert_demangles(const char *name, const char *simple, const char *full)
{
    assert_str(demangle(str_of(name), DEMANGLE_NO, &scratch), name);
    assert_str(demangle(str_of(name), DEMANGLE_SIMPLE, &scratch), simple);
    assert_str(demangle(str_of(name), DEMANGLE_FULL, &scratch), full);
}

static void cpp(void **state)
{
    (void)state;
    assert_demangles("main", "main", "main");
    assert_demangles("_Z", "_Z", "_Z");
    assert_demangles("_Z3foov", "foo", "foo()");
    assert_demangles("_ZNVKR3foo3barEi", "foo::bar", "foo::bar(int) const volatile &");
    assert_demangles("_Z3addIiET_S0_S0_", "add<int>", "int add<int>(int, int)");
    assert_demangles("_ZNSt6vectorIiSaIiEE9push_backERKi",
                     "std::vector<int, std::allocator<int> >::push_back",
                     "std::vector<int, std::allocator<int> >::push_back(int const&)");
    assert_demangles("_ZZN1a1fEvENKUliE_clEi", "a::f()::{lambda(int)#1}::operator()",
                     "a::f()::{lambda(int)#1}::operator()(int) const");
    assert_demangles("_ZThn16_N3foo3barEv", "non-virtual thunk to foo::bar()",
                     "non-virtual thunk to foo::bar()");
    assert_demangles("_ZNSs6appendEPKc", "std::string::append",
                     "std::string::append(char const*)");
}

static void suffixes(void **state)
{
    (void)state;
    assert_demangles("_Z3foov.cold", "foo", "foo() [clone .cold]");
    assert_demangles("_Z3foov.part.0.constprop.1", "foo",
                     "foo() [clone .part.0] [clone .constprop.1]");
    assert_demangles("_Z3foov@plt", "foo@plt", "foo()@plt");
    assert_demangles("_Z3foov@@FOO_1.2", "foo", "foo()");
    assert_demangles("printf@plt", "printf@plt", "printf@plt");
    assert_demangles("read.cold", "read.cold", "read.cold");
    assert_demangles("memcpy@@GLIBC_2.14", "memcpy@@GLIBC_2.14", "memcpy@@GLIBC_2.14");
}

static void ocaml(void **state)
{
    (void)state;
    assert_demangles("camlStdlib__List__map_233", "Stdlib.List.map_233",
                     "Stdlib.List.map_233");
    assert_demangles("camlStdlib__$3d_1", "Stdlib.=_1", "Stdlib.=_1");
    assert_demangles("camlA$3", "A$3", "A$3");
    assert_demangles("camlA__$0ab", "A.$0ab", "A.$0ab");
    assert_demangles("caml_main", "caml_main", "caml_main");
    assert_demangles("caml", "caml", "caml");
}

static void rust(void **state)
{
    (void)state;
    assert_demangles("_ZN4core3fmt5Write9write_fmt17h0123456789abcdefE",
                     "core::fmt::Write::write_fmt", "core::fmt::Write::write_fmt");
    assert_demangles(
        "_ZN71_$LT$Test$u20$$u2b$$u20$$u27$static$u20$as$u20$foo..Bar$LT$Test$"
        "GT$$GT$3bar17h930b740aa94f1d3aE.llvm.123",
        "<Test + 'static as foo::Bar<Test>>::bar",
        "<Test + 'static as foo::Bar<Test>>::bar");
    assert_demangles("_ZN1r4main28_$u7b$$u7b$closure$u7d$$u7d$17hc4b5a850c4675546E",
                     "r::main::{{closure}}", "r::main::{{closure}}");
    assert_demangles("_RNvC6_123foo3bar", "123foo::bar", "123foo::bar");
    assert_demangles("_RNCNvC1a4main0.llvm.99", "a::main::{closure#0}",
                     "a::main::{closure#0}");
    assert_demangles(
        "_RNqCs4fqI2P2rA04_11utf8_identsu30____7hkackfecea1cbdathfdh9hlq6y",
        "utf8_idents::\xe1\x83\xa1\xe1\x83\x90\xe1\x83\xad\xe1\x83\x9b\xe1\x83"
        "\x94\xe1\x83\x9a\xe1\x83\x90\xe1\x83\x93_\xe1\x83\x92\xe1\x83\x94\xe1"
        "\x83\x9b\xe1\x83\xa0\xe1\x83\x98\xe1\x83\x94\xe1\x83\x9a\xe1\x83\x98_"
        "\xe1\x83\xa1\xe1\x83\x90\xe1\x83\x93\xe1\x83\x98\xe1\x83\x9a\xe1\x83"
        "\x98",
        "utf8_idents::\xe1\x83\xa1\xe1\x83\x90\xe1\x83\xad\xe1\x83\x9b\xe1\x83"
        "\x94\xe1\x83\x9a\xe1\x83\x90\xe1\x83\x93_\xe1\x83\x92\xe1\x83\x94\xe1"
        "\x83\x9b\xe1\x83\xa0\xe1\x83\x98\xe1\x83\x94\xe1\x83\x9a\xe1\x83\x98_"
        "\xe1\x83\xa1\xe1\x83\x90\xe1\x83\x93\xe1\x83\x98\xe1\x83\x9a\xe1\x83"
        "\x98");
    assert_demangles("_RMC0INtC8arrayvec8ArrayVechKj7b_E",
                     "<arrayvec::ArrayVec<u8, 123>>", "<arrayvec::ArrayVec<u8, 123>>");
    assert_demangles("_RINvC3foo3barFG_RL0_hEuDG_INtC3std2FnTRL0_hEEp6OutputuEL_E",
                     "foo::bar::<for<'a> fn(&'a u8), dyn for<'a> std::Fn<(&'a u8,), "
                     "Output = ()>>",
                     "foo::bar::<for<'a> fn(&'a u8), dyn for<'a> std::Fn<(&'a u8,), "
                     "Output = ()>>");
    assert_demangles("_RNvC1a", "_RNvC1a", "_RNvC1a");
    assert_demangles("_RMC0B_", "_RMC0B_", "_RMC0B_");
}

/* Each part contains the previous one twice: 2^n parts in the end. Packs are expanded
 * many times without any letter in the name. */
static struct str write_doubling(struct output *name, unsigned kind)
{
    static const struct {
        const char *begin, *part;
        unsigned step; /* number of parts that can be referred to, in each step */
    } kinds[] = {{"_Z1fFvvE", "FvS%_S%_E", 1},
                 {"_Z1f1A", "1AIS%_S%_E", 2},
                 {"_Z1fFvvE", "DpFvS%_S%_E", 2}};
    name->used = 0;
    output_text(name, kinds[kind].begin);
    for (unsigned n = 0; n < 60; n++) {
        char reference[8] = "";
        unsigned index = n * kinds[kind].step;
        const char *digits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";
        if (index > 36)
            snprintf(reference, sizeof reference, "%c%c", digits[(index - 1) / 36],
                     digits[(index - 1) % 36]);
        else if (index)
            snprintf(reference, sizeof reference, "%c", digits[index - 1]);
        for (const char *at = kinds[kind].part; *at; at++)
            if (*at == '%')
                output_text(name, reference);
            else
                output_char(name, *at);
    }
    return output_contents(name);
}

/* Small names that expand to something huge, deep or endless. All stay unchanged,
 * without delay. */
static void hostile(void **state)
{
    struct output name = OUTPUT_BUFFER;
    (void)state;
    clock_t begin = clock();
    static const char *const repeated[][3] = {
        /* prefix, repeated part, suffix */
        {"_Z1fF", "P", "v"},  {"_Z1f", "F", "v"},    {"_Z1fF", "vS_S_EF", "vE"},
        {"_Z", "N1a", "E"},   {"_Z1fIX", "ng", "E"}, {"_Z", "Z1fvE", "1a"},
        {"_Z1f", "I1aI", ""}, {"_RMC0", "T", "E"},   {"_RNvC1a", "INvC1b", ""},
        {"_RMC0", "F", ""},
    };
    for (size_t i = 0; i < sizeof repeated / sizeof *repeated; i++) {
        name.used = 0;
        output_text(&name, repeated[i][0]);
        for (unsigned n = 0; n < 500; n++)
            output_text(&name, repeated[i][1]);
        output_text(&name, repeated[i][2]);
        demangle(output_contents(&name), DEMANGLE_SIMPLE, &scratch);
        demangle(output_contents(&name), DEMANGLE_FULL, &scratch);
    }
    for (unsigned i = 0; i < 3; i++) {
        struct str text = write_doubling(&name, i);
        assert_str(demangle(text, DEMANGLE_FULL, &scratch),
                   (output_char(&name, 0), text.ptr));
    }
    assert_true((double)(clock() - begin) / CLOCKS_PER_SEC < 2);
    output_deinit(&name);
}

static void truncated_and_corrupted_names(void **state)
{
    static const char *const names[] = {
        "_ZN4llvm17make_filter_rangeINS_14iterator_rangeIPKNS_"
        "14MachineOperandEEESt8functionIFb"
        "RS3_EEEENS1_INS_20filter_iterator_implIDTclsr3stdE5beginclsr3stdE7declvalIRT_"
        "EEEET0_NS"
        "_6detail15fwd_or_bidi_tagISD_E4typeEEEEEOSB_SE_",
        "_RINvMs2_NtCsgVdDwkt78Uu_4jiff4spanNtB6_4Span15try_days_rangedINtNtNtB8_"
        "4util8rangeint"
        "5ri128Knn80000000000000000000000000000000_Kn7fffffffffffffffffffffffffffffff_"
        "EEB8_",
    };
    (void)state;
    for (size_t i = 0; i < 2; i++) {
        char copy[400];
        size_t length = strlen(names[i]);
        for (size_t cut = 0; cut < length; cut++) {
            demangle(str_head(str_of(names[i]), cut), DEMANGLE_FULL, &scratch);
            for (unsigned c = '0'; c <= 'z'; c += 3) {
                memcpy(copy, names[i], length);
                copy[cut] = (char)c;
                demangle((struct str){copy, length}, DEMANGLE_FULL, &scratch);
                demangle((struct str){copy, length}, DEMANGLE_SIMPLE, &scratch);
            }
        }
    }
}

static void finds_the_parts(void **state)
{
    struct mangled m;
    (void)state;
    assert_true(mangled_scan(STR("_ZNK3foo3barEi.cold"), true, &m));
    assert_int_equal(m.name_end, 13);
    assert_int_equal(m.quals, 3);
    assert_int_equal(m.quals_end, 4);
    assert_int_equal(m.end, 14);
    assert_false(m.is_special);
    assert_true(mangled_scan(STR("_ZTV3foo"), true, &m));
    assert_true(m.is_special);
}

int main(void)
{
    const struct CMUnitTest units[] = {
        UNIT(cpp),
        UNIT(suffixes),
        UNIT(ocaml),
        UNIT(rust),
        UNIT(hostile),
        UNIT(finds_the_parts),
        UNIT(truncated_and_corrupted_names),
    };
    int failed = UNITS_RUN(units);
    output_deinit(&scratch);
    return failed;
}
