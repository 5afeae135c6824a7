"""Reports in the form of JUnit, which pytest, Ginkgo and PHPUnit write."""

import xml.etree.ElementTree as ElementTree

from harness import PASSED, SKIPPED


def read_junit(report, name_of):
    """{name: PASSED, SKIPPED or what was wrong}; cases with one name pass together."""
    found = {}
    for case in ElementTree.parse(report).iter("testcase"):
        if not case.get("name"):
            continue  # pytest's own troubles
        name = name_of(case)
        if found.get(name) in (None, PASSED):
            found[name] = outcome_of(case)
    return found


def outcome_of(case):
    for child in case:
        if child.tag in ("failure", "error"):
            return " ".join((child.get("message") or child.text or "").split())[:200] or "failed"
        if child.tag == "skipped":
            return SKIPPED
    return PASSED
