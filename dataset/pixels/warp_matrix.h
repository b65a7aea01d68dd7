/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Projective maps of the plane, from a point of a warp's result to a point of its input. Pixel i of
 * a line covers [i, i + 1), so its centre is at i + 0.5. No function of the C library whose last
 * bits differ between versions is used.
 */
#ifndef SLUICE_WARP_MATRIX_H
#define SLUICE_WARP_MATRIX_H

#include <stdbool.h>
#include <stdint.h>

/*
 * x' = (m[0] x + m[1] y + m[2]) / (m[6] x + m[7] y + m[8]), y' = (m[3] x + m[4] y + m[5]) / the
 * same. An affine map has m[6] = m[7] = 0 and m[8] = 1.
 */
typedef struct warp_matrix {
    double m[9];
} warp_matrix;

extern const warp_matrix warp_identity;

/* Sine and cosine of an angle, exact for multiples of 90 degrees. */
void warp_turn(double degrees, double *sine, double *cosine);

/* An affine warp about the centre of the image. */
typedef struct warp_affine {
    double degrees;      /* clockwise */
    double translate[2]; /* in pixels, to the right and down */
    double scale;        /* above 0 */
    double shear[2];     /* in degrees, along x and along y, between -90 and 90 */
} warp_affine;

/*
 * torchvision's affine (_get_inverse_affine_matrix): the result is the image scaled, sheared and
 * rotated about its centre, then translated.
 */
warp_matrix warp_of_affine(const warp_affine *affine, uint32_t width, uint32_t height);

/*
 * The same about another point: the point `from` of the image goes to the point `to` of the result,
 * before the translation.
 */
warp_matrix warp_about(const warp_affine *affine, const double from[2], const double to[2]);

/*
 * The rotation of an image by `degrees`, clockwise, into an image that holds it:
 * torchvision's _compute_affine_output_size(). Sides are half the extents of the rotated corners
 * about the centre, rounded away from it to whole pixels of the image; extents are truncated to
 * 0.0001 pixels first. By multiples of 90 degrees the sides are those of the image.
 */
warp_matrix warp_of_rotation(double degrees, uint32_t width, uint32_t height, uint32_t *width_out,
                             uint32_t *height_out);

/*
 * torchvision's perspective (_get_perspective_coeffs): maps the corners (0, 0), (width - 1, 0),
 * (width - 1, height - 1), (0, height - 1) of the image to the four points x, y of `corners`.
 * False: there is no such map, for example since three of the points are on one line.
 */
bool warp_of_corners(const double corners[8], uint32_t width, uint32_t height,
                     warp_matrix *matrix_out);

/* The map of warp `first` followed by warp `second`. */
warp_matrix warp_compose(const warp_matrix *first, const warp_matrix *second);

/*
 * The map of the same warp if both its input and its result are flipped: horizontally in an image
 * of this width, vertically in one of this height; 0: not.
 */
warp_matrix warp_mirror(const warp_matrix *matrix, uint32_t width, uint32_t height);

/* The map in the other direction, from the input to the result. False: there is none. */
bool warp_invert(const warp_matrix *matrix, warp_matrix *inverse_out);

bool warp_is_affine(const warp_matrix *matrix);

/* Maps a point. Returns the divisor: points with divisors of one sign are on one side of the
 * horizon. */
double warp_point(const warp_matrix *matrix, double x, double y, double point_out[2]);

/* The bounding box of four points x, y. */
void warp_bounds(const double points[8], double x_out[2], double y_out[2]);

#endif
