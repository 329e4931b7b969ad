"""Reads a trace of the QEMU plugin (src/base/qemu_format.h), slowly and strictly: data that
violates the format raises Broken."""

import struct

MAGIC = b"\211stokeQ\n"
MAPS, BLOCKS, THREAD, RUNS, END = range(1, 6)
PART, AGAIN, GAP = 0x80000000, 0xC0000000, 0xE0000000
SAVE, LOAD = GAP + 1, GAP + 2


class Broken(Exception):
    pass


class Block:
    def __init__(self, number, map_id, address, code, count):
        self.id, self.map = number, map_id
        self.instructions = []  # (address, bytes)
        at = 0
        while at < len(code):
            size = 4 if code[at] & 3 == 3 else 2
            self.instructions.append((address + at, code[at:at + size]))
            at += size
        if len(self.instructions) != count or at != len(code):
            raise Broken(f"block {number}: {count} instructions in {len(code)} bytes")


class Trace:
    """maps: {id: (start, end, offset, path)}; blocks: {id: Block}; runs: {(cpu, thread): [(block,
    first, count, times) or (None, 0, instructions of a gap, 1)]}; threads: the same keys, with
    names; contexts: [(cpu, SAVE or LOAD, address, number)]; end: (flags, instructions) or None."""

    def __init__(self, data, cut=False):
        self.maps, self.blocks, self.runs, self.names = {}, {}, {}, {}
        self.end, self.chunks, self.cut = None, 0, False
        self.contexts = []
        self._pending = {}  # cpu: words that wait for the next chunk
        self._thread = {}   # cpu: thread
        if data[:8] != MAGIC:
            raise Broken("no such trace")
        (self.version, size, self.flags, self.selector, self.start, self.stop,
         self.process, self.parent) = struct.unpack_from("<IIIIQQII", data, 8)
        if self.version not in (1, 2) or size < 48:
            raise Broken(f"version {self.version}, header of {size} bytes")
        at = size
        while at < len(data):
            at = self._chunk(data, at, cut)
        if any(self._pending.values()) and not cut:
            raise Broken("the last words need more")

    def _chunk(self, data, at, cut):
        if self.end is not None:
            raise Broken("something follows the end")
        if at + 16 > len(data):
            if not cut:
                raise Broken("a chunk's header is cut")
            return len(data)
        kind, cpu, size, sequence = struct.unpack_from("<IIII", data, at)
        if sequence != self.chunks or size % 4:
            raise Broken(f"chunk {self.chunks}: sequence {sequence}, size {size}")
        self.chunks += 1
        body = data[at + 16:at + 16 + size]
        if len(body) < size:
            if not cut:
                raise Broken("a chunk is cut")
            self.cut = True
            body = body[:len(body) & ~3]
        if kind in (MAPS, BLOCKS):
            read = self._map if kind == MAPS else self._block
            offset = 0
            while offset < len(body):
                offset = read(body, offset)
        elif kind == THREAD:
            self._named(cpu, body)
        elif kind == RUNS:
            self._words(cpu, struct.unpack(f"<{len(body) // 4}I", body))
        elif kind == END:
            flags, _, instructions = struct.unpack("<IIQ", body)
            self.end = flags, instructions
        else:
            raise Broken(f"chunk of type {kind}")
        return at + 16 + size

    def _map(self, body, at):
        number, size, start, end, offset = struct.unpack_from("<IIQQQ", body, at)
        if number != len(self.maps) + 1:
            raise Broken(f"map {number} is the {len(self.maps) + 1}.")
        path = body[at + 32:at + 32 + size]
        self.maps[number] = start, end, offset, path.decode()
        return at + 32 + (size + 3 & ~3)

    def _block(self, body, at):
        number, map_id, address, size, count = struct.unpack_from("<IIQII", body, at)
        if number != len(self.blocks) + 1:
            raise Broken(f"block {number} is the {len(self.blocks) + 1}.")
        if map_id and map_id not in self.maps:
            raise Broken(f"block {number} is of map {map_id}, which is unknown")
        code = body[at + 24:at + 24 + size]
        self.blocks[number] = Block(number, map_id, address, code, count)
        return at + 24 + (size + 3 & ~3)

    def _named(self, cpu, body):
        thread, size = struct.unpack_from("<II", body)
        if self._thread.get(cpu) != thread:
            self.runs[cpu, thread] = []
        self._thread[cpu] = thread
        self.names[cpu, thread] = body[8:8 + size].decode()

    def _words(self, cpu, words):
        if cpu not in self._thread:
            raise Broken(f"cpu {cpu} has no thread")
        runs = self.runs[cpu, self._thread[cpu]]
        words = self._pending.pop(cpu, []) + list(words)
        at = 0
        while at < len(words):
            word, need = words[at], 1
            if PART <= word < AGAIN:
                need = 2
            elif word >= GAP:
                need = 3 if word == GAP else 4
            if at + need > len(words):
                self._pending[cpu] = words[at:]
                return
            if word > LOAD:
                raise Broken(f"word {word:#x}")
            if word > GAP:
                _, low, high, number = words[at:at + need]
                self.contexts.append((cpu, word, low | high << 32, number))
            else:
                self._execution(runs, words[at:at + need])
            at += need

    def _execution(self, runs, words):
        word = words[0]
        if word >= GAP:
            runs.append((None, 0, words[1] | words[2] << 32, 1))
        elif word >= AGAIN:
            block, first, count, _ = runs[-1]
            if not block:
                raise Broken("a gap runs again")
            runs.append((block, first, count, word - AGAIN))
        elif word >= PART:
            block = self._of(words[1])
            first, count = word >> 15 & 0x7FFF, word & 0x7FFF
            if count == 0 or first + count > len(block.instructions):
                raise Broken(f"part {first}+{count} of {len(block.instructions)}")
            runs.append((block, first, count, 1))
        elif word:
            block = self._of(word)
            runs.append((block, 0, len(block.instructions), 1))

    def _of(self, number):
        if number not in self.blocks:
            raise Broken(f"block {number} runs, which is unknown")
        return self.blocks[number]

    def instructions(self, thread):
        """(number, address, bytes) of a thread's instructions, without gaps."""
        number = 0
        for block, first, count, times in self.runs[thread]:
            for _ in range(times):
                if block:
                    for address, code in block.instructions[first:first + count]:
                        yield number, address, code
                        number += 1
                else:
                    number += count

    def count(self):
        return sum(count * times for runs in self.runs.values()
                   for block, _, count, times in runs if block)


def read(path, cut=False):
    with open(path, "rb") as file:
        return Trace(file.read(), cut)
