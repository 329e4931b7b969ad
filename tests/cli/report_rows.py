# SPDX-License-Identifier: Apache-2.0
"""Compares rows and call graphs of many generated recordings with sums that are computed in the
simplest way: from every frame of every sample."""

import collections
import csv
import json
import random
import subprocess

KEYS = ["comm", "pid", "tid", "cpu", "dso", "sym"]
KERNEL = "[kernel.kallsyms]"


def make_samples(rnd):
    """Threads of a few processes; stacks, outermost first, in which functions recur."""
    functions = [(name, dso) for name in ["f", "g", "h", "operator<"] for dso in
                 ["prog", "libx.so", KERNEL]][:rnd.randint(1, 12)]
    threads = [(comm, pid, pid + i) for pid, comm in [(10, "web server"), (20, "db")]
               for i in range(3)]
    return [{"thread": rnd.choice(threads), "cpu": rnd.randrange(3),
             "weight": rnd.randint(1, 1000),
             "stack": [rnd.choice(functions) for _ in range(rnd.randint(1, 12))]}
            for _ in range(rnd.randint(1, 60))]


def script_of(samples):
    lines = []
    for number, s in enumerate(samples):
        comm, pid, tid = s["thread"]
        lines.append(f"{comm} {pid}/{tid} [{s['cpu']:03}] {number}.000000: {s['weight']} "
                     "cycles:")
        lines += [f"\t{4096 + i:x} {name} ({dso if dso == KERNEL else '/lib/' + dso})"
                  for i, (name, dso) in enumerate(reversed(s["stack"]))]
        lines.append("")
    return "\n".join(lines) + "\n"


def row_of(sample, frame, keys):
    comm, pid, tid = sample["thread"]
    of = {"comm": comm, "pid": pid, "tid": tid, "cpu": sample["cpu"], "dso": frame[1],
          "sym": frame}
    return tuple(of[key] for key in keys)


def add_path(tree, path, weight):
    for frame in path:
        node = tree.setdefault(frame, [0, {}])
        node[0] += weight
        tree = node[1]


def expected_rows(samples, keys, children, order):
    rows = collections.defaultdict(lambda: [0, 0, 0, {}])  # self, total, samples, graph
    for s in samples:
        leaf = rows[row_of(s, s["stack"][-1], keys)]
        leaf[0] += s["weight"]
        leaf[2] += 1
        if not children:
            whole = s["stack"] if order == "caller" else s["stack"][::-1]
            add_path(leaf[3], whole, s["weight"])
        positions = collections.defaultdict(list)
        for i, frame in enumerate(s["stack"] if children else []):
            positions[row_of(s, frame, keys)].append(i)
        for key, at in positions.items():
            rows[key][1] += s["weight"]
            if order == "callee":
                part = s["stack"][at[-1]::-1]
            else:  # a stack that ends in the row is shown from its outermost function
                part = s["stack"][at[0] if rows[key] is not leaf else 0:]
            add_path(rows[key][3], part, s["weight"])
    return dict(rows)


def tree_of(calls):
    return {(c["sym"], c["dso"]): [c["total"], tree_of(c["calls"])] for c in calls}


def repr_tree(tree):
    return "{" + ",".join(f"{frame}:{node[0]}{repr_tree(node[1])}"
                          for frame, node in sorted(tree.items())) + "}"


def run(samples, *options):
    return subprocess.run(["stoke", "report", "--format", "perf", *options],
                          input=script_of(samples), check=True, text=True,
                          stdout=subprocess.PIPE).stdout


def plain(key, keys):
    """The row without addresses: functions of the same name have equal keys."""
    return tuple(v[0] if k == "sym" else v for v, k in zip(key, keys))


def check(rnd):
    samples = make_samples(rnd)
    keys = rnd.sample(KEYS, rnd.randint(1, 4))
    children, order = rnd.random() < 0.5, rnd.choice(["caller", "callee"])
    how = "--children" if children else "--no-children"
    said = run(samples, "--json", "-s", ",".join(keys), how, "-g", order + ",0")
    event = json.loads(said)["events"][0]
    expected = sorted((plain(key, keys), own, total if children else own, count,
                     repr_tree(graph))
                    for key, (own, total, count, graph)
                    in expected_rows(samples, keys, children, order).items())
    got = sorted((tuple(row[k] for k in keys), row["self"], row.get("total", row["self"]),
                  row["samples"], repr_tree(tree_of(row["calls"]))) for row in event["rows"])
    assert got == expected, f"{keys} {how} {order}\n{got}\n{expected}"
    assert sum(row["self"] for row in event["rows"]) == event["total"]
    lines = run(samples, "--csv", "-s", ",".join(keys), how).splitlines()
    table = list(csv.DictReader(lines))
    assert sorted((tuple(str(v) for v in w[0]), w[1]) for w in expected) == \
        sorted((tuple(r[k] for k in keys), int(r["self"])) for r in table), table
    assert abs(sum(float(r["self_percent"]) for r in table) - 100) < 0.01


for seed in range(150):
    check(random.Random(seed))
