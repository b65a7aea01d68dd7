/* SPDX-License-Identifier: Apache-2.0 */
/* sluice_topology_report(): the machine, the placement of each rank, and notes on problems. */
#include <sluice/topology.h>

#include <stdio.h>
#include <string.h>

#include "alloc_int.h"
#include "device_int.h"
#include "device_list.h"
#include "launch_lines.h"
#include "machine_report.h"
#include "placement_int.h"
#include "status_int.h"
#include "struct_size_int.h"

enum { MAX_RANKS = 1024 };

/* Contents of the report. */
typedef struct report {
    sluice_topology_config config;
    sli_topology_config source; /* the part of config that selects the machine */
    sli_topology *topology;
    device_list devices; /* rank R uses device R modulo their number; empty: none */
    uint32_t plan_count;
    sli_placement **plans; /* placements by rank */
} report;

static const sli_struct config_struct = SLI_STRUCT(sluice_topology_config, device);

static sluice_status read_config(const sluice_topology_config *config,
                                 sluice_topology_config *copy_out)
{
    sluice_topology_config copy;

    sluice_topology_config_init(&copy);
    if (config != NULL) {
        const sluice_status st =
            sli_struct_read(&config_struct, "sluice_topology_report", config, &copy);

        if (st != SLUICE_OK) {
            return st;
        }
    }
    if (copy.ranks > MAX_RANKS) {
        return sli_fail(SLUICE_E_INVALID, "ranks is %u, and must be at most %d", copy.ranks,
                        MAX_RANKS);
    }
    if (copy.emit != SLUICE_LAUNCHER_NONE && !sli_launcher_is_known(copy.emit)) {
        return sli_fail(SLUICE_E_INVALID,
                        "emit is %d; it must be a launcher of sluice_launcher, from 0 to %d",
                        (int)copy.emit, (int)SLUICE_LAUNCHER_TORCHRUN);
    }
    if (copy.emit != SLUICE_LAUNCHER_NONE && copy.json) {
        return sli_fail(SLUICE_E_INVALID, "emit and json are both set; set only one of them");
    }
    if ((copy.device != NULL) + (copy.devices != NULL) + (copy.pci != NULL) > 1) {
        return sli_fail(SLUICE_E_INVALID,
                        "more than one of device, devices and pci is set; set only one of them");
    }
    if (copy.device != NULL) {
        const sluice_status st = sli_device_check(copy.device, "sluice_topology_report");

        if (st != SLUICE_OK) {
            return st;
        }
    }
    *copy_out = copy;
    return SLUICE_OK;
}

/* Finds the devices, and the number of ranks if it follows from theirs. */
static sluice_status find_devices(report *self)
{
    const sluice_topology_config *config = &self->config;
    sluice_status st = SLUICE_OK;

    if (config->device != NULL) {
        st = device_list_single(&self->source, config->device, &self->devices);
    } else if (config->devices != NULL || config->pci != NULL) {
        st = device_list_find(&self->source, config->devices, config->pci, &self->devices);
    }
    if (self->config.ranks == 0) {
        self->config.ranks =
            config->device == NULL && self->devices.count > 0 ? self->devices.count : 1;
    }
    return st;
}

/* The device of a rank; NULL: none. */
static const listed_device *device_of(const report *self, uint32_t rank)
{
    return self->devices.count > 0 ? &self->devices.of[rank % self->devices.count] : NULL;
}

static int32_t node_of(const report *self, uint32_t rank)
{
    const listed_device *device = device_of(self, rank);

    return device != NULL ? device->node : -1;
}

static sluice_status make_plans(report *self, const sli_rank_part *parts)
{
    for (uint32_t rank = 0; rank < self->config.ranks; rank++) {
        const listed_device *device = device_of(self, rank);
        const sli_placement_request request = {
            .workers = self->config.workers,
            .node = node_of(self, rank),
            .node_given = device != NULL && device->node_given,
            .local_rank = rank,
            .local_world = self->config.ranks,
            .part = self->config.ranks > 1 ? &parts[rank] : NULL,
            .step_elsewhere = device == NULL || device->step_elsewhere,
        };
        const sluice_status st = sli_placement_plan(self->topology, &request, &self->plans[rank]);

        if (st != SLUICE_OK) {
            return st;
        }
        self->plan_count++;
    }
    return SLUICE_OK;
}

/* Divides the machine among ranks that may all use the same as this process. */
static sluice_status divide(const report *self, sli_rank_claim *claims, sli_rank_part *parts)
{
    for (uint32_t rank = 0; rank < self->config.ranks; rank++) {
        sli_rank_claim_make(self->topology, node_of(self, rank), &claims[rank]);
    }
    return sli_divide_cores(self->topology->all_cores, self->topology->all_core_count, claims,
                            self->config.ranks, parts);
}

static sluice_status plan_ranks(report *self)
{
    sli_rank_claim *claims = sli_calloc(self->config.ranks, sizeof(*claims));
    sli_rank_part *parts = sli_calloc(self->config.ranks, sizeof(*parts));
    sluice_status st;

    self->plans = sli_calloc(self->config.ranks, sizeof(sli_placement *));
    if (self->plans == NULL || claims == NULL || parts == NULL) {
        st = sli_fail(SLUICE_E_NO_MEMORY, "placement of %u ranks", self->config.ranks);
    } else {
        st = divide(self, claims, parts);
    }
    if (st == SLUICE_OK) {
        st = make_plans(self, parts);
    }
    sli_free(claims);
    sli_free(parts);
    return st;
}

static bool has_note(const sli_placement *plan, const char *note)
{
    for (uint32_t i = 0; i < plan->note_count; i++) {
        if (strcmp(plan->notes[i], note) == 0) {
            return true;
        }
    }
    return false;
}

/* The number of ranks with this note; 0 if an earlier rank has it and has therefore reported it. */
static uint32_t count_note(const report *self, uint32_t rank, const char *note)
{
    uint32_t count = 0;

    for (uint32_t r = 0; r < self->plan_count; r++) {
        const bool has = has_note(self->plans[r], note);

        if (has && r < rank) {
            return 0;
        }
        count += has;
    }
    return count;
}

static void write_note(const report *self, const char *note, sli_text *text)
{
    if (self->config.json) {
        const bool first = text->length == 0 || text->data[text->length - 1] == '[';

        sli_text_add(text, "%s", first ? "" : ",");
        sli_text_add_json(text, note);
    } else {
        sli_text line = {0};

        sli_text_add(&line, "  - ");
        sli_text_add_printable(&line, note);
        sli_text_add_line(text, "%s", line.data != NULL ? line.data : "");
        text->failed = text->failed || line.failed;
        sli_text_free(&line);
    }
}

/* Writes each note once, with its first rank unless it applies to all ranks. */
static void write_plan_notes(const report *self, uint32_t rank, sli_text *text)
{
    const sli_placement *plan = self->plans[rank];

    for (uint32_t i = 0; i < plan->note_count; i++) {
        const uint32_t count = count_note(self, rank, plan->notes[i]);
        char line[SLI_NOTE_SIZE + 48];

        if (count == self->plan_count) {
            write_note(self, plan->notes[i], text);
        } else if (count == 1) {
            snprintf(line, sizeof(line), "rank %u: %s", rank, plan->notes[i]);
            write_note(self, line, text);
        } else if (count > 1) {
            snprintf(line, sizeof(line), "rank %u and %u more: %s", rank, count - 1,
                     plan->notes[i]);
            write_note(self, line, text);
        }
    }
}

/* Writes that the node of a device is unknown. */
static void write_device_note(const report *self, const listed_device *device, sli_text *text)
{
    const bool by_name = strcmp(device->name, device->pci) != 0;
    char line[SLI_NOTE_SIZE];

    snprintf(line, sizeof(line),
             "the node of device %s%s%s%s is unknown: buffers and workers may be far from it; set "
             "it by the device option node=N",
             device->name, by_name ? " (PCI " : "", by_name ? device->pci : "", by_name ? ")" : "");
    write_note(self, line, text);
}

static void write_notes(const report *self, sli_text *text)
{
    for (uint32_t i = 0; i < self->devices.count && self->topology->node_count > 1; i++) {
        if (self->devices.of[i].node < 0 && self->devices.of[i].pci[0] != '\0') {
            write_device_note(self, &self->devices.of[i], text);
        }
    }
    for (uint32_t rank = 0; rank < self->plan_count; rank++) {
        write_plan_notes(self, rank, text);
    }
}

static void print_report(const report *self, sli_text *text)
{
    size_t before;

    sli_machine_print(self->topology, &self->source, text);
    if (self->config.devices != NULL || self->config.pci != NULL) {
        device_list_print(&self->devices, text);
    }
    for (uint32_t rank = 0; rank < self->plan_count; rank++) {
        const listed_device *device = device_of(self, rank);

        sli_text_add(text, "\nplan");
        if (self->plan_count > 1) {
            sli_text_add(text, " of rank %u of %u", rank, self->plan_count);
        }
        if (device != NULL) {
            sli_text_add(text, " for device %s", device->name);
        }
        if (node_of(self, rank) >= 0) {
            sli_text_add(text, " on node %d", node_of(self, rank));
        }
        sli_text_add(text, "\n");
        sli_placement_print(self->topology, self->plans[rank], text);
    }
    sli_text_add(text, "\nremarks\n");
    before = text->length;
    write_notes(self, text);
    if (text->length == before) {
        sli_text_add(text, "  none\n");
    }
}

static void print_report_json(const report *self, sli_text *text)
{
    sli_text_add(text, "{");
    sli_machine_print_json(self->topology, &self->source, text);
    sli_text_add(text, ",\"devices\":");
    device_list_print_json(&self->devices, text);
    sli_text_add(text, ",\"plans\":[");
    for (uint32_t rank = 0; rank < self->plan_count; rank++) {
        sli_text_add(text, "%s", rank > 0 ? "," : "");
        sli_placement_print_json(self->topology, self->plans[rank], text);
    }
    sli_text_add(text, "],\"notes\":[");
    write_notes(self, text);
    sli_text_add(text, "]}");
}

static void close_report(report *self)
{
    for (uint32_t rank = 0; rank < self->plan_count; rank++) {
        sli_placement_free(self->plans[rank]);
    }
    sli_free(self->plans);
    device_list_free(&self->devices);
    sli_topology_close(self->topology);
}

sluice_status sluice_topology_report(const sluice_topology_config *config, char **text_out)
{
    report self = {.topology = NULL};
    sli_text text = {0};
    sluice_status st;

    if (text_out == NULL) {
        return sli_fail(SLUICE_E_INVALID, "sluice_topology_report: text_out is NULL");
    }
    st = read_config(config, &self.config);
    if (st != SLUICE_OK) {
        return st;
    }
    self.source.synthetic = self.config.synthetic;
    self.source.xml = self.config.xml;
    st = sli_topology_open(&self.source, &self.topology);
    if (st == SLUICE_OK) {
        st = find_devices(&self);
    }
    if (st == SLUICE_OK) {
        st = plan_ranks(&self);
    }
    if (st == SLUICE_OK) {
        if (self.config.emit != SLUICE_LAUNCHER_NONE) {
            sli_launch_lines_print(self.config.emit, self.topology, self.plans, self.plan_count,
                                   &text);
        } else if (self.config.json) {
            print_report_json(&self, &text);
        } else {
            print_report(&self, &text);
        }
        st = sli_text_take(&text, text_out);
    }
    close_report(&self);
    return st;
}
