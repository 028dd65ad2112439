#!/usr/bin/env python3
"""A trace is what readers of trace-event JSON expect: the fields of each kind of event, times that make sense, and spans of one lane that
lie one inside the other (Perfetto and catapult drop those that overlap by half)."""

import json
from collections import Counter

from support import check, finish, make


def check_fields(event):
    phase = event["ph"]
    check(phase in ("X", "C", "i", "M"), "unknown phase in %s" % event)
    check(isinstance(event["pid"], int) and isinstance(event["tid"], int), "pid and tid are integers in %s" % event)
    check(isinstance(event["name"], str) and event["name"], "a name in %s" % event)
    if phase == "M":
        check(event["name"] in ("process_name", "thread_name") and event["args"]["name"], "metadata %s" % event)
        return
    check(event["ts"] >= 0, "a time in %s" % event)
    if phase == "X":
        check(event["dur"] >= 0, "a duration in %s" % event)
    if phase == "C":
        check(event["args"] and all(isinstance(v, (int, float)) for v in event["args"].values()), "numbers in %s" % event)
    if phase == "i":
        check(event["s"] in ("t", "p", "g"), "a scope in %s" % event)


def check_nesting(spans):
    """Sorted by begin, the longer first: each ends within the one that is open."""
    open_until = []
    for span in sorted(spans, key=lambda s: (s["ts"], -s["dur"])):
        begin, end = span["ts"], span["ts"] + span["dur"]
        while open_until and open_until[-1] <= begin + 1e-6:
            open_until.pop()
        check(not open_until or end <= open_until[-1] + 0.0015, "%s reaches out of what it lies in" % span)
        open_until.append(end)


def main():
    with open(make("trace", "trace.json"), encoding="utf-8") as file:
        trace = json.load(file)
    events = trace["traceEvents"]
    for event in events:
        check_fields(event)
    lanes = {}
    for event in events:
        if event["ph"] == "X":
            lanes.setdefault(event["tid"], []).append(event)
    for spans in lanes.values():
        check_nesting(spans)

    kinds = Counter(event.get("cat") for event in events)
    cycles = [event for event in events if event.get("cat") == "cycle"]
    check(len(cycles) >= 5, "%d cycles" % len(cycles))
    check(kinds["handshake"] >= 4 * len(cycles), "four handshakes a cycle: %s" % kinds)
    check(kinds["blocks"] == len(cycles), "a map of the blocks a cycle: %s" % kinds)
    check(kinds["stop"] >= len(cycles) and kinds["heap"] >= 2 * len(cycles) and kinds["handles"] >= 2 * len(cycles), "%s" % kinds)
    numbers = [cycle["args"]["cycle"] for cycle in cycles]
    check(numbers == list(range(numbers[0], numbers[0] + len(numbers))), "cycles in their order: %s" % numbers)
    for cycle in cycles:
        inside = [e for e in lanes[cycle["tid"]] if e["cat"] == "stage" and
                  cycle["ts"] - 0.002 <= e["ts"] and e["ts"] + e["dur"] <= cycle["ts"] + cycle["dur"] + 0.002]
        check(abs(sum(e["dur"] for e in inside) - cycle["dur"]) < 1 + cycle["dur"] * 0.01, "the stages make up cycle %s" % cycle["args"])
    named = {event["tid"] for event in events if event["ph"] == "M"}
    check(set(lanes) <= named, "every lane has a name")
    check(len([tid for tid in lanes if any(e["cat"] == "stop" for e in lanes[tid])]) >= 2, "stops of several threads")
    user = [event["args"]["value"] for event in events if event.get("cat") == "user"]
    check(user == [0, 1, 2, 3, 4], "the program's counter: %s" % user)
    last = [event["args"] for event in events if event.get("cat") == "type"][-2:]
    live = {row["type"]: row["live"] for row in last}
    check(0.9 * 100000 < live.get("node", 0) < 1.1 * 100000, "about 100,000 nodes are live: %s" % live)
    check(trace["otherData"]["dropped"] == 0, "nothing was dropped")
    print("%d events in %d lanes" % (len(events), len(lanes)))


main()
finish(0)
