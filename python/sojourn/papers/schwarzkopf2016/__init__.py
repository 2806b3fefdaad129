"""T. Schwarzkopf, A. Veith, M. Menth: CoDel, CoDel-ACT and PIE with saturated TCP sources (2016).

What the paper leaves unsaid, and what we take: the length of the runs of Table I (100 s; CoDel's numbers depend on it,
because its count grows without bound), the way back (10 Mbit/s with 250 kB of tail drop, as on the way there), and how
the flows start (uniformly within the first second). Its 100 ms case keeps the access links and lengthens the
bottleneck to 49.9 ms. A packet takes 1.2056 ms at 10 Mbit/s there, hence the 7 bytes of framing.
"""

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
