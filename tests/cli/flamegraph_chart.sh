# SPDX-License-Identifier: Apache-2.0
# A flame chart: each box starts when its function starts, independent of other calls of its
# caller.
. "$TESTS/cli/lib.sh"

python3 - <<'PY'
import json
import random
import re
import subprocess

random.seed(3)
BOX = re.compile(r'<title>(.*?) \([\d,]+ samples[^<]*</title><rect x="([\d.]+)%" y="(\d+)" width="([\d.]+)%"')


def boxes_of(lines):
    """(name, depth, begin, end) of all calls: what consecutive lines share continues."""
    done, open_calls, now = [], [], 0
    for stack, weight in lines + [([], 0)]:
        shared = 0
        while shared < min(len(stack), len(open_calls)) and stack[shared] == open_calls[shared][0]:
            shared += 1
        while len(open_calls) > shared:
            name, begin = open_calls.pop()
            done.append((name, len(open_calls) + 1, begin, now))
        open_calls += [(name, now) for name in stack[shared:]]
        now += weight
    return done


for turn in range(40):
    lines = [(["m"][:turn % 2] + [random.choice("abc") for _ in range(random.randrange(1 - turn % 2, 6))],
              random.randrange(1, 50)) for _ in range(random.randrange(1, 40))]
    lines = [(stack or ["a"], weight) for stack, weight in lines]
    if turn % 20 == 0:  # long chains of calls, which are shortened if the picture is too high
        lines = [(stack[:2] + ["deep"] * 1500 * (i % 2) + stack[2:], weight) for i, (stack, weight) in enumerate(lines[:6])]
    text = "".join(f"{';'.join(stack)} {weight}\n" for stack, weight in lines)
    picture = subprocess.run(["stoke", "flamegraph", "-q", "--flamechart", "--minwidth", "0", "--format", "folded"],
                             input=text, capture_output=True, text=True, check=True).stdout
    total = sum(weight for _, weight in lines)
    drawn = [(name, float(x), float(x) + float(width)) for name, x, _, width in BOX.findall(picture)]
    known = boxes_of(lines)
    spans = {(name, round(begin / total * 100, 3), round(end / total * 100, 3)) for name, _, begin, end in known}
    got = {(name, round(begin, 3), round(end, 3)) for name, begin, end in drawn if name != "all"}
    near = {(name, round(b + i, 3), round(e + k, 3)) for name, b, e in spans for i in (-.001, 0, .001) for k in (-.001, 0, .001)}
    assert got <= near, (text[:500], sorted(got - near)[:5])
    if turn % 20:
        assert len(drawn) == len(known) + 1, (text, len(drawn), len(known))
    # The script in the image finds the same positions.
    data = json.loads(re.search(r'<script id="data" type="application/json">(.*?)</script>', picture, re.S).group(1))
    following = [0] * (data["rows"] + 1)
    for i, row in enumerate(data["row"]):
        x = following[row - 1] + data["gap"][i] if row else 0
        if row:
            following[row - 1] = x + data["after"][i]
        following[row] = x + data["lead"][i]
        assert row == 0 or data["name"][i] < 0 or any(
            abs(b - x) < 1e-6 and abs(e - x - data["after"][i]) < 1e-6 for _, _, b, e in known), (text[:500], i, x)
PY

# Each thread has a separate time axis; omitted narrow frames leave a gap.
printf 'one  1/1 1.0: 5 cycles:\n\t1 a (x)\n\ntwo  2/2 1.1: 7 cycles:\n\t1 c (x)\n\none  1/1 1.2: 6 cycles:\n\t2 b (x)\n\t1 a (x)\n\none  1/1 1.3: 2 cycles:\n\t1 a (x)\n\n' >threads.perf
status 0 stoke flamegraph --flamechart threads.perf
says '<title>one (13 [^<]*</title><rect x="0%"' out
says '<title>b (6 [^<]*</title><rect x="25%" y="[0-9]*" width="30%"' out
says '<title>c (7 [^<]*</title><rect x="65%" y="[0-9]*" width="35%"' out
printf 'a;b 1\na;c 100\na;d 1\na;e 100\n' >narrow.folded
status 0 stoke flamegraph --flamechart --minwidth 20 narrow.folded
says '<title>c (100 [^<]*</title><rect x="0.49[0-9]*%"' out
says '<title>e (100 [^<]*</title><rect x="50.49[0-9]*%"' out
