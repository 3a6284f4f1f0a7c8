# SPDX-License-Identifier: BSL-1.0
#
# Commands for gdb, in a running program and in a core file; they change nothing in either:
#
#   leat gs            all Gs: number, state, name, and where in the program's own code they stand
#   leat bt G          the stack of one, by number or name
#   leat g G           goes there: bt, up, down, frame N, info locals; `leat g` alone goes back to the thread
#
# It is part of every program with Leat (section .debug_gdb_scripts), and gdb loads it by itself from folders that it may
# trust: `add-auto-load-safe-path FOLDER` in ~/.gdbinit. `source PREFIX/share/leat/leat-gdb.py` does the same by hand.
#
# Stepping: `next` and `finish` over a call that parks wait for the same thread to come back to the same frame. The G may
# wake up on another one, also with procs = 1, since a thread that gdb holds for longer than a slice loses its P; then
# the program runs on, as after `continue`. So set a breakpoint behind such a call (`tbreak 123`, `continue`), or debug with
# procs = 1 and slice = "1h".
#
# Types are not needed, only symbols: debugger.cpp tells where things are. The stack of a parked G is shown by telling gdb
# that the caller of the selected thread's innermost frame is the place where the G will go on.

import re
import struct

import gdb
import gdb.unwinder

FIELDS = ("version", "current", "chunks", "n_chunks", "chunk_gs", "g_size", "g_id", "g_status", "g_reason", "g_extras",
          "g_waits_in", "g_name", "g_sp", "g_on", "g_stack", "m_tid", "saved_fp", "saved_pc")
VERSION = 1
STATES = ("idle", "runnable", "running", "syscall", "waiting", "preempted", "dead", "quarantined")
REASONS = ("", "sleep", "join", "drain", "send", "receive", "select", "mutex", "condition", "semaphore", "io", "park")
NAMED = 1


def memory(address, size):
    return gdb.selected_inferior().read_memory(address, size).tobytes()


def word(address):
    return struct.unpack("Q", memory(address, 8))[0]


def byte(address):
    return memory(address, 1)[0]


def text(address, most=64):
    out = b""
    while len(out) < most and (c := memory(address + len(out), 1)) != b"\0":
        out += c
    return out.decode("utf-8", "replace")


def name_in(names, number):
    return names[number] if number < len(names) else "(%d)" % number


class Layout:
    def __init__(self):
        try:
            at = int(gdb.parse_and_eval("(unsigned long)&leat_debugger_layout"))
            values = struct.unpack("%dQ" % len(FIELDS), memory(at, 8 * len(FIELDS)))
        except gdb.error as e:
            raise gdb.GdbError("no program with Leat is being debugged, or it has not been started: %s" % e)
        self.__dict__.update(zip(FIELDS, values))
        if self.version != VERSION:
            raise gdb.GdbError("this script is of another version of Leat than the program")


class G:
    def __init__(self, layout, at):
        self.layout = layout
        self.at = at
        self.id = word(at + layout.g_id)
        self.status = name_in(STATES, byte(at + layout.g_status))
        self.reason = name_in(REASONS, byte(at + layout.g_reason))
        self.name = text(at + layout.g_name, 24) if byte(at + layout.g_extras) & NAMED else ""

    def is_there(self):
        return self.status not in ("idle", "dead")

    def state(self):
        if self.status != "waiting" or not self.reason:
            return self.status
        if self.reason == "io" and (waits_in := word(self.at + self.layout.g_waits_in)):
            return "waiting: " + text(waits_in)
        return "waiting: " + self.reason

    def thread(self):
        """The thread that it runs on, or None."""
        if self.status not in ("running", "syscall", "quarantined") or not (on := word(self.at + self.layout.g_on)):
            return None
        tid = struct.unpack("i", memory(on + self.layout.m_tid, 4))[0]
        return next((t for t in gdb.selected_inferior().threads() if t.ptid[1] == tid), None)

    def resumes_at(self):
        """Where it will go on: stack pointer, frame pointer, instruction. None: it has no stack yet."""
        layout = self.layout
        sp = word(self.at + layout.g_sp)
        if not sp or not word(self.at + layout.g_stack) or not layout.saved_pc:
            return None
        fp, pc = word(sp + layout.saved_fp), word(sp + layout.saved_pc)
        sp += 16
        if is_x86():
            code = memory(pc, 12)
            if code.startswith(b"\xf3\x0f\x1e\xfa"):  # endbr64
                pc, code = pc + 4, code[4:]
            if code.startswith(b"\x48\x8d\xa4\x24"):  # lea 128(%rsp), %rsp: behind the red zone
                pc, sp = pc + 8, sp + struct.unpack("i", code[4:8])[0]
        return sp, fp, pc

    def addresses(self, most=64):
        """By frame pointers; as leat's own reports do it."""
        where = self.resumes_at()
        if not where:
            return
        sp, fp, pc = where
        yield pc
        for _ in range(most):
            if fp < sp or fp % 8:
                return
            fp, pc = word(fp), word(fp + 8)
            if pc < 4096:
                return
            yield pc


def is_x86():
    return "x86-64" in gdb.selected_inferior().architecture().name()


def all_gs(layout):
    scheduler = word(layout.current)
    if not scheduler:
        raise gdb.GdbError("no runtime is running: leat::run has not begun, or is over")
    chunks = word(scheduler + layout.chunks)
    for i in range(word(scheduler + layout.n_chunks)):
        chunk = word(chunks + 8 * i)
        for k in range(layout.chunk_gs):
            g = G(layout, chunk + k * layout.g_size)
            if g.is_there():
                yield g


def find(layout, what):
    gs = list(all_gs(layout))
    found = [g for g in gs if str(g.id) == what] or [g for g in gs if g.name == what]
    if not found:
        raise gdb.GdbError("there is no G '%s'; `leat gs` lists them" % what)
    if len(found) > 1:
        raise gdb.GdbError("%d Gs are called '%s'; take a number of: %s" %
                           (len(found), what, " ".join(str(g.id) for g in found)))
    return found[0]


def function_at(pc):
    block = gdb.block_for_pc(pc)
    while block and not block.function:
        block = block.superblock
    if block:
        return block.function.print_name
    symbol = gdb.execute("info symbol 0x%x" % pc, to_string=True)
    return "" if symbol.startswith("No symbol") else re.sub(r" \+ \d+ in section .*| in section .*", "", symbol).strip()


def place(pc):
    """function at file:line of a return address."""
    function = function_at(pc - 1) or "0x%x" % pc
    line = gdb.find_pc_line(pc - 1)
    if line.symtab and line.line:
        return "%s at %s:%d" % (function, line.symtab.filename.rsplit("/", 1)[-1], line.line)
    return function


def is_ours(function):
    return function.startswith(("leat::", "std::", "void leat::", "void std::")) or "leat::sched::" in function


def stands_at(g):
    thread = g.thread()
    if thread:
        return "on thread %d" % thread.num
    try:
        addresses = list(g.addresses(32))
    except gdb.MemoryError:
        return "?"
    if not addresses:
        return "not started yet"
    own = [pc for pc in addresses if not is_ours(function_at(pc - 1))]
    return place((own or addresses)[0])


def stack_of(g):
    try:
        where = g.resumes_at()
    except gdb.MemoryError:
        raise gdb.GdbError("its stack is not in the core file: those that gdb writes itself (gcore) end at the first guard "
                           "page; the kernel's have all stacks")
    if not where:
        raise gdb.GdbError("it has not been started yet, and has no stack")
    return where


class FrameId:
    def __init__(self, sp, pc):
        self.sp = sp
        self.pc = pc


class Resumption(gdb.unwinder.Unwinder):
    """Makes the place where a G will go on the caller of the selected thread's innermost frame."""

    def __init__(self):
        super().__init__("leat")
        self.target = None

    def __call__(self, pending):
        if not self.target:
            return None
        thread, registers, innermost = self.target
        if gdb.selected_thread() is None or gdb.selected_thread().ptid != thread:
            return None
        if (int(pending.read_register(registers[0])), int(pending.read_register(registers[2]))) != innermost[:2]:
            return None
        sp, fp, pc = innermost[2]
        # Its own id is below those of the G, as a frame's is that is called by them.
        info = pending.create_unwind_info(FrameId(gdb.Value(sp - 16), pending.read_register(registers[2])))
        # One further: of a caller, gdb looks at the instruction before.
        for register, value in zip(registers, (sp, fp, pc + 1)):
            kind = pending.read_register(register).type
            info.add_saved_register(register, gdb.Value(value).cast(kind))
        return info

    def show(self, where):
        if where is None:
            self.target = None
        else:
            registers = ("rsp", "rbp", "rip") if is_x86() else ("sp", "x29", "pc")
            self.target = None
            gdb.invalidate_cached_frames()
            frame = gdb.newest_frame()
            innermost = tuple(int(frame.read_register(r)) for r in (registers[0], registers[2]))
            self.target = (gdb.selected_thread().ptid, registers, innermost + (where,))
        gdb.invalidate_cached_frames()


resumption = Resumption()
gdb.unwinder.register_unwinder(None, resumption, replace=True)


class Leat(gdb.Command):
    """Gs of a program with Leat. `help leat` lists what there is."""

    def __init__(self):
        super().__init__("leat", gdb.COMMAND_STACK, prefix=True)


class Gs(gdb.Command):
    """leat gs: all Gs, with number, state, name, and where in the program's own code they stand."""

    def __init__(self):
        super().__init__("leat gs", gdb.COMMAND_STACK)

    def invoke(self, argument, from_tty):
        rows = [("G", "state", "name", "where")]
        rows += [(str(g.id), g.state(), g.name, stands_at(g)) for g in sorted(all_gs(Layout()), key=lambda g: g.id)]
        widths = [max(len(r[i]) for r in rows) for i in range(3)]
        for r in rows:
            gdb.write("%s  %s  %s  %s\n" % (r[0].rjust(widths[0]), r[1].ljust(widths[1]), r[2].ljust(widths[2]), r[3]))


class Bt(gdb.Command):
    """leat bt G: the stack of a G, by number or name."""

    def __init__(self):
        super().__init__("leat bt", gdb.COMMAND_STACK)

    def invoke(self, argument, from_tty):
        if not argument:
            raise gdb.GdbError("which G? As in: leat bt 7, or: leat bt NAME")
        g = find(Layout(), argument)
        gdb.write("G %d%s, %s\n" % (g.id, " '%s'" % g.name if g.name else "", g.state()))
        thread = g.thread()
        if thread:
            gdb.execute("thread apply %d bt" % thread.num)
            return
        where = stack_of(g)
        before = resumption.target
        resumption.show(where)
        try:
            shown = gdb.execute("with width 0 -- bt", to_string=True)
        finally:
            resumption.target = before
            gdb.invalidate_cached_frames()
        # The first frame is the thread's.
        for line in shown[shown.find("\n#1 ") + 1:].splitlines():
            gdb.write(re.sub(r"^#(\d+)( *)", lambda m: ("#%d" % (int(m[1]) - 1)).ljust(4), line) + "\n")


class Goto(gdb.Command):
    """leat g G: bt, up, down, frame and info locals are about that G, until the program goes on. Alone: goes back."""

    def __init__(self):
        super().__init__("leat g", gdb.COMMAND_STACK)

    def invoke(self, argument, from_tty):
        if not argument:
            resumption.show(None)
            gdb.execute("frame 0")
            return
        g = find(Layout(), argument)
        thread = g.thread()
        if thread:
            resumption.show(None)
            thread.switch()
            gdb.execute("frame 0")
            return
        resumption.show(stack_of(g))
        gdb.execute("frame 1")


def forget(event):
    resumption.target = None


Leat()
Gs()
Bt()
Goto()
gdb.events.cont.connect(forget)
