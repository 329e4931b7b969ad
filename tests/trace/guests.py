"""The guests that QEMU runs for the tests: how they are made, and what runs them."""

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
# Two runs of a guest are alike to the instruction.
SEED = ["-seed", "1"]
ENVIRONMENT = {"PATH": "/usr/bin:/bin"}


def missing():
    """Why the guests cannot be run; empty where they can."""
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
    """What a guest prints; it must end well."""
    done = subprocess.run(args, cwd=folder, env=ENVIRONMENT, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          timeout=tap.TIMEOUT)
    if done.returncode:
        raise RuntimeError(f"{args[0]} ended with {done.returncode}: {done.stderr!r}")
    return done.stdout


class Guest:
    """A run of QEMU: `command` with the guest's programs, `prints` what it prints."""

    def __init__(self, folder, command, programs, prints=None, switch=None, users=(),
                 switches=False, together=False, text=1.0):
        """switches: each stack_of_* is a stack of its own; together: no run is like
        another, so the log is of the same one; text: the share of the instructions that
        is right in a trace of addresses alone, which cannot tell two stacks apart that
        were left at the same one."""
        self.switches, self.together, self.text = switches, together, text
        self.folder, self.command, self.prints = folder, command, prints
        self.programs, self.switch, self.users = programs, switch, users
        self.is_machine = command[0] == "qemu-system-riscv64"
        self.trace = os.path.join(folder, "trace")

    def record(self):
        """The trace, and a generator of (pc, stack) of the same instructions."""
        plugin = ["-plugin", f"{PLUGIN},out=trace"]
        log = os.path.join(self.folder, "log")
        if self.is_machine or self.together:  # an interrupt comes where a block ends: one run for both
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
        file = oracle.Log(open(log, encoding="ascii"))
        if self.is_machine:
            return oracle.follow_machine(self.program, file, self.pcs, regions, self.switch,
                                         self.switches)
        return oracle.follow(self.program, file, regions,
                             self.pcs if self.together else None, self.switches)

    def _log_again(self, log):
        """The same run, whose log is read as it is written: it may be a gigabyte."""
        os.mkfifo(log)
        subprocess.Popen(self._qemu(*LOGGED, "log"), cwd=self.folder, env=ENVIRONMENT,
                         stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                         stderr=subprocess.DEVNULL)

    def _qemu(self, *more):
        return [self.command[0], *SEED, *more, *self.command[1:]]

    def _regions(self):
        """Stacks are arrays of that name."""
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
        """The same as TracerV tells it: addresses alone."""
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
        """Where instructions store and load the stack pointer, by their number; empty where
        the trace has other contexts, too."""
        accesses = [number for number, (_, bits) in enumerate(self.instructions)
                    if bits & 0x707F == 0x3003 and bits >> 7 & 31 == 2 or
                    bits & 0x707F == 0x3023 and bits >> 20 & 31 == 2 or
                    bits & 0xEF83 == 0x6102 or bits & 0xE07F == 0xE00A]
        if len(accesses) != len(self.contexts):
            return {}
        return {number: address for number, (_, _, address, _)
                in zip(accesses, self.contexts)}

    def as_spike(self):
        """As Spike's -l writes it."""
        return self._as_log(lambda number, pc, bits:
                            f"core   0: 0x{pc:016x} (0x{bits:08x}) c.nop\n")

    def as_spike_commits(self):
        """As CVA6's rvfi tracer, or Spike with -l and --log-commits, writes it: an
        instruction that traps is not committed, each 97th one here."""
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
        """As Ibex writes it."""
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
