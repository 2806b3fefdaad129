"""The queue managers of the registry with their parameters; written by `make stubs`."""

from typing import Literal, final

from sojourn.model.aqms.aqm import Aqm
from sojourn.model.aqms.registered import RegistryAqm

__all__ = ["Droptail", "Drophead", "Codel", "Cobalt", "CodelDt", "Pie", "Pi2", "Red", "Ared", "Choke", "Blue",
    "Sfb", "Pi", "Rem", "Avq", "FqCodel", "Sfqcodel", "FqPie", "Sfq", "SfqRed", "Drr", "Fq", "Dualpi2", "Cake",
    "CakeMq", "SchFq", "PfifoFast", "Tbf", "Prio", "Htb", "Netem"]

@final
class Droptail(RegistryAqm):
    """Tail drop: no manager, only limits.

    Source: common practice.
    """
    def __init__(
        self,
        profile: Literal["plain"] | None = None,
        *,
        exclude_ce: bool = ...,
    ) -> None:
        """Configure a profile, None for the plain one.
        """

@final
class Drophead(RegistryAqm):
    """Head drop: no manager; the oldest packets make room for what does not fit.

    Source: common practice; Linux pfifo_head_drop.
    """
    def __init__(
        self,
        profile: Literal["plain"] | None = None,
        *,
        exclude_ce: bool = ...,
    ) -> None:
        """Configure a profile, None for the plain one.
        """

@final
class Codel(RegistryAqm):
    """Controlled Delay: drops at the head while the sojourn time stays above a target.

    Source: RFC 8289; K. Nichols, V. Jacobson, ACM Queue 10(5), 2012.
    """
    def __init__(
        self,
        profile: Literal["rfc8289", "acm2012", "ns2-2012", "ns2-patch", "draft00", "act", "linux", "hardlimit",
            "hardlimit-ns2", "mahimahi", "count-n", "hardlimit-strict", "linux-3.10"] | None = None,
        *,
        target: str = ...,
        interval: str = ...,
        ecn: bool = ...,
        ce_threshold: str = ...,
        ce_threshold_selector: int = ...,
        ce_threshold_mask: int = ...,
        version: Literal["rfc8289", "acm2012", "ns2-2012", "ns2-patch", "draft00", "act", "linux", "hardlimit",
            "hardlimit-ns2", "mahimahi", "count-n"] = ...,
        n: int = ...,
        max_delay: str = ...,
        hard_limit: Literal["off", "printed", "strict"] = ...,
        window: Literal["interval", "act"] = ...,
        small_backlog: Literal["below", "at-most", "at-most-or-last"] = ...,
        maxpacket: Literal["mtu", "seen-256"] = ...,
        keep_above: bool = ...,
        exclude_ce: bool = ...,
    ) -> None:
        """Configure a profile, None for the plain one:
        target: Acceptable standing queue delay: sojourn times below it are never acted upon. Default 5 ms.
        interval: How long the sojourn time must stay above target before the first drop: a worst-case round-
            trip time. Default 100 ms.
        ecn: Marks ECN-capable packets instead of dropping them, at most one per dequeue. Default false.
        ce_threshold: Marks every ECN-capable packet that has waited longer than this; an hour, the default, is
            never reached. Default 3600 s.
        ce_threshold_selector: Of which packets only: those whose DS field under ce_threshold_mask is this (tc's
            ce_threshold_selector VALUE/MASK); 1 of 3 is ECT(1) (linux). Default 0.
        ce_threshold_mask: The bits of the DS field that ce_threshold_selector looks at; zero is none, for every
            packet (linux). Default 0.
        version: Whose algorithm it is; each has its profile, and refuses parameters that it lacks. Default
            rfc8289.
        n: The constant drop count (count-n). Default 600.
        max_delay: The longest sojourn time (hardlimit). Default 50 ms.
        hard_limit: Whether packets older than max_delay are dropped outright: off, as printed in the paper, or
            strictly (hardlimit). Default off.
        window: How long the sojourn time must stay above target: the interval, or less after a recent phase
            (historic versions). Default interval.
        small_backlog: Backlogs in which nothing is dropped: below one largest packet, or at most one (historic
            versions). Default at-most.
        maxpacket: The largest packet: the link's, or, as in older Linux, the largest seen so far (linux).
            Default mtu.
        keep_above: Remembers since when the sojourn time was above target where the queue is found empty, as
            older Linux did; it matters where other flows' bytes count too (linux). Default false.
        """

@final
class Cobalt(RegistryAqm):
    """COBALT: CoDel whose count decays as it grew, and BLUE against what does not listen; CAKE's manager.

    Source: Linux, sch_cake.c; J. Palmei et al., LANMAN 2019; ns-3, cobalt-queue-disc.cc.
    """
    def __init__(
        self,
        profile: Literal["linux", "linux-6.1", "linux-7.3", "ns3"] | None = None,
        *,
        target: str = ...,
        interval: str = ...,
        bandwidth: str = ...,
        ecn: bool = ...,
        blue_threshold: str = ...,
        ce_threshold: str = ...,
        l4s: bool = ...,
        version: Literal["linux", "linux-6.1", "linux-7.3", "ns3"] = ...,
        exclude_ce: bool = ...,
    ) -> None:
        """Configure a profile, None for the plain one:
        target: Acceptable standing queue delay: sojourn times up to it are never acted upon. Default 5 ms.
        interval: What the control law divides by the square root of the count: a worst-case round-trip time.
            Default 100 ms.
        bandwidth: The rate behind the queue, 512 bit/s or more: target is at least 1.5 packet times at it,
            interval twice the target, and delays up to 4 packet times are never acted upon. Zero takes target
            and interval as they are. Default 0 bit/s.
        ecn: Marks ECN-capable packets where CoDel's law would drop them; BLUE's drops stay drops. Default true.
        blue_threshold: Sojourn time above which BLUE's probability rises as at an overflow; an hour, the
            default, is never reached (ns3). Default 3600 s.
        ce_threshold: Marks every ECN-capable packet that has waited longer than this; an hour, the default, is
            never reached (ns3). Default 3600 s.
        l4s: ECT(1) and CE are marked beyond ce_threshold, which spares them from all else; other packets never
            are (ns3). Default false.
        version: Whose algorithm it is; each has its profile, and refuses parameters that it lacks. Default
            linux.
        """

@final
class CodelDt(RegistryAqm):
    """CoDel on arrivals: drops at the tail by the delay that a packet will see.

    Source: codeldt.cc (CableLabs, ns-2).
    """
    def __init__(
        self,
        profile: Literal["cablelabs"] | None = None,
        *,
        target: str = ...,
        interval: str = ...,
        dt_offset: str = ...,
        predictor: Literal["measured", "link"] = ...,
        dq_threshold: str = ...,
        ecn: bool = ...,
        exclude_ce: bool = ...,
    ) -> None:
        """Configure a profile, None for the plain one:
        target: Acceptable standing queue delay: packets that will wait less are never dropped. Default 5 ms.
        interval: How long the delay must stay above target before the first drop: a worst-case round-trip time.
            Default 100 ms.
        dt_offset: Taken off the target: what a cable modem waits for its grant (6 ms there); no delay is below
            what is left if that is negative. Default 0 s.
        predictor: Where the departure rate comes from. Default measured.
        dq_threshold: Bytes whose departure is timed for the estimate of the departure rate (dq_threshold_).
            Default 10000 B.
        ecn: Marks ECN-capable packets instead of dropping them; the original has no ECN. Default false.
        """

@final
class Pie(RegistryAqm):
    """Proportional Integral controller Enhanced: drops arrivals with a probability steered by the delay.

    Source: RFC 8033; RFC 8034 (DOCSIS-PIE); draft-ietf-aqm-pie-00; R. Pan et al., HPSR 2013; Linux sch_pie.c.
    """
    def __init__(
        self,
        profile: Literal["rfc8033", "cisco2013", "cisco2013-ticks", "draft00", "docsis", "linux"] | None = None,
        *,
        target: str = ...,
        tupdate: str = ...,
        alpha: float = ...,
        beta: float = ...,
        max_burst: str = ...,
        ecn: bool = ...,
        mark_ecnth: float = ...,
        derandomise: bool = ...,
        activation: Literal["on-off", "once", "always"] = ...,
        dq_threshold: str = ...,
        mean_pktsize: str = ...,
        scaling: Literal["three-levels", "four-levels", "seven-levels", "nine-levels"] = ...,
        cap: float = ...,
        high_delay: str = ...,
        decay: Literal["empty", "empty-2", "short", "low"] = ...,
        version: Literal["rfc8033", "cisco2013", "cisco2013-ticks", "docsis", "linux"] = ...,
        bytemode: bool = ...,
        dq_rate_estimator: bool = ...,
        jiffy: str = ...,
        created: str = ...,
        latency_low: str = ...,
        burst_reset: str = ...,
        msr: float = ...,
        max_traffic_burst: str = ...,
        exclude_ce: bool = ...,
    ) -> None:
        """Configure a profile, None for the plain one:
        target: The delay that the controller steers to (QDELAY_REF). Default 15 ms.
        tupdate: How often the drop probability is updated (T_UPDATE); linux counts in jiffies, rounded up, and
            one more. Default 15 ms.
        alpha: Gain of the deviation from the target, per second; linux and cisco2013-ticks round to sixteenths,
            tc's unit. Default 0.125.
        beta: Gain of the delay's change between two updates, per second; linux and cisco2013-ticks round to
            sixteenths, tc's unit. Default 1.25.
        max_burst: How long nothing is dropped after the queue becomes busy (MAX_BURST). Default 150 ms.
        ecn: Marks ECN-capable packets instead of dropping them while p is below mark_ecnth. Default false.
        mark_ecnth: The drop probability above which also ECN-capable packets are dropped (tc's ecn_prob of
            fq_pie, in percent there); linux counts in thousandths. Default 0.1.
        derandomise: Spaces drops more evenly: none before the accumulated probability is 0.85, one for sure at
            8.5. Default true.
        activation: When the control is on; a queue without limits is always controlled. Default on-off.
        dq_threshold: Bytes whose departure is timed for the estimate of the departure rate (DQ_THRESHOLD).
            Default 16384 B.
        mean_pktsize: A packet's typical size (MEAN_PKTSIZE): at a backlog of two or less nothing is dropped.
            Default 1024 B.
        scaling: The damping of changes of p while p is small. Default seven-levels.
        cap: The largest increase of p per update where p is at least 0.1. Default 0.02.
        high_delay: The delay above which p grows by another 0.02 per update; zero switches the rule off.
            Default 250 ms.
        decay: When p decays by itself. Default empty.
        version: Whose algorithm it is; each has its profile, and refuses parameters that it lacks. Default
            rfc8033.
        bytemode: Drops small packets less often: with p times their size over the link's largest one. Default
            false.
        dq_rate_estimator: Estimates the delay from the departure rate instead of timestamps (linux). Default
            false.
        jiffy: The unit of the kernel's timers, 1/HZ (linux). Default 1 ms.
        created: When the queue was made, on the clock of the host: the first update is due half a second later
            (linux). Default 0 s.
        latency_low: The delay below which p decays where decay is low (LATENCY_LOW). Default 5 ms.
        burst_reset: How long congestion must be over before a burst is allowed again (docsis,
            BURST_RESET_TIMEOUT). Default 1 s.
        msr: The service's sustained rate (docsis, MSR) as a share of the link's, which is the peak rate.
            Default 1.
        max_traffic_burst: Bytes that may go at the peak rate (docsis, Maximum Traffic Burst), the depth of the
            token bucket. Default 3044 B.
        """

@final
class Pi2(RegistryAqm):
    """PI2: a controller of the delay whose output is squared for classic traffic, not for scalable.

    Source: K. De Schepper et al., CoNEXT 2016; RFC 9332.
    """
    def __init__(
        self,
        profile: Literal["rfc9332"] | None = None,
        *,
        target: str = ...,
        tupdate: str = ...,
        alpha: float = ...,
        beta: float = ...,
        k: float = ...,
        ecn: bool = ...,
        drop_overload: bool = ...,
        drop_early: bool = ...,
        exclude_ce: bool = ...,
    ) -> None:
        """Configure a profile, None for the plain one:
        target: The delay that the controller steers to. Default 15 ms.
        tupdate: How often the probability is updated (Tupdate). Default 16 ms.
        alpha: Gain of the deviation from the target, per second. Default 0.16.
        beta: Gain of the delay's change between two updates, per second. Default 3.2.
        k: What p' is multiplied by for scalable packets (coupling factor); 1 is the uncoupled law. Default 2.
        ecn: Marks ECN-capable packets instead of dropping them; without it scalable packets are treated as
            classic ones. Default true.
        drop_overload: Drops where k times p' is above one; otherwise p' ends there, and ECN-capable packets are
            always marked. Default true.
        drop_early: Judges packets on arrival instead of on departure. Default false.
        """

@final
class Red(RegistryAqm):
    """Random Early Detection: drops arrivals with a probability that grows with the average backlog.

    Source: S. Floyd, V. Jacobson, IEEE/ACM ToN 1(4), 1993.
    """
    def __init__(
        self,
        profile: Literal["ns2", "linux"] | None = None,
        *,
        min: str = ...,
        max: str = ...,
        target: str = ...,
        avpkt: str = ...,
        bandwidth: str = ...,
        probability: float = ...,
        ecn: bool = ...,
        arithmetic: Literal["ns2", "linux"] = ...,
        adaptive: Literal["off", "aimd", "mimd"] = ...,
        interval: str = ...,
        alpha: float = ...,
        beta: float = ...,
        top: float = ...,
        bottom: float = ...,
        weight: float = ...,
        gentle: bool = ...,
        gentle_slope: Literal["recomputed", "initial"] = ...,
        wait: bool = ...,
        queue_in_bytes: bool = ...,
        bytes: bool = ...,
        mark_p: float = ...,
        use_mark_p: bool = ...,
        burst: int = ...,
        harddrop: bool = ...,
        nodrop: bool = ...,
        exclude_ce: bool = ...,
    ) -> None:
        """Configure a profile, None for the plain one:
        min: Average backlog from which on packets are dropped (thresh, min). Zero: ns-2 takes half of what the
            link carries in target, at least 5 packets of avpkt; tc a third of max, or half of target if that is
            set. Default 0 B.
        max: Average backlog at which the probability is greatest (maxthresh, max). Zero: three times min; for
            tc without min a quarter of the queue's limit, or 1.5 times target if that is set. Default 0 B.
        target: The queueing delay that min and max follow from where they are zero (targetdelay). In Linux's
            arithmetic it is the mapping of Khademi et al. 2013, 0.5 and 1.5 times the link's bytes in it, at
            least one and two MTU; zero: tc's rules. Default 5 ms.
        avpkt: The average packet (mean_pktsize). Default 500 B.
        bandwidth: The rate at which packets are taken to leave when a pause is accounted for; zero is the
            link's rate. Default 0 bit/s.
        probability: The greatest probability below max (1/linterm, max_p); where it is adaptive, the first one.
            Default 0.1.
        ecn: Marks ECN-capable packets instead of dropping them. Default false.
        arithmetic: Whose program is followed. Default ns2.
        adaptive: Whether the probability is steered towards an average halfway between min and max. Default
            off.
        interval: The least time between two steps of the probability; in Linux the period of a timer. Default
            500 ms.
        alpha: ns2: what aimd adds to the probability, at most a quarter of it; what mimd divides it by. Default
            0.01.
        beta: ns2: what aimd and mimd multiply the probability by. Default 0.9.
        top: ns2: aimd raises the probability only while it is below this. Default 0.5.
        bottom: ns2: aimd lowers the probability only while it is above this. Zero: 0.01, or 80 kbit/s over the
            link's rate if less. Default 0.
        weight: ns2: weight of a new sample in the average (q_weight). 0: 1 - exp(-1/C), C in packets of avpkt
            per second; -1: 1 - exp(-1/(10 RTT C)), with an RTT of 100 ms, or three times the link's delay and a
            packet's time; -2: 1 - exp(-10/C). Default -1.
        gentle: ns2: beyond max the probability grows to 1 at twice max instead of jumping there. Default true.
        gentle_slope: ns2: whether the segment beyond max starts from the current probability or stays where it
            was first. Default recomputed.
        wait: ns2: leaves at least 1/p packets between two drops. Default true.
        queue_in_bytes: ns2: measures the queue in bytes; otherwise in packets, with min and max in packets of
            avpkt. Default true.
        bytes: ns2: drops large packets with a greater probability, and counts bytes between two drops, in
            packets of avpkt. Default true.
        mark_p: ns2: the probability from which on also ECN-capable packets are dropped. Default 0.1.
        use_mark_p: ns2: whether mark_p counts; otherwise all is dropped where the probability is 1, and marks
            have no limit below. Default true.
        burst: linux: the burst in packets of avpkt that the weight lets pass. Zero: (2 min + max)/(3 avpkt),
            with target rounded up. Default 0.
        harddrop: linux: beyond max also ECN-capable packets are dropped. Default false.
        nodrop: linux: packets that are not ECN-capable pass where others are marked. Default false.
        """

@final
class Ared(RegistryAqm):
    """Adaptive RED: RED that steers its probability so that the average backlog stays between the thresholds.

    Source: S. Floyd, R. Gummadi, S. Shenker, 2001; W. Feng et al., INFOCOM 1999.
    """
    def __init__(
        self,
        profile: Literal["2001", "linux", "linux-5.7", "1999"] | None = None,
        *,
        min: str = ...,
        max: str = ...,
        target: str = ...,
        avpkt: str = ...,
        bandwidth: str = ...,
        probability: float = ...,
        ecn: bool = ...,
        arithmetic: Literal["ns2", "linux"] = ...,
        adaptive: Literal["off", "aimd", "mimd"] = ...,
        interval: str = ...,
        alpha: float = ...,
        beta: float = ...,
        top: float = ...,
        bottom: float = ...,
        weight: float = ...,
        gentle: bool = ...,
        gentle_slope: Literal["recomputed", "initial"] = ...,
        wait: bool = ...,
        queue_in_bytes: bool = ...,
        bytes: bool = ...,
        mark_p: float = ...,
        use_mark_p: bool = ...,
        burst: int = ...,
        harddrop: bool = ...,
        nodrop: bool = ...,
        exclude_ce: bool = ...,
    ) -> None:
        """Configure a profile, None for the plain one:
        min: Average backlog from which on packets are dropped (thresh, min). Zero: ns-2 takes half of what the
            link carries in target, at least 5 packets of avpkt; tc a third of max, or half of target if that is
            set. Default 0 B.
        max: Average backlog at which the probability is greatest (maxthresh, max). Zero: three times min; for
            tc without min a quarter of the queue's limit, or 1.5 times target if that is set. Default 0 B.
        target: The queueing delay that min and max follow from where they are zero (targetdelay). In Linux's
            arithmetic it is the mapping of Khademi et al. 2013, 0.5 and 1.5 times the link's bytes in it, at
            least one and two MTU; zero: tc's rules. Default 5 ms.
        avpkt: The average packet (mean_pktsize). Default 500 B.
        bandwidth: The rate at which packets are taken to leave when a pause is accounted for; zero is the
            link's rate. Default 0 bit/s.
        probability: The greatest probability below max (1/linterm, max_p); where it is adaptive, the first one.
            Default 0.1.
        ecn: Marks ECN-capable packets instead of dropping them. Default false.
        arithmetic: Whose program is followed. Default ns2.
        adaptive: Whether the probability is steered towards an average halfway between min and max. Default
            aimd.
        interval: The least time between two steps of the probability; in Linux the period of a timer. Default
            500 ms.
        alpha: ns2: what aimd adds to the probability, at most a quarter of it; what mimd divides it by. Default
            0.01.
        beta: ns2: what aimd and mimd multiply the probability by. Default 0.9.
        top: ns2: aimd raises the probability only while it is below this. Default 0.5.
        bottom: ns2: aimd lowers the probability only while it is above this. Zero: 0.01, or 80 kbit/s over the
            link's rate if less. Default 0.
        weight: ns2: weight of a new sample in the average (q_weight). 0: 1 - exp(-1/C), C in packets of avpkt
            per second; -1: 1 - exp(-1/(10 RTT C)), with an RTT of 100 ms, or three times the link's delay and a
            packet's time; -2: 1 - exp(-10/C). Default -1.
        gentle: ns2: beyond max the probability grows to 1 at twice max instead of jumping there. Default true.
        gentle_slope: ns2: whether the segment beyond max starts from the current probability or stays where it
            was first. Default recomputed.
        wait: ns2: leaves at least 1/p packets between two drops. Default true.
        queue_in_bytes: ns2: measures the queue in bytes; otherwise in packets, with min and max in packets of
            avpkt. Default true.
        bytes: ns2: drops large packets with a greater probability, and counts bytes between two drops, in
            packets of avpkt. Default true.
        mark_p: ns2: the probability from which on also ECN-capable packets are dropped. Default 0.1.
        use_mark_p: ns2: whether mark_p counts; otherwise all is dropped where the probability is 1, and marks
            have no limit below. Default true.
        burst: linux: the burst in packets of avpkt that the weight lets pass. Zero: (2 min + max)/(3 avpkt),
            with target rounded up. Default 0.
        harddrop: linux: beyond max also ECN-capable packets are dropped. Default false.
        nodrop: linux: packets that are not ECN-capable pass where others are marked. Default false.
        """

@final
class Choke(RegistryAqm):
    """CHOKe: drops an arrival together with a queued packet drawn at random if both are of one flow; else as RED.

    Source: R. Pan, B. Prabhakar, K. Psounis, INFOCOM 2000.
    """
    def __init__(
        self,
        profile: Literal["linux"] | None = None,
        *,
        min: int = ...,
        max: int = ...,
        avpkt: str = ...,
        burst: int = ...,
        bandwidth: str = ...,
        probability: float = ...,
        ecn: bool = ...,
        harddrop: bool = ...,
        exclude_ce: bool = ...,
    ) -> None:
        """Configure a profile, None for the plain one:
        min: Average backlog in packets above which arrivals are compared and dropped; zero is a third of max.
            Default 0.
        max: Average backlog in packets above which every arrival is dropped; zero is a quarter of the queue's
            limit. Default 0.
        avpkt: The average packet. Default 1000 B.
        burst: The burst in packets that the average's weight lets pass; zero is (2 min + max)/3. Default 0.
        bandwidth: The rate at which packets are taken to leave when a pause is accounted for; zero is the
            link's rate. Default 0 bit/s.
        probability: The greatest probability below max (max_P). Default 0.02.
        ecn: Marks ECN-capable packets instead of dropping them, unless they are of the drawn packet's flow.
            Default false.
        harddrop: Above max also ECN-capable packets are dropped. Default false.
        """

@final
class Blue(RegistryAqm):
    """BLUE: drops arrivals with a probability that overflows raise and idle times lower.

    Source: W. Feng et al., University of Michigan CSE-TR-387-99, 1999; IEEE/ACM ToN 10(4), 2002.
    """
    def __init__(
        self,
        profile: Literal["plain"] | None = None,
        *,
        freeze_time: str = ...,
        increment: float = ...,
        decrement: float = ...,
        threshold: int = ...,
        idle: Literal["event", "time"] = ...,
        ecn: bool = ...,
        exclude_ce: bool = ...,
    ) -> None:
        """Configure a profile, None for the plain one:
        freeze_time: Least time between two changes of the probability, which lets the last one have an effect.
            Default 10 ms.
        increment: What an overflow adds to the probability (d1). Default 0.0025.
        decrement: What an idle link takes from the probability (d2). Default 0.00025.
        threshold: Waiting packets above which an arrival counts as an overflow as well (L); zero: the limit
            alone. Default 0.
        idle: What an idle period takes from the probability. Default event.
        ecn: Marks ECN-capable packets instead of dropping them. Default false.
        """

@final
class Sfb(RegistryAqm):
    """Stochastic Fair BLUE: a BLUE in each of the bins that a flow hashes to, and a rate for flows that do not
        listen.

    Source: Linux, sch_sfb.c; W. Feng et al., INFOCOM 2001.
    """
    def __init__(
        self,
        profile: Literal["linux", "tc"] | None = None,
        *,
        rehash: str = ...,
        db: str = ...,
        max: int = ...,
        target: int = ...,
        increment: float = ...,
        decrement: float = ...,
        penalty_rate: int = ...,
        penalty_burst: int = ...,
        jiffy: str = ...,
        created: str = ...,
        exclude_ce: bool = ...,
    ) -> None:
        """Configure a profile, None for the plain one:
        rehash: How often the slots of bins change places; zero is never. Default 600 s.
        db: How long before that the other slot is warmed (double buffering); zero is not at all. Default 60 s.
        max: Packets of a flow's shortest bin from which on its arrivals are dropped. Zero: 5/4 of target, or
            25. Default 0.
        target: Packets of a bin from which on its probability rises with each arrival (bin_size). Zero: 4/5 of
            max, or 20. Default 0.
        increment: What an arrival adds to the probability of a long bin; in units of 1/65535, rounded: 66 of
            them. Default 0.001007.
        decrement: What an arrival takes from the probability of an empty bin; in units of 1/65535, rounded: 11
            of them. Default 0.000168.
        penalty_rate: Packets per second that flows with probability one get together; zero is none. Default 10.
        penalty_burst: How many of them may come at once; zero is none. Default 20.
        jiffy: The unit of the kernel's clock, 1/HZ. Default 1 ms.
        created: When the queue was made, on the clock of the host: from then on the first rehash and the tokens
            count. Default 0 s.
        """

@final
class Pi(RegistryAqm):
    """PI: a proportional-integral controller of the queue's length.

    Source: C. Hollot et al., INFOCOM 2001; ns-2, pi.cc.
    """
    def __init__(
        self,
        profile: Literal["plain", "ns2"] | None = None,
        *,
        a: float = ...,
        b: float = ...,
        w: float = ...,
        qref: float = ...,
        n: int = ...,
        rtt: str = ...,
        mean_pktsize: str = ...,
        queue_in_bytes: bool = ...,
        bytes: bool = ...,
        ecn: bool = ...,
        exclude_ce: bool = ...,
    ) -> None:
        """Configure a profile, None for the plain one:
        a: What a packet above qref adds to the probability at each update. Default 0.00001822.
        b: What a packet that was above qref at the update before takes from it; not more than a. Default
            0.00001816.
        w: Updates per second. Default 160.
        qref: Length in packets that the controller steers to. Default 200.
        n: The least number of long flows that a and b follow from; zero: they are as given. Default 0.
        rtt: The longest round-trip time, for n. Default 246 ms.
        mean_pktsize: The average packet, for n and where bytes count. Default 500 B.
        queue_in_bytes: Measures the queue in bytes, in packets of mean_pktsize. Default false.
        bytes: Drops large packets with a greater probability: by their size over mean_pktsize. Default false.
        ecn: Marks ECN-capable packets instead of dropping them (setbit). Default false.
        """

@final
class Rem(RegistryAqm):
    """Random Exponential Marking: a probability exponential in a price, so that prices add up along a path.

    Source: S. Athuraliya et al., IEEE Network 15(3), 2001; ns-2, rem.cc.
    """
    def __init__(
        self,
        profile: Literal["plain", "ns2"] | None = None,
        *,
        gamma: float = ...,
        phi: float = ...,
        alpha: float = ...,
        pbo: float = ...,
        pupdtime: str = ...,
        inw: float = ...,
        mean_pktsize: str = ...,
        queue_in_bytes: bool = ...,
        price: Literal["rates", "backlog"] = ...,
        ecn: bool = ...,
        mark_on_departure: bool = ...,
        exclude_ce: bool = ...,
    ) -> None:
        """Configure a profile, None for the plain one:
        gamma: What a packet too many adds to the price at each update. Default 0.001.
        phi: The base of the probability. Default 1.001.
        alpha: Weight of a packet that waits against one that comes; always 0.1 in ns-2. Default 0.1.
        pbo: Length in packets that the price steers to (b*). Default 20.
        pupdtime: How often the price is updated. Default 10 ms.
        inw: Weight of the newest count of arrivals in their average; 1 is no average. Default 1.
        mean_pktsize: The average packet: what the link carries is counted in it, and what waits where bytes
            count. Default 1000 B.
        queue_in_bytes: Counts what comes and what waits in bytes, in packets of mean_pktsize, and drops by a
            packet's size (qib). Default false.
        price: What the price is made of. Default rates.
        ecn: Marks ECN-capable packets instead of dropping them (markpkts). Default false.
        mark_on_departure: Marks on departure, and then drops nothing: packets that are not ECN-capable are left
            alone (with ecn). Default false.
        """

@final
class Avq(RegistryAqm):
    """Adaptive Virtual Queue: drops what would overflow a virtual queue, which is served at less than the link's
        rate.

    Source: S. Kunniyur, R. Srikant, SIGCOMM 2001; IEEE/ACM ToN 12(2), 2004; ns-2, vq.cc.
    """
    def __init__(
        self,
        profile: Literal["plain", "ns2"] | None = None,
        *,
        gamma: float = ...,
        alpha: float = ...,
        buffer: str = ...,
        mean_pktsize: str = ...,
        ecnlim: float = ...,
        adapt_on_drops: bool = ...,
        ecn: bool = ...,
        exclude_ce: bool = ...,
    ) -> None:
        """Configure a profile, None for the plain one:
        gamma: The utilisation that is aimed at. Default 0.98.
        alpha: How fast the virtual capacity moves, per second. Default 0.15.
        buffer: Bytes of the virtual queue (B). Zero: as many as the real one holds, packets taken as of
            mean_pktsize; a queue without a limit is taken to hold 1000 packets. Default 0 B.
        mean_pktsize: The average packet, for a limit in packets; zero is the link's largest. Default 0 B.
        ecnlim: The virtual capacity at first, as a share of the link's rate (ecnlim). Default 1.
        adapt_on_drops: Moves the virtual capacity also for arrivals that are dropped by the virtual queue; ns-2
            goes by those that are let in. Default true.
        ecn: Marks ECN-capable packets instead of dropping them (markpkts). Default false.
        """

@final
class FqCodel(RegistryAqm):
    """FQ-CoDel: flows queued apart under CoDel, new ones first (DRR++).

    Source: RFC 8290; Linux, sch_fq_codel.c.
    """
    def __init__(
        self,
        profile: Literal["rfc8290", "linux", "linux-3.10"] | None = None,
        *,
        limit: int = ...,
        memory_limit: str = ...,
        flows: int = ...,
        divisor: int = ...,
        perturb_period: str = ...,
        quantum: str = ...,
        scheduler: Literal["drr++", "sfq", "drr", "ns2"] = ...,
        scaled_allot: bool = ...,
        hash: Literal["perturbed", "jenkins", "modulo", "host-sum", "perfect"] = ...,
        isolation: Literal["flow", "src-host", "dst-host", "host-pair"] = ...,
        overflow: Literal["arrival", "fattest", "longest", "longest-first", "fair-share"] = ...,
        drop_batch: int = ...,
        raise_: bool = ...,
        depth: int = ...,
        headdrop: bool = ...,
        target: str = ...,
        interval: str = ...,
        ecn: bool = ...,
        ce_threshold: str = ...,
        ce_threshold_selector: int = ...,
        ce_threshold_mask: int = ...,
        version: Literal["rfc8289", "acm2012", "ns2-2012", "ns2-patch", "draft00", "act", "linux", "hardlimit",
            "hardlimit-ns2", "mahimahi", "count-n"] = ...,
        n: int = ...,
        max_delay: str = ...,
        hard_limit: Literal["off", "printed", "strict"] = ...,
        window: Literal["interval", "act"] = ...,
        small_backlog: Literal["below", "at-most", "at-most-or-last"] = ...,
        maxpacket: Literal["mtu", "seen-256"] = ...,
        keep_above: bool = ...,
        exclude_ce: bool = ...,
    ) -> None:
        """Configure a profile, None for the plain one:
        limit: The most waiting packets of all flows; the host's own limit holds as well. Default 10240.
        memory_limit: The most waiting bytes of all flows. Linux counts what its packets occupy in memory, here
            it is their sizes. Default 33554432 B.
        flows: Queues that the flows are hashed to; where the hash is perfect, flows remembered while idle.
            Default 1024.
        divisor: Values of the hash where they are more than the queues: then `flows`, or the limit in packets
            where that is less, is the most flows that wait at once, and the first packet of another one is
            refused (Linux's SFQ). Zero: each value has its queue. Default 0.
        perturb_period: How often the perturbed hash is seeded anew and the waiting packets are hashed again
            (tc's perturb); zero is never. Default 0 s.
        quantum: Bytes that a flow may send per round; the schedulers sfq and ns2 take 0 for one packet. Default
            1514 B.
        scheduler: In which order the flows are served. Default drr++.
        scaled_allot: Counts credit in units of 8 bytes, quantum and packets rounded up (SFQ_ALLOT_SIZE of Linux
            before 6.10). Default false.
        hash: How a flow finds its queue. Default perturbed.
        isolation: What counts as one flow. Default flow.
        overflow: Which packets make room when a limit is reached. Default fattest.
        drop_batch: The most packets that the fattest flow loses at once; half of its bytes end it as well.
            Default 64.
        raise_: Tells the fattest flow's AQM how many packets it lost: CoDel adds them to its count. Default
            true.
        depth: The most waiting packets of one flow; a thousand million, the default, are never reached. Default
            1000000000.
        headdrop: SFQ makes room at the head of a flow instead of at its tail, and what a flow's AQM decides
            about an arriving packet, to drop or to mark it, befalls the flow's head: a head that cannot be
            marked leaves the mark to the arrival. Default false.
        target: Acceptable standing queue delay: sojourn times below it are never acted upon. Default 5 ms.
        interval: How long the sojourn time must stay above target before the first drop: a worst-case round-
            trip time. Default 100 ms.
        ecn: Marks ECN-capable packets instead of dropping them, at most one per dequeue. Default true.
        ce_threshold: Marks every ECN-capable packet that has waited longer than this; an hour, the default, is
            never reached. Default 3600 s.
        ce_threshold_selector: Of which packets only: those whose DS field under ce_threshold_mask is this (tc's
            ce_threshold_selector VALUE/MASK); 1 of 3 is ECT(1) (linux). Default 0.
        ce_threshold_mask: The bits of the DS field that ce_threshold_selector looks at; zero is none, for every
            packet (linux). Default 0.
        version: Whose algorithm it is; each has its profile, and refuses parameters that it lacks. Default
            rfc8289.
        n: The constant drop count (count-n). Default 600.
        max_delay: The longest sojourn time (hardlimit). Default 50 ms.
        hard_limit: Whether packets older than max_delay are dropped outright: off, as printed in the paper, or
            strictly (hardlimit). Default off.
        window: How long the sojourn time must stay above target: the interval, or less after a recent phase
            (historic versions). Default interval.
        small_backlog: Backlogs in which nothing is dropped: below one largest packet, or at most one (historic
            versions). Default at-most.
        maxpacket: The largest packet: the link's, or, as in older Linux, the largest seen so far (linux).
            Default mtu.
        keep_above: Remembers since when the sojourn time was above target where the queue is found empty, as
            older Linux did; it matters where other flows' bytes count too (linux). Default false.
        """

@final
class Sfqcodel(RegistryAqm):
    """sfqCoDel: bins under CoDel that send a packet in turn, new ones first.

    Source: K. Nichols, ns-2, sfqcodel.cc.
    """
    def __init__(
        self,
        profile: Literal["ns2", "2012"] | None = None,
        *,
        limit: int = ...,
        memory_limit: str = ...,
        flows: int = ...,
        divisor: int = ...,
        perturb_period: str = ...,
        quantum: str = ...,
        scheduler: Literal["drr++", "sfq", "drr", "ns2"] = ...,
        scaled_allot: bool = ...,
        hash: Literal["perturbed", "jenkins", "modulo", "host-sum", "perfect"] = ...,
        isolation: Literal["flow", "src-host", "dst-host", "host-pair"] = ...,
        overflow: Literal["arrival", "fattest", "longest", "longest-first", "fair-share"] = ...,
        drop_batch: int = ...,
        raise_: bool = ...,
        depth: int = ...,
        headdrop: bool = ...,
        target: str = ...,
        interval: str = ...,
        ecn: bool = ...,
        ce_threshold: str = ...,
        ce_threshold_selector: int = ...,
        ce_threshold_mask: int = ...,
        version: Literal["rfc8289", "acm2012", "ns2-2012", "ns2-patch", "draft00", "act", "linux", "hardlimit",
            "hardlimit-ns2", "mahimahi", "count-n"] = ...,
        n: int = ...,
        max_delay: str = ...,
        hard_limit: Literal["off", "printed", "strict"] = ...,
        window: Literal["interval", "act"] = ...,
        small_backlog: Literal["below", "at-most", "at-most-or-last"] = ...,
        maxpacket: Literal["mtu", "seen-256"] = ...,
        keep_above: bool = ...,
        exclude_ce: bool = ...,
    ) -> None:
        """Configure a profile, None for the plain one:
        limit: The most waiting packets of all flows; the host's own limit holds as well. Default 10240.
        memory_limit: The most waiting bytes of all flows. Linux counts what its packets occupy in memory, here
            it is their sizes. Default 33554432 B.
        flows: Queues that the flows are hashed to; where the hash is perfect, flows remembered while idle.
            Default 1024.
        divisor: Values of the hash where they are more than the queues: then `flows`, or the limit in packets
            where that is less, is the most flows that wait at once, and the first packet of another one is
            refused (Linux's SFQ). Zero: each value has its queue. Default 0.
        perturb_period: How often the perturbed hash is seeded anew and the waiting packets are hashed again
            (tc's perturb); zero is never. Default 0 s.
        quantum: Bytes that a flow may send per round; the schedulers sfq and ns2 take 0 for one packet. Default
            0 B.
        scheduler: In which order the flows are served. Default ns2.
        scaled_allot: Counts credit in units of 8 bytes, quantum and packets rounded up (SFQ_ALLOT_SIZE of Linux
            before 6.10). Default false.
        hash: How a flow finds its queue. Default jenkins.
        isolation: What counts as one flow. Default flow.
        overflow: Which packets make room when a limit is reached. Default longest-first.
        drop_batch: The most packets that the fattest flow loses at once; half of its bytes end it as well.
            Default 64.
        raise_: Tells the fattest flow's AQM how many packets it lost: CoDel adds them to its count. Default
            true.
        depth: The most waiting packets of one flow; a thousand million, the default, are never reached. Default
            1000000000.
        headdrop: SFQ makes room at the head of a flow instead of at its tail, and what a flow's AQM decides
            about an arriving packet, to drop or to mark it, befalls the flow's head: a head that cannot be
            marked leaves the mark to the arrival. Default false.
        target: Acceptable standing queue delay: sojourn times below it are never acted upon. Default 5 ms.
        interval: How long the sojourn time must stay above target before the first drop: a worst-case round-
            trip time. Default 100 ms.
        ecn: Marks ECN-capable packets instead of dropping them, at most one per dequeue. Default false.
        ce_threshold: Marks every ECN-capable packet that has waited longer than this; an hour, the default, is
            never reached. Default 3600 s.
        ce_threshold_selector: Of which packets only: those whose DS field under ce_threshold_mask is this (tc's
            ce_threshold_selector VALUE/MASK); 1 of 3 is ECT(1) (linux). Default 0.
        ce_threshold_mask: The bits of the DS field that ce_threshold_selector looks at; zero is none, for every
            packet (linux). Default 0.
        version: Whose algorithm it is; each has its profile, and refuses parameters that it lacks. Default
            ns2-2012.
        n: The constant drop count (count-n). Default 600.
        max_delay: The longest sojourn time (hardlimit). Default 50 ms.
        hard_limit: Whether packets older than max_delay are dropped outright: off, as printed in the paper, or
            strictly (hardlimit). Default off.
        window: How long the sojourn time must stay above target: the interval, or less after a recent phase
            (historic versions). Default interval.
        small_backlog: Backlogs in which nothing is dropped: below one largest packet, or at most one (historic
            versions). Default at-most-or-last.
        maxpacket: The largest packet: the link's, or, as in older Linux, the largest seen so far (linux).
            Default mtu.
        keep_above: Remembers since when the sojourn time was above target where the queue is found empty, as
            older Linux did; it matters where other flows' bytes count too (linux). Default false.
        """

@final
class FqPie(RegistryAqm):
    """FQ-PIE: flows queued apart under PIE, new ones first (DRR++).

    Source: Linux, sch_fq_pie.c.
    """
    def __init__(
        self,
        profile: Literal["linux", "rfc8033"] | None = None,
        *,
        limit: int = ...,
        memory_limit: str = ...,
        flows: int = ...,
        divisor: int = ...,
        perturb_period: str = ...,
        quantum: str = ...,
        scheduler: Literal["drr++", "sfq", "drr", "ns2"] = ...,
        scaled_allot: bool = ...,
        hash: Literal["perturbed", "jenkins", "modulo", "host-sum", "perfect"] = ...,
        isolation: Literal["flow", "src-host", "dst-host", "host-pair"] = ...,
        overflow: Literal["arrival", "fattest", "longest", "longest-first", "fair-share"] = ...,
        drop_batch: int = ...,
        raise_: bool = ...,
        depth: int = ...,
        headdrop: bool = ...,
        target: str = ...,
        tupdate: str = ...,
        alpha: float = ...,
        beta: float = ...,
        max_burst: str = ...,
        ecn: bool = ...,
        mark_ecnth: float = ...,
        derandomise: bool = ...,
        activation: Literal["on-off", "once", "always"] = ...,
        dq_threshold: str = ...,
        mean_pktsize: str = ...,
        scaling: Literal["three-levels", "four-levels", "seven-levels", "nine-levels"] = ...,
        cap: float = ...,
        high_delay: str = ...,
        decay: Literal["empty", "empty-2", "short", "low"] = ...,
        version: Literal["rfc8033", "cisco2013", "cisco2013-ticks", "docsis", "linux"] = ...,
        bytemode: bool = ...,
        dq_rate_estimator: bool = ...,
        jiffy: str = ...,
        created: str = ...,
        latency_low: str = ...,
        burst_reset: str = ...,
        msr: float = ...,
        max_traffic_burst: str = ...,
        exclude_ce: bool = ...,
    ) -> None:
        """Configure a profile, None for the plain one:
        limit: The most waiting packets of all flows; the host's own limit holds as well. Default 10240.
        memory_limit: The most waiting bytes of all flows. Linux counts what its packets occupy in memory, here
            it is their sizes. Default 1099511627776 B.
        flows: Queues that the flows are hashed to; where the hash is perfect, flows remembered while idle.
            Default 1024.
        divisor: Values of the hash where they are more than the queues: then `flows`, or the limit in packets
            where that is less, is the most flows that wait at once, and the first packet of another one is
            refused (Linux's SFQ). Zero: each value has its queue. Default 0.
        perturb_period: How often the perturbed hash is seeded anew and the waiting packets are hashed again
            (tc's perturb); zero is never. Default 0 s.
        quantum: Bytes that a flow may send per round; the schedulers sfq and ns2 take 0 for one packet. Default
            1514 B.
        scheduler: In which order the flows are served. Default drr++.
        scaled_allot: Counts credit in units of 8 bytes, quantum and packets rounded up (SFQ_ALLOT_SIZE of Linux
            before 6.10). Default false.
        hash: How a flow finds its queue. Default perturbed.
        isolation: What counts as one flow. Default flow.
        overflow: Which packets make room when a limit is reached. Default arrival.
        drop_batch: The most packets that the fattest flow loses at once; half of its bytes end it as well.
            Default 64.
        raise_: Tells the fattest flow's AQM how many packets it lost: CoDel adds them to its count. Default
            true.
        depth: The most waiting packets of one flow; a thousand million, the default, are never reached. Default
            1000000000.
        headdrop: SFQ makes room at the head of a flow instead of at its tail, and what a flow's AQM decides
            about an arriving packet, to drop or to mark it, befalls the flow's head: a head that cannot be
            marked leaves the mark to the arrival. Default false.
        target: The delay that the controller steers to (QDELAY_REF). Default 15 ms.
        tupdate: How often the drop probability is updated (T_UPDATE); linux counts in jiffies, rounded up, and
            one more. Default 15 ms.
        alpha: Gain of the deviation from the target, per second; linux and cisco2013-ticks round to sixteenths,
            tc's unit. Default 0.125.
        beta: Gain of the delay's change between two updates, per second; linux and cisco2013-ticks round to
            sixteenths, tc's unit. Default 1.25.
        max_burst: How long nothing is dropped after the queue becomes busy (MAX_BURST). Default 150 ms.
        ecn: Marks ECN-capable packets instead of dropping them while p is below mark_ecnth. Default false.
        mark_ecnth: The drop probability above which also ECN-capable packets are dropped (tc's ecn_prob of
            fq_pie, in percent there); linux counts in thousandths. Default 0.1.
        derandomise: Spaces drops more evenly: none before the accumulated probability is 0.85, one for sure at
            8.5. Default true.
        activation: When the control is on; a queue without limits is always controlled. Default always.
        dq_threshold: Bytes whose departure is timed for the estimate of the departure rate (DQ_THRESHOLD).
            Default 16384 B.
        mean_pktsize: A packet's typical size (MEAN_PKTSIZE): at a backlog of two or less nothing is dropped.
            Default 1024 B.
        scaling: The damping of changes of p while p is small. Default seven-levels.
        cap: The largest increase of p per update where p is at least 0.1. Default 0.02.
        high_delay: The delay above which p grows by another 0.02 per update; zero switches the rule off.
            Default 250 ms.
        decay: When p decays by itself. Default empty.
        version: Whose algorithm it is; each has its profile, and refuses parameters that it lacks. Default
            linux.
        bytemode: Drops small packets less often: with p times their size over the link's largest one. Default
            false.
        dq_rate_estimator: Estimates the delay from the departure rate instead of timestamps (linux). Default
            false.
        jiffy: The unit of the kernel's timers, 1/HZ (linux). Default 1 ms.
        created: When the queue was made, on the clock of the host: the first update is due half a second later
            (linux). Default 0 s.
        latency_low: The delay below which p decays where decay is low (LATENCY_LOW). Default 5 ms.
        burst_reset: How long congestion must be over before a burst is allowed again (docsis,
            BURST_RESET_TIMEOUT). Default 1 s.
        msr: The service's sustained rate (docsis, MSR) as a share of the link's, which is the peak rate.
            Default 1.
        max_traffic_burst: Bytes that may go at the peak rate (docsis, Maximum Traffic Burst), the depth of the
            token bucket. Default 3044 B.
        """

@final
class Sfq(RegistryAqm):
    """Stochastic Fairness Queueing: hashed flows in one round, the longest makes room.

    Source: P. McKenney, INFOCOM 1990; Linux, sch_sfq.c; ns-2, sfq.cc.
    """
    def __init__(
        self,
        profile: Literal["linux", "linux-3.10", "ns2"] | None = None,
        *,
        limit: int = ...,
        memory_limit: str = ...,
        flows: int = ...,
        divisor: int = ...,
        perturb_period: str = ...,
        quantum: str = ...,
        scheduler: Literal["drr++", "sfq", "drr", "ns2"] = ...,
        scaled_allot: bool = ...,
        hash: Literal["perturbed", "jenkins", "modulo", "host-sum", "perfect"] = ...,
        isolation: Literal["flow", "src-host", "dst-host", "host-pair"] = ...,
        overflow: Literal["arrival", "fattest", "longest", "longest-first", "fair-share"] = ...,
        drop_batch: int = ...,
        raise_: bool = ...,
        depth: int = ...,
        headdrop: bool = ...,
        exclude_ce: bool = ...,
    ) -> None:
        """Configure a profile, None for the plain one:
        limit: The most waiting packets of all flows; the host's own limit holds as well. Default 127.
        memory_limit: The most waiting bytes of all flows. Linux counts what its packets occupy in memory, here
            it is their sizes. Default 33554432 B.
        flows: Queues that the flows are hashed to; where the hash is perfect, flows remembered while idle.
            Default 128.
        divisor: Values of the hash where they are more than the queues: then `flows`, or the limit in packets
            where that is less, is the most flows that wait at once, and the first packet of another one is
            refused (Linux's SFQ). Zero: each value has its queue. Default 1024.
        perturb_period: How often the perturbed hash is seeded anew and the waiting packets are hashed again
            (tc's perturb); zero is never. Default 0 s.
        quantum: Bytes that a flow may send per round; the schedulers sfq and ns2 take 0 for one packet. Default
            1514 B.
        scheduler: In which order the flows are served. Default sfq.
        scaled_allot: Counts credit in units of 8 bytes, quantum and packets rounded up (SFQ_ALLOT_SIZE of Linux
            before 6.10). Default false.
        hash: How a flow finds its queue. Default perturbed.
        isolation: What counts as one flow. Default flow.
        overflow: Which packets make room when a limit is reached. Default longest.
        drop_batch: The most packets that the fattest flow loses at once; half of its bytes end it as well.
            Default 64.
        raise_: Tells the fattest flow's AQM how many packets it lost: CoDel adds them to its count. Default
            true.
        depth: The most waiting packets of one flow; a thousand million, the default, are never reached. Default
            127.
        headdrop: SFQ makes room at the head of a flow instead of at its tail, and what a flow's AQM decides
            about an arriving packet, to drop or to mark it, befalls the flow's head: a head that cannot be
            marked leaves the mark to the arrival. Default false.
        """

@final
class SfqRed(RegistryAqm):
    """SFQ-RED: SFQ with a RED for each flow.

    Source: Linux, sch_sfq.c (redflowlimit).
    """
    def __init__(
        self,
        profile: Literal["linux"] | None = None,
        *,
        limit: int = ...,
        memory_limit: str = ...,
        flows: int = ...,
        divisor: int = ...,
        perturb_period: str = ...,
        quantum: str = ...,
        scheduler: Literal["drr++", "sfq", "drr", "ns2"] = ...,
        scaled_allot: bool = ...,
        hash: Literal["perturbed", "jenkins", "modulo", "host-sum", "perfect"] = ...,
        isolation: Literal["flow", "src-host", "dst-host", "host-pair"] = ...,
        overflow: Literal["arrival", "fattest", "longest", "longest-first", "fair-share"] = ...,
        drop_batch: int = ...,
        raise_: bool = ...,
        depth: int = ...,
        headdrop: bool = ...,
        redflowlimit: str = ...,
        min: str = ...,
        max: str = ...,
        avpkt: str = ...,
        burst: int = ...,
        probability: float = ...,
        ecn: bool = ...,
        harddrop: bool = ...,
        exclude_ce: bool = ...,
    ) -> None:
        """Configure a profile, None for the plain one:
        limit: The most waiting packets of all flows; the host's own limit holds as well. Default 127.
        memory_limit: The most waiting bytes of all flows. Linux counts what its packets occupy in memory, here
            it is their sizes. Default 33554432 B.
        flows: Queues that the flows are hashed to; where the hash is perfect, flows remembered while idle.
            Default 128.
        divisor: Values of the hash where they are more than the queues: then `flows`, or the limit in packets
            where that is less, is the most flows that wait at once, and the first packet of another one is
            refused (Linux's SFQ). Zero: each value has its queue. Default 1024.
        perturb_period: How often the perturbed hash is seeded anew and the waiting packets are hashed again
            (tc's perturb); zero is never. Default 0 s.
        quantum: Bytes that a flow may send per round; the schedulers sfq and ns2 take 0 for one packet. Default
            1514 B.
        scheduler: In which order the flows are served. Default sfq.
        scaled_allot: Counts credit in units of 8 bytes, quantum and packets rounded up (SFQ_ALLOT_SIZE of Linux
            before 6.10). Default false.
        hash: How a flow finds its queue. Default perturbed.
        isolation: What counts as one flow. Default flow.
        overflow: Which packets make room when a limit is reached. Default longest.
        drop_batch: The most packets that the fattest flow loses at once; half of its bytes end it as well.
            Default 64.
        raise_: Tells the fattest flow's AQM how many packets it lost: CoDel adds them to its count. Default
            true.
        depth: The most waiting packets of one flow; a thousand million, the default, are never reached. Default
            127.
        headdrop: SFQ makes room at the head of a flow instead of at its tail, and what a flow's AQM decides
            about an arriving packet, to drop or to mark it, befalls the flow's head: a head that cannot be
            marked leaves the mark to the arrival. Default false.
        redflowlimit: A flow's bytes that automatic thresholds follow from. It is no limit: those are limit and
            depth. Default 100000 B.
        min: A flow's average backlog from which on packets are dropped; zero: a third of max. Default 0 B.
        max: A flow's average backlog from which on every packet is dropped; zero: a quarter of redflowlimit.
            Default 0 B.
        avpkt: The average packet, by which burst is counted. Default 1000 B.
        burst: Packets of avpkt that pass before the average reaches min, from which its weight follows; zero:
            (2 min + max) / (3 avpkt). Default 0.
        probability: The probability just below max. Default 0.02.
        ecn: Marks ECN-capable packets instead of dropping them. Default false.
        harddrop: Drops also ECN-capable packets beyond max. Default false.
        """

@final
class Drr(RegistryAqm):
    """Deficit Round Robin: flows take turns, each sends what its credit covers.

    Source: M. Shreedhar, G. Varghese, SIGCOMM 1995.
    """
    def __init__(
        self,
        profile: Literal["sigcomm95"] | None = None,
        *,
        limit: int = ...,
        memory_limit: str = ...,
        flows: int = ...,
        divisor: int = ...,
        perturb_period: str = ...,
        quantum: str = ...,
        scheduler: Literal["drr++", "sfq", "drr", "ns2"] = ...,
        scaled_allot: bool = ...,
        hash: Literal["perturbed", "jenkins", "modulo", "host-sum", "perfect"] = ...,
        isolation: Literal["flow", "src-host", "dst-host", "host-pair"] = ...,
        overflow: Literal["arrival", "fattest", "longest", "longest-first", "fair-share"] = ...,
        drop_batch: int = ...,
        raise_: bool = ...,
        depth: int = ...,
        headdrop: bool = ...,
        exclude_ce: bool = ...,
    ) -> None:
        """Configure a profile, None for the plain one:
        limit: The most waiting packets of all flows; the host's own limit holds as well. Default 10240.
        memory_limit: The most waiting bytes of all flows. Linux counts what its packets occupy in memory, here
            it is their sizes. Default 33554432 B.
        flows: Queues that the flows are hashed to; where the hash is perfect, flows remembered while idle.
            Default 1024.
        divisor: Values of the hash where they are more than the queues: then `flows`, or the limit in packets
            where that is less, is the most flows that wait at once, and the first packet of another one is
            refused (Linux's SFQ). Zero: each value has its queue. Default 0.
        perturb_period: How often the perturbed hash is seeded anew and the waiting packets are hashed again
            (tc's perturb); zero is never. Default 0 s.
        quantum: Bytes that a flow may send per round; the schedulers sfq and ns2 take 0 for one packet. Default
            1514 B.
        scheduler: In which order the flows are served. Default drr.
        scaled_allot: Counts credit in units of 8 bytes, quantum and packets rounded up (SFQ_ALLOT_SIZE of Linux
            before 6.10). Default false.
        hash: How a flow finds its queue. Default perturbed.
        isolation: What counts as one flow. Default flow.
        overflow: Which packets make room when a limit is reached. Default longest.
        drop_batch: The most packets that the fattest flow loses at once; half of its bytes end it as well.
            Default 64.
        raise_: Tells the fattest flow's AQM how many packets it lost: CoDel adds them to its count. Default
            true.
        depth: The most waiting packets of one flow; a thousand million, the default, are never reached. Default
            1000000000.
        headdrop: SFQ makes room at the head of a flow instead of at its tail, and what a flow's AQM decides
            about an arriving packet, to drop or to mark it, befalls the flow's head: a head that cannot be
            marked leaves the mark to the arrival. Default false.
        """

@final
class Fq(RegistryAqm):
    """Flow queueing with any AQM of one queue for each flow: fq(codel@act), fq(pie target 5ms) quantum 300B.

    Source: RFC 8290 for the flows; the AQM's sources.
    """
    def __init__(
        self,
        profile: Literal["plain"] | None = None,
        *,
        limit: int = ...,
        memory_limit: str = ...,
        flows: int = ...,
        divisor: int = ...,
        perturb_period: str = ...,
        quantum: str = ...,
        scheduler: Literal["drr++", "sfq", "drr", "ns2"] = ...,
        scaled_allot: bool = ...,
        hash: Literal["perturbed", "jenkins", "modulo", "host-sum", "perfect"] = ...,
        isolation: Literal["flow", "src-host", "dst-host", "host-pair"] = ...,
        overflow: Literal["arrival", "fattest", "longest", "longest-first", "fair-share"] = ...,
        drop_batch: int = ...,
        raise_: bool = ...,
        depth: int = ...,
        headdrop: bool = ...,
        exclude_ce: bool = ...,
    ) -> None:
        """Configure a profile, None for the plain one:
        limit: The most waiting packets of all flows; the host's own limit holds as well. Default 10240.
        memory_limit: The most waiting bytes of all flows. Linux counts what its packets occupy in memory, here
            it is their sizes. Default 33554432 B.
        flows: Queues that the flows are hashed to; where the hash is perfect, flows remembered while idle.
            Default 1024.
        divisor: Values of the hash where they are more than the queues: then `flows`, or the limit in packets
            where that is less, is the most flows that wait at once, and the first packet of another one is
            refused (Linux's SFQ). Zero: each value has its queue. Default 0.
        perturb_period: How often the perturbed hash is seeded anew and the waiting packets are hashed again
            (tc's perturb); zero is never. Default 0 s.
        quantum: Bytes that a flow may send per round; the schedulers sfq and ns2 take 0 for one packet. Default
            1514 B.
        scheduler: In which order the flows are served. Default drr++.
        scaled_allot: Counts credit in units of 8 bytes, quantum and packets rounded up (SFQ_ALLOT_SIZE of Linux
            before 6.10). Default false.
        hash: How a flow finds its queue. Default perturbed.
        isolation: What counts as one flow. Default flow.
        overflow: Which packets make room when a limit is reached. Default fattest.
        drop_batch: The most packets that the fattest flow loses at once; half of its bytes end it as well.
            Default 64.
        raise_: Tells the fattest flow's AQM how many packets it lost: CoDel adds them to its count. Default
            true.
        depth: The most waiting packets of one flow; a thousand million, the default, are never reached. Default
            1000000000.
        headdrop: SFQ makes room at the head of a flow instead of at its tail, and what a flow's AQM decides
            about an arriving packet, to drop or to mark it, befalls the flow's head: a head that cannot be
            marked leaves the mark to the arrival. Default false.
        """

@final
class Dualpi2(RegistryAqm):
    """DualPI2: an L4S queue beside a classic one, marked and dropped by one coupled controller.

    Source: RFC 9332; Linux, sch_dualpi2.c.
    """
    def __init__(
        self,
        profile: Literal["rfc9332", "linux"] | None = None,
        *,
        limit: int = ...,
        memlimit: str = ...,
        target: str = ...,
        tupdate: str = ...,
        alpha: float = ...,
        beta: float = ...,
        max_rtt: str = ...,
        typical_rtt: str = ...,
        created: str = ...,
        coupling_factor: float = ...,
        step_thresh: str = ...,
        ramp: str = ...,
        step_packets: int = ...,
        min_qlen_step: int = ...,
        min_backlog: int = ...,
        drop_on_overload: bool = ...,
        split_gso: bool = ...,
        drop_enqueue: bool = ...,
        classify: Literal["l4s-ect", "any-ect"] = ...,
        scheduler: Literal["wrr", "ts-fifo"] = ...,
        classic_protection: int = ...,
        tshift: str = ...,
        marking: Literal["recur", "random"] = ...,
        version: Literal["rfc9332", "linux"] = ...,
    ) -> None:
        """Configure a profile, None for the plain one:
        limit: The most waiting packets of both queues; the host's own limit holds as well. Default 10000.
        memlimit: The most waiting bytes of both queues; zero is twice the limit in packets of the link's
            largest size. Linux counts what its packets occupy in memory, here it is their sizes (linux).
            Default 0 B.
        target: The delay that the controller steers to. Default 15 ms.
        tupdate: How often the probability is updated (Tupdate). Default 15 ms.
        alpha: Gain of the deviation from the target, per second; linux rounds down to 1/256, tc's unit. Default
            0.15.
        beta: Gain of the delay's change between two updates, per second; linux rounds down to 1/256, tc's unit.
            Default 3.
        max_rtt: The longest round-trip time that is expected: in place of target, tupdate, alpha and beta,
            which follow from it as in tc; zero is as these say (linux). Default 0 s.
        typical_rtt: The usual round-trip time, as max_rtt; zero is a sixth of that (linux). Default 0 s.
        created: When the queue was made, on the clock of the host: the first update is due after `tupdate` from
            then (linux). Default 0 s.
        coupling_factor: k: what p' is multiplied by for L4S packets; a whole number in linux. Default 2.
        step_thresh: Sojourn time above which L4S packets are marked by their own queue (minTh). Default 800 us.
        ramp: Over how much more sojourn time the probability of these marks rises to 1 (range); zero is a step.
            Default 400 us.
        step_packets: Marks by the length of the L4S queue instead: where more packets are left behind. Zero: by
            sojourn time. Default 0.
        min_qlen_step: Packets of the L4S queue from which on its packets are marked by their own queue: those
            that an arrival finds (linux), or those that a packet leaves behind. Default 0.
        min_backlog: Backlog of both queues, in packets of the link's largest size, below which p' has no
            effect; always two in linux. Default 0.
        drop_on_overload: Drops where k times p' is above one; otherwise p' ends there, and ECN-capable packets
            are always marked. Default true.
        split_gso: Takes super-packets of segmentation offload as their segments. Default true.
        drop_enqueue: Decides by p' on arrival (tc's drop_enqueue) instead of on departure. Default false.
        classify: Which packets join the L4S queue. Default l4s-ect.
        scheduler: Which queue is served where both have packets. Default wrr.
        classic_protection: wrr: per cent of the bytes that the classic queue gets. Default 10.
        tshift: ts-fifo: how much sooner an L4S packet is served than a classic one that came at the same time.
            Default 30 ms.
        marking: How packets are picked with a probability; always at random in linux. Default recur.
        version: Whose algorithm it is; each has its profile, and refuses parameters that it lacks. Default
            rfc9332.
        """

@final
class Cake(RegistryAqm):
    """CAKE: a shaper above tins by DSCP, flows fair between hosts, each under COBALT.

    Source: Linux, sch_cake.c; T. Høiland-Jørgensen, D. Täht, J. Morton, LANMAN 2018.
    """
    def __init__(
        self,
        profile: Literal["linux", "linux-6.1", "linux-7.3"] | None = None,
        *,
        bandwidth: str = ...,
        autorate_ingress: bool = ...,
        tins: Literal["besteffort", "diffserv3", "diffserv4", "diffserv8", "precedence"] = ...,
        isolation: Literal["flowblind", "srchost", "dsthost", "hosts", "flows", "dual-srchost", "dual-dsthost",
            "triple-isolate"] = ...,
        rtt: str = ...,
        wash: bool = ...,
        ack_filter: Literal["off", "filter", "aggressive"] = ...,
        ingress: bool = ...,
        memlimit: str = ...,
        overhead: float = ...,
        mpu: int = ...,
        layer: Literal["noatm", "atm", "ptm"] = ...,
        link_header: int = ...,
        split_gso: bool = ...,
        hash: Literal["perturbed", "modulo"] = ...,
        version: Literal["linux", "linux-6.1", "linux-7.3"] = ...,
    ) -> None:
        """Configure a profile, None for the plain one:
        bandwidth: The rate to shape to, 512 bit/s or more, in tc's word also `unlimited`: zero, the link's own
            rate. Default 0 bit/s.
        autorate_ingress: Shapes to 15/16 of the rate at which packets arrive, estimated from `bandwidth` on.
            Default false.
        tins: The tins, by DSCP. Default diffserv3.
        isolation: What gets equal shares. Default triple-isolate.
        rtt: The interval of COBALT, a usual round-trip time; its target is a twentieth of it. tc's words `lan`,
            `internet`, `satellite` and so on stand for such times. Default 100 ms.
        wash: Clears the DSCP of what is sent; the ECN field stays. Default false.
        ack_filter: Drops acknowledgments that a later one in the queue makes superfluous, where the host tells
            of TCP headers. Default off.
        ingress: Shapes what comes from a link in front: what is dropped here has crossed it and is charged as
            well. Default false.
        memlimit: Bytes that may wait; zero takes four intervals of the rate, and 4 MiB or more. Linux counts
            what its packets occupy in memory, here it is their sizes. The host's own limit holds as well.
            Default 0 B.
        overhead: Whole bytes that every packet has more on the wire; from -64 to 256. Default 0.
        mpu: The least size on the wire, with the overhead. Default 0.
        layer: What the link layer makes of a packet with its overhead. Default noatm.
        link_header: Bytes of a packet, as this queue accounts it, that come before its IP header; they do not
            count on the wire. 14 on Ethernet; links of scenarios account packets from the IP header on. Default
            0.
        split_gso: Takes super-packets of segmentation offload as their segments; else each is one packet, whose
            segments count on the wire as if they were equally long. Default true.
        hash: How packets find their places. Default perturbed.
        version: Whose it is: versions differ in their COBALT, and in autorate-ingress. Default linux.
        """

@final
class CakeMq(RegistryAqm):
    """CAKE for each hardware queue of a card: instances that share one rate without waiting for each other.

    Source: Linux 7.3, sch_cake.c.
    """
    def __init__(
        self,
        profile: Literal["linux"] | None = None,
        *,
        queues: int = ...,
        sync_time: str = ...,
        bandwidth: str = ...,
        autorate_ingress: bool = ...,
        tins: Literal["besteffort", "diffserv3", "diffserv4", "diffserv8", "precedence"] = ...,
        isolation: Literal["flowblind", "srchost", "dsthost", "hosts", "flows", "dual-srchost", "dual-dsthost",
            "triple-isolate"] = ...,
        rtt: str = ...,
        wash: bool = ...,
        ack_filter: Literal["off", "filter", "aggressive"] = ...,
        ingress: bool = ...,
        memlimit: str = ...,
        overhead: float = ...,
        mpu: int = ...,
        layer: Literal["noatm", "atm", "ptm"] = ...,
        link_header: int = ...,
        split_gso: bool = ...,
        hash: Literal["perturbed", "modulo"] = ...,
        version: Literal["linux", "linux-6.1", "linux-7.3"] = ...,
    ) -> None:
        """Configure a profile, None for the plain one:
        queues: Hardware queues of the card, each with an instance. Default 4.
        sync_time: How long an instance keeps its part of the rate before it counts the active ones anew; 200 us
            in Linux. Default 200 us.
        bandwidth: The rate to shape to, 512 bit/s or more, in tc's word also `unlimited`: zero, the link's own
            rate. Default 0 bit/s.
        autorate_ingress: Shapes to 15/16 of the rate at which packets arrive, estimated from `bandwidth` on.
            Default false.
        tins: The tins, by DSCP. Default diffserv3.
        isolation: What gets equal shares. Default triple-isolate.
        rtt: The interval of COBALT, a usual round-trip time; its target is a twentieth of it. tc's words `lan`,
            `internet`, `satellite` and so on stand for such times. Default 100 ms.
        wash: Clears the DSCP of what is sent; the ECN field stays. Default false.
        ack_filter: Drops acknowledgments that a later one in the queue makes superfluous, where the host tells
            of TCP headers. Default off.
        ingress: Shapes what comes from a link in front: what is dropped here has crossed it and is charged as
            well. Default false.
        memlimit: Bytes that may wait; zero takes four intervals of the rate, and 4 MiB or more. Linux counts
            what its packets occupy in memory, here it is their sizes. The host's own limit holds as well.
            Default 0 B.
        overhead: Whole bytes that every packet has more on the wire; from -64 to 256. Default 0.
        mpu: The least size on the wire, with the overhead. Default 0.
        layer: What the link layer makes of a packet with its overhead. Default noatm.
        link_header: Bytes of a packet, as this queue accounts it, that come before its IP header; they do not
            count on the wire. 14 on Ethernet; links of scenarios account packets from the IP header on. Default
            0.
        split_gso: Takes super-packets of segmentation offload as their segments; else each is one packet, whose
            segments count on the wire as if they were equally long. Default true.
        hash: How packets find their places. Default perturbed.
        version: Whose it is: versions differ in their COBALT, and in autorate-ingress. Default linux.
        """

@final
class SchFq(RegistryAqm):
    """Linux's pacing scheduler, fq without brackets: flows in turn, none before its time.

    Source: E. Dumazet; Linux, sch_fq.c.
    """
    def __init__(
        self,
        profile: Literal["linux", "linux-6.1"] | None = None,
        *,
        limit: int = ...,
        flow_limit: int = ...,
        quantum: str = ...,
        initial_quantum: str = ...,
        pacing: bool = ...,
        maxrate: str = ...,
        low_rate_threshold: str = ...,
        refill_delay: str = ...,
        ce_threshold: str = ...,
        horizon: str = ...,
        horizon_drop: bool = ...,
        priomap: str = ...,
        weight_1: int = ...,
        weight_2: int = ...,
        weight_3: int = ...,
        hash: Literal["socket", "orphan"] = ...,
        orphan_mask: int = ...,
        version: Literal["linux", "linux-6.1"] = ...,
    ) -> None:
        """Configure a profile, None for the plain one:
        limit: Most packets that wait, of each band where there are bands. Default 10000.
        flow_limit: Most packets of a flow. Default 100.
        quantum: Bytes of a flow's turn; zero takes two packets of the largest size. Default 0 B.
        initial_quantum: Bytes that a new flow may send at once; zero takes ten packets of the largest size.
            Default 0 B.
        pacing: Whether flows are paced. Default true.
        maxrate: Most that a flow gets; zero bounds none. Default 0 bit/s.
        low_rate_threshold: Flows up to this rate are paced packet by packet, faster ones by their quanta.
            Default 550 kbit/s.
        refill_delay: A flow that has been idle for longer gets a quantum when it comes again. Default 40 ms.
        ce_threshold: A packet that leaves so much later than it could have gone is marked; one that is not ECN-
            capable stays as it is. Default 4294.967295 s.
        horizon: How far ahead a packet's own time may lie. Default 10 s.
        horizon_drop: Whether a packet beyond the horizon is dropped, as tc's `horizon_drop` says; `horizon_cap`
            lets it go at the horizon. Default true.
        priomap: The band, from 0 to 2, of each of the priorities 0 to 15: 16 numbers. Default
            1,2,2,2,1,2,0,0,1,1,1,1,1,1,1,1.
        weight_1: Bytes of a turn of the first band; tc's `weights` are all three. Default 589824.
        weight_2: Of the second. Default 196608.
        weight_3: Of the third. Default 65536.
        hash: How packets find their flows. Default socket.
        orphan_mask: With `hash orphan` the number of flows, less one. Default 1023.
        version: Whose scheduler it is. Default linux.
        """

@final
class PfifoFast(RegistryAqm):
    """Three bands by the type of service, each with tail drop: what Linux has where nothing is set.

    Source: Linux, sch_generic.c.
    """
    def __init__(
        self,
        profile: Literal["linux"] | None = None,
        *,
        limit: int = ...,
    ) -> None:
        """Configure a profile, None for the plain one:
        limit: Most packets that wait in each band: the length of the device's queue in Linux. Default 1000.
        """

@final
class Tbf(RegistryAqm):
    """Token bucket filter: shapes to a rate with bursts; what waits is another discipline in braces.

    Source: Linux, sch_tbf.c.
    """
    def __init__(
        self,
        profile: Literal["linux"] | None = None,
        *,
        rate: str = ...,
        burst: str = ...,
        limit: str = ...,
        latency: str = ...,
        peakrate: str = ...,
        mtu: str = ...,
        overhead: int = ...,
        mpu: int = ...,
        linklayer: Literal["ethernet", "atm"] = ...,
        inside: Aqm | type[Aqm] | str | None = ...,
    ) -> None:
        """Configure a profile, None for the plain one:
        rate: The rate to shape to, 8 bit/s or more; zero does not shape. Default 0 bit/s.
        burst: Size of the bucket, also `buffer` and `maxburst`: what may go at once after a pause. A packet
            above it is dropped. Default 0 B.
        limit: Bytes that may wait in the queue that is there without braces; either this or `latency`. Zero
            leaves it to the limit of the link. Default 0 B.
        latency: The same as a time: how long a packet may wait for tokens. Default 0 s.
        peakrate: The rate at which the bucket itself is emptied; zero does not bound it. Default 0 bit/s.
        mtu: Size of the bucket of `peakrate`, also `minburst`. Default 0 B.
        overhead: Bytes that every packet has more on the wire. Default 0.
        mpu: The least size on the wire, with the overhead. Default 0.
        linklayer: What the link layer makes of a packet with its overhead. Default ethernet.
        inside: What waits, as in tc's braces: a queue manager, or the text. Default none.
        """

@final
class Prio(RegistryAqm):
    """Strict priorities: bands by class, DSCP or priority, each with another discipline in braces.

    Source: Linux, sch_prio.c.
    """
    def __init__(
        self,
        profile: Literal["linux"] | None = None,
        *,
        handle: str = ...,
        bands: int = ...,
        priomap: str = ...,
        inside: Aqm | type[Aqm] | str | None = ...,
    ) -> None:
        """Configure a profile, None for the plain one:
        handle: The handle, as in tc's `handle 1:`: a class that a sender names belongs to it. Default 1.
        bands: Number of bands. Default 3.
        priomap: The band, from 0 on, of each of the priorities 0 to 15: 16 numbers. Default
            1,2,2,2,1,2,0,0,1,1,1,1,1,1,1,1.
        inside: What waits, as in tc's braces: a queue manager, or the text. Default none.
        """

@final
class Htb(RegistryAqm):
    """Hierarchical token bucket: classes with a rate and a ceiling that borrow from each other, each with another
        discipline in braces.

    Source: M. Devera; Linux, sch_htb.c.
    """
    def __init__(
        self,
        profile: Literal["linux", "linux-6.1"] | None = None,
        *,
        handle: str = ...,
        default: str = ...,
        r2q: int = ...,
        direct_qlen: int = ...,
        rounding: Literal["up", "down"] = ...,
        inside: Aqm | type[Aqm] | str | None = ...,
    ) -> None:
        """Configure a profile, None for the plain one:
        handle: The handle, as in tc's `handle 1:`: classes that senders name belong to it. Default 1.
        default: The class, in hexadecimal as tc has it, of what matches no filter; with 0 that goes directly,
            without a shaper. Default 0.
        r2q: A class's rate in bytes per second over this is its quantum where it has none of its own. Default
            10.
        direct_qlen: Most packets that wait to go directly; the length of the device's queue in Linux. Default
            1000.
        rounding: How tc makes ticks of 64 ns of the depth of a bucket. Default up.
        inside: What waits, as in tc's braces: a queue manager, or the text. Default none.
        """

@final
class Netem(RegistryAqm):
    """Network emulator: delay, jitter, loss, duplicates, damage, reordering, a rate and slots; then another
        discipline in braces.

    Source: S. Hemminger; S. Salsano, F. Ludovici, A. Ordine; Linux, sch_netem.c.
    """
    def __init__(
        self,
        profile: Literal["linux"] | None = None,
        *,
        limit: int = ...,
        delay: str = ...,
        jitter: str = ...,
        delay_corr: float = ...,
        distribution: str = ...,
        loss: float = ...,
        loss_corr: float = ...,
        loss_model: Literal["random", "state", "gemodel"] = ...,
        p13: float = ...,
        p31: float = ...,
        p32: float = ...,
        p23: float = ...,
        p14: float = ...,
        ge_p: float = ...,
        ge_r: float = ...,
        ge_1_h: float = ...,
        ge_1_k: float = ...,
        ecn: bool = ...,
        duplicate: float = ...,
        duplicate_corr: float = ...,
        corrupt: float = ...,
        corrupt_corr: float = ...,
        reorder: float = ...,
        reorder_corr: float = ...,
        gap: int = ...,
        rate: str = ...,
        packet_overhead: float = ...,
        cell_size: int = ...,
        cell_overhead: float = ...,
        slot_min: str = ...,
        slot_max: str = ...,
        slot_distribution: str = ...,
        slot_delay: str = ...,
        slot_jitter: str = ...,
        slot_packets: int = ...,
        slot_bytes: str = ...,
        inside: Aqm | type[Aqm] | str | None = ...,
    ) -> None:
        """Configure a profile, None for the plain one:
        limit: Most packets that wait, for their times or in a discipline in braces; tc's own limit. Default
            1000.
        delay: How long packets are held up, also `latency`; tc's `delay TIME JITTER CORRELATION` gives three
            parameters. Default 0 s.
        jitter: How far delays lie from their mean, by `distribution`. A delay below zero is none, and packets
            overtake each other. Default 0 s.
        delay_corr: How much a delay depends on the one before, in percent. Default 0.
        distribution: How delays lie about their mean: one of the words, or a file with a table of tc's form,
            without its ending `.dist` too. Default uniform.
        loss: Packets lost at random, in percent; tc's `loss PERCENT CORRELATION` gives two parameters. Default
            0.
        loss_corr: How much a loss depends on the packet before, in percent. Default 0.
        loss_model: What loses packets; tc's `loss random …`, `loss state P13 P31 P32 P23 P14` and `loss gemodel
            P R 1-H 1-K`. Default random.
        p13: Of `loss state`: from received in a gap to lost in a burst, in percent. Default 0.
        p31: From lost in a burst to received in a gap; in tc's words 100 % less P13 where it is left out.
            Default 100.
        p32: From lost in a burst to received in a burst. Default 0.
        p23: From received in a burst to lost in a burst. Default 100.
        p14: From received in a gap to lost in a gap. Default 0.
        ge_p: Of `loss gemodel`: from the good state to the bad one, in percent. Default 0.
        ge_r: From the bad state to the good one; in tc's words 100 % less P where it is left out. Default 100.
        ge_1_h: Lost in the bad state, tc's 1-H. Default 100.
        ge_1_k: Lost in the good state, tc's 1-K. Default 0.
        ecn: Whether ECN-capable packets are marked instead of lost. Default false.
        duplicate: Packets that come twice, in percent; tc's `duplicate PERCENT CORRELATION` gives two
            parameters. Default 0.
        duplicate_corr: How much that depends on the packet before; as with tc it has an effect only if there is
            another correlation, too. Default 0.
        corrupt: Packets of which a bit is flipped, in percent; tc's `corrupt PERCENT CORRELATION` gives two
            parameters. Default 0.
        corrupt_corr: How much that depends on the packet before, in percent. Default 0.
        reorder: Packets that go at once, in percent, of each `gap`th and those behind it; tc's `reorder PERCENT
            CORRELATION`. Default 0.
        reorder_corr: How much that depends on the packet before, in percent. Default 0.
        gap: So many packets less one are held up between two that go at once; zero is one, with `reorder`.
            Default 0.
        rate: Rate at which packets leave one after the other; zero does not bound it. tc's `rate RATE
            PACKETOVERHEAD CELLSIZE CELLOVERHEAD` gives four parameters. Default 0 bit/s.
        packet_overhead: Bytes that every packet has more at the rate; may be below zero. Default 0.
        cell_size: Bytes of a packet in each cell; zero has no cells. Default 0.
        cell_overhead: Bytes that every cell has more; may be below zero. Default 0.
        slot_min: Least time between two slots in which packets leave; tc's `slot MIN MAX packets N bytes N`.
            Zero has no slots. Default 0 s.
        slot_max: Most time between two slots; no less than the least. Default 0 s.
        slot_distribution: How times between slots lie about their mean; tc's `slot distribution NAME DELAY
            JITTER`. Default uniform.
        slot_delay: Mean time between slots, with `slot_jitter`. Default 0 s.
        slot_jitter: How far times between slots lie from their mean; zero takes `slot_min` and `slot_max`.
            Default 0 s.
        slot_packets: Most packets of a slot; zero bounds none. Default 0.
        slot_bytes: Most bytes of a slot, the last packet's beyond them included; zero bounds none. Default 0 B.
        inside: What waits, as in tc's braces: a queue manager, or the text. Default none.
        """
