//! Queue managers of users' crates in the object file (feature `own`).

use alloc::vec::Vec;
use sojourn_aqm::error::ConfigError;
use sojourn_aqm::registry::{Algorithm, Catalogue};

/// Catalogue of the algorithms that the crate around this one links, by the names of their libraries.
pub(crate) struct Own;

impl Catalogue for Own {
    fn find(&self, name: &str) -> Option<Result<&'static Algorithm, ConfigError>> {
        let mut found = None;
        each(&mut |library, algorithm| {
            if library == name {
                found = Some(Ok(algorithm));
            }
        });
        found
    }

    fn names(&self) -> Vec<&'static str> {
        let mut names = Vec::new();
        each(&mut |library, _| names.push(library));
        names
    }
}

#[cfg(feature = "own")]
#[allow(unsafe_code, reason = "the crate around this one has the function")]
fn each(see: See) {
    unsafe extern "Rust" {
        safe fn sojourn_qdisc_own(see: See);
    }
    sojourn_qdisc_own(see);
}

#[cfg(not(feature = "own"))]
fn each(_see: See) {}

type See<'a> = &'a mut dyn FnMut(&'static str, &'static Algorithm);
