//! Parameters of a control by name, without the type that holds them.

use sojourn_aqm::params::{Config, ConfigError, Param, Value, unknown};

/// Values of parameters as text, by name.
type Texts = [(String, String)];
/// Values by name.
type Values = Vec<(&'static str, Value)>;

/// The parameters of a control `C`.
#[derive(Clone, Copy, Debug)]
pub struct Params<C> {
    /// Descriptions, in the order of the docs page.
    pub list: &'static [Param],
    /// Default of a parameter in [`Self::list`].
    pub default: fn(&str) -> Option<Value>,
    control: fn(&Texts) -> Result<C, ConfigError>,
    changed: fn(&Texts) -> Result<Values, ConfigError>,
}

impl<C> Params<C> {
    /// The parameters that the fields of `P` hold.
    pub const fn of<P: Config>() -> Self
    where
        C: From<P>,
    {
        Self {
            list: P::PARAMS,
            default: |name| P::default().value(name),
            control: |params| config::<P>(params).map(C::from),
            changed: |params| config::<P>(params).map(|config| changed(&config)),
        }
    }

    /// The control in its initial state, with `params` set by name.
    pub(super) fn control(&self, params: &Texts) -> Result<C, ConfigError> {
        (self.control)(params)
    }

    /// The parameters of `params` whose values differ from their defaults, in the order of [`Self::list`].
    pub(super) fn changed(&self, params: &Texts) -> Result<Values, ConfigError> {
        (self.changed)(params)
    }
}

impl<C: Default> Params<C> {
    /// A control without parameters.
    pub const NONE: Self = Self {
        list: &[],
        default: |_| None,
        control: |params| no_params(params).map(|()| C::default()),
        changed: |params| no_params(params).map(|()| Vec::new()),
    };
}

fn config<P: Config>(params: &Texts) -> Result<P, ConfigError> {
    let mut config = P::default();
    for (name, text) in params {
        config.set(name, text)?;
    }
    config.validate()?;
    Ok(config)
}

fn changed<P: Config>(config: &P) -> Values {
    let plain = P::default();
    let values = P::PARAMS.iter().filter_map(|param| Some((param.name, config.value(param.name)?)));
    values.filter(|&(name, value)| plain.value(name) != Some(value)).collect()
}

fn no_params(params: &Texts) -> Result<(), ConfigError> {
    match params.first() {
        Some((name, _)) => Err(ConfigError::Unknown(unknown("parameter", name, std::iter::empty()))),
        None => Ok(()),
    }
}

/// Text of a control with `params` in tc's spelling, as [`NamedConfig::spelling`](sojourn_aqm::registry::NamedConfig)
/// spells a queue manager.
pub(super) fn spelling(name: &str, params: &[(&'static str, Value)]) -> String {
    params.iter().fold(name.to_string(), |text, (name, value)| match value {
        Value::Flag(true) => format!("{text} {name}"),
        Value::Flag(false) => format!("{text} no{name}"),
        value => format!("{text} {name} {}", value.to_string().replace(' ', "")),
    })
}

/// Upper limit of the parameters that are an `int` of the kernel.
pub(super) const INT_MAX: Value = Value::Count(i32::MAX as u64);
