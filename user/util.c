// SPDX-License-Identifier: GPL-2.0-only
/* Errors with their exit status, allocation that cannot fail, sizes in words. */
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "util.h"

static const struct size_unit {
	char letter;
	unsigned int shift;
} size_units[] = {
	{ 'T', 40 },
	{ 'G', 30 },
	{ 'M', 20 },
	{ 'K', 10 },
};

int calm_error_set(struct calm_error *error, enum calm_exit status, int code, const char *format,
		   ...)
{
	va_list args;

	error->status = status;
	va_start(args, format);
	vsnprintf(error->text, sizeof(error->text), format, args);
	va_end(args);
	return code;
}

void calm_say(const char *format, ...)
{
	va_list args;

	fputs("calm: ", stderr);
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fputc('\n', stderr);
}

int calm_write_stdout(void)
{
	errno = 0;
	if (!fflush(stdout) && !ferror(stdout))
		return 0;
	return errno ? -errno : -EIO;
}

int calm_say_written(void)
{
	int err = calm_write_stdout();

	if (!err)
		return CALM_EXIT_DONE;
	calm_say("cannot write standard output: %s", strerror(-err));
	return CALM_EXIT_FAILED;
}

static void *check_memory(void *memory)
{
	if (!memory) {
		calm_say("out of memory");
		exit(CALM_EXIT_FAILED);
	}
	return memory;
}

void *calm_alloc(size_t count, size_t size)
{
	return check_memory(calloc(count ? count : 1, size));
}

void *calm_grow(void *array, size_t count, size_t *capacity, size_t size)
{
	if (count < *capacity)
		return array;
	*capacity = *capacity ? 2 * *capacity : 16;
	return check_memory(reallocarray(array, *capacity, size));
}

char *calm_vtext(const char *format, va_list args)
{
	char *text = NULL;

	if (vasprintf(&text, format, args) < 0)
		text = NULL;
	return check_memory(text);
}

char *calm_text(const char *format, ...)
{
	va_list args;
	char *text;

	va_start(args, format);
	text = calm_vtext(format, args);
	va_end(args);
	return text;
}

/*
 * Ten thousandths of a unit, if that is a whole number of them. Of the largest
 * unit, 40 bits, there may be 14 more bits of these.
 */
#define FRACTIONS 10000ULL

static bool in_unit(uint64_t bytes, unsigned int shift, uint64_t *whole, unsigned int *fraction)
{
	uint64_t rest = bytes & ((1ULL << shift) - 1);

	*whole = bytes >> shift;
	*fraction = (unsigned int)((rest * FRACTIONS) >> shift);
	return *whole && (uint64_t)*fraction << shift == rest * FRACTIONS;
}

const char *calm_size_text(char buffer[CALM_SIZE_TEXT_MAX], uint64_t bytes)
{
	unsigned int fraction;
	uint64_t whole;
	size_t i, end;

	for (i = 0; i < CALM_ARRAY_SIZE(size_units); i++) {
		if (!in_unit(bytes, size_units[i].shift, &whole, &fraction))
			continue;
		end = (size_t)snprintf(buffer, CALM_SIZE_TEXT_MAX - 1, "%" PRIu64 ".%04u", whole,
				       fraction);
		while (buffer[end - 1] == '0')
			end--;
		if (buffer[end - 1] == '.')
			end--;
		buffer[end++] = size_units[i].letter;
		buffer[end] = '\0';
		return buffer;
	}
	snprintf(buffer, CALM_SIZE_TEXT_MAX, "%" PRIu64, bytes);
	return buffer;
}

/* Reads digits and leaves @text behind them; false when they do not fit. */
static bool read_digits(const char **text, uint64_t *value)
{
	for (*value = 0; isdigit((unsigned char)**text); (*text)++)
		if (__builtin_mul_overflow(*value, 10, value) ||
		    __builtin_add_overflow(*value, (uint64_t)(**text - '0'), value))
			return false;
	return true;
}

/* What else a text is that does not begin with a digit. */
static enum calm_number_fault no_digit(const char *text)
{
	if (!*text)
		return CALM_NUMBER_EMPTY;
	return *text == '-' && isdigit((unsigned char)text[1]) ? CALM_NUMBER_LARGE :
								 CALM_NUMBER_SYNTAX;
}

enum calm_number_fault calm_parse_uint(const char *text, uint64_t *value)
{
	if (!isdigit((unsigned char)*text))
		return no_digit(text);
	if (!read_digits(&text, value))
		return CALM_NUMBER_LARGE;
	if (*text == '.' && isdigit((unsigned char)text[1]))
		return CALM_NUMBER_FRACTION;
	return *text ? CALM_NUMBER_SYNTAX : CALM_NUMBER_OK;
}

static int unit_shift(const char *unit)
{
	size_t i;

	if (!*unit)
		return 0;
	for (i = 0; i < CALM_ARRAY_SIZE(size_units); i++)
		if (toupper((unsigned char)*unit) == size_units[i].letter && !unit[1])
			return (int)size_units[i].shift;
	return -1;
}

/* Adds the digits after the point: @numerator / @denominator of a unit. */
static enum calm_number_fault add_fraction(uint64_t *value, uint64_t numerator,
					   uint64_t denominator, int shift)
{
	unsigned __int128 part = (unsigned __int128)numerator << shift;

	if (part % denominator)
		return CALM_NUMBER_FRACTION;
	if (__builtin_add_overflow(*value, (uint64_t)(part / denominator), value))
		return CALM_NUMBER_LARGE;
	return CALM_NUMBER_OK;
}

enum calm_number_fault calm_parse_size(const char *text, uint64_t *value, const char **unit)
{
	uint64_t whole, numerator = 0, denominator = 1;
	int shift;

	*unit = text;
	if (!isdigit((unsigned char)*text))
		return no_digit(text);
	if (!read_digits(&text, &whole))
		return CALM_NUMBER_LARGE;
	if (*text == '.') {
		const char *first = ++text;

		if (!read_digits(&text, &numerator))
			return CALM_NUMBER_FRACTION;
		if (text == first)
			return CALM_NUMBER_SYNTAX;
		while (first++ < text)
			if (__builtin_mul_overflow(denominator, 10, &denominator))
				return CALM_NUMBER_FRACTION;
	}
	*unit = text;
	shift = unit_shift(text);
	if (shift < 0)
		return CALM_NUMBER_UNIT;
	if (whole > UINT64_MAX >> shift)
		return CALM_NUMBER_LARGE;
	*value = whole << shift;
	return add_fraction(value, numerator, denominator, shift);
}
