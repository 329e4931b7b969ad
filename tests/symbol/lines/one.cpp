// Inlined chains, templates, lambdas, local classes, cold paths, static constructors.
#include <algorithm>
#include <cstdio>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

extern "C" int two_main(int n);

namespace {
struct counter {
    int seen = 0;
    template <typename T> int add(const T &v)
    {
        seen += static_cast<int>(sizeof v);
        return seen;
    }
    [[gnu::noinline]] int twice(int n) { return add(n) + add(static_cast<long>(n)); }
};
counter total;
std::map<std::string, int> names{{"one", 1}, {"two", 2}};
} // namespace

namespace outer::inner {
template <int Depth> inline int nest(int n)
{
    if (n % Depth == 1)
        total.add(n);
    return nest<Depth - 1>(n * 3 + Depth) ^ n;
}
template <> inline int nest<0>(int n)
{
    return n & 0xff;
}
struct base {
    virtual ~base() = default;
    virtual int value(int n) const { return nest<3>(n); }
};
struct derived : base {
    int value(int n) const override
    {
        if (n < 0)
            throw std::runtime_error("negative");
        return nest<6>(n) + base::value(n);
    }
};
static int never_called(int n)
{
    return nest<4>(n) - 7;
}
} // namespace outer::inner

int unused_function(int n)
{
    return outer::inner::never_called(n) + n;
}

static int sorted(std::vector<int> &v)
{
    struct local {
        static bool less(int a, int b) { return outer::inner::nest<2>(a) < b; }
    };
    std::sort(v.begin(), v.end(), [](int a, int b) { return (a ^ 5) < (b ^ 5); });
    std::stable_sort(v.begin(), v.end(), local::less);
    return v.front();
}

int main(int argc, char **argv)
{
    std::vector<int> v;
    outer::inner::derived d;
    const outer::inner::base *b = &d;
    for (int i = 0; i < argc * 100; i++)
        v.push_back(b->value(i) + total.twice(i));
    try {
        v.push_back(b->value(argc - 2));
    } catch (const std::exception &e) {
        names[e.what()] += argc;
    }
    auto printer = [&](const auto &what) {
        for (const auto &[name, n] : names)
            std::printf("%s %s %d\n", what, name.c_str(), n);
    };
    printer(argv[0]);
    return (sorted(v) + two_main(argc)) & 1;
}
