// SPDX-License-Identifier: GPL-2.0
/*
 * sojourn_qdisc.h over a discipline that was translated from WebAssembly into C (crates/module).
 *
 * Each queue is an instance with a memory of its own, which grows only while the queue is created. The library knows a
 * packet by a ticket, a place in a table. A trap or a panic ends the instance: its queue is failed, and sch_sojourn.c
 * serves the packets that wait.
 *
 * This file is compiled into a kernel and is not part of Sojourn's programs; see LICENSE in this package.
 */
#include "sojourn_qdisc.h"
#ifdef __KERNEL__
#include <linux/kernel.h>
#include <linux/minmax.h>
#else
#include <stdio.h>
#define min(a, b) ((a) < (b) ? (a) : (b))
#endif
#include "discipline.c"

#define PAGE 65536u
#define CLASSES 32
#define SMALLEST_CLASS 4	/* blocks of 16 bytes and more, each a power of two */
#define MAX_MEMORY (1u << 30)
#define HOST_TRAP 100u
#define MAX_SPELLING 1500
#define PACKET_BYTES 32		/* at least, in the memory, per waiting packet */

/* Layouts of crates/qdisc on wasm32, and of the place for them in the memory. */
enum { PACKET_LEN = 4, PACKET_FLOW = 8, PACKET_HOSTS = 12, PACKET_CLASS = 20, PACKET_SEGMENTS = 24, PACKET_TOS = 26 };
enum { DEPARTURE_AT = 8, DEPARTURE_ECN = 16 };
enum { STRUCT = 0, LIMIT = 64, LIMIT_ROOM = 256, TEXT = 320, TEXT_ROOM = 4096, PLACE_BYTES = TEXT + TEXT_ROOM };

struct ticket {
	uintptr_t handle;	/* 0: free */
	u32 next;		/* next free one; the number of tickets at the end */
};

struct sojourn_queue {
	struct wasm wasm;
	bool may_grow;
	u32 end;		/* of the blocks ever given out */
	u32 free[CLASSES];	/* first free block of each power of two */
	u32 place;		/* address of texts and structs of a call */
	u32 queue;		/* address of the library's queue */
	void *user;		/* of the call in progress */
	struct ticket *tickets;
	u32 ticket_count;
	u32 free_ticket;
	char failure[200];
	char spelling[MAX_SPELLING];
	char words[TEXT_ROOM];	/* as given, for a change to this queue's parameters */
	char limit[LIMIT_ROOM];
};

static struct sojourn_queue *queue_of(struct wasm *m)
{
	return (struct sojourn_queue *)m;	/* its first member */
}

/* ---- the memory -------------------------------------------------------------------------------------------------- */

static bool grow_to(struct sojourn_queue *q, u64 bytes)
{
	u8 *memory;

	bytes = (bytes + PAGE - 1) / PAGE * PAGE;
	if (bytes <= q->wasm.size)
		return true;
	if (!q->may_grow || bytes > MAX_MEMORY)
		return false;
	memory = sojourn_qdisc_alloc(bytes, sizeof(u64));
	if (!memory)
		return false;
	memcpy(memory, q->wasm.memory, q->wasm.size);
	memset(memory + q->wasm.size, 0, bytes - q->wasm.size);
	sojourn_qdisc_release(q->wasm.memory, q->wasm.size);
	q->wasm.memory = memory;
	q->wasm.size = bytes;
	return true;
}

static u32 class_of(u32 bytes)
{
	u32 class = SMALLEST_CLASS;

	while (class < CLASSES - 1 && 1u << class < bytes)
		class++;
	return class;
}

static u32 allocate(struct sojourn_queue *q, u32 bytes)
{
	u32 class = class_of(bytes), at = q->free[class];
	u64 end = q->end + (1ull << class);

	if (at) {
		if (at > q->wasm.size - (1u << SMALLEST_CLASS))
			return 0;
		q->free[class] = load32(q->wasm.memory + at);
		return at;
	}
	/* Half as much again, so that the copies cost as much as the blocks. */
	if (end > q->wasm.size && !grow_to(q, end + end / 2))
		return 0;
	at = q->end;
	q->end = end;
	return at;
}

WASM u32 wasm_grow(struct wasm *m, u32 pages)
{
	(void)m, (void)pages;
	return ~0u;
}

WASM u32 import_sojourn_qdisc_alloc(struct wasm *m, u32 bytes, u32 align)
{
	return align > 1u << SMALLEST_CLASS ? 0 : allocate(queue_of(m), bytes);
}

WASM void import_sojourn_qdisc_release(struct wasm *m, u32 at, u32 bytes)
{
	struct sojourn_queue *q = queue_of(m);
	u32 class = class_of(bytes);

	if (at > m->size - (1u << SMALLEST_CLASS))
		return;
	store32(m->memory + at, q->free[class]);
	q->free[class] = at;
}

/* ---- packets ----------------------------------------------------------------------------------------------------- */

static void free_all_tickets(struct sojourn_queue *q)
{
	u32 i;

	for (i = 0; i < q->ticket_count; i++)
		q->tickets[i] = (struct ticket) { .next = i + 1 };
	q->free_ticket = 0;
}

/* The packet of a ticket, which becomes free; 0 for none. */
static uintptr_t take(struct sojourn_queue *q, u32 ticket)
{
	uintptr_t handle;

	if (ticket >= q->ticket_count || !q->tickets[ticket].handle)
		return 0;
	handle = q->tickets[ticket].handle;
	q->tickets[ticket] = (struct ticket) { .next = q->free_ticket };
	q->free_ticket = ticket;
	return handle;
}

static void fail(struct sojourn_queue *q, const char *reason, size_t len)
{
	size_t i;

	/* One line, also of a panic, whose place and message are two. */
	if (!q->failure[0]) {
		len = min(len, sizeof(q->failure) - 1);
		for (i = 0; i < len; i++)
			q->failure[i] = reason[i] == '\n' ? ' ' : reason[i];
		q->failure[len] = '\0';
	}
	q->wasm.trap = HOST_TRAP;
}

#define FAIL(q, reason) fail(q, reason, sizeof(reason) - 1)

WASM void import_sojourn_qdisc_panic(struct wasm *m, u32 text, u32 len)
{
	if (len > m->size || text > m->size - len)
		FAIL(queue_of(m), "a panic without a text");
	else
		fail(queue_of(m), (const char *)m->memory + text, len);
}

WASM void import_sojourn_qdisc_dropped(struct wasm *m, u32 user, u32 ticket, u32 ecn, u32 reason)
{
	struct sojourn_queue *q = queue_of(m);
	uintptr_t handle = take(q, ticket);

	(void)user;
	if (handle)
		sojourn_qdisc_dropped(q->user, handle, ecn, reason);
	else
		FAIL(q, "a packet was dropped that is not in the queue");
}

WASM u32 import_sojourn_qdisc_head(struct wasm *m, u32 user, u32 ticket, u32 bytes, u32 room)
{
	struct sojourn_queue *q = queue_of(m);

	(void)user;
	if (room > m->size || bytes > m->size - room || ticket >= q->ticket_count || !q->tickets[ticket].handle)
		return 0;
	return sojourn_qdisc_head(q->user, q->tickets[ticket].handle, m->memory + bytes, room);
}

/* ---- calls --------------------------------------------------------------------------------------------------------- */

/* Before a call; false once the queue is failed. */
static bool enter(struct sojourn_queue *q, void *user)
{
	q->user = user;
	q->wasm.depth = 0;
	return !q->wasm.trap;
}

/* After a call: whether it has returned. */
static bool left(struct sojourn_queue *q)
{
	const char *reason;

	if (!q->wasm.trap)
		return true;
	reason = wasm_reason(q->wasm.trap);
	fail(q, reason, strlen(reason));
	return false;
}

static u8 *at(const struct sojourn_queue *q, u32 offset)
{
	return q->wasm.memory + q->place + offset;
}

/* A string of the memory's place for texts. */
static void read_text(const struct sojourn_queue *q, char *out, size_t room)
{
	if (room) {
		strncpy(out, (const char *)at(q, TEXT), room - 1);
		out[room - 1] = '\0';
	}
}

static void copy_text(char *out, size_t room, const char *text)
{
	size_t len = min(strlen(text), room - 1);

	if (room) {
		memcpy(out, text, len);
		out[len] = '\0';
	}
}

const char *sojourn_qdisc_failure(const struct sojourn_queue *q)
{
	return q->wasm.trap ? q->failure : NULL;
}

static void read_spelling(struct sojourn_queue *q)
{
	export_sojourn_qdisc_spelling(&q->wasm, q->queue, q->place + TEXT, TEXT_ROOM);
	if (left(q))
		read_text(q, q->spelling, sizeof(q->spelling));
}

/* The library's queue for words and limit, in this memory; 0 with the reason in the place for texts. */
static u32 create(struct sojourn_queue *q, const struct sojourn_setup *setup, const char *words, const char *limit)
{
	size_t words_len = strlen(words), limit_len = strlen(limit);
	const u64 numbers[] = { setup->rate, setup->delay, setup->seed, setup->now, setup->mtu };
	u32 i;

	for (i = 0; i < 5; i++)
		store64(at(q, STRUCT + 8 * i), numbers[i]);
	memcpy(at(q, LIMIT), limit, limit_len);
	memcpy(at(q, TEXT), words, words_len);
	/* The reason is written when the words have been read. */
	return export_sojourn_qdisc_create(&q->wasm, q->place + STRUCT, q->place + TEXT, words_len, q->place + LIMIT,
					   limit_len, q->place + TEXT, TEXT_ROOM);
}

static bool start(struct sojourn_queue *q)
{
	q->wasm.size = WASM_PAGES * PAGE;
	q->wasm.memory = sojourn_qdisc_alloc(q->wasm.size, sizeof(u64));
	if (!q->wasm.memory)
		return false;
	memset(q->wasm.memory, 0, q->wasm.size);
	wasm_start(&q->wasm);
	q->end = (wasm___heap_base + 15) & ~15u;
	q->may_grow = true;
	q->place = allocate(q, PLACE_BYTES);
	return q->place != 0;
}

/* Room for a second queue beside the first, for changes and resets, and for as many packets as the memory can hold. */
static bool reserve(struct sojourn_queue *q)
{
	if (!grow_to(q, 2 * (u64)q->end + PAGE))
		return false;
	q->may_grow = false;
	q->ticket_count = (q->wasm.size - wasm___heap_base) / PACKET_BYTES;
	q->tickets = sojourn_qdisc_alloc(q->ticket_count * sizeof(*q->tickets), sizeof(u64));
	if (!q->tickets)
		return false;
	free_all_tickets(q);
	return true;
}

struct sojourn_queue *sojourn_qdisc_create(const struct sojourn_setup *setup, const char *text, size_t text_len,
					   const char *limit, size_t limit_len, char *why, size_t room)
{
	struct sojourn_queue *q = sojourn_qdisc_alloc(sizeof(*q), sizeof(u64));

	if (!q) {
		copy_text(why, room, "not enough memory for the queue");
		return NULL;
	}
	memset(q, 0, sizeof(*q));
	if (text_len >= TEXT_ROOM || limit_len >= LIMIT_ROOM) {
		copy_text(why, room, "the discipline or its limit is too long; shorten it");
		goto refused;
	}
	memcpy(q->words, text, text_len);
	memcpy(q->limit, limit, limit_len);
	copy_text(why, room, "not enough memory for the queue; write a smaller limit");
	if (!start(q))
		goto refused;
	q->queue = create(q, setup, q->words, q->limit);
	if (!left(q)) {
		copy_text(why, room, q->failure);
		goto refused;
	}
	if (!q->queue) {
		read_text(q, why, room);
		goto refused;
	}
	read_spelling(q);
	if (q->wasm.trap || !reserve(q))
		goto refused;
	return q;
refused:
	sojourn_qdisc_free(q);
	return NULL;
}

void sojourn_qdisc_setup(const struct sojourn_queue *queue, struct sojourn_setup *out)
{
	struct sojourn_queue *q = (struct sojourn_queue *)queue;

	*out = (struct sojourn_setup) { .rate = 1 };
	if (!enter(q, NULL))
		return;
	export_sojourn_qdisc_setup(&q->wasm, q->queue, q->place + STRUCT);
	if (left(q)) {
		out->rate = load64(at(q, STRUCT));
		out->delay = load64(at(q, STRUCT + 8));
		out->seed = load64(at(q, STRUCT + 16));
		out->now = load64(at(q, STRUCT + 24));
		out->mtu = load64(at(q, STRUCT + 32));
	}
}

/* Takes the larger memory and the larger table of both queues, with the contents of the first. */
static void take_larger(struct sojourn_queue *q, struct sojourn_queue *other)
{
	u8 *memory = other->wasm.memory;
	struct ticket *tickets = other->tickets;
	u32 size = other->wasm.size, count = other->ticket_count, i;

	if (size > q->wasm.size) {
		memcpy(memory, q->wasm.memory, q->wasm.size);
		memset(memory + q->wasm.size, 0, size - q->wasm.size);
		other->wasm.memory = q->wasm.memory;
		other->wasm.size = q->wasm.size;
		q->wasm.memory = memory;
		q->wasm.size = size;
	}
	if (count > q->ticket_count) {
		memcpy(tickets, q->tickets, q->ticket_count * sizeof(*tickets));
		/* The last free ticket of the smaller table leads to the first new one. */
		for (i = q->ticket_count; i < count; i++)
			tickets[i] = (struct ticket) { .next = i + 1 };
		other->tickets = q->tickets;
		other->ticket_count = q->ticket_count;
		q->tickets = tickets;
		q->ticket_count = count;
	}
}

bool sojourn_qdisc_change(struct sojourn_queue *q, u64 now, void *user, struct sojourn_queue *other, char *why,
			  size_t room)
{
	struct sojourn_setup setup;
	u32 new;
	bool done;

	sojourn_qdisc_setup(q, &setup);
	if (!enter(q, user)) {
		copy_text(why, room, q->failure);
		return false;
	}
	/* Both of the library's queues have to lie in one memory. */
	take_larger(q, other);
	new = create(q, &setup, other->words, other->limit);
	if (!q->wasm.trap && !new) {
		read_text(q, why, room);
		return false;
	}
	done = !q->wasm.trap && export_sojourn_qdisc_change(&q->wasm, q->queue, now, 0, new, q->place + TEXT, TEXT_ROOM);
	if (!q->wasm.trap && !done)
		read_text(q, why, room);
	if (!q->wasm.trap)
		export_sojourn_qdisc_free(&q->wasm, new);
	if (!left(q)) {
		copy_text(why, room, q->failure);
		return false;
	}
	if (done)
		read_spelling(q);
	return done;
}

void sojourn_qdisc_reset(struct sojourn_queue *q, u64 now)
{
	free_all_tickets(q);
	if (!enter(q, NULL))
		return;
	export_sojourn_qdisc_reset(&q->wasm, q->queue, now);
	left(q);
}

void sojourn_qdisc_free(struct sojourn_queue *q)
{
	if (!q)
		return;
	if (q->tickets)
		sojourn_qdisc_release(q->tickets, q->ticket_count * sizeof(*q->tickets));
	if (q->wasm.memory)
		sojourn_qdisc_release(q->wasm.memory, q->wasm.size);
	sojourn_qdisc_release(q, sizeof(*q));
}

u32 sojourn_qdisc_enqueue(struct sojourn_queue *q, u64 now, void *user, const struct sojourn_packet *packet)
{
	u32 ticket = q->free_ticket, verdict;
	u8 *out;

	if (!enter(q, user))
		return 0;
	if (ticket >= q->ticket_count) {
		FAIL(q, "more packets wait than the memory can hold");
		return 0;
	}
	q->free_ticket = q->tickets[ticket].next;
	q->tickets[ticket].handle = packet->handle;
	out = at(q, STRUCT);
	store32(out, ticket);
	store32(out + PACKET_LEN, packet->len);
	store32(out + PACKET_FLOW, packet->flow);
	store32(out + PACKET_HOSTS, packet->hosts[0]);
	store32(out + PACKET_HOSTS + 4, packet->hosts[1]);
	store32(out + PACKET_CLASS, packet->class);
	store16(out + PACKET_SEGMENTS, packet->segments);
	out[PACKET_TOS] = packet->tos;
	verdict = export_sojourn_qdisc_enqueue(&q->wasm, q->queue, now, 0, q->place + STRUCT);
	return left(q) ? verdict : 0;
}

u32 sojourn_qdisc_dequeue(struct sojourn_queue *q, u64 now, void *user, struct sojourn_departure *out)
{
	u32 kind;

	if (!enter(q, user))
		return SOJOURN_EMPTY;
	kind = export_sojourn_qdisc_dequeue(&q->wasm, q->queue, now, 0, q->place + STRUCT);
	if (!left(q))
		return SOJOURN_EMPTY;
	switch (kind) {
	case SOJOURN_PACKET:
		out->handle = take(q, load32(at(q, STRUCT)));
		out->ecn = load32(at(q, STRUCT + DEPARTURE_ECN));
		if (!out->handle) {
			FAIL(q, "a packet left that is not in the queue");
			return SOJOURN_EMPTY;
		}
		break;
	case SOJOURN_NOT_BEFORE:
		out->at = load64(at(q, STRUCT + DEPARTURE_AT));
		break;
	}
	return kind;
}

void sojourn_qdisc_settle(struct sojourn_queue *q, u64 now)
{
	if (!enter(q, NULL))
		return;
	export_sojourn_qdisc_settle(&q->wasm, q->queue, now);
	left(q);
}

bool sojourn_qdisc_ticks(const struct sojourn_queue *queue, u64 *first, u64 *period)
{
	struct sojourn_queue *q = (struct sojourn_queue *)queue;
	u32 has;

	if (!enter(q, NULL))
		return false;
	has = export_sojourn_qdisc_ticks(&q->wasm, q->queue, q->place + STRUCT, q->place + STRUCT + 8);
	if (!left(q) || !has)
		return false;
	*first = load64(at(q, STRUCT));
	*period = load64(at(q, STRUCT + 8));
	return true;
}

bool sojourn_qdisc_splits_gso(const struct sojourn_queue *queue)
{
	struct sojourn_queue *q = (struct sojourn_queue *)queue;
	u32 splits = enter(q, NULL) && export_sojourn_qdisc_splits_gso(&q->wasm, q->queue);

	return left(q) && splits;
}

void sojourn_qdisc_spelling(const struct sojourn_queue *q, char *out, size_t room)
{
	copy_text(out, room, q->spelling);
}

void sojourn_qdisc_state(struct sojourn_queue *q, u64 now, char *out, size_t room)
{
	if (enter(q, NULL)) {
		export_sojourn_qdisc_state(&q->wasm, q->queue, now, q->place + TEXT, TEXT_ROOM);
		if (left(q)) {
			read_text(q, out, room);
			return;
		}
	}
	snprintf(out, room, "failed (%s)", q->failure);
}
