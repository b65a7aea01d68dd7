/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the stages so far have done, as far as it decides which stages may follow (stage_order.h) or
 * where stages run.
 */
#ifndef SLUICE_STAGE_STATES_H
#define SLUICE_STAGE_STATES_H

typedef enum stage_state {
    STATE_NONE,      /* no state: a row of stage_order.c that needs none */
    STATE_SOURCE,    /* there is a source */
    STATE_OWN_ORDER, /* the source has an order of its own, which stages of order cannot change; by
                        the argument that selects it */
    STATE_VARYING_PARTS, /* the source is a group whose samples differ between passes */
    STATE_CHOSEN_PARTS,  /* the source is a group, not zip, whose parts select or order samples */
    STATE_ORDERED,       /* a stage of order */
    STATE_REORDERED, /* the samples at some positions differ between passes, ranks or repetitions */
    STATE_PROCESSED, /* a stage other than those of order and those of the columns of the source */
    STATE_RANDOM,    /* a stage draws random numbers */
    STATE_CHANGED,   /* a colour stage, conversion or views, before any stage that draws */
    STATE_CACHED,
    STATE_CACHED_ROWS, /* cache comes after a map, so it keeps all columns; by that map */
    STATE_MOSAIC,
    STATE_VIEWS,       /* the image has several views */
    STATE_COLORED,     /* a colour stage or a warp */
    STATE_WARPED,      /* a stage may warp the image */
    STATE_NONAFFINE,   /* a warp that is not affine */
    STATE_BOXES_FINAL, /* a stage works on boxes as all geometry leaves them (stage_def.ends_boxes)
                        */
    STATE_CONVERTED,   /* a conversion, not a flip, so no geometry may follow */
    STATE_ON_DEVICE,
    STATE_DEVICE_WARP,          /* a warp after device */
    STATE_DEVICE_WARP_ENDED,    /* another colour stage follows a warp after device */
    STATE_MAP,                  /* a map, or a filter that does not read plain columns alone */
    STATE_MAPS_BEFORE_GEOMETRY, /* a map or filter works on the image before geometry */
    STATE_MAPPED,               /* a map, or a filter that is called after geometry; also a cache of
                                   rows, since what follows the image has its values there */
    STATE_MAPS_FOLLOWERS,       /* a map reads or writes masks, boxes, points or further images */
    STATE_UNVERSIONED,          /* a map without a version */
    STATE_FILTERED,
    STATE_BUCKETED,
    STATE_PACKED, /* the columns are those of windows of tokens */
    STATE_BATCHED,
    STATE_COUNT
} stage_state;

#endif
