# stoke trace: instruction traces to stacks.
. "$TESTS/cli/lib.sh"

binary=$TESTS/man/small-bin-dwarf
text=$TESTS/man/TRACEFILE-C0

cat >wanted <<END
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
same wanted out
says '3.1% of the instructions are in no binary' err
status 0 stoke trace "$TESTS/man/small.qemu" -d "$binary" -q
same wanted out
[ -s err ] && fail "something is said"

# From a pipe, and packed.
status 0 stoke trace -q -d "$binary" - <"$text"
same wanted out
gzip -c "$text" >packed.gz
status 0 stoke trace -q -d "$binary" packed.gz
same wanted out

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

# What is wrong is said.
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
says 'no trace of a format that is known'
status 2 stoke trace "$text" -d "$binary" -o out.nothing
says "does not tell a format"
status 0 stoke trace --list-formats
says '^tracerv ' out

# A binary of another program.
sed 's/: 00000000800/: 00000000a00/' "$text" >elsewhere
status 1 stoke trace elsewhere -d "$binary"
says 'none of the 196 addresses is in small-bin-dwarf'

# Time goes back; lines that are none; a last one that is cut.
sed '50s/[0-9]\{16\}/0000000000000001/; 60s/.*/what/' "$text" | head -c 8000 >odd
status 0 stoke trace odd -d "$binary"
says 'odd: time goes back' err
says 'odd:60:1: not a line of a trace' err
says 'the last line is cut short' err

# Another build of the binary: at the same addresses, with other instructions. And one that
# lies elsewhere.
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
same wanted out

# Binary records: their width is found, one that was told wrongly is refused, one that is
# cut is told.
for form in one three; do
    status 0 stoke trace -q "$TESTS/trace/inputs/binary/$form" -d "$binary"
    says '^_start;main;fib;fib;fib;fib [0-9]' out
done
status 0 stoke trace -q "$TESTS/trace/inputs/binary/one" -d "$binary" --ipc 1
same wanted out
status 1 stoke trace "$TESTS/trace/inputs/binary/three" -d "$binary" --ipc 1
says 'its records are of 3 addresses, not 1'
head -c 1000 "$TESTS/trace/inputs/binary/one" >cut
status 0 stoke trace cut -d "$binary"
says 'the last record is cut short' err
head -c 1260 "$TESTS/man/small.qemu" >cut
status 0 stoke trace cut -d "$binary"
says 'the trace is cut short' err
