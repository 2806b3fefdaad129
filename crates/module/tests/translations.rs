//! Small modules as C, compiled by the machine's compiler, beside the values that the standard gives.

use sojourn_module::translate;
use std::fmt::Write;
use std::path::Path;
use std::process::Command;

/// Results of calls, each on a new instance: a number, or the reason of a trap. A call is an export and its arguments.
fn results(wat: &str, calls: &[&str]) -> Vec<String> {
    let code = translate(&wat::parse_str(wat).expect("a module")).expect("a translation");
    let mut source = code + include_str!("host.c");
    for call in calls {
        let (name, args) = call.split_once(' ').unwrap_or((call, ""));
        let args: String = args.split_whitespace().map(|arg| format!(", {arg}")).collect();
        let _ = writeln!(source, "\tCALL(export_{name}(&instance{args}));");
    }
    source += "\treturn 0;\n}\n";
    let folder = tempfile::tempdir().unwrap();
    compiled(folder.path(), &source, &["-O2"]);
    // Neither order nor width of accesses, nor undefined arithmetic.
    let checked = compiled(folder.path(), &source, &["-O1", "-fsanitize=undefined,address", "-fno-sanitize-recover"]);
    checked.lines().map(String::from).collect()
}

fn compiled(folder: &Path, source: &str, flags: &[&str]) -> String {
    let (file, program) = (folder.join("module.c"), folder.join("module"));
    std::fs::write(&file, source).unwrap();
    let mut compiler = Command::new("cc");
    compiler.args(["-std=gnu11", "-W", "-Wall", "-Werror"]).args(flags).arg("-o").arg(&program).arg(&file);
    let output = compiler.output().expect("a C compiler");
    assert!(output.status.success(), "{}\n{source}", String::from_utf8_lossy(&output.stderr));
    let output = Command::new(&program).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// Calls with their expected results.
fn check(wat: &str, table: &[(&str, &str)]) {
    let calls: Vec<_> = table.iter().map(|row| row.0).collect();
    let results = results(wat, &calls);
    let expected: Vec<_> = table.iter().map(|row| row.1).collect();
    assert_eq!(results, expected, "of {calls:?}");
}

#[test]
fn control_flow_and_values_of_blocks() {
    check(
        r#"(module (memory 1)
        (func (export "factorial") (param i64) (result i64)
          (if (result i64) (i64.eqz (local.get 0)) (then (i64.const 1))
            (else (i64.mul (local.get 0) (call 0 (i64.sub (local.get 0) (i64.const 1)))))))
        (func (export "sum") (param i32) (result i32) (local i32)
          (loop $again
            (local.set 1 (i32.add (local.get 1) (local.get 0)))
            (br_if $again (local.tee 0 (i32.sub (local.get 0) (i32.const 1)))))
          (local.get 1))
        (func (export "choose") (param i32) (result i32)
          (block $out (result i32)
            (block $two (block $one (block $zero
              (br_table $zero $one $two $one (local.get 0)))
              (br $out (i32.const 10)))
              (br $out (i32.const 11)))
            (i32.const 12)))
        ;; The old value of a local variable stays on the stack while the variable changes.
        (func (export "keep") (param i32) (result i32)
          (i32.sub (local.get 0) (local.tee 0 (i32.const 5))))
        (func (export "keep_over_branch") (param i32) (result i32)
          (local.get 0)
          (if (i32.lt_u (local.get 0) (i32.const 3)) (then (local.set 0 (i32.const 100))))
          (i32.add (local.get 0)))
        (func (export "carried") (param i32) (result i32)
          (block $out (result i32)
            (i32.const 7)
            (br_if $out (i32.const 40) (local.get 0))
            (drop) (drop) (i32.const 2)))
        (func (export "swap") (param i32 i32) (result i32)
          (local.get 0) (local.get 1)
          (block (param i32 i32) (result i32)
            (i32.sub)))
        (func (export "select") (param i32) (result i64)
          (select (i64.const 3) (i64.const 4) (local.get 0)))
        (func (export "early") (param i32) (result i32)
          (if (local.get 0) (then (return (i32.const 1))))
          (i32.const 2))
        (func (export "after_dead") (param i32) (result i32)
          (block (br 0) (drop (i32.add (i32.const 1) (unreachable))) (block (br 1)))
          (loop (result i32) (block (br_if 0 (local.get 0)) (return (i32.const 3))) (i32.const 4))))"#,
        &[
            ("factorial 20", "2432902008176640000"),
            ("sum 100", "5050"),
            ("choose 0", "10"),
            ("choose 1", "11"),
            ("choose 2", "12"),
            ("choose 3", "11"),
            ("choose 4000000000", "11"),
            ("keep 12", "7"),
            ("keep_over_branch 2", "102"),
            ("keep_over_branch 3", "6"),
            ("carried 1", "40"),
            ("carried 0", "2"),
            ("swap 9 4", "5"),
            ("select 1", "3"),
            ("select 0", "4"),
            ("early 9", "1"),
            ("early 0", "2"),
            ("after_dead 1", "4"),
            ("after_dead 0", "3"),
        ],
    );
}

#[test]
fn arithmetic_at_its_edges() {
    let binary = |name: &str, kind: &str| {
        let plain = name.replace('.', "_");
        format!(
            "(func (export \"{plain}\") (param {kind} {kind}) (result {kind}) ({name} (local.get 0) (local.get 1)))\n"
        )
    };
    let mut wat = String::from("(module (memory 1)");
    for op in ["div_s", "div_u", "rem_s", "rem_u", "shl", "shr_s", "shr_u", "rotl", "rotr"] {
        wat += &binary(&format!("i32.{op}"), "i32");
        wat += &binary(&format!("i64.{op}"), "i64");
    }
    for op in
        ["i32.clz", "i32.ctz", "i32.popcnt", "i32.extend8_s", "i64.clz", "i64.ctz", "i64.popcnt", "i64.extend32_s"]
    {
        let (kind, plain) = (&op[..3], op.replace('.', "_"));
        let _ = writeln!(wat, "(func (export \"{plain}\") (param {kind}) (result {kind}) ({op} (local.get 0)))");
    }
    wat += ")";
    check(
        &wat,
        &[
            ("i32_div_s 0x80000000u -1u", "an overflow of a division"),
            ("i32_div_s 7 0", "a division by zero"),
            ("i32_div_s -7u 2", "4294967293"),
            ("i32_rem_s 0x80000000u -1u", "0"),
            ("i32_rem_s -7u 2", "4294967295"),
            ("i32_rem_u 7 0", "a division by zero"),
            ("i32_div_u -7u 2", "2147483644"),
            ("i64_div_s 1ull<<63 -1ull", "an overflow of a division"),
            ("i64_div_s -7ull 2ull", "18446744073709551613"),
            ("i64_rem_s 1ull<<63 -1ull", "0"),
            ("i64_rem_s -7ull 2ull", "18446744073709551615"),
            ("i64_rem_u -7ull 10ull", "9"),
            ("i64_div_u -7ull 0ull", "a division by zero"),
            ("i32_shl 1 33", "2"),
            ("i32_shr_s -8u 34", "4294967294"),
            ("i64_shl 1 65", "2"),
            ("i64_shr_s -8ull 1", "18446744073709551612"),
            ("i32_rotl 0x80000001u 1", "3"),
            ("i32_rotr 3 1", "2147483649"),
            ("i32_rotl 5 32", "5"),
            ("i64_rotl 1ull<<63|1 1", "3"),
            ("i64_rotr 3 65", "9223372036854775809"),
            ("i32_clz 0", "32"),
            ("i32_clz 1", "31"),
            ("i32_ctz 0", "32"),
            ("i32_ctz 8", "3"),
            ("i32_popcnt -1u", "32"),
            ("i32_extend8_s 0x80", "4294967168"),
            ("i64_clz 0", "64"),
            ("i64_ctz 0", "64"),
            ("i64_ctz 1ull<<40", "40"),
            ("i64_popcnt -1ull", "64"),
            ("i64_extend32_s 0x80000000u", "18446744071562067968"),
        ],
    );
}

#[test]
fn memory_is_little_endian_and_bounded() {
    check(
        r#"(module (memory 1)
        (data (i32.const 8) "\01\02\03\84\05\06\07\88")
        (global $g (mut i64) (i64.const -5))
        (func (export "load32") (param i32) (result i32) (i32.load (local.get 0)))
        (func (export "load64") (param i32) (result i64) (i64.load offset=4 (local.get 0)))
        (func (export "signed8") (result i64) (i64.load8_s (i32.const 11)))
        (func (export "signed16") (result i32) (i32.load16_s (i32.const 10)))
        (func (export "signed32") (result i64) (i64.load32_s (i32.const 8)))
        (func (export "far") (param i32) (result i32) (i32.load offset=4294967290 (local.get 0)))
        (func (export "beside") (param i32) (result i32)
          (i32.store16 (i32.add (local.get 0) (i32.const 1)) (i32.const 0x12345678))
          (i32.add (i32.load (local.get 0)) (i32.load8_u (local.get 0))))
        ;; A check covers later accesses from the same address, but not from a changed one.
        (func (export "again") (param i32) (result i32)
          (drop (i64.load (local.get 0)))
          (local.set 0 (i32.add (local.get 0) (i32.const 65520)))
          (i32.load (local.get 0)))
        (func (export "copy") (param i32 i32 i32) (result i64)
          (memory.copy (local.get 0) (local.get 1) (local.get 2))
          (i64.load (i32.const 9)))
        (func (export "fill") (param i32 i32) (result i32)
          (memory.fill (local.get 0) (i32.const 0x1ab) (local.get 1))
          (i32.load (i32.const 8)))
        (func (export "global") (result i64)
          (global.set $g (i64.mul (global.get $g) (i64.const -3)))
          (global.get $g))
        (func (export "grow") (param i32) (result i32)
          (drop (memory.grow (local.get 0)))
          (memory.size)))"#,
        &[
            ("load32 8", "2214789633"),
            ("load32 9", "92537602"),
            ("load32 65532", "0"),
            ("load32 65533", "an access outside the memory"),
            ("load32 -1u", "an access outside the memory"),
            ("load64 4", "9801809734754566657"),
            ("load64 65524", "0"),
            ("load64 65525", "an access outside the memory"),
            ("signed8", "18446744073709551492"),
            ("signed16", "4294935555"),
            ("signed32", "18446744071629373953"),
            ("far 0", "an access outside the memory"),
            ("far 10", "an access outside the memory"),
            ("beside 8", "2220259330"),
            ("again 0", "0"),
            ("again 14", "an access outside the memory"),
            ("copy 9 8 7", "1976945596367361"),
            ("copy 65530 0 7", "an access outside the memory"),
            ("copy 0 65530 7", "an access outside the memory"),
            ("copy 0 0 -1u", "an access outside the memory"),
            ("fill 8 3", "2225843115"),
            ("fill 65536 0", "2214789633"),
            ("fill 65537 0", "an access outside the memory"),
            ("global", "15"),
            ("grow 1", "1"),
        ],
    );
}

#[test]
fn calls_traps_and_imports() {
    check(
        r#"(module
        (import "env" "add" (func $add (param i32 i64) (result i64)))
        (import "env" "stop" (func $stop))
        (type $unary (func (param i32) (result i32)))
        (memory 1) (table 5 funcref)
        (elem (i32.const 1) $double $negate $other)
        (func $double (type $unary) (i32.shl (local.get 0) (i32.const 1)))
        (func $negate (type $unary) (i32.sub (i32.const 0) (local.get 0)))
        (func $other (param i64) (result i32) (i32.const 1))
        (func (export "apply") (param i32 i32) (result i32)
          (call_indirect (type $unary) (local.get 1) (local.get 0)))
        (func (export "imported") (param i32) (result i64)
          (call $add (local.get 0) (i64.const 40)))
        (func (export "stopped") (result i32)
          (call $stop)
          (i32.store (i32.const 0) (i32.const 1))
          (i32.const 1))
        (func (export "unreachable") (result i64) (unreachable))
        (func $deep (param i32) (result i32)
          (if (result i32) (local.get 0)
            (then (i32.add (i32.const 1) (call $deep (i32.sub (local.get 0) (i32.const 1)))))
            (else (i32.const 0))))
        (func (export "deep") (param i32) (result i32)
          (drop (call $deep (i32.const 10)))
          (call $deep (local.get 0))))"#,
        &[
            ("apply 1 21", "42"),
            ("apply 2 1", "4294967295"),
            ("apply 3 1", "an indirect call of no function of its type"),
            ("apply 4 1", "an indirect call of no function of its type"),
            ("apply 0 1", "an indirect call of no function of its type"),
            ("apply -1u 1", "an indirect call of no function of its type"),
            ("imported 2", "42"),
            ("stopped", "a trap of the host"),
            ("unreachable", "an unreachable instruction"),
            ("deep 15", "15"),
            ("deep 1000", "too deep a recursion"),
        ],
    );
}

#[test]
fn floats_are_calls_of_integer_functions() {
    let wat = r#"(module (memory 1)
        (func (export "mean") (param f64 f64) (result f64)
          (f64.div (f64.add (local.get 0) (local.get 1)) (f64.const 2)))
        (func (export "whole") (param f32) (result i32)
          (i32.trunc_sat_f32_s (f32.neg (f32.sqrt (local.get 0)))))
        (func (export "less") (param f64) (result i32) (f64.ge (f64.const 1) (local.get 0))))"#;
    check(
        wat,
        &[
            ("mean 0x3ff0000000000000 0x4000000000000000", "4609434218613702656"), // 1.5
            ("whole 0x41800000", "4294967292"),
            ("less 0x3ff0000000000000", "1"),
            ("less 0x7ff8000000000000", "0"),
        ],
    );
    let code = translate(&wat::parse_str(wat).unwrap()).unwrap();
    let statements: String = code.split("/*").map(|part| part.rsplit("*/").next().unwrap()).collect();
    let words: Vec<_> = statements.split(|c: char| !c.is_alphanumeric() && c != '_').collect();
    assert!(!words.contains(&"double") && !words.contains(&"float"), "no floating-point type");
    assert_eq!(code, translate(&wat::parse_str(wat).unwrap()).unwrap(), "the same text");
}

#[test]
fn what_cannot_be_translated_is_refused_by_name() {
    for (wat, named) in [
        ("(module (func (param f64) (result i32) (i32.trunc_f64_s (local.get 0))))", "I32TruncF64S"),
        ("(module (func (param externref)))", "externref"),
        ("(module (func (result i32 i32) (i32.const 1) (i32.const 2)))", "several results"),
        ("(module (import \"env\" \"memory\" (memory 1)))", "memory"),
        ("(module (import \"env\" \"a b\" (func)))", "\"a b\""),
        ("(module (memory 1) (data \"passive\"))", "passive"),
        ("(module (memory 0))", "memory"),
    ] {
        let wasm = wat::parse_str(wat).unwrap();
        let error = translate(&wasm).expect_err(wat).to_string();
        assert!(error.contains(named) && error.contains("not supported"), "{error}");
    }
    assert!(translate(b"\0asm\x01\0\0\0nonsense").unwrap_err().to_string().contains("--target wasm32"));
}
