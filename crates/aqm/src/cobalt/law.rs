//! Arithmetic of COBALT as in Linux (`cobalt_*` of `sch_cake.c`, 6.1, 6.12 and 7.3): integer nanoseconds, an inverse
//! square root and a probability with 32 fractional bits. Names follow the kernel's.

use crate::inverse_root::newton_step;
use crate::rng::Rng;
use crate::time::{Duration, Instant};

/// Parameters of a queue: `cobalt_params`, and differences of other ports.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Params {
    pub target: i64,
    /// The interval as the control law uses it.
    pub interval_bits: u32,
    pub interval: i64,
    /// Transmission time of the largest packet; zero without a rate.
    pub mtu_time: i64,
    /// 1/sqrt(count) for small counts.
    pub table: &'static [u32; 16],
    /// Sojourn time above which BLUE's probability also rises (ns-3).
    pub blue_threshold: i64,
    /// BLUE also draws for a packet that is dropped anyway (Linux before 7).
    pub draws_for_dropped: bool,
}

impl Params {
    /// Parameters of a queue without a rate.
    pub fn new(target: Duration, interval: Duration, release: KernelRelease) -> Self {
        let interval = interval.as_nanos();
        let table = match release {
            KernelRelease::Linux61 => &ITERATED,
            KernelRelease::Linux612 | KernelRelease::Linux73 => &EXACT,
        };
        Self {
            target: target.as_nanos(),
            // Linux multiplies 32 bits: an interval above 4.29 s loses its upper bits.
            interval_bits: interval as u32,
            interval,
            mtu_time: 0,
            table,
            blue_threshold: i64::MAX,
            draws_for_dropped: release != KernelRelease::Linux73,
        }
    }
}

/// Kernel release that defines the arithmetic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum KernelRelease {
    /// Small counts: each inverse square root comes from the previous one by four Newton steps. The root of 2 is 0.06 %
    /// low, so all later signals are due 40 us before 6.12's.
    Linux61,
    /// Small counts: inverse square roots are a table in the source.
    Linux612,
    /// As 6.12, but BLUE draws only for packets that are not dropped yet.
    Linux73,
}

/// State of a queue: `cobalt_vars`. It outlives the flow that created it.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct State {
    pub count: u32,
    /// Approximation of 1/sqrt(count). Zero in a queue that was never judged over target: its first congestion has no
    /// grace interval.
    pub rec_inv_sqrt: u32,
    /// Time of the next signal while over target, otherwise of the last one, otherwise the end of activity.
    pub drop_next: i64,
    blue_timer: i64,
    pub p_drop: u32,
    pub dropping: bool,
}

/// Packet at the head, to be dequeued.
#[derive(Clone, Copy, Debug)]
pub(crate) struct HeadPacket {
    pub now: Instant,
    pub enqueued: Instant,
    /// Bulk flows that share the shaper on ingress, otherwise 0.
    pub bulk: u32,
    /// Marks are enabled and the packet is ECN-capable.
    pub markable: bool,
}

/// Decision about a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct DropDecision {
    pub drop: bool,
    /// Mark with CE, if it is sent.
    pub mark: bool,
}

impl State {
    /// State as cleared by the kernel: all times are `boot`.
    pub fn cleared(boot: Instant) -> Self {
        Self { blue_timer: boot.as_nanos() as i64, ..Self::default() }
    }

    /// State with a grace interval for the first congestion (ns-3).
    pub fn graceful() -> Self {
        Self { rec_inv_sqrt: u32::MAX, ..Self::default() }
    }

    /// `cobalt_should_drop`, for each dequeued packet.
    #[inline]
    pub fn should_drop(&mut self, params: &Params, head: HeadPacket, rng: &mut Rng) -> DropDecision {
        if self.is_below_target(params, head.now, head.enqueued) {
            return DropDecision { drop: false, mark: false };
        }
        self.judge(params, head, rng)
    }

    /// Fast path of [`Self::should_drop`] for a packet below target in a queue without any trace of congestion, as most
    /// packets are. Returns whether it applied.
    #[inline]
    pub fn is_below_target(&mut self, params: &Params, now: Instant, enqueued: Instant) -> bool {
        let sojourn = (now - enqueued).as_nanos();
        let is_calm = self.count == 0 && self.p_drop == 0 && !self.dropping;
        let passes = is_calm && sojourn <= params.target && sojourn <= params.blue_threshold;
        if passes {
            self.drop_next = now.as_nanos() as i64 + params.interval;
        }
        passes
    }

    #[inline(never)]
    fn judge(&mut self, params: &Params, head: HeadPacket, rng: &mut Rng) -> DropDecision {
        let HeadPacket { now, enqueued, bulk, markable } = head;
        let (now, sojourn) = (now.as_nanos() as i64, (now - enqueued).as_nanos());
        let over_target =
            sojourn > params.target && sojourn > params.mtu_time * bulk as i64 * 2 && sojourn > params.mtu_time * 4;
        let mut schedule = now - self.drop_next;
        let due = self.count != 0 && schedule >= 0;
        let mut decision = DropDecision { drop: false, mark: false };
        if over_target {
            if !self.dropping {
                self.dropping = true;
                self.drop_next = self.control(params, now);
            }
            self.count = self.count.max(1);
        } else {
            self.dropping = false;
        }
        if due && self.dropping {
            decision = DropDecision { drop: !markable, mark: markable };
            self.count = self.count.saturating_add(1);
            self.step(params);
            schedule = now - self.drop_next;
        } else if due {
            schedule = self.decay(params, now);
        }
        if sojourn > params.blue_threshold {
            self.raise(params, now);
        }
        // BLUE never marks, because it targets unresponsive traffic.
        if self.p_drop != 0 && (params.draws_for_dropped || !decision.drop) {
            decision.drop |= rng.next_u32() < self.p_drop;
        }
        if self.count == 0 {
            self.drop_next = now + params.interval;
        } else if schedule > 0 && !decision.drop {
            self.drop_next = now;
        }
        decision
    }

    /// Decays the count on the schedule of its growth. Returns the time since the next signal of the decayed state.
    #[cold]
    fn decay(&mut self, params: &Params, now: i64) -> i64 {
        loop {
            self.count -= 1;
            self.step(params);
            let schedule = now - self.drop_next;
            if self.count == 0 || schedule < 0 {
                return schedule;
            }
        }
    }

    /// `cobalt_queue_full`: an overflow drops a packet of this queue. Returns whether its flow is newly found
    /// unresponsive.
    pub fn queue_full(&mut self, params: &Params, now: Instant) -> bool {
        let now = now.as_nanos() as i64;
        let found = self.p_drop == 0;
        let raised = self.raise(params, now);
        self.dropping = true;
        self.drop_next = now;
        self.count = self.count.max(1);
        raised && found
    }

    /// `cobalt_queue_empty`: a dequeue found the queue empty. Returns whether its flow is no longer unresponsive.
    pub fn queue_empty(&mut self, params: &Params, now: Instant) -> bool {
        let now = now.as_nanos() as i64;
        let mut calmed = false;
        if self.p_drop != 0 && now - self.blue_timer > params.target {
            self.p_drop = self.p_drop.saturating_sub(P_DEC);
            self.blue_timer = now;
            calmed = self.p_drop == 0;
        }
        self.dropping = false;
        if self.count != 0 && now >= self.drop_next {
            self.count -= 1;
            self.step(params);
        }
        calmed
    }

    /// Raises BLUE's probability, at most once per target.
    fn raise(&mut self, params: &Params, now: i64) -> bool {
        let late = now - self.blue_timer > params.target;
        if late {
            self.p_drop = self.p_drop.saturating_add(P_INC);
            self.blue_timer = now;
        }
        late
    }

    /// Schedules the signal after the one that is due, from the current count.
    #[inline]
    fn step(&mut self, params: &Params) {
        self.rec_inv_sqrt = match params.table.get(self.count as usize) {
            Some(&root) => root,
            None => newton_step(self.rec_inv_sqrt, self.count),
        };
        self.drop_next = self.control(params, self.drop_next);
    }

    /// `cobalt_control`: `t + interval / sqrt(count)`.
    #[inline]
    fn control(&self, params: &Params, t: i64) -> i64 {
        t + ((params.interval_bits as u64 * self.rec_inv_sqrt as u64) >> 32) as i64
    }

    /// Whether the state has no trace of congestion left.
    #[inline]
    pub fn is_at_rest(&self, now: Instant) -> bool {
        self.p_drop == 0 && self.count == 0 && now.as_nanos() as i64 >= self.drop_next
    }

    /// Exports the state by name; times in seconds.
    pub fn observe(&self, see: &mut dyn FnMut(&'static str, f64)) {
        see("count", self.count as f64);
        see("dropping", self.dropping as u8 as f64);
        see("drop_next", self.drop_next as f64 / 1e9);
        see("p_drop", self.p_drop as f64 / (1u64 << 32) as f64);
    }
}

/// Table of Linux 6.1.
const fn iterated() -> [u32; 16] {
    let mut table = [u32::MAX; 16];
    let mut count = 1;
    while count < table.len() {
        let mut root = table[count - 1];
        let mut step = 0;
        while step < 4 {
            root = newton_step(root, count as u32);
            step += 1;
        }
        table[count] = root;
        count += 1;
    }
    table
}

/// 2^32 / sqrt(count), saturated for 0 and 1 (Linux 6.12).
static EXACT: [u32; 16] = [
    4294967295, 4294967295, 3037000500, 2479700525, 2147483647, 1920767767, 1753413056, 1623345051, 1518500250,
    1431655765, 1358187914, 1294981364, 1239850263, 1191209601, 1147878294, 1108955788,
];
static ITERATED: [u32; 16] = iterated();
/// 1/256: increment of BLUE's probability per overflow.
const P_INC: u32 = 1 << 24;
/// 1/4096: its decrement when the queue is empty.
const P_DEC: u32 = 1 << 20;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_roots_of_both_kernels_differ_in_three_places() {
        let differing: alloc::vec::Vec<_> =
            (0..16).filter(|&i| EXACT[i] != ITERATED[i]).map(|i| (i, ITERATED[i])).collect();
        assert_eq!(differing, [(2, 3035289760), (3, 2479700455), (6, 1753413055)]);
        for (count, &root) in EXACT.iter().enumerate().skip(2) {
            let exact = libm::pow(2.0, 32.0) / libm::sqrt(count as f64);
            assert!((root as f64 - exact).abs() <= 1.0, "{count}");
        }
    }

    #[test]
    fn beyond_the_table_a_step_follows_the_root() {
        // From 1/sqrt(15) to 1/sqrt(16) in one step: 0.258 to about 0.25, with quadratic convergence.
        let root = newton_step(EXACT[15], 16);
        assert!((root as f64 / 4_294_967_296.0 - 0.25).abs() < 0.0005, "{root}");
    }
}
