"""Policies of augmentation and random effects against Pillow and the papers' tables."""

import numpy as np
import pytest

import diptych.dataset as ds
from diptych.dataset import vision
from diptych.dataset.vision import AutoAugmentPolicy, Inter

Y, X = np.mgrid[:33, :41]
IMAGE = np.stack([X * 5 % 256, Y * 6 % 256, ((X - 20) ** 2 / 2 + (Y - 16) ** 2 / 2) % 256], 2)
IMAGE = IMAGE.astype(np.uint8)


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


def pillow_changes(part, shear, degrees, shift, colour, bits):
    """{(change, sign): image} by Pillow, at ``part`` of the largest strengths."""
    pil = pytest.importorskip("PIL.Image")
    from PIL import ImageEnhance, ImageOps

    image, made = pil.fromarray(IMAGE), {}
    moved = {
        "ShearX": lambda s: (1, s * shear * part, 0, 0, 1, 0),
        "ShearY": lambda s: (1, 0, 0, s * shear * part, 1, 0),
        "TranslateX": lambda s: (1, 0, -s * int(shift(41) * part), 0, 1, 0),
        "TranslateY": lambda s: (1, 0, 0, 0, 1, -s * int(shift(33) * part)),
    }
    for sign in (1, -1):
        for name, matrix in moved.items():
            made[name, sign] = image.transform(image.size, pil.Transform.AFFINE, matrix(sign))
        made["Rotate", sign] = image.rotate(sign * degrees * part)
        for name in ("Brightness", "Color", "Contrast", "Sharpness"):
            made[name, sign] = getattr(ImageEnhance, name)(image).enhance(1 + sign * colour * part)
    made["Identity", 1] = image
    made["Posterize", 1] = ImageOps.posterize(image, 8 - round(bits * part))
    made["Solarize", 1] = ImageOps.solarize(image, 255 - 255 * part)
    made["AutoContrast", 1] = ImageOps.autocontrast(image)
    made["Equalize", 1] = ImageOps.equalize(image)
    return {name: np.asarray(value).astype(int) for name, value in made.items()}


def nearest(results, changes):
    """Which change made each result; a few pixels may differ by their rounding."""
    found = []
    for result in results:
        far = {name: (np.abs(result - want) > 3).mean() for name, want in changes.items()}
        best = min(far, key=far.get)
        assert far[best] < 0.02, far
        found.append(best)
    return found


RANGES = {"narrow": (0.3, 30, lambda n: 150 / 331 * n, 0.9, 4),
          "wide": (0.99, 135, lambda n: 32, 0.99, 6)}  # fmt: skip


def test_rand_augment():
    changes = pillow_changes(19 / 30, *RANGES["narrow"])
    found = nearest(many(vision.RandAugment(1, 19)), changes)
    names = [name for name, _ in found]
    assert set(names) == {name for name, _ in changes}
    assert all(10 <= names.count(name) <= 55 for name in names), "each with the same probability"
    shears = [sign for name, sign in found if name == "ShearX"]
    assert min(shears) == -1 and max(shears) == 1
    np.testing.assert_array_equal(vision.RandAugment(0)(IMAGE), IMAGE)
    weak = many(vision.RandAugment(3, 0), n=20)
    assert weak.shape == (20, *IMAGE.shape)
    assert many(vision.RandAugment(), IMAGE[..., 0], 40).shape == (40, 33, 41)


def test_trivial_augment():
    seen = set()
    results = many(vision.TrivialAugmentWide(3, fill_value=0), n=200)
    both = {}
    for k in range(3):
        both |= {(*name, k): v for name, v in pillow_changes(k / 2, *RANGES["wide"]).items()}
    for name, _, _ in nearest(results, both):
        seen.add(name)
    assert len(seen) >= 12


def test_auto_augment():
    """The second change of each pair is applied to what the first one gave."""
    for policy in AutoAugmentPolicy:
        operation = vision.AutoAugment(policy)
        assert len(operation._pairs) == 25
        assert len({bytes(made) for made in many(operation, n=100)}) > 10
    # Equalize, then the posterized or turned image is itself among what ImageNet's pairs give.
    changes = pillow_changes(8 / 9, *RANGES["narrow"])
    made = many(vision.AutoAugment(), n=400).astype(int)
    same = [(np.abs(result - changes["Equalize", 1]) <= 3).all() for result in made]
    assert 0.1 < np.mean(same) < 0.6


def test_fill_and_interpolation():
    operation = vision.RandAugment(1, 30, fill_value=(9, 8, 7), interpolation=Inter.BILINEAR)
    assert operation.fill_value == (9, 8, 7)
    flat = np.full((20, 20, 3), 100, np.uint8)
    results = many(operation, flat)
    filled = (results == [9, 8, 7]).all(3).any((1, 2))
    assert 0.2 < filled.mean() < 0.5


def test_the_same_by_rows_and_blocks():
    by_block = many(vision.RandAugment(), n=50)
    data = ds.NumpySlicesDataset(np.stack([IMAGE] * 50), "x", shuffle=False)
    data = data.map(vision.RandAugment()).batch(50, per_batch_map=lambda x, info: (x,))
    rows = next(data.create_tuple_iterator(output_numpy=True))[0]
    np.testing.assert_array_equal(by_block, rows)


def test_random_effects():
    pil = pytest.importorskip("PIL.Image")
    from PIL import ImageEnhance, ImageOps

    image = pil.fromarray(IMAGE)
    sharp = np.asarray(ImageEnhance.Sharpness(image).enhance(1.7)).astype(int)
    assert np.abs(vision.AdjustSharpness(1.7)(IMAGE) - sharp).max() <= 1
    for operation, want in (
        (vision.RandomAutoContrast(3.0, prob=0.3), ImageOps.autocontrast(image, 3)),
        (vision.RandomEqualize(0.3), ImageOps.equalize(image)),
        (vision.RandomInvert(0.3), ImageOps.invert(image)),
        (vision.RandomAdjustSharpness(1.7, 0.3), vision.AdjustSharpness(1.7)(IMAGE)),
    ):
        made = many(operation)
        changed = (made == np.asarray(want)).all((1, 2, 3))
        assert abs(changed.mean() - 0.3) < 0.08
        assert (made[~changed] == IMAGE).all()
    bits = many(vision.RandomPosterize((2, 5)))
    for n in (2, 3, 4, 5):
        assert 60 < (bits == np.asarray(ImageOps.posterize(image, n))).all((1, 2, 3)).sum() < 140
    ramp = np.arange(256, dtype=np.uint8).reshape(16, 16)
    for made in many(vision.RandomSolarize((50, 200)), ramp, 50).reshape(50, 256):
        turned = np.flatnonzero(made != np.arange(256))
        assert ((turned >= 50) & (turned <= 200)).all() and (np.diff(turned) == 1).all()
    drawn = many(vision.RandomSharpness((0.5, 0.5)), n=2)
    np.testing.assert_array_equal(drawn[0], vision.AdjustSharpness(0.5)(IMAGE))


def test_gamma_and_affine():
    want = np.clip(1.1 * (IMAGE / 255.0) ** 0.6, 0, 1) * 255
    assert np.abs(vision.AdjustGamma(0.6, 1.1)(IMAGE) - want).max() <= 0.51
    same = vision.RandomAffine((20, 20), (0.1, 0.1, 0.2, 0.2), (1.5, 1.5), (5, 5, 7, 7))(IMAGE)
    np.testing.assert_array_equal(vision.Affine(20, (0.1, 0.2), 1.5, (5, 7))(IMAGE), same)
    np.testing.assert_array_equal(vision.Affine(0, (0, 0), 1, 0)(IMAGE), IMAGE)


def test_what_is_refused():
    for text, error, call in (
        ("'num_ops' is -1", ValueError, lambda: vision.RandAugment(-1)),
        ("'magnitude' is 31", ValueError, lambda: vision.RandAugment(2, 31)),
        ("'num_magnitude_bins' is 1", ValueError, lambda: vision.TrivialAugmentWide(1)),
        ("'interpolation'", ValueError, lambda: vision.RandAugment(interpolation=Inter.AREA)),
        ("'policy' is 'x'", TypeError, lambda: vision.AutoAugment("x")),
        ("it must be uint8", TypeError, lambda: vision.RandAugment()(IMAGE / 255)),
        ("'prob' is 2", ValueError, lambda: vision.RandomInvert(2)),
        ("'bits'", ValueError, lambda: vision.RandomPosterize((0, 3))),
        ("'threshold'", ValueError, lambda: vision.RandomSolarize((0, 300))),
        ("'translate'", ValueError, lambda: vision.Affine(0, (1, 2, 3), 1, 0)),
    ):
        with pytest.raises(error, match=text):
            call()
