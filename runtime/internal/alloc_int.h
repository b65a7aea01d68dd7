/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Host memory allocation. The whole library allocates through these functions, so that a test can
 * make the n-th request fail. They neither log nor set the last error: the caller does, and names
 * the purpose of the memory.
 */
#ifndef SLUICE_ALLOC_INT_H
#define SLUICE_ALLOC_INT_H

#include <stddef.h>
#include <stdint.h>

/* count * size zeroed bytes; NULL: out of memory, or the product overflows. */
void *sli_calloc(size_t count, size_t size);

/* Resizes an array to count elements; NULL: failed, the old array is unchanged. */
void *sli_realloc_array(void *array, size_t count, size_t size);

/* A block aligned to `alignment` (a power of two, at least sizeof(void *)). */
void *sli_aligned_alloc(size_t alignment, size_t size);

char *sli_strdup(const char *text);

/* Frees a block that one of the functions above returned. NULL is a no-op. */
void sli_free(const void *block);

/*
 * Grows an array to a capacity of at least `needed` elements, by doubling. Returns the array, which
 * may have moved, and sets *capacity. NULL: failed; the old array and *capacity are unchanged.
 */
void *sli_grow(void *array, size_t *capacity, size_t needed, size_t size);

/*
 * From now on adds what this thread allocates to *bytes, and subtracts what it frees; NULL: no
 * longer. Blocks count with the size that the allocator gives them. Only this thread may write
 * *bytes, which is negative if it frees more of others' blocks. Returns where it counted before.
 */
_Atomic int64_t *sli_alloc_count_in(_Atomic int64_t *bytes);

/* Tests: lets `count` requests succeed and makes all later ones fail; -1 restores success. */
void sli_alloc_fail_after(int64_t count);

#endif
