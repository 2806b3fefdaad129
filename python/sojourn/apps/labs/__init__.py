"""Exercises for a course on queue management, from RED to CAKE, and what grades them: `python -m sojourn.labs`.

An exercise is a file `NUMBER-NAME.toml` in this folder: its title, the keys that may be changed (`free`), the goals as
sentences of `sojourn hunt`, the settings and seeds under which they have to be true, and the scenario.
"""
