//! What a capture has, sent again.

use super::TcpSpec;
use crate::capture;
use crate::capture::replay::{Duplicates, Hosts, Replay, ReplaySummary, Wanted};
use crate::scenario::keys::{Key, Kind, Need, Table, of_word, table};
use crate::scenario::{Error, Files};
use serde_json::{Map, Value};
use std::io::Read as _;
use std::sync::Arc;

table! {
    /// Which capture is replayed, and how.
    pub struct PcapKeys with tcp: TcpSpec {
        /// File of pcap or pcapng; its path starts from the scenario's folder.
        file: String = Kind::File, Need::Required("own.pcapng");
        /// What is sent: every packet at its instant, whatever becomes of it (packets), or the bytes of each TCP connection as a transfer that begins when the connection did (transfers).
        send: String = Kind::Word("way of sending", || vec![PACKETS, TRANSFERS]), Need::Default(PACKETS);
        /// The hosts whose packets are sent: an address, a network such as 192.168.1.0/24, several of them with commas, or all others (not 192.168.1.0/24); without it all.
        source: Option<String> = Kind::Text, Need::Optional;
        /// What is taken, tcp or udp; without it both.
        protocol: Option<String> = Kind::Word("protocol", || vec!["tcp", "udp"]), Need::Optional;
        /// Largest IP packet; larger ones, which offload leaves in captures, are cut into packets of this size, or with gso stay together.
        mtu: u32 = Kind::Size(576, 65_535), Need::Default("1500 B");
        /// What is done about a clock that was set within the capture: refuse it, or join the parts.
        clock: String = Kind::Word("treatment of the clock", || vec!["refuse", JOIN]), Need::Default("refuse");
        /// What is done about packets that are there twice: refuse them, drop the second ones, or keep both.
        duplicates: String = Kind::Word("treatment of duplicates", || DUPLICATES.map(|(word, _)| word).to_vec()), Need::Default("refuse");
    }
}

/// A capture and how it is replayed.
#[derive(Clone, Debug, PartialEq)]
pub struct PcapSpec {
    /// The keys; `file` is absolute and without symbolic links.
    pub keys: PcapKeys,
    /// What is sent.
    pub replay: Arc<Replay>,
}

impl PcapSpec {
    pub(in crate::scenario) const KEYS: &'static [Key] = PcapKeys::KEYS;

    pub(in crate::scenario) fn read(table: &Table) -> Result<Self, Error> {
        let keys = PcapKeys::read(table)?;
        let foreign = TcpSpec::KEYS.iter().filter(|key| key.name != GSO);
        if keys.send == PACKETS {
            if let Some(key) = foreign.into_iter().find(|key| table.values.contains_key(key.name)) {
                let text =
                    "belongs to TCP, and packets are sent as they are; leave it out, or write send = \"transfers\"";
                return Err(table.error(key.name, text));
            }
        }
        Ok(Self { keys, replay: Arc::default() })
    }

    /// Reads the file, which is among `files`.
    pub(super) fn load(&mut self, table: &Table, files: &dyn Files) -> Result<(), Error> {
        let wanted = self.wanted(table)?;
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

    fn wanted(&self, table: &Table) -> Result<Wanted, Error> {
        let hosts = |text: &String| {
            let wrong = || format!("{text:?} is no address and no network; write e.g. \"192.168.1.0/24\"");
            Hosts::parse(text).ok_or_else(|| table.error("source", wrong()))
        };
        Ok(Wanted {
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

    /// What is sent of the capture, and what was done to it.
    pub(crate) fn summary(&self) -> ReplaySummary {
        let Replay { transfers, repairs, .. } = &*self.replay;
        let (cut, pieces) = self.replay.cut(self.keys.mtu);
        let packets = (!self.sends_transfers()).then(|| self.replay.packets());
        let transfers = self.sends_transfers().then_some(transfers.len() as u64);
        ReplaySummary { packets, transfers, super_packets: cut, pieces, repairs: *repairs }
    }

    /// Whether connections are opened for the bytes that connections carried, instead of packets sent.
    pub fn sends_transfers(&self) -> bool {
        self.keys.send == TRANSFERS
    }
}

const PACKETS: &str = "packets";
const TRANSFERS: &str = "transfers";
const JOIN: &str = "join";
const GSO: &str = "gso";
const DUPLICATES: [(&str, Duplicates); 3] =
    [("refuse", Duplicates::Refuse), ("drop", Duplicates::Drop), ("keep", Duplicates::Keep)];
