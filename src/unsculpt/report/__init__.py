"""The report on a decorrelator, and what signal in the sample of its fit would do."""

from unsculpt.report.injection import Found, Injected, inject_signal
from unsculpt.report.write import write_report

__all__ = ["Found", "Injected", "inject_signal", "write_report"]
