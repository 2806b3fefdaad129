//! `sojourn_aqm.h` and Rust agree in sizes, offsets, constants, functions and types.
#![cfg(target_os = "linux")]

use crate::common::{
    HERE, assert_values_in_c, command, compile, constants, fields_in_structs, header_text, succeeds, without_comments,
};
use sojourn_library::abi::{self, Discipline, Host, Packet};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::mem::offset_of;
use std::path::Path;

fn header() -> String {
    without_comments(&header_text("sojourn_aqm.h"))
}

/// C expressions for sizes and offsets, and their values in Rust.
fn facts() -> Vec<(String, u64)> {
    let mut facts = Vec::new();
    macro_rules! layout {
        ($c:literal, $type:ty, $($field:ident),+) => {
            facts.push((format!("sizeof({})", $c), size_of::<$type>() as u64));
            $( facts.push((format!("offsetof({}, {})", $c, stringify!($field)), offset_of!($type, $field) as u64)); )+
        };
    }
    layout!("sojourn_packet", Packet, size, length, segments, flow, source, destination, dscp, ecn, reserved);
    layout!("sojourn_packet", Packet, header_length, header, handle, enqueued, priority, reserved_2);
    layout!("sojourn_host", Host, size, mtu, rate, random, start, limit_packets, reserved, limit_bytes, limit_time);
    layout!("sojourn_host", Host, dropped, user, delay);
    layout!("sojourn_discipline", Discipline, size, abi, order, reserved, name, summary, source, create, free, enqueue);
    layout!("sojourn_discipline", Discipline, dequeue, backlog, settle, statistics, states, error, pass);
    facts
}

fn numbers() -> BTreeMap<&'static str, i32> {
    use sojourn_aqm::{DropReason as R, Ecn as E};
    BTreeMap::from([
        ("NOT_ECT", E::NotEct as i32),
        ("ECT1", E::Ect1 as i32),
        ("ECT0", E::Ect0 as i32),
        ("CE", E::Ce as i32),
        ("QUEUED", abi::QUEUED),
        ("MARKED", abi::MARKED),
        ("DROPPED", abi::DROPPED),
        ("EMPTY", abi::EMPTY),
        ("PACKET", abi::PACKET),
        ("NOT_BEFORE", abi::NOT_BEFORE),
        ("INVALID", abi::INVALID),
        ("REFUSED", abi::REFUSED),
        ("UNKNOWN", abi::UNKNOWN),
        ("BUSY", abi::BUSY),
        ("PANICKED", abi::PANICKED),
        ("FAILED", abi::FAILED),
        ("LIMIT", R::Limit as i32),
        ("EARLY", R::Early as i32),
        ("LATE", R::Late as i32),
        ("HARD_LIMIT", R::HardLimit as i32),
        ("REPLACED", R::Replaced as i32),
        ("FREED", abi::FREED),
        ("FIFO", abi::FIFO as i32),
        ("PER_FLOW", abi::PER_FLOW as i32),
        ("PER_FLOW_AND_ECN", abi::PER_FLOW_AND_ECN as i32),
        ("PER_FLOW_ECN_AND_DSCP", abi::PER_FLOW_ECN_AND_DSCP as i32),
        ("AQM_ABI", abi::ABI as i32),
    ])
}

#[test]
fn sizes_offsets_and_numbers_are_those_of_the_compiled_header() {
    let numbers = numbers();
    let expected: Vec<(String, i64)> = facts()
        .into_iter()
        .map(|(name, value)| (name, value as i64))
        .chain(numbers.iter().map(|(name, &value)| (format!("SOJOURN_{name}"), value.into())))
        .collect();
    assert_values_in_c("sojourn_aqm.h", &expected);
}

#[test]
fn every_number_and_field_of_the_header_is_compared() {
    let header = header();
    let compared = numbers();
    for name in constants(&header, "SOJOURN_").filter(|&name| name != "AQM_H") {
        assert!(compared.contains_key(name), "SOJOURN_{name} is not compared");
    }
    let fields = facts().iter().filter(|(name, _)| name.starts_with("offsetof")).count();
    assert_eq!(fields_in_structs(&header), fields);
}

/// Functions declared in the header: name, and the Rust types of arguments and result.
fn declared() -> BTreeMap<String, Vec<String>> {
    let header = header();
    let body = header.split_once("extern const sojourn_discipline").expect("functions follow the export").1;
    let body: String = body.split_whitespace().collect::<Vec<_>>().join(" ");
    let prototypes = body.split(';').filter(|part| part.contains('('));
    prototypes
        .map(|prototype| {
            let (head, arguments) = prototype.split_once('(').expect("a prototype has arguments");
            let (result, name) = head.rsplit_once([' ', '*']).expect("a type and a name");
            let result = head[..head.len() - name.len()].trim().to_string() + if result.is_empty() { "?" } else { "" };
            let arguments = arguments.trim_end().trim_end_matches(')');
            let types = arguments.split(',').map(str::trim).filter(|&argument| argument != "void").map(|argument| {
                let (_, name) = argument.rsplit_once([' ', '*']).expect("a type and a name");
                argument[..argument.len() - name.len()].trim()
            });
            (name.to_string(), types.chain([result.as_str()]).map(in_rust).collect())
        })
        .collect()
}

fn in_rust(c: &str) -> String {
    let rust = match c.replace(" *", "*").as_str() {
        "void" => "()",
        "int" => "c_int",
        "uint32_t" => "u32",
        "uint64_t" => "u64",
        "uint32_t*" => "*mut u32",
        "uint64_t*" => "*mut u64",
        "double*" => "*mut f64",
        "void*" => "*mut c_void",
        "const char*" => "*const c_char",
        "sojourn_time" => "Time",
        "sojourn_time*" => "*mut Time",
        "sojourn_queue*" => "*mut Queue",
        "sojourn_queue**" => "*mut *mut Queue",
        "const sojourn_queue*" => "*const Queue",
        "sojourn_packet*" => "*mut Packet",
        "const sojourn_packet*" => "*const Packet",
        "const sojourn_host*" => "*const Host",
        "sojourn_see_statistic" => "Option<StatisticCallback>",
        "sojourn_see_state" => "Option<StateCallback>",
        other => panic!("the header has a type that this test does not know: {other}"),
    };
    rust.to_string()
}

/// Functions defined in the library, in the same form.
fn defined() -> BTreeMap<String, Vec<String>> {
    let source = include_str!("../src/lib.rs").split_whitespace().collect::<Vec<_>>().join(" ");
    let functions = source.split("extern \"C\" fn ").skip(1);
    functions
        .map(|function| {
            let (name, rest) = function.split_once('(').expect("a function has arguments");
            let (arguments, rest) = rest.split_once(')').expect("they end");
            let types = arguments.split(", ").filter_map(|argument| argument.split_once(": "));
            let result = rest.split_once('{').expect("it has a body").0.trim().trim_start_matches("-> ");
            let result = if result.is_empty() { "()" } else { result };
            let types = types.map(|(_, kind)| kind.trim().trim_end_matches(',')).chain([result]);
            (name.to_string(), types.map(str::to_string).collect())
        })
        .collect()
}

#[test]
fn functions_have_the_same_names_and_types_on_both_sides() {
    let (declared, defined) = (declared(), defined());
    assert_eq!(declared.len(), 16, "{:?}", declared.keys());
    assert_eq!(declared, defined);
}

#[test]
fn the_library_defines_what_the_header_declares() {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let mut code = String::from("#include <sojourn_aqm.h>\ntypedef void (*any)(void);\nany all[] = {\n");
    for name in declared().keys() {
        writeln!(code, "    (any){name},").expect("strings can be written");
    }
    code += "};\nint main(void)\n{\n    sojourn_discipline own = sojourn_library;\n";
    code += "    return sojourn_aqm_abi() != SOJOURN_AQM_ABI || own.size != sizeof own || own.abi != SOJOURN_AQM_ABI\n";
    code += "        || own.create != sojourn_queue_create || !own.error || !own.states || !own.settle;\n}\n";
    let source = folder.path().join("links.c");
    std::fs::write(&source, code).expect("the folder is ours");
    succeeds(&mut command(folder.path(), compile(folder.path(), &source)));
}

#[test]
fn the_header_is_good_for_cpp_too() {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let source = folder.path().join("host.cc");
    let code = "#include <sojourn_aqm.h>\nint main() { return sojourn_aqm_abi() != SOJOURN_AQM_ABI; }\n";
    std::fs::write(&source, code).expect("the folder is ours");
    let include = Path::new(HERE).join("include");
    let mut cc = std::process::Command::new("cc");
    cc.args(["-std=c++98", "-Wall", "-Wextra", "-Werror", "-fsyntax-only", "-I"]).arg(include).arg(&source);
    if let Err(reason) = cc.output().map_err(|e| e.to_string()).and_then(|out| {
        let message = String::from_utf8_lossy(&out.stderr).into_owned();
        if out.status.success() { Ok(()) } else { Err(message) }
    }) {
        assert!(reason.contains("cc1plus"), "{reason}");
        println!("skipped: the header in C++, whose compiler is absent (Debian: g++)");
    }
}
