//! Classes set by senders and priorities derived from the DSCP; both are in Linux's `skb->priority`. Without a class
//! the priority follows `rt_tos2priority`, which reads three bits of the DSCP: EF gets priority 4 and shares the middle
//! band of `pfifo_fast` with best effort.

use crate::quote::quoted;
use alloc::format;
use alloc::string::String;
use core::fmt;

/// A class in tc's syntax, `MAJOR:MINOR` in hexadecimal: `1:10` is class 10 of the discipline with handle 1. `0:6` is
/// not a class but priority 6, as set by `SO_PRIORITY`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ClassId(u32);

impl ClassId {
    /// No class.
    pub const NONE: Self = Self(0);

    /// Class `minor` of the discipline with handle `major`; if that is 0, priority `minor`.
    pub const fn new(major: u16, minor: u16) -> Self {
        Self((major as u32) << 16 | minor as u32)
    }

    /// The handle of the discipline; 0 for a priority.
    pub const fn major(self) -> u16 {
        (self.0 >> 16) as u16
    }

    /// Number of the class, or the priority.
    pub const fn minor(self) -> u16 {
        self.0 as u16
    }

    /// Whether no class is set.
    pub const fn is_none(self) -> bool {
        self.0 == 0
    }

    /// Parses `1:10`, or `10` for a class of the discipline with handle `major`.
    pub fn parse(text: &str, major: u16) -> Result<Self, String> {
        let part = |digits: &str| {
            let number = u16::from_str_radix(digits, 16).ok().filter(|_| !digits.starts_with('+'));
            number
                .ok_or_else(|| format!("{} is not a class; write e.g. \"1:10\" (hexadecimal, as in tc)", quoted(text)))
        };
        match text.split_once(':') {
            Some((major, "")) => Ok(Self::new(part(major)?, 0)),
            Some((major, minor)) => Ok(Self::new(part(major)?, part(minor)?)),
            None => Ok(Self::new(major, part(text)?)),
        }
    }
}

impl fmt::Display for ClassId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:x}:{:x}", self.major(), self.minor())
    }
}

/// Number of a class or a handle as a parameter, in hexadecimal as in tc: `10`, `1:10`, `1:`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Minor(pub u16);

impl Minor {
    /// Parses it: the second number of `1:10`, the first of `1:`.
    pub fn parse(text: &str) -> Option<Self> {
        let class = ClassId::parse(text, 0).ok()?;
        Some(Self(if class.minor() == 0 { class.major() } else { class.minor() }))
    }
}

impl fmt::Display for Minor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:x}", self.0)
    }
}

/// Priority of a packet with this DSCP (`rt_tos2priority` with `ip_tos2prio` of `net/ipv4/route.c`): reads the former
/// type-of-service bits, the lower three of the DSCP, so EF (46) is 4 and CS6 (48) is 0.
pub const fn by_dscp(dscp: u8) -> ClassId {
    ClassId::new(0, [BEST_EFFORT, BEST_EFFORT, BULK, BULK, INTERACTIVE, INTERACTIVE, 4, 4][(dscp & 7) as usize])
}

const BEST_EFFORT: u16 = 0;
const BULK: u16 = 2;
const INTERACTIVE: u16 = 6;

/// Band, from 0, of each of the 16 priorities.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Priomap(
    /// Four bits per priority; priority 0 is lowest.
    u64,
);

impl Priomap {
    /// Linux's default (`sch_default_prio2band`, `prio2band`) for three bands; 0 is served first.
    pub const DEFAULT: Self = Self::new([1, 2, 2, 2, 1, 2, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1]);

    /// Bands of the priorities from 0, each below 16.
    pub const fn new(bands: [u8; 16]) -> Self {
        let (mut packed, mut i) = (0, 0);
        while i < 16 {
            packed |= ((bands[i] & 15) as u64) << (4 * i);
            i += 1;
        }
        Self(packed)
    }

    /// Band of a priority; above 15 its lower four bits count, as in Linux.
    #[inline]
    pub const fn band(self, priority: u16) -> usize {
        (self.0 >> (4 * (priority & 15)) & 15) as usize
    }

    /// The highest band in use.
    pub fn max_band(self) -> usize {
        (0..16).map(|priority| self.band(priority)).max().expect("there are 16")
    }

    /// Parses 16 numbers separated by commas or blanks.
    pub fn parse(text: &str) -> Option<Self> {
        let mut numbers = text.split([',', ' ']).filter(|number| !number.is_empty());
        let mut bands = [0; 16];
        for band in &mut bands {
            *band = numbers.next()?.parse().ok().filter(|&band| band < 16)?;
        }
        numbers.next().is_none().then_some(Self::new(bands))
    }
}

impl fmt::Display for Priomap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (0..16).try_for_each(|priority| {
            let comma = if priority > 0 { "," } else { "" };
            write!(f, "{comma}{}", self.band(priority))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;

    #[test]
    fn classes_are_read_and_written_as_tc_does() {
        for (text, major, minor, spelled) in
            [("1:10", 1, 0x10, "1:10"), ("10", 7, 0x10, "7:10"), ("a:ff", 10, 255, "a:ff"), ("1:", 1, 0, "1:0")]
        {
            let class = ClassId::parse(text, 7).unwrap();
            assert_eq!((class.major(), class.minor(), class.to_string().as_str()), (major, minor, spelled));
        }
        for text in ["", ":1", "1:10000", "x", "+1", "1:2:3"] {
            assert!(ClassId::parse(text, 1).is_err(), "{text}");
        }
    }

    #[test]
    fn priorities_are_those_that_linux_gives_a_type_of_service() {
        // (DSCP, priority): CS0, CS1, AF41, EF, CS6, the old type of service "low delay" (0x10), AF11.
        for (dscp, priority) in [(0, 0), (8, 0), (34, 2), (46, 4), (48, 0), (4, 6), (10, 2)] {
            assert_eq!(by_dscp(dscp), ClassId::new(0, priority), "{dscp}");
            // Three bands: low delay first, bulk last, everything else between.
            let band = [1, 9, 2, 9, 1, 9, 0][priority as usize];
            assert_eq!(Priomap::DEFAULT.band(priority), band);
        }
    }

    #[test]
    fn maps_are_read_as_they_print() {
        let text = "1,2,2,2,1,2,0,0,1,1,1,1,1,1,1,15";
        let map = Priomap::parse(text).unwrap();
        assert_eq!((map.to_string().as_str(), map.max_band(), map.band(31)), (text, 15, 15));
        assert_eq!(Priomap::parse("1 2 2 2 1 2 0 0 1 1 1 1 1 1 1 1"), Some(Priomap::DEFAULT));
        for text in ["", "1", "1,2,2,2,1,2,0,0,1,1,1,1,1,1,1", "1,2,2,2,1,2,0,0,1,1,1,1,1,1,1,16"] {
            assert_eq!(Priomap::parse(text), None, "{text}");
        }
    }
}
