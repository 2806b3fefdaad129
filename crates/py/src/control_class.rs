//! Congestion controls written in Python, behind the calls of users' controls.
//!
//! As with queue managers, an exception stays pending in the interpreter, no further call is made, and the host ends the
//! run after its step.

use crate::class_params::{ClassParams, Declarations, ParamValues, check_init, leak};
use crate::control_views::{AckObject, FlightObject, LossObject, STATES, SampleObject};
use crate::error::input;
use crate::manager::{exception_text, explain, raise};
use crate::values::to_dict;
use pyo3::exceptions::{PyOverflowError, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};
use sojourn_aqm::params::unknown;
use sojourn_aqm::{Instant, param_list};
use sojourn_library::control::abi::NEEDS;
use sojourn_sim::scenario::ControlArguments;
use sojourn_tcp::cc::Needs;
use sojourn_tcp::cc::foreign::{
    Call, CallKind, CallSet, CongestionCause, ControlDefinition, ControlHost, Fault, FlightView, ForeignControl,
    SsthreshCause,
};
use std::sync::{Arc, OnceLock};

/// A user's class as a congestion control. It lives as long as the program; there is one per class.
#[derive(Debug)]
struct ControlClass {
    /// Name as in scenario files: `/path/my_cc.py:Mine`.
    name: &'static str,
    /// Callable that creates an instance from a dictionary of parameters.
    make: Py<PyAny>,
    /// `copy.deepcopy`.
    copy: Py<PyAny>,
    params: ClassParams,
    calls: CallSet,
    needs: Needs,
    /// Whether `ssthresh` takes the cause of the reduction.
    distinguishes_causes: bool,
}

/// A class as a congestion control.
///
/// `params` are name and default of each parameter of `__init__`, and the words of a choice; `methods_and_needs` the
/// methods that the class defines, and the names of services beyond them.
#[pyclass(name = "ControlClass", frozen, module = "sojourn._core")]
pub struct PyControlClass(&'static ControlClass);

#[pymethods]
impl PyControlClass {
    #[new]
    fn new(
        py: Python<'_>,
        name: &str,
        params: Declarations<'_>,
        make: Py<PyAny>,
        methods_and_needs: (Vec<String>, Vec<String>),
    ) -> PyResult<Self> {
        let (methods, needs) = methods_and_needs;
        let calls: Vec<CallKind> =
            CallKind::ALL.iter().copied().filter(|kind| methods.iter().any(|name| name == kind.name())).collect();
        let has = |kind: CallKind| calls.contains(&kind);
        let mut found = Needs {
            steers: has(CallKind::Ack),
            samples: has(CallKind::Delivered),
            reports: has(CallKind::Report),
            losses: has(CallKind::Lost) || has(CallKind::Repaired),
            sent: has(CallKind::Sent),
            flight: true,
            ..Needs::NONE
        };
        let mut distinguishes_causes = false;
        for need in &needs {
            let known = NEEDS.iter().find(|(name, _)| name.eq_ignore_ascii_case(need));
            match known {
                Some((_, Some(field))) => *field(&mut found) = true,
                Some((_, None)) => distinguishes_causes = true,
                None => {
                    let names: Vec<String> = NEEDS.iter().map(|(name, _)| name.to_lowercase()).collect();
                    return Err(input(unknown("need", need, names.iter().map(String::as_str))));
                }
            }
        }
        let class = ControlClass {
            name: leak(name),
            make,
            copy: py.import("copy")?.getattr("deepcopy")?.unbind(),
            params: ClassParams::of(params)?,
            calls: CallSet::of(calls),
            needs: found,
            distinguishes_causes,
        };
        Ok(Self(Box::leak(Box::new(class))))
    }

    /// Shortest spelling with `params` set by name, and the values that an instance gets: ns, bytes, bit/s.
    fn configure<'py>(&self, py: Python<'py>, params: Vec<(String, String)>) -> PyResult<(String, Bound<'py, PyDict>)> {
        let values = self.0.values(&ControlArguments::Pairs(&params)).map_err(input)?;
        Ok((self.0.spelling(&values), to_dict(py, &values)?))
    }
}

impl PyControlClass {
    /// The control with its parameters.
    ///
    /// # Errors
    /// If a parameter is unknown or wrong, or `__init__` refuses the values; with an exception pending, the text counts
    /// for nothing.
    pub fn definition(&self, arguments: &ControlArguments) -> Result<Arc<dyn ControlDefinition>, String> {
        let class = self.0;
        let params = class.values(arguments)?;
        check_init(class.name, &class.make, &params)?;
        let spelling = class.spelling(&params);
        Ok(Arc::new(Definition { class, params, spelling, fault: OnceLock::new() }))
    }
}

impl ControlClass {
    /// Values of all parameters.
    fn values(&self, arguments: &ControlArguments) -> Result<ParamValues, String> {
        let pairs = arguments.pairs(self.name, self.params.list).map_err(|error| error.to_string())?;
        self.params.values(&pairs).map_err(|error| error.to_string())
    }

    fn spelling(&self, values: &ParamValues) -> String {
        param_list::spell(self.name, self.params.changed(values))
    }
}

/// A class and its parameters.
#[derive(Debug)]
struct Definition {
    class: &'static ControlClass,
    params: ParamValues,
    spelling: String,
    fault: OnceLock<String>,
}

impl ControlDefinition for Definition {
    fn spelling(&self) -> &str {
        &self.spelling
    }

    fn needs(&self) -> Needs {
        self.class.needs
    }

    fn calls(&self) -> CallSet {
        self.class.calls
    }

    fn distinguishes_causes(&self) -> bool {
        self.class.distinguishes_causes
    }

    fn needs_interpreter(&self) -> bool {
        true
    }

    fn create(&self, host: &ControlHost) -> Result<Box<dyn ForeignControl>, Fault> {
        let class = self.class;
        let control = Python::attach(|py| {
            let make = || {
                let instance = class.make.bind(py).call1((to_dict(py, &self.params)?,))?;
                PyControl::new(class, instance, FlightObject::new(host))
            };
            raise(py, || make().map_err(|error| explain(py, class.name, error, ("__init__", None))))
        });
        control.map(|control| Box::new(control) as _).ok_or(Fault::Pending)
    }

    fn record_fault(&self, text: String) {
        // The first one counts.
        let _ = self.fault.set(text);
    }

    fn fault(&self) -> Option<String> {
        self.fault.get().cloned()
    }
}

/// The control of a connection: an instance, with the objects that its calls reuse.
#[derive(Debug)]
struct PyControl {
    class: &'static ControlClass,
    instance: Py<PyAny>,
    methods: [Option<Py<PyAny>>; CallKind::ALL.len()],
    cx: Py<FlightObject>,
    /// Arguments of methods that take `cx` only.
    alone: Py<PyTuple>,
}

impl PyControl {
    fn new(class: &'static ControlClass, instance: Bound<'_, PyAny>, cx: FlightObject) -> PyResult<Self> {
        let py = instance.py();
        let mut methods = [const { None }; CallKind::ALL.len()];
        for kind in CallKind::ALL.iter().filter(|kind| class.calls.has(**kind)) {
            methods[*kind as usize] = Some(instance.getattr(kind.name())?.unbind());
        }
        let cx = Py::new(py, cx)?;
        let alone = PyTuple::new(py, [cx.clone_ref(py)])?.unbind();
        Ok(Self { class, instance: instance.unbind(), methods, cx, alone })
    }

    /// Calls the method, with `cx` opened around it.
    fn invoke(&self, py: Python<'_>, call: Call, view: &mut FlightView) -> PyResult<u32> {
        let Some(method) = &self.methods[call.kind() as usize] else { return Ok(0) };
        self.cx.try_borrow_mut(py)?.open(view);
        let result = self.call_method(py, method.bind(py), call);
        *view = self.cx.try_borrow_mut(py)?.close();
        value_of(call, &result?)
    }

    fn call_method<'py>(&self, py: Python<'py>, method: &Bound<'py, PyAny>, call: Call) -> PyResult<Bound<'py, PyAny>> {
        let cx = &self.cx;
        match call {
            Call::Ssthresh(cause) if self.class.distinguishes_causes => {
                method.call1((cx, SSTHRESH_CAUSES[cause as usize]))
            }
            Call::Ssthresh(SsthreshCause::Reduction) => method.call1(self.alone.bind(py)),
            Call::Ssthresh(_) => Ok(py.None().into_bound(py)),
            Call::Grow(ack) | Call::Acked(ack) | Call::Report(ack) => method.call1((cx, AckObject(ack))),
            Call::Delivered(counts) => method.call1((cx, counts.packets, counts.ce)),
            Call::State(entered) => method.call1((cx, STATES[entered as usize])),
            Call::Idle(last_sent) => method.call1((cx, (last_sent >= 0).then_some(last_sent))),
            Call::Reduced | Call::TimedOut | Call::Undo | Call::MinCwnd | Call::Start => {
                method.call1(self.alone.bind(py))
            }
            Call::Ack(sample) => method.call1((cx, SampleObject(sample))),
            Call::Lost(loss) => method.call1((cx, LossObject(loss))),
            Call::Repaired(app_limited) => method.call1((cx, app_limited != 0)),
            Call::Congestion(cause) => method.call1((cx, congestion(cause))),
            Call::Sent(bytes) => method.call1((cx, bytes)),
        }
    }
}

impl ForeignControl for PyControl {
    fn call(&mut self, call: Call, view: &mut FlightView) -> Result<u32, Fault> {
        let now = Instant::from_nanos(view.now.max(0) as u64);
        let (class, method) = (self.class.name, call.kind().name());
        let value = Python::attach(|py| {
            raise(py, || self.invoke(py, call, view).map_err(|error| explain(py, class, error, (method, Some(now)))))
        });
        value.ok_or(Fault::Pending)
    }

    fn copy(&self) -> Result<Box<dyn ForeignControl>, Fault> {
        let copied = Python::attach(|py| -> Result<Self, String> {
            let make = || {
                let instance = self.class.copy.bind(py).call1((&self.instance,))?;
                Self::new(self.class, instance, self.cx.try_borrow(py)?.copy())
            };
            make().map_err(|error| format!("copy.deepcopy: {}", exception_text(py, &error)))
        });
        copied.map(|control| Box::new(control) as _).map_err(Fault::Text)
    }
}

/// Value of a call: a whole number of segments, or 0 if the call has none.
fn value_of(call: Call, result: &Bound<'_, PyAny>) -> PyResult<u32> {
    let needs_value = matches!(call, Call::Ssthresh(_) | Call::Undo | Call::MinCwnd);
    match (needs_value, result.is_none()) {
        (true, true) if matches!(call, Call::Ssthresh(SsthreshCause::Loss | SsthreshCause::TimeOut)) => Ok(0),
        (true, _) => result.extract().map_err(|error: PyErr| {
            let py = result.py();
            if !error.is_instance_of::<PyTypeError>(py) && !error.is_instance_of::<PyOverflowError>(py) {
                return error;
            }
            let shown = result.repr().map_or_else(|_| "the result".to_string(), |text| text.to_string());
            PyTypeError::new_err(format!("{shown} is not a number of segments; return a whole number such as 10"))
        }),
        (false, true) => Ok(0),
        (false, false) => Err(PyTypeError::new_err("returns a value that nobody takes; set cx.cwnd or another field")),
    }
}

/// Names of the occasions of `ssthresh`.
const SSTHRESH_CAUSES: [&str; 3] = ["reduction", "loss", "timeout"];

fn congestion(cause: CongestionCause) -> &'static str {
    match cause {
        CongestionCause::Loss => "loss",
        CongestionCause::Ecn => "ecn",
        CongestionCause::TimeOut => "timeout",
        CongestionCause::Persistent => "persistent",
    }
}
