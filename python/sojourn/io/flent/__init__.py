"""Data files of Flent, the FLExible Network Tester: reads format versions 1 to 4, writes version 4.

`files` has the format, `export` converts a result to the data of a test, `traffic` maps a scenario's traffic to one of
Flent's tests and to the names of its series.
"""
