"""Text for LaTeX documents."""

from __future__ import annotations


def latex(text: str) -> str:
    """Text as LaTeX source that looks like it, without what needs a package."""
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
