import json
import warnings
from importlib.metadata import version

import unsculpt as us
from unsculpt.cli.shared import show_warning


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


def test_which_events(unsculpt, model, tmp_path):
    told = us.load(model)
    told.source_ = told.source_ | {
        "background_files": ["qcd*.root", "top.root"],
        "signal_files": ["w.root"],
        "blind": "70 < mass < 100",
        "files": [f"qcd{i}.root" for i in range(9)],
    }
    told.save(tmp_path / "told.unsculpt")
    answer = unsculpt("info", tmp_path / "told.unsculpt").output
    lines = {" ".join(line.split()) for line in answer.splitlines()}
    assert lines > {
        "background files qcd*.root, top.root",
        "signal files w.root",
        "blind 70 < mass < 100",
        "fitted on 800 events of 9 files, qcd0.root to qcd8.root",
    }


def test_a_model_inside_another(unsculpt, model, tmp_path):
    us.Moved(us.load(model), to=80.0, amount=0.5).save(tmp_path / "moved.unsculpt")
    lines = unsculpt("info", tmp_path / "moved.unsculpt").output.splitlines()
    words = [" ".join(line.split()) for line in lines]
    assert words[0] == "kind Moved of SplineDecorrelator"
    assert {"outside: clip", "amount: 0.5", "to: {'mass': 80.0}"} < set(words)
    assert any(line.startswith("score tagger") for line in words)
    assert not any("decorrelator:" in line for line in words)
    us.load(model).then(us.load(model)).save(tmp_path / "chain.unsculpt")
    answer = unsculpt("info", tmp_path / "chain.unsculpt").output
    assert "steps: SplineDecorrelator, SplineDecorrelator" in answer


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


def test_a_model_of_somebody_else(unsculpt, model, monkeypatch):
    monkeypatch.setattr("os.access", lambda path, mode: False)  # root may read everything
    answer = unsculpt("info", model)
    assert answer.exit_code == 1
    assert f"Error: you may not read {model}" in " ".join(answer.stderr.split())


def test_what_a_bug_report_should_say(unsculpt):
    answer = json.loads(unsculpt("info", "--debug", "--json").stdout)
    assert answer["unsculpt"] == version("unsculpt")
    assert answer["jax"] == version("jax")
    assert "cpu" in answer["devices"].lower()
    assert f"numpy: {version('numpy')}" in unsculpt("info", "--debug").stdout


def test_a_model_or_this_machine(unsculpt, model):
    for arguments in ([], [model, "--debug"]):
        answer = unsculpt("info", *arguments)
        assert answer.exit_code == 2
        assert "give a model file" in answer.stderr


def test_control_characters_of_a_file_do_not_reach_the_terminal(unsculpt, model, tmp_path):
    odd = us.load(model)
    odd.source_ = odd.source_ | {"files": ["\x1b[31mred\x07.root"]}
    odd.save(tmp_path / "odd.unsculpt")
    answer = unsculpt("info", tmp_path / "odd.unsculpt")
    assert answer.exit_code == 0
    assert not {"\x1b", "\x07"} & set(answer.output)
    assert "red" in answer.output


def test_warnings_are_sentences(monkeypatch, capsys):
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        monkeypatch.setattr(warnings, "showwarning", show_warning)
        warnings.warn("the fit does not\n follow \x1b[31m", UserWarning, stacklevel=1)
    assert capsys.readouterr().err == "Warning: the fit does not follow \\x1b[31m\n"
