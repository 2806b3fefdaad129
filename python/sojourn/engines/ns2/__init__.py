"""ns-2 as an engine: scenarios become scripts for Debian's `ns`, its traces the same statistics as the simulator's.

| module | content |
|---|---|
| `installed` | the installed program |
| `queues`, `network`, `traffic`, `script` | translation of a scenario to Tcl |
| `process` | running a script |
| `trace`, `ends` | events at the queues, endpoint data |
| `engine` | a run and its result |
| `build`, `plugin`, `engine_plugin` | our queue managers inside ns-2 |
| `grid` | comparison of the simulator with ns-2 |

`source` holds the plugin's C++ source.
"""
