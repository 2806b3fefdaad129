"""The real Linux kernel as an engine: User Mode Linux in simulated time, built from the distribution's source package.

| module | content |
|---|---|
| `needs` | prerequisites of the machine |
| `build`, `source`, `patch`, `cache` | from the source package to a built kernel |
| `guest` | booting a kernel with a job and waiting for it; `guest/` holds the guest's program |
| `qdisc`, `network`, `traffic` | translation of a scenario to `tc`, `ip` and input of the guest's program |
| `engine`, `trace` | a run and its recorded events |
| `patterns`, `compare` | our queue disciplines beside the kernel's, packet by packet |

Code compiled into the kernel has the kernel's licence, so it is in the package sojourn-kernel (`packages/kernel` in a
checkout); nothing here has that licence.
"""
