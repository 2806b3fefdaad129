//! Size of an IP packet on the medium.
//!
//! Source: the order of Linux's size tables (tc-stab) and of CAKE: add the overhead, raise to the minimum size (`mpu`),
//! then apply the cells or the coding of the link layer. The names of the presets are CAKE's, except `ethernet-wire`.

use super::Error;
use super::keys::{CustomForm, Datum, Field, Key, Table, fields, text, word_of, write};
use super::value_error::ValueError;
use super::values::in_range;
use serde_json::{Map, Value, json};
use sojourn_aqm::link_layer::{CONSERVATIVE, CellFraming, KINDS, LinkPreset};
use sojourn_aqm::units;

/// Framing of packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Framing {
    /// Cells or coding of the link layer, applied after the overhead.
    pub layer: CellFraming,
    /// Bytes added to each IP packet; negative for a size table that takes off a header which Linux counts.
    pub overhead: i32,
    /// Minimum size with the overhead, in bytes.
    pub mpu: u32,
    /// Whether the queue counts bytes on the medium; otherwise it counts bytes of IP.
    pub adjusted: bool,
}

impl Framing {
    /// Bytes on the medium of an IP packet of `ip` bytes.
    pub fn wire(&self, ip: u32) -> u32 {
        // As in `__qdisc_calculate_pkt_len`, no packet is smaller than a byte.
        self.layer.wire(ip.saturating_add_signed(self.overhead).max(self.mpu).max(1))
    }

    /// Bytes that the queue counts for an IP packet of `ip` bytes.
    pub fn accounted(&self, ip: u32) -> u32 {
        if self.adjusted { self.wire(ip) } else { ip }
    }

    /// Whether framing only adds an overhead, which the queue counts.
    pub fn is_plain(&self) -> bool {
        self.layer == CellFraming::Plain && self.overhead >= 0 && self.mpu == 0 && self.adjusted
    }

    /// Reads the keys; overhead and minimum size default to those of the preset.
    pub(super) fn read(table: &Table) -> Result<Self, Error> {
        let (layer, overhead, mpu) = preset(&table.field::<String>("framing")?);
        let is_given = |name: &str| table.values.contains_key(name);
        let overhead = if is_given("overhead") { table.field::<Overhead>("overhead")?.0 } else { overhead as i32 };
        let mpu = if is_given("mpu") { table.field("mpu")? } else { mpu };
        Ok(Self { layer, overhead, mpu, adjusted: table.field::<String>("account")? == ADJUSTED })
    }

    pub(super) fn write(&self, keys: &'static [Key], out: &mut Map<String, Value>) {
        write(keys, "framing", &word_of(LAYERS, &self.layer), out);
        write(keys, "overhead", &Overhead(self.overhead), out);
        write(keys, "mpu", &self.mpu, out);
        let account = if self.adjusted { ADJUSTED } else { "ip" };
        write(keys, "account", &account.to_string(), out);
    }
}

/// Bytes of `overhead`.
struct Overhead(i32);

fields! {
    Overhead: Custom(x) => Self(read_overhead(&x).expect("checked when it was read")), self => format!("{} B", self.0).into();
}

/// Form of `overhead`.
pub(super) static OVERHEAD: CustomForm = CustomForm {
    check: |value| read_overhead(value).map(|_| ()),
    schema: || {
        json!({ "title": "size, also negative", "anyOf": [
        { "$ref": "#/$defs/size" },
        { "type": "string", "pattern": r"^\s*-[0-9.]+\s*[A-Za-z]+\s*$", "examples": ["-4 B"] },
    ] })
    },
};

fn read_overhead(value: &Value) -> Result<i32, ValueError> {
    let given = text(value, r#"a text with a unit such as "38 B""#)?.trim();
    let (sign, size) = given.strip_prefix('-').map_or((1, given), |size| (-1, size));
    Ok(sign * in_range(units::bytes(size)?, 0, 65_535, " B")? as i32)
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
    fn a_negative_overhead_takes_bytes_off() {
        let wire = |layer, overhead, mpu, ip| Framing { layer, overhead, mpu, adjusted: true }.wire(ip);
        assert_eq!(wire(CellFraming::Plain, -14, 0, 1500), 1486);
        assert_eq!(wire(CellFraming::Plain, -14, 64, 60), 64);
        assert_eq!(wire(CellFraming::Atm, -14, 0, 62), 53);
        assert_eq!(wire(CellFraming::Plain, -14, 0, 10), 1, "no packet is smaller than a byte");
        assert!(!Framing { layer: CellFraming::Plain, overhead: -1, mpu: 0, adjusted: true }.is_plain());
    }

    #[test]
    fn sizes_on_the_medium() {
        let wire = |name: &str, ip| {
            let (layer, overhead, mpu) = preset(name);
            Framing { layer, overhead: overhead as i32, mpu, adjusted: true }.wire(ip)
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
