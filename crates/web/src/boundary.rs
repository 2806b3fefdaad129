//! The functions that the module exports. A caller asks for room ([`sojourn_room`]), writes into it, and calls
//! [`sojourn_file`] or [`sojourn_call`]; the answer lies at [`sojourn_answer`] until the next call.
//!
//! What is shared is the memory of the module alone, so nothing here is unsafe but the names, which another function of the
//! program could have as well.
#![allow(unsafe_code)]

use crate::reply::Reply;
use crate::request::RequestError;
use crate::session::Session;
use serde_json::{Value, json};
use std::cell::RefCell;
use std::panic;

thread_local! {
    static BORDER: RefCell<Boundary> = RefCell::default();
}

/// What the caller and the module share.
#[derive(Default)]
struct Boundary {
    buffer: Vec<u8>,
    session: Session,
    /// The last answer; its columns stay where they are until the next one.
    reply: Reply,
    answer: String,
}

/// Room for so many bytes that the caller is going to write.
#[unsafe(no_mangle)]
pub extern "C" fn sojourn_room(bytes: usize) -> *mut u8 {
    BORDER.with_borrow_mut(|border| {
        border.buffer = vec![0; bytes];
        border.buffer.as_mut_ptr()
    })
}

/// What was written, `name_bytes` of a name and then the data, is a file that scenarios may name from now on.
#[unsafe(no_mangle)]
pub extern "C" fn sojourn_file(name_bytes: usize) {
    BORDER.with_borrow_mut(|border| {
        let mut name = std::mem::take(&mut border.buffer);
        let data = name.split_off(name_bytes.min(name.len()));
        border.session.add_file(String::from_utf8_lossy(&name).into_owned(), data);
    });
}

/// What was written is a request in JSON; the length of the answer.
#[unsafe(no_mangle)]
pub extern "C" fn sojourn_call() -> usize {
    panic::set_hook(Box::new(|fault| note(json!({ "fault": fault.to_string() }))));
    BORDER.with_borrow_mut(|border| {
        let request = std::mem::take(&mut border.buffer);
        let request_json = serde_json::from_slice(&request).map_err(|wrong| RequestError(format!("request: {wrong}")));
        let (value, places) = match request_json.and_then(|request: Value| border.session.call(&request)) {
            Ok(reply) => {
                border.reply = reply;
                (json!({ "value": border.reply.value }), border.reply.places())
            }
            Err(RequestError(text)) => (json!({ "problem": text }), Vec::new()),
        };
        let mut answer = value;
        answer["columns"] = places.into();
        border.answer = answer.to_string();
        border.answer.len()
    })
}

/// Where the answer lies, in UTF-8.
#[unsafe(no_mangle)]
pub extern "C" fn sojourn_answer() -> *const u8 {
    FAULT.with_borrow(|fault| match fault.as_str() {
        "" => BORDER.with_borrow(|border| border.answer.as_ptr()),
        fault => fault.as_ptr(),
    })
}

/// The length of what is said about a fault of the program itself, after which the module cannot go on; 0 without one.
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
