/* SPDX-License-Identifier: Apache-2.0 */
#include "pack_classes.h"

#include "escaped_text.h"

/* Longer names are truncated, as in messages. */
enum { CLASS_SIZE = 1024 };

sluice_status pack_classes_write(const pack_folder *folder, const sluice_dataset *dataset,
                                 const kept_columns *kept)
{
    const source_ops *source = dataset_source(dataset);
    sli_text text = {0};
    char *lines = NULL;
    sluice_status st;

    if (source->class_name == NULL || source->classes(dataset->source) == 0 ||
        (kept->label < 0 && schema_find(&dataset->source_schema, "label") >= 0)) {
        return SLUICE_OK;
    }
    for (uint32_t i = 0; i < source->classes(dataset->source); i++) {
        char name[CLASS_SIZE];

        source->class_name(dataset->source, i, name, sizeof(name));
        escaped_text_add(&text, name);
        sli_text_add(&text, "\n");
    }
    st = sli_text_take(&text, &lines);
    if (st == SLUICE_OK) {
        st = pack_folder_write(folder, "classes.txt", lines);
    }
    sluice_string_free(lines);
    return st;
}
