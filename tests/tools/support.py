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


def install_viewers():
    """What viewer/package-lock.json names, from npm, into the build directory at the first run; returns the folder. Skips the test without
    npm or a network."""
    folder, here = os.path.join(os.path.abspath(sys.argv[1]), "viewer"), os.path.join(SOURCE, "tests/tools/viewer")
    if not os.path.exists(os.path.join(folder, "complete")):
        npm = need("npm")
        shutil.rmtree(folder, ignore_errors=True)
        os.makedirs(folder)
        for name in ("package.json", "package-lock.json"):
            shutil.copy(os.path.join(here, name), folder)
        done = subprocess.run([npm, "ci", "--ignore-scripts", "--no-audit", "--no-fund"], cwd=folder, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=300,
                              env=dict(os.environ, PUPPETEER_SKIP_DOWNLOAD="1"))
        if done.returncode != 0:
            print(done.stdout.decode("utf-8", "replace")[-1500:])
            skip("npm could not install the viewers; is there a network?")
        open(os.path.join(folder, "complete"), "w", encoding="utf-8").close()
    for name in ("open.js", "devtools.js"):
        shutil.copy(os.path.join(here, name), folder)
    return folder
