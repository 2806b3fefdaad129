//! AQMs written in Python, under the same qdiscs as built-in AQMs.
//!
//! An exception stays pending in the interpreter, as in a C extension. While one is pending, no method is called; the
//! host checks after each of its steps and stops (`error::check`).

use crate::error::AqmError;
use crate::values::{ParamValue, to_dict};
use crate::views::{CxView, FifoView, LimitsView, LinkView, MetaView};
use pyo3::exceptions::{PyKeyboardInterrupt, PyTypeError, PyValueError};
use pyo3::panic::PanicException;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString, PyTuple};
use sojourn_aqm::{Aqm, Cx, Fifo, Instant, Lifecycle, Limits, Link, Meta, PoppedPacket, Timer, Verdict};
use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

/// A user's class, shared by all its instances.
pub struct AqmClass {
    /// Name as in scenario files: `/path/my_aqm.py:MyAqm`.
    pub name: &'static str,
    /// Callable that creates an instance from a dictionary of parameters.
    pub make: Py<PyAny>,
    /// Methods that the class defines; others are not called.
    pub methods: Vec<String>,
    /// See [`Aqm::judges_overflow`].
    pub judges_overflow: bool,
    /// Names of state variables seen so far.
    pub states: Mutex<Vec<&'static str>>,
}

impl AqmClass {
    /// Creates an instance.
    fn instance<'py>(&self, py: Python<'py>, params: &Bound<'py, PyDict>) -> PyResult<Bound<'py, PyAny>> {
        self.make.bind(py).call1((params,)).map_err(|error| explain(py, self.name, error, ("__init__", None)))
    }

    /// Interned name of a state variable, leaked once per class.
    fn state(&self, name: &str) -> PyResult<&'static str> {
        let mut known = self.states.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(found) = known.iter().find(|known| **known == name) {
            return Ok(found);
        }
        if known.len() == MAX_STATES {
            return Err(PyValueError::new_err(format!("observe returned more than {MAX_STATES} different names")));
        }
        known.push(Box::leak(name.into()));
        Ok(known[known.len() - 1])
    }
}

/// The AQM of one queue.
pub struct PyAqm {
    class: &'static AqmClass,
    object: Option<AqmInstance>,
    next_update: Option<Instant>,
}

/// An instance, with the objects that its calls reuse.
struct AqmInstance {
    instance: Py<PyAny>,
    cx: Py<CxView>,
    queue: Py<FifoView>,
    enqueue: Option<Py<PyAny>>,
    dequeue: Option<(Py<PyAny>, Py<PyTuple>)>,
    next_update: Option<Py<PyAny>>,
    update: Option<Py<PyAny>>,
    overflowed: Option<Py<PyAny>>,
    emptied: Option<(Py<PyAny>, Py<PyTuple>)>,
    shed: Option<Py<PyAny>>,
    unscheduled: Option<Py<PyAny>>,
}

impl PyAqm {
    /// Creates an AQM with its own instance.
    pub fn new(class: &'static AqmClass, params: &[(&'static str, ParamValue)]) -> Self {
        let object = Python::attach(|py| {
            let make = || AqmInstance::new(py, class, &to_dict(py, params)?);
            raise(py, || make().map_err(|error| explain(py, class.name, error, ("__init__", None))))
        });
        Self { class, object, next_update: None }
    }

    /// Calls a method unless an exception is pending; an exception of the method becomes pending.
    #[inline]
    fn call<R>(
        &self,
        method: &str,
        now: Option<Instant>,
        call: impl FnOnce(Python<'_>, &AqmInstance) -> PyResult<R>,
    ) -> Option<R> {
        let object = self.object.as_ref()?;
        Python::attach(|py| {
            raise(py, || call(py, object).map_err(|error| explain(py, self.class.name, error, (method, now))))
        })
    }

    /// Queries when the next update is due; `last` is the time of the previous one.
    fn schedule(&mut self, last: Option<Instant>) {
        let next = self.call("next_update", last, |py, object| {
            let Some(method) = &object.next_update else { return Ok(None) };
            let next: Option<u64> = method.call0(py)?.extract(py)?;
            match (next.map(Instant::from_nanos), last) {
                (Some(next), Some(last)) if next <= last => Err(PyValueError::new_err(format!(
                    "{} ns is not after the update at {} ns",
                    next.as_nanos(),
                    last.as_nanos()
                ))),
                (next, _) => Ok(next),
            }
        });
        self.next_update = next.flatten();
    }
}

impl AqmInstance {
    fn new(py: Python<'_>, class: &AqmClass, params: &Bound<'_, PyDict>) -> PyResult<Self> {
        let instance = class.instance(py, params)?;
        let method = |name: &str| {
            let defined = class.methods.iter().any(|method| method == name);
            defined.then(|| instance.getattr(name).map(Bound::unbind)).transpose()
        };
        let cx = Py::new(py, CxView::new())?;
        let queue = Py::new(py, FifoView::new())?;
        let with_cx = |f: Py<PyAny>| Ok::<_, PyErr>((f, PyTuple::new(py, [cx.clone_ref(py)])?.unbind()));
        let with_queue = |f: Py<PyAny>| {
            Ok::<_, PyErr>((
                f,
                PyTuple::new(py, [cx.clone_ref(py).into_any(), queue.clone_ref(py).into_any()])?.unbind(),
            ))
        };
        Ok(Self {
            enqueue: method("enqueue")?,
            dequeue: method("dequeue")?.map(with_queue).transpose()?,
            next_update: method("next_update")?,
            update: method("update")?,
            overflowed: method("overflowed")?,
            emptied: method("emptied")?.map(with_cx).transpose()?,
            shed: method("shed")?,
            unscheduled: method("unscheduled")?,
            instance: instance.unbind(),
            cx,
            queue,
        })
    }

    /// Lends `cx` to `call`.
    #[inline]
    fn with_cx<R>(&self, py: Python<'_>, cx: &mut Cx, call: impl FnOnce() -> PyResult<R>) -> PyResult<R> {
        self.cx.try_borrow_mut(py)?.open(cx);
        let result = call();
        self.cx.try_borrow_mut(py)?.close(cx);
        result
    }
}

impl Aqm for PyAqm {
    fn attach(&mut self, limits: &Limits, link: Link) {
        if self.class.methods.iter().any(|method| method == "attach") {
            self.call("attach", None, |py, object| {
                let arguments = (LimitsView(*limits), LinkView(link));
                object.instance.call_method1(py, "attach", arguments)
            });
        }
        self.schedule(None);
    }

    fn enqueue(&mut self, cx: &mut Cx, meta: &Meta, queue: &mut dyn Fifo) -> Verdict {
        let judged = self.call("enqueue", Some(cx.now), |py, object| {
            let Some(method) = &object.enqueue else { return Ok(Verdict::Accept) };
            object.with_cx(py, cx, || {
                let call = || method.bind(py).call1((&object.cx, MetaView(*meta), &object.queue));
                verdict(&object.queue.get().on_arrival(queue, call)?)
            })
        });
        judged.unwrap_or(Verdict::Accept)
    }

    fn dequeue(&mut self, cx: &mut Cx, queue: &mut dyn Fifo) -> Option<PoppedPacket> {
        let mut popped = None;
        let plain = self.call("dequeue", Some(cx.now), |py, object| {
            let Some((method, arguments)) = &object.dequeue else { return Ok(true) };
            object.with_cx(py, cx, || {
                let result;
                (result, popped) = object.queue.get().on_departure(queue, || method.bind(py).call1(arguments.bind(py)));
                result?;
                match queue.len() {
                    left @ 1.. if popped.is_none() => Err(PyValueError::new_err(format!(
                        "{left} packets are queued but none was taken; end with return queue.pop()"
                    ))),
                    _ => Ok(false),
                }
            })
        });
        if plain == Some(true) { queue.pop() } else { popped }
    }

    fn timer(&mut self) -> Option<&mut dyn Timer> {
        Some(self)
    }

    fn lifecycle(&mut self) -> Option<&mut dyn Lifecycle> {
        Some(self)
    }

    fn observe(&self, see: &mut dyn FnMut(&'static str, f64)) {
        if !self.class.methods.iter().any(|method| method == "observe") {
            return;
        }
        let state = self.call("observe", None, |py, object| {
            let state: BTreeMap<String, f64> = object.instance.call_method0(py, "observe")?.extract(py)?;
            state.into_iter().map(|(name, value)| Ok((self.class.state(&name)?, value))).collect::<PyResult<Vec<_>>>()
        });
        state.into_iter().flatten().for_each(|(name, value)| see(name, value));
    }
}

impl Timer for PyAqm {
    fn next_update(&mut self) -> Option<Instant> {
        self.next_update
    }

    fn update(&mut self, at: Instant, cx: &mut Cx) {
        self.call("update", Some(at), |py, object| {
            let Some(method) = &object.update else { return Ok(()) };
            object.with_cx(py, cx, || method.bind(py).call1((at.as_nanos(), &object.cx)).map(drop))
        });
        self.schedule(Some(at));
    }
}

impl Lifecycle for PyAqm {
    fn judges_overflow(&mut self) -> bool {
        self.class.judges_overflow
    }

    fn overflowed(&mut self, cx: &mut Cx, meta: &Meta) {
        self.call("overflowed", Some(cx.now), |py, object| {
            let Some(method) = &object.overflowed else { return Ok(()) };
            object.with_cx(py, cx, || method.bind(py).call1((&object.cx, MetaView(*meta))).map(drop))
        });
    }

    fn emptied(&mut self, cx: &mut Cx) {
        self.call("emptied", Some(cx.now), |py, object| {
            let Some((method, arguments)) = &object.emptied else { return Ok(()) };
            object.with_cx(py, cx, || method.bind(py).call1(arguments.bind(py)).map(drop))
        });
    }

    fn shed(&mut self, cx: &mut Cx, n: u32) {
        self.call("shed", Some(cx.now), |py, object| {
            let Some(method) = &object.shed else { return Ok(()) };
            object.with_cx(py, cx, || method.bind(py).call1((&object.cx, n)).map(drop))
        });
    }

    fn unscheduled(&mut self) {
        self.call("unscheduled", None, |py, object| match &object.unscheduled {
            Some(method) => method.call0(py).map(drop),
            None => Ok(()),
        });
    }
}

/// Adds the location to an exception, even to one that would end the program, such as SystemExit. KeyboardInterrupt
/// and Rust panics pass unchanged.
pub fn explain(py: Python<'_>, class: &str, error: PyErr, (method, now): (&str, Option<Instant>)) -> PyErr {
    let stays = error.is_instance_of::<PyKeyboardInterrupt>(py) || error.is_instance_of::<PanicException>(py);
    if stays || error.is_instance_of::<AqmError>(py) {
        return error;
    }
    let at = now.map_or(String::new(), |now| format!(" at {} s", now.as_secs_f64()));
    let line = last_line(py, &error).map_or(String::new(), |line| format!(", line {line}"));
    let kind = error.get_type(py).name().map_or_else(|_| "exception".to_string(), |name| name.to_string());
    let said = exception_text(py, &error);
    let said: Vec<&str> = std::iter::once(kind.as_str()).chain(said.lines().map(str::trim)).collect();
    let explained = AqmError::new_err(format!("{}: {method}{at}{line}: {}", class, said.join(": ")));
    explained.set_cause(py, Some(error));
    explained
}

/// Runs `act` unless an exception is pending; an exception of its own becomes pending.
#[inline]
pub fn raise<R>(py: Python<'_>, act: impl FnOnce() -> PyResult<R>) -> Option<R> {
    if PyErr::occurred(py) {
        return None;
    }
    act().map_err(|error| error.restore(py)).ok()
}

fn verdict(answer: &Bound<'_, PyAny>) -> PyResult<Verdict> {
    if answer.is_none() {
        return Ok(Verdict::Accept);
    }
    let word = answer.cast::<PyString>().ok().map(|text| text.to_cow()).transpose()?;
    match word.as_deref() {
        Some("accept") => Ok(Verdict::Accept),
        Some("mark") => Ok(Verdict::Mark),
        Some("drop") => Ok(Verdict::Drop),
        _ => Err(PyTypeError::new_err(format!(
            r#"{} is not a verdict; return "accept", "mark" or "drop""#,
            answer.repr()?
        ))),
    }
}

/// Message of an exception, or a note that its class failed to give it.
pub fn exception_text(py: Python<'_>, error: &PyErr) -> String {
    text(py, error).unwrap_or_else(|| "its message cannot be read".to_string())
}

pub fn text(py: Python<'_>, error: &PyErr) -> Option<String> {
    error.value(py).str().ok().map(|text| text.to_string_lossy().into_owned())
}

/// Line number of an exception, in the innermost function.
fn last_line(py: Python<'_>, error: &PyErr) -> Option<u32> {
    let mut traceback = error.traceback(py)?.into_any();
    while let Ok(next) = traceback.getattr("tb_next") {
        if next.is_none() {
            break;
        }
        traceback = next;
    }
    traceback.getattr("tb_lineno").ok()?.extract().ok()
}

/// Maximum number of state variables of a class.
const MAX_STATES: usize = 64;
