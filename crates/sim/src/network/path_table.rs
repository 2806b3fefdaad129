//! The links that flows cross, in order: one list for all flows. With a list per route, a packet of a graph of 200
//! flows has one more cache miss.

use crate::scenario::Paths;
use std::collections::BTreeMap;

/// The paths of all flows; equal paths are shared.
#[derive(Default)]
pub(crate) struct PathTable {
    /// Numbers by path.
    numbers: BTreeMap<Paths, u32>,
    /// By path number.
    entries: Vec<PathEntry>,
    /// All paths, one after the other.
    links: Vec<u16>,
}

/// Per path: the end of the data's links in the list, likewise of the acknowledgments', and their numbers.
#[derive(Clone, Copy)]
struct PathEntry {
    data: (u32, u16),
    acks: (u32, u16),
}

impl PathTable {
    /// The number of these paths; they are added if they are new.
    pub fn number_of(&mut self, paths: &Paths) -> u32 {
        if let Some(&number) = self.numbers.get(paths) {
            return number;
        }
        let [data, acks] = [&paths.data, &paths.acks].map(|path| self.add(path));
        let number = self.entries.len() as u32;
        self.entries.push(PathEntry { data, acks });
        self.numbers.insert(paths.clone(), number);
        number
    }

    fn add(&mut self, path: &[u16]) -> (u32, u16) {
        self.links.extend(path);
        (self.links.len() as u32, path.len() as u16)
    }

    /// Number of links that data, or acknowledgments, cross.
    #[inline(always)]
    pub fn len(&self, number: u32, to_sink: bool) -> u16 {
        self.entry(number, to_sink).1
    }

    /// The link of a path with `behind` links left, itself included.
    #[inline(always)]
    pub fn link(&self, number: u32, to_sink: bool, behind: u16) -> u16 {
        self.links[self.entry(number, to_sink).0 as usize - usize::from(behind)]
    }

    #[inline(always)]
    fn entry(&self, number: u32, to_sink: bool) -> (u32, u16) {
        let PathEntry { data, acks } = self.entries[number as usize];
        if to_sink { data } else { acks }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_are_counted_from_the_end_of_a_path() {
        let mut table = PathTable::default();
        let paths = |data: &[u16], acks: &[u16]| Paths { data: data.into(), acks: acks.into() };
        let (one, other) = (paths(&[4, 6, 8], &[9, 5]), paths(&[2], &[7, 3, 1]));
        assert_eq!([&one, &other, &one].map(|paths| table.number_of(paths)), [0, 1, 0]);
        for (number, paths) in [(0, one), (1, other)] {
            for (to_sink, path) in [(true, paths.data), (false, paths.acks)] {
                assert_eq!(usize::from(table.len(number, to_sink)), path.len());
                let found: Vec<u16> = (1..=path.len() as u16).rev().map(|n| table.link(number, to_sink, n)).collect();
                assert_eq!(found, path.to_vec(), "path {number}");
            }
        }
    }
}
