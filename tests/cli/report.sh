# SPDX-License-Identifier: Apache-2.0
# stoke report: tables and trees, as text, CSV and JSON.
. "$TESTS/cli/lib.sh"

cat >in.folded <<'END'
main;run;parse;parse;alloc 5
main;run;emit 7
main 2
END
cat >want <<'END'
# folded, 3 stacks

# samples: 14 in 3 stacks
self %  self  total %  total  function
50.00%     7   50.00%      7  emit
35.71%     5   35.71%      5  alloc
14.29%     2  100.00%     14  main
 0.00%     0   85.71%     12  run
 0.00%     0   35.71%      5  parse
END
status 0 stoke report in.folded
same want out
status 0 stoke report -o file.txt in.folded
same want file.txt
stoke report <in.folded >out
same want out

status 0 stoke report --sort total --limit 1 in.folded
says '14.29%     2  100.00%     14  main' out
says '^# and 4 more (85.71% self)' out
status 0 stoke report --sort total --percent-limit 50 in.folded
says '^# and 2 more (35.71% self)' out

cat >want <<'END'
 total %   self %  function
 100.00%   14.29%  main
  85.71%    0.00%  run
  50.00%   50.00%  ├─ emit
  35.71%    0.00%  └─ parse
  35.71%    0.00%     parse
  35.71%   35.71%     alloc
END
status 0 stoke report --tree in.folded
sed -n '/total %/,$p' out >got
same want got
cat >want <<'END'
 total %   self %  function
 100.00%    0.00%  all
  50.00%    0.00%  ├─ emit
  50.00%    0.00%  │  run
  50.00%   50.00%  │  main
  35.71%    0.00%  ├─ alloc
  35.71%    0.00%  │  parse
  35.71%    0.00%  │  parse
  35.71%    0.00%  │  run
  35.71%   35.71%  │  main
  14.29%   14.29%  └─ main
END
status 0 stoke report --callers in.folded
sed -n '/total %/,$p' out >got
same want got
status 0 stoke report --callers --depth 2 in.folded
says '^# 4 callees deeper than 2 are not shown' out

# All events, the facts, and functions without a name.
status 0 stoke report "$TESTS/export/two-events.in"
same "$TESTS/export/table/two-events.want" out
status 0 stoke report --event page-faults "$TESTS/export/two-events.in"
says_not '^# cycles' out
says '^# filtered: not all samples are shown' out
status 0 stoke report --by module "$TESTS/export/two-events.in"
says 'total  module$' out
says '250,000   37.50%    750,000  server' out
status 0 stoke report --by file "$TESTS/import/pyspy/plain.in"
says 'shop.py$' out
status 0 stoke report --by thread "$TESTS/export/two-events.in"
says 'server-4211/4212' out

# CSV and JSON.
status 0 stoke report --json "$TESTS/export/two-events.in"
command -v python3 >/dev/null || exit 0
python3 - <<'END'
import csv, json, subprocess, os
report = json.load(open("out"))
assert report["host"] == "build7", report
assert [e["event"] for e in report["events"]] == ["cycles", "page-faults"]
functions = {(f["name"], f.get("module")): f for f in report["events"][0]["functions"]}
assert functions["main", "server"]["total"] == 750000
assert functions["main", "cron"]["self"] == 1250000
rows = list(csv.DictReader(subprocess.run(
    ["stoke", "report", "--csv", os.environ["TESTS"] + "/export/odd-names.in"],
    check=True, stdout=subprocess.PIPE, encoding="utf-8").stdout.splitlines()))
assert sum(float(row["self"]) for row in rows) == 15.5
assert any(row["name"] == "a\\x1b[31mred\\x1b[0m" for row in rows), rows
END

# Command line.
status 2 stoke report --limit -1 in.folded
says 'of at least 0'
status 2 stoke report --percent-limit 200 in.folded
status 2 stoke report --sort size in.folded
says 'one column: default, self, total, name, module'
status 2 stoke report --csv --json in.folded
says '--csv and --json cannot be combined'
status 2 stoke diff --json --csv in.folded in.folded
says '--csv and --json cannot be combined'
status 2 stoke report -g missing.folded in.folded
says "invalid call graph 'missing.folded'"
says 'try: caller'
status 0 stoke report -g in.folded
says 'parse' out
status 0 stoke report --csv -i in.folded -i in.folded
says '^"samples",4,28,' out
status 1 stoke report -i in.folded in.folded
says "'in.folded' cannot be combined with --input"
status 1 stoke report missing.folded
says 'missing.folded: cannot open'
: >empty
status 1 stoke report empty
says 'the input is empty'
