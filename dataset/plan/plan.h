/* SPDX-License-Identifier: Apache-2.0 */
/* The private data of a plan, for the planner and the engine. */
#ifndef SLUICE_PLAN_H
#define SLUICE_PLAN_H

#include <stdatomic.h>

#include "conversion_ops.h"
#include "custom_batch.h"
#include "custom_map.h"
#include "geometry_ops.h"
#include "group_order.h"
#include "idle_arguments.h"
#include "nested_stages.h"
#include "pass_lengths.h"
#include "plan_int.h"
#include "plan_operations.h"
#include "profiler_int.h"

/* An image of a sample, whose random numbers are drawn. */
typedef struct image_draws {
    uint64_t sample;
    uint64_t pass;
    uint32_t column; /* of the source */
    uint32_t view;
    uint8_t flips; /* those of its view, as row flags */
} image_draws;

/* A geometry or colour stage, with the key of its random numbers. */
typedef struct plan_stage {
    const dataset_stage *stage;
    const dataset_stage *outer; /* the stage of the dataset that it is, or whose parentheses it is
                                   in */
    uint64_t key;
    column_set images;        /* colour stages: the columns of the source that it works on */
    bool pads;                /* geometry: its result may extend beyond the image */
    stage_padding padding;    /* geometry: what is there */
    const point_pairs *pairs; /* a flip before geometry: points that it exchanges; NULL: none */
    column_set points;        /* with pairs: the columns of the source with these points */
    uint8_t operation;        /* colour stages: its row of the report */
} plan_stage;

/* The boxes of a sample while its geometry is drawn, for stages that depend on them. */
typedef struct plan_boxes {
    uint32_t column; /* of the source */
    uint32_t count;
    double (
        *corners)[4];   /* (count, 4) x0 y0 x1 y1 in pixels of the image before the current group */
    double (*moved)[4]; /* (count, 4) memory for plan_fuse_geometry() */
    uint8_t *dropped;   /* (count) 1: nothing is left of the box, or a stage has dropped it */
} plan_boxes;

/* A flip stage, with the key of its random numbers. */
typedef struct plan_flip {
    const dataset_stage *stage;
    uint64_t key;
    uint32_t segment;
    bool on_device;           /* true: GetNext flips the row if the row's flags request it */
    const point_pairs *pairs; /* points that it exchanges; NULL: none */
    column_set points;        /* with pairs: the columns of the source with these points */
} plan_flip;

/*
 * The conversions between two points at which an image is in a buffer. Each image of the source has
 * a first segment, from geometry (crops and resizes) to the first map that reads or writes the
 * image; the others go from one map to the next, or from the last map to the batch. segments[0] is
 * the first one of the first image.
 */
typedef struct plan_segment {
    uint32_t from; /* buffer; not valid for a first segment */
    uint32_t to;
    uint32_t end;                        /* number of stages up to the last one after which the
                                            image is still in buffer `to` */
    bool is_first;                       /* the image's first segment */
    bool follows;                        /* of a further image: only workers convert it */
    uint32_t count;                      /* number of conversions */
    uint32_t stages[DATASET_MAX_STAGES]; /* their indexes in the dataset */
    uint32_t device_count;               /* the last ones, which GetNext runs */
    uint8_t operation;                   /* row of the report of the others */
} plan_segment;

/*
 * One step of the work on a sample after the first segment: a map or filter, an array stage, or the
 * conversions of a later segment.
 */
typedef struct plan_step {
    const dataset_stage *array; /* the array stage; NULL: a map or conversions */
    uint32_t array_columns;     /* array stage: how many it reads */
    uint32_t array_outputs;     /* array stage: how many it writes */
    uint32_t image_size[2];     /* array stage of several columns: width and height */
    sluice_column output_type;  /* array stage of one column: type of its output */
    custom_map *map;            /* the map or filter; NULL: an array stage or conversions */
    uint64_t key;               /* map: key of its random numbers */
    uint32_t profiled;          /* map: its number among the maps of the profile */
    bool is_early;              /* filter: called right after read, before all steps */
    bool is_image_map;          /* map: a group calls it (plan_group.map), with the whole image */
    custom_columns outputs;     /* map: its outputs, with their sizes at this point */
    uint32_t first_output;      /* buffer of the first output; the others follow */
    sluice_column input_types[SLUICE_MAX_COLUMNS];
    uint32_t inputs[SLUICE_MAX_COLUMNS]; /* buffers of the inputs */
    int lengths[SLUICE_MAX_COLUMNS];     /* buffers of the inputs' lengths; -1: not ragged */
    int output_length; /* array stage: buffer of the output's length; -1: it does not change */
    uint32_t segment;  /* conversions: index of the segment */
    sli_conversion conversion; /* conversions: their program */
    uint8_t operation;         /* array stage or conversions: its row of the report */
} plan_step;

/* A map of whole batches. */
typedef struct plan_batch_map {
    const char *name;
    const dataset_stage *stage;           /* of the library (stage_def.batch), if `map` is NULL */
    custom_batch *map;                    /* of user code */
    uint64_t key;                         /* key of its random numbers */
    uint32_t profiled;                    /* its index among the maps of the profile */
    uint32_t buffers[SLUICE_MAX_COLUMNS]; /* buffer of each of the columns of `map` */
} plan_batch_map;

/* A further image of a sample. Workers run all of its conversions, also those that the device runs
 * for the first image. */
typedef struct plan_further_image {
    uint32_t column;             /* its column in the source, which is also its buffer */
    uint32_t segment;            /* index of its first segment */
    const dataset_stage *decode; /* NULL: no image is encoded */
    sli_conversion conversion;   /* of that segment */
} plan_further_image;

/* Bytes before the tokens of a document in a private row (packed_rows.h). */
enum { PLAN_DOCUMENT_HEAD = 64 };

/* The pack stage: documents that are joined to windows of tokens. */
typedef struct plan_pack {
    uint32_t seq;   /* tokens in a window; 0: there is no stage pack */
    bool split;     /* a document may be divided between windows */
    uint8_t pad[8]; /* the token of padding; the first element_bytes bytes count */
    size_t element_bytes;
    uint64_t most;         /* tokens in the longest document */
    sluice_column type;    /* documents */
    uint32_t document;     /* buffer of a sample's document */
    int length;            /* buffer of its length; -1: all documents have `most` tokens */
    uint32_t first_output; /* buffer of its tokens; those of positions and documents follow */
    int tokens;            /* columns of the batch; -1: not in the batch */
    int positions;
    int documents;
} plan_pack;

/* The bucket stage: batches hold samples of similar length. */
typedef struct plan_bucket {
    uint32_t count;                  /* number of buckets; 0: there is no stage bucket */
    uint64_t edges[PARAM_MAX_EDGES]; /* (count - 1) largest length in each bucket but the last */
    uint32_t length;                 /* buffer of a sample's length */
    sluice_dtype dtype;              /* its type */
    bool is_early;                   /* a plain column of the source: known before decoding */
    uint32_t extents[PARAM_MAX_EDGES + 1]; /* (count) extent of each bucket's batches; 0: no column
                                               is ragged */
} plan_bucket;

/*
 * The stage cache. Before all maps, it keeps the columns that the source writes and the image,
 * encoded or its pixels after some geometry. After a map it keeps the columns at this point (rows).
 */
typedef struct plan_cache {
    uint32_t stage; /* index of the stage; 0: there is no cache */
    bool is_decoded;
    bool is_rows;
    bool is_shared; /* by the ranks of a machine */
    uint64_t bytes;
    uint32_t groups;     /* geometry groups before it; another one begins after it */
    uint32_t steps;      /* of rows: number of steps before it */
    uint32_t kept_count; /* of rows: buffers that later steps or the batch need */
    uint32_t kept[SLUICE_MAX_COLUMNS];
} plan_cache;

/*
 * Geometry stages [first, first + count) that are fused into one resampling, count may be 0, and
 * colour stages [color_first, color_end) after them; or, in place of both, branches of which each
 * sample draws those that it goes through; or an image map.
 */
typedef struct plan_group {
    uint32_t first;
    uint32_t count;
    uint32_t color_first;
    uint32_t color_end;
    struct plan_branches *branches; /* owned; NULL: there are none */
    const custom_map *map;          /* the image map; NULL: there is none */
    bool writes_row;                /* the last group of all: it is a step even if it is idle */
    uint8_t operation;              /* row of the report of its geometry */
} plan_group;

/* The groups that an image goes through, in order. */
typedef struct plan_list {
    plan_group *groups; /* (count) */
    uint32_t count;
    uint32_t shared; /* groups before the stage that makes views, which are run once; all if there
                        is none */
    uint32_t head;   /* groups before the first map, or those that are shared: their steps are drawn
                        before any pixel is made */
} plan_list;

/* The stages in parentheses of random_apply, random_choice or random_order, with geometry. */
typedef struct plan_branches {
    const dataset_stage *stage;
    uint64_t key;
    uint32_t count;
    plan_list lists[NESTED_BRANCHES];
} plan_branches;

/* The stage mosaic: an image of several samples (tile_ops). */
typedef struct plan_mosaic {
    uint32_t tiles;            /* number of samples in an image; 0: there is no such stage */
    const plan_stage *planned; /* an entry of plan_image_geometry.stages, in no group */
    uint32_t width;            /* of the image that the tiles are painted on, the canvas */
    uint32_t height;
    plan_list list; /* of the geometry before it, for each tile */
} plan_mosaic;

/* Number of draws for the partner of a tile. Bad partners are replaced by the next draw. */
enum { PLAN_TILE_TRIES = 8 };

/* The location of a column's bytes, indexed by buffer (column_info). */
typedef struct plan_buffer {
    sluice_column type; /* type of the column as workers write it */
    bool needed;
    int column;    /* index in the batch, whose row holds it; -1: it is in scratch memory */
    size_t offset; /* offset in scratch memory */
    bool read;     /* a column of the batch or a step reads it; false: only needed for masks,
                      boxes or points */
} plan_buffer;

/*
 * Stages of the profile, in the order of the report. Those from PLAN_MAPS on are the maps of the
 * pipeline.
 */
enum {
    PLAN_READ,
    PLAN_DECODE,
    PLAN_PIXELS,
    PLAN_MAPS,
    PLAN_BATCH = PLAN_MAPS + SCHEMA_MAX_MAPS,
    PLAN_PROFILED
};

/* The orders in which samples are loaded. */
typedef struct plan_orders {
    sample_order rank;      /* this rank's order */
    sample_order rest;      /* this rank's order for the rest of the first pass */
    sample_order all_ranks; /* order over all ranks, from which replacements are drawn */
    source_order *own;      /* the source's own order; NULL: the source has no order of its own */
    group_order *group;     /* the order of the parts of concat or mix; NULL: it is neither */
    uint64_t replace_key;
} plan_orders;

/* The geometry of the images of a sample. */
typedef struct plan_image_geometry {
    const dataset_stage *decode; /* of the first image and of masks; NULL: no image is encoded */
    plan_stage *stages;          /* (count), with those in parentheses */
    uint32_t count;
    plan_list list; /* with mosaic, what comes after it; at least one group, the last one without
                       branches */
    uint32_t most_steps; /* that are drawn for an image or a tile */
    plan_mosaic mosaic;
    uint32_t view_count;       /* views of the image; 1: the image itself */
    const dataset_stage *view; /* the stage that makes the views; NULL: none does */
    int boxes; /* column of the source with the boxes that a stage depends on; -1: none does */
    const dataset_stage *part_fill; /* whose padding has stage_padding.has_parts; NULL: none has */
} plan_image_geometry;

/* The flips after all geometry. */
typedef struct plan_image_flips {
    plan_flip stages[DATASET_MAX_STAGES];
    uint32_t count;
} plan_image_flips;

/* The stages that erase converted values (conversion_ops.erases). */
typedef struct plan_erasing {
    bool is_used;                      /* there are some */
    uint64_t keys[DATASET_MAX_STAGES]; /* their keys, by the indexes of the stages */
} plan_erasing;

/* The colour stages. */
typedef struct plan_colors {
    plan_stage *stages; /* (count), with those in parentheses beside geometry */
    uint32_t count;
    uint32_t host_count; /* those that workers apply to the first image, those before the stage
                            device; GetNext applies the others. Workers apply all of them to further
                            images */
    uint32_t device;     /* index of the stage device; 0: there is none */
    bool warps;          /* a colour stage may warp the image */
    bool device_warps;   /* a stage after the stage device may; then none before it does */
} plan_colors;

/* The images of a sample and the columns that follow them. */
typedef struct plan_images {
    int first;          /* buffer into which the source's image is written; -1: not needed */
    int stored_column;  /* index in wire of the source's stored array (source_windows); -1: none */
    bool has_followers; /* there are masks, boxes, points or further images, which follow the
                           geometry of the first image */
    bool has_points;    /* points are among them */
    int map;            /* buffer of the ROLE_GEOMETRY column; -1: no such column */
    uint32_t further_count;
    plan_further_image *further; /* NULL: there are no further images */
    bool keeps_stored; /* the run continues one that used pixels as stored: an image whose Exif
                          orientation is applied ends it */
} plan_images;

/* What is done with columns: conversions, the steps after the first of them, maps of batches. */
typedef struct plan_work {
    uint32_t segment_count;
    plan_segment segments[SCHEMA_MAX_BUFFERS];
    uint32_t step_count;
    plan_step *steps; /* NULL: there are no steps */
    uint32_t batch_map_count;
    plan_batch_map *batch_maps; /* NULL: there are none */
} plan_work;

/* Where a worker has the columns of a sample. */
typedef struct plan_memory {
    uint32_t buffer_count;
    plan_buffer buffers[SCHEMA_MAX_BUFFERS];
    size_t scratch_bytes; /* scratch memory of each worker */
    bool rows_only;       /* buffer i is column i of the row, for all i */
} plan_memory;

/* How the rows of batches are assigned to samples. */
typedef struct plan_dealing {
    bool is_stream;
    bool replaces_in_batch; /* a bad sample is replaced by another one of its batch */
    bool has_choices;       /* filters, pack or bucket choose which samples get rows */
    bool has_late_filters;  /* some filter is not early (plan_step.is_early) */
    bool tests_first;       /* filters are called before a sample is loaded; else during loading */
    uint32_t own_rows;      /* private rows of each worker, for samples not yet kept or dropped */
    size_t own_row_bytes;   /* bytes of a private row */
    pass_lengths lengths;   /* of the passes of a stream, or after filtering; stored by
                               collected_turns.c */
    _Atomic uint64_t stream_memory; /* peak bytes of buffered samples; stored by stream_passes.c */
    _Atomic uint64_t stream_now;    /* those that are buffered now; likewise */
    _Atomic uint64_t held_memory;   /* bytes of held rows; stored by collected_buckets.c */
} plan_dealing;

/* Texts that the planner makes. */
typedef struct plan_texts {
    char pixels_name[64];                /* profile name of the geometry and conversion stage */
    char map_names[SCHEMA_MAX_MAPS][64]; /* profile names of maps: of each stage another one */
    char notes[1200];                    /* text lines that the planner's passes add for explain */
} plan_texts;

struct plan_details {
    plan_orders orders;
    plan_dealing dealing;
    plan_pack pack;
    plan_bucket bucket;
    plan_images images;
    plan_image_geometry geometry;
    plan_colors colors;
    plan_image_flips flips;
    plan_erasing erasing;
    plan_work work;
    plan_memory memory;
    plan_cache cache;
    plan_operations operations;
    plan_texts texts;
};

/*
 * The geometry stages of a group, fused, for an image of one size: a crop, margins around it, the
 * size that both are resized to, and a window of the result. The crop is also the region to decode.
 */
typedef struct fused_geometry {
    int64_t x; /* the crop; it is within the image */
    int64_t y;
    uint32_t width;
    uint32_t height;
    image_margins margins; /* of padding before the resize */
    stage_padding margin_padding;
    uint32_t new_width; /* of the crop with its margins after the resize */
    uint32_t new_height;
    int64_t window_x; /* window in the result of the resize; may extend beyond it */
    int64_t window_y;
    uint32_t window_width;
    uint32_t window_height;
    resize_filter filter;
    stage_padding padding; /* of the window, outside (new_width, new_height) */
    bool turns;            /* the window is the result of `turn`, from the whole image */
    image_warp turn;
} fused_geometry;

/* The size of the crop with its margins. */
static inline uint32_t fused_full_width(const fused_geometry *g)
{
    return g->margins.left + g->width + g->margins.right;
}

static inline uint32_t fused_full_height(const fused_geometry *g)
{
    return g->margins.top + g->height + g->margins.bottom;
}

/*
 * The position of a batch in a run. Row i of the batch is at position first + i of the order, which
 * is sample number done + (first + i) * world + rank of the pass.
 */
typedef struct batch_span {
    const sample_order *order; /* NULL for a stream */
    uint64_t length;           /* number of positions on this rank, counted from `done` */
    uint64_t pass;
    uint64_t first;
    uint64_t done;
} batch_span;

/* True if maps and filters read the image, and nothing reads or follows what they leave of it. */
bool plan_maps_alone(const struct plan_details *details);

/* Passes of the planner that have a file of their own. plan_note() adds a text line for explain.
 * plan_mixes() is called for the image of the batch; `whole` has all conversions of its segment. */
sluice_status plan_geometry(sli_plan *plan);
void plan_free_geometry(struct plan_details *details);
sluice_status plan_steps(sli_plan *plan);
sluice_status plan_buffers(sli_plan *plan);
sluice_status plan_fills(sli_plan *plan);
/* E_INVALID: a fill has a fraction, and the program of this image gives bytes. */
sluice_status plan_fill_check(const sli_plan *plan, const sli_conversion *program,
                              const char *image);
sluice_status plan_conversions(sli_plan *plan);
sluice_status plan_windows(sli_plan *plan);
sluice_status plan_mixes(sli_plan *plan, const plan_segment *segment, const sli_conversion *whole);
sluice_status plan_programs(sli_plan *plan);
sluice_status plan_extents(sli_plan *plan);
sluice_status plan_further_images(sli_plan *plan);
sluice_status plan_cached(sli_plan *plan);
sluice_status plan_mosaics(sli_plan *plan);
void plan_note(sli_plan *plan, const char *text);

/* Numbers the operations that the report has rows for; after all passes. */
void plan_number_operations(sli_plan *plan);

/*
 * Returns the number of batches that each rank makes of `samples` consecutive samples over all
 * ranks; equal on every rank.
 */
uint64_t plan_batches_in(const sli_plan *plan, uint64_t samples);

/*
 * For a stream, or with filters, pack or bucket: records the length of pass `number` of the run,
 * from 0, when it ends. `samples`: those that are kept, over all ranks. *done: samples of the pass
 * before the run; afterwards those of the next pass, if the run begins after more batches than this
 * pass has. Returns as pass_lengths_add().
 */
sluice_status plan_end_pass(const sli_plan *plan, uint64_t number, uint64_t samples,
                            uint64_t *done);

/* True if a pass of `samples` samples, `done` of them before the run, has too few: it is an error.
 */
bool plan_pass_is_empty(const sli_plan *plan, uint64_t samples, uint64_t done);

/* Fails since the passes that the run may read have ended, and `done` samples are left to skip.
 * `passes`: how many there were. */
sluice_status plan_fail_short(const sli_plan *plan, uint64_t passes, uint64_t done);

void plan_locate(const sli_plan *plan, uint64_t batch, batch_span *span_out);

/* The number of batches in an order, the same on every rank. */
uint64_t plan_batches_of(const sli_plan *plan, const sample_order *order);

/*
 * Fuses the stages of a group, one without branches, for an image of this size. `boxes` are those
 * of the sample, and are moved to the image after the group; NULL if no stage depends on boxes.
 * E_INVALID: a stage does not fit the image; *stage_out is its name.
 */
sluice_status plan_fuse_geometry(const struct plan_details *details, const plan_group *group,
                                 const image_draws *draws, uint32_t width, uint32_t height,
                                 plan_boxes *boxes, fused_geometry *fused_out,
                                 const char **stage_out);

/* Sets a window of the whole image. `turn` stays as it is: it has no meaning without `turns`. */
void plan_whole_window(fused_geometry *w, uint32_t width, uint32_t height);

/*
 * The resize of a tile's image of this size, and its window on the canvas. E_INVALID: a side would
 * be too long; *stage_out is the name of the stage.
 */
sluice_status plan_place_tile(const plan_mosaic *mosaic, const sli_draws *draws, uint32_t tile,
                              uint32_t width, uint32_t height, fused_geometry *fused_out,
                              const char **stage_out);

/*
 * Draws the sample of a tile from all samples of a pass, over all ranks. `draws`: those of the
 * mosaic; try: 0 to PLAN_TILE_TRIES - 1. *pass_out keys the random numbers of that sample here.
 */
void plan_draw_tile(const sli_plan *plan, const sli_draws *draws, uint64_t pass, uint32_t tile,
                    uint32_t try, uint64_t *sample_out, uint64_t *pass_out);

/* Makes the source's own order, if it has one. */
sluice_status plan_own_order(sli_plan *plan);

/* Makes an order of the plan: by the stages, or the source's own. */
sluice_status plan_make_order(const sli_plan *plan, const order_settings *settings,
                              sample_order *order_out);

/* Creates the memory of the cache for the plan's dataset, unless it exists. Does nothing without a
 * cache, nor for a shared one, which sli_plan_share_cache() creates. E_INVALID: its bytes are too
 * few for the samples; E_NO_MEMORY. */
sluice_status plan_cache_open(const sli_plan *plan);

/* The argument `offload` of a conversion. */
static inline uint32_t plan_offload_of(const dataset_stage *stage)
{
    return ((const conversion_args *)(const void *)stage->args.bytes)->offload;
}

/* Finds the further image with this source column, which must exist. */
const plan_further_image *plan_further_of(const struct plan_details *details, uint32_t column);

/* Finds the stages that may be fused with decoding. */
decode_fusion plan_decode_fusion(const sli_plan *plan);

/* The points that a flip exchanges, in columns of the source: no map comes before it. They are
 * those of its argument, else those that the source says. `before`: the columns before the flip.
 * NULL: none. */
const point_pairs *plan_flip_pairs(const sluice_dataset *dataset, const dataset_stage *stage,
                                   const stage_schema *before, column_set *points_out);

/* The key of the random numbers of stage i. */
uint64_t plan_stage_key(const sluice_dataset *dataset, uint32_t i, uint64_t seed);

/*
 * Sets the splits and tables of a dataset. Its source must be open, and not a stream. E_IO,
 * E_CORRUPT, E_INVALID, E_UNSUPPORTED: an error in a file or column that a stage names;
 * E_NO_MEMORY. After an error too, index_tables_free() frees what was made.
 */
sluice_status index_tables_make(sluice_dataset *dataset);
void index_tables_free(sluice_dataset *dataset);

#endif
