"""A git repository of documents, for the commands that look at commits."""

import subprocess
from pathlib import Path


def rules(subject: str, sections: int = 8) -> str:
    """Sections long enough that the model is asked about each."""
    parts = [f"# On {subject}\n"]
    for number in range(sections):
        sentence = f"Whoever deals with {subject} under rule {number} pays {number + 3} crowns to the office. "
        parts.append(f"## {subject.title()} rule {number}\n\n{sentence * 4}\n")
    return "\n".join(parts)


class Repository:
    """A git repository with documents in `docs/`."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.docs = root / "docs"
        self.docs.mkdir(parents=True)
        self.git("init", "--quiet", "--initial-branch=main")

    def git(self, *arguments: str) -> str:
        identity = ("-c", "user.name=Port", "-c", "user.email=port@example.org", "-c", "commit.gpgsign=false")
        done = subprocess.run(["git", *identity, *arguments], cwd=self.root, capture_output=True, text=True, check=True)
        return done.stdout.strip()

    def write(self, name: str, text: str) -> None:
        (self.docs / name).write_text(text, encoding="utf-8")

    def commit(self, message: str) -> str:
        self.git("add", "--all")
        self.git("commit", "--quiet", "--allow-empty", "--message", message)
        return self.git("rev-parse", "HEAD")
