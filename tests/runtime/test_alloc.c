/* SPDX-License-Identifier: Apache-2.0 */
#include "alloc_int.h"
#include "testing.h"

static void a_product_that_overflows_is_refused(void)
{
    CU_ASSERT_PTR_NULL(sli_calloc(SIZE_MAX / 2, 3));
    CU_ASSERT_PTR_NULL(sli_realloc_array(NULL, SIZE_MAX / 2, 3));
}

static void blocks_are_zeroed_and_aligned(void)
{
    unsigned char *block = sli_calloc(100, 1);
    void *aligned = sli_aligned_alloc(4096, 10);

    for (int i = 0; i < 100; i++) {
        T_EQ(block[i], 0);
    }
    T_EQ((uintptr_t)aligned % 4096, 0);
    sli_free(block);
    sli_free(aligned);
}

static void a_growing_array_keeps_what_it_holds(void)
{
    size_t capacity = 0;
    int *array = NULL;

    for (int i = 0; i < 1000; i++) {
        array = sli_grow(array, &capacity, (size_t)i + 1, sizeof(*array));
        T_TRUE(array != NULL && capacity > (size_t)i);
        array[i] = i;
    }
    for (int i = 0; i < 1000; i++) {
        T_EQ(array[i], i);
    }
    sli_free(array);
}

static void the_chosen_request_fails_and_all_after_it(void)
{
    void *first;

    sli_alloc_fail_after(1);
    first = sli_calloc(1, 1);
    CU_ASSERT_PTR_NOT_NULL(first);
    CU_ASSERT_PTR_NULL(sli_calloc(1, 1));
    CU_ASSERT_PTR_NULL(sli_strdup("x"));
    CU_ASSERT_PTR_NULL(sli_aligned_alloc(64, 1));
    sli_alloc_fail_after(-1);
    sli_free(first);
}

/* The allocator may give blocks a little more than was asked for. */
static void a_thread_counts_what_it_allocates_and_frees(void)
{
    _Atomic int64_t bytes = 0;
    _Atomic int64_t inner = 0;
    void *others = sli_calloc(1000, 1);
    size_t capacity = 0;
    char *array;
    char *text;
    void *block;

    CU_ASSERT_PTR_NULL(sli_alloc_count_in(&bytes));
    block = sli_calloc(1000, 1);
    T_TRUE(bytes >= 1000 && bytes < 1200);
    array = sli_grow(NULL, &capacity, 100000, 1);
    array = sli_grow(array, &capacity, 300000, 1);
    T_TRUE(bytes >= 1000 + (int64_t)capacity && bytes < 10000 + (int64_t)capacity);
    T_TRUE(sli_alloc_count_in(&inner) == &bytes);
    text = sli_strdup("text");
    T_TRUE(inner > 0 && inner < 100);
    T_TRUE(sli_alloc_count_in(&bytes) == &inner);
    sli_free(array);
    sli_free(block);
    sli_free(NULL);
    T_EQ(bytes, 0);
    block = sli_aligned_alloc(4096, 5000);
    T_TRUE(bytes >= 5000 && bytes < 20000);
    sli_free(block);
    sli_free(others);
    T_TRUE(bytes <= -1000);
    T_TRUE(sli_alloc_count_in(NULL) == &bytes);
    sli_free(text); /* not counted any more */
    T_TRUE(inner > 0);
}

const t_test alloc_tests[] = {
    T_TEST(a_product_that_overflows_is_refused),
    T_TEST(blocks_are_zeroed_and_aligned),
    T_TEST(a_growing_array_keeps_what_it_holds),
    T_TEST(a_thread_counts_what_it_allocates_and_frees),
    T_TEST(the_chosen_request_fails_and_all_after_it),
    T_END,
};
