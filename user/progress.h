/* SPDX-License-Identifier: GPL-2.0-only */
/* How long it will take, and a bar with the time left, on a terminal. */
#ifndef CALM_PROGRESS_H
#define CALM_PROGRESS_H

#include <stdbool.h>
#include <stddef.h>

/**
 * struct calm_progress - work in progress
 * @silent: say nothing at all
 * @bar: there is a terminal for a bar
 * @shown: the bar stands on the current line
 * @points: points of the whole work
 * @finished: points that are finished
 * @total_s: estimate of the whole work
 * @finished_s: of that, the points that are finished
 * @current_s: estimate of the point in hand
 * @begin_s: when the work began
 * @point_s: when the point in hand began
 * @drawn_s: when the bar was last drawn
 */
struct calm_progress {
	bool silent;
	bool bar;
	bool shown;
	size_t points;
	size_t finished;
	double total_s;
	double finished_s;
	double current_s;
	double begin_s;
	double point_s;
	double drawn_s;
};

/**
 * calm_progress_begin() - say how long it will take
 * @progress: out
 * @silent: say nothing, now and later
 * @points: points of the work
 * @total_s: estimate of the whole, seconds
 */
void calm_progress_begin(struct calm_progress *progress, bool silent, size_t points,
			 double total_s);

/**
 * calm_progress_point() - the next point begins
 * @progress: the work
 * @estimate_s: its estimate, seconds
 */
void calm_progress_point(struct calm_progress *progress, double estimate_s);

/**
 * calm_progress_update() - draw the bar, if it is time
 * @progress: the work
 * @share: part of the current point that is done, 0 to 1
 */
void calm_progress_update(struct calm_progress *progress, double share);

/**
 * calm_progress_left() - time that is left, seconds
 * @progress: the work
 * @share: part of the current point that is done, 0 to 1
 * @now_s: the time
 *
 * What has finished tells how far the estimates are off.
 *
 * Return: the seconds.
 */
double calm_progress_left(const struct calm_progress *progress, double share, double now_s);

/**
 * calm_progress_clear() - take the bar away, before something else is printed
 * @progress: the work
 */
void calm_progress_clear(struct calm_progress *progress);

#endif
