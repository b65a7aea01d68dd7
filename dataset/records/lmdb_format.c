/* SPDX-License-Identifier: Apache-2.0 */
#include "lmdb_format.h"

#include <string.h>

#include "alloc_int.h"
#include "bytes_int.h"
#include "datum.h"
#include "first_records.h"
#include "lmdb_pages.h"
#include "log_int.h"
#include "record_columns.h"
#include "status_int.h"

static sluice_status open_file(record_input *file)
{
    lmdb_file *state = sli_calloc(1, sizeof(*state));
    sluice_status st = state != NULL ? lmdb_open(file->fd, file->size, state)
                                     : sli_fail(SLUICE_E_NO_MEMORY, "the state of a file");

    if (st != SLUICE_OK) {
        sli_free(state);
        return st;
    }
    if (state->one_meta) {
        sli_log(SLUICE_LOG_WARN,
                "lmdb %.400s: only one of its two meta pages is valid; if the other one was newer, "
                "the values of the last transaction are missing",
                file->path);
    }
    file->state = state;
    return SLUICE_OK;
}

static void close_file(void *state)
{
    sli_free(state);
}

/* The ranges of a record: the head of its overflow pages, or nothing, the value, and the key. */
enum { RANGE_HEAD, RANGE_VALUE, RANGE_KEY, RANGES };

static sluice_status add_value(void *index, const lmdb_entry *entry)
{
    const uint64_t head = entry->is_overflow ? LMDB_PAGE_HEAD : 0;

    return record_index_add(index,
                            (const record_range[RANGES]){{entry->offset - head, head},
                                                         {entry->offset, entry->size},
                                                         {entry->key_offset, entry->key_size}});
}

static sluice_status scan(const record_input *file, record_index *index)
{
    lmdb_passed passed = {0, 0};
    const sluice_status st = lmdb_walk(file->fd, file->state, add_value, index, &passed);

    if (st != SLUICE_OK || (passed.databases == 0 && passed.lists == 0)) {
        return st;
    }
    return sli_fail(SLUICE_E_UNSUPPORTED,
                    "beside %llu values its main database has %llu named databases and %llu keys "
                    "with several values each, which are not read: copy what is needed into an "
                    "environment of its own",
                    (unsigned long long)index->count, (unsigned long long)passed.databases,
                    (unsigned long long)passed.lists);
}

/* ---- records --------------------------------------------------------------------------------- */

/* The bytes of a key and a Datum, and memory for what is unpacked of it. */
typedef struct datum_source {
    record_part key;
    const uint8_t *bytes;
    size_t size;
    datum image;
    uint8_t *room;
} datum_source;

/* Returns a number of a Datum by its name; NULL: it has none of that name. */
static const int32_t *find_number(const datum *image, const char *name)
{
    return strcmp(name, "label") == 0      ? (image->has_label ? &image->label : NULL)
           : strcmp(name, "channels") == 0 ? &image->channels
           : strcmp(name, "height") == 0   ? &image->height
           : strcmp(name, "width") == 0    ? &image->width
           : strcmp(name, "encoded") == 0  ? &image->encoded
                                           : NULL;
}

/* Finds the image as a file, or its pixels. */
static sluice_status find_image(datum_source *from, bool swaps, record_value *value_out)
{
    const datum *image = &from->image;
    sluice_status st;

    if (image->data == NULL) {
        return SLUICE_OK;
    }
    if (image->encoded) {
        *value_out = record_value_bytes(image->data, image->data_size);
        return SLUICE_OK;
    }
    st = datum_check_pixels(image);
    if (st == SLUICE_OK) {
        datum_pixels(image, swaps, from->room);
        *value_out = record_value_numbers(SLUICE_U8, image->data_size, from->room);
        value_out->rank = 3;
        value_out->shape[0] = (uint64_t)image->height;
        value_out->shape[1] = (uint64_t)image->width;
        value_out->shape[2] = (uint64_t)image->channels;
        from->room += image->data_size;
    }
    return st;
}

static sluice_status find_value(datum_source *from, const char *name, record_value *value_out)
{
    const datum *image = &from->image;
    const int32_t *number = find_number(image, name);

    *value_out = (record_value){.kind = RECORD_MISSING};
    if (number != NULL) {
        sli_put_u32(from->room, (uint32_t)*number);
        *value_out = record_value_numbers(SLUICE_I32, 1, from->room);
        from->room += sizeof(*number);
        return SLUICE_OK;
    }
    if (strcmp(name, "image") == 0 || strcmp(name, "pixels") == 0) {
        return find_image(from, name[0] == 'i', value_out);
    }
    if (strcmp(name, "data") == 0 && image->data != NULL) {
        *value_out = record_value_bytes(image->data, image->data_size);
    } else if (strcmp(name, "float_data") == 0) {
        datum_floats(from->bytes, from->size, from->room);
        *value_out = record_value_numbers(SLUICE_F32, image->float_count, from->room);
        from->room += value_out->size;
    } else if (strcmp(name, "value") == 0) {
        *value_out = record_value_bytes(from->bytes, from->size);
    } else if (strcmp(name, "key") == 0) {
        *value_out = record_value_bytes(from->key.bytes, from->key.size);
    }
    return SLUICE_OK;
}

/* Parses a Datum, and reserves memory for all of its values. */
static sluice_status begin_datum(datum_source *from, image_buffer *scratch)
{
    sluice_status st = datum_parse(from->bytes, from->size, &from->image);

    if (st == SLUICE_OK) {
        st = image_buffer_reserve(scratch, 2 * from->image.data_size +
                                               sizeof(float) * from->image.float_count +
                                               SLUICE_MAX_COLUMNS * sizeof(int32_t));
    }
    from->room = scratch->data;
    return st;
}

static bool wants_datum(const record_names *wanted)
{
    for (uint32_t i = 0; i < wanted->count; i++) {
        if (strcmp(wanted->names[i], "value") != 0 && strcmp(wanted->names[i], "key") != 0) {
            return true;
        }
    }
    return false;
}

/* The key is read only if it is wanted: it may be on another page than the value. */
static uint32_t needs(const record_names *wanted)
{
    uint32_t ranges = UINT32_C(1) << RANGE_HEAD | UINT32_C(1) << RANGE_VALUE;

    for (uint32_t i = 0; i < wanted->count; i++) {
        ranges |= (uint32_t)(strcmp(wanted->names[i], "key") == 0) << RANGE_KEY;
    }
    return ranges;
}

static sluice_status check(const void *state, const record_range *ranges, const record_part *parts)
{
    return ranges[RANGE_HEAD].size == 0
               ? SLUICE_OK
               : lmdb_check_overflow(((const lmdb_file *)state)->page_size,
                                     ranges[RANGE_HEAD].offset, parts[RANGE_HEAD].bytes,
                                     ranges[RANGE_VALUE].size);
}

static sluice_status parse(const void *state, const record_part *parts, const record_names *wanted,
                           image_buffer *scratch, record_value *values_out)
{
    datum_source from = {.key = parts[RANGE_KEY],
                         .bytes = parts[RANGE_VALUE].bytes,
                         .size = parts[RANGE_VALUE].size};
    sluice_status st = wants_datum(wanted) ? begin_datum(&from, scratch) : SLUICE_OK;

    (void)state;
    for (uint32_t i = 0; i < wanted->count && st == SLUICE_OK; i++) {
        st = find_value(&from, wanted->names[i], &values_out[i]);
    }
    return st;
}

/* ---- columns --------------------------------------------------------------------------------- */

/* What the first values are. */
typedef struct value_facts {
    uint64_t images; /* files of images */
    uint64_t datums; /* Datums with data or float_data */
    uint64_t labels; /* of them those with a label */
    datum first;     /* the first Datum */
} value_facts;

/* True for a Datum with an image or float_data. */
static bool is_datum(const uint8_t *bytes, size_t size, datum *image_out)
{
    if (datum_parse(bytes, size, image_out) != SLUICE_OK) {
        return false;
    }
    return image_out->data_size == 0
               ? image_out->float_count > 0
               : image_out->encoded || datum_check_pixels(image_out) == SLUICE_OK;
}

static void note_value(image_decoder *decoder, const uint8_t *bytes, size_t size,
                       value_facts *facts)
{
    datum image;

    if (record_is_image(decoder, bytes, size)) {
        facts->images++;
    } else if (is_datum(bytes, size, &image)) {
        image.data = NULL; /* the bytes do not stay */
        facts->first = facts->datums == 0 ? image : facts->first;
        facts->datums++;
        facts->labels += image.has_label;
    }
}

static sluice_status print_columns(const value_facts *facts, sli_text *fields)
{
    const datum *first = &facts->first;

    if (facts->images > facts->datums) {
        sli_text_add(fields, "image:value@image");
        return SLUICE_OK;
    }
    if (facts->datums == 0) {
        return sli_fail(SLUICE_E_UNSUPPORTED,
                        "its first values are neither images nor Datums of Caffe; say what they "
                        "are, such as fields=x:value@f32x16 or fields=x:value@bytes[4096]");
    }
    if (first->data_size == 0) {
        sli_text_add(fields, "data:float_data@f32x%zu", first->float_count);
    } else if (first->encoded) {
        sli_text_add(fields, "image:image@image");
    } else {
        sli_text_add(fields, "image:image@u8x%dx%dx%d", first->height, first->width,
                     first->channels);
    }
    if (facts->labels == facts->datums) {
        sli_text_add(fields, ",label:label@i32");
    }
    return SLUICE_OK;
}

static sluice_status choose(const record_input *file, const record_index *index, sli_text *fields,
                            bool *guessed_out)
{
    first_records first = {.file = file, .index = index};
    value_facts facts = {.images = 0};
    image_decoder *decoder = NULL;
    sluice_status st = image_decoder_create(&decoder);

    *guessed_out = true;
    if (st == SLUICE_OK) {
        image_decoder_allow(decoder, IMAGE_FORMATS_ALL);
    }
    while (st == SLUICE_OK && (st = first_records_next(&first)) == SLUICE_OK) {
        note_value(decoder, first.parts[RANGE_VALUE].bytes, first.parts[RANGE_VALUE].size, &facts);
    }
    image_decoder_destroy(decoder);
    first_records_free(&first);
    return st == SLUICE_END_OF_DATA ? print_columns(&facts, fields) : st;
}

/* The folder of an environment has lock.mdb, too. */
const record_format record_lmdb = {
    .files = {"lmdb", "data.mdb", false},
    .ranges = RANGES,
    .open = open_file,
    .close = close_file,
    .scan = scan,
    .choose = choose,
    .needs = needs,
    .check = check,
    .parse = parse,
};
