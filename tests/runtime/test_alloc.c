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

const t_test alloc_tests[] = {
    T_TEST(a_product_that_overflows_is_refused),
    T_TEST(blocks_are_zeroed_and_aligned),
    T_TEST(a_growing_array_keeps_what_it_holds),
    T_TEST(the_chosen_request_fails_and_all_after_it),
    T_END,
};
