"""Fitted models for other programs: one file a target."""

from unsculpt.export.correctionlib import to_correctionlib
from unsculpt.export.cpp import to_cpp
from unsculpt.export.onnx import to_onnx
from unsculpt.export.torch import to_torch, to_torchscript
from unsculpt.export.working_points import to_working_points

__all__ = [
    "to_correctionlib",
    "to_cpp",
    "to_onnx",
    "to_torch",
    "to_torchscript",
    "to_working_points",
]
