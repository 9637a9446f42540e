#!/usr/bin/env python3
"""Reference values for the crate, computed independently with scipy and numpy, printed as JSON.

    python3 -m venv v && v/bin/pip install scipy numpy
    v/bin/python crates/statistics/tests/suite/reference.py > crates/statistics/tests/suite/reference.json

Nothing here is shared with the crate: fits are by scipy's Nelder-Mead on the likelihood, exact tests by enumerating every
relabelling, effects by numpy's lstsq on a design matrix written out here, E-divisive by plain loops.
"""

import itertools
import json
import math

import numpy as np
from scipy import optimize, special, stats

OUT = {}
rng = np.random.default_rng(20261122)

# Special functions and ranks.
OUT["beta"] = [[a, b, x, float(special.betainc(a, b, x))] for a, b, x in [(0.5, 0.5, 0.3), (2, 3, 0.4), (1, 1e9, 3e-9), (5000, 1e9, 5.1e-6), (3e5, 7e5, 0.3004), (1e4, 2, 0.9995), (20, 0.5, 0.97)]]
OUT["chi2"] = [[x, f, float(stats.chi2.sf(x, f))] for x, f in [(3.84, 1), (18.3, 10), (40.0, 10)]]
OUT["t"] = [[f, float(stats.t.ppf(0.975, f))] for f in [1, 3, 8, 56]]
OUT["f"] = [[x, a, b, float(stats.f.sf(x, a, b))] for x, a, b in [(2.5, 1, 8), (4.1, 3, 56)]]


def ranks(n, p, a=0.05):
    # max{l: P(Bin <= l-1) <= a/2}, min{u: P(Bin <= u-1) >= 1 - a/2}; ppf gives the first k with cdf >= q.
    k = int(stats.binom.ppf(a / 2, n, p))
    while stats.binom.cdf(k, n, p) <= a / 2:
        k += 1
    u = int(stats.binom.ppf(1 - a / 2, n, p)) + 1
    return [n, p, k if k >= 1 else None, u if u <= n else None]


OUT["ranks"] = [ranks(n, p) for n, p in [(1, 0.5), (5, 0.5), (6, 0.5), (10, 0.5), (100, 0.95), (1000, 0.99), (71, 0.95), (72, 0.95), (100_000, 0.999), (3_600_000, 0.9999), (1_000_000_000, 0.5), (1_000_000_000, 0.99999)]]
OUT["clopper"] = [[k, n, float(stats.beta.ppf(0.025, k, n - k + 1)), float(stats.beta.ppf(0.975, k + 1, n - k)) if k < n else 1.0] for k, n in [(1, 10), (10, 10), (7, 1_000_000_000), (1_000_000, 1_000_000_000), (999_999, 1_000_000), (12_345, 50_000)]]

# Generalised Pareto: data on the nanosecond, likelihood maximised from several starts, profiles by optimisation.


def loglik(y, xi, sigma):
    z = 1 + xi * y / sigma
    if sigma <= 0 or np.any(z <= 0):
        return -np.inf
    return -len(y) * math.log(sigma) - (1 / xi + 1) * np.log(z).sum() if abs(xi) > 1e-9 else -len(y) * math.log(sigma) - y.sum() / sigma


OUT["gpd"] = []
for xi, k in [(-0.2, 200), (0.0, 100), (0.25, 500)]:
    values = np.unique(np.round(5000 + stats.genpareto.rvs(c=xi, scale=10_000, size=k, random_state=rng)).astype(int))
    u = 5000
    y = (values - u).astype(float)
    y = y[y > 0]
    s = y.mean()
    best = min((optimize.minimize(lambda q: -loglik(y / s, q[0], math.exp(q[1])), [x0, 0.0], method="Nelder-Mead", options=dict(xatol=1e-10, fatol=1e-12, maxiter=4000)) for x0 in (-0.2, 0.05, 0.3)), key=lambda r: r.fun)
    top, cut = -best.fun, -best.fun - stats.chi2.ppf(0.95, 1) / 2
    scan = lambda f, lo, hi: optimize.brentq(f, lo, hi, xtol=1e-10)
    prof = lambda x: -optimize.minimize_scalar(lambda q: min(-loglik(y / s, x, math.exp(q)), 1e30), bounds=(max(-3, math.log(max(-x, 0) * (y / s).max() + 1e-12)), 4), method="bounded", options=dict(xatol=1e-11)).fun
    xis = [scan(lambda x: prof(x) - cut, best.x[0] - 0.29, best.x[0]), scan(lambda x: prof(x) - cut, best.x[0], best.x[0] + 0.5)]
    t = math.log(1000.0)
    grow = lambda x: math.expm1(x * t) / x if abs(x) > 1e-9 else t
    xhat, shat = best.x[0], math.exp(best.x[1])
    level = shat * grow(xhat)
    plev = lambda v: max(-optimize.minimize_scalar(lambda q: min(-loglik(y / s, q, v / grow(q)), 1e30), bounds=b, method="bounded", options=dict(xatol=1e-10)).fun for b in [(xhat - 0.3, xhat), (xhat, xhat + 0.5), (xhat - 0.6, xhat + 0.8)])
    levels = [scan(lambda v: plev(v) - cut, level * 0.4, level), scan(lambda v: plev(v) - cut, level, level * 6)]
    OUT["gpd"].append(dict(y=y.tolist(), xi=xhat, sigma=shat * s, loglik=top - len(y) * math.log(s), xi_interval=xis, level=level * s, level_interval=[v * s for v in levels]))

# Tests of the gate.
series = rng.integers(0, 50, 60).tolist()
n = len(series)
S = sum(np.sign(b - a) for a, b in itertools.combinations(series, 2))
ties = np.unique(series, return_counts=True)[1]
var = (n * (n - 1) * (2 * n + 5) - sum(t * (t - 1) * (2 * t + 5) for t in ties)) / 18
OUT["series"] = series
OUT["mann_kendall"] = [int(S), float(2 * stats.norm.sf((abs(S) - 1) / math.sqrt(var)))]
OUT["ks"] = float(stats.ks_2samp(series[: n // 2], series[n // 2 :]).statistic)
r = stats.rankdata(series) - (n + 1) / 2
acf = [float((r[l:] * r[:-l]).sum() / (r * r).sum()) for l in range(1, 11)]
q = n * (n + 2) * sum(a * a / (n - l) for l, a in enumerate(acf, 1))
OUT["ljung_box"] = [q, float(stats.chi2.sf(q, 10))]

# Two arms: every relabelling.
a = np.exp(rng.normal(11.0, 0.4, 6)).round(0)
b = np.exp(rng.normal(11.7, 0.4, 7)).round(0)
ta, tb = [3, 5, 5, 7, 9, 9], [5, 6, 9, 9, 11, 12, 4]


def enumerated(x, y, stat):
    allv = list(x) + list(y)
    seen, far = 0, abs(stat(allv[: len(x)], allv[len(x) :])) - 1e-12
    count = 0
    for pick in itertools.combinations(range(len(allv)), len(x)):
        s = set(pick)
        count += 1
        seen += abs(stat([allv[i] for i in pick], [allv[i] for i in range(len(allv)) if i not in s])) >= far
    return seen / count


ucount = lambda x, y: sum((i > j) + 0.5 * (i == j) for i in x for j in y)
umid = lambda x, y: ucount(x, y) - len(x) * len(y) / 2
OUT["arms"] = dict(a=a.tolist(), b=b.tolist(), ta=ta, tb=tb)
OUT["mann_whitney"] = [ucount(a, b), float(stats.mannwhitneyu(a, b, method="exact").pvalue), ucount(ta, tb), enumerated(ta, tb, umid)]
OUT["permutation"] = enumerated(np.log(a), np.log(b), lambda x, y: np.mean(x) - np.mean(y))
d = np.sort(np.subtract.outer(np.log(b), np.log(a)).ravel())
dist = np.zeros(len(a) * len(b) + 1)
for pick in itertools.combinations(range(len(a) + len(b)), len(a)):
    dist[sum(pick) - len(a) * (len(a) - 1) // 2] += 1
cdf = np.cumsum(dist) / dist.sum()
qu = int(np.argmax(cdf >= 0.025))
OUT["hodges_lehmann"] = [float(np.exp(np.median(d))), float(np.exp(d[qu - 1])), float(np.exp(d[len(d) - qu])), float(1 - 2 * cdf[qu - 1])]
from scipy.stats._morestats import _anderson_ksamp_midrank

al = [np.array(ta) - np.median(ta), np.array(tb) - np.median(tb)]
Z = np.sort(np.hstack(al))
OUT["anderson_darling_k"] = float(_anderson_ksamp_midrank(al, Z, np.unique(Z), 2, np.array([len(x) for x in al]), len(Z)))

# Factorial: 2 x 3, unbalanced, with blocks; sum contrasts written out.
rows = []
for rep in range(3):
    for i in range(2):
        for j in range(3):
            if (rep, i, j) != (2, 1, 2):
                rows.append((i, j, rep, float(np.exp(10 + 0.5 * i - 0.2 * j + 0.3 * i * j + 0.1 * rep + rng.normal(0, 0.2)))))
c = lambda l, k: [-1.0] * (k - 1) if l == k - 1 else [1.0 if l == m else 0.0 for m in range(k - 1)]
X = np.array([[1.0] + c(rep, 3) + c(i, 2) + c(j, 3) + [x * y for x in c(i, 2) for y in c(j, 3)] for i, j, rep, _ in rows])
yv = np.log([r[3] for r in rows])
beta, rss, rank, _ = np.linalg.lstsq(X, yv, rcond=None)
f = len(yv) - X.shape[1]
s2 = float(((yv - X @ beta) ** 2).sum() / f)


def drop(cols):
    keep = [m for m in range(X.shape[1]) if m not in cols]
    bb = np.linalg.lstsq(X[:, keep], yv, rcond=None)[0]
    r0 = float(((yv - X[:, keep] @ bb) ** 2).sum())
    F = (r0 - s2 * f) / len(cols) / s2
    return [F, float(stats.f.sf(F, len(cols), f))]


se = math.sqrt(s2 * np.linalg.inv(X.T @ X)[3, 3])
tq = float(stats.t.ppf(0.975, f))
OUT["factorial"] = dict(rows=[[str(i), str(j), str(rep), v] for i, j, rep, v in rows], beta=beta.tolist(), spread=math.sqrt(s2), f_a=drop([3]), f_b=drop([4, 5]), f_ab=drop([6, 7]), a=[math.exp(-2 * beta[3]), math.exp(-2 * beta[3] - tq * 2 * se), math.exp(-2 * beta[3] + tq * 2 * se)])

# E-divisive: the best split by plain loops.
ser = np.concatenate([rng.normal(0, 0.1, 15), rng.normal(0.5, 0.1, 14)])
best = (-1, 0)
for t in range(5, len(ser) - 4):
    for k in range(t + 5, len(ser) + 1):
        x, y = ser[:t], ser[t:k]
        e = 2 * np.abs(np.subtract.outer(x, y)).mean()
        e -= np.mean([abs(p - q) for p, q in itertools.combinations(x, 2)]) + np.mean([abs(p - q) for p, q in itertools.combinations(y, 2)])
        best = max(best, (len(x) * len(y) / (len(x) + len(y)) * e, t))
OUT["change"] = dict(series=ser.tolist(), q=float(best[0]), index=best[1])

# Extremal index (Ferro & Segers, JRSS B 65, 2003, equation 5 and section 4), in exact fractions from a row of zeros and ones.
from fractions import Fraction

OUT["extremal_index"] = []
more = np.random.default_rng(20261123)
lone = more.random(4000) < 0.03
crowds = np.zeros(4000, bool)
for at in more.integers(0, 3980, 40):
    crowds[at : at + 12] |= more.random(12) < 0.5
dense = np.arange(400) % 2 == 0
for row in (lone, crowds, dense):
    where = np.flatnonzero(row).tolist()
    waits = [b - a for a, b in zip(where, where[1:])]
    if max(waits) <= 2:
        theta = Fraction(2 * sum(waits) ** 2, len(waits) * sum(w * w for w in waits))
    else:
        theta = Fraction(2 * sum(w - 1 for w in waits) ** 2, len(waits) * sum((w - 1) * (w - 2) for w in waits))
    theta = min(theta, Fraction(1))
    clusters = math.floor(theta * len(where)) + 1
    cut = sorted(waits, reverse=True)[clusters - 1] if clusters <= len(waits) else 0
    OUT["extremal_index"].append(dict(count=len(row), indices=where, theta=float(theta), gap=cut if theta < Fraction(9, 10) else 0, clusters=1 + sum(w > cut for w in waits) if theta < Fraction(9, 10) else len(where)))

# Values in bins: the multinomial likelihood of scipy's distribution function, by Nelder-Mead from several starts.
OUT["binned"] = []
for xi, k, step in [(0.15, 600, 2000), (-0.25, 300, 1000)]:
    cells, counts = np.unique(np.floor(stats.genpareto.rvs(c=xi, scale=10_000, size=k, random_state=more) / step), return_counts=True)
    low = cells * step / 1e4

    def multinomial(x, s):
        chance = stats.genpareto.cdf(low + step / 1e4, x, scale=s) - stats.genpareto.cdf(low, x, scale=s)
        return float((counts * np.log(chance)).sum()) if np.all(chance > 0) else -1e30

    best = min((optimize.minimize(lambda q: -multinomial(q[0], math.exp(q[1])), [x0, 0.0], method="Nelder-Mead", options=dict(xatol=1e-9, fatol=1e-11, maxiter=4000)) for x0 in (-0.1, 0.05, 0.3)), key=lambda r: r.fun)
    height = lambda x: max(-optimize.minimize(lambda q: -multinomial(x, math.exp(q[0])), [s0], method="Nelder-Mead", options=dict(xatol=1e-9, fatol=1e-11)).fun for s0 in (-0.1, 0.1))
    cut = -best.fun - stats.chi2.ppf(0.95, 1) / 2
    ends = [optimize.brentq(lambda x: height(x) - cut, a, b, xtol=1e-8) for a, b in [(max(best.x[0] - 0.24, -0.5), best.x[0]), (best.x[0], best.x[0] + 0.4)]]
    OUT["binned"].append(dict(bins=[[float(c * step), float((c + 1) * step), int(m)] for c, m in zip(cells, counts)], xi=best.x[0], sigma=math.exp(best.x[1]) * 1e4, loglik=-best.fun, xi_interval=ends))

# The fit against its data: the distance, its p and that of the top by a bootstrap of 2,000 samples of the same size, each
# fitted by scipy's bounded minimiser on a profile; the penalised likelihood ratio of two causes over all three unknowns from nine starts.


def profile_fit(y):
    y = y / y.mean()
    def cost(th):
        if th <= -1 / y.max():
            return 1e9
        x = np.log1p(th * y).mean()
        # xi = mean ln(1 + theta y) and sigma = xi/theta.
        return (math.log(x / th) if abs(th) > 1e-9 else 0.0) + x if x > -0.5 else 1e9
    grid = np.concatenate([-np.geomspace(1e-3, 0.999, 30) / y.max(), np.geomspace(1e-3, 4, 30)])
    costs = [cost(t) for t in grid]
    at = grid[int(np.argmin(costs))]
    near = np.sort(grid)
    i = int(np.searchsorted(near, at))
    r = optimize.minimize_scalar(cost, bounds=(near[max(i - 1, 0)], near[min(i + 1, len(near) - 1)]), method="bounded", options=dict(xatol=1e-9))
    x = np.log1p(r.x * y).mean()
    return x, x / r.x


def distance(y):
    x, s = profile_fit(y)
    F = np.sort(stats.genpareto.cdf(y / y.mean(), x, scale=s))
    i = np.arange(1, len(y) + 1)
    a2 = -len(y) - ((2 * i - 1) * (np.log(F) + np.log1p(-F[::-1]))).mean()
    out = np.sort(stats.genpareto.sf(y / y.mean(), x, scale=s))[:10]
    return a2, -math.log(stats.poisson.sf(np.arange(10), len(y) * out).min()), x, s


def two_causes(y):
    x, s = profile_fit(y)
    z = y / y.mean()
    one = stats.genpareto.logpdf(z, x, scale=s).sum()
    def worse(q, ratio):
        f = (1 - q[2]) * stats.genpareto.pdf(z, q[0], scale=math.exp(q[1])) + q[2] * stats.genpareto.pdf(z, q[0], scale=ratio * math.exp(q[1]))
        return (q[0] / 0.05) ** 2 / 2 - np.log(f).sum() if np.all(f > 0) else 1e9
    starts = [[x - dx, math.log(s) - 0.1, w] for dx in (0.05, 0.2, x) for w in (0.02, 0.3, 0.9)]
    top = max(-optimize.minimize(worse, q, args=(ratio,), method="Nelder-Mead", bounds=[(-0.5, 0.5), (-4, 1), (0, 0.95)], options=dict(maxiter=4000, xatol=1e-6, fatol=1e-8)).fun for ratio in (2.5, 5.0, 10.0) for q in starts)
    return max(2 * (top - one), 0.0)


OUT["excesses"] = []
for heavy in (0, 25):
    y = np.concatenate([stats.genpareto.rvs(c=0.05, scale=1e4, size=500 - heavy, random_state=more), 1e4 * (3 + 6 * more.standard_exponential(heavy))])
    y = np.unique(np.round(y)).astype(float)
    y = y[y > 0]
    a2, far, x, s = distance(y)
    drawn = np.array([distance(stats.genpareto.rvs(c=x, size=len(y), random_state=more))[:2] for _ in range(2000)])
    OUT["excesses"].append(dict(y=y.tolist(), a2=a2, a2_p=float((drawn[:, 0] >= a2).mean()), top=far, top_p=float((drawn[:, 1] >= far).mean()), two_causes=two_causes(y)))

# The shift function of three repeats against four: order statistics, and all 27 x 256 ways to draw repeats anew.
OUT["shift"] = []
repeats = [[np.sort(np.round(np.exp(more.normal(9 + 0.1 * arm, 0.3, 40)))).astype(int) for _ in range(3 + arm)] for arm in (0, 1)]


def order(values, p):
    values = np.sort(values)
    return int(values[max(math.ceil(len(values) * p - 1e-9), 1) - 1])


for p in (0.5, 0.75, 0.9):
    ways = [[order(np.concatenate(pick), p) for pick in itertools.product(arm, repeat=len(arm))] for arm in repeats]
    d = np.sort(np.subtract.outer(ways[1], ways[0]).ravel())
    limits = [int(d[int(q * len(d))]) for q in (0.01, 0.025, 0.05, 0.95, 0.975, 0.99)]
    OUT["shift"].append([p, order(np.concatenate(repeats[0]), p), order(np.concatenate(repeats[1]), p), limits])
OUT["shift_repeats"] = [[r.tolist() for r in arm] for arm in repeats]

# Power: the upper limit of the spread by scipy's quantile, the power by 20,000 draws through the
# recurrence of the exact test.
OUT["power"] = []


def ways_of_u(n):
    # The recurrence of Mann & Whitney: the largest of all values belongs to one arm or to the other.
    table = {}
    for i in range(n + 1):
        for j in range(n + 1):
            here = np.zeros(n * n + 1)
            if i == 0 or j == 0:
                here[0] = 1.0
            else:
                here[j:] += i / (i + j) * table[i - 1, j][: n * n + 1 - j]
                here += j / (i + j) * table[i, j - 1]
            table[i, j] = here
    return table[n, n]


pilot = [[10.0, 13.0, 16.5], [21.0, 24.0, 33.0]]
logs = [np.log(arm) for arm in pilot]
spread = math.sqrt(sum(((x - x.mean()) ** 2).sum() for x in logs) / 4)
upper = spread * math.sqrt(4 / stats.chi2.ppf(0.2, 4))
for ratio, family in [(2.0, 1), (2.0, 24), (1.1, 1)]:
    level = 0.05 / family
    n, found = (4 if family == 1 else 7), None
    z = stats.norm.ppf(1 - level / 2) + stats.norm.ppf(0.9)
    noether = math.ceil(z * z / (6 * (stats.norm.cdf(math.log(ratio) / upper / math.sqrt(2)) - 0.5) ** 2))
    while noether <= 60 and found is None:
        x, z = more.standard_normal((20_000, n)), more.standard_normal((20_000, n)) + math.log(ratio) / upper
        u = (x[:, :, None] > z[:, None, :]).sum((1, 2))
        tails = np.cumsum(ways_of_u(n))
        limit = int((2 * tails <= level * (1 + 1e-12)).sum()) - 1
        power = float(((u <= limit) | (n * n - u <= limit)).mean())
        if power >= 0.9:
            found = n
        n += 1
    OUT["power"].append(dict(ratio=ratio, family=family, spread=spread, upper=upper, repeats=found or noether))
OUT["pilot"] = pilot

# Moments of exceedances: 1,000 with values, the largest hundred often at one period; 100 blocks.
count, blocks = 100_000, 100
when = np.sort(more.choice(count, 1000, replace=False))
value = more.permutation(1000) * 7 + 8
for at in range(40):
    value[np.argmin(abs(when - 2500 * at))] += 10_000
tally = np.bincount(when * blocks // count, minlength=blocks)
r = stats.rankdata(tally) - (blocks + 1) / 2
q = blocks * (blocks + 2) * sum(float((r[l:] * r[:-l]).sum() / (r * r).sum()) ** 2 / (blocks - l) for l in (1, 2, 3))
top = np.sort(when[np.argsort(value)[-100:]])
power = max(abs(np.exp(2j * np.pi * f * (top + 0.5) / count).sum()) ** 2 / len(top) for f in range(1, 501))
OUT["moments"] = dict(count=count, when=when.tolist(), value=value.tolist(), crowding=[q, float(stats.chi2.sf(q, 3))], evenness=float(stats.kstest((when + 0.5) / count, "uniform").statistic), period=[float(power), float(1 - (1 - math.exp(-power)) ** 500)])

print(json.dumps(OUT, indent=1))
