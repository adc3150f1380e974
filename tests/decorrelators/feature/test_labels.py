import numpy as np
import pandas as pd
import pytest

from unsculpt.decorrelators.feature.labels import distinct


def test_numbers_of_numpy_among_objects():
    labels = np.array([np.int64(1), np.int64(0), np.float64(1)], dtype=object)
    assert distinct(labels, 3) == [0, 1]


@pytest.mark.parametrize("missing", [None, np.nan, np.float64("nan"), pd.NA, pd.NaT])
def test_what_is_missing(missing):
    with pytest.raises(ValueError, match=r"labels is missing .* in 1 of 3 events"):
        distinct(np.array([0, missing, 1], dtype=object), 3)
