// SPDX-License-Identifier: GPL-2.0-only
/* Results to stdout or to a file, in the form that the user asked for. */
#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "out.h"

/* In the order of calm_words_format. */
static const struct calm_out_ops *const forms[] = {
	&calm_out_table,
	&calm_out_json,
	&calm_out_csv,
};

/* What reads a document again reads this form. */
static const struct calm_out_ops *const saved_form = &calm_out_json;

/**
 * struct calm_out - a result being written
 * @ops: its form
 * @option: what names its file on the command line
 * @file: where it goes
 * @path: the file's final name, NULL for stdout
 * @temporary: the file's name until it is whole, NULL if written in place
 * @error: negative errno of the first failure to write a point, or 0
 * @saved: the same result on its way to another file, or NULL
 */
struct calm_out {
	const struct calm_out_ops *ops;
	const char *option;
	FILE *file;
	char *path;
	char *temporary;
	int error;
	struct calm_out *saved;
};

/* Those of --output and --save that are not whole yet, for who ends the program. */
static char *_Atomic unfinished[2];

static void drop_unfinished(void)
{
	size_t i;

	for (i = 0; i < CALM_ARRAY_SIZE(unfinished); i++) {
		const char *name = unfinished[i];

		if (name)
			unlink(name);
	}
}

void calm_out_die(int number)
{
	drop_unfinished();
	signal(number, SIG_DFL);
	raise(number);
}

/* Those that would end the program. What ignores one, as nohup does, has its way. */
static void catch_deaths(void)
{
	static const int numbers[] = { SIGHUP, SIGINT, SIGPIPE, SIGQUIT, SIGTERM };
	const struct sigaction action = { .sa_handler = calm_out_die };
	static bool caught;
	size_t i;

	if (caught)
		return;
	caught = true;
	atexit(drop_unfinished);
	for (i = 0; i < CALM_ARRAY_SIZE(numbers); i++) {
		struct sigaction found;

		if (!sigaction(numbers[i], NULL, &found) && found.sa_handler == SIG_DFL)
			sigaction(numbers[i], &action, NULL);
	}
}

/* One name stands in the place of another; NULL is none. */
static void change_unfinished(const char *from, char *to)
{
	size_t i;

	for (i = 0; i < CALM_ARRAY_SIZE(unfinished) && unfinished[i] != from; i++)
		;
	if (i < CALM_ARRAY_SIZE(unfinished))
		unfinished[i] = to;
}

static void out_free(struct calm_out *out)
{
	if (out->temporary)
		change_unfinished(out->temporary, NULL);
	free(out->temporary);
	free(out->path);
	free(out);
}

/* A device or a pipe takes what is written to it; renaming would replace it. */
static bool in_place(const char *path)
{
	struct stat status;

	return !stat(path, &status) && !S_ISREG(status.st_mode);
}

/* No signal comes between a file and its name in the list. */
static int make_temporary(struct calm_out *out)
{
	sigset_t all, found;
	int fd;

	out->temporary = calm_text("%s.XXXXXX", out->path);
	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, &found);
	fd = mkstemp(out->temporary);
	if (fd < 0)
		fd = -errno;
	else
		change_unfinished(NULL, out->temporary);
	sigprocmask(SIG_SETMASK, &found, NULL);
	return fd;
}

static int open_temporary(struct calm_out *out)
{
	mode_t mask = umask(0);
	int fd;

	umask(mask);
	catch_deaths();
	fd = make_temporary(out);
	if (fd < 0)
		return fd;
	fchmod(fd, 0666 & ~mask);
	out->file = fdopen(fd, "w");
	return out->file ? 0 : -errno;
}

/* A file that standard output goes to by now, perhaps behind what others wrote. */
static bool is_stdout(const char *path)
{
	struct stat status, ours;

	return !stat(path, &status) && !fstat(STDOUT_FILENO, &ours) && S_ISREG(ours.st_mode) &&
	       status.st_dev == ours.st_dev && status.st_ino == ours.st_ino;
}

/* Through links to what it stands for; of what is not there yet the folder is. */
static char *final_path(const char *path)
{
	char *final = realpath(path, NULL), *folder, *real;
	const char *name = strrchr(path, '/');

	if (final)
		return final;
	name = name ? name + 1 : path;
	folder = calm_text("%.*s", (int)(name - path), path);
	real = realpath(*folder ? folder : ".", NULL);
	final = real ? calm_text("%s/%s", real, name) : calm_text("%s", path);
	free(real);
	free(folder);
	return final;
}

static int open_path(struct calm_out *out)
{
	if (is_stdout(out->path))
		out->file = fdopen(dup(STDOUT_FILENO), "w");
	else if (in_place(out->path))
		out->file = fopen(out->path, "w");
	else
		return open_temporary(out);
	return out->file ? 0 : -errno;
}

/* OPTION tells of which one @path is the value, NULL for stdout. */
static int open_one(struct calm_out **out, const struct calm_out_ops *ops, const char *option,
		    const char *path, struct calm_error *error)
{
	struct calm_out *new = calm_alloc(1, sizeof(*new));
	int err = 0;

	new->ops = ops;
	new->option = option;
	new->file = stdout;
	if (path) {
		new->path = final_path(path);
		err = open_path(new);
	}
	if (err) {
		calm_error_set(error, CALM_EXIT_FAILED, err, "%s: cannot write '%s': %s", option,
			       path, strerror(-err));
		out_free(new);
		return err;
	}
	*out = new;
	return 0;
}

/* One of the two results would take the other's place. */
static int check_apart(const struct calm_out *out, struct calm_error *error)
{
	const char *path = out->saved->path;

	if (out->path ? strcmp(path, out->path) : !is_stdout(path))
		return 0;
	return calm_error_set(error, CALM_EXIT_USAGE, -EINVAL, "save: '%s' is the file of %s", path,
			      out->path ? "--output" : "standard output");
}

int calm_out_open(struct calm_out **out, const struct calm_run_opts *opts,
		  struct calm_error *error)
{
	int err;

	err = open_one(out, forms[opts->format], "output", opts->output, error);
	if (err || !opts->save)
		return err;
	err = open_one(&(*out)->saved, saved_form, "save", opts->save, error);
	if (!err)
		err = check_apart(*out, error);
	if (err) {
		calm_out_drop(*out);
		*out = NULL;
	}
	return err;
}

void calm_out_point(struct calm_out *out, const struct calm_document *document)
{
	for (; out; out = out->saved) {
		out->ops->point(out->file, document, document->n_points - 1);
		if (fflush(out->file) && !out->error)
			out->error = -errno;
	}
}

/* Closes the file and gives it its name. */
static int finish_file(struct calm_out *out)
{
	int err = out->error;

	errno = 0;
	if (!err && (fflush(out->file) || ferror(out->file)))
		err = errno ? -errno : -EIO;
	if (!err && out->temporary && fsync(fileno(out->file)))
		err = -errno;
	if (fclose(out->file) && !err)
		err = -errno;
	if (!err && out->temporary && rename(out->temporary, out->path))
		err = -errno;
	if (err && out->temporary)
		unlink(out->temporary);
	return err;
}

/* All of a document at once. */
static void write_all(const struct calm_out_ops *ops, FILE *to,
		      const struct calm_document *document)
{
	size_t i;

	for (i = 0; i < document->n_points; i++)
		ops->point(to, document, i);
	ops->end(to, document);
}

/* With the failure of an earlier write, if there was one. */
static int finish_stdout(int earlier, struct calm_error *error)
{
	int err = calm_write_stdout();

	if (!err)
		return 0;
	if (earlier)
		err = earlier;
	return calm_error_set(error, CALM_EXIT_FAILED, -EIO, "cannot write standard output: %s",
			      strerror(-err));
}

static int end_one(struct calm_out *out, const struct calm_document *document,
		   struct calm_error *error)
{
	int err;

	out->ops->end(out->file, document);
	if (!out->path) {
		err = finish_stdout(out->error, error);
		out_free(out);
		return err;
	}
	err = finish_file(out);
	if (err) {
		calm_say("%s: cannot write '%s': %s; the result follows on standard output",
			 out->option, out->path, strerror(-err));
		write_all(out->ops, stdout, document);
		calm_error_set(error, CALM_EXIT_FAILED, err, "%s: '%s' was not written",
			       out->option, out->path);
		finish_stdout(0, error);
	}
	out_free(out);
	return err;
}

int calm_out_end(struct calm_out *out, const struct calm_document *document,
		 struct calm_error *error)
{
	struct calm_out *saved = out->saved;
	struct calm_error saved_error;
	int err, saved_err = 0;

	err = end_one(out, document, error);
	if (saved)
		saved_err = end_one(saved, document, err ? &saved_error : error);
	return err ? err : saved_err;
}

void calm_out_drop(struct calm_out *out)
{
	while (out) {
		struct calm_out *saved = out->saved;

		if (out->path)
			fclose(out->file);
		if (out->temporary)
			unlink(out->temporary);
		out_free(out);
		out = saved;
	}
}

int calm_out_write(const struct calm_document *document, const struct calm_run_opts *opts,
		   struct calm_error *error)
{
	struct calm_out *out;
	int err;

	err = calm_out_open(&out, opts, error);
	return err ? err : calm_out_end(out, document, error);
}
