// SPDX-License-Identifier: GPL-2.0-only
/* calm: the table of commands, and what is asked of the program itself. */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cmd.h"
#include "util.h"

static const struct calm_cmd commands[] = {
	{ "info", calm_cmd_info, "the machine, its caches, and the module" },
	{ "count", calm_cmd_count, "any loop with any events" },
	{ "events", calm_cmd_events, "names of events, what they count, and which work here" },
	{ "latency", calm_cmd_latency, "load latency over buffer size" },
	{ "prefetch", calm_cmd_prefetch, "hardware prefetchers: show, turn off or on, restore" },
	{ "copy", calm_cmd_copy, "strided copy of bytes: the line of the caches" },
	{ "random", calm_cmd_random, "independent loads: how many the core has under way" },
	{ "stride", calm_cmd_stride, "strided read over the distance of loads" },
	{ "noise", calm_cmd_noise, "how much the passes of one loop differ" },
	{ "tlb", calm_cmd_tlb, "translation buffers, by pages that conflict" },
	{ "ways", calm_cmd_ways, "conflicting lines; ways, sets and line of caches" },
};

static void print_help(FILE *to)
{
	size_t i;

	fputs("Usage: calm COMMAND [OPTION...]\n"
	      "Cache And Latency Meter: measures the memory hierarchy with interrupts off.\n\n",
	      to);
	for (i = 0; i < CALM_ARRAY_SIZE(commands); i++)
		fprintf(to, "  %-12s %s\n", commands[i].name, commands[i].summary);
	fputs("\n"
	      "  --help       print this help; calm COMMAND --help prints a command's options\n"
	      "  --version    print the version\n",
	      to);
}

/*
 * A standard stream that is closed leaves its number to the next file or socket, which would get
 * what is meant for the stream. What stands in for it takes nothing, so that what is lost is told.
 */
static void hold_streams(void)
{
	int fd;

	do
		fd = open("/dev/null", O_RDONLY);
	while (fd >= 0 && fd <= STDERR_FILENO);
	if (fd >= 0)
		close(fd);
}

static const struct calm_cmd *find_command(const char *word)
{
	size_t i;

	for (i = 0; i < CALM_ARRAY_SIZE(commands); i++)
		if (!strcmp(commands[i].name, word))
			return &commands[i];
	return NULL;
}

int main(int argc, char **argv)
{
	const struct calm_cmd *command;

	hold_streams();
	/* a limit of a file's size is told like a full disk, and what was measured is not lost */
	signal(SIGXFSZ, SIG_IGN);
	if (argc < 2) {
		print_help(stderr);
		return CALM_EXIT_USAGE;
	}
	if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h")) {
		print_help(stdout);
		return calm_say_written();
	}
	if (!strcmp(argv[1], "--version")) {
		puts("calm " CALM_VERSION);
		return calm_say_written();
	}
	command = find_command(argv[1]);
	if (!command) {
		calm_say("unknown command '%s'; calm --help lists the commands", argv[1]);
		return CALM_EXIT_USAGE;
	}
	return command->run(command, argc - 1, argv + 1);
}
