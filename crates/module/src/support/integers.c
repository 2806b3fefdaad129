#ifdef __KERNEL__
#include <linux/bitops.h>
#include <linux/compiler.h>
#include <linux/math64.h>
#include <linux/string.h>
#include <linux/types.h>
#include <linux/version.h>
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 12, 0)
#include <linux/unaligned.h>
#else
#include <asm/unaligned.h>
#endif
#else
#include <stdint.h>
#include <string.h>
typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef uint64_t u64;
typedef int8_t s8;
typedef int16_t s16;
typedef int32_t s32;
typedef int64_t s64;
#define unlikely(condition) __builtin_expect(!!(condition), 0)
#endif

/* Not every function is called in every file. */
#define WASM static __attribute__((unused))

/* ---- memory, little-endian on every machine ------------------------------------------------------------------------ */

#ifdef __KERNEL__
#define load16 get_unaligned_le16
#define load32 get_unaligned_le32
#define load64 get_unaligned_le64
#define store16(at, value) put_unaligned_le16(value, at)
#define store32(at, value) put_unaligned_le32(value, at)
#define store64(at, value) put_unaligned_le64(value, at)
#else
WASM inline u16 load16(const u8 *at)
{
	return (u16)(at[0] | at[1] << 8);
}

WASM inline u32 load32(const u8 *at)
{
	return load16(at) | (u32)load16(at + 2) << 16;
}

WASM inline u64 load64(const u8 *at)
{
	return load32(at) | (u64)load32(at + 4) << 32;
}

WASM inline void store16(u8 *at, u16 value)
{
	at[0] = (u8)value;
	at[1] = (u8)(value >> 8);
}

WASM inline void store32(u8 *at, u32 value)
{
	store16(at, (u16)value);
	store16(at + 2, (u16)(value >> 16));
}

WASM inline void store64(u8 *at, u64 value)
{
	store32(at, (u32)value);
	store32(at + 4, (u32)(value >> 32));
}
#endif

/* ---- arithmetic ---------------------------------------------------------------------------------------------------- */

#ifdef __KERNEL__
#define div64(a, b) div64_u64(a, b)

WASM inline u64 rem64(u64 a, u64 b)
{
	u64 rest;

	div64_u64_rem(a, b, &rest);
	return rest;
}

#define leading_zeros32(a) (32u - (u32)fls(a))
#define leading_zeros64(a) (64u - (u32)fls64(a))
#define ones32(a) ((u32)hweight32(a))
#define ones64(a) ((u32)hweight64(a))
#else
#define div64(a, b) ((a) / (b))
#define rem64(a, b) ((a) % (b))
#define leading_zeros32(a) ((a) ? (u32)__builtin_clz(a) : 32u)
#define leading_zeros64(a) ((a) ? (u32)__builtin_clzll(a) : 64u)
#define ones32(a) ((u32)__builtin_popcount(a))
#define ones64(a) ((u32)__builtin_popcountll(a))
#endif

WASM inline u32 trailing_zeros32(u32 a)
{
	return 32u - leading_zeros32(~a & (a - 1));
}

WASM inline u32 trailing_zeros64(u64 a)
{
	return 64u - leading_zeros64(~a & (a - 1));
}

WASM inline u32 rotate32(u32 a, u32 by)
{
	return a << (by & 31) | a >> (-by & 31);
}

WASM inline u64 rotate64(u64 a, u64 by)
{
	return a << (by & 63) | a >> (-by & 63);
}

WASM inline u64 magnitude64(u64 a)
{
	return a >> 63 ? -a : a;
}

WASM inline u64 signed_div64(u64 a, u64 b)
{
	u64 quotient = div64(magnitude64(a), magnitude64(b));

	return (a ^ b) >> 63 ? -quotient : quotient;
}

WASM inline u64 signed_rem64(u64 a, u64 b)
{
	u64 rest = rem64(magnitude64(a), magnitude64(b));

	return a >> 63 ? -rest : rest;
}

