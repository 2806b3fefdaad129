//! Requests and responses of a session with one run.

use crate::arrivals::{ArrivalReplay, RecordedArrivals};
use crate::difference;
use crate::edit;
use crate::files::InMemoryFiles;
use crate::reply::Reply;
pub use crate::request::RequestError;
use crate::request::{nanos, parse, text};
use crate::run::ActiveRun;
use serde_json::{Value, json};
use sojourn_aqm::Instant;
use sojourn_sim::scenario::{self, Direction, FlowSpec, Scenario};
use sojourn_sim::{MemoryEstimate, registry};

/// Files, recorded arrivals and the open run of a caller.
#[derive(Default)]
pub struct Session {
    files: InMemoryFiles,
    arrived: Option<RecordedArrivals>,
    playing: Option<Playback>,
}

/// The open run or replay.
enum Playback {
    Run(Box<ActiveRun>),
    Replay(Box<ArrivalReplay>),
}

impl Session {
    /// Adds a file that scenarios can refer to.
    pub fn add_file(&mut self, name: String, data: Vec<u8>) {
        self.files.0.insert(name, data);
    }

    /// Handles a request, an object whose key `op` selects the operation.
    ///
    /// # Errors
    /// If the request or a scenario in it is invalid, or no run is open.
    pub fn call(&mut self, request: &Value) -> Result<Reply, RequestError> {
        match text(request, "op")? {
            "about" => Ok(Reply::of(about())),
            "check" => Ok(Reply::of(checked(&self.scenario(request, "text")?))),
            "edit" => {
                let edits = request["edits"].as_array().map_or(&[][..], Vec::as_slice);
                Ok(Reply::of(edit::edited(text(request, "text")?, edits, &self.files)?.into()))
            }
            "open" => self.open(request),
            "record" => self.record(request),
            "replay" => self.replay(request),
            "difference" => self.difference(request),
            "advance" => {
                let until = nanos(request, "until_ns")?;
                self.advance(|run| run.advance(until), |replay| replay.advance(until))
            }
            "step" => {
                let link = request["link"].as_u64().map(|link| link as usize);
                self.advance(|run| run.step(link), ArrivalReplay::step)
            }
            "view" => match self.playing()? {
                Playback::Run(run) => Ok(run.view()),
                Playback::Replay(replay) => Ok(replay.view()),
            },
            "finish" => match self.playing.take() {
                Some(Playback::Run(run)) => Ok(run.finish()),
                Some(Playback::Replay(mut replay)) => Ok(Reply::of(replay.finish())),
                None => Err(nothing_opened()),
            },
            other => Err(RequestError(format!("op: unknown operation {other:?}"))),
        }
    }

    fn open(&mut self, request: &Value) -> Result<Reply, RequestError> {
        let mut scenario = self.scenario(request, "text")?;
        let seed = seed(request, &scenario)?;
        scenario.probes.packets = request["packets"].as_bool().unwrap_or(true);
        let response = json!({
            "checked": checked(&scenario), "seed": seed, "duration_ns": scenario.duration.as_nanos(),
        });
        self.playing = Some(Playback::Run(Box::new(ActiveRun::new(&scenario, seed))));
        Ok(Reply::of(response))
    }

    fn record(&mut self, request: &Value) -> Result<Reply, RequestError> {
        let scenario = self.scenario(request, "text")?;
        let arrived = RecordedArrivals::of(&scenario, seed(request, &scenario)?)?;
        let response = json!({
            "checked": checked(&scenario), "seed": arrived.seed, "packets": arrived.packets(),
            "duration_ns": scenario.duration.as_nanos(),
        });
        self.arrived = Some(arrived);
        Ok(Reply::of(response))
    }

    fn replay(&mut self, request: &Value) -> Result<Reply, RequestError> {
        let arrived = self.arrived.as_ref().ok_or_else(nothing_opened)?;
        let replay = arrived.replay(text(request, "aqm")?, request["limit"].as_str())?;
        self.playing = Some(Playback::Replay(Box::new(ArrivalReplay::new(arrived.clone(), replay))));
        Ok(Reply::default())
    }

    fn difference(&self, request: &Value) -> Result<Reply, RequestError> {
        let found = match request["of"].as_str() {
            Some("arrivals") => {
                let arrived = self.arrived.as_ref().ok_or_else(nothing_opened)?;
                difference::on_arrivals(arrived, text(request, "a")?, text(request, "b")?)?
            }
            _ => {
                let [a, b] = ["a", "b"].map(|which| self.scenario(request, which));
                let (a, b) = (a?, b?);
                difference::of_traffic(&a, &b, seed(request, &a)?)
            }
        };
        Ok(Reply::of(found))
    }

    /// Advances the open run or replay, and returns its time.
    fn advance(
        &mut self,
        run: impl FnOnce(&mut ActiveRun) -> (Instant, bool),
        replay: impl FnOnce(&mut ArrivalReplay) -> (Instant, bool),
    ) -> Result<Reply, RequestError> {
        let (now, finished) = match self.playing()? {
            Playback::Run(inner) => run(inner),
            Playback::Replay(inner) => replay(inner),
        };
        Ok(Reply::of(json!({ "now_ns": now.as_nanos(), "finished": finished })))
    }

    fn playing(&mut self) -> Result<&mut Playback, RequestError> {
        self.playing.as_mut().ok_or_else(nothing_opened)
    }

    fn scenario(&self, request: &Value, key: &str) -> Result<Scenario, RequestError> {
        let sets = request["sets"].as_array().map_or(&[][..], Vec::as_slice);
        let word = |pair: &Value, i: usize| pair[i].as_str().unwrap_or_default().to_string();
        let sets: Vec<_> = sets.iter().map(|pair| (word(pair, 0), word(pair, 1))).collect();
        parse(text(request, key)?, &sets, &self.files)
    }
}

fn seed(request: &Value, scenario: &Scenario) -> Result<u64, RequestError> {
    match &request["seed"] {
        Value::Null => Ok(scenario.seed),
        given => given.as_u64().ok_or_else(|| RequestError(format!("seed: {given} is not a whole number from 0 on"))),
    }
}

fn nothing_opened() -> RequestError {
    RequestError("nothing is open; open a scenario first".into())
}

fn about() -> Value {
    let schema: Value = serde_json::from_str(&scenario::schema()).expect("a schema is JSON");
    json!({ "version": env!("CARGO_PKG_VERSION"), "registry": registry::registry(), "schema": schema })
}

fn checked(scenario: &Scenario) -> Value {
    let mut unprobed = scenario.clone();
    (unprobed.probes.packets, unprobed.probes.headers) = (false, false);
    let estimate = MemoryEstimate::of(&unprobed);
    let canonical: Value = serde_json::from_str(&scenario.canonical()).expect("the canonical form is JSON");
    json!({
        "scenario": canonical,
        "queues": scenario.queue_names(),
        "flows": (0..).zip(&scenario.flows).flat_map(|(group, spec)| lasting(group, spec)).collect::<Vec<_>>(),
        "need_bytes": estimate.run.saturating_add(estimate.recorded),
    })
}

/// Flows of a group that last for the whole run.
fn lasting(group: usize, spec: &FlowSpec) -> impl Iterator<Item = Value> + use<> {
    let count = if spec.traffic.opens_connections() { 0 } else { spec.count };
    let flow = json!({
        "group": group,
        "kind": spec.traffic.name(),
        "cc": spec.traffic.tcp().map(|tcp| &tcp.cc.text),
        "direction": if spec.direction == Direction::Forward { "forward" } else { "reverse" },
    });
    (0..count).map(move |_| flow.clone())
}
