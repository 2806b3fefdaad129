"""The real Linux kernel as an engine: User Mode Linux in simulated time, built from the distribution's source package.

| module | what |
|---|---|
| `needs` | what the machine has to have, and what is missing |
| `build`, `source`, `patch`, `cache` | from the source package to a kernel that can run |
| `guest` | booting a kernel on a job and waiting for it; `guest/` holds what runs in there |
| `qdisc`, `network`, `traffic` | a scenario in the words of `tc`, `ip` and of the guest's program |
| `engine`, `trace` | a run, and what it recorded |
| `patterns`, `compare` | our queue disciplines beside the kernel's, packet by packet |

What is compiled into the kernel has the kernel's licence, so it is the package sojourn-kernel (`packages/kernel` in a
checkout); nothing here has that licence.
"""
