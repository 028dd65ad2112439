#!/usr/bin/env python3
"""`go tool pprof` reads the profile: names of functions, what is in use, what was allocated, and types."""

import os
import re

from support import SUBJECT, check, finish, in_scratch, need, run

GO = need("go")


def pprof(options, path):
    return run([GO, "tool", "pprof"] + options + [path], env=dict(os.environ, HOME=in_scratch(""), PPROF_TMPDIR=in_scratch("")))


def megabytes(text, function):
    match = re.search(r"^ *([0-9.]+)(kB|MB) .* %s$" % function, text, re.M)
    return 0 if match is None else float(match.group(1)) * (1 if match.group(2) == "MB" else 1 / 1024)


def check_profile(subject):
    """What the subject's profile shows, and that the library's own frames are not in it."""
    path = in_scratch("profile.pb")
    run([subject, "profile", path])
    text = pprof(["-top"], path)
    check("Type: inuse_space" in text, text)
    check(abs(megabytes(text, "keeper") - 3.05) < 0.5, "keeper holds 3.05 MB:\n" + text)
    check(megabytes(text, "waster") == 0, "waster holds nothing:\n" + text)
    text = pprof(["-top", "-sample_index=alloc_space"], path)
    check(abs(megabytes(text, "keeper") - 3.05) < 0.5 and abs(megabytes(text, "waster") - 19.2) < 1.5, "both have allocated:\n" + text)
    check(" main" in text, "and main has called them:\n" + text)
    check(re.search(r"MB +\S+ +listen_for_requests$", text, re.M), "a name like the library's own is shown:\n" + text)
    check(not re.search(r"%  (coex_|cx_|alloc_|listen_take)", text), "the library's own frames are left out:\n" + text)
    check(re.search(r"type: .*\n.*node", pprof(["-tags"], path)), "samples have their type")


def main():
    for subject in (SUBJECT, SUBJECT + "_shared"):
        check_profile(subject)


main()
finish(0)
