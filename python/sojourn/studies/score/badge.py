"""A badge with a scorecard's overall grade, as a small SVG."""

from __future__ import annotations

from sojourn.papers.report.html import el

COLORS = {"A": "#2e7d32", "B": "#558b2f", "C": "#9a6700", "D": "#b4540a", "F": "#96121f"}
"""By grade; white text on each has a contrast of at least 4.5."""
GREY = "#555555"
CHARACTER = 6.4
"""Width of a character in pixels at font size 11."""
PADDING = 7


def badge(aqm: str, profile: str, grade: str | None) -> str:
    """SVG of a queue manager's overall grade on a profile."""
    left, right = f"{aqm} · {profile}", grade or "not scored"
    return two_words(left, right, COLORS.get(grade or "", GREY), f"sojourn score: {left}: {right}")


def two_words(left: str, right: str, color: str, title: str) -> str:
    """SVG with a text on dark grey, and one on a colour beside it."""
    widths = [round(CHARACTER * len(text) + 2 * PADDING) for text in (left, right)]
    whole = sum(widths)
    text = [
        el("text", words, x=str(round(x)), y="14", fill="#fff", text_anchor="middle")
        for words, x in ((left, widths[0] / 2), (right, widths[0] + widths[1] / 2))
    ]
    return el(
        "svg",
        el("title", title),
        el("rect", width=str(widths[0]), height="20", fill="#333"),
        el("rect", x=str(widths[0]), width=str(widths[1]), height="20", fill=color),
        el("g", *text, font_family="DejaVu Sans, Verdana, sans-serif", font_size="11"),
        xmlns="http://www.w3.org/2000/svg",
        width=str(whole),
        height="20",
        role="img",
    )
