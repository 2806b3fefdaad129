//! The mutants: the edit, the origin of the error, and the test that detects it.

/// An error planted in one file.
pub struct Mutant {
    /// Short name.
    pub name: &'static str,
    /// Origin of the error, or a warning in the sources.
    pub history: &'static str,
    /// The file, relative to this crate.
    pub file: &'static str,
    /// Original texts, each of which occurs once, and their replacements, applied in order.
    pub edits: &'static [(&'static str, &'static str)],
    /// Test target, `lib` or `all`, and test that must fail.
    pub caught_by: (&'static str, &'static str),
}

pub const MUTANTS: &[Mutant] = &[
    // COBALT
    Mutant {
        name: "cobalt-grace-of-a-virgin-queue",
        history: "ns-3's port, and readings of the code as CoDel: the first congestion of a queue has an interval of grace",
        file: "src/cobalt/mod.rs",
        edits: &[("} else { State::default() };", "} else { State::graceful() };")],
        caught_by: ("lib", "cobalt::tests::marks_come_where_drops_would"),
    },
    Mutant {
        name: "cobalt-the-state-does-not-decay",
        history: "count kept as in CoDel: it does not decay while the delay is below target",
        file: "src/cobalt/law.rs",
        edits: &[("        } else if due {\n", "        } else if due && false {\n")],
        caught_by: ("lib", "cobalt::tests::the_count_decays_as_it_grew_and_the_next_episode_has_its_grace"),
    },
    Mutant {
        name: "cobalt-last-packet-dropped",
        history: "ns-3: the last packet of a queue is dropped as well",
        file: "src/cobalt/mod.rs",
        edits: &[("(queue.len() > 1 || self.config.version == Version::Ns3)", "!queue.is_empty()")],
        caught_by: ("lib", "cobalt::tests::the_last_packet_of_a_queue_is_spared_but_for_ns3"),
    },
    Mutant {
        name: "cobalt-blue-marks",
        history: "BLUE marks ECN-capable packets instead of dropping them: unresponsive flows are not limited",
        file: "src/cobalt/law.rs",
        edits: &[(
            "decision.drop |= rng.next_u32() < self.p_drop;",
            "decision.drop |= !markable && rng.next_u32() < self.p_drop;",
        )],
        caught_by: ("lib", "cobalt::tests::blue_drops_what_understands_marks"),
    },
    // DualPI2
    Mutant {
        name: "dualpi2-step-at-the-threshold",
        history: "a mark threshold compared with >= instead of >: a delay equal to the threshold is marked",
        file: "src/dualpi2/linux.rs",
        edits: &[("applies && qdelay > self.step_thresh", "applies && qdelay >= self.step_thresh")],
        caught_by: ("lib", "dualpi2::linux::tests::the_step_is_strict_and_comes_after_the_probability"),
    },
    Mutant {
        name: "dualpi2-one-draw-for-the-square",
        history: "p instead of its square for classic packets: they get far less than scalable ones",
        file: "src/dualpi2/linux.rs",
        edits: &[("match roll(prob, rng) && roll(prob, rng) {", "match roll(prob, rng) {")],
        caught_by: (
            "lib",
            "dualpi2::linux::tests::each_decision_draws_32_bits_and_is_met_up_to_the_probability_itself",
        ),
    },
    Mutant {
        name: "dualpi2-gains-in-another-unit",
        history: "gains in 1/256 s; the kernel shifts by two more bits",
        file: "src/dualpi2/linux.rs",
        edits: &[("MAX_PROB as u64) >> 2)", "MAX_PROB as u64) >> 8)")],
        caught_by: ("lib", "dualpi2::linux::tests::gains_are_the_kernels_units_of_64_ns"),
    },
    // BLUE, SFB
    Mutant {
        name: "blue-never-frozen",
        history: "each overflow counts: a burst of losses raises the probability to one at once",
        file: "src/blue.rs",
        edits: &[("now - last > self.config.freeze_time", "now >= last")],
        caught_by: ("lib", "blue::tests::overflows_raise_p_and_an_idle_link_lowers_it_once_per_freeze_time"),
    },
    Mutant {
        name: "sfb-warm-up-forgotten",
        history: "slots swapped without double buffering: every unresponsive flow is accepted again",
        file: "src/sfb/mod.rs",
        edits: &[("                self.bins[other].arrived(hashes[other], self.steps);\n", "")],
        caught_by: ("lib", "sfb::tests::slots_change_places_after_a_warm_up_by_what_does_not_listen"),
    },
    Mutant {
        name: "sfb-key-of-the-wrong-slot",
        history: "the key of the slot that takes over is renewed: the warmed-up state is never found",
        file: "src/sfb/mod.rs",
        edits: &[("keys[self.slot] = drawn(rng);", "keys[self.slot ^ 1] = drawn(rng);")],
        caught_by: ("lib", "sfb::tests::slots_change_places_after_a_warm_up_by_what_does_not_listen"),
    },
    // PI, REM, AVQ
    Mutant {
        name: "pi-reference-with-the-other-sign",
        history: "the old queue's deviation added instead of subtracted: an integrator of twice the error",
        file: "src/pi.rs",
        edits: &[("- self.b * (self.q_old - qref)", "- self.b * (self.q_old + qref)")],
        caught_by: ("lib", "pi::tests::updates_by_hand"),
    },
    Mutant {
        name: "pi-old-queue-forgotten",
        history: "the queue of the last update not kept: a proportional part that never ends",
        file: "src/pi.rs",
        edits: &[("        self.q_old = q;\n", "")],
        caught_by: ("lib", "pi::tests::updates_by_hand"),
    },
    Mutant {
        name: "rem-what-is-refused-never-came",
        history: "arrivals counted after the limit: the price does not see the overload",
        file: "src/rem.rs",
        edits: &[(
            "    fn overflowed(&mut self, _: &mut Cx, meta: &Meta) {\n        self.count += self.packets(meta);",
            "    fn overflowed(&mut self, _: &mut Cx, meta: &Meta) {\n        let _ = self.packets(meta);",
        )],
        caught_by: ("lib", "rem::tests::what_the_limit_refuses_counts_as_having_come"),
    },
    Mutant {
        name: "avq-capacity-above-the-links",
        history: "tokens without a bound: after a pause a burst passes the virtual queue",
        file: "src/avq.rs",
        edits: &[("since).min(self.capacity);", "since).min(f64::MAX);")],
        caught_by: ("lib", "avq::tests::the_virtual_queue_and_its_capacity_by_hand"),
    },
    // CAKE
    Mutant {
        name: "cake-deficit-of-zero-is-served",
        history: "DRR with a test for less than zero: a flow whose deficit is used up is served again",
        file: "src/cake/dequeue.rs",
        edits: &[("if tin.flows[i].deficit <= 0 {", "if tin.flows[i].deficit < 0 {")],
        caught_by: ("lib", "cake::tests::a_flow_without_credit_waits_for_its_next_turn"),
    },
    Mutant {
        name: "cake-failsafe-forgotten",
        history: "drops on ingress charged without a bound: heavy dropping stops the link",
        file: "src/cake/shaper.rs",
        edits: &[(
            "(self.next > now && self.failsafe > now).then(|| self.next.min(self.failsafe))",
            "(self.next > now).then_some(self.next)",
        )],
        caught_by: ("lib", "cake::tests::drops_on_ingress_are_charged_but_two_thirds_of_the_rate_go_on"),
    },
    Mutant {
        name: "sfb-the-packet-that-turns-the-slots-counts-in-the-new-one",
        history: "the slot read after the swap; sfb_enqueue reads it before",
        file: "src/sfb/mod.rs",
        edits: &[(
            "        let (slot, other) = (self.slot, self.slot ^ 1);\n        self.swap_slots(jiffies, cx.rng);\n",
            "        self.swap_slots(jiffies, cx.rng);\n        let (slot, other) = (self.slot, self.slot ^ 1);\n",
        )],
        caught_by: ("all", "kernel_sfb::sfb_agrees_with_the_kernel_on_every_packet"),
    },
    Mutant {
        name: "cake-heap-sinks-all-the-way",
        history: "a textbook heap: in Linux an entry sinks by one rank, so the longest queue is not always cut",
        file: "src/cake/heap.rs",
        edits: &[(
            "            let mut longest = i;\n",
            "            let mut longest = i;\n            most = self.backlog(i, tins);\n",
        )],
        caught_by: ("all", "kernel_cake::cake_agrees_with_the_kernel_on_every_packet"),
    },
    Mutant {
        name: "cake-host-counts-left-behind",
        history: "older kernels: a host's count of bulk flows diverges from its flows and wraps below zero",
        file: "src/cake/tin.rs",
        edits: &[(
            "                self.bulk -= 1;\n                self.count_bulk(i, isolation, false);",
            "                self.bulk -= 1;",
        )],
        caught_by: ("lib", "cake::tests::every_count_is_that_of_the_flows"),
    },
    Mutant {
        name: "cake-idle-time-is-saved",
        history: "a shaper that catches up after idle time: bursts at the rate of the device",
        file: "src/cake/shaper.rs",
        edits: &[(
            "                (self.next, self.failsafe) = (now, now);",
            "                self.failsafe = self.failsafe.max(self.next);",
        )],
        caught_by: ("lib", "cake::tests::packets_leave_at_the_rate_and_idle_time_is_not_saved"),
    },
    Mutant {
        name: "cake-atm-rounds-down",
        history: "ATM cells counted by rounding down: a partial cell costs nothing",
        file: "src/link_layer.rs",
        edits: &[("CellFraming::Atm => len.div_ceil(48) * 53,", "CellFraming::Atm => len / 48 * 53,")],
        caught_by: ("lib", "cake::overhead::tests::sizes_on_the_wire"),
    },
    Mutant {
        name: "cake-ack-filter-loses-ece",
        history: "an ACK filter that ignores ECE: the echo of marks is lost",
        file: "src/cake/ack_filter.rs",
        edits: &[("        eligible = eligible.filter(|&(_, echoes)| echoes == echoes_of(&old));\n", "")],
        caught_by: ("all", "ack_filter::what_is_told_by_marks_flags_payload_or_options_stays"),
    },
    // CoDel
    Mutant {
        name: "codel-time-inside-the-root",
        history: "the control law misread: (t + interval)/sqrt(count) for t + interval/sqrt(count)",
        file: "src/codel/rfc8289.rs",
        edits: &[(
            "        t + step(self.interval, count)",
            "        Instant::ZERO + step(t + self.interval - Instant::ZERO, count)",
        )],
        caught_by: ("lib", "codel::tests::drop_times_under_constant_overload_are_those_by_hand"),
    },
    Mutant {
        name: "codel-law-in-milliseconds",
        history: "mahimahi: the control law is truncated to whole milliseconds",
        file: "src/codel/rfc8289.rs",
        edits: &[(
            "Duration::from_nanos(libm::round(interval.as_nanos() as f64 / libm::sqrt(count as f64)) as i64)",
            "Duration::from_millis((interval.as_millis_f64() / libm::sqrt(count as f64)) as i64)",
        )],
        caught_by: ("lib", "codel::rfc8289::tests::the_control_law_is_exact_to_the_nanosecond"),
    },
    Mutant {
        name: "codel-drops-the-next-packet",
        history: "mahimahi: the judged packet is delivered and the next one dropped",
        file: "src/codel/mod.rs",
        edits: &[(
            "        return queue.mark(0, DropReason::Late);\n    }\n    queue.drop(0, DropReason::Late);",
            "        return queue.mark(0, DropReason::Late);\n    }\n    queue.drop(1, DropReason::Late);",
        )],
        caught_by: ("lib", "codel::tests::count_after_a_phase_of_one_entry_and_two_more_drops"),
    },
    Mutant {
        name: "codel-mark-schedules-from-now",
        history: "a mark schedules the next one from now; Linux continues from the schedule",
        file: "src/codel/rfc8289.rs",
        edits: &[(
            "self.drop_next = self.control_law(self.drop_next, self.count);",
            "self.drop_next = self.control_law(if marked { now } else { self.drop_next }, self.count);",
        )],
        caught_by: ("lib", "codel::tests::drop_times_under_constant_overload_are_those_by_hand"),
    },
    Mutant {
        name: "codel-drop-schedules-from-now",
        history: "RFC 8289 §5.5 warns of it: a late dequeue slows the control law",
        file: "src/codel/rfc8289.rs",
        edits: &[(
            "self.drop_next = self.control_law(self.drop_next, self.count);",
            "self.drop_next = self.control_law(now, self.count);",
        )],
        caught_by: ("lib", "codel::tests::the_next_drop_is_scheduled_from_the_last_one_not_from_now"),
    },
    Mutant {
        name: "codel-one-drop-per-dequeue",
        history: "RFC 8289's loop omitted: a schedule that is faster than the link never catches up",
        file: "src/codel/rfc8289.rs",
        edits: &[("            if marked {\n                return;\n            }", "            return;")],
        caught_by: ("lib", "codel::tests::a_late_dequeue_catches_up_with_drops_but_marks_once"),
    },
    Mutant {
        name: "codel-forgets-its-count",
        history: "every phase starts from a count of one",
        file: "src/codel/rfc8289.rs",
        edits: &[("if delta > 1 && recent { delta as u32 } else { 1 }", "if delta > 1 && recent { 1 } else { 1 }")],
        caught_by: ("lib", "codel::rfc8289::tests::re_entry_counts"),
    },
    Mutant {
        name: "codel-unsigned-since-last-drop",
        history: "unsigned times: a future drop time, left by a phase that ended early, counts as long past",
        file: "src/codel/rfc8289.rs",
        edits: &[(
            "let recent = now - self.drop_next < self.interval * 16;",
            "let recent = now >= self.drop_next && now - self.drop_next < self.interval * 16;",
        )],
        caught_by: ("lib", "codel::rfc8289::tests::re_entry_counts"),
    },
    Mutant {
        name: "codel-own-backlog-under-flows",
        history: "the test for a small backlog uses the flow instead of the whole discipline",
        file: "src/codel/rfc8289.rs",
        edits: &[("queue.total_backlog().bytes - head.len as u64", "queue.bytes() - head.len as u64")],
        caught_by: ("lib", "codel::tests::a_small_backlog_protects_its_packet"),
    },
    Mutant {
        name: "codel-linux-not-strictly-after",
        history: "Linux waits until after first_above_time, the RFC until it is reached",
        file: "src/codel/linux.rs",
        edits: &[("now.is_after(self.first_above_time)", "!now.is_before(self.first_above_time)")],
        caught_by: ("lib", "codel::tests::a_head_is_ok_to_drop_at_first_above_time_and_in_linux_after_it"),
    },
    Mutant {
        name: "codel-linux-exact-root",
        history: "Linux in floating point: the kernel's inverse square root of 2 is 0.5 after its single Newton step",
        file: "src/codel/linux.rs",
        edits: &[(
            "let step = (self.interval.0 as u64 * ((self.rec_inv_sqrt as u64) << 16)) >> 32;",
            "let step = (self.interval.0 as f64 / libm::sqrt(self.count as f64)) as u64;",
        )],
        caught_by: ("lib", "codel::linux::tests::the_inverse_square_root_as_count_rises"),
    },
    // PIE and PI2
    Mutant {
        name: "pie-bypass-in-packets",
        history: "ns-3: a queue of two packets is exempt, regardless of their bytes",
        file: "src/pie/rfc8033.rs",
        edits: &[(
            "self.drop_early(bytes, cx.rng)",
            "self.drop_early(queue.len() as u64 * self.config.mean_pktsize.0, cx.rng)",
        )],
        caught_by: ("all", "pie_properties::many_tiny_packets_are_a_small_backlog_however_long_they_wait"),
    },
    Mutant {
        name: "pie-updated-at-arrivals",
        history: "no timer: p is updated when a packet arrives, at most every t_update",
        file: "src/pie/rfc8033.rs",
        edits: &[
            (
                "let bytes = queue.bytes();",
                "let bytes = queue.bytes();\n        if self.active && cx.now >= self.next_update {\n            self.update(cx.now, cx);\n        }",
            ),
            ("self.active.then_some(self.next_update)", "None"),
        ],
        caught_by: ("all", "pie_properties::p_falls_by_itself_while_nothing_arrives"),
    },
    Mutant {
        name: "pie-sum-survives-drops",
        history: "draft-ietf-aqm-pie-00 as printed: accu_prob is not reset at a drop (Schwarzkopf et al. 2016, II.C)",
        file: "src/pie/rfc8033.rs",
        edits: &[("            self.accu_prob = 0.0;\n            let mark", "            let mark")],
        caught_by: ("lib", "pie::rfc8033::tests::every_drop_and_mark_starts_the_accumulation_again"),
    },
    Mutant {
        name: "pie-p-unbounded",
        history: "draft-ietf-aqm-pie-00 as printed: p leaves [0, 1] (Schwarzkopf et al. 2016, II.C)",
        file: "src/pie/controller.rs",
        edits: &[("p.clamp(0.0, largest_probability(config))", "p")],
        caught_by: ("lib", "pie::rfc8033::tests::probability_after_an_update"),
    },
    Mutant {
        name: "pie-no-derivative",
        history: "qdelay_old is overwritten before it is used: beta has no effect",
        file: "src/pie/rfc8033.rs",
        edits: &[(
            "updated_probability(&self.config, self.p, self.qdelay, self.qdelay_old)",
            "updated_probability(&self.config, self.p, self.qdelay, self.qdelay)",
        )],
        caught_by: ("lib", "pie::rfc8033::tests::two_updates_by_hand"),
    },
    Mutant {
        name: "pie-high-delay-before-the-cap",
        history: "the two per cent for a very long delay are capped together with the controller's increment",
        file: "src/pie/controller.rs",
        edits: &[
            ("    if p >= 0.1 {\n        delta = delta.min(config.cap);\n    }\n", ""),
            ("    let p = p + delta;", "    let p = p + if p >= 0.1 { delta.min(config.cap) } else { delta };"),
        ],
        caught_by: ("lib", "pie::rfc8033::tests::probability_after_an_update"),
    },
    Mutant {
        name: "pie-marks-in-overload",
        history: "ECN-capable packets are marked above 10 % too; RFC 8033 drops them",
        file: "src/pie/rfc8033.rs",
        edits: &[(" && self.p < self.config.mark_ecnth;", ";")],
        caught_by: ("lib", "pie::rfc8033::tests::every_drop_and_mark_starts_the_accumulation_again"),
    },
    Mutant {
        name: "pi2-one-draw",
        history: "p' is not squared for classic traffic",
        file: "src/coupled.rs",
        edits: &[("self.uniform() < p && self.uniform() < p", "self.uniform() < p")],
        caught_by: ("lib", "pi2::tests::classic_packets_feel_the_square_and_scalable_ones_twice_the_probability"),
    },
    // RED and CHOKe
    Mutant {
        name: "red-limit-ignored",
        history: "between the thresholds RED's verdict is final, and the hard limit is not checked",
        file: "src/single.rs",
        edits: &[("if !fits && !self.bounds.admit(self.store.backlog(), meta.len) {", "if false {")],
        caught_by: ("lib", "red::tests::the_hard_limit_holds_while_the_average_is_between_the_thresholds"),
    },
    Mutant {
        name: "ared-stale-gentle-slope",
        history: "ns-3 (and ns-2): the gentle segment keeps the first max_p, so the drop curve falls at max",
        file: "src/red/ns2.rs",
        edits: &[("            self.gentle_max_p = self.cur_max_p;\n", "")],
        caught_by: ("lib", "red::ns2::tests::the_gentle_segment_starts_at_the_adapted_probability"),
    },
    Mutant {
        name: "red-idle-time-ignored",
        history: "the average does not decay while the link is idle",
        file: "src/red/ns2.rs",
        edits: &[("Some(since) => libm::floor(self.ptc * (cx.now - since).as_secs_f64()),", "Some(_) => 0.0,")],
        caught_by: ("lib", "red::ns2::tests::the_average_is_geometric_and_decays_in_idle_time"),
    },
    Mutant {
        name: "red-idle-arrival-does-not-count",
        history: "ns-2's m idle slots without the arrival's own update",
        file: "src/red/ns2.rs",
        edits: &[("libm::pow(of_each, m + 1.0)", "libm::pow(of_each, m)")],
        caught_by: ("lib", "red::ns2::tests::the_average_is_geometric_and_decays_in_idle_time"),
    },
    Mutant {
        name: "red-count-survives-drops",
        history: "a drop does not restart the spacing of drops",
        file: "src/red/ns2.rs",
        edits: &[("        self.forced_drop();\n        true", "        true")],
        caught_by: ("lib", "red::ns2::tests::drops_are_uniformly_spaced_at_a_constant_average"),
    },
    Mutant {
        name: "red-linux-idle-table-of-exact-ticks",
        history: "ours: a packet's time in ticks was rounded up once; tc truncates to microseconds and to ticks",
        file: "src/red/tc.rs",
        edits: &[
            ("(1e6 * (avpkt as f64 / rate as f64)) as u64 as u32", "1e6 * (avpkt as f64 / rate as f64)"),
            ("(us as f64 * TICKS_PER_US) as u64 as u32", "libm::ceil(us * TICKS_PER_US) as u32"),
        ],
        caught_by: ("lib", "red::tc::tests::parameters_are_those_that_tc_sends"),
    },
    Mutant {
        name: "red-linux-idle-arrival-adds-the-queue",
        history: "Linux's average is not updated at the arrival that ends an idle period",
        file: "src/red/linux.rs",
        edits: &[(
            "Some(_) => self.qavg = self.decayed(idle, now),",
            "Some(_) => self.qavg = self.decayed(idle, now) + backlog,",
        )],
        caught_by: ("lib", "red::linux::tests::idle_time_decays_the_average_and_its_end_adds_nothing"),
    },
    Mutant {
        name: "choke-spares-the-match",
        history: "only the arrival is dropped; CHOKe drops both packets",
        file: "src/choke.rs",
        edits: &[("        self.slots.remove(slot);\n        queue.drop(i, DropReason::Early);\n", "")],
        caught_by: ("lib", "choke::tests::both_packets_of_a_flow_are_dropped_above_min"),
    },
    // Flow queueing
    Mutant {
        name: "fq-batch-from-the-wrong-flow",
        history: "the batch drop selects the flow with the most packets, or the arrival's, instead of the fattest",
        file: "src/flow/overflow.rs",
        edits: &[(
            "(flows[i].queue.bytes, core::cmp::Reverse(flows[i].bucket))",
            "(flows[i].queue.packets, flows[i].bucket)",
        )],
        caught_by: ("lib", "flow::tests::overflow::a_batch_leaves_the_head_of_the_fattest_flow_and_only_it"),
    },
    Mutant {
        name: "fq-batch-of-one",
        history: "Linux: min(1, drop_batch) instead of max, so a batch is always one packet",
        file: "src/flow/overflow.rs",
        edits: &[("drop_batch: config.drop_batch as u32,", "drop_batch: 1.min(config.drop_batch as u32),")],
        caught_by: ("lib", "flow::tests::overflow::a_batch_ends_at_drop_batch_and_before_4_7_at_one"),
    },
    Mutant {
        name: "fq-batch-not-told",
        history: "a batch drop does not raise the count of its flow's CoDel",
        file: "src/flow/overflow.rs",
        edits: &[("        self.on_shed(now, fattest, packets, sink);\n", "        let _ = (now, packets, sink);\n")],
        caught_by: ("lib", "flow::tests::overflow::a_batch_leaves_the_head_of_the_fattest_flow_and_only_it"),
    },
    Mutant {
        name: "drr-credit-not-reset",
        history: "a flow that returns keeps its old deficit",
        file: "src/flow/schedule.rs",
        edits: &[(
            "flows[i].sched = SchedulerEntry { deficit: self.quantum, next: NONE, list: FlowList::New };",
            "flows[i].sched = SchedulerEntry { deficit: flows[i].sched.deficit + self.quantum, next: NONE, list: FlowList::New };",
        )],
        caught_by: ("lib", "flow::tests::a_flow_that_returns_has_one_quantum_whatever_it_left"),
    },
    Mutant {
        name: "fq-emptied-new-flow-leaves",
        history: "RFC 8290 §4.2 warns of it: a new flow that becomes empty does not move to the old list, and starves it",
        file: "src/flow/schedule.rs",
        edits: &[("let waits = flows[i].sched.list == FlowList::New && self.old.head != NONE;", "let waits = false;")],
        caught_by: (
            "lib",
            "flow::tests::drr_plus_plus_serves_new_flows_first_and_makes_the_emptied_wait_among_the_old",
        ),
    },
    // netem
    Mutant {
        name: "netem-correlation-a-little-less",
        history: "a correlation of all ones treated as a share of 2^32 instead of 2^32 - 1",
        file: "src/netem/crandom.rs",
        edits: &[("let rho = self.rho as u64 + 1;", "let rho = self.rho as u64;")],
        caught_by: ("lib", "netem::tests::correlated_numbers_are_those_of_a_second_implementation"),
    },
    Mutant {
        name: "netem-jitter-rounded-one-way",
        history: "half a step added below the mean as well; the kernel rounds away from it",
        file: "src/netem/distribution.rs",
        edits: &[("if x >= 0 { SCALE / 2 } else { -SCALE / 2 }", "SCALE / 2")],
        caught_by: ("lib", "netem::tests::jitter_is_that_of_a_second_implementation"),
    },
    Mutant {
        name: "netem-gap-of-one-more",
        history: "older kernels: a gap of N delays N packets, not N - 1",
        file: "src/netem/mod.rs",
        edits: &[("self.counter >= self.gap - 1", "self.counter >= self.gap")],
        caught_by: ("lib", "netem::tests::each_gapth_packet_goes_at_once"),
    },
    Mutant {
        name: "netem-what-tc-calls-1-h",
        history: "the probability of a loss in the bad state used as that of no loss",
        file: "src/netem/loss.rs",
        edits: &[("u32::MAX - scaled(c.ge_1_h)", "scaled(c.ge_1_h)")],
        caught_by: ("lib", "netem::tests::chains_lose_as_those_of_a_second_implementation"),
    },
    Mutant {
        name: "netem-jitter-without-reordering",
        history: "delayed packets kept in order of arrival, as in Linux before its queue sorted by time",
        file: "src/netem/tfifo.rs",
        edits: &[("self.in_order.back().is_none_or(|&(last, _)| time >= last)", "true")],
        caught_by: ("lib", "netem::tests::packets_leave_in_the_order_of_their_times"),
    },
    Mutant {
        name: "netem-duplicates-unknown-to-the-parent",
        history: "Linux: a duplicate below a parent that expects one packet per enqueue",
        file: "src/parent/leaf.rs",
        edits: &[("        self.accounting.queued(meta.len);\n        Some(copy)", "        Some(copy)")],
        caught_by: ("lib", "netem::tests::parents_count_duplicates"),
    },
    // Packet storage
    Mutant {
        name: "ce-counted-as-marked",
        history: "a packet that arrives with CE is counted as marked again",
        file: "src/single.rs",
        edits: &[("let newly = meta.ecn != Ecn::Ce;", "let newly = true;")],
        caught_by: ("lib", "red::tests::a_packet_that_came_marked_is_not_counted_as_marked"),
    },
    Mutant {
        name: "not-ect-marked",
        history: "CE is set on a packet whose sender does not support ECN",
        file: "src/single.rs",
        edits: &[(
            "verdict == Verdict::Drop || verdict == Verdict::Mark && !meta.ecn.is_ect()",
            "verdict == Verdict::Drop",
        )],
        caught_by: ("all", "conformance::every_registered_algorithm_keeps_to_the_rules"),
    },
    Mutant {
        name: "bytes-of-the-middle-forgotten",
        history: "the byte count is not reduced by a packet dropped from the middle of the queue",
        file: "src/ring.rs",
        edits: &[(
            "        let slot = &mut self.slots[at];\n        self.bytes -= slot.meta.len as u64;",
            "        let slot = &mut self.slots[at];",
        )],
        caught_by: ("all", "fuzz::random_operations_keep_to_the_rules"),
    },
];
