#!/usr/bin/env python3
"""What the order of a dereference costs: on x86-64 nothing, on aarch64 one ordered load. Compilers for both make assembly of the inline
functions; nothing of it is run."""

import os
import re
import shutil

from support import SOURCE, check, finish, in_scratch, run, skip

TEXT = """
#include <coex/gc.h>
void *deref(coex_handle h) { return coex_gc_handle_deref(h); }
coex_handle load(coex_handle h) { return coex_gc_load(h, 8); }
"""
# All that gc.h wants of it. With this no headers of the target's C library are needed.
PTHREAD = "typedef unsigned long pthread_t;\ntypedef struct { long words[8]; } pthread_mutex_t;\n"


def assembly(compiler, relaxed):
    """The instructions of each function, without labels and directives."""
    options = ["-O2", "-S", "-ffreestanding", "-std=c11", "-I", in_scratch(""), "-I", os.path.join(SOURCE, "include"), "-o", "-"]
    if relaxed:
        options += ["-Wno-builtin-macro-redefined", "-U__ATOMIC_ACQUIRE", "-D__ATOMIC_ACQUIRE=__ATOMIC_RELAXED"]
    functions, name = {}, None
    for line in run(compiler + options + [in_scratch("orders.c")]).splitlines():
        line = re.split(r"\s*(?://|#(?!\d|-))", line)[0]
        label = re.match(r"(deref|load):", line)
        if label:
            name = label[1]
            functions[name] = []
        elif name and re.match(r"\s+[a-z]", line):
            functions[name].append(line.strip())
    check(set(functions) == {"deref", "load"}, "both functions by %s: %s" % (compiler, functions))
    return functions


def count(code, pattern):
    return sum(bool(re.match(pattern, line)) for line in code)


def check_x86_64(compiler):
    ordered, plain = assembly(compiler, False), assembly(compiler, True)
    check(ordered == plain, "%s: the same instructions with and without order:\n%s\n%s" % (compiler, ordered, plain))
    for name, code in ordered.items():
        check(count(code, r"mov.*\(.*\), *%") > 0 and not re.search(r"\b(lock|[ml]fence|xchg)", "\n".join(code)),
              "%s: plain loads in %s:\n%s" % (compiler, name, code))


def check_aarch64(compiler):
    ordered, plain = assembly(compiler, False), assembly(compiler, True)
    for name, wanted in (("deref", 1), ("load", 2)):  # the slot; the slot and the field
        code = ordered[name]
        check(count(code, r"ld(ar|apr)\b") == wanted, "%s: ordered loads in %s: %s" % (compiler, name, code))
        check(count(code, r"ld") == count(plain[name], r"ld"), "%s: no load more in %s: %s" % (compiler, name, code))
        check(count(code, r"(dmb|dsb|isb|ldxr|ldaxr|stxr|stlxr|stlr|swp|cas)") == 0,
              "%s: no fence in %s: %s" % (compiler, name, code))


def main():
    for name, text in (("orders.c", TEXT), ("pthread.h", PTHREAD)):
        with open(in_scratch(name), "w", encoding="utf-8") as file:
            file.write(text)
    done = []
    for name, arguments, look in (("clang", ["--target=x86_64-linux-gnu", "-nostdlibinc"], check_x86_64),
                                  ("clang", ["--target=aarch64-linux-gnu", "-nostdlibinc"], check_aarch64),
                                  ("x86_64-linux-gnu-gcc", [], check_x86_64),
                                  ("aarch64-linux-gnu-gcc", [], check_aarch64)):
        path = shutil.which(name)
        if path:
            look([path] + arguments)
            done.append(" ".join([name] + arguments[:1]))
    if not done:
        skip("there is no clang here, and no gcc for aarch64")
    print("looked at what these make: " + "; ".join(done))


main()
finish(0)
