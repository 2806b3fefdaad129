"""Second implementation of the congestion controls, from the papers, the RFCs and Linux 6.1."""

from __future__ import annotations

from second.control import Control
from second.cubic import Cubic
from second.delay import Illinois, Vegas, Yeah
from second.ledbat import Ledbat, LedbatPp
from second.loss import Bic, Highspeed, Htcp, Scalable, Westwood

CONTROLS: dict[str, type[Control]] = {
    "cubic": Cubic,
    "vegas": Vegas,
    "westwood": Westwood,
    "highspeed": Highspeed,
    "scalable": Scalable,
    "htcp": Htcp,
    "illinois": Illinois,
    "bic": Bic,
    "yeah": Yeah,
    "ledbat": Ledbat,
    "ledbat++": LedbatPp,
}
