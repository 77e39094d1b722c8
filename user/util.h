/* SPDX-License-Identifier: GPL-2.0-only */
/* Errors with their exit status, allocation that cannot fail, sizes in words. */
#ifndef CALM_UTIL_H
#define CALM_UTIL_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CALM_ARRAY_SIZE(array)	(sizeof(array) / sizeof((array)[0]))
#define CALM_PRINTF(text, args)	__attribute__((format(printf, text, args)))

/**
 * enum calm_exit - what the program's exit status says
 * @CALM_EXIT_DONE: all was done
 * @CALM_EXIT_USAGE: the command line is wrong; nothing was changed
 * @CALM_EXIT_FAILED: an error ended the work, another running job included
 * @CALM_EXIT_MODULE: the module is not loaded, or is another version
 * @CALM_EXIT_PERMISSION: not permitted
 * @CALM_EXIT_ABSENT: what was explicitly asked for does not exist here
 * @CALM_EXIT_SIGNAL: plus the number of the signal that ended the work
 */
enum calm_exit {
	CALM_EXIT_DONE,
	CALM_EXIT_USAGE,
	CALM_EXIT_FAILED,
	CALM_EXIT_MODULE,
	CALM_EXIT_PERMISSION,
	CALM_EXIT_ABSENT,
	CALM_EXIT_SIGNAL = 128,
};

#define CALM_ERROR_TEXT_MAX 1024

/**
 * struct calm_error - why something failed
 * @status: the exit status that this deserves
 * @text: one line for people, without the program's name
 */
struct calm_error {
	enum calm_exit status;
	char text[CALM_ERROR_TEXT_MAX];
};

/**
 * calm_error_set() - describe a failure
 * @error: filled
 * @status: exit status
 * @code: negative errno
 * @format: the text, as for printf
 *
 * Return: @code, so that a caller can return it at once.
 */
int calm_error_set(struct calm_error *error, enum calm_exit status, int code, const char *format,
		   ...) CALM_PRINTF(4, 5);

/**
 * calm_say() - tell the user something on stderr
 * @format: one line without its newline, as for printf
 */
void calm_say(const char *format, ...) CALM_PRINTF(1, 2);

/**
 * calm_write_stdout() - write out what standard output still holds
 *
 * Return: 0, or the negative errno of this or an earlier failure to write.
 */
int calm_write_stdout(void);

/**
 * calm_say_written() - end a text, such as help, on standard output
 *
 * Return: an exit status; a text that could not be written is a failure, told on stderr.
 */
int calm_say_written(void);

/**
 * calm_alloc() - zeroed memory for an array
 * @count: elements
 * @size: bytes of one
 *
 * Ends the program when there is none.
 *
 * Return: the memory, never NULL.
 */
void *calm_alloc(size_t count, size_t size);

/**
 * calm_grow() - make room for one more element
 * @array: the array, or NULL
 * @count: elements in use
 * @capacity: elements that there is room for; updated
 * @size: bytes of an element
 *
 * Return: the array, perhaps at another place.
 */
void *calm_grow(void *array, size_t count, size_t *capacity, size_t size);

static inline uint64_t calm_smaller(uint64_t one, uint64_t other)
{
	return one < other ? one : other;
}

static inline uint64_t calm_larger(uint64_t one, uint64_t other)
{
	return one > other ? one : other;
}

/**
 * calm_text() - a formatted string of its own
 * @format: as for printf
 *
 * Return: the string, to be freed.
 */
char *calm_text(const char *format, ...) CALM_PRINTF(1, 2);

/**
 * calm_vtext() - calm_text() of arguments that somebody else was given
 * @format: printf format
 * @args: its arguments
 *
 * Return: the string, to be freed.
 */
char *calm_vtext(const char *format, va_list args) CALM_PRINTF(1, 0);

#define CALM_SIZE_TEXT_MAX 32

/**
 * calm_size_text() - a number of bytes as people write it
 * @buffer: receives the text
 * @bytes: the number
 *
 * Exact: the largest unit that needs at most four decimals, else bytes.
 *
 * Return: @buffer.
 */
const char *calm_size_text(char buffer[CALM_SIZE_TEXT_MAX], uint64_t bytes);

/**
 * enum calm_number_fault - what is wrong with a number
 * @CALM_NUMBER_OK: nothing
 * @CALM_NUMBER_EMPTY: no text at all
 * @CALM_NUMBER_SYNTAX: not a number
 * @CALM_NUMBER_UNIT: unknown unit
 * @CALM_NUMBER_FRACTION: not a whole number of bytes
 * @CALM_NUMBER_LARGE: does not fit 64 bits, or is negative
 */
enum calm_number_fault {
	CALM_NUMBER_OK,
	CALM_NUMBER_EMPTY,
	CALM_NUMBER_SYNTAX,
	CALM_NUMBER_UNIT,
	CALM_NUMBER_FRACTION,
	CALM_NUMBER_LARGE,
};

/**
 * calm_parse_uint() - read a whole decimal number
 * @text: the text, all of it
 * @value: out: the number
 *
 * Return: what is wrong with it.
 */
enum calm_number_fault calm_parse_uint(const char *text, uint64_t *value);

/**
 * calm_parse_size() - read a size: 4096, 4K, 1.5M, 1G
 * @text: the text, all of it
 * @value: out: bytes
 * @unit: out: where the unit starts, for an error message
 *
 * Return: what is wrong with it.
 */
enum calm_number_fault calm_parse_size(const char *text, uint64_t *value, const char **unit);

#endif
