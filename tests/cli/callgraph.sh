# SPDX-License-Identifier: Apache-2.0
# stoke callgraph: what is shown, what boxes have, comparisons, and messages.
. "$TESTS/cli/lib.sh"

box() { says "^	n[0-9]* \[label=\"$1\"" out; }
no_box() { says_not "^	n[0-9]* \[label=\"$1" out; }
arrows() { grep -c -e ' -> .*\[label=' out || :; }
boxes() { grep -c '^	n[0-9]* \[' out || :; }

cat >in <<'END'
main;parse;read 6
main;parse;alloc<int>(long) 2
main;run;parse;read 1
main;idle 990
main;tiny 1
END

# Limits: 0.5% of functions and 0.1% of calls, or others.
status 0 stoke callgraph -q in
box 'main\\n100.00%\\n(0.00%)'
box 'parse\\n0.90%\\n(0.00%)'
no_box tiny
no_box alloc
status 0 stoke callgraph -q -n 0 -e 0 in
[ "$(boxes)" = 7 ] && [ "$(arrows)" = 7 ] || fail "$(boxes) functions, $(arrows) calls"
status 0 stoke callgraph -q --node-thres 0 --edge-thres 0.2 in
[ "$(boxes)" = 7 ] || fail "$(boxes) functions"
says_not '"0.10%"' out

# From and to functions; a depth.
status 0 stoke callgraph -q -n 0 -e 0 -z 'pa*' in
[ "$(boxes)" = 3 ] && [ "$(arrows)" = 2 ] || fail "-z: $(boxes) and $(arrows)"
status 0 stoke callgraph -q -n 0 -e 0 -l parse in
[ "$(boxes)" = 3 ] && [ "$(arrows)" = 3 ] || fail "-l: $(boxes) and $(arrows)"
status 0 stoke callgraph -q -n 0 -e 0 -z main --depth 1 in
[ "$(boxes)" = 5 ] || fail "--depth 1: $(boxes)"
status 0 stoke callgraph -q -n 0 -e 0 -z main --depth 0 in
[ "$(boxes)" = 1 ] || fail "--depth 0: $(boxes)"

# What a box has.
status 0 stoke callgraph -q -n 0 -s in
box 'alloc\\n0.20%\\n(0.20%)'
status 0 stoke callgraph -q --node-label total-time --node-label self-time \
    --time-format '~%.1f units' in
box 'idle\\n~990.0 units\\n(~990.0 units)'
printf 'a;b 1\na;c 2\n' >thirds
status 0 stoke callgraph -q --node-label total-time --scale 0.1111111111 thirds
box 'a\\n0.3333333'
status 0 stoke callgraph -q --node-label total-time --time-format %.2g --scale 0.1111111111 thirds
box 'a\\n0.33'
status 0 stoke callgraph -q --show-samples in
box 'idle\\n99.00%\\n(99.00%)\\n990×'
status 0 stoke callgraph -q -n 0 -e 0 --parent-percentage in
says '"  0.80%\\n  100.00% of caller"\|"  0.90%\\n  100.00% of caller"\|"  0.10%\\n  100.00% of caller"' out
echo 'a::long_name_of_a_space::inner(int, a::long_name_of_a_space::type) 1' >long
status 0 stoke callgraph -q -w long
box 'a::long_name_of_a_space::\\ninner(int, \\na::long_name_of_a_space::type)\\n100.00%\\n(100.00%)'
status 0 stoke callgraph -q --list-functions '*a*' in
printf '%s\n' main parse read 'alloc<int>(long)' >want
sort want >sorted
sort out | cmp -s - sorted || fail "--list-functions lists others"
status 0 stoke callgraph -q --list-functions '%idle' in
says '^ 99.00%  99.00% idle$' out
for theme in color pink gray bw print; do
    status 0 stoke callgraph -q -c $theme --skew 0.01 --color-nodes-by-selftime in
    says '^}$' out
done

# Calls that an input states: their numbers; cycles count once for their callers. What chooses
# samples, or gives them other weights, removes them.
cat >calls.callgrind <<'END'
events: Ir
fn=main
1 10
cfn=even
calls=3 1
1 90
fn=even
2 40
cfn=odd
calls=7 2
2 50
fn=odd
3 50
cfn=even
calls=5 2
3 20
END
status 0 stoke callgraph -q calls.callgrind
says 'label="100 Ir"' out
box 'main\\n100.00%\\n(10.00%)\\n0×'
box 'even\\n90.00%\\n(40.00%)\\n8×'
box 'odd\\n50.00%\\n(50.00%)\\n7×'
says '\[label="  90.00%\\n  3×"' out
says '\[label="  50.00%\\n  7×"' out
says '\[label="  5×"' out
for option in --count-samples '--focus main' '--event Ir'; do
    status 0 stoke callgraph -q $option calls.callgrind
    says_not '×' out
    box 'main\\n100.00%\\n([0-9.]*%)'
done
status 0 stoke callgraph -q calls.callgrind calls.callgrind
says '\[label="  90.00%\\n  6×"' out

# Numbers of calls that are not numbers are reported; large ones have sums.
printf '%s\n' 'events: Ir' fn=main '1 10' cfn=a 'calls=-3 1' '1 5' cfn=b 'calls=1e400 1' '1 5' \
    cfn=c 'calls=900000000000000000 1' '1 5' cfn=c 'calls=900000000000000000 1' '1 5' fn=c '1 10' \
    >counts.callgrind
status 0 stoke callgraph counts.callgrind
says 'a number of calls that is not valid'
box 'c\\n33.33%\\n(33.33%)\\n1800000000000000000×'
says_not 'nan\|inf\|-3' out

# A cycle with many entries takes bounded time, and no cost is lost.
awk 'BEGIN {
    print "events: Ir\nfn=main\n1 1"
    for (i = 0; i < 6000; i++) print "cfn=f" i "\ncalls=1 1\n1 1"
    for (i = 0; i < 6000; i++) print "fn=f" i "\n1 1\ncfn=f" (i + 1) % 6000 "\ncalls=1 1\n1 1"
}' >ring.callgrind
status 0 stoke callgraph -q ring.callgrind
box 'main\\n100.00%\\n(0.02%)\\n0×'

# valgrind distinguishes nested calls: the totals of functions in cycles are those of the file.
# Nested calls of f'2 count several times, but it has at most the total of f.
cat >nested.callgrind <<'END'
events: Ir
fn=main
1 10
cfn=walk
calls=1 2
1 990
fn=walk
2 100
cfn=visit
calls=1 3
2 890
fn=visit
3 50
cfn=walk'2
calls=1 2
3 840
fn=walk'2
2 600
cfn=visit'2
calls=5 3
2 700
fn=visit'2
3 240
cfn=walk'2
calls=4 2
3 460
END
status 0 stoke callgraph -q nested.callgrind
box 'walk\\n99.00%\\n(10.00%)\\n1×'
box 'visit\\n89.00%\\n(5.00%)\\n1×'
box "walk'2\\\\n99.00%\\\\n(60.00%)\\\\n5×"
box "visit'2\\\\n70.00%\\\\n(24.00%)\\\\n5×"
says '"  70.00%\\n  5×", tooltip="walk.2 -> visit.2"' out
says '"  84.00%\\n  1×", tooltip="visit -> walk.2"' out
status 0 stoke callgraph -q --total callratios nested.callgrind
no_box "walk'2\\\\n99.00%"

# The costs of a thread are not those of its creator.
printf '%s\n' 'events: Ir' fn=main '1 10' cfn=create 'calls=1 2' '1 20' fn=create '2 15' \
    cfn=clone 'calls=1 3' '2 5' fn=clone '3 5' cfn=run 'calls=1 4' '3 500' fn=run '4 400' \
    "cfn=run'2" 'calls=1 4' '4 100' "fn=run'2" '4 100' >threads.callgrind
status 0 stoke callgraph -q threads.callgrind
box 'main\\n5.66%\\n(1.89%)\\n0×'
box 'run\\n94.34%\\n(75.47%)\\n1×'
says '"  94.34%\\n  1×", tooltip="clone -> run"' out

# An empty graph says why; and --path, that it excludes nothing.
status 0 stoke callgraph -p nosuch in
says 'those without a file and a module are shown'
printf '%s\n' 'events: Ir' ob=prog fn=main '1 10' >module.callgrind
status 0 stoke callgraph -p nosuch module.callgrind
says 'no function is shown: none is of a file or module that --path selects'
status 0 stoke callgraph -p prog module.callgrind
says_not . err
status 0 stoke callgraph --compare --compare-only-slower in in
says 'no function is shown: no function grew by more than --compare-tolerance'
status 0 stoke callgraph --compare --compare-only-faster in in
says 'no function is shown: no function shrank by more than --compare-tolerance'

# A .stoke file has the calls; callgrind's format has their numbers and costs, too.
for file in calls nested; do
    status 0 stoke callgraph -q -n 0 -e 0 $file.callgrind
    mv out $file.dot
    status 0 stoke convert -q $file.callgrind -o $file.stoke
    status 0 stoke callgraph -q -n 0 -e 0 $file.stoke
    cmp -s out $file.dot || fail "$file.stoke has another graph"
done
status 0 stoke convert -q nested.callgrind -o again.callgrind
status 0 stoke callgraph -q -n 0 -e 0 again.callgrind
cmp -s out nested.dot || fail "again.callgrind has another graph"

# A comparison; a function can be in one file only.
printf 'main;a 50\nmain;gone 50\n' >before
printf 'main;a 150\nmain;new 50\n' >after
status 0 stoke callgraph -q --compare before after
box 'main\\n100.00%\\n+0.00\\n(0.00%)'
box 'a\\n75.00%\\n+25.00\\n(75.00%)'
box 'gone\\n0.00%\\n-50.00\\n(0.00%)'
box 'new\\n25.00%\\n+25.00\\n(25.00%)'
status 0 stoke callgraph -q --compare --compare-only-slower before after
[ "$(boxes)" = 2 ] || fail "only slower: $(boxes)"
status 0 stoke callgraph -q --compare --compare-only-faster before after
[ "$(boxes)" = 1 ] || fail "only faster: $(boxes)"
status 0 stoke callgraph -q --compare --compare-tolerance 0.3 --compare-color-by-difference \
    before after
box 'a\\n75.00%\\n+0.00\\n(75.00%)'

# Names are escaped; a stack has no limit of depth or recursion.
printf 'a"b\\c&d;e\033f 1\n' >odd
status 0 stoke callgraph -q odd
box 'a\\"b\\\\c&amp;d\\n100.00%\\n(0.00%)'
says_not "$(printf '\033')" out
status 0 stoke callgraph -q --list-functions + odd
says_not "$(printf '\033')" out
awk 'BEGIN { printf "root;"; for (i = 0; i < 20000; i++) printf "f%d;", i % 7000; print "end 1" }' >deep
status 0 stoke callgraph -q deep
[ "$(boxes)" = 7002 ] || fail "$(boxes) functions of a deep stack"
# An input of stacks with numbers of calls shows them; its totals remain those of the stacks.
status 0 stoke callgraph -q -n 0 -e 0 "$TESTS/import/hprof/times.in"
says 'label="shop.Cart.add.n66.67%.n(66.67%).n19×"' out
says 'label="  33.33%.n  1000×".*RandomAccessFile.read -> java.io.RandomAccessFile.readBytes' out

status 0 stoke callgraph -q --total callratios deep # nothing leads from f6000 on to the end
[ "$(boxes)" = 6002 ] || fail "by ratios, $(boxes) functions of a deep stack"
if command -v dot >/dev/null; then
    for file in in odd long calls.callgrind; do
        stoke callgraph -q -n 0 "$file" | dot -Tsvg >picture.svg || fail "dot rejects $file"
    done
fi

# Pictures, by the program dot: here one that shows what it gets.
mkdir tools
cat >tools/dot <<'END'
#!/bin/sh
echo "picture $1"
cat
END
chmod +x tools/dot
for type in svg pdf png; do
    (PATH=$PWD/tools:$PATH && status 0 stoke callgraph -q in -o calls.$type)
    says "^picture -T$type$" calls.$type
    says '^digraph' calls.$type
    (PATH=$PWD/tools:$PATH && status 0 stoke callgraph -q -T $type in)
    says "^picture -T$type$" out
done
(PATH=$PWD/tools:$PATH && status 0 stoke callgraph -q -T dot in -o calls.png)
says '^digraph' calls.png
says_not '^picture' calls.png
mkdir none
ln -s "$(command -v stoke)" none/stoke
(PATH=$PWD/none && status 1 stoke callgraph -q -T svg in)
(PATH=$PWD/none:$PATH && says 'cannot run dot: No such file' && says 'try: .*Graphviz')
printf '#!/bin/sh\nexit 3\n' >tools/dot
cp calls.svg before.svg
(PATH=$PWD/tools:$PATH && status 1 stoke callgraph -q in -o calls.svg)
says 'dot failed'
same before.svg calls.svg

# Messages.
status 2 stoke callgraph --depth 3 in
says '--depth counts calls from --root or --leaf'
says 'try: --root main --depth 3'
status 1 stoke callgraph -q -z nothing in
says "no function matches 'nothing' of --root"
printf 'main;a;rec 5\nother;rec2 8\nmain;b 0.0001\n' >apart.folded
status 1 stoke callgraph -q -z main -l rec2 apart.folded
says "no function that matches 'rec2' of --leaf is called by 'main' of --root"
status 1 stoke callgraph -q -z main -l rec --depth 0 apart.folded
says 'try: .*a larger --depth'
status 1 stoke callgraph -q -l b apart.folded
says "the functions that match 'b' of --leaf are not shown"
says 'try: .*share is too small'
status 1 stoke callgraph -q -z main -l nothing apart.folded
says "no function matches 'nothing' of --leaf"
status 2 stoke callgraph --compare in
says '--compare needs two files, BEFORE and AFTER, not 1'
status 2 stoke callgraph --time-format '%x' in
says "invalid time format '%x'"
status 2 stoke callgraph --time-format '%.10f' in
says "at most 9 digits"
status 2 stoke callgraph --time-format '%.3f %s' in
says "invalid time format"
status 2 stoke callgraph --node-label nothing in
says "invalid value 'nothing' for --node-label"
status 2 stoke callgraph -c nothing in
status 1 stoke callgraph missing
says 'missing: .*No such file'

# gprof2dot's names of formats.
echo 'main;work 200' >in.folded
status 0 stoke callgraph -f collapse in.folded
says work out
status 0 stoke callgraph --format=collapse in.folded
for format in prof json; do
    status 1 stoke callgraph -f $format in.folded
    says 'looks like folded'
done

# Options of the stackcollapse scripts and of inferno that other inputs ignore.
status 0 stoke fold -v -c -t -n 2 --no-modules --include-tid --no-shorten-pkgs in.folded
says '^main;work 200$' out
status 0 stoke flamegraph -v -q -c java --no-include-tname in.folded
status 2 stoke fold -v other=1 in.folded
says "unknown variable 'other=1'"

# Options without an effect say so.
printf 'main;a 3\nmain;b 5\n' >one.folded
for words in --compare-only-slower --compare-only-faster --compare-color-by-difference; do
    status 2 stoke callgraph $words one.folded
    says "^stoke: error: $words needs --compare"
done
status 2 stoke callgraph --compare --compare-only-slower --compare-only-faster one.folded one.folded
says 'exclude each other'
status 0 stoke callgraph --compare one.folded one.folded
says_not 'BEFORE'
status 0 stoke callgraph --compare one.folded "$TESTS/import/hprof/times.in"
says "^stoke: BEFORE has 'samples' (samples), AFTER has 'cpu-time' (ns): their shares are compared"
printf 'main;a 3\nother;b 5\n' >two.folded
status 0 stoke callgraph -n 99 two.folded
says 'no function is shown: .* the largest share is'
status 0 stoke callgraph -n 50 one.folded
says_not 'no function is shown'
for name in x.foo x.jpg x.json; do
    status 2 stoke callgraph -o $name one.folded
    says "^stoke: error: $name: unknown type of graph or picture '.${name#x.}'"
    [ ! -e $name ] || fail "$name was written"
done
for name in x.dot x.gv x x.txt .x; do
    status 0 stoke callgraph -o $name one.folded
    says '^digraph' $name
done
status 0 stoke callgraph -T dot -o x.foo one.folded
says '^digraph' x.foo
status 0 stoke callgraph --time-format '<%d>' --node-label total-time one.folded
says 'label="main.n<8>' out
status 0 stoke callgraph --time-format '%.2F' --node-label total-time one.folded
says 'label="main.n8.00' out
status 2 stoke callgraph --time-format '%s' one.folded
