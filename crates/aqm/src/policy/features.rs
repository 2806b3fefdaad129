//! Declaration of the entries of an observation, each once with name and meaning.

/// Declares the type `Feature` from a list of entries, `/// Meaning.` and `Feature = "name",` each.
#[doc(hidden)]
#[macro_export]
macro_rules! entries {
    ($( $(#[doc = $doc:literal])+ $entry:ident = $name:literal, )+) => {
        /// A number of an observation.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Feature { $( $(#[doc = $doc])+ $entry, )+ }

        impl Feature {
            /// Every entry, with its name and meaning.
            pub const ALL: &'static [(&'static str, Self, &'static str)] =
                &[ $( ($name, Self::$entry, concat!($($doc),+)), )+ ];

            /// The entry called `name`.
            pub fn find(name: &str) -> Option<Self> {
                Self::ALL.iter().find(|(known, ..)| *known == name).map(|&(_, entry, _)| entry)
            }

            /// Its name.
            pub fn name(self) -> &'static str {
                Self::ALL.iter().find(|&&(_, entry, _)| entry == self).expect("each entry is in the list").0
            }
        }
    };
}
