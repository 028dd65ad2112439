#!/usr/bin/env python3
"""coexgc as a hostile user calls it: numbers of any size, files of any shape, names that are escape sequences, and graphs that are
deep. Each file ends in a page or a table of bounded size, or in one line that says what is wrong and where."""

import json
import os
import re
import resource
import subprocess

from support import COEXGC, check, finish, in_scratch

MEGABYTE = 1 << 20
SECONDS = 15  # of a CPU: each command takes well under one, and what is quadratic takes more. The machine may be busy


def limits():
    resource.setrlimit(resource.RLIMIT_FSIZE, (64 * MEGABYTE, 64 * MEGABYTE))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))


def write(name, data):
    with open(in_scratch(name), "wb") as file:
        file.write(data.encode("utf-8", "surrogatepass") if isinstance(data, str) else data)
    return in_scratch(name)


def coexgc(*arguments):
    try:
        done = subprocess.run([COEXGC] + list(arguments), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, timeout=300, preexec_fn=limits)
    except subprocess.TimeoutExpired:
        check(False, "%s does not end" % list(arguments))
    return done.returncode, done.stdout, done.stderr


def report(name, events):
    """The page of a trace with these events."""
    page = in_scratch(name + ".html")
    path = write(name + ".json", events if isinstance(events, (str, bytes)) else json.dumps({"traceEvents": events}))
    status, _, error = coexgc("report", path, "-o", page)
    check(status == 0, "%s: report ends with %d: %r" % (name, status, error))
    with open(page, "rb") as file:
        return file.read().decode("utf-8")


def refuse(command, name, data, words):
    """Ends with status 1 and one line that names the file, the place and these words."""
    path = write(name, data)
    more = ["-o", in_scratch("refused.html")] if command == "report" else []
    status, output, error = coexgc(command, path, *more)
    line = error.decode("utf-8")
    check(status == 1 and output == b"", "%s: %s ends with %d: %r" % (name, command, status, error[-300:]))
    check(line.count("\n") == 1 and words in line, "%s: %s says %r: %r" % (name, command, words, line))
    check(re.search(re.escape(name) + r":\d+:\d+: ", line), "%s: the message names the file and the place: %r" % (name, line))


def span(category, **more):
    return dict({"ph": "X", "cat": category, "name": category, "tid": 1, "ts": 1, "dur": 1}, **more)


def trace_text(text):
    return '{"traceEvents":[' + text + "]}"


# ---------------------------------------------------------------------------------------------------------------- report


def check_large_numbers():
    most = 2 ** 64 - 1
    page = report("largest", [
        span("cycle", ts=most, dur=most, args={"cycle": most, "marked": most, "swept": most, "used_before": most}),
        span("stop", args={"cpu_us": most, "answer_us": most}),
        {"ph": "C", "cat": "heap", "ts": 1, "args": {"used": most, "goal": most, "live": most}},
        {"ph": "C", "cat": "user", "name": "n", "ts": 1, "args": {"value": most}},
        {"ph": "i", "cat": "late", "ts": 1, "tid": 1, "args": {"ms": most}},
    ])
    check(len(page) < MEGABYTE and 'id="timeline"' in page, "the largest numbers that the collector writes have a page")
    check(not re.search(r'="-?(nan|inf)', page), "and it has no infinite coordinates")
    for number in ("1e25", "1e300", "1e999", "-1", "-1e300"):
        for field in ("ts", "dur"):
            text = '{"ph":"X","cat":"cycle","tid":1,"%s":%s}' % (field, number)
            refuse("report", "%s %s.json" % (field, number), trace_text(text), field)
        text = '{"ph":"C","cat":"heap","ts":1,"args":{"used":%s}}' % number
        refuse("report", "used %s.json" % number, trace_text(text), "used")
    page = report("foreign", trace_text('{"ph":"X","cat":"cycle","ts":1,"dur":5},{"ph":"X","cat":"x","ts":1e300,"dur":1e300,'
                                        '"args":{"used":1e300}}'))
    check(len(page) < MEGABYTE, "numbers of other programs in the same file are passed over")


def check_tiny_numbers():
    for number in ("1e-3", "1e-300", "1e-312", "1e-315", "4e-317", "1e-320", "0"):
        events = ('{"ph":"X","cat":"cycle","tid":1,"ts":%s,"dur":%s,"args":{"marked":%s}},{"ph":"C","cat":"heap","ts":%s,'
                  '"args":{"used":%s}},{"ph":"C","cat":"user","name":"c","ts":%s,"args":{"value":%s}}')
        page = report("tiny " + number, trace_text(events % ((number,) * 7)))
        check(len(page) < MEGABYTE, "a trace of %s us has a page of %d bytes" % (number, len(page)))
        check(not re.search(r'="-?(nan|inf)', page), "without infinite coordinates: %s" % number)


def check_many_threads_and_names():
    """150,000 stops in as many threads, whose ids may be zero, negative, or fractions; and as many types, counters and stages."""
    many = range(150000)
    stop = '{"ph":"X","cat":"stop","tid":%s,"ts":1,"dur":1,"args":{"answer_us":1}}'
    for name, form in (("zero", "0"), ("negative", "-%d"), ("fractions", "%d.5"), ("positive", "%d")):
        page = report("threads " + name, trace_text(",".join(stop % (form % i if "%" in form else form) for i in many)))
        check("150,000" in page, "%s: every stop is counted" % name)
    for name, form in (("types", '{"ph":"i","cat":"type","ts":1,"args":{"type":"t%d","live":1,"live_bytes":8}}'),
                       ("counters", '{"ph":"C","cat":"user","name":"c%d","ts":1,"args":{"value":1}}'),
                       ("stages", '{"ph":"X","cat":"stage","name":"s%d","ts":1,"dur":1}')):
        report(name, trace_text(",".join(form % i for i in many) + ',{"ph":"X","cat":"cycle"}'))


def check_maps():
    good = [span("cycle"), {"ph": "i", "cat": "blocks", "ts": 1, "args": {"blocks": 4, "block_bytes": 32768, "full": "09af"}}]
    check('opacity="1.00"' in report("map", good), "a map of blocks")
    bad = json.dumps({"traceEvents": [{"ph": "i", "cat": "blocks", "ts": 1, "args": {"full": "0zf"}}]})
    refuse("report", "map.bad.json", bad, "full")


def check_names_in_pages():
    name = 'a\x1b[31m<b a="\'&>\x07\x9b\u202e\x00end'
    text = report("names in pages", [
        {"ph": "M", "name": "thread_name", "tid": 1, "args": {"name": name}},
        span("stop", args={"answer_us": 1}),
        {"ph": "C", "cat": "user", "name": name, "ts": 1, "args": {"value": 1}},
        {"ph": "i", "cat": "type", "ts": 1, "args": {"type": name, "live": 1, "live_bytes": 8}}, span("cycle")])
    check(not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e]", text), "a page has no control characters")
    check(text.count("a\ufffd[31m&lt;b a=&quot;&#39;&amp;&gt;") >= 3, "names are escaped, and are whole")
    cut = trace_text('{"ph":"X","cat":"cycle"},{"ph":"C","cat":"user","name":"%s"}' % ("\u00e9" * 200))
    check("\u00e9" * 60 in report("cut", cut), "a long name is cut between characters")
    raw = b'{"traceEvents":[{"ph":"X","cat":"cycle"},{"ph":"C","cat":"user","name":"x\xff\xc0\xaf\xed\xa0\x80y"}]}'
    check("x\ufffd\ufffd" in report("raw", raw), "bytes that are not UTF-8 become U+FFFD")


# -------------------------------------------------------------------------------------------------------------- snapshots

META = {
    "node_fields": ["type", "name", "id", "self_size", "edge_count"],
    "node_types": [["hidden", "object", "synthetic"], "string", "number", "number", "number"],
    "edge_fields": ["type", "name_or_index", "to_node"],
    "edge_types": [["context", "element", "property", "internal", "hidden", "shortcut", "weak"], "string_or_number", "node"],
}


def snapshot(nodes, edges, strings):
    """nodes: (string, size, number of edges); edges: targets."""
    flat = []
    for i, (name, size, count) in enumerate(nodes):
        flat += [1, name, 2 * i + 1, size, count]
    return {"snapshot": {"meta": META}, "nodes": flat, "edges": [n for to in edges for n in (2, 0, to * 5)], "strings": strings}


def top(name, data, *more):
    path = write(name, data if isinstance(data, (str, bytes)) else json.dumps(data))
    status, output, error = coexgc("snapshot-top", path, *more)
    check(status == 0, "%s: snapshot-top ends with %d: %r" % (name, status, error[-300:]))
    return output.decode("utf-8")


def retained(text, name):
    row = re.search(r"^ *[\d,]+ +\d+ +[\d.]+%% +(\d+)  %s$" % name, text[:text.index("Largest retainers")], re.M)
    check(row, "the type %s: %s" % (name, text))
    return int(row.group(1))


def check_bad_snapshots():
    good = snapshot([(0, 8, 1), (1, 8, 0)], [1], ["a", "b"])
    for name, place, value, words in (("half", 4, 0.5, "edge_count"), ("minus", 4, -1, "edge_count"), ("many", 4, 1e12, "edge_count"),
                                      ("size", 3, 1e300, "self_size"), ("less", 3, -1, "self_size"), ("name", 1, 2, "name"),
                                      ("id", 2, 1e300, "id")):
        nodes = list(good["nodes"])
        nodes[place] = value
        refuse("snapshot-top", name + ".heapsnapshot", json.dumps(dict(good, nodes=nodes)), words)
    for part in ("nodes", "edges", "strings"):
        first = json.dumps(good)[:-1]
        twice = first + ', "%s": %s}' % (part, json.dumps(good[part] * 3000))
        refuse("snapshot-top", "twice %s.heapsnapshot" % part, twice, "more than once")
    refuse("snapshot-top", "depth.heapsnapshot", '{"snapshot":' + "[" * 1000, "levels")


def check_retained_by_type():
    """A chain in which the like is 100 steps away, and a heap of 35,500 bytes that once retained 905,250."""
    strings = ["", "root", "list", "between"]
    count = 50
    nodes, edges = [(1, 0, 1)], []
    for _ in range(count):
        nodes += [(2, 10, 1)] + [(3, 7, 1)] * 100
    nodes[-1] = (3, 7, 0)
    edges = list(range(1, len(nodes)))
    text = top("far.heapsnapshot", snapshot(nodes, edges, strings))
    check(retained(text, "list") == count * (10 + 700), "the list retains all once: %s" % text)
    check(retained(text, "between") == count * (10 + 700) - 10, "and so does what is between: %s" % text)
    two = [(1, 0, 2), (2, 1, 1), (3, 2, 0), (2, 4, 1), (3, 8, 0)]
    text = top("two.heapsnapshot", snapshot(two, [1, 3, 2, 4], strings))
    check(retained(text, "list") == 15 and retained(text, "between") == 10, "two lists side by side: %s" % text)


def check_deep_graph_in_linear_time():
    """A chain of 300,000 objects of two types in turn, and as many types as objects."""
    count = 300000
    nodes = [(1, 0, 1)] + [(2 + i % 2, 8, 1) for i in range(count)]
    nodes[-1] = nodes[-1][:2] + (0,)
    text = top("deep.heapsnapshot", snapshot(nodes, range(1, count + 1), ["", "root", "even", "odd"]))
    check(retained(text, "even") == 8 * count and retained(text, "odd") == 8 * count - 8, text)
    strings = ["", "root"] + ["t%d" % i for i in range(count)]
    nodes = [(1, 0, 1)] + [(2 + i, 8, 1) for i in range(count)]
    nodes[-1] = nodes[-1][:2] + (0,)
    text = top("types.heapsnapshot", snapshot(nodes, range(1, count + 1), strings), "-n", "3")
    check(len(text) < 2000, "three rows of each table: %s" % text[:3000])


def check_names_on_the_terminal():
    name = "evil\x1b]0;owned\x07\n  1,000,000   9999999  99.0%      9999999  forged\r\x7f\u009b31m\u202egnol"
    text = top("names.heapsnapshot", snapshot([(0, 0, 1), (1, 9, 0)], [1], ["root", name]))
    check(not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e]", text), "no control character is printed: %r" % text)
    check("evil\\x1b]0;owned\\x07\\x0a  1,000,000" in text, "a name is printed with its escapes: %r" % text)
    check(not re.search(r"^ *1,000,000", text, re.M), "no row is forged: %r" % text)
    raw = json.dumps(snapshot([(0, 0, 1), (1, 9, 0)], [1], ["root", "NAME"])).encode().replace(b"NAME", b"\xff\xc0\xafok\xe2\x82")
    text = top("raw.heapsnapshot", raw)
    check("\\xff\\xc0\\xafok\\xe2\\x82" in text, "bytes that are not UTF-8 are printed as numbers: %r" % text)
    long_name = "\u00e9" * 500
    text = top("long.heapsnapshot", snapshot([(0, 0, 1), (1, 9, 0)], [1], ["root", long_name]))
    check("\ufffd" not in text and max(map(len, text.splitlines())) < 140, "a long name is cut between characters: %r" % text)
    status, _, error = coexgc("report", in_scratch("no\x1b[31m\nfile"))
    check(status == 1 and error.count(b"\n") == 1 and b"\x1b" not in error, "the name of a file is escaped: %r" % error)


check_large_numbers()
check_tiny_numbers()
check_many_threads_and_names()
check_maps()
check_names_in_pages()
check_bad_snapshots()
check_retained_by_type()
check_deep_graph_in_linear_time()
check_names_on_the_terminal()
finish(0)
