/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzz target: any bytes as two reports, with a zero byte between them: read, shown as a page, and
 * merged. jansson is not instrumented, so that a fuzzer sees our branches only. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz_target.h"
#include "report_merge.h"
#include "report_page.h"

static size_t count_of(const char *text, const char *part)
{
    size_t count = 0;

    for (const char *at = strstr(text, part); at != NULL; at = strstr(at + 1, part)) {
        count++;
    }
    return count;
}

/* No text of a report may open or close an element. */
static void check_page(const saved_report *reports, size_t count)
{
    char *page = NULL;
    size_t length = 0;
    FILE *out = open_memstream(&page, &length);

    if (out == NULL) {
        return;
    }
    report_page_write(out, reports, count);
    if (fclose(out) != 0 || strlen(page) != length) {
        fuzz_fail("a page with a zero byte");
    }
    if (count_of(page, "<script") != count || count_of(page, "</script") != count ||
        count_of(page, "<section") != count_of(page, "</section>") ||
        count_of(page, "<tr") != count_of(page, "</tr>") ||
        count_of(page, "<td") != count_of(page, "</td>") ||
        count_of(page, "<bdi>") != count_of(page, "</bdi>") || count_of(page, "<!--") != 0) {
        fuzz_fail("elements that are not closed");
    }
    free(page);
}

/* A merge is a report. */
static void check_merge(saved_report *reports, size_t count)
{
    json_t *merged = report_merge(reports, count);
    saved_report again;
    char *text;

    if (merged == NULL) {
        return;
    }
    text = json_dumps(merged, JSON_COMPACT);
    json_decref(merged);
    if (text == NULL || !report_parse("merged", text, &again)) {
        fuzz_fail("a merge that cannot be read");
    }
    check_page(&again, 1);
    report_free(&again);
}

/* Parses bytes as a report; false: they are not one. */
static bool take(const uint8_t *data, size_t size, const char *path, saved_report *report_out)
{
    char *text = calloc(size + 1, 1);

    if (text != NULL && size > 0) {
        memcpy(text, data, size);
    }
    return text != NULL && report_parse(path, text, report_out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const uint8_t *zero = size > 0 ? memchr(data, 0, size) : NULL;
    const size_t first = zero != NULL ? (size_t)(zero - data) : size;
    saved_report reports[2];
    size_t count = 0;

    count += take(data, first, "a<b>.json", &reports[0]);
    if (count > 0 && zero != NULL) {
        count += take(zero + 1, size - first - 1, "b.json", &reports[1]);
    }
    if (count > 0) {
        check_page(reports, count);
        check_merge(reports, count);
    }
    for (size_t i = 0; i < count; i++) {
        report_free(&reports[i]);
    }
    return 0;
}
