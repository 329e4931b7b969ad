"""The right stack of each instruction, from data that stoke does not have: the guest's registers.

QEMU logs all registers before each instruction (-singlestep -d nochain,cpu). Each call in
objdump's disassembly adds a frame. The frame ends when its return address is reached with the
stack pointer of the call, or, for jumps that remove several frames (longjmp, a landing pad of an
exception), when the stack pointer is above it. A trap is an instruction that cannot follow the one
before."""

import bisect
import re
import subprocess

CALL = "call"
TRAP = "trap"
RT_SIGRETURN = 139  # Linux's number of the system call
ADDITIONS = {"addi", "c.addi", "c.addi16sp", "add", "c.add", "sub"}
BRANCHES = {"beq", "bne", "blt", "bge", "bltu", "bgeu", "c.beqz", "c.bnez"}
LINE = re.compile(r"^ *([0-9a-f]+):\t(\S+)(?:\t(.*))?$", re.M)
SYMBOL = re.compile(r"^([0-9a-f]+) (?:([0-9a-f]+) )?([A-Za-z]) (.+)$", re.M)


def tool(name, *args):
    done = subprocess.run(["riscv64-linux-gnu-" + name, *args], stdout=subprocess.PIPE,
                          check=True, encoding="utf-8")
    return done.stdout


class Instruction:
    """The effect of an instruction on control flow and the stack pointer: its size, and its
    targets."""

    __slots__ = ("size", "target", "is_branch", "links", "base", "offset", "is_call_out",
                 "is_return_from_trap", "stack")

    def __init__(self, name, operands):
        compressed = name.startswith("c.")
        words = operands.split(",") if operands else []
        self.size = 2 if compressed else 4
        self.target = self.base = self.links = None
        self.offset = 0
        self.is_branch = name in BRANCHES
        self.is_call_out = name in ("ecall", "ebreak", "c.ebreak")
        self.is_return_from_trap = name in ("mret", "sret")
        if self.is_branch or name in ("jal", "c.j", "c.jal"):
            self.target = int(words[-1].split()[0], 16)
            if name == "jal" and words[0] in ("x1", "x5"):
                self.links = int(words[0][1:])
        elif name in ("c.jr", "c.jalr"):
            self.base = int(words[0][1:])
            self.links = 1 if name == "c.jalr" else None
        elif name == "jalr":
            offset, base = re.fullmatch(r"(-?\d+)\(x(\d+)\)", words[1]).groups()
            self.base, self.offset = int(base), int(offset)
            self.links = int(words[0][1:]) if words[0] in ("x1", "x5") else None
        self.stack = None  # the operands whose sum is the stack pointer from then on
        if name in ADDITIONS and words[0] == "x2":
            first, last = operands.partition(" ")[0].split(",")[-2:]
            self.stack = (first, "-" + last if name == "sub" else last)

    def stack_after(self, sp, register):
        """The stack pointer after the instruction. Only additions are computed: the code that
        signals interrupt does not change it in another way."""
        if self.stack is None:
            return sp
        def value(operand):
            if "x" not in operand:
                return int(operand)
            number = register(int(operand.lstrip("-x")))
            return -number if operand[0] == "-" else number
        return sum(map(value, self.stack)) & (1 << 64) - 1


class Program:
    """The instructions and symbols of ELF files."""

    def __init__(self, *paths):
        self.instructions, symbols = {}, []
        for path in paths:
            text = tool("objdump", "-d", "-M", "no-aliases,numeric", "--no-show-raw-insn",
                        path)
            for match in LINE.finditer(text):
                self.instructions[int(match[1], 16)] = match.groups()[1:]
            for match in SYMBOL.finditer(tool("nm", "-S", "--defined-only", path)):
                if match[3] in "tTwWi" and not match[4].startswith(("$", ".L")):
                    symbols.append((int(match[1], 16), int(match[2] or "0", 16), match[4]))
        self._gather(symbols)

    def _gather(self, symbols):
        self.names = {}   # start: all names
        self.sizes = {}
        for start, size, name in symbols:
            self.names.setdefault(start, set()).add(name)
            self.sizes[start] = max(size, self.sizes.get(start, 0))
        self.starts = sorted(self.names)
        self._known = {}

    def function(self, pc):
        """The start of the function that has pc, or None."""
        if pc not in self._known:
            at = bisect.bisect_right(self.starts, pc) - 1
            start = self.starts[at] if at >= 0 else None
            known = start is not None and pc in self.instructions and (
                self.sizes[start] == 0 or pc < start + self.sizes[start])
            self._known[pc] = start if known else None
        return self._known[pc]

    def start_of(self, name):
        return next(start for start, names in self.names.items() if name in names)

    def at(self, pc):
        """The instruction at pc, or None."""
        known = self.instructions.get(pc)
        if isinstance(known, tuple):
            known = self.instructions[pc] = Instruction(*known)
        return known


class Log:
    """QEMU's log of registers: records of equal length, with each field at the same offset."""

    def __init__(self, file):
        self.file = file
        first = file.readline()
        if not first:
            raise ValueError("the log of registers is empty")
        record = [first]
        for line in file:
            record.append(line)
            if "x31/t6" in line:
                break
        self.record = "".join(record)
        self.size = len(self.record)
        self.fields = {match[1]: match.end() for match in
                       re.finditer(r"(\S+) +(?=[0-9a-f]{16})", self.record)}

    def __iter__(self):
        """Records, as text."""
        record = self.record
        while len(record) == self.size:
            yield record
            record = self.file.read(self.size)

    def reader(self, name):
        """A function from a record to the field's number."""
        names = {match.split("/")[0]: end for match, end in self.fields.items()}
        end = names[name]
        return lambda record: int(record[end:end + 16], 16)


class Frame:
    __slots__ = ("kind", "site", "back", "sp", "region", "begun")

    def __init__(self, kind, site, back, sp, region):
        self.kind = kind      # CALL, or TRAP
        self.site = site      # the PC that calls, or was interrupted
        self.back = back      # the return address
        self.sp = sp          # stack pointer at the call; None: the callee changes it
        self.region = region  # the memory that sp points to
        self.begun = True     # an instruction of the function with the site ran


class Shadow:
    """Computes the stacks of one thread of a user program. regions: [(start, end)] of stacks other
    than the main one."""

    def __init__(self, program, regions=(), switches=False):
        self.program, self.regions = program, regions
        self.frames = []
        self.traps = 0
        self.sigreturns = ()  # see calls_of_sigreturn
        self.switches_stacks = switches  # each region is a separate stack
        self.here, self.others = 0, {}

    def region(self, sp):
        for index, (start, end) in enumerate(self.regions):
            if start < sp <= end:
                return index + 1
        return 0

    def _call(self, before, after, insn, sp):
        """A link in x5 belongs to the helpers that save registers for a function: they return with
        another stack pointer."""
        self.frames.append(Frame(CALL, before, after, None if insn.links == 5 else sp,
                                 self.region(sp)))

    def _leave(self, sp):
        """Frames below sp have ended, and so have frames on other stacks above them."""
        region = self.region(sp)
        home = any(f.region == region for f in self.frames)
        while self.frames and home:
            top = self.frames[-1]
            if top.region == region and (top.sp or sp) > sp:
                break
            self.frames.pop()

    def _return_from_signal(self):
        while self.frames and self.frames.pop().kind != TRAP:
            pass

    def _change_stack(self, sp):
        """A jump with the stack pointer in another region continues the frames of that region."""
        region = self.region(sp)
        if self.switches_stacks and region != self.here:
            self.others[self.here] = self.frames
            self.frames = self.others.pop(region, [])
            self.here = region

    def _jump_by_register(self, before, pc, sp):
        self._change_stack(sp)
        top = self.frames[-1] if self.frames else None
        if top and top.kind == CALL and pc == top.back and top.sp in (sp, None):
            self.frames.pop()
            return
        function = self.program.function(pc)
        if function is not None and pc != function and \
                function != self.program.function(before):
            self._leave(sp)

    def step(self, before, call_number, sp_before, register, pc, sp):
        """The step from the instruction at `before` to the one at pc."""
        insn = self.program.at(before)
        if insn is None:  # code outside all files: the trampoline of signals
            if call_number == RT_SIGRETURN and self._is_resumed(pc, sp):
                self._return_from_signal()
            elif self.sigreturns and before not in self.sigreturns and pc != before + 4:
                self.signal(before + 4, sp_before)
            return
        after = before + insn.size
        if insn.target is not None:
            expected = {insn.target, after} if insn.is_branch else {insn.target}
        elif insn.base is not None:
            expected = {(register(insn.base) + insn.offset) & ~1 & (1 << 64) - 1}
        else:
            expected = {after}
        if pc not in expected:
            # A signal that arrives after an addition interrupts at the new stack pointer, to which
            # rt_sigreturn returns.
            self._interrupted(before, insn, after, insn.stack_after(sp_before, register),
                              expected)
        else:
            self._jump(before, after, insn, pc, sp)

    def signal(self, pc, sp):
        self.traps += 1
        self.frames.append(Frame(TRAP, pc, pc, sp, self.region(sp)))

    def wait(self, waiting, before, step):
        """Signals arrived before the instructions at these addresses ran. Only the first address
        was reached by an instruction, but not if a handler begins there: such a handler has no
        frame until it runs, because the registers do not show that it was entered."""
        for index, (pc, sp) in enumerate(waiting):
            traps, depth = self.traps, len(self.frames)
            if index == 0:
                step(pc, sp)
            by_kernel = self.traps > traps or (  # or after the end of another signal
                self.program.at(before) is None and self.program.function(pc) == pc and
                len(self.frames) == depth)
            self.signal(pc, sp)
            self.frames[-1].begun = index == 0 and not by_kernel

    def _jump(self, before, after, insn, pc, sp):
        if insn.links is not None:
            self._call(before, after, insn, sp)
        elif insn.base is not None:
            self._jump_by_register(before, pc, sp)

    def _interrupted(self, before, insn, after, sp, expected):
        """A jump does not fault: the signal arrived after it."""
        if len(expected) == 1 and (insn.target or insn.base is not None):
            target, = expected
            self._jump(before, after, insn, target, sp)
            before = after = target
        self._trap(before, insn, after, sp)

    def _is_resumed(self, pc, sp):
        """Only the handler of a signal has its stack pointer; it may have changed the PC."""
        return any(f.kind == TRAP and f.sp == sp for f in self.frames)

    def _trap(self, before, insn, after, sp):
        self.traps += 1
        back = after if insn.is_call_out else before
        self.frames.append(Frame(TRAP, before, back, sp, self.region(sp)))

    def stack(self, pc):
        """The stack of the instruction at pc: starts of functions, outermost first."""
        function = self.program.function
        return tuple(function(f.site) for f in self.frames if f.begun) + (function(pc),)


def calls_of_sigreturn(program, pcs):
    """The addresses of the trampoline's second instruction, which calls rt_sigreturn."""
    outside = {pc for pc in pcs if program.at(pc) is None}
    return {pc for pc in outside if pc - 4 in outside}


def interrupted_sigreturns(program, log, pcs):
    """The instructions that call rt_sigreturn when a signal arrives, and are therefore executed
    again: their numbers, with the stack pointer at which they are. Only this distinguishes such a
    signal from one that was pending until the end of another. If several handlers run before
    rt_sigreturn is called again, a trace does not show which of them interrupted it: by
    convention the last one, and the others were pending."""
    read_pc, read_sp = log.reader("pc"), log.reader("x2")
    entered = []  # the stack pointer and the number of the instruction when a signal arrived
    followed = {}  # by the stack pointer of a handler: the number of the rt_sigreturn before it
    found = {}
    calls = calls_of_sigreturn(program, pcs)
    ran = enumerate(pcs)
    number, expected = next(ran)
    before = before_sp = None
    for record in log:
        pc, sp = read_pc(record), read_sp(record)
        if pc != expected:
            if (pc, sp) != (before, before_sp):
                entered.append((sp, None))  # it was the next instruction
            continue
        if before is not None and program.at(before) is None:
            if pc == before:
                first = next((n for start, n in reversed(entered) if start == sp), None)
                if first is not None:
                    found[followed[before_sp]] = sp
            elif sp < before_sp:
                entered.append((before_sp, number - 1 if before in calls else None))
            if program.function(pc) == pc:
                followed[sp] = number - 1
        before, before_sp = pc, sp
        number, expected = next(ran, (None, None))
    return found


def follow(program, log, regions=(), pcs=None, switches=False, interrupted=None):
    """Yields (pc, stack) of each instruction in the log of a user program, or only of those that
    `pcs` lists as executed. interrupted: as from interrupted_sigreturns."""
    shadow = Shadow(program, regions, switches)
    shadow.sigreturns = calls_of_sigreturn(program, pcs or ())
    ran = iter(pcs) if pcs is not None else None
    read_pc, read_sp, read_a7 = log.reader("pc"), log.reader("x2"), log.reader("x17")
    registers = [log.reader(f"x{i}") for i in range(32)]
    before = before_sp = record_before = None
    expected = next(ran, None) if ran else None
    def step(pc, sp):
        if record_before is not None:
            shadow.step(before, read_a7(record_before), before_sp,
                        lambda i: registers[i](record_before), pc, sp)
    waiting = []
    number = 0
    for record in log:
        pc, sp = read_pc(record), read_sp(record)
        if ran and pc != expected:
            if pc == before and sp == before_sp:
                pass  # it is logged again if no signal arrived
            elif pc == before and sp < before_sp:
                # Another handler ran than the expected one.
                shadow.signal(before, before_sp)
                shadow.frames[-1].begun = False
                before_sp, record_before = sp, record
            elif (pc, sp) not in waiting[-1:]:
                waiting.append((pc, sp))  # it was the next instruction, and a signal arrived
            continue
        expected = next(ran, None) if ran else None
        if waiting:
            shadow.wait(waiting, before, step)
            waiting.clear()
        elif interrupted and number - 1 in interrupted:
            shadow.signal(before, interrupted[number - 1])
        else:
            step(pc, sp)
        yield pc, shadow.stack(pc)
        before, before_sp, record_before = pc, sp, record
        number += 1


class Machine(Shadow):
    """Computes the stacks of a hart in all modes. A task is the stack that contains the kernel's
    stack pointer when `switch` returns; its frames are stored meanwhile."""

    def __init__(self, program, regions, switch=None, switches=False):
        super().__init__(program, regions, switches)
        self.switch = program.start_of(switch) if switch else None
        self.task, self.away = None, {}
        self.switches = 0

    def _change_task(self, sp):
        task = self.region(sp)
        if task != self.task:
            self.switches += 1
            if self.task is None:  # the boot stack
                self.task = self.frames[-1].region
            self.away[self.task] = self.frames
            self.frames = self.away.pop(task, [])
            self.task = task

    def _jump_by_register(self, before, pc, sp):
        """A stack of the kernel itself belongs to no task: mret switches these."""
        switches, self.switches_stacks = self.switches_stacks, False
        super()._jump_by_register(before, pc, sp)
        self.switches_stacks = switches

    def _leave_trap(self, sp):
        """Returns to the interrupted stack; if nothing was interrupted, a mode begins again."""
        self._change_stack(sp)
        while self.frames and self.frames.pop().kind != TRAP:
            pass

    def step_machine(self, before, state_before, pc, state):
        """state: a function from the name of a register to its number."""
        insn = self.program.at(before)
        if insn is None:  # the ROM, which has no file: any target is accepted
            return
        after = before + insn.size
        sp = state("x2")
        if insn.is_return_from_trap:
            self._leave_trap(sp)
            expected = {state_before("mepc"), state_before("sepc")}
        elif insn.is_call_out:
            expected = set()
        elif insn.target is not None:
            expected = {insn.target, after} if insn.is_branch else {insn.target}
        elif insn.base is not None:
            base = state_before(f"x{insn.base}")
            expected = {(base + insn.offset) & ~1 & (1 << 64) - 1}
        else:
            expected = {after}
        is_trap = pc not in expected
        epc = state("mepc" if pc == state("mtvec") & ~3 else "sepc") if is_trap else pc
        if epc in expected:  # an interrupt occurs after the instruction, whatever its target
            self._go(before, after, insn, epc, sp)
        if is_trap:
            self.traps += 1
            self.frames.append(Frame(TRAP, epc, epc, sp, self.region(sp)))

    def _go(self, before, after, insn, pc, sp):
        if insn.links is not None:
            self._call(before, after, insn, sp)
        elif insn.base is not None:
            if self.switch is not None and self.program.function(before) == self.switch:
                self._change_task(sp)
            self._jump_by_register(before, pc, sp)


def follow_machine(program, log, pcs, regions=(), switch=None, switches=False):
    """Yields (pc, stack) of each instruction of a hart. The log has more instructions than `pcs`,
    the executed ones: QEMU logs an instruction before it checks for an interrupt."""
    machine = Machine(program, regions, switch, switches)
    read = {name: log.reader(name) for name in
            ["pc", "mepc", "sepc", "mtvec", *(f"x{i}" for i in range(32))]}
    records = iter(log)
    before = record_before = None
    for pc in pcs:
        record = next(r for r in records if read["pc"](r) == pc)
        if record_before is not None:
            machine.step_machine(before, lambda name: read[name](record_before), pc,
                                 lambda name: read[name](record))
        yield pc, machine.stack(pc)
        before, record_before = pc, record
