/* SPDX-License-Identifier: Apache-2.0 */
/** @file
 * Attributes of exported functions. All other symbols of the shared library are hidden.
 */
#ifndef SLUICE_EXPORT_H
#define SLUICE_EXPORT_H

#if defined(__GNUC__) || defined(__clang__)
/** An exported symbol of the shared library. */
#define SLUICE_API __attribute__((visibility("default")))
/** The compiler warns if the result is ignored. */
#define SLUICE_CHECKED __attribute__((warn_unused_result))
/** The compiler checks the arguments against the format. */
#define SLUICE_PRINTF(format_index, first_arg)                                                     \
    __attribute__((format(printf, format_index, first_arg)))
#else
#define SLUICE_API
#define SLUICE_CHECKED
#define SLUICE_PRINTF(format_index, first_arg)
#endif

/** An exported function; its status must be checked. */
#define SLUICE_API_CHECKED SLUICE_API SLUICE_CHECKED

#ifdef __cplusplus
/** Between these two, declarations have C linkage in C++. */
#define SLUICE_BEGIN_DECLS extern "C" {
#define SLUICE_END_DECLS   }
#else
#define SLUICE_BEGIN_DECLS
#define SLUICE_END_DECLS
#endif

#endif
