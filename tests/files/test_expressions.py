import awkward as ak
import numpy as np
import pyarrow as pa
import pytest

from unsculpt.files import parse
from unsculpt.files.arrays import side_by_side

N = 200
RNG = np.random.default_rng(0)
COLUMNS = {
    "mass": RNG.uniform(50, 300, N),
    "pt": RNG.uniform(300, 400, N).astype("f4"),
    "label": RNG.integers(0, 3, N).astype("u1"),
    "good": RNG.uniform(size=N) > 0.5,
    "jet.mass": RNG.uniform(size=N),
    "jet pt [GeV]": RNG.uniform(size=N),
    "2nd-jet": RNG.uniform(size=N),
    "class": RNG.integers(0, 3, N),
    "name": RNG.choice(["qcd", "w", "top"], N),
}
TABLE = pa.table(COLUMNS)


def value(text, table=TABLE):
    return parse(text, table.column_names)(table)


@pytest.mark.parametrize(
    "text",
    [
        "mass",
        "mass / 1000 + 2 * pt - 1",
        "-mass ** 2 % 7 // 2",
        "+pt",
        "log(mass) + exp(-mass / 50) * sqrt(abs(pt - 350))",
        "log10(mass) - log1p(pt) + arctan2(mass, pt) - hypot(mass, 3)",
        "isnan(log(mass - 100))",
        "mass > 100",
        "mass >= 100.5",
        "mass != pt",
        "label == 0",
        "True",
        "2 ** 0.5 * mass",
    ],
)
def test_numpy_says_the_same(text):
    names = {n: getattr(np, n) for n in ("log", "log10", "log1p", "exp", "sqrt", "abs", "isnan")}
    names |= {"arctan2": np.arctan2, "hypot": np.hypot}
    wide = {
        n: c.astype({"f": "f8", "u": "i8"}.get(c.dtype.kind, c.dtype)) for n, c in COLUMNS.items()
    }
    with np.errstate(all="ignore"):
        expected = eval(text, {"__builtins__": {}}, names | wide)
    np.testing.assert_array_equal(value(text), np.broadcast_to(expected, N))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("label == 0 and mass > 100", lambda c: (c["label"] == 0) & (c["mass"] > 100)),
        ("(label == 0) & (mass > 100)", lambda c: (c["label"] == 0) & (c["mass"] > 100)),
        ("label == 0 or good", lambda c: (c["label"] == 0) | c["good"]),
        ("(label == 0) | ~good", lambda c: (c["label"] == 0) | ~c["good"]),
        ("not (good and label == 1)", lambda c: ~(c["good"] & (c["label"] == 1))),
        ("100 < mass <= 200", lambda c: (c["mass"] > 100) & (c["mass"] <= 200)),
        ("label in (1, 2)", lambda c: np.isin(c["label"], [1, 2])),
        ("label not in [1, 2]", lambda c: ~np.isin(c["label"], [1, 2])),
        ("name == 'qcd'", lambda c: c["name"] == "qcd"),
        ("mass - 100 in (-1, 1.5)", lambda c: np.isin(c["mass"] - 100, [-1, 1.5])),
        ("-1 * label in (-1, +2)", lambda c: c["label"] == 1),
        ('name in ("w", "top")', lambda c: c["name"] != "qcd"),
        ("min(mass, 100, pt)", lambda c: np.minimum(c["mass"], 100)),
        ("max(mass, 100)", lambda c: np.maximum(c["mass"], 100)),
        ("where(good, mass, 0)", lambda c: np.where(c["good"], c["mass"], 0)),
        ("1 - label", lambda c: 1 - c["label"].astype(int)),
        ("jet.mass * 2", lambda c: c["jet.mass"] * 2),
        ("jet.mass", lambda c: c["jet.mass"]),
        ("`jet pt [GeV]` * 2", lambda c: c["jet pt [GeV]"] * 2),
        ("jet pt [GeV]", lambda c: c["jet pt [GeV]"]),
        ("2nd-jet", lambda c: c["2nd-jet"]),
        ("`class` + `2nd-jet`", lambda c: c["class"] + c["2nd-jet"]),
        (" mass\n", lambda c: c["mass"]),
    ],
)
def test_in_words(text, expected):
    np.testing.assert_array_equal(value(text), expected(COLUMNS))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("mas > 100", "in 'mas > 100': there is no column 'mas'; did you mean 'mass'?"),
        ("Mass", "there is no column 'Mass'; did you mean 'mass'?"),
        ("`jet pt` > 1", "there is no column 'jet pt'; did you mean 'jet pt [GeV]'?"),
        ("jet.mas", "there is no column 'jet'"),
        ("mass.x", "there is no 'mass.x'; there are none"),
        ("zzzzzz", "there is no column 'zzzzzz'; there are mass, pt, label"),
        ("lg(mass)", "there is no function 'lg'; did you mean 'log'?"),
        ("log(mass, pt)", "log takes 1 argument, not 2"),
        ("hypot(mass)", "hypot takes 2 arguments, not 1"),
        ("max(mass)", "max takes 2 or more arguments, not 1"),
        ("mass >", "this is no column and no expression"),
        ("", "this is no column and no expression"),
        ("mass = 3", "no expression: .*; equal is written =="),
        ("label == 0 & mass > 100", "'0 & mass'|'0' is not a condition"),
        ("~label", "'label' is not a condition"),
        ("not mass", "'mass' is not a condition"),
        ("name + 1", "'name \\+ 1' cannot be computed"),
        ("1 / 0 + mass in mass", "is not allowed"),
        ("mass in (pt, 1)", "'in' takes numbers or text"),
        ("mass in ()", "'in' takes numbers or text"),
        ("label > 99999999999999999999", "a whole number is beyond 2\\*\\*64"),
        ("mass is 1", "is not allowed"),
        ("jet pt", "this is no column"),
        ("jet pt [GeV] > 3", "a name that is no word goes between backticks: `jet pt [GeV]`"),
        ("mass [GeV]", "there is no column 'mass[GeV]'"),
    ],
)
def test_mistakes_are_explained(text, message):
    with pytest.raises(ValueError, match=message.replace("?", r"\?").replace("[", r"\[")):
        value(text)


@pytest.mark.parametrize(
    "text",
    [
        "__import__('os').system('true')",
        "open('/etc/passwd')",
        "mass.__class__",
        "mass.tofile('x')",
        "(lambda: 1)()",
        "[x for x in (1, 2)]",
        "(mass := 3)",
        "f'{mass}'",
        "mass[0]",
        "log.__globals__",
        "log(x=mass)",
        "exec('1')",
        "mass << 3",
        "mass @ mass",
        "b'x'",
        "1j",
        "None",
        "(1, 2)",
        "where",
        "*mass",
        "await mass",
        "mass\x00",
    ],
)
def test_nothing_but_arithmetic(text, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ValueError, match=r"^in ['\"]|cannot be computed"):
        value(text)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    "text", ["9**9**9**9**9", "(" * 5000 + "mass" + ")" * 5000, "-" * 99999 + "1"]
)
def test_nothing_takes_for_ever(text):
    try:
        value(text)
    except ValueError as error:
        assert "nested too deeply" in str(error) or "no expression" in str(error)  # noqa: PT017


def test_only_the_columns_it_needs():
    assert parse("log(mass) + mass * pt", TABLE.column_names).columns == ("mass", "pt")
    assert parse("jet.mass > 0", TABLE.column_names).columns == ("jet.mass",)


def test_missing_numbers_are_nan():
    table = pa.table({"x": pa.array([1, None]), "y": pa.array([None, True]), "d": [1, 2]})
    np.testing.assert_array_equal(value("x * 2", table), [2, np.nan])
    np.testing.assert_array_equal(value("y", table), [np.nan, 1])


def test_categories_are_their_values():
    table = pa.table({"kind": pa.array(["w", "qcd", "w"]).dictionary_encode()})
    np.testing.assert_array_equal(value("kind == 'w'", table), [True, False, True])


def test_a_column_of_nothing_is_missing():
    table = pa.table({"nothing": [None, None], "mass": [1.0, 2.0]})
    np.testing.assert_array_equal(value("nothing + mass", table), [np.nan, np.nan])
    sure, possible = parse("nothing > 3", table.column_names).holds(table)
    assert not sure.any()
    assert possible.all()


def test_one_record_an_event():
    table = pa.table({"jet": [{"mass": 5.0, "n": 1}, {"mass": 6.0, "n": 2}]})
    got = value("jet.mass + jet.n", table)
    assert isinstance(got, np.ndarray)
    np.testing.assert_array_equal(got, [6.0, 8.0])


class TestLists:
    jets = pa.table(
        {
            "met": [1.0, 2.0, 3.0],
            "pt": pa.array([[10.0, 20.0], [], [30.0]], pa.list_(pa.float32())),
            "jets": [[{"mass": 5.0, "n": 1}, {"mass": 6.0, "n": 2}], [], [{"mass": 7.0, "n": 3}]],
        }
    )

    @pytest.mark.parametrize(
        ("text", "expected"),
        [
            ("pt", [[10.0, 20.0], [], [30.0]]),
            ("pt * 2 + met", [[21.0, 41.0], [], [63.0]]),
            ("pt > 15 and met < 2", [[False, True], [], [False]]),
            ("where(pt > 15, pt, -1)", [[-1.0, 20.0], [], [30.0]]),
            ("max(pt, 15)", [[15.0, 20.0], [], [30.0]]),
            ("jets.mass + pt", [[15.0, 26.0], [], [37.0]]),
            ("jets.n in (1, 3)", [[True, False], [], [True]]),
            ("not (pt > 15)", [[True, False], [], [False]]),
        ],
    )
    def test_values(self, text, expected):
        got = value(text, self.jets)
        assert isinstance(got, ak.Array)
        assert got.to_list() == expected

    def test_a_field_that_is_not_there(self):
        with pytest.raises(ValueError, match=r"there is no 'jets.mas'; did you mean 'mass'\?"):
            value("jets.mas", self.jets)

    def test_not_a_condition(self):
        with pytest.raises(ValueError, match="'pt' is not a condition"):
            value("pt and met > 1", self.jets)


def test_powers_of_whole_numbers_neither_wrap_nor_refuse():
    table = pa.table({"n": [1, 2, 1000]})
    np.testing.assert_allclose(value("n ** -1", table), [1, 0.5, 1e-3])
    np.testing.assert_allclose(value("n ** 20", table), [1, 2**20, 1e60])


def test_unsigned_numbers_have_a_sign_when_they_need_one():
    table = pa.table({"n": np.array([3, 7], np.uint64), "huge": np.array([1, 2**64 - 1], "u8")})
    assert value("n - 5", table).tolist() == [-2, 2]
    assert value("5 - n", table).tolist() == [2, -2]
    assert value("-n", table).tolist() == [-3, -7]
    assert value("huge - 5", table).tolist() == [-4, 2.0**64]
    assert value("huge == 18446744073709551615", table).tolist() == [False, True]
    lists = pa.table({"n": pa.array([[3], []], pa.list_(pa.uint64()))})
    assert value("n - 5", lists).tolist() == [[-2], []]


def test_division_by_zero_has_no_answer_for_whole_numbers_either():
    table = pa.table({"n": [5, -5], "zero": [0, 0]})
    assert value("n // zero", table).tolist() == [np.inf, -np.inf]
    assert np.isnan(value("n % zero", table)).all()
    assert value("n // 2", table).dtype == np.int64
    # What is divided by another number beside it keeps its digits.
    table = pa.table({"n": [2**60 + 1, 5], "of": [2, 0], "lists": [[2**60 + 1], [5, 6]]})
    np.testing.assert_array_equal(value("n % of", table), [1, np.nan])
    np.testing.assert_array_equal(value("lists % of", table)[0], [1])
    assert np.isnan(value("lists % 0", table)[1].to_numpy()).all()


def test_large_whole_numbers_lose_no_digits_beside_missing_ones():
    table = pa.table({"event": [2**60 + 1, None], "few": [4, None]})
    with pytest.raises(ValueError, match=r"1 of 2 .* as large as 1152921504606846977"):
        value("event == 1152921504606846976", table)
    assert value("few == 4", table).tolist() == [True, False]
    table = pa.table({"ids": [[2**60 + 1, None], []], "jet": [{"id": 2**60 + 1}, None]})
    for name in ("ids", "jet.id"):
        with pytest.raises(ValueError, match=r"1 of 2 .* as large as 1152921504606846977"):
            value(name, table)


def test_what_is_missing_in_records_is_no_number():
    table = pa.table(
        {
            "jet": [{"n": 3, "pt": 1.0, "tag": "b"}, {"n": None, "pt": None, "tag": None}, None],
            "jets": [[{"n": 3}, {"n": None}], [], None],
        }
    )
    for name, least in (("jet.n", 3), ("jet.pt", 1)):
        np.testing.assert_array_equal(value(name, table), [least, np.nan, np.nan])
    assert value("jet.tag", table).tolist() == ["b", "", ""]
    both = parse("jet.n == 3", table.column_names).holds(table)
    assert [where.tolist() for where in both] == [[True, False, False], [True, True, True]]
    (number,), counts = side_by_side([value("jets.n", table)])
    np.testing.assert_array_equal(number, [3, np.nan])
    assert counts.tolist() == [2, 0, 0]


def test_text_is_not_repeated():
    with pytest.raises(ValueError, match="cannot be computed: text cannot be multiplied"):
        value("'a' * 3000000000")


@pytest.mark.parametrize("operator", ["+", "%", "/"])
def test_text_beside_lists_is_no_number(operator):
    with pytest.raises(ValueError, match="cannot be computed: text is no number"):
        value(f"a {operator} 'x'", pa.table({"a": [[1.0, 2.0]]}))


def test_lists_that_do_not_fit_together():
    table = pa.table({"a": [[1.0, 2.0]], "b": [[1.0]]})
    with pytest.raises(ValueError, match="'a > b' cannot be computed"):
        value("a > b", table)


def test_lists_and_records_that_are_no_conditions_are_said_to_be_none():
    table = pa.table(
        {
            "jets": pa.array([[{"pt": 1.0, "name": "b"}], []]),
            "long": pa.array([[1.0, 2.0], None]),
            "short": pa.array([[1.0], []]),
        }
    )
    with pytest.raises(ValueError, match="expected a condition"):
        parse("jets", table.column_names).holds(table)
    for mistake in ("long - short", "long - 9223372036854775808", "arctan2('a', 'b')"):
        with pytest.raises(ValueError, match="cannot be computed"):
            value(mistake, table)
    with pytest.raises(ValueError, match="differ in length among the columns"):
        side_by_side([value(name, table) for name in ("long", "short")])


def test_lists_of_text_may_miss_some():
    table = pa.table({"tags": [["a", None], None, ["b"]]})
    (words,), counts = side_by_side([value("tags", table)])
    assert words.tolist() == ["a", "", "b"]
    assert counts.tolist() == [2, 0, 1]
