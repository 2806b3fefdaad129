"""Files of other tools and of networks: traces, captures, qlog, logs, data of Flent, configurations of tc."""
