#!/usr/bin/env python3
"""The report in a browser: its parts are there, nothing comes from outside, nothing is wider than a phone, and it is drawn, in light and in
dark. With a second argument the pictures are kept in that folder."""

import os
import re
import shutil
import struct
import sys
import tempfile
import zlib

from support import BIN, COEXGC, check, finish, in_scratch, make, need, run

CHROMIUM = need("chromium")
SECTIONS = ["timeline", "counters", "cycles", "pauses", "answers", "survival", "types", "blocks"]


def chromium(arguments):
    profile = tempfile.mkdtemp(dir=in_scratch(""))
    text = run([CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
                "--disable-background-networking", "--disable-component-update", "--disable-sync", "--hide-scrollbars",
                "--allow-file-access-from-files", "--user-data-dir=" + profile] + arguments)
    shutil.rmtree(profile, ignore_errors=True)
    return text


def pixels(path):
    """Width, height and the rows of an 8-bit RGB(A) PNG."""
    with open(path, "rb") as file:
        data = file.read()
    check(data[:8] == b"\x89PNG\r\n\x1a\n", "a picture")
    at, raw, width, height, channels = 8, b"", 0, 0, 3
    while at < len(data):
        length, kind = struct.unpack(">I4s", data[at:at + 8])
        body = data[at + 8:at + 8 + length]
        if kind == b"IHDR":
            width, height, depth, color = struct.unpack(">IIBB", body[:10])
            check(depth == 8 and color in (2, 6), "an RGB picture")
            channels = 3 if color == 2 else 4
        raw += body if kind == b"IDAT" else b""
        at += 12 + length
    raw, rows, before = zlib.decompress(raw), [], bytearray(width * channels)
    for y in range(height):
        start = y * (width * channels + 1)
        rows.append(unfilter(raw[start], bytearray(raw[start + 1:start + 1 + width * channels]), before, channels))
        before = rows[-1]
    return width, height, channels, rows


def unfilter(kind, row, before, step):
    for i in range(len(row)):
        left, up = row[i - step] if i >= step else 0, before[i]
        if kind == 1:
            row[i] = (row[i] + left) & 255
        elif kind == 2:
            row[i] = (row[i] + up) & 255
        elif kind == 3:
            row[i] = (row[i] + (left + up) // 2) & 255
        elif kind == 4:
            corner = before[i - step] if i >= step else 0
            guess = left + up - corner
            near = min((abs(guess - left), 0, left), (abs(guess - up), 1, up), (abs(guess - corner), 2, corner))
            row[i] = (row[i] + near[2]) & 255
    return row


def shoot(page, name, width, dark):
    path = in_scratch(name + ".png")
    scheme = ["--blink-settings=preferredColorScheme=%d" % (0 if dark else 1)]
    chromium(["--force-device-scale-factor=1", "--window-size=%d,1000" % width, "--screenshot=" + path, "file://" + page] + scheme)
    got_width, height, channels, rows = pixels(path)
    check(got_width == width and height == 1000, "%s has its size" % name)
    corner = sum(rows[5][:3]) / 3
    check(corner < 60 if dark else corner > 220, "%s has the right paper: %d" % (name, corner))
    colors = {bytes(row[x * channels:x * channels + 3]) for row in rows[::4] for x in range(0, width, 3)}
    check(len(colors) > 30, "%s shows something: %d colours" % (name, len(colors)))
    if len(sys.argv) > 2:
        shutil.copy(path, sys.argv[2])


def check_width(page, width):
    """An iframe of a phone's width; a script measures how wide the page in it wants to be."""
    frame = in_scratch("frame.html")
    with open(frame, "w", encoding="utf-8") as file:
        file.write('<!DOCTYPE html><iframe id="f" src="file://%s" width="%d" height="2000"></iframe><script>'
                   'document.getElementById("f").onload=function(){var r=this.contentDocument.documentElement;'
                   'document.title="wants "+r.scrollWidth+" of "+r.clientWidth;'
                   'document.body.setAttribute("data-plots",this.contentDocument.querySelectorAll("svg[role=img]").length);'
                   'document.body.setAttribute("data-errors",[].filter.call(this.contentDocument.querySelectorAll("svg[role=img]"),'
                   'function(s){return !s.querySelector("title")&&!s.getAttribute("aria-label")}).length);}</script>' % (page, width))
    dom = chromium(["--virtual-time-budget=5000", "--dump-dom", "file://" + frame])
    match = re.search(r"wants (\d+) of (\d+)", dom)
    check(match, "the page was measured: %s" % dom[:500])
    check(int(match.group(1)) <= int(match.group(2)), "at %d pixels the page is %s wide" % (width, match.group(1)))
    check(int(re.search(r'data-plots="(\d+)"', dom).group(1)) >= 8, "the charts are there")
    check('data-errors="0"' in dom, "each chart has a name for who can't see it")


def main():
    page = in_scratch("report.html")
    check(run([COEXGC, "report", make("trace", "trace.json"), "-o", page]) == page + "\n", "report says where the page is")
    with open(page, encoding="utf-8") as file:
        text = file.read()
    check(not re.search(r"(src|href)\s*=|url\(|@import|<script|https?:", text), "nothing comes from outside")
    check("rounds &quot;so far&quot; &lt;&amp;&gt;" in text and 'so far" <' not in text, "names are escaped")
    dom = chromium(["--dump-dom", "file://" + page])
    for section in SECTIONS:
        check('<section id="%s"' % section in dom, "the section %s" % section)
    check(len(re.findall(r'<rect class="band"', dom)) >= 5, "a band for each cycle")
    check(re.search(r"<td>node</td>", dom), "the types are named")
    check("NaN" not in text and "inf" not in re.sub(r"<[^>]*>", "", text), "no broken numbers")
    for width in (360, 1280):
        check_width(page, width)
    for name, width, dark in (("laptop-light", 1280, False), ("laptop-dark", 1280, True), ("phone-light", 500, False),
                              ("phone-dark", 500, True)):
        shoot(page, name, width, dark)
    # The demo writes its page by the same code, and says where.
    demo = run([os.path.join(BIN, "coex-demo"), "--seconds", "0.5", "--report", in_scratch("demo.html")], status=None)
    check(in_scratch("demo.html") in demo and in_scratch("coex-demo-trace.json") in demo, "the demo says where its page is:\n" + demo)
    check('<section id="timeline"' in chromium(["--dump-dom", "file://" + in_scratch("demo.html")]), "the demo's page")
    # A thread that is late may not have stopped even once: it is named all the same.
    with open(in_scratch("late.json"), "w", encoding="utf-8") as file:
        file.write('{"traceEvents":[{"ph":"i","cat":"late","name":"late","pid":1,"tid":7,"ts":5,"s":"p","args":{"ms":100}}],'
                   '"otherData":{"writer":"coexgc 0"}}')
    run([COEXGC, "report", in_scratch("late.json"), "-o", in_scratch("late.html")])
    with open(in_scratch("late.html"), encoding="utf-8") as file:
        check("thread 7 had not answered after 100 ms" in file.read(), "the late thread is named")
    # A trace without anything in it is a page too.
    with open(in_scratch("none.json"), "w", encoding="utf-8") as file:
        file.write('{"traceEvents":[],"otherData":{"writer":"coexgc 0"}}')
    run([COEXGC, "report", in_scratch("none.json"), "-o", in_scratch("none.html")])
    check("Garbage collection report" in chromium(["--dump-dom", "file://" + in_scratch("none.html")]), "an empty trace has a page")


main()
finish(0)
