//! Structure of the crate: each mechanism owns its rules, and the sender combines them.

use std::fs;
use std::path::{Path, PathBuf};

/// Modules that read each setting of a stack: its mechanism and the counterpart at the receiver.
const READ_IN: &[(&str, &[&str])] = &[
    ("initial_window", &["control", "validation"]),
    ("rto_initial", &["rtt"]),
    ("rto_min", &["rtt"]),
    ("rto_max", &["rtt"]),
    ("tick", &["round_trip", "rtt", "stack/mod"]),
    ("rtt_unit", &["round_trip", "receiver/mod", "rtt"]),
    ("timer_wheel", &["timer", "stack/mod"]),
    ("exact_timers", &["timer"]),
    ("machine", &["recovery/mod", "sender", "stack/mod"]),
    ("reduction", &["reduction"]),
    ("moderation", &["recovery/linux_2_6"]),
    ("acks_handshake", &["output"]),
    ("timestamps", &["round_trip", "header", "stack/mod"]),
    ("pads_options", &["header", "sack"]),
    ("rto", &["rtt"]),
    ("max_window", &["control", "receive_window"]),
    ("acks_every_segment", &["receiver/delay"]),
    ("max_reordering", &["reordering"]),
    ("forward_retransmit", &["recovery/mod"]),
    ("marks_beyond_high_seq", &["recovery/episode"]),
    ("disorder_while_undoable", &["recovery/episode"]),
    ("reduces_after_timeout", &["recovery/episode"]),
    ("keeps_flight_on_timeout", &["recovery/linux_3_10"]),
    ("detects_after_undo", &["recovery/linux_3_10"]),
    ("undo", &["undo"]),
    ("fack", &["reordering"]),
    ("rack", &["rack"]),
    ("early_retransmit", &["early_retransmit"]),
    ("loss_probe", &["tlp"]),
    ("frto", &["frto"]),
    ("counting", &["control", "stack/mod"]),
    ("cubic", &["cc/cubic/mod"]),
    ("validation", &["validation"]),
    ("validates_every_send", &["validation", "stack/mod"]),
    ("grows_before_sending", &["control"]),
    ("growth_counts_delivered", &["control"]),
    ("idle_restart", &["validation"]),
    ("ecn_fallback", &["ecn"]),
    ("accurate_ecn", &["ecn", "receiver/ecn"]),
    ("ect1", &["ecn", "receiver/ecn"]),
    ("ect_on_syn", &["ecn", "receiver/ecn"]),
    ("ect_on_acks", &["ecn", "receiver/ecn"]),
    ("ect_on_retransmissions", &["ecn"]),
    ("bursts", &["segmentation", "receiver/mod", "stack/mod"]),
    ("buffers_sends", &["send_buffer", "stack/mod"]),
    ("small_queues", &["small_queue"]),
    ("fin_beyond_window", &["segmentation"]),
    ("sizes_bursts_by_rate", &["segmentation"]),
    ("paces", &["pacing"]),
    ("tunes_window", &["stack/mod"]),
    ("reordering", &["reordering"]),
    ("quickacks_at_start", &["receiver/delay"]),
    ("quickacks", &["receiver/delay"]),
    ("quickacks_on_reordering", &["receiver/mod"]),
    ("quickacks_on_ecn", &["receiver/ecn"]),
    ("compressed_acks", &["receiver/mod"]),
    ("forgets_blocks", &["receiver/mod"]),
    ("ato_min", &["receiver/delay"]),
];

#[test]
fn a_setting_of_the_stack_is_read_only_in_the_mechanism_that_it_names() {
    let stack = source("stack/mod");
    let fields = fields(&stack, "pub struct Stack {");
    let names: Vec<&str> = fields.iter().filter_map(|field| field.strip_prefix("pub ")?.split(':').next()).collect();
    let listed: Vec<&str> = READ_IN.iter().map(|(name, _)| *name).collect();
    assert_eq!(names, listed, "each setting of a stack has its line in READ_IN, in the same order");
    for (name, allowed) in READ_IN {
        let readers: Vec<String> = modules().into_iter().filter(|module| reads(module, name)).collect();
        let strangers: Vec<&String> = readers.iter().filter(|reader| !allowed.contains(&reader.as_str())).collect();
        assert!(strangers.is_empty(), "stack.{name} is read in {strangers:?} too");
        assert_eq!(readers.len(), allowed.len(), "stack.{name} is read in {readers:?} only: shorten its line");
    }
}

#[test]
fn only_the_sender_s_files_implement_the_sender() {
    let implement = |module: &String| source(module).lines().any(|line| line.starts_with("impl Sender {"));
    let files = ["quic/sender", "sender", "sender/ack", "sender/ns2"];
    assert_eq!(modules().into_iter().filter(implement).collect::<Vec<_>>(), files);
    let fields = fields(&source("sender"), "pub struct Sender {");
    assert!((1..=15).contains(&fields.len()), "{fields:?}");
    assert!(fields.iter().all(|field| !field.starts_with("pub")), "{fields:?}");
}

/// Whether a module reads the setting `name` of a stack.
fn reads(module: &str, name: &str) -> bool {
    let text = source(module);
    // Methods of the stack access it by `self`.
    let paths = if module == "stack/mod" { ["self.", "stack."] } else { ["stack.", "config.stack."] };
    paths.iter().any(|path| {
        text.match_indices(&format!("{path}{name}")).any(|(at, found)| {
            let before = text[..at].chars().next_back();
            let after = text[at + found.len()..].chars().next();
            let inside = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '_');
            !inside(before) && !inside(after) && after != Some('(')
        })
    })
}

/// The fields of a struct, one per line.
fn fields(text: &str, head: &str) -> Vec<String> {
    let body = text.split_once(head).expect("the struct is there").1.split_once("\n}").expect("it ends").0;
    let lines = body.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with("//"));
    lines.map(str::to_string).collect()
}

/// Source of a module without its tests.
fn source(module: &str) -> String {
    let text = fs::read_to_string(root().join(format!("{module}.rs"))).expect("a module of this crate");
    text.split("#[cfg(test)]\nmod tests {").next().expect("there is a first part").to_string()
}

/// Modules of the crate, except the stacks and the tests.
fn modules() -> Vec<String> {
    let (mut found, mut folders) = (Vec::new(), vec![root()]);
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).expect("the sources are there") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let module = path.strip_prefix(root()).expect("below").with_extension("");
            found.push(module.to_str().expect("a name").replace('\\', "/"));
        }
    }
    found.retain(|m| {
        !m.starts_with("tests/") && !m.ends_with("/tests") && (!m.starts_with("stack/") || m == "stack/mod")
    });
    found.sort();
    found
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("src")
}
