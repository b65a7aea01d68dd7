/* SPDX-License-Identifier: Apache-2.0 */
/** @file
 * Statuses and error texts.
 *
 * Zero is success. A positive status is a result that the caller must handle (a timeout, the end of
 * the data), not an error. A negative status is an error: test for failure by `status < 0`. Values
 * are never changed or reused.
 */
#ifndef SLUICE_STATUS_H
#define SLUICE_STATUS_H

#include <sluice/export.h>

SLUICE_BEGIN_DECLS

/** X(name, number, text): the list of statuses; the enum, the names and the texts come from it. */
#define SLUICE_STATUS_MAP(X)                                                                       \
    X(OK, 0, "ok")                                                                                 \
    X(END_OF_PASS, 1, "end of the pass")                                                           \
    X(END_OF_DATA, 2, "end of the data")                                                           \
    X(TIMEOUT, 3, "timed out")                                                                     \
    X(CLOSED, 4, "closed")                                                                         \
    X(STOPPED, 5, "stopped on request")                                                            \
    X(E_INVALID, -1, "invalid argument")                                                           \
    X(E_NO_MEMORY, -2, "out of memory")                                                            \
    X(E_DEVICE, -3, "device error")                                                                \
    X(E_NO_DEVICE, -4, "no such device")                                                           \
    X(E_IO, -5, "input or output error")                                                           \
    X(E_CORRUPT, -6, "corrupt data")                                                               \
    X(E_UNSUPPORTED, -7, "not supported")                                                          \
    X(E_BUSY, -8, "busy")                                                                          \
    X(E_NAN, -9, "not a number")                                                                   \
    X(E_STALLED, -10, "stalled")                                                                   \
    X(E_CALLBACK, -11, "the caller's function failed")                                             \
    X(E_RANK, -12, "another rank failed")

/** The result of a call. A callback that returns any other number has failed with E_CALLBACK. */
typedef enum sluice_status {
#define SLUICE_STATUS_ENUM(name, number, text) SLUICE_##name = (number),
    SLUICE_STATUS_MAP(SLUICE_STATUS_ENUM)
#undef SLUICE_STATUS_ENUM
} sluice_status;

/**
 * Returns the name of a status without its prefix, "E_INVALID"; "?" for an unknown value.
 *
 * Threads: any.
 */
SLUICE_API const char *sluice_status_name(sluice_status status);

/** Returns the short text of a status, "invalid argument". Threads: any. */
SLUICE_API const char *sluice_status_text(sluice_status status);

/**
 * Returns the text of the last error in this thread: what failed, where, and what to try.
 *
 * Control characters (file names may contain them) and bytes that are not UTF-8 are escaped, so the
 * text is safe to print on a terminal. It may have further lines, indented by four spaces.
 *
 * The text is thread-local, never NULL ("" if nothing has failed yet), and unchanged until the next
 * failure in this thread. An error in a thread of the library is propagated to the thread whose
 * call reports it. The text of an E_NO_MEMORY of the library begins with "out of memory".
 *
 * Threads: any; the text is that of the calling thread.
 */
SLUICE_API const char *sluice_last_error(void);

/**
 * Sets the last error of this thread from a user callback and returns status. The text is truncated
 * to 1023 bytes. When a step, hook, eval, save or load fails, the error of the run ends with the
 * last error that the callback set, by this function or by a call of the library that failed:
 *
 *     return sluice_fail(SLUICE_E_IO, "cannot open %s", path);
 *
 * Threads: any; the text is that of the calling thread.
 */
SLUICE_API sluice_status sluice_fail(sluice_status status, const char *format, ...)
    SLUICE_PRINTF(2, 3);

/** Frees a string that the library returned to the caller. NULL is allowed. Threads: any. */
SLUICE_API void sluice_string_free(char *text);

SLUICE_END_DECLS

#endif
