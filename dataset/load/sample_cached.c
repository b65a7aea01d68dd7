/* SPDX-License-Identifier: Apache-2.0 */
#include "sample_cached.h"

#include <string.h>

#include "custom_sample.h"
#include "sample_loader.h"
#include "status_int.h"
#include "tensor_int.h"
#include "zero_padding_int.h"

enum { NO_IMAGE, ENCODED, PIXELS };

enum { LINE = 64 };

/*
 * The beginning of an entry. Then, for each column that is kept, its length without trailing zeros,
 * u32, and that many bytes; then the image and its decode index, each aligned to a cache line.
 */
typedef struct cached_head {
    uint32_t image; /* NO_IMAGE, ENCODED, PIXELS */
    uint32_t from_pack;
    uint32_t width; /* pixels */
    uint32_t height;
    uint32_t channels;
    uint32_t file_width; /* pixels: size of the image before all geometry; else the size that the
                            annotations are for, or 0 */
    uint32_t file_height;
    applied_orientation applied; /* pixels */
    uint8_t unused[2];
    uint64_t columns_end; /* offsets in the entry */
    uint64_t image_at;
    uint64_t image_bytes;
    uint64_t index_at;
    uint64_t index_bytes;
    uint32_t element; /* pixels: an image_element */
    uint32_t named;   /* encoded: the formats that the name of the file allows */
} cached_head;

static uint64_t whole_lines(uint64_t bytes)
{
    return (bytes + LINE - 1) / LINE * LINE;
}

void cached_samples_init(cached_samples *cached, const sli_plan *plan)
{
    cached->plan = plan;
    if (plan->details->cache.stage > 0) {
        *(plan->details->cache.is_rows ? &cached->rows : &cached->samples) = plan->dataset->cache;
    }
}

/* ---- columns --------------------------------------------------------------------------------- */

static sample_cache *cache_of(const cached_samples *cached)
{
    return cached->rows != NULL ? cached->rows : cached->samples;
}

/* Number of the columns that an entry may have. buffers is NULL: the entry is of a further image.
 */
static uint32_t count_columns(const cached_samples *cached, void *const *buffers)
{
    return buffers == NULL        ? 0
           : cached->rows != NULL ? cached->plan->details->cache.kept_count
                                  : cached->plan->dataset->source_schema.column_count;
}

/* The memory of a column that an entry has, and its bytes; NULL: it does not have this column. A
 * cache of rows has the columns of the plan, else those that the source writes into the row: the
 * rows of masks and images are of the size that geometry gives them. */
static void *kept_column(const cached_samples *cached, uint32_t column, void *const *buffers,
                         size_t *bytes_out)
{
    const struct plan_details *details = cached->plan->details;
    const stage_schema *schema = &cached->plan->dataset->source_schema;
    const sluice_column *type = &schema->columns[column];

    if (cached->rows != NULL) {
        column = details->cache.kept[column];
        type = &details->memory.buffers[column].type;
    } else if (schema_is_image(schema, column) || schema->infos[column].role == ROLE_MASK) {
        return NULL;
    }
    return buffers[column] != NULL && sli_column_bytes(type, bytes_out) ? buffers[column] : NULL;
}

/* The length of a column without trailing zeros, such as the padding of a ragged column. */
static uint32_t length_of(const void *column, size_t bytes)
{
    const uint8_t *at = column;

    while (bytes > 0 && at[bytes - 1] == 0) {
        bytes--;
    }
    return (uint32_t)bytes;
}

/* Bytes of the columns in an entry. */
static uint64_t columns_bytes(const cached_samples *cached, void *const *buffers)
{
    const uint32_t count = count_columns(cached, buffers);
    uint64_t sum = 0;

    for (uint32_t i = 0; i < count; i++) {
        size_t bytes = 0;
        const void *column = kept_column(cached, i, buffers, &bytes);

        sum += column != NULL ? sizeof(uint32_t) + length_of(column, bytes) : 0;
    }
    return sum;
}

static void write_columns(const cached_samples *cached, void *const *buffers, uint8_t *to)
{
    const uint32_t count = count_columns(cached, buffers);

    for (uint32_t i = 0; i < count; i++) {
        size_t bytes = 0;
        const void *column = kept_column(cached, i, buffers, &bytes);

        if (column != NULL) {
            const uint32_t length = length_of(column, bytes);

            memcpy(to, &length, sizeof(length));
            memcpy(to + sizeof(length), column, length);
            to += sizeof(length) + length;
        }
    }
}

/* False: the columns of the entry are not those of the plan. */
static bool read_columns(const cached_samples *cached, const uint8_t *from, uint64_t size,
                         void *const *buffers)
{
    const uint32_t count = count_columns(cached, buffers);

    for (uint32_t i = 0; i < count; i++) {
        uint32_t length;
        size_t bytes = 0;
        uint8_t *column = kept_column(cached, i, buffers, &bytes);

        if (column == NULL) {
            continue;
        }
        if (size < sizeof(length)) {
            return false;
        }
        memcpy(&length, from, sizeof(length));
        size -= sizeof(length);
        if (length > size || length > bytes) {
            return false;
        }
        memcpy(column, from + sizeof(length), length);
        sli_zero_padding(column + length, bytes - length);
        from += sizeof(length) + length;
        size -= length;
    }
    return size == 0;
}

/* ---- finding --------------------------------------------------------------------------------- */

/* True if [at, at + bytes) is within an entry of `size` bytes. */
static bool is_within(uint64_t at, uint64_t bytes, uint64_t size)
{
    return at <= size && bytes <= size - at;
}

static bool is_orientation(uint32_t value)
{
    return value >= 1 && value <= 8;
}

/* True if the pixels of the image are the bytes that the entry has. */
static bool has_pixels(const cached_head *head)
{
    uint64_t bytes = (uint64_t)head->width * head->height;

    return bytes > 0 && head->file_width > 0 && head->file_height > 0 && head->channels > 0 &&
           head->channels <= SLI_MAX_CHANNELS && head->element <= IMAGE_F32 &&
           is_orientation(head->applied.image) && is_orientation(head->applied.labels) &&
           !__builtin_mul_overflow(bytes, (uint64_t)head->channels << head->element, &bytes) &&
           bytes == head->image_bytes;
}

/* Checks lengths, since another process may have written the entry. */
static bool is_sound(const cached_head *head, uint64_t size)
{
    return size >= sizeof(*head) && head->columns_end >= sizeof(*head) &&
           head->columns_end <= size && is_within(head->image_at, head->image_bytes, size) &&
           is_within(head->index_at, head->index_bytes, size) &&
           (head->image != PIXELS || has_pixels(head));
}

/* Returns an entry, and copies its head: in shared memory it may change after it was checked. */
static const uint8_t *find_entry(const cached_samples *cached, uint64_t number,
                                 cached_head *head_out)
{
    size_t size = 0;
    const uint8_t *entry = sample_cache_find(cache_of(cached), number, &size);

    if (entry == NULL || size < sizeof(*head_out)) {
        return NULL;
    }
    memcpy(head_out, entry, sizeof(*head_out));
    return is_sound(head_out, size) ? entry : NULL;
}

/* Points to the image of an entry. */
static void lend_image(cached_samples *cached, const uint8_t *entry, const cached_head *head,
                       sample_data *data)
{
    image_index *index = &cached->index;

    *data = (sample_data){.from_pack = head->from_pack != 0};
    if (head->image == ENCODED) {
        data->bytes = entry + head->image_at;
        data->size = (size_t)head->image_bytes;
        data->listed_width = head->file_width;
        data->listed_height = head->file_height;
        data->named = head->named;
        if (head->index_bytes > 0) {
            *index = (image_index){.size = (size_t)head->index_bytes};
            /* The decoder only reads an index that is there. */
            index->bytes.data = (uint8_t *)(uintptr_t)(entry + head->index_at);
            data->index = index;
        }
    } else if (head->image == PIXELS) {
        data->image = (image_view){.pixels = entry + head->image_at,
                                   .width = head->width,
                                   .height = head->height,
                                   .channels = head->channels,
                                   .element = (image_element)head->element};
        data->image.stride = head->width * image_pixel_bytes(&data->image);
    }
}

/* Finds the entry of a sample and reads its columns. NULL: there is none. */
static const uint8_t *read_entry(const cached_samples *cached, uint64_t sample,
                                 void *const *buffers, cached_head *head_out)
{
    const uint8_t *entry = find_entry(cached, sample, head_out);

    return entry != NULL && read_columns(cached, entry + sizeof(*head_out),
                                         head_out->columns_end - sizeof(*head_out), buffers)
               ? entry
               : NULL;
}

/* Reads the columns of a sample, and counts a hit or a miss. */
static const uint8_t *read_counted(cached_samples *cached, uint64_t sample, void *const *buffers,
                                   cached_head *head_out)
{
    const uint8_t *entry = read_entry(cached, sample, buffers, head_out);

    cached->hit = entry != NULL;
    sli_counter_add(cached->hit ? &cached->hits : &cached->misses, 1);
    return entry;
}

bool sample_cached_find(cached_samples *cached, uint64_t sample, void *const *buffers,
                        sample_data *data_out)
{
    cached_head head;
    const uint8_t *entry = read_counted(cached, sample, buffers, &head);

    if (entry == NULL) {
        return false;
    }
    lend_image(cached, entry, &head, data_out);
    cached->width = head.file_width;
    cached->height = head.file_height;
    cached->applied = head.applied;
    return true;
}

bool sample_cached_find_row(cached_samples *cached, uint64_t sample, void *const *buffers)
{
    cached_head head;

    return read_counted(cached, sample, buffers, &head) != NULL;
}

bool sample_cached_columns(const cached_samples *cached, uint64_t sample, void *const *buffers)
{
    cached_head head;

    return cache_of(cached) != NULL && read_entry(cached, sample, buffers, &head) != NULL;
}

/* The number of the entry of a mask or further image. The part is 1 + the index of the column among
 * such columns of the source, so it is the same on ranks that use other columns. */
static uint64_t number_of_other(const cached_samples *cached, uint64_t sample, uint32_t column)
{
    const sluice_dataset *dataset = cached->plan->dataset;
    uint64_t part = 1;

    for (uint32_t i = 0; i < column; i++) {
        const column_role role = dataset->source_schema.infos[i].role;

        part += role == ROLE_MASK || role == ROLE_IMAGE;
    }
    return sample + part * dataset->source_count;
}

bool sample_cached_find_other(cached_samples *cached, uint64_t sample, uint32_t column,
                              sample_data *data_out)
{
    cached_head head;
    const uint8_t *entry = find_entry(cached, number_of_other(cached, sample, column), &head);

    if (entry == NULL || head.image == NO_IMAGE) {
        return false;
    }
    lend_image(cached, entry, &head, data_out);
    return true;
}

/* ---- adding ---------------------------------------------------------------------------------- */

static sluice_status check_draws(sample_loader *loader)
{
    if (!loader->io.drew) {
        return SLUICE_OK;
    }
    loader->io.ends_run = true;
    loader->last.stage = "cache";
    return sli_fail(SLUICE_E_INVALID,
                    "%s draws random numbers for its samples, which a cache would repeat in each "
                    "pass; leave cache out",
                    sli_plan_source(loader->plan));
}

/* Reserves an entry of this head and these columns. NULL: there is no room. */
static uint8_t *begin_entry(cached_samples *cached, uint64_t number, cached_head *head,
                            void *const *buffers)
{
    uint8_t *room;

    head->columns_end = sizeof(*head) + columns_bytes(cached, buffers);
    head->image_at = whole_lines(head->columns_end);
    head->index_at = whole_lines(head->image_at + head->image_bytes + IMAGE_SLACK);
    room = sample_cache_reserve(cache_of(cached), number,
                                (size_t)(head->image == NO_IMAGE ? head->columns_end
                                         : head->index_bytes == 0
                                             ? head->image_at + head->image_bytes
                                             : head->index_at + head->index_bytes));
    if (room == NULL) {
        return NULL;
    }
    if (head->image == NO_IMAGE) {
        head->image_at = 0;
    }
    if (head->index_bytes == 0) {
        head->index_at = 0;
    }
    memcpy(room, head, sizeof(*head));
    write_columns(cached, buffers, room + sizeof(*head));
    return room;
}

static sluice_status keep_bytes(sample_loader *loader, uint64_t number, const sample_data *data,
                                void *const *buffers)
{
    cached_head head = {.image = NO_IMAGE};
    const sluice_status st = check_draws(loader);
    uint8_t *room;

    if (st != SLUICE_OK) {
        return st;
    }
    if (data != NULL) {
        head.image = ENCODED;
        head.file_width = data->listed_width;
        head.file_height = data->listed_height;
        head.from_pack = data->from_pack;
        head.named = data->named;
        head.image_bytes = data->size;
        head.index_bytes = data->index != NULL && !data->index->is_wrong ? data->index->size : 0;
    }
    room = begin_entry(&loader->cached, number, &head, buffers);
    if (room != NULL && data != NULL) {
        memcpy(room + head.image_at, data->bytes, data->size);
        if (head.index_bytes > 0) {
            memcpy(room + head.index_at, data->index->bytes.data, (size_t)head.index_bytes);
        }
    }
    if (room != NULL) {
        (void)sample_cache_publish(cache_of(&loader->cached), number, room);
    }
    return SLUICE_OK;
}

sluice_status sample_cached_keep(sample_loader *loader, uint64_t sample, const sample_data *data,
                                 void *const *buffers)
{
    return keep_bytes(loader, sample, data, buffers);
}

bool sample_cached_takes(const cached_samples *cached, uint32_t width, uint32_t height,
                         size_t pixel_bytes)
{
    return sample_cache_has_room(cached->samples, pixel_bytes * width * height);
}

/* Refuses maps before the cache that draw random numbers. */
static sluice_status check_maps(sample_loader *loader)
{
    const struct plan_details *details = loader->plan->details;

    for (uint32_t i = 0; i < details->cache.steps; i++) {
        if (details->work.steps[i].map != NULL &&
            atomic_load_explicit(&loader->maps.samples[i].drew, memory_order_relaxed)) {
            loader->io.ends_run = true;
            loader->last.stage = "cache";
            return sli_fail(
                SLUICE_E_INVALID,
                "map %s calls sluice_sample_random(), and a cache after it would repeat "
                "its results in each pass; put cache before %s",
                details->work.steps[i].map->name, details->work.steps[i].map->name);
        }
    }
    return SLUICE_OK;
}

sluice_status sample_cached_keep_row(sample_loader *loader, uint64_t sample, void *const *buffers)
{
    const sluice_status st = check_maps(loader);

    return st == SLUICE_OK ? keep_bytes(loader, sample, NULL, buffers) : st;
}

static sluice_status keep_pixels(sample_loader *loader, uint64_t number, const image_view *image,
                                 const sample_transform *transform, void *const *buffers)
{
    const size_t line = image->width * image_pixel_bytes(image);
    cached_head head = {.image = PIXELS,
                        .element = image->element,
                        .width = image->width,
                        .height = image->height,
                        .channels = image->channels,
                        .file_width = transform->width,
                        .file_height = transform->height,
                        .applied = transform->applied,
                        .image_bytes = line * image->height};
    const sluice_status st = check_draws(loader);
    uint8_t *room = st == SLUICE_OK ? begin_entry(&loader->cached, number, &head, buffers) : NULL;

    if (room == NULL) {
        return st;
    }
    for (uint32_t y = 0; y < image->height; y++) {
        memcpy(room + head.image_at + y * line, image->pixels + y * image->stride, line);
    }
    (void)sample_cache_publish(cache_of(&loader->cached), number, room);
    return SLUICE_OK;
}

sluice_status sample_cached_keep_pixels(sample_loader *loader, uint64_t sample,
                                        const image_view *image, const sample_transform *transform,
                                        void *const *buffers)
{
    return keep_pixels(loader, sample, image, transform, buffers);
}

sluice_status sample_cached_keep_other(sample_loader *loader, uint64_t sample, uint32_t column,
                                       const sample_data *data)
{
    const uint64_t number = number_of_other(&loader->cached, sample, column);

    const sample_transform as_read = {
        .width = data->image.width, .height = data->image.height, .applied = nothing_applied};

    return data->bytes != NULL ? keep_bytes(loader, number, data, NULL)
                               : keep_pixels(loader, number, &data->image, &as_read, NULL);
}

void sample_add_cached(const cached_samples *cached, uint64_t *hits, uint64_t *misses)
{
    *hits += atomic_load_explicit(&cached->hits, memory_order_relaxed);
    *misses += atomic_load_explicit(&cached->misses, memory_order_relaxed);
}
