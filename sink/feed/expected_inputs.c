/* SPDX-License-Identifier: Apache-2.0 */
#include "expected_inputs.h"

#include <string.h>

#include "status_int.h"
#include "text_int.h"

static void print_column(const sluice_column *column, sli_text *text)
{
    sli_text_add(text, "%s (", sluice_dtype_name(column->dtype));
    for (uint32_t i = 0; i < column->rank; i++) {
        sli_text_add(text, "%s%llu", i > 0 ? ", " : "", (unsigned long long)column->shape[i]);
    }
    sli_text_add(text, ")");
}

static sluice_status column_differs(const sluice_column *want, const sluice_column *got,
                                    const char *owner)
{
    sli_text text = {0};
    char *both = NULL;
    sluice_status st;

    sli_text_add(&text, "column %s is ", want->name);
    print_column(got, &text);
    sli_text_add(&text, " in the dataset, and the %s needs ", owner);
    print_column(want, &text);
    st = sli_text_take(&text, &both);
    if (st == SLUICE_OK) {
        st = sli_fail(SLUICE_E_INVALID, "%s", both);
        sluice_string_free(both);
    }
    return st;
}

static sluice_status check_input(const sluice_column *columns, uint32_t column_count,
                                 const sluice_column *want, const char *owner)
{
    if (want->rank > SLUICE_MAX_RANK || memchr(want->name, '\0', sizeof(want->name)) == NULL) {
        return sli_fail(SLUICE_E_INVALID,
                        "an entry of %s.inputs is not a column: it must have a name of at most %d "
                        "bytes and at most %d dimensions",
                        owner, SLUICE_NAME_SIZE - 1, SLUICE_MAX_RANK);
    }
    for (uint32_t i = 0; i < column_count; i++) {
        const sluice_column *got = &columns[i];

        if (strcmp(got->name, want->name) == 0) {
            bool same = got->dtype == want->dtype && got->rank == want->rank &&
                        memcmp(got->shape, want->shape, want->rank * sizeof(want->shape[0])) == 0;

            return same ? SLUICE_OK : column_differs(want, got, owner);
        }
    }
    return sli_fail(SLUICE_E_INVALID, "the %s needs column %s, which the dataset does not have",
                    owner, want->name);
}

sluice_status expected_inputs_check(const sluice_column *columns, uint32_t column_count,
                                    const sluice_column *inputs, uint32_t count, const char *owner)
{
    sluice_status st = SLUICE_OK;

    for (uint32_t i = 0; st == SLUICE_OK && inputs != NULL && i < count; i++) {
        st = check_input(columns, column_count, &inputs[i], owner);
    }
    return st;
}
