//! Packets per CPU second of this crate as a native program, on the scenarios of `tests/web/speed.json`.
//! `tests/web/speed.mjs` measures the same with the WebAssembly module.

use serde_json::{Map, Value, json};
use sojourn_web::session::Session;
use std::fs;

fn main() {
    let scenarios = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/web/speed.json");
    let scenarios: Map<String, Value> =
        serde_json::from_str(&fs::read_to_string(scenarios).expect("the scenarios are there")).expect("they are JSON");
    for (name, text) in scenarios {
        measure(&text);
        let mut rates: Vec<f64> = (0..5).map(|_| measure(&text)).collect();
        rates.sort_by(f64::total_cmp);
        println!("{name}: {:.0} packets per CPU-s ({rates:.0?})", rates[2]);
    }
}

fn measure(text: &Value) -> f64 {
    let mut session = Session::default();
    let mut request = |body: Value| session.call(&body).expect("it can run").value;
    request(json!({ "op": "open", "text": text, "packets": false }));
    let before = cpu_s();
    let finished = request(json!({ "op": "finish" }));
    finished["summary"]["links"]["forward"]["packets"].as_f64().expect("it is a number") / (cpu_s() - before)
}

/// CPU seconds of this thread, from Linux's nanosecond counter.
fn cpu_s() -> f64 {
    let text = fs::read_to_string("/proc/thread-self/schedstat").expect("this is Linux");
    text.split(' ').next().and_then(|nanos| nanos.parse::<f64>().ok()).expect("it begins with nanoseconds") / 1e9
}
