"""Captures: written from results, read from pcap and pcapng files, and measured.

The formats are written and read here, not by a library: dpkt and python-pcapng hand a stamp over as a float, which
cannot hold today's date to the nanosecond, and both formats are short.
"""
