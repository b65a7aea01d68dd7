/* SPDX-License-Identifier: Apache-2.0 */
/** @file
 * Transforms: stages that process each image between source and batch.
 *
 * Each function adds one stage. Random numbers are a function of (seed of the run, pass, sample,
 * stage). So the pixels of a sample do not depend on workers or devices, nor on whether a run was
 * resumed.
 *
 * After decode, images are uint8 (H, W, C); crops and resizes keep that format. Colour stages
 * (color_jitter to random_equalize) change the values of gray or RGB images: after all crops and
 * resizes, before normalize, to_dtype and to_chw. Conversions (normalize, to_dtype, to_chw,
 * random_horizontal_flip and random_vertical_flip) come after crops and resizes, in any order, and
 * run in one pass over the pixels.
 *
 * Returns: E_INVALID invalid arguments, or a position where the stage is not allowed; the sticky
 *          error of building; E_NO_MEMORY.
 */
#ifndef SLUICE_TRANSFORMS_H
#define SLUICE_TRANSFORMS_H

#include <sluice/dataset.h>

SLUICE_BEGIN_DECLS

/** Optional arguments of sluice_dataset_decode(), initialized by sluice_decode_config_init(). */
typedef struct sluice_decode_config {
    size_t struct_size; /**< bytes; set by sluice_decode_config_init() */
    const char *mode;   /**< "rgb": (H, W, 3); "gray": (H, W, 1); "index": (H, W, 1), the stored
                             values of a palette or gray PNG file, or of a PGM file, as masks have
                             them; other files are bad samples; NULL: "rgb" */
    /**
     * If a resize to half the size or less follows, decode JPEG files at 1/2, 1/4 or 1/8 of their
     * size and resize the result. That is faster for large photographs, but gives other pixels: a
     * crop begins and ends at whole pixels of the smaller image, and the scaled DCT replaces a part
     * of the filter.
     */
    bool fast_scale;
    uint64_t max_pixels; /**< images with more, by the header, are errors; 0: 100 000 000 */
    uint64_t depth;      /**< 8: files of 16 bits per channel are converted to 8 bits, value * 255 /
                              maximum, rounded; 0: such a file ends the run, whatever the policy for
                              bad samples is, as E_UNSUPPORTED */
} sluice_decode_config;

/** Sets every field to its default, zero, in a struct of `size` bytes. Threads: any. */
SLUICE_API void sluice_decode_config_init_size(sluice_decode_config *config, size_t size);

/** sluice_decode_config_init_size() with the size of the caller's struct. Threads: any. */
static inline void sluice_decode_config_init(sluice_decode_config *config)
{
    sluice_decode_config_init_size(config, sizeof(*config));
}

/**
 * Decodes JPEG files to RGB, with libjpeg-turbo's accurate integer DCT and smooth chroma, and PNG
 * files if the library was built with libpng. If a crop follows, a JPEG file is decoded only down
 * to the crop's lower edge, or only under the crop if it has restart markers or an index. PNG files
 * are decoded as a whole. The pixels are those of a full decode.
 *
 * Grayscale, CMYK and YCCK files become RGB (or gray); transparent pixels are blended onto black. A
 * file that is corrupt or not an image makes a bad sample. A file of 16 bits per channel (PNG, or
 * PNM with a maximum value above 255) ends the run, unless depth is 8.
 *
 * Decodes all images of a sample that are still encoded, or those of sluice_dataset_for_columns()
 * before it, so that each may have a mode of its own. All images must be decoded before a stage
 * that changes the geometry. Masks are decoded by the first stage of this kind, as by "index", with
 * the max_pixels of the first image.
 *
 * @param config  NULL: all defaults
 *
 * Threads: the one that builds the dataset.
 */
SLUICE_API_CHECKED sluice_status sluice_dataset_decode(sluice_dataset *dataset,
                                                       const sluice_decode_config *config);

/**
 * Resizes. The centre of output i of a side is at c = (i + 0.5) * scale of the input, with scale =
 * old / new length. The output is the mean of the inputs k, with weights f((k + 0.5 - c) / s); s is
 * scale when shrinking with `antialias`, else 1. Inputs outside of the image have no weight. These
 * are Pillow's filters (its Resample.c and Geometry.c). Results differ from Pillow's by at most 1;
 * those of "nearest" are equal:
 *
 *   "bilinear"  f(x) = 1 - |x| within 1
 *   "bicubic"   Keys, "Cubic convolution interpolation for digital image processing" (1981), with
 *               a = -0.5; horizontal pass first, then vertical, clamped to bytes after each
 *   "nearest"   the one input floor(c); antialias has no effect
 *   "area"      f(x) = 1 within -0.5 < x <= 0.5, Pillow's BOX: whole pixels only. Requires
 *               antialias; without it, it would be "nearest"
 *
 * Pillow has no filters without antialias: "bilinear" is then that of torchvision with
 * antialias=False, and OpenCV's INTER_LINEAR, except for rounding. Their bicubic differs: a =
 * -0.75.
 *
 * @param height     new height; with width 0, the new length of the shorter side
 * @param width      new width, or 0
 * @param filter     one of the four; NULL is "bilinear"
 * @param antialias  when shrinking, give all pixels that an output covers a weight; should be true,
 *                   unless a model was trained without it
 *
 * Threads: the one that builds the dataset.
 */
SLUICE_API_CHECKED sluice_status sluice_dataset_resize(sluice_dataset *dataset, uint32_t height,
                                                       uint32_t width, const char *filter,
                                                       bool antialias);

/**
 * Crops the center; positions outside of a smaller image are zero.
 *
 * Threads: the one that builds the dataset.
 */
SLUICE_API_CHECKED sluice_status sluice_dataset_center_crop(sluice_dataset *dataset,
                                                            uint32_t height, uint32_t width);

/**
 * Crops at a random position of the image, after padding it with `padding` zeros on each side.
 *
 * Threads: the one that builds the dataset.
 */
SLUICE_API_CHECKED sluice_status sluice_dataset_random_crop(sluice_dataset *dataset,
                                                            uint32_t height, uint32_t width,
                                                            uint32_t padding);

/** Optional arguments of sluice_dataset_random_resized_crop(), initialized by
 * sluice_random_resized_crop_config_init(). */
typedef struct sluice_random_resized_crop_config {
    size_t struct_size; /**< bytes; set by sluice_random_resized_crop_config_init() */
    double scale[2];    /**< lowest and highest fraction of the area; both 0: 0.08 and 1 */
    double ratio[2];    /**< lowest and highest width / height; drawn uniformly in the logarithm;
                             both 0: 3/4 and 4/3 */
    bool no_antialias;  /**< like antialias = false of sluice_dataset_resize() */
    const char *filter; /**< as in sluice_dataset_resize(); NULL: "bilinear" */
} sluice_random_resized_crop_config;

/** Sets every field to its default, zero, in a struct of `size` bytes. Threads: any. */
SLUICE_API void
sluice_random_resized_crop_config_init_size(sluice_random_resized_crop_config *config, size_t size);

/**
 * sluice_random_resized_crop_config_init_size() with the size of the caller's struct.
 *
 * Threads: any.
 */
static inline void sluice_random_resized_crop_config_init(sluice_random_resized_crop_config *config)
{
    sluice_random_resized_crop_config_init_size(config, sizeof(*config));
}

/**
 * Crops a random part and resizes it: the crop of Szegedy et al., "Going deeper with convolutions"
 * (2015), with the draws of torchvision's RandomResizedCrop.
 *
 * @param height, width  size of the result, in pixels; width 0: a square
 * @param config         NULL: all defaults
 *
 * Threads: the one that builds the dataset.
 */
SLUICE_API_CHECKED sluice_status
sluice_dataset_random_resized_crop(sluice_dataset *dataset, uint32_t height, uint32_t width,
                                   const sluice_random_resized_crop_config *config);

/** Optional arguments of sluice_dataset_letterbox(), initialized by sluice_letterbox_config_init().
 */
typedef struct sluice_letterbox_config {
    size_t struct_size;  /**< bytes; set by sluice_letterbox_config_init() */
    const uint8_t *fill; /**< value of the padding, in every channel; NULL: 114 */
    uint8_t mask_fill;   /**< class number of the padding in masks, such as 0 or 255 */
    bool no_antialias;   /**< like antialias = false of sluice_dataset_resize() */
    const char *filter;  /**< as in sluice_dataset_resize(); NULL: "bilinear" */
} sluice_letterbox_config;

/** Sets every field to its default, zero, in a struct of `size` bytes. Threads: any. */
SLUICE_API void sluice_letterbox_config_init_size(sluice_letterbox_config *config, size_t size);

/** sluice_letterbox_config_init_size() with the size of the caller's struct. Threads: any. */
static inline void sluice_letterbox_config_init(sluice_letterbox_config *config)
{
    sluice_letterbox_config_init_size(config, sizeof(*config));
}

/**
 * Resizes the whole image to the largest size that fits, and pads it: Ultralytics' LetterBox. The
 * new height and width are the old ones times r = min(height / old height, width / old width),
 * rounded to nearest, halves up. The image is centred; if the padding is odd, the larger half is on
 * the right and at the bottom.
 *
 * @param height, width  size of the result, in pixels; width 0: a square
 * @param config         NULL: all defaults
 *
 * Threads: the one that builds the dataset.
 */
SLUICE_API_CHECKED sluice_status sluice_dataset_letterbox(sluice_dataset *dataset, uint32_t height,
                                                          uint32_t width,
                                                          const sluice_letterbox_config *config);

/**
 * Changes brightness, contrast, saturation and hue of each image by random amounts, in random
 * order: torchvision's ColorJitter. The factors of the first three are drawn from max(0, 1 - x) to
 * 1 + x, the shift of the hue, in turns, from -x to x. Saturation and hue do not change images of
 * one channel. The stage `color_jitter` of pipeline texts also takes ranges LOW,HIGH.
 *
 * @param brightness, contrast, saturation  largest change of the factor, at least 0; 0: no change
 * @param hue                               largest shift of the hue, 0 to 0.5
 *
 * Threads: the one that builds the dataset.
 */
SLUICE_API_CHECKED sluice_status sluice_dataset_color_jitter(sluice_dataset *dataset,
                                                             double brightness, double contrast,
                                                             double saturation, double hue);

/**
 * Changes brightness, contrast, saturation and hue of each image by one matrix, with one rounding:
 * DALI's color_twist for uint8. Each amount is drawn uniformly in its range. With b, c, s and h for
 * brightness, contrast, saturation and hue a pixel p = (R, G, B) becomes
 *
 *     b c A H S B p + 128 b (1 - c)
 *
 * clamped and rounded to nearest. B converts to YIQ (rows .299 .587 .114, .596 -.274 -.321,
 * .211 -.523 .311), S multiplies I and Q by s, H rotates (I, Q) by h (I' = I cos h + Q sin h),
 * and A is the inverse of B.
 *
 * @param brightness, contrast, saturation  (2) lowest and highest factor, 0 to 1000; NULL: 1
 * @param hue                               (2) lowest and highest angle in degrees; NULL: 0
 *
 * Returns: E_INVALID also if an image does not have three channels.
 *
 * Source: NVIDIA DALI, dali/operators/image/color/color_twist.h.
 *
 * Threads: the one that builds the dataset.
 */
SLUICE_API_CHECKED sluice_status sluice_dataset_color_twist(sluice_dataset *dataset,
                                                            const double *brightness,
                                                            const double *contrast,
                                                            const double *saturation,
                                                            const double *hue);

/**
 * Sets the three channels to the luma with probability p: torchvision's RandomGrayscale. Images of
 * one channel do not change.
 *
 * Threads: the one that builds the dataset.
 */
SLUICE_API_CHECKED sluice_status sluice_dataset_random_grayscale(sluice_dataset *dataset, double p);

/**
 * Inverts the values with probability p: torchvision's RandomInvert.
 *
 * Threads: the one that builds the dataset.
 */
SLUICE_API_CHECKED sluice_status sluice_dataset_random_invert(sluice_dataset *dataset, double p);

/**
 * Keeps the upper `bits` bits, 0 to 8, of each value with probability p: torchvision's
 * RandomPosterize.
 *
 * Threads: the one that builds the dataset.
 */
SLUICE_API_CHECKED sluice_status sluice_dataset_random_posterize(sluice_dataset *dataset,
                                                                 uint32_t bits, double p);

/**
 * Inverts the values of at least `threshold`, 0 to 256, with probability p: torchvision's
 * RandomSolarize.
 *
 * Threads: the one that builds the dataset.
 */
SLUICE_API_CHECKED sluice_status sluice_dataset_random_solarize(sluice_dataset *dataset,
                                                                double threshold, double p);

/**
 * Stretches the values of each channel to 0..255 with probability p: torchvision's
 * RandomAutocontrast.
 *
 * Threads: the one that builds the dataset.
 */
SLUICE_API_CHECKED sluice_status sluice_dataset_random_autocontrast(sluice_dataset *dataset,
                                                                    double p);

/**
 * Equalizes the histogram of each channel with probability p: torchvision's RandomEqualize.
 *
 * Threads: the one that builds the dataset.
 */
SLUICE_API_CHECKED sluice_status sluice_dataset_random_equalize(sluice_dataset *dataset, double p);

/**
 * Sets a random rectangle to a value with probability p: torchvision's RandomErasing. Zhong et al.,
 * "Random erasing data augmentation" (2017). The area A of the rectangle is uniform in scale times
 * the area of the image; the logarithm of its ratio R is uniform. Its height is sqrt(A R) and its
 * width sqrt(A / R), rounded, at a random position. A rectangle that is not smaller than the image
 * is drawn again, up to 10 times in all; then the image does not change. Masks, boxes and points do
 * not change.
 *
 * Before normalize, to_dtype and to_chw the image has bytes. After one of these, which is
 * torchvision's usual place, the value is one of the converted image: 0 is the mean. There it runs
 * on the workers, and so do the conversions before it; only flips and to_chw may follow.
 *
 * @param p            the probability
 * @param scale        (2) lowest and highest fraction of the area, 0 to 1; NULL: 0.02 and 0.33
 * @param ratio        (2) lowest and highest height / width, 0.001 to 1000; NULL: 0.3 and 3.3
 * @param value        (value_count) values of the rectangle: whole numbers from 0 to 255 for bytes,
 *                     else -65504 to 65504; NULL: 0
 * @param value_count  1, or the number of channels of the image; not used if value is NULL
 *
 * Threads: the one that builds the dataset.
 */
SLUICE_API_CHECKED sluice_status sluice_dataset_random_erasing(sluice_dataset *dataset, double p,
                                                               const double *scale,
                                                               const double *ratio,
                                                               const double *value,
                                                               uint32_t value_count);

/**
 * The same with a random value for each pixel and channel: torchvision's value="random". Values
 * have the normal distribution with mean 0 and standard deviation 1, by the Box-Muller transform.
 * It must come after normalize or to_dtype.
 *
 * @param p             the probability
 * @param scale, ratio  as in sluice_dataset_random_erasing()
 *
 * Threads: the one that builds the dataset.
 */
SLUICE_API_CHECKED sluice_status sluice_dataset_random_erasing_normal(sluice_dataset *dataset,
                                                                      double p, const double *scale,
                                                                      const double *ratio);

/**
 * Changes the sharpness with probability p: torchvision's RandomAdjustSharpness. With m the
 * weighted mean of a pixel (weight 5) and its 8 neighbours (weight 1 each), rounded, a value v
 * becomes v + (1 - factor) (m - v), truncated. The outer pixels of the image do not change.
 *
 * @param factor  0 smooths, 1 changes nothing, 2 sharpens; up to 1e6
 * @param p       the probability
 *
 * Threads: the one that builds the dataset.
 */
SLUICE_API_CHECKED sluice_status sluice_dataset_random_adjust_sharpness(sluice_dataset *dataset,
                                                                        double factor, double p);

/**
 * Blurs by a Gaussian filter with a random sigma: torchvision's GaussianBlur. The filter is
 * separable. Its weights in each direction are exp(-x^2 / (2 sigma^2)), divided by their sum, for x
 * from -(kernel_size - 1) / 2 to (kernel_size - 1) / 2. Outside, the image is reflected at its
 * outer pixels (reflect padding). Results are rounded once. torchvision uses the product of the two
 * kernels, so values close to a half may differ by 1.
 *
 * @param kernel_size  odd, at most 127
 * @param low, high    sigma is uniform in [low, high), above 0
 *
 * Threads: the one that builds the dataset.
 */
SLUICE_API_CHECKED sluice_status sluice_dataset_gaussian_blur(sluice_dataset *dataset,
                                                              uint32_t kernel_size, double low,
                                                              double high);

/** Flips left to right with probability p. Threads: the one that builds the dataset. */
SLUICE_API_CHECKED sluice_status sluice_dataset_random_horizontal_flip(sluice_dataset *dataset,
                                                                       double p);

/**
 * Flips upside down with probability p. The workers write the lines of a flipped image in reverse
 * order. GetNext does it only if colour stages or warps come after sluice_dataset_device(), so
 * sluice_dataset_offload() must not follow it.
 *
 * Threads: the one that builds the dataset.
 */
SLUICE_API_CHECKED sluice_status sluice_dataset_random_vertical_flip(sluice_dataset *dataset,
                                                                     double p);

/**
 * Flips left to right or upside down with probability p, and exchanges points that change their
 * meaning by a flip: the left eye of a flipped face is the right one. In columns of points
 * (SLUICE_ROLE_POINTS), points i and j change places, together with the rows that belong to them.
 *
 * @param swap    pairs of indexes of points, from 0, such as "1:2,3:4"; at most 64 pairs, each
 *                point in one of them. NULL or "": none. A pair of which a sample has neither point
 *                is ignored; a sample with only one of the two is a bad sample (E_CORRUPT)
 * @param points  names of the columns of points, separated by commas; NULL or "": all
 *
 * Returns: E_INVALID p is not within 0 to 1, another form of swap, no column of points, or one with
 *          fewer points, the sticky error of building; E_NO_MEMORY.
 *
 * Threads: the one that builds the dataset.
 */
SLUICE_API_CHECKED sluice_status sluice_dataset_random_horizontal_flip_points(
    sluice_dataset *dataset, double p, const char *swap, const char *points);

/**
 * The same for a flip upside down (sluice_dataset_random_vertical_flip()).
 *
 * Threads: the one that builds the dataset.
 */
SLUICE_API_CHECKED sluice_status sluice_dataset_random_vertical_flip_points(sluice_dataset *dataset,
                                                                            double p,
                                                                            const char *swap,
                                                                            const char *points);

/**
 * Computes (value - mean) / std for each channel, as fmaf(x, scale, bias) with one rounding.
 *
 * @param mean      (channels)
 * @param std       (channels), not 0
 * @param channels  1 to 4; with 1, images may have any number of channels
 * @param range     value of white in the units of mean and std: 1 for values in 0..1, 255 for
 *                  0..255
 * @param dtype     SLUICE_F32, SLUICE_F16 or SLUICE_BF16
 *
 * Threads: the one that builds the dataset.
 */
SLUICE_API_CHECKED sluice_status sluice_dataset_normalize(sluice_dataset *dataset,
                                                          const double *mean, const double *std,
                                                          uint32_t channels, double range,
                                                          sluice_dtype dtype);

/**
 * Casts to f32, f16, bf16, or from u8 to u8; `scale` maps bytes to 0..1.
 *
 * Threads: the one that builds the dataset.
 */
SLUICE_API_CHECKED sluice_status sluice_dataset_to_dtype(sluice_dataset *dataset,
                                                         sluice_dtype dtype, bool scale);

/** Transposes (H, W, C) to (C, H, W). Threads: the one that builds the dataset. */
SLUICE_API_CHECKED sluice_status sluice_dataset_to_chw(sluice_dataset *dataset);

/**
 * Chooses the images that the next stage works on, in samples with several images: the argument
 * `columns` of pipeline texts. Without it a stage works on all images. The next stage must be
 * color_jitter, another stage that changes colours, normalize, to_dtype or to_chw. Stages that move
 * pixels take no columns: all images, masks, boxes and points of a sample have the same geometry.
 *
 * @param columns  comma-separated names of columns, each at most once
 *
 * Returns: E_INVALID a NULL or empty text; the sticky error of building. The next stage returns
 *          E_INVALID if there is no such column, if a column is not an image, or if the stage
 *          takes no columns.
 *
 * Threads: the one that builds the dataset.
 */
SLUICE_API_CHECKED sluice_status sluice_dataset_for_columns(sluice_dataset *dataset,
                                                            const char *columns);

/**
 * Sets where the last stage runs; it must be random_horizontal_flip, normalize, to_dtype or to_chw.
 *
 * @param place  "auto", "host" (by the workers) or "device" (by GetNext); the pixels are the same
 *
 * Threads: the one that builds the dataset.
 */
SLUICE_API_CHECKED sluice_status sluice_dataset_offload(sluice_dataset *dataset, const char *place);

/**
 * Moves all later stages of the image from the workers to GetNext, which runs them on the device in
 * one pass over the image: warps, colours, erasing, flips, normalisation, type and layout, and
 * mixup and cutmix. Workers draw the random numbers, and send the parameters of up to 8
 * operations with each row. The results are bit-identical to those of the workers.
 *
 * Crops, resizes, contrast, autocontrast, equalize, blurring and sharpening run on the workers, and
 * must come before this stage. Warps after it must be adjacent, with equal filters and fills; then
 * no warp may come before it. Masks, boxes, points and further images
 * stay on the workers. With colour stages or warps after this stage, width and height are at most
 * 65535.
 *
 * Returns: E_INVALID there is no decoded image, or the pipeline has this stage already. Later calls
 *          return E_INVALID for a stage that the device cannot run. Opening the dataset returns
 *          E_INVALID for a later stage with offload=host, for a later map that uses the image, and
 *          for too large images.
 *
 * Threads: the one that builds the dataset.
 */
SLUICE_API_CHECKED sluice_status sluice_dataset_device(sluice_dataset *dataset);

SLUICE_END_DECLS

#endif
