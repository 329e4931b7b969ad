// Functions that no other file can see, for tests/dwarf.py: what they are called when
// they are inlined is what the symbol table calls them when they are not. WAY is noinline
// or always_inline.
#include <string>
#include <vector>

static volatile int sink;

#define BODY                        \
    {                               \
        for (int i = 0; i < 3; i++) \
            sink = sink + i;        \
        return int(sink);           \
    }

static int plain(int) __attribute__((WAY));
static int plain(int) BODY

    namespace outer
{
    enum level { low };
    struct pair {
        int first;
    };
    namespace {
    struct hidden {
        int value;
        __attribute__((WAY)) int get(int) const BODY;
        static __attribute__((WAY)) int make(long) BODY;
    };
    __attribute__((WAY)) int inner(int) BODY
    } // namespace
    inline namespace v1 {
    static __attribute__((WAY)) int versioned(int) BODY
    }
    namespace inside {
    template <class T>
    static __attribute__((WAY)) int of_type(T) BODY
    }
    template <class T>
    struct box {
        static __attribute__((noinline)) int work(int n)
        {
            auto first = [](int) __attribute__((WAY)) BODY;
            return first(n);
        }
    };
} // namespace outer

__attribute__((noinline)) int lambdas(int n, const std::string &text)
{
    auto one = [](int) __attribute__((WAY)) BODY;
    auto any = [](auto) __attribute__((WAY)) BODY;
    auto some = [](const auto &, int, auto) __attribute__((WAY)) BODY;
    auto pointers = [&](unsigned long, const char *const *) mutable __attribute__((WAY))
    BODY;
    auto named =
        [](outer::level, outer::pair &&, const outer::hidden *) __attribute__((WAY)) BODY;
    auto numbers =
        [](long long, unsigned char, short, double, bool) __attribute__((WAY)) BODY;
    auto forwarded = [](auto &&) __attribute__((WAY)) BODY;
    auto open = [](int, ...) __attribute__((WAY)) BODY;
    auto none = []() __attribute__((WAY)) BODY;
    auto vectors = [](const std::vector<int> &) __attribute__((WAY)) BODY;
    const char *pointer = text.c_str();
    int sum = 0;
    if (n > 2) {
        auto deep = [](int) __attribute__((WAY)) BODY;
        sum = deep(n);
    }
    return sum + one(n) + any(n) + any(2.0) + some(1, 2, 'c') + pointers(1, &pointer) +
           named(outer::low, outer::pair{1}, nullptr) + numbers(1, 2, 3, 4, true) +
           forwarded(n) + forwarded(4) + open(1) + none() + vectors({n});
}

__attribute__((noinline)) int types(int n)
{
    struct local {
        __attribute__((WAY)) int get(int) BODY
    } one;
    struct {
        __attribute__((WAY)) int get(int) BODY
    } two;
    return one.get(n) + two.get(n);
}

int main(int argc, char **argv)
{
    auto first = [&](int) __attribute__((WAY)) BODY;
    auto second = [&](int) __attribute__((WAY)) BODY;
    outer::hidden hidden{argc};
    return (first(argc) + second(argc) + plain(argc) + outer::inner(argc) +
            outer::versioned(argc) + outer::inside::of_type(hidden) + hidden.get(argc) +
            outer::hidden::make(3) + outer::box<int>::work(argc) + types(argc) +
            lambdas(argc, argv[0])) &
           1;
}
