"""The search space: genes, their alleles, and the catalogue of known genes."""
