"""Chooses the window, by predicted seconds or by the published criterion."""

from foreread.analyzer.predict.criterion import c_opt, pareto_front, quasi_optimal, turning_point
from foreread.analyzer.predict.window import WindowError, predict

__all__ = ["WindowError", "c_opt", "pareto_front", "predict", "quasi_optimal", "turning_point"]
