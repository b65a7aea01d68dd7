/* SPDX-License-Identifier: Apache-2.0 */
/* Members of the header of a MindRecord file, by jansson: numbers, and the pages. */
#ifndef SLUICE_MINDRECORD_MEMBER_H
#define SLUICE_MINDRECORD_MEMBER_H

#include <jansson.h>

#include "mindrecord_header.h"

/* Gets a whole number from 0 to `most`. E_CORRUPT: it is none; the message has the key. */
sluice_status mindrecord_get_number(const json_t *value, const char *key, uint64_t most,
                                    uint64_t *number_out);

/* Appends a page, as the list of pages has it. */
sluice_status mindrecord_page_add(mindrecord_header *header, const json_t *value);

/* Checks that the pages are within the file, and that the rows of its blob pages ascend. */
sluice_status mindrecord_pages_check(const mindrecord_header *header, uint64_t size);

#endif
