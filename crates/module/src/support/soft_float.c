/* ---- floating-point numbers, IEEE 754 with rounding to nearest even, in integers ----------------------------------- */

#define F64_SIGN (1ull << 63)
#define F64_INFINITY (0x7ffull << 52)
#define F64_NAN (0xfffull << 51)
#define F32_NAN 0x7fc00000u

/* Bits shifted out leave the lowest bit set, so that rounding sees them. */
WASM inline u64 shift_sticky(u64 a, u32 by)
{
	if (by >= 64)
		return a != 0;
	return by ? a >> by | (u64)(a << (64 - by) != 0) : a;
}

/* The number magnitude * 2^exponent, with a fraction of 52 or 23 bits; magnitude 0 is zero. */
WASM u64 float_round(u64 sign, s32 exponent, u64 magnitude, u32 fraction)
{
	u32 spare = 63 - fraction, shift;
	s32 bias = fraction == 52 ? 1023 : 127, biased;
	u64 kept, rest;

	if (!magnitude)
		return sign;
	shift = leading_zeros64(magnitude);
	magnitude <<= shift;
	biased = exponent - (s32)shift + 63 + bias;
	if (biased > 2 * bias)
		return sign | (u64)(2 * bias + 1) << fraction;
	if (biased < 1) {
		magnitude = shift_sticky(magnitude, (u32)(1 - biased));
		biased = 1;
	}
	kept = magnitude >> spare;
	rest = magnitude << (64 - spare);
	/* The leading one adds 1 to the exponent's field, as does a carry. */
	return sign | (((u64)(biased - 1) << fraction) + kept + (rest + (kept & 1) > 1ull << 63));
}

/* Magnitude and exponent of a finite number. */
WASM inline u64 f64_split(u64 a, s32 *exponent)
{
	s32 biased = (s32)(a >> 52 & 0x7ff);
	u64 fraction = a & ((1ull << 52) - 1);

	*exponent = (biased ? biased : 1) - 1075;
	return biased ? fraction | 1ull << 52 : fraction;
}

/* As above with bit 63 set; the number is not zero. */
WASM inline u64 f64_split_left(u64 a, s32 *exponent)
{
	u64 magnitude = f64_split(a, exponent);
	u32 shift = leading_zeros64(magnitude);

	*exponent -= (s32)shift;
	return magnitude << shift;
}

WASM inline u32 f64_is_nan(u64 a)
{
	return a << 1 > F64_INFINITY << 1;
}

WASM u64 f64_add(u64 a, u64 b)
{
	u64 larger = a << 1 < b << 1 ? b : a, smaller = a ^ b ^ larger, sum;
	s32 exponent, other;

	if (f64_is_nan(larger))
		return F64_NAN;
	if (larger << 1 == F64_INFINITY << 1)
		return (a ^ b) == F64_SIGN ? F64_NAN : larger;
	sum = f64_split(larger, &exponent) << 10;
	smaller = f64_split(smaller, &other) << 10;
	smaller = shift_sticky(smaller, (u32)(exponent - other));
	sum = (a ^ b) >> 63 ? sum - smaller : sum + smaller;
	if (!sum)
		return a & b & F64_SIGN;
	return float_round(larger & F64_SIGN, exponent - 10, sum, 52);
}

WASM inline u64 f64_sub(u64 a, u64 b)
{
	return f64_add(a, f64_is_nan(b) ? b : b ^ F64_SIGN);
}

/* Upper 64 bits of a product, the lowest one set if others are lost. */
WASM inline u64 multiply_high(u64 a, u64 b)
{
	u64 low = (a & ~0u) * (b & ~0u), one = (a >> 32) * (b & ~0u), two = (a & ~0u) * (b >> 32);
	u64 middle = (low >> 32) + (one & ~0u) + (two & ~0u);
	u64 high = (a >> 32) * (b >> 32) + (one >> 32) + (two >> 32) + (middle >> 32);

	return high | ((middle << 32 | (low & ~0u)) != 0);
}

WASM u64 f64_mul(u64 a, u64 b)
{
	u64 sign = (a ^ b) & F64_SIGN, one = a & ~F64_SIGN, two = b & ~F64_SIGN, product;
	s32 exponent, other;

	if (one >= F64_INFINITY || two >= F64_INFINITY) {
		if (one > F64_INFINITY || two > F64_INFINITY || !one || !two)
			return F64_NAN;
		return sign | F64_INFINITY;
	}
	if (!one || !two)
		return sign;
	product = f64_split_left(a, &exponent);
	product = multiply_high(product, f64_split_left(b, &other));
	return float_round(sign, exponent + other + 64, product, 52);
}

WASM u64 f64_div(u64 a, u64 b)
{
	u64 sign = (a ^ b) & F64_SIGN, one = a & ~F64_SIGN, two = b & ~F64_SIGN, rest, divisor, quotient;
	s32 exponent, other;
	u32 i;

	if (one > F64_INFINITY || two > F64_INFINITY || (one == two && (!one || one == F64_INFINITY)))
		return F64_NAN;
	if (one == F64_INFINITY || !two)
		return sign | F64_INFINITY;
	if (two == F64_INFINITY || !one)
		return sign;
	rest = f64_split_left(a, &exponent) >> 11;
	divisor = f64_split_left(b, &other) >> 11;
	quotient = rest >= divisor;
	rest -= quotient ? divisor : 0;
	for (i = 0; i < 5; i++) {
		u64 digit = div64(rest << 11, divisor);

		rest = (rest << 11) - digit * divisor;
		quotient = quotient << 11 | digit;
	}
	return float_round(sign, exponent - other - 55, quotient | (rest != 0), 52);
}

WASM u64 f64_sqrt(u64 a)
{
	u64 left, rest = 0, root = 0;
	s32 exponent;
	u32 i;

	if (a == F64_INFINITY || !(a << 1))
		return a;
	if (a >= F64_INFINITY)
		return F64_NAN;
	/* An even exponent; two bits of the radicand give one of the root. */
	left = f64_split_left(a, &exponent);
	if (exponent & 1) {
		left >>= 1;
		exponent++;
	}
	for (i = 0; i < 56; i++) {
		u64 attempt = root << 2 | 1;

		rest = rest << 2 | left >> 62;
		left <<= 2;
		root <<= 1;
		if (rest >= attempt) {
			rest -= attempt;
			root |= 1;
		}
	}
	return float_round(0, exponent / 2 - 24, root | (rest != 0), 52);
}

/* Integers in the order of the numbers; both zeros are 0. */
WASM inline s64 f64_order(u64 a)
{
	return a >> 63 ? -(s64)(a & ~F64_SIGN) : (s64)a;
}

WASM inline u32 f64_are_numbers(u64 a, u64 b)
{
	return !f64_is_nan(a) && !f64_is_nan(b);
}

WASM inline u32 f64_eq(u64 a, u64 b)
{
	return f64_are_numbers(a, b) && f64_order(a) == f64_order(b);
}

WASM inline u32 f64_lt(u64 a, u64 b)
{
	return f64_are_numbers(a, b) && f64_order(a) < f64_order(b);
}

WASM inline u32 f64_le(u64 a, u64 b)
{
	return f64_are_numbers(a, b) && f64_order(a) <= f64_order(b);
}

WASM inline u64 f64_min(u64 a, u64 b)
{
	if (!f64_are_numbers(a, b))
		return F64_NAN;
	if (f64_order(a) == f64_order(b))
		return a | b;
	return f64_order(a) < f64_order(b) ? a : b;
}

WASM inline u64 f64_max(u64 a, u64 b)
{
	if (!f64_are_numbers(a, b))
		return F64_NAN;
	if (f64_order(a) == f64_order(b))
		return a & b;
	return f64_order(a) < f64_order(b) ? b : a;
}

WASM inline u64 f64_trunc(u64 a)
{
	u32 biased = (u32)(a >> 52 & 0x7ff);

	if (f64_is_nan(a))
		return F64_NAN;
	if (biased < 1023)
		return a & F64_SIGN;
	return biased < 1075 ? a & ~0ull << (1075 - biased) : a;
}

WASM inline u64 f64_floor(u64 a)
{
	u64 whole = f64_trunc(a);

	return f64_lt(a, whole) ? f64_add(whole, 0xbffull << 52) : whole;
}

WASM inline u64 f64_ceil(u64 a)
{
	u64 whole = f64_trunc(a);

	return f64_lt(whole, a) ? f64_add(whole, 0x3ffull << 52) : whole;
}

WASM inline u64 f64_nearest(u64 a)
{
	u64 magnitude = a & ~F64_SIGN, two_to_52 = 1075ull << 52;

	if (magnitude >= two_to_52)
		return f64_trunc(a);
	return (a & F64_SIGN) | f64_sub(f64_add(magnitude, two_to_52), two_to_52);
}

/* ---- conversions --------------------------------------------------------------------------------------------------- */

WASM inline u64 f64_of(u64 value)
{
	return float_round(0, 0, value, 52);
}

WASM inline u64 f64_of_signed(u64 value)
{
	return value ? float_round(value & F64_SIGN, 0, magnitude64(value), 52) : 0;
}

WASM inline u32 f32_of(u64 value)
{
	return (u32)float_round(0, 0, value, 23);
}

WASM inline u32 f32_of_signed(u64 value)
{
	return (u32)float_round(value >> 63 << 31, 0, magnitude64(value), 23);
}

WASM inline u64 f64_promote(u32 a)
{
	u32 biased = a >> 23 & 0xff;
	u64 sign = (u64)(a >> 31) << 63, fraction = a & 0x7fffffu;

	if (biased == 0xff)
		return fraction ? F64_NAN : sign | F64_INFINITY;
	if (biased)
		return sign | (u64)(biased + 896) << 52 | fraction << 29;
	return float_round(sign, -149, fraction, 52);
}

WASM inline u32 f32_demote(u64 a)
{
	s32 exponent;
	u64 magnitude;

	if (f64_is_nan(a))
		return F32_NAN;
	if (a << 1 == F64_INFINITY << 1)
		return (u32)(a >> 63) << 31 | 0x7f800000u;
	magnitude = f64_split(a, &exponent);
	return (u32)float_round(a >> 63 << 31, exponent, magnitude, 23);
}

/* Magnitude without fraction, at most 2^64 - 1; NaN: 0. */
WASM inline u64 f64_whole(u64 a)
{
	s32 exponent;
	u64 magnitude = f64_split(a, &exponent);

	if (f64_is_nan(a) || exponent <= -64)
		return 0;
	if (exponent < 0)
		return magnitude >> -exponent;
	return exponent < 12 ? magnitude << exponent : ~0ull;
}

WASM inline u64 unsigned64_of(u64 a)
{
	return a >> 63 ? 0 : f64_whole(a);
}

WASM inline u64 signed64_of(u64 a)
{
	u64 whole = f64_whole(a), most = (1ull << 63) - !(a >> 63);

	whole = whole < most ? whole : most;
	return a >> 63 ? -whole : whole;
}

WASM inline u32 unsigned32_of(u64 a)
{
	u64 whole = unsigned64_of(a);

	return whole < ~0u ? (u32)whole : ~0u;
}

WASM inline u32 signed32_of(u64 a)
{
	u64 whole = f64_whole(a), most = (1ull << 31) - !(a >> 63);

	whole = whole < most ? whole : most;
	return (u32)(a >> 63 ? -whole : whole);
}

/* ---- single precision: the result in double precision, rounded again, is the right one ----------------------------- */

#define F32_BINARY(name) \
	WASM inline u32 f32_##name(u32 a, u32 b) \
	{ \
		return f32_demote(f64_##name(f64_promote(a), f64_promote(b))); \
	}
#define F32_UNARY(name) \
	WASM inline u32 f32_##name(u32 a) \
	{ \
		return f32_demote(f64_##name(f64_promote(a))); \
	}
#define F32_COMPARE(name) \
	WASM inline u32 f32_##name(u32 a, u32 b) \
	{ \
		return f64_##name(f64_promote(a), f64_promote(b)); \
	}

F32_BINARY(add)
F32_BINARY(sub)
F32_BINARY(mul)
F32_BINARY(div)
F32_BINARY(min)
F32_BINARY(max)
F32_UNARY(sqrt)
F32_UNARY(floor)
F32_UNARY(ceil)
F32_UNARY(trunc)
F32_UNARY(nearest)
F32_COMPARE(eq)
F32_COMPARE(lt)
F32_COMPARE(le)

