"""How property tests draw their examples: two profiles of Hypothesis.

``each-change`` (``make test``) draws few examples, the same ones in every run. ``all``
(``make test-all``, by ``--hypothesis-profile=all``) draws more of them, at random; a failure prints
how to repeat it.
"""

from hypothesis import HealthCheck, settings

FEW, ALL = 25, 100  # examples of a test that states no number

# On a loaded machine, drawing an example and the process that it starts take any time.
settings.register_profile("untimed", deadline=None, suppress_health_check=[HealthCheck.too_slow])
untimed = settings.get_profile("untimed")
settings.register_profile("each-change", untimed, derandomize=True, database=None, max_examples=FEW)
settings.register_profile("all", untimed, derandomize=False, print_blob=True, max_examples=ALL)
settings.load_profile("each-change")


def examples(number: int) -> int:
    """Return how many of ``number`` examples the profile in use draws."""
    return max(1, number * settings().max_examples // ALL)
