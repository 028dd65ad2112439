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
    check(re.search(r'#1   2 slots\n +\[0\] \d+ node\n +\[1\] \d+ table <"&>', stack), "%s: the entered frame:\n%s" % (where, text))


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
    check("the collector is not running here" in gdb(["break main", "run abort", "coex-heap", "kill"], [SUBJECT]), "before init")
    check("has no Coex collector" in gdb(["coex-heap"], ["/bin/true"]), "another program")


main()
finish(0)
