"""A run of a report that can be replayed in the page itself: the lab, if this installation has it."""

from __future__ import annotations

from sojourn.apps.lab import static
from sojourn.apps.lab.embedded import script
from sojourn.apps.lab.start import of_scenario
from sojourn.model.scenarios.scenario import Scenario
from sojourn.papers.report.html import Html, el, join
from sojourn.studies.study import Study

PLACE = "lab"


def missing_reason() -> str | None:
    """Reason why pages contain no run, with the remedy; None if they do."""
    return (
        None if static.is_built() else f"it has no run inside, as the page of the lab is not built; {static.remedy()}"
    )


HEADING = "One run, packet by packet"


def first_run(study: Study) -> Scenario:
    """The scenario of a study's first run, with its seed."""
    seed = study.seeds[0]
    return study.points[0].at(seed).replace({"seed": seed})


def runnable(scenario: Scenario, about: str) -> Html:
    """A button that runs a scenario in the page; empty if the lab is not built. `about` describes the run."""
    if not static.is_built():
        return Html()
    text = f"{about} The button simulates it in this page, with the fingerprint of the run; nothing is loaded."
    button = el("button", "Run it here", type="button", hidden="hidden")
    start = of_scenario(scenario)
    return join(
        [
            el("p", text, class_="note"),
            el("div", button, id=PLACE),
            el("script", Html(script({PLACE: start})), type="module"),
        ]
    )
