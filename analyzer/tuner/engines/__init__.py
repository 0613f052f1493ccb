"""Search algorithms: each proposes chromosomes and learns from their scores."""
