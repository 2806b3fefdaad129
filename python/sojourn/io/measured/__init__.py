"""Logs of measuring programs, known by their contents, as data of Flent; `files` lists them.

They are drawn, explained and made into traces as Flent's data files are.
"""
