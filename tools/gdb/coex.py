"""Commands for gdb that look into a program that uses the Coex collector: a live process that is stopped, or a core file.

    (gdb) source coex.py
    (gdb) coex-heap             phase, sizes, blocks, handles, and the largest types
    (gdb) coex-handle 42        one object: bits, header, fields
    (gdb) coex-stacks           every thread's shadow stack, frame by frame

They read memory and call nothing, so the program may have stopped anywhere, also inside the collector. The library needs
debug information (-g, or its separate debug file).

Memory is not trusted: it may be what a fault left behind. Names are printed with their control characters escaped, numbers that
index a list are checked, and what can't be read is said to be so.
"""

import struct

import gdb

HANDLE_BITS = 36
TYPE_SHIFT = 36
FLAGS_SHIFT = 56
TYPE_MASK = (1 << 20) - 1
INDEX_MASK = (1 << HANDLE_BITS) - 1
LOCAL_BIT = 1 << 63
IMMEDIATE_BIT = 1 << 62
WORD_MASK = (1 << 64) - 1
BLOCK_BYTES = 32768
BLOCK_STATES = ["unused", "free", "owned", "used", "partial", "sweeping"]
PHASES = ["idle", "sync", "roots", "mark", "sweep"]
MODES = ["managed", "native", "claimed"]
REQUESTS = ["none", "sync", "roots", "flush", "idle"]
NAME_BYTES = 200
TYPES_MOST = 1 << 20


def visible(text):
    """A name without anything that a terminal would obey: what can't be seen becomes \\xNN for each of its bytes."""
    escaped = (c if c.isprintable() else "".join("\\x%02x" % byte for byte in c.encode("utf-8", "surrogateescape")) for c in text)
    return "".join(escaped)


def named(names, number):
    """The name of a state, or its number where memory is broken."""
    return names[number] if 0 <= number < len(names) else "%d (unknown)" % number


class Memory:
    """Reads the inferior in large pieces, and keeps them for one command."""

    PIECE = 1 << 16

    def __init__(self):
        self.inferior = gdb.selected_inferior()
        self.pieces = {}

    def read(self, address, length):
        return bytes(self.inferior.read_memory(address, length))

    def word(self, address):
        """The 64-bit word at an address, or None if there is no memory."""
        start = address // self.PIECE * self.PIECE
        if start not in self.pieces:
            try:
                self.pieces[start] = self.read(start, self.PIECE)
            except gdb.MemoryError:
                self.pieces[start] = None
        piece = self.pieces[start]
        try:
            if piece is None or address - start > self.PIECE - 8:
                return struct.unpack("<Q", self.read(address, 8))[0]
        except gdb.MemoryError:
            return None
        return struct.unpack_from("<Q", piece, address - start)[0]

    def words(self, address, count):
        """Words in a row; zeros if there is no memory."""
        try:
            return struct.unpack("<%dQ" % count, self.read(address, 8 * count))
        except gdb.MemoryError:
            return (0,) * count

    def name(self, address):
        """The C string at an address, made visible, and cut if it is long."""
        raw = b""
        while b"\0" not in raw and len(raw) < NAME_BYTES:
            try:
                raw += self.read(address + len(raw), 1 if address + len(raw) & 7 else 8)
            except gdb.MemoryError:
                break
        if not raw:
            return "(a name that can't be read)"
        return visible(raw.split(b"\0")[0][:NAME_BYTES].decode("utf-8", "surrogateescape"))


class World:
    """The collector's state, as plain numbers."""

    def __init__(self):
        try:
            self.world = gdb.parse_and_eval("&cx_world").dereference()
        except gdb.error:
            raise gdb.GdbError("coex: this program has no Coex collector, or no debug information of it")
        if int(self.world["generation"]["v"]) % 2 == 0:
            raise gdb.GdbError("coex: the collector is not running here (before coex_gc_init, or after shutdown)")
        self.memory = Memory()
        self.handles = self.world["handles"]
        self.heap = self.world["heap"]
        self.committed = int(self.handles["committed"]["v"])
        self.table = int(self.handles["table"])
        self.bitmaps = {name: int(self.handles[name]) for name in ("allocated", "marked", "born", "retired")}
        self.types = self._read_types()

    def _read_types(self):
        types = {}
        base = self.world["types"]["range"]["base"].cast(gdb.lookup_type("struct cx_type").pointer())
        for number in range(1, min(int(self.world["types"]["count"]["v"]), TYPES_MOST) + 1):
            types[number] = Type(self.memory, number, base[number])
        return types

    def bit(self, bitmap, index):
        word = self.memory.word(self.bitmaps[bitmap] + index // 64 * 8)
        return word is not None and bool(word >> (index % 64) & 1)

    def payload(self, index):
        return self.memory.word(self.table + 8 * index) or 0

    def header(self, payload):
        return self.memory.word(payload - 8)

    def type_of(self, payload):
        header = self.header(payload)
        return None if header is None else self.types.get(header >> TYPE_SHIFT & TYPE_MASK)

    def size(self, payload, kind):
        return kind.size or self.memory.word(payload - 16) or 0

    def name(self, word):
        """What a reference is, in a few words."""
        if word == 0:
            return "null"
        if word & IMMEDIATE_BIT:
            return "immediate %d" % (word & (IMMEDIATE_BIT - 1))
        index = word & INDEX_MASK
        if index >= self.committed:
            return "%d (no handle)" % word
        payload = self.payload(index)
        if payload == 0:
            return "%d (no object%s)" % (index, ", retired" if self.bit("retired", index) else "")
        kind = self.type_of(payload)
        return "%d %s" % (index, kind.name if kind else "(header of no type)")


class Type:
    def __init__(self, memory, number, value):
        self.number = number
        self.size = int(value["size"])
        self.flags = int(value["flags"])
        self.array_offset = int(value["array_offset"])
        self.traced = int(value["trace"]) != 0
        self.fields = []
        self.name = "(type %d, which can't be read)" % number
        try:
            self._describe(memory, value["descriptor"].dereference())
        except gdb.MemoryError:
            pass

    def _describe(self, memory, descriptor):
        self.name = memory.name(int(descriptor["name"]))
        names = descriptor["ref_names"]
        for i in range(int(descriptor["ref_count"])):
            name = memory.name(int(names[i])) if int(names) else "field"
            self.fields.append((int(descriptor["ref_offsets"][i]), name))


def plural(count, what):
    return "%s %s%s" % (format(count, ","), what, "" if count == 1 else "s")


class CoexHeap(gdb.Command):
    """Show the collector's state, and the largest types: coex-heap [number of types]."""

    def __init__(self):
        super().__init__("coex-heap", gdb.COMMAND_DATA)

    def invoke(self, argument, from_tty):
        rows = int(gdb.parse_and_eval(argument)) if argument.strip() else 10
        world = World()
        self.state(world)
        self.blocks(world)
        self.objects(world, rows)

    def state(self, world):
        heap = world.heap
        print("phase       %s, cycle %d" % (named(PHASES, int(world.world["phase"]["v"])), int(world.world["cycle"]["v"])))
        limit = int(heap["limit"])
        used = int(heap["used"]["v"])
        print("heap        %s bytes in use%s" % (format(used, ","), ", limit %s" % format(limit, ",") if limit else ""))
        registry = world.world["registry"]
        print("threads     %s registered" % format(int(registry["live"]["v"]), ","))
        claimed, recycled = int(world.handles["claimed"]["v"]), int(world.handles["recycled"]["v"])
        print("handles     %s of %s taken, %s retired" % (format(claimed - recycled, ","), format(world.committed, ","),
                                                          format(int(world.handles["retired_now"]["v"]), ",")))

    def blocks(self, world):
        count = int(world.heap["count"]["v"])
        size = gdb.lookup_type("struct cx_block").sizeof
        states = [0] * len(BLOCK_STATES)
        if count:
            raw = world.memory.read(int(world.heap["blocks"]), count * size)
            for i in range(count):
                state = struct.unpack_from("<I", raw, i * size)[0]
                states[state if state < len(states) else 0] += 1
        told = ", ".join("%d %s" % (n, BLOCK_STATES[i]) for i, n in enumerate(states) if n)
        print("blocks      %d of %d bytes: %s" % (count, BLOCK_BYTES, told or "none"))

    def objects(self, world, rows):
        sums = {}
        for index, payload in self.each(world):
            kind = world.type_of(payload)
            if kind is None:
                continue
            entry = sums.setdefault(kind.number, [0, 0])
            entry[0] += 1
            entry[1] += (world.size(payload, kind) + (8 if kind.size else 16) + 7) & ~7
        total = sum(entry[0] for entry in sums.values())
        print("objects     %s, %s bytes (dead ones that are not swept yet are among them)"
              % (format(total, ","), format(sum(entry[1] for entry in sums.values()), ",")))
        print("%12s %14s  %s" % ("objects", "bytes", "type"))
        for number, (count, size) in sorted(sums.items(), key=lambda item: -item[1][1])[:rows]:
            print("%12s %14s  %s" % (format(count, ","), format(size, ","), world.types[number].name))

    def each(self, world):
        """Every handle with an object. Words of the bitmap first: most of a table is empty."""
        step = 8192
        for start in range(0, world.committed // 64, step):
            count = min(step, world.committed // 64 - start)
            allocated = world.memory.words(world.bitmaps["allocated"] + 8 * start, count)
            for word, bits in enumerate(allocated):
                if bits == 0:
                    continue
                slots = world.memory.words(world.table + 8 * 64 * (start + word), 64)
                for i, payload in enumerate(slots):
                    if bits >> i & 1 and payload:
                        yield (start + word) * 64 + i, payload


class CoexHandle(gdb.Command):
    """Show one object: coex-handle HANDLE. The handle may be any expression."""

    def __init__(self):
        super().__init__("coex-handle", gdb.COMMAND_DATA, gdb.COMPLETE_EXPRESSION)

    def invoke(self, argument, from_tty):
        if not argument.strip():
            raise gdb.GdbError("coex-handle: which handle?")
        word = int(gdb.parse_and_eval(argument)) & WORD_MASK
        world = World()
        index = word & INDEX_MASK
        if word == 0 or word & IMMEDIATE_BIT or index >= world.committed:
            print("handle %s: %s" % (argument.strip(), world.name(word)))
            return
        bits = [name for name in ("allocated", "marked", "born", "retired") if world.bit(name, index)]
        payload = world.payload(index)
        print("handle      %d: %s" % (index, ", ".join(bits) if bits else "free"))
        if payload == 0:
            print("object      none")
            return
        self.describe(world, index, payload)

    def describe(self, world, index, payload):
        header = world.header(payload)
        if header is None:
            print("object      at 0x%x, where there is no memory: the table is broken" % payload)
            return
        kind = world.types.get(header >> TYPE_SHIFT & TYPE_MASK)
        print("object      at 0x%x, header 0x%016x%s" % (payload, header, ", frozen" if header >> FLAGS_SHIFT & 1 else ""))
        if header & INDEX_MASK != index:
            print("            its header names handle %d: a stale handle, or broken memory" % (header & INDEX_MASK))
        if kind is None:
            print("type        none has number %d: broken memory" % (header >> TYPE_SHIFT & TYPE_MASK))
            return
        size = world.size(payload, kind)
        print("type        %s (number %d), %s%s" % (kind.name, kind.number, plural(size, "byte"), ", mutable" if kind.flags & 1 else ""))
        self.fields(world, kind, payload, size)

    def fields(self, world, kind, payload, size):
        for offset, name in kind.fields:
            if offset + 8 <= size:
                print("  +%-6d %-14s %s" % (offset, name, world.name(world.memory.word(payload + offset) or 0)))
        if kind.flags & 2:
            count = max(0, (size - kind.array_offset) // 8)
            for i in range(min(count, 16)):
                print("  +%-6d [%d]%s %s" % (kind.array_offset + 8 * i, i, " " * (11 - len(str(i))),
                                             world.name(world.memory.word(payload + kind.array_offset + 8 * i) or 0)))
            if count > 16:
                print("  and %d elements more" % (count - 16))
        if kind.traced:
            print("  its references are known to its trace function alone")
        shown = min(size, 64)
        if shown:
            raw = world.memory.read(payload, shown)
            print("  bytes  " + " ".join(raw[i:i + 8].hex() for i in range(0, shown, 8)) + (" ..." if size > shown else ""))


class CoexStacks(gdb.Command):
    """Show the shadow stack of every thread, the top frame first: coex-stacks [frames of each]."""

    def __init__(self):
        super().__init__("coex-stacks", gdb.COMMAND_STACK)

    def invoke(self, argument, from_tty):
        most = int(gdb.parse_and_eval(argument)) if argument.strip() else 20
        world = World()
        registry = world.world["registry"]
        base = registry["range"]["base"].cast(gdb.lookup_type("struct cx_thread").pointer())
        on_stack = set()
        for number in range(int(registry["count"]["v"])):
            thread = base[number]
            if int(thread["state"]["v"]) == 1:
                on_stack.add(int(thread["shadow"]))
                self.thread(world, thread, most)
        self.suspended(world, on_stack, most)

    def thread(self, world, thread, most):
        requested, acked = int(thread["requested"]["v"]), int(thread["acked"]["v"])
        owes = "" if requested == acked else ", owes an answer to %s" % named(REQUESTS, requested & 7)
        shadow = thread["shadow"].dereference()
        top, bottom = int(thread["words"]["top"]), int(shadow["base"])
        print("thread %d (%s mode%s): %s of shadow stack"
              % (int(thread["os_id"]["v"]), named(MODES, int(thread["mode"]["v"])), owes, plural((top - bottom) // 8, "word")))
        self.frames(world, bottom, top, int(thread["words"]["watermark"]), most)

    def suspended(self, world, on_stack, most):
        stacks = world.world["stacks"]
        base = stacks["range"]["base"].cast(gdb.lookup_type("struct cx_shadow").pointer())
        for number in range(int(stacks["count"]["v"])):
            stack = base[number]
            if int(stack["state"]["v"]) == 1 and int(stack.address) not in on_stack:
                bottom, top = int(stack["base"]), int(stack["top"])
                print("coroutine stack %d: %s" % (number, plural((top - bottom) // 8, "word")))
                self.frames(world, bottom, top, 0, most)

    def frames(self, world, bottom, top, watermark, most):
        end, number = top, 0
        while end > bottom:
            at = end - 8
            if world.memory.word(at) is None:
                print("  no memory at 0x%x: the stack is broken" % at)
                return
            while at > bottom and (world.memory.word(at) or 0) >> 62 != 3:
                at -= 8
            if number == most:
                print("  and more below")
                return
            slots = (end - at) // 8 - 1
            if not (at == bottom and slots == 0):
                frozen = ", frozen for the collector" if end <= watermark else ""
                print("  #%-3d %s%s" % (number, plural(slots, "slot"), frozen))
                for i in range(slots):
                    self.slot(world, i, world.memory.word(at + 8 + 8 * i) or 0)
                number += 1
            end = at

    def slot(self, world, number, word):
        if word & LOCAL_BIT:
            address = word & ~LOCAL_BIT
            value = world.memory.word(address)
            print("       [%d] local at 0x%x: %s" % (number, address, "no memory" if value is None else world.name(value)))
        else:
            print("       [%d] %s" % (number, world.name(word)))


CoexHeap()
CoexHandle()
CoexStacks()
