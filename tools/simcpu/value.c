// SPDX-License-Identifier: GPL-2.0-only
/* Values of a model file: text to number, size, word, fraction or list. */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "value.h"

/* strtoull() alone would take blanks, signs and a leading 0 for octal. */
static bool number_prefix(const char *text, uint64_t *value, const char **end)
{
	bool hex = text[0] == '0' && text[1] == 'x';
	char *stop;

	if (hex ? !isxdigit((unsigned char)text[2]) : !isdigit((unsigned char)text[0]))
		return false;
	errno = 0;
	*value = strtoull(text, &stop, hex ? 16 : 10);
	*end = stop;
	return !errno;
}

bool sim_value_number(const char *text, uint64_t *value)
{
	const char *end;

	return number_prefix(text, value, &end) && !*end;
}

bool sim_value_size(const char *text, uint64_t *value)
{
	static const char units[] = "KMG";
	const char *end, *unit;
	unsigned int shift;

	if (!number_prefix(text, value, &end))
		return false;
	if (!*end)
		return true;
	unit = strchr(units, *end);
	if (!unit || end[1])
		return false;
	shift = 10 * (unsigned int)(unit - units + 1);
	if (*value > UINT64_MAX >> shift)
		return false;
	*value <<= shift;
	return true;
}

static uint64_t common_divisor(uint64_t a, uint64_t b)
{
	while (b) {
		uint64_t rest = a % b;

		a = b;
		b = rest;
	}
	return a;
}

bool sim_value_ratio(const char *text, struct sim_ratio *value)
{
	uint64_t num, den = 1, divisor;
	const char *end;

	if (!number_prefix(text, &num, &end))
		return false;
	if (*end && (*end != '/' || !sim_value_number(end + 1, &den)))
		return false;
	if (!num || !den || num > UINT32_MAX || den > UINT32_MAX)
		return false;
	divisor = common_divisor(num, den);
	value->num = num / divisor;
	value->den = den / divisor;
	return true;
}

bool sim_value_word(const char *text, const char *const *words, unsigned int *value)
{
	unsigned int i;

	for (i = 0; words[i]; i++) {
		if (strcmp(text, words[i]))
			continue;
		*value = i;
		return true;
	}
	return false;
}

static bool add_range(char *item, struct sim_msr_list *list)
{
	char *dash = strchr(item, '-');
	uint64_t from, to, msr;

	if (dash)
		*dash++ = 0;
	if (!sim_value_number(sim_value_strip(item), &from))
		return false;
	to = from;
	if (dash && !sim_value_number(sim_value_strip(dash), &to))
		return false;
	if (to < from || to > UINT32_MAX || to - from >= SIM_LIST_MAX - list->count)
		return false;
	for (msr = from; msr <= to; msr++)
		list->msr[list->count++] = msr;
	return true;
}

bool sim_value_msrs(const char *text, struct sim_msr_list *list)
{
	char copy[SIM_TEXT_MAX], *rest = copy, *item;

	if (strlen(text) >= sizeof(copy))
		return false;
	strcpy(copy, text);
	list->count = 0;
	while ((item = strsep(&rest, ",")))
		if (!add_range(item, list))
			return false;
	return true;
}

bool sim_value_switch(const char *text, struct sim_switch *value)
{
	char copy[SIM_TEXT_MAX], *rest = copy;
	uint64_t number[2] = { 0, 0 };
	static const char *const names[] = { "msr", "bit" };
	unsigned int i;

	value->msr = 0;
	value->bit = 0;
	if (!strcmp(text, "none"))
		return true;
	if (strlen(text) >= sizeof(copy))
		return false;
	strcpy(copy, text);
	for (i = 0; i < 2; i++) {
		const char *name = strsep(&rest, " \t");

		if (!rest || strcmp(name, names[i]) ||
		    !sim_value_number(strsep(&rest, " \t"), &number[i]))
			return false;
	}
	value->msr = number[0];
	value->bit = number[1];
	return !rest && number[0] && number[0] <= UINT32_MAX && number[1] < 64;
}

char *sim_value_strip(char *text)
{
	char *end;

	while (isspace((unsigned char)*text))
		text++;
	end = text + strlen(text);
	while (end > text && isspace((unsigned char)end[-1]))
		end--;
	*end = 0;
	return text;
}
