//! The registry of queue disciplines: a line here makes a name known everywhere. Disciplines of other crates come in a
//! [`Catalogue`].

use crate::aqm::Aqm;
use crate::dual::DualQueue;
use crate::error::ConfigError;
use crate::flow::{self, FlowQueueConfig};
use crate::limits::Limits;
use crate::link::Link;
use crate::netem::{Distribution, Table};
use crate::params::{Config as _, Param, Value, unknown};
use crate::qdisc::{Host, Qdisc};
use crate::single::SingleQueue;
use crate::{
    ared, avq, blue, cake, cake_mq, choke, cobalt, codel, codel_dt, drophead, droptail, pi, pi2, pie, red, rem, sfb,
};
use crate::{
    drr, dualpi2, fq_codel, fq_pie, htb, netem, pfifo_fast, police, prio, sch_fq, sfq, sfq_red, sfqcodel, tbf,
};
use alloc::boxed::Box;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

pub use crate::custom::{AqmConfig, Catalogue, CustomAqm, CustomConfig, REGISTERED};
pub use crate::foreign::{ForeignConfig, ForeignDiscipline};
pub use crate::named::NamedConfig;
pub use crate::params::WordsParser;
pub use crate::queue_layout::{EXCLUDE_CE, QueueLayout};

/// `fq` over the managers of this registry.
mod fq {
    pub type Config = crate::fq::Config<super::NamedConfig>;
}

/// Declares the algorithms: name, module, type, summary, sources. First those of one queue; then those with a queue per
/// flow, each with a name for its configuration; then those of two coupled queues; then whole disciplines, with their
/// words in tc; then parents.
///
/// With `--cfg sojourn_only --cfg 'sojourn_only="codel"'` the compiler links the disciplines named so and no others.
macro_rules! algorithms {
    (
        $( $name:literal => $module:ident :: $type:ident, $summary:literal, $source:literal; )+
        by flow:
        $( $by_flow:literal => $flows:ident :: $Flows:ident, $what:literal, $origin:literal; )+
        dual:
        $( $dual:literal => $two:ident :: $Two:ident, $does:literal, $from:literal; )+
        whole:
        $( $whole:literal => $all:ident :: $All:ident, $is:literal, $by:literal; )+
        parents:
        $( $parent:literal => $outer:ident :: $Outer:ident, $holds:literal, $per:literal; )+
    ) => {
        /// A validated configuration of any algorithm.
        #[derive(Clone, Debug, PartialEq)]
        #[allow(missing_docs)]
        pub enum AnyConfig { $( $type($module::Config), )+ $( $Flows($flows::Config), )+ $( $Two($two::Config), )+ $( $All($all::Config), )+ $( $Outer($outer::Config<NamedConfig>), )+ Custom(CustomAqm), Foreign(ForeignDiscipline), ExcludingCe(Box<AnyConfig>) }

        /// Every registered algorithm.
        pub static ALGORITHMS: &[Algorithm] = &[
            $( #[cfg(any(not(sojourn_only), sojourn_only = $name))]
            Algorithm {
                name: $name,
                summary: $summary,
                source: $source,
                params: <$module::Config as crate::params::Config>::PARAMS,
                profiles: <$module::Config as crate::params::Config>::PROFILES,
                queues: QueueLayout::One,
                state_bytes: core::mem::size_of::<$module::$type>(),
                queue_bytes: core::mem::size_of::<SingleQueue<$module::$type, u32>>(),
                words: Some(codel::selector::words),
                configure: &|_, profile, params, own| {
                    configure::<$module::Config>(profile, params, own).map(AnyConfig::$type)
                },
            }, )+
            $( #[cfg(any(not(sojourn_only), sojourn_only = $by_flow))]
            Algorithm {
                name: $by_flow,
                summary: $what,
                source: $origin,
                params: <$flows::Config as crate::params::Config>::PARAMS,
                profiles: <$flows::Config as crate::params::Config>::PROFILES,
                queues: QueueLayout::PerFlow,
                state_bytes: flow::flow_bytes::<<$flows::Config as FlowQueueConfig>::Aqm>(),
                queue_bytes: flow::queue_bytes::<<$flows::Config as FlowQueueConfig>::Aqm>(),
                words: Some(codel::selector::words),
                configure: &|_, profile, params, own| {
                    configure::<$flows::Config>(profile, params, own).map(AnyConfig::$Flows)
                },
            }, )+
            $( #[cfg(any(not(sojourn_only), sojourn_only = $dual))]
            Algorithm {
                name: $dual,
                summary: $does,
                source: $from,
                params: <$two::Config as crate::params::Config>::PARAMS,
                profiles: <$two::Config as crate::params::Config>::PROFILES,
                queues: QueueLayout::Two,
                state_bytes: core::mem::size_of::<$two::$Two>(),
                queue_bytes: core::mem::size_of::<DualQueue<$two::$Two, u32>>(),
                words: Some($two::tc_args::read),
                configure: &|_, profile, params, own| {
                    configure::<$two::Config>(profile, params, own).map(AnyConfig::$Two)
                },
            }, )+
            $( #[cfg(any(not(sojourn_only), sojourn_only = $whole))]
            Algorithm {
                name: $whole,
                summary: $is,
                source: $by,
                params: <$all::Config as crate::params::Config>::PARAMS,
                profiles: <$all::Config as crate::params::Config>::PROFILES,
                queues: $all::QUEUES,
                state_bytes: $all::STATE_BYTES,
                queue_bytes: core::mem::size_of::<$all::$All<u32>>(),
                words: $all::WORDS,
                configure: &|_, profile, params, own| {
                    configure::<$all::Config>(profile, params, own).map(AnyConfig::$All)
                },
            }, )+
            $( #[cfg(any(not(sojourn_only), sojourn_only = $parent))]
            Algorithm {
                name: $parent,
                summary: $holds,
                source: $per,
                params: <$outer::Config<NamedConfig> as crate::params::Config>::PARAMS,
                profiles: <$outer::Config<NamedConfig> as crate::params::Config>::PROFILES,
                queues: QueueLayout::Tree,
                state_bytes: core::mem::size_of::<$outer::$Outer<u32>>(),
                queue_bytes: core::mem::size_of::<$outer::$Outer<u32>>(),
                words: $outer::WORDS,
                configure: &|_, profile, params, own| {
                    configure::<$outer::Config<NamedConfig>>(profile, params, own).map(AnyConfig::$Outer)
                },
            }, )+
        ];

        impl AnyConfig {
            /// Name of the algorithm.
            pub fn name(&self) -> &'static str {
                match self {
                    $( Self::$type(_) => $name, )+
                    $( Self::$Flows(_) => $by_flow, )+
                    $( Self::$Two(_) => $dual, )+
                    $( Self::$All(_) => $whole, )+
                    $( Self::$Outer(_) => $parent, )+
                    Self::Custom(custom) => custom.algorithm.name,
                    Self::Foreign(foreign) => foreign.algorithm.name,
                    Self::ExcludingCe(config) => config.name(),
                }
            }

            /// Value of a parameter.
            pub fn value(&self, param: &str) -> Option<Value> {
                match self {
                    $( #[cfg(any(not(sojourn_only), sojourn_only = $name))]
                    Self::$type(config) => config.value(param), )+
                    $( #[cfg(any(not(sojourn_only), sojourn_only = $by_flow))]
                    Self::$Flows(config) => config.value(param), )+
                    $( #[cfg(any(not(sojourn_only), sojourn_only = $dual))]
                    Self::$Two(config) => config.value(param), )+
                    $( #[cfg(any(not(sojourn_only), sojourn_only = $whole))]
                    Self::$All(config) => config.value(param), )+
                    $( #[cfg(any(not(sojourn_only), sojourn_only = $parent))]
                    Self::$Outer(config) => config.value(param), )+
                    Self::Custom(custom) => custom.config.value(param),
                    Self::Foreign(foreign) => foreign.value(param),
                    Self::ExcludingCe(config) => config.value(param),
                    #[cfg(sojourn_only)]
                    _ => None,
                }
            }

            /// [`Algorithm::state_bytes`], plus those of the manager in the brackets of `fq`.
            pub fn state_bytes(&self) -> usize {
                let own = Algorithm::find(self.name()).map_or(0, |algorithm| algorithm.state_bytes);
                match self.with_ce() {
                    Self::Fq(flows) => own + flows.aqm().config.state_bytes(),
                    _ => own,
                }
            }

            /// Builds a queue of packets `P` under this algorithm.
            pub fn build<P: Send + 'static>(&self, limits: Limits, host: Host) -> Box<dyn Qdisc<P> + Send> {
                match self {
                    $( #[cfg(any(not(sojourn_only), sojourn_only = $name))]
                    Self::$type(config) => single($module::$type::new(config), limits, host), )+
                    $( #[cfg(any(not(sojourn_only), sojourn_only = $by_flow))]
                    Self::$Flows(config) => flow::build(config, limits, host), )+
                    $( #[cfg(any(not(sojourn_only), sojourn_only = $dual))]
                    Self::$Two(config) => {
                        let limits = config.within(limits, host.link);
                        Box::new(DualQueue::new($two::$Two::new(config), limits, host))
                    } )+
                    $( #[cfg(any(not(sojourn_only), sojourn_only = $whole))]
                    Self::$All(config) => Box::new($all::$All::new(config, limits, host)), )+
                    $( #[cfg(any(not(sojourn_only), sojourn_only = $parent))]
                    Self::$Outer(config) => Box::new($outer::$Outer::new(config, limits, host)), )+
                    Self::Custom(custom) => single(custom.config.manager(), limits, host),
                    Self::Foreign(foreign) => foreign.queue(limits, host),
                    Self::ExcludingCe(config) => {
                        let mut qdisc = config.build(limits, host);
                        assert!(qdisc.exclude_ce(), "a discipline that cannot is refused when it is configured");
                        qdisc
                    }
                    #[cfg(sojourn_only)]
                    other => unreachable!("{} is not registered", other.name()),
                }
            }

            /// A parent with these braces, or without; unchanged for a discipline without children, which takes no
            /// braces.
            pub(crate) fn with_children(self, braces: Option<&str>, own: &dyn Catalogue) -> Result<Self, ConfigError> {
                match (self, braces) {
                    $( #[cfg(any(not(sojourn_only), sojourn_only = $parent))]
                    (Self::$Outer(config), braces) => config.with_children(braces, own).map(Self::$Outer), )+
                    (other, None) => Ok(other),
                    (other, Some(_)) => {
                        let parents = [$( $parent ),+].join(", ");
                        Err(ConfigError::NotClassful(other.name(), parents))
                    }
                }
            }

            /// Contents of a parent's braces; `None` for other disciplines, or if they can be omitted.
            pub fn braces(&self) -> Option<String> {
                match self {
                    $( Self::$Outer(config) => config.braces(), )+
                    _ => None,
                }
            }

            /// A parent's children.
            fn children(&self) -> Vec<&NamedConfig> {
                match self {
                    $( Self::$Outer(config) => config.child_configs(), )+
                    Self::Fq(flows) => alloc::vec![flows.aqm()],
                    _ => Vec::new(),
                }
            }

            /// The manager of one queue, to use under another discipline; `None` for a discipline of several queues.
            pub fn manager(&self) -> Option<Box<dyn Aqm + Send>> {
                match self {
                    $( #[cfg(any(not(sojourn_only), sojourn_only = $name))]
                    Self::$type(config) => Some(Box::new($module::$type::new(config))), )+
                    $( Self::$Flows(_) => None, )+
                    $( Self::$Two(_) => None, )+
                    $( Self::$All(_) => None, )+
                    $( Self::$Outer(_) => None, )+
                    Self::Custom(custom) => Some(custom.config.manager()),
                    Self::Foreign(_) | Self::ExcludingCe(_) => None,
                    #[cfg(sojourn_only)]
                    _ => None,
                }
            }
        }
    };
}

algorithms! {
    "droptail" => droptail::DropTail, "Tail drop: no AQM, only limits", "common practice";
    "drophead" => drophead::DropHead, "Head drop: no AQM; drops the oldest packets to make room for arrivals", "common practice; Linux pfifo_head_drop";
    "codel" => codel::Codel, "Controlled Delay: drops at the head while the sojourn time stays above a target", "RFC 8289; K. Nichols, V. Jacobson, ACM Queue 10(5), 2012";
    "cobalt" => cobalt::Cobalt, "COBALT: CoDel whose count decays as it grew, plus BLUE against unresponsive flows; CAKE's AQM", "Linux, sch_cake.c; J. Palmei et al., LANMAN 2019; ns-3, cobalt-queue-disc.cc";
    "codel_dt" => codel_dt::CodelDt, "CoDel on arrivals: drops at the tail by the delay that the packet is about to see", "codeldt.cc (CableLabs, ns-2)";
    "pie" => pie::Pie, "Proportional Integral controller Enhanced: drops arrivals with a probability steered by the delay", "RFC 8033; RFC 8034 (DOCSIS-PIE); draft-ietf-aqm-pie-00; R. Pan et al., HPSR 2013; Linux sch_pie.c";
    "pi2" => pi2::Pi2, "PI2: a PI controller of the delay; its output is squared for classic traffic and used as it is for scalable", "K. De Schepper et al., CoNEXT 2016; RFC 9332";
    "red" => red::Red, "Random Early Detection: drops arrivals with a probability that grows with the average backlog", "S. Floyd, V. Jacobson, IEEE/ACM ToN 1(4), 1993";
    "ared" => ared::Ared, "Adaptive RED: RED that steers its probability so that the average backlog stays between the thresholds", "S. Floyd, R. Gummadi, S. Shenker, 2001; W. Feng et al., INFOCOM 1999";
    "choke" => choke::Choke, "CHOKe: drops an arrival together with a queued packet drawn at random if both are of one flow; else as RED", "R. Pan, B. Prabhakar, K. Psounis, INFOCOM 2000";
    "blue" => blue::Blue, "BLUE: drops arrivals with a probability that overflows raise and idle times lower", "W. Feng et al., University of Michigan CSE-TR-387-99, 1999; IEEE/ACM ToN 10(4), 2002";
    "sfb" => sfb::Sfb, "Stochastic Fair BLUE: a BLUE in each of the bins that a flow hashes to, and a rate limit for unresponsive flows", "Linux, sch_sfb.c; W. Feng et al., INFOCOM 2001";
    "pi" => pi::Pi, "PI: a proportional-integral controller of the queue length", "C. Hollot et al., INFOCOM 2001; ns-2, pi.cc";
    "rem" => rem::Rem, "Random Exponential Marking: a probability exponential in a price, so that prices add up along a path", "S. Athuraliya et al., IEEE Network 15(3), 2001; ns-2, rem.cc";
    "avq" => avq::Avq, "Adaptive Virtual Queue: drops what would overflow a virtual queue, which is served at less than the link's rate", "S. Kunniyur, R. Srikant, SIGCOMM 2001; IEEE/ACM ToN 12(2), 2004; ns-2, vq.cc";
    by flow:
    "fq_codel" => fq_codel::FqCodel, "FQ-CoDel: a queue per flow under CoDel, new flows first (DRR++)", "RFC 8290; Linux, sch_fq_codel.c";
    "sfqcodel" => sfqcodel::SfqCodel, "sfqCoDel: hashed bins under CoDel that send one packet per turn, new bins first", "K. Nichols, ns-2, sfqcodel.cc";
    "fq_pie" => fq_pie::FqPie, "FQ-PIE: a queue per flow under PIE, new flows first (DRR++)", "Linux, sch_fq_pie.c";
    "sfq" => sfq::Sfq, "Stochastic Fairness Queueing: hashed flows served round-robin; overflow drops from the longest", "P. McKenney, INFOCOM 1990; Linux, sch_sfq.c; ns-2, sfq.cc";
    "sfq_red" => sfq_red::SfqRed, "SFQ-RED: SFQ with a RED for each flow", "Linux, sch_sfq.c (redflowlimit)";
    "drr" => drr::Drr, "Deficit Round Robin: flows take turns, each sends up to its deficit", "M. Shreedhar, G. Varghese, SIGCOMM 1995";
    "fq" => fq::Fq, "Flow queueing with any single-queue AQM per flow: fq(codel@act), fq(pie target 5ms) quantum 300B", "RFC 8290 for the flows; the AQM's sources";
    dual:
    "dualpi2" => dualpi2::DualPi2, "DualPI2: an L4S queue beside a classic one, marked and dropped by one coupled controller", "RFC 9332; Linux, sch_dualpi2.c";
    whole:
    "cake" => cake::Cake, "CAKE: a shaper with tins by DSCP, fairness between hosts and flows, COBALT per flow", "Linux, sch_cake.c; T. Høiland-Jørgensen, D. Täht, J. Morton, LANMAN 2018";
    "cake_mq" => cake_mq::CakeMq, "CAKE for each hardware queue of a card: instances share one rate without waiting for each other", "Linux 7.3, sch_cake.c";
    "sch_fq" => sch_fq::SchFq, "Linux's pacing scheduler fq (written without brackets): flows in turn, no packet before its time", "E. Dumazet; Linux, sch_fq.c";
    "pfifo_fast" => pfifo_fast::PfifoFast, "Three bands by type of service, each with tail drop: the default qdisc of Linux", "Linux, sch_generic.c";
    parents:
    "tbf" => tbf::Tbf, "Token bucket filter: shapes to a rate with bursts; packets wait in a child discipline in braces", "Linux, sch_tbf.c";
    "prio" => prio::Prio, "Strict priorities: bands by class, DSCP or priority, each with a child discipline in braces", "Linux, sch_prio.c";
    "htb" => htb::Htb, "Hierarchical token bucket: classes with a rate and a ceiling that borrow from each other, each with a child discipline in braces", "M. Devera; Linux, sch_htb.c";
    "police" => police::Police, "Policer: a token bucket that drops what exceeds a rate; the rest goes to a child discipline in braces", "Linux, act_police.c";
    "netem" => netem::Netem, "Network emulator: delay, jitter, loss, duplication, corruption, reordering, rate and slots; then a child discipline in braces", "S. Hemminger; S. Salsano, F. Ludovici, A. Ordine; Linux, sch_netem.c";
}

impl AnyConfig {
    /// The configuration without CE exclusion.
    pub fn with_ce(&self) -> &Self {
        if let Self::ExcludingCe(config) = self { config } else { self }
    }

    /// The same with CE-marked packets excluded from the algorithm's measurements ([`Qdisc::exclude_ce`]).
    pub fn excluding_ce(self) -> Result<Self, ConfigError> {
        if matches!(self, Self::Foreign(_)) {
            return Err(ConfigError::ExcludeCeForeign(self.name()));
        }
        match self.algorithm().queues {
            QueueLayout::Two => return Err(ConfigError::ExcludeCeCoupled(self.name())),
            QueueLayout::PerFlowAndClass => return Err(ConfigError::ExcludeCeUnsupported(self.name())),
            QueueLayout::Tree => return Err(ConfigError::ExcludeCeOnParent(self.name())),
            QueueLayout::One | QueueLayout::PerFlow | QueueLayout::Any => {}
        }
        Ok(Self::ExcludingCe(Box::new(self)))
    }

    /// An invariant that a queue of this configuration has violated; only foreign disciplines can return one.
    pub fn fault(&self) -> Option<String> {
        self.each()
            .into_iter()
            .find_map(|config| if let Self::Foreign(foreign) = config { foreign.fault() } else { None })
    }

    /// Rejects values that do not fit the queue's limits or its link: a token bucket that drops the largest packets
    /// because it is shallower than the MTU, and a burst that the kernel's RED cannot hold.
    pub fn check_link(&self, limits: Limits, link: Link) -> Result<(), ConfigError> {
        for config in self.each() {
            match config {
                Self::Tbf(tbf) => tbf.settings.check_mtu(link.mtu)?,
                Self::Police(police) => police.settings.check_mtu(link.mtu)?,
                Self::Red(red) => red.check_link(&limits, link)?,
                Self::Ared(red) => red.check_link(&limits, link)?,
                Self::Choke(choke) => choke.check_link(&limits, link)?,
                _ => {}
            }
        }
        Ok(())
    }

    /// Whether packets are delayed before they enter a child, which stamps them on entry.
    pub fn restamps(&self) -> bool {
        self.each().into_iter().any(|config| matches!(config, Self::Netem(netem) if netem.children.0.is_some()))
    }

    /// Its effects on packets beyond queueing, drops and marks.
    pub fn effects(&self) -> Effects {
        let mut effects = Effects::default();
        for config in self.each() {
            if let Self::Netem(netem) = config {
                effects.reorders |= netem.settings.reorders();
                effects.duplicates |= netem.settings.duplicate > 0.0;
                effects.damages |= netem.settings.corrupt > 0.0;
            }
        }
        effects
    }

    /// Nesting depth, without the innermost discipline.
    pub(crate) fn depth(&self) -> usize {
        self.with_ce().children().into_iter().map(|named| 1 + named.config.depth()).max().unwrap_or(0)
    }

    /// This configuration and all in its brackets and braces.
    pub fn each(&self) -> Vec<&Self> {
        let inside = self.with_ce().children().into_iter().flat_map(|named| named.config.each());
        core::iter::once(self.with_ce()).chain(inside).collect()
    }

    /// Maximum backlog if one queue may hold `limits`: each leaf of a parent may.
    pub fn max_backlog(&self, limits: Limits) -> Limits {
        let inside = |child: Option<&NamedConfig>| child.map_or(limits, |child| child.config.max_backlog(limits));
        match self.with_ce() {
            Self::Tbf(tbf) => match (&tbf.children.0, tbf.settings.limit_bytes()) {
                (None, Some(bytes)) => Limits::bytes(bytes),
                (child, _) => inside(child.as_deref()),
            },
            Self::Police(police) => inside(police.children.0.as_deref()),
            Self::Prio(prio) => {
                let bands = (0..prio.settings.bands as usize).map(|band| prio.children.of(band));
                bands
                    .map(|band| inside(band.and_then(|band| band.child.as_ref())))
                    .reduce(Limits::and)
                    .unwrap_or(limits)
            }
            Self::Htb(htb) => {
                let direct = Limits::packets(htb.settings.direct_qlen.min(u64::from(u32::MAX)) as u32);
                htb.children.leaves().map(|leaf| inside(leaf.child.as_ref())).fold(direct, Limits::and)
            }
            Self::CakeMq(cake) => (1..cake.sharing.queues).fold(limits, |sum, _| sum.and(limits)),
            _ => limits,
        }
    }

    /// Upper bound on the bytes of its empty queue: allocations before the first packet.
    pub fn built_bytes(&self) -> u64 {
        let own = self.algorithm().queue_bytes as u64;
        let count = |name: &str| match self.value(name) {
            Some(Value::Count(n)) => n,
            _ => 0,
        };
        let inside = |child: Option<&NamedConfig>| child.map_or(ROOM, |child| child.config.built_bytes());
        own + match self.with_ce() {
            Self::Tbf(tbf) => inside(tbf.children.0.as_deref()),
            Self::Police(police) => inside(police.children.0.as_deref()),
            Self::Netem(netem) => ROOM + inside(netem.children.0.as_deref()),
            Self::Prio(prio) => {
                let bands = (0..prio.settings.bands as usize).map(|band| prio.children.of(band));
                bands.map(|band| inside(band.and_then(|band| band.child.as_ref()))).sum()
            }
            Self::Htb(htb) => {
                let classes = htb.children.0.len() as u64 * htb::CLASS_BYTES;
                htb.children.leaves().map(|leaf| inside(leaf.child.as_ref())).sum::<u64>() + classes + ROOM
            }
            Self::Cake(cake) => cake.built_bytes() + ROOM,
            Self::CakeMq(cake) => cake.sharing.queues * (cake.cake.built_bytes() + ROOM),
            Self::DualPi2(_) => 2 * ROOM,
            Self::PfifoFast(_) => 3 * ROOM,
            // A hash table, allocated before the first flow.
            _ => ROOM + count("flows").max(count("divisor")) * core::mem::size_of::<u32>() as u64,
        }
    }

    /// Tables from files in its parameters and in those of its children.
    pub fn tables(&self) -> Vec<&'static Table> {
        let values = |config: &Self| -> Vec<_> {
            config.algorithm().params.iter().filter_map(|param| config.value(param.name)).collect()
        };
        let table = |value| match value {
            Value::Distribution(Distribution::Table(table)) => Some(table),
            _ => None,
        };
        self.each().into_iter().flat_map(values).filter_map(table).collect()
    }

    /// The algorithm.
    pub fn algorithm(&self) -> &'static Algorithm {
        match self.with_ce() {
            Self::Custom(own) => own.algorithm,
            Self::Foreign(foreign) => foreign.algorithm,
            _ => Algorithm::find(self.name()).expect("every other one is registered"),
        }
    }
}

/// Effects of a discipline beyond queueing, drops and marks. They are declared beforehand, so that a host that lacks
/// the ability can reject the configuration by name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Effects {
    /// Packets of a flow may overtake each other.
    pub reorders: bool,
    /// It duplicates packets ([`Sink::duplicated`](crate::Sink::duplicated)).
    pub duplicates: bool,
    /// It flips bits ([`Sink::corrupt`](crate::Sink::corrupt)).
    pub damages: bool,
}

/// Bytes of the slots that a queue has before the first packet: at most 1024 slots.
const ROOM: u64 = 1024 * (core::mem::size_of::<crate::packet::Meta>() as u64 + 24);

impl Effects {
    /// Rejects effects that `host` does not support; `can` are those it does.
    pub fn check(self, host: &str, can: Self) -> Result<(), ConfigError> {
        let wrong = if self.duplicates && !can.duplicates {
            ("cannot duplicate packets", "duplicate")
        } else if self.damages && !can.damages {
            ("cannot corrupt packets", "corrupt")
        } else if self.reorders && !can.reorders {
            ("cannot reorder packets", "jitter and reorder")
        } else {
            return Ok(());
        };
        Err(format!("{host} {}; leave {} of netem out", wrong.0, wrong.1).into())
    }
}

/// An algorithm: registered, or from a [`Catalogue`].
#[derive(Clone, Copy)]
pub struct Algorithm {
    /// Name in files, on the command line and in Python.
    pub name: &'static str,
    /// Summary, one sentence.
    pub summary: &'static str,
    /// Publication.
    pub source: &'static str,
    /// Its parameters.
    pub params: &'static [Param],
    /// Its profiles: name and description; the first belongs to the plain name.
    pub profiles: &'static [(&'static str, &'static str)],
    /// Its queues.
    pub queues: QueueLayout,
    /// Bytes of the manager's state per queue; with a queue per flow, per flow, scheduling included.
    pub state_bytes: usize,
    /// Bytes of the whole discipline, with limits and counters; without packets, flows and their hash table.
    pub queue_bytes: usize,
    /// Parses words that tc has beyond parameter names with values.
    pub words: Option<WordsParser>,
    /// Creates a configuration of the algorithm, its first argument.
    pub configure: &'static ConfigureFn,
}

/// Creates a configuration from a profile name (empty: the plain one) and parameters by name.
pub type ConfigureFn = dyn Fn(&'static Algorithm, &str, &[(String, String)], &dyn Catalogue) -> Result<AnyConfig, ConfigError>
    + Send
    + Sync;

impl Algorithm {
    /// The registered algorithm called `name`.
    pub fn find(name: &str) -> Result<&'static Self, ConfigError> {
        Self::find_with(name, REGISTERED)
    }

    /// The algorithm called `name`, registered or in `own`; registered names are case-insensitive.
    pub fn find_with(name: &str, own: &dyn Catalogue) -> Result<&'static Self, ConfigError> {
        let registered = ALGORITHMS.iter().find(|a| a.name == name);
        let in_any_case = || ALGORITHMS.iter().find(|a| a.name.eq_ignore_ascii_case(name)).map(Ok);
        registered.map(Ok).or_else(|| own.find(name)).or_else(in_any_case).unwrap_or_else(|| {
            let others = own.names();
            let known = ALGORITHMS.iter().map(|a| a.name).chain(others.iter().copied());
            if cfg!(sojourn_only) {
                let known = known.collect::<Vec<_>>().join(", ");
                return Err(format!("this module has {known}; build another for {name}").into());
            }
            Err(ConfigError::Unknown(unknown("AQM", name, known)))
        })
    }

    /// A configuration of `profile` (empty: the plain one) with `params` set by name.
    pub fn configure(&'static self, profile: &str, params: &[(String, String)]) -> Result<AnyConfig, ConfigError> {
        self.configure_with(profile, params, REGISTERED)
    }

    /// [`Algorithm::configure`] with the files of `own`.
    pub fn configure_with(
        &'static self,
        profile: &str,
        params: &[(String, String)],
        own: &dyn Catalogue,
    ) -> Result<AnyConfig, ConfigError> {
        (self.configure)(self, profile, params, own)
    }

    /// The profiles' names in user syntax: `codel`, `codel@act`, ….
    pub fn spellings(&self) -> impl Iterator<Item = String> + '_ {
        let plain = if self.name == "fq" { "fq(droptail)" } else { self.name };
        core::iter::once(plain.to_string())
            .chain(self.profiles.iter().skip(1).map(|(p, _)| format!("{}@{p}", self.name)))
    }
}

/// Parses a configuration as [`NamedConfig::parse`] does: `codel@act target 5ms ecn`, `fq(pie) quantum 300B`.
pub fn parse(text: &str) -> Result<AnyConfig, ConfigError> {
    NamedConfig::parse(text).map(|named| named.config)
}

pub(crate) fn configure<C: crate::params::Config>(
    profile: &str,
    params: &[(String, String)],
    own: &dyn Catalogue,
) -> Result<C, ConfigError> {
    let mut config = C::profile(profile_name(C::PROFILES, profile)?).expect("a profile of the table");
    for (name, text) in params {
        config.set_with(name, text, &|file| own.table(file))?;
    }
    config.validate()?;
    Ok(config)
}

/// The profile of this name, case-insensitive; the first one if the name is empty.
fn profile_name(profiles: &[(&'static str, &str)], name: &str) -> Result<&'static str, ConfigError> {
    let names = profiles.iter().map(|&(profile, _)| profile);
    let found = names.clone().find(|profile| name.is_empty() || profile.eq_ignore_ascii_case(name));
    found.ok_or_else(|| ConfigError::Unknown(unknown("profile", name, names)))
}

fn single<A: Aqm + Send + 'static, P: Send + 'static>(aqm: A, limits: Limits, host: Host) -> Box<dyn Qdisc<P> + Send> {
    Box::new(SingleQueue::new(aqm, limits, host))
}
