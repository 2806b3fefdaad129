//! Queue manager of a link: in tc's spelling or as a table of parameters.

use super::implementation::Implementation;
use super::keys::mismatch;
use super::value_error::AqmError;
use serde_json::{Map, Value};
use sojourn_aqm::params;
use sojourn_aqm::registry::{Algorithm, AnyConfig, Catalogue, EXCLUDE_CE, NamedConfig, REGISTERED};
use sojourn_aqm::{Host, Limits, Qdisc};

/// Name and configuration of a queue manager.
#[derive(Clone, Debug, PartialEq)]
pub struct AqmSpec {
    /// Shortest spelling, for labels: `codel`, `codel@act target 10ms`, `fq(codel@act)`.
    pub text: String,
    /// Profile that supplies the parameters that are not given.
    pub profile: &'static str,
    /// Configuration.
    pub config: AnyConfig,
    /// Implementation that the engine `kernel` runs.
    pub implementation: Implementation,
}

impl AqmSpec {
    /// Builds a queue of packet numbers. It is here so that the disciplines are compiled once for all users of such
    /// queues, which saves 0.2 MB of the WebAssembly module.
    pub fn queue(&self, limits: Limits, host: Host) -> Box<dyn Qdisc<u32> + Send> {
        self.config.build(limits, host)
    }

    /// Reads tc's spelling, `codel@act target 5ms ecn`.
    pub fn parse(text: &str) -> Result<Self, AqmError> {
        Self::parse_with(text, REGISTERED)
    }

    /// [`AqmSpec::parse`] with the algorithms of `own` as well.
    pub fn parse_with(text: &str, own: &dyn Catalogue) -> Result<Self, AqmError> {
        let (implementation, text) = Implementation::split(text, own)?;
        Ok(NamedConfig::parse_with(text, own).map(|named| Self::new(named, implementation))?)
    }

    /// Reads a text or a table `{ name, profile, PARAM = VALUE… }`.
    pub fn read(value: &Value) -> Result<Self, AqmError> {
        Self::read_with(value, REGISTERED)
    }

    /// [`AqmSpec::read`] with the algorithms of `own` as well.
    pub fn read_with(value: &Value, own: &dyn Catalogue) -> Result<Self, AqmError> {
        let table = match value {
            Value::String(text) => return Self::parse_with(text, own),
            Value::Object(table) => table,
            other => return Err(mismatch(other, r#"a text such as "codel@act target 5ms", or a table"#).into()),
        };
        let word = |key: &str| match table.get(key) {
            None => Ok(""),
            Some(value) => value.as_str().ok_or_else(|| wrong(key, value, "a text")),
        };
        let ((implementation, name), profile) = (Implementation::split(word("name")?, own)?, word("profile")?);
        if name.is_empty() {
            return Err(AqmError::NoName);
        }
        let params = table.iter().filter(|(key, _)| !["name", "profile"].contains(&key.as_str()));
        let params: Vec<_> =
            params.map(|(key, value)| Ok((key.clone(), scalar(key, value)?))).collect::<Result<_, AqmError>>()?;
        let named = NamedConfig::configure_within(name, profile, &params, own)?;
        Ok(Self::new(named, implementation))
    }

    /// Algorithm.
    pub fn algorithm(&self) -> &'static Algorithm {
        self.config.algorithm()
    }

    /// Whether both have the same discipline, profile and inner disciplines, so that at most parameters differ.
    pub fn differs_in_parameters_only(&self, other: &Self) -> bool {
        let names = |spec: &Self| spec.config.each().into_iter().map(AnyConfig::name).collect::<Vec<_>>();
        let excludes = |spec: &Self| matches!(spec.config, AnyConfig::ExcludingCe(_));
        let is_same_kind = self.implementation == other.implementation && excludes(self) == excludes(other);
        self.profile == other.profile && names(self) == names(other) && is_same_kind
    }

    /// Values of all parameters, including those of unregistered algorithms and of the manager in brackets. If both
    /// have a parameter of the same name, the outer one counts.
    pub fn parameters(&self) -> Map<String, Value> {
        let values = |config: &AnyConfig| -> Vec<_> {
            config.algorithm().params.iter().filter_map(|p| Some((p.name, config.value(p.name)?))).collect()
        };
        let mut all: Map<String, Value> = Map::new();
        let inner = match self.config.with_ce() {
            AnyConfig::Fq(flows) => values(&flows.aqm().config),
            _ => Vec::new(),
        };
        for (name, value) in values(&self.config).into_iter().chain(inner) {
            all.entry(name).or_insert_with(|| json(value));
        }
        all
    }

    /// Table of all parameters. For an unregistered algorithm, only those that differ from its defaults, so that the
    /// table can be read without the algorithm.
    pub fn table(&self) -> Map<String, Value> {
        if matches!(self.config.with_ce(), AnyConfig::Custom(_)) {
            return self.short_table();
        }
        let algorithm = self.algorithm();
        let all = algorithm.params.iter().filter_map(|p| Some((p.name, self.config.value(p.name)?)));
        // Only if set: other scenarios keep their canonical form, and with it their hash.
        let common = self.named().changed().into_iter().filter(|&(name, _)| name == EXCLUDE_CE);
        self.table_of(all.chain(common))
    }

    /// Table of the parameters that differ from the profile's.
    pub fn short_table(&self) -> Map<String, Value> {
        self.table_of(self.named().changed().into_iter())
    }

    fn new(named: NamedConfig, implementation: Implementation) -> Self {
        let text = implementation.joined(&named.spelling());
        Self { text, profile: named.profile, config: named.config, implementation }
    }

    /// Configuration with its profile.
    pub fn named(&self) -> NamedConfig {
        NamedConfig { profile: self.profile, config: self.config.clone() }
    }

    fn table_of(&self, params: impl Iterator<Item = (&'static str, params::Value)>) -> Map<String, Value> {
        let name = self.implementation.joined(&self.named().name());
        let head = [("name", name.into()), ("profile", self.profile.into())];
        let params = params.map(|(name, value)| (name, json(value)));
        head.into_iter().chain(params).map(|(key, value)| (key.to_string(), value)).collect()
    }
}

/// Value of a parameter in a scenario file.
fn json(value: params::Value) -> Value {
    match value {
        params::Value::Count(n) => n.into(),
        params::Value::Number(x) => serde_json::Number::from_f64(x).map_or_else(|| x.to_string().into(), Value::Number),
        params::Value::Flag(on) => on.into(),
        other => other.to_string().into(),
    }
}

fn wrong(key: &str, value: &Value, expected: &str) -> AqmError {
    AqmError::Key { key: key.to_string(), reason: mismatch(value, expected) }
}

/// Text of a parameter in a table.
pub(super) fn scalar(key: &str, value: &Value) -> Result<String, AqmError> {
    match value {
        Value::String(text) => Ok(text.clone()),
        Value::Number(number) => Ok(number.to_string()),
        Value::Bool(on) => Ok(on.to_string()),
        other => Err(wrong(key, other, "a single value")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use sojourn_aqm::registry;

    #[test]
    fn both_forms_give_the_shortest_spelling() {
        for (value, text) in [
            (json!("codel"), "codel"),
            (json!(" codel   target 5ms "), "codel"),
            (json!("codel target 7.5ms"), "codel target 7.5ms"),
            (json!("codel target 7500us ecn"), "codel target 7.5ms ecn"),
            (json!({"name": "codel", "target": "7.5 ms", "ecn": true}), "codel target 7.5ms ecn"),
            (json!({"name": "codel", "profile": "act"}), "codel@act"),
            (json!({"name": "droptail"}), "droptail"),
            (json!("fq_codel@linux"), "fq_codel@linux"),
            (json!({"name": "fq_codel", "quantum": "300 B", "ecn": false}), "fq_codel quantum 300B noecn"),
            (json!("fq( codel@act  ecn )"), "fq(codel@act ecn)"),
            (json!("fq (pie target 15ms) quantum 1514B flows 16"), "fq(pie) flows 16"),
            (json!({"name": "fq(codel@act)", "flows": 16}), "fq(codel@act) flows 16"),
            (json!("fq(droptail)"), "fq(droptail)"),
            (json!(" sojourn:codel@linux  target 7ms"), "sojourn:codel@linux target 7ms"),
            (
                json!({"name": "sojourn:tbf { codel }", "rate": "1 Mbit/s", "burst": "5 kB"}),
                "sojourn:tbf rate 1Mbit/s burst 5000B { codel }",
            ),
            (json!("fq"), "sch_fq"),
            (json!("fq@linux-6.1 maxrate 20mbit"), "sch_fq@linux-6.1 maxrate 20Mbit/s"),
            (json!({"name": "fq", "flow_limit": 50}), "sch_fq flow_limit 50"),
            (json!("tbf rate 1mbit burst 5kB { fq(codel) }"), "tbf rate 1Mbit/s burst 5000B { fq(codel) }"),
            (
                json!({"name": "tbf { fq(codel) }", "rate": "1 Mbit/s", "burst": "5 kB"}),
                "tbf rate 1Mbit/s burst 5000B { fq(codel) }",
            ),
            (json!({"name": "fq(codel)", "target": "7.5 ms"}), "fq(codel target 7.5ms)"),
            (
                json!({"name": "fq(codel@act target 9ms ecn)", "target": "8 ms", "ecn": false}),
                "fq(codel@act target 8ms)",
            ),
            (
                json!({"name": "fq(pie)", "ecn": true, "flows": 16, "exclude_ce": true}),
                "fq(pie ecn) flows 16 exclude_ce",
            ),
        ] {
            let aqm = AqmSpec::read(&value).unwrap();
            assert_eq!(aqm.text, text);
            assert_eq!(AqmSpec::parse(text).unwrap(), aqm, "{text}");
        }
    }

    #[test]
    fn parameters_are_all_of_them_and_those_in_brackets() {
        let all = |text: &str| AqmSpec::parse(text).unwrap().parameters();
        assert_eq!(all("codel")["target"], "5 ms");
        let flows = all("fq(codel@act target 7ms) flows 16");
        assert_eq!((&flows["target"], &flows["flows"], &flows["ecn"]), (&json!("7 ms"), &json!(16), &json!(false)));
        assert_eq!(all("droptail").len(), 0);
    }

    #[test]
    fn every_profile_survives_its_own_table_and_text() {
        for algorithm in registry::ALGORITHMS {
            for spelling in algorithm.spellings() {
                let aqm = AqmSpec::parse(&spelling).unwrap();
                assert_eq!(aqm.text, spelling);
                assert_eq!(AqmSpec::read(&aqm.table().into()).unwrap(), aqm, "{spelling}");
                assert_eq!(AqmSpec::read(&aqm.short_table().into()).unwrap(), aqm, "{spelling}");
            }
        }
    }

    #[test]
    fn refusals_name_the_remedy() {
        for (value, error) in [
            (json!("coddle"), r#"unknown AQM "coddle"; did you mean "codel"?"#),
            (json!(""), r#"an AQM needs a name, e.g. "codel""#),
            (json!("codel@akt"), r#"unknown profile "akt"; did you mean "act"?"#),
            (json!("codel target 5"), r#"target: "5" has no unit; write e.g. "5 ms""#),
            (json!({"name": "codel", "target": 5}), r#"target: "5" has no unit; write e.g. "5 ms""#),
            (json!({"name": "codel", "targt": "5 ms"}), r#"unknown parameter "targt"; did you mean "target"?"#),
            (json!({"name": "codel", "target": ["5 ms"]}), "target: expected a single value, found a list"),
            (json!("fq(codle)"), r#"unknown AQM "codle"; did you mean "codel"?"#),
            (json!("fq(codel"), r#""fq(codel" has an unclosed bracket; write e.g. "fq(codel@act)""#),
            (json!("fq)codel("), r#""fq)codel(" has an unmatched closing bracket; remove it"#),
            (json!("fq(sfq)"), r#"sfq queues flows itself; write e.g. "fq(codel)""#),
            (json!("codel(pie)"), r#"codel takes no AQM in brackets; only fq does, e.g. "fq(codel@act)""#),
            (json!({"name": "fq(codel)", "tagret": "5 ms"}), r#"unknown parameter "tagret"; did you mean "target"?"#),
            (json!({"name": "fq(codel)", "target": "5"}), r#"target: "5" has no unit; write e.g. "5 ms""#),
            (json!("codel target 5ms target 6ms"), "target of codel is given twice; leave one of them out"),
            (json!("codel ecn noecn"), "ecn of codel is given twice; leave one of them out"),
            (json!("fq(codel target 5)"), r#"target: "5" has no unit; write e.g. "5 ms""#),
            (
                json!("fq(codel) target 5ms"),
                r#"unknown parameter "target"; expected one of limit, memory_limit, flows, divisor, perturb_period, quantum, scheduler, scaled_allot, hash, isolation, overflow, drop_batch, raise, depth, headdrop"#,
            ),
            (json!("fq_codel flows 0"), "flows = 0 is out of range; from 1 to 65536"),
            (json!("fq_codel flows 1000000000"), "flows = 1000000000 is out of range; from 1 to 65536"),
            (
                json!("fq_codel quantum 0B"),
                "quantum (0 B) must be positive: only the schedulers sfq and ns2 accept 0 (one packet per turn); write e.g. quantum 1514B",
            ),
            (json!("fq_codel limit 0"), "limit = 0 is out of range; from 1 to 1000000000"),
            (json!({"target": "5 ms"}), r#"name is missing; write e.g. { name = "codel" }"#),
            (json!({"name": 5}), "name: expected a text, found a number"),
            (json!(5), r#"expected a text such as "codel@act target 5ms", or a table, found a number"#),
        ] {
            assert_eq!(AqmSpec::read(&value).unwrap_err().to_string(), error, "{value}");
        }
    }
}
