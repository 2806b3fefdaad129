"""File formats of other tools: traces, captures, qlog, logs, Flent's data, tc configurations."""
