/* SPDX-License-Identifier: Apache-2.0 */
#include "contact_sheet.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sluice/reader.h>

#include "cli.h"
#include "png_writer.h"
#include "safe_file.h"
#include "show_columns.h"
#include "tile_marks.h"
#include "tiny_font.h"

/*
 * A cell has the images of a sample, enlarged to about LEAST_SIDE, with two lines of text below
 * them. GAP pixels separate and surround images and cells.
 */
enum { GAP = 4, LEAST_SIDE = 96, LINE_HEIGHT = FONT_HEIGHT + 2, LINES = 2, CAPTION_SIZE = 128 };

static const uint64_t MOST_TILES = 256;
static const uint64_t MOST_PIXELS = 64000000;
static const uint8_t BACKGROUND = 32;
static const uint8_t INK = 224;

/* ---- layout ---------------------------------------------------------------------------------- */

static uint32_t larger(uint32_t a, uint32_t b)
{
    return a > b ? a : b;
}

/* Number of tiles per row that makes the sheet approximately square. */
static uint32_t choose_across(const contact_sheet *sheet)
{
    const double ratio = (double)sheet->cell_height / sheet->cell_width;
    const double across = ceil(sqrt((double)sheet->most * ratio));

    return across < 1 ? 1 : across > (double)sheet->most ? (uint32_t)sheet->most : (uint32_t)across;
}

static uint32_t count_lines(const contact_sheet *sheet, uint64_t tiles)
{
    return (uint32_t)((tiles + sheet->across - 1) / sheet->across);
}

/* Pixels between the left edges of two images of a cell. */
static uint32_t find_step(const contact_sheet *sheet)
{
    return sheet->images[0].view.width * sheet->scale + GAP;
}

static void lay_out(contact_sheet *sheet, uint64_t samples)
{
    const pixel_view *view = &sheet->images[0].view;
    uint64_t room;

    sheet->scale = larger(LEAST_SIDE / larger(view->width, view->height), 1);
    sheet->cell_width = larger(sheet->image_count * find_step(sheet), LEAST_SIDE + GAP);
    sheet->cell_height = view->height * sheet->scale + LINES * LINE_HEIGHT + 2 * GAP;
    room = MOST_PIXELS / ((uint64_t)sheet->cell_width * sheet->cell_height);
    sheet->most = samples < MOST_TILES ? samples : MOST_TILES;
    sheet->most = sheet->most < room ? sheet->most : room > 0 ? room : 1;
    sheet->across = choose_across(sheet);
    sheet->width = GAP + sheet->across * sheet->cell_width;
    sheet->height = GAP + count_lines(sheet, sheet->most) * sheet->cell_height;
}

bool contact_sheet_find(contact_sheet *sheet, sluice_dataset *dataset,
                        const sluice_channel_info *info)
{
    const char *named_image = NULL;

    *sheet = (contact_sheet){.dataset = dataset};
    for (uint32_t i = 0; i < info->column_count; i++) {
        const char *name = info->columns[i].name;
        sluice_column_spec spec = {.name = NULL};

        if (sluice_dataset_column_spec(dataset, name, &spec) != SLUICE_OK) {
            continue; /* a column of the error policy */
        }
        if (spec.role == SLUICE_ROLE_IMAGE) {
            sheet->images[sheet->image_count++].column = spec.name;
        } else if (tile_is_marked(&spec)) {
            sheet->marks[sheet->mark_count++] = spec;
        } else if (strcmp(name, "image") == 0) {
            named_image = spec.name;
        }
    }
    if (sheet->image_count == 0 && named_image != NULL) {
        sheet->images[sheet->image_count++].column = named_image;
    }
    return sheet->image_count > 0;
}

static const sluice_column *find_column(const sluice_channel_info *info, const char *name)
{
    uint32_t i = 0;

    while (strcmp(info->columns[i].name, name) != 0) {
        i++;
    }
    return &info->columns[i];
}

/* Prepares the views of an image, which are drawn side by side; no images if it has no views. */
static void split_views(contact_sheet *sheet, const sluice_column *column, const char *described)
{
    sheet_image image = {.column = sheet->images[0].column};
    sluice_column one = *column;

    sheet->image_count = 0;
    if (column->rank != 4 || column->shape[0] > SLUICE_MAX_COLUMNS) {
        return;
    }
    one.rank = 3;
    memmove(&one.shape[0], &one.shape[1], 3 * sizeof(one.shape[0]));
    if (!pixel_view_init(&image.view, &one, described)) {
        return;
    }
    image.views = (uint32_t)column->shape[0];
    for (image.number = 0; image.number < image.views; image.number++) {
        sheet->images[sheet->image_count++] = image;
    }
}

/* Prepares the view of each image. Drops further images that cannot be drawn beside the first one.
 * False: the first image cannot be drawn. */
static bool prepare_views(contact_sheet *sheet, const sluice_channel_info *info,
                          const char *described)
{
    const uint32_t count = sheet->image_count;

    split_views(sheet, find_column(info, sheet->images[0].column), described);
    if (sheet->image_count > 0) {
        return true;
    }
    for (uint32_t i = 0; i < count; i++) {
        const pixel_view *first = &sheet->images[0].view;
        sheet_image image = {.column = sheet->images[i].column, .views = 1};
        const bool is_drawn =
            pixel_view_init(&image.view, find_column(info, image.column), described) &&
            (i == 0 || (image.view.width == first->width && image.view.height == first->height));

        if (is_drawn) {
            sheet->images[sheet->image_count++] = image;
        } else if (i == 0) {
            return false;
        }
    }
    return true;
}

bool contact_sheet_create(contact_sheet *sheet, const sluice_channel_info *info, uint64_t samples,
                          bool has_passes)
{
    char *described = NULL;
    size_t bytes;
    bool is_image;

    sheet->has_passes = has_passes;
    if (sluice_dataset_describe(sheet->dataset, &described) != SLUICE_OK) {
        cli_error("%s", sluice_last_error());
        return false;
    }
    is_image = prepare_views(sheet, info, described);
    sluice_string_free(described);
    if (!is_image) {
        cli_error("show: a sheet has images of 1 to 4 channels and at most 32768 x 32768 pixels; "
                  "the column %s has another shape",
                  sheet->images[0].column);
        return false;
    }
    lay_out(sheet, samples);
    bytes = (size_t)sheet->width * sheet->height * 3;
    sheet->pixels = malloc(bytes);
    if (sheet->pixels == NULL) {
        cli_error("show: no memory for a sheet of %" PRIu32 " x %" PRIu32 " pixels", sheet->width,
                  sheet->height);
        return false;
    }
    memset(sheet->pixels, BACKGROUND, bytes);
    return true;
}

/* ---- tiles ----------------------------------------------------------------------------------- */

static uint8_t *find_pixel(const contact_sheet *sheet, uint32_t x, uint32_t y)
{
    return sheet->pixels + ((size_t)y * sheet->width + x) * 3;
}

static void draw_image(contact_sheet *sheet, const pixel_view *view, const sluice_tensor *image,
                       uint32_t row, uint32_t left, uint32_t top)
{
    for (uint32_t y = 0; y < view->height * sheet->scale; y++) {
        for (uint32_t x = 0; x < view->width * sheet->scale; x++) {
            pixel_view_get(view, image, row, y / sheet->scale, x / sheet->scale,
                           find_pixel(sheet, left + x, top + y));
        }
    }
}

/* Draws as many characters as fit the cell. */
static void draw_text(contact_sheet *sheet, const char *text, uint32_t left, uint32_t top)
{
    const size_t room = (sheet->cell_width - GAP) / FONT_ADVANCE;
    const size_t count = strlen(text) < room ? strlen(text) : room;

    for (size_t i = 0; i < count; i++) {
        for (int y = 0; y < FONT_HEIGHT; y++) {
            for (int x = 0; x < FONT_WIDTH; x++) {
                if (font_pixel(text[i], x, y)) {
                    memset(find_pixel(sheet, left + (uint32_t)(i * FONT_ADVANCE) + (uint32_t)x,
                                      top + (uint32_t)y),
                           INK, 3);
                }
            }
        }
    }
}

/* Writes "LABEL CLASS" or "LABEL"; nothing if a label is not a single whole number. */
static void write_label(const contact_sheet *sheet, const sluice_batch *batch, uint32_t row,
                        char text[CAPTION_SIZE])
{
    const sluice_tensor *label = sluice_batch_input(batch, "label");
    char *name = NULL;
    int64_t value;

    text[0] = '\0';
    if (label == NULL || label->rank != 1 || !show_is_integer(label->dtype)) {
        return;
    }
    value = show_integer(label->dtype, label->data, row);
    if (value < 0 || value > INT32_MAX ||
        sluice_dataset_class_name(sheet->dataset, (int32_t)value, &name) != SLUICE_OK) {
        name = NULL;
    }
    snprintf(text, CAPTION_SIZE, "%" PRId64 "%s%s", value, name != NULL ? " " : "",
             name != NULL ? name : "");
    sluice_string_free(name);
}

/* Writes "#SAMPLE FILE", without the folders of the file and, for streams, without FILE; or
 * "#SAMPLE pass PASS". */
static void write_sample(const contact_sheet *sheet, uint64_t sample, uint64_t pass,
                         char text[CAPTION_SIZE])
{
    char *name = NULL;
    const char *file = "";

    if (sheet->has_passes) {
        snprintf(text, CAPTION_SIZE, "#%" PRIu64 " pass %" PRIu64, sample, pass);
        return;
    }
    if (sluice_dataset_sample_name(sheet->dataset, sample, &name) == SLUICE_OK) {
        const char *slash = strrchr(name, '/');

        file = slash != NULL ? slash + 1 : name;
    } else {
        name = NULL;
    }
    snprintf(text, CAPTION_SIZE, "#%" PRIu64 "%s%s", sample, *file != '\0' ? " " : "", file);
    sluice_string_free(name);
}

static void add_tile(contact_sheet *sheet, const sluice_batch *batch, uint32_t row)
{
    const pixel_view *first = &sheet->images[0].view;
    const uint32_t left = GAP + (uint32_t)(sheet->tiles % sheet->across) * sheet->cell_width;
    const uint32_t top = GAP + (uint32_t)(sheet->tiles / sheet->across) * sheet->cell_height;
    const uint32_t below = top + first->height * sheet->scale + GAP;
    const sheet_tile place = {find_pixel(sheet, left, top), (size_t)sheet->width * 3, first->height,
                              first->width, sheet->scale};
    char text[CAPTION_SIZE];

    for (uint32_t i = 0; i < sheet->image_count; i++) {
        const sheet_image *image = &sheet->images[i];

        draw_image(sheet, &image->view, sluice_batch_input(batch, image->column),
                   row * image->views + image->number, left + i * find_step(sheet), top);
    }
    for (uint32_t i = 0; i < sheet->mark_count; i++) {
        tile_mark(&place, batch, &sheet->marks[i], row);
    }
    if (sheet->has_zeroed && show_is_zeroed(batch, row)) {
        snprintf(text, sizeof(text), "zeroed");
    } else {
        write_label(sheet, batch, row, text);
    }
    draw_text(sheet, text, left, below);
    write_sample(sheet, batch->samples[row], batch->pass, text);
    draw_text(sheet, text, left, below + LINE_HEIGHT);
    sheet->tiles++;
}

void contact_sheet_add(contact_sheet *sheet, const sluice_batch *batch)
{
    const uint64_t room = sheet->most - sheet->tiles;
    const uint32_t rows = batch->valid_rows < room ? batch->valid_rows : (uint32_t)room;

    sheet->left += batch->valid_rows - rows;
    if (rows == 0) {
        return;
    }
    for (uint32_t i = 0; i < sheet->image_count; i++) {
        pixel_view_fit(&sheet->images[i].view, sluice_batch_input(batch, sheet->images[i].column),
                       batch->valid_rows * sheet->images[i].views);
    }
    for (uint32_t row = 0; row < rows; row++) {
        add_tile(sheet, batch, row);
    }
}

/* ---- the file -------------------------------------------------------------------------------- */

static void print_summary(const contact_sheet *sheet, const char *path)
{
    const pixel_view *first = &sheet->images[0].view;
    bool is_stretched = false;
    bool is_undone = false;

    for (uint32_t i = 0; i < sheet->image_count; i++) {
        is_stretched = is_stretched || sheet->images[i].view.is_stretched;
        is_undone = is_undone || sheet->images[i].view.is_undone;
    }
    cli_print_name(path);
    printf(": %" PRIu64 " tiles of ", sheet->tiles);
    if (sheet->image_count > 1) {
        printf("%" PRIu32 " images of ", sheet->image_count);
    }
    printf("%" PRIu32 " x %" PRIu32 " pixels", first->width * sheet->scale,
           first->height * sheet->scale);
    if (sheet->left > 0) {
        printf(", %" PRIu64 " samples left out", sheet->left);
    }
    printf("\n%s", is_stretched ? "values are scaled by minimum and maximum of each batch\n"
                   : is_undone  ? "values are those before normalize and to_dtype\n"
                                : "");
}

bool contact_sheet_write(const contact_sheet *sheet, const char *path)
{
    const uint32_t height = GAP + count_lines(sheet, sheet->tiles) * sheet->cell_height;
    safe_file file = {.path = NULL};
    const bool is_written = safe_file_create(&file, path) &&
                            png_write(file.file, sheet->pixels, sheet->width, height) &&
                            safe_file_close(&file) && safe_file_publish(&file);
    const int error = errno;

    safe_file_discard(&file);
    if (!is_written) {
        cli_error("show: cannot write %s: %s", path, strerror(error));
        return false;
    }
    print_summary(sheet, path);
    return true;
}

void contact_sheet_destroy(contact_sheet *sheet)
{
    free(sheet->pixels);
    memset(sheet, 0, sizeof(*sheet));
}
