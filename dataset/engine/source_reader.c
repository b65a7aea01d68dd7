/* SPDX-License-Identifier: Apache-2.0 */
/* sluice_reader: the columns of a source's samples, on the caller's thread. */
#include <inttypes.h>
#include <string.h>

#include <sluice/reader.h>

#include "alloc_int.h"
#include "dataset_state.h"
#include "fault_int.h"
#include "image_decoder.h"
#include "image_rules.h"
#include "sample_boxes.h"
#include "sample_check.h"
#include "struct_size_int.h"

/* No limit on the pixels of an image whose header is read. */
static const uint64_t ANY_PIXELS = UINT64_MAX;

/* Not the number of any sample. */
static const uint64_t NO_SAMPLE = UINT64_MAX;

struct sluice_reader {
    const sluice_dataset *dataset;
    uint64_t samples;
    sample_io io;
    uint8_t *rows[SLUICE_MAX_COLUMNS]; /* plain columns of one sample; NULL for images and masks */
    uint64_t plain;                    /* sample whose plain columns are in `rows`, or NO_SAMPLE */
    image_decoder *decoder;            /* of headers */
    image_decoder *checker;            /* of sluice_reader_check(); NULL: not called yet */
    bool has_boxes;                    /* which are clipped to the image */
    bool has_others;                   /* masks and further images, which are read into `io`, too */
    sample_data held;     /* what source_ops.read() gave for sample `held_of`, still in `io` */
    uint64_t held_of;     /* NO_SAMPLE: io has other bytes */
    sample_data last;     /* the file that sluice_reader_get() gave; bytes NULL: none */
    uint32_t last_column; /* of it */
    check_findings found; /* by sluice_reader_check() */
    bool ends;            /* the last call has failed by the process (sluice_reader_ends()) */
    image_buffer pixels;  /* a raw image without gaps between its lines */
};

/* ---- headers of images ----------------------------------------------------------------------- */

static const sli_struct info_struct = SLI_STRUCT(sluice_image_info, further);
static const sli_struct findings_struct = SLI_STRUCT(sluice_findings, labels_stored);

/* Reads a header of a format that the decoder may open. The struct was checked. */
static sluice_status read_header(image_decoder *decoder, const void *bytes, size_t size,
                                 const char *call, sluice_image_info *info)
{
    sluice_image_info own = {.struct_size = sizeof(own)};
    image_facts facts;
    sluice_status st =
        image_decoder_open(decoder, bytes, size, ANY_PIXELS, false, &own.width, &own.height);

    if (st == SLUICE_OK) {
        image_decoder_describe(decoder, &facts);
        own.format = facts.format;
        own.channels = facts.channels;
        own.bits = facts.bits;
        own.palette = facts.palette;
        own.progressive = facts.progressive;
        own.arithmetic = facts.arithmetic;
        own.restart_interval = facts.restart_interval;
        own.chroma_x = facts.chroma_x;
        own.chroma_y = facts.chroma_y;
        own.orientation = facts.orientation;
        own.further = facts.further;
        st = sli_struct_write(&info_struct, call, &own, info);
    }
    return st;
}

sluice_status sluice_image_header(const void *bytes, size_t size, sluice_image_info *info)
{
    static const char call[] = "sluice_image_header";
    image_decoder *decoder = NULL;
    sluice_status st = sli_struct_check(&info_struct, call, info);

    if (st == SLUICE_OK && bytes == NULL) {
        st = sli_fail(SLUICE_E_INVALID, "%s: bytes is NULL", call);
    }
    if (st == SLUICE_OK) {
        st = image_decoder_create(&decoder);
    }
    if (st == SLUICE_OK) {
        st = read_header(decoder, bytes, size, call, info);
    }
    image_decoder_destroy(decoder);
    return st;
}

/* ---- a reader -------------------------------------------------------------------------------- */

/* True if the column is the first image, a further image or a mask. */
static bool is_image(const stage_schema *schema, uint32_t column)
{
    const column_role role = schema->infos[column].role;

    return (int)column == schema->image || role == ROLE_IMAGE || role == ROLE_MASK;
}

/* Allocates the memory of a column's row. */
static sluice_status make_row(sluice_reader *reader, uint32_t i)
{
    const sluice_column *column = &reader->dataset->source_schema.columns[i];
    size_t bytes = sluice_dtype_size(column->dtype);

    for (uint32_t d = 0; d < column->rank; d++) {
        if (__builtin_mul_overflow(bytes, column->shape[d], &bytes)) {
            return sli_fail(SLUICE_E_NO_MEMORY, "a row of column %s", column->name);
        }
    }
    reader->rows[i] = sli_calloc(bytes, 1);
    return reader->rows[i] != NULL
               ? SLUICE_OK
               : sli_fail(SLUICE_E_NO_MEMORY, "a row of column %s", column->name);
}

sluice_status sluice_reader_create(sluice_dataset *dataset, sluice_reader **reader_out)
{
    static const char function[] = "sluice_reader_create";
    sluice_status st = dataset_status(dataset, function);
    sluice_reader *reader;

    if (st == SLUICE_OK && reader_out == NULL) {
        st = sli_fail(SLUICE_E_INVALID, "%s: reader_out is NULL", function);
    }
    if (st == SLUICE_OK) {
        st = dataset_open_indexed(dataset);
    }
    if (st != SLUICE_OK) {
        return st;
    }
    reader = sli_calloc(1, sizeof(*reader));
    if (reader == NULL) {
        return sli_fail(SLUICE_E_NO_MEMORY, "a reader");
    }
    reader->dataset = dataset;
    reader->samples = dataset->source_count;
    reader->plain = NO_SAMPLE;
    reader->held_of = NO_SAMPLE;
    reader->io.whole = true;
    st = image_decoder_create(&reader->decoder);
    for (uint32_t i = 0; i < dataset->source_schema.column_count && st == SLUICE_OK; i++) {
        const bool of_image = is_image(&dataset->source_schema, i);

        st = of_image ? st : make_row(reader, i);
        reader->has_others =
            reader->has_others || (of_image && (int)i != dataset->source_schema.image);
        reader->has_boxes =
            reader->has_boxes || (dataset->source_schema.infos[i].role == ROLE_BOXES &&
                                  dataset->source_schema.image >= 0);
    }
    if (st != SLUICE_OK) {
        sluice_reader_destroy(reader);
        return st;
    }
    *reader_out = reader;
    return SLUICE_OK;
}

void sluice_reader_destroy(sluice_reader *reader)
{
    if (reader == NULL) {
        return;
    }
    sample_io_free(&reader->io);
    image_buffer_free(&reader->pixels);
    image_decoder_destroy(reader->decoder);
    image_decoder_destroy(reader->checker);
    for (uint32_t i = 0; i < SLUICE_MAX_COLUMNS; i++) {
        sli_free(reader->rows[i]);
    }
    sli_free(reader);
}

uint64_t sluice_reader_samples(const sluice_reader *reader)
{
    return reader != NULL ? reader->samples : 0;
}

uint32_t sluice_reader_columns(const sluice_reader *reader)
{
    return reader != NULL ? reader->dataset->source_schema.column_count : 0;
}

static sluice_status check_column(const sluice_reader *reader, uint32_t column, const void *out,
                                  const char *function)
{
    if (reader == NULL || out == NULL) {
        return sli_fail(SLUICE_E_INVALID, "%s: an argument is NULL", function);
    }
    return column < reader->dataset->source_schema.column_count
               ? SLUICE_OK
               : sli_fail(SLUICE_E_INVALID,
                          "%s: column %u must be less than %u, the number of columns", function,
                          column, reader->dataset->source_schema.column_count);
}

static void describe_column(const stage_schema *schema, uint32_t column,
                            sluice_column_spec *spec_out)
{
    const sluice_column *from = &schema->columns[column];
    const column_info *info = &schema->infos[column];
    const int owner = schema_owner(schema, column);

    *spec_out = (sluice_column_spec){.name = from->name, .dtype = from->dtype, .rank = from->rank};
    memcpy(spec_out->shape, from->shape, sizeof(spec_out->shape));
    spec_out->role = info->role == ROLE_MASK     ? SLUICE_ROLE_MASK
                     : info->role == ROLE_BOXES  ? SLUICE_ROLE_BOXES
                     : info->role == ROLE_POINTS ? SLUICE_ROLE_POINTS
                     : is_image(schema, column)  ? SLUICE_ROLE_IMAGE
                                                 : SLUICE_ROLE_PLAIN;
    spec_out->ragged = schema_length_buffer(schema, column) >= 0;
    spec_out->boxes = owner >= 0 ? schema->columns[owner].name : NULL;
}

sluice_status sluice_dataset_column_spec(sluice_dataset *dataset, const char *column,
                                         sluice_column_spec *spec_out)
{
    static const char function[] = "sluice_dataset_column_spec";
    sluice_status st = dataset_status(dataset, function);
    int found;

    if (st == SLUICE_OK && (column == NULL || spec_out == NULL)) {
        st = sli_fail(SLUICE_E_INVALID, "%s: an argument is NULL", function);
    }
    if (st == SLUICE_OK) {
        st = dataset_open(dataset);
    }
    if (st != SLUICE_OK) {
        return st;
    }
    found = schema_find(&dataset->opened_schema, column);
    if (found < 0) {
        return schema_no_column(&dataset->opened_schema, function, column);
    }
    describe_column(&dataset->opened_schema, (uint32_t)found, spec_out);
    return SLUICE_OK;
}

sluice_status sluice_reader_column(const sluice_reader *reader, uint32_t column,
                                   sluice_column_spec *spec_out)
{
    const sluice_status st = check_column(reader, column, spec_out, "sluice_reader_column");

    if (st == SLUICE_OK) {
        describe_column(&reader->dataset->source_schema, column, spec_out);
    }
    return st;
}

/* ---- reading --------------------------------------------------------------------------------- */

/* Keeps what sluice_reader_ends() returns after a call with this status. */
static sluice_status ended(sluice_reader *reader, sluice_status status)
{
    reader->ends = status != SLUICE_OK && sli_fault_is_of_process(sli_fault_of_last(status));
    return status;
}

int sluice_reader_ends(const sluice_reader *reader)
{
    return reader != NULL && reader->ends ? 1 : 0;
}

/* Reads the first image of a sample, unless its bytes are still there: a survey asks for the image,
 * its boxes and a check in turn, and the file is read once. */
static sluice_status hold_image(sluice_reader *reader, uint64_t sample)
{
    const sluice_dataset *dataset = reader->dataset;
    void *const nowhere[SLUICE_MAX_COLUMNS] = {NULL};
    sluice_status st;

    if (reader->held_of == sample) {
        return SLUICE_OK;
    }
    reader->held_of = NO_SAMPLE;
    sample_io_give_back(&reader->io);
    reader->held = (sample_data){0};
    st =
        dataset_source(dataset)->read(dataset->source, sample, &reader->io, nowhere, &reader->held);
    reader->held_of = st == SLUICE_OK ? sample : NO_SAMPLE;
    return st;
}

/*
 * Opens an encoded image for the size that its boxes are in: of the upright image, unless the stage
 * decode uses pixels as stored, or the annotations are for the stored size.
 */
static sluice_status boxes_size(sluice_reader *reader, const sample_data *data, uint32_t *width,
                                uint32_t *height)
{
    const sluice_dataset *dataset = reader->dataset;
    const decode_args *args = dataset_decode_args(dataset, (uint32_t)dataset->source_schema.image);
    image_view image = {.width = 0};
    const sluice_status st =
        image_rules_open(reader->decoder, data, args, ANY_PIXELS, false, &image);

    if (st == SLUICE_OK && args->orient &&
        (image.width != data->listed_width || image.height != data->listed_height)) {
        (void)image_decoder_make_upright(reader->decoder, &image.width, &image.height);
    }
    *width = image.width;
    *height = image.height;
    return st;
}

/* Finds the size that boxes are in; width 0: the image cannot be read, which is an error of its own
 * column. */
static void find_size(sluice_reader *reader, uint64_t sample, sample_transform *transform)
{
    sluice_status st = hold_image(reader, sample);

    if (st == SLUICE_OK && reader->held.bytes != NULL) {
        st = boxes_size(reader, &reader->held, &transform->width, &transform->height);
    } else {
        transform->width = reader->held.image.width;
        transform->height = reader->held.image.height;
    }
    if (st != SLUICE_OK) {
        transform->width = 0;
    }
}

/* Reads the columns other than images. Boxes are clipped to the image of the sample, as by a run.
 */
static sluice_status read_plain(sluice_reader *reader, uint64_t sample)
{
    const sluice_dataset *dataset = reader->dataset;
    const source_ops *ops = dataset_source(dataset);
    void *const *row = (void *const *)reader->rows;
    sample_transform transform = {.applied = nothing_applied, .are_pixels = true};
    sample_data data = {0};
    uint32_t below;
    sluice_status st;

    if (reader->plain == sample) {
        return SLUICE_OK;
    }
    reader->plain = NO_SAMPLE;
    if (reader->has_boxes) {
        find_size(reader, sample, &transform);
    }
    reader->held_of = NO_SAMPLE;
    st = ops->read_plain != NULL ? ops->read_plain(dataset->source, sample, &reader->io, row)
                                 : ops->read(dataset->source, sample, &reader->io, row, &data);
    if (st == SLUICE_OK && transform.width > 0) {
        st = boxes_follow_all(dataset, &transform, sample, &reader->io, row, &below);
    }
    if (st == SLUICE_OK) {
        reader->plain = sample;
    }
    return st;
}

/* Returns the view of a raw image; copies it if its lines have gaps between them. */
static sluice_status view_pixels(sluice_reader *reader, const image_view *image,
                                 sluice_sample_view *view)
{
    static const sluice_dtype types[] = {
        [IMAGE_U8] = SLUICE_U8, [IMAGE_U16] = SLUICE_U16, [IMAGE_F32] = SLUICE_F32};
    const size_t line = image->width * image_pixel_bytes(image);
    sluice_status st;

    view->dtype = types[image->element];
    view->rank = 3;
    view->shape[SCHEMA_H] = image->height;
    view->shape[SCHEMA_W] = image->width;
    view->shape[SCHEMA_C] = image->channels;
    view->bytes = line * image->height;
    view->data = image->pixels;
    if (image->stride == line) {
        return SLUICE_OK;
    }
    st = image_buffer_reserve(&reader->pixels, view->bytes);
    for (uint32_t y = 0; y < image->height && st == SLUICE_OK; y++) {
        memcpy(reader->pixels.data + y * line, image->pixels + y * image->stride, line);
    }
    view->data = reader->pixels.data;
    return st;
}

static sluice_status read_image(sluice_reader *reader, uint64_t sample, uint32_t column,
                                sluice_sample_view *view)
{
    const sluice_dataset *dataset = reader->dataset;
    sample_data data = {0};
    sluice_status st;

    if ((int)column == dataset->source_schema.image) {
        st = hold_image(reader, sample);
        data = reader->held;
    } else {
        reader->held_of = NO_SAMPLE;
        sample_io_give_back(&reader->io);
        st = dataset_source(dataset)->read_other(dataset->source, sample, column, &reader->io,
                                                 &data);
    }
    if (st != SLUICE_OK) {
        return st;
    }
    if (data.bytes == NULL) {
        return view_pixels(reader, &data.image, view);
    }
    reader->last = data;
    reader->last_column = column;
    view->data = data.bytes;
    view->dtype = SLUICE_ENCODED;
    view->rank = 1;
    view->shape[0] = data.size;
    view->bytes = data.size;
    return SLUICE_OK;
}

sluice_status sluice_reader_get(sluice_reader *reader, uint64_t sample, uint32_t column,
                                sluice_sample_view *view_out)
{
    static const char function[] = "sluice_reader_get";
    sluice_sample_view view = {.rank = 0};
    sluice_status st = check_column(reader, column, view_out, function);

    if (st == SLUICE_OK && sample >= reader->samples) {
        st = sli_fail(SLUICE_E_INVALID,
                      "%s: sample %" PRIu64 " must be less than %" PRIu64
                      ", the samples of the source",
                      function, sample, reader->samples);
    }
    if (st != SLUICE_OK) {
        return st;
    }
    reader->last.bytes = NULL;
    if (is_image(&reader->dataset->source_schema, column)) {
        st = read_image(reader, sample, column, &view);
    } else {
        const sluice_column *from = &reader->dataset->source_schema.columns[column];

        st = read_plain(reader, sample);
        view.data = reader->rows[column];
        view.dtype = from->dtype;
        view.rank = from->rank;
        view.bytes = sluice_dtype_size(from->dtype);
        for (uint32_t d = 0; d < from->rank; d++) {
            view.shape[d] = from->shape[d];
            view.bytes *= (size_t)from->shape[d];
        }
    }
    if (st == SLUICE_OK) {
        *view_out = view;
    }
    return ended(reader, st);
}

sluice_status sluice_reader_header(sluice_reader *reader, sluice_image_info *info)
{
    static const char call[] = "sluice_reader_header";
    sluice_status st = sli_struct_check(&info_struct, call, info);

    if (st == SLUICE_OK && (reader == NULL || reader->last.bytes == NULL)) {
        st = sli_fail(SLUICE_E_INVALID, "%s: %s", call,
                      reader == NULL
                          ? "reader is NULL"
                          : "the last call must be a sluice_reader_get() of an encoded image");
    }
    if (st == SLUICE_OK) {
        image_decoder_allow(
            reader->decoder,
            decode_formats(dataset_decode_args(reader->dataset, reader->last_column),
                           &reader->last));
        st = ended(reader,
                   read_header(reader->decoder, reader->last.bytes, reader->last.size, call, info));
    }
    return st;
}

sluice_status sluice_reader_check(sluice_reader *reader, uint64_t sample)
{
    static const char function[] = "sluice_reader_check";
    uint64_t bytes = 0;
    sluice_status st = SLUICE_OK;

    if (reader == NULL || sample >= reader->samples) {
        return sli_fail(SLUICE_E_INVALID, "%s: reader is NULL, or it has no sample %" PRIu64,
                        function, sample);
    }
    if (reader->checker == NULL) {
        st = image_decoder_create(&reader->checker);
    }
    reader->last.bytes = NULL; /* their memory may be used again */
    st = st == SLUICE_OK ? hold_image(reader, sample) : st;
    if (st == SLUICE_OK) {
        const sample_check check = {.dataset = reader->dataset,
                                    .decoder = reader->checker,
                                    .io = &reader->io,
                                    .found = &reader->found};

        st = sample_check_images(&check, sample, &reader->held, &bytes);
        reader->held_of = reader->has_others ? NO_SAMPLE : reader->held_of;
    }
    return ended(reader, st);
}

/* ---- findings -------------------------------------------------------------------------------- */

/* Adds the boxes that the sources of a dataset have changed. */
static void add_changed_boxes(const sluice_dataset *dataset, sluice_findings *own)
{
    const dataset_parts *parts = dataset_group(dataset);
    const source_ops *ops = dataset_source(dataset);

    if (ops->changed_boxes != NULL) {
        ops->changed_boxes(dataset->source, &own->boxes_clipped, &own->boxes_dropped);
    }
    for (uint32_t i = 0; parts != NULL && i < parts->count; i++) {
        add_changed_boxes(parts->items[i].dataset, own);
    }
}

sluice_status sluice_reader_findings(const sluice_reader *reader, sluice_findings *findings)
{
    static const char call[] = "sluice_reader_findings";
    sluice_findings own = {.struct_size = sizeof(own)};
    const sluice_status st = sli_struct_check(&findings_struct, call, findings);

    if (st == SLUICE_OK && reader == NULL) {
        return sli_fail(SLUICE_E_INVALID, "%s: reader is NULL", call);
    }
    if (st == SLUICE_OK) {
        add_changed_boxes(reader->dataset, &own);
        own.sizes_differ = reader->found.sizes_differ;
        own.labels_stored = reader->found.labels_stored;
    }
    return st == SLUICE_OK ? sli_struct_write(&findings_struct, call, &own, findings) : st;
}
