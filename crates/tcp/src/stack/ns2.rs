//! ns-2's one-way agents: `TCP/Reno` (`cc = "reno"`), `TCP/Newreno` (`"newreno"`), both without SACK, `TCP/Sack1` with,
//! and `TCPSink`.
//!
//! Source: `tcp.cc`, `tcp-newreno.cc` and the defaults of `ns-default.tcl`.
//! The one-way agents have no handshake, but their first packet, number 0, has no payload (`syn_`), is timed, and is
//! sent alone (`delay_growth_`). It corresponds to a SYN whose SYN-ACK is only acknowledged by data. Differs: the
//! agent's clock starts at 0; ns-2 starts it at random (`boot_time_`), so a time-out may differ by a tick of 10 ms.

use super::*;

/// ns-2.
pub const STACK: Stack = Stack {
    // windowInit_
    initial_window: 2,
    // rtxcur_init_, minrto_, maxrto_, tcpTick_
    rto_initial: Duration::from_secs(3),
    rto_min: Duration::from_millis(200),
    rto_max: Duration::from_secs(60),
    tick: Duration::from_millis(10),
    rtt_unit: Duration::from_millis(10),
    machine: RecoveryMachine::Ns2,
    // ns-2's timers run from the instant when they are set.
    exact_timers: true,
    acks_handshake: false,
    timestamps: false,
    // TcpAgent::output, SackStack's `ch->size() += sack_index * 8`.
    pads_options: false,
    rto: RtoFormula::Rfc6298,
    // window_
    max_window: Some(20),
    acks_every_segment: true,
    fack: false,
    frto: false,
    counting: GrowthCounting::Fractions,
    // `TCP/Linux`, which brought CUBIC into ns-2, has it from 2.6.22 and later.
    cubic: cubic::LINUX_2_6_29,
    // numdupacks_
    reordering: 3,
    quickacks_at_start: 0,
    quickacks: 0,
    ato_min: Duration::from_millis(100),
    idle_restart: false,
    ..linux_2_6_29::STACK
};
