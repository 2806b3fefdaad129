//! Queue managers in Python, which emulated links do not support.

use sojourn_aqm::error::ConfigError;
use sojourn_aqm::netem::Table;
use sojourn_aqm::registry::{Algorithm, Catalogue};

/// A catalogue that returns an error with the reason and the remedy for Python classes.
pub struct NoPythonCatalogue<'a>(pub &'a dyn Catalogue);

impl Catalogue for NoPythonCatalogue<'_> {
    fn find(&self, name: &str) -> Option<Result<&'static Algorithm, ConfigError>> {
        self.0.find(name).or_else(|| is_class(name).then(|| Err(ConfigError::Catalogue(format!("{name}: {REASON}")))))
    }

    fn names(&self) -> Vec<&'static str> {
        self.0.names()
    }

    fn table(&self, name: &str) -> Option<Result<&'static Table, ConfigError>> {
        self.0.table(name)
    }
}

/// Whether a name is that of a Python class: `my_aqm.py:MyAqm`, `module:MyAqm`.
fn is_class(name: &str) -> bool {
    let is_identifier = |word: &str| {
        word.starts_with(|c: char| c.is_alphabetic() || c == '_')
            && word.chars().all(|c| c.is_alphanumeric() || c == '_')
    };
    name.rsplit_once(':').is_some_and(|(module, class)| !module.is_empty() && is_identifier(class))
}

/// The same text as in `sojourn.emulated.engine`.
const REASON: &str = "a queue manager in Python is too slow for an emulated link; write it as a library (sojourn aqm new \
                      NAME), or simulate it (sojourn run)";

#[cfg(test)]
mod tests {
    use super::*;
    use sojourn_aqm::registry::REGISTERED;

    #[test]
    fn classes_in_python_are_refused_and_nothing_else_is() {
        let own = NoPythonCatalogue(REGISTERED);
        for name in ["own.py:Own", "/a b/own.py:_Own2", "package.module:Own"] {
            let Some(Err(ConfigError::Catalogue(reason))) = own.find(name) else { panic!("{name} is found") };
            assert!(reason.starts_with(name) && reason.contains("sojourn aqm new NAME"), "{reason}");
        }
        for name in ["codell", "own.py", ":Own", "own.py:", "own.py:2", "a:b c"] {
            assert!(own.find(name).is_none(), "{name}");
        }
    }
}
