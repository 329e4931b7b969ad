// A library that program.cc loads while it is recorded.
#include <cstdint>
#include <string>

static inline uint64_t step(uint64_t value)
{
    return (value ^ (value >> 5)) * 0x2545f4914f6cdd1du;
}

static __attribute__((noinline)) uint64_t turn(uint64_t value)
{
    for (int i = 0; i < 300; i++)
        value = step(value) + uint64_t(i);
    return value;
}

extern "C" uint64_t plugin_work(uint64_t seed)
{
    std::string text(64 + seed % 32, 'x');
    return turn(seed) + text.size();
}
