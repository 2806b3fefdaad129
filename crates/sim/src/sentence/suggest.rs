//! Suggestions for mistyped words: Ratcliff and Obershelp's similarity, as in Python's `difflib`, so that both
//! languages suggest the same.

/// The most similar word in `known`, if at least half of both words match.
pub(super) fn nearest<'a>(word: &str, known: &'a [String]) -> Option<&'a str> {
    if word.len() > LONGEST {
        return None;
    }
    let plain = |word: &str| -> Vec<char> { word.to_lowercase().replace('-', "_").chars().collect() };
    let typed = plain(word);
    let rated = known.iter().filter(|one| one.len() <= LONGEST).map(|one| {
        let one_plain = plain(one);
        let both = one_plain.len() + typed.len();
        let share = if both == 0 { 1.0 } else { 2.0 * matched(&one_plain, &typed) as f64 / both as f64 };
        (share, one_plain, one)
    });
    let best = rated.max_by(|a, b| a.0.total_cmp(&b.0).then_with(|| a.1.cmp(&b.1)));
    best.filter(|(share, ..)| *share >= 0.5).map(|(.., one)| one.as_str())
}

/// Maximum length of a word that may be a typing error.
const LONGEST: usize = 64;

/// Characters in the longest common block, and in the blocks to its left and right.
fn matched(a: &[char], b: &[char]) -> usize {
    let (i, j, size) = longest(a, b);
    if size == 0 {
        return 0;
    }
    matched(&a[..i], &b[..j]) + size + matched(&a[i + size..], &b[j + size..])
}

/// The first of the longest common blocks: its start in both, and its length.
fn longest(a: &[char], b: &[char]) -> (usize, usize, usize) {
    let mut best = (0, 0, 0);
    let mut above = vec![0; b.len() + 1];
    for (i, x) in a.iter().enumerate() {
        let mut row = vec![0; b.len() + 1];
        for (j, y) in b.iter().enumerate() {
            if x == y {
                row[j + 1] = above[j] + 1;
                if row[j + 1] > best.2 {
                    best = (i + 1 - row[j + 1], j + 1 - row[j + 1], row[j + 1]);
                }
            }
        }
        above = row;
    }
    best
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_difflib_suggests() {
        let known = ["target", "interval", "goodput", "A", "B", "sojourn"].map(String::from);
        for (word, expected) in [
            ("targt", Some("target")),
            ("godput", Some("goodput")),
            ("C", None),
            ("intervl", Some("interval")),
            ("x", None),
        ] {
            assert_eq!(nearest(word, &known), expected, "{word}");
        }
    }
}
