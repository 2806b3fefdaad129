// SPDX-License-Identifier: GPL-2.0
/*
 * The log of log.h: a ring per queue, written under the queue's lock and read by one process at a time.
 *
 * A packet never waits for the log: a record that does not fit is counted, and the count precedes the next one that
 * does. The writer does not wake the reader, since that takes locks with the queue's held; the reader looks again every
 * 100 ms.
 *
 * This file is compiled into a kernel and is not part of Sojourn's programs; see LICENSE in this package.
 */
#include <linux/debugfs.h>
#include <linux/if.h>
#include <linux/kfifo.h>
#include <linux/kref.h>
#include <linux/log2.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/slab.h>
#include <linux/wait.h>
#include "log.h"

static bool enabled;
module_param_named(log, enabled, bool, 0600);
MODULE_PARM_DESC(log, "log the calls of queues made from now on, in debugfs/sojourn (root only)");

static unsigned int log_kib = 4096;
module_param(log_kib, uint, 0600);
MODULE_PARM_DESC(log_kib, "KiB of a queue's log that wait for the reader");

#define MIN_KIB 4
#define MAX_KIB (256 * 1024)
#define POLL (HZ / 10)

struct record {
	u64 now;
	u32 number;		/* of a packet, in order of arrival */
	u8 kind;
	u8 code;
	u16 segments;
	union {
		struct {
			u32 len, flow, class, hosts[2];
			u32 tos;
		};
		char text[24];
	};
};

struct sojourn_log {
	struct kfifo ring;
	void *memory;
	u32 lost;		/* records since the last one written */
	bool has_ended;
	struct kref users;	/* the queue and the open files */
	struct mutex reading;
	wait_queue_head_t ended;
	struct dentry *file;
};

static struct dentry *folder;
static atomic_t created = ATOMIC_INIT(0);

static void release(struct kref *users)
{
	struct sojourn_log *log = container_of(users, struct sojourn_log, users);

	kvfree(log->memory);
	kfree(log);
}

/* ---- writing ----------------------------------------------------------------------------------------------------- */

static void write(struct sojourn_log *log, const struct record *record)
{
	unsigned int room = kfifo_avail(&log->ring);

	if (log->lost && room >= 2 * sizeof(*record)) {
		struct record lost = { .now = record->now, .number = log->lost, .kind = SOJOURN_LOG_LOST };

		kfifo_in(&log->ring, &lost, sizeof(lost));
		log->lost = 0;
	}
	if (!log->lost && room >= sizeof(*record))
		kfifo_in(&log->ring, record, sizeof(*record));
	else
		log->lost++;
}

void sojourn_log_event(struct sojourn_log *log, u64 now, enum sojourn_event kind, u32 number, u32 code)
{
	struct record record = { .now = now, .number = number, .kind = kind, .code = code };

	if (log)
		write(log, &record);
}

void sojourn_log_arrival(struct sojourn_log *log, u64 now, u32 number, const struct sojourn_packet *packet)
{
	struct record record = {
		.now = now,
		.number = number,
		.kind = SOJOURN_LOG_ARRIVAL,
		.segments = packet->segments,
		.len = packet->len,
		.flow = packet->flow,
		.class = packet->class,
		.hosts = { packet->hosts[0], packet->hosts[1] },
		.tos = packet->tos,
	};

	if (log)
		write(log, &record);
}

void sojourn_log_text(struct sojourn_log *log, const char *text)
{
	size_t len = strlen(text), i;

	for (i = 0; log && i < len; i += sizeof(((struct record *)0)->text)) {
		struct record record = { .number = len - i, .kind = SOJOURN_LOG_TEXT };

		memcpy(record.text, text + i, min(len - i, sizeof(record.text)));
		write(log, &record);
	}
}

/* ---- reading ----------------------------------------------------------------------------------------------------- */

static int open_log(struct inode *inode, struct file *file)
{
	struct sojourn_log *log = inode->i_private;

	kref_get(&log->users);
	file->private_data = log;
	return stream_open(inode, file);
}

static int close_log(struct inode *inode, struct file *file)
{
	struct sojourn_log *log = file->private_data;

	kref_put(&log->users, release);
	return 0;
}

static bool is_ready(const struct sojourn_log *log)
{
	return !kfifo_is_empty(&log->ring) || READ_ONCE(log->has_ended);
}

/* Waits for records; the end of the file is that of the queue. */
static ssize_t read_log(struct file *file, char __user *to, size_t bytes, loff_t *at)
{
	struct sojourn_log *log = file->private_data;
	unsigned int copied = 0;
	int error;

	while (!is_ready(log)) {
		if (file->f_flags & O_NONBLOCK)
			return -EAGAIN;
		if (wait_event_interruptible_timeout(log->ended, is_ready(log), POLL) < 0)
			return -ERESTARTSYS;
	}
	if (mutex_lock_interruptible(&log->reading))
		return -ERESTARTSYS;
	error = kfifo_to_user(&log->ring, to, bytes, &copied);
	mutex_unlock(&log->reading);
	return error ? error : copied;
}

static const struct file_operations operations = {
	.owner = THIS_MODULE,
	.open = open_log,
	.read = read_log,
	.release = close_log,
	.llseek = no_llseek,
};

/* ---- the queue's log --------------------------------------------------------------------------------------------- */

struct sojourn_log *sojourn_log_create(const char *device)
{
	size_t bytes = (size_t)rounddown_pow_of_two(clamp(READ_ONCE(log_kib), MIN_KIB, MAX_KIB)) << 10;
	char name[IFNAMSIZ + 12];
	struct sojourn_log *log;

	if (!READ_ONCE(enabled))
		return NULL;
	log = kzalloc(sizeof(*log), GFP_KERNEL);
	if (!log)
		goto refused;
	log->memory = kvmalloc(bytes, GFP_KERNEL);
	if (!log->memory)
		goto refused;
	kfifo_init(&log->ring, log->memory, bytes);
	kref_init(&log->users);
	mutex_init(&log->reading);
	init_waitqueue_head(&log->ended);
	snprintf(name, sizeof(name), "%s-%d", device, atomic_inc_return(&created));
	/* Not the kind that waits for its readers when it is removed: they wait for packets. */
	log->file = debugfs_create_file_unsafe(name, 0400, folder, log, &operations);
	return log;
refused:
	kfree(log);
	pr_warn("sojourn: %s: no memory for a log of %zu KiB; set log_kib\n", device, bytes >> 10);
	return NULL;
}

void sojourn_log_close(struct sojourn_log *log)
{
	if (!log)
		return;
	debugfs_remove(log->file);
	WRITE_ONCE(log->has_ended, true);
	wake_up_interruptible(&log->ended);
	kref_put(&log->users, release);
}

void sojourn_log_start(void)
{
	folder = debugfs_create_dir("sojourn", NULL);
}

void sojourn_log_stop(void)
{
	debugfs_remove(folder);
}
