//! Users' congestion controls by name: Python classes and shared libraries.

use crate::classes::ClassFinder;
use crate::control_class::PyControlClass;
use crate::error::AqmError;
use crate::manager::{exception_text, raise};
use pyo3::prelude::*;
use sojourn_library::control::Controls;
use sojourn_library::name::is_library;
use sojourn_sim::scenario::{ConfinedFolder, ControlArguments, Error, Files, Folder, Scenario};
use sojourn_tcp::cc::foreign::ControlDefinition;
use std::io::Read;
use std::path::Path;
use std::sync::Arc;

/// Files of a scenario, and the controls that they define; relative paths start from `base`.
pub struct UserFiles<'a> {
    base: &'a str,
    files: Box<dyn Files + Send + Sync + 'a>,
    has_kernel_names: bool,
}

impl<'a> UserFiles<'a> {
    /// Files in any folder, or if `confined` in `base` only.
    pub fn new(base: &'a str, confined: bool) -> Self {
        let folder = Path::new(base);
        let files: Box<dyn Files + Send + Sync> =
            if confined { Box::new(ConfinedFolder(folder)) } else { Box::new(Folder(folder)) };
        Self { base, files, has_kernel_names: false }
    }

    /// The same with the congestion controls of kernels, for scenarios that are not simulated from here.
    pub fn with_kernel_names(self) -> Self {
        Self { has_kernel_names: true, ..self }
    }

    /// The class called `name`.
    fn class(&self, name: &str, arguments: &ControlArguments) -> Result<Arc<dyn ControlDefinition>, String> {
        let found = Python::attach(|py| {
            let find = || -> PyResult<Result<Arc<dyn ControlDefinition>, String>> {
                let loader = py.import("sojourn.model.ccs.loading")?;
                match loader.call_method1("control_named", (name, self.base)) {
                    Ok(found) => Ok(found.cast_into::<PyControlClass>()?.get().definition(arguments)),
                    Err(error) if error.is_instance_of::<crate::error::InputError>(py) => {
                        Ok(Err(exception_text(py, &error)))
                    }
                    Err(error) => Err(error),
                }
            };
            raise(py, find)
        });
        // This text is never shown, because the pending exception takes precedence.
        found.unwrap_or_else(|| Err(format!("{name} cannot be loaded")))
    }

    fn library(&self, name: &str, arguments: &ControlArguments) -> Result<Arc<dyn ControlDefinition>, String> {
        ClassFinder::of(self.base).is_allowed(name).map_err(|error| error.to_string())?;
        let words;
        let pairs = match arguments {
            ControlArguments::Words(text) => {
                words = [("text".to_string(), text.to_string())];
                &words[..]
            }
            ControlArguments::Pairs(pairs) => pairs,
        };
        let found = Controls { base: Path::new(self.base) }.find(name, pairs);
        found.unwrap_or_else(|| Err(format!("{name} is not the name of a library")))
    }
}

impl Files for UserFiles<'_> {
    fn find(&self, name: &str) -> Result<String, String> {
        self.files.find(name)
    }

    fn open(&self, path: &str) -> Result<Box<dyn Read + '_>, String> {
        self.files.open(path)
    }

    fn has(&self, path: &str) -> bool {
        self.files.has(path)
    }

    fn control(&self, name: &str, arguments: &ControlArguments) -> Option<Result<Arc<dyn ControlDefinition>, String>> {
        if is_library(name) {
            return Some(self.library(name, arguments));
        }
        name.contains(':').then(|| self.class(name, arguments))
    }

    fn has_kernel_names(&self) -> bool {
        self.has_kernel_names
    }
}

/// A scenario with absolute paths that is not simulated from here: it may also name files of kernels.
///
/// # Errors
/// As [`parse_absolute`].
pub fn parse_described(text: &str) -> Result<Scenario, Error> {
    let files = UserFiles::new("/", false).with_kernel_names();
    Scenario::parse_among(text, &[], &files, &ClassFinder::of("/").with_kernel_names())
}

/// A scenario with absolute paths, which may name users' queue managers and congestion controls.
///
/// # Errors
/// As [`Scenario::parse`]; an exception of a class stays pending.
pub fn parse_absolute(text: &str) -> Result<Scenario, Error> {
    Scenario::parse_among(text, &[], &UserFiles::new("/", false), &ClassFinder::of("/"))
}

/// Fault of a control of `definitions`, as an exception.
pub fn check_control_faults<'a>(definitions: impl IntoIterator<Item = &'a Arc<dyn ControlDefinition>>) -> PyResult<()> {
    let fault = definitions.into_iter().find_map(|definition| definition.fault());
    fault.map_or(Ok(()), |text| Err(AqmError::new_err(text)))
}
