/* SPDX-License-Identifier: Apache-2.0 */
#include "class_table.h"

#include <stdlib.h>

#include "alloc_int.h"
#include "rng_int.h"
#include "status_int.h"

typedef struct labelled {
    int64_t label;
    uint32_t position;
} labelled;

static int compare_labelled(const void *a, const void *b)
{
    const labelled *x = a;
    const labelled *y = b;

    return x->label != y->label ? (x->label > y->label) - (x->label < y->label)
                                : (x->position > y->position) - (x->position < y->position);
}

static uint64_t count_classes(const labelled *sorted, uint64_t n)
{
    uint64_t classes = 1;

    for (uint64_t i = 1; i < n; i++) {
        classes += sorted[i].label != sorted[i - 1].label;
    }
    return classes;
}

static class_table *table_of(const labelled *sorted, uint64_t n)
{
    const uint64_t classes = count_classes(sorted, n);
    const size_t ranges_bytes = (size_t)classes * sizeof(class_range);
    const size_t bytes = sizeof(class_table) + ranges_bytes + (size_t)n * sizeof(uint32_t);
    class_table *table = sli_calloc(1, bytes);
    uint64_t class = 0;
    uint64_t first = 0;

    if (table == NULL) {
        return NULL;
    }
    table->classes = classes;
    table->bytes = bytes;
    table->ranges = (class_range *)(void *)(table + 1);
    table->members = (uint32_t *)(void *)(table->ranges + classes);
    for (uint64_t i = 0; i < n; i++) {
        table->members[i] = sorted[i].position;
        if (i + 1 == n || sorted[i + 1].label != sorted[i].label) {
            table->ranges[class ++] = (class_range){first, permutation_of(i + 1 - first)};
            first = i + 1;
        }
    }
    return table;
}

sluice_status class_table_make(const int64_t *labels, uint64_t n, class_table **table_out)
{
    labelled *sorted = sli_calloc((size_t)n, sizeof(*sorted));
    class_table *table = NULL;

    if (sorted != NULL) {
        for (uint64_t i = 0; i < n; i++) {
            sorted[i] = (labelled){labels[i], (uint32_t)i};
        }
        qsort(sorted, (size_t)n, sizeof(*sorted), compare_labelled);
        table = table_of(sorted, n);
    }
    sli_free(sorted);
    if (table == NULL) {
        return sli_fail(SLUICE_E_NO_MEMORY, "the classes of %llu samples", (unsigned long long)n);
    }
    *table_out = table;
    return SLUICE_OK;
}

uint64_t class_table_at(const class_table *table, uint64_t key, uint64_t length, uint64_t pass,
                        uint64_t position, uint64_t *repetition_out)
{
    const uint64_t class = position % table->classes;
    const class_range *range = &table->ranges[class];
    const uint64_t n = range->permutation.n;
    /* Numbers of draws from this class: in one pass, and in all passes before this draw. */
    const uint64_t draws = length / table->classes + (class < length % table->classes);
    const uint64_t draw = pass * draws + position / table->classes;
    const uint64_t cycle = draw / n;
    const uint64_t cycle_key = sli_mix_in(sli_mix_in(key, class), cycle);

    *repetition_out = cycle - pass * draws / n;
    return table->members[range->first + permutation_at(&range->permutation, cycle_key, draw % n)];
}
