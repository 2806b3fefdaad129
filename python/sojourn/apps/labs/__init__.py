"""Exercises for a course on queue management, from RED to CAKE, and their grading: `python -m sojourn.labs`.

An exercise is a file `NUMBER-NAME.toml` in this folder: its title, the keys that may be changed (`free`), the goals as
conditions of `sojourn hunt`, the settings and seeds under which they must be true, and the scenario.
"""
