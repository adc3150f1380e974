"""Models that are fitted in folds, so that none has seen the events it transforms."""

from unsculpt.decorrelators.crossfit.decorrelator import CrossFit

__all__ = ["CrossFit"]
