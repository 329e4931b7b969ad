"""The guests that QEMU runs for the tests: building and running them."""

import os
import re
import shutil
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.dirname(HERE))
import oracle       # noqa: E402
import qemu_trace   # noqa: E402
import tap          # noqa: E402

GUEST = os.path.join(HERE, "guest")
SYSROOT = "/usr/riscv64-linux-gnu"
BUILD = os.environ.get("STOKE_BUILD", os.path.join(tap.SOURCE_ROOT, "build"))
PLUGIN = os.path.join(BUILD, "src", "agents", "qemu", "libstoke_qemu.so")
NEEDED = {"qemu-riscv64": "qemu-user", "qemu-system-riscv64": "qemu-system-misc",
          "riscv64-linux-gnu-gcc": "gcc-riscv64-linux-gnu",
          "riscv64-linux-gnu-g++": "g++-riscv64-linux-gnu"}
# All registers before each instruction.
LOGGED = ["-singlestep", "-d", "nochain,cpu", "-D"]
MACHINE = ["qemu-system-riscv64", "-M", "virt", "-cpu", "rv64,sstc=off", "-nographic",
           "-icount", "shift=0,sleep=off", "-rtc", "base=2020-01-01,clock=vm"]
# Two runs of a guest execute the same instructions.
SEED = ["-seed", "1"]
ENVIRONMENT = {"PATH": "/usr/bin:/bin"}


def missing():
    """Why the guests cannot run; empty if they can."""
    packages = sorted(package for tool, package in NEEDED.items() if not shutil.which(tool))
    if not os.path.exists(os.path.join(SYSROOT, "lib", "libc.a")):
        packages.append("libc6-dev-riscv64-cross")
    if packages:
        return f"no {' '.join(packages)}"
    return "" if os.path.exists(PLUGIN) else f"{os.path.basename(PLUGIN)} is not built"


def symbol(path, name):
    """The address of a function."""
    return oracle.Program(path).start_of(name)


def guest(*parts):
    return os.path.join(GUEST, *parts)


def compile(out, sources, *options):
    compiler = "g++" if any(s.endswith(".cc") for s in sources) else "gcc"
    subprocess.run(["riscv64-linux-gnu-" + compiler, "-g", "-fno-inline", "-o", out,
                    *options, *map(guest, sources)], check=True, stderr=subprocess.PIPE)
    return out


def compile_bare(out, sources, base=0x80000000, *options):
    return compile(out, sources, "-O2", "-ffreestanding", "-nostdlib", "-static", "-fno-pic",
                   "-march=rv64gc", "-mcmodel=medany", "-T", guest("bare.ld"),
                   f"-Wl,--build-id=none,--no-warn-rwx-segments,--defsym,base={base:#x}",
                   "-lgcc", *options)


def run(args, folder):
    """The output of a guest; checks that it succeeds."""
    done = subprocess.run(args, cwd=folder, env=ENVIRONMENT, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          timeout=tap.TIMEOUT)
    if done.returncode:
        raise RuntimeError(f"{args[0]} ended with {done.returncode}: {done.stderr!r}")
    return done.stdout


class Guest:
    """A run of QEMU: `command` with the guest's programs, `prints` its output."""

    def __init__(self, folder, command, programs, prints=None, switch=None, users=(),
                 switches=False, joint=False, text=1.0):
        """switches: each stack_of_* is a separate stack; joint: runs differ, so the log and the
        trace are of the same run; text: the share of right instructions in a trace of addresses
        only, which cannot distinguish two stacks that were suspended at the same instruction."""
        self.switches, self.joint, self.text = switches, joint, text
        self.folder, self.command, self.prints = folder, command, prints
        self.programs, self.switch, self.users = programs, switch, users
        self.is_machine = command[0] == "qemu-system-riscv64"
        self.trace = os.path.join(folder, "trace")

    def record(self):
        """The trace, and a generator of (pc, stack) of the same instructions."""
        plugin = ["-plugin", f"{PLUGIN},out=trace"]
        log = os.path.join(self.folder, "log")
        if self.is_machine or self.joint:  # an interrupt occurs at the end of a block: one run
            run(self._qemu(*plugin, *LOGGED, "log"), self.folder)
        else:
            printed = run(self._qemu(*plugin), self.folder)
            if self.prints not in printed.decode():
                raise RuntimeError(f"it printed {printed!r}")
            self._log_again(log)
        self.program = oracle.Program(*self.programs, *self.users)
        regions = self._regions()
        trace = qemu_trace.read(self.trace)
        self.instructions = [(pc, int.from_bytes(code, "little")) for _, pc, code
                             in trace.instructions(next(iter(trace.runs)))]
        self.pcs = [pc for pc, _ in self.instructions]
        self.contexts = trace.contexts
        def read():
            return oracle.Log(open(log, encoding="ascii"))
        if self.is_machine:
            return oracle.follow_machine(self.program, read(), self.pcs, regions, self.switch,
                                         self.switches)
        if not self.joint:
            return oracle.follow(self.program, read(), regions, None, self.switches)
        interrupted = oracle.interrupted_sigreturns(self.program, read(), self.pcs)
        return oracle.follow(self.program, read(), regions, self.pcs, self.switches,
                             interrupted)

    def _log_again(self, log):
        """The same run; its log is read while it is written, because it can be a gigabyte."""
        os.mkfifo(log)
        subprocess.Popen(self._qemu(*LOGGED, "log"), cwd=self.folder, env=ENVIRONMENT,
                         stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                         stderr=subprocess.DEVNULL)

    def _qemu(self, *more):
        return [self.command[0], *SEED, *more, *self.command[1:]]

    def _regions(self):
        """Stacks are arrays with that name."""
        found = []
        for path in (*self.programs, *self.users):
            for line in oracle.tool("nm", "-S", path).splitlines():
                match = re.fullmatch(r"(\w+) (\w+) \S stack_of_\w+|(\w+) (\w+) \S stack_main",
                                     line)
                if match:
                    start, size = [int(part, 16) for part in match.groups() if part]
                    found.append((start, start + size))
        return found

    def as_tracerv(self):
        """The same in the form of TracerV: addresses only."""
        path = os.path.join(self.folder, "TRACEFILE-C0")
        with open(path, "w", encoding="ascii") as file:
            file.write("# Clock Domain: baseClock, Relative Frequency: 1/1 of Base Clock\n")
            file.writelines(f"Cycle: {cycle:016d} I0: {pc & (1 << 40) - 1:016x}\n"
                            for cycle, pc in enumerate(self.pcs))
        return path

    def _as_log(self, line):
        path = os.path.join(self.folder, "log.txt")
        with open(path, "w", encoding="ascii") as file:
            file.writelines(line(number, pc, bits) for number, (pc, bits)
                            in enumerate(self.instructions))
        return path

    def stack_addresses(self):
        """The addresses at which instructions load and store the stack pointer, by number of the
        instruction; empty if the trace has other contexts, too."""
        accesses = [number for number, (_, bits) in enumerate(self.instructions)
                    if bits & 0x707F == 0x3003 and bits >> 7 & 31 == 2 or
                    bits & 0x707F == 0x3023 and bits >> 20 & 31 == 2 or
                    bits & 0xEF83 == 0x6102 or bits & 0xE07F == 0xE00A]
        if len(accesses) != len(self.contexts):
            return {}
        return {number: address for number, (_, _, address, _)
                in zip(accesses, self.contexts)}

    def as_spike(self):
        """In the form of Spike's -l."""
        return self._as_log(lambda number, pc, bits:
                            f"core   0: 0x{pc:016x} (0x{bits:08x}) c.nop\n")

    def as_spike_commits(self):
        """In the form of CVA6's rvfi tracer, or of Spike with -l and --log-commits: an instruction
        that traps is not committed, here each 97th one."""
        addresses = self.stack_addresses()
        def lines(number, pc, bits):
            word = f"{bits:08x}" if bits & 3 == 3 else f"{bits:04x}"
            memory = f" mem 0x{addresses[number]:016x}" if number in addresses else ""
            commit = f"core   0: 3 0x{pc:016x} (0x{word}) x10 0x{number:016x}{memory}\n"
            is_committed = number % 97 or number in addresses
            return (f"core   0: 0x{pc:016x} (0x{bits:08x}) c.nop\n" +
                    (commit if is_committed else ""))
        return self._as_log(lines)

    def as_columns(self):
        """In the form of Ibex."""
        def line(number, pc, bits):
            word = f"{bits:08x}" if bits & 3 == 3 else f"{bits:04x}"
            return f"{20 * number:15d}\t{number:10d}\t{pc:016x}\t{word}\tc.nop\t\n"
        return self._as_log(line)

    def as_rocket(self):
        def line(number, pc, bits):
            return (f"C0: {number:10d} [1] pc=[{pc & (1 << 40) - 1:010x}] "
                    f"W[r10=000000000000001b][1] R[r 2=0000000000000000] "
                    f"R[r 0=0000000000000000] inst=[{bits:08x}] DASM({bits:08x})\n"
                    f"C0: {number:10d} [0] pc=[0000000000] W[r 0=0][0] R[r 0=0] R[r 0=0] "
                    f"inst=[00000000] DASM(00000000)\n")
        return self._as_log(line)

    def as_execlog(self):
        return self._as_log(lambda number, pc, bits:
                            f'0, 0x{pc:x}, 0x{bits:x}, "c.nop"\n')

    def stoke(self, trace):
        """Folded lines of `stoke trace`."""
        args = [tap.STOKE, "trace", trace, "--no-inline", "--demangle", "no"]
        for path in self.programs:
            args += ["--dwarf", path]
        for path in self.users:
            args += ["--user", path]
        status, out, err = tap.run(args)
        if status != 0:
            raise RuntimeError(f"stoke trace: {status} {err.decode()}")
        return out.decode()


def user(name, sources, prints, *options, **more):
    def make(folder):
        program = compile(os.path.join(folder, name), sources, "-static", *options)
        return Guest(folder, ["qemu-riscv64", program], [program], prints, **more)
    return make


def bare(folder):
    program = compile_bare(os.path.join(folder, "bare"), ["bare.S", "bare.c"])
    return Guest(folder, [*MACHINE, "-bios", "none", "-kernel", program], [program])


def rtos(way):
    def make(folder):
        program = compile_bare(os.path.join(folder, "rtos"), ["rtos.S", "rtos.c"],
                               0x80000000, f"-DWAY={way}")
        return Guest(folder, [*MACHINE, "-bios", "none", "-kernel", program], [program],
                     switches=True, text=0.99)
    return make


def machine(folder):
    def made(name, base, *sources):
        return compile_bare(os.path.join(folder, name),
                            [os.path.join("machine", s) for s in sources], base)
    firmware = made("firmware", 0x80000000, "firmware.S")
    kernel = made("kernel", 0x80200000, "kernel.S", "kernel.c")
    users = [made("alpha", 0x80400000, "user.S", "alpha.c"),
             made("beta", 0x80500000, "user.S", "beta.c")]
    loaders = [word for path in users for word in ("-device", f"loader,file={path}")]
    return Guest(folder, [*MACHINE, "-bios", firmware, "-kernel", kernel, *loaders],
                 [kernel, firmware], switch="__switch_to", users=users)
