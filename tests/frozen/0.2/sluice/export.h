/* SPDX-License-Identifier: Apache-2.0 */
/** @file
 * How the library marks what it exports. Everything else in the shared library is hidden.
 */
#ifndef SLUICE_EXPORT_H
#define SLUICE_EXPORT_H

#if defined(__GNUC__) || defined(__clang__)
/** What the shared library exports. */
#define SLUICE_API __attribute__((visibility("default")))
/** The compiler warns when the result is not looked at. */
#define SLUICE_CHECKED __attribute__((warn_unused_result))
/** The compiler checks the arguments against the format. */
#define SLUICE_PRINTF(format_index, first_arg)                                                     \
    __attribute__((format(printf, format_index, first_arg)))
#else
#define SLUICE_API
#define SLUICE_CHECKED
#define SLUICE_PRINTF(format_index, first_arg)
#endif

/** An exported function whose status must be looked at. */
#define SLUICE_API_CHECKED SLUICE_API SLUICE_CHECKED

#ifdef __cplusplus
/** Between these two, C++ sees C functions. */
#define SLUICE_BEGIN_DECLS extern "C" {
#define SLUICE_END_DECLS   }
#else
#define SLUICE_BEGIN_DECLS
#define SLUICE_END_DECLS
#endif

#endif
