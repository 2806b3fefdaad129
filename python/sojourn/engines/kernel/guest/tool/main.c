/* The guest's init: runs the commands of the file `job` in its folder, one a line, and powers off. */
#include "guest.h"
#include <fcntl.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>

#define FOLDER "/run/job"
#define NAMESPACES "/run/netns/"
#define MAX_WORDS 2048
#define MAX_SOURCES 65536

/* As in the kernel's device (packages/kernel/sojourn_kernel/sojourn.h). */
struct step {
	uint64_t at, rate;
};
struct link_config {
	uint64_t steps, delay_ns, below_stop, below_wake;
	int32_t overhead;
	uint32_t mpu, step_count, flags, number, pad;
};
enum { CONFIGURE = SIOCDEVPRIVATE, RANDOM, TRACE, RECEIVE, CONTROLS, HOSTS };

static int first_namespace;

void fail(const char *format, ...)
{
	int error = errno;
	va_list arguments;

	printf("! ");
	va_start(arguments, format);
	vprintf(format, arguments);
	va_end(arguments);
	if (error)
		printf(": %s", strerror(error));
	printf("\n");
	fflush(stdout);
	sync();
	if (getpid() == 1)
		reboot(RB_POWER_OFF);
	exit(1);
}

uint64_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * SECOND + (uint64_t)t.tv_nsec;
}

void *zalloc(size_t bytes)
{
	void *memory = calloc(1, bytes);

	if (!memory)
		fail("out of memory");
	return memory;
}

FILE *open_file(const char *name, const char *mode)
{
	FILE *file = fopen(name, mode);

	if (!file)
		fail("%s", name);
	return file;
}

void report_progress(double share)
{
	static double last = -1;

	if (share - last < 0.01 && share < 1)
		return;
	last = share;
	printf("@ %.3f\n", share);
	fflush(stdout);
}

void set_realtime_priority(void)
{
	struct sched_param parameters = { .sched_priority = 10 };

	if (sched_setscheduler(0, SCHED_FIFO, &parameters))
		fail("real-time priority");
}

void enter_namespace(const char *name)
{
	char path[128];
	int fd = first_namespace;

	if (strcmp(name, "-")) {
		snprintf(path, sizeof(path), NAMESPACES "%s", name);
		fd = open(path, O_RDONLY | O_CLOEXEC);
	}
	if (fd < 0 || setns(fd, CLONE_NEWNET))
		fail("namespace %s", name);
	if (fd != first_namespace)
		close(fd);
}

static void run_program(char **words)
{
	int status;
	pid_t child = fork();

	if (child < 0)
		fail("%s", words[0]);
	if (child == 0) {
		dup2(1, 2);
		execvp(words[0], words);
		printf("%s: %s\n", words[0], strerror(errno));
		fflush(stdout);
		_exit(127);
	}
	if (waitpid(child, &status, 0) != child || status) {
		errno = 0;
		fail("%s %s ... ended with status %d", words[0], words[1] ? words[1] : "", WEXITSTATUS(status));
	}
}

static void device_ioctl(const char *device, int command, void *data)
{
	struct ifreq request = { .ifr_data = data };
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	snprintf(request.ifr_name, sizeof(request.ifr_name), "%s", device);
	if (fd < 0 || ioctl(fd, command, &request))
		fail("device %s", device);
	close(fd);
}

/* link DEVICE DELAY OVERHEAD MPU BELOW_STOP BELOW_WAKE FLAGS NUMBER [AT RATE]... */
static void configure_link(char **words, int count)
{
	struct step steps[MAX_WORDS] = { 0 };
	struct link_config config = {
		.steps = (uintptr_t)steps,
		.delay_ns = strtoull(words[2], NULL, 10),
		.overhead = (int32_t)atol(words[3]),
		.mpu = (uint32_t)atol(words[4]),
		.below_stop = strtoull(words[5], NULL, 10),
		.below_wake = strtoull(words[6], NULL, 10),
		.flags = (uint32_t)atol(words[7]),
		.number = (uint32_t)atol(words[8]),
		.step_count = (uint32_t)(count - 9) / 2,
	};

	for (uint32_t i = 0; i < config.step_count; i++) {
		steps[i].at = strtoull(words[9 + 2 * i], NULL, 10);
		steps[i].rate = strtoull(words[10 + 2 * i], NULL, 10);
	}
	device_ioctl(words[1], CONFIGURE, &config);
}

/*
 * random DEVICE STATE: restart the random stream of the device's queue discipline.
 * controls DEVICE SEED: restart the random streams of the congestion controls.
 */
static void restart(const char *device, int command, const char *number)
{
	uint64_t value = strtoull(number, NULL, 10);

	device_ioctl(device, command, &value);
}

/* hosts DEVICE FILE: give sources hosts that they share; FILE has three 32-bit numbers for each (sojourn.h). */
static void share_hosts(const char *device, const char *name)
{
	FILE *file = open_file(name, "r");
	uint32_t (*sources)[3] = zalloc(MAX_SOURCES * sizeof(*sources));
	struct { uint64_t sources, count; } config = { .sources = (uintptr_t)sources };

	config.count = fread(sources, sizeof(*sources), MAX_SOURCES, file);
	fclose(file);
	device_ioctl(device, HOSTS, &config);
	free(sources);
}

/* card DEVICE NUMBER WAIT: let the device receive by a card that is polled WAIT ns after the first packet. */
static void attach_card(const char *device, const char *number, const char *wait)
{
	uint64_t values[2] = { strtoull(number, NULL, 10), strtoull(wait, NULL, 10) };

	device_ioctl(device, RECEIVE, values);
}

void sleep_until(uint64_t at)
{
	struct timespec t = { (time_t)(at / SECOND), (long)(at % SECOND) };

	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL) == EINTR)
		;
}

static void write_words(const char *path, char **words)
{
	FILE *file = open_file(path, "w");
	int failed = 0;

	setvbuf(file, NULL, _IOFBF, 4096);	/* a sysctl must be written at once */
	for (; *words; words++)
		failed |= fprintf(file, "%s%c", *words, words[1] ? ' ' : '\n') < 0;
	if (fclose(file) || failed)
		fail("%s", path);
}

/* note FILE TEXT: append a line with the text and the clock. */
static void note_time(const char *name, const char *text)
{
	FILE *file = open_file(name, "a");

	fprintf(file, "%s %llu\n", text, (unsigned long long)now());
	fclose(file);
}

static void run_line(char **words, int count)
{
	static const struct {
		const char *name;
		int min_words;
	} verbs[] = {
		{ "exec", 2 }, { "at", 2 }, { "write", 3 }, { "link", 9 }, { "random", 3 }, { "trace", 3 }, { "flush", 2 },
		{ "note", 3 }, { "run", 3 }, { "replay", 5 }, { "card", 4 }, { "qdisc", 5 }, { "controls", 3 }, { "until", 2 },
		{ "hosts", 3 },
	};
	const char *verb = words[0];

	for (size_t i = 0; i < sizeof(verbs) / sizeof(*verbs); i++)
		if (!strcmp(verb, verbs[i].name) && count < verbs[i].min_words)
			fail("job: \"%s\" needs %d words", verb, verbs[i].min_words);
	errno = 0;
	if (!strcmp(verb, "exec"))
		run_program(words + 1);
	else if (!strcmp(verb, "at"))
		enter_namespace(words[1]);
	else if (!strcmp(verb, "write"))
		write_words(words[1], words + 2);
	else if (!strcmp(verb, "link"))
		configure_link(words, count);
	else if (!strcmp(verb, "random"))
		restart(words[1], RANDOM, words[2]);
	else if (!strcmp(verb, "until")) {
		set_realtime_priority();
		sleep_until(strtoull(words[1], NULL, 10));
	} else if (!strcmp(verb, "controls"))
		restart(words[1], CONTROLS, words[2]);
	else if (!strcmp(verb, "hosts"))
		share_hosts(words[1], words[2]);
	else if (!strcmp(verb, "trace"))
		device_ioctl(words[1], TRACE, words[2]);
	else if (!strcmp(verb, "flush"))
		device_ioctl(words[1], TRACE, "");
	else if (!strcmp(verb, "note"))
		note_time(words[1], words[2]);
	else if (!strcmp(verb, "run"))
		run_traffic(words[1], words[2]);
	else if (!strcmp(verb, "replay"))
		replay(words[1], words[2], words[3], strtoull(words[4], NULL, 10));
	else if (!strcmp(verb, "card"))
		attach_card(words[1], words[2], words[3]);
	else if (!strcmp(verb, "qdisc"))
		add_qdisc(words + 1);
	else
		fail("job: \"%s\" is unknown", verb);
}

static void run_job(void)
{
	char *words[MAX_WORDS + 1], *line = NULL;
	size_t room = 0;
	FILE *job = open_file("job", "r");

	while (getline(&line, &room, job) > 0) {
		int count = 0;
		char *rest = line, *word;

		while ((word = strsep(&rest, " \n")) && count < MAX_WORDS)
			if (*word)
				words[count++] = word;
		words[count] = NULL;
		if (count && *words[0] != '#')
			run_line(words, count);
	}
	fclose(job);
}

static void mount_all(const char *folder)
{
	if (mount("proc", "/proc", "proc", 0, NULL) || mount("sys", "/sys", "sysfs", 0, NULL) ||
	    mount("run", "/run", "tmpfs", 0, NULL) || mkdir(FOLDER, 0755) || mkdir("/run/netns", 0755))
		fail("the guest's own folders");
	if (mount("host", FOLDER, "hostfs", 0, folder) || chdir(FOLDER))
		fail("the job's folder %s", folder);
}

int main(int count, char **arguments)
{
	const char *folder = getenv("SOJOURN_JOB");

	(void)arguments;
	if (getpid() != 1 || count != 1 || !folder)
		fail("this program is the init of a guest");
	setvbuf(stdout, NULL, _IOLBF, 4096);
	setenv("PATH", "/usr/sbin:/usr/bin:/sbin:/bin", 1);
	mount_all(folder);
	first_namespace = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
	run_job();
	fclose(open_file("done", "w"));
	sync();
	reboot(RB_POWER_OFF);
	return 1;
}
