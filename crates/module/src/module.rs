//! Sections of a WebAssembly binary.

use crate::TranslateError;
use wasmparser::{
    ConstExpr, DataKind, ElementItems, ElementKind, ExternalKind, FuncType, FunctionBody, Operator, Parser, Payload,
    TypeRef, ValType,
};

/// Bits of a value in C. A floating-point number is held as its bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Width {
    /// i32 and f32.
    W32,
    /// i64 and f64.
    W64,
}

impl Width {
    pub(crate) fn of(value: ValType) -> Result<Self, TranslateError> {
        match value {
            ValType::I32 | ValType::F32 => Ok(Self::W32),
            ValType::I64 | ValType::F64 => Ok(Self::W64),
            other => Err(TranslateError::Unsupported(format!("a value of type {other}"))),
        }
    }

    pub(crate) fn c(self) -> &'static str {
        match self {
            Self::W32 => "u32",
            Self::W64 => "u64",
        }
    }

    pub(crate) fn literal(self, value: u64) -> String {
        match self {
            Self::W32 => format!("{}u", value as u32),
            Self::W64 => format!("{value}ull"),
        }
    }
}

/// Parameters and at most one result of a function.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Signature {
    pub(crate) params: Vec<Width>,
    pub(crate) result: Option<Width>,
}

#[derive(Debug)]
pub(crate) struct Global {
    pub(crate) width: Width,
    pub(crate) is_mutable: bool,
    pub(crate) value: u64,
}

/// A module as the writer needs it.
#[derive(Debug, Default)]
pub(crate) struct Module<'a> {
    types: Vec<FuncType>,
    /// Index of the type of each function, imported ones first.
    functions: Vec<u32>,
    /// Names of the imported functions.
    pub(crate) imports: Vec<&'a str>,
    pub(crate) bodies: Vec<FunctionBody<'a>>,
    /// Names and indices of exported functions.
    pub(crate) exports: Vec<(&'a str, u32)>,
    pub(crate) globals: Vec<Global>,
    /// Names of exported globals.
    pub(crate) global_exports: Vec<(&'a str, u32)>,
    /// Function in each place of the table.
    pub(crate) table: Vec<Option<u32>>,
    pub(crate) data: Vec<(u32, &'a [u8])>,
    /// Initial size of the memory in pages of 64 KiB.
    pub(crate) pages: u32,
    pub(crate) start: Option<u32>,
}

impl<'a> Module<'a> {
    pub(crate) fn read(wasm: &'a [u8]) -> Result<Self, TranslateError> {
        let mut module = Self::default();
        for payload in Parser::new(0).parse_all(wasm) {
            module.section(payload?)?;
        }
        Ok(module)
    }

    fn section(&mut self, payload: Payload<'a>) -> Result<(), TranslateError> {
        match payload {
            Payload::TypeSection(types) => {
                self.types = types.into_iter_err_on_gc_types().collect::<Result<_, _>>()?;
            }
            Payload::ImportSection(imports) => {
                for import in imports.into_imports() {
                    let import = import?;
                    let TypeRef::Func(kind) = import.ty else {
                        return unsupported(format!("the import {}, which is no function,", import.name));
                    };
                    self.imports.push(identifier(import.name)?);
                    self.functions.push(kind);
                }
            }
            Payload::FunctionSection(functions) => {
                for kind in functions {
                    self.functions.push(kind?);
                }
            }
            Payload::TableSection(tables) => {
                for table in tables {
                    let size = table?.ty.initial;
                    if !self.table.is_empty() || size > MAX_TABLE {
                        return unsupported(format!("a second table, or one of {size} functions,"));
                    }
                    self.table = vec![None; size as usize];
                }
            }
            Payload::MemorySection(memories) => {
                for memory in memories {
                    let memory = memory?;
                    if memory.memory64 || memory.shared || memory.initial == 0 || memory.initial >= MAX_PAGES {
                        return unsupported("a memory that is shared, empty or of 4 GiB and more".into());
                    }
                    self.pages = memory.initial as u32;
                }
            }
            Payload::GlobalSection(globals) => {
                for global in globals {
                    let global = global?;
                    let (width, is_mutable) = (Width::of(global.ty.content_type)?, global.ty.mutable);
                    self.globals.push(Global { width, is_mutable, value: constant(&global.init_expr)? });
                }
            }
            Payload::ExportSection(exports) => {
                for export in exports {
                    let export = export?;
                    match export.kind {
                        ExternalKind::Func => self.exports.push((identifier(export.name)?, export.index)),
                        ExternalKind::Global => self.global_exports.push((identifier(export.name)?, export.index)),
                        _ => {}
                    }
                }
            }
            Payload::ElementSection(elements) => {
                for element in elements {
                    let element = element?;
                    let ElementKind::Active { offset_expr, .. } = element.kind else {
                        return unsupported("a table that changes".into());
                    };
                    self.fill_table(constant(&offset_expr)? as usize, element.items)?;
                }
            }
            Payload::DataSection(segments) => {
                for segment in segments {
                    let segment = segment?;
                    let DataKind::Active { offset_expr, .. } = segment.kind else {
                        return unsupported("a passive data segment".into());
                    };
                    let at = constant(&offset_expr)? as u32;
                    if u64::from(at) + segment.data.len() as u64 > self.initial_bytes() {
                        return unsupported("a data segment outside the initial memory".into());
                    }
                    self.data.push((at, segment.data));
                }
            }
            Payload::StartSection { func, .. } => self.start = Some(func),
            Payload::CodeSectionEntry(body) => self.bodies.push(body),
            _ => {}
        }
        Ok(())
    }

    fn fill_table(&mut self, offset: usize, items: ElementItems<'a>) -> Result<(), TranslateError> {
        let mut functions = Vec::new();
        match items {
            ElementItems::Functions(indices) => {
                for index in indices {
                    functions.push(index?);
                }
            }
            ElementItems::Expressions(_, expressions) => {
                for expression in expressions {
                    functions.push(constant(&expression?)? as u32);
                }
            }
        }
        let Some(places) = self.table.get_mut(offset..offset + functions.len()) else {
            return unsupported("a table segment outside the table".into());
        };
        for (place, function) in places.iter_mut().zip(functions) {
            *place = Some(function);
        }
        Ok(())
    }

    /// Signature of a type.
    pub(crate) fn signature(&self, kind: u32) -> Result<Signature, TranslateError> {
        let kind = &self.types[kind as usize];
        if kind.results().len() > 1 {
            return unsupported("a function of several results".into());
        }
        let widths = |values: &[ValType]| values.iter().map(|&value| Width::of(value)).collect::<Result<Vec<_>, _>>();
        Ok(Signature { params: widths(kind.params())?, result: widths(kind.results())?.first().copied() })
    }

    /// Parameters and results of a type.
    pub(crate) fn widths(&self, kind: u32) -> Result<(Vec<Width>, Vec<Width>), TranslateError> {
        let kind = &self.types[kind as usize];
        let widths = |values: &[ValType]| values.iter().map(|&value| Width::of(value)).collect::<Result<Vec<_>, _>>();
        Ok((widths(kind.params())?, widths(kind.results())?))
    }

    /// Index of a function's type.
    pub(crate) fn type_of(&self, function: u32) -> u32 {
        self.functions[function as usize]
    }

    /// Whether two types are equal, as an indirect call compares them.
    pub(crate) fn same_type(&self, one: u32, other: u32) -> bool {
        self.types[one as usize] == self.types[other as usize]
    }

    /// Smallest index of a type equal to this one.
    pub(crate) fn first_equal_type(&self, kind: u32) -> u32 {
        (0..kind).find(|&other| self.same_type(other, kind)).unwrap_or(kind)
    }

    pub(crate) fn initial_bytes(&self) -> u64 {
        u64::from(self.pages) << 16
    }

    /// C name of a function.
    pub(crate) fn name(&self, function: u32) -> String {
        if let Some(name) = self.imports.get(function as usize) {
            return format!("import_{name}");
        }
        match self.exports.iter().find(|&&(_, index)| index == function) {
            Some((name, _)) => format!("export_{name}"),
            None => format!("f{function}"),
        }
    }
}

/// Value of a constant expression of one instruction.
fn constant(expression: &ConstExpr) -> Result<u64, TranslateError> {
    let mut reader = expression.get_operators_reader();
    let value = match reader.read()? {
        Operator::I32Const { value } => u64::from(value as u32),
        Operator::I64Const { value } => value as u64,
        Operator::F32Const { value } => u64::from(value.bits()),
        Operator::F64Const { value } => value.bits(),
        Operator::RefFunc { function_index } => u64::from(function_index),
        _ => return unsupported("a constant expression other than one number".into()),
    };
    match reader.read()? {
        Operator::End => Ok(value),
        _ => unsupported("a constant expression of several instructions".into()),
    }
}

/// The name if it can be part of a name in C.
fn identifier(name: &str) -> Result<&str, TranslateError> {
    if !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_') {
        return Ok(name);
    }
    unsupported(format!("the name {name:?}, which is no identifier of C,"))
}

pub(crate) fn unsupported<T>(part: String) -> Result<T, TranslateError> {
    Err(TranslateError::Unsupported(part))
}

/// A size in bytes fits a u32.
const MAX_PAGES: u64 = 65_536;
const MAX_TABLE: u64 = 100_000;
