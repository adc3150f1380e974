"""The decorrelators: one file or folder for each method, and a line here for each class."""

from unsculpt.decorrelators.base import Decorrelator, ScoreDecorrelator
from unsculpt.decorrelators.chain import Chain
from unsculpt.decorrelators.common.misfit import MisfitWarning
from unsculpt.decorrelators.crossfit import CrossFit
from unsculpt.decorrelators.ddt import DDTDecorrelator
from unsculpt.decorrelators.feature import FeatureDecorrelator
from unsculpt.decorrelators.flow import FlowDecorrelator
from unsculpt.decorrelators.knn import KNNDecorrelator
from unsculpt.decorrelators.morphing import Morphing
from unsculpt.decorrelators.move import Moved
from unsculpt.decorrelators.odds import OddsDecorrelator
from unsculpt.decorrelators.quantile import QuantileDecorrelator
from unsculpt.decorrelators.spline import SplineDecorrelator
from unsculpt.decorrelators.table import TableDecorrelator
from unsculpt.decorrelators.transport import TransportDecorrelator

# What `import unsculpt` offers.
__all__ = [
    "Chain",
    "CrossFit",
    "DDTDecorrelator",
    "Decorrelator",
    "FeatureDecorrelator",
    "FlowDecorrelator",
    "KNNDecorrelator",
    "MisfitWarning",
    "Morphing",
    "Moved",
    "OddsDecorrelator",
    "QuantileDecorrelator",
    "ScoreDecorrelator",
    "SplineDecorrelator",
    "TableDecorrelator",
    "TransportDecorrelator",
]
