/* SPDX-License-Identifier: Apache-2.0 */
#include "warp_matrix.h"

#include <math.h>

const warp_matrix warp_identity = {{1, 0, 0, 0, 1, 0, 0, 0, 1}};

/* ---- angles ------------------------------------------------------------------------------------
 */

/* The sine of an angle from -45 to 45 degrees; `odd` false: its cosine. A Taylor series, truncated
 * where terms are below 2^-60. */
static double series(double degrees, bool odd)
{
    const double x = degrees * (3.14159265358979323846 / 180);
    double term = odd ? x : 1;
    double sum = term;

    for (int i = odd ? 2 : 1; i < 20; i += 2) {
        term *= -x * x / (i * (i + 1));
        sum += term;
    }
    return sum;
}

void warp_turn(double degrees, double *sine, double *cosine)
{
    const double rest = remainder(degrees, 90);
    const double quarters = remainder((degrees - rest) / 90, 4);
    const double s = series(rest, true);
    const double c = series(rest, false);

    *sine = quarters == 0 ? s : quarters == 1 ? c : quarters == -1 ? -c : -s;
    *cosine = quarters == 0 ? c : quarters == 1 ? -s : quarters == -1 ? s : -c;
}

/* ---- maps --------------------------------------------------------------------------------------
 */

warp_matrix warp_about(const warp_affine *affine, const double from[2], const double to[2])
{
    const double to_x = to[0] + affine->translate[0];
    const double to_y = to[1] + affine->translate[1];
    warp_matrix r = {{0, 0, 0, 0, 0, 0, 0, 0, 1}};
    double rotation[2];
    double sheared[2]; /* sine and cosine of degrees - shear[1] */
    double shear_x[2];
    double shear_y[2];
    double a;
    double b;
    double c;
    double d;

    warp_turn(affine->degrees, &rotation[0], &rotation[1]);
    warp_turn(affine->degrees - affine->shear[1], &sheared[0], &sheared[1]);
    warp_turn(affine->shear[0], &shear_x[0], &shear_x[1]);
    warp_turn(affine->shear[1], &shear_y[0], &shear_y[1]);
    a = sheared[1] / shear_y[1];
    b = -(a * (shear_x[0] / shear_x[1]) + rotation[0]);
    c = sheared[0] / shear_y[1];
    d = rotation[1] - c * (shear_x[0] / shear_x[1]);
    r.m[0] = d / affine->scale;
    r.m[1] = -b / affine->scale;
    r.m[3] = -c / affine->scale;
    r.m[4] = a / affine->scale;
    r.m[2] = from[0] - r.m[0] * to_x - r.m[1] * to_y;
    r.m[5] = from[1] - r.m[3] * to_x - r.m[4] * to_y;
    return r;
}

warp_matrix warp_of_affine(const warp_affine *affine, uint32_t width, uint32_t height)
{
    const double centre[2] = {width * 0.5, height * 0.5};

    return warp_about(affine, centre, centre);
}

/* The length that holds a range of `extent` on both sides of the middle of a side. */
static uint32_t held_length(double extent, double middle)
{
    const double high = ceil(trunc((middle + extent) * 1e4) * 1e-4);
    const double low = floor(trunc((middle - extent) * 1e4) * 1e-4);

    return (uint32_t)(high - low);
}

warp_matrix warp_of_rotation(double degrees, uint32_t width, uint32_t height, uint32_t *width_out,
                             uint32_t *height_out)
{
    const warp_affine affine = {.degrees = degrees, .scale = 1};
    const double from[2] = {width * 0.5, height * 0.5};
    const warp_matrix about = warp_about(&affine, from, from);
    const double x = fabs(about.m[0]) * from[0] + fabs(about.m[1]) * from[1];
    const double y = fabs(about.m[3]) * from[0] + fabs(about.m[4]) * from[1];
    const bool is_exact = remainder(degrees, 90) == 0;
    const double to[2] = {is_exact ? x : held_length(x, from[0]) * 0.5,
                          is_exact ? y : held_length(y, from[1]) * 0.5};

    *width_out = (uint32_t)(2 * to[0]);
    *height_out = (uint32_t)(2 * to[1]);
    return warp_about(&affine, from, to);
}

enum { UNKNOWNS = 8 };

/* Solves 8 equations by Gaussian elimination with partial pivoting. False: they are singular. */
static bool solve(double rows[UNKNOWNS][UNKNOWNS + 1])
{
    for (int i = 0; i < UNKNOWNS; i++) {
        int best = i;

        for (int k = i + 1; k < UNKNOWNS; k++) {
            best = fabs(rows[k][i]) > fabs(rows[best][i]) ? k : best;
        }
        if (!(fabs(rows[best][i]) > 1e-9)) {
            return false;
        }
        for (int j = 0; j <= UNKNOWNS; j++) {
            const double kept = rows[i][j];

            rows[i][j] = rows[best][j];
            rows[best][j] = kept;
        }
        for (int k = 0; k < UNKNOWNS; k++) {
            const double factor = k != i ? rows[k][i] / rows[i][i] : 0;

            for (int j = i; j <= UNKNOWNS && k != i; j++) {
                rows[k][j] -= factor * rows[i][j];
            }
        }
    }
    return true;
}

bool warp_of_corners(const double corners[8], uint32_t width, uint32_t height,
                     warp_matrix *matrix_out)
{
    const double right = (double)width - 1;
    const double bottom = (double)height - 1;
    const double from[8] = {0, 0, right, 0, right, bottom, 0, bottom};
    double rows[UNKNOWNS][UNKNOWNS + 1];
    warp_matrix inverse;

    /* For each pair of points x = (a X + b Y + c) / (g X + h Y + 1), and the same for y. */
    for (int i = 0; i < 4; i++) {
        const double to_x = corners[2 * i];
        const double to_y = corners[2 * i + 1];
        const double x = from[2 * i];
        const double y = from[2 * i + 1];
        const double of_x[] = {to_x, to_y, 1, 0, 0, 0, -x * to_x, -x * to_y, x};
        const double of_y[] = {0, 0, 0, to_x, to_y, 1, -y * to_x, -y * to_y, y};

        for (int j = 0; j <= UNKNOWNS; j++) {
            rows[2 * i][j] = of_x[j];
            rows[2 * i + 1][j] = of_y[j];
        }
    }
    if (!solve(rows)) {
        return false;
    }
    for (int i = 0; i < UNKNOWNS; i++) {
        matrix_out->m[i] = rows[i][UNKNOWNS] / rows[i][i];
    }
    matrix_out->m[8] = 1;
    return warp_invert(matrix_out, &inverse);
}

warp_matrix warp_compose(const warp_matrix *first, const warp_matrix *second)
{
    warp_matrix product;

    for (int i = 0; i < 3; i++) {
        for (int j = 0; j < 3; j++) {
            product.m[3 * i + j] = first->m[3 * i] * second->m[j] +
                                   first->m[3 * i + 1] * second->m[3 + j] +
                                   first->m[3 * i + 2] * second->m[6 + j];
        }
    }
    return product;
}

warp_matrix warp_mirror(const warp_matrix *matrix, uint32_t width, uint32_t height)
{
    const warp_matrix mirror = {
        {width > 0 ? -1 : 1, 0, width, 0, height > 0 ? -1 : 1, height, 0, 0, 1}};
    const warp_matrix half = warp_compose(&mirror, matrix);

    return warp_compose(&half, &mirror);
}

bool warp_invert(const warp_matrix *matrix, warp_matrix *inverse_out)
{
    const double *m = matrix->m;
    const double minors[9] = {
        m[4] * m[8] - m[5] * m[7], m[2] * m[7] - m[1] * m[8], m[1] * m[5] - m[2] * m[4],
        m[5] * m[6] - m[3] * m[8], m[0] * m[8] - m[2] * m[6], m[2] * m[3] - m[0] * m[5],
        m[3] * m[7] - m[4] * m[6], m[1] * m[6] - m[0] * m[7], m[0] * m[4] - m[1] * m[3]};
    const double determinant = m[0] * minors[0] + m[1] * minors[3] + m[2] * minors[6];

    if (!(fabs(determinant) > 1e-12) || !isfinite(determinant)) {
        return false;
    }
    for (int i = 0; i < 9; i++) {
        inverse_out->m[i] = minors[i] / determinant;
    }
    return true;
}

bool warp_is_affine(const warp_matrix *matrix)
{
    return matrix->m[6] == 0 && matrix->m[7] == 0;
}

double warp_point(const warp_matrix *matrix, double x, double y, double point_out[2])
{
    const double *m = matrix->m;
    const double divisor = m[6] * x + m[7] * y + m[8];

    point_out[0] = (m[0] * x + m[1] * y + m[2]) / divisor;
    point_out[1] = (m[3] * x + m[4] * y + m[5]) / divisor;
    return divisor;
}

void warp_bounds(const double points[8], double x_out[2], double y_out[2])
{
    for (int axis = 0; axis < 2; axis++) {
        double *range = axis == 0 ? x_out : y_out;

        range[0] = HUGE_VAL;
        range[1] = -HUGE_VAL;
        for (int i = axis; i < 8; i += 2) {
            range[0] = points[i] < range[0] ? points[i] : range[0];
            range[1] = points[i] > range[1] ? points[i] : range[1];
        }
    }
}
