//! Size of an IP packet on the medium.
//!
//! Source: the order of Linux's size tables (tc-stab) and of CAKE: add the overhead, raise to the minimum size (`mpu`),
//! then apply the cells or the coding of the link layer. The names of the presets are CAKE's, except `ethernet-wire`.

use super::Error;
use super::keys::{Key, Table, word_of, write};
use serde_json::{Map, Value};
use sojourn_aqm::link_layer::{CONSERVATIVE, CellFraming, KINDS, LinkPreset};

/// Framing of packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Framing {
    /// Cells or coding of the link layer, applied after the overhead.
    pub layer: CellFraming,
    /// Bytes added to each IP packet.
    pub overhead: u32,
    /// Minimum size with the overhead, in bytes.
    pub mpu: u32,
    /// Whether the queue counts bytes on the medium; otherwise it counts bytes of IP.
    pub adjusted: bool,
}

impl Framing {
    /// Bytes on the medium of an IP packet of `ip` bytes.
    pub fn wire(&self, ip: u32) -> u32 {
        self.layer.wire((ip + self.overhead).max(self.mpu))
    }

    /// Bytes that the queue counts for an IP packet of `ip` bytes.
    pub fn accounted(&self, ip: u32) -> u32 {
        if self.adjusted { self.wire(ip) } else { ip }
    }

    /// Whether framing only adds an overhead, which the queue counts.
    pub fn is_plain(&self) -> bool {
        self.layer == CellFraming::Plain && self.mpu == 0 && self.adjusted
    }

    /// Reads the keys; overhead and minimum size default to those of the preset.
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

/// Words of `framing`: link layers and presets.
pub(super) fn names() -> Vec<&'static str> {
    presets().map(|preset| preset.word).collect()
}

fn preset(name: &str) -> (CellFraming, u32, u32) {
    let found = presets().find(|preset| preset.word == name).expect("the key admits known words only");
    (found.layer, found.overhead, found.mpu)
}

/// All presets: plain link layers, Ethernet with preamble and gap, and tc's kinds of link.
fn presets() -> impl Iterator<Item = LinkPreset> {
    let layers = LAYERS.iter().map(|&(word, layer)| LinkPreset { word, layer, overhead: 0, mpu: 0 });
    layers.chain([ETHERNET_WIRE]).chain(KINDS.iter().copied()).chain([CONSERVATIVE])
}

/// Words of `account`.
pub(super) const ACCOUNTS: &[&str] = &[ADJUSTED, "ip"];

const ADJUSTED: &str = "adjusted";

const LAYERS: &[(&str, CellFraming)] =
    &[("ethernet", CellFraming::Plain), ("atm", CellFraming::Atm), ("ptm", CellFraming::Ptm)];

/// 14 B header, 4 B frame check sequence, 8 B preamble, 12 B inter-packet gap.
const ETHERNET_WIRE: LinkPreset =
    LinkPreset { word: "ethernet-wire", layer: CellFraming::Plain, overhead: 38, mpu: 84 };

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
            ("ethernet-wire", 40, 84),     // the minimum size: 78 would be less
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
