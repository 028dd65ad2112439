#!/usr/bin/env python3
"""The statistics follow the rules of Prometheus' text format: names, HELP and TYPE once and first, families together, units and suffixes as
the conventions have them, histograms that only rise and end in +Inf."""

import re

from support import check, finish, make

NAME = r"[a-zA-Z_:][a-zA-Z0-9_:]*"
SAMPLE = re.compile(r'^(%s)(\{([a-zA-Z_][a-zA-Z0-9_]*="(?:[^"\\\n]|\\["\\n])*",?)+\})? (\S+)$' % NAME)
UNITS = ("bytes", "seconds", "ratio", "total", "info", "handles", "threads", "objects", "free", "size", "use", "waiting")


def family_of(name, families):
    for suffix in ("_bucket", "_sum", "_count"):
        base = name[: -len(suffix)]
        if name.endswith(suffix) and families.get(base, {}).get("type") == "histogram":
            return base
    return name


def read(text):
    check(text.endswith("\n"), "the last line ends")
    families, order = {}, []
    for line in text.splitlines():
        comment = re.match(r"^# (HELP|TYPE) (%s) (.+)$" % NAME, line)
        if comment:
            kind, name, rest = comment.groups()
            family = families.setdefault(name, {"samples": []})
            check(kind.lower() not in family and not family["samples"], "%s of %s once, and before its samples" % (kind, name))
            family[kind.lower()] = rest
            continue
        match = SAMPLE.match(line)
        check(match, "a line of the format: %r" % line)
        name = family_of(match.group(1), families)
        check(name in families and {"help", "type"} <= set(families[name]), "HELP and TYPE for %s" % name)
        if not order or order[-1] != name:
            check(name not in order, "the samples of %s are together" % name)
            order.append(name)
        families[name]["samples"].append((match.group(1), match.group(2) or "", float(match.group(4))))
    return families


def check_histogram(name, samples):
    buckets = [(re.search(r'le="([^"]+)"', labels).group(1), value) for sample, labels, value in samples if sample == name + "_bucket"]
    bounds = [float(bound) for bound, _ in buckets]
    check(bounds == sorted(bounds) and len(set(bounds)) == len(bounds), "the bounds of %s rise" % name)
    check(buckets[-1][0] == "+Inf", "%s ends in +Inf" % name)
    values = [value for _, value in buckets]
    check(values == sorted(values), "the buckets of %s are cumulative" % name)
    other = {sample: value for sample, labels, value in samples if sample != name + "_bucket"}
    check(other[name + "_count"] == values[-1], "the count of %s is its last bucket" % name)
    check(other[name + "_sum"] >= 0 and (values[-1] == 0 or other[name + "_sum"] > 0), "the sum of %s" % name)


def main():
    with open(make("prometheus", "metrics.txt"), encoding="utf-8") as file:
        families = read(file.read())
    for name, family in families.items():
        check(name.startswith("coexgc_"), "the prefix of %s" % name)
        check(family["type"] in ("counter", "gauge", "histogram"), "the type of %s" % name)
        check((family["type"] == "counter") == name.endswith("_total"), "counters and they alone end in _total: %s" % name)
        check(name.endswith(UNITS), "the unit of %s" % name)
        check(family["samples"], "%s has a value" % name)
        if family["type"] == "histogram":
            check_histogram(name, family["samples"])
        else:
            check(all(value >= 0 for _, _, value in family["samples"]), "%s is not negative" % name)
    check(families["coexgc_cycles_total"]["samples"][0][2] > 0, "there were cycles")
    check(families["coexgc_allocations_total"]["samples"][0][2] >= 700000, "all allocations are counted")
    print("%d metrics" % len(families))


main()
finish(0)
