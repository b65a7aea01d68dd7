#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The image operators of one other library, for operators.py.

    operator_peer.py NAME FILE SIDE

NAME: torchvision (uint8 tensors), pillow (torchvision on Pillow images), opencv, dali, mindspore.
FILE has images of SIDE x SIDE x 3 bytes. Commands come from standard input, each is answered by one
line:

    version
    time OPERATOR         CPU time of the process for an image in us, or - if there is no such operator
    save FILE OPERATOR    writes the results of all images, uint8 (H, W, C) or float32 (C, H, W)

Images are in the library's own form beforehand, and results are dropped in it.
"""
import sys
import time

import numpy

MEAN, STD = [0.485, 0.456, 0.406], [0.229, 0.224, 0.225]
AFFINE = dict(angle=12, translate=[5, -8], scale=0.9, shear=[5, 3])
SIDE = int(sys.argv[3])
CORNERS = [[0, 0], [SIDE - 1, 0], [SIDE - 1, SIDE - 1], [0, SIDE - 1]]
MOVED = [[20, 10], [SIDE - 30, 5], [SIDE - 10, SIDE - 25], [15, SIDE - 12]]
LEAST = 0.02
ERASED = dict(i=40, j=60, h=100, w=80)


def torchvision_operators(F, tensor, interpolation):
    """F on tensors or Pillow images."""
    near, line = interpolation.NEAREST, interpolation.BILINEAR
    made = {
        "brightness": lambda x: F.adjust_brightness(x, 1.3),
        "contrast": lambda x: F.adjust_contrast(x, 1.3),
        "saturation": lambda x: F.adjust_saturation(x, 1.3),
        "hue": lambda x: F.adjust_hue(x, 0.1),
        "grayscale": lambda x: F.rgb_to_grayscale(x, 3),
        "invert": F.invert,
        "posterize": lambda x: F.posterize(x, 4),
        "solarize": lambda x: F.solarize(x, 128),
        "autocontrast": F.autocontrast,
        "equalize": F.equalize,
        "sharpness": lambda x: F.adjust_sharpness(x, 1.7),
        "blur 5": lambda x: F.gaussian_blur(x, [5, 5], [1.2, 1.2]),
        "blur 23": lambda x: F.gaussian_blur(x, [23, 23], [1.2, 1.2]),
        "rotate, nearest": lambda x: F.rotate(x, 30, near, fill=0),
        "rotate, bilinear": lambda x: F.rotate(x, 30, line, fill=0),
        "affine, nearest": lambda x: F.affine(x, **AFFINE, interpolation=near, fill=0),
        "affine, bilinear": lambda x: F.affine(x, **AFFINE, interpolation=line, fill=0),
        "perspective, bilinear": lambda x: F.perspective(x, CORNERS, MOVED, line, fill=0),
        "horizontal flip": F.horizontal_flip,
        "vertical flip": F.vertical_flip,
        "center crop 160": lambda x: F.center_crop(x, [160, 160]),
        "pad 16": lambda x: F.pad(x, [16, 16, 16, 16], fill=0),
        "resize 160": lambda x: F.resize(x, [160, 160], line, antialias=True),
        "resize 320": lambda x: F.resize(x, [320, 320], line, antialias=True),
    }
    made["color_jitter"] = lambda x: F.adjust_hue(
        F.adjust_saturation(F.adjust_contrast(F.adjust_brightness(x, 1.3), 1.3), 1.3), 0.1)
    if tensor:
        import torch

        def normalize(x):
            return F.normalize(F.to_dtype(x, torch.float32, scale=True), MEAN, STD)

        made["normalize"] = normalize
        black = torch.zeros(3, 1, 1, dtype=torch.uint8)
        made["erase"] = lambda x: F.erase(x, **ERASED, v=black)
    else:
        def normalize(x):
            import torch
            return F.normalize(F.to_dtype(F.pil_to_tensor(x), torch.float32, scale=True), MEAN, STD)

        made["normalize"] = normalize
    chain = [made["affine, bilinear"], made["brightness"], made["saturation"], made["hue"]]
    with_contrast = [made["affine, bilinear"], made["brightness"], made["contrast"],
                     made["saturation"], made["hue"]]

    def chained(steps):
        def run(x):
            for step in steps:
                x = step(x)
            if tensor:
                return normalize(F.erase(x, **ERASED, v=black))
            import torch
            x = F.to_dtype(F.pil_to_tensor(x), torch.float32, scale=True)
            return F.normalize(F.erase(x, **ERASED, v=torch.zeros(3, 1, 1)), MEAN, STD)
        return run

    made["chain"] = chained(chain)
    made["chain, contrast"] = chained(with_contrast)
    return made


def torchvision(images):
    import torch
    import torchvision as package
    from torchvision.transforms import InterpolationMode, v2
    from torchvision.transforms.v2 import functional as F

    torch.set_num_threads(1)
    made = torchvision_operators(F, True, InterpolationMode)
    elastic, trivial = v2.ElasticTransform(), v2.TrivialAugmentWide()
    made["elastic"], made["trivial_augment"] = elastic, trivial
    tensors = [torch.from_numpy(x).permute(2, 0, 1).contiguous() for x in images]

    def array(x):
        return x.numpy() if x.is_floating_point() else x.permute(1, 2, 0).numpy()

    return package.__version__, made, tensors, array


def pillow(images):
    import PIL.Image
    import torch
    from torchvision.transforms import InterpolationMode, v2
    from torchvision.transforms.v2 import functional as F

    torch.set_num_threads(1)
    made = torchvision_operators(F, False, InterpolationMode)
    elastic, trivial = v2.ElasticTransform(), v2.TrivialAugmentWide()
    made["elastic"], made["trivial_augment"] = elastic, trivial
    return PIL.__version__, made, [PIL.Image.fromarray(x) for x in images], numpy.asarray


def affine_matrix(angle, translate, scale, shear):
    """torchvision's affine, from the result to the image, for coordinates of pixels' centres."""
    a, sx, sy = (numpy.deg2rad(v) for v in (angle, shear[0], shear[1]))
    rotation = numpy.array([
        [numpy.cos(a - sy) / numpy.cos(sy),
         -numpy.cos(a - sy) * numpy.tan(sx) / numpy.cos(sy) - numpy.sin(a)],
        [numpy.sin(a - sy) / numpy.cos(sy),
         -numpy.sin(a - sy) * numpy.tan(sx) / numpy.cos(sy) + numpy.cos(a)]]) * scale
    back = numpy.linalg.inv(rotation)
    centre = numpy.array([(SIDE - 1) / 2] * 2)
    offset = centre - back @ (centre + numpy.array(translate))
    return numpy.hstack([back, offset[:, None]])


def opencv(images):
    import cv2

    cv2.setNumThreads(0)
    ramp = numpy.arange(256, dtype=numpy.float32)
    solarized = numpy.where(ramp < 128, ramp, 255 - ramp).astype(numpy.uint8)
    rotation = affine_matrix(-30, [0, 0], 1, [0, 0])
    affine = affine_matrix(**AFFINE)
    corners = cv2.getPerspectiveTransform(numpy.float32(CORNERS), numpy.float32(MOVED))
    grid = numpy.float32(numpy.meshgrid(numpy.arange(SIDE), numpy.arange(SIDE)))
    kernel = numpy.float32([[1, 1, 1], [1, 5, 1], [1, 1, 1]]) / 13
    mean, scale = numpy.float32(MEAN) * 255, 1 / (numpy.float32(STD) * 255)

    def blend(x, other, factor):
        return cv2.addWeighted(x, factor, other, 1 - factor, 0)

    def gray(x):
        return cv2.cvtColor(cv2.cvtColor(x, cv2.COLOR_RGB2GRAY), cv2.COLOR_GRAY2RGB)

    def brightness(x):
        return cv2.convertScaleAbs(x, alpha=1.3)

    def contrast(x):
        mean_gray = cv2.mean(cv2.cvtColor(x, cv2.COLOR_RGB2GRAY))[0]
        return cv2.convertScaleAbs(x, alpha=1.3, beta=-0.3 * mean_gray)

    def saturation(x):
        return blend(x, gray(x), 1.3)

    def hue(x):
        hsv = cv2.cvtColor(x, cv2.COLOR_RGB2HSV_FULL)
        channels = list(cv2.split(hsv))
        channels[0] = cv2.add(channels[0].astype(numpy.uint16), 26).astype(numpy.uint8)
        return cv2.cvtColor(cv2.merge(channels), cv2.COLOR_HSV2RGB_FULL)

    def autocontrast(x):
        low, high = x.min((0, 1)), x.max((0, 1))
        tables = [numpy.clip((ramp - a) * (255 / max(int(b) - int(a), 1)), 0, 255) for a, b in zip(low, high)]
        return cv2.LUT(x, numpy.stack(tables, -1).astype(numpy.uint8)[None])

    def equalize(x):
        return cv2.merge([cv2.equalizeHist(c) for c in cv2.split(x)])

    def elastic(x):
        dx, dy = (cv2.GaussianBlur(numpy.random.rand(SIDE, SIDE).astype(numpy.float32) * 2 - 1,
                                   (41, 41), 5) * 25 for _ in range(2))
        return cv2.remap(x, grid[0] + dx, grid[1] + dy, cv2.INTER_LINEAR)

    def erase(x):
        x = x.copy()
        x[40:140, 60:140] = 0
        return x

    def normalize(x):
        return numpy.ascontiguousarray(cv2.multiply(cv2.subtract(
            x, numpy.append(mean, 0).astype(float), dtype=cv2.CV_32F),
            numpy.append(scale, 0).astype(float)).transpose(2, 0, 1))

    def warp(matrix, flags):
        return lambda x: cv2.warpAffine(x, matrix, (SIDE, SIDE), flags=flags | cv2.WARP_INVERSE_MAP)

    made = {
        "brightness": brightness, "contrast": contrast, "saturation": saturation, "hue": hue,
        "color_jitter": lambda x: hue(saturation(contrast(brightness(x)))),
        "grayscale": gray, "invert": cv2.bitwise_not,
        "posterize": lambda x: cv2.LUT(x, (ramp.astype(numpy.uint8) & 0xF0)),
        "solarize": lambda x: cv2.LUT(x, solarized),
        "autocontrast": autocontrast, "equalize": equalize,
        "sharpness": lambda x: blend(x, cv2.filter2D(x, -1, kernel), 1.7),
        "blur 5": lambda x: cv2.GaussianBlur(x, (5, 5), 1.2),
        "blur 23": lambda x: cv2.GaussianBlur(x, (23, 23), 1.2),
        "rotate, nearest": warp(rotation, cv2.INTER_NEAREST),
        "rotate, bilinear": warp(rotation, cv2.INTER_LINEAR),
        "affine, nearest": warp(affine, cv2.INTER_NEAREST),
        "affine, bilinear": warp(affine, cv2.INTER_LINEAR),
        "perspective, bilinear": lambda x: cv2.warpPerspective(x, corners, (SIDE, SIDE)),
        "elastic": elastic,
        "horizontal flip": lambda x: cv2.flip(x, 1), "vertical flip": lambda x: cv2.flip(x, 0),
        "center crop 160": lambda x: numpy.ascontiguousarray(x[32:192, 32:192]),
        "pad 16": lambda x: cv2.copyMakeBorder(x, 16, 16, 16, 16, cv2.BORDER_CONSTANT),
        "resize 160": lambda x: cv2.resize(x, (160, 160), interpolation=cv2.INTER_AREA),
        "resize 320": lambda x: cv2.resize(x, (320, 320)),
        "erase": erase, "normalize": normalize,
        "color_twist": None,
        "warp_affine": warp(affine, cv2.INTER_LINEAR),
    }
    first, jitter = made["affine, bilinear"], lambda x: hue(saturation(brightness(x)))
    made["chain"] = lambda x: normalize(erase(jitter(first(x))))
    made["chain, contrast"] = lambda x: normalize(erase(made["color_jitter"](first(x))))
    return cv2.__version__, made, list(images), numpy.asarray


def mindspore(images):
    import mindspore as package
    from mindspore.dataset import vision
    from mindspore.dataset.vision import Border, Inter

    near, line = Inter.NEAREST, Inter.BILINEAR
    affine = dict(degrees=12, translate=(5 / SIDE, -8 / SIDE), scale=0.9, shear=(5, 3))
    jitter = [vision.AdjustBrightness(1.3), vision.AdjustContrast(1.3),
              vision.AdjustSaturation(1.3), vision.AdjustHue(0.1)]
    normalize = [vision.Normalize([m * 255 for m in MEAN], [s * 255 for s in STD]), vision.HWC2CHW()]
    gray = vision.ConvertColor(vision.ConvertMode.COLOR_RGB2GRAY)
    erase = vision.Erase(40, 60, 100, 80, 0)
    warp = vision.Affine(**affine, resample=line)

    def steps(*operators):
        def run(x):
            for operator in operators:
                x = operator(x)
            return x
        return run

    made = {
        "brightness": jitter[0], "contrast": jitter[1], "saturation": jitter[2], "hue": jitter[3],
        "color_jitter": steps(*jitter), "grayscale": gray, "invert": vision.Invert(),
        "posterize": vision.Posterize(4), "solarize": vision.Solarize((128, 255)),
        "autocontrast": vision.AutoContrast(), "equalize": vision.Equalize(),
        "sharpness": vision.AdjustSharpness(1.7), "blur 5": vision.GaussianBlur(5, 1.2),
        "blur 23": vision.GaussianBlur(23, 1.2), "rotate, nearest": vision.Rotate(30, near),
        "rotate, bilinear": vision.Rotate(30, line),
        "affine, nearest": vision.Affine(**affine, resample=near), "affine, bilinear": warp,
        "perspective, bilinear": vision.Perspective(CORNERS, MOVED, line),
        "horizontal flip": vision.HorizontalFlip(), "vertical flip": vision.VerticalFlip(),
        "center crop 160": vision.CenterCrop(160), "pad 16": vision.Pad(16, 0, Border.CONSTANT),
        "resize 160": vision.Resize((160, 160), line), "resize 320": vision.Resize((320, 320), line),
        "erase": erase, "normalize": steps(*normalize),
        "trivial_augment": vision.TrivialAugmentWide(),
        "chain": steps(warp, jitter[0], jitter[2], jitter[3], erase, *normalize),
        "chain, contrast": steps(warp, *jitter, erase, *normalize),
    }
    return package.__version__, made, list(images), numpy.asarray


def dali(images):
    """Each operator is a pipeline of the whole set; the time of a pipeline that only copies is
    subtracted."""
    from nvidia import dali as package
    from nvidia.dali import fn, types

    affine = affine_matrix(**AFFINE)
    affine[:, 2] += 0.5 - affine[:, :2] @ [0.5, 0.5]  # of pixels' corners
    affine = [float(v) for v in affine.flatten()]
    near, line = types.INTERP_NN, types.INTERP_LINEAR
    mean, std = [m * 255 for m in MEAN], [s * 255 for s in STD]

    def warp(x, interp):
        return fn.warp_affine(x, matrix=affine, interp_type=interp, fill_value=0)

    def rotate(x, interp):
        return fn.rotate(x, angle=30, interp_type=interp, keep_size=True, fill_value=0)

    def erase(x):
        return fn.erase(x, anchor=(40, 60), shape=(100, 80), axis_names="HW", fill_value=0)

    def normalize(x):
        return fn.crop_mirror_normalize(x, mean=mean, std=std, dtype=types.FLOAT, output_layout="CHW")

    def twist(x, contrast):
        return fn.color_twist(x, brightness=1.3, contrast=contrast, saturation=1.3, hue=36)

    operators = {
        "copy": fn.copy,
        "brightness": lambda x: fn.brightness(x, brightness=1.3),
        "contrast": lambda x: fn.contrast(x, contrast=1.3),
        "saturation": lambda x: fn.saturation(x, saturation=1.3),
        "hue": lambda x: fn.hue(x, hue=36),
        "color_jitter": lambda x: twist(x, 1.3), "color_twist": lambda x: twist(x, 1.3),
        "grayscale": lambda x: fn.saturation(x, saturation=0),
        "equalize": fn.experimental.equalize,
        "posterize": lambda x: x & types.Constant(0xF0, types.UINT8),
        "invert": lambda x: types.Constant(255, types.UINT8) ^ x,
        "blur 5": lambda x: fn.gaussian_blur(x, window_size=5, sigma=1.2),
        "blur 23": lambda x: fn.gaussian_blur(x, window_size=23, sigma=1.2),
        "rotate, nearest": lambda x: rotate(x, near), "rotate, bilinear": lambda x: rotate(x, line),
        "affine, nearest": lambda x: warp(x, near), "affine, bilinear": lambda x: warp(x, line),
        "warp_affine": lambda x: warp(x, line),
        "horizontal flip": lambda x: fn.flip(x, horizontal=1),
        "vertical flip": lambda x: fn.flip(x, vertical=1, horizontal=0),
        "center crop 160": lambda x: fn.crop(x, crop=(160, 160)),
        "resize 160": lambda x: fn.resize(x, size=[160, 160], interp_type=line, antialias=True),
        "resize 320": lambda x: fn.resize(x, size=[320, 320], interp_type=line, antialias=True),
        "erase": erase, "normalize": normalize,
        "chain": lambda x: normalize(erase(twist(warp(x, line), 1.0))),
        "chain, contrast": lambda x: normalize(erase(twist(warp(x, line), 1.3))),
    }
    batch = list(images)
    pipelines = {}

    def pipeline_of(name):
        if name not in pipelines:
            made = package.Pipeline(batch_size=len(batch), num_threads=1, device_id=None,
                                    exec_async=False, exec_pipelined=False)
            with made:
                made.set_outputs(operators[name](fn.external_source(lambda: batch, layout="HWC")))
            made.build()
            pipelines[name] = made
        return pipelines[name]

    return package.__version__, {name: pipeline_of for name in operators if name != "copy"}, batch, pipeline_of


def per_image(run_all, count):
    """CPU time of an image in us, of as many runs on all images as take LEAST."""
    start, runs = time.process_time(), 0
    while runs == 0 or time.process_time() - start < LEAST:
        run_all()
        runs += 1
    return (time.process_time() - start) / runs / count * 1e6


def measure(run, images):
    def run_all():
        for image in images:
            run(image)

    run_all()
    return per_image(run_all, len(images))


def measure_pipeline(pipeline, count):
    pipeline.run()
    return per_image(pipeline.run, count)


def main():
    name, path = sys.argv[1:3]
    images = numpy.fromfile(path, numpy.uint8).reshape(-1, SIDE, SIDE, 3)
    version, operators, inputs, array = globals()[name](images)
    answers = sys.stdout
    sys.stdout = sys.stderr  # for what libraries print
    for line in sys.stdin:
        command, _, rest = line.rstrip("\n").partition(" ")
        if command == "version":
            answer = version
        elif command == "time":
            if operators.get(rest) is None:
                answer = "-"
            elif name == "dali":
                answer = "%.2f" % (measure_pipeline(array(rest), len(images)) -
                                   measure_pipeline(array("copy"), len(images)))
            else:
                answer = "%.2f" % measure(operators[rest], inputs)
        else:
            target, _, rest = rest.partition(" ")
            with open(target, "wb") as file:
                for image in inputs:
                    file.write(numpy.ascontiguousarray(array(operators[rest](image))).tobytes())
            answer = "saved"
        print(answer, file=answers, flush=True)


main()
