/* SPDX-License-Identifier: Apache-2.0 */
/** @file
 * Named stages of user code: sources, maps, filters and maps of whole batches that pipeline texts
 * can contain; and plugins, which are shared libraries with such stages.
 *
 * A stage has a table of parameters and a function build(), which is called for each use of the
 * stage in a text:
 *
 *     static sluice_status build(sluice_builder *builder, void *user)
 *     {
 *         my_settings *settings = calloc(1, sizeof(*settings));
 *         sluice_map map;
 *
 *         sluice_map_init(&map);
 *         map.map = my_augment;
 *         map.user = settings;
 *         ...
 *         return sluice_builder_map(builder, &map);
 *     }
 *
 * After sluice_stage_register() texts may contain `... | my_augment strength=3 | ...`.
 */
#ifndef SLUICE_PLUGIN_H
#define SLUICE_PLUGIN_H

#include <string.h>

#include <sluice/custom.h>

SLUICE_BEGIN_DECLS

/* ---- stages by name -------------------------------------------------------------------------- */

/** Kinds of named stages. */
typedef enum sluice_stage_kind {
    SLUICE_STAGE_SOURCE = 0,   /**< a source: build() calls sluice_builder_source() */
    SLUICE_STAGE_MAP = 1,      /**< a map: build() calls sluice_builder_map() */
    SLUICE_STAGE_FILTER = 2,   /**< a filter: build() calls sluice_builder_filter() */
    SLUICE_STAGE_MAP_BATCH = 3 /**< a map of whole batches, after `batch`: build() calls
                                    sluice_builder_map_batch() */
} sluice_stage_kind;

/** Types of parameters. */
typedef enum sluice_parameter_kind {
    SLUICE_PARAMETER_INT = 0,    /**< a whole number, of 64 bits with a sign */
    SLUICE_PARAMETER_FLOAT = 1,  /**< a finite number */
    SLUICE_PARAMETER_STRING = 2, /**< a text */
    SLUICE_PARAMETER_BOOL = 3,   /**< true or false */
    SLUICE_PARAMETER_PATH = 4    /**< a text; of a source it is not part of the identity of a run,
                                      so a resumed run may read the same files in another folder.
                                      A stage has at most one */
} sluice_parameter_kind;

/**
 * A parameter of a stage. Entries of an array are parameter_size bytes apart, so the struct may
 * grow at its end.
 */
typedef struct sluice_parameter {
    const char *name;           /**< a lower-case letter, then such letters, digits and _; at most
                                     31 bytes; not `version` */
    sluice_parameter_kind kind; /**< its type */
    uint32_t bounded;           /**< not 0: low and high are bounds, not both 0; INT and FLOAT */
    double low;                 /**< the smallest value */
    double high;                /**< the largest value */
    const char *default_text;   /**< the default as in a text; NULL: the parameter is required */
    const char *help;           /**< a few words for the help text */
} sluice_parameter;

/** Maximum number of parameters of a stage. */
#define SLUICE_MAX_PARAMETERS 16

/** A stage that is being built, lent to build() until it returns. */
typedef struct sluice_builder sluice_builder;

/** A named stage, initialized by sluice_stage_init(). */
typedef struct sluice_stage {
    size_t struct_size;       /**< bytes; set by sluice_stage_init() */
    const char *name;         /**< name in texts, messages and reports, with the syntax of a
                                   parameter's name; copied */
    const char *summary;      /**< one sentence for the help text; copied */
    const char *gives;        /**< NULL, or the types and shapes of its output, for the help text;
                                   copied */
    sluice_stage_kind kind;   /**< what build() builds */
    uint32_t version;         /**< version of the results: increase it when they change, so that a
                                   resumed run detects the change */
    uint32_t parameter_count; /**< number of entries in parameters; at most SLUICE_MAX_PARAMETERS */
    size_t parameter_size;    /**< bytes of an entry; set by sluice_stage_init(); 0: the size in the
                                   first version of the struct */
    const sluice_parameter *parameters; /**< in the order of arguments without a name; copied */

    /**
     * Builds the stage for one use of its name in a text: reads the arguments by
     * sluice_builder_int() and others, and calls sluice_builder_source(), _map(), _filter() or
     * _map_batch() once, according to `kind`: otherwise the parser returns E_CALLBACK. Called on
     * the thread that parses the text.
     *
     * Returns: OK or a positive status: success. A negative status is an error of the text, at the
     *          name of the stage, with the text of sluice_fail(). If a stage was built before,
     *          its close() is called.
     */
    sluice_status (*build)(sluice_builder *builder, void *user);

    void *user; /**< passed to build(); borrowed until the process ends */
} sluice_stage;

/** Sets every field to its default, zero, and struct_size. Threads: any. */
static inline void sluice_stage_init(sluice_stage *stage)
{
    memset(stage, 0, sizeof(*stage));
    stage->struct_size = sizeof(*stage);
}

/**
 * Registers a stage by its name, in the whole process and until its end, for
 * sluice_dataset_parse(), sluice_dataset_add() and sluice_stage_help(). A concurrent call of these
 * may or may not find it. sluice_dataset_describe() writes the stage with all arguments and
 * `version=N`; a text with another version is refused.
 *
 * @param stage  copied
 *
 * Returns: E_INVALID a NULL, a name that is invalid or taken, invalid parameters, a default that is
 *          no value of its parameter, more than 256 stages; E_NO_MEMORY.
 *
 * Threads: any.
 */
SLUICE_API_CHECKED sluice_status sluice_stage_register(const sluice_stage *stage);

/* ---- for build() ----------------------------------------------------------------------------- */

/**
 * Returns the value of a parameter of kind INT.
 *
 * Returns: E_INVALID a NULL, or no parameter of that name and kind; the message lists them.
 *
 * Threads: the one that runs build().
 */
SLUICE_API_CHECKED sluice_status sluice_builder_int(const sluice_builder *builder, const char *name,
                                                    int64_t *value_out);

/**
 * Returns the value of a parameter of kind FLOAT. Errors as sluice_builder_int().
 *
 * Threads: the one that runs build().
 */
SLUICE_API_CHECKED sluice_status sluice_builder_float(const sluice_builder *builder,
                                                      const char *name, double *value_out);

/**
 * Returns the value of a parameter of kind STRING or PATH. Errors as sluice_builder_int().
 *
 * @param value_out  zero-terminated; valid until the dataset is destroyed
 *
 * Threads: the one that runs build().
 */
SLUICE_API_CHECKED sluice_status sluice_builder_string(const sluice_builder *builder,
                                                       const char *name, const char **value_out);

/**
 * Returns the value of a parameter of kind BOOL: 0 or 1. Errors as sluice_builder_int().
 *
 * Threads: the one that runs build().
 */
SLUICE_API_CHECKED sluice_status sluice_builder_bool(const sluice_builder *builder,
                                                     const char *name, uint32_t *value_out);

/**
 * Builds a source. Its name and version are those of the stage; the fields of the struct are
 * ignored.
 *
 * @param source  copied, as by sluice_dataset_source(). After OK the library calls close() once,
 *                also if the text has an error elsewhere
 *
 * Returns: as sluice_dataset_source(); E_INVALID also if the stage is not a source, or was built
 *          already.
 *
 * Threads: the one that runs build().
 */
SLUICE_API_CHECKED sluice_status sluice_builder_source(sluice_builder *builder,
                                                       const sluice_source *source);

/**
 * Builds a map, as sluice_builder_source() builds a source.
 *
 * @param map  copied, as by sluice_dataset_map()
 *
 * Returns: E_INVALID a NULL, incompatible outputs, not a map, or built already; E_UNSUPPORTED an
 *          encoded output; E_NO_MEMORY.
 *
 * Threads: the one that runs build().
 */
SLUICE_API_CHECKED sluice_status sluice_builder_map(sluice_builder *builder, const sluice_map *map);

/**
 * Builds a filter, as sluice_builder_source() builds a source.
 *
 * @param filter  copied, as by sluice_dataset_filter()
 *
 * Returns: E_INVALID a NULL, not a filter, or built already; E_NO_MEMORY.
 *
 * Threads: the one that runs build().
 */
SLUICE_API_CHECKED sluice_status sluice_builder_filter(sluice_builder *builder,
                                                       const sluice_filter *filter);

/**
 * Builds a map of whole batches, as sluice_builder_source() builds a source.
 *
 * @param map  copied, as by sluice_dataset_map_batch()
 *
 * Returns: E_INVALID a NULL, incompatible columns, not a map of batches, or built already;
 *          E_NO_MEMORY.
 *
 * Threads: the one that runs build().
 */
SLUICE_API_CHECKED sluice_status sluice_builder_map_batch(sluice_builder *builder,
                                                          const sluice_map_batch *map);

/* ---- plugins --------------------------------------------------------------------------------- */

/**
 * The functions of the library that a plugin calls, so that a plugin is not linked with the
 * library. Later versions of the library add functions at the end.
 */
typedef struct sluice_plugin_host {
    size_t struct_size;  /**< bytes of the library's table; set by the library */
    const char *version; /**< sluice_version() */
    /** sluice_fail() */
    sluice_status (*fail)(sluice_status status, const char *format, ...);
    /** sluice_stage_register(); only while init() runs */
    sluice_status (*stage_register)(const sluice_stage *stage);
    /** sluice_builder_int() */
    sluice_status (*builder_int)(const sluice_builder *builder, const char *name,
                                 int64_t *value_out);
    /** sluice_builder_float() */
    sluice_status (*builder_float)(const sluice_builder *builder, const char *name,
                                   double *value_out);
    /** sluice_builder_string() */
    sluice_status (*builder_string)(const sluice_builder *builder, const char *name,
                                    const char **value_out);
    /** sluice_builder_bool() */
    sluice_status (*builder_bool)(const sluice_builder *builder, const char *name,
                                  uint32_t *value_out);
    /** sluice_builder_source() */
    sluice_status (*builder_source)(sluice_builder *builder, const sluice_source *source);
    /** sluice_builder_map() */
    sluice_status (*builder_map)(sluice_builder *builder, const sluice_map *map);
    /** sluice_builder_filter() */
    sluice_status (*builder_filter)(sluice_builder *builder, const sluice_filter *filter);
    /** sluice_sample_number() */
    uint64_t (*sample_number)(const sluice_sample *sample);
    /** sluice_sample_worker() */
    void *(*sample_worker)(const sluice_sample *sample);
    /** sluice_sample_random() */
    uint64_t (*sample_random)(const sluice_sample *sample, uint32_t n);
    /** sluice_sample_get() */
    sluice_status (*sample_get)(const sluice_sample *sample, const char *column,
                                sluice_sample_view *view_out);
    /** sluice_sample_room() */
    sluice_status (*sample_room)(sluice_sample *sample, const char *column, const uint64_t *shape,
                                 void **room_out);
    /** sluice_sample_lend() */
    sluice_status (*sample_lend)(sluice_sample *sample, const char *column, const uint64_t *shape,
                                 const void *bytes, size_t size);
    /** sluice_builder_map_batch() */
    sluice_status (*builder_map_batch)(sluice_builder *builder, const sluice_map_batch *map);
    /** sluice_host_batch_rows() */
    uint32_t (*host_batch_rows)(const sluice_host_batch *batch);
    /** sluice_host_batch_valid_rows() */
    uint32_t (*host_batch_valid_rows)(const sluice_host_batch *batch);
    /** sluice_host_batch_samples() */
    const uint64_t *(*host_batch_samples)(const sluice_host_batch *batch);
    /** sluice_host_batch_worker() */
    void *(*host_batch_worker)(const sluice_host_batch *batch);
    /** sluice_host_batch_random() */
    uint64_t (*host_batch_random)(const sluice_host_batch *batch, uint32_t n);
    /** sluice_host_batch_column() */
    sluice_status (*host_batch_column)(const sluice_host_batch *batch, const char *name,
                                       sluice_host_column *column_out);
    /** sluice_sample_stop_fd() */
    int (*sample_stop_fd)(const sluice_sample *sample);
    /** sluice_sample_warped() */
    sluice_status (*sample_warped)(sluice_sample *sample, const double matrix[6]);
} sluice_plugin_host;

/**
 * What a plugin exports, by the name sluice_plugin_1:
 *
 *     const sluice_plugin sluice_plugin_1 = {sizeof(sluice_plugin_host), init};
 *
 * This struct never grows; another interface has another name. A plugin fills in structs without
 * init functions: it sets struct_size, column_size and parameter_size by sizeof, and all other
 * fields to zero.
 */
typedef struct sluice_plugin {
    size_t host_size; /**< sizeof(sluice_plugin_host) when the plugin was compiled */
    /**
     * Registers the stages. `host` is valid until the process ends.
     *
     * Returns: OK or a positive status: success. A negative status fails sluice_plugin_load(), with
     *          the text of fail(); then no stage of the plugin is registered.
     */
    sluice_status (*init)(const sluice_plugin_host *host);
} sluice_plugin;

/** Defined by a plugin, not by the library. */
extern SLUICE_API const sluice_plugin sluice_plugin_1;

/**
 * Loads a plugin, which stays loaded until the process ends. A plugin that is loaded already is not
 * loaded again. Its code runs with all rights of the process.
 *
 * @param path  of a shared library; a name without a slash is a file in the current folder
 *
 * Returns: E_IO the file cannot be read; E_INVALID a NULL, no shared library, no plugin, a plugin
 *          for a later version of Sluice, a stage whose name is taken, or called by a plugin's
 *          init(); the error of init(); E_NO_MEMORY. The message has the path, and what to do.
 *
 * Threads: any.
 */
SLUICE_API_CHECKED sluice_status sluice_plugin_load(const char *path);

/**
 * Loads the plugins that the environment variable SLUICE_PLUGINS lists: paths, with colons between.
 * Does nothing if it is not set, or in a process with more rights than its user (setuid). The
 * library does not call it: programs decide whether the environment may load code. The command
 * `sluice` calls it.
 *
 * Returns: as sluice_plugin_load(), for the first plugin that cannot be loaded.
 *
 * Threads: any, but none may change the environment meanwhile.
 */
SLUICE_API_CHECKED sluice_status sluice_plugin_load_listed(void);

SLUICE_END_DECLS

#endif
