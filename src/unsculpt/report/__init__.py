"""The report on a decorrelator: one HTML file that shows what it does to a spectrum."""

from unsculpt.report.write import write_report

__all__ = ["write_report"]
