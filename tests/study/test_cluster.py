import warnings

import pyarrow.parquet as pq
import pytest

distributed = pytest.importorskip("distributed")

from unsculpt.study import run


def test_a_cluster_gives_the_same_results(folder, tiny, tmp_path, stand_ins, monkeypatch):
    stand_ins(monkeypatch)
    # One worker in this process: it has the stand-ins. At any free port: others have clusters too.
    with (
        warnings.catch_warnings(),
        distributed.LocalCluster(
            n_workers=1, threads_per_worker=1, processes=False, dashboard_address=":0"
        ) as cluster,
    ):
        warnings.simplefilter("ignore")
        run(tiny, tmp_path, scheduler=cluster.scheduler_address)
    there, here = (
        pq.read_table(place / "results.parquet").drop_columns(["seconds"]).to_pylist()
        for place in (tmp_path, folder)
    )
    names = {row["task"] for row in there}
    here = [row for row in here if row["task"] in names]
    assert there == [{column: row[column] for column in there[0]} for row in here]
    assert {"DisCo", "MoDe", "vDNN"} <= {row["family"] for row in there}
