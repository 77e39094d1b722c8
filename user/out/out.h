/* SPDX-License-Identifier: GPL-2.0-only */
/* Results to stdout or to a file, in the form that the user asked for. */
#ifndef CALM_OUT_H
#define CALM_OUT_H

#include <stdio.h>

#include "data.h"
#include "util.h"

/**
 * struct calm_out_ops - a form of results
 * @name: its name
 * @point: writes the last point of a document as soon as it is there
 * @end: writes what is left once the document is finished
 */
struct calm_out_ops {
	const char *name;
	void (*point)(FILE *to, const struct calm_document *document, size_t index);
	void (*end)(FILE *to, const struct calm_document *document);
};

extern const struct calm_out_ops calm_out_table;
extern const struct calm_out_ops calm_out_json;
extern const struct calm_out_ops calm_out_csv;

/* A result being written. */
struct calm_out;

/**
 * calm_out_open() - get ready to write
 * @out: out
 * @opts: form and file
 * @error: filled on failure
 *
 * A regular file is written beside its place and renamed once it is whole. Signals that would end
 * the program meanwhile still do, by calm_out_die().
 *
 * Return: 0 or a negative errno.
 */
int calm_out_open(struct calm_out **out, const struct calm_run_opts *opts,
		  struct calm_error *error);

/**
 * calm_out_point() - a point was measured, or planned
 * @out: the writer
 * @document: its last point is the new one
 */
void calm_out_point(struct calm_out *out, const struct calm_document *document);

/**
 * calm_out_end() - write what is left, and close
 * @out: the writer; it is freed
 * @document: finished
 * @error: filled on failure
 *
 * What cannot be written to the file goes to stdout instead, so that nothing
 * measured is lost; it is a failure all the same.
 *
 * Return: 0 or a negative errno.
 */
int calm_out_end(struct calm_out *out, const struct calm_document *document,
		 struct calm_error *error);

/**
 * calm_out_drop() - close without a result
 * @out: the writer, or NULL; it is freed
 */
void calm_out_drop(struct calm_out *out);

/**
 * calm_out_die() - remove files that are not whole and end the program by a signal
 * @number: the signal
 *
 * A handler of signals. What the files would have replaced stays as it is.
 */
void calm_out_die(int number);

/**
 * calm_out_write() - write a document that is already whole
 * @document: the document
 * @opts: where to, and in which format
 * @error: out: what went wrong
 *
 * Return: 0 or a negative errno, as calm_out_open() and calm_out_end().
 */
int calm_out_write(const struct calm_document *document, const struct calm_run_opts *opts,
		   struct calm_error *error);

#endif
