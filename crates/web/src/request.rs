//! Fields of a request, and errors.

use crate::files::InMemoryFiles;
use serde_json::Value;
use sojourn_aqm::Instant;
use sojourn_aqm::registry::REGISTERED;
use sojourn_sim::scenario::Scenario;

/// Error of a request: a text for users, with location and remedy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequestError(pub String);

/// Parses a scenario, with overrides by dotted path.
pub(crate) fn parse(text: &str, sets: &[(String, String)], files: &InMemoryFiles) -> Result<Scenario, RequestError> {
    Scenario::parse_among(text, sets, files, REGISTERED).map_err(|wrong| RequestError(wrong.to_string()))
}

/// A string of a request.
pub(crate) fn text<'a>(request: &'a Value, key: &str) -> Result<&'a str, RequestError> {
    request[key].as_str().ok_or_else(|| RequestError(format!("{key}: a text is missing")))
}

/// A time of a request, in nanoseconds.
pub(crate) fn nanos(request: &Value, key: &str) -> Result<Instant, RequestError> {
    let wrong = || RequestError(format!("{key}: a number of nanoseconds is missing"));
    let nanos = request[key].as_f64().filter(|nanos| *nanos >= 0.0).ok_or_else(wrong)?;
    // The cast saturates at the maximum time.
    Ok(Instant::from_nanos(nanos as u64))
}
