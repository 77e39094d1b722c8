/* SPDX-License-Identifier: GPL-2.0-only */
/* The JSON document, for the forms that are made from it. */
#ifndef CALM_JSON_H
#define CALM_JSON_H

#include <jansson.h>

#include "data.h"

/* Seventeen digits bring every double back as it was. */
#define CALM_JSON_REALS JSON_REAL_PRECISION(17)

/**
 * calm_json_document() - a finished document as JSON
 * @document: the document
 *
 * Return: a new reference.
 */
json_t *calm_json_document(const struct calm_document *document);

#endif
