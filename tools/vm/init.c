// SPDX-License-Identifier: GPL-2.0-only
/*
 * First process of the guest: loads calm.ko, runs the command that tools/vm/run was given, and
 * passes its output, its end and what it left in /out to the host through virtio-serial ports.
 *
 * Ports, by name: calm.out and calm.err carry the command's output, calm.tar a tar archive of
 * /out, and calm.ctl lines. Guest to host: "up" before anything is done with calm.ko, "fail TEXT",
 * "run", "exit STATUS OUT ERR" and "done TAR" where OUT, ERR and TAR count the bytes that were
 * written: the host waits for that many before it answers the last line with "off", since what
 * still waits in a port's queue is lost at power-off. Host to guest: a signal number for the
 * command, or "off".
 *
 * /etc/calm.conf holds words of NAME=VALUE, one a line; /etc/calm.argv the command, each word
 * ended by a zero byte; /etc/calm.modules the modules that the ports need, in order.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/klog.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define ARRAY_SIZE(a)		(sizeof(a) / sizeof((a)[0]))
#define ARGV_MAX		4096
#define PORT_WAIT_MS		10000
#define UNLOAD_WAIT_MS		2000
#define POLL_MS			20
/* kmemleak reports no younger object: MSECS_MIN_AGE in mm/kmemleak.c, and a margin */
#define LEAK_AGE_MS		5500
#define LEAK_SCANS		2
#define SYSLOG_CONSOLE_LEVEL	8
#define LEVEL_ALL		8

enum { PORT_OUT, PORT_ERR, PORT_TAR, PORT_CTL, PORTS };

static const char * const port_name[PORTS] = { "calm.out", "calm.err", "calm.tar", "calm.ctl" };
static int port[PORTS] = { -1, -1, -1, -1 };

struct stream {
	int from;		/* read end of the pipe that the child writes to; -1: closed */
	int to;			/* the port */
	uint64_t bytes;
};

static const struct mount_row {
	const char *source, *target, *type;
	bool optional;
} mounts[] = {
	{ "devtmpfs", "/dev", "devtmpfs", false },
	{ "proc", "/proc", "proc", false },
	{ "sysfs", "/sys", "sysfs", false },
	{ "tmpfs", "/tmp", "tmpfs", false },
	{ "tmpfs", "/out", "tmpfs", false },
	{ "securityfs", "/sys/kernel/security", "securityfs", true },
	{ "debugfs", "/sys/kernel/debug", "debugfs", true },
	{ "tracefs", "/sys/kernel/tracing", "tracefs", true },
};

static const char * const environment[] = {
	"HOME=/",
	/* hwloc reads CPUID in user space, where a modelled processor does not answer */
	"HWLOC_COMPONENTS=-x86",
	"PATH=/bin:/sbin:/usr/bin:/usr/sbin:/",
	"TERM=dumb",
	"TZ=UTC",
	NULL
};

static void pause_ms(int ms)
{
	struct timespec t = { .tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000L };

	nanosleep(&t, NULL);
}

static void power_off(void)
{
	sync();
	reboot(RB_POWER_OFF);
	for (;;)
		pause();
}

static bool write_all(int fd, const char *data, size_t size)
{
	while (size) {
		ssize_t n = write(fd, data, size);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return false;
		data += n;
		size -= n;
	}
	return true;
}

static void __attribute__((format(printf, 1, 2))) tell(const char *format, ...)
{
	char line[512];
	va_list args;
	int n;

	va_start(args, format);
	n = vsnprintf(line, sizeof(line) - 1, format, args);
	va_end(args);
	if (n >= (int)sizeof(line) - 1)
		n = sizeof(line) - 2;
	line[n++] = '\n';
	/* without a port the console is all there is */
	write_all(port[PORT_CTL] >= 0 ? port[PORT_CTL] : STDERR_FILENO, line, n);
}

/* Reads a host's line into word; false when the port is gone. */
static bool hear(char *word, size_t size)
{
	size_t n = 0;
	char c;

	while (read(port[PORT_CTL], &c, 1) == 1) {
		if (c == '\n') {
			word[n] = '\0';
			return true;
		}
		if (n < size - 1)
			word[n++] = c;
	}
	return false;
}

static void __attribute__((noreturn)) fail(const char *what)
{
	char word[16];

	tell("fail %s: %s", what, strerror(errno));
	while (port[PORT_CTL] >= 0 && hear(word, sizeof(word)) && strcmp(word, "off"))
		;
	power_off();
	__builtin_unreachable();
}

static void mount_all(void)
{
	const struct mount_row *m;

	for (m = mounts; m < mounts + ARRAY_SIZE(mounts); m++) {
		mkdir(m->target, 0755);
		if (mount(m->source, m->target, m->type, 0, NULL) && !m->optional)
			fail(m->target);
	}
}

static int load_module(const char *path, const char *parameters)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC), rc;

	if (fd < 0)
		return -1;
	rc = syscall(SYS_finit_module, fd, parameters, 0);
	close(fd);
	return rc;
}

static void load_listed(void)
{
	FILE *f = fopen("/etc/calm.modules", "r");
	char path[256];

	while (f && fscanf(f, "%255s", path) == 1) {
		if (load_module(path, ""))
			fail(path);
	}
	if (f)
		fclose(f);
}

static int open_port(const char *name)
{
	DIR *dir = opendir("/sys/class/virtio-ports");
	char path[320], text[64];
	struct dirent *d;
	int fd = -1;

	while (dir && fd < 0 && (d = readdir(dir))) {
		FILE *f;

		snprintf(path, sizeof(path), "/sys/class/virtio-ports/%s/name", d->d_name);
		f = fopen(path, "r");
		if (f && fscanf(f, "%63s", text) == 1 && !strcmp(text, name)) {
			snprintf(path, sizeof(path), "/dev/%s", d->d_name);
			fd = open(path, O_RDWR | O_CLOEXEC);
		}
		if (f)
			fclose(f);
	}
	if (dir)
		closedir(dir);
	return fd;
}

/* Ports appear one by one, some time after their driver. */
static void open_ports(void)
{
	int waited = 0, i;

	for (i = 0; i < PORTS; i++) {
		while ((port[i] = open_port(port_name[i])) < 0) {
			if (waited > PORT_WAIT_MS)
				fail(port_name[i]);
			pause_ms(POLL_MS);
			waited += POLL_MS;
		}
	}
}

/* The value of NAME=VALUE in /etc/calm.conf, or an empty text. */
static const char *config(const char *name)
{
	static char line[1024];
	size_t length = strlen(name);
	FILE *f = fopen("/etc/calm.conf", "r");

	while (f && fgets(line, sizeof(line), f)) {
		line[strcspn(line, "\n")] = '\0';
		if (!strncmp(line, name, length) && line[length] == '=') {
			fclose(f);
			return line + length + 1;
		}
	}
	if (f)
		fclose(f);
	return "";
}

static char **read_argv(void)
{
	static char text[1 << 17], *argv[ARGV_MAX + 1];
	int fd = open("/etc/calm.argv", O_RDONLY | O_CLOEXEC), n = 0;
	ssize_t size = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
	char *word;

	if (size <= 0)
		fail("/etc/calm.argv");
	close(fd);
	for (word = text; word < text + size && n < ARGV_MAX; word += strlen(word) + 1)
		argv[n++] = word;
	return argv;
}

static pid_t start(char **argv, struct stream *out, struct stream *err)
{
	int to[2], et[2], go[2];
	pid_t pid;
	char c;

	if (pipe2(to, O_CLOEXEC) || pipe2(et, O_CLOEXEC) || pipe2(go, O_CLOEXEC))
		fail("pipe");
	pid = fork();
	if (pid < 0)
		fail("fork");
	if (!pid) {
		sigset_t none;

		sigemptyset(&none);
		sigprocmask(SIG_SETMASK, &none, NULL);
		setsid();
		dup2(open("/dev/null", O_RDONLY), STDIN_FILENO);
		dup2(to[1], STDOUT_FILENO);
		dup2(et[1], STDERR_FILENO);
		execvpe(argv[0], argv, (char **)environment);
		dprintf(STDERR_FILENO, "%s: %s\n", argv[0], strerror(errno));
		_exit(errno == ENOENT ? 127 : 126);
	}
	close(to[1]);
	close(et[1]);
	/* exec closes it: from then on there is a process group that signals can reach */
	close(go[1]);
	while (read(go[0], &c, 1) < 0 && errno == EINTR)
		;
	close(go[0]);
	*out = (struct stream){ .from = to[0], .to = port[PORT_OUT] };
	*err = (struct stream){ .from = et[0], .to = port[PORT_ERR] };
	return pid;
}

/* Moves what one read gives; false at the end of the stream. */
static bool pump(struct stream *s)
{
	static char data[65536];
	ssize_t n = read(s->from, data, sizeof(data));

	if (n < 0 && (errno == EINTR || errno == EAGAIN))
		return errno == EINTR;
	if (n <= 0) {
		close(s->from);
		s->from = -1;
		return false;
	}
	if (!write_all(s->to, data, n))
		fail("port");
	s->bytes += n;
	return true;
}

/* What a background process still holds the pipe for is not waited for. */
static void drain(struct stream *s)
{
	if (s->from < 0)
		return;
	fcntl(s->from, F_SETFL, O_NONBLOCK);
	while (pump(s))
		;
}

static void pass_signal(pid_t pid)
{
	char word[16];
	int number;

	if (!hear(word, sizeof(word)))
		return;
	number = atoi(word);
	if (number > 0)
		kill(-pid, number);
}

/* Reaps every child; true once it is the command, whose status is then in *status. */
static bool reap(int children, pid_t pid, int *status)
{
	struct signalfd_siginfo info;
	pid_t gone;
	int st;

	if (read(children, &info, sizeof(info)) < 0)
		return false;
	while ((gone = waitpid(-1, &st, WNOHANG)) > 0) {
		if (gone == pid) {
			*status = WIFEXITED(st) ? WEXITSTATUS(st) : 128 + WTERMSIG(st);
			return true;
		}
	}
	return false;
}

static int run(char **argv, struct stream *out, struct stream *err)
{
	sigset_t child;
	int children, status = 0;
	bool ended = false;
	pid_t pid;

	sigemptyset(&child);
	sigaddset(&child, SIGCHLD);
	sigprocmask(SIG_BLOCK, &child, NULL);
	children = signalfd(-1, &child, SFD_CLOEXEC);
	pid = start(argv, out, err);
	tell("run");
	while (!ended) {
		struct pollfd p[] = {
			{ .fd = out->from, .events = POLLIN },
			{ .fd = err->from, .events = POLLIN },
			{ .fd = port[PORT_CTL], .events = POLLIN },
			{ .fd = children, .events = POLLIN },
		};

		if (poll(p, ARRAY_SIZE(p), -1) < 0)
			continue;
		if (p[0].revents)
			pump(out);
		if (p[1].revents)
			pump(err);
		if (p[2].revents & POLLIN)
			pass_signal(pid);
		if (p[3].revents)
			ended = reap(children, pid, &status);
	}
	drain(out);
	drain(err);
	close(children);
	sigprocmask(SIG_UNBLOCK, &child, NULL);
	return status;
}

static uint64_t send_out(void)
{
	char *argv[] = { "tar", "-c", "-f", "-", "-C", "/out", ".", NULL };
	struct stream tar, err;
	pid_t pid = start(argv, &tar, &err);
	int status;

	tar.to = port[PORT_TAR];
	while (pump(&tar))
		;
	if (waitpid(pid, &status, 0) != pid || status)
		tell("fail tar of /out ended with status %d", status);
	close(err.from);
	return tar.bytes;
}

/* A job that lost its client ends at the end of its slice, and holds the module until then. */
static void unload(void)
{
	int waited = 0;

	while (syscall(SYS_delete_module, "calm", O_NONBLOCK)) {
		if (errno != EWOULDBLOCK || waited > UNLOAD_WAIT_MS) {
			tell("fail rmmod calm: %s", strerror(errno));
			return;
		}
		pause_ms(POLL_MS);
		waited += POLL_MS;
	}
}

/*
 * Where the kernel can look for lost memory, it does so now that the module is gone, and says on
 * the console what it found. The first scan only takes checksums; what has none may be in use.
 */
static void scan_for_leaks(void)
{
	int fd = open("/sys/kernel/debug/kmemleak", O_WRONLY | O_CLOEXEC), i;

	if (fd < 0)
		return;
	for (i = 0; i < LEAK_SCANS; i++) {
		if (i)
			pause_ms(LEAK_AGE_MS);
		if (write(fd, "scan", 4) != 4)
			tell("fail kmemleak: %s", strerror(errno));
	}
	close(fd);
}

int main(void)
{
	struct stream out, err;
	bool load;
	int status;
	char word[16];

	if (getpid() != 1) {
		fprintf(stderr, "this is the guest's first process\n");
		return 1;
	}
	mount_all();
	/* from here on every kernel message goes to the console, which the host reads afterwards */
	klogctl(SYSLOG_CONSOLE_LEVEL, NULL, LEVEL_ALL);
	load_listed();
	open_ports();
	tell("up");
	load = *config("load") == '1';
	if (load && load_module("/calm.ko", config("parameters")))
		fail("insmod calm.ko");
	setenv("PATH", "/bin:/sbin:/usr/bin:/usr/sbin:/", 1);
	status = run(read_argv(), &out, &err);
	tell("exit %d %ju %ju", status, (uintmax_t)out.bytes, (uintmax_t)err.bytes);
	if (load)
		unload();
	scan_for_leaks();
	tell("done %ju", (uintmax_t)(*config("out") == '1' ? send_out() : 0));
	while (hear(word, sizeof(word)) && strcmp(word, "off"))
		;
	power_off();
	return 0;
}
