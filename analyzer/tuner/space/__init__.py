"""What is tuned: genes, their alleles, and the catalogue of known genes."""
