//! What is read out of a request, and why it cannot be.

use crate::files::InMemoryFiles;
use serde_json::Value;
use sojourn_aqm::Instant;
use sojourn_aqm::registry::REGISTERED;
use sojourn_sim::scenario::Scenario;

/// What was asked cannot be done: a text for people, with the place and the remedy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequestError(pub String);

/// A scenario's text, with overrides by dotted path.
pub(crate) fn parse(text: &str, sets: &[(String, String)], files: &InMemoryFiles) -> Result<Scenario, RequestError> {
    Scenario::parse_among(text, sets, files, REGISTERED).map_err(|wrong| RequestError(wrong.to_string()))
}

/// A text of a request.
pub(crate) fn text<'a>(request: &'a Value, key: &str) -> Result<&'a str, RequestError> {
    request[key].as_str().ok_or_else(|| RequestError(format!("{key}: a text is missing")))
}

/// An instant of a request, in nanoseconds.
pub(crate) fn nanos(request: &Value, key: &str) -> Result<Instant, RequestError> {
    let wrong = || RequestError(format!("{key}: a number of nanoseconds is missing"));
    let nanos = request[key].as_f64().filter(|nanos| *nanos >= 0.0).ok_or_else(wrong)?;
    // What is too large for an instant is its largest one.
    Ok(Instant::from_nanos(nanos as u64))
}
