//! Names of libraries in an AQM's configuration: `./blue.so`, `./blue.so:blue`.

use sojourn_aqm::escape;
use std::path::{Path, PathBuf};

/// Splits a name into the path and the qdisc's own name after a colon.
pub(crate) fn path_and_queue(name: &str) -> (&str, Option<&str>) {
    name.split_once(':').map_or((name, None), |(path, inside)| (path, Some(inside)))
}

/// Whether a name is that of a library: a file `x.so`, optionally with a version (`x.so.1.2`) and with the name of the
/// qdisc in it after a colon.
pub fn is_library(name: &str) -> bool {
    let (path, inside) = path_and_queue(name);
    if inside.is_some_and(|inside| inside.is_empty() || inside.contains(':')) {
        return false;
    }
    let file = path.rsplit('/').next().unwrap_or(path);
    file.split_once(".so").is_some_and(|(stem, version)| {
        !stem.is_empty() && version.chars().all(|c| c.is_ascii_digit() || c == '.') && !version.ends_with('.')
    })
}

/// Encodes a path as one word of a configuration.
pub fn escape(path: &Path) -> String {
    escape::escape(&path.to_string_lossy())
}

/// Decodes a path from a word of a configuration.
pub fn unescape(name: &str) -> PathBuf {
    PathBuf::from(escape::unescape(name))
}
