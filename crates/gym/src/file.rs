//! Trained policies in files, as AQMs: a small neural network with its observation, its step and the meaning of its
//! action.

use crate::coupled;
use crate::setup::{MAX_STEP, MIN_STEP, read_spec};
use serde::Deserialize;
use sojourn_aqm::error::ConfigError;
use sojourn_aqm::params::{Value, unknown};
use sojourn_aqm::policy::{ActionKind, Activation, Layer, Network, NetworkAgent, ObservationSpec, Policy};
use sojourn_aqm::registry::{Algorithm, AnyConfig, Catalogue, CustomAqm, CustomConfig, QueueLayout};
use sojourn_aqm::{Aqm, Duration, SingleQueue, units};
use sojourn_library::name::{escape, unescape};
use std::fs;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

/// Prefix of the name of a policy.
pub const PREFIX: &str = "policy:";

/// A policy read from a file.
#[derive(Clone, Debug)]
pub struct PolicyFile {
    /// Interval between actions, from the start of the run.
    pub step: Duration,
    /// Observation, and meaning of the action.
    pub spec: ObservationSpec,
    /// The network.
    pub network: Network,
}

/// JSON format of the file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PolicyText {
    /// Version of the format.
    sojourn_policy: u32,
    step: String,
    action: String,
    #[serde(default)]
    observe: Vec<String>,
    #[serde(default = "one")]
    stack: usize,
    layers: Vec<LayerText>,
    /// Description and origin, for human readers.
    #[serde(default)]
    #[allow(dead_code)]
    note: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct LayerText {
    weights: Vec<Vec<f32>>,
    bias: Vec<f32>,
    activation: String,
}

fn one() -> usize {
    1
}

impl PolicyFile {
    /// Parses the text of a file.
    ///
    /// # Errors
    /// A line that names the field and the remedy.
    pub fn parse(text: &str) -> Result<Self, String> {
        let text: PolicyText = serde_json::from_str(text).map_err(|error| format!("is not a policy: {error}"))?;
        if text.sojourn_policy != FORMAT_VERSION {
            return Err(format!("sojourn_policy: unknown version {}; write {FORMAT_VERSION}", text.sojourn_policy));
        }
        let step = units::duration(&text.step).map_err(|error| format!("step: {error}"))?;
        if step < MIN_STEP || step > MAX_STEP {
            return Err(format!("step: {step} is out of range; from {MIN_STEP} to {MAX_STEP}"));
        }
        let spec = read_spec(&text.action, &text.observe, text.stack).map_err(|refused| refused.to_string())?;
        let layers = text.layers.into_iter().enumerate().map(|(i, layer)| layer.read(i)).collect::<Result<_, _>>()?;
        let network = Network::new(layers).map_err(|error| error.to_string())?;
        network.check(spec.len(), spec.action.outputs()).map_err(|error| error.to_string())?;
        Ok(Self { step, spec, network })
    }

    /// An agent that runs the network.
    fn agent(&self) -> NetworkAgent {
        let agent = NetworkAgent::new(self.network.clone(), self.spec.clone(), self.step, self.spec.action);
        agent.expect("the file was checked")
    }
}

impl LayerText {
    fn read(self, index: usize) -> Result<Layer, String> {
        let Self { weights, bias, activation } = self;
        let found = Activation::ALL.iter().find(|(name, _)| *name == activation).map(|&(_, found)| found);
        let names = Activation::ALL.map(|(name, _)| name);
        let activation = found
            .ok_or_else(|| format!("layers[{index}].{}", unknown("activation", &activation, names.iter().copied())))?;
        Ok(Layer { weights, bias, activation })
    }
}

/// Catalogue of names like `policy:my.json`. Relative paths are looked up in `base`, then in the current directory.
/// Blanks, brackets, commas, `@`, `%` and colons in a path are percent-encoded (`%20`, `%28`, …).
#[derive(Clone, Copy, Debug)]
pub struct Policies<'a> {
    /// First directory for relative paths.
    pub base: &'a Path,
}

impl Catalogue for Policies<'_> {
    fn find(&self, name: &str) -> Option<Result<&'static Algorithm, ConfigError>> {
        let path = name.strip_prefix(PREFIX)?;
        Some(self.load(path).map_err(|error| ConfigError::Catalogue(format!("{name}: {error}"))))
    }
}

impl Policies<'_> {
    fn load(&self, name: &str) -> Result<&'static Algorithm, String> {
        let path = unescape(name);
        let folders = [self.base, Path::new("")];
        let found = folders.iter().map(|folder| folder.join(&path)).find(|path| path.is_file());
        let found =
            found.ok_or_else(|| format!("no such file in {}; write e.g. \"{PREFIX}my.json\"", self.base.display()))?;
        let found = found.canonicalize().map_err(|error| error.to_string())?;
        let text = fs::read_to_string(&found).map_err(|error| error.to_string())?;
        algorithm(&found, text)
    }
}

/// The algorithm of a policy file, leaked once per path and text of the file, because [`Algorithm`]s are `'static`.
fn algorithm(path: &Path, text: String) -> Result<&'static Algorithm, String> {
    static KNOWN: Mutex<Vec<(String, &'static Algorithm)>> = Mutex::new(Vec::new());
    let name = format!("{PREFIX}{}", escape(path));
    let mut algorithms = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((_, algorithm)) = algorithms.iter().find(|(of, algorithm)| *of == text && algorithm.name == name) {
        return Ok(algorithm);
    }
    let policy = Arc::new(PolicyFile::parse(&text)?);
    let is_coupled = policy.spec.action == ActionKind::Coupled;
    let configure =
        move |algorithm: &'static Algorithm, profile: &str, params: &[(String, String)], _: &dyn Catalogue| {
            let of_profile = (!["", PROFILES[0].0].contains(&profile)).then_some(("profile", profile));
            match of_profile.or(params.first().map(|(name, _)| ("parameter", name.as_str()))) {
                Some((what, name)) => Err(ConfigError::Unknown(unknown(what, name, std::iter::empty()))),
                None if is_coupled => Ok(AnyConfig::Foreign(coupled::policy_controlled(algorithm, policy.agent()))),
                None => Ok(AnyConfig::Custom(CustomAqm::new(algorithm, Box::new(PolicyQueue(Arc::clone(&policy)))))),
            }
        };
    let algorithm: &'static Algorithm = Box::leak(Box::new(Algorithm {
        name: name.leak(),
        summary: "A learned policy: a small neural network that acts at every step",
        source: "its file",
        params: &[],
        profiles: PROFILES,
        queues: if is_coupled { QueueLayout::Two } else { QueueLayout::One },
        state_bytes: size_of::<Policy>(),
        queue_bytes: size_of::<SingleQueue<Policy, u32>>(),
        words: None,
        configure: Box::leak(Box::new(configure)),
    }));
    algorithms.push((text, algorithm));
    Ok(algorithm)
}

const PROFILES: &[(&str, &str)] = &[("plain", "as in its file")];
const FORMAT_VERSION: u32 = 1;

#[derive(Clone, Debug)]
struct PolicyQueue(Arc<PolicyFile>);

impl CustomConfig for PolicyQueue {
    fn value(&self, _: &str) -> Option<Value> {
        None
    }
    fn manager(&self) -> Box<dyn Aqm + Send> {
        Box::new(Policy::autonomous(self.0.agent(), self.0.spec.action))
    }
    fn clone_box(&self) -> Box<dyn CustomConfig> {
        Box::new(self.clone())
    }
}
