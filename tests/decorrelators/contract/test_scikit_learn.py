"""scikit-learn's own checks, through `TableDecorrelator`."""

import pytest
from contract import kinds, small, trains
from sklearn.utils.estimator_checks import parametrize_with_checks

import unsculpt as us


def tables(*, slow):
    """The wrappers of tables around methods whose checks take long, or around the others.

    The columns of the checks are no probabilities, and none tells samples apart.
    """
    every = [kind for kind in kinds() if kind not in (us.OddsDecorrelator, us.Morphing)]
    costly = [kind for kind in every if trains(kind) or kind in (us.SplineDecorrelator, us.Moved)]
    return [
        us.TableDecorrelator(small(kind, epochs=1, batch_size=16, folds=2), protected=[0])
        for kind in every
        if (kind in costly) == slow
    ]


FEW = "it takes fewer events than a fit needs; the contract has the same with more"
RANDOM = "two events are drawn into batches apart, one of double weight is not"
OWN_FOLD = "what is fitted is transformed by the models of other folds, as nothing else is"
OF_CROSS_FIT = {
    "check_n_features_in_after_fitting": FEW,
    "check_sample_weights_pandas_series": FEW,
    "check_sample_weights_not_an_array": FEW,
    "check_sample_weights_shape": FEW,
    "check_sample_weights_not_overwritten": FEW,
    "check_estimators_nan_inf": FEW,
    "check_sample_weight_equivalence_on_dense_data": FEW,
    "check_transformer_data_not_an_array": OWN_FOLD,
    "check_transformer_general": OWN_FOLD,
}


def expected_to_fail(table):
    kind = type(table.decorrelator)
    if kind is us.CrossFit:
        return OF_CROSS_FIT
    return {"check_sample_weight_equivalence_on_dense_data": RANDOM} if trains(kind) else {}


OF_RANDOM_COLUMNS = [
    "ignore:.*is outside the fitted:UserWarning",
    "ignore:scores has one component:UserWarning",
]


@pytest.mark.filterwarnings(*OF_RANDOM_COLUMNS)
@parametrize_with_checks(tables(slow=False), expected_failed_checks=expected_to_fail)
def test_scikit_learn_accepts_it(estimator, check):
    check(estimator)


@pytest.mark.slow
@pytest.mark.filterwarnings(*OF_RANDOM_COLUMNS)
@parametrize_with_checks(tables(slow=True), expected_failed_checks=expected_to_fail)
def test_scikit_learn_accepts_what_takes_long(estimator, check):
    check(estimator)
