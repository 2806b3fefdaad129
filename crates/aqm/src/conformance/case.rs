//! A test case decoded from bytes: a discipline of the registry with parameters, limits, a link, and the host's
//! operations. Every sequence of bytes is valid, so any source of bytes can drive it: a random stream, a fuzzer.

use super::{Op, Order, Violation, check};
use crate::class::{Minor, Priomap};
use crate::error::ConfigError;
use crate::limits::Limits;
use crate::link::Link;
use crate::netem::Distribution;
use crate::packet::{Ecn, Meta};
use crate::params::{Param, Value};
use crate::qdisc::{Host, Qdisc, Stats};
use crate::rate::Rate;
use crate::registry::{ALGORITHMS, Algorithm, AnyConfig, NamedConfig, QueueLayout};
use crate::rng::Rng;
use crate::time::Duration;
use alloc::boxed::Box;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt;

/// A discipline, its link, and the operations.
#[derive(Clone, Debug)]
pub struct Case {
    /// The discipline, in text form.
    pub aqm: String,
    /// Its configuration.
    pub config: AnyConfig,
    /// Its limits.
    pub limits: Limits,
    /// The link below.
    pub link: Link,
    /// Initial state of its random stream.
    pub seed: u64,
    /// The operations of the host.
    pub ops: Vec<Op>,
}

/// Every discipline that the first two bytes of a case select, in order: the registry's, each profile, flow queueing
/// with each single-queue manager, [`SHAPERS`] and [`TREES`].
pub fn disciplines() -> Vec<String> {
    let plain = ALGORITHMS.iter().flat_map(|algorithm| algorithm.spellings());
    let managers = ALGORITHMS.iter().filter(|algorithm| algorithm.queues == QueueLayout::One);
    let managers = managers.flat_map(|algorithm| algorithm.spellings()).filter(|manager| manager != "droptail");
    let under_flows = managers.map(|manager| format!("fq({manager})"));
    let trees = SHAPERS.iter().chain(TREES).map(|tree| tree.to_string());
    plain.chain(under_flows).chain(trees).collect()
}

/// Parents without managers.
pub const SHAPERS: &[&str] = &[
    "tbf rate 7777777bit burst 9001B latency 30ms",
    "htb default 2 { class 1 rate 2mbit ceil 9mbit match dscp EF; class 2 rate 4mbit prio 1 }",
    "prio bands 2 priomap 1,1,1,1,1,1,0,0,1,1,1,1,1,1,1,1 { band 1 match src 1 match flow 3 { drophead } }",
    "police rate 7777777bit burst 9001B mtu 9050B",
    "netem limit 77 delay 7777us loss state 3% 40% 20% 60% 1% rate 7777777bit 14 48 5 slot 900us 3ms packets 7 bytes 9001",
    "netem delay 3ms 5ms 33% distribution paretonormal loss gemodel 3% 30% 70% 0.1% ecn duplicate 7% 20% corrupt 5% reorder \
     9% 50% gap 3",
];

/// Parents with children of every kind: one queue, a queue per flow, two coupled ones, a shaper, a parent.
pub const TREES: &[&str] = &[
    "tbf rate 20mbit burst 9100B peakrate 50mbit mtu 9050B overhead 38 mpu 84 { codel ecn }",
    "tbf rate 3mbit burst 9kB linklayer atm overhead 40 { fq_codel }",
    "tbf rate 9mbit burst 9kB { dualpi2 }",
    "tbf { red ecn }",
    "prio { band 1 match dscp EF { tbf rate 1mbit burst 9kB { pie ecn } }; band 2 { fq_pie ecn }; band 3 { cake bandwidth 2mbit } }",
    "htb default 20 r2q 20 { class 1 rate 10mbit burst 3kB; class 10 parent 1 rate 1234567bit ceil 10mbit match dscp EF \
     match src 1 { pie ecn }; class 20 parent 1 rate 4mbit ceil 9mbit prio 1 { fq_codel }; class 21 parent 1 rate 2mbit \
     prio 1 quantum 1514B match flow 3 { tbf rate 1mbit burst 9kB { red ecn } } }",
    "htb { class 1 rate 5mbit ceil 20mbit; class 2 parent 1 rate 3mbit ceil 7mbit; class 3 parent 2 rate 1mbit ceil 7mbit \
     match dst 2 { dualpi2 }; class 4 parent 2 rate 2mbit ceil 2mbit match dst 3; class 5 rate 640kbit match src 0 \
     { cake bandwidth 500kbit } }",
    "netem delay 2ms 1ms duplicate 3% rate 30mbit { fq_codel }",
    "police rate 9mbit burst 30kB mtu 9050B peakrate 20mbit overhead 38 mpu 84 { fq_codel }",
    "police pkts_rate 5000 pkts_burst 20 { dualpi2 }",
    "tbf rate 9mbit burst 9kB { netem delay 2ms 1ms loss 5% duplicate 3% }",
];

impl Case {
    /// Decodes the case in `bytes`.
    pub fn from_bytes(bytes: &[u8]) -> Self {
        let mut bytes = ByteReader(bytes);
        let mut all = disciplines();
        let aqm = all.swap_remove(bytes.word() as usize % all.len());
        let named = match aqm.strip_prefix("fq(").and_then(|text| text.strip_suffix(')')) {
            Some(manager) => {
                let manager = bytes.named(manager);
                bytes.named(&format!("fq({})", manager.spelling()))
            }
            None => bytes.named(&aqm),
        };
        // One in eight excludes CE-marked packets, if the discipline supports it.
        let excludes = bytes.byte().is_power_of_two() && named.algorithm().queues.can_exclude_ce();
        let config = if excludes { named.config.excluding_ce().expect("checked above") } else { named.config };
        let named = NamedConfig { config, profile: named.profile };
        let (limits, link, seed) = (bytes.limits(), bytes.link(), bytes.word() as u64);
        Self { aqm: named.spelling(), config: named.config, limits, link, seed, ops: bytes.ops(link) }
    }

    /// Runs the suite.
    pub fn run(&self) -> Result<Stats, Violation> {
        self.run_within(self.config.max_backlog(self.limits))
    }

    /// The same with a maximum backlog of `most`: a library's number of queues is unknown.
    pub fn run_within(&self, most: Limits) -> Result<Stats, Violation> {
        let order = Order::of(&self.config);
        let host = Host { link: self.link, rng: Rng::from_state(self.seed) };
        let make = || self.config.build::<u32>(self.limits, host.clone()) as Box<dyn Qdisc<u32>>;
        check(make, &most, self.link, order, &self.ops)
    }
}

impl fmt::Display for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { aqm, limits, link, seed, ops, .. } = self;
        write!(f, "{aqm}; limit {limits}; {}, {} B; seed {seed}; {} operations", link.rate, link.mtu, ops.len())
    }
}

/// A value in the parameter's range, in text form. Times and sizes are drawn on a logarithmic scale.
pub fn drawn(param: &Param, draw: u64) -> String {
    let mut rng = Rng::from_state(draw);
    let u = rng.uniform();
    let scaled = |least: u64, most: u64| {
        let least = least.max(1) as f64;
        ((least * libm::pow(most as f64 / least, u)) as u64).clamp(least as u64, most)
    };
    let value = match param.range {
        (Value::Time(least), Value::Time(most)) => {
            Value::Time(Duration::from_nanos(scaled(least.as_nanos() as u64, most.as_nanos() as u64) as i64))
        }
        (Value::Bytes(least), Value::Bytes(most)) => Value::Bytes(scaled(least, most)),
        (Value::Rate(least), Value::Rate(most)) => Value::Rate(Rate::from_bps(scaled(least.as_bps(), most.as_bps()))),
        (Value::Count(least), Value::Count(most)) => Value::Count(scaled(least, most)),
        (Value::Number(least), Value::Number(most)) => Value::Number(least + u * (most - least)),
        (Value::Flag(_), _) => Value::Flag(u < 0.5),
        (Value::Minor(least), Value::Minor(most)) => Value::Minor(Minor(scaled(least.0 as u64, most.0 as u64) as u16)),
        (Value::Bands(_), _) => Value::Bands(Priomap::new([0; 16].map(|_: u8| rng.below(3) as u8))),
        (Value::Distribution(_), _) => {
            Value::Distribution(Distribution::BUILT_IN[rng.below(Distribution::BUILT_IN.len() as u64) as usize])
        }
        (Value::Choice(_), _) => Value::Choice(param.choices[rng.below(param.choices.len() as u64) as usize]),
        (least, most) => panic!("{} ranges from {least:?} to {most:?}", param.name),
    };
    let text = value.to_string();
    assert_eq!(param.parse(&text), Ok(value), "{}: a value of the range is read back", param.name);
    text
}

/// The parameters that are compatible with the profile and with each other: one that conflicts with those before it is
/// omitted, unless all together are valid.
pub fn agreeing(
    params: Vec<(String, String)>,
    configure: impl Fn(&[(String, String)]) -> Result<AnyConfig, ConfigError>,
) -> AnyConfig {
    configure(&params).unwrap_or_else(|_| {
        let mut accepted = Vec::new();
        for param in params {
            accepted.push(param);
            if configure(&accepted).is_err() {
                accepted.pop();
            }
        }
        configure(&accepted).expect("accepted above, or an unchanged profile")
    })
}

/// Reads bytes from the front; zero past the end.
struct ByteReader<'a>(&'a [u8]);

impl ByteReader<'_> {
    fn byte(&mut self) -> u8 {
        let Some((&first, rest)) = self.0.split_first() else { return 0 };
        self.0 = rest;
        first
    }

    fn word(&mut self) -> u16 {
        u16::from_le_bytes([self.byte(), self.byte()])
    }

    /// From `least` to `most` on a logarithmic scale, at step `x` of `end`.
    fn scaled(x: u32, end: u32, least: f64, most: f64) -> f64 {
        least * libm::pow(most / least, x as f64 / end as f64)
    }

    fn scaled_word(&mut self, least: f64, most: f64) -> f64 {
        Self::scaled(self.word() as u32, u16::MAX as u32, least, most)
    }

    /// The discipline with up to seven random parameters.
    fn named(&mut self, aqm: &str) -> NamedConfig {
        let plain = NamedConfig::parse(aqm).expect("the registry's spellings are read");
        let algorithm: &Algorithm = plain.algorithm();
        let params: Vec<(String, String)> = (0..self.byte() % 8)
            .filter_map(|_| {
                let param = algorithm.params.get(self.byte() as usize % algorithm.params.len().max(1))?;
                Some((param.name.to_string(), drawn(param, self.word() as u64)))
            })
            .collect();
        // A tree's own settings stay unless a parameter is drawn for them.
        let own = plain.changed().into_iter().map(|(name, value)| (name.to_string(), value.to_string()));
        let params =
            own.filter(|(name, _)| params.iter().all(|(drawn, _)| drawn != name)).chain(params.clone()).collect();
        let name = plain.name();
        let configure = |params: &[_]| NamedConfig::configure(&name, plain.profile, params).map(|named| named.config);
        NamedConfig { config: agreeing(params, configure), profile: plain.profile }
    }

    fn limits(&mut self) -> Limits {
        let kinds = self.byte();
        let packets = (kinds & 1 == 0).then(|| self.scaled_word(1.0, 2000.0) as u32);
        let bytes = (kinds & 6 == 2).then(|| self.scaled_word(40.0, 1e6) as u64);
        let time = (kinds & 24 == 8).then(|| Duration::from_nanos(self.scaled_word(1e3, 1e9) as i64));
        Limits { packets, bytes, time }
    }

    fn link(&mut self) -> Link {
        let mtu = [1500, 1500, 1514, 576, 9000][self.byte() as usize % 5];
        Link::new(Rate::from_bps(self.scaled_word(1e5, 1e10) as u64), mtu)
    }

    /// Decodes operations: a code of three bits with an argument of five, until the bytes end.
    fn ops(&mut self, link: Link) -> Vec<Op> {
        let mut ops = Vec::new();
        let service = Op::Wait(link.rate.time_for(link.mtu as u64));
        while !self.0.is_empty() && ops.len() < MAX_OPS {
            let code = self.byte();
            let n = (code & 31) as usize + 1;
            match code >> 5 {
                0 => ops.push(self.enqueue()),
                1 => ops.extend([self.enqueue()].repeat(4 * n)),
                2 => ops.extend([Op::Dequeue].repeat(n)),
                3 => ops.push(Op::Wait(Duration::from_nanos(Self::scaled(n as u32, 32, 1e3, 3e9) as i64))),
                4 => ops.extend([service, Op::Dequeue].repeat(4 * n)),
                5 => {
                    let arrivals = [self.enqueue(), self.enqueue()];
                    ops.extend([arrivals[0], arrivals[1], service, Op::Dequeue].repeat(4 * n));
                }
                6 => ops.push(Op::Settle),
                _ => ops.push(Op::Wait(Duration::from_nanos(n as i64))),
            }
        }
        ops
    }

    /// An arrival: two bits of ECN, three of the flow, three of the size.
    fn enqueue(&mut self) -> Op {
        let code = self.byte();
        let ecn = [Ecn::NotEct, Ecn::Ect0, Ecn::Ect1, Ecn::Ce][code as usize & 3];
        let flow = (code >> 2 & 7) as u32;
        let len = [1500, 40, 64, 576, 1499, 1501, 1514, 9000][(code >> 5) as usize];
        Op::Enqueue(Meta { hosts: (flow / 2, 7 - flow), dscp: code >> 2, ..Meta::new(len, flow).with_ecn(ecn) })
    }
}

/// Approximate maximum number of operations of a case.
const MAX_OPS: usize = 20_000;
