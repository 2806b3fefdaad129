//! From the bytes of an IP packet to those that take time on the medium.
//!
//! Source: the order of Linux's size tables (tc-stab) and of CAKE: add the overhead, raise to the least size (`mpu`),
//! then the step of the link layer. The names of the presets are CAKE's, but for `ethernet-wire`.

use super::Error;
use super::keys::{Key, Table, word_of, write};
use serde_json::{Map, Value};
use sojourn_aqm::link_layer::{CONSERVATIVE, KINDS, Kind, Layer};

/// How packets are framed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Framing {
    /// What the link layer makes of a packet with its overhead.
    pub layer: Layer,
    /// Bytes added to each IP packet.
    pub overhead: u32,
    /// Least size with the overhead, in bytes.
    pub mpu: u32,
    /// Whether the queue counts the bytes of the medium, else those of IP.
    pub adjusted: bool,
}

impl Framing {
    /// Bytes on the medium for a packet of `ip` bytes.
    pub fn wire(&self, ip: u32) -> u32 {
        self.layer.wire((ip + self.overhead).max(self.mpu))
    }

    /// Bytes of a packet of `ip` bytes as the queue counts them.
    pub fn accounted(&self, ip: u32) -> u32 {
        if self.adjusted { self.wire(ip) } else { ip }
    }

    /// Whether framing is nothing but an overhead that the queue counts too.
    pub fn is_plain(&self) -> bool {
        self.layer == Layer::Plain && self.mpu == 0 && self.adjusted
    }

    /// Reads the keys; a preset gives overhead and least size where they are not given themselves.
    pub(super) fn read(table: &Table) -> Result<Self, Error> {
        let (layer, overhead, mpu) = preset(&table.field::<String>("framing")?);
        let unless_given = |name: &str, preset: u32| {
            if table.values.contains_key(name) { table.field(name) } else { Ok(preset) }
        };
        let adjusted = table.field::<String>("account")? == ADJUSTED;
        Ok(Self { layer, overhead: unless_given("overhead", overhead)?, mpu: unless_given("mpu", mpu)?, adjusted })
    }

    pub(super) fn write(&self, keys: &'static [Key], out: &mut Map<String, Value>) {
        write(keys, "framing", &word_of(LAYERS, &self.layer), out);
        write(keys, "overhead", &self.overhead, out);
        write(keys, "mpu", &self.mpu, out);
        let account = if self.adjusted { ADJUSTED } else { "ip" };
        write(keys, "account", &account.to_string(), out);
    }
}

/// The words of `framing`: link layers and presets.
pub(super) fn names() -> Vec<&'static str> {
    presets().map(|preset| preset.word).collect()
}

fn preset(name: &str) -> (Layer, u32, u32) {
    let found = presets().find(|preset| preset.word == name).expect("the key admits known words only");
    (found.layer, found.overhead, found.mpu)
}

/// Every preset: link layers alone, Ethernet with all that it sends, and tc's kinds of link.
fn presets() -> impl Iterator<Item = Kind> {
    let layers = LAYERS.iter().map(|&(word, layer)| Kind { word, layer, overhead: 0, mpu: 0 });
    layers.chain([ETHERNET_WIRE]).chain(KINDS.iter().copied()).chain([CONSERVATIVE])
}

/// The words of `account`.
pub(super) const ACCOUNTS: &[&str] = &[ADJUSTED, "ip"];

const ADJUSTED: &str = "adjusted";

const LAYERS: &[(&str, Layer)] = &[("ethernet", Layer::Plain), ("atm", Layer::Atm), ("ptm", Layer::Ptm)];

/// 14 header, 4 check sequence, 8 preamble, 12 gap.
const ETHERNET_WIRE: Kind = Kind { word: "ethernet-wire", layer: Layer::Plain, overhead: 38, mpu: 84 };

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_on_the_medium() {
        let wire = |name: &str, ip| {
            let (layer, overhead, mpu) = preset(name);
            Framing { layer, overhead, mpu, adjusted: true }.wire(ip)
        };
        for (name, ip, bytes) in [
            ("pppoe-llcsnap", 1500, 1749), // ceil(1540 / 48) = 33 cells
            ("pppoe-llcsnap", 40, 106),    // ceil(80 / 48) = 2 cells
            ("atm", 100, 159),             // 3 cells
            ("bridged-ptm", 1500, 1546),   // 1522 + 24
            ("ethernet-wire", 40, 84),     // the least size: 78 would be less
            ("ethernet-wire", 1500, 1538),
            ("ethernet", 1500, 1500),
            ("docsis", 40, 64),
            ("docsis", 1500, 1518),
            ("conservative", 1500, 1749),
        ] {
            assert_eq!(wire(name, ip), bytes, "{ip} B, {name}");
        }
        // 100 Mbit/s of Ethernet carry 97.5 Mbit/s of IP and, with 1448 B of payload, 94.15 Mbit/s.
        let share = |part: f64| part / f64::from(wire("ethernet-wire", 1500));
        assert!((share(1500.0) - 0.975).abs() < 5e-4 && (share(1448.0) - 0.9415).abs() < 5e-5);
    }
}
