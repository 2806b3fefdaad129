//! Names of libraries as the spelling of a queue manager has them: `./blue.so`, `./blue.so:blue`.

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
    let escaped = |c: char| match c {
        c if c.is_whitespace() || "%@(),:".contains(c) => {
            let mut bytes = [0; 4];
            c.encode_utf8(&mut bytes).bytes().map(|byte| format!("%{byte:02X}")).collect()
        }
        c => c.to_string(),
    };
    path.to_string_lossy().chars().map(escaped).collect()
}

/// The path that a word of a spelling means.
pub fn unescape(name: &str) -> PathBuf {
    let mut bytes = Vec::with_capacity(name.len());
    let mut rest = name.as_bytes();
    while let Some((&first, behind)) = rest.split_first() {
        let code = (first == b'%').then(|| behind.get(..2)).flatten();
        let code =
            code.and_then(|code| std::str::from_utf8(code).ok()).and_then(|code| u8::from_str_radix(code, 16).ok());
        bytes.push(code.unwrap_or(first));
        rest = if code.is_some() { &behind[2..] } else { behind };
    }
    PathBuf::from(String::from_utf8_lossy(&bytes).into_owned())
}
