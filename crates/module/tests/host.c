/* The host of a translated module in a test. */
#include <stdio.h>

WASM u32 wasm_grow(struct wasm *m, u32 pages)
{
	(void)m, (void)pages;
	return ~0u;
}

WASM u64 import_add(struct wasm *m, u32 a, u64 b)
{
	(void)m;
	return a + b;
}

WASM void import_stop(struct wasm *m)
{
	m->trap = 99;
}

static u8 memory[65536];

#define CALL(call) \
	do { \
		struct wasm instance = { .memory = memory, .size = sizeof(memory) }; \
		unsigned long long result; \
		memset(memory, 0, sizeof(memory)); \
		wasm_start(&instance); \
		result = call; \
		if (instance.trap) \
			puts(wasm_reason(instance.trap)); \
		else \
			printf("%llu\n", result); \
	} while (0)

int main(void)
{
