/* SPDX-License-Identifier: Apache-2.0 */
#include "image.h"

#include <string.h>

#include "alloc_int.h"
#include "status_int.h"

sluice_status image_buffer_reserve(image_buffer *buffer, size_t bytes)
{
    const size_t spare = bytes / 4 + IMAGE_SLACK;
    const size_t wanted = bytes + (spare < IMAGE_MOST_SPARE ? spare : IMAGE_MOST_SPARE);

    if (buffer->data != NULL && bytes <= SIZE_MAX / 2 && bytes + IMAGE_SLACK <= buffer->capacity) {
        memset(buffer->data + bytes, 0, IMAGE_SLACK);
        return SLUICE_OK;
    }
    sli_free(buffer->data);
    buffer->capacity = 0;
    buffer->data = bytes > SIZE_MAX / 2 ? NULL : sli_aligned_alloc(64, wanted);
    if (buffer->data == NULL) {
        return sli_fail(SLUICE_E_NO_MEMORY, "%zu bytes of pixels", bytes);
    }
    buffer->capacity = wanted;
    memset(buffer->data + bytes, 0, IMAGE_SLACK);
    return SLUICE_OK;
}

sluice_status image_buffer_fit(image_buffer *buffer, size_t bytes)
{
    image_buffer fitting = {NULL, 0};
    sluice_status st;

    if (buffer->capacity / 2 <= bytes + IMAGE_SLACK) {
        return SLUICE_OK;
    }
    st = image_buffer_reserve(&fitting, bytes);
    if (st == SLUICE_OK) {
        if (bytes > 0) {
            memcpy(fitting.data, buffer->data, bytes);
        }
        sli_free(buffer->data);
        *buffer = fitting;
    }
    return st;
}

void image_buffer_free(image_buffer *buffer)
{
    sli_free(buffer->data);
    buffer->data = NULL;
    buffer->capacity = 0;
}
