#!/usr/bin/env python3
"""The probes for tracers are in the program, each a nop: readelf shows the notes, objdump what lies at their addresses. gdb stops at one
and bpftrace counts them, where these are installed and may do so."""

import os
import re
import shutil
import subprocess

from support import SUBJECT, check, finish, in_scratch, need, run, skip

WANTED = ["gc__begin", "gc__end", "mark__end", "sweep__end", "stage__end", "stop", "handshake", "request", "answered__for",
          "thread__late", "alloc__sample"]


def check_gdb():
    """Stops at the end of the first cycle, and reads the probe's arguments."""
    gdb = shutil.which("gdb")
    if gdb is None:
        return "there is no gdb here"
    text = run([gdb, "-batch", "-nx", "-ex", "set confirm off", "-ex", "break -probe-stap coexgc:gc__end",
                "-ex", "run prometheus " + in_scratch("gdb"), "-ex", "print $_probe_arg0", "-ex", "print $_probe_arg1", "-ex", "kill", SUBJECT],
               status=None, env=dict(os.environ, TERM="dumb"))
    if "ptrace: Operation not permitted" in text:
        return "gdb may not trace here"
    check("$1 = 1\n" in text and re.search(r"^\$2 = [1-9]\d*$", text, re.M), "gdb at the end of cycle 1:\n" + text)
    return "gdb stopped at one"


def check_bpftrace():
    """The ends of all cycles: as many as the last one's number says."""
    bpftrace = shutil.which("bpftrace")
    if bpftrace is None:
        return "there is no bpftrace here"
    hello = subprocess.run([bpftrace, "-e", "BEGIN { exit(); }"], capture_output=True)
    if hello.returncode != 0:
        return "bpftrace may not trace here"
    script = "usdt:%s:coexgc:gc__end { @count = count(); @last = max(arg0); @longest = max(arg1); }" % SUBJECT
    text = run([bpftrace, "-e", script, "-c", "%s prometheus %s" % (SUBJECT, in_scratch("bpftrace"))])
    with open(in_scratch("bpftrace"), encoding="utf-8") as file:
        cycles = int(re.search(r"^coexgc_cycles_total (\d+)$", file.read(), re.M)[1])
    seen = {name: int(number) for name, number in re.findall(r"^@(\w+): (\d+)$", text, re.M)}
    check(seen.get("count", 0) >= cycles > 0, "bpftrace has seen the %d cycles:\n%s" % (cycles, text))
    check(seen["count"] == seen["last"] and seen["longest"] > 0, "the arguments are number and nanoseconds:\n" + text)
    return "bpftrace counted %d cycles" % seen["count"]


def main():
    readelf, objdump = need("readelf"), need("objdump")
    has = subprocess.run(["cc", "-E", "-include", "sys/sdt.h", "-xc", "/dev/null"], capture_output=True)
    notes = run([readelf, "-n", "--wide", SUBJECT])
    if has.returncode != 0 and "stapsdt" not in notes:
        skip("there is no <sys/sdt.h> here: the library was built without probes")
    found = re.findall(r"Provider: coexgc\s+Name: (\S+)\s+Location: 0x([0-9a-f]+)", notes)
    for name in WANTED:
        places = [int(place, 16) for probe, place in found if probe == name]
        check(places, "the probe %s: %s" % (name, sorted({probe for probe, _ in found})))
        for place in places:
            code = run([objdump, "-d", "--start-address=0x%x" % place, "--stop-address=0x%x" % (place + 1), SUBJECT])
            if os.uname().machine == "x86_64":
                check(re.search(r"\b90\s+nop", code), "a nop at the probe %s:\n%s" % (name, code))
    print("%d probes, %d places; %s; %s" % (len({name for name, _ in found}), len(found), check_gdb(), check_bpftrace()))


main()
finish(0)
