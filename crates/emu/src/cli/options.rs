//! Options of `link`, `delay`, `loss` and `ctl`; their doc comments are the help texts.
#![allow(rustdoc::broken_intra_doc_links, reason = "texts of options are helps; brackets hold defaults")]

use crate::Error;
use crate::path::Side;
use clap::Args;

/// An option for both directions, and its variants for one direction, up first.
pub struct DirectionOption<'a> {
    /// Name and value for both directions.
    pub both: (&'static str, Option<&'a str>),
    /// Name and value for each direction.
    pub each: [(&'static str, Option<&'a str>); 2],
}

impl<'a> DirectionOption<'a> {
    /// Options called `names`, the one for both directions first.
    pub fn of_options(names: [&'static str; 3], values: [&'a Option<String>; 3]) -> Self {
        let ([all, up, down], [for_all, for_up, for_down]) = (names, values.map(Option::as_deref));
        Self { both: (all, for_all), each: [(up, for_up), (down, for_down)] }
    }

    /// The operand of `command`, for both directions, and its options `--up` and `--down`.
    pub fn of_word(command: &'static str, word: Option<&'a str>, [up, down]: [&'a Option<String>; 2]) -> Self {
        Self { both: (command, word), each: [("--up", up.as_deref()), ("--down", down.as_deref())] }
    }

    /// Name and value of the option in effect for a direction.
    pub fn of(&self, side: Side) -> Option<(&'static str, &'a str)> {
        let own = self.each[usize::from(side == Side::Down)];
        [own, self.both].into_iter().find_map(|(name, value)| Some((name, value?)))
    }

    /// Rejects a value for both directions if each of them has its own.
    pub fn check(&self) -> Result<(), Error> {
        let [(up, for_up), (down, for_down)] = self.each;
        match (self.both, for_up, for_down) {
            ((all, Some(value)), Some(_), Some(_)) => {
                let place = if all.starts_with("--") { all } else { value };
                Err(Error::Input(format!("{place}: both directions are already set by {up} and {down}; leave it out")))
            }
            _ => Ok(()),
        }
    }
}

/// Options of `link`.
#[derive(Args, Clone, Debug, Default)]
pub struct LinkOptions {
    /// Outgoing direction: a rate, rates in steps, or a trace file.
    #[arg(long, value_name = "SPEC")]
    pub up: Option<String>,
    /// Incoming direction, likewise.
    #[arg(long, value_name = "SPEC")]
    pub down: Option<String>,
    /// Both directions, unless --up or --down is given.
    #[arg(long, value_name = "SPEC")]
    pub rate: Option<String>,
    /// Stop the link at the end of its trace instead of repeating it.
    #[arg(long)]
    pub once: bool,
    /// Queue manager, e.g. "codel target 5ms ecn" [droptail].
    #[arg(long, value_name = "AQM")]
    pub aqm: Option<String>,
    /// Queue manager of the outgoing direction.
    #[arg(long, value_name = "AQM")]
    pub aqm_up: Option<String>,
    /// Queue manager of the incoming direction.
    #[arg(long, value_name = "AQM")]
    pub aqm_down: Option<String>,
    /// netem before the queue manager, e.g. "delay 20ms 5ms loss 0.1%".
    #[arg(long, value_name = "LINE")]
    pub netem: Option<String>,
    /// netem of the outgoing direction.
    #[arg(long, value_name = "LINE")]
    pub netem_up: Option<String>,
    /// netem of the incoming direction.
    #[arg(long, value_name = "LINE")]
    pub netem_down: Option<String>,
    /// Queue limit, e.g. "250 kB", "50 ms" [1000 packets].
    #[arg(long, value_name = "LIMIT")]
    pub limit: Option<String>,
    /// Queue limit of the outgoing direction.
    #[arg(long, value_name = "LIMIT")]
    pub limit_up: Option<String>,
    /// Queue limit of the incoming direction.
    #[arg(long, value_name = "LIMIT")]
    pub limit_down: Option<String>,
    /// Super-packets (GSO) of senders: keep them whole in the queue, or cut them into packets [cut].
    #[arg(long, value_name = "KIND")]
    pub gso: Option<String>,
    /// Scheduled changes, a JSON list like [[changes]]; link is the incoming, reverse the outgoing direction.
    #[arg(long, value_name = "JSON")]
    pub changes: Option<String>,
    /// Class of htb or prio for packets from or to this port, e.g. 5201=1:10; repeatable.
    #[arg(long, value_name = "PORT=CLASS")]
    pub class: Vec<String>,
    /// Hosts of packets from or to this port, for queues that are fair between hosts: numbers of client and server,
    /// e.g. 5201=1,2; repeatable. Default: the addresses.
    #[arg(long, value_name = "PORT=CLIENT,SERVER")]
    pub hosts: Vec<String>,
    /// Sentence that must be true of the link, e.g. "p95(sojourn, up) < 50 ms", else exit with 1; repeatable.
    #[arg(long, value_name = "SENTENCE")]
    pub expect: Vec<String>,
}

impl LinkOptions {
    /// Service of a direction.
    pub fn service(&self) -> DirectionOption<'_> {
        DirectionOption::of_options(["--rate", "--up", "--down"], [&self.rate, &self.up, &self.down])
    }

    /// Queue manager of a direction.
    pub fn aqm(&self) -> DirectionOption<'_> {
        DirectionOption::of_options(["--aqm", "--aqm-up", "--aqm-down"], [&self.aqm, &self.aqm_up, &self.aqm_down])
    }

    /// netem before the queue manager.
    pub fn netem(&self) -> DirectionOption<'_> {
        DirectionOption::of_options(
            ["--netem", "--netem-up", "--netem-down"],
            [&self.netem, &self.netem_up, &self.netem_down],
        )
    }

    /// Queue limit of a direction.
    pub fn limit(&self) -> DirectionOption<'_> {
        DirectionOption::of_options(
            ["--limit", "--limit-up", "--limit-down"],
            [&self.limit, &self.limit_up, &self.limit_down],
        )
    }
}

/// Options of `delay`.
#[derive(Args, Clone, Debug, Default)]
pub struct DelayOptions {
    /// Delay of the outgoing direction, or a file of delays.
    #[arg(long, value_name = "DELAY")]
    pub up: Option<String>,
    /// Delay of the incoming direction, or a file of delays.
    #[arg(long, value_name = "DELAY")]
    pub down: Option<String>,
    /// Super-packets (GSO) of senders: keep them whole in the queue, or cut them into packets [cut].
    #[arg(long, value_name = "KIND")]
    pub gso: Option<String>,
}

/// Options of `loss`.
#[derive(Args, Clone, Debug, Default)]
pub struct LossOptions {
    /// Loss of the outgoing direction; without --down, only there.
    #[arg(long, value_name = "LOSS")]
    pub up: Option<String>,
    /// Loss of the incoming direction; without --up, only there.
    #[arg(long, value_name = "LOSS")]
    pub down: Option<String>,
}

/// Options of every shell.
#[derive(Args, Clone, Debug, Default)]
pub struct CommonOptions {
    /// Record every packet, as a result for `sojourn plot`.
    #[arg(long, value_name = "FOLDER")]
    pub log: Option<String>,
    /// Write captures PREFIX.up.in.pcapng, PREFIX.up.out.pcapng, and the same for down.
    #[arg(long, value_name = "PREFIX")]
    pub pcap: Option<String>,
    /// Show rates, delays and drops while the command runs.
    #[arg(long)]
    pub meter: bool,
    /// Serve a live view at a loopback address and print the address.
    #[arg(long)]
    pub meter_web: bool,
    /// Name of the shell for `sojourn ctl`.
    #[arg(long, value_name = "NAME")]
    pub name: Option<String>,
    /// Seed of all random streams [1].
    #[arg(long, value_name = "N")]
    pub seed: Option<String>,
    /// Congestion control of TCP at both ends, e.g. cubic.
    #[arg(long, value_name = "NAME")]
    pub cc: Option<String>,
    /// Attach to this interface: all its traffic passes the shell; up is egress.
    #[arg(long, value_name = "INTERFACE")]
    pub attach: Option<String>,
    /// With --attach: network namespace of the interface (name, PID or file).
    #[arg(long, value_name = "NAME")]
    pub netns: Option<String>,
    /// Run this sh command at the outer end, in its own network; nothing beyond it is reachable.
    #[arg(long, value_name = "COMMAND")]
    pub peer: Option<String>,
    /// Reach neither this machine nor any other host, also without --peer.
    #[arg(long)]
    pub isolated: bool,
    /// Resolve this host name to $SOJOURN_HOST inside; repeatable.
    #[arg(long, value_name = "NAME")]
    pub host: Vec<String>,
    /// Largest IP packet [that of a link in JSON, else 1500 B].
    #[arg(long, value_name = "BYTES")]
    pub mtu: Option<String>,
    /// Packets due within this time may leave together [100us].
    #[arg(long, value_name = "TIME")]
    pub window: Option<String>,
    /// Busy-wait this long before a packet is due [0s].
    #[arg(long, value_name = "TIME")]
    pub spin: Option<String>,
    /// Exit with 1 if the emulator itself was late or lost packets.
    #[arg(long)]
    pub strict: bool,
    /// Print no report at the end; faults only with --strict.
    #[arg(long)]
    pub quiet: bool,
}

/// Options of `ctl`.
#[derive(Args, Clone, Debug, Default)]
pub struct CtlOptions {
    /// Change only the outgoing direction.
    #[arg(long)]
    pub up: bool,
    /// Change only the incoming direction.
    #[arg(long)]
    pub down: bool,
    /// In a network (`sojourn run … --enter NODE`): the link direction to change.
    #[arg(long, value_name = "NAME")]
    pub link: Option<String>,
    /// Print the shell's reply as JSON.
    #[arg(long)]
    pub json: bool,
}
