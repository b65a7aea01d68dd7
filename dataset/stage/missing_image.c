/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "conversion_int.h"
#include "stage_schema.h"
#include "status_int.h"
#include "tensor_int.h"

const char *column_type_text(const sluice_column *column, char *text, size_t size)
{
    size_t used = (size_t)snprintf(
        text, size, "%s",
        column->dtype == SLUICE_ENCODED ? "an encoded image" : sluice_dtype_name(column->dtype));

    for (uint32_t d = 0; d < column->rank && used < size; d++) {
        used += (size_t)snprintf(text + used, size - used, "%s%llu%s", d == 0 ? " (" : ", ",
                                 (unsigned long long)column->shape[d],
                                 d + 1 == column->rank ? ")" : "");
    }
    return text;
}

/* True for pixels (height, width) or (height, width, channels). */
static bool has_pixels(const sluice_column *column)
{
    image_element element;

    return schema_element(column->dtype, &element) &&
           (column->rank == 2 ||
            (column->rank == 3 && column->shape[SCHEMA_C] <= SLI_MAX_CHANNELS));
}

/* Finds a plain column that may be meant as the image: by its name, or by its shape. */
static const sluice_column *find_candidate(const stage_schema *schema)
{
    const sluice_column *found = NULL;

    for (uint32_t i = 0; i < schema->column_count; i++) {
        const sluice_column *column = &schema->columns[i];

        if (schema->infos[i].role != ROLE_PLAIN || column->rank < 2 || column->rank > 3) {
            continue;
        }
        if (strcmp(column->name, "image") == 0) {
            return column;
        }
        /* numbers (n, m) of other types are often no pixels, such as boxes */
        if (found == NULL && (column->rank == 3 || column->dtype == SLUICE_U8)) {
            found = column;
        }
    }
    return found;
}

sluice_status fail_missing_image(const stage_schema *schema, const char *stage)
{
    const sluice_column *column = find_candidate(schema);
    char text[120];

    for (uint32_t i = 0; i < schema->column_count; i++) {
        if ((int)i == schema->image || schema->infos[i].role == ROLE_IMAGE) {
            return sli_fail(SLUICE_E_INVALID, "%s: there is no decoded image; put decode before it",
                            stage);
        }
    }
    if (column == NULL) {
        return sli_fail(SLUICE_E_INVALID, "%s: there is no image", stage);
    }
    column_type_text(column, text, sizeof(text));
    return has_pixels(column)
               ? sli_fail(SLUICE_E_INVALID,
                          "%s: there is no image; after the source, `column %s role=image` makes "
                          "%s the image, which is %s",
                          stage, column->name, column->name, text)
               : sli_fail(SLUICE_E_INVALID,
                          "%s: there is no image: %s is %s and must be u8, u16 or f32 (height, "
                          "width) or (height, width, channels); save it so, and `column %s "
                          "role=image` after "
                          "the source makes it the image",
                          stage, column->name, text, column->name);
}
