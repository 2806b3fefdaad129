//! Users' AQMs by name, in scenarios and wherever AQMs are named: Python classes, shared libraries and policy files.

use crate::class_params::{ClassParams, Declarations, ParamValues, check_init, leak};
use crate::error::{AqmError, input};
use crate::manager::{AqmClass, PyAqm, exception_text, raise};
use crate::values::{ParamValue, to_dict};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use sojourn_aqm::escape::unescape;
use sojourn_aqm::netem::Table;
use sojourn_aqm::params::{ConfigError, Param, Value, unknown};
use sojourn_aqm::registry::{
    Algorithm, AnyConfig, Catalogue, CustomAqm, CustomConfig, Effects, NamedConfig, QueueLayout, REGISTERED,
};
use sojourn_aqm::{Aqm, SingleQueue};
use sojourn_gym::{PREFIX, Policies};
use sojourn_library::foreign::Libraries;
use sojourn_library::name::is_library;
use sojourn_sim::scenario::{ConfinedFolder, Files, Folder, TableCatalogue};
use std::path::Path;
use std::sync::Mutex;

/// Catalogue of classes (`my_aqm.py:MyAqm`), libraries (`blue.so`) and policies; relative paths start from `base`.
pub struct ClassFinder<'a> {
    pub base: &'a str,
    /// Whether files outside `base` are rejected.
    pub confined: bool,
    /// Whether names of kernels' files are read, for scenarios that are not simulated from here.
    pub has_kernel_names: bool,
}

impl Catalogue for ClassFinder<'_> {
    fn find(&self, name: &str) -> Option<Result<&'static Algorithm, ConfigError>> {
        if let (true, Some(file)) = (self.confined, name.strip_prefix(PREFIX)) {
            if let Err(wrong) = ConfinedFolder(Path::new(self.base)).find(&unescape(file)) {
                return Some(Err(ConfigError::Catalogue(wrong)));
            }
        }
        if let found @ Some(_) = self.policies().find(name) {
            return found;
        }
        if is_library(name) {
            return self.is_allowed(name).map_or_else(|refusal| Some(Err(refusal)), |()| self.libraries().find(name));
        }
        if !name.contains(':') {
            return None;
        }
        let found = Python::attach(|py| {
            let find = || -> PyResult<Result<&'static Algorithm, ConfigError>> {
                let loader = py.import("sojourn.model.aqms.loading")?;
                match loader.call_method1("algorithm_named", (name, self.base)) {
                    Ok(found) => Ok(Ok(found.cast_into::<PyAlgorithm>()?.get().0)),
                    Err(error) if error.is_instance_of::<crate::error::InputError>(py) => {
                        Ok(Err(ConfigError::Catalogue(exception_text(py, &error))))
                    }
                    Err(error) => Err(error),
                }
            };
            raise(py, find)
        });
        // This text is never shown, because the pending exception takes precedence.
        Some(found.unwrap_or_else(|| Err(ConfigError::Catalogue(format!("{name} cannot be loaded")))))
    }

    fn table(&self, name: &str) -> Option<Result<&'static Table, ConfigError>> {
        let base = Path::new(self.base);
        let files: &dyn Files = if self.confined { &ConfinedFolder(base) } else { &Folder(base) };
        TableCatalogue { own: REGISTERED, files }.table(name)
    }

    fn has_kernel_names(&self) -> bool {
        self.has_kernel_names
    }
}

/// Catalogue of libraries and policies only; relative paths start from the current directory.
pub struct SharedLibraries;

impl Catalogue for SharedLibraries {
    fn find(&self, name: &str) -> Option<Result<&'static Algorithm, ConfigError>> {
        (is_library(name) || name.starts_with(PREFIX)).then(|| ClassFinder::of(".").find(name)).flatten()
    }

    fn table(&self, name: &str) -> Option<Result<&'static Table, ConfigError>> {
        ClassFinder::of(".").table(name)
    }
}

impl<'a> ClassFinder<'a> {
    /// A catalogue without restrictions.
    pub fn of(base: &'a str) -> Self {
        Self { base, confined: false, has_kernel_names: false }
    }

    /// The same with the queue managers of kernels.
    pub fn with_kernel_names(self) -> Self {
        Self { has_kernel_names: true, ..self }
    }

    fn policies(&self) -> Policies<'_> {
        Policies { base: Path::new(self.base) }
    }

    fn libraries(&self) -> Libraries<'_> {
        Libraries { base: Path::new(self.base) }
    }

    /// Checks whether code from the named file may run.
    pub fn is_allowed(&self, name: &str) -> Result<(), ConfigError> {
        let may_run = Python::attach(|py| {
            let ask = || py.import("sojourn.model.aqms.loading")?.call_method1("refuse_code", (name,)).map(drop);
            ask().map_err(|error: PyErr| exception_text(py, &error))
        });
        may_run.map_err(ConfigError::Catalogue)
    }
}

/// The configurations in `configs` that are of libraries.
pub fn foreign<'a>(configs: impl Iterator<Item = &'a AnyConfig>) -> Vec<AnyConfig> {
    let all = configs.flat_map(AnyConfig::each);
    all.filter(|config| matches!(config, AnyConfig::Foreign(_))).cloned().collect()
}

/// Fault of a library, as an exception.
pub fn check_fault<'a>(configs: impl IntoIterator<Item = &'a AnyConfig>) -> PyResult<()> {
    let fault = configs.into_iter().find_map(AnyConfig::fault);
    fault.map_or(Ok(()), |text| Err(AqmError::new_err(text)))
}

/// Rejects a qdisc whose effects on packets `host`, which only queues packets, does not support.
pub fn check_effects(config: &AnyConfig, host: &str) -> PyResult<()> {
    let can = Effects { reorders: true, ..Effects::default() };
    config.effects().check(host, can).map_err(|wrong| input(format!("aqm: {wrong}")))
}

/// Whether a configuration calls Python.
pub fn is_python(config: &AnyConfig) -> bool {
    config.each().iter().any(|config| matches!(config, AnyConfig::Custom(_)) && !config.name().starts_with(PREFIX))
}

/// A class as an algorithm. It lives as long as the program, like a registered one; there is one per class.
///
/// `params` are name and default of each parameter of `__init__`, and the words of a choice: a default's type, or the
/// unit in its text, gives the type of the parameter.
#[pyclass(name = "Algorithm", frozen, module = "sojourn._core")]
pub struct PyAlgorithm(&'static Algorithm);

#[pymethods]
impl PyAlgorithm {
    #[expect(clippy::too_many_arguments, reason = "keywords of Python")]
    #[new]
    fn new(
        name: &str,
        summary: &str,
        params: Declarations<'_>,
        make: Py<PyAny>,
        methods: Vec<String>,
        judges_overflow: bool,
    ) -> PyResult<Self> {
        let params = ClassParams::of(params)?;
        let (name, summary): (&'static str, &'static str) = (leak(name), leak(summary));
        let class = AqmClass { name, make, methods, judges_overflow, states: Mutex::default() };
        let (class, list): (&'static AqmClass, &'static [Param]) = (Box::leak(Box::new(class)), params.list);
        let configure = move |algorithm, profile: &str, given: &[(String, String)], _: &dyn Catalogue| {
            configure(class, algorithm, &params, profile, given)
        };
        let algorithm = Algorithm {
            name,
            summary,
            source: name,
            params: list,
            profiles: &[("plain", "its own defaults")],
            queues: QueueLayout::One,
            words: None,
            state_bytes: size_of::<PyAqm>(),
            queue_bytes: size_of::<SingleQueue<PyAqm, u32>>(),
            configure: Box::leak(Box::new(configure)),
        };
        Ok(Self(Box::leak(Box::new(algorithm))))
    }

    /// Shortest spelling with `params` set by name, and the values that an instance gets: ns, bytes, bit/s.
    fn configure<'py>(&self, py: Python<'py>, params: Vec<(String, String)>) -> PyResult<(String, Bound<'py, PyDict>)> {
        let named = NamedConfig::configure_with(self.0.name, "", &params, &[self.0]);
        let named = crate::error::check(py, named)?;
        let values: Vec<_> =
            self.0.params.iter().filter_map(|p| Some((p.name, ParamValue(named.config.value(p.name)?)))).collect();
        Ok((named.spelling(), to_dict(py, &values)?))
    }
}

/// A class and its parameters.
#[derive(Clone)]
struct Config {
    class: &'static AqmClass,
    params: ParamValues,
}

impl std::fmt::Debug for Config {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple(self.class.name).field(&self.params).finish()
    }
}

impl CustomConfig for Config {
    fn value(&self, param: &str) -> Option<Value> {
        self.params.iter().find(|(name, _)| *name == param).map(|(_, value)| value.0)
    }
    fn check(&self) -> Result<(), ConfigError> {
        check_init(self.class.name, &self.class.make, &self.params).map_err(ConfigError::Catalogue)
    }
    fn manager(&self) -> Box<dyn Aqm + Send> {
        Box::new(PyAqm::new(self.class, &self.params))
    }
    fn clone_box(&self) -> Box<dyn CustomConfig> {
        Box::new(self.clone())
    }
}

/// Reads parameters.
fn configure(
    class: &'static AqmClass,
    algorithm: &'static Algorithm,
    params: &ClassParams,
    profile: &str,
    given: &[(String, String)],
) -> Result<AnyConfig, ConfigError> {
    if !["", algorithm.profiles[0].0].contains(&profile) {
        return Err(ConfigError::Unknown(unknown(
            "profile",
            profile,
            algorithm.profiles.iter().map(|&(name, _)| name),
        )));
    }
    let params = params.values(given)?;
    Ok(AnyConfig::Custom(CustomAqm::new(algorithm, Box::new(Config { class, params }))))
}
