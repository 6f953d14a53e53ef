"""How long matching takes as trees grow: made documents of 100 to 10,000 sections, edited in different ways.

Usage: python -m tests.benchmarks.matching [SIZE ...]

Seconds of processor time for ids of a second version, its draft tree given; and how many living sections lost theirs.
"""

import argparse
import copy
import time
from collections.abc import Callable

from tests.properties.edits import Edits, all_sections
from tests.properties.test_identity import ONE_EDIT, carry, ids_by_key, sections_only
from tests.sections import Section, render

_BOILERPLATE = [
    f"This part is not used at this time; see line {line} of the general rules for what applies." for line in "abc"
]


def unchanged(_edits: Edits, _sections: list[Section]) -> None:
    """Nothing."""


def few_edits(edits: Edits, sections: list[Section]) -> None:
    """About a dozen edits of all kinds, whole chapters moved or taken out among them."""
    for name in ONE_EDIT * 2:
        if name not in ("delete", "duplicate"):
            getattr(edits, name)(sections)


def third_edited(edits: Edits, sections: list[Section]) -> None:
    """A line more in every third section, and the edits before."""
    few_edits(edits, sections)
    for section in all_sections(sections)[::3]:
        section.text = [*section.text, "A line that is new in every third section."]


def all_retitled_and_edited(edits: Edits, sections: list[Section]) -> None:
    """Every title new, and a line of every text."""
    for section in all_sections(sections):
        section.title = edits.title()
        if section.text:
            section.text[0] = edits.text(1)[0]


def all_new(edits: Edits, sections: list[Section]) -> None:
    """Nothing in common."""
    sections[:] = edits.document(len(all_sections(sections)))


def boilerplate(edits: Edits, sections: list[Section]) -> None:
    """Half of all sections have one and the same title and text, in both versions; and the few edits."""
    few_edits(edits, sections)


def boilerplate_in_new(edits: Edits, sections: list[Section]) -> None:
    """Half of all sections have one and the same title and text; all others are new."""
    all_new(edits, sections)
    _fill(sections)


def _fill(sections: list[Section]) -> None:
    for section in all_sections(sections)[::2]:
        section.title, section.text = "Reserved", list(_BOILERPLATE)


EDITS: tuple[Callable[[Edits, list[Section]], None], ...] = (
    unchanged,
    few_edits,
    third_edited,
    all_retitled_and_edited,
    all_new,
    boilerplate,
    boilerplate_in_new,
)


def measure(size: int, change: Callable[[Edits, list[Section]], None]) -> tuple[float, int, int]:
    """Seconds, sections that live on, and how many of them have another id."""
    edits = Edits(size)
    sections = edits.document(size)
    if change in (boilerplate, boilerplate_in_new):
        _fill(sections)
    old = render(sections)
    changed = copy.deepcopy(sections)
    change(edits, changed)
    new = render(changed)
    first = carry(None, None, old, "v000001")
    started = time.process_time()
    second = carry(old, first.tree, new, "v000002")
    seconds = time.process_time() - started
    before, after = sections_only(ids_by_key(old, first.tree)), sections_only(ids_by_key(new, second.tree))
    common = before.keys() & after.keys() if change not in (all_new, boilerplate_in_new) else set()
    return seconds, len(common), sum(before[key] != after[key] for key in common)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("size", nargs="*", type=int, default=[100, 1_000, 10_000])
    for size in parser.parse_args().size:
        for change in EDITS:
            seconds, common, lost = measure(size, change)
            print(f"{size:6} sections  {change.__name__:24} {seconds:7.2f} s  {lost:5} of {common:5} without their id")


if __name__ == "__main__":
    main()
