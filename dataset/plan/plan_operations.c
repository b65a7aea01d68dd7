/* SPDX-License-Identifier: Apache-2.0 */
/* The planner's pass over operations: numbers and names those that the report has rows for. */
#include "plan_operations.h"

#include <stdio.h>
#include <string.h>

#include "plan.h"
#include "stage_kinds.h"

/* Appends the name of a stage, "resize+crop", or "..." where the room ends. */
static void join(char *name, size_t size, const char *more)
{
    const size_t used = strlen(name);
    const char *plus = used > 0 ? "+" : "";

    if (used + strlen(plus) + strlen(more) + sizeof("...") + sizeof("#64") < size) {
        snprintf(name + used, size - used, "%s%s", plus, more);
    } else if (used < 3 || strcmp(name + used - 3, "...") != 0) {
        snprintf(name + used, size - used, "...");
    }
}

/* Adds an operation. The second one of a name gets the name "resize#2". Returns its number. */
static uint8_t add(sli_plan *plan, const char *name, uint32_t stage)
{
    plan_operations *operations = &plan->details->operations;
    const size_t length = strlen(name);
    uint32_t same = 0;

    if (operations->count == PLAN_OPERATIONS) {
        plan_operation *last = &operations->of[PLAN_OPERATIONS - 1];

        operations->left_out += operations->left_out == 0 ? 2 : 1; /* the last one, too */
        snprintf(last->name, sizeof(last->name), "others");
        return PLAN_OPERATIONS - 1;
    }
    for (uint32_t i = OPERATION_FIRST; i < operations->count; i++) {
        const char *other = operations->of[i].name;

        same +=
            strncmp(other, name, length) == 0 && (other[length] == '\0' || other[length] == '#');
    }
    operations->of[operations->count].stage = stage;
    snprintf(operations->of[operations->count].name, sizeof(operations->of[0].name),
             same > 0 ? "%.58s#%u" : "%.58s", name, same + 1);
    return (uint8_t)operations->count++;
}

/* The name of a colour stage, with the stages in its parentheses: "random_apply(gaussian_blur)". */
static void name_color(const dataset_stage *stage, char *name, size_t size)
{
    const nested_stages *nested = nested_in(stage);
    char inner[40] = "";

    for (uint32_t i = 0; nested != NULL && i < nested->stage_count; i++) {
        join(inner, sizeof(inner), nested->stages[i].def->name);
    }
    snprintf(name, size, nested != NULL ? "%.20s(%s)" : "%s", stage->def->name, inner);
}

/* Numbers the groups of a list, each with its geometry and its colour stages. */
static void number_list(sli_plan *plan, plan_list *list)
{
    struct plan_details *details = plan->details;
    char name[64];

    for (uint32_t i = 0; i < list->count; i++) {
        plan_group *group = &list->groups[i];

        for (uint32_t k = 0; group->branches != NULL && k < group->branches->count; k++) {
            number_list(plan, &group->branches->lists[k]);
        }
        name[0] = '\0';
        for (uint32_t k = 0; k < group->count; k++) {
            join(name, sizeof(name), details->geometry.stages[group->first + k].stage->def->name);
        }
        group->operation = group->count > 0 ? add(plan, name, PLAN_PIXELS) : OPERATION_OTHER;
        for (uint32_t k = group->color_first; k < group->color_end; k++) {
            name_color(details->colors.stages[k].stage, name, sizeof(name));
            details->colors.stages[k].operation = add(plan, name, PLAN_PIXELS);
        }
    }
}

/* True if two segments have the same conversions on the workers: those of several images. */
static bool have_one_program(const plan_segment *a, const plan_segment *b)
{
    const uint32_t count = a->count - a->device_count;

    return count == b->count - b->device_count &&
           memcmp(a->stages, b->stages, count * sizeof(a->stages[0])) == 0;
}

/* Numbers the conversions of a segment that workers run, which are one program. */
static void number_segment(sli_plan *plan, plan_segment *segment)
{
    plan_segment *first = &plan->details->work.segments[0];
    char name[64] = "";

    if (segment != first && segment->follows && have_one_program(segment, first)) {
        segment->operation = first->operation;
        return;
    }
    for (uint32_t k = 0; k + segment->device_count < segment->count; k++) {
        const stage_def *def = plan->dataset->stages[segment->stages[k]].def;

        if (!stage_erases(def)) {
            join(name, sizeof(name), def->name);
        }
    }
    segment->operation = add(plan, name[0] != '\0' ? name : "convert", PLAN_PIXELS);
}

/* Numbers conversions and array stages, in the order in which a sample goes through them. */
static void number_work(sli_plan *plan)
{
    struct plan_details *details = plan->details;

    for (uint32_t i = 0; i < details->work.segment_count; i++) {
        if (details->work.segments[i].is_first && details->images.first >= 0) {
            number_segment(plan, &details->work.segments[i]);
        }
    }
    for (uint32_t i = 0; i < details->work.step_count; i++) {
        plan_step *step = &details->work.steps[i];

        if (step->array != NULL) {
            step->operation = add(plan, step->array->def->name, PLAN_PIXELS);
        } else if (step->map == NULL) {
            number_segment(plan, &details->work.segments[step->segment]);
            step->operation = details->work.segments[step->segment].operation;
        }
    }
    for (uint32_t i = 0; i < details->geometry.list.count; i++) {
        plan_group *group = &details->geometry.list.groups[i];

        if (group->writes_row && group->count == 0) { /* all it does is the conversion */
            group->operation = details->work.segments[0].operation;
        }
    }
}

/* The name of the first stage that erases; "": there is none. */
static const char *erasing_name(const sluice_dataset *dataset)
{
    for (uint32_t i = 0; i < dataset->stage_count; i++) {
        if (stage_erases(dataset->stages[i].def)) {
            return dataset->stages[i].def->name;
        }
    }
    return "";
}

void plan_number_operations(sli_plan *plan)
{
    struct plan_details *details = plan->details;
    const plan_mosaic *mosaic = &details->geometry.mosaic;
    const plan_operation first[OPERATION_FIRST] = {
        [OPERATION_DECODE] = {"decode", PLAN_DECODE}, [OPERATION_OTHER] = {"other", PLAN_PIXELS},
        [OPERATION_MASKS] = {"masks", PLAN_DECODE},   [OPERATION_BOXES] = {"boxes", PLAN_DECODE},
        [OPERATION_POINTS] = {"points", PLAN_DECODE}, [OPERATION_CACHE] = {"cache", PLAN_PIXELS},
        [OPERATION_MOSAIC] = {"", PLAN_PIXELS},       [OPERATION_ERASE] = {"", PLAN_PIXELS}};

    memcpy(details->operations.of, first, sizeof(first));
    details->operations.count = OPERATION_FIRST;
    snprintf(details->operations.of[OPERATION_ERASE].name, sizeof(first[0].name), "%s",
             erasing_name(plan->dataset));
    if (mosaic->tiles > 0) {
        snprintf(details->operations.of[OPERATION_MOSAIC].name, sizeof(first[0].name), "%s",
                 mosaic->planned->stage->def->name);
        number_list(plan, &details->geometry.mosaic.list);
    }
    number_list(plan, &details->geometry.list);
    number_work(plan);
    if (details->operations.left_out > 0) {
        char note[100];

        snprintf(note, sizeof(note),
                 "report: %u operations share the row others; %d have rows of their own",
                 details->operations.left_out, PLAN_OPERATIONS - OPERATION_FIRST - 1);
        plan_note(plan, note);
    }
}
