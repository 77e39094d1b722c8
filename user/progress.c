// SPDX-License-Identifier: GPL-2.0-only
/* How long it will take, and a bar with the time left, on a terminal. */
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "progress.h"
#include "util.h"

#define BAR_WIDTH     24
#define BAR_PERIOD_S  0.2
#define DURATION_MAX  32

static double now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (double)time.tv_sec + (double)time.tv_nsec / 1000000000;
}

static const char *duration(char buffer[DURATION_MAX], double seconds)
{
	if (seconds < 1)
		snprintf(buffer, DURATION_MAX, "less than 1 s");
	else if (seconds < 90)
		snprintf(buffer, DURATION_MAX, "about %.0f s", seconds);
	else
		snprintf(buffer, DURATION_MAX, "about %.0f min", seconds / 60);
	return buffer;
}

void calm_progress_begin(struct calm_progress *progress, bool silent, size_t points,
			 double total_s)
{
	char text[DURATION_MAX];

	memset(progress, 0, sizeof(*progress));
	progress->silent = silent;
	progress->bar = !silent && isatty(STDERR_FILENO);
	progress->points = points;
	progress->total_s = total_s;
	progress->begin_s = now();
	progress->point_s = progress->begin_s;
	if (!silent)
		calm_say("%zu point%s, %s", points, points == 1 ? "" : "s",
			 duration(text, total_s));
}

void calm_progress_point(struct calm_progress *progress, double estimate_s)
{
	progress->finished_s += progress->current_s;
	if (progress->current_s > 0)
		progress->finished++;
	progress->current_s = estimate_s;
	progress->point_s = now();
}

double calm_progress_left(const struct calm_progress *progress, double share, double now_s)
{
	double factor = 1, rest_s;

	if (progress->finished_s > 0)
		factor = (progress->point_s - progress->begin_s) / progress->finished_s;
	rest_s = progress->total_s - progress->finished_s - progress->current_s;
	if (rest_s < 0)
		rest_s = 0;
	/* A point that is well on its way tells its own time best. */
	if (share > 0.1)
		return factor * rest_s + (now_s - progress->point_s) * (1 - share) / share;
	return factor * (rest_s + progress->current_s * (1 - share));
}

static void draw(struct calm_progress *progress, double share, double now_s)
{
	double done = progress->total_s > 0 ? (progress->finished_s + share * progress->current_s) /
						      progress->total_s :
					      0;
	int filled = (int)(done * BAR_WIDTH + 0.5);
	char bar[BAR_WIDTH + 1], text[DURATION_MAX];

	if (filled > BAR_WIDTH)
		filled = BAR_WIDTH;
	memset(bar, ' ', BAR_WIDTH);
	memset(bar, '=', (size_t)filled);
	bar[BAR_WIDTH] = '\0';
	fprintf(stderr, "\r[%s] %zu of %zu points, %s left\033[K", bar, progress->finished,
		progress->points, duration(text, calm_progress_left(progress, share, now_s)));
	fflush(stderr);
	progress->shown = true;
	progress->drawn_s = now_s;
}

void calm_progress_update(struct calm_progress *progress, double share)
{
	double now_s;

	if (!progress->bar)
		return;
	now_s = now();
	if (now_s - progress->drawn_s >= BAR_PERIOD_S)
		draw(progress, share, now_s);
}

void calm_progress_clear(struct calm_progress *progress)
{
	if (!progress->shown)
		return;
	fputs("\r\033[K", stderr);
	fflush(stderr);
	progress->shown = false;
}
