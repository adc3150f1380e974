import unsculpt as us
from unsculpt.cli.report_inputs import compared, seen_in_the_fit
from unsculpt.files.location import Location


def test_data_of_the_fit_is_seen_though_it_was_in_folds(tmp_path):
    path, other = (tmp_path / name for name in ("a.root", "b.root"))
    path.write_text("1"), other.write_text("22")
    here, there = Location(path), Location(other)
    plain = {"files": [str(path)], "sizes": [1]}
    folds = plain | {"fold_by": "event"}
    assert len(seen_in_the_fit(plain, [here], [there], "w")) == 1
    assert len(seen_in_the_fit(folds, [here], [there], "w")) == 0
    (note,) = seen_in_the_fit(folds, [there], [here], "w")
    assert note.startswith(f"w was fitted on {path}; ")


def test_another_model_that_has_folds_brings_them_along(tmp_path):
    score, mass = range(40), [i % 7 for i in range(40)]
    columns = {"score": ["tagger"], "protected": ["mass"]}
    plain = us.DDTDecorrelator().fit(score, mass)
    plain.source_ = dict(columns)
    folds = us.CrossFit(us.DDTDecorrelator(), 2).fit(score, mass)
    folds.source_ = columns | {"fold_by": "event"}
    folds.save(tmp_path / "folds.unsculpt")
    source = dict(columns)
    found = compared("plain.unsculpt", plain, [str(tmp_path / "folds.unsculpt")], source)
    assert list(found) == ["plain", "folds"]
    assert source["fold_by"] == "event"
