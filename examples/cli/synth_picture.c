/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A class is a shape filled with a pattern. Position, size, rotation and colours of the shape, the
 * background, other objects, light and noise are random for each picture. So no single pixel
 * determines the class, but local edges and textures do.
 */
#include "synth_picture.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>

enum { SHAPES = 5, PATTERNS = 4, LOOKS = SHAPES * PATTERNS };

static const char *const shape_names[SHAPES] = {"disc", "square", "triangle", "cross", "ring"};
static const char *const pattern_names[PATTERNS] = {"stripes", "checks", "dots", "plain"};

/* Number of other objects in a picture; the last one is in front of the main object. */
enum { CLUTTER = 3 };

typedef struct colour {
    double channel[3]; /* 0 to 1 */
} colour;

/* A figure in the picture. Lengths are in units of the picture's width. */
typedef struct figure {
    uint32_t shape;
    uint32_t pattern;
    double x, y;     /* centre */
    double cosine;   /* cosine of the rotation angle, divided by the radius */
    double sine;     /* sine of the rotation angle, divided by the radius */
    double periods;  /* periods of the pattern per radius */
    double phase[2]; /* phase of the pattern */
    colour inks[2];
} figure;

typedef struct scene {
    colour ground[2]; /* the two colours of the background's gradient */
    double slope[2];  /* gradient of the background, across and down */
    double light[2];  /* gradient of the brightness, across and down */
    double gain;      /* factor of the brightness */
    double noise;     /* maximum noise of a channel */
    figure clutter[CLUTTER];
    figure object;
} scene;

/* ---- random numbers ------------------------------------------------------------------------ */

/* Returns the next splitmix64 number. */
static uint64_t next_number(uint64_t *state)
{
    uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);

    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

/* A random number in [low, high). */
static double between(uint64_t *state, double low, double high)
{
    return low + (high - low) * ((double)(next_number(state) >> 11) * 0x1p-53);
}

static uint64_t first_state(uint64_t seed, uint32_t class_index, uint32_t index)
{
    uint64_t state = seed;

    state = next_number(&state) ^ class_index;
    state = next_number(&state) ^ index;
    return next_number(&state);
}

/* Converts hue, saturation and value, each 0 to 1. */
static colour make_colour(double hue, double saturation, double value)
{
    colour made;

    for (int i = 0; i < 3; i++) {
        const double turned = hue + (3 - i) / 3.0;
        const double away = fabs(6.0 * (turned - floor(turned)) - 3.0) - 1.0;

        made.channel[i] = value * (1.0 - saturation * (1.0 - fmin(fmax(away, 0.0), 1.0)));
    }
    return made;
}

/* ---- what is in a picture ------------------------------------------------------------------ */

static void turn(figure *f, double radius, uint64_t *state)
{
    const double angle = between(state, 0.0, 6.283185307179586);

    f->cosine = cos(angle) / radius;
    f->sine = sin(angle) / radius;
}

/* Each shape is combined with each pattern, so neither of them alone determines the class. */
static void class_look(uint32_t class_index, uint32_t *shape, uint32_t *pattern)
{
    *shape = class_index % SHAPES;
    *pattern = (class_index / SHAPES + class_index) % PATTERNS;
}

/* Chooses the main object. The class determines shape and pattern and, with more than 20 classes, a
 * range of hues. */
static void choose_object(figure *f, uint32_t class_index, uint32_t classes, uint64_t *state)
{
    const uint32_t hues = (classes + LOOKS - 1) / LOOKS;
    const double hue = (class_index / LOOKS + between(state, 0.1, 0.9)) / hues;
    const double radius = between(state, 0.26, 0.42);
    const bool is_dark_first = between(state, 0.0, 1.0) < 0.5;

    class_look(class_index, &f->shape, &f->pattern);
    f->x = between(state, 0.35, 0.65);
    f->y = between(state, 0.35, 0.65);
    turn(f, radius, state);
    f->periods = between(state, 1.8, 2.6);
    f->phase[0] = between(state, 0.0, 1.0);
    f->phase[1] = between(state, 0.0, 1.0);
    f->inks[is_dark_first] = make_colour(hue, between(state, 0.2, 0.9), between(state, 0.6, 1.0));
    f->inks[!is_dark_first] =
        make_colour(between(state, 0.0, 1.0), between(state, 0.0, 0.8), between(state, 0.1, 0.4));
}

static void choose_clutter(figure *f, uint64_t *state)
{
    f->shape = (uint32_t)between(state, 0.0, SHAPES);
    f->pattern = (uint32_t)between(state, 0.0, PATTERNS);
    f->x = between(state, 0.0, 1.0);
    f->y = between(state, 0.0, 1.0);
    turn(f, between(state, 0.05, 0.13), state);
    f->periods = between(state, 0.7, 1.2);
    f->phase[0] = between(state, 0.0, 1.0);
    f->phase[1] = between(state, 0.0, 1.0);
    for (int i = 0; i < 2; i++) {
        f->inks[i] = make_colour(between(state, 0.0, 1.0), between(state, 0.0, 0.9),
                                 between(state, 0.1, 1.0));
    }
}

static void choose_scene(scene *s, uint32_t class_index, uint32_t classes, uint64_t *state)
{
    for (int i = 0; i < 2; i++) {
        s->ground[i] = make_colour(between(state, 0.0, 1.0), between(state, 0.0, 0.7),
                                   between(state, 0.1, 0.9));
        s->slope[i] = between(state, -0.5, 0.5);
        s->light[i] = between(state, -0.4, 0.4);
    }
    s->gain = between(state, 0.6, 1.1);
    s->noise = between(state, 0.02, 0.12);
    for (int i = 0; i < CLUTTER; i++) {
        choose_clutter(&s->clutter[i], state);
    }
    choose_object(&s->object, class_index, classes, state);
}

/* ---- painting ------------------------------------------------------------------------------ */

/* True if the point is in the shape. Shapes roughly fill the unit circle. */
static bool is_inside(uint32_t shape, double u, double v)
{
    const double far = u * u + v * v;

    switch (shape) {
    case 0: /* disc */
        return far < 0.8;
    case 1: /* square */
        return fmax(fabs(u), fabs(v)) < 0.8;
    case 2: /* triangle, a corner at (0, 1) */
        return v > -0.6 && v + 1.732 * fabs(u) < 1.1;
    case 3: /* cross */
        return fmin(fabs(u), fabs(v)) < 0.33 && fmax(fabs(u), fabs(v)) < 1.0;
    default: /* ring */
        return far > 0.3 && far < 1.0;
    }
}

/* Index of the ink at a point; u and v are in periods of the pattern. */
static int ink_at(uint32_t pattern, double u, double v)
{
    const double across = u - floor(u);
    const double down = v - floor(v);

    switch (pattern) {
    case 0: /* stripes */
        return across < 0.5;
    case 1: /* checks */
        return (across < 0.5) != (down < 0.5);
    case 2: /* dots */
        return (across - 0.5) * (across - 0.5) + (down - 0.5) * (down - 0.5) < 0.11;
    default: /* plain */
        return 0;
    }
}

/* Returns the figure's colour at the point; NULL if the point is outside. */
static const colour *colour_at(const figure *f, double x, double y)
{
    const double u = (x - f->x) * f->cosine + (y - f->y) * f->sine;
    const double v = (y - f->y) * f->cosine - (x - f->x) * f->sine;

    if (!is_inside(f->shape, u, v)) {
        return NULL;
    }
    return &f->inks[ink_at(f->pattern, u * f->periods + f->phase[0], v * f->periods + f->phase[1])];
}

/* Adds the colour of the frontmost figure at a point, or of the background. */
static void add_point(const scene *s, double x, double y, double sum[3])
{
    const colour *found = colour_at(&s->clutter[CLUTTER - 1], x, y);

    if (found == NULL) {
        found = colour_at(&s->object, x, y);
    }
    for (int i = 0; i < CLUTTER - 1 && found == NULL; i++) {
        found = colour_at(&s->clutter[i], x, y);
    }
    if (found != NULL) {
        for (int c = 0; c < 3; c++) {
            sum[c] += found->channel[c];
        }
    } else {
        const double share = 0.5 + s->slope[0] * (x - 0.5) + s->slope[1] * (y - 0.5);

        for (int c = 0; c < 3; c++) {
            sum[c] += s->ground[0].channel[c] * share + s->ground[1].channel[c] * (1.0 - share);
        }
    }
}

void synth_class_name(uint32_t class_index, uint32_t classes, char *name)
{
    const uint32_t hues = (classes + LOOKS - 1) / LOOKS;
    uint32_t shape;
    uint32_t pattern;
    int length;

    class_look(class_index, &shape, &pattern);
    length = snprintf(name, SYNTH_NAME_SIZE, "%03u-%s-%s", class_index, shape_names[shape],
                      pattern_names[pattern]);
    if (hues > 1) {
        snprintf(name + length, SYNTH_NAME_SIZE - (size_t)length, "-hue%u", class_index / LOOKS);
    }
}

void synth_paint(uint64_t seed, uint32_t class_index, uint32_t classes, uint32_t index,
                 uint32_t size, uint8_t *pixels)
{
    uint64_t state = first_state(seed, class_index, index);
    scene s;

    choose_scene(&s, class_index, classes, &state);
    for (uint32_t row = 0; row < size; row++) {
        for (uint32_t column = 0; column < size; column++) {
            const double x = (column + 0.5) / size;
            const double y = (row + 0.5) / size;
            const double light = s.gain * (1.0 + s.light[0] * (x - 0.5) + s.light[1] * (y - 0.5));
            double sum[3] = {0};

            for (int i = 0; i < 4; i++) { /* a pixel is the mean of four points */
                add_point(&s, x + (i % 2 - 0.5) / (2.0 * size), y + (i / 2 - 0.5) / (2.0 * size),
                          sum);
            }
            for (int c = 0; c < 3; c++) {
                const double noise =
                    s.noise * (between(&state, -1.0, 1.0) + between(&state, -1.0, 1.0)) / 2.0;
                const double value = 255.0 * (light * sum[c] / 4.0 + noise);

                *pixels++ = (uint8_t)(fmin(fmax(value, 0.0), 255.0) + 0.5);
            }
        }
    }
}
