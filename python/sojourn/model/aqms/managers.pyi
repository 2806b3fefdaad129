"""The queue managers of the registry with their parameters; written by `make stubs`."""

from typing import Literal, final

from sojourn.model.aqms.aqm import Aqm
from sojourn.model.aqms.registered import RegistryAqm

__all__ = ["Droptail", "Drophead", "Codel", "Cobalt", "CodelDt", "Pie", "Pi2", "Red", "Ared", "Choke", "Blue",
    "Sfb", "Pi", "Rem", "Avq", "FqCodel", "Sfqcodel", "FqPie", "Sfq", "SfqRed", "Drr", "Fq", "Dualpi2", "Cake",
    "CakeMq", "SchFq", "PfifoFast", "Tbf", "Prio", "Htb", "Police", "Netem"]

@final
class Droptail(RegistryAqm):
    """Tail drop: no AQM, only limits.

    Source: common practice.
    """
    def __init__(
        self,
        profile: Literal["plain"] | None = None,
        *,
        exclude_ce: bool = ...,
    ) -> None:
        """Configure a profile, None for the default profile.
        """

@final
class Drophead(RegistryAqm):
    """Head drop: no AQM; drops the oldest packets to make room for arrivals.

    Source: common practice; Linux pfifo_head_drop.
    """
    def __init__(
        self,
        profile: Literal["plain"] | None = None,
        *,
        exclude_ce: bool = ...,
    ) -> None:
        """Configure a profile, None for the default profile.
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
        """Configure a profile, None for the default profile:
        target: Acceptable standing queue delay: sojourn times below it never cause drops. Default 5 ms.
        interval: Time that the sojourn time must stay above target before the first drop: a worst-case round-
            trip time. Default 100 ms.
        ecn: Marks ECN-capable packets instead of dropping them, at most one per dequeue. Default false.
        ce_threshold: Marks every ECN-capable packet that has waited longer than this; the default, an hour, is
            never reached. Default 3600 s.
        ce_threshold_selector: Limits ce_threshold to packets whose DS field under ce_threshold_mask is this
            (tc's ce_threshold_selector VALUE/MASK); 1 under 3 is ECT(1) (linux). Default 0.
        ce_threshold_mask: Bits of the DS field that ce_threshold_selector compares; zero selects every packet
            (linux). Default 0.
        version: Version of the algorithm; each has its profile, and refuses parameters that it lacks. Default
            rfc8289.
        n: Constant drop count (count-n). Default 600.
        max_delay: Maximum sojourn time (hardlimit). Default 50 ms.
        hard_limit: Whether packets older than max_delay are dropped outright: off, as printed in the paper, or
            strictly (hardlimit). Default off.
        window: Time that the sojourn time must stay above target: the interval, or less after a recent phase
            (historic versions). Default interval.
        small_backlog: Backlog that counts as small, so nothing is dropped: less than one largest packet, or at
            most one (historic versions). Default at-most.
        maxpacket: Largest packet: the link's, or, as in older Linux, the largest seen so far (linux). Default
            mtu.
        keep_above: Keeps the time since which the sojourn time is above target when the queue is found empty,
            as older Linux did; it matters if the bytes of other flows count too (linux). Default false.
        """

@final
class Cobalt(RegistryAqm):
    """COBALT: CoDel whose count decays as it grew, plus BLUE against unresponsive flows; CAKE's AQM.

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
        """Configure a profile, None for the default profile:
        target: Acceptable standing queue delay: packets with a lower sojourn time are never dropped or marked.
            Default 5 ms.
        interval: Interval of the control law, divided by the square root of the count: a worst-case round-trip
            time. Default 100 ms.
        bandwidth: Rate behind the queue, 512 bit/s or more: target is at least 1.5 packet times at it, interval
            at least twice the target, and delays up to 4 packet times are never acted upon. Zero: target and
            interval as given. Default 0 bit/s.
        ecn: Marks ECN-capable packets that CoDel's law would drop; BLUE still drops. Default true.
        blue_threshold: Sojourn time above which BLUE's probability rises as at an overflow; the default, an
            hour, is never reached (ns3). Default 3600 s.
        ce_threshold: Sojourn time above which every ECN-capable packet is marked; the default, an hour, is
            never reached (ns3). Default 3600 s.
        l4s: Applies ce_threshold to ECT(1) and CE packets only, and exempts them from everything else (ns3).
            Default false.
        version: Version of the algorithm; each has its profile and refuses parameters that it lacks. Default
            linux.
        """

@final
class CodelDt(RegistryAqm):
    """CoDel on arrivals: drops at the tail by the delay that the packet is about to see.

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
        """Configure a profile, None for the default profile:
        target: Acceptable standing queue delay: packets with a lower expected delay are never dropped. Default
            5 ms.
        interval: Time for which the delay must stay above target before the first drop: a worst-case round-trip
            time. Default 100 ms.
        dt_offset: Time subtracted from the target: a cable modem's wait for its grant (6 ms there); if the
            result is negative, no delay is below it. Default 0 s.
        predictor: Source of the departure rate. Default measured.
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
        """Configure a profile, None for the default profile:
        target: Target delay of the controller (QDELAY_REF). Default 15 ms.
        tupdate: Update interval of the drop probability (T_UPDATE); linux counts in jiffies, rounded up, plus
            one. Default 15 ms.
        alpha: Gain of the deviation from the target, per second; linux and cisco2013-ticks round to sixteenths,
            tc's unit. Default 0.125.
        beta: Gain of the delay's change between two updates, per second; linux and cisco2013-ticks round to
            sixteenths, tc's unit. Default 1.25.
        max_burst: Time without drops after the queue becomes busy (MAX_BURST). Default 150 ms.
        ecn: Marks ECN-capable packets instead of dropping them while p is below mark_ecnth. Default false.
        mark_ecnth: Drop probability above which ECN-capable packets are dropped too (tc's ecn_prob of fq_pie,
            in percent there); linux counts in thousandths. Default 0.1.
        derandomise: Spaces drops more evenly: none before the accumulated probability reaches 0.85, a certain
            one at 8.5. Default true.
        activation: When the control is active; a queue without limits is always controlled. Default on-off.
        dq_threshold: Bytes whose departure is timed for the estimate of the departure rate (DQ_THRESHOLD).
            Default 16384 B.
        mean_pktsize: Typical packet size (MEAN_PKTSIZE): nothing is dropped at a backlog of two or less.
            Default 1024 B.
        scaling: Damping of changes of p while p is small. Default seven-levels.
        cap: Maximum increase of p per update once p is at least 0.1. Default 0.02.
        high_delay: Delay above which p grows by another 0.02 per update; zero disables the rule. Default 250
            ms.
        decay: Condition for p to decay by itself. Default empty.
        version: Version of the algorithm; each has its profile and refuses parameters that it lacks. Default
            rfc8033.
        bytemode: Drops small packets less often: with p times their size over the link's largest one. Default
            false.
        dq_rate_estimator: Estimates the delay from the departure rate instead of timestamps (linux). Default
            false.
        jiffy: Unit of the kernel's timers, 1/HZ (linux). Default 1 ms.
        created: Creation time of the queue on the host's clock: the first update is due half a second later
            (linux). Default 0 s.
        latency_low: Delay below which p decays if decay is low (LATENCY_LOW). Default 5 ms.
        burst_reset: Time for which congestion must be over before a burst is allowed again (docsis,
            BURST_RESET_TIMEOUT). Default 1 s.
        msr: Maximum sustained rate of the service (docsis, MSR) as a share of the link's rate, which is the
            peak rate. Default 1.
        max_traffic_burst: Bytes that may be sent at the peak rate (docsis, Maximum Traffic Burst), the depth of
            the token bucket. Default 3044 B.
        """

@final
class Pi2(RegistryAqm):
    """PI2: a PI controller of the delay; its output is squared for classic traffic and used as it is for scalable.

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
        """Configure a profile, None for the default profile:
        target: Target delay of the controller. Default 15 ms.
        tupdate: Update interval of the probability (Tupdate). Default 16 ms.
        alpha: Gain of the deviation from the target, per second. Default 0.16.
        beta: Gain of the delay's change between two updates, per second. Default 3.2.
        k: Coupling factor: the ratio of p' for scalable packets to p'; 1 is the uncoupled law. Default 2.
        ecn: Marks ECN-capable packets instead of dropping them; without it scalable packets are treated as
            classic ones. Default true.
        drop_overload: Drops when k times p' exceeds one; otherwise p' is capped there, and ECN-capable packets
            are always marked. Default true.
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
        """Configure a profile, None for the default profile:
        min: Average backlog above which packets are dropped (thresh, min). Zero: ns-2 takes half of the bytes
            that the link carries in target, at least 5 packets of avpkt; tc a third of max, or half of target
            if that is set. Default 0 B.
        max: Average backlog of the maximum probability (maxthresh, max). Zero: three times min; for tc without
            min a quarter of the queue's limit, or 1.5 times target if that is set. Default 0 B.
        target: Queueing delay from which min and max follow if they are zero (targetdelay). Linux's arithmetic
            uses the mapping of Khademi et al. 2013: 0.5 and 1.5 times the bytes of the link in it, at least one
            and two MTU; zero: tc's rules. Default 5 ms.
        avpkt: Mean packet size (mean_pktsize). Default 500 B.
        bandwidth: Rate at which packets are assumed to leave during an idle time; zero is the link's rate.
            Default 0 bit/s.
        probability: Maximum probability below max (1/linterm, max_p); if adaptive, the initial one. Default
            0.1.
        ecn: Marks ECN-capable packets instead of dropping them. Default false.
        arithmetic: Arithmetic: of ns-2 or of Linux. Default ns2.
        adaptive: Adapts the probability so that the average stays halfway between min and max. Default off.
        interval: Minimum time between two steps of the probability; in Linux the period of a timer. Default 500
            ms.
        alpha: ns2: increment of the probability with aimd, at most a quarter of it; divisor with mimd. Default
            0.01.
        beta: ns2: factor of the probability with aimd and mimd. Default 0.9.
        top: ns2: aimd raises the probability only below this value. Default 0.5.
        bottom: ns2: aimd lowers the probability only above this value. Zero: 0.01, or 80 kbit/s over the link's
            rate if less. Default 0.
        weight: ns2: weight of a new sample in the average (q_weight). 0: 1 - exp(-1/C), C in packets of avpkt
            per second; -1: 1 - exp(-1/(10 RTT C)), with an RTT of 100 ms, or three times the link's delay and a
            packet's time; -2: 1 - exp(-10/C). Default -1.
        gentle: ns2: beyond max the probability grows to 1 at twice max instead of jumping there (gentle).
            Default true.
        gentle_slope: ns2: whether the segment beyond max starts from the current probability or from the
            initial one. Default recomputed.
        wait: ns2: leaves at least 1/p packets between two drops. Default true.
        queue_in_bytes: ns2: measures the queue in bytes; otherwise in packets, with min and max in packets of
            avpkt. Default true.
        bytes: ns2: drops large packets with a higher probability, and counts bytes between two drops, in
            packets of avpkt. Default true.
        mark_p: ns2: probability above which ECN-capable packets are dropped too. Default 0.1.
        use_mark_p: ns2: applies mark_p; otherwise everything is dropped at a probability of 1, and marks have
            no limit below. Default true.
        burst: linux: burst in packets of avpkt that the weight lets pass. Zero: (2 min + max)/(3 avpkt),
            rounded up with target. Default 0.
        harddrop: linux: drops ECN-capable packets too beyond max. Default false.
        nodrop: linux: passes packets that are not ECN-capable instead of dropping them. Default false.
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
        """Configure a profile, None for the default profile:
        min: Average backlog above which packets are dropped (thresh, min). Zero: ns-2 takes half of the bytes
            that the link carries in target, at least 5 packets of avpkt; tc a third of max, or half of target
            if that is set. Default 0 B.
        max: Average backlog of the maximum probability (maxthresh, max). Zero: three times min; for tc without
            min a quarter of the queue's limit, or 1.5 times target if that is set. Default 0 B.
        target: Queueing delay from which min and max follow if they are zero (targetdelay). Linux's arithmetic
            uses the mapping of Khademi et al. 2013: 0.5 and 1.5 times the bytes of the link in it, at least one
            and two MTU; zero: tc's rules. Default 5 ms.
        avpkt: Mean packet size (mean_pktsize). Default 500 B.
        bandwidth: Rate at which packets are assumed to leave during an idle time; zero is the link's rate.
            Default 0 bit/s.
        probability: Maximum probability below max (1/linterm, max_p); if adaptive, the initial one. Default
            0.1.
        ecn: Marks ECN-capable packets instead of dropping them. Default false.
        arithmetic: Arithmetic: of ns-2 or of Linux. Default ns2.
        adaptive: Adapts the probability so that the average stays halfway between min and max. Default aimd.
        interval: Minimum time between two steps of the probability; in Linux the period of a timer. Default 500
            ms.
        alpha: ns2: increment of the probability with aimd, at most a quarter of it; divisor with mimd. Default
            0.01.
        beta: ns2: factor of the probability with aimd and mimd. Default 0.9.
        top: ns2: aimd raises the probability only below this value. Default 0.5.
        bottom: ns2: aimd lowers the probability only above this value. Zero: 0.01, or 80 kbit/s over the link's
            rate if less. Default 0.
        weight: ns2: weight of a new sample in the average (q_weight). 0: 1 - exp(-1/C), C in packets of avpkt
            per second; -1: 1 - exp(-1/(10 RTT C)), with an RTT of 100 ms, or three times the link's delay and a
            packet's time; -2: 1 - exp(-10/C). Default -1.
        gentle: ns2: beyond max the probability grows to 1 at twice max instead of jumping there (gentle).
            Default true.
        gentle_slope: ns2: whether the segment beyond max starts from the current probability or from the
            initial one. Default recomputed.
        wait: ns2: leaves at least 1/p packets between two drops. Default true.
        queue_in_bytes: ns2: measures the queue in bytes; otherwise in packets, with min and max in packets of
            avpkt. Default true.
        bytes: ns2: drops large packets with a higher probability, and counts bytes between two drops, in
            packets of avpkt. Default true.
        mark_p: ns2: probability above which ECN-capable packets are dropped too. Default 0.1.
        use_mark_p: ns2: applies mark_p; otherwise everything is dropped at a probability of 1, and marks have
            no limit below. Default true.
        burst: linux: burst in packets of avpkt that the weight lets pass. Zero: (2 min + max)/(3 avpkt),
            rounded up with target. Default 0.
        harddrop: linux: drops ECN-capable packets too beyond max. Default false.
        nodrop: linux: passes packets that are not ECN-capable instead of dropping them. Default false.
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
        """Configure a profile, None for the default profile:
        min: Average backlog in packets above which arrivals are compared with a drawn packet; zero is a third
            of max. Default 0.
        max: Average backlog in packets above which every arrival is dropped; zero is a quarter of the queue's
            limit. Default 0.
        avpkt: Mean packet size. Default 1000 B.
        burst: Burst in packets that the averaging weight lets pass; zero is (2 min + max)/3. Default 0.
        bandwidth: Rate at which packets are assumed to leave during an idle time; zero is the link's rate.
            Default 0 bit/s.
        probability: Maximum probability below max (max_P). Default 0.02.
        ecn: Marks ECN-capable packets instead of dropping them, unless the drawn packet is of the same flow.
            Default false.
        harddrop: Drops ECN-capable packets too above max. Default false.
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
        """Configure a profile, None for the default profile:
        freeze_time: Minimum time between two changes of the probability, so that the last one takes effect.
            Default 10 ms.
        increment: Increment of the probability at an overflow (d1). Default 0.0025.
        decrement: Decrement of the probability when the link is idle (d2). Default 0.00025.
        threshold: Queued packets above which an arrival also counts as an overflow (L); zero: the limit alone.
            Default 0.
        idle: Decrements of an idle period: one per poll of the empty queue, or one per freeze_time. Default
            event.
        ecn: Marks ECN-capable packets instead of dropping them. Default false.
        """

@final
class Sfb(RegistryAqm):
    """Stochastic Fair BLUE: a BLUE in each of the bins that a flow hashes to, and a rate limit for unresponsive
        flows.

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
        """Configure a profile, None for the default profile:
        rehash: Interval at which the two slots of bins are swapped; zero is never. Default 600 s.
        db: Time before the swap for which the other slot is warmed up (double buffering); zero is none. Default
            60 s.
        max: Packets in a flow's shortest bin above which its arrivals are dropped. Zero: 5/4 of target, or 25.
            Default 0.
        target: Packets in a bin above which its probability rises with each arrival (bin_size). Zero: 4/5 of
            max, or 20. Default 0.
        increment: Increment of a long bin's probability per arrival; in units of 1/65535, rounded: 66 of them.
            Default 0.001007.
        decrement: Decrement of an empty bin's probability per arrival; in units of 1/65535, rounded: 11 of
            them. Default 0.000168.
        penalty_rate: Packets per second that flows with probability one get together; zero is none. Default 10.
        penalty_burst: Maximum burst of these packets; zero is none. Default 20.
        jiffy: Unit of the kernel's clock, 1/HZ. Default 1 ms.
        created: Creation time of the queue on the host's clock, from which the first rehash and the tokens
            count. Default 0 s.
        """

@final
class Pi(RegistryAqm):
    """PI: a proportional-integral controller of the queue length.

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
        """Configure a profile, None for the default profile:
        a: Increase of the probability per update and packet above qref. Default 0.00001822.
        b: Decrease of the probability per packet above qref at the previous update; at most a. Default
            0.00001816.
        w: Updates per second. Default 160.
        qref: Reference queue length in packets. Default 200.
        n: Minimum number of long flows from which a and b follow; zero: a and b as given. Default 0.
        rtt: Maximum round-trip time, for n. Default 246 ms.
        mean_pktsize: Mean packet size, for n and if bytes count. Default 500 B.
        queue_in_bytes: Measures the queue in bytes, in units of mean_pktsize. Default false.
        bytes: Drops large packets with a higher probability: by their size over mean_pktsize. Default false.
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
        """Configure a profile, None for the default profile:
        gamma: Increase of the price per excess packet and update. Default 0.001.
        phi: Base of the exponential probability. Default 1.001.
        alpha: Weight of the backlog against the arrivals in the price; always 0.1 in ns-2. Default 0.1.
        pbo: Reference queue length in packets (b*). Default 20.
        pupdtime: Update interval of the price. Default 10 ms.
        inw: Weight of the newest count of arrivals in their average; 1 is no averaging. Default 1.
        mean_pktsize: Mean packet size: unit of the link's capacity, and of the backlog if bytes count. Default
            1000 B.
        queue_in_bytes: Counts arrivals and backlog in bytes, in units of mean_pktsize, and drops by packet size
            (qib). Default false.
        price: Inputs of the price. Default rates.
        ecn: Marks ECN-capable packets instead of dropping them (markpkts). Default false.
        mark_on_departure: Marks on departure and drops nothing: packets that are not ECN-capable pass (with
            ecn). Default false.
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
        """Configure a profile, None for the default profile:
        gamma: Target utilisation. Default 0.98.
        alpha: Speed at which the virtual capacity adapts, per second. Default 0.15.
        buffer: Size of the virtual queue in bytes (B). Zero: the limit of the real queue, counting packets as
            mean_pktsize; a queue without a limit counts as 1000 packets. Default 0 B.
        mean_pktsize: Mean packet size, for a limit in packets; zero is the link's largest packet. Default 0 B.
        ecnlim: Initial virtual capacity, as a share of the link's rate (ecnlim). Default 1.
        adapt_on_drops: Moves the virtual capacity also for arrivals that the virtual queue drops; ns-2 counts
            accepted arrivals only. Default true.
        ecn: Marks ECN-capable packets instead of dropping them (markpkts). Default false.
        """

@final
class FqCodel(RegistryAqm):
    """FQ-CoDel: a queue per flow under CoDel, new flows first (DRR++).

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
        """Configure a profile, None for the default profile:
        limit: Maximum packets of all flows; the host's own limit applies as well. Default 10240.
        memory_limit: Maximum bytes of all flows. Linux counts the memory of its skbs, here packet sizes count.
            Default 33554432 B.
        flows: Queues that the flows are hashed to; with a perfect hash, flows remembered while idle. Default
            1024.
        divisor: Hash values, if they are more than the queues: then at most `flows`, or the limit in packets if
            lower, have packets queued at once, and the first packet of a further flow is dropped (Linux's SFQ).
            Zero: one queue per value. Default 0.
        perturb_period: Interval at which the perturbed hash gets a new seed and queued packets are rehashed
            (tc's perturb); zero is never. Default 0 s.
        quantum: Bytes that a flow may send per round; the schedulers sfq and ns2 accept 0 for one packet.
            Default 1514 B.
        scheduler: Order in which flows are served. Default drr++.
        scaled_allot: Counts credit in units of 8 bytes, quantum and packets rounded up (SFQ_ALLOT_SIZE of Linux
            before 6.10). Default false.
        hash: Hash by which a flow finds its queue. Default perturbed.
        isolation: Definition of a flow. Default flow.
        overflow: Packets that are dropped when a limit is reached. Default fattest.
        drop_batch: Maximum packets dropped from the fattest flow at once; dropping half of its bytes also ends
            the batch. Default 64.
        raise_: Notifies the fattest flow's AQM of the drops: CoDel adds them to its count. Default true.
        depth: Maximum queued packets of one flow; the default, 1,000,000,000, is never reached. Default
            1000000000.
        headdrop: SFQ drops at the head of a flow instead of at its tail, and a decision of a flow's AQM on an
            arrival, to drop or to mark, applies to the flow's head; if the head cannot be marked, the arrival
            is. Default false.
        target: Acceptable standing queue delay: sojourn times below it never cause drops. Default 5 ms.
        interval: Time that the sojourn time must stay above target before the first drop: a worst-case round-
            trip time. Default 100 ms.
        ecn: Marks ECN-capable packets instead of dropping them, at most one per dequeue. Default true.
        ce_threshold: Marks every ECN-capable packet that has waited longer than this; the default, an hour, is
            never reached. Default 3600 s.
        ce_threshold_selector: Limits ce_threshold to packets whose DS field under ce_threshold_mask is this
            (tc's ce_threshold_selector VALUE/MASK); 1 under 3 is ECT(1) (linux). Default 0.
        ce_threshold_mask: Bits of the DS field that ce_threshold_selector compares; zero selects every packet
            (linux). Default 0.
        version: Version of the algorithm; each has its profile, and refuses parameters that it lacks. Default
            rfc8289.
        n: Constant drop count (count-n). Default 600.
        max_delay: Maximum sojourn time (hardlimit). Default 50 ms.
        hard_limit: Whether packets older than max_delay are dropped outright: off, as printed in the paper, or
            strictly (hardlimit). Default off.
        window: Time that the sojourn time must stay above target: the interval, or less after a recent phase
            (historic versions). Default interval.
        small_backlog: Backlog that counts as small, so nothing is dropped: less than one largest packet, or at
            most one (historic versions). Default at-most.
        maxpacket: Largest packet: the link's, or, as in older Linux, the largest seen so far (linux). Default
            mtu.
        keep_above: Keeps the time since which the sojourn time is above target when the queue is found empty,
            as older Linux did; it matters if the bytes of other flows count too (linux). Default false.
        """

@final
class Sfqcodel(RegistryAqm):
    """sfqCoDel: hashed bins under CoDel that send one packet per turn, new bins first.

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
        """Configure a profile, None for the default profile:
        limit: Maximum packets of all flows; the host's own limit applies as well. Default 10240.
        memory_limit: Maximum bytes of all flows. Linux counts the memory of its skbs, here packet sizes count.
            Default 33554432 B.
        flows: Queues that the flows are hashed to; with a perfect hash, flows remembered while idle. Default
            1024.
        divisor: Hash values, if they are more than the queues: then at most `flows`, or the limit in packets if
            lower, have packets queued at once, and the first packet of a further flow is dropped (Linux's SFQ).
            Zero: one queue per value. Default 0.
        perturb_period: Interval at which the perturbed hash gets a new seed and queued packets are rehashed
            (tc's perturb); zero is never. Default 0 s.
        quantum: Bytes that a flow may send per round; the schedulers sfq and ns2 accept 0 for one packet.
            Default 0 B.
        scheduler: Order in which flows are served. Default ns2.
        scaled_allot: Counts credit in units of 8 bytes, quantum and packets rounded up (SFQ_ALLOT_SIZE of Linux
            before 6.10). Default false.
        hash: Hash by which a flow finds its queue. Default jenkins.
        isolation: Definition of a flow. Default flow.
        overflow: Packets that are dropped when a limit is reached. Default longest-first.
        drop_batch: Maximum packets dropped from the fattest flow at once; dropping half of its bytes also ends
            the batch. Default 64.
        raise_: Notifies the fattest flow's AQM of the drops: CoDel adds them to its count. Default true.
        depth: Maximum queued packets of one flow; the default, 1,000,000,000, is never reached. Default
            1000000000.
        headdrop: SFQ drops at the head of a flow instead of at its tail, and a decision of a flow's AQM on an
            arrival, to drop or to mark, applies to the flow's head; if the head cannot be marked, the arrival
            is. Default false.
        target: Acceptable standing queue delay: sojourn times below it never cause drops. Default 5 ms.
        interval: Time that the sojourn time must stay above target before the first drop: a worst-case round-
            trip time. Default 100 ms.
        ecn: Marks ECN-capable packets instead of dropping them, at most one per dequeue. Default false.
        ce_threshold: Marks every ECN-capable packet that has waited longer than this; the default, an hour, is
            never reached. Default 3600 s.
        ce_threshold_selector: Limits ce_threshold to packets whose DS field under ce_threshold_mask is this
            (tc's ce_threshold_selector VALUE/MASK); 1 under 3 is ECT(1) (linux). Default 0.
        ce_threshold_mask: Bits of the DS field that ce_threshold_selector compares; zero selects every packet
            (linux). Default 0.
        version: Version of the algorithm; each has its profile, and refuses parameters that it lacks. Default
            ns2-2012.
        n: Constant drop count (count-n). Default 600.
        max_delay: Maximum sojourn time (hardlimit). Default 50 ms.
        hard_limit: Whether packets older than max_delay are dropped outright: off, as printed in the paper, or
            strictly (hardlimit). Default off.
        window: Time that the sojourn time must stay above target: the interval, or less after a recent phase
            (historic versions). Default interval.
        small_backlog: Backlog that counts as small, so nothing is dropped: less than one largest packet, or at
            most one (historic versions). Default at-most-or-last.
        maxpacket: Largest packet: the link's, or, as in older Linux, the largest seen so far (linux). Default
            mtu.
        keep_above: Keeps the time since which the sojourn time is above target when the queue is found empty,
            as older Linux did; it matters if the bytes of other flows count too (linux). Default false.
        """

@final
class FqPie(RegistryAqm):
    """FQ-PIE: a queue per flow under PIE, new flows first (DRR++).

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
        """Configure a profile, None for the default profile:
        limit: Maximum packets of all flows; the host's own limit applies as well. Default 10240.
        memory_limit: Maximum bytes of all flows. Linux counts the memory of its skbs, here packet sizes count.
            Default 1099511627776 B.
        flows: Queues that the flows are hashed to; with a perfect hash, flows remembered while idle. Default
            1024.
        divisor: Hash values, if they are more than the queues: then at most `flows`, or the limit in packets if
            lower, have packets queued at once, and the first packet of a further flow is dropped (Linux's SFQ).
            Zero: one queue per value. Default 0.
        perturb_period: Interval at which the perturbed hash gets a new seed and queued packets are rehashed
            (tc's perturb); zero is never. Default 0 s.
        quantum: Bytes that a flow may send per round; the schedulers sfq and ns2 accept 0 for one packet.
            Default 1514 B.
        scheduler: Order in which flows are served. Default drr++.
        scaled_allot: Counts credit in units of 8 bytes, quantum and packets rounded up (SFQ_ALLOT_SIZE of Linux
            before 6.10). Default false.
        hash: Hash by which a flow finds its queue. Default perturbed.
        isolation: Definition of a flow. Default flow.
        overflow: Packets that are dropped when a limit is reached. Default arrival.
        drop_batch: Maximum packets dropped from the fattest flow at once; dropping half of its bytes also ends
            the batch. Default 64.
        raise_: Notifies the fattest flow's AQM of the drops: CoDel adds them to its count. Default true.
        depth: Maximum queued packets of one flow; the default, 1,000,000,000, is never reached. Default
            1000000000.
        headdrop: SFQ drops at the head of a flow instead of at its tail, and a decision of a flow's AQM on an
            arrival, to drop or to mark, applies to the flow's head; if the head cannot be marked, the arrival
            is. Default false.
        target: Target delay of the controller (QDELAY_REF). Default 15 ms.
        tupdate: Update interval of the drop probability (T_UPDATE); linux counts in jiffies, rounded up, plus
            one. Default 15 ms.
        alpha: Gain of the deviation from the target, per second; linux and cisco2013-ticks round to sixteenths,
            tc's unit. Default 0.125.
        beta: Gain of the delay's change between two updates, per second; linux and cisco2013-ticks round to
            sixteenths, tc's unit. Default 1.25.
        max_burst: Time without drops after the queue becomes busy (MAX_BURST). Default 150 ms.
        ecn: Marks ECN-capable packets instead of dropping them while p is below mark_ecnth. Default false.
        mark_ecnth: Drop probability above which ECN-capable packets are dropped too (tc's ecn_prob of fq_pie,
            in percent there); linux counts in thousandths. Default 0.1.
        derandomise: Spaces drops more evenly: none before the accumulated probability reaches 0.85, a certain
            one at 8.5. Default true.
        activation: When the control is active; a queue without limits is always controlled. Default always.
        dq_threshold: Bytes whose departure is timed for the estimate of the departure rate (DQ_THRESHOLD).
            Default 16384 B.
        mean_pktsize: Typical packet size (MEAN_PKTSIZE): nothing is dropped at a backlog of two or less.
            Default 1024 B.
        scaling: Damping of changes of p while p is small. Default seven-levels.
        cap: Maximum increase of p per update once p is at least 0.1. Default 0.02.
        high_delay: Delay above which p grows by another 0.02 per update; zero disables the rule. Default 250
            ms.
        decay: Condition for p to decay by itself. Default empty.
        version: Version of the algorithm; each has its profile and refuses parameters that it lacks. Default
            linux.
        bytemode: Drops small packets less often: with p times their size over the link's largest one. Default
            false.
        dq_rate_estimator: Estimates the delay from the departure rate instead of timestamps (linux). Default
            false.
        jiffy: Unit of the kernel's timers, 1/HZ (linux). Default 1 ms.
        created: Creation time of the queue on the host's clock: the first update is due half a second later
            (linux). Default 0 s.
        latency_low: Delay below which p decays if decay is low (LATENCY_LOW). Default 5 ms.
        burst_reset: Time for which congestion must be over before a burst is allowed again (docsis,
            BURST_RESET_TIMEOUT). Default 1 s.
        msr: Maximum sustained rate of the service (docsis, MSR) as a share of the link's rate, which is the
            peak rate. Default 1.
        max_traffic_burst: Bytes that may be sent at the peak rate (docsis, Maximum Traffic Burst), the depth of
            the token bucket. Default 3044 B.
        """

@final
class Sfq(RegistryAqm):
    """Stochastic Fairness Queueing: hashed flows served round-robin; overflow drops from the longest.

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
        """Configure a profile, None for the default profile:
        limit: Maximum packets of all flows; the host's own limit applies as well. Default 127.
        memory_limit: Maximum bytes of all flows. Linux counts the memory of its skbs, here packet sizes count.
            Default 33554432 B.
        flows: Queues that the flows are hashed to; with a perfect hash, flows remembered while idle. Default
            128.
        divisor: Hash values, if they are more than the queues: then at most `flows`, or the limit in packets if
            lower, have packets queued at once, and the first packet of a further flow is dropped (Linux's SFQ).
            Zero: one queue per value. Default 1024.
        perturb_period: Interval at which the perturbed hash gets a new seed and queued packets are rehashed
            (tc's perturb); zero is never. Default 0 s.
        quantum: Bytes that a flow may send per round; the schedulers sfq and ns2 accept 0 for one packet.
            Default 1514 B.
        scheduler: Order in which flows are served. Default sfq.
        scaled_allot: Counts credit in units of 8 bytes, quantum and packets rounded up (SFQ_ALLOT_SIZE of Linux
            before 6.10). Default false.
        hash: Hash by which a flow finds its queue. Default perturbed.
        isolation: Definition of a flow. Default flow.
        overflow: Packets that are dropped when a limit is reached. Default longest.
        drop_batch: Maximum packets dropped from the fattest flow at once; dropping half of its bytes also ends
            the batch. Default 64.
        raise_: Notifies the fattest flow's AQM of the drops: CoDel adds them to its count. Default true.
        depth: Maximum queued packets of one flow; the default, 1,000,000,000, is never reached. Default 127.
        headdrop: SFQ drops at the head of a flow instead of at its tail, and a decision of a flow's AQM on an
            arrival, to drop or to mark, applies to the flow's head; if the head cannot be marked, the arrival
            is. Default false.
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
        """Configure a profile, None for the default profile:
        limit: Maximum packets of all flows; the host's own limit applies as well. Default 127.
        memory_limit: Maximum bytes of all flows. Linux counts the memory of its skbs, here packet sizes count.
            Default 33554432 B.
        flows: Queues that the flows are hashed to; with a perfect hash, flows remembered while idle. Default
            128.
        divisor: Hash values, if they are more than the queues: then at most `flows`, or the limit in packets if
            lower, have packets queued at once, and the first packet of a further flow is dropped (Linux's SFQ).
            Zero: one queue per value. Default 1024.
        perturb_period: Interval at which the perturbed hash gets a new seed and queued packets are rehashed
            (tc's perturb); zero is never. Default 0 s.
        quantum: Bytes that a flow may send per round; the schedulers sfq and ns2 accept 0 for one packet.
            Default 1514 B.
        scheduler: Order in which flows are served. Default sfq.
        scaled_allot: Counts credit in units of 8 bytes, quantum and packets rounded up (SFQ_ALLOT_SIZE of Linux
            before 6.10). Default false.
        hash: Hash by which a flow finds its queue. Default perturbed.
        isolation: Definition of a flow. Default flow.
        overflow: Packets that are dropped when a limit is reached. Default longest.
        drop_batch: Maximum packets dropped from the fattest flow at once; dropping half of its bytes also ends
            the batch. Default 64.
        raise_: Notifies the fattest flow's AQM of the drops: CoDel adds them to its count. Default true.
        depth: Maximum queued packets of one flow; the default, 1,000,000,000, is never reached. Default 127.
        headdrop: SFQ drops at the head of a flow instead of at its tail, and a decision of a flow's AQM on an
            arrival, to drop or to mark, applies to the flow's head; if the head cannot be marked, the arrival
            is. Default false.
        redflowlimit: Bytes of a flow from which automatic thresholds follow. Not a limit: limit and depth are.
            Default 100000 B.
        min: Average backlog of a flow above which packets are dropped; zero: a third of max. Default 0 B.
        max: Average backlog of a flow above which every packet is dropped; zero: a quarter of redflowlimit.
            Default 0 B.
        avpkt: Mean packet size, the unit of burst. Default 1000 B.
        burst: Packets of avpkt that pass before the average reaches min, which sets its weight; zero: (2 min +
            max) / (3 avpkt). Default 0.
        probability: Probability just below max. Default 0.02.
        ecn: Marks ECN-capable packets instead of dropping them. Default false.
        harddrop: Drops ECN-capable packets too beyond max. Default false.
        """

@final
class Drr(RegistryAqm):
    """Deficit Round Robin: flows take turns, each sends up to its deficit.

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
        """Configure a profile, None for the default profile:
        limit: Maximum packets of all flows; the host's own limit applies as well. Default 10240.
        memory_limit: Maximum bytes of all flows. Linux counts the memory of its skbs, here packet sizes count.
            Default 33554432 B.
        flows: Queues that the flows are hashed to; with a perfect hash, flows remembered while idle. Default
            1024.
        divisor: Hash values, if they are more than the queues: then at most `flows`, or the limit in packets if
            lower, have packets queued at once, and the first packet of a further flow is dropped (Linux's SFQ).
            Zero: one queue per value. Default 0.
        perturb_period: Interval at which the perturbed hash gets a new seed and queued packets are rehashed
            (tc's perturb); zero is never. Default 0 s.
        quantum: Bytes that a flow may send per round; the schedulers sfq and ns2 accept 0 for one packet.
            Default 1514 B.
        scheduler: Order in which flows are served. Default drr.
        scaled_allot: Counts credit in units of 8 bytes, quantum and packets rounded up (SFQ_ALLOT_SIZE of Linux
            before 6.10). Default false.
        hash: Hash by which a flow finds its queue. Default perturbed.
        isolation: Definition of a flow. Default flow.
        overflow: Packets that are dropped when a limit is reached. Default longest.
        drop_batch: Maximum packets dropped from the fattest flow at once; dropping half of its bytes also ends
            the batch. Default 64.
        raise_: Notifies the fattest flow's AQM of the drops: CoDel adds them to its count. Default true.
        depth: Maximum queued packets of one flow; the default, 1,000,000,000, is never reached. Default
            1000000000.
        headdrop: SFQ drops at the head of a flow instead of at its tail, and a decision of a flow's AQM on an
            arrival, to drop or to mark, applies to the flow's head; if the head cannot be marked, the arrival
            is. Default false.
        """

@final
class Fq(RegistryAqm):
    """Flow queueing with any single-queue AQM per flow: fq(codel@act), fq(pie target 5ms) quantum 300B.

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
        """Configure a profile, None for the default profile:
        limit: Maximum packets of all flows; the host's own limit applies as well. Default 10240.
        memory_limit: Maximum bytes of all flows. Linux counts the memory of its skbs, here packet sizes count.
            Default 33554432 B.
        flows: Queues that the flows are hashed to; with a perfect hash, flows remembered while idle. Default
            1024.
        divisor: Hash values, if they are more than the queues: then at most `flows`, or the limit in packets if
            lower, have packets queued at once, and the first packet of a further flow is dropped (Linux's SFQ).
            Zero: one queue per value. Default 0.
        perturb_period: Interval at which the perturbed hash gets a new seed and queued packets are rehashed
            (tc's perturb); zero is never. Default 0 s.
        quantum: Bytes that a flow may send per round; the schedulers sfq and ns2 accept 0 for one packet.
            Default 1514 B.
        scheduler: Order in which flows are served. Default drr++.
        scaled_allot: Counts credit in units of 8 bytes, quantum and packets rounded up (SFQ_ALLOT_SIZE of Linux
            before 6.10). Default false.
        hash: Hash by which a flow finds its queue. Default perturbed.
        isolation: Definition of a flow. Default flow.
        overflow: Packets that are dropped when a limit is reached. Default fattest.
        drop_batch: Maximum packets dropped from the fattest flow at once; dropping half of its bytes also ends
            the batch. Default 64.
        raise_: Notifies the fattest flow's AQM of the drops: CoDel adds them to its count. Default true.
        depth: Maximum queued packets of one flow; the default, 1,000,000,000, is never reached. Default
            1000000000.
        headdrop: SFQ drops at the head of a flow instead of at its tail, and a decision of a flow's AQM on an
            arrival, to drop or to mark, applies to the flow's head; if the head cannot be marked, the arrival
            is. Default false.
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
        """Configure a profile, None for the default profile:
        limit: Maximum packets in both queues; the host's own limit applies as well. Default 10000.
        memlimit: Maximum bytes in both queues; zero is twice the packet limit times the link's largest packet.
            Linux counts the memory of its skbs, here packet sizes count (linux). Default 0 B.
        target: Target delay of the controller. Default 15 ms.
        tupdate: Update interval of the probability (Tupdate). Default 15 ms.
        alpha: Gain of the deviation from the target, per second; linux rounds down to 1/256, tc's unit. Default
            0.15.
        beta: Gain of the delay's change between two updates, per second; linux rounds down to 1/256, tc's unit.
            Default 3.
        max_rtt: Maximum expected round-trip time: sets target, tupdate, alpha and beta as tc does; zero leaves
            these as given (linux). Default 0 s.
        typical_rtt: Typical round-trip time, used with max_rtt; zero is a sixth of that (linux). Default 0 s.
        created: Creation time of the queue on the host's clock: the first update is due `tupdate` later
            (linux). Default 0 s.
        coupling_factor: Coupling factor k, the ratio of p' for L4S packets to p'; a whole number in linux.
            Default 2.
        step_thresh: Sojourn time above which the L4S queue marks its packets itself (minTh). Default 800 us.
        ramp: Sojourn time, added to step_thresh, over which the probability of these marks rises to 1 (range);
            zero is a step. Default 400 us.
        step_packets: Marks by the length of the L4S queue instead: when more packets than this stay behind.
            Zero: by sojourn time. Default 0.
        min_qlen_step: Minimum length of the L4S queue in packets for its own marks: counted at an arrival
            (linux), or behind a departing packet. Default 0.
        min_backlog: Backlog of both queues, in packets of the link's largest size, below which p' has no
            effect; always two in linux. Default 0.
        drop_on_overload: Drops when k times p' exceeds one; otherwise p' is capped there, and ECN-capable
            packets are always marked. Default true.
        split_gso: Splits GSO super-packets into their segments. Default true.
        drop_enqueue: Applies p' on arrival (tc's drop_enqueue) instead of on departure. Default false.
        classify: Packets that join the L4S queue. Default l4s-ect.
        scheduler: Scheduler, which chooses the queue to serve when both have packets. Default wrr.
        classic_protection: wrr: share of the bytes that the classic queue gets, in percent. Default 10.
        tshift: ts-fifo: head start of an L4S packet over a classic packet that arrived at the same time.
            Default 30 ms.
        marking: Selection of packets at a given probability; always at random in linux. Default recur.
        version: Version of the algorithm; each has its profile and refuses parameters that it lacks. Default
            rfc9332.
        """

@final
class Cake(RegistryAqm):
    """CAKE: a shaper with tins by DSCP, fairness between hosts and flows, COBALT per flow.

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
        """Configure a profile, None for the default profile:
        bandwidth: Shaped rate, 512 bit/s or more; zero (tc's `unlimited`): the link's rate. Default 0 bit/s.
        autorate_ingress: Shapes to 15/16 of the arrival rate, estimated from `bandwidth` on. Default false.
        tins: Tins, chosen by DSCP. Default diffserv3.
        isolation: Entities that get equal shares. Default triple-isolate.
        rtt: Interval of COBALT, a usual round-trip time; its target is 1/20 of it. tc's words `lan`,
            `internet`, `satellite` and so on stand for such times. Default 100 ms.
        wash: Clears the DSCP of outgoing packets; the ECN field stays. Default false.
        ack_filter: Drops acknowledgments that a later one in the queue makes redundant, if the host passes TCP
            headers. Default off.
        ingress: Shapes ingress traffic: drops are charged too, because the packets have already crossed the
            link in front. Default false.
        memlimit: Memory limit in bytes; zero: four intervals at the rate, at least 4 MiB. Linux counts the
            memory of its skbs, here packet sizes count. The host's own limit applies as well. Default 0 B.
        overhead: Overhead of each packet on the wire in whole bytes, from -64 to 256. Default 0.
        mpu: Minimum size on the wire, overhead included. Default 0.
        layer: Link layer, which determines the size on the wire of a packet with its overhead. Default noatm.
        link_header: Bytes of a packet, as this queue accounts it, before its IP header; they do not count on
            the wire. 14 on Ethernet; links of scenarios account packets from the IP header on. Default 0.
        split_gso: Splits GSO super-packets into their segments; otherwise each is one packet, whose segments
            count on the wire as if they were equally long. Default true.
        hash: Hash by which flows find their queues. Default perturbed.
        version: Version: versions differ in their COBALT, and in autorate-ingress. Default linux.
        """

@final
class CakeMq(RegistryAqm):
    """CAKE for each hardware queue of a card: instances share one rate without waiting for each other.

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
        """Configure a profile, None for the default profile:
        queues: Hardware queues of the card, one instance each. Default 4.
        sync_time: Interval at which an instance recounts the active ones and adapts its share of the rate; 200
            us in Linux. Default 200 us.
        bandwidth: Shaped rate, 512 bit/s or more; zero (tc's `unlimited`): the link's rate. Default 0 bit/s.
        autorate_ingress: Shapes to 15/16 of the arrival rate, estimated from `bandwidth` on. Default false.
        tins: Tins, chosen by DSCP. Default diffserv3.
        isolation: Entities that get equal shares. Default triple-isolate.
        rtt: Interval of COBALT, a usual round-trip time; its target is 1/20 of it. tc's words `lan`,
            `internet`, `satellite` and so on stand for such times. Default 100 ms.
        wash: Clears the DSCP of outgoing packets; the ECN field stays. Default false.
        ack_filter: Drops acknowledgments that a later one in the queue makes redundant, if the host passes TCP
            headers. Default off.
        ingress: Shapes ingress traffic: drops are charged too, because the packets have already crossed the
            link in front. Default false.
        memlimit: Memory limit in bytes; zero: four intervals at the rate, at least 4 MiB. Linux counts the
            memory of its skbs, here packet sizes count. The host's own limit applies as well. Default 0 B.
        overhead: Overhead of each packet on the wire in whole bytes, from -64 to 256. Default 0.
        mpu: Minimum size on the wire, overhead included. Default 0.
        layer: Link layer, which determines the size on the wire of a packet with its overhead. Default noatm.
        link_header: Bytes of a packet, as this queue accounts it, before its IP header; they do not count on
            the wire. 14 on Ethernet; links of scenarios account packets from the IP header on. Default 0.
        split_gso: Splits GSO super-packets into their segments; otherwise each is one packet, whose segments
            count on the wire as if they were equally long. Default true.
        hash: Hash by which flows find their queues. Default perturbed.
        version: Version: versions differ in their COBALT, and in autorate-ingress. Default linux.
        """

@final
class SchFq(RegistryAqm):
    """Linux's pacing scheduler fq (written without brackets): flows in turn, no packet before its time.

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
        """Configure a profile, None for the default profile:
        limit: Maximum queued packets, per band if there are bands. Default 10000.
        flow_limit: Maximum queued packets of a flow. Default 100.
        quantum: Bytes of a flow's turn; zero is two packets of the largest size. Default 0 B.
        initial_quantum: Bytes that a new flow may send at once; zero is ten packets of the largest size.
            Default 0 B.
        pacing: Paces flows. Default true.
        maxrate: Maximum rate of a flow; zero is unlimited. Default 0 bit/s.
        low_rate_threshold: Rate up to which flows are paced per packet; faster ones are paced per quantum.
            Default 550 kbit/s.
        refill_delay: Idle time after which a flow gets a new quantum. Default 40 ms.
        ce_threshold: Delay beyond the earliest departure time above which a packet is marked; packets that are
            not ECN-capable pass. Default 4294.967295 s.
        horizon: Maximum time that a packet's departure time may lie ahead. Default 10 s.
        horizon_drop: Drops packets beyond the horizon, as tc's `horizon_drop`; otherwise they leave at the
            horizon (`horizon_cap`). Default true.
        priomap: Band, from 0 to 2, of each of the priorities 0 to 15: 16 numbers. Default
            1,2,2,2,1,2,0,0,1,1,1,1,1,1,1,1.
        weight_1: Bytes per turn of the first band; tc's `weights` gives all three. Default 589824.
        weight_2: Bytes per turn of the second band. Default 196608.
        weight_3: Bytes per turn of the third band. Default 65536.
        hash: Hash by which packets find their flows. Default socket.
        orphan_mask: With `hash orphan`: number of flows, minus one. Default 1023.
        version: Version of the scheduler. Default linux.
        """

@final
class PfifoFast(RegistryAqm):
    """Three bands by type of service, each with tail drop: the default qdisc of Linux.

    Source: Linux, sch_generic.c.
    """
    def __init__(
        self,
        profile: Literal["linux"] | None = None,
        *,
        limit: int = ...,
    ) -> None:
        """Configure a profile, None for the default profile:
        limit: Maximum queued packets in each band: the device's queue length in Linux. Default 1000.
        """

@final
class Tbf(RegistryAqm):
    """Token bucket filter: shapes to a rate with bursts; packets wait in a child discipline in braces.

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
        """Configure a profile, None for the default profile:
        rate: Shaped rate, 8 bit/s or more; zero does not shape. Default 0 bit/s.
        burst: Bucket size, also `buffer` and `maxburst`: the bytes that may leave at once after a pause. Larger
            packets are dropped. Default 0 B.
        limit: Maximum bytes in the built-in queue, used without braces; either this or `latency`. Zero: the
            limit of the link. Default 0 B.
        latency: The same limit as a time: how long a packet may wait for tokens. Default 0 s.
        peakrate: Rate at which the bucket itself is emptied; zero is unlimited. Default 0 bit/s.
        mtu: Bucket size of `peakrate`, also `minburst`. Default 0 B.
        overhead: Overhead of each packet on the wire in bytes. Default 0.
        mpu: Minimum size on the wire, overhead included. Default 0.
        linklayer: Link layer, which determines the size on the wire of a packet with its overhead. Default
            ethernet.
        inside: Child queue manager, as in tc's braces: an object or its text. Default none.
        """

@final
class Prio(RegistryAqm):
    """Strict priorities: bands by class, DSCP or priority, each with a child discipline in braces.

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
        """Configure a profile, None for the default profile:
        handle: Handle, as in tc's `handle 1:`; classes that senders name must belong to it. Default 1.
        bands: Number of bands. Default 3.
        priomap: Band, from 0 on, of each of the priorities 0 to 15: 16 numbers. Default
            1,2,2,2,1,2,0,0,1,1,1,1,1,1,1,1.
        inside: Child queue manager, as in tc's braces: an object or its text. Default none.
        """

@final
class Htb(RegistryAqm):
    """Hierarchical token bucket: classes with a rate and a ceiling that borrow from each other, each with a child
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
        """Configure a profile, None for the default profile:
        handle: Handle, as in tc's `handle 1:`; classes that senders name must belong to it. Default 1.
        default: Class, in hexadecimal as in tc, of packets that match no filter; with 0 they are sent directly,
            without shaping. Default 0.
        r2q: Divisor: a class without a quantum gets its rate in bytes per second divided by this. Default 10.
        direct_qlen: Maximum packets queued for direct transmission; the device's queue length in Linux. Default
            1000.
        rounding: Rounding with which tc converts bucket depths into ticks of 64 ns. Default up.
        inside: Child queue manager, as in tc's braces: an object or its text. Default none.
        """

@final
class Police(RegistryAqm):
    """Policer: a token bucket that drops what exceeds a rate; the rest goes to a child discipline in braces.

    Source: Linux, act_police.c.
    """
    def __init__(
        self,
        profile: Literal["linux"] | None = None,
        *,
        rate: str = ...,
        burst: str = ...,
        peakrate: str = ...,
        mtu: str = ...,
        pkts_rate: int = ...,
        pkts_burst: int = ...,
        overhead: int = ...,
        mpu: int = ...,
        linklayer: Literal["ethernet", "atm"] = ...,
        inside: Aqm | type[Aqm] | str | None = ...,
    ) -> None:
        """Configure a profile, None for the default profile:
        rate: Policed rate, 8 bit/s or more; zero does not police bytes. Default 0 bit/s.
        burst: Bucket size, also `buffer` and `maxburst`: the bytes that pass at once after a pause. Default 0
            B.
        peakrate: Rate at which the bucket itself is emptied; zero is unlimited. Default 0 bit/s.
        mtu: Maximum packet size, also `minburst`, and bucket size of `peakrate`. Zero: 2040 B with a rate (tc's
            rate table), otherwise unlimited. Default 0 B.
        pkts_rate: Policed rate in packets per second, instead of `rate`; zero does not police packets. Default
            0.
        pkts_burst: Bucket size of `pkts_rate` in packets. Default 0.
        overhead: Overhead of each packet on the wire in bytes. Default 0.
        mpu: Minimum size on the wire, overhead included. Default 0.
        linklayer: Link layer, which determines the size on the wire of a packet with its overhead. Default
            ethernet.
        inside: Child queue manager, as in tc's braces: an object or its text. Default none.
        """

@final
class Netem(RegistryAqm):
    """Network emulator: delay, jitter, loss, duplication, corruption, reordering, rate and slots; then a child
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
        """Configure a profile, None for the default profile:
        limit: Maximum queued packets, delayed or in a child discipline in braces; tc's own limit. Default 1000.
        delay: Delay of packets, also `latency`; tc's `delay TIME JITTER CORRELATION` gives three parameters.
            Default 0 s.
        jitter: Deviation of delays from their mean, shaped by `distribution`. Negative delays become zero, and
            packets may be reordered. Default 0 s.
        delay_corr: Correlation of a delay with the one before, in percent. Default 0.
        distribution: Distribution of delays: one of the words, or a table file in tc's format, with or without
            its suffix `.dist`. Default uniform.
        loss: Packets lost at random, in percent; tc's `loss PERCENT CORRELATION` gives two parameters. Default
            0.
        loss_corr: Correlation of a loss with the packet before, in percent. Default 0.
        loss_model: Loss model; tc's `loss random …`, `loss state P13 P31 P32 P23 P14` and `loss gemodel P R 1-H
            1-K`. Default random.
        p13: `loss state`, P13: from received in a gap to lost in a burst, in percent. Default 0.
        p31: P31: from lost in a burst to received in a gap; in tc's syntax 100 % minus P13 if omitted. Default
            100.
        p32: P32: from lost in a burst to received in a burst. Default 0.
        p23: P23: from received in a burst to lost in a burst. Default 100.
        p14: P14: from received in a gap to lost in a gap. Default 0.
        ge_p: `loss gemodel`, P: from the good state to the bad one, in percent. Default 0.
        ge_r: R: from the bad state to the good one; in tc's syntax 100 % minus P if omitted. Default 100.
        ge_1_h: Loss probability in the bad state, tc's 1-H. Default 100.
        ge_1_k: Loss probability in the good state, tc's 1-K. Default 0.
        ecn: Marks ECN-capable packets instead of losing them. Default false.
        duplicate: Packets that are duplicated, in percent; tc's `duplicate PERCENT CORRELATION` gives two
            parameters. Default 0.
        duplicate_corr: Correlation of duplicates, in percent; as with tc it has an effect only if there is
            another correlation. Default 0.
        corrupt: Packets with one bit flipped, in percent; tc's `corrupt PERCENT CORRELATION` gives two
            parameters. Default 0.
        corrupt_corr: Correlation of corruption, in percent. Default 0.
        reorder: Share of packets sent at once, in percent, from each `gap`th packet on; tc's `reorder PERCENT
            CORRELATION`. Default 0.
        reorder_corr: Correlation of reordering, in percent. Default 0.
        gap: Distance between packets that are sent at once: gap - 1 packets in between are delayed; zero is
            one, with `reorder`. Default 0.
        rate: Rate at which packets are serialised; zero is unlimited. tc's `rate RATE PACKETOVERHEAD CELLSIZE
            CELLOVERHEAD` gives four parameters. Default 0 bit/s.
        packet_overhead: Overhead of each packet at the rate, in bytes; may be negative. Default 0.
        cell_size: Cell size in bytes of packet; zero is no cells. Default 0.
        cell_overhead: Overhead of each cell in bytes; may be negative. Default 0.
        slot_min: Minimum time between two slots in which packets leave; tc's `slot MIN MAX packets N bytes N`.
            Zero: no slots. Default 0 s.
        slot_max: Maximum time between two slots; at least the minimum. Default 0 s.
        slot_distribution: Distribution of times between slots; tc's `slot distribution NAME DELAY JITTER`.
            Default uniform.
        slot_delay: Mean time between slots, with `slot_jitter`. Default 0 s.
        slot_jitter: Deviation of times between slots from their mean; zero: `slot_min` and `slot_max` apply.
            Default 0 s.
        slot_packets: Maximum packets per slot; zero is unlimited. Default 0.
        slot_bytes: Maximum bytes per slot, which the last packet may exceed; zero is unlimited. Default 0 B.
        inside: Child queue manager, as in tc's braces: an object or its text. Default none.
        """
