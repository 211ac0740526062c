"""Random streams depend on the seed and the purpose alone."""

import numpy as np

from contact_core.base.seeds import generator


def test_same_seed_and_purpose_give_the_same_numbers():
    np.testing.assert_array_equal(
        generator(3, "noise").normal(size=5), generator(3, "noise").normal(size=5)
    )


def test_seed_and_purpose_separate_streams():
    draws = [generator(seed, purpose).normal() for seed in (0, 1) for purpose in ("a", "b")]
    assert len(set(draws)) == 4
