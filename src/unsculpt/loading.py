"""Reading any fitted model back from its file."""

from __future__ import annotations

import os
from typing import Any

from unsculpt.models.files import read_model
from unsculpt.models.restoring import restored


def load(path: str | os.PathLike[str]) -> Any:
    """Read a decorrelator or classifier that `save` wrote.

    The file holds numbers and JSON only: reading one from a stranger cannot run code.
    """
    arrays, about = read_model(path)
    try:
        return restored(arrays, about)
    except (KeyError, TypeError) as error:
        raise ValueError(
            f"{path} is incomplete or of another version ({error}); write it again with save"
        ) from None
    except ValueError as error:
        raise ValueError(f"{path} {error}") from None
