//! Names of libraries as the spelling of a queue manager has them: `./blue.so`, `./blue.so:blue`.

use sojourn_aqm::escape;
use std::path::{Path, PathBuf};

/// The path in a name, and the queue discipline's own name behind a colon.
pub(crate) fn path_and_queue(name: &str) -> (&str, Option<&str>) {
    name.split_once(':').map_or((name, None), |(path, inside)| (path, Some(inside)))
}

/// Whether a name stands for a library: its file is called `x.so`, perhaps with a version behind it, and perhaps with the
/// name of the queue discipline in it behind a colon.
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

/// A path as a word of a spelling.
pub fn escape(path: &Path) -> String {
    escape::escape(&path.to_string_lossy())
}

/// The path that a word of a spelling means.
pub fn unescape(name: &str) -> PathBuf {
    PathBuf::from(escape::unescape(name))
}
