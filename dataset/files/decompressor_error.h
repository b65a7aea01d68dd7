/* SPDX-License-Identifier: Apache-2.0 */
/* The error of compressed data, for every library. */
#ifndef SLUICE_DECOMPRESSOR_ERROR_H
#define SLUICE_DECOMPRESSOR_ERROR_H

#include <errno.h>

#include "compression.h"
#include "raw_feed.h"

/* The errno value of errors that say that data are corrupt, so that data before may be, too. */
#define DECOMPRESSOR_CORRUPT EBADMSG

/*
 * Reports compressed data that are corrupt, or that end too early. `library` is the reason that the
 * library gives; it may be NULL.
 */
sluice_status decompressor_fail(const raw_feed *raw, compression format, bool ended,
                                const char *library);

#endif
