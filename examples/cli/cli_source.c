/* SPDX-License-Identifier: Apache-2.0 */
/* Opens a command's dataset: from a word with a pipeline or a folder, or from a file with a
 * pipeline. */
#include <string.h>
#include <unistd.h>

#include "cli.h"

int cli_parse_source(const char *command, int argc, char **argv, cli_option *options,
                     cli_source *source, const char **second)
{
    const int most = second != NULL ? 2 : 1;
    const char *words[2] = {NULL, NULL};
    int count;
    int next = 0;
    int code = cli_parse(command, argc, argv, options, words, most, &count);

    if (code != EXIT_DONE) {
        return code;
    }
    if (source->file != NULL && count == most) {
        cli_error("%s: -f %s is the pipeline, and so is '%s'; leave one out", command, source->file,
                  words[0]);
        return EXIT_USAGE;
    }
    source->word = source->file == NULL ? words[next++] : NULL;
    if (second != NULL) {
        *second = words[next];
    }
    return EXIT_DONE;
}

static bool is_path(const cli_source *source)
{
    return source->word != NULL && access(source->word, F_OK) == 0;
}

/* Fails for a path in place of a pipeline: with a pipeline that reads it, or the library's reason
 * why none is known. */
static sluice_status refuse_path(const char *command, const char *path)
{
    static const char of_images[] = "decode | resize 224,224 | batch 32";
    const char *quote = strpbrk(path, " \t\n|()#\"'\\") == NULL ? ""
                        : strchr(path, '\'') == NULL            ? "'"
                                                                : "\"";
    sluice_dataset *dataset = NULL;
    char *text = NULL;
    sluice_status st = sluice_dataset_parse_path(path, &dataset);

    st = st == SLUICE_OK ? sluice_dataset_describe(dataset, &text) : st;
    if (st == SLUICE_OK) {
        const bool has_images = sluice_dataset_add(dataset, of_images) == SLUICE_OK;

        st = sluice_fail(SLUICE_E_INVALID,
                         "%s: %s is a path, and %s takes a pipeline, such as \"%.*s %s%s%s | %s\"",
                         command, path, command, (int)strcspn(text, " "), text, quote, path, quote,
                         has_images ? of_images : "batch 32");
    }
    sluice_string_free(text);
    sluice_dataset_destroy(dataset);
    return st;
}

sluice_status cli_open_pipeline(const char *command, const cli_source *source,
                                sluice_dataset **dataset_out)
{
    const cli_args *args = &source->args;

    if (is_path(source)) {
        return refuse_path(command, source->word);
    }
    return source->file != NULL
               ? sluice_dataset_parse_file_args(source->file, args->names, args->values,
                                                args->count, dataset_out)
               : sluice_dataset_parse_args(source->word, args->names, args->values, args->count,
                                           dataset_out);
}

/* True if the source is a single word. It is then probably a missing folder, not a pipeline. */
static bool is_one_word(const char *source)
{
    return strpbrk(source, " \t\n|") == NULL;
}

sluice_status cli_open_source(const char *command, const cli_source *source,
                              sluice_dataset **dataset_out)
{
    sluice_status st;

    if (is_path(source) && source->args.count > 0) {
        return sluice_fail(SLUICE_E_INVALID,
                           "%s: --arg %s: %s is a path, which has no ${%s}; give a pipeline, or "
                           "leave --arg out",
                           command, source->args.names[0], source->word, source->args.names[0]);
    }
    if (is_path(source)) {
        return sluice_dataset_parse_path(source->word, dataset_out);
    }
    st = cli_open_pipeline(command, source, dataset_out);
    return st == SLUICE_E_INVALID && source->word != NULL && is_one_word(source->word)
               ? sluice_fail(st, "%s: there is no folder %s, and it is not a pipeline: %s", command,
                             source->word, sluice_last_error())
               : st;
}
