//! Bands and their contents, in tc's notation.

use crate::class::{Minor, Priomap};
use crate::config;
use crate::error::ConfigError;
use crate::param_list;
use crate::params::{Param, Value};
use crate::parent::class::{Match, own, read_matches, spelled};
use crate::parent::{ChildConfig, ChildrenConfig, ParentConfig, text};
use crate::quote::quoted;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::iter::Peekable;
use core::str::SplitWhitespace;

/// Configuration of `prio`.
pub type Config<H> = ParentConfig<Settings, Bands<H>>;

/// `TCQ_PRIO_BANDS`.
pub(super) const MAX_BANDS: u64 = 16;

config! {
    /// Number of bands, and the mapping of packets to bands.
    pub struct Settings {
        /// Handle, as in tc's `handle 1:`; classes that senders name must belong to it.
        handle: Minor = Minor(1), in Value::Minor(Minor(1)) => Value::Minor(Minor(0xffff));
        /// Number of bands.
        bands: u64 = 3, in Value::Count(2) => Value::Count(MAX_BANDS);
        /// Band, from 0 on, of each of the priorities 0 to 15: 16 numbers.
        priomap: Priomap = Priomap::DEFAULT, in Value::Bands(Priomap::DEFAULT) => Value::Bands(Priomap::DEFAULT);
    }
    profiles { "linux", "Linux" => |_| {}; }
    validate validate
}

fn validate(c: &Settings) -> Result<(), ConfigError> {
    let (most, bands) = (c.priomap.max_band(), c.bands);
    if (most as u64) < bands {
        return Ok(());
    }
    Err(format!(
        "priomap names band {most}, but there are {bands} bands, numbered from 0; write lower numbers, or more bands"
    )
    .into())
}

/// Contents of the bands; unnamed bands use tail drop.
#[derive(Clone, Debug, PartialEq)]
pub struct Bands<H>(
    /// In the order of their filters.
    pub Vec<Band<H>>,
);

impl<H> Default for Bands<H> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

/// Named band.
#[derive(Clone, Debug, PartialEq)]
pub struct Band<H> {
    /// Number from 1 on, as the minor number of tc's class.
    pub number: usize,
    /// Filters that assign packets regardless of priority.
    pub matches: Vec<Match>,
    /// Queue discipline; tail drop if there is none.
    pub child: Option<H>,
}

impl<H> Bands<H> {
    /// Returns band `band`, counted from 0, if it is named.
    pub(crate) fn of(&self, band: usize) -> Option<&Band<H>> {
        self.0.iter().find(|named| named.number == band + 1)
    }
}

impl<H: ChildConfig> ChildrenConfig<Settings> for Bands<H> {
    type Child = H;
    const EXAMPLE: &'static str = "prio { band 1 match dscp EF; band 2 { fq_codel } }";

    fn read(inside: &str, settings: &Settings, names: H::Names<'_>) -> Result<Self, ConfigError> {
        let bands = text::parts(inside)?.into_iter().map(|part| {
            let (head, child) = text::split(part)?;
            let mut words = head.split_whitespace().peekable();
            if words.next() != Some("band") {
                return Err(ConfigError::InvalidChild {
                    parent: "prio",
                    inside: part.into(),
                    example: Self::EXAMPLE.into(),
                });
            }
            let class =
                words.next().ok_or_else(|| ConfigError::MissingValue { param: "band".into(), name: "prio".into() })?;
            let number = own(class, settings.handle.0)? as usize;
            let matches = read_matches(&mut words, |word, _| {
                Err(ConfigError::Unknown(format!(
                    "band {class}: unknown keyword {}; expected match, e.g. match dscp EF",
                    quoted(word)
                )))
            })?;
            let child = child.map(|child| H::read(child, names)).transpose()?;
            Ok(Band { number, matches, child })
        });
        bands.collect::<Result<_, _>>().map(Self)
    }

    fn check(&self, settings: &Settings) -> Result<(), ConfigError> {
        for (i, band) in self.0.iter().enumerate() {
            let Band { number, .. } = band;
            if *number as u64 > settings.bands {
                let text = format!(
                    "band {number:x}: there are only {} bands; write bands {number} before the braces",
                    settings.bands
                );
                return Err(text.into());
            }
            if self.0[..i].iter().any(|other| other.number == *number) {
                return Err(ConfigError::DuplicateParam { param: format!("band {number:x}"), name: "prio".into() });
            }
        }
        Ok(())
    }

    fn spelling(&self) -> Option<String> {
        let one = |band: &Band<H>| {
            let words = format!("band {:x}{}", band.number, spelled(&band.matches));
            text::join(&words, band.child.as_ref().map(H::spelling))
        };
        (!self.0.is_empty()).then(|| self.0.iter().map(one).collect::<Vec<_>>().join("; "))
    }

    fn children(&self) -> Vec<&H> {
        self.0.iter().filter_map(|band| band.child.as_ref()).collect()
    }
}

/// Parses tc's `priomap`, which has 16 words.
pub(super) fn words(
    words: &mut Peekable<SplitWhitespace<'_>>,
    given: &mut Vec<(String, String)>,
    _: &[Param],
) -> Result<bool, ConfigError> {
    if words.peek() != Some(&"priomap") {
        return Ok(false);
    }
    words.next();
    param_list::add(given, "prio", "priomap", param_list::numbers(words).join(",")).map(|()| true)
}
