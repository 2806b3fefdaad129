"""The component inside a self-contained page: module and program are in the page."""

from __future__ import annotations

import gzip
import json
from base64 import b64encode

from sojourn.apps.lab import static
from sojourn.apps.lab.start import Start


def program() -> str:
    """Text of a JavaScript module whose `mount(element, start)` shows the component in an element.

    It is self-contained and makes no requests. Browsers decompress it themselves.
    """
    module = _base64(gzip.compress(static.read("sojourn.wasm"), mtime=0))
    component = _base64(static.read("component.js"))
    return _PROGRAM.replace("@COMPONENT@", component).replace("@MODULE@", module)


def script(places: dict[str, Start]) -> str:
    """Script element text for a page that shows the given starts in the elements of these names.

    No text of a scenario can end the script: `<` is escaped.
    """
    starts = json.dumps({place: start.to_json() for place, start in places.items()}).replace("<", "\\u003c")
    return f"{program()}\n{_SHOW.replace('@STARTS@', starts)}"


def _base64(data: bytes) -> str:
    return b64encode(data).decode("ascii")


_PROGRAM = """\
const unpacked = async text => {
  const bytes = Uint8Array.from(atob(text), character => character.charCodeAt(0));
  return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"))).arrayBuffer();
};
let loaded;
const load = async () => {
  const component = await import("data:text/javascript;base64,@COMPONENT@");
  return [component, await unpacked("@MODULE@")];
};
const mount = async (element, start) => {
  const [component, module] = await (loaded ??= load());
  return component.mount(element, { module, start });
};"""
_SHOW = """\
for (const [place, start] of Object.entries(@STARTS@)) {
  const element = document.getElementById(place);
  const button = element.querySelector("button");
  button.hidden = false;
  button.addEventListener("click", () => { button.remove(); mount(element, start); }, { once: true });
}"""
