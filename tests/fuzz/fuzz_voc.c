/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzz target: any bytes as an annotation of VOC. expat is not instrumented, so that a fuzzer sees
 * the branches of our handlers of its elements only. */
#include <string.h>

#include "fuzz_target.h"
#include "voc_file.h"

static void check_object(const voc_file *file, const voc_object *object)
{
    if (object->name >= file->names_size || file->names[object->name] == '\0' ||
        strlen(file->names + object->name) > VOC_NAME_MOST) {
        fuzz_fail("an object without a name");
    }
    if (object->line == 0) {
        fuzz_fail("an object that is in no line");
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static voc_file file; /* the parser has seen all inputs before */

    if (voc_file_read(&file, (const char *)data, size) == SLUICE_OK) {
        for (size_t i = 0; i < file.object_count; i++) {
            check_object(&file, &file.objects[i]);
        }
        if (file.width > INT32_MAX || file.height > INT32_MAX) {
            fuzz_fail("a size that is none");
        }
    }
    return 0;
}
