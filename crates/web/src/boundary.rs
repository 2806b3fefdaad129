//! Functions that the module exports. A caller allocates a buffer ([`sojourn_room`]), fills it, and calls
//! [`sojourn_file`] or [`sojourn_call`]; the response is at [`sojourn_answer`] until the next call.
//!
//! Only the module's own memory is shared. `no_mangle` is the only unsafe code, because another symbol of the program
//! could have the same name.
#![allow(unsafe_code)]

use crate::reply::Reply;
use crate::request::RequestError;
use crate::session::Session;
use serde_json::{Value, json};
use std::cell::RefCell;
use std::panic;

thread_local! {
    static BOUNDARY: RefCell<Boundary> = RefCell::default();
}

/// State shared by the caller and the module.
#[derive(Default)]
struct Boundary {
    buffer: Vec<u8>,
    session: Session,
    /// Last response; its columns do not move until the next one.
    reply: Reply,
    answer: String,
}

/// Allocates a buffer of `bytes` for the caller to fill.
#[unsafe(no_mangle)]
pub extern "C" fn sojourn_room(bytes: usize) -> *mut u8 {
    BOUNDARY.with_borrow_mut(|boundary| {
        boundary.buffer = vec![0; bytes];
        boundary.buffer.as_mut_ptr()
    })
}

/// Adds a file that scenarios can refer to. The buffer holds the name, `name_bytes` long, and then the data.
#[unsafe(no_mangle)]
pub extern "C" fn sojourn_file(name_bytes: usize) {
    BOUNDARY.with_borrow_mut(|boundary| {
        let mut name = std::mem::take(&mut boundary.buffer);
        let data = name.split_off(name_bytes.min(name.len()));
        boundary.session.add_file(String::from_utf8_lossy(&name).into_owned(), data);
    });
}

/// Handles the JSON request in the buffer; returns the length of the response.
#[unsafe(no_mangle)]
pub extern "C" fn sojourn_call() -> usize {
    panic::set_hook(Box::new(|fault| note(json!({ "fault": fault.to_string() }))));
    BOUNDARY.with_borrow_mut(|boundary| {
        let request = std::mem::take(&mut boundary.buffer);
        let request_json = serde_json::from_slice(&request).map_err(|wrong| RequestError(format!("request: {wrong}")));
        let (value, pointers) = match request_json.and_then(|request: Value| boundary.session.call(&request)) {
            Ok(reply) => {
                boundary.reply = reply;
                (json!({ "value": boundary.reply.value }), boundary.reply.pointers())
            }
            Err(RequestError(text)) => (json!({ "problem": text }), Vec::new()),
        };
        let mut answer = value;
        answer["columns"] = pointers.into();
        boundary.answer = answer.to_string();
        boundary.answer.len()
    })
}

/// Address of the response, in UTF-8.
#[unsafe(no_mangle)]
pub extern "C" fn sojourn_answer() -> *const u8 {
    FAULT.with_borrow(|fault| match fault.as_str() {
        "" => BOUNDARY.with_borrow(|boundary| boundary.answer.as_ptr()),
        fault => fault.as_ptr(),
    })
}

/// Length of the report of a panic, after which the module is unusable; 0 without one. The report is at
/// [`sojourn_answer`].
#[unsafe(no_mangle)]
pub extern "C" fn sojourn_fault() -> usize {
    FAULT.with_borrow(String::len)
}

thread_local! {
    static FAULT: RefCell<String> = RefCell::default();
}

fn note(fault: Value) {
    FAULT.with_borrow_mut(|text| *text = fault.to_string());
}
