#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes and builds a large C++ program with debug information for recordings: many units that
include large parts of the standard library, functions with random calls and inlined calls, and
work in the leaves. The source is always the same.

program.py FOLDER [UNITS]: builds FOLDER/program if it does not exist."""

import concurrent.futures
import os
import random
import subprocess
import sys

FUNCTIONS = 30  # a unit

# Gives few functions the amount of debug information that units of a large program have.
ALL_TYPES = ["-fno-eliminate-unused-debug-types", "-fno-eliminate-unused-debug-symbols"]

HEADER = """\
#pragma once
#include <algorithm>
#include <cstdint>
#include <deque>
#include <filesystem>
#include <functional>
#include <future>
#include <iostream>
#include <list>
#include <map>
#include <memory>
#include <numeric>
#include <random>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <unordered_map>
#include <vector>

namespace app {
struct State {
    uint64_t seed = 1, total = 0;
    std::vector<uint32_t> numbers = std::vector<uint32_t>(64);
    std::map<uint32_t, uint32_t> tree;
    std::unordered_map<uint32_t, std::string> names;
    uint32_t next() { seed = seed * 6364136223846793005u + 1442695040888963407u; return seed >> 33; }
};
using Step = uint64_t (*)(State &, unsigned);
extern const Step steps[];
extern const unsigned step_count;
inline uint64_t go_on(State &s, unsigned depth) { return steps[s.next() % step_count](s, depth - 1); }

template <class T> struct Accumulator {
    T sum{};
    void add(const T &value) { sum += value; }
    template <class Range> void add_all(const Range &range) { for (const auto &v : range) add(v); }
};
}
"""

LEAVES = [
    "for (auto &n : s.numbers) n = s.next(); std::sort(s.numbers.begin(), s.numbers.end()); t += s.numbers[{k}];",
    "for (int i = 0; i < 12; i++) s.tree[s.next() % 512] += {k}; if (s.tree.size() > 400) s.tree.clear(); t += s.tree.size();",
    "std::string text; for (int i = 0; i < 8; i++) text += std::to_string(s.next() % 1000 + {k}); t += text.size();",
    "Accumulator<uint64_t> a; a.add_all(s.numbers); t += a.sum + {k};",
    "t += std::accumulate(s.numbers.begin(), s.numbers.end(), uint64_t({k}), [](uint64_t x, uint32_t y) {{ return x * 31 + (y ^ x >> 7); }});",
    "s.names[s.next() % 128].assign(\"unit {k}\"); t += s.names.size(); if (s.names.size() > 120) s.names.clear();",
]


def unit(number, rng):
    lines = ['#include "program.h"', f"namespace app::unit{number} {{"]
    for k in range(FUNCTIONS):
        shape, extra = rng.randrange(4), rng.randrange(1000)
        lines.append(f"""\
template <unsigned N> struct Layer{k} {{
    __attribute__((always_inline)) static inline uint64_t mix(uint64_t x) {{ return (x ^ N) * 0x9e3779b97f4a7c15u >> 3; }}
    static inline uint64_t down(State &s, unsigned depth) {{
        uint64_t before = mix(s.total + {extra}), below = go_on(s, depth);
        return mix(before + below) + {k};
    }}
}};
static __attribute__((noinline)) uint64_t leaf{k}(State &s) {{
    uint64_t t = {extra};
    {LEAVES[rng.randrange(len(LEAVES))].format(k=k)}
    return t;
}}
uint64_t step{k}(State &s, unsigned depth) {{
    uint64_t t = s.next() % {extra + 2};
    if (depth == 0)
        return leaf{k}(s) + t;""")
        if shape == 0:
            lines.append(f"    t += Layer{k}<{extra}>::down(s, depth);")
        elif shape == 1:
            lines.append(f"    t += t & 1 ? Layer{k}<{extra}>::down(s, depth) : Layer{k}<{k}>::down(s, depth);")
        elif shape == 2:
            lines.append(f"    std::function<uint64_t(unsigned)> f = [&s](unsigned d) {{ return Layer{k}<1>::down(s, d) + {k}; }};\n    t += f(depth);")
        else:
            lines.append(f"    auto owned = std::make_unique<uint64_t>(t);\n    t += go_on(s, depth) + *owned;")
        lines.append("    s.total += t;\n    return t;\n}")
    lines.append("}")
    return "\n".join(lines) + "\n"


def main_unit(units):
    names = [f"unit{u}::step{k}" for u in range(units) for k in range(FUNCTIONS)]
    declared = "".join(f"namespace unit{u} {{ " + "".join(
        f"uint64_t step{k}(State &, unsigned); " for k in range(FUNCTIONS)) + "}\n"
        for u in range(units))
    return f"""\
#include "program.h"
#include <chrono>
#include <cstdio>
#include <cstdlib>
namespace app {{
{declared}
const Step steps[] = {{{", ".join(names)}}};
const unsigned step_count = {len(names)};
}}
int main(int argc, char **argv)
{{
    app::State s;
    double seconds = argc > 1 ? atof(argv[1]) : 1;
    auto begin = std::chrono::steady_clock::now();
    uint64_t total = 0;
    while (std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count() < seconds)
        total += app::go_on(s, 12 + s.next() % 16);
    printf("%llu\\n", (unsigned long long)total);
}}
"""


def compile_unit(folder, name):
    subprocess.run(["g++", "-std=c++17", "-O2", "-g", *ALL_TYPES, "-c", f"{name}.cc", "-o", f"{name}.o"],
                   cwd=folder, check=True)


def build(folder, units=80):
    program = os.path.join(folder, "program")
    if os.path.exists(program):
        return program
    os.makedirs(folder, exist_ok=True)
    rng = random.Random(1)
    sources = {f"unit{u}": unit(u, rng) for u in range(units)}
    sources["main"] = main_unit(units)
    with open(os.path.join(folder, "program.h"), "w") as out:
        out.write(HEADER)
    for name, text in sources.items():
        with open(os.path.join(folder, name + ".cc"), "w") as out:
            out.write(text)
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        list(pool.map(lambda name: compile_unit(folder, name), sources))
    subprocess.run(["g++", "-o", "program.part", *(name + ".o" for name in sources)],
                   cwd=folder, check=True)
    os.rename(program + ".part", program)
    return program


if __name__ == "__main__":
    print(build(sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 80))
