/* SPDX-License-Identifier: Apache-2.0 */
/** @file
 * The version this header belongs to, and the one of the library that is loaded.
 */
#ifndef SLUICE_VERSION_H
#define SLUICE_VERSION_H

#include <sluice/export.h>

SLUICE_BEGIN_DECLS

#define SLUICE_VERSION_MAJOR 0 /**< 1 when programs have to be changed */
#define SLUICE_VERSION_MINOR 2 /**< changes with additions */
#define SLUICE_VERSION_PATCH 0 /**< changes with fixes */
#define SLUICE_VERSION       "0.2.0" /**< all of them, "0.2.0" */

/** Returns the version of the loaded library, "0.2.0". Threads: any. */
SLUICE_API const char *sluice_version(void);

/**
 * Returns the options the library was built with, one line: "cuda off, openmp simd, ...".
 *
 * Threads: any.
 */
SLUICE_API const char *sluice_build_options(void);

SLUICE_END_DECLS

#endif
