/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Structs of the public interface that begin with `size_t struct_size`, so that programs and
 * libraries of different versions are compatible. A struct grows only at its end, and zero is the
 * default of every new field:
 *
 *   - A struct that a caller fills in may be smaller than the library's, but not smaller than in
 *     0.2: missing fields are zero. It may be larger if the bytes past the library's are zero.
 *   - A struct that the library fills in is written up to the caller's size, and never past it.
 *     Bytes past the library's own struct are set to zero.
 */
#ifndef SLUICE_STRUCT_SIZE_INT_H
#define SLUICE_STRUCT_SIZE_INT_H

#include <stddef.h>

#include "status_int.h"

/* Largest valid struct_size. A larger value indicates an uninitialized struct. */
enum { SLI_STRUCT_MOST = 4096 };

/* A struct of the public interface. */
typedef struct sli_struct {
    const char *name; /* "sluice_train_config" */
    size_t minimum;   /* its size in 0.2 */
    size_t size;      /* its size in this library */
} sli_struct;

/* `last` is the last field of the struct in 0.2; it stays the same when the struct grows. */
#define SLI_STRUCT(type, last)                                                                     \
    {                                                                                              \
#type, offsetof(type, last) + sizeof(((type *)NULL)->last), sizeof(type)                   \
    }

/*
 * Copies a caller's struct into the library's version of it; struct_size becomes the library's
 * size. `call` is the prefix of errors, such as "sluice_train". Returns: E_INVALID `from` is NULL
 * or has a wrong size; the text has both sizes, the version of the library, and what to do.
 */
sluice_status sli_struct_read(const sli_struct *type, const char *call, const void *from,
                              void *copy_out);

/* sli_struct_read() for an optional struct: NULL is read as a struct of zeros. */
sluice_status sli_struct_read_optional(const sli_struct *type, const char *call, const void *from,
                                       void *copy_out);

/*
 * Returns E_INVALID unless the library can fill in `to`. For calls that do work before they write.
 */
sluice_status sli_struct_check(const sli_struct *type, const char *call, const void *to);

/*
 * sli_struct_check(), then copies the library's struct `from` to the caller's, except struct_size.
 */
sluice_status sli_struct_write(const sli_struct *type, const char *call, const void *from,
                               void *to);

/* Zeroes a caller's struct of `size` bytes and sets its struct_size. For init functions. */
void sli_struct_init(void *to, size_t size);

#endif
