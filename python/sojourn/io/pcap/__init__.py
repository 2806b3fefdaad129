"""Captures: written from results, read from pcap and pcapng files, and analysed.

No library is used: dpkt and python-pcapng return timestamps as floats, which cannot hold today's date to the
nanosecond, and both formats are short.
"""
