//! Instructions as C expressions.

use crate::module::Width::{self, W32, W64};
use wasmparser::{MemArg, Operator};

/// Reason of a trap; the number is the field `trap` of an instance.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Trap {
    Unreachable = 1,
    Bounds,
    Division,
    Overflow,
    Call,
    Depth,
}

impl Trap {
    pub(crate) const ALL: [(Self, &'static str); 6] = [
        (Self::Unreachable, "an unreachable instruction"),
        (Self::Bounds, "an access outside the memory"),
        (Self::Division, "a division by zero"),
        (Self::Overflow, "an overflow of a division"),
        (Self::Call, "an indirect call of no function of its type"),
        (Self::Depth, "too deep a recursion"),
    ];

    pub(crate) fn label(self) -> &'static str {
        ["unreachable", "bounds", "division", "overflow", "call", "depth"][self as usize - 1]
    }
}

/// An instruction on one or two numbers: `$a` and `$b` in its expression.
#[derive(Debug)]
pub(crate) struct Numeric {
    pub(crate) args: &'static [Width],
    pub(crate) result: Width,
    pub(crate) text: &'static str,
    /// Conditions of traps, checked before.
    pub(crate) traps: &'static [(&'static str, Trap)],
}

macro_rules! widths {
    (($($width:ident)+)) => { &[$($width),+] };
}

macro_rules! numeric {
    ($op:expr; $( $args:tt -> $result:ident: $( $name:ident $text:literal $(if $condition:literal $trap:ident)* ),+; )+) => {
        match $op {
            $( $( Operator::$name => Some(Numeric {
                args: widths!($args),
                result: $result,
                text: $text,
                traps: &[$( ($condition, Trap::$trap) ),*],
            }), )+ )+
            _ => None,
        }
    };
}

/// The numeric instruction `op`; floating-point numbers are their bits.
pub(crate) fn numeric(op: &Operator) -> Option<Numeric> {
    numeric!(op;
        (W32 W32) -> W32:
            I32Add "$a + $b", I32Sub "$a - $b", I32Mul "$a * $b",
            I32And "$a & $b", I32Or "$a | $b", I32Xor "$a ^ $b",
            I32Shl "$a << ($b & 31)", I32ShrU "$a >> ($b & 31)", I32ShrS "(u32)((s32)$a >> ($b & 31))",
            I32Rotl "rotate32($a, $b)", I32Rotr "rotate32($a, 0u - $b)",
            I32DivU "$a / $b" if "$b == 0" Division,
            I32RemU "$a % $b" if "$b == 0" Division,
            I32DivS "(u32)((s32)$a / (s32)$b)" if "$b == 0" Division if "$a == 0x80000000u && $b == ~0u" Overflow,
            I32RemS "$b == ~0u ? 0u : (u32)((s32)$a % (s32)$b)" if "$b == 0" Division,
            I32Eq "(u32)($a == $b)", I32Ne "(u32)($a != $b)",
            I32LtU "(u32)($a < $b)", I32GtU "(u32)($a > $b)", I32LeU "(u32)($a <= $b)", I32GeU "(u32)($a >= $b)",
            I32LtS "(u32)((s32)$a < (s32)$b)", I32GtS "(u32)((s32)$a > (s32)$b)",
            I32LeS "(u32)((s32)$a <= (s32)$b)", I32GeS "(u32)((s32)$a >= (s32)$b)",
            F32Eq "f32_eq($a, $b)", F32Ne "(u32)!f32_eq($a, $b)", F32Lt "f32_lt($a, $b)", F32Gt "f32_lt($b, $a)",
            F32Le "f32_le($a, $b)", F32Ge "f32_le($b, $a)",
            F32Add "f32_add($a, $b)", F32Sub "f32_sub($a, $b)", F32Mul "f32_mul($a, $b)", F32Div "f32_div($a, $b)",
            F32Min "f32_min($a, $b)", F32Max "f32_max($a, $b)",
            F32Copysign "($a & 0x7fffffffu) | ($b & 0x80000000u)";
        (W64 W64) -> W64:
            I64Add "$a + $b", I64Sub "$a - $b", I64Mul "$a * $b",
            I64And "$a & $b", I64Or "$a | $b", I64Xor "$a ^ $b",
            I64Shl "$a << ($b & 63)", I64ShrU "$a >> ($b & 63)", I64ShrS "(u64)((s64)$a >> ($b & 63))",
            I64Rotl "rotate64($a, $b)", I64Rotr "rotate64($a, 0u - $b)",
            I64DivU "div64($a, $b)" if "$b == 0" Division,
            I64RemU "rem64($a, $b)" if "$b == 0" Division,
            I64DivS "signed_div64($a, $b)" if "$b == 0" Division if "$a == 1ull << 63 && $b == ~0ull" Overflow,
            I64RemS "signed_rem64($a, $b)" if "$b == 0" Division,
            F64Add "f64_add($a, $b)", F64Sub "f64_sub($a, $b)", F64Mul "f64_mul($a, $b)", F64Div "f64_div($a, $b)",
            F64Min "f64_min($a, $b)", F64Max "f64_max($a, $b)",
            F64Copysign "($a & ~(1ull << 63)) | ($b & (1ull << 63))";
        (W64 W64) -> W32:
            I64Eq "(u32)($a == $b)", I64Ne "(u32)($a != $b)",
            I64LtU "(u32)($a < $b)", I64GtU "(u32)($a > $b)", I64LeU "(u32)($a <= $b)", I64GeU "(u32)($a >= $b)",
            I64LtS "(u32)((s64)$a < (s64)$b)", I64GtS "(u32)((s64)$a > (s64)$b)",
            I64LeS "(u32)((s64)$a <= (s64)$b)", I64GeS "(u32)((s64)$a >= (s64)$b)",
            F64Eq "f64_eq($a, $b)", F64Ne "(u32)!f64_eq($a, $b)", F64Lt "f64_lt($a, $b)", F64Gt "f64_lt($b, $a)",
            F64Le "f64_le($a, $b)", F64Ge "f64_le($b, $a)";
        (W32) -> W32:
            I32Eqz "(u32)($a == 0)", I32Clz "leading_zeros32($a)", I32Ctz "trailing_zeros32($a)",
            I32Popcnt "ones32($a)", I32Extend8S "(u32)(s32)(s8)$a", I32Extend16S "(u32)(s32)(s16)$a",
            F32Abs "$a & 0x7fffffffu", F32Neg "$a ^ 0x80000000u", F32Sqrt "f32_sqrt($a)",
            F32Floor "f32_floor($a)", F32Ceil "f32_ceil($a)", F32Trunc "f32_trunc($a)", F32Nearest "f32_nearest($a)",
            I32ReinterpretF32 "$a", F32ReinterpretI32 "$a",
            F32ConvertI32S "f32_of_signed((u64)(s64)(s32)$a)", F32ConvertI32U "f32_of($a)",
            I32TruncSatF32S "signed32_of(f64_promote($a))", I32TruncSatF32U "unsigned32_of(f64_promote($a))";
        (W64) -> W64:
            I64Clz "(u64)leading_zeros64($a)", I64Ctz "(u64)trailing_zeros64($a)", I64Popcnt "(u64)ones64($a)",
            I64Extend8S "(u64)(s64)(s8)$a", I64Extend16S "(u64)(s64)(s16)$a", I64Extend32S "(u64)(s64)(s32)$a",
            F64Abs "$a & ~(1ull << 63)", F64Neg "$a ^ (1ull << 63)", F64Sqrt "f64_sqrt($a)",
            F64Floor "f64_floor($a)", F64Ceil "f64_ceil($a)", F64Trunc "f64_trunc($a)", F64Nearest "f64_nearest($a)",
            I64ReinterpretF64 "$a", F64ReinterpretI64 "$a",
            F64ConvertI64S "f64_of_signed($a)", F64ConvertI64U "f64_of($a)",
            I64TruncSatF64S "signed64_of($a)", I64TruncSatF64U "unsigned64_of($a)";
        (W64) -> W32:
            I64Eqz "(u32)($a == 0)", I32WrapI64 "(u32)$a",
            F32DemoteF64 "f32_demote($a)", F32ConvertI64S "f32_of_signed($a)", F32ConvertI64U "f32_of($a)",
            I32TruncSatF64S "signed32_of($a)", I32TruncSatF64U "unsigned32_of($a)";
        (W32) -> W64:
            I64ExtendI32S "(u64)(s64)(s32)$a", I64ExtendI32U "(u64)$a",
            F64PromoteF32 "f64_promote($a)", F64ConvertI32S "f64_of_signed((u64)(s64)(s32)$a)",
            F64ConvertI32U "f64_of($a)",
            I64TruncSatF32S "signed64_of(f64_promote($a))", I64TruncSatF32U "unsigned64_of(f64_promote($a))";
    )
}

/// An access to memory: `$at` is the address, `$b` a store's value.
#[derive(Debug)]
pub(crate) struct Access {
    pub(crate) bytes: u32,
    pub(crate) offset: u64,
    /// Width of a load's result, or of a store's value.
    pub(crate) width: Width,
    pub(crate) is_store: bool,
    pub(crate) text: &'static str,
}

macro_rules! access {
    ($op:expr; $( $name:ident $bytes:literal $width:ident $kind:ident $text:literal; )+) => {
        match $op {
            $( Operator::$name { memarg: MemArg { offset, .. } } => Some(Access {
                bytes: $bytes, offset: *offset, width: $width, is_store: stringify!($kind) == "store", text: $text,
            }), )+
            _ => None,
        }
    };
}

/// The load or store `op`.
pub(crate) fn access(op: &Operator) -> Option<Access> {
    access!(op;
        I32Load 4 W32 load "load32($at)";
        F32Load 4 W32 load "load32($at)";
        I64Load 8 W64 load "load64($at)";
        F64Load 8 W64 load "load64($at)";
        I32Load8U 1 W32 load "(u32)*($at)";
        I32Load8S 1 W32 load "(u32)(s32)(s8)*($at)";
        I32Load16U 2 W32 load "(u32)load16($at)";
        I32Load16S 2 W32 load "(u32)(s32)(s16)load16($at)";
        I64Load8U 1 W64 load "(u64)*($at)";
        I64Load8S 1 W64 load "(u64)(s64)(s8)*($at)";
        I64Load16U 2 W64 load "(u64)load16($at)";
        I64Load16S 2 W64 load "(u64)(s64)(s16)load16($at)";
        I64Load32U 4 W64 load "(u64)load32($at)";
        I64Load32S 4 W64 load "(u64)(s64)(s32)load32($at)";
        I32Store 4 W32 store "store32($at, $b)";
        F32Store 4 W32 store "store32($at, $b)";
        I64Store 8 W64 store "store64($at, $b)";
        F64Store 8 W64 store "store64($at, $b)";
        I32Store8 1 W32 store "*($at) = (u8)$b";
        I32Store16 2 W32 store "store16($at, (u16)$b)";
        I64Store8 1 W64 store "*($at) = (u8)$b";
        I64Store16 2 W64 store "store16($at, (u16)$b)";
        I64Store32 4 W64 store "store32($at, (u32)$b)";
    )
}

/// Name of an instruction, without its operands.
pub(crate) fn name(op: &Operator) -> String {
    format!("{op:?}").split([' ', '{']).next().unwrap_or_default().to_string()
}
