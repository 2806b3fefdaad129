"""Text for LaTeX documents."""

from __future__ import annotations


def latex(text: str) -> str:
    """Escape a text for LaTeX, with commands that need no package."""
    return "".join(_LATEX.get(letter, letter) for letter in text)


_LATEX = {letter: f"\\{letter}" for letter in "#$%&_{}"} | {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\ensuremath{<}",
    ">": r"\ensuremath{>}",
    "|": r"\ensuremath{|}",
    '"': r"\textquotedbl{}",
    "≤": r"\ensuremath{\leq}",
    "≥": r"\ensuremath{\geq}",
    "±": r"\ensuremath{\pm}",
    "×": r"\ensuremath{\times}",
    "→": r"\ensuremath{\rightarrow}",
    "µ": r"\ensuremath{\mu}",
    "–": "--",
    "—": "---",
    "…": r"\ldots{}",
}
