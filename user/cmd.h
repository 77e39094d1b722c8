/* SPDX-License-Identifier: GPL-2.0-only */
/* The commands: a row in main.c and a file in cmd/ each. */
#ifndef CALM_CMD_H
#define CALM_CMD_H

/**
 * struct calm_cmd - a row of the command table
 * @name: the word that selects it
 * @run: does it; gets its own name and what follows, returns the exit status
 * @summary: what it does, for the help
 */
struct calm_cmd {
	const char *name;
	int (*run)(const struct calm_cmd *cmd, int argc, char **argv);
	const char *summary;
};

int calm_cmd_info(const struct calm_cmd *cmd, int argc, char **argv);
int calm_cmd_count(const struct calm_cmd *cmd, int argc, char **argv);
int calm_cmd_events(const struct calm_cmd *cmd, int argc, char **argv);
int calm_cmd_latency(const struct calm_cmd *cmd, int argc, char **argv);
int calm_cmd_prefetch(const struct calm_cmd *cmd, int argc, char **argv);
int calm_cmd_copy(const struct calm_cmd *cmd, int argc, char **argv);
int calm_cmd_random(const struct calm_cmd *cmd, int argc, char **argv);
int calm_cmd_stride(const struct calm_cmd *cmd, int argc, char **argv);
int calm_cmd_noise(const struct calm_cmd *cmd, int argc, char **argv);
int calm_cmd_tlb(const struct calm_cmd *cmd, int argc, char **argv);
int calm_cmd_ways(const struct calm_cmd *cmd, int argc, char **argv);

#endif
