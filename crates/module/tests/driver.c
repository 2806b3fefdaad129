/*
 * A queue's calls from lines of text, their results to lines of text. The arguments are the discipline, its limit and
 * the time of creation.
 */
#include "engine_wasm.c"
#include <inttypes.h>
#include <stdlib.h>

static u64 requests;

void *sojourn_qdisc_alloc(size_t bytes, size_t align)
{
	(void)align;
	requests++;
	return malloc(bytes);
}

void sojourn_qdisc_release(void *at, size_t bytes)
{
	(void)bytes;
	free(at);
}

void sojourn_qdisc_dropped(void *user, uintptr_t handle, u32 ecn, u32 reason)
{
	(void)user;
	printf("x %lu %u %u\n", (unsigned long)handle, ecn, reason);
}

size_t sojourn_qdisc_head(void *user, uintptr_t handle, u8 *bytes, size_t room)
{
	(void)user, (void)handle, (void)bytes, (void)room;
	return 0;
}

static struct sojourn_queue *made(struct sojourn_setup setup, const char *text, const char *limit)
{
	char why[400];
	struct sojourn_queue *queue;

	queue = sojourn_qdisc_create(&setup, text, strlen(text), limit, strlen(limit), why, sizeof(why));
	if (!queue)
		printf("refused %s\n", why);
	return queue;
}

static void enqueue(struct sojourn_queue *queue, u64 now, const char *rest)
{
	unsigned long handle;
	unsigned int tos;
	struct sojourn_packet packet = { .segments = 1 };

	if (sscanf(rest, "%lu %u %u %u %u %u", &handle, &packet.len, &packet.flow, &packet.hosts[0], &packet.hosts[1],
		   &tos) != 6)
		exit(3);
	packet.handle = handle;
	packet.tos = (u8)tos;
	printf("e %u\n", sojourn_qdisc_enqueue(queue, now, NULL, &packet));
}

static void dequeue(struct sojourn_queue *queue, u64 now)
{
	struct sojourn_departure out = { 0 };
	u32 kind = sojourn_qdisc_dequeue(queue, now, NULL, &out);

	printf("d %u %lu %u %" PRIu64 "\n", kind, (unsigned long)out.handle, out.ecn, out.at);
}

static void change(struct sojourn_queue *queue, u64 now, char *rest)
{
	struct sojourn_setup setup;
	struct sojourn_queue *new;
	char why[400] = "", *limit = strtok(rest, " "), *text = strtok(NULL, "\n");
	bool done;

	sojourn_qdisc_setup(queue, &setup);
	new = made(setup, text, limit);
	if (!new)
		return;
	done = sojourn_qdisc_change(queue, now, NULL, new, why, sizeof(why));
	printf("c %d %s\n", done, why);
	sojourn_qdisc_free(new);
}

int main(int argc, char **argv)
{
	struct sojourn_setup setup = { .rate = 11300000, .seed = 7, .mtu = 1514 };
	struct sojourn_queue *queue;
	static char line[512], state[4000];
	u64 now, created_with;
	int used;
	char what;

	if (argc != 4)
		return 2;
	setup.now = strtoull(argv[3], NULL, 10);
	queue = made(setup, argv[1], argv[2]);
	if (!queue)
		return 0;
	created_with = requests;
	while (fgets(line, sizeof(line), stdin)) {
		if (sscanf(line, "%c %" SCNu64 "%n", &what, &now, &used) != 2)
			return 3;
		switch (what) {
		case 'e':
			enqueue(queue, now, line + used);
			break;
		case 'd':
			dequeue(queue, now);
			break;
		case 'c':
			change(queue, now, line + used);
			created_with = requests;
			break;
		case 'r':
			sojourn_qdisc_reset(queue, now);
			break;
		case 's':
			sojourn_qdisc_state(queue, now, state, sizeof(state));
			printf("s %s\n", state);
			sojourn_qdisc_spelling(queue, state, sizeof(state));
			printf("s %s\n", state);
			break;
		case 't':	/* a pointer of the library's leads anywhere */
			memset(queue->wasm.memory + queue->queue, 0xee, 512);
			break;
		}
	}
	if (requests != created_with)
		printf("memory was requested after the creation\n");
	sojourn_qdisc_free(queue);
	return 0;
}
