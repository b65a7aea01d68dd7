/* SPDX-License-Identifier: Apache-2.0 */
/** @file
 * Samples as their source stores them, before any transform: for tools that look at data, convert
 * it or check it.
 *
 *     sluice_reader *reader = NULL;
 *     sluice_sample_view image;
 *     sluice_image_info info;
 *
 *     st = sluice_reader_create(dataset, &reader);
 *     if (st == SLUICE_OK) {
 *         st = sluice_reader_get(reader, 7, 0, &image);
 *     }
 *     if (st == SLUICE_OK) {
 *         sluice_image_info_init(&info);
 *         st = sluice_reader_header(reader, &info);
 *     }
 */
#ifndef SLUICE_READER_H
#define SLUICE_READER_H

#include <string.h>

#include <sluice/custom.h>

SLUICE_BEGIN_DECLS

/** What the header of an encoded image says. */
typedef struct sluice_image_info {
    size_t struct_size; /**< bytes; set by sluice_image_info_init() */
    const char *format; /**< "JPEG", "PNG", "BMP", "GIF", "WebP", "TIFF", "JPEG 2000", "PPM", "PGM"
                           or "PBM"; never freed */
    uint32_t width;     /**< in pixels */
    uint32_t height;    /**< in pixels */
    uint32_t channels;  /**< stored channels: 1 (gray, or a palette), 2 (gray and alpha), 3, 4 (RGB
                             and alpha, or CMYK) */
    uint32_t bits;      /**< bits per channel, or per palette index; 32: floats */
    uint32_t palette;   /**< 1 if the pixels are indices into a palette */
    uint32_t progressive;      /**< 1 for a progressive JPEG file or an interlaced PNG file */
    uint32_t arithmetic;       /**< JPEG: 1 if it is arithmetic-coded */
    uint32_t restart_interval; /**< JPEG: MCUs between restart markers; 0: none */
    uint32_t chroma_x; /**< JPEG of several channels: horizontal chroma subsampling, 2 for 4:2:0 and
                            4:2:2; 0: not a whole number */
    uint32_t chroma_y; /**< the same vertically: 2 for 4:2:0, 1 for 4:2:2 */
    uint32_t orientation; /**< by the Exif data of JPEG, PNG and WebP, or the tag of TIFF: 1 to 8;
                             1: upright, or not stated. width and height are those of the file; the
                             stage decode applies it, unless orient=false */
    uint32_t further;     /**< 1 if the file has further images or frames, which are not decoded */
} sluice_image_info;

/** Sets every field to zero, and struct_size. Threads: any. */
static inline void sluice_image_info_init(sluice_image_info *info)
{
    memset(info, 0, sizeof(*info));
    info->struct_size = sizeof(*info);
}

/**
 * Reads the header of an encoded image. The pixels are not decoded, so corrupt data after the
 * header is not detected. TIFF and JPEG 2000 are refused, because they are read only by the name
 * of the file or by formats= of decode, which the bytes do not have: sluice_reader_header() reads
 * what the pipeline reads.
 *
 * @param bytes  (size) the whole file
 *
 * Returns: E_CORRUPT the bytes are not an image, or the header is corrupt; E_UNSUPPORTED a format
 *          that this build does not decode, and any TIFF or JPEG 2000 file; E_INVALID a NULL, or a
 *          wrong struct_size; E_NO_MEMORY.
 *
 * Threads: any.
 */
SLUICE_API_CHECKED sluice_status sluice_image_header(const void *bytes, size_t size,
                                                     sluice_image_info *info);

/** Reads samples of a dataset's source, by their numbers. */
typedef struct sluice_reader sluice_reader;

/**
 * Opens the dataset if it is not open, and makes a reader of its source. Stages after the source
 * have no effect. The dataset must outlive the reader.
 *
 * @param reader_out  owned by the caller: freed by sluice_reader_destroy()
 *
 * Returns: E_INVALID a NULL; E_UNSUPPORTED the source is a stream, whose samples have no numbers;
 *          errors of opening the source; the sticky error of building; E_NO_MEMORY.
 *
 * Threads: any, once the dataset is built; several readers of a dataset may be used at once.
 */
SLUICE_API_CHECKED sluice_status sluice_reader_create(sluice_dataset *dataset,
                                                      sluice_reader **reader_out);

/** Frees a reader. Accepts NULL. Threads: any, once no other call uses the reader. */
SLUICE_API void sluice_reader_destroy(sluice_reader *reader);

/** Returns the number of samples of the source; 0 for NULL. Threads: any. */
SLUICE_API uint64_t sluice_reader_samples(const sluice_reader *reader);

/** Returns the number of columns of the source; 0 for NULL. Threads: any. */
SLUICE_API uint32_t sluice_reader_columns(const sluice_reader *reader);

/**
 * Describes a column of the source. The lengths of ragged columns, NAME_length, are columns of
 * their own.
 *
 * @param column    below sluice_reader_columns()
 * @param spec_out  its texts are borrowed from the dataset
 *
 * Returns: E_INVALID a NULL, or no such column.
 *
 * Threads: any.
 */
SLUICE_API_CHECKED sluice_status sluice_reader_column(const sluice_reader *reader, uint32_t column,
                                                      sluice_column_spec *spec_out);

/**
 * Describes a column of the batches of a dataset, after all its stages: type, shape of one row,
 * role, and the boxes or points that its rows belong to. Opens the dataset.
 *
 * @param column    its name
 * @param spec_out  its texts are owned by the dataset, and valid until it is destroyed
 *
 * Returns: E_INVALID a NULL, or no such column; the message lists the columns; the sticky error of
 *          building; errors of opening.
 *
 * Threads: any.
 */
SLUICE_API_CHECKED sluice_status sluice_dataset_column_spec(sluice_dataset *dataset,
                                                            const char *column,
                                                            sluice_column_spec *spec_out);

/**
 * Reads one column of a sample. An encoded image or mask is SLUICE_ENCODED with rank 1: the bytes
 * of its file. Other images and masks are u8 (height, width, channels). Ragged columns are
 * padded with zeros to their declared shape.
 *
 * @param sample    below sluice_reader_samples()
 * @param column    below sluice_reader_columns()
 * @param view_out  valid until the reader's next call other than sluice_reader_header()
 *
 * Returns: E_INVALID a NULL, no such sample or column; errors of reading the sample, such as E_IO
 *          and E_CORRUPT; E_NO_MEMORY. The text does not name the sample.
 *
 * Threads: one at a time, on the thread that used the reader first.
 */
SLUICE_API_CHECKED sluice_status sluice_reader_get(sluice_reader *reader, uint64_t sample,
                                                   uint32_t column, sluice_sample_view *view_out);

/**
 * Reads the header of the encoded image or mask that the last sluice_reader_get() has given.
 * Formats are opened as by the stage decode of the dataset, formats= and the name of the file
 * included, or as by one without arguments.
 *
 * @param info  initialized by sluice_image_info_init()
 *
 * Returns: E_INVALID a NULL, a wrong struct_size, or the last call was not sluice_reader_get() of
 *          an encoded image; others as sluice_image_header().
 *
 * Threads: as sluice_reader_get().
 */
SLUICE_API_CHECKED sluice_status sluice_reader_header(sluice_reader *reader,
                                                      sluice_image_info *info);

/**
 * Checks the headers of a sample's images and masks by the rules of a run: a mask has class numbers
 * of 8 bits, and the size of its image; further images have the size of the first one; annotations
 * are for an image of its size. The orientation of files is applied as the stage decode of the
 * dataset says, and its limits hold. Pixels are not decoded. Ends the view of the last
 * sluice_reader_get().
 *
 * @param sample  below sluice_reader_samples()
 *
 * Returns: E_CORRUPT, E_UNSUPPORTED what a run would refuse; errors of reading the sample;
 *          E_INVALID a NULL, or no such sample; E_NO_MEMORY. The text does not name the sample.
 *
 * Threads: one at a time, on the thread that used the reader first.
 */
SLUICE_API_CHECKED sluice_status sluice_reader_check(sluice_reader *reader, uint64_t sample);

/** What the samples of a source have that a run changes, or refuses. */
typedef struct sluice_findings {
    size_t struct_size;     /**< bytes; set by sluice_findings_init() */
    uint64_t boxes_clipped; /**< boxes that reach beyond their image, and are clipped to it */
    uint64_t boxes_dropped; /**< boxes without an area, which are dropped */
    uint64_t sizes_differ;  /**< images of another size than their annotations: bad samples */
    uint64_t labels_stored; /**< images whose annotations fit only the pixels as stored, and so
                               are turned by the Exif orientation, with the image */
} sluice_findings;

/** Sets every field to zero, and struct_size. Threads: any. */
static inline void sluice_findings_init(sluice_findings *findings)
{
    memset(findings, 0, sizeof(*findings));
    findings->struct_size = sizeof(*findings);
}

/**
 * Returns what was found so far: sizes by sluice_reader_check() of this reader, each time that it
 * is called; boxes in all samples of the dataset that were read by any reader or run, each sample
 * once. coco, yolo and voc judge the boxes of all samples when the dataset is opened.
 *
 * @param findings  initialized by sluice_findings_init()
 *
 * Returns: E_INVALID a NULL, or a wrong struct_size.
 *
 * Threads: as sluice_reader_get().
 */
SLUICE_API_CHECKED sluice_status sluice_reader_findings(const sluice_reader *reader,
                                                        sluice_findings *findings);

/**
 * Returns 1 if the last call of a reader failed for a cause that is not in its sample, so that
 * other samples fail, too: no memory, no free file descriptor, a missing library or format module.
 * 0 after success, and for NULL.
 *
 * Threads: one at a time, on the thread that used the reader first.
 */
SLUICE_API int sluice_reader_ends(const sluice_reader *reader);

SLUICE_END_DECLS

#endif
