/*
 * Queue disciplines that the host's tc does not support, added by netlink. The host has translated tc's options to
 * attribute numbers with lengths and values.
 */
#include "guest.h"
#include <linux/netlink.h>
#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <sys/socket.h>

#define MAX_BYTES 4096

struct message {
	struct nlmsghdr head;
	struct tcmsg tc;
	char attributes[MAX_BYTES];
};

/* Add an attribute; the attributes nested in it follow. */
static struct rtattr *add(struct message *message, unsigned type, const void *data, size_t bytes)
{
	struct rtattr *attribute = (void *)((char *)message + NLMSG_ALIGN(message->head.nlmsg_len));

	if (message->head.nlmsg_len + RTA_SPACE(bytes) > sizeof(*message))
		fail("qdisc: more options than there is room for");
	attribute->rta_type = (unsigned short)type;
	attribute->rta_len = (unsigned short)RTA_LENGTH(bytes);
	if (bytes)
		memcpy(RTA_DATA(attribute), data, bytes);
	message->head.nlmsg_len = (uint32_t)(NLMSG_ALIGN(message->head.nlmsg_len) + RTA_ALIGN(attribute->rta_len));
	return attribute;
}

/* MAJOR:MINOR in hexadecimal, or `root`. */
static uint32_t parse_handle(const char *word)
{
	char *end;
	uint32_t major = (uint32_t)strtoul(word, &end, 16);

	if (!strcmp(word, "root"))
		return TC_H_ROOT;
	if (*end != ':')
		fail("qdisc: \"%s\" is no handle", word);
	return major << 16 | (uint32_t)strtoul(end + 1, NULL, 16);
}

/* NUMBER:BYTES:VALUE, on a little-endian machine. */
static void add_option(struct message *message, const char *word)
{
	unsigned number, bytes;
	long long value;

	if (sscanf(word, "%u:%u:%lld", &number, &bytes, &value) != 3 || bytes > sizeof(value))
		fail("qdisc: \"%s\" is no option", word);
	add(message, number, &value, bytes);
}

static void send_message(struct message *message)
{
	struct {
		struct nlmsghdr head;
		struct nlmsgerr error;
		char rest[MAX_BYTES];
	} reply;
	int netlink = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);

	if (netlink < 0 || send(netlink, message, message->head.nlmsg_len, 0) < 0)
		fail("netlink");
	if (recv(netlink, &reply, sizeof(reply), 0) < (ssize_t)NLMSG_LENGTH(sizeof(reply.error)))
		fail("netlink's answer");
	if (reply.head.nlmsg_type != NLMSG_ERROR || reply.error.error) {
		errno = -reply.error.error;
		fail("qdisc");
	}
	close(netlink);
}

void add_qdisc(char **words)
{
	struct message message = {
		.head = {
			.nlmsg_len = NLMSG_LENGTH(sizeof(message.tc)),
			.nlmsg_type = RTM_NEWQDISC,
			.nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK | NLM_F_CREATE | NLM_F_EXCL,
		},
		.tc = {
			.tcm_family = AF_UNSPEC,
			.tcm_ifindex = (int)if_nametoindex(words[0]),
			.tcm_parent = parse_handle(words[1]),
			.tcm_handle = parse_handle(words[2]),
		},
	};
	struct rtattr *options;

	if (!message.tc.tcm_ifindex)
		fail("device %s", words[0]);
	add(&message, TCA_KIND, words[3], strlen(words[3]) + 1);
	options = add(&message, TCA_OPTIONS | NLA_F_NESTED, NULL, 0);
	for (char **word = words + 4; *word; word++)
		add_option(&message, *word);
	options->rta_len = (unsigned short)((char *)&message + message.head.nlmsg_len - (char *)options);
	send_message(&message);
}
