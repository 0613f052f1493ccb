"""Tunes what cannot be predicted: genes, the genetic algorithms that set them, what they found."""

from analyzer.tuner.engine import Engine, Scored
from analyzer.tuner.genes import Allele, Chromosome, Gene, GeneError, Space

__all__ = ["Allele", "Chromosome", "Engine", "Gene", "GeneError", "Scored", "Space"]
