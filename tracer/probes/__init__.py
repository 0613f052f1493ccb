"""Kernel probes that replace the access events that older kernels lack."""

from foreread.tracer.probes.definitions import FAULT, MAP, OPEN, PROBES, READ, ProbePlan, plan
from foreread.tracer.probes.error import ProbeError

__all__ = ["FAULT", "MAP", "OPEN", "PROBES", "READ", "ProbeError", "ProbePlan", "plan"]
