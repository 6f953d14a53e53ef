"""Random documents and random edits of them that know the truth: a section keeps its key through every edit."""

import copy
import random
from collections.abc import Callable

from tests.sections import Section

_SYLLABLES = ("ba", "ke", "ri", "to", "mu", "sha", "lin", "dor", "vex", "qua", "pol", "zer", "gim", "fro", "nas", "wit")


class Edits:
    """Makes documents and edits from one seed. Every text is long enough and random enough to be its own."""

    def __init__(self, seed: int) -> None:
        self.lot = random.Random(seed)
        self.count = 0

    def word(self) -> str:
        return "".join(self.lot.choice(_SYLLABLES) for _ in range(self.lot.randint(2, 3)))

    def title(self) -> str:
        return " ".join(self.word().capitalize() for _ in range(self.lot.randint(1, 3)))

    def text(self, lines: int | None = None) -> list[str]:
        count = lines or self.lot.randint(3, 8)
        return [" ".join(self.word() for _ in range(self.lot.randint(8, 12))) + "." for _ in range(count)]

    def section(self) -> Section:
        self.count += 1
        return Section(f"s{self.count}", self.title(), self.text())

    def document(self, size: int) -> list[Section]:
        """A forest of so many sections, up to five levels deep; some parents have no text of their own."""
        roots: list[Section] = [self.section()]
        open_path = [roots[0]]
        for _ in range(size - 1):
            depth = self.lot.randint(0, min(len(open_path), 4))
            del open_path[depth:]
            section = self.section()
            (open_path[-1].children if open_path else roots).append(section)
            open_path.append(section)
        for section in all_sections(roots):
            if section.children and self.lot.random() < 0.4:
                section.text = []
        return roots

    def pick(self, roots: list[Section], accept: Callable[[Section], bool] = lambda section: True) -> Section | None:
        found = [section for section in all_sections(roots) if accept(section)]
        return self.lot.choice(found) if found else None

    # Edits: each changes `roots` in place and says whether it did anything.

    def insert(self, roots: list[Section]) -> bool:
        parent = self.pick(roots)
        row = roots if parent is None or self.lot.random() < 0.3 else parent.children
        row.insert(self.lot.randint(0, len(row)), self.section())
        return True

    def delete(self, roots: list[Section]) -> bool:
        section = self.pick(roots)
        if section is None or sum(1 for _ in all_sections(roots)) == sum(1 for _ in section.walk()):
            return False
        row_of(roots, section).remove(section)
        return True

    def retitle(self, roots: list[Section]) -> bool:
        section = self.pick(roots, lambda section: bool(section.text or section.children))
        if section is None:
            return False
        section.title = self.title() + " renamed"
        return True

    def edit(self, roots: list[Section]) -> bool:
        section = self.pick(roots, lambda section: bool(section.text))
        if section is None:
            return False
        section.text[self.lot.randrange(len(section.text))] = self.text(1)[0]
        return True

    def extend(self, roots: list[Section]) -> bool:
        section = self.pick(roots, lambda section: bool(section.text))
        if section is None:
            return False
        section.text.insert(self.lot.randint(0, len(section.text)), self.text(1)[0])
        return True

    def move(self, roots: list[Section]) -> bool:
        section = self.pick(roots)
        if section is None:
            return False
        inside = {id(below) for below in section.walk()}
        target = self.pick(roots, lambda other: id(other) not in inside)
        old_row = row_of(roots, section)
        row = roots if target is None or self.lot.random() < 0.2 else target.children
        if row is roots and len(roots) == 1 and old_row is roots:
            return False
        old_row.remove(section)
        row.insert(self.lot.randint(0, len(row)), section)
        return True

    def swap(self, roots: list[Section]) -> bool:
        rows = [row for row in [roots, *(section.children for section in all_sections(roots))] if len(row) > 1]
        if not rows:
            return False
        row = self.lot.choice(rows)
        first, second = self.lot.sample(range(len(row)), 2)
        row[first], row[second] = row[second], row[first]
        return True

    def duplicate(self, roots: list[Section]) -> bool:
        """Copy a section to another parent; the copy has keys of its own, `copy<n>/<original>`."""
        section = self.pick(roots, lambda section: bool(section.text))
        if section is None:
            return False
        inside = {id(below) for below in section.walk()}
        home = row_of(roots, section)
        target = self.pick(roots, lambda other: id(other) not in inside and other.children is not home)
        if target is None:
            return False
        twin = copy.deepcopy(section)
        for below in twin.walk():
            self.count += 1
            below.key = f"copy{self.count}/{below.key}"
        target.children.append(twin)
        return True

    def renumber(self, roots: list[Section]) -> bool:
        """Number all sections by their place, replacing numbers that are there."""
        stack = [(section, f"{number}") for number, section in enumerate(roots, 1)]
        while stack:
            section, number = stack.pop()
            bare = section.title.partition(" ")[2] if section.title[0].isdigit() else section.title
            section.title = f"{number} {bare}"
            stack.extend((child, f"{number}.{place}") for place, child in enumerate(section.children, 1))
        return True


def all_sections(roots: list[Section]) -> list[Section]:
    """Every section of a forest, pre-order."""
    return [section for root in roots for section in root.walk()]


def row_of(roots: list[Section], section: Section) -> list[Section]:
    """The list that holds a section."""
    rows = [roots, *(other.children for other in all_sections(roots))]
    return next(row for row in rows if any(member is section for member in row))
