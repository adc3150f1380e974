import json


def test_in_words(unsculpt, model):
    answer = unsculpt("info", model)
    assert answer.exit_code == 0
    for words in (
        "SplineDecorrelator",
        "tagger: ",
        "mass: 5",
        "label == 0",
        "800 events of a.root",
    ):
        assert words in answer.output


def test_for_scripts(unsculpt, model):
    answer = json.loads(unsculpt("info", model, "--json").stdout)
    assert answer["kind"] == "SplineDecorrelator"
    assert answer["columns"]["protected"] == ["mass"]
    assert answer["columns"]["events"] == 800
    assert answer["arrays"]["protected.0.levels"]


def test_quiet_says_only_what_is_wrong(unsculpt, model):
    answer = unsculpt("info", model, "--quiet")
    assert (answer.exit_code, answer.output) == (0, "")


def test_no_such_model(unsculpt, tmp_path):
    answer = unsculpt("info", tmp_path / "missing.unsculpt")
    assert answer.exit_code == 1
    assert "there is no model file" in answer.stderr
