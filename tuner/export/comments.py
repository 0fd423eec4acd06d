"""Comment lines that no text can break out of."""

from __future__ import annotations


def comment(*texts: str) -> str:
    """Return each line of the texts after `# `; what cannot be printed becomes a question mark, as YAML has no such."""
    return "".join(f"# {_printable(line)}".rstrip() + "\n" for text in texts for line in text.splitlines())


def _printable(line: str) -> str:
    return "".join(char if char.isprintable() else "?" for char in line)
