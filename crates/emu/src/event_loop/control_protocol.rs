//! Control protocol of a running shell or network: requests of `sojourn ctl`, and the responses to them.
//!
//! Each message is one JSON object. `{}` queries the state; `{"keys": {…}}` changes these keys, like an entry of a
//! scenario's `[[changes]]`; `{"pause": true}` pauses and `{"pause": false}` resumes. `"side"` restricts a request to
//! one direction.
//!
//! A request names a whole queue manager, unlike `tc qdisc change`, which sets single parameters: `--aqm`, scenarios
//! and `[[changes]]` have the same syntax, and a log entry is complete by itself.

use crate::path::{Direction, PathKind};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use sojourn_aqm::Instant;
use sojourn_aqm::params::unknown;
use sojourn_aqm::registry::Catalogue;
use std::collections::BTreeMap;

/// A request of a client.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "RequestMessage", into = "RequestMessage")]
pub enum ControlRequest {
    /// Queries the state.
    Show,
    /// Changes directions: the one called `side`, or all that the request can change.
    Change {
        /// `up` or `down` in a shell, the name of a link's direction in a network.
        side: Option<String>,
        /// The change.
        change: Change,
    },
}

/// A change of a direction.
#[derive(Clone, Debug, PartialEq)]
pub enum Change {
    /// Sets these keys, which are those of an entry of a scenario's `[[changes]]`.
    Keys(Map<String, Value>),
    /// Stops sending.
    Pause,
    /// Resumes sending at the rate before the pause.
    Resume,
}

/// A request on the wire.
#[derive(Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct RequestMessage {
    #[serde(skip_serializing_if = "Option::is_none")]
    side: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    keys: Option<Map<String, Value>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pause: Option<bool>,
}

impl From<ControlRequest> for RequestMessage {
    fn from(order: ControlRequest) -> Self {
        match order {
            ControlRequest::Show => Self::default(),
            ControlRequest::Change { side, change } => match change {
                Change::Keys(keys) => Self { side, keys: Some(keys), pause: None },
                Change::Pause => Self { side, keys: None, pause: Some(true) },
                Change::Resume => Self { side, keys: None, pause: Some(false) },
            },
        }
    }
}

impl TryFrom<RequestMessage> for ControlRequest {
    type Error = &'static str;

    fn try_from(message: RequestMessage) -> Result<Self, Self::Error> {
        let change = match (message.keys, message.pause) {
            (Some(_), Some(_)) => return Err("it has both keys and a pause"),
            (Some(keys), None) if keys.is_empty() => return Err("its keys are empty"),
            (Some(keys), None) => Change::Keys(keys),
            (None, Some(true)) => Change::Pause,
            (None, Some(false)) => Change::Resume,
            (None, None) if message.side.is_some() => return Err("it has a side but no change"),
            (None, None) => return Ok(Self::Show),
        };
        Ok(Self::Change { side: message.side, change })
    }
}

impl ControlRequest {
    /// Parses a request of at most [`MAX_BYTES`] bytes.
    pub fn parse(bytes: &[u8]) -> Result<Self, String> {
        if bytes.len() > MAX_BYTES {
            return Err(format!("order: longer than {MAX_BYTES} bytes; shorten its values"));
        }
        serde_json::from_slice(bytes).map_err(|error| format!("order: {error}; {REMEDY}"))
    }
}

impl Change {
    /// Applies the change to all `directions` at `now`, or, on an error, to none. Queue managers of `own` can be named
    /// besides the registered ones.
    fn apply(&self, now: Instant, directions: &mut Directions<'_>, own: &dyn Catalogue) -> Result<(), String> {
        for (_, direction) in directions.iter_mut() {
            match self {
                Self::Keys(keys) => direction.try_change(now, keys, own)?,
                Self::Pause => direction.try_pause(now, true)?,
                Self::Resume => direction.try_pause(now, false)?,
            }
        }
        for (_, direction) in directions.iter_mut() {
            match self {
                Self::Keys(keys) => direction.change(now, keys, own)?,
                Self::Pause => direction.pause(now, true, own)?,
                Self::Resume => direction.pause(now, false, own)?,
            }
        }
        Ok(())
    }
}

/// The response to a request.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum ControlResponse {
    /// The request failed, and nothing has changed.
    Refused {
        /// One line with the reason and the remedy.
        error: String,
    },
    /// The change was made.
    Changed {
        /// Names of the directions that have changed.
        changed: Vec<String>,
        /// Virtual time of the change.
        at_ns: u64,
    },
    /// The state.
    State(ShellState),
}

/// State of a running shell or network.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ShellState {
    /// Its identity.
    #[serde(flatten)]
    pub info: ShellInfo,
    /// State of its directions.
    #[serde(flatten)]
    pub directions: DirectionStates,
}

/// Identity of a running shell or network.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ShellInfo {
    /// Its kind: `link`, `delay`, `loss`, `network`, or one of Mahimahi's.
    pub shell: String,
    /// Process ID.
    pub pid: i32,
    /// Name set with `--name`.
    pub name: Option<String>,
    /// Command that runs inside.
    pub command: Vec<String>,
    /// Start time in nanoseconds since 1970.
    pub epoch_ns: u64,
}

/// State of all directions.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum DirectionStates {
    /// Directions of a shell.
    Shell {
        /// From inside to outside.
        up: DirectionState,
        /// From outside to inside.
        down: DirectionState,
    },
    /// Directions of a network, by name.
    Network {
        /// Two directions per link.
        links: BTreeMap<String, DirectionState>,
    },
}

/// Configuration and counters of one direction.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DirectionState {
    /// Link, delay or loss in a few words.
    #[serde(rename = "does")]
    pub description: String,
    /// Departures so far.
    pub departed: DepartedCount,
    /// Packets dropped.
    pub dropped: u64,
    /// Packets marked.
    pub marked: u64,
    /// Packets waiting, a super-packet as one.
    pub backlog: u64,
}

/// Packets and bytes of IP that have left a direction.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct DepartedCount {
    /// Packets.
    pub packets: u64,
    /// Bytes of IP.
    pub bytes: u64,
}

impl DirectionState {
    fn of(direction: &Direction) -> Self {
        let c = direction.counters();
        let departed = DepartedCount { packets: c.departed.0, bytes: c.departed.1 };
        Self { description: direction.describe(), departed, dropped: c.dropped, marked: c.marked, backlog: c.backlog }
    }
}

/// Directions by name.
type Directions<'a> = Vec<(&'a str, &'a mut Direction)>;

/// Directions that a request can change.
pub enum DirectionSet<'a> {
    /// Directions of a shell, up first. A request without a side applies to both.
    Shell([&'a mut Direction; 2]),
    /// Directions of a network. A request must name one.
    Network(Directions<'a>),
}

impl<'a> DirectionSet<'a> {
    /// Executes a request at `now` and returns the response.
    pub fn answer(
        self,
        order: ControlRequest,
        about: &ShellInfo,
        now: Instant,
        own: &dyn Catalogue,
    ) -> ControlResponse {
        let (side, change) = match order {
            ControlRequest::Show => {
                return ControlResponse::State(ShellState { info: about.clone(), directions: self.paths() });
            }
            ControlRequest::Change { side, change } => (side, change),
        };
        let changed = self.named(side.as_deref()).and_then(|mut directions| {
            change.apply(now, &mut directions, own)?;
            Ok(directions.iter().map(|(name, _)| (*name).to_string()).collect())
        });
        match changed {
            Ok(changed) => ControlResponse::Changed { changed, at_ns: now.as_nanos() },
            Err(error) => ControlResponse::Refused { error },
        }
    }

    fn paths(self) -> DirectionStates {
        match self {
            Self::Shell([up, down]) => {
                DirectionStates::Shell { up: DirectionState::of(up), down: DirectionState::of(down) }
            }
            Self::Network(links) => {
                let links = links.into_iter().map(|(name, link)| (name.to_string(), DirectionState::of(link)));
                DirectionStates::Network { links: links.collect() }
            }
        }
    }

    /// Selects the directions for a request with `side`.
    fn named(self, side: Option<&str>) -> Result<Directions<'a>, String> {
        match (self, side) {
            (Self::Shell([up, down]), None) => {
                let mut both = vec![("up", up), ("down", down)];
                // A loss configured for one direction must not spread to the other.
                both.retain(|(_, direction)| !matches!(direction.kind(), PathKind::Loss(None)));
                Ok(both)
            }
            (Self::Shell([up, _]), Some("up")) => Ok(vec![("up", up)]),
            (Self::Shell([_, down]), Some("down")) => Ok(vec![("down", down)]),
            (Self::Shell(_), Some(_)) => Err("--link: a shell has no links by name; write --up or --down".to_string()),
            (Self::Network(links), side) => {
                let names: Vec<&str> = links.iter().map(|&(name, _)| name).collect();
                let known_names = || names.iter().copied();
                let name = side.ok_or_else(|| {
                    format!("it is a network; name one of its links, --link {}", known_names().next().unwrap_or("NAME"))
                })?;
                let found = links.into_iter().find(|(link, _)| *link == name);
                found.map(|link| vec![link]).ok_or_else(|| format!("--link: {}", unknown("link", name, known_names())))
            }
        }
    }
}

/// Maximum length of a request and of a response.
pub const MAX_BYTES: usize = 1 << 16;

const REMEDY: &str = r#"write e.g. {"keys": {"rate": "5mbit"}}, {"pause": true}, or {} to show it"#;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::path::{DirectionConfig, Side};
    use serde_json::json;
    use sojourn_aqm::Duration;
    use sojourn_aqm::registry::REGISTERED;
    use sojourn_sim::scenario::Steps;

    fn delay(side: Side) -> Direction {
        Direction::new(DirectionConfig::new(side, PathKind::Delay(Steps::constant(Duration::from_millis(37)))), 3)
            .unwrap()
    }

    fn about() -> ShellInfo {
        let command = vec!["sleep".to_string(), "9".to_string()];
        ShellInfo { shell: "delay".to_string(), pid: 4711, name: None, command, epoch_ns: 7 }
    }

    #[test]
    fn orders_are_read_as_they_are_written() {
        let keys = json!({ "rate": "5mbit", "limit": ["9 packets"] }).as_object().cloned().unwrap();
        let change = |side: Option<&str>, change| ControlRequest::Change { side: side.map(str::to_string), change };
        for (order, wire) in [
            (ControlRequest::Show, json!({})),
            (change(None, Change::Keys(keys.clone())), json!({ "keys": keys })),
            (change(Some("up"), Change::Pause), json!({ "pause": true, "side": "up" })),
            (change(Some("a b.reverse"), Change::Resume), json!({ "pause": false, "side": "a b.reverse" })),
        ] {
            assert_eq!(serde_json::to_value(&order).unwrap(), wire);
            assert_eq!(ControlRequest::parse(wire.to_string().as_bytes()), Ok(order));
        }
        // Format of the first clients for a request to both directions.
        assert_eq!(ControlRequest::parse(br#"{"pause": true, "side": null}"#), Ok(change(None, Change::Pause)));
    }

    #[test]
    fn untidy_orders_are_refused_in_one_line_with_the_remedy() {
        for (text, error) in [
            ("", "order: EOF while parsing"),
            ("[]", "order: "),
            ("7", "order: invalid type"),
            ("null", "order: invalid type"),
            ("{}{}", "order: trailing characters"),
            (r#"{"key": {"rate": "1mbit"}}"#, "order: unknown field `key`"),
            (r#"{"keys": 7}"#, "order: invalid type"),
            (r#"{"keys": {}}"#, "order: its keys are empty"),
            (r#"{"pause": "yes"}"#, "order: invalid type"),
            (r#"{"pause": true, "pause": false}"#, "order: duplicate field `pause`"),
            (r#"{"pause": true, "keys": {"rate": "1mbit"}}"#, "order: it has both keys and a pause"),
            (r#"{"side": "up"}"#, "order: it has a side but no change"),
            (r#"{"side": ["up"], "pause": true}"#, "order: invalid type"),
        ] {
            let refused = ControlRequest::parse(text.as_bytes()).unwrap_err();
            assert!(refused.starts_with(error) && refused.ends_with(REMEDY) && !refused.contains('\n'), "{refused}");
        }
        let long = format!(r#"{{"keys": {{"aqm": "{}"}}}}"#, "x".repeat(MAX_BYTES));
        assert_eq!(
            ControlRequest::parse(long.as_bytes()),
            Err("order: longer than 65536 bytes; shorten its values".to_string())
        );
        assert!(
            ControlRequest::parse("[".repeat(MAX_BYTES).as_bytes()).is_err(),
            "it is read without recursion without end"
        );
    }

    #[test]
    fn both_directions_change_or_none() {
        let (mut up, mut down) = (delay(Side::Up), delay(Side::Down));
        let mut answer = |text: &str| {
            let order = ControlRequest::parse(text.as_bytes()).unwrap();
            let now = Instant::ZERO + Duration::from_millis(11);
            DirectionSet::Shell([&mut up, &mut down]).answer(order, &about(), now, REGISTERED)
        };
        let changed = |names: &[&str]| ControlResponse::Changed {
            changed: names.iter().map(|name| name.to_string()).collect(),
            at_ns: 11_000_000,
        };
        assert_eq!(answer(r#"{"keys": {"delay": "3 ms"}, "side": "down"}"#), changed(&["down"]));
        assert_eq!(answer(r#"{"keys": {"delay": "83 ms"}}"#), changed(&["up", "down"]));
        let refused = |error: &str| ControlResponse::Refused { error: error.to_string() };
        let only = "rate: a delay has no queue; only its delay can be changed";
        assert_eq!(answer(r#"{"keys": {"delay": "5 ms", "rate": "1mbit"}}"#), refused(only));
        let no_link = "--link: a shell has no links by name; write --up or --down";
        assert_eq!(answer(r#"{"pause": true, "side": "left"}"#), refused(no_link));
        let shown = answer("{}");
        let ControlResponse::State(ShellState { directions: DirectionStates::Shell { up, down }, .. }) = &shown else {
            panic!("{shown:?}")
        };
        assert_eq!([up.description.as_str(), down.description.as_str()], ["83 ms", "83 ms"]);
        let wire = serde_json::to_value(&shown).unwrap();
        assert_eq!((&wire["pid"], &wire["up"]["departed"]["packets"]), (&json!(4711), &json!(0)));
        assert_eq!(serde_json::from_value::<ControlResponse>(wire).unwrap(), shown);
    }

    #[test]
    fn an_order_for_a_network_names_a_link() {
        let (mut forward, mut reverse) = (delay(Side::Down), delay(Side::Up));
        let mut answer = |text: &str| {
            let links = vec![("core", &mut forward), ("core.reverse", &mut reverse)];
            DirectionSet::Network(links).answer(
                ControlRequest::parse(text.as_bytes()).unwrap(),
                &about(),
                Instant::ZERO,
                REGISTERED,
            )
        };
        let ControlResponse::Refused { error } = answer(r#"{"keys": {"delay": "3 ms"}}"#) else {
            panic!("it names no link")
        };
        assert_eq!(error, "it is a network; name one of its links, --link core");
        let ControlResponse::Refused { error } = answer(r#"{"pause": true, "side": "coer"}"#) else {
            panic!("no such link")
        };
        assert_eq!(error, r#"--link: unknown link "coer"; did you mean "core"?"#);
        let changed = answer(r#"{"keys": {"delay": "3 ms"}, "side": "core.reverse"}"#);
        assert!(matches!(changed, ControlResponse::Changed { changed, .. } if changed == ["core.reverse"]));
    }
}
