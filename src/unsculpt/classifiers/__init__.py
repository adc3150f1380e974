"""Classifiers: networks trained with or without a penalty, one or many at a time."""

from unsculpt.classifiers.classifier import Classifier, fit_many
from unsculpt.classifiers.weights import balance_weights, flat_sample, planing_weights

__all__ = ["Classifier", "balance_weights", "fit_many", "flat_sample", "planing_weights"]
