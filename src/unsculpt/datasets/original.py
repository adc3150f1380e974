"""The jets of the DisCo paper, as their authors published them."""

from pathlib import Path

import numpy as np

from unsculpt.datasets.schema import COLUMNS, SPLITS, VARIABLES, Jets, check_split

URL = "https://zenodo.org/records/3606767/files/W_high_level.npz"
SIZE = 155_520_682


def load_w_high_level(path: str | Path | None = None, split: str | None = None) -> Jets:
    """Read the W and QCD jets of Kasieczka and Shih, ``W_high_level.npz`` (Zenodo 3606767).

    The file keeps the mass scaled to the unit interval and labels QCD with 1; here the mass is
    in GeV and W is 1.

    Args:
        path: The file. If not given it is downloaded once (156 MB) and kept in the cache.
        split: ``"train"``, ``"val"``, ``"test"``, or ``None`` for all of them in this order.

    Returns:
        The jets.

    References:
        Kasieczka and Shih, Robust Jet Classifiers through Distance Correlation,
        Phys. Rev. Lett. 125 (2020) 122001, arXiv:2001.05310.
    """
    check_split(split)
    path = download() if path is None else Path(path)
    with np.load(path) as arrays:
        missing = [name for name in SPLITS if name not in arrays]
        if missing:
            raise ValueError(f"{path} has no array {', '.join(missing)}: is it W_high_level.npz?")
        rows = np.concatenate([arrays[name] for name in ([split] if split else SPLITS)])
    if rows.ndim != 2 or rows.shape[1] != len(COLUMNS) + 1:
        raise ValueError(f"{path} has arrays of shape {rows.shape}, expected (n, 12)")
    return Jets(
        features=rows[:, 1:-1].astype(np.float32),
        names=VARIABLES,
        mass=(50 + 250 * rows[:, 0]).astype(np.float32),
        label=(1 - rows[:, -1]).astype(np.int8),
        weight=np.ones(len(rows), np.float32),
    )


def download() -> Path:
    """Fetch the file into the cache, unless it is there, and check its size."""
    import pooch

    from unsculpt.datasets.progress import DownloadBar

    folder = Path(pooch.os_cache("unsculpt"))
    path = folder / "W_high_level.npz"
    if not path.exists():
        pooch.get_logger().setLevel("WARNING")  # its advice on hashes is not for our users
        bar = DownloadBar(path.name)
        try:
            fetch = pooch.HTTPDownloader(progressbar=bar, timeout=30)
            pooch.retrieve(URL, None, path.name, folder, downloader=fetch)
        except OSError as error:  # also what requests raises
            raise ConnectionError(
                f"could not download {path.name}. Fetch {URL} ({SIZE:,} bytes) by other means, "
                f"then either put it at {path} or pass its place as path="
            ) from error
        finally:
            bar.close()
    if (size := path.stat().st_size) != SIZE:
        raise OSError(f"{path} has {size:,} bytes, expected {SIZE:,}: remove it and try again")
    return path
