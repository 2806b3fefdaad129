"""F. Schwarzkopf, S. Veith, M. Menth: CoDel, CoDel-ACT and PIE with saturated TCP sources (2016).

`notes` lists stated and unstated parts of the set-up.
"""

from sojourn.papers.schwarzkopf2016.kernel import on_kernel
from sojourn.papers.schwarzkopf2016.nearest import NEAREST
from sojourn.papers.schwarzkopf2016.notes import ASSUMPTIONS, METHODS, REFERENCES, SEARCHED, SETUP

__all__ = ["ASSUMPTIONS", "FIGURES", "METHODS", "NEAREST", "REFERENCES", "SEARCHED", "SETUP", "TITLE", "on_kernel"]

TITLE = "Schwarzkopf, Veith, Menth: CoDel, CoDel-ACT and PIE with saturated TCP sources"

FIGURES = {
    "fig1": "sojourn.papers.schwarzkopf2016.fig1",
    "fig2": "sojourn.papers.schwarzkopf2016.fig2",
    "table1": "sojourn.papers.schwarzkopf2016.table1",
    "fig3": "sojourn.papers.schwarzkopf2016.fig3",
    "timescales": "sojourn.papers.schwarzkopf2016.timescales",
    "fig4": "sojourn.papers.schwarzkopf2016.fig4",
    "fig5": "sojourn.papers.schwarzkopf2016.fig5",
    "fig6": "sojourn.papers.schwarzkopf2016.fig6",
    "utilisation": "sojourn.papers.schwarzkopf2016.utilisation",
}
