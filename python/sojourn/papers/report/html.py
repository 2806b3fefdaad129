"""Elements of an HTML page. Strings that are not elements are text, and are escaped."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from importlib.resources import files
from pathlib import Path


class Html(str):
    """Markup: text that is not escaped again."""

    __slots__ = ()


def el(tag: str, *children: str, **attributes: str) -> Html:
    """An element; an attribute `class_` is written `class`, `aria_label` is `aria-label`."""
    written = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{escape(value)}"' for key, value in attributes.items() if value
    )
    start = f"<{tag}{written}>"
    return Html(start if tag in _VOID else f"{start}{join(children)}</{tag}>")


def join(children: Iterable[str]) -> Html:
    """Concatenate elements and texts."""
    return Html("".join(child if isinstance(child, Html) else escape(child, quote=False) for child in children))


def table(headings: Sequence[str], rows: Iterable[Sequence[str]], *, ids: Sequence[str] = (), caption: str) -> Html:
    """A table whose first column names the rows; narrow screens show each row as a card, hence the explicit roles."""
    head = el("tr", *(el("th", text, scope="col", role="columnheader") for text in headings), role="row")
    body = []
    for place, row in enumerate(rows):
        first = el("th", row[0], scope="row", role="rowheader")
        rest = (
            el("td", text, role="cell", data_label=label) for label, text in zip(headings[1:], row[1:], strict=True)
        )
        body.append(el("tr", first, *rest, role="row", id=ids[place] if ids else ""))
    return el(
        "table",
        el("caption", caption),
        el("thead", head, role="rowgroup"),
        el("tbody", *body, role="rowgroup"),
        role="table",
    )


def image(path: Path, alt: str) -> Html:
    """A picture embedded in the page."""
    kind = {".svg": "image/svg+xml", ".png": "image/png"}[path.suffix]
    data = b64encode(path.read_bytes()).decode("ascii")
    return el("img", src=f"data:{kind};base64,{data}", alt=alt)


def document(title: str, style: str, *body: str) -> str:
    """A whole page."""
    head = el(
        "head",
        el("meta", charset="utf-8"),
        el("meta", name="viewport", content="width=device-width, initial-scale=1"),
        el("title", title),
        el("style", Html(style)),
    )
    return f"<!DOCTYPE html>\n{el('html', head, el('body', *body), lang='en')}\n"


def sectioned(
    title: str,
    headings: Mapping[str, str],
    bodies: Mapping[str, Html],
    *,
    name: str = "",
    about: str = "",
    style: str = "",
) -> str:
    """A whole page in the style of reports: introduction, links to its sections, and the non-empty sections.

    `bodies` by the ids of `headings`; `name` is its first heading if that is not the title.
    """
    shown = {key: body for key, body in bodies.items() if body}
    links = [el("li", el("a", headings[key], href=f"#{key}")) for key in shown]
    sections = [
        el("section", el("h2", headings[key]), body, aria_label=headings[key], id=key) for key, body in shown.items()
    ]
    own = (files("sojourn.papers.report") / "report.css").read_text(encoding="utf-8")
    header = el("header", el("h1", name or title), about, el("nav", el("ul", *links), aria_label="Sections"))
    return document(title, own + style, header, el("main", *sections))


_VOID = {"meta", "img"}
