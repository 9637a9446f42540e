#!/usr/bin/env python3
"""Makes reference.json: inputs of `latido stats`, `compare`, `history` and `effects`, and what numpy and scipy say of them.

usage: pip install numpy scipy && python3 crates/latido/tests/suite/numbers/reference.py > crates/latido/tests/suite/numbers/reference.json

Made with Python 3, scipy 1.17. Nothing here is taken from latido: order statistics and binomial ranks from scipy.stats.binom,
exceedances from scipy.stats.beta, the tail by a grid and Nelder-Mead on the likelihood of scipy.stats.genpareto, the rest
from scipy.stats and by enumeration; the factorial by numpy's least squares.
"""

import itertools
import json
import math

import numpy as np
from scipy import optimize, stats

rng = np.random.default_rng(20261122)


def design_effect(values, quantile):
    """How many times more the number above a quantile varies from block to block than that of independent samples: half the
    mean square of the differences of neighbours (von Neumann, 1941), widened as Student's t, the larger of two block lengths."""
    above, n, found = values > quantile, len(values), [1.0]
    if not above.any():
        return 1.0
    for blocks in (48, 16):
        counts = np.bincount(np.flatnonzero(above) * blocks // n, minlength=blocks)
        independent = above.sum() / blocks * (1 - above.mean())
        wider = stats.t.isf(0.025, 2 * (blocks - 1) / 3) / stats.norm.isf(0.025)
        found.append((np.diff(counts) ** 2).mean() / 2 / independent * wider**2)
    return max(found)


def one():
    """4,000 samples with an exponential tail, in whole ns: drawn until their 200 largest do not look clustered, so that each
    is fitted (intervals estimator of Ferro & Segers, 2003)."""
    n, limit, k, theta = 4000, 14_000, 200, 0.0
    while theta < 0.95:
        values = np.rint(5000 + rng.exponential(2000, n)).astype(int)
        ordered = np.sort(values)
        gaps = np.diff(np.flatnonzero(values > ordered[n - k - 1])).astype(float)
        theta = 2 * (gaps - 1).sum() ** 2 / (len(gaps) * ((gaps - 1) * (gaps - 2)).sum())
    quantiles = []
    for p in (0.5, 0.9, 0.95, 0.99, 0.999, 0.9999, 0.99999):
        rank = math.ceil(round(n * p, 9))
        # So many independent samples say as much; their ranks, counted from the top, are brought back to all outwards.
        m = max(1, math.floor(n / design_effect(values, ordered[rank - 1])))
        cdf = stats.binom.cdf(np.arange(0, m + 1), m, p)  # P(Bin <= j)
        below = [n - math.ceil((m - l) * n / m) for l in range(1, m + 1) if cdf[l - 1] <= 0.025]
        above = [n - math.floor((m - u) * n / m) for u in range(1, m + 1) if cdf[u - 1] >= 0.975]
        # Limits that no rank reaches are absent, not the maximum.
        quantiles.append([p, rank, int(ordered[rank - 1]), max(below) if below else None, min(above) if above else None])
    above = int((values > limit).sum())
    lower, upper = stats.beta.ppf(0.025, above, n - above + 1), stats.beta.ppf(0.975, above + 1, n - above)
    u = int(ordered[n - k - 1])
    excess = (ordered[ordered > u] - u) / 1000.0

    def cost(theta):
        xi, log_sigma = theta
        if xi < -0.5:
            return 1e9
        value = -stats.genpareto.logpdf(excess, xi, scale=math.exp(log_sigma)).sum()
        return value if math.isfinite(value) else 1e9

    best = min(
        (optimize.minimize(cost, (xi, math.log(excess.mean())), method="Nelder-Mead", options=dict(xatol=1e-10, fatol=1e-12, maxiter=9000)) for xi in (-0.3, -0.1, 0.01, 0.2)),
        key=lambda found: found.fun,
    )
    xi, sigma = best.x[0], math.exp(best.x[1]) * 1000.0
    m = 10 * n
    level = u + sigma / xi * ((m * len(excess) / n) ** xi - 1)
    return dict(
        values=values.tolist(), mean=float(values.mean()), sd=float(values.std(ddof=1)), min=int(ordered[0]), max=int(ordered[-1]),
        quantiles=quantiles, limit=limit, above=above, share=[above / n, float(lower), float(upper)],
        k=k, exceedances=len(excess), u=u, xi=float(xi), sigma=sigma, log_likelihood=-best.fun - len(excess) * math.log(1000.0), level_10=level,
    )


def compare():
    arms = {"a": np.round(rng.lognormal(4, 0.4, 7), 3), "b": np.round(rng.lognormal(5.1, 0.4, 7), 3), "c": np.round(rng.lognormal(4.1, 0.4, 6), 3)}
    a, found, ps = arms["a"], {}, []
    for name in ("b", "c"):
        b = arms[name]
        test = stats.mannwhitneyu(a, b, method="exact")
        logs = np.log(np.concatenate([a, b]))
        observed = abs(logs[: len(a)].mean() - logs[len(a):].mean())
        count = total = 0
        for chosen in itertools.combinations(range(len(logs)), len(a)):
            mask = np.zeros(len(logs), bool)
            mask[list(chosen)] = True
            total += 1
            count += abs(logs[mask].mean() - logs[~mask].mean()) >= observed - 1e-12
        ratios = np.sort((b[:, None] / a[None, :]).ravel())
        # Ranks of the interval by the exact distribution of U without ties.
        sums = np.zeros(len(a) * len(b) + 1)
        for chosen in itertools.combinations(range(len(logs)), len(a)):
            sums[sum(chosen) - len(a) * (len(a) - 1) // 2] += 1
        below = np.cumsum(sums / sums.sum())
        c = int(np.argmax(below >= 0.025))
        found[name] = dict(
            u_a=float(test.statistic), p=float(test.pvalue), permutation=count / total, ratio=float(np.exp(np.median(np.log(ratios)))),
            interval=[float(ratios[c - 1]), float(ratios[len(ratios) - c])], delta=float(1 - 2 * test.statistic / (len(a) * len(b))),
        )
        ps.append(float(test.pvalue))
    order = np.argsort(ps)
    holm, most = [0.0] * len(ps), 0.0
    for place, index in enumerate(order):
        most = max(most, min(1.0, ps[index] * (len(ps) - place)))
        holm[index] = most
    return dict(arms={name: values.tolist() for name, values in arms.items()}, found=found, holm=dict(zip(("b", "c"), holm)))


def history():
    values = np.round(np.concatenate([rng.lognormal(3, 0.1, 9), rng.lognormal(3.7, 0.1, 8)]), 3)
    logs, best = np.log(values), None
    n = len(values)
    for t in range(5, n - 4):
        for k in range(t + 5, n + 1):
            x, y = logs[:t], logs[t:k]
            between = 2 * np.abs(x[:, None] - y[None, :]).mean()
            within = [np.abs(v[:, None] - v[None, :]).sum() / (len(v) * (len(v) - 1)) for v in (x, y)]
            q = len(x) * len(y) / (len(x) + len(y)) * (between - sum(within))
            if best is None or q > best[0]:
                best = (float(q), t)
    q, t = best
    return dict(values=values.tolist(), q=q, index=t, means=[float(values[:t].mean()), float(values[t:].mean())],
                ratio=float(np.median(values[t:]) / np.median(values[:t])))


def effects():
    rows, y = [], []
    for block in range(4):
        for kernel, load in itertools.product((0, 1), (0, 1)):
            # Unbalanced: one value lacks.
            if (block, kernel, load) == (3, 1, 1):
                continue
            value = round(float(rng.lognormal(4 - 0.9 * kernel + 0.6 * load - 0.4 * kernel * load + 0.1 * block, 0.2)), 3)
            rows.append((("stock", "rt")[kernel], ("idle", "busy")[load], str(block), value))
            k, l = (1, -1)[kernel], (1, -1)[load]
            blocks = [-1.0] * 3 if block == 3 else [float(block == i) for i in range(3)]
            y.append(([1.0, *blocks, k, l, k * l], math.log(value)))
    x, logs = np.array([row for row, _ in y]), np.array([value for _, value in y])
    beta, rest, _, _ = np.linalg.lstsq(x, logs, rcond=None)
    freedom = len(logs) - x.shape[1]
    covariance = np.linalg.inv(x.T @ x) * float(rest[0]) / freedom
    t = stats.t.ppf(0.975, freedom)
    found = {}
    # rt is -1, stock 1: rt over stock is -2 of the coefficient; the interaction's ratio of ratios is 4 of its own.
    for name, at, factor in (("kernel", 4, -2.0), ("load", 5, -2.0), ("both", 6, 4.0)):
        log, error = factor * beta[at], abs(factor) * math.sqrt(covariance[at, at])
        found[name] = dict(ratio=math.exp(log), interval=[math.exp(log - t * error), math.exp(log + t * error)],
                           p=float(2 * stats.t.sf(abs(log / error), freedom)), f=float(beta[at] ** 2 / covariance[at, at]))
    return dict(rows=rows, found=found, freedom=freedom, mean=math.exp(beta[0]))


print(json.dumps(dict(one=one(), compare=compare(), history=history(), effects=effects())))
