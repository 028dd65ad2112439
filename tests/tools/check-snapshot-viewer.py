#!/usr/bin/env python3
"""A heap snapshot opens in a reader that this project did not write: the parser of memlab, from npm. It is installed into the build
directory at the first run; without npm, or without a network, the test is skipped."""

import os
import shutil
import subprocess
import sys

from support import check, finish, in_scratch, make, need, run, skip

HERE = os.path.dirname(os.path.abspath(__file__))


def install(folder):
    """What viewer/package-lock.json names, once."""
    if os.path.exists(os.path.join(folder, "complete")):
        return
    npm = need("npm")
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    for name in ("package.json", "package-lock.json"):
        shutil.copy(os.path.join(HERE, "viewer", name), folder)
    done = subprocess.run([npm, "ci", "--ignore-scripts", "--no-audit", "--no-fund"], cwd=folder, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=300,
                          env=dict(os.environ, PUPPETEER_SKIP_DOWNLOAD="1"))
    if done.returncode != 0:
        print(done.stdout.decode("utf-8", "replace")[-1500:])
        skip("npm could not install the viewer; is there a network?")
    open(os.path.join(folder, "complete"), "w", encoding="utf-8").close()


def main():
    node = need("node")
    folder = os.path.join(os.path.abspath(sys.argv[1]), "viewer")
    install(folder)
    shutil.copy(os.path.join(HERE, "viewer", "open.js"), folder)
    snapshot = make("snapshot", "own.heapsnapshot")
    text = run([node, os.path.join(folder, "open.js"), snapshot], env=dict(os.environ, HOME=in_scratch("")), timeout=300)
    print(text.strip())
    check("opened:" in text, "the snapshot opens")


main()
finish(0)
