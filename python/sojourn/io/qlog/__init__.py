"""qlog of TCP senders: the format of draft-ietf-quic-qlog-main-schema-02 (version 0.3), which qvis reads.

`events` makes the records of one sender from what the probe `senders` recorded of it, `files` writes a file for each.
"""
