//! File paths as words of a spelling: characters that would end the word are escaped, `%20`, `%28`, ….

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

/// Escapes a path.
pub fn escape(path: &str) -> String {
    let escaped = |c: char| match c {
        c if c.is_whitespace() || "%@(){},:;".contains(c) => {
            let mut bytes = [0; 4];
            c.encode_utf8(&mut bytes).bytes().map(|byte| format!("%{byte:02X}")).collect()
        }
        c => c.to_string(),
    };
    path.chars().map(escaped).collect()
}

/// Reverses [`escape`].
pub fn unescape(word: &str) -> String {
    let mut bytes = Vec::with_capacity(word.len());
    let mut rest = word.as_bytes();
    while let Some((&first, behind)) = rest.split_first() {
        let code = (first == b'%').then(|| behind.get(..2)).flatten();
        let code =
            code.and_then(|code| core::str::from_utf8(code).ok()).and_then(|code| u8::from_str_radix(code, 16).ok());
        bytes.push(code.unwrap_or(first));
        rest = if code.is_some() { &behind[2..] } else { behind };
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_path_is_one_word_and_comes_back() {
        for (path, word) in [
            ("/a/b.dist", "/a/b.dist"),
            ("my table", "my%20table"),
            ("{a;b}(c)@d:e,f%20", "%7Ba%3Bb%7D%28c%29%40d%3Ae%2Cf%2520"),
            ("naïve\u{2003}x", "naïve%E2%80%83x"),
        ] {
            assert_eq!(escape(path), word);
            assert_eq!(unescape(word), path);
        }
        assert_eq!(unescape("100%"), "100%", "what is no code stands for itself");
    }
}
