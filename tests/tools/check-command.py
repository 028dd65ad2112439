#!/usr/bin/env python3
"""The command coexgc: help everywhere, one clear line and the right status for whatever is wrong, and the numbers of a snapshot whose
dominators are known."""

import json
import os
import re
import subprocess
from random import Random

from support import COEXGC, SOURCE, check, finish, in_scratch, make, run

COMMANDS = ["report", "snapshot-top", "layout", "bench", "version"]


def write(name, data):
    with open(in_scratch(name), "wb") as file:
        file.write(data.encode() if isinstance(data, str) else data)
    return in_scratch(name)


def refuse(arguments, status, words):
    """Ends with this status after one line with these words on stderr, and nothing on stdout."""
    done = subprocess.run([COEXGC] + arguments, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=60)
    error = done.stderr.decode("utf-8", "replace")
    check(done.returncode == status, "%s ends with %d, not %d: %s" % (arguments, done.returncode, status, error))
    check(error.count("\n") == 1 and words in error, "%s says %r: %r" % (arguments, words, error))
    check(done.stdout == b"", "%s prints nothing else" % arguments)


def check_help():
    for command in COMMANDS:
        text = run([COEXGC, command, "--help"])
        check(text.startswith("usage: coexgc %s" % command), "the help of %s" % command)
        check(command in run([COEXGC, "--help"]), "%s is in the list" % command)
        check(run([COEXGC, "help", command]).startswith("usage: coexgc "), "help %s" % command)
        page = os.path.join(SOURCE, "docs/reference/man/coexgc-%s.1" % command)
        if command != "version":
            check(os.path.exists(page), "the man page %s" % page)
    check(re.fullmatch(r"coexgc \d+\.\d+\.\d+\n", run([COEXGC, "version"])), "the version")
    check(run([COEXGC, "version"]) == run([COEXGC, "--version"]), "both ways to ask for it")
    refuse(["wrong"], 2, "there is no command 'wrong'")
    run([COEXGC], status=2)


def check_misuse():
    refuse(["report"], 2, "which trace?")
    refuse(["report", "a", "b"], 2, "one too many")
    refuse(["report", "-o"], 2, "needs the name of a file")
    refuse(["report", "--wrong"], 2, "no option '--wrong'")
    refuse(["snapshot-top"], 2, "which snapshot?")
    refuse(["snapshot-top", "-n", "x", "f"], 2, "-n takes a number")
    refuse(["layout", "--xml"], 2, "no option '--xml'")
    refuse(["bench", "--threads", "0"], 2, "--threads takes a number")


def check_bad_files():
    trace = open(make("trace", "trace.json"), "rb").read()
    bad = {
        "missing": ("no such file", None),
        "empty": ("the file is empty", b""),
        "text": ("this is not JSON", b"hello"),
        "binary": ("this is not JSON", bytes(range(128, 256)) * 100),
        "cut": ("not complete", trace[: len(trace) // 2]),
        "cut text": ("not complete", b'{"traceEvents":[{"name":"a'),
        "comma": ("a comma is missing", b'{"traceEvents":[{"a":1} {"b":2}]}'),
        "more": ("something follows the end", trace + b"x"),
        "deep": ("levels", b'{"a":' + b"[" * 100000),
        "number": ("not a number", b'{"traceEvents":[{"ts":1.2.3}]}'),
        "other JSON": ("no traceEvents", b'{"a":[1,2,3]}'),
        "a list": ("an event that is no object", b"[1]"),
        "foreign": ("no event in it is of this collector", b'{"traceEvents":[{"ph":"X","name":"x","cat":"y","ts":1,"dur":1}]}'),
        "escape": ("unknown escape", b'{"a":"\\q"}'),
        "control": ("control character", b'{"a":"\x01"}'),
    }
    for name, (words, data) in bad.items():
        path = in_scratch(name) if data is None else write(name, data)
        refuse(["report", path, "-o", in_scratch("no.html")], 1, "No such file" if data is None else words)
        check(not os.path.exists(in_scratch("no.html")), "no page is left behind of %s" % name)
    with open(in_scratch("huge text"), "wb") as file:
        file.write(b'{"a":"')
        for _ in range(200):
            file.write(b"x" * (1 << 20))
        file.write(b'"}')
    refuse(["report", in_scratch("huge text"), "-o", in_scratch("no.html")], 1, "a text of more than")
    refuse(["report", in_scratch("trace.json"), "-o", "/nowhere/at/all.html"], 1, "/nowhere/at/all.html")
    refuse(["report", in_scratch("trace.json"), "-o", in_scratch("trace.json")], 1, "the page would replace the trace")
    check(open(in_scratch("trace.json"), "rb").read() == trace, "the trace is as it was")
    refuse(["snapshot-top", in_scratch("trace.json")], 1, "not a heap snapshot")


def snapshot(nodes, edges, strings, counts):
    meta = {
        "node_fields": ["type", "name", "id", "self_size", "edge_count"],
        "node_types": [["hidden", "object", "synthetic"], "string", "number", "number", "number"],
        "edge_fields": ["type", "name_or_index", "to_node"],
        "edge_types": [["context", "element", "property", "internal", "hidden", "shortcut", "weak"], "string_or_number", "node"],
    }
    flat = []
    for i, (name, size) in enumerate(nodes):
        flat += [1, strings.index(name), 2 * i + 1, size, counts[i]]
    return {"snapshot": {"meta": meta, "node_count": len(nodes), "edge_count": len(edges)}, "nodes": flat,
            "edges": [n for kind, to in edges for n in (kind, 0, to * 5)], "strings": strings}


def check_dominators():
    """root -> a, b; a -> c; b -> c (so c is the root's); a -> d (a's own), d -> e weakly (held by nothing), b -> f -> f."""
    strings = ["", "root", "a", "b", "c", "d", "e", "f"]
    nodes = [("root", 0), ("a", 10), ("b", 20), ("c", 1000), ("d", 300), ("e", 7), ("f", 40)]
    edges = [(2, 1), (2, 2), (2, 3), (2, 4), (2, 3), (2, 6), (6, 5), (2, 6)]
    data = snapshot(nodes, edges, strings, [2, 2, 2, 0, 1, 0, 1])
    text = run([COEXGC, "snapshot-top", write("small.heapsnapshot", json.dumps(data))])
    check("7 nodes, 8 references, 1,377 bytes" in text, text)
    check("1 nodes are held by nothing" in text, text)
    retainers = text[text.index("Largest retainers"):]
    rows = {row.split()[3]: row.split() for row in retainers.splitlines()[2:] if row.strip()}
    wanted = {"a": 310, "b": 60, "c": 1000, "d": 300, "f": 40}
    for name, retained in wanted.items():
        check(float(rows[name][0]) == retained, "%s retains %d: %s" % (name, retained, rows[name]))
    check(rows["d"][4:] == ["<-", "a"], "d is held by a alone: %s" % rows["d"])
    broken = dict(data, edges=data["edges"][:-3])
    refuse(["snapshot-top", write("cut.heapsnapshot", json.dumps(broken))], 1, "the edges do not fit the nodes")
    astray = dict(data, edges=data["edges"][:-1] + [99999])
    refuse(["snapshot-top", write("astray.heapsnapshot", json.dumps(astray))], 1, "leads nowhere")


def reached(count, targets, without):
    """What node 0 reaches if one node is not there."""
    seen, todo = {without}, [0] if without != 0 else []
    while todo:
        node = todo.pop()
        if node not in seen:
            seen.add(node)
            todo += targets[node]
    return seen - {without}


def check_random_graphs():
    """What a node retains is what can't be reached without it: compared for every node of many graphs."""
    random = Random(7)
    for _ in range(30):
        count = random.randrange(2, 30)
        targets = [[random.randrange(count) for _ in range(random.choice((0, 1, 1, 2, 3)))] for _ in range(count)]
        names = ["n%d" % i for i in range(count)]
        sizes = [random.randrange(1, 1000) for _ in range(count)]
        data = snapshot(list(zip(names, sizes)), [(2, to) for list_ in targets for to in list_], names, [len(t) for t in targets])
        text = run([COEXGC, "snapshot-top", "-n", "1000", write("random.heapsnapshot", json.dumps(data))])
        rows = {row.split()[3]: float(row.split()[0]) for row in text[text.index("Largest retainers"):].splitlines()[2:]}
        all_reached = reached(count, targets, None)
        for node in all_reached - {0}:
            retained = sum(sizes[other] for other in all_reached - reached(count, targets, node))
            check(rows[names[node]] == retained, "%s retains %d, not %s, in %s" % (names[node], retained, rows[names[node]], targets))


def check_chain():
    """A list of 100,000: what its head retains is all of it, and only the head is told."""
    count = 100000
    nodes = [("root", 0)] + [("node", 32)] * count
    edges = [(2, i + 1) for i in range(count)]
    data = snapshot(nodes, edges, ["", "root", "node"], [1] * count + [0])
    text = run([COEXGC, "snapshot-top", write("chain.heapsnapshot", json.dumps(data))])
    rows = text[text.index("Largest retainers"):].splitlines()[2:]
    check(len(rows) == 1 and rows[0].split()[:2] == ["3200000", "32"], "the head of the list: %s" % rows)


def check_own_snapshot():
    text = run([COEXGC, "snapshot-top", make("snapshot", "own.heapsnapshot")])
    check(re.search(r"^ *100,000 .* node$", text, re.M), text)
    check(re.search(r"^ *1 .* table <\"&>$", text, re.M), text)


def check_layout():
    layout = json.loads(run([COEXGC, "layout", "--json"]))
    offsets = {word["name"]: word["offset"] for word in layout["thread_words"]}
    check(offsets["top"] == 0 and offsets["table"] == 64, "offsets: %s" % offsets)
    text = run([COEXGC, "layout"])
    check(all(name in text for name in offsets), "the text names every word")
    check(all(number["name"] in text for number in layout["numbers"]), "and every number")


check_help()
check_misuse()
check_bad_files()
check_dominators()
check_random_graphs()
check_chain()
check_own_snapshot()
check_layout()
check("allocated" in run([COEXGC, "bench", "--seconds", "0.3", "--keep", "1000"]), "bench prints what it measured")
finish(0)
