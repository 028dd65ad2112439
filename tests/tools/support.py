"""What the scripts in here have in common. Each is `script <build directory> [more]`, prints what is wrong, and ends with 0, 1, or
77: what it needs is not on this machine."""

import os
import shutil
import subprocess
import sys
import tempfile

BIN = os.path.join(os.path.abspath(sys.argv[1]), "bin")
COEXGC = os.path.join(BIN, "coexgc")
SUBJECT = os.path.join(BIN, "test_tools_subject")
SOURCE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

# A folder of its own for each run.
scratch = tempfile.mkdtemp(prefix="coexgc-tools-")


def in_scratch(name):
    return os.path.join(scratch, name)


def skip(why):
    print("skipped: " + why)
    finish(77)


def finish(status):
    shutil.rmtree(scratch, ignore_errors=True)
    sys.exit(status)


def check(condition, what):
    if not condition:
        print("FAILED: " + what)
        finish(1)


def need(program, why=""):
    path = shutil.which(program)
    if path is None:
        skip("there is no %s here%s" % (program, why))
    return path


def run(command, status=0, timeout=120, **more):
    """Runs a command, which must end with this status; returns its output (both streams)."""
    done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=timeout, **more)
    text = done.stdout.decode("utf-8", "replace")
    check(status is None or done.returncode == status,
          "%s ended with %d instead of %s:\n%s" % (" ".join(command), done.returncode, status, text[-4000:]))
    return text


def make(what, name):
    """A file that the subject writes."""
    run([SUBJECT, what, in_scratch(name)])
    return in_scratch(name)
