#!/usr/bin/env python3
"""Chromium's own developer tools open what the library writes: their memory panel's loader a heap snapshot, their performance panel's model
an event trace."""

import json
import os

from support import check, finish, in_scratch, install_viewers, make, need, run


def main():
    node, chromium = need("node"), need("chromium")
    folder = install_viewers()
    text = run([node, os.path.join(folder, "devtools.js"), chromium, in_scratch("profile"), make("snapshot", "own.heapsnapshot"),
                make("trace", "trace.json")], env=dict(os.environ, HOME=in_scratch("")), timeout=300)
    found = json.loads(text.strip().splitlines()[-1])
    snapshot, trace = found["snapshot"], found["trace"]
    check(snapshot["node"] == 100000, "the nodes: %s" % snapshot)
    check(snapshot["bytes"] == 100000 * 32 + 40, "the bytes of all objects: %s" % snapshot)
    check(snapshot["retained"] == 40, "the list has another root, the table retains itself: %s" % snapshot)
    check(trace["generic"] and trace["lanes"].get("collector", 0) > 100, "the collector's lane: %s" % trace)
    check(len(trace["lanes"]) >= 3, "lanes of threads: %s" % trace)
    for stage in ("clear marks", "roots", "mark", "sweep handles", "sweep lines"):
        check(trace["inside"].get(stage) == "cycle", "%s lies in its cycle: %s" % (stage, trace))
    check(trace["inside"].get("handshake") in ("sync", "roots", "flush", "idle"), "handshakes lie in their stages: %s" % trace)
    print("%d nodes, %d lanes" % (snapshot["nodes"], len(trace["lanes"])))


main()
finish(0)
