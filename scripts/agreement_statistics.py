"""Compares two samples of times; see scripts/agreement."""

import math

# Later than any time-out: incomplete messages are the end of both distributions.
NEVER = 3_600_000_000_000


def quantile(ordered, share):
    """The order statistic at `share`, as the program's tables have it."""
    return ordered[min(max(math.ceil(share * len(ordered)), 1), len(ordered)) - 1]


def median(ordered):
    return (ordered[(len(ordered) - 1) // 2] + ordered[len(ordered) // 2]) / 2


def quantile_interval(ordered, share, confidence):
    """Order statistics that cover the quantile with at least `confidence` (binomial distribution)."""
    n = len(ordered)
    each_side = (1 - confidence) / 2
    cumulative, low, high = 0.0, 0, n
    for successes in range(n + 1):
        cumulative += math.exp(log_binomial(n, successes, share))
        if cumulative <= each_side:
            low = successes + 1
        if cumulative >= 1 - each_side:
            high = successes + 1
            break
    return ordered[max(low - 1, 0)], ordered[min(high, n) - 1]


def log_binomial(n, successes, share):
    choices = math.lgamma(n + 1) - math.lgamma(successes + 1) - math.lgamma(n - successes + 1)
    return choices + successes * math.log(share) + (n - successes) * math.log1p(-share)


def kolmogorov_smirnov(one, other, tolerance):
    """The largest distance of the two distribution functions where times that are `tolerance(time)` apart count as equal,
    and how likely one as large is (asymptotic, with the correction of Stephens 1970 for small samples). Ties and the
    tolerance make it less likely to be rejected than said."""
    if not one or not other:
        return 1.0, 0.0
    distance = max(largest_excess(one, other, tolerance), largest_excess(other, one, tolerance))
    root = math.sqrt(len(one) * len(other) / (len(one) + len(other)))
    scaled = (root + 0.12 + 0.11 / root) * distance
    series = sum((-1) ** (k - 1) * math.exp(-2 * k * k * scaled * scaled) for k in range(1, 101))
    return distance, 1.0 if scaled < 0.2 else min(1.0, max(0.0, 2 * series))


def largest_excess(early, late, tolerance):
    """How much larger the share of `early` up to a time gets than that of `late` up to the tolerance behind it."""
    shares = (
        below_or_equal(early, time) / len(early) - below_or_equal(late, time + tolerance(time)) / len(late)
        for time in sorted(set(early))
    )
    return max(0.0, *shares) if early else 0.0


def below_or_equal(ordered, value):
    low, high = 0, len(ordered)
    while low < high:
        middle = (low + high) // 2
        low, high = (middle + 1, high) if ordered[middle] <= value else (low, middle)
    return low


def holm(probabilities, alpha):
    """Which hypotheses are rejected at `alpha` over all of them (Holm 1979)."""
    order = sorted(range(len(probabilities)), key=probabilities.__getitem__)
    rejected = [False] * len(probabilities)
    for place, index in enumerate(order):
        if probabilities[index] > alpha / (len(probabilities) - place):
            break
        rejected[index] = True
    return rejected
