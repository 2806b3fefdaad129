// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The discipline `sojourn` for iproute2's tc, loaded from $TC_LIB_DIR as q_sojourn.so:
 *
 *   tc qdisc add dev DEV root sojourn [limit N|SIZE|TIME] [rate RATE] [delay TIME] [mtu BYTES] [seed N] AQM…
 *
 * The words from the AQM's name on are the library's.
 */
#include <errno.h>
#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "tc.h"

enum { TEXT = 1, LIMIT, RATE, SEED, DELAY, MTU, SPELLING };
enum { PRINT_ANY = 4, COLOR_NONE = 6 };	/* of iproute2 */

#define MAX_TEXT 4000

/* tc's own; without it the text is printed as it is. */
extern int print_color_string(int type, int color, const char *key, const char *format, const char *value)
	__attribute__((weak));

static void print_text(FILE *f, const char *key, const char *text)
{
	if (print_color_string)
		print_color_string(PRINT_ANY, COLOR_NONE, key, "%s ", text);
	else
		fprintf(f, "%s ", text);
}

struct unit {
	const char *name;
	double factor;
};

static const struct unit rates[] = { { "bit", 1 }, { "kbit", 1e3 }, { "mbit", 1e6 }, { "gbit", 1e9 }, { "", 1 }, {} };
static const struct unit times[] = { { "ns", 1 }, { "us", 1e3 }, { "ms", 1e6 }, { "s", 1e9 }, {} };
static const struct unit plain[] = { { "", 1 }, {} };

/* A number with one of the units; false if the word is not one. */
static int read_quantity(const char *word, const struct unit *units, __u64 *value)
{
	char *end;
	double number = strtod(word, &end);

	if (end == word || !(number >= 0) || number > 1e18)
		return 0;
	for (; units->name; units++) {
		if (strcasecmp(end, units->name))
			continue;
		/* A whole number stays exact. */
		*value = units->factor == 1 ? strtoull(word, NULL, 10) : (__u64)(number * units->factor + 0.5);
		return 1;
	}
	return 0;
}

static const struct option {
	const char *name;
	unsigned short type;
	const struct unit *units;	/* NULL: a text */
	size_t bytes;
	const char *example;
} options[] = {
	{ "limit", LIMIT, NULL, 0, "1000packets, 250kB or 50ms" },
	{ "rate", RATE, rates, sizeof(__u64), "100mbit" },
	{ "delay", DELAY, times, sizeof(__u64), "20ms" },
	{ "mtu", MTU, plain, sizeof(__u32), "1514" },
	{ "seed", SEED, plain, sizeof(__u64), "1" },
};

static int add_option(struct nlmsghdr *n, const struct option *option, const char *word)
{
	__u64 value;
	__u32 small;

	if (!option->units)
		return append(n, option->type, word, strlen(word) + 1) ? 0 : -1;
	if (!read_quantity(word, option->units, &value)) {
		fprintf(stderr, "sojourn: %s \"%s\": write e.g. %s\n", option->name, word, option->example);
		return -1;
	}
	small = (__u32)value;
	return append(n, option->type, option->bytes == sizeof(small) ? (void *)&small : (void *)&value, option->bytes)
		? 0 : -1;
}

static int parse(const struct qdisc_util *util, int argc, char **argv, struct nlmsghdr *n, const char *dev)
{
	char text[MAX_TEXT] = "";
	struct rtattr *nest = append(n, TCA_OPTIONS | NLA_F_NESTED, NULL, 0);

	(void)util, (void)dev;
	if (!nest)
		return -1;
	for (; argc > 0; argc -= 2, argv += 2) {
		const struct option *option = options, *end = options + sizeof(options) / sizeof(*options);

		while (option < end && strcmp(option->name, *argv))
			option++;
		if (option == end)
			break;
		if (argc < 2) {
			fprintf(stderr, "sojourn: %s needs a value, e.g. %s\n", option->name, option->example);
			return -1;
		}
		if (add_option(n, option, argv[1]))
			return -1;
	}
	for (; argc > 0; argc--, argv++) {
		if (strlen(text) + strlen(*argv) + 2 > sizeof(text)) {
			fprintf(stderr, "sojourn: the discipline has over %d characters; shorten it\n", MAX_TEXT - 1);
			return -1;
		}
		if (*text)
			strcat(text, " ");
		strcat(text, *argv);
	}
	if (*text && !append(n, TEXT, text, strlen(text) + 1))
		return -1;
	nest->rta_len = (unsigned short)((char *)n + NLMSG_ALIGN(n->nlmsg_len) - (char *)nest);
	return 0;
}

static int print(const struct qdisc_util *util, FILE *f, struct rtattr *opt)
{
	struct rtattr *attribute = opt ? RTA_DATA(opt) : NULL;
	int left = opt ? (int)RTA_PAYLOAD(opt) : 0;

	(void)util;
	for (; attribute && RTA_OK(attribute, left); attribute = RTA_NEXT(attribute, left)) {
		if ((attribute->rta_type & NLA_TYPE_MASK) == SPELLING && RTA_PAYLOAD(attribute) > 0) {
			((char *)RTA_DATA(attribute))[RTA_PAYLOAD(attribute) - 1] = '\0';
			print_text(f, "spelling", RTA_DATA(attribute));
		}
	}
	return 0;
}

static int print_state(const struct qdisc_util *util, FILE *f, struct rtattr *xstats)
{
	(void)util;
	if (xstats && RTA_PAYLOAD(xstats) > 0) {
		((char *)RTA_DATA(xstats))[RTA_PAYLOAD(xstats) - 1] = '\0';
		print_text(f, "state", RTA_DATA(xstats));
	}
	return 0;
}

struct qdisc_util sojourn_qdisc_util = {
	.id = "sojourn",
	.parse_qopt = parse,
	.print_qopt = print,
	.print_xstats = print_state,
};
