# SPDX-License-Identifier: Apache-2.0
# stoke fold reads its own output, and its sums are exact.
. "$TESTS/cli/lib.sh"

python3 - <<'END'
import random
import subprocess

random.seed(1)


def fold(text):
    done = subprocess.run(["stoke", "fold", "-q", "--format", "folded"], input=text,
                          capture_output=True, check=True)
    return done.stdout


def frame(pieces):
    return b"".join(random.choice(pieces) for _ in range(random.randrange(6)))


def total(text):
    return sum(int(line.rsplit(b" ", 1)[1]) for line in text.split(b"\n") if line)


any_byte = [bytes([i]) for i in range(256) if i != 10]
awkward = [b" ", b";", b"\t", b"\x1b[31m", b"#", b"# ", b" 12", b" 1.5", b" -3", b"_[k]", b"\r", b"\0",
           b"\xff", b"\xfe", b"\xef\xbb\xbf", b"\xc3", b"a", b"b", b"7", b"."]


def stacks(text):
    sums = {}
    for line in text.split(b"\n"):
        if line:
            stack, count = line.rsplit(b" ", 1)
            sums[stack] = sums.get(stack, 0) + int(count)
    return sums


for turn in range(150):
    pieces = random.choice([any_byte, awkward])
    rows = []
    for _ in range(random.randrange(1, 30)):
        stack = b";".join(frame(pieces) for _ in range(random.randrange(1, 5)))
        rows.append(b"root;" + stack + b" %d" % random.randrange(1, 2**random.choice([4, 53, 58])))
    rows.append(b"root;plain 1")  # not a comparison: this line has one count
    once = fold(b"\n".join(rows) + b"\n")
    twice = fold(once)
    assert stacks(once) == stacks(twice), (rows, once, twice)
    assert total(once) == total(b"\n".join(rows)), (rows, once)
    for line in once.split(b"\n"):
        assert not any(c < 32 or c == 127 for c in line), line

# The first frame of a line may be anything, too.
lone = [b"#", b"# ", b"#;", b"# 1", b"#;a", b" #", b"#\t", b"a;#", b"##", b"a"]
once = fold(b"".join(b"%s %d\n" % (frame, 1 << i) for i, frame in enumerate(lone)))
given = fold(b"".join(b"%s;%s 1\n" % (frame, b"#") for frame in lone))
for text in once, given:
    assert stacks(text) == stacks(fold(text)), (text, fold(text))

# Empty names are frames, except at the end; .stoke files preserve complete sums.
for turn in range(60):
    rows, expected = [], {}
    for _ in range(random.randrange(1, 30)):
        frames = [random.choice(["", "", "a", "b c", "d"]) for _ in range(random.randrange(1, 6))] + ["e"]
        count = random.randrange(1, 2**random.choice([4, 53, 63]))
        stack = ";".join(frames)
        expected[stack] = expected.get(stack, 0) + count
        rows.append(f"{stack}{';' * random.choice([0, 0, 2])} {count}\n")
    text = "".join(rows).encode()
    expected = {stack.encode(): count for stack, count in expected.items()}
    once = fold(text)
    assert stacks(once) == expected, (rows, once)
    assert fold(once) == once, (rows, once)
    with open("all.folded", "wb") as file:
        file.write(text)
    subprocess.run(["stoke", "convert", "-q", "--format", "folded", "all.folded", "-o", "all.stoke"], check=True)
    again = subprocess.run(["stoke", "fold", "-q", "all.stoke"], capture_output=True, check=True).stdout
    assert again == once, (rows, once, again)
END

# Names in other formats: lost names, names that end in a number, names with escapes.
printf 'app 7/8 1.0: 9007199254740991 cycles:\n\t1  (/bin/app)\n\t2 step 12 (/bin/app)\n\t3 f\033[31mg (/bin/app)\n\t4 [unknown] (/tmp/a\033]0;x\007b)\n\n' >odd.perf
status 0 stoke fold odd.perf
cp out once
status 0 stoke fold --format folded once
same once out
LC_ALL=C grep -q '[[:cntrl:]]' out && fail "control characters: $(cat -v out)"
says '9007199254740991$' out

# A profile without weight is written and is an error, in all commands.
printf 'a;b 0\na 0\n' >zero.folded
for how in fold report 'report --tree' 'convert --to speedscope -o -' 'convert -o zero.stoke' \
    'diff zero.folded'; do
    status 1 stoke $how zero.folded
    says 'error: all weights are zero'
done
status 1 stoke fold zero.stoke
printf 'a 0\na;b 0\n' >want
same want out
