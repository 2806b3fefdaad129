// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A user's discipline for iproute2's tc, loaded from $TC_LIB_DIR as q_NAME.so; NAME is a string of the compiler's command
 * line:
 *
 *   tc qdisc add dev DEV root NAME like codel limit 1000 target 5ms
 *   tc qdisc add dev DEV root NAME options 1:4:5000
 *
 * After `like` tc's own parser of that discipline reads the words; an option is an attribute: type, bytes, value. With
 * $SOJOURN_LIKE that discipline's part of tc shows options and state.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <linux/pkt_sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "../qdisc/tc.h"

static int parse_options(int argc, char **argv, struct nlmsghdr *n)
{
	struct rtattr *nest = append(n, TCA_OPTIONS | NLA_F_NESTED, NULL, 0);

	for (; argc > 0 && nest; argc--, argv++) {
		unsigned int type, bytes;
		unsigned long long value;
		int end = 0;

		if (sscanf(*argv, "%u:%u:%llu%n", &type, &bytes, &value, &end) != 3 || argv[0][end] || type > 255 ||
		    (bytes != 1 && bytes != 2 && bytes != 4 && bytes != 8)) {
			fprintf(stderr, NAME ": \"%s\" is not TYPE:BYTES:VALUE with 1, 2, 4 or 8 bytes\n", *argv);
			return -1;
		}
		/* Little-endian, as the machine. */
		if (!append(n, (unsigned short)type, &value, bytes))
			nest = NULL;
	}
	if (!nest) {
		fprintf(stderr, NAME ": the options do not fit into a message\n");
		return -1;
	}
	nest->rta_len = (unsigned short)((char *)n + NLMSG_ALIGN(n->nlmsg_len) - (char *)nest);
	return 0;
}

/* tc's own discipline of a name; NULL without one. */
static const struct qdisc_util *find(const char *name)
{
	char symbol[64];

	snprintf(symbol, sizeof(symbol), "%s_qdisc_util", name);
	return dlsym(RTLD_DEFAULT, symbol);
}

static int parse(const struct qdisc_util *util, int argc, char **argv, struct nlmsghdr *n, const char *dev)
{
	const struct qdisc_util *like;

	(void)util;
	if (!argc)
		return 0;
	if (!strcmp(*argv, "options"))
		return parse_options(argc - 1, argv + 1, n);
	if (argc < 2 || strcmp(*argv, "like")) {
		fprintf(stderr, NAME " is followed by \"like DISCIPLINE …\" or \"options TYPE:BYTES:VALUE …\"\n");
		return -1;
	}
	like = find(argv[1]);
	if (!like || !like->parse_qopt) {
		fprintf(stderr, NAME " like %s: tc has no discipline \"%s\" of its own\n", argv[1], argv[1]);
		return -1;
	}
	return like->parse_qopt(like, argc - 2, argv + 2, n, dev);
}

/* The kernel does not know the words of `like`; the environment names the discipline that reads options and state. */
static const struct qdisc_util *reader(void)
{
	const char *name = getenv("SOJOURN_LIKE");

	return name && *name ? find(name) : NULL;
}

static int print(const struct qdisc_util *util, FILE *f, struct rtattr *opt)
{
	const struct qdisc_util *like = reader();

	(void)util;
	return like && like->print_qopt ? like->print_qopt(like, f, opt) : 0;
}

static int print_state(const struct qdisc_util *util, FILE *f, struct rtattr *xstats)
{
	const struct qdisc_util *like = reader();

	(void)util;
	return like && like->print_xstats ? like->print_xstats(like, f, xstats) : 0;
}

struct qdisc_util util __asm__(NAME "_qdisc_util") = {
	.id = NAME,
	.parse_qopt = parse,
	.print_qopt = print,
	.print_xstats = print_state,
};
