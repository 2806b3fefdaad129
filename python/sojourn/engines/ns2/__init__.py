"""ns-2 as an engine: scenarios as scripts for Debian's `ns`, its traces through the simulator's books.

| module | what |
|---|---|
| `installed` | the program on this machine |
| `queues`, `network`, `traffic`, `script` | a scenario in Tcl |
| `process` | running a script |
| `trace`, `ends` | what happened at the queues, what the ends knew |
| `engine` | a run and its result |
| `build`, `plugin`, `engine_plugin` | our queue managers inside ns-2 |
| `grid` | the simulator beside ns-2 |

`source` holds what the plugin is compiled from.
"""
