/* Soft floats against the machine's own. Prints the first cases that differ; the argument is the number of rounds. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static u64 state = 88172645463325252ull, failures;

static u64 draw(void)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state * 0x2545f4914f6cdd1dull;
}

static double f64(u64 bits)
{
	double value;

	memcpy(&value, &bits, 8);
	return value;
}

static u64 bits64(double value)
{
	u64 bits;

	memcpy(&bits, &value, 8);
	return value == value ? bits : F64_NAN;
}

static float f32(u32 bits)
{
	float value;

	memcpy(&value, &bits, 4);
	return value;
}

static u32 bits32(float value)
{
	u32 bits;

	memcpy(&bits, &value, 4);
	return value == value ? bits : F32_NAN;
}

/* Any bits, numbers of similar size, short fractions, and edges of the format. */
static u64 number(void)
{
	static const u64 special[] = {
		0, 1, 2, (1ull << 52) - 1, 1ull << 52, (1ull << 52) + 1, 0x3ffull << 52, 0x3fefffffffffffffull,
		0x3ff0000000000001ull, 0x3feull << 52, 1075ull << 52, 0x7fefffffffffffffull, F64_INFINITY,
		F64_INFINITY + 1, F64_NAN, 0x41dfffffffc00000ull, 0x41e0000000000000ull, 0x41efffffffe00000ull,
		0x43e0000000000000ull, 0x43efffffffffffffull, 0x43f0000000000000ull, 0x47efffffe0000000ull,
		0x47effffff0000000ull, 0x36a0000000000000ull, 0x380fffffffffffffull, 0x3690000000000000ull,
	};
	u64 bits = draw(), kind = draw() % 8;

	switch (kind) {
	case 0:
		return special[draw() % (sizeof(special) / sizeof(*special))] ^ (bits & F64_SIGN);
	case 1:
		return (bits & ~(0x7ffull << 52)) | (1023 - 4 + draw() % 8) << 52;
	case 2:
		return (bits & (F64_SIGN | 0xfffull << 40)) | (1023 - 30 + draw() % 60) << 52;
	case 3:
		return bits64((double)(s64)bits / (double)(1ull << draw() % 63));
	case 4:
		return bits & (F64_SIGN | ((1ull << 53) - 1));
	case 5:
		return (bits & ~(0x7ffull << 52)) | (1023 - 150 + draw() % 300) << 52;
	default:
		return bits;
	}
}

static void compare(const char *name, u64 a, u64 b, u64 got, u64 expected)
{
	if (got != expected && failures++ < 8)
		printf("%s of %016llx, %016llx: %016llx instead of %016llx\n", name, (unsigned long long)a,
		       (unsigned long long)b, (unsigned long long)got, (unsigned long long)expected);
}

static double least(double x, double y)
{
	return x != x || y != y ? NAN : x == y ? (signbit(x) ? x : y) : x < y ? x : y;
}

static double most(double x, double y)
{
	return x != x || y != y ? NAN : x == y ? (signbit(x) ? y : x) : x < y ? y : x;
}

static u64 saturated(double x, double lowest, double end, u64 least_value, u64 most_value)
{
	if (x != x)
		return 0;
	if (x < lowest)
		return least_value;
	if (x >= end)
		return most_value;
	return x < 0 ? (u64)(s64)x : (u64)x;
}

static void pair(u64 a, u64 b)
{
	double x = f64(a), y = f64(b);
	u32 c = (u32)(a >> 32), d = (u32)b;

	compare("f64_add", a, b, f64_add(a, b), bits64(x + y));
	compare("f64_sub", a, b, f64_sub(a, b), bits64(x - y));
	compare("f64_mul", a, b, f64_mul(a, b), bits64(x * y));
	compare("f64_div", a, b, f64_div(a, b), bits64(x / y));
	compare("f64_min", a, b, f64_min(a, b), bits64(least(x, y)));
	compare("f64_max", a, b, f64_max(a, b), bits64(most(x, y)));
	compare("f64_eq", a, b, f64_eq(a, b), x == y);
	compare("f64_lt", a, b, f64_lt(a, b), x < y);
	compare("f64_le", a, b, f64_le(a, b), x <= y);
	compare("f64_sqrt", a, 0, f64_sqrt(a), bits64(sqrt(x)));
	compare("f64_floor", a, 0, f64_floor(a), bits64(floor(x)));
	compare("f64_ceil", a, 0, f64_ceil(a), bits64(ceil(x)));
	compare("f64_trunc", a, 0, f64_trunc(a), bits64(trunc(x)));
	compare("f64_nearest", a, 0, f64_nearest(a), bits64(nearbyint(x)));
	compare("f32_demote", a, 0, f32_demote(a), bits32((float)x));
	compare("f64_of", a, 0, f64_of(a), bits64((double)a));
	compare("f64_of_signed", a, 0, f64_of_signed(a), bits64((double)(s64)a));
	compare("f32_of", a, 0, f32_of(a), bits32((float)a));
	compare("f32_of_signed", a, 0, f32_of_signed(a), bits32((float)(s64)a));
	compare("signed32_of", a, 0, signed32_of(a), (u32)saturated(x, -0x1p31, 0x1p31, 1u << 31, ~0u >> 1));
	compare("unsigned32_of", a, 0, unsigned32_of(a), saturated(x, 0, 0x1p32, 0, ~0u));
	compare("signed64_of", a, 0, signed64_of(a), saturated(x, -0x1p63, 0x1p63, 1ull << 63, ~0ull >> 1));
	compare("unsigned64_of", a, 0, unsigned64_of(a), saturated(x, 0, 0x1p64, 0, ~0ull));
	compare("f64_promote", c, 0, f64_promote(c), bits64((double)f32(c)));
	compare("f32_add", c, d, f32_add(c, d), bits32(f32(c) + f32(d)));
	compare("f32_mul", c, d, f32_mul(c, d), bits32(f32(c) * f32(d)));
	compare("f32_div", c, d, f32_div(c, d), bits32(f32(c) / f32(d)));
	compare("f32_sqrt", c, 0, f32_sqrt(c), bits32(sqrtf(f32(c))));
	compare("f32_lt", c, d, f32_lt(c, d), f32(c) < f32(d));
}

int main(int argc, char **argv)
{
	long i, rounds = argc > 1 ? atol(argv[1]) : 0;

	for (i = 0; i < rounds; i++)
		pair(number(), number());
	printf("%llu\n", (unsigned long long)failures);
	return failures != 0;
}
