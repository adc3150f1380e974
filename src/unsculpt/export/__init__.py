"""Fitted models for other programs: one file a target."""

from unsculpt.export.onnx import to_onnx

__all__ = ["to_onnx"]
