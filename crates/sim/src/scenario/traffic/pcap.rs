//! Replay of a capture.

use super::TcpSpec;
use crate::capture;
use crate::capture::replay::{CaptureFilter, DuplicatePolicy, HostSet, Replay, ReplaySummary};
use crate::scenario::keys::{Key, Kind, Need, Table, of_word, table};
use crate::scenario::{Error, Files};
use serde_json::{Map, Value};
use std::io::Read as _;
use std::net::IpAddr;
use std::sync::Arc;

table! {
    /// Keys of a replay.
    pub struct PcapKeys with tcp: TcpSpec {
        /// File in pcap or pcapng format, relative to the scenario file.
        file: String = Kind::File, Need::Required("own.pcapng");
        /// `packets`: every packet at its time, each flow of the capture as a flow of its own; `transfers`: the bytes
        /// of each TCP connection as a transfer that begins when the connection did, with the keys of TCP.
        send: String = Kind::Word("way of sending", || vec![PACKETS, TRANSFERS]), Need::Default(PACKETS);
        /// Hosts whose packets are sent: addresses and networks separated by commas, or all others
        /// (`not 10.0.0.0/8, 2001:db8::/32`). Default: all.
        source: Option<String> = Kind::Text, Need::Optional;
        /// Only packets of this protocol. Default: both.
        protocol: Option<String> = Kind::Word("protocol", || vec!["tcp", "udp"]), Need::Optional;
        /// Maximum IP packet; larger ones, which offload leaves in captures, are cut, or with `gso = true` stay
        /// together.
        mtu: u32 = Kind::Size(576, 65_535), Need::Default("1500 B");
        /// If the clock was set during the capture: `refuse` it, or `join` the parts.
        clock: String = Kind::Word("treatment of the clock", || vec!["refuse", JOIN]), Need::Default("refuse");
        /// If packets are in the capture twice: `refuse` it, `drop` the copies or `keep` them.
        duplicates: String = Kind::Word("treatment of duplicates", || DUPLICATES.map(|(word, _)| word).to_vec()), Need::Default("refuse");
    }
}

/// Keys and packets of a replay.
#[derive(Clone, Debug, PartialEq)]
pub struct PcapSpec {
    /// Keys; `file` is an absolute path without symbolic links.
    pub keys: PcapKeys,
    /// Packets or transfers to send.
    pub replay: Arc<Replay>,
}

impl PcapSpec {
    pub(in crate::scenario) const KEYS: &'static [Key] = PcapKeys::KEYS;

    pub(in crate::scenario) fn read(table: &Table) -> Result<Self, Error> {
        let keys = PcapKeys::read(table)?;
        // `gso` applies to packets too: larger ones than `mtu` stay together.
        let foreign = TcpSpec::KEYS.iter().filter(|key| key.name != GSO);
        if keys.send == PACKETS {
            if let Some(key) = foreign.into_iter().find(|key| table.values.contains_key(key.name)) {
                let text = "is for TCP, but packets are sent as they are; leave it out, or write send = \"transfers\"";
                return Err(table.error(key.name, text));
            }
        }
        Ok(Self { keys, replay: Arc::default() })
    }

    /// Reads the file through `files`.
    pub(super) fn load(&mut self, table: &Table, files: &dyn Files) -> Result<(), Error> {
        let wanted = self.filter(table)?;
        let load = || {
            let (path, mut data) = (files.find(&self.keys.file)?, Vec::new());
            files.open(&path)?.read_to_end(&mut data).map_err(|e| format!("{path}: {e}"))?;
            let replay = capture::read(&data).and_then(|capture| Replay::of(&capture, &wanted));
            let replay = replay.map_err(|text| format!("{path}: {text}"))?;
            Ok((path, Arc::new(replay)))
        };
        (self.keys.file, self.replay) = load().map_err(|text: String| table.error("file", text))?;
        if self.sends_transfers() && self.replay.transfers.is_empty() {
            let text = "no TCP connection in it carries data from these hosts; write send = \"packets\"";
            return Err(table.error("send", text));
        }
        Ok(())
    }

    fn filter(&self, table: &Table) -> Result<CaptureFilter, Error> {
        let hosts = |text: &String| {
            let wrong = || format!("{text:?} is neither an address nor a network; write e.g. \"192.168.1.0/24\"");
            HostSet::parse(text).ok_or_else(|| table.error("source", wrong()))
        };
        Ok(CaptureFilter {
            source: self.keys.source.as_ref().map(hosts).transpose()?,
            tcp: self.keys.protocol.as_ref().map(|protocol| protocol == "tcp"),
            join_clock: self.keys.clock == JOIN,
            duplicates: of_word(&DUPLICATES, &self.keys.duplicates),
        })
    }

    pub(in crate::scenario) fn write(&self, out: &mut Map<String, Value>) {
        self.keys.write(out);
        if !self.sends_transfers() {
            TcpSpec::KEYS.iter().filter(|key| key.name != GSO).for_each(|key| drop(out.remove(key.name)));
        }
    }

    /// Numbers of packets or transfers, and repairs of the capture.
    pub(crate) fn summary(&self) -> ReplaySummary {
        let Replay { transfers, repairs, .. } = &*self.replay;
        let (cut, pieces) = self.replay.cut(self.keys.mtu);
        let packets = (!self.sends_transfers()).then(|| self.replay.packets());
        let transfers = self.sends_transfers().then_some(transfers.len() as u64);
        ReplaySummary { packets, transfers, super_packets: cut, pieces, repairs: *repairs }
    }

    /// Addresses of the source and of the sink of each flow or transfer.
    pub(in crate::scenario) fn replayed_ends(&self) -> impl Iterator<Item = [IpAddr; 2]> + '_ {
        let (transfers, flows) = match self.sends_transfers() {
            true => (&self.replay.transfers[..], &[][..]),
            false => (&[][..], &self.replay.ends[..]),
        };
        transfers.iter().map(|transfer| transfer.ends).chain(flows.iter().copied())
    }

    /// Whether it replays the bytes of TCP connections as transfers, instead of packets.
    pub fn sends_transfers(&self) -> bool {
        self.keys.send == TRANSFERS
    }
}

const PACKETS: &str = "packets";
const TRANSFERS: &str = "transfers";
const JOIN: &str = "join";
const GSO: &str = "gso";
const DUPLICATES: [(&str, DuplicatePolicy); 3] =
    [("refuse", DuplicatePolicy::Refuse), ("drop", DuplicatePolicy::Drop), ("keep", DuplicatePolicy::Keep)];
