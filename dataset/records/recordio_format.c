/* SPDX-License-Identifier: Apache-2.0 */
#include "recordio_format.h"

#include <stdio.h>
#include <string.h>

#include "alloc_int.h"
#include "first_records.h"
#include "recordio_file.h"
#include "recordio_list.h"
#include "small_file_int.h"
#include "status_int.h"

/* The state of a file. */
typedef struct recordio_state {
    recordio_list *list;
} recordio_state;

static sluice_status open_file(record_input *file)
{
    recordio_state *state = sli_calloc(1, sizeof(*state));
    sluice_status st = state != NULL ? recordio_list_create(file->path, &state->list)
                                     : sli_fail(SLUICE_E_NO_MEMORY, "the state of a file");

    if (st != SLUICE_OK) {
        sli_free(state);
        return st;
    }
    file->state = state;
    return SLUICE_OK;
}

static void close_file(void *opaque)
{
    recordio_state *state = opaque;

    if (state != NULL) {
        recordio_list_free(state->list);
        sli_free(state);
    }
}

/* ---- indexes --------------------------------------------------------------------------------- */

static sluice_status add_record(void *index, uint64_t offset, uint64_t size)
{
    return record_index_add(index, &(record_range){offset, size});
}

static sluice_status scan_file(const record_input *file, record_index *index)
{
    return recordio_scan(file->fd, file->size, add_record, index);
}

/* Parses the last number of a line of an index. */
static bool parse_offset(const char *line, size_t length, int64_t *offset_out)
{
    const char *digits;

    while (length > 0 && strchr(" \t\r", line[length - 1]) != NULL) {
        length--;
    }
    digits = line + length;
    while (digits > line && digits[-1] != '\t') {
        digits--;
    }
    return digits > line && sli_digits_parse(&digits, offset_out) && digits == line + length;
}

/* Appends a record, and ends the one before it there. */
static sluice_status add_offset(const record_input *file, record_index *index, uint64_t offset,
                                uint64_t line)
{
    record_range *last = index->count > 0 ? &index->ranges[index->count - 1] : NULL;

    if (offset % 4 != 0 || offset >= file->size || (last != NULL && offset <= last->offset)) {
        return sli_fail(
            SLUICE_E_CORRUPT,
            "line %llu has the offset %llu; offsets must ascend, be multiples of 4, and "
            "be within the file's %llu bytes",
            (unsigned long long)line, (unsigned long long)offset, (unsigned long long)file->size);
    }
    if (last != NULL) {
        last->size = offset - last->offset;
    }
    return record_index_add(index, &(record_range){offset, 0});
}

/* Appends the records of lines that have an offset each; only the file says where the last one
 * ends. */
static sluice_status parse_index(const record_input *file, const char *text, record_index *index)
{
    uint64_t number = 0;
    sluice_status st = SLUICE_OK;

    while (*text != '\0' && st == SLUICE_OK) {
        const size_t length = strcspn(text, "\n");
        int64_t offset = 0;

        number++;
        st = parse_offset(text, length, &offset)
                 ? add_offset(file, index, (uint64_t)offset, number)
                 : sli_fail(SLUICE_E_CORRUPT,
                            "line %llu must be a key, a tab and the offset of a record",
                            (unsigned long long)number);
        text += length + (text[length] == '\n');
    }
    if (st == SLUICE_OK && index->count > 0) {
        record_range *last = &index->ranges[index->count - 1];

        st = recordio_find_size(file->fd, file->size, last->offset, &last->size);
    }
    return st;
}

/* NAME.idx beside NAME.rec. */
static bool index_path(const char *file, int i, char *path, size_t size)
{
    const size_t length = strlen(file);

    return i == 0 && length >= 4 && strcmp(file + length - 4, ".rec") == 0 &&
           snprintf(path, size, "%.*s.idx", (int)length - 4, file) < (int)size;
}

/* ---- records --------------------------------------------------------------------------------- */

/* Finds the bytes of a record, of which several parts are joined in the scratch memory. */
static sluice_status find_bytes(const record_part *part, image_buffer *scratch,
                                const uint8_t **bytes_out, size_t *size_out)
{
    recordio_layout layout;
    sluice_status st = recordio_measure(part->bytes, part->size, &layout);

    if (st == SLUICE_OK && layout.parts > 1) {
        st = image_buffer_reserve(scratch, layout.size);
        if (st == SLUICE_OK) {
            recordio_join(part->bytes, &layout, scratch->data);
        }
    }
    if (st == SLUICE_OK) {
        *bytes_out = layout.parts > 1 ? scratch->data : part->bytes + RECORDIO_HEAD;
        *size_out = layout.size;
    }
    return st;
}

/* Finds a value in the line of the list that has the record's id. */
static sluice_status find_in_list(recordio_list *list, uint64_t id, const char *name,
                                  record_value *value_out)
{
    const recordio_line *line = NULL;
    const sluice_status st = recordio_list_find(list, id, &line);

    if (st != SLUICE_OK || line == NULL) {
        return st;
    }
    *value_out = strcmp(name, "path") == 0
                     ? record_value_bytes(line->path, strlen(line->path))
                     : record_value_numbers(SLUICE_F32, line->label_count, line->labels);
    return SLUICE_OK;
}

/* Finds a value of an image record. */
static sluice_status find_value(const recordio_image *image, const uint8_t *bytes,
                                recordio_list *list, const char *name, record_value *value_out)
{
    *value_out = (record_value){.kind = RECORD_MISSING};
    if (strcmp(name, "image") == 0 && image->image_size > 0) {
        *value_out = record_value_bytes(image->image, image->image_size);
    } else if (strcmp(name, "label") == 0) {
        *value_out = record_value_numbers(SLUICE_F32, image->label_count, image->labels);
    } else if (strcmp(name, "id") == 0) {
        *value_out = record_value_numbers(SLUICE_U64, 1, bytes + RECORDIO_IDS);
    } else if (strcmp(name, "id2") == 0) {
        *value_out = record_value_numbers(SLUICE_U64, 1, bytes + RECORDIO_IDS + 8);
    } else if (strcmp(name, "path") == 0 || strcmp(name, "list_label") == 0) {
        return find_in_list(list, image->id, name, value_out);
    }
    return SLUICE_OK;
}

static sluice_status parse(const void *state, const record_part *parts, const record_names *wanted,
                           image_buffer *scratch, record_value *values_out)
{
    recordio_list *list = ((const recordio_state *)state)->list;
    const uint8_t *bytes = NULL;
    size_t size = 0;
    recordio_image image = {.id = 0};
    bool is_parsed = false;
    sluice_status st = find_bytes(&parts[0], scratch, &bytes, &size);

    for (uint32_t i = 0; i < wanted->count && st == SLUICE_OK; i++) {
        if (strcmp(wanted->names[i], "record") == 0) {
            values_out[i] = record_value_bytes(bytes, size);
            continue;
        }
        if (!is_parsed) {
            st = recordio_image_parse(bytes, size, &image);
            is_parsed = true;
        }
        if (st == SLUICE_OK) {
            st = find_value(&image, bytes, list, wanted->names[i], &values_out[i]);
        }
    }
    return st;
}

/* ---- columns --------------------------------------------------------------------------------- */

/* What is known about image records. */
typedef struct image_facts_seen {
    bool has_image;
    bool is_real;   /* a first label is not a whole number of 32 bits */
    uint32_t least; /* labels of a record; 0: no record was seen */
    uint32_t most;
} image_facts_seen;

static void note_record(const recordio_image *image, image_facts_seen *seen)
{
    const float label = recordio_label(image, 0);

    seen->has_image = seen->has_image || image->image_size > 0;
    seen->is_real =
        seen->is_real || !(label >= -0x1p31F && label < 0x1p31F) || label != (float)(int32_t)label;
    seen->least =
        seen->least == 0 || image->label_count < seen->least ? image->label_count : seen->least;
    seen->most = image->label_count > seen->most ? image->label_count : seen->most;
}

static sluice_status note_part(const record_part *part, image_buffer *scratch,
                               image_facts_seen *seen)
{
    const uint8_t *record = NULL;
    size_t size = 0;
    recordio_image image;
    sluice_status st = find_bytes(part, scratch, &record, &size);

    if (st == SLUICE_OK) {
        st = recordio_image_parse(record, size, &image);
    }
    if (st == SLUICE_OK) {
        note_record(&image, seen);
    }
    return st;
}

static void print_columns(const image_facts_seen *seen, sli_text *fields)
{
    if (seen->has_image) {
        sli_text_add(fields, "image:image@image,");
    }
    if (seen->most > seen->least) {
        sli_text_add(fields, "label:label@f32[%u]", seen->most);
    } else if (seen->most > 1) {
        sli_text_add(fields, "label:label@f32x%u", seen->most);
    } else {
        sli_text_add(fields, "label:label@%s", seen->is_real ? "f32" : "i32");
    }
}

static sluice_status choose(const record_input *file, const record_index *index, sli_text *fields,
                            bool *guessed_out)
{
    first_records first = {.file = file, .index = index};
    image_buffer scratch = {NULL, 0};
    image_facts_seen seen = {.most = 0};
    sluice_status st = SLUICE_OK;

    *guessed_out = true;
    while (st == SLUICE_OK && (st = first_records_next(&first)) == SLUICE_OK) {
        st = note_part(&first.parts[0], &scratch, &seen);
        st = st == SLUICE_E_CORRUPT && (seen.most > 0 || first_records_has_more(&first)) ? SLUICE_OK
                                                                                         : st;
    }
    first_records_free(&first);
    image_buffer_free(&scratch);
    if (st != SLUICE_END_OF_DATA) {
        return st;
    }
    if (seen.most == 0) {
        return sli_fail(SLUICE_E_CORRUPT, "its first records are not image records");
    }
    print_columns(&seen, fields);
    return SLUICE_OK;
}

const record_format record_recordio = {
    .files = {"recordio", ".rec", false},
    .ranges = 1,
    .open = open_file,
    .close = close_file,
    .scan = scan_file,
    .index_path = index_path,
    .parse_index = parse_index,
    .choose = choose,
    .parse = parse,
};
