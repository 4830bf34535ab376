"""Crops, patches, perspective, colours and random choices against NumPy and Pillow."""

import colorsys

import numpy as np
import pytest

import diptych.dataset as ds
from diptych.dataset import vision
from diptych.dataset.vision import Border, Inter, SliceMode

RNG = np.random.default_rng(5)
IMAGE = RNG.integers(0, 256, (9, 7, 3), np.uint8)


@pytest.fixture(autouse=True)
def _seed():
    before = ds.config._seed
    ds.config.set_seed(3)
    yield
    ds.config._seed = before


def many(operation, image=IMAGE, n=400):
    """The results of n draws, stacked."""
    data = ds.NumpySlicesDataset(np.stack([image] * n), "x", shuffle=False).map(operation).batch(n)
    return next(data.create_tuple_iterator(output_numpy=True))[0]


def test_crops():
    want = [IMAGE[:4, :3], IMAGE[:4, 4:], IMAGE[5:, :3], IMAGE[5:, 4:], IMAGE[2:6, 2:5]]
    for made, part in zip(vision.FiveCrop((4, 3))(IMAGE), want, strict=True):
        np.testing.assert_array_equal(made, part)
    for vertical, turned in ((False, IMAGE[:, ::-1]), (True, IMAGE[::-1])):
        made = vision.TenCrop((4, 3), vertical)(IMAGE)
        both = [*vision.FiveCrop((4, 3))(IMAGE), *vision.FiveCrop((4, 3))(turned)]
        assert all((a == b).all() for a, b in zip(made, both, strict=True))
    data = ds.NumpySlicesDataset({"x": IMAGE[None], "y": [1]})
    data = data.map(vision.FiveCrop(2), "x", ["a", "b", "c", "d", "e"])
    assert data.get_col_names() == ["a", "b", "c", "d", "e", "y"]
    assert next(iter(data))[4].shape == (2, 2, 3)
    made = vision.ResizedCrop(1, 2, 6, 4, (5, 5))(IMAGE)
    np.testing.assert_array_equal(made, vision.Resize((5, 5))(IMAGE[1:7, 2:6]))


def test_patches():
    full = np.pad(IMAGE, ((0, 1), (0, 1), (0, 0)), constant_values=7)
    want = [full[i : i + 5, j : j + 4] for i in (0, 5) for j in (0, 4)]
    for made, part in zip(vision.SlicePatches(2, 2, fill_value=7)(IMAGE), want, strict=True):
        np.testing.assert_array_equal(made, part)
    dropped = vision.SlicePatches(2, 2, SliceMode.DROP)(IMAGE)
    np.testing.assert_array_equal(dropped[3], IMAGE[4:8, 3:6])


def test_sizes_and_holes():
    made = vision.PadToSize((12, 10), (1, 2), 5)(IMAGE)
    want = np.pad(IMAGE, ((1, 2), (2, 1), (0, 0)), constant_values=5)
    np.testing.assert_array_equal(made, want)
    middle = vision.PadToSize(11, padding_mode=Border.EDGE)(IMAGE)
    np.testing.assert_array_equal(middle, np.pad(IMAGE, ((1, 1), (2, 2), (0, 0)), "edge"))
    want = IMAGE.copy()
    want[2:5, 1:4] = [1, 2, 3]
    np.testing.assert_array_equal(vision.Erase(2, 1, 3, 3, (1, 2, 3))(IMAGE), want)
    methods = {vision.Resize((5, 6), how)(IMAGE).tobytes() for how in Inter}
    drawn = {image.tobytes() for image in many(vision.RandomResize((5, 6)), n=80)}
    assert drawn == methods and len(drawn) == 4


def test_perspective_agrees_with_pillow():
    pil = pytest.importorskip("PIL.Image")
    y, x = np.mgrid[:30, :40]
    smooth = np.stack([x * 5, y * 7, x + y], 2).astype(np.uint8)
    start = [[0, 0], [39, 0], [39, 29], [0, 29]]
    end = [[3, 2], [35, 1], [38, 27], [1, 25]]
    made = vision.Perspective(start, end, Inter.NEAREST)(smooth)
    # Pillow's numbers take a place of the result to one of the image, from pixel edges.
    rows = []
    for (u, v), (a, b) in zip(np.array(end) + 0.5, np.array(start) + 0.5, strict=True):
        rows += [[u, v, 1, 0, 0, 0, -a * u, -a * v], [0, 0, 0, u, v, 1, -b * u, -b * v]]
    numbers = np.linalg.lstsq(np.array(rows), (np.array(start) + 0.5).reshape(-1), rcond=None)[0]
    turned = pil.fromarray(smooth).transform((40, 30), pil.Transform.PERSPECTIVE, numbers)
    different = (np.abs(made.astype(int) - np.asarray(turned)) > 7).any(2)
    assert different.mean() < 0.02
    same = vision.Perspective(start, start)(smooth)
    np.testing.assert_array_equal(same, smooth)
    made = many(vision.RandomPerspective(0.4, 0.5), smooth, 200)
    kept = (made == smooth).all((1, 2, 3))
    assert 0.4 < kept.mean() < 0.6
    with pytest.raises(ValueError, match="no three of them may be on one line"):
        vision.Perspective(start, [[0, 0], [1, 1], [2, 2], [3, 3]])


def test_colours():
    np.testing.assert_array_equal(vision.RgbToBgr(is_hwc=True)(IMAGE), IMAGE[..., ::-1])
    chw = IMAGE.transpose(2, 0, 1)
    np.testing.assert_array_equal(vision.RgbToBgr()(chw), chw[::-1])
    half = vision.AdjustSaturation(0.5)(IMAGE)
    np.testing.assert_array_equal(vision.RandomColor((0.5, 0.5))(IMAGE), half)
    grey = np.full((2, 2, 3), 0.5)
    change = many(vision.RandomLighting(0.1), grey, 4000)[:, 0, 0] - 0.5
    assert np.ptp(many(vision.RandomLighting(0.1), grey, 5), (1, 2)).max() == 0
    # The covariance of the three colours by its published eigenvalues.
    vectors = np.array([[-0.5675, 0.7192, 0.4009], [-0.5808, -0.0045, -0.8140],
                        [-0.5836, -0.6948, 0.4203]])  # fmt: skip
    want = vectors @ np.diag((0.1 * np.array([0.2175, 0.0188, 0.0045])) ** 2) @ vectors.T
    np.testing.assert_allclose(np.cov(change.T), want, atol=2e-5)


def test_hue_saturation_value():
    pixels = RNG.random((6, 5, 3))
    pixels[0, 0], pixels[0, 1], pixels[0, 2] = 0.0, 0.25, [1, 0, 0]
    want = np.array([colorsys.rgb_to_hsv(*pixel) for pixel in pixels.reshape(-1, 3)])
    made = vision.RgbToHsv(is_hwc=True)(pixels)
    np.testing.assert_allclose(made.reshape(-1, 3), want, atol=1e-12)
    np.testing.assert_allclose(vision.HsvToRgb(is_hwc=True)(made), pixels, atol=1e-12)
    chw = pixels.transpose(2, 0, 1).astype(np.float32)
    there = vision.RgbToHsv()(chw)
    assert there.dtype == np.float32 and there.shape == chw.shape
    np.testing.assert_allclose(vision.HsvToRgb()(there), chw, atol=1e-6)
    with pytest.raises(TypeError, match="RgbToHsv: the image is uint8"):
        vision.RgbToHsv(True)(IMAGE)
    with pytest.raises(ValueError, match=r"HsvToRgb: the image has shape \[9, 7, 3\]"):
        vision.HsvToRgb()(IMAGE / 255)


def test_numbers():
    mean, std = [10.0, 20.0, 30.0], [2.0, 3.0, 4.0]
    made = vision.NormalizePad(mean, std, "float16")(IMAGE)
    assert made.shape == (9, 7, 4) and made.dtype == np.float16 and (made[..., 3] == 0).all()
    np.testing.assert_allclose(made[..., :3], (IMAGE - np.array(mean)) / std, rtol=1e-3)
    chw = vision.NormalizePad(mean, std, is_hwc=False)(IMAGE.transpose(2, 0, 1))
    assert chw.shape == (4, 9, 7)
    np.testing.assert_array_equal(vision.PilToTensor()(IMAGE), IMAGE.transpose(2, 0, 1))
    image = RNG.standard_normal((3, 2, 2))
    matrix, middle = RNG.standard_normal((12, 12)), RNG.standard_normal(12)
    want = ((image.reshape(-1) - middle) @ matrix).reshape(image.shape)
    made = vision.LinearTransformation(matrix, middle)(image)
    np.testing.assert_allclose(made, want, rtol=1e-4, atol=1e-4)


def test_choices():
    def plus(n):
        return lambda x: x + n

    def results(operation, n=600):
        data = ds.NumpySlicesDataset(np.zeros(n, int), "x").map(operation)
        return [int(x) for (x,) in data]

    both = results(vision.UniformAugment([plus(1), plus(10), plus(100)], 2))
    assert set(both) == {0, 1, 10, 100, 11, 101, 110}
    count = np.mean([str(x).count("1") for x in both])
    assert 0.8 < count < 1.2, "each of the two comes half the time"
    policy = [[(plus(1), 0.5), (plus(10), 1.0)], [(plus(100), 1.0)]]
    chosen = results(vision.RandomSelectSubpolicy(policy))
    assert set(chosen) == {10, 11, 100} and 240 < chosen.count(100) < 360


@pytest.mark.parametrize(("text", "error", "call"), [
    ("FiveCrop: the image has", ValueError, lambda: vision.FiveCrop(10)(IMAGE)),
    ("ResizedCrop: .* leaves", ValueError, lambda: vision.ResizedCrop(8, 0, 3, 3, 2)(IMAGE)),
    ("'offset'", TypeError, lambda: vision.PadToSize(20, "a")),
    ("PadToSize: the image of", ValueError, lambda: vision.PadToSize(8)(IMAGE)),
    ("Erase: 'inplace'", ValueError, lambda: vision.Erase(0, 0, 1, 1, inplace=True)),
    ("SlicePatches: 'num_width'", ValueError, lambda: vision.SlicePatches(1, 0)),
    ("no 20 x 1 patches", ValueError,
     lambda: vision.SlicePatches(20, 1, SliceMode.DROP)(IMAGE)),
    ("RgbToBgr: the image has shape", ValueError, lambda: vision.RgbToBgr()(IMAGE)),
    ("'dtype' is 'int8'", ValueError, lambda: vision.NormalizePad([1] * 3, [1] * 3, "int8")),
    ("'mean_vector'", ValueError, lambda: vision.LinearTransformation(np.eye(2), np.ones(3))),
    ("'mean_vector' has 2", ValueError,
     lambda: vision.LinearTransformation(np.eye(2), np.ones(2))(IMAGE)),
    ("'num_ops' is 3", ValueError, lambda: vision.UniformAugment([len], 3)),
    ("'policy' holds", TypeError, lambda: vision.RandomSelectSubpolicy([[len]])),
    ("'distortion_scale' is 2", ValueError, lambda: vision.RandomPerspective(2)),
    ("'start_points'", ValueError, lambda: vision.Perspective([[0, 0]], [[0, 0]])),
])  # fmt: skip
def test_what_is_refused(text, error, call):
    with pytest.raises(error, match=text):
        call()
