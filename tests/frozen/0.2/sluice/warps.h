/* SPDX-License-Identifier: Apache-2.0 */
/** @file
 * Warps: stages that rotate, shear, scale, translate, tilt or distort each image without changing
 * its size.
 *
 * They come after all crops and resizes, before normalize, to_dtype and to_chw, among colour stages
 * and flips in any order. Names, defaults, draws and formulas are those of torchvision's v2
 * transforms on uint8 tensors (warp_affine: DALI's): each pixel of the result is sampled at one
 * point of the image, by nearest neighbour or bilinear interpolation, without antialiasing.
 * Consecutive warps with the same filter and fills, also with flips between them, are fused: their
 * matrices are multiplied, so pixels that the first one would move out of the image are not lost.
 *
 * Masks are warped by nearest neighbour. A box becomes the bounding box of its four warped corners,
 * clipped to the image; boxes without remaining area are dropped. Points move with the image. All
 * images of a sample get the same draws.
 *
 * Returns: E_INVALID invalid arguments, a position where the stage is not allowed, or a perspective
 *          or elastic warp in a pipeline with the stage geometry; the sticky error of building;
 *          E_NO_MEMORY.
 */
#ifndef SLUICE_WARPS_H
#define SLUICE_WARPS_H

#include <sluice/dataset.h>

SLUICE_BEGIN_DECLS

/** How a warp samples; initialized by sluice_warp_config_init(). */
typedef struct sluice_warp_config {
    size_t struct_size;  /**< bytes; set by sluice_warp_config_init() */
    const char *filter;  /**< "nearest": the pixel that contains the point; "bilinear": the four
                              pixels around it, rounded once, halves to even; NULL: "bilinear" for a
                              perspective, sluice_dataset_elastic() and
                              sluice_dataset_warp_affine(), else "nearest" */
    const uint8_t *fill; /**< (fill_count) values outside the image; copied; NULL: 0 */
    uint32_t fill_count; /**< 1, or the number of channels of the image; not used if fill is NULL */
    uint32_t mask_fill;  /**< class number for masks outside the image, 0 to 255 */
    const double *center; /**< (2) x and y of the fixed point, in pixels, -1e6 to 1e6; (0, 0) is the
                               corner of the first pixel; copied; NULL: the centre of the image. For
                               rotations and affine warps only; else it must be NULL */
} sluice_warp_config;

/** Sets every field to its default, zero, in a struct of `size` bytes. Threads: any. */
SLUICE_API void sluice_warp_config_init_size(sluice_warp_config *config, size_t size);

/** sluice_warp_config_init_size() with the size of the caller's struct. Threads: any. */
static inline void sluice_warp_config_init(sluice_warp_config *config)
{
    sluice_warp_config_init_size(config, sizeof(*config));
}

/**
 * Rotates about the centre, or about config.center: torchvision's rotate with expand=False. Parts
 * that leave the image are cut off.
 *
 * @param degrees  counter-clockwise
 * @param config   NULL: all defaults
 *
 * Threads: the one that builds the dataset.
 */
SLUICE_API_CHECKED sluice_status sluice_dataset_rotate(sluice_dataset *dataset, double degrees,
                                                       const sluice_warp_config *config);

/**
 * Rotates by a random angle: torchvision's RandomRotation.
 *
 * @param low, high  the angle is uniform in [low, high), in degrees, counter-clockwise
 * @param config     NULL: all defaults
 *
 * Threads: the one that builds the dataset.
 */
SLUICE_API_CHECKED sluice_status sluice_dataset_random_rotation(sluice_dataset *dataset, double low,
                                                                double high,
                                                                const sluice_warp_config *config);

/**
 * Rotates about the centre and enlarges the image, so that it holds all of it: torchvision's rotate
 * with expand=True, the argument `expand` of pipeline texts. The size follows from the angle; a
 * rotation by a multiple of 90 degrees only permutes the pixels. Unlike the other warps this stage
 * comes among crops and resizes. The result is stored before a later crop or resize.
 *
 * @param degrees  counter-clockwise
 * @param config   its center is NULL; NULL: all defaults
 *
 * Source: torchvision.transforms.v2.functional.rotate
 *
 * Threads: the one that builds the dataset.
 */
SLUICE_API_CHECKED sluice_status sluice_dataset_rotate_expand(sluice_dataset *dataset,
                                                              double degrees,
                                                              const sluice_warp_config *config);

/**
 * The same by a random angle. The size of the image is random, so a later resize or crop must set
 * it.
 *
 * @param low, high  the angle is uniform in [low, high), in degrees, counter-clockwise
 * @param config     its center is NULL; NULL: all defaults
 *
 * Source: torchvision.transforms.v2.RandomRotation
 *
 * Threads: the one that builds the dataset.
 */
SLUICE_API_CHECKED sluice_status sluice_dataset_random_rotation_expand(
    sluice_dataset *dataset, double low, double high, const sluice_warp_config *config);

/**
 * Scales, shears and rotates about the centre, or about config.center, then translates:
 * torchvision's affine. With R the rotation by `degrees`, X and Y the shears, S the scale and T the
 * translation, a point p relative to the centre goes to T(R Y X S p). With the angles a of R, x of
 * X and y of Y, the matrix R Y X is
 *
 *     cos(a - y) / cos(y)   -cos(a - y) tan(x) / cos(y) - sin(a)
 *     sin(a - y) / cos(y)   -sin(a - y) tan(x) / cos(y) + cos(a)
 *
 * @param degrees    clockwise
 * @param translate  (2) pixels to the right and down; NULL: none
 * @param scale      0.001 to 1000
 * @param shear      (2) degrees along x and along y, above -90 and below 90; NULL: none
 * @param config     NULL: all defaults
 *
 * Threads: the one that builds the dataset.
 */
SLUICE_API_CHECKED sluice_status sluice_dataset_affine(sluice_dataset *dataset, double degrees,
                                                       const double *translate, double scale,
                                                       const double *shear,
                                                       const sluice_warp_config *config);

/**
 * A random affine warp, as sluice_dataset_affine(): torchvision's RandomAffine. All draws are
 * uniform in [low, high).
 *
 * @param degrees    (2) lowest and highest angle, clockwise
 * @param translate  (2) largest translation along x and y, in either direction, as a fraction of
 *                   the width and height, 0 to 1; rounded to whole pixels; NULL: none
 * @param scale      (2) lowest and highest scale, 0.001 to 1000; NULL: 1
 * @param shear      (4) lowest and highest shear along x, then along y, in degrees, above -90 and
 *                   below 90; NULL: none
 * @param config     NULL: all defaults
 *
 * Threads: the one that builds the dataset.
 */
SLUICE_API_CHECKED sluice_status sluice_dataset_random_affine(
    sluice_dataset *dataset, const double *degrees, const double *translate, const double *scale,
    const double *shear, const sluice_warp_config *config);

/**
 * Warps by a matrix M: DALI's warp_affine. Pixel (x, y) of the result is sampled at
 *
 *     (M11 x + M12 y + M13, M21 x + M22 y + M23)
 *
 * where (0, 0) is the corner of the first pixel, so its centre is at (0.5, 0.5). The image keeps
 * its size. Points outside have the fill; DALI without fill_value repeats the pixels at the edge.
 *
 * @param matrix       (6) M11, M12, M13, M21, M22, M23, each within -1e6 and 1e6
 * @param inverse_map  DALI's default, true: as above; false: M maps points of the image to points
 *                     of the result, and is inverted first
 * @param config       its filter NULL: "bilinear"; NULL: all defaults
 *
 * Returns: E_INVALID also if the matrix is singular.
 *
 * Source: NVIDIA DALI, dali/operators/image/remap/warp_affine.cc; values at the edge are
 *         torchvision's.
 *
 * Threads: the one that builds the dataset.
 */
SLUICE_API_CHECKED sluice_status sluice_dataset_warp_affine(sluice_dataset *dataset,
                                                            const double *matrix, bool inverse_map,
                                                            const sluice_warp_config *config);

/**
 * Moves the corners of the image: torchvision's perspective, with the corners of the image as its
 * startpoints. The point (X, Y) of the result, the centre of a pixel, is sampled at
 * x = (a X + b Y + c) / (g X + h Y + 1) and y = (d X + e Y + f) / (g X + h Y + 1). The coefficients
 * map the four points of corners to (0, 0), (width - 1, 0), (width - 1, height - 1) and
 * (0, height - 1). An image for which there are no such coefficients, since three points are on one
 * line, does not change.
 *
 * @param corners  (8) x and y, in pixels, to which the upper left, upper right, lower right and
 *                 lower left corner move
 * @param config   NULL: all defaults
 *
 * Threads: the one that builds the dataset.
 */
SLUICE_API_CHECKED sluice_status sluice_dataset_perspective(sluice_dataset *dataset,
                                                            const double *corners,
                                                            const sluice_warp_config *config);

/**
 * Moves the corners of the image to random points with probability p: torchvision's
 * RandomPerspective. A corner moves by whole pixels towards the centre, along x and y by 0 to
 * distortion_scale * (width or height) / 2.
 *
 * @param distortion_scale  0 to 1
 * @param p                 the probability
 * @param config            NULL: all defaults
 *
 * Threads: the one that builds the dataset.
 */
SLUICE_API_CHECKED sluice_status sluice_dataset_random_perspective(
    sluice_dataset *dataset, double distortion_scale, double p, const sluice_warp_config *config);

/**
 * Moves pixels by smooth random displacements: torchvision's ElasticTransform. Pixel (x, y) of the
 * result is sampled at (x + dx, y + dy), where
 *
 *     dx = alpha[0] / height * width / 2 * G(noise)
 *     dy = alpha[1] / width * height / 2 * G(noise)
 *
 * The noise is uniform in (-1, 1), a number for each pixel and axis, in steps of 2^-15. G is a
 * Gaussian filter with standard deviations sigma[0] along x and sigma[1] along y, and 8 * sigma[0]
 * + 1 taps for dx, 8 * sigma[1] + 1 for dy, truncated and made odd. The image is reflected at its
 * edges. With an affine or perspective warp before it, the image is sampled once.
 *
 * A point, and a corner of a box, moves by the negative displacement of its pixel (coordinates
 * rounded up), as in torchvision: an approximation for small displacements.
 *
 * @param alpha   (2) along x and along y, 0 to 1e6; NULL: 50
 * @param sigma   (2) along x and along y, 0 to 64; both 0: no filter; NULL: 5
 * @param config  NULL: all defaults, "bilinear" and 0
 *
 * Returns: E_INVALID also in a pipeline with the stage geometry, and for images of more than 2^26
 *          pixels.
 *
 * Source: torchvision.transforms.v2.ElasticTransform; Simard et al., "Best practices for
 * convolutional neural networks applied to visual document analysis" (ICDAR 2003).
 *
 * Threads: the one that builds the dataset.
 */
SLUICE_API_CHECKED sluice_status sluice_dataset_elastic(sluice_dataset *dataset,
                                                        const double *alpha, const double *sigma,
                                                        const sluice_warp_config *config);

/**
 * Applies one of 14 operations, chosen at random, with a random magnitude: torchvision's
 * TrivialAugmentWide. Müller and Hutter, "TrivialAugment: tuning-free yet state-of-the-art data
 * augmentation" (2021). m is the magnitude, 0 to 1 in equal steps; s is a random sign, 1 or -1:
 *
 * - identity, autocontrast, equalize
 * - shear along x or y by s * 0.99 * m (about the upper left corner)
 * - translation along x or y by s * 32 * m pixels, truncated
 * - rotation by s * 135 * m degrees
 * - brightness, saturation, contrast or sharpness by the factor 1 + s * 0.99 * m
 * - posterize to 8 - 6 * m bits, rounded
 * - solarize with the threshold 255 * (1 - m)
 *
 * @param num_magnitude_bins  number of magnitudes, 2 to 65536, such as 31
 * @param config              NULL: all defaults, "nearest" and 0
 *
 * Threads: the one that builds the dataset.
 */
SLUICE_API_CHECKED sluice_status sluice_dataset_trivial_augment(sluice_dataset *dataset,
                                                                uint32_t num_magnitude_bins,
                                                                const sluice_warp_config *config);

/**
 * Applies num_ops operations, each chosen at random, with one magnitude: torchvision's RandAugment.
 * Cubuk et al., "RandAugment: practical automated data augmentation with a reduced search space"
 * (2020). The operations are those of sluice_dataset_trivial_augment(), with other ranges:
 *
 * - shear by s * 0.3 * m
 * - translation by s * m * 150 / 331 of the width or height
 * - rotation by s * 30 * m degrees
 * - the factors 1 + s * 0.9 * m
 * - posterize to 8 - 4 * m bits
 *
 * @param num_ops             number of operations on each image, 0 to 16, such as 2
 * @param magnitude           m is magnitude / (num_magnitude_bins - 1); such as 9
 * @param num_magnitude_bins  above magnitude, 2 to 65536, such as 31
 * @param config              NULL: all defaults, "nearest" and 0
 *
 * Threads: the one that builds the dataset.
 */
SLUICE_API_CHECKED sluice_status sluice_dataset_rand_augment(sluice_dataset *dataset,
                                                             uint32_t num_ops, uint32_t magnitude,
                                                             uint32_t num_magnitude_bins,
                                                             const sluice_warp_config *config);

/**
 * Mixes each image with copies of it, each changed by random colour operations and warps:
 * torchvision's AugMix. The result is
 *
 *     m0 * image + m1 * (w[0] * copy 0 + w[1] * copy 1 + ...)
 *
 * in single precision, truncated. (m0, m1) and w (mixture_width) are drawn from Dirichlet
 * distributions. The operations of a copy are drawn from shear and translation along x or y,
 * rotation, posterize, solarize, autocontrast, equalize and those of `all_ops`. They have the
 * ranges of sluice_dataset_rand_augment(), except for
 *
 * - translation by s * m / 3 of the width or height
 * - posterize to 4 - 4 * m bits
 *
 * Masks, boxes, points and stage geometry are refused, as by torchvision, since each copy is warped
 * differently.
 *
 * @param severity       1 to 10: m is drawn from the first `severity` of 0, 1/9, 2/9, ..., 1;
 *                       torchvision's default is 3
 * @param mixture_width  number of copies, 1 to 8; torchvision's default is 3
 * @param chain_depth    operations of each copy, at most 8; 0 or torchvision's default, -1: 1 to 3,
 *                       at random
 * @param alpha          all parameters of both distributions, 1e-6 to 1e6; torchvision's default is
 *                       1
 * @param all_ops        also brightness, saturation, contrast and sharpness; torchvision's default
 *                       is true
 * @param config         a NULL filter is "bilinear"; mask_fill is not used; NULL: all defaults
 *
 * Returns: E_INVALID also for masks, boxes, points and stage geometry, and for more than 4 of these
 *          stages.
 *
 * Source: torchvision.transforms.v2.AugMix; Hendrycks et al., "AugMix: A Simple Data Processing
 * Method to Improve Robustness and Uncertainty" (ICLR 2020).
 *
 * Threads: the one that builds the dataset.
 */
SLUICE_API_CHECKED sluice_status sluice_dataset_aug_mix(sluice_dataset *dataset, uint32_t severity,
                                                        uint32_t mixture_width, int32_t chain_depth,
                                                        double alpha, bool all_ops,
                                                        const sluice_warp_config *config);

SLUICE_END_DECLS

#endif
