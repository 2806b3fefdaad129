"""Translation of a scenario and a seed to a Tcl script for `ns`."""

from __future__ import annotations

from dataclasses import dataclass

from sojourn import _core
from sojourn.engines.ns2 import web
from sojourn.engines.ns2.network import Network, lay_out, seconds
from sojourn.engines.ns2.plugin import PLUGIN
from sojourn.engines.ns2.queues import ns2_queue, plugin_queue
from sojourn.engines.ns2.refuse import refuse
from sojourn.engines.ns2.traffic import Traffic, traffic
from sojourn.engines.values import nanoseconds
from sojourn.model.scenarios.scenario import Scenario

NO_PROBES = {
    "headers": "does not record transport headers",
    "senders": "does not record its senders",
    "state": "does not record the state of its queues",
}
MAX_SEED = 2**31 - 2
HEAD = """# {name}: a scenario of Sojourn, seed {seed}. ns FILE [TRACE{plugin}] runs it.
# TRACE gets what happens at the queues of the bottlenecks, the standard output what the senders know at the end.
set trace [open [expr {{$argc > 0 ? [lindex $argv 0] : "out.tr"}}] w]
{load}set ns [new Simulator]
$defaultRNG seed {drawn}
ns-random {drawn}
Queue set limit_ 1000000
"""
LOAD = """load [expr {{$argc > 1 ? [lindex $argv 1] : "./{plugin}"}}] Sojourn
set seed {seed}
"""
TAIL = """
proc progress {{share}} {{
    puts "@ $share"
    flush stdout
}}
for {{set i 1}} {{$i < {steps}}} {{incr i}} {{
    $ns at [expr {{$i * double({duration}) / {steps}}}] "progress [expr {{$i / {steps}.0}}]"
}}

proc finish {{}} {{
    global ns tcp trace{names}
    $ns flush-trace
    close $trace
    foreach i [lsort -integer [array names tcp]] {{
        puts "flow $i [$tcp($i) set ndatapack_] [$tcp($i) set nrexmitpack_] [$tcp($i) set nrexmit_]"
    }}
{more}    puts done
    flush stdout
    exit 0
}}
array set tcp {{}}
# After all other events at that instant.
$ns at {duration} "$ns at {duration} finish"
$ns run
"""
SAMPLE = """
# Windows of the senders at each step.
proc sample {{}} {{
    global ns tcp
    foreach i [lsort -integer [array names tcp]] {{
        set window "[$tcp($i) set cwnd_] [$tcp($i) set ssthresh_]"
        set out [expr {{[$tcp($i) set t_seqno_] - [$tcp($i) set ack_] - 1}}]
        puts "sample [$ns now] $i $window [$tcp($i) set srtt_] $out"
    }}
}}
for {{set i 1}} {{$i <= {samples}}} {{incr i}} {{ $ns at [expr {{$i * {step}}}] sample }}
"""
STEPS = 100


@dataclass(frozen=True)
class Script:
    """A script with its network and traffic."""

    text: str
    network: Network
    traffic: Traffic

    @property
    def limits(self) -> list[tuple[str, bool]]:
        """Capacity of each link's queue, and whether it drops arrivals before it is full."""
        return [(link.queue.limit, link.queue.drops_early) for link in self.network.links]


def script(scenario: Scenario, seed: int, *, plugin: bool) -> Script:
    """Translate a scenario; its queues are the plugin's or ns-2's own."""
    document = scenario.document
    for name, reason in NO_PROBES.items():
        if document["probes"].get(name):
            refuse(f"probes.{name}", reason, "leave it out")
    network = lay_out(document, plugin_queue if plugin else ns2_queue)
    flows = traffic(document, _core.plan(scenario.canonical, seed), network)
    step = document["probes"].get("flows")
    lines = [
        HEAD.format(
            name=" ".join(document["name"].split()).rstrip("\\") or "A run",
            seed=seed,
            plugin=f" [{PLUGIN}]" if plugin else "",
            load=LOAD.format(plugin=PLUGIN, seed=seed) if plugin else "",
            drawn=(seed * 7919 + 12345) % MAX_SEED + 1,
        ),
        *network.lines,
        "",
        *flows.lines,
        *([_sample(document["duration"], step)] if step else []),
        TAIL.format(
            duration=seconds(nanoseconds("duration", document["duration"])),
            steps=STEPS,
            names=" packmime" if web.KIND in flows.kinds else "",
            more=f"    {web.FINISH}\n" if web.KIND in flows.kinds else "",
        ),
    ]
    return Script("\n".join(lines), network, flows)


def _sample(duration: str, step: str) -> str:
    every = nanoseconds("probes.flows", step)
    return SAMPLE.format(step=seconds(every), samples=nanoseconds("duration", duration) // every)
