#!/usr/bin/env python3
"""Adds up what meson's tests came to, and ends with "N passed, N failed, N skipped".

    test_summary.py [--passed NAME] [--failed NAME] [LABEL=TESTLOG.json]...

A log holds one JSON object a line (meson-logs/testlog.json). Failed and skipped tests are named. The exit status is 1
where a test failed, where a log is missing, or where nothing passed at all."""
import argparse
import json
import sys

PASSED = {"OK", "EXPECTEDFAIL"}


def read_log(label, path):
    """Yields (name, result, the whole record)."""
    with open(path, encoding="utf-8") as log:
        for line in log:
            test = json.loads(line)
            yield f"{label}: {test['name']}", test["result"], test


def skip_reason(test):
    lines = (test.get("stdout") or "").strip().splitlines() or (test.get("stderr") or "").strip().splitlines()
    return f" ({lines[-1].strip()})" if lines else ""


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--passed", action="append", default=[])
    parser.add_argument("--failed", action="append", default=[])
    parser.add_argument("logs", nargs="*", metavar="LABEL=TESTLOG.json")
    arguments = parser.parse_intermixed_args()

    passed, failed, skipped = len(arguments.passed), list(arguments.failed), []
    for item in arguments.logs:
        label, path = item.split("=", 1)
        try:
            results = list(read_log(label, path))
        except OSError as error:
            failed.append(f"{label}: {error}")
            continue
        for name, result, test in results:
            if result in PASSED:
                passed += 1
            elif result == "SKIP":
                skipped.append(name + skip_reason(test))
            else:
                failed.append(f"{name} ({result.lower()})")
    for name in skipped:
        print("skipped:", name)
    for name in failed:
        print("FAILED: ", name)
    print(f"{passed} passed, {len(failed)} failed, {len(skipped)} skipped")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
