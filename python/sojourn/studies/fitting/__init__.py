"""Fitting: the values of a scenario's keys that explain measured numbers, their intervals, and their reliability.

`data` reads the measured numbers and the free keys; `space` describes the free keys; `study` runs the scenario, `fit`
searches the best values with response surfaces, `profile` computes the intervals that the data determine, `report`
converts the fit to plain data. Only `study` runs simulations, and nothing here reads or writes files.
"""
