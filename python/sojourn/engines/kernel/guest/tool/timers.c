/* Heap of deadlines in the order of time; simultaneous ones in the order in which they were set. */
#include "timers.h"

struct deadline {
	uint64_t at, order;
	void (*callback)(void *);
	void *argument;
};

static struct deadline *heap;
static size_t filled, room;
static uint64_t next_order;

static bool before(const struct deadline *a, const struct deadline *b)
{
	return a->at != b->at ? a->at < b->at : a->order < b->order;
}

static void swap(size_t i, size_t j)
{
	struct deadline saved = heap[i];

	heap[i] = heap[j];
	heap[j] = saved;
}

void set_deadline(uint64_t at, void (*callback)(void *), void *argument)
{
	size_t i = filled;

	if (filled == room) {
		room = room ? 2 * room : 256;
		heap = realloc(heap, room * sizeof(*heap));
		if (!heap)
			fail("out of memory");
	}
	heap[filled++] = (struct deadline){ at, next_order++, callback, argument };
	for (; i && before(&heap[i], &heap[(i - 1) / 2]); i = (i - 1) / 2)
		swap(i, (i - 1) / 2);
}

uint64_t next_deadline(void)
{
	return filled ? heap[0].at : UINT64_MAX;
}

void run_deadline(void)
{
	struct deadline first = heap[0];
	size_t i = 0;

	heap[0] = heap[--filled];
	for (;;) {
		size_t smallest = i, left = 2 * i + 1;

		for (size_t child = left; child < left + 2 && child < filled; child++)
			if (before(&heap[child], &heap[smallest]))
				smallest = child;
		if (smallest == i)
			break;
		swap(i, smallest);
		i = smallest;
	}
	first.callback(first.argument);
}
