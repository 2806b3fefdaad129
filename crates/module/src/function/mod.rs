//! The body of a function: blocks become labels, operands become variables.
//!
//! An operand stays an expression until it is used or until something could change its value. Its variable, if it needs
//! one, is named by its place on the stack: `s3` of 32 bits, `t3` of 64.

mod control;
mod operands;
mod text;

pub(crate) use text::head;

use crate::TranslateError;
use crate::instruction::{Trap, access, name, numeric};
use crate::module::Width::{self, W32, W64};
use crate::module::{Module, Signature};
use std::collections::{BTreeMap, BTreeSet};
use wasmparser::{FunctionBody, Operator};

/// C text of the function `index`. With `counts_depth`, its activations are counted.
pub(crate) fn translate(
    module: &Module,
    index: u32,
    body: &FunctionBody,
    counts_depth: bool,
) -> Result<String, TranslateError> {
    let signature = module.signature(module.type_of(index))?;
    let mut locals = signature.params.clone();
    for local in body.get_locals_reader()? {
        let (count, kind) = local?;
        locals.resize(locals.len() + count as usize, Width::of(kind)?);
    }
    // Once to learn how far accesses reach, once for the text.
    let mut extents = BTreeMap::new();
    loop {
        let mut function = Function::new(module, index, &locals, &signature);
        function.counts_depth = counts_depth;
        let is_second = !extents.is_empty();
        function.reach = std::mem::take(&mut extents);
        for op in body.get_operators_reader()? {
            function.instruction(&op?)?;
        }
        if is_second || function.extents.is_empty() {
            return Ok(function.text());
        }
        extents = function.extents;
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Value {
    /// In its variable.
    Variable,
    Constant(u64),
    Local(u32),
}

#[derive(Clone, Copy)]
struct Operand {
    width: Width,
    value: Value,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Function,
    Block,
    Loop,
    If,
    Else,
}

/// An open block.
struct Frame {
    kind: Kind,
    /// Operands below the parameters.
    height: usize,
    params: Vec<Width>,
    results: Vec<Width>,
    label: Option<u32>,
    /// Whether the first arm of an `if` reaches the end.
    first_arm_ends: bool,
    /// Checked accesses at an `if`, for its other arm.
    checked: BTreeMap<u32, u64>,
}

impl Frame {
    fn new(kind: Kind, height: usize, params: Vec<Width>, results: Vec<Width>) -> Self {
        Self { kind, height, params, results, label: None, first_arm_ends: false, checked: BTreeMap::new() }
    }
}

enum Line {
    /// An assignment to an operand's variable, which may move into its use.
    Assignment(String, String),
    Text(String),
    Label(u32),
}

/// An operand taken from the stack.
struct Expression {
    text: String,
    constant: Option<u64>,
    local: Option<u32>,
    /// A name or a literal.
    is_atom: bool,
    width: Width,
}

struct Function<'m, 'a> {
    module: &'m Module<'a>,
    index: u32,
    locals: Vec<Width>,
    params: usize,
    stack: Vec<Operand>,
    frames: Vec<Frame>,
    /// In code that is never reached: open blocks within it.
    dead: Option<u32>,
    lines: Vec<Line>,
    variables: BTreeSet<(Width, usize)>,
    read_locals: BTreeSet<u32>,
    /// Bytes from the address in a local variable that are known to lie within the memory.
    checked: BTreeMap<u32, u64>,
    /// Number of the current sequence of instructions without a branch or a call.
    segment: u32,
    /// Number of changes of each local variable.
    changes: Vec<u32>,
    /// Bytes that the accesses of a segment reach from an address in a local variable between two changes of it.
    extents: BTreeMap<(u32, u32, u32), u64>,
    /// The same from the first pass: one check covers them.
    reach: BTreeMap<(u32, u32, u32), u64>,
    labels: u32,
    traps: BTreeSet<Trap>,
    counts_depth: bool,
    calls: bool,
    uses_memory: bool,
    uses_size: bool,
}

impl<'m, 'a> Function<'m, 'a> {
    fn new(module: &'m Module<'a>, index: u32, locals: &[Width], signature: &Signature) -> Self {
        Self {
            module,
            index,
            locals: locals.to_vec(),
            params: signature.params.len(),
            stack: Vec::new(),
            frames: vec![Frame::new(Kind::Function, 0, Vec::new(), signature.result.into_iter().collect())],
            dead: None,
            lines: Vec::new(),
            variables: BTreeSet::new(),
            read_locals: BTreeSet::new(),
            checked: BTreeMap::new(),
            segment: 0,
            changes: vec![0; locals.len()],
            extents: BTreeMap::new(),
            reach: BTreeMap::new(),
            labels: 0,
            traps: BTreeSet::new(),
            counts_depth: false,
            calls: false,
            uses_memory: false,
            uses_size: false,
        }
    }

    fn instruction(&mut self, op: &Operator) -> Result<(), TranslateError> {
        if let Some(open) = self.dead {
            match op {
                Operator::Block { .. } | Operator::Loop { .. } | Operator::If { .. } => self.dead = Some(open + 1),
                Operator::End if open > 0 => self.dead = Some(open - 1),
                Operator::End => self.end(),
                Operator::Else if open == 0 => self.else_arm(),
                _ => {}
            }
            return Ok(());
        }
        if let Some(numeric) = numeric(op) {
            self.numeric(&numeric);
            return Ok(());
        }
        if let Some(access) = access(op) {
            self.access(&access);
            return Ok(());
        }
        // Of the others, these neither branch nor call nor trap.
        let is_plain = matches!(
            op,
            Operator::LocalGet { .. }
                | Operator::LocalSet { .. }
                | Operator::LocalTee { .. }
                | Operator::GlobalGet { .. }
                | Operator::GlobalSet { .. }
                | Operator::I32Const { .. }
                | Operator::I64Const { .. }
                | Operator::F64Const { .. }
                | Operator::Select
                | Operator::Drop
        );
        self.segment += u32::from(!is_plain);
        match op {
            Operator::Nop => {}
            Operator::Unreachable => self.trap(Trap::Unreachable),
            Operator::Block { blockty } => self.block(Kind::Block, *blockty)?,
            Operator::Loop { blockty } => self.block(Kind::Loop, *blockty)?,
            Operator::If { blockty } => self.block(Kind::If, *blockty)?,
            Operator::Else => self.else_arm(),
            Operator::End => self.end(),
            Operator::Br { relative_depth } => {
                let branch = self.branch(*relative_depth);
                self.text_line(branch);
                self.dead = Some(0);
            }
            Operator::BrIf { relative_depth } => {
                let condition = self.pop().text;
                let branch = self.branch(*relative_depth);
                self.text_line(format!("if ({condition}) {{ {branch} }}"));
            }
            Operator::BrTable { targets } => self.branch_table(targets)?,
            Operator::Return => {
                let branch = self.branch(self.frames.len() as u32 - 1);
                self.text_line(branch);
                self.dead = Some(0);
            }
            Operator::Call { function_index } => {
                let name = self.module.name(*function_index);
                self.call(&name, self.module.type_of(*function_index), None)?;
            }
            Operator::CallIndirect { type_index, .. } => {
                let kind = self.module.first_equal_type(*type_index);
                let place = self.pop().text;
                self.call(&format!("call{kind}"), kind, Some(place))?;
            }
            Operator::Drop => {
                let dropped = self.pop();
                // Otherwise the result of a call is set and not used, for the compiler's warnings.
                if dropped.is_atom && dropped.constant.is_none() {
                    self.text_line(format!("(void){};", dropped.text));
                }
            }
            Operator::Select | Operator::TypedSelect { .. } => {
                let [one, other, condition] = self.pop_three();
                let text = format!("{} ? {} : {}", condition.text, one.text, other.text);
                self.push(one.width, text);
            }
            Operator::LocalGet { local_index } => self.push_local(*local_index),
            Operator::LocalSet { local_index } => self.set_local(*local_index),
            Operator::LocalTee { local_index } => {
                self.set_local(*local_index);
                self.push_local(*local_index);
            }
            Operator::GlobalGet { global_index } => {
                let global = &self.module.globals[*global_index as usize];
                match global.is_mutable {
                    true => self.push(global.width, format!("m->g{global_index}")),
                    false => self.push_constant(global.width, global.value),
                }
            }
            Operator::GlobalSet { global_index } => {
                let value = self.pop().text;
                self.text_line(format!("m->g{global_index} = {value};"));
            }
            Operator::I32Const { value } => self.push_constant(W32, u64::from(*value as u32)),
            Operator::I64Const { value } => self.push_constant(W64, *value as u64),
            Operator::F32Const { value } => self.push_constant(W32, u64::from(value.bits())),
            Operator::F64Const { value } => self.push_constant(W64, value.bits()),
            Operator::MemorySize { .. } => self.push(W32, "m->size >> 16".into()),
            Operator::MemoryGrow { .. } => {
                let pages = self.pop().text;
                let result = self.variable(W32, self.stack.len());
                self.text_line(format!("{result} = wasm_grow(m, {pages});"));
                self.text_line(RELOAD.into());
                self.stack.push(Operand { width: W32, value: Value::Variable });
            }
            Operator::MemoryCopy { .. } => self.block_access("memmove", true),
            Operator::MemoryFill { .. } => self.block_access("memset", false),
            other => return Err(TranslateError::Instruction { function: self.index, name: name(other) }),
        }
        Ok(())
    }
}

fn variable(width: Width, place: usize) -> String {
    match width {
        W32 => format!("s{place}"),
        W64 => format!("t{place}"),
    }
}

/// Stands for reading the memory's place and size again.
const RELOAD: &str = "reload";
