//! Endpoints: flows whose two ends are programs outside the simulator, such as a QUIC or WebRTC stack of the user's.

use super::path_events::{EVENTS, NamedPaths, PATHS, PathEvents};
use crate::scenario::Error;
use crate::scenario::keys::{CustomForm, Datum, Field, Kind, Need, Table, table};
use crate::scenario::value_error::ValueError;
use crate::scenario::values::{mismatch, names};
use serde_json::{Value, json};
use std::net::IpAddr;

table! {
    /// Datagrams between two programs: one pair of hosts, and `count` pairs of ends on them.
    pub struct EndpointSpec {
        /// Name of the group, which is the name of its ends in programs and sentences: `call.source` and `call.sink`.
        name: String = Kind::Text, Need::Required("call");
        /// Addresses of the two hosts; an address that two groups have is one host. Default: the next two of 10/8, in
        /// the order of the file.
        address: Option<Addresses> = Kind::Custom(&ADDRESSES), Need::Optional;
        /// Layer of the bytes that programs send and receive: `udp`, the payload of UDP datagrams, or `ip`, whole IP
        /// packets, whose headers queues see. Bytes, tags and statistics of `ip` are those of packets.
        layer: String = Kind::Word("layer", || vec!["udp", "ip"]), Need::Default("udp");
        /// Size of the largest IP packet that reaches the other end.
        mtu: u32 = Kind::Size(68, 65_535), Need::Default("1500 B");
        /// Fate of larger packets: `drop`, a black hole, or `report`: the sender learns the MTU one round-trip time
        /// of propagation later.
        oversize: String = Kind::Word("fate of oversized packets", || vec!["drop", "report"]), Need::Default("drop");
        /// Whether datagrams that the sender passes down together reach the queue as one super-packet; otherwise they
        /// are cut before it, back to back.
        gso: bool = Kind::Flag, Need::Default("false");
        /// Bytes of IP packets that the source's host queues before its access link; then it accepts no more until there is
        /// room. Needs `access_rate`; without one packets leave the host at once. Default: unlimited.
        socket_buffer: Option<u32> = Kind::Size(1, 1 << 30), Need::Optional;
        /// Names that a program may give its datagrams, each with statistics of its own, e.g. `["rtp", "rtcp"]`.
        tags: Option<Vec<String>> = Kind::Names, Need::Optional;
        /// Fate of datagrams with a flipped bit: `drop`, as a checksum has it, or `deliver`, with one bit of the payload
        /// flipped.
        damage: String = Kind::Word("fate of damaged packets", || vec!["drop", "deliver"]), Need::Default("drop");
        /// Other paths between the hosts, by name, for `events`: lists of links as in `route`, which the packets of the
        /// sink take back. The first packets take `route`.
        paths: Option<NamedPaths> = Kind::Custom(&PATHS), Need::Optional;
        /// Events on the path: `at` and one of `rebind = "port"` or `"address"`, a NAT that gives the source another
        /// port or address, `path`, one of `paths` for later packets, and `down = "2 s"`, a time without connection.
        events: Option<PathEvents> = Kind::Custom(&EVENTS), Need::Optional;
    }
}

impl EndpointSpec {
    /// Number of a tag: 0 for none, from 1 on in the order of the file.
    pub fn tag(&self, name: &str) -> Option<u8> {
        let tags = self.tags.as_deref().unwrap_or_default();
        tags.iter().position(|tag| tag == name).map(|index| index as u8 + 1)
    }

    /// Whether the sender of an oversized packet gets a message.
    pub fn reports_oversize(&self) -> bool {
        self.oversize == "report"
    }

    /// Whether datagrams with a flipped bit are delivered.
    pub fn delivers_damage(&self) -> bool {
        self.damage == "deliver"
    }

    /// Whether programs send whole IP packets.
    pub fn is_ip(&self) -> bool {
        self.layer == "ip"
    }

    /// Number of a path among the group's, in the order of their names.
    pub(crate) fn path_number(&self, name: &str) -> Option<u32> {
        let position = self.paths.as_ref()?.0.keys().position(|known| known == name);
        position.map(|position| position as u32)
    }

    pub(super) fn check(&self, table: &Table) -> Result<(), Error> {
        check_word(&self.name).map_err(|text| table.error("name", text))?;
        let tags = self.tags.as_deref().unwrap_or_default();
        if tags.len() > MAX_TAGS {
            return Err(table.error("tags", format!("{} tags; at most {MAX_TAGS}", tags.len())));
        }
        for (i, tag) in tags.iter().enumerate() {
            check_word(tag).map_err(|text| table.error("tags", text))?;
            if tags[..i].contains(tag) || ["source", "sink"].contains(&tag.as_str()) {
                return Err(table.error("tags", format!("{tag:?} has another meaning already; write another name")));
            }
        }
        if self.is_ip() && self.gso {
            return Err(table.error("gso", "super-packets are UDP; leave gso out, or write layer = \"udp\""));
        }
        if self.is_ip() && self.events.as_ref().is_some_and(PathEvents::has_rebinding) {
            return Err(
                table.error("events", "a NAT rewrites UDP only here; leave rebind out, or write layer = \"udp\"")
            );
        }
        let known = self.paths.iter().flat_map(|paths| paths.0.keys()).map(String::as_str);
        for name in self.events.iter().flat_map(PathEvents::path_names) {
            if !known.clone().any(|known| known == name) {
                let text = format!("no path {name:?}; name it in paths, e.g. paths = {{ {name} = [\"link\"] }}");
                return Err(table.error("events", text));
            }
        }
        let ipv6 = self.address.as_ref().is_some_and(|pair| pair.0[0].is_ipv6());
        if ipv6 && self.mtu < MIN_MTU_IPV6 {
            return Err(table.error("mtu", format!("IPv6 needs at least {MIN_MTU_IPV6} B; write a larger one")));
        }
        Ok(())
    }
}

/// Rejects names that are other words of sentences.
fn check_word(name: &str) -> Result<(), String> {
    let mut letters = name.chars();
    let starts = letters.next().is_some_and(|first| first.is_ascii_lowercase());
    let is_word = starts && letters.all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_');
    if !is_word || name.len() > MAX_NAME {
        return Err(format!(
            "{name:?} is not a name; write at most {MAX_NAME} lower-case letters, digits and underscores, e.g. \"call\""
        ));
    }
    match RESERVED.contains(&name) {
        true => Err(format!("{name:?} has another meaning in sentences; write another name")),
        false => Ok(()),
    }
}

/// Addresses of the hosts of a source and of its sink.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Addresses(pub [IpAddr; 2]);

impl Addresses {
    fn read(value: &Value) -> Result<Self, ValueError> {
        let wrong = |text: String| ValueError::Form(format!("{text}; write e.g. [\"10.1.0.1\", \"10.1.0.2\"]"));
        if !value.is_array() {
            return Err(mismatch(value, r#"a list of two addresses such as ["10.1.0.1", "10.1.0.2"]"#));
        }
        let texts = names(value)?;
        let [source, sink] = texts.as_slice() else { return Err(wrong(format!("{} addresses", texts.len()))) };
        let parse = |text: &String| text.parse::<IpAddr>().map_err(|_| wrong(format!("{text:?} is not an IP address")));
        let (source, sink) = (parse(source)?, parse(sink)?);
        if source.is_ipv4() != sink.is_ipv4() {
            return Err(wrong(format!("{source} and {sink} are of different families")));
        }
        match [source, sink].iter().find(|address| address.is_unspecified() || address.is_multicast()) {
            Some(address) => Err(wrong(format!("{address} is not the address of a host"))),
            None if source == sink => Err(wrong(format!("{source} is given twice"))),
            None => Ok(Self([source, sink])),
        }
    }
}

impl Field for Addresses {
    fn some(datum: Datum) -> Self {
        match datum {
            Datum::Custom(value) => Self::read(&value).expect("the key was checked"),
            _ => unreachable!("a field has the type of its key"),
        }
    }

    fn datum(&self) -> Option<Datum> {
        let texts: Vec<String> = self.0.iter().map(IpAddr::to_string).collect();
        Some(Datum::Custom(texts.into()))
    }
}

static ADDRESSES: CustomForm = CustomForm {
    check: |value| Addresses::read(value).map(|_| ()),
    schema: || json!({ "title": "two addresses", "type": "array", "items": { "type": "string" }, "minItems": 2, "maxItems": 2, "examples": [["10.1.0.1", "10.1.0.2"]] }),
};

/// Words of sentences and places that a name must not have.
const RESERVED: &[&str] = &[
    "flows",
    "link",
    "links",
    "reverse",
    "up",
    "down",
    "forward",
    "and",
    "or",
    "not",
    "in",
    "sojourn",
    "goodput",
    "completion",
    "delay",
    "note",
];

/// Maximum length of a name.
const MAX_NAME: usize = 32;

/// Maximum number of tags of a group.
const MAX_TAGS: usize = 16;

/// RFC 8200 §5.
const MIN_MTU_IPV6: u32 = 1280;
