"""The component in Jupyter and marimo, as a widget (extra `lab`)."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from sojourn.apps.lab.embedded import program
from sojourn.apps.lab.start import of_result, of_scenario
from sojourn.base.errors import MissingError
from sojourn.model.scenarios.scenario import Scenario

if TYPE_CHECKING:
    from sojourn.model.results.result import Result

_RENDER = """
const render = ({ model, el }) => {
  const shown = mount(el, JSON.parse(model.get("start")));
  return () => shown.then(remove => remove());
};
export default { render };
"""


def show(content: Scenario | Result) -> Any:
    """Return a widget that shows a scenario or a result; raises `MissingError` if anywidget is not installed."""
    try:
        import anywidget
        import traitlets
    except ImportError:
        raise MissingError("anywidget is not installed; run: pip install 'sojourn[lab]'") from None

    class Lab(anywidget.AnyWidget):
        """The lab in a cell."""

        _esm = program() + _RENDER
        start = traitlets.Unicode("{}").tag(sync=True)

    start = of_scenario(content) if isinstance(content, Scenario) else of_result(content)
    return Lab(start=json.dumps(start.to_json()))
