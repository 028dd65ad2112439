#!/usr/bin/env python3
"""The probes for tracers are in the program, each a nop: readelf shows the notes, objdump what lies at their addresses."""

import os
import re
import subprocess

from support import SUBJECT, check, finish, need, run, skip

WANTED = ["gc__begin", "gc__end", "mark__end", "sweep__end", "stage__end", "stop", "handshake", "request", "answered__for",
          "thread__late", "alloc__sample"]


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
    print("%d probes, %d places" % (len({name for name, _ in found}), len(found)))


main()
finish(0)
