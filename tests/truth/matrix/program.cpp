// SPDX-License-Identifier: Apache-2.0
// The same in C++: templates, lambdas, virtual calls, exceptions.
#include "spin.h"
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <stdexcept>
#include <vector>

namespace work {

template <typename T, int Share> struct Part {
    T scale;
    NOINLINE void direct() const
    {
        sink++;
        SPIN(PERCENT(Share, scale)); // @50
        sink++;
    }
};

template <typename T> static INLINED void inner(T scale)
{
    sink++;
    SPIN(PERCENT(10, scale)); // @10
}

struct Base {
    virtual ~Base() = default;
    virtual void outer(unsigned long scale) = 0;
};

struct Derived final : Base {
    NOINLINE void outer(unsigned long scale) override
    {
        auto between = [](unsigned long s) __attribute__((always_inline)) {
            inner(s);
            sink++;
            SPIN(PERCENT(20, s)); // @20
        };
        between(scale);
        sink++;
    }
};

NOINLINE void thrower(unsigned long scale)
{
    if (scale)
        throw std::runtime_error("expected");
    sink++;
}

// Its loop is in the handler of an exception.
NOINLINE void catcher(unsigned long scale)
{
    try {
        thrower(scale);
    } catch (const std::exception &) {
        sink++;
        SPIN(PERCENT(5, scale)); // @5
        sink++;
    }
}

NOINLINE void descend(unsigned long scale, int left, Base &base)
{
    if (left) {
        descend(scale, left - 1, base);
        sink++;
        return;
    }
    Part<unsigned long, 50>{scale}.direct();
    base.outer(scale);
    pointer(scale);
    catcher(scale);
    sink++;
}

} // namespace work

int main(int argc, char **argv)
{
    unsigned long long state = 1;
    work::Derived derived;
    std::vector<unsigned long> scales(argc > 1 ? atoi(argv[1]) : ROUNDS);
    std::generate(scales.begin(), scales.end(), [&] { return next_scale(&state); });
    std::function<void(unsigned long)> each = [&](unsigned long scale) {
        work::descend(scale, 2, derived);
        sink++;
    };
    std::for_each(scales.begin(), scales.end(), each);
    std::printf("%d\n", sink != 0);
    return 0;
}
