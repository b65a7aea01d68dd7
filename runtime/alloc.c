/* SPDX-License-Identifier: Apache-2.0 */
/* Overflow-checked allocation, with injected failures for tests. */
#include "alloc_int.h"

#include <malloc.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

/* Number of requests that still succeed before all fail; negative: no failure is injected. */
static _Atomic int64_t passes_left = -1;

static int injected_failure(void)
{
    int64_t left = atomic_load_explicit(&passes_left, memory_order_relaxed);

    while (left > 0) {
        if (atomic_compare_exchange_weak_explicit(&passes_left, &left, left - 1,
                                                  memory_order_relaxed, memory_order_relaxed)) {
            return 0;
        }
    }
    return left == 0;
}

void sli_alloc_fail_after(int64_t count)
{
    atomic_store_explicit(&passes_left, count, memory_order_relaxed);
}

/* Where this thread counts its memory; NULL: nowhere. */
static _Thread_local _Atomic int64_t *counted_in;

_Atomic int64_t *sli_alloc_count_in(_Atomic int64_t *bytes)
{
    _Atomic int64_t *before = counted_in;

    counted_in = bytes;
    return before;
}

static int64_t size_of(const void *block)
{
    return counted_in != NULL ? (int64_t)malloc_usable_size((void *)(uintptr_t)block) : 0;
}

static void count(int64_t bytes)
{
    if (counted_in != NULL) {
        atomic_store_explicit(counted_in,
                              atomic_load_explicit(counted_in, memory_order_relaxed) + bytes,
                              memory_order_relaxed);
    }
}

/* Counts a new block. Accepts NULL. */
static void *counted(void *block)
{
    count(size_of(block));
    return block;
}

void *sli_calloc(size_t elements, size_t size)
{
    size_t bytes;

    if (injected_failure() || __builtin_mul_overflow(elements, size, &bytes)) {
        return NULL;
    }
    return counted(calloc(bytes > 0 ? bytes : 1, 1));
}

void *sli_realloc_array(void *array, size_t elements, size_t size)
{
    const int64_t before = size_of(array);
    void *resized;
    size_t bytes;

    if (injected_failure() || __builtin_mul_overflow(elements, size, &bytes)) {
        return NULL;
    }
    resized = realloc(array, bytes > 0 ? bytes : 1);
    if (resized != NULL) {
        count(size_of(resized) - before);
    }
    return resized;
}

void *sli_aligned_alloc(size_t alignment, size_t size)
{
    void *block = NULL;

    if (injected_failure() || posix_memalign(&block, alignment, size > 0 ? size : 1) != 0) {
        return NULL;
    }
    return counted(block);
}

char *sli_strdup(const char *text)
{
    return injected_failure() ? NULL : counted(strdup(text));
}

void sli_free(const void *block)
{
    count(-size_of(block));
    free((void *)(uintptr_t)block);
}

void *sli_grow(void *array, size_t *capacity, size_t needed, size_t size)
{
    size_t wanted = *capacity > 0 ? *capacity : 16;
    void *grown;

    if (array != NULL && needed <= *capacity) {
        return array;
    }
    while (wanted < needed) {
        if (wanted > SIZE_MAX / 2) {
            return NULL;
        }
        wanted *= 2;
    }
    grown = sli_realloc_array(array, wanted, size);
    if (grown != NULL) {
        *capacity = wanted;
    }
    return grown;
}
