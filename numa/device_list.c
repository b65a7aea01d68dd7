/* SPDX-License-Identifier: Apache-2.0 */
#include "device_list.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "alloc_int.h"
#include "device_int.h"
#include "device_locality.h"
#include "status_int.h"

/* PCI vendor id, and the base class of display controllers, such as VGA and 3D. */
enum { VENDOR_NVIDIA = 0x10DE, CLASS_DISPLAY = 0x03 };

/* State of a search: hwloc reads PCI devices slowly, so it does that once, if at all. */
typedef struct search {
    const sli_topology_config *source;
    bool recorded; /* source is a file or a text, not this machine */
    bool is_loaded;
    hwloc_topology_t loaded;
    device_list *list;
} search;

static sluice_status load(search *s)
{
    sluice_status st = SLUICE_OK;

    if (!s->is_loaded) {
        st = sli_topology_load(s->source, true, &s->loaded);
        s->is_loaded = st == SLUICE_OK;
    }
    return st;
}

static const char *name_of(const search *s)
{
    return s->source->xml != NULL         ? s->source->xml
           : s->source->synthetic != NULL ? s->source->synthetic
                                          : "this machine";
}

static sluice_status add(device_list *list, const listed_device *device)
{
    if (list->count >= DEVICE_LIST_MOST) {
        return sli_fail(SLUICE_E_INVALID, "more than %d devices", DEVICE_LIST_MOST);
    }
    if (list->of == NULL) {
        list->of = sli_calloc(DEVICE_LIST_MOST, sizeof(*list->of));
    }
    if (list->of == NULL) {
        return sli_fail(SLUICE_E_NO_MEMORY, "a list of devices");
    }
    list->of[list->count++] = *device;
    return SLUICE_OK;
}

/* ---- PCI addresses --------------------------------------------------------------------------- */

static bool is_in_sysfs(const char *pci)
{
    char path[96];

    snprintf(path, sizeof(path), "/sys/bus/pci/devices/%s", pci);
    return access(path, F_OK) == 0;
}

/* Finds the node of a PCI address; returns E_INVALID if there is no device. */
static sluice_status find_node(search *s, const char *pci, int32_t *node_out)
{
    pci_address address;
    bool there = !s->recorded && is_in_sysfs(pci);
    sluice_status st;

    *node_out = -1;
    if (!pci_address_parse(pci, &address)) {
        return sli_fail(SLUICE_E_INVALID, "PCI address \"%s\" must be of the form 0000:65:00.0",
                        pci);
    }
    if (there) {
        *node_out = pci_node_in_sysfs(&address);
    }
    if (*node_out >= 0) {
        return SLUICE_OK;
    }
    st = load(s);
    if (st == SLUICE_OK) {
        bool in_hwloc;

        *node_out = pci_node_in_hwloc(s->loaded, &address, &in_hwloc);
        there = there || in_hwloc;
    }
    if (st == SLUICE_OK && !there) {
        return sli_fail(SLUICE_E_INVALID, "%.200s has no PCI device %s; `lstopo` lists them",
                        name_of(s), pci);
    }
    return st;
}

static sluice_status add_address(search *s, const char *text)
{
    listed_device device = {.step_elsewhere = true};
    pci_address a;
    sluice_status st;

    if (!pci_address_parse(text, &a)) {
        return sli_fail(SLUICE_E_INVALID, "PCI address \"%s\" must be of the form 0000:65:00.0",
                        text);
    }
    snprintf(device.pci, sizeof(device.pci), "%04x:%02x:%02x.%x", a.domain, a.bus, a.device,
             a.function);
    snprintf(device.name, sizeof(device.name), "%s", device.pci);
    st = find_node(s, device.pci, &device.node);
    return st == SLUICE_OK ? add(s->list, &device) : st;
}

/* ---- devices of this machine ----------------------------------------------------------------- */

static void describe(const sluice_device *device, listed_device *listed_out)
{
    *listed_out = (listed_device){.node = device->caps.node,
                                  .node_given = device->caps.node >= 0,
                                  .step_elsewhere = device->caps.pci_bus_id[0] != '\0'};
    snprintf(listed_out->name, sizeof(listed_out->name), "%s", device->name);
    snprintf(listed_out->pci, sizeof(listed_out->pci), "%s", device->caps.pci_bus_id);
}

/* Opens a device, adds it, and closes it. *count_out: number of devices of its kind; 0: not known.
 */
static sluice_status add_opened(search *s, const char *name, uint32_t *count_out)
{
    listed_device listed;
    sluice_device *device = NULL;
    sluice_status st = sluice_device_open(name, &device);

    *count_out = 0;
    if (st != SLUICE_OK) {
        return st;
    }
    describe(device, &listed);
    if (listed.node < 0 && listed.pci[0] != '\0') {
        listed.node = sli_topology_node_of_pci(s->source, listed.pci);
    }
    if (device->backend->count != NULL) {
        st = device->backend->count(count_out);
    }
    sluice_device_close(device);
    return st == SLUICE_OK ? add(s->list, &listed) : st;
}

static sluice_status add_all_opened(search *s, const char *kind)
{
    uint32_t count = 1;
    sluice_status st = SLUICE_OK;

    for (uint32_t i = 0; st == SLUICE_OK && i < count; i++) {
        char name[32];

        snprintf(name, sizeof(name), "%.16s:%u", kind, i);
        st = add_opened(s, name, &count);
        if (st == SLUICE_OK && count == 0) {
            st = sli_fail(SLUICE_E_INVALID,
                          "devices: %s:all is not supported, since the number of such devices has "
                          "no limit; use cuda:all, or names",
                          kind);
        }
    }
    return st;
}

/* ---- devices of a recorded machine ----------------------------------------------------------- */

static int compare(const void *a, const void *b)
{
    return strcmp(((const listed_device *)a)->pci, ((const listed_device *)b)->pci);
}

/* Lists the NVIDIA GPUs by PCI address. */
static sluice_status list_gpus(search *s, device_list *gpus)
{
    hwloc_obj_t object = NULL;
    sluice_status st = load(s);

    while (st == SLUICE_OK && (object = hwloc_get_next_pcidev(s->loaded, object)) != NULL) {
        const struct hwloc_pcidev_attr_s *pci = &object->attr->pcidev;
        const pci_address address = {pci->domain, pci->bus, pci->dev, pci->func};
        listed_device gpu = {.step_elsewhere = true};
        bool there;

        if (pci->vendor_id != VENDOR_NVIDIA || pci->class_id >> 8 != CLASS_DISPLAY) {
            continue;
        }
        snprintf(gpu.pci, sizeof(gpu.pci), "%04x:%02x:%02x.%x", address.domain, address.bus,
                 address.device, address.function);
        gpu.node = pci_node_in_hwloc(s->loaded, &address, &there);
        st = add(gpus, &gpu);
    }
    if (gpus->count > 0) {
        qsort(gpus->of, gpus->count, sizeof(*gpus->of), compare);
    }
    for (uint32_t i = 0; i < gpus->count; i++) {
        snprintf(gpus->of[i].name, sizeof(gpus->of[i].name), "cuda:%u", i);
    }
    return st;
}

/* Adds the GPU with this name; `cuda:all` adds every GPU. */
static sluice_status add_recorded(search *s, const char *name)
{
    const bool all = strcmp(name, "cuda:all") == 0;
    const uint32_t before = s->list->count;
    device_list gpus = {0};
    sluice_status st = list_gpus(s, &gpus);

    for (uint32_t i = 0; st == SLUICE_OK && i < gpus.count; i++) {
        if (all || strcmp(gpus.of[i].name, name) == 0) {
            st = add(s->list, &gpus.of[i]);
        }
    }
    if (st == SLUICE_OK && gpus.count == 0) {
        st = sli_fail(SLUICE_E_INVALID,
                      "devices %s: %.200s has no NVIDIA GPU; name other devices by their PCI "
                      "addresses",
                      name, name_of(s));
    } else if (st == SLUICE_OK && s->list->count == before) {
        st = sli_fail(SLUICE_E_INVALID, "device %s: %.200s has cuda:0 to cuda:%u", name, name_of(s),
                      gpus.count - 1);
    }
    device_list_free(&gpus);
    return st;
}

/* ---- lists ----------------------------------------------------------------------------------- */

static sluice_status add_device(search *s, const char *name)
{
    const char *colon = strchr(name, ':');
    char kind[32];
    uint32_t count;

    if (s->recorded) {
        return add_recorded(s, name);
    }
    if (colon == NULL || strcmp(colon, ":all") != 0) {
        return add_opened(s, name, &count);
    }
    snprintf(kind, sizeof(kind), "%.*s", (int)(colon - name), name);
    return add_all_opened(s, kind);
}

/* Calls add_entry() for each entry of a list. */
static sluice_status add_entries(search *s, const char *what, const char *text,
                                 sluice_status (*add_entry)(search *s, const char *entry))
{
    sluice_status st = SLUICE_OK;

    while (st == SLUICE_OK) {
        const size_t length = strcspn(text, ",");
        char entry[32];

        if (length == 0 || length >= sizeof(entry)) {
            return sli_fail(SLUICE_E_INVALID,
                            "%s: an entry is empty or too long, at \"%.40s\"; entries must be "
                            "separated by commas",
                            what, text);
        }
        snprintf(entry, sizeof(entry), "%.*s", (int)length, text);
        st = add_entry(s, entry);
        if (text[length] == '\0') {
            break;
        }
        text += length + 1;
    }
    return st;
}

sluice_status device_list_find(const sli_topology_config *source, const char *devices,
                               const char *pci, device_list *list)
{
    search s = {.source = source,
                .recorded = source->synthetic != NULL || source->xml != NULL,
                .list = list};
    const sluice_status st = devices != NULL ? add_entries(&s, "devices", devices, add_device)
                                             : add_entries(&s, "pci", pci, add_address);

    if (s.is_loaded) {
        hwloc_topology_destroy(s.loaded);
    }
    return st;
}

sluice_status device_list_single(const sli_topology_config *source, const sluice_device *device,
                                 device_list *list)
{
    listed_device listed;

    describe(device, &listed);
    listed.node = sli_topology_node_of_device(source, device);
    return add(list, &listed);
}

void device_list_free(device_list *list)
{
    sli_free(list->of);
    *list = (device_list){0};
}

void device_list_print(const device_list *list, sli_text *text)
{
    sli_text_add(text, "\n  %-13s %-13s %s\n", "device", "PCI address", "node");
    for (uint32_t i = 0; i < list->count; i++) {
        const listed_device *device = &list->of[i];
        char node[16] = "unknown";

        if (device->node >= 0) {
            snprintf(node, sizeof(node), "%d", device->node);
        }
        sli_text_add(text, "  %-13s %-13s %s\n", device->name,
                     device->pci[0] != '\0' ? device->pci : "-", node);
    }
}

void device_list_print_json(const device_list *list, sli_text *text)
{
    sli_text_add(text, "[");
    for (uint32_t i = 0; i < list->count; i++) {
        const listed_device *device = &list->of[i];

        sli_text_add(text, "%s{\"name\":", i > 0 ? "," : "");
        sli_text_add_json(text, device->name);
        sli_text_add(text, ",\"pci\":");
        if (device->pci[0] != '\0') {
            sli_text_add_json(text, device->pci);
        } else {
            sli_text_add(text, "null");
        }
        if (device->node >= 0) {
            sli_text_add(text, ",\"node\":%d}", device->node);
        } else {
            sli_text_add(text, ",\"node\":null}");
        }
    }
    sli_text_add(text, "]");
}
