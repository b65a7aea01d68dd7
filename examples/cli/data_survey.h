/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the samples of a dataset's source, and counts their classes, sizes and formats. */
#ifndef SLUICE_DATA_SURVEY_H
#define SLUICE_DATA_SURVEY_H

#include <stdatomic.h>

#include "cli.h"

enum { SURVEY_NAMED = 20, SURVEY_CLASSES = 1 << 16, SURVEY_WORKERS = 64 };

/* Kinds of encoded images: their formats, then the kinds of files of one format. */
typedef enum survey_kind {
    KIND_JPEG,
    KIND_PNG,
    KIND_PPM,
    KIND_PGM,
    KIND_PBM,
    KIND_BMP,
    KIND_GIF,
    KIND_WEBP,
    KIND_TIFF,
    KIND_JP2,
    KIND_JPEG_GRAY,
    KIND_JPEG_444,
    KIND_JPEG_422,
    KIND_JPEG_420,
    KIND_JPEG_OTHER, /* another chroma subsampling of three channels */
    KIND_JPEG_CMYK,
    KIND_JPEG_PROGRESSIVE,
    KIND_JPEG_ARITHMETIC,
    KIND_JPEG_RESTARTS,
    KIND_PNG_GRAY,
    KIND_PNG_PALETTE,
    KIND_PNG_RGB,
    KIND_PNG_ALPHA,
    KIND_PNG_16_BITS,
    KIND_PNG_INTERLACED,
    KIND_PNM_16_BITS,
    KIND_TIFF_16_BITS,
    KIND_TIFF_FLOATS,
    KIND_JP2_16_BITS,
    KIND_ORIENTED, /* of any format: an Exif orientation other than 1 */
    KIND_FURTHER,  /* of any format: further images or frames */
    KINDS
} survey_kind;

/* The keys of JSON, and words for a table. */
extern const char *const survey_kind_names[KINDS];

typedef struct survey_column {
    sluice_column_spec spec; /* its texts are borrowed from the dataset */
    bool is_counted; /* an integer per sample: low and high are valid once a sample was read */
    int64_t low;
    int64_t high;
} survey_column;

/* A sample that cannot be read. */
typedef struct survey_bad {
    uint64_t sample;
    char *why;
} survey_bad;

/* Samples whose first images have the same bytes. */
typedef struct survey_pair {
    uint64_t first;
    uint64_t copy;
} survey_pair;

/* What one worker has counted. */
typedef struct survey_counts {
    uint64_t good;
    uint64_t bad;
    uint64_t kinds[KINDS];
    uint64_t *classes; /* (SURVEY_CLASSES) by label */
    uint64_t no_class; /* labels outside this range */
    sluice_findings found;
    int64_t low[SLUICE_MAX_COLUMNS];
    int64_t high[SLUICE_MAX_COLUMNS];
    survey_bad named[SURVEY_NAMED]; /* the first bad samples of this worker */
    uint32_t named_count;
} survey_counts;

typedef struct data_survey {
    sluice_dataset *dataset;
    uint64_t samples; /* of the source */
    uint64_t looked;  /* number of samples to read, evenly spaced */
    uint32_t column_count;
    survey_column columns[SLUICE_MAX_COLUMNS];
    int image;            /* column of the first image; -1: none */
    int label;            /* column that is counted by value; -1: none */
    int length;           /* column with the number of labels in a sample; -1: one */
    uint32_t class_count; /* one more than the largest label that was counted */

    /* (looked) of the image of each sample; 0 for samples that cannot be read */
    uint64_t *widths;
    uint64_t *heights;
    uint64_t *bytes;
    uint64_t *hashes;                /* of the bytes */
    uint64_t duplicates;             /* images that equal an earlier one */
    survey_pair pairs[SURVEY_NAMED]; /* the first of them */
    uint32_t pair_count;
    survey_counts all;
    atomic_bool ends; /* a worker has failed by the process */
} data_survey;

/*
 * Reads up to `most` samples by `workers` threads, at most SURVEY_WORKERS, and draws a progress
 * bar. A signal ends it early; the counts are then those of the samples read so far. On failure the
 * text is the library's last error. The caller calls survey_free() in any case.
 */
sluice_status survey_run(data_survey *survey, uint64_t most, uint32_t workers,
                         cli_progress *progress);

/* Returns the number of the nth sample that is read: of all samples, or of evenly spaced ones. */
uint64_t survey_sample(const data_survey *survey, uint64_t nth);

void survey_free(data_survey *survey);

#endif
