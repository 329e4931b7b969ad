# SPDX-License-Identifier: Apache-2.0
# stoke flamegraph: the options of flamegraph.pl and inferno, and its output.
. "$TESTS/cli/lib.sh"

cat >in.folded <<'END'
app;main;eval;call 150
app;main;eval;call;push_[k] 250
app;main;parse;lex 350
app;idle 250
END

well_formed() {
    python3 -c 'import sys, xml.dom.minidom as m; m.parse(sys.argv[1])' "$1" ||
        fail "$1 is not well-formed"
}

status 0 stoke flamegraph in.folded
well_formed out
says '<title>eval (400 samples, 40.00%)</title>' out
says '<title>push (250 samples, 25.00%)</title>' out
says '>Flame Graph</text>' out
[ ! -s err ] || fail "it says something: $(cat err)"
stoke flamegraph <in.folded | cmp - out || fail "standard input draws another picture"
cp out want
status 0 stoke flamegraph -o file.svg in.folded
same want file.svg

# The options of flamegraph.pl and inferno-flamegraph are accepted.
status 0 stoke flamegraph --title T --subtitle S --notes N --width 900 --height 20 \
    --fontsize 11 --fontwidth 0.5 --fonttype Courier --minwidth 0.2 --countname ms \
    --nametype Method: --colors mem --bgcolors blue --hash --factor 2 --total 2000 \
    --encoding UTF-8 --negate in.folded
well_formed out
says '<title>eval (800 ms, 20.00%)</title>' out
says '>T</text>' out
says '>S</text>' out
says '<desc>N</desc>' out
says 'width="900"' out
says '"nameType":"Method:"' out
for options in -i --inverted --random --deterministic --colordiffusion --flamechart \
    --flame-chart --reverse '--base main' --no-sort --pretty-xml --truncate-text-right \
    '--uicolor #333' '--search-color #0a0' '--stroke-color white' '--minwidth 1%' \
    '--colors python' '--colors safe' '--sort size' '--bgcolors #102030' '--hash' \
    --no-javascript '--truncate beginning' '--no-comm'; do
    # shellcheck disable=SC2086
    status 0 stoke flamegraph $options in.folded
    well_formed out
done
status 0 stoke flamegraph --no-javascript in.folded
says_not '<script' out

# Titles by shape; several files are one image.
status 0 stoke flamegraph --inverted in.folded
says '>Icicle Graph</text>' out
status 0 stoke flamegraph --flamechart in.folded
says '>Flame Chart</text>' out
status 0 stoke flamegraph in.folded in.folded
says '<title>eval (800 samples, 40.00%)</title>' out
status 0 stoke flamegraph --reverse in.folded
says '<title>lex (350 samples, 35.00%)</title>' out

# --total: the full width is larger than the sum.
status 0 stoke flamegraph --total 2000 in.folded
says '<title>eval (400 samples, 20.00%)</title><rect x="[0-9.]*%" y="[0-9]*" width="20%"' out
says '<title>all (1,000 samples, 50.00%)</title>' out
status 0 stoke flamegraph --total 200 in.folded
says 'less than the sum 1000'
says '<title>eval (400 samples, 40.00%)</title>' out

# A flame chart preserves the order of the input and does not merge repeated calls.
printf 'b 60\na 60\nb 60\n' >order.folded
status 0 stoke flamegraph --flamechart order.folded
[ "$(grep -c '<title>b (60 samples' out)" = 2 ] || fail "b is not drawn twice"
grep -n '<title>[ab] (' out | sed 's/.*<title>\(.\).*/\1/' | tr -d '\n' | grep -qx bab ||
    fail "not in the order of the input"

# --no-sort: in the order of the input, with any number of threads.
drawn() {
    grep -o "<title>[^(]* (" out | sed 's/<title>//; s/ ($//' | grep -v '^all$' | tr '\n' ' '
}
printf 'main;z 60\nmain;z;q 40\nmain 10\nmain;b;y 60\nmain;b;x 60\na b 40\na 50\n' >order.folded
status 0 stoke flamegraph --no-sort order.folded
[ "$(drawn)" = "main z q b y x a b a " ] || fail "--no-sort: not in the order of the input: $(drawn)"
status 0 stoke flamegraph order.folded
[ "$(drawn)" = "a a b main b x y z q " ] || fail "not in the order of the names: $(drawn)"
[ ! -s err ] || fail "it says something: $(cat err)"

# The output of sort(1) is sorted, although "main x" is between "main" and "main;b".
printf 'main 60\nmain;b 60\nmain x 50\nmain -y;z 50\n' | LC_ALL=C sort >sorted.folded
status 0 stoke flamegraph --no-sort sorted.folded
says '<title>main (120 samples' out
says '<title>main x (50 samples' out

# Unsorted lines that would draw a caller twice: an error with the line.
printf 'a;b 60\nc 60\n\na;d 60\n' >apart.folded
status 1 stoke flamegraph --no-sort apart.folded
says '^stoke: error: apart.folded:4:1: unsorted input'
says "^  try: .*--no-sort"
status 1 stoke flamegraph --no-sort <apart.folded
says 'unsorted input'
printf 'b 60\na 60\nb 60\n' >again.folded
status 1 stoke flamegraph --no-sort again.folded
says 'again.folded:3:1: '
status 0 stoke flamegraph --no-sort --flamechart again.folded
status 0 stoke flamegraph --no-sort --reverse again.folded
# Without --no-sort, several threads read a large file.
python3 -c '
for i in range(300000, 0, -1):
    print(f"main;some_function_with_a_name_{i:06}_that_is_long;leaf 1")
print("other 9000000\nmain;last 9000000")' >large.folded
status 1 stoke flamegraph -j 4 --no-sort large.folded
says 'large.folded:300002:1: unsorted input'
sed -i '$d' large.folded
status 0 stoke flamegraph -j 4 --no-sort large.folded
drawn | grep -q '^main .* other $' || fail "--no-sort, large: $(drawn)"
status 0 stoke flamegraph -j 4 large.folded

# Invalid options are reported before any input is read.
status 2 stoke flamegraph --colors no-such in.folded
says "one of: hot, mem"
for options in '--width 3' '--height 0' '--fontsize 1000' '--encoding utf-16' \
    '--bgcolors pink' '--factor 0' '--uicolor nope' '--search-color #12' \
    '--stroke-color rgb(1;2)' '-j -1' '--width abc' '--start xyz' '--format nope'; do
    # shellcheck disable=SC2086
    status 2 stoke flamegraph -o none.svg $options in.folded
    says 'try: '
    [ ! -e none.svg ] || fail "$options: something is written"
done
says '^  try: '
status 2 stoke flamegraph --uicolor grren in.folded
says 'did you mean green?'
for color in white '#0a0' '#102030ff' 'rgb(1, 2, 3)' 'hsl(120deg 50% 50%)' none; do
    status 0 stoke flamegraph --stroke-color "$color" in.folded
    well_formed out
done
status 2 stoke flamegraph --minwidth wide in.folded
says "0.1"
STOKE_COLORS=aqua status 0 stoke flamegraph in.folded
cp out aqua.svg
status 0 stoke flamegraph --colors aqua in.folded
same aqua.svg out
STOKE_COLORS=pink status 1 stoke flamegraph in.folded
says "unknown palette 'pink' in STOKE_COLORS"

# If samples are counted, the unit is samples, independent of their periods.
status 0 stoke flamegraph -q --count-samples "$TESTS/man/perf.txt"
says '<title>all (24 samples, 100.00%)' out
status 0 stoke flamegraph -q --count-samples "$TESTS/import/pprof/cpu.in"
says '<title>all ([0-9]* samples, 100.00%)' out

# Few samples, or none.
echo 'a;b 7' >few.folded
status 0 stoke flamegraph few.folded
says 'only 7 samples'
status 0 stoke flamegraph --quiet few.folded
[ ! -s err ] || fail "--quiet says something"
: >empty
status 1 stoke flamegraph empty
well_formed out
says 'the input is empty' out
says 'the input is empty'
printf '\000\001\002 no profile' >noise
echo old >noise.svg
status 1 stoke flamegraph -o noise.svg noise # the existing file does not change
says '^old$' noise.svg
status 1 stoke flamegraph no-such-file
well_formed out
printf 'a;b 0\n' >zero.folded
status 1 stoke flamegraph zero.folded
says 'error: all weights are zero'
says_not 'only 0 samples'
well_formed out
says 'all weights are zero' out
echo old >zero.svg
status 1 stoke flamegraph -o zero.svg zero.folded
says '^old$' zero.svg
status 1 stoke convert zero.folded -o zero.svg
printf 'a;b 3 0\n' >gone.folded # all stacks vanished: the difference is drawn
status 0 stoke flamegraph gone.folded
well_formed out

# --cp: colours are the same in all images.
status 0 stoke flamegraph --cp in.folded
cut -d- -f1 palette.map >names
printf 'app\ncall\neval\nidle\nlex\nmain\nparse\npush_[k]\n' | cmp - names ||
    fail "palette.map holds: $(cat names)"
sed 's/^eval->.*/eval->rgb(1,2,3)/' palette.map >changed.map
status 0 stoke flamegraph --palette-map changed.map in.folded
says '#010203' out
same palette.map palette.map
echo 'eval: blue' >wrong.map
status 1 stoke flamegraph --palette-map wrong.map in.folded
says 'wrong.map:1'

# The file of flamegraph.pl has a root without a name. Its content and mode are preserved.
printf '%s\n' '->rgb(1,2,3)' 'f->rgb(4,5,6)' 'zz->rgb(7,8,9)' >real.map
cp real.map real.before
printf 'f 100\n' | status 0 stoke flamegraph --palette-map real.map
says '#010203' out
says '#040506' out
same real.before real.map
printf 'f;g 100\n' | status 0 stoke flamegraph --palette-map real.map
[ "$(grep -c . real.map)" = 4 ] || fail "real.map holds: $(cat real.map)"
grep -v '^g->' real.map | cmp - real.before || fail "a colour was changed"
for text in 'f->rgb(1,2)' 'f->rgb(1,2,300)' 'f rgb(1,2,3)' '{"a": 1}' 'f->'; do
    printf 'a->rgb(1,2,3)\n%s\nb->rgb(1,2,3)\n' "$text" >wrong.map
    cp wrong.map wrong.before
    status 1 stoke flamegraph --palette-map wrong.map in.folded
    says 'wrong.map:2'
    same wrong.before wrong.map
done
{
    echo 'a->rgb(1,2,3)'
    head -c 3000000 /dev/zero | tr '\0' x
    echo 'b->rgb(1,2,3)'
} >wrong.map
cp wrong.map wrong.before
status 1 stoke flamegraph --palette-map wrong.map in.folded
says 'wrong.map:2: the line is longer than'
same wrong.before wrong.map
status 1 stoke flamegraph --palette-map /dev/zero in.folded
says '/dev/zero: not a text file'
status 1 stoke flamegraph --nameattr /dev/zero in.folded
says '/dev/zero: not a text file'
[ "$(find . -name '*.tmp' | wc -l)" = 0 ] || fail "a temporary file was left"

# --negate treats the first count as the later one: signs and colours are inverted.
printf 'a;b 100 300\na;c 200 100\n' >two.folded
status 0 stoke flamegraph two.folded
says '<title>b (300 samples, 75.00%; +50.00%)</title>' out
says '<title>c (100 samples, 25.00%; -25.00%)</title>' out
says '300 samples before, 400 samples after' out
fill() {
    sed -n "s/.*<title>$1 (.*fill=\"\([^\"]*\)\".*/\1/p" out
}
grew=$(fill b)
status 0 stoke flamegraph --negate two.folded
says '<title>b (300 samples, 75.00%; -50.00%)</title>' out
says '<title>c (100 samples, 25.00%; +25.00%)</title>' out
says '300 samples after, 400 samples before' out
[ "$(fill b)" != "$grew" ] || fail "--negate draws the same colours"
printf 'a;b 100 300\na;c 200 100\n' | awk '{ print $1, $3, $2 }' >back.folded
status 0 stoke flamegraph back.folded
[ "$(fill c)" != "$grew" ] || fail "what shrank has the colour of what grew"

# A single new sample among many has a weak colour.
printf 'a 10000 10000\nb 0 1\nc 0 9000\n' >new.folded
status 0 stoke flamegraph --minwidth 0 new.folded
[ "$(fill b)" = '#ebe7e2' ] || [ "$(fill b)" = '#ebe8e3' ] || [ "$(fill b)" = '#ebe7e1' ] ||
    fail "b is $(fill b)"

# A percentage is relative to the total; frames with exactly this share are drawn.
for percent in 1 7 14 28 29 55 56 57 58; do
    printf 'a %s\nb %s\n' $((100 - percent)) "$percent" >share.folded
    status 0 stoke flamegraph --minwidth $percent% share.folded
    says "<title>b ($percent samples" out
done
status 0 stoke flamegraph --minwidth 59% share.folded
says_not "<title>b (" out

# --base keeps the stacks with the function, without its callers.
printf 'x;f;g 100\nf;h 50\nf;x;f;i 25\ny;z 200\n' >base.folded
status 0 stoke flamegraph --base f base.folded
says '<title>all (175 samples, 100.00%)</title>' out
says '<title>f (175 samples, 100.00%)</title>' out
says_not '<title>[xyz] (' out
status 1 stoke flamegraph --base nothing base.folded
printf 'comm 1/1 1.0: 1 cycles:\n\t1 g (/bin/a)\n\t2 f (/bin/a)\n\t3 main (/bin/a)\n\n' >base.perf
[ "$(stoke fold --base f base.perf)" = 'f;g 1' ] || fail "the thread is not cut off"

# Self weight is on the left; frames without callees are drawn in their position.
printf 'a 50\na;b 30\na;c 20\nd 100\n' >left.folded
status 0 stoke flamegraph left.folded
says '<title>b (30 samples, 15.00%)</title><rect x="25%"' out
says '<title>c (20 samples, 10.00%)</title><rect x="40%"' out

# Colours with a meaning have a legend.
status 0 stoke flamegraph --colors java in.folded
says '<g id="meanings">.*>Java</text>.*>inlined</text>.*>kernel</text>' out
status 0 stoke flamegraph --colors js in.folded
says '>node_modules</text>' out
status 0 stoke flamegraph in.folded
says_not 'id="meanings"' out

# Links and attributes by name.
printf 'eval\thref=https://example.org/?a=1&b=2\tg_extra=data-x="1" onclick="no()"\tid=ev\n' \
    >attributes
printf 'call\tclass=hot"><script>\tg_extra=class="twice" broken\n' >>attributes
status 0 stoke flamegraph --nameattr attributes in.folded
well_formed out
says '<a id="ev" href="https://example.org/?a=1&amp;b=2" target="_top" data-x="1">' out
says '<g class="hot&quot;&gt;&lt;script&gt;">' out
says_not onclick out
echo eval >attributes
status 1 stoke flamegraph --nameattr attributes in.folded
says 'attributes:1'

# Encodings other than UTF-8: all other characters are references.
printf 'caf\303\251;\360\237\224\245 200\n' >utf8.folded
status 0 stoke flamegraph --encoding ISO-8859-1 utf8.folded
well_formed out
LC_ALL=C grep -q '[^ -~]' out && fail "it is not ASCII"
says 'caf&#233;' out

# flamegraph accepts the name options of fold.
cat >kinds.perf <<'END'
java 7/8 1.0: cycles:
        ffffffff8100 sys_read+0x1 ([kernel.kallsyms])
        7f00 Lorg/App::run+0x1 (/tmp/perf-7.map)
        4010 [unknown] (/usr/bin/java)

END
for options in '' --all '--kernel --jit' --addrs --inline --context --srcline '--pid' '--tid --all'; do
    # shellcheck disable=SC2086
    status 0 stoke fold $options kinds.perf
    cp out kinds.folded
    # shellcheck disable=SC2086
    status 0 stoke flamegraph -q $options --colors java kinds.perf
    sed -n 's/.*<title>\([^(]*\) (1 sample.*/\1/p' out | sort >one-step
    status 0 stoke flamegraph -q --colors java kinds.folded
    sed -n 's/.*<title>\([^(]*\) (1 sample.*/\1/p' out | sort >two-steps
    [ "$(wc -l <one-step)" -ge 4 ] || fail "not all is drawn: $(cat one-step)"
    same two-steps one-step
done

# Few samples are not significant; few allocations are exact.
printf 'a;b 3\n' >few.folded
status 0 stoke flamegraph few.folded -o few.svg
says 'only 3 samples: narrow frames are not significant'
status 0 stoke flamegraph "$TESTS/import/massif/$(ls "$TESTS/import/massif" | grep -m 1 '\.in$')" -o exact.svg
says_not 'not significant'
