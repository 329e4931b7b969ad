# SPDX-License-Identifier: Apache-2.0
# stoke trace: instruction traces to stacks.
. "$TESTS/cli/lib.sh"

binary=$TESTS/man/small-bin-dwarf
text=$TESTS/man/TRACEFILE-C0

cat >expected <<END
[firmware] 6
_start 10
_start;main 18
_start;main;count_[i] 22
_start;main;fib 33
_start;main;fib;fib 31
_start;main;fib;fib;fib 28
_start;main;fib;fib;fib;fib 3
_start;main;first 5
_start;main;last 1
_start;main;last;count_[i] 24
_start;main;trap_entry 9
_start;main;trap_entry;on_trap 6
END
status 0 stoke trace "$text" --dwarf "$binary"
same expected out
says '3.1% of the instructions are in no binary' err
status 0 stoke trace "$TESTS/man/small.qemu" -d "$binary" -q
same expected out
[ -s err ] && fail "something is said"

# From a pipe, and packed.
status 0 stoke trace -q -d "$binary" - <"$text"
same expected out
gzip -c "$text" >packed.gz
status 0 stoke trace -q -d "$binary" packed.gz
same expected out

# The order of time.
status 0 stoke trace -q -d "$binary" "$text" -o out.speedscope.json
status 0 stoke info out.speedscope.json
says '196 cycles  *cycles' out

# Two cores.
sed 's/: 0000000000000/: 0000000000001/' "$text" >TRACEFILE-C1
status 0 stoke trace -q -d "$binary" "$text" TRACEFILE-C1 -o two.folded
says '^core_0;_start;main;fib 33$' two.folded
says '^core_1;_start;main;fib 33$' two.folded

# The clock of another domain.
sed '1s|1/1|1/4|' "$text" >slow
status 0 stoke trace -q -d "$binary" slow
says '^_start;main;fib 132$' out

# Error messages.
status 1 stoke trace "$text" -d "$TESTS/trace/small/small.c"
says 'small.c: '
status 1 stoke trace "$text" -d nowhere
says 'nowhere'
: >empty
status 1 stoke trace empty -d "$binary"
says 'there are no instructions in the trace'
head -1 "$text" >empty
status 1 stoke trace empty -d "$binary"
says 'trigger may never have fired'
echo 'neither this nor that' >other
status 1 stoke trace other -d "$binary"
says 'the trace format is unknown'

# Logs of QEMU that are no traces: the plugin is named.
printf 'Trace 0: 0x7f4c5c000100 [00000000/0000000000001000/00000000/ff000000] \n' >exec.log
status 1 stoke trace exec.log -d "$binary"
says "the log of QEMU's -d exec"
says libstoke_qemu.so
printf -- '----------------\nIN: main\nPriv: 3; Virt: 0\n0x0000000000001000:  00000297          auipc           t0,0\n' >asm.log
status 1 stoke trace asm.log -d "$binary"
says "the log of QEMU's -d in_asm"
says libstoke_qemu.so
status 2 stoke trace "$text" -d "$binary" -o out.nothing
says "no output format for the file name"

# A device has no suffix: the format is that of standard output, unless --to names one.
status 0 stoke trace -q "$text" --dwarf "$binary" -o /dev/null
status 0 stoke trace -q "$text" --dwarf "$binary" --to svg -o /dev/null
stoke trace -q "$text" --dwarf "$binary" -o /dev/stdout | cat >out
same expected out
status 0 stoke trace --list-formats
says '^tracerv ' out

# A binary of another program.
sed 's/: 00000000800/: 00000000a00/' "$text" >elsewhere
status 1 stoke trace elsewhere -d "$binary"
says 'none of the 196 addresses is in small-bin-dwarf'

# Time goes back; unknown lines; a truncated last line.
sed '50s/[0-9]\{16\}/0000000000000001/; 60s/.*/what/' "$text" | head -c 8000 >odd
status 0 stoke trace odd -d "$binary"
says 'odd: time goes back' err
says 'odd:60:1: not a line of a trace' err
says 'the last line is truncated' err

# Another build of the binary: other instructions at the same addresses. And a binary at other
# addresses.
python3 - "$binary" <<'END'
import struct
import sys
elf = bytearray(open(sys.argv[1], "rb").read())
struct.pack_into("<QQ", elf, 120 + 16, 0x90000000, 0x90000000)
open("beside", "wb").write(elf)
struct.pack_into("<QQ", elf, 120 + 16, 0x80000000, 0x80000000)
elf[0x1000:0x1100] = bytes.fromhex("13000000") * 64
open("rebuilt", "wb").write(elf)
END
status 0 stoke trace "$text" -d rebuilt
says '[0-9.]*% of the instructions do not follow .* rebuilt has it' err
status 0 stoke trace "$TESTS/man/small.qemu" -d rebuilt
says '[0-9.]*% of the instructions in the trace are others in rebuilt' err
status 0 stoke trace "$text" -d "$binary" -u beside
says 'none of the instructions is in beside' err
same expected out

# Binary records: their width is found, a wrong --ipc is refused, a truncated record is
# reported.
for form in one three; do
    status 0 stoke trace -q "$TESTS/trace/inputs/binary/$form" -d "$binary"
    says '^_start;main;fib;fib;fib;fib [0-9]' out
done
status 0 stoke trace -q "$TESTS/trace/inputs/binary/one" -d "$binary" --ipc 1
same expected out
status 1 stoke trace "$TESTS/trace/inputs/binary/three" -d "$binary" --ipc 1
says 'its records are of 3 addresses, not 1'
head -c 1000 "$TESTS/trace/inputs/binary/one" >cut
status 0 stoke trace cut -d "$binary"
says 'the last record is truncated' err
head -c 1260 "$TESTS/man/small.qemu" >cut
status 0 stoke trace cut -d "$binary"
says 'the trace is truncated' err

# The other forms of TracerV: recognised by their content.
for form in beats/one logger/one logger/spaced; do
    status 0 stoke trace -q "$TESTS/trace/inputs/$form" -d "$binary"
    same expected out
done
sed '20s/.$//; 21s/^0/x/' "$TESTS/trace/inputs/beats/one" | head -c 20000 >odd
status 0 stoke trace odd -d "$binary"
says 'odd:20:1: not a line of a trace (and 1 more' err
says 'the last line is truncated' err
sed '20s/.$//' "$TESTS/trace/inputs/logger/one" | head -c 5000 >odd
status 0 stoke trace odd -d "$binary" --format logger
says 'odd:20:1: not a line of a trace' err
says 'the last line is truncated' err

# Instruction logs of simulators and of test benches.
for log in spike/commits spike/both columns/ibex columns/cva6 rocket/one execlog/one; do
    status 0 stoke trace -q "$TESTS/trace/inputs/$log" -d "$binary"
    same expected out || fail "$log differs"
done
# Output of the program and of the simulator between the lines; two cores in one log.
log=$TESTS/trace/inputs/spike/commits
{ echo 'bbl loader'; sed 's/^core   0/core   1/' "$log"; } | paste -d '\n' "$log" - | grep . >mixed
status 0 stoke trace mixed -d "$binary" -o mixed.folded
says 'mixed:2:1: not a line of the log' err
says '^core_0;_start;main;fib 33$' mixed.folded
says '^core_1;_start;main;fib 33$' mixed.folded
# A last line without its end: complete, and not.
printf %s "$(cat "$TESTS/trace/inputs/columns/cva6")" >whole
status 0 stoke trace -q whole -d "$binary"
same expected out
head -c -64 "$TESTS/trace/inputs/columns/cva6" >cut
status 0 stoke trace cut -d "$binary"
says 'cut:196:1: the last line is truncated' err
for end in 'core   0: 0x' 'core   0: 3 0x00000000800' 'core   0: 3 0x0000000080000052 (0x47'; do
    { head -20 "$log"; printf %s "$end"; } >cut
    status 0 stoke trace cut -d "$binary"
    says 'cut:21:1: the last line is truncated' err
done
# "Executed N times" in hexadecimal, of an instruction that Spike shows once.
{ sed -n 10p "$log" | sed 's/: 3 /: /'; echo 'core   0: Executed 10 times'; } >repeated
status 0 stoke trace -q repeated -d "$binary" 
[ "$(awk '{ n += $NF } END { print n }' out)" = 16 ] || fail "16 times are $(cat out)"

# TracerV text that ends within an address; within one that no digit misses, it is complete.
head -c 4600 "$text" | sed '$d' >cut
printf 'Cycle: 0000000000009999 I0: 00000000800' >>cut
status 0 stoke trace cut -d "$binary"
says 'the last line is truncated' err
says 'fib' out
awk '{ n += $NF } END { exit n > 500 }' out || fail "the truncated line is counted"

# One core executed nothing: the others are still read.
head -1 "$text" >TRACEFILE-C7
status 0 stoke trace TRACEFILE-C7 "$text" -d "$binary"
says 'TRACEFILE-C7: there are no instructions' err
says '_start;main;fib 33$' out

# A format that the trace does not have; a trace that is given to another command.
status 1 stoke trace --format tracerv "$TESTS/trace/inputs/binary/one" -d "$binary"
says "there is no instruction of the format 'tracerv'" err
says '\-\-format binary' err
for command in flamegraph report fold view; do
    status 1 stoke $command "$text"
    says "is an instruction trace ('tracerv')" err
    says 'stoke trace' err
done
status 1 stoke fold "$log"
says "is an instruction trace ('spike')" err

# Lost bytes: the records after them are found, and no time is added.
python3 - >damaged.txt <<'END'
import random
import struct
import subprocess
VALID = 1 << 63
def total(data):
    open("damaged", "wb").write(data)
    done = subprocess.run(["stoke", "trace", "damaged"], stdout=-1, stderr=-1, text=True)
    sums = [float(line.rsplit(" ", 1)[1]) for line in done.stdout.splitlines()]
    return sum(sums), "damaged bytes" in done.stderr, done.returncode
chance = random.Random(7)
for ipc, count in (1, 5000), (2, 5000), (4, 5000), (7, 5000), (1, 150), (3, 150), (7, 200):
    records, cycle, pc = [], 1000, 0x80000000
    for _ in range(count):
        words = [VALID | pc + 4 * i for i in range(chance.randint(1, ipc))]
        pc += 4 * len(words)
        words += [0] * (ipc - len(words))
        records.append(struct.pack(f"<{ipc + 1}Q", cycle, *words))
        cycle += chance.randint(1, 5)
    body = b"".join(records)
    whole = total(body)[0]
    for lost in (1, 3, 4, 7, 8, 12, 20, 100):
        for at in (len(body) // 2, len(body) // 2 + 5, len(body) // 3 + 9):
            got, noted, status = total(body[:at] + body[at + lost:])
            sound = whole - 200 < got <= whole and status == 0
            aligned = lost % (8 * (ipc + 1)) == 0
            if not sound or not (noted or aligned):
                print(f"ipc {ipc}, {lost} bytes lost at {at}: {got} of {whole}, {noted}")
END
[ -s damaged.txt ] && fail "$(cat damaged.txt)"

# FireSim's stack text: what its script makes of it, and what stoke reads of it, are the
# same stacks. An independent reading of the format:
cat >folding.py <<'END'
import collections, re, sys
stack, last, cycles = [], 0, collections.Counter()
for line in open(sys.argv[1]):
    match = re.match(r"Indent: (\d+), (Start|End) label: (.*), (?:At|End) cycle: (\d+)$", line)
    if stack:
        cycles[";".join(stack)] += int(match[4]) - last
    last = int(match[4])
    if match[2] == "Start":
        stack.append(match[3])
        assert len(stack) == int(match[1]), line
    else:
        assert len(stack) == int(match[1]) and stack.pop() == match[3], line
assert not stack
for name in sorted(cycles):
    if cycles[name]:
        print(name, cycles[name])
END
status 0 stoke trace -q "$text" -d "$binary" --to firesim -o stacks
python3 folding.py stacks | LC_ALL=C sort >folded
LC_ALL=C sort expected | cmp - folded || fail 'another reading of the stack text'
status 0 stoke fold -q stacks
same expected out
status 1 stoke trace stacks -d "$binary"
says "it has stacks, not instructions"
status 0 stoke trace -q "$text" TRACEFILE-C1 -d "$binary" --to firesim -o stacks
python3 folding.py stacks >folded
grep -q '^core_1;_start;main;fib 33$' folded || fail 'two cores'

# Triggers in software: the register follows a cycle late.
status 0 stoke trace -q "$text" -d "$binary" --selector 1 --start 10 --end 19
sed -n '/Cycle: 0*1[1-9] /p; /Cycle: 0*20 /p' "$text" | wc -l | tr -d ' ' >lines
awk '{sum += $NF} END {print sum}' out | cmp - lines || fail 'cycles 11 to 20'
fib=$(awk '$1 == "Cycle:" && $2 + 0 == 33 {print $4}' "$text")
status 0 stoke trace -q "$text" -d "$binary" --selector 2 --start "$fib" --end "0x$fib"
awk '{sum += $NF} END {print sum}' out >sum
first=$(grep -n ": $fib\$" "$text" | sed -n '1s/:.*//p')
# The start counts for more than the end, at one address: it never ends.
[ "$(cat sum)" = $(($(wc -l <"$text") - first)) ] || fail 'from the end of the first fib on'
for form in "$TESTS/man/small.qemu" "$TESTS/trace/inputs/beats/one" \
    "$TESTS/trace/inputs/binary/one"; do
    status 0 stoke trace -q "$form" -d "$binary" --selector 3 --start ffffffff30200073
    awk '{sum += $NF} END {print sum}' out >sum
    mret=$(grep -n ': 0000000080000038$' "$text" | sed -n '1s/:.*//p')
    [ "$(cat sum)" -gt 0 ] || fail "nothing after mret: $form"
    cp out "behind.$(basename "$form")"
done
cmp behind.small.qemu behind.one || fail 'a trigger by instruction'
status 0 stoke trace -q "$TESTS/man/small.qemu" -d "$binary" --selector 1 --start 10 --end 19
cp out by_cycle
status 0 stoke trace -q "$text" -d "$binary" --selector 1 --start 10 --end 19
same by_cycle out
status 1 stoke trace "$text" -d "$binary" --selector 2 --start 1234
says 'the trigger never fired in 196 instructions (selector 2, start 1234, end -1)'
head -1 "$text" >empty
status 1 stoke trace empty -d "$binary" --selector 1 --start 5
says 'the trigger never fired: the trace is empty (selector 1, start 5, end -1)'
status 1 stoke trace "$text" -d "$binary" --selector 4
says "invalid selector '4'"
status 1 stoke trace "$text" -d "$binary" --selector 2
says 'selector 2 needs a start'
status 1 stoke trace "$text" -d "$binary" --selector 1 --start 0x10
says "invalid start '0x10': not a decimal number"
status 1 stoke trace "$text" -d "$binary" --start 10
says 'needs a selector'

# The same with FireSim's configuration, including numbers that YAML reads in another way.
cat >config_runtime.ini <<'END'
[targetconfig]
selector=9
[tracing]
enable=yes   # a comment
#selector=3
selector=1
start=10
end=19
END
status 0 stoke trace "$text" -d "$binary" --config config_runtime.ini
same by_cycle out
cat >config_runtime.yaml <<'END'
target_config:
    selector: 9
tracing:
    enable: no
    # comment
    output_format: 0
    selector: 1
    start: 10 # the first
    end: "19"
other:
    start: 3
END
status 0 stoke trace "$text" -d "$binary" --config config_runtime.yaml
same by_cycle out
says 'tracing is not enabled in it' err
status 0 stoke trace -q "$text" -d "$binary" --config config_runtime.yaml --end 25
! cmp -s by_cycle out || fail "--end does not count for more"
printf 'tracing:\n  selector: 2\n  start: 0x80000000\n  end: 00010013\n' >trap.yaml
status 1 stoke trace "$text" -d "$binary" --config trap.yaml
says 'trap.yaml:3: start: 0x80000000 is, without quotes, the number 2147483648 to YAML'
says 'trap.yaml:4: end: 00010013 is, without quotes, the number 4107 to YAML'
says 'start 2147483648, end 4107'
printf "tracing:\n  selector: 2\n  start: '0x80000000'\n" >good.yaml
status 0 stoke trace "$text" -d "$binary" --config good.yaml
says_not good.yaml
echo 'a: b' >none.yaml
status 1 stoke trace "$text" -d "$binary" --config none.yaml
says "none.yaml: there is no selector under 'tracing'"

# info reports inferred and repaired data.
status 0 stoke info "$text" --dwarf "$binary"
says '^samples  *196 read' out
status 0 stoke info "$TESTS/man/small.qemu" --json
says '"inferred"' out
sed 1,40d "$text" >late
status 0 stoke info late --dwarf "$binary"
says 'inferred, not in the input' out
says '^ *[1-9].*a caller whose call is not in the trace' out
sed '30,60d' "$text" >gap
status 0 stoke trace gap -d "$binary"
says 'stacks were repaired [1-9][0-9]* times' err
status 0 stoke info gap --dwarf "$binary"
says 'omitted or repaired while reading' out

# A function that switches tasks, and an unknown function.
status 0 stoke trace "$text" -d "$binary" --switch fib
says_not 'has no effect' err
status 0 stoke trace "$text" -d "$binary" --switch fib --switch fob
says '[-]-switch fob has no effect: no function of this name runs' err
