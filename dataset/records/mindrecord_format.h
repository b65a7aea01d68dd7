/* SPDX-License-Identifier: Apache-2.0 */
/* MindRecord, the record files of MindSpore, version 3.0. */
#ifndef SLUICE_MINDRECORD_FORMAT_H
#define SLUICE_MINDRECORD_FORMAT_H

#include "record_format.h"

extern const record_format record_mindrecord;

/*
 * Replaces each file of a list by all files of its dataset, in their order, each once: a header
 * names them all. E_IO: one of them is missing; the message names it. E_INVALID: their schemas
 * differ. Also returns the errors of mindrecord_header_read(), with the path.
 */
sluice_status mindrecord_complete(file_list *list);

#endif
