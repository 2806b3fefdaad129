"""Which values of a scenario's keys explain measured numbers, how well each is determined, and how far to trust it.

`data` reads what was measured and what is free; `space` has the free keys; `study` runs the scenario, `fit` looks for
the best values by response surfaces, `profile` says what the data determine, `report` makes plain data of it. Only
`study` runs anything, and nothing here reads or writes files.
"""
