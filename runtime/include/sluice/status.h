/* SPDX-License-Identifier: Apache-2.0 */
/** @file
 * What every call answers, and the text behind the last failure.
 *
 * Zero is success. A positive status is an answer that the caller must look at (a time-out, the
 * end of the data); nothing is wrong. A negative status is an error: `status < 0` is the test for
 * failure. Numbers are never changed or reused.
 */
#ifndef SLUICE_STATUS_H
#define SLUICE_STATUS_H

#include <sluice/export.h>

SLUICE_BEGIN_DECLS

/** X(name, number, text): the one list of statuses; the enum, the names and the texts follow it. */
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

/** The answer of a call. */
typedef enum sluice_status {
#define SLUICE_STATUS_ENUM(name, number, text) SLUICE_##name = (number),
    SLUICE_STATUS_MAP(SLUICE_STATUS_ENUM)
#undef SLUICE_STATUS_ENUM
} sluice_status;

/** Returns the name of a status without its prefix, "E_INVALID"; "?" for a number that is none. */
SLUICE_API const char *sluice_status_name(sluice_status status);

/** Returns a few words for a status, "invalid argument". */
SLUICE_API const char *sluice_status_text(sluice_status status);

/**
 * Returns what went wrong in the last call of this thread that failed: what, where, and what to
 * try.
 *
 * The text is the thread's own, is never NULL ("" when nothing has failed yet), and stays as it
 * is until the next failure in this thread. An error met by one of the library's own threads is
 * handed to the thread whose call reports it.
 */
SLUICE_API const char *sluice_last_error(void);

/**
 * Says why a function of the caller's own fails: keeps the text, cut to 1023 bytes, as this
 * thread's last error and returns status. The error of a run that ends with a failed step, hook,
 * eval, save or load ends with the text that the function left, by this or by a call that failed:
 *
 *     return sluice_fail(SLUICE_E_IO, "cannot open %s", path);
 */
SLUICE_API sluice_status sluice_fail(sluice_status status, const char *format, ...)
    SLUICE_PRINTF(2, 3);

/** Frees a text that the library gave to the caller. NULL is fine. */
SLUICE_API void sluice_string_free(char *text);

SLUICE_END_DECLS

#endif
