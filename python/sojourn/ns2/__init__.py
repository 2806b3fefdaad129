"""ns-2 as an engine: scenarios as scripts for Debian's `ns`, its traces through the simulator's books.

| module | what |
|---|---|
| `installed` | the program on this machine |
| `queues`, `network`, `traffic`, `script` | a scenario in Tcl |
| `process` | running a script |
| `trace`, `ends` | what happened at the queues, what the ends knew |
| `engine` | a run and its result |
"""
