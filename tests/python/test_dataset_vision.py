"""Image transforms against NumPy in double, colorsys and Pillow."""

import colorsys
import io

import numpy as np
import pytest

import diptych as ms
import diptych.dataset as ds
from diptych.dataset import transforms, vision
from diptych.dataset.vision import Border, Inter

RNG = np.random.default_rng(5)
IMAGE = RNG.integers(0, 256, (9, 7, 3), np.uint8)


@pytest.fixture(autouse=True)
def _seed():
    before = ds.config._seed
    ds.config.set_seed(3)
    yield
    ds.config._seed = before


def many(operation, image, n=2000):
    """The results of n draws, stacked."""
    data = ds.NumpySlicesDataset(np.stack([image] * n), "x").map(operation).batch(n)
    return next(data.create_tuple_iterator(output_numpy=True))[0]


# ---- numbers


def test_rescale_normalize_totensor():
    x = IMAGE.astype(np.float64)
    np.testing.assert_allclose(vision.Rescale(1 / 255, -0.5)(IMAGE), x / 255 - 0.5, atol=1e-6)
    mean, std = [10.0, 20.0, 30.0], [2.0, 3.0, 4.0]
    want = (x - mean) / std
    np.testing.assert_allclose(vision.Normalize(mean, std)(IMAGE), want, rtol=1e-6)
    chw = vision.HWC2CHW()(IMAGE)
    np.testing.assert_array_equal(chw, IMAGE.transpose(2, 0, 1))
    made = vision.Normalize(mean, std, is_hwc=False)(chw)
    np.testing.assert_allclose(made, want.transpose(2, 0, 1), rtol=1e-6)
    made = vision.ToTensor()(IMAGE)
    np.testing.assert_allclose(made, x.transpose(2, 0, 1) / 255, rtol=1e-6)
    assert made.dtype == np.float32 and vision.ToTensor(ms.float16)(IMAGE).dtype == np.float16
    assert vision.ToTensor()(IMAGE[..., 0]).shape == (1, 9, 7)
    assert vision.ToType(ms.int32)(IMAGE).dtype == np.int32
    with pytest.raises(ValueError, match="'mean' holds 2 numbers; the image has 3 channels"):
        vision.Normalize([1, 2], [1, 2])(IMAGE)
    with pytest.raises(ValueError, match=r"shape \[5\]"):
        vision.Rescale(1, 0)(np.zeros(5))


# ---- sizes


def interpolated(image, size):
    """Linear, axis by axis with numpy.interp: pixel centres are half-integers."""
    for axis, m in enumerate(size):
        n = image.shape[axis]
        at = (np.arange(m) + 0.5) * n / m - 0.5
        image = np.apply_along_axis(
            lambda v, at=at, n=n: np.interp(at, np.arange(n), v), axis, image
        )
    return image


@pytest.mark.parametrize("size", [(5, 4), (18, 14), (9, 20), (1, 1)])
def test_resize_linear(size):
    want = interpolated(IMAGE.astype(np.float64), size)
    made = vision.Resize(size)(IMAGE)
    assert made.dtype == np.uint8 and np.abs(made - want).max() <= 0.5 + 1e-3
    made = vision.Resize(size)(IMAGE.astype(np.float32))
    np.testing.assert_allclose(made, want, rtol=1e-5, atol=1e-3)


def test_resize_other_methods():
    near = vision.Resize((18, 21), Inter.NEAREST)(IMAGE)
    np.testing.assert_array_equal(near, IMAGE.repeat(2, 0).repeat(3, 1))
    np.testing.assert_array_equal(vision.Resize((3, 7), Inter.NEAREST)(IMAGE), IMAGE[::3])
    area = vision.Resize((3, 1), Inter.AREA)(IMAGE.astype(np.float64))
    want = IMAGE.reshape(3, 3, 1, 7, 3).mean((1, 3))
    np.testing.assert_allclose(area, want)
    ramp = np.arange(12.0)[None].repeat(2, 0)
    cubic = vision.Resize((2, 24), Inter.CUBIC)(ramp)
    at = (np.arange(24) + 0.5) / 2 - 0.5
    for j, x in enumerate(at):
        total = 0.0
        for k in range(int(np.floor(x)) - 1, int(np.floor(x)) + 3):
            d, a = abs(x - k), -0.75
            if d <= 1:
                w = (a + 2) * d**3 - (a + 3) * d**2 + 1
            else:
                w = a * d**3 - 5 * a * d**2 + 8 * a * d - 4 * a
            total += w * ramp[0, min(max(k, 0), 11)]
        assert abs(cubic[0, j] - total) < 1e-5
    assert vision.Resize(14)(IMAGE).shape == (18, 14, 3)
    assert vision.Resize(4)(IMAGE[..., 0]).shape == (5, 4)
    with pytest.raises(ValueError, match="'size' is 0"):
        vision.Resize((0, 3))
    with pytest.raises(TypeError, match="must be a member of Inter"):
        vision.Resize(3, 2)


def test_crops_and_padding():
    np.testing.assert_array_equal(vision.CenterCrop((3, 5))(IMAGE), IMAGE[3:6, 1:6])
    small = vision.CenterCrop(11)(IMAGE)
    np.testing.assert_array_equal(small[1:10, 2:9], IMAGE)
    assert small.shape == (11, 11, 3) and not small[0].any()
    np.testing.assert_array_equal(vision.Crop((2, 3), 4)(IMAGE), IMAGE[2:6, 3:7])
    padded = vision.Pad((1, 2, 3, 4), (9, 8, 7))(IMAGE)
    assert padded.shape == (15, 11, 3) and padded[0, 0].tolist() == [9, 8, 7]
    np.testing.assert_array_equal(padded[2:11, 1:8], IMAGE)
    for border in (Border.EDGE, Border.REFLECT, Border.SYMMETRIC):
        want = np.pad(IMAGE, ((2, 2), (1, 1), (0, 0)), border.value)
        np.testing.assert_array_equal(vision.Pad([1, 2], padding_mode=border)(IMAGE), want)
    with pytest.raises(ValueError, match="leaves the image"):
        vision.Crop((7, 0), 4)(IMAGE)


def test_random_crop_reaches_every_place():
    grid = np.arange(63, dtype=np.uint8).reshape(9, 7)
    made = many(vision.RandomCrop((8, 5)), grid, 600)
    corners = {int(v) for v in made[:, 0, 0]}
    assert corners == {0, 1, 2, 7, 8, 9}
    for part in made[:20]:
        top, left = divmod(int(part[0, 0]), 7)
        np.testing.assert_array_equal(part, grid[top : top + 8, left : left + 5])
    assert vision.RandomCrop(12, pad_if_needed=True)(IMAGE).shape == (12, 12, 3)
    with pytest.raises(ValueError, match="must be at least"):
        vision.RandomCrop(12)(IMAGE)


def test_random_resized_crop_bounds():
    crop = vision.RandomResizedCrop(4, (0.2, 0.5), (0.5, 2.0))
    for seed in range(200):
        numbers = np.random.default_rng(seed).random((10, 4))
        top, left, h, w = crop._box(40, 30, numbers)
        assert 0 <= top <= 40 - h and 0 <= left <= 30 - w
        assert 0.18 <= h * w / 1200 <= 0.52 and 0.45 <= w / h <= 2.2
    assert vision.RandomResizedCrop((4, 6))(IMAGE).shape == (4, 6, 3)
    # Nothing fits: the whole middle.
    assert vision.RandomResizedCrop(4, (1, 1), (3, 3))._box(30, 30, np.full((1, 4), 0.5)) == (
        10,
        0,
        10,
        30,
    )


def test_flips():
    np.testing.assert_array_equal(vision.HorizontalFlip()(IMAGE), IMAGE[:, ::-1])
    np.testing.assert_array_equal(vision.VerticalFlip()(IMAGE), IMAGE[::-1])
    for operation, turned in (
        (vision.RandomHorizontalFlip(0.3), IMAGE[:, ::-1]),
        (vision.RandomVerticalFlip(0.3), IMAGE[::-1]),
    ):
        made = many(operation, IMAGE)
        is_turned = (made == turned).all((1, 2, 3))
        assert (is_turned | (made == IMAGE).all((1, 2, 3))).all()
        assert abs(is_turned.mean() - 0.3) < 0.05
    with pytest.raises(ValueError, match=r"'prob' is 2; it must be in \[0.0, 1.0\]"):
        vision.RandomHorizontalFlip(2)


def test_rotations():
    square = IMAGE[:7]
    for resample in (Inter.NEAREST, Inter.BILINEAR):
        for turns in range(4):
            made = vision.Rotate(90 * turns, resample)(square)
            np.testing.assert_array_equal(made, np.rot90(square, turns))
            made = vision.Rotate(90 * turns, resample, expand=True)(IMAGE)
            np.testing.assert_array_equal(made, np.rot90(IMAGE, turns))
    # A plane stays a plane: bilinear sampling is exact on it.
    y, x = np.mgrid[:21, :21].astype(np.float64)
    made = vision.Rotate(30, Inter.BILINEAR, fill_value=-1)(x + 2 * y)
    c, s = np.cos(np.pi / 6), np.sin(np.pi / 6)
    sx, sy = 10 + c * (x - 10) - s * (y - 10), 10 + s * (x - 10) + c * (y - 10)
    inside = (sx >= 0) & (sx <= 20) & (sy >= 0) & (sy <= 20)
    np.testing.assert_allclose(made[inside], (sx + 2 * sy)[inside], atol=1e-9)
    assert (made[(sx < -1) | (sx > 21) | (sy < -1) | (sy > 21)] == -1).all()
    assert vision.RandomRotation((10, 20)).degrees == (10, 20)
    with pytest.raises(ValueError, match="'degrees' is -3"):
        vision.RandomRotation(-3)
    with pytest.raises(ValueError, match="'resample'"):
        vision.Rotate(3, Inter.CUBIC)


def test_rotation_agrees_with_pillow():
    image = pytest.importorskip("PIL.Image")
    smooth = np.add.outer(np.arange(41) * 2, np.arange(31) * 3).astype(np.uint8)
    for degrees in (17, 200):
        want = np.asarray(image.fromarray(smooth).rotate(degrees, image.Resampling.NEAREST))
        made = vision.Rotate(degrees)(smooth)
        assert (np.abs(made.astype(int) - want) > 5).mean() < 0.02


def test_random_affine():
    y, x = np.mgrid[:21, :31].astype(np.float64)
    plane = x + 100 * y
    fixed = {"resample": Inter.BILINEAR, "fill_value": -1}

    # One thing at a time: where each pixel of the result comes from.
    np.testing.assert_allclose(
        vision.RandomAffine((30, 30), **fixed)(plane),
        vision.Rotate(30, Inter.BILINEAR, fill_value=-1)(plane),
    )
    shifted = vision.RandomAffine(0, (0.2, 0.2, -0.1, -0.1), **fixed)(plane)
    np.testing.assert_array_equal(shifted[:19, 6:], plane[2:, :25])
    assert (shifted[19:] == -1).all() and (shifted[:, :6] == -1).all()
    doubled = vision.RandomAffine(0, scale=(2, 2), **fixed)(plane)
    np.testing.assert_allclose(doubled[10], plane[10, 0] + 7.5 + x[10] / 2)
    np.testing.assert_allclose(doubled[:, 15], plane[0, 15] + 100 * (5 + y[:, 15] / 2))
    slanted = vision.RandomAffine(0, shear=(45, 45), **fixed)(plane)
    for row in range(21):
        move = row - 10
        inside = (x[row] - move >= 0) & (x[row] - move <= 30)
        np.testing.assert_allclose(slanted[row, inside], (plane[row] - move)[inside], atol=1e-9)
    many_made = many(vision.RandomAffine(0, (-0.5, 0.5)), (x > 14).astype(np.uint8), 300)
    edges = many_made[:, 10].argmax(1)
    assert edges.min() <= 2 and edges.max() >= 27
    with pytest.raises(ValueError, match="'translate' is 2"):
        vision.RandomAffine(0, (0, 2))


def test_an_image_and_its_mask_move_together():
    data = ds.NumpySlicesDataset({"image": np.stack([IMAGE] * 40), "mask": np.stack([IMAGE] * 40)})
    both = data.map([vision.RandomCrop(5), vision.RandomHorizontalFlip()], ["image", "mask"])
    for step in (
        both,
        data.map(lambda a, b: (a, b), ["image", "mask"]).map(
            vision.RandomCrop(5), ["image", "mask"]
        ),
    ):
        image, mask = next(step.batch(40).create_tuple_iterator(output_numpy=True))
        np.testing.assert_array_equal(image, mask)
        assert len({part.tobytes() for part in image}) > 5


def test_cutout():
    ones = np.ones((12, 10, 3), np.uint8)
    made = many(vision.CutOut(4), ones, 500)
    assert made.min() == 0
    holes = (made == 0).all(3)
    sizes = holes.sum((1, 2))
    assert sizes.max() == 16 and sizes.min() >= 4
    assert (made[:, :, :, 0] == made[:, :, :, 2]).all()
    chw = vision.CutOut(4, 2, is_hwc=False)(ones.transpose(2, 0, 1))
    assert (chw[0] == chw[2]).all() and not chw.all()


# ---- colour


def test_adjust_against_formulas():
    x = IMAGE.astype(np.float64)
    grey = x @ [0.299, 0.587, 0.114]

    def close(made, want, most=0.51):
        assert made.dtype == np.uint8
        assert np.abs(made - np.clip(want, 0, 255)).max() <= most

    close(vision.AdjustBrightness(1.5)(IMAGE), x * 1.5)
    mean = np.floor(grey.mean() + 0.5)
    close(vision.AdjustContrast(0.4)(IMAGE), mean + 0.4 * (x - mean))
    close(vision.AdjustSaturation(1.7)(IMAGE), np.rint(grey)[..., None] * -0.7 + 1.7 * x, 1.3)
    close(vision.Grayscale()(IMAGE), grey)
    three = vision.Grayscale(3)(IMAGE)
    assert three.shape == IMAGE.shape and (three[..., 0] == three[..., 2]).all()
    np.testing.assert_array_equal(vision.Invert()(IMAGE), 255 - IMAGE)
    turned = vision.AdjustHue(0.2)(IMAGE)
    for made, pixel in zip(turned.reshape(-1, 3), x.reshape(-1, 3) / 255, strict=True):
        h, s, v = colorsys.rgb_to_hsv(*pixel)
        want = np.array(colorsys.hsv_to_rgb((h + 0.2) % 1, s, v)) * 255
        assert np.abs(made - want).max() <= 0.51
    np.testing.assert_array_equal(vision.AdjustHue(0.0)(IMAGE), IMAGE)
    with pytest.raises(ValueError, match=r"'hue_factor' is 0.7; it must be in \[-0.5, 0.5\]"):
        vision.AdjustHue(0.7)
    with pytest.raises(ValueError, match=r"must be \(H, W, 3\)"):
        vision.Grayscale()(IMAGE[..., 0])


def test_random_color():
    grey = np.full((2, 2, 3), 100, np.uint8)
    made = many(vision.RandomColorAdjust(brightness=(0.5, 1.5)), grey)[:, 0, 0, 0]
    assert made.min() >= 50 and made.max() <= 150 and made.max() - made.min() > 90
    assert abs(made.mean() - 100) < 3
    drawn = many(vision.RandomGrayscale(0.25), IMAGE)
    assert abs((drawn[..., 0] == drawn[..., 1]).all((1, 2)).mean() - 0.25) < 0.05
    same = vision.RandomColorAdjust()(IMAGE)
    np.testing.assert_array_equal(same, IMAGE)


def test_histogram_effects_agree_with_pillow():
    image = pytest.importorskip("PIL.Image")
    ops = pytest.importorskip("PIL.ImageOps")
    rng = np.random.default_rng(2)
    dull = (90 + 20 * rng.standard_normal((40, 30, 3))).clip(60, 140).astype(np.uint8)
    flat = np.full((5, 4, 3), 9, np.uint8)
    for array in (dull, IMAGE, flat):
        pil = image.fromarray(array)
        for made, want in (
            (vision.AutoContrast(), ops.autocontrast(pil)),
            (vision.AutoContrast(5), ops.autocontrast(pil, 5)),
            (vision.Equalize(), ops.equalize(pil)),
            (vision.Posterize(3), ops.posterize(pil, 3)),
            (vision.Solarize(100), ops.solarize(pil, 100)),
        ):
            np.testing.assert_array_equal(made(array), np.asarray(want), err_msg=repr(made))
    np.testing.assert_array_equal(vision.Equalize()(dull[..., 0]), vision.Equalize()(dull)[..., 0])
    window = vision.Solarize((10, 20))(np.arange(30, dtype=np.uint8).reshape(5, 6))
    assert (window.reshape(-1)[10:21] == 255 - np.arange(10, 21)).all() and window[0, 3] == 3
    with pytest.raises(TypeError, match="it must be uint8"):
        vision.Posterize(3)(IMAGE.astype(np.float32))


def test_gaussian_blur():
    weights = [
        np.exp(-((np.arange(n) - n // 2) ** 2) / (2 * s * s)) for n, s in ((3, 0.8), (5, 1.5))
    ]
    want = np.pad(IMAGE.astype(np.float64), ((2, 2), (1, 1), (0, 0)), "reflect")
    for axis, w in zip((1, 0), weights, strict=True):
        want = np.apply_along_axis(np.convolve, axis, want, w / w.sum(), "valid")
    made = vision.GaussianBlur((3, 5), (0.8, 1.5))(IMAGE)
    assert np.abs(made - want).max() <= 0.51
    np.testing.assert_allclose(vision.GaussianBlur((3, 5), (0.8, 1.5))(IMAGE / 255), want / 255)
    with pytest.raises(ValueError, match="'kernel_size' is 4"):
        vision.GaussianBlur(4)


def test_random_erasing():
    ones = np.ones((3, 20, 30), np.float32)
    made = many(vision.RandomErasing(0.6, (0.1, 0.2), (0.5, 2), value=[2, 3, 4]), ones, 800)
    erased = made[:, 0] == 2
    assert abs(erased.any((1, 2)).mean() - 0.6) < 0.06
    np.testing.assert_array_equal(erased, made[:, 2] == 4)
    parts = erased.mean((1, 2))[erased.any((1, 2))]
    assert 0.08 < parts.min() and parts.max() < 0.22
    for mask in erased[:30]:
        rows, columns = np.flatnonzero(mask.any(1)), np.flatnonzero(mask.any(0))
        assert mask.sum() == len(rows) * len(columns), "one rectangle"
    noise = vision.RandomErasing(1.0, value="random")(ones)
    assert len(np.unique(noise)) > 10
    with pytest.raises(ValueError, match=r"must be \(C, H, W\)"):
        vision.RandomErasing()(ones[0])


# ---- encoded images, batches, choices


def test_decode_and_pillow():
    image = pytest.importorskip("PIL.Image")
    file = io.BytesIO()
    image.fromarray(IMAGE).save(file, "PNG")
    data = file.getvalue()
    for form in (data, np.frombuffer(data, np.uint8), np.array(data)):
        np.testing.assert_array_equal(vision.Decode()(form), IMAGE)
    pil = vision.Decode(to_pil=True)(data)
    assert pil.size == (7, 9)
    np.testing.assert_array_equal(vision.ToTensor()(pil), vision.ToTensor()(IMAGE))
    np.testing.assert_array_equal(vision.ToNumpy()(vision.ToPIL()(IMAGE)), IMAGE)
    assert vision.RandomCropDecodeResize((4, 5))(data).shape == (4, 5, 3)
    with pytest.raises(ValueError, match="5 bytes are no readable image"):
        vision.Decode()(b"hello")
    rows = ds.GeneratorDataset([np.frombuffer(data, np.uint8)] * 3, "x")
    rows = rows.map([vision.Decode(), vision.ToPIL()]).map(vision.Resize(4)).batch(3)
    assert next(iter(rows))[0].shape == (3, 5, 4, 3)


def test_mixup_and_cutmix():
    images = RNG.random((6, 8, 8, 3)).astype(np.float32)
    labels = np.eye(6, dtype=np.float32)
    mixed, soft = vision.MixUpBatch(0.5)(images, labels)
    np.testing.assert_allclose(mixed, np.einsum("ij,jhwc->ihwc", soft, images), rtol=1e-5)
    np.testing.assert_allclose(soft.sum(1), 1, rtol=1e-6)
    cut, soft = vision.CutMixBatch(vision.ImageBatchFormat.NHWC)(images, labels)
    for i in range(6):
        own = (cut[i] == images[i]).all(2).mean()
        np.testing.assert_allclose(soft[i, i], own, atol=1e-6)
    kept, same = vision.CutMixBatch(vision.ImageBatchFormat.NCHW, prob=0.0)(images, labels)
    np.testing.assert_array_equal(kept, images)
    np.testing.assert_array_equal(same, labels)
    with pytest.raises(ValueError, match="one-hot labels"):
        vision.MixUpBatch()(images, np.arange(6))


def test_choices():
    plus, twice = (lambda x: x + 1), (lambda x: x * 2)

    def results(operation, n=400):
        data = ds.NumpySlicesDataset(np.full(n, 5), "x").map(operation)
        return [int(x) for (x,) in data]

    applied = results(transforms.RandomApply([plus, twice], 0.25))
    assert set(applied) == {5, 12} and 50 < applied.count(12) < 150
    chosen = results(transforms.RandomChoice([plus, twice]))
    assert set(chosen) == {6, 10} and 150 < chosen.count(6) < 250
    ordered = results(transforms.RandomOrder([plus, twice]))
    assert set(ordered) == {12, 11} and 150 < ordered.count(12) < 250
    with pytest.raises(TypeError, match="'transforms' holds 3"):
        transforms.RandomChoice([3])


def test_general_transforms():
    x = np.arange(12).reshape(3, 4)
    np.testing.assert_array_equal(transforms.Slice([0, 2], slice(1, 3))(x), x[[0, 2]][:, 1:3])
    np.testing.assert_array_equal(transforms.Slice(None, 1)(x), x[:, [1]])
    np.testing.assert_array_equal(transforms.Slice(..., [3, 0])(x), x[:, [3, 0]])
    np.testing.assert_array_equal(
        transforms.PadEnd([None, 6], -1)(x), np.pad(x, ((0, 0), (0, 2)), constant_values=-1)
    )
    np.testing.assert_array_equal(transforms.PadEnd([2, 2])(x), x[:2, :2])
    hot = transforms.OneHot(4, 0.1)(np.array([3, 0]))
    np.testing.assert_allclose(hot, np.eye(4)[[3, 0]] * 0.9 + 0.025, rtol=1e-6)
    mask = transforms.Mask(transforms.Relational.LE, 4, ms.int32)(x)
    np.testing.assert_array_equal(mask, (x <= 4).astype(np.int32))
    joined = transforms.Concatenate(1, prepend=x)(x, x)
    np.testing.assert_array_equal(joined, np.concatenate([x, x, x], 1))
    data = ds.NumpySlicesDataset([1, 2], "x", shuffle=False)
    data = data.map(transforms.Duplicate(), "x", ["x", "y"])
    assert [(int(a), int(b)) for a, b in data] == [(1, 1), (2, 2)]
