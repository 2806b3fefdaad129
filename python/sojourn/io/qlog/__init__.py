"""qlog of TCP senders: the format of draft-ietf-quic-qlog-main-schema-02 (version 0.3), which qvis reads.

`events` makes the records of one sender from the tables of the probe `senders`, `files` writes a file per sender.
"""
