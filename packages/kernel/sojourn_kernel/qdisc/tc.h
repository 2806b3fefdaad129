/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A plug-in of iproute2's tc. iproute2 installs no headers, so its struct is declared here as it has been since 4.17; the
 * functions at the end of the struct that the plug-ins do not need are left out of it.
 */
#ifndef SOJOURN_TC_H
#define SOJOURN_TC_H
#include <linux/rtnetlink.h>
#include <stdio.h>
#include <string.h>

#define MAX_MESSAGE 65536	/* tc's buffer */

struct qdisc_util {
	struct qdisc_util *next;
	const char *id;
	int (*parse_qopt)(const struct qdisc_util *util, int argc, char **argv, struct nlmsghdr *n, const char *dev);
	int (*print_qopt)(const struct qdisc_util *util, FILE *f, struct rtattr *opt);
	int (*print_xstats)(const struct qdisc_util *util, FILE *f, struct rtattr *xstats);
	int (*parse_copt)(const struct qdisc_util *util, int argc, char **argv, struct nlmsghdr *n, const char *dev);
	int (*print_copt)(const struct qdisc_util *util, FILE *f, struct rtattr *opt);
	int (*has_block)(const struct qdisc_util *util, struct rtattr *opt, __u32 handle, int *has);
};

/* Appends an attribute; NULL if the message is full. */
static inline struct rtattr *append(struct nlmsghdr *n, unsigned short type, const void *data, size_t bytes)
{
	struct rtattr *attribute = (void *)((char *)n + NLMSG_ALIGN(n->nlmsg_len));

	if (NLMSG_ALIGN(n->nlmsg_len) + RTA_SPACE(bytes) > MAX_MESSAGE)
		return NULL;
	attribute->rta_type = type;
	attribute->rta_len = (unsigned short)RTA_LENGTH(bytes);
	if (bytes)
		memcpy(RTA_DATA(attribute), data, bytes);
	n->nlmsg_len = (__u32)(NLMSG_ALIGN(n->nlmsg_len) + RTA_ALIGN(attribute->rta_len));
	return attribute;
}

#endif
