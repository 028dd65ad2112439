#!/usr/bin/env python3
"""The gdb script on a process that has stopped, and on a core file of it."""

import os
import re

from support import SOURCE, SUBJECT, check, finish, in_scratch, need, run

GDB = need("gdb")
SCRIPT = os.path.join(SOURCE, "tools/gdb/coex.py")
LOOK = ["coex-heap", "coex-handle 100", "coex-handle 0", "coex-handle 4611686018427387911", "coex-stacks"]


def gdb(commands, more):
    arguments = [GDB, "-batch", "-nx", "-ex", "set confirm off", "-ex", "source " + SCRIPT]
    for command in commands:
        arguments += ["-ex", command]
    # Small tables: the core file is as large as what is committed.
    return run(arguments + more, status=None, env=dict(os.environ, COEX_GC="heap=4M,handles=4096", TERM="dumb"))


def check_look(text, where):
    check("Python Exception" not in text and "Error" not in text, "%s: no error:\n%s" % (where, text))
    check(re.search(r"^phase       \w+, cycle \d+$", text, re.M), "%s: the phase:\n%s" % (where, text))
    nodes = re.search(r"^ *([\d,]+) +[\d,]+  node$", text, re.M)
    check(nodes and int(nodes.group(1).replace(",", "")) >= 100000, "%s: the nodes:\n%s" % (where, text))
    check(re.search(r'^ *1 +40  table <"&>$', text, re.M), "%s: the table:\n%s" % (where, text))
    check(re.search(r"^type        node \(number \d+\), 24 bytes$", text, re.M), "%s: the type of a handle:\n%s" % (where, text))
    check(re.search(r"^  \+0      next           \d+ node$", text, re.M), "%s: the field by its name:\n%s" % (where, text))
    check("handle 0: null" in text and "immediate 7" in text, "%s: what is no handle:\n%s" % (where, text))
    stack = text[text.index("(managed mode"):]
    check(re.search(r"#0   1 slot\n +\[0\] local at 0x[0-9a-f]+: \d+ node\n", stack), "%s: the pushed frame:\n%s" % (where, text))
    check(re.search(r'#1   3 slots\n +\[0\] \d+ node\n +\[1\] \d+ table <"&>', stack), "%s: the entered frame:\n%s" % (where, text))


def check_names():
    """Names that are escape sequences, a forged row, and not UTF-8."""
    text = gdb(["run abort-names", "coex-heap 20", "coex-stacks", "kill"], [SUBJECT])
    shown = text[text.index("phase "):]
    check(not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\ufffd]", shown), "no control characters: %r" % shown)
    check("evil\\x1b]0;owned\\x07\\x0d\\x1b[31m" in shown, "the name with its escapes: %r" % shown)
    check(not re.search(r"^ *9,999,999", shown, re.M) and "row\\x0a   9,999,999" in shown, "no row is forged: %r" % shown)
    check("raw \\xff\\xc0 \\xc2\\x9b" in shown and "\\xe2\\x80\\xaegnol" in shown, "bytes by their numbers: %r" % shown)


def check_broken_memory():
    """What a fault has overwritten is said to be so; the rest is shown."""
    text = gdb(["run abort", "set var cx_world.phase.v = 99", "set var ((struct cx_type *)cx_world.types.range.base)[node_type].descriptor = 8",
                "set var coex_gc_self->top = (void *)0x7ffffffffff000", "coex-heap", "coex-stacks", "kill"], [SUBJECT])
    check("Python Exception" not in text, "no error:\n" + text)
    check(re.search(r"^phase       99 \(unknown\), cycle \d+$", text, re.M), "the phase by its number:\n" + text)
    check(re.search(r"^ *[\d,]+ +[\d,]+  \(type \d+, which can't be read\)$", text, re.M), "the type by its number:\n" + text)
    check("the stack is broken" in text, "the stack:\n" + text)


def main():
    core = in_scratch("core")
    text = gdb(["run abort"] + LOOK + ["gcore " + core, "kill"], [SUBJECT])
    if "ptrace: Operation not permitted" in text:
        print("skipped: this machine lets nobody debug")
        finish(77)
    check_look(text, "live")
    check(os.path.exists(core), "a core file:\n" + text)
    check(os.path.getsize(core) < 1 << 30, "what is reserved and not used is not in the core file: %d bytes" % os.path.getsize(core))
    check_look(gdb(LOOK, [SUBJECT, core]), "core")
    check_names()
    check_broken_memory()
    check("the collector is not running here" in gdb(["break main", "run abort", "coex-heap", "kill"], [SUBJECT]), "before init")
    check("has no Coex collector" in gdb(["coex-heap"], ["/bin/true"]), "another program")


main()
finish(0)
