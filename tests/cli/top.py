# SPDX-License-Identifier: Apache-2.0
"""top.py STOKE PID PID: runs stoke top on a pseudo-terminal, presses keys, and reports errors.

The terminal type is defined by this test (with tic). It has only four commands, so the content of
the screen is easy to find."""

import fcntl, os, pty, re, select, signal, struct, subprocess, sys, termios, time

TERMINAL = r"""stoke-test|a terminal of four commands,
	am, cols#80, lines#24, colors#8, pairs#64,
	clear=\E[H\E[J, cup=\E[%i%p1%d;%p2%dH, el=\E[K, cr=\r,
	setaf=\E[3%p1%dm, setab=\E[4%p1%dm, op=\E[39;49m, sgr0=\E[m, bold=\E[1m, rev=\E[7m,
	kcuu1=\EOA, kcud1=\EOB, kcub1=\EOD,
"""
COMMAND = re.compile(rb"\x1b(\[[0-9;]*[HJKm])")


class Screen:
    def __init__(self, columns, rows):
        self.resize(columns, rows)
        self.rest, self.sent, self.colours = b"", b"", 0

    def resize(self, columns, rows):
        self.columns, self.rows = columns, rows
        self.cells = [[" "] * columns for _ in range(rows)]
        self.row = self.column = 0

    def text(self):
        return "\n".join("".join(line).rstrip() for line in self.cells)

    def put(self, c):
        self.cells[self.row][self.column] = c
        self.column += 1
        if self.column == self.columns:  # at once, which ncurses knows
            self.column, self.row = 0, min(self.row + 1, self.rows - 1)

    def command(self, word):
        kind = chr(word[-1])
        numbers = [int(n) if n.isdigit() else 0 for n in word[1:-1].split(b";")]
        if kind == "H":
            numbers += [1]
            self.row = min(max(numbers[0], 1), self.rows) - 1
            self.column = min(max(numbers[1], 1), self.columns) - 1
        elif kind == "m":
            self.colours += any(30 <= n <= 49 and n not in (39, 49) for n in numbers)
        else:
            self.erase(self.column)
            for row in range(self.row + 1, self.rows if kind == "J" else 0):
                self.cells[row] = [" "] * self.columns

    def erase(self, column):
        for at in range(column, self.columns):
            self.cells[self.row][at] = " "

    def feed(self, data):
        self.sent += data
        data = self.rest + data
        self.rest = b""
        at = 0
        while at < len(data):
            c = data[at]
            if c == 0x1b:
                m = COMMAND.match(data, at)
                if not m and len(data) - at > 16:
                    raise ValueError(f"no command: {data[at:at + 16]}")
                if not m:
                    self.rest = data[at:]
                    return
                self.command(m[1])
                at = m.end()
                continue
            if c >= 0xc0:
                size = 2 if c < 0xe0 else 3 if c < 0xf0 else 4
                if at + size > len(data):
                    self.rest = data[at:]
                    return
                self.put(data[at:at + size].decode("utf-8", "replace"))
                at += size
                continue
            if c == 13:
                self.column = 0
            elif c == 10:
                self.row = min(self.row + 1, self.rows - 1)
            elif c >= 32:
                self.put(chr(c))
            at += 1


class Top:
    def __init__(self, columns, rows, words, env):
        self.screen = Screen(columns, rows)
        go_read, go_write = os.pipe()
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.read(go_read, 1)
            os.execvpe(words[0], words, env)
        self.size(columns, rows)
        os.write(go_write, b"x")

    def size(self, columns, rows):
        fcntl.ioctl(self.fd, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def read(self, seconds):
        until = time.monotonic() + seconds
        while (left := until - time.monotonic()) > 0:
            if not select.select([self.fd], [], [], left)[0]:
                break
            try:
                data = os.read(self.fd, 65536)
            except OSError:
                return False
            if not data:
                return False
            self.screen.feed(data)
        return True

    def see(self, what, pattern, seconds=120):
        """Waits until the screen has the pattern."""
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            if re.search(pattern, self.screen.text(), re.M):
                return
            if not self.read(0.2):
                break
        if not re.search(pattern, self.screen.text(), re.M):
            self.end()
            sys.exit(f"{what}: no {pattern!r} on\n{self.screen.text()}")

    def keys(self, text):
        os.write(self.fd, text.encode())
        self.read(0.15)

    def end(self):
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)


# Boxes of functions with few samples can be beside these.
BOXES = r".*middle.*\n.*leaf"
UP, DOWN, LEFT = "\x1bOA", "\x1bOB", "\x1bOD"


def tasks(stoke, pid, env):
    """The views by process, thread, service and container, of tests/cli/two_threads.c."""
    top = Top(100, 24, [stoke, "top", "-p", pid, "-F", "999", "-d", "0.3"], env)
    figures = r" +[0-9.]+% +[0-9.]+% +[0-9.]+%  "
    top.see("functions", r"\*self +total  function")
    top.keys("b")
    top.see("processes", r"^ +\*cpu +ready +waits +process +id, parts\n"
            rf"{figures}\+ two_threads +{pid}, 2 threads$")
    top.keys("e")
    top.see("threads of the process", rf"- two_threads +{pid}, 2 threads\n"
            rf"{figures} +two_threads +{pid}\n +0.00% +[0-9.]+% +[0-9.]+% +waiter +\d+$")
    top.keys("oo")
    top.see("the thread that waits most",
            r"cpu +ready +\*waits[^\n]*\n.* threads\n.* waiter +\d+\n.* two_threads ")
    top.keys("d")
    top.see("no module", r"^only functions have this; b shows them$")
    top.keys("h")
    top.see("help", r"^  b +by process")
    top.keys("q")
    top.see("the table after the help", r" waiter +\d+\n.* two_threads ")
    top.keys("b")
    top.see("threads", rf"\*cpu +ready +waits +thread +id.*\n.* two_threads +{pid}\n.* waiter ")
    top.keys("/WAIT\r")
    top.see("one thread", r"id, parts\n.* waiter +\d+\n\n")
    top.keys("\x1bb")
    top.see("services", r"waits +service +id.*\n.*%  \+ .* 1 process$")
    top.keys("E")
    top.see("all levels", rf"- .* 1 process\n.* - two_threads +{pid}, 2 threads\n.* two_threads ")
    top.keys("b")
    top.see("containers", r"waits +container +id.*\n.*%  \+ .* 1 process$")
    top.keys("b")
    top.see("functions again", r"\*self +total  function")
    top.keys("q")
    top.read(5)
    status = os.waitstatus_to_exitcode(os.waitpid(top.pid, 0)[1])
    if status != 0:
        sys.exit(f"it ended with {status}")


def main():
    stoke, pid, two_threads = sys.argv[1:4]
    subprocess.run(["tic", "-o", "terminals", "-"], input=TERMINAL.encode(), check=True)
    env = dict(os.environ, TERM="stoke-test", TERMINFO=os.path.abspath("terminals"),
               LC_ALL="C.UTF-8")
    env.pop("NO_COLOR", None)
    words = [stoke, "top", "-p", pid, "-F", "999", "-d", "0.3"]
    top = Top(100, 30, words, env)
    top.see("the table", r"^ *[0-9.]+% +[0-9.]+%  leaf +load$")
    top.see("rows in order", r"\*self +total  function +module\n +[0-9.]+% +[0-9.]+%  leaf ")
    top.see("the head", r"^stoke top: .* 999 Hz, load \d+: [1-9]\d* samples/s, 0 lost")
    top.keys("e")
    top.see("callers", r"leaf .*load\n +[0-9.]+% +< middle .*load\n +[0-9.]+% +< main ")
    top.see("a name that would steer the terminal", r"e\\x1b\[31mvil +load$")
    top.keys("e")
    top.keys("/MIDD")
    top.see("what is typed", r"^only names with: MIDD_")
    top.keys("\r")
    top.see("the filter", r"module\n +0.00% +[0-9.]+%  middle +load\n\n")
    top.keys("\x1b")
    top.see("all again", r"  leaf +load$")
    top.keys("d")
    top.see("one module", r"; of load")
    top.keys("C" + LEFT)
    top.see("all modules", r"^(?!.*; of load)stoke top: ")
    top.keys("H")
    top.see("no titles", r"^stoke top: .*\n +[0-9.]+% +[0-9.]+%  leaf ")
    top.keys("Hf")
    top.see("paused", r"paused")
    top.keys("f")
    top.see("going on", r"decaying")
    top.keys("oo")
    top.see("ordered by name", r"self +total  \*function")
    top.keys("L30\r")
    top.see("what has much", r"\A(?![\s\S]*e\\x1b\[31mvil)[\s\S]*; from 30.00% on")
    top.keys("L120\r")
    top.see("a share that there is not", r"; from 30.00% on")
    top.keys("P")
    top.see("where the table is", r"^perf.hist.0 is written$")
    top.keys("L0\rP")
    top.see("another table", r"^perf.hist.1 is written$")
    for number, few in (0, True), (1, False):
        with open(f"perf.hist.{number}") as file:
            table = file.read()
        rows = re.findall(r"^ +[0-9.]+% +[0-9.]+%  (\S+) +load$", table, re.M)
        if "leaf" not in rows or ("e\\x1b[31mvil" in rows) == few or "\x1b" in table:
            sys.exit(f"perf.hist.{number}:\n{table}")
    top.keys("h")
    top.see("help", r"^  q +quit; here: back to the table$")
    top.keys("q")
    top.see("the table after the help", r"^ *[0-9.]+% +[0-9.]+%  leaf +load$")
    top.keys("D0.2\r")
    top.keys("g")
    top.see("boxes", r"^all\nload\n(.*\n)*.*main.*\n" + BOXES)
    top.see("shares", r"^all  total 100.00%")
    for _ in range(12):
        top.keys(DOWN)
    top.see("the innermost box", r"^\S+  total [0-9.]+%  self [0-9.]+%")
    top.keys(UP)
    top.keys("\r")
    top.size(60, 20)
    os.kill(top.pid, signal.SIGWINCH)
    top.screen.resize(60, 20)
    top.see("a smaller terminal", r"^q quit  h help  b by process")
    top.keys("\x1b")
    top.keys("p")
    top.see("paused", r"paused")
    if b"\x1b[31mvil" in top.screen.sent:
        sys.exit("a name steers the terminal")
    if not top.screen.colours:
        sys.exit("there are no colours")
    top.keys("q")
    top.read(5)
    status = os.waitstatus_to_exitcode(os.waitpid(top.pid, 0)[1])
    if status != 0:
        sys.exit(f"it ended with {status}")
    top = Top(80, 24, words, dict(env, NO_COLOR="1"))
    top.see("the table", r"  leaf +load$")
    top.keys("g")
    top.see("boxes", BOXES)
    os.kill(top.pid, signal.SIGTERM)
    top.read(5)
    status = os.waitstatus_to_exitcode(os.waitpid(top.pid, 0)[1])
    if status != 0 or top.screen.colours:
        sys.exit(f"NO_COLOR: {top.screen.colours} colours, status {status}")
    tasks(stoke, two_threads, env)


main()
