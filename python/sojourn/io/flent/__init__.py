"""Data files of Flent, the FLExible Network Tester: read in versions 1 to 4 of their format, written in version 4.

`files` has the format, `export` makes the data of a test out of a result, `traffic` says which of Flent's tests a
scenario's traffic is and what its series are called there.
"""
