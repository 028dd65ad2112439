#!/usr/bin/env python3
"""A heap snapshot opens in memlab, a reader that this project did not write."""

import os

from support import check, finish, in_scratch, install_viewers, make, need, run


def main():
    node = need("node")
    folder = install_viewers()
    snapshot = make("snapshot", "own.heapsnapshot")
    text = run([node, os.path.join(folder, "open.js"), snapshot], env=dict(os.environ, HOME=in_scratch("")), timeout=300)
    print(text.strip())
    check("opened:" in text, "the snapshot opens")


main()
finish(0)
