#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes the images of this folder: an input, and what torchvision makes of it; prints numbers of tests.

Needs torch and torchvision (made with 0.29.2). Run it in this folder; the files are kept in the
repository, so that tests need neither. rgb-70x12.ppm is the input, NAME.ppm an output.
"""
import torch
from torchvision import tv_tensors
from torchvision.transforms import v2
from torchvision.transforms.v2 import functional as F

WIDTH, HEIGHT = 70, 12


def sample(x, y, c):
    """Slopes, edges, grays and noise."""
    if y == 0:
        return (x * 255) // (WIDTH - 1)
    noise = (x * 2654435761 ^ y * 2246822519 ^ c * 3266489917) & 0xFFFFFFFF
    noise = (noise ^ noise >> 15) * 2246822519 & 0xFFFFFFFF
    return (x * (3 + c) + y * (5 - c) + ((x // 5 + y // 3 + c) & 1) * 140 + (noise >> 26)) & 255


def save(name, image):
    with open(name + ".ppm", "wb") as file:
        file.write(b"P6\n%d %d\n255\n" % (image.shape[2], image.shape[1]))
        file.write(image.permute(1, 2, 0).contiguous().numpy().tobytes())


image = torch.tensor(
    [[[sample(x, y, c) for x in range(WIDTH)] for y in range(HEIGHT)] for c in range(3)],
    dtype=torch.uint8)
dim = image // 3 + 40
save("rgb-70x12", image)
save("dim-70x12", dim)
for factor in 0.4, 1.7:
    save("brightness-%g" % factor, F.adjust_brightness(image, factor))
    save("contrast-%g" % factor, F.adjust_contrast(image, factor))
    save("saturation-%g" % factor, F.adjust_saturation(image, factor))
for turn in -0.3, 0.1, 0.5:
    save("hue-%g" % turn, F.adjust_hue(image, turn))
save("grayscale", F.rgb_to_grayscale(image, num_output_channels=3))
save("invert", F.invert(image))
save("posterize-3", F.posterize(image, 3))
save("solarize-100", F.solarize(image, 100))
save("autocontrast", F.autocontrast(dim))
save("equalize", F.equalize(dim))
save("chain", F.adjust_hue(F.adjust_contrast(F.invert(F.adjust_brightness(image, 1.3)), 0.6), 0.2))

for factor in 0.3, 1.9:
    save("sharpness-%g" % factor, F.adjust_sharpness(image, factor))
save("blur-5", F.gaussian_blur(image, [5, 5], [0.8, 0.8]))
save("blur-23", F.gaussian_blur(image, [23, 23], [3.0, 3.0]))
fills = [10.0, 200.0, 90.0]
save("rotate-30", F.rotate(image, 30, interpolation="nearest", fill=7))
save("rotate-90", F.rotate(image[:, :, :12], 90, interpolation="nearest", fill=7))
save("rotate--17", F.rotate(image, -17, interpolation="bilinear", fill=fills))
save("affine", F.affine(image, 12, [5, -2], 0.8, [20, -10], interpolation="bilinear", fill=fills))
save("affine-large", F.affine(image, -5, [0, 1], 1.6, [0, 5], interpolation="nearest", fill=0))
save("perspective", F.perspective(image, [[0, 0], [69, 0], [69, 11], [0, 11]],
                                  [[3, 2], [60, 0], [66, 9], [10, 11]], fill=fills))

# elastic: the same noise in both, since its random numbers are others there.
def noise(axis):
    return torch.tensor([[[[(2 * ((x * 40503 + y * 30011 + axis * 17 + x * y * 977) & 0xFFFF) - 65535)
                            / 65536 for x in range(WIDTH)] for y in range(HEIGHT)]]])


ALPHA, SIGMA = [9.0, 40.0], [1.2, 0.9]
parts = []
for axis in 0, 1:
    taps = int(8 * SIGMA[axis] + 1) | 1
    parts.append(F.gaussian_blur(noise(axis), [taps, taps], SIGMA) * ALPHA[axis] / [HEIGHT, WIDTH][axis])
displacement = torch.concat(parts, 1).permute([0, 2, 3, 1])
save("elastic", F.elastic(image, displacement, interpolation="bilinear", fill=fills))
save("elastic-nearest", F.elastic(image, displacement, interpolation="nearest", fill=7))
boxes = tv_tensors.BoundingBoxes([[10.0, 2, 40, 9], [0, 0, 69, 11], [60, 4, 66, 11]], format="XYXY",
                                 canvas_size=(HEIGHT, WIDTH))
print("boxes of test_elastic.c:", F.elastic(boxes, displacement).tolist())
for mode in "constant", "edge", "reflect", "symmetric":
    save("pad-" + mode, F.pad(image[:, :, :12], [5, 3, 2, 7], padding_mode=mode,
                              fill=fills if mode == "constant" else 0))
save("rotate-center", F.rotate(image, 25, interpolation="nearest", fill=fills, center=[20, 3]))
save("affine-center", F.affine(image, 12, [5, -2], 0.8, [20, -10], interpolation="bilinear", fill=fills, center=[60, -4]))
save("rotate-expand", F.rotate(image[:, :, :30], 30, interpolation="nearest", fill=fills, expand=True))
save("rotate-expand-bilinear", F.rotate(image[:, :, :12], -17, interpolation="bilinear", fill=fills, expand=True))
for width, height, angle in (40, 30, 30), (30, 40, -17), (7, 500, 45), (1, 1, 10), (224, 224, 1), (640, 427, 137), (5, 4, 90), (3, 3, 359.5):
    shape = F.rotate(torch.zeros(1, height, width, dtype=torch.uint8), angle, expand=True).shape
    print("sizes of test_expanded_rotations.c: %d %d %g: %d %d" % (width, height, angle, shape[2], shape[1]))
save("ten-crop", torch.cat(F.ten_crop(image, [7, 20]), 1))
save("gamma-2.2", F.adjust_gamma(image, 2.2))
save("gamma-0.4-1.5", F.adjust_gamma(image, 0.4, 1.5))
save("channels-2-0-1", F.permute_channels(image, [2, 0, 1]))
save("crop-inside", F.crop(image, 3, 11, 7, 20))
save("crop-outside", F.crop(image, -4, 50, 9, 30))
bright = F.adjust_brightness(image, 1.3)
save("distort-before", F.adjust_hue(F.adjust_saturation(F.adjust_contrast(bright, 0.6), 1.7), 0.1))
save("distort-after", F.adjust_contrast(F.adjust_hue(F.adjust_saturation(bright, 1.7), 0.1), 0.6))
save("noise-clipped", F.gaussian_noise(image, -0.3, 0))
save("noise-wrapped", F.gaussian_noise(image, 0.4, 0, clip=False))
save("jpeg-5", F.jpeg(image, 5))
save("jpeg-60", F.jpeg(image, 60))
save("jpeg-flipped", F.horizontal_flip(F.jpeg(F.horizontal_flip(image), 40)))

# For test_torchvision_values.c: numbers that stand in its source.
torch.manual_seed(1)


def print_numbers(name, tensor, form="%.9g"):
    print("%s: %s" % (name, ", ".join(form % v for v in tensor.flatten().tolist())))


# mixup and cutmix of a batch, as v2.MixUp and v2.CutMix mix it with the next sample
images = torch.tensor([[(37 * i + 11 * k) % 256 for k in range(12)] for i in range(4)]).reshape(4, 1, 3, 4)
labels = torch.tensor([2, 0, 1, 2])
lam = 0.3125
mix = v2.MixUp(num_classes=3)
mixed = mix.transform(images.float(), dict(labels=labels, batch_size=4, lam=lam))
print_numbers("mixup", mixed)
print_numbers("mixup, bytes", images.float().roll(1, 0) * (1 - lam) + images.float() * lam)
print_numbers("mixup, labels", mix._mixup_label(labels, lam=lam))
cut = v2.CutMix(num_classes=3)
box = (1, 0, 3, 2)
lam = float(1.0 - (box[2] - box[0]) * (box[3] - box[1]) / 12)
print_numbers("cutmix", cut.transform(images.float(), dict(labels=labels, batch_size=4, box=box, lam_adjusted=lam)), "%g")
print_numbers("cutmix, labels", cut._mixup_label(labels, lam=lam))

# erasing after normalize, and a vertical flip
small = image[:, :3, :4]
normalized = F.normalize(F.to_dtype(small, torch.float32, scale=True), [0.485, 0.456, 0.406], [0.229, 0.224, 0.225])
print_numbers("erase", F.erase(F.vertical_flip(normalized), 1, 1, 2, 2, torch.zeros(3, 1, 1)))

# AutoAugment: how often an image gets each operation
for policy in v2.AutoAugmentPolicy:
    pairs = v2.AutoAugment(policy)._policies
    for name in "Equalize", "AutoContrast", "Solarize", "Contrast", "Color", "Sharpness":
        print("auto_augment, %s, %s: %.3f" % (policy.value, name, sum(p for pair in pairs for n, p, _ in pair if n == name) / 25))

# AugMix: its table at each of the 10 magnitudes, and its sum
table = v2.AugMix()._AUGMENTATION_SPACE
for name in table:
    magnitudes = table[name][0](10, HEIGHT, WIDTH)
    print("aug_mix, %s: %s" % (name, None if magnitudes is None else ["%.9g" % m for m in magnitudes.tolist()]))

# For test_torchvision_sizes.c: sizes.u16 has the results for inputs that both draw in the same way.
COUNT, CROPS = 700, 200
state = 1


def draw(low, high):
    global state
    state = (state * 1664525 + 1013904223) & 0xFFFFFFFF
    return low + (state >> 8) % (high - low + 1)


def image_of(width, height):
    return torch.empty((1, height, width), dtype=torch.uint8, device="meta")


def ends_of_crop(transform, width, height):
    """The smallest and the largest left and top of the crop, in pixels of the image."""
    ends = []
    randint = torch.randint
    for pick in (lambda low, high, size: torch.tensor(low)), (lambda low, high, size: torch.tensor(high - 1)):
        torch.randint = pick
        params = transform.make_params([image_of(width, height)])
        ends += [params["left"] - params["padding"][0], params["top"] - params["padding"][1]]
    torch.randint = randint
    return ends


sizes = []
for _ in range(COUNT):  # resize N max_size=
    width, height, n = draw(1, 2000), draw(1, 2000), draw(1, 700)
    most = n + draw(1, 800)
    new_height, new_width = F._geometry._compute_resized_output_size((height, width), [n], most)
    sizes += [new_width, new_height]
for _ in range(COUNT):  # random_shortest_size
    width, height, n = draw(1, 2000), draw(1, 2000), draw(1, 700)
    most = n + draw(0, 800)
    new_height, new_width = v2.RandomShortestSize([n], most).make_params([image_of(width, height)])["size"]
    sizes += [new_width, new_height]
for _ in range(COUNT):  # scale_jitter by a factor of sixty-fourths
    width, height, to_width, to_height, factor = draw(1, 2000), draw(1, 2000), draw(1, 1000), draw(1, 1000), draw(7, 128)
    jitter = v2.ScaleJitter((to_width, to_height), (factor / 64, factor / 64))
    new_height, new_width = jitter.make_params([image_of(width, height)])["size"]
    sizes += [new_width, new_height]
for _ in range(CROPS):  # random_crop padding= pad_if_needed=
    width, height, to_width, to_height = draw(1, 20), draw(1, 20), draw(1, 24), draw(1, 24)
    padding = [draw(0, 4) for _ in range(4)]
    sizes += ends_of_crop(v2.RandomCrop((to_height, to_width), padding, pad_if_needed=True), width, height)
with open("sizes.u16", "wb") as file:
    file.write(b"".join((size & 0xFFFF).to_bytes(2, "little") for size in sizes))

# Resizes, also after a flip, and a crop after a flip
for width, height in (31, 7), (90, 5), (40, 17), (70, 6):
    save("resize-%dx%d" % (width, height), F.resize(image, [height, width], antialias=True))
save("flip-resize-31x7", F.resize(F.horizontal_flip(image), [7, 31], antialias=True))
save("flip-crop-20x7", F.center_crop(F.horizontal_flip(image), [7, 20]))
