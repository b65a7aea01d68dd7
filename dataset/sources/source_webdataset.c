/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Source `webdataset`: samples in tar archives (shards), accessed in any order by an index of each
 * archive (shard_index.h). The index takes 32 bytes plus the name per sample. A sample's bytes are
 * read at their offset in the shard. source_webstream.c reads the same archives sequentially.
 */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "alloc_int.h"
#include "crc32c_int.h"
#include "file_list.h"
#include "format_int.h"
#include "image_decoder.h"
#include "pack_class_names.h"
#include "pack_files.h"
#include "page_cache.h"
#include "source_stage_ops.h"
#include "status_int.h"
#include "tar_header.h"
#include "web_packs.h"
#include "web_shard_file.h"
#include "webdataset_args.h"
#include "webdataset_skipped.h"

typedef struct web_shard {
    web_shard_file file;
    shard_index index;
} web_shard;

typedef struct webdataset {
    file_list list;
    web_shard *shards;
    size_t shard_count;
    uint64_t count;
    bool labelled;
    bool drops;
    webdataset_skipped skipped;
    pack_class_names names;
    char seen[SHARD_SEEN_SIZE];         /* fields of all shards */
    char left_out[2 * SHARD_SEEN_SIZE]; /* members that are in no column */
} webdataset;

/* ---- opening -------------------------------------------------------------------------------- */

/* Removes samples without a label from the shard's index. */
static void keep_labelled(webdataset *web, web_shard *shard)
{
    shard_index *index = &shard->index;
    uint64_t kept = 0;

    for (uint64_t i = 0; i < index->count; i++) {
        const shard_sample sample = index->samples[i];

        if ((sample.flags & (SHARD_HAS_LABEL | SHARD_BAD_LABEL)) != 0) {
            index->samples[kept++] = sample;
        } else {
            const char *name = shard_sample_name(index, i);

            skipped_count(&web->skipped.unlabelled, 1, shard->file.path, name,
                          shard_key_length(name));
        }
    }
    index->count = kept;
}

static sluice_status open_shard(webdataset *web, web_packs *packs, const char *path,
                                const web_args *args)
{
    const shard_fields fields = {args->image,
                                 web->labelled ? args->label : shard_default_fields.label};
    const char *folder = strcmp(args->index, "auto") == 0 ? NULL : args->index;
    web_shard *shard = &web->shards[web->shard_count];
    struct stat info;
    int fd = -1;
    bool is_packed = false;
    sluice_status st = web_packs_add(packs, path, &is_packed);

    if (st == SLUICE_OK) {
        st = web_shard_open(path, NULL, &fd, &info);
    }
    if (st == SLUICE_OK) {
        st = shard_index_obtain(fd, path, &fields, folder, is_packed, &shard->index);
    }
    if (st != SLUICE_OK) {
        if (fd >= 0) {
            close(fd);
        }
        return st;
    }
    web_shard_hold(&shard->file, path, fd, &info, web->drops);
    shard->file.first = web->count;
    web->shard_count++;
    skipped_count_shard(&web->skipped, &shard->index, path);
    skipped_count(&packs->unchecked, shard->index.is_unchecked, path, "", 0);
    shard_seen_merge(web->seen, shard->index.seen);
    if (web->labelled) {
        keep_labelled(web, shard);
    }
    web->count += shard->index.count;
    return SLUICE_OK;
}

static sluice_status check_skipped(const webdataset *web, const web_args *args)
{
    skipped_warn(&web->skipped, args, web->seen);
    return web->count > 0 ? SLUICE_OK
                          : skipped_all(&web->skipped, args, web->shard_count, web->seen);
}

static void web_close(void *source)
{
    webdataset *web = source;

    for (size_t i = 0; i < web->shard_count; i++) {
        sli_held_file_close(&web->shards[i].file.held);
        shard_index_free(&web->shards[i].index);
    }
    sli_free(web->shards);
    pack_class_names_free(&web->names);
    file_list_free(&web->list);
    sli_free(web);
}

static sluice_status web_open(const void *opaque, void **source_out)
{
    const web_args *args = opaque;
    webdataset *web = sli_calloc(1, sizeof(*web));
    web_packs packs = {.marks.shard = NULL};
    pack_totals totals = {0, 0};
    sluice_status st;

    if (web == NULL) {
        return sli_fail(SLUICE_E_NO_MEMORY, "webdataset %s", args->shards);
    }
    web->labelled = web_is_labelled(args);
    web->drops = args->cache == PAGE_CACHE_DROP;
    st = file_list_make(args->shards, &web_list_kind, &web->list);
    if (st == SLUICE_OK) {
        st = pack_files_check(&web->list, &totals);
    }
    if (st == SLUICE_OK) {
        web->shards = sli_calloc(web->list.count, sizeof(*web->shards));
        st = web->shards == NULL ? sli_fail(SLUICE_E_NO_MEMORY, "%zu shards", web->list.count)
                                 : SLUICE_OK;
    }
    for (size_t i = 0; st == SLUICE_OK && i < web->list.count; i++) {
        st = open_shard(web, &packs, web->list.paths[i], args);
    }
    if (st == SLUICE_OK) {
        st = pack_files_check_samples(&web->list, &totals,
                                      web->count + web->skipped.imageless.count +
                                          web->skipped.unlabelled.count,
                                      args->shards);
    }
    if (st == SLUICE_OK) {
        st = check_skipped(web, args);
    }
    if (st == SLUICE_OK) {
        web_packs_warn(&packs, args);
        st = web->labelled ? pack_class_names_read(&web->names, &web->list) : st;
    }
    skipped_members(web->seen, args, web->left_out, sizeof(web->left_out));
    if (st != SLUICE_OK) {
        web_close(web);
        return st;
    }
    *source_out = web;
    return SLUICE_OK;
}

/* ---- samples ------------------------------------------------------------------------------- */

static uint64_t web_count(const void *source)
{
    return ((const webdataset *)source)->count;
}

static uint64_t web_memory(const void *source)
{
    const webdataset *web = source;
    uint64_t bytes = sizeof(*web) + web->names.memory +
                     web->list.capacity * sizeof(*web->list.paths) +
                     web->shard_count * sizeof(*web->shards);

    for (size_t i = 0; i < web->shard_count; i++) {
        const shard_index *index = &web->shards[i].index;

        bytes += index->capacity * sizeof(*index->samples) + index->names_capacity +
                 strlen(web->list.paths[i]) + 1;
    }
    return bytes;
}

/* The shard of a sample; *index becomes its number in the shard. */
static web_shard *shard_of(const webdataset *web, uint64_t *index)
{
    return web_shard_find(web->shards, web->shard_count, sizeof(*web->shards), index);
}

static void web_name(const void *source, uint64_t index, char *text, size_t size)
{
    const web_shard *shard = shard_of(source, &index);

    snprintf(text, size, "%s/%s", web_base_of(shard->file.path),
             shard_sample_name(&shard->index, index));
}

/* Reads bytes [first, end) of a sample's image to the same offsets in io->bytes. */
static sluice_status read_bytes(int fd, const web_shard *shard, const shard_sample *sample,
                                uint64_t first, uint64_t end, sample_io *io)
{
    const sluice_status st = web_shard_read(&shard->file, fd, sample->offset + first,
                                            io->bytes.data + first, (size_t)(end - first));

    io->bytes_read += st == SLUICE_OK ? end - first : 0;
    return st;
}

/*
 * True if, judging by its name, the decoder may be able to read only a part of this image (PNM).
 * Its first bytes decide later. Small images are always read whole.
 */
static bool may_have_head(const web_shard *shard, const shard_sample *sample)
{
    const char *dot = strrchr(shard->index.names + sample->name, '.');

    return sample->size > 4 * IMAGE_HEAD &&
           (sli_same_word(dot, ".ppm") || sli_same_word(dot, ".pgm") || sli_same_word(dot, ".pnm"));
}

/* Compares key and label of a sample of a pack with the shard, so that its index is of this shard.
 */
static sluice_status check_members(int fd, const web_shard *shard, uint64_t index)
{
    sluice_status st = (shard->index.samples[index].flags & SHARD_HAS_CRC) != 0
                           ? shard_sample_check(fd, &shard->index, index)
                           : SLUICE_OK;

    if (st == SLUICE_OK) {
        return st;
    }
    return sli_fail_quoting(
        st,
        "%.200s, in the shard %s; the shard and its index %s.sluice must be of the same pack: "
        "copy both again",
        sluice_last_error(), shard->file.path, shard->file.path);
}

/*
 * Compares the CRC that `sluice pack` stored: a flipped bit may change pixels without a decode
 * error.
 */
static sluice_status check_bytes(const web_shard *shard, const shard_sample *sample,
                                 const uint8_t *bytes)
{
    if ((sample->flags & SHARD_HAS_CRC) == 0 ||
        sli_crc32c(0, bytes, (size_t)sample->size) == sample->crc) {
        return SLUICE_OK;
    }
    return sli_fail(SLUICE_E_CORRUPT,
                    "its bytes are not those that were packed: the checksum differs; `sluice "
                    "verify` finds all such samples of %s",
                    shard->file.path);
}

/*
 * Reads an image. head: reads only its first bytes if the decoder can read the rest itself. Then
 * data_out->rest and *stays_out are set, and fd must stay open until the sample is decoded.
 */
static sluice_status read_from(int fd, const web_shard *shard, uint64_t index, bool head,
                               sample_io *io, sample_data *data_out, bool *stays_out)
{
    const shard_sample *sample = &shard->index.samples[index];
    sluice_status st = check_members(fd, shard, index);
    uint64_t done = 0;

    data_out->from_pack = (sample->flags & SHARD_HAS_CRC) != 0;
    data_out->named = image_formats_of_file(shard->index.names + sample->name);
    if (st == SLUICE_OK && head) {
        done = IMAGE_HEAD;
        st = read_bytes(fd, shard, sample, 0, done, io);
        if (st == SLUICE_OK && image_decoder_takes_head(io->bytes.data, IMAGE_HEAD)) {
            data_out->bytes = io->bytes.data;
            data_out->size = IMAGE_HEAD;
            data_out->rest = (image_rest){fd, sample->offset, sample->size, &io->bytes_read};
            *stays_out = true;
            return SLUICE_OK;
        }
    }
    if (st == SLUICE_OK) {
        st = read_bytes(fd, shard, sample, done, sample->size, io);
    }
    if (st == SLUICE_OK) {
        st = check_bytes(shard, sample, io->bytes.data);
    }
    data_out->bytes = io->bytes.data;
    data_out->size = (size_t)sample->size;
    return st;
}

static sluice_status read_image(web_shard *shard, uint64_t index, sample_io *io,
                                sample_data *data_out)
{
    const shard_sample *sample = &shard->index.samples[index];
    bool stays = false;
    bool lent = false;
    int fd = -1;
    sluice_status st;

    sample_io_give_back(io);
    st = web_shard_borrow(&shard->file, io, &lent, &fd);
    if (st != SLUICE_OK) {
        return st;
    }
    st = read_from(fd, shard, index, lent && !io->whole && may_have_head(shard, sample), io,
                   data_out, &stays);
    if (stays) {
        io->lent = &shard->file.held;
    } else {
        web_shard_give_back(&shard->file, lent, fd);
    }
    return st;
}

/* check_members() for a sample whose image is not read. */
static sluice_status check_place(web_shard *shard, uint64_t index, const sample_io *io)
{
    bool lent = false;
    int fd = -1;
    sluice_status st = web_shard_borrow(&shard->file, io, &lent, &fd);

    if (st == SLUICE_OK) {
        st = check_members(fd, shard, index);
        web_shard_give_back(&shard->file, lent, fd);
    }
    return st;
}

static sluice_status web_read_plain(const void *source, uint64_t index, sample_io *io,
                                    void *const *row)
{
    const webdataset *web = source;
    web_shard *shard = shard_of(web, &index);
    const shard_sample *sample = &shard->index.samples[index];
    sluice_status st =
        web_check_sample(sample->flags, sample->size, web->labelled, shard->file.path);

    if (st == SLUICE_OK && (sample->flags & SHARD_HAS_CRC) != 0) {
        st = check_place(shard, index, io);
    }
    if (st == SLUICE_OK && web->labelled && row[1] != NULL) {
        *(int32_t *)row[1] = sample->label;
    }
    return st;
}

static sluice_status web_read(const void *source, uint64_t index, sample_io *io, void *const *row,
                              sample_data *data_out)
{
    const webdataset *web = source;
    web_shard *shard = shard_of(web, &index);
    const shard_sample *sample = &shard->index.samples[index];
    sluice_status st =
        web_check_sample(sample->flags, sample->size, web->labelled, shard->file.path);

    if (st == SLUICE_OK) {
        st = image_buffer_reserve(&io->bytes, (size_t)sample->size);
    }
    if (st == SLUICE_OK) {
        st = read_image(shard, index, io, data_out);
    }
    if (st == SLUICE_OK && web->labelled && row[1] != NULL) {
        *(int32_t *)row[1] = sample->label;
    }
    return st;
}

static bool web_locate(const void *source, uint64_t index, sample_location *location_out)
{
    web_shard *shard = shard_of(source, &index);
    const shard_sample *sample = &shard->index.samples[index];

    location_out->fd = -1;
    location_out->held = &shard->file.held;
    location_out->folder_fd = AT_FDCWD;
    location_out->path = shard->file.path;
    location_out->offset = sample->offset;
    location_out->size = sample->size;
    if ((sample->flags & SHARD_HAS_CRC) != 0) { /* key and label are read, too */
        location_out->offset -= TAR_BLOCK;
        location_out->size = shard_sample_extent(sample);
    }
    location_out->in_parts =
        may_have_head(shard, sample) && sli_held_file_is_held(&shard->file.held);
    return sample->size > 0;
}

static bool web_drops(const void *source)
{
    return ((const webdataset *)source)->drops;
}

static uint32_t web_classes(const void *source)
{
    return ((const webdataset *)source)->names.count;
}

static void web_class_name(const void *source, uint32_t label, char *text, size_t size)
{
    snprintf(text, size, "%s", ((const webdataset *)source)->names.names[label]);
}

static const char *web_left_out(const void *source)
{
    return ((const webdataset *)source)->left_out;
}

static const source_ops web_ops = {
    .open = web_open,
    .close = web_close,
    .count = web_count,
    .name = web_name,
    .read = web_read,
    .read_plain = web_read_plain,
    .locate = web_locate,
    .drops = web_drops,
    .memory = web_memory,
    .left_out = web_left_out,
    .classes = web_classes,
    .class_name = web_class_name,
};

/* ---- the stage ----------------------------------------------------------------------------- */

/* Sets the columns, except with fields=: web_source_schema() then sets them after opening. */
static sluice_status web_infer(const void *opaque, stage_schema *schema)
{
    const web_args *args = opaque;

    if (args->fields[0] == '\0') {
        schema_of_files(schema, web_is_labelled(args));
    }
    return SLUICE_OK;
}

static bool web_opens_early(const void *args)
{
    return ((const web_args *)args)->fields[0] != '\0';
}

static sluice_status web_choose(const void *opaque, const source_ops **ops_out)
{
    const bool has_fields = web_opens_early(opaque);
    bool is_stream;
    sluice_status st = web_is_stream(opaque, &is_stream);

    if (st == SLUICE_OK && has_fields && is_stream) {
        st = sli_fail(SLUICE_E_UNSUPPORTED,
                      "webdataset: fields= takes plain shards: pipes, compressed shards and "
                      "access=stream give image and label only");
    }
    if (st == SLUICE_OK) {
        *ops_out = has_fields ? &web_fields_ops : is_stream ? &web_stream_ops : &web_ops;
    }
    return st;
}

static const char *const accesses[] = {"auto", "stream", NULL};

static const stage_param web_params[] = {
    PARAM_(web_args, shards, PARAM_TEXT, NULL, 0, 0, NULL,
           "tar files, folders of them, patterns with {000..123} and wildcards; -: standard input"),
    PARAM_(web_args, image, PARAM_TEXT, "jpg,jpeg,png,ppm", 0, 0, NULL,
           "fields of an image; the first of these that a sample has, in upper or lower case"),
    PARAM_(web_args, label, PARAM_TEXT, "cls", 0, 0, NULL,
           "field that is the label; none: no label column"),
    PARAM_(web_args, index, PARAM_TEXT, "auto", 0, 0, NULL,
           "location of the indexes: auto (beside the shards), none, or a folder"),
    PARAM_(web_args, cache, PARAM_CHOICE, "keep", 0, 0, page_cache_choices,
           "drop: drop read samples from the page cache, for datasets larger than memory"),
    PARAM_(web_args, access, PARAM_CHOICE, "auto", 0, 0, accesses,
           "stream: read sequentially, as pipes and compressed shards always are"),
    PARAM_(web_args, max_sample, PARAM_BYTES, "256M", 1, 1073741824, NULL,
           "limit on the bytes of an image in a stream, for which memory is reserved"),
    PARAM_(
        web_args, fields, PARAM_TEXT, "", 0, 0, NULL,
        "members as columns, in place of image and label: NAME:FIELD with commas, such as "
        "image:jpg,seg:png@mask,label:cls,vector:npy,caption:txt[512]; boxes:npy[100] reads arrays "
        "of 0 to 100 rows; label:class=json.a.b the value at a path of a JSON member; auto: all "
        "columns of a pack, or members of the first sample"),
    PARAM_(
        web_args, classes, PARAM_TEXT, "", 0, 0, NULL,
        "file of the names of a column NAME:class=json.a.b, one a line, numbered from 0; without "
        "it the names in all samples, sorted"),
};

const stage_def stage_webdataset = {
    .name = "webdataset",
    .summary = "Samples in tar archives in WebDataset layout; consecutive members KEY.FIELD "
               "are one sample.",
    .gives = "image (encoded), label i32; with fields= a column for each, and NAME_length of [N]",
    .details =
        "Consecutive members with equal names up to the first dot are one sample; the "
        "rest of the name is the field. Samples without an image or a label are ignored "
        "with a warning. A label is a whole number in ASCII. Samples are read in any "
        "order; pipes, compressed shards and access=stream are read sequentially.\n"
        "index=auto stores indexes next to each shard or in "
        "${XDG_CACHE_HOME:-~/.cache}/sluice. max_sample is at most 2^30.\n"
        "With fields= the members listed become the columns, in place of image and "
        "label. It is a list of NAME:FIELD; the extension of FIELD determines the "
        "column's type:\n"
        "  NAME:jpg       an extension of image_folder: an image; the first one is the\n"
        "                 image, each other one a further image\n"
        "  NAME:png@mask  an image of class numbers, which follows the geometry of\n"
        "                 the image\n"
        "  NAME:cls       an integer, i32\n"
        "  NAME:npy       a NumPy array; type and shape are those of the first\n"
        "                 sample's array\n"
        "  NAME:npy[N]    an array of 0 to N rows; NAME_length, i32, is their number\n"
        "  NAME:npy[N]@ROWS  the same, with as many rows as ROWS, a column before it\n"
        "  NAME:ROLE=npy  an array of a role: boxes[N] or fraction_boxes[N], f32 (n, 4);\n"
        "                 points[N] or fraction_points[N], f32 (n, 2), and with @BOXES\n"
        "                 (n, k, 2); image, of pixels (height, width, channels); mask, u8\n"
        "                 (height, width); mask_numbers[N]@BOXES\n"
        "  NAME:jpg/png   a member with one of these extensions\n"
        "  NAME:txt[N]    any other extension: up to N bytes, u8 (N); NAME_length,\n"
        "                 i32, is their number\n"
        "  NAME:json.a.b  the integer at a path of keys of the JSON member, i32; in\n"
        "                 lists the numbers of elements, from 0, are keys: a.0.b\n"
        "  NAME:KIND=json.a.b  a value of a KIND of image_list: a type, class,\n"
        "                 text[N], boxes[N], points[N], T[N], T[N]@BOXES\n"
        "fields=auto takes the columns of a pack or a conversion from its pack.json, with the "
        "names of classes. Of other shards it takes the images, labels (cls) and arrays that the "
        "first sample has, and warns of its other members. What it takes is logged.\n"
        "JSON members have at most 1 MiB, and need jansson. A member that is not an object, "
        "lacks the path, or has a value of another kind there makes a bad sample. For a column of "
        "kind class without classes= the JSON members of all samples are read when the source is "
        "added.\n"
        "The shards must then be regular files; they are opened, and their headers "
        "read, when the source is added: E_IO, E_CORRUPT or E_UNSUPPORTED if that "
        "fails. image=, label= and index= must not be set with it. Samples that lack "
        "one of the fields are ignored with a warning.\n"
        "A pack of `sluice pack` whose index is missing or corrupt, or that is marked by "
        "pack.corrupt, is an error (E_CORRUPT) when it is opened; one that is not complete is "
        "read, with a warning. Only index=auto reads the index of a pack, which has the "
        "checksums of its images.",
    .kind = STAGE_SOURCE,
    STAGE_PARAMS(web_params),
    .args_size = sizeof(web_args),
    .check = web_args_check,
    .infer = web_infer,
    .source =
        &(const source_stage_ops){
            .ops = &web_ops,
            .choose = web_choose,
            .schema = web_source_schema,
            .opens_early = web_opens_early,
        },
};
