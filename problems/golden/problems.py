#!/usr/bin/env python3
"""The benchmark problems once more, from their description alone, in plain Python.

Writes problems.json beside itself: values of some tasks of every problem at some points, which the tests of
`problems/src` compare with. Needs nothing but the standard library; takes about a minute.
"""

import cmath
import json
import math
import pathlib
import struct

MASK = 0xFFFFFFFF


class Random:
    """ChaCha8 keyed by (seed, purpose, task)."""

    def __init__(self, seed, purpose, task):
        self.key = list(struct.unpack("<8I", struct.pack("<QQQQ", seed, purpose, task, 0)))
        self.counter = 0
        self.words = []

    def block(self):
        start = [0x61707865, 0x3320646E, 0x79622D32, 0x6B206574] + self.key
        start += [self.counter & MASK, self.counter >> 32, 0, 0]
        w = start[:]

        def rotate(x, n):
            return ((x << n) | (x >> (32 - n))) & MASK

        def quarter(a, b, c, d):
            for left, into, other, turn in ((a, d, b, 16), (c, b, d, 12), (a, d, b, 8), (c, b, d, 7)):
                w[left] = (w[left] + w[other]) & MASK
                w[into] = rotate(w[into] ^ w[left], turn)

        for _ in range(4):
            for column in range(4):
                quarter(column, 4 + column, 8 + column, 12 + column)
            for i in range(4):
                quarter(i, 4 + (i + 1) % 4, 8 + (i + 2) % 4, 12 + (i + 3) % 4)
        self.counter += 1
        return [(x + y) & MASK for x, y in zip(w, start)]

    def unit(self):
        if not self.words:
            self.words = self.block()
        low, high, *self.words = self.words
        return ((low | high << 32) >> 11) / 2**53

    def uniform(self, low, high):
        return low + (high - low) * self.unit()

    def disc(self, radius):
        distance = radius * math.sqrt(self.unit())
        return cmath.rect(distance, 2 * math.pi * self.unit())

    def complex_normal(self):
        radius = math.sqrt(-math.log(1 - self.unit()))
        return cmath.rect(radius, 2 * math.pi * self.unit())

    def normal(self):
        return math.sqrt(2) * self.complex_normal().real


# Hartmann-6

WEIGHTS = [[1, 1.01, 1.02, 1.03], [1.2, 1.19, 1.18, 1.17], [3, 2.9, 2.8, 2.7], [3.2, 3.3, 3.4, 3.5]]
PRECISIONS = [
    [10, 3, 17, 3.5, 1.7, 8],
    [0.05, 10, 17, 0.1, 8, 14],
    [3, 3.5, 1.7, 10, 17, 8],
    [17, 8, 0.05, 10, 0.1, 14],
]
CENTRES = [
    [1312, 1696, 5569, 124, 8283, 5886],
    [2329, 4135, 8307, 3736, 1004, 9991],
    [2348, 1451, 3522, 2883, 3047, 6650],
    [4047, 8828, 8732, 5743, 1091, 381],
]


def hartmann6(seed, task, reverse):
    random = Random(seed, 1, task)
    delta = [[random.uniform(0.8, 1.2) for _ in range(6)] for _ in range(4)]

    def value(m, x):
        column = 3 - m if reverse else m
        total = 0
        for i in range(4):
            square = sum(
                delta[i][j] * PRECISIONS[i][j] * (x[j] - CENTRES[i][j] / 10000) ** 2 for j in range(6)
            )
            total += WEIGHTS[i][column] * math.exp(-square)
        return total

    return value


# Gas


def gas(seed, task):
    random = Random(seed, 6, task)
    sensors = [
        (x + random.uniform(-50, 50), y + random.uniform(-10, 10))
        for x in (250, 350, 450)
        for y in (-30, -20, -10, 10, 20, 30)
    ]

    def plume(m, source, sensor):
        q, x0, y0, h = source
        d = sensor[0] - x0
        if d <= 0:
            return 0
        sy = (0.22, 0.16, 0.11, 0.08, 0.06, 0.04)[m] * d * (1 + 1e-4 * d) ** -0.5
        sz = (
            0.20 * d,
            0.12 * d,
            0.08 * d * (1 + 2e-4 * d) ** -0.5,
            0.06 * d * (1 + 1.5e-3 * d) ** -0.5,
            0.03 * d / (1 + 3e-4 * d),
            0.016 * d / (1 + 3e-4 * d),
        )[m]
        across = math.exp(-((sensor[1] - y0) ** 2) / (2 * sy**2))
        up = math.exp(-((3 - h) ** 2) / (2 * sz**2)) + math.exp(-((3 + h) ** 2) / (2 * sz**2))
        return q / (2 * math.pi * 2 * sy * sz) * across * up

    data = [plume(5, (1500, 8, 10, 5), sensor) for sensor in sensors]

    def value(m, x):
        error = sum((plume(m, x, sensor) - c) ** 2 for sensor, c in zip(sensors, data))
        return 1 - min(error / sum(c**2 for c in data), 2)

    return value


# Radio resource management


def median_loss(ground, sight):
    slant = math.hypot(ground, 8.5)
    carrier = math.log10(3.5)
    if ground <= 210:
        direct = 32.4 + 21 * math.log10(slant) + 20 * carrier
    else:
        direct = 32.4 + 40 * math.log10(slant) + 20 * carrier - 9.5 * math.log10(210**2 + 8.5**2)
    return direct if sight else max(direct, 35.3 * math.log10(slant) + 22.4 + 21.3 * carrier)


def sight_probability(ground):
    return 1 if ground <= 18 else 18 / ground + math.exp(-ground / 36) * (1 - 18 / ground)


def rrm(seed, task, stations, antennas):
    radius = 0 if stations == 1 else 100 / math.sin(math.pi / stations)
    masts = [-cmath.rect(radius, 2 * math.pi * b / stations) for b in range(stations)]

    def cell(place):
        ground = [abs(place - mast) for mast in masts]
        return ground.index(min(ground)) if abs(place) <= 200 and min(ground) >= 10 else None

    random = Random(seed, 2, 0)
    cells = [[] for _ in masts]
    while any(len(c) < 10 for c in cells):
        place = random.disc(200)
        b = cell(place)
        if b is not None and len(cells[b]) < 10:
            cells[b].append(place)
    places = [place for c in cells for place in c]
    links = [[(random.normal(), random.normal()) for _ in masts] for _ in places]
    for n in range(1, task + 1):
        random = Random(seed, 3, n)
        for u, place in enumerate(places):
            while True:
                places[u] = place + random.disc(10)
                if cell(places[u]) == u // 10:
                    break
            step = abs(places[u] - place)
            moved = []
            for pair in links[u]:
                after = []
                for z, length in zip(pair, (12, 50)):
                    rho = math.exp(-step / length)
                    after.append(rho * z + math.sqrt(1 - rho**2) * random.normal())
                moved.append(tuple(after))
            links[u] = moved
    loss = []
    for u, place in enumerate(places):
        loss.append([])
        for mast, (shadowing, obstruction) in zip(masts, links[u]):
            ground = abs(place - mast)
            sight = math.erfc(-obstruction / math.sqrt(2)) / 2 < sight_probability(ground)
            loss[u].append(median_loss(ground, sight) + (4 if sight else 7.82) * shadowing)

    random = Random(seed, 4, task)
    noise = 10 ** ((-174 + 10 * math.log10(9e6) + 5) / 10)
    users = range(len(places))
    bank = []
    for _ in range(100):
        h = [[[random.complex_normal() for _ in range(antennas)] for _ in users] for _ in masts]
        own, across = [], []
        for u in users:
            b = u // 10
            norm = sum(abs(a) ** 2 for a in h[b][u])
            own.append(norm * 10 ** (-loss[u][b] / 10))
            conjugate = [a.conjugate() for a in h[b][u]]
            across.append(
                [
                    abs(sum(a * c for a, c in zip(conjugate, h[b][v]))) ** 2 / norm * 10 ** (-loss[v][b] / 10)
                    if v != u
                    else 0
                    for v in users
                ]
            )
        bank.append((own, across))

    def value(m, x):
        power = []
        for u in users:
            p0, alpha = x[2 * (u // 10)], x[2 * (u // 10) + 1]
            power.append(10 ** (min(23, p0 + 10 * math.log10(50) + alpha * loss[u][u // 10]) / 10))
        samples = (10, 20, 50, 100)[m]
        total = 0
        for own, across in bank[:samples]:
            for u in users:
                disturbance = noise + sum(p * g for p, g in zip(power, across[u]))
                total += math.log2(1 + power[u] * own[u] / disturbance)
        return total / samples

    return value


# Classic functions


def forrester(m, x, w):
    (x,) = x
    wave = math.sin(12 * x - 4)
    truth = w[0] * (6 * x - 2) ** 2 * wave
    return (truth / 2 + 10 * (x - 0.5) - 5, w[0] * (5.5 * x - 2.5) ** 2 * wave, truth)[m]


def branin(m, x, w):
    if m == 0:
        return branin(1, [1.2 * (v + 2) for v in x], w) - 3 * x[1] + 1
    if m == 1:
        below = branin(2, [v - 2 for v in x], w)
        return 10 * math.sqrt(below) + 2 * (x[0] - 0.5) - 3 * (3 * x[1] - 1) - 1
    bend = x[1] - 5.1 / (4 * math.pi**2) * x[0] ** 2 + 5 / math.pi * x[0] - 6
    return w[0] * bend**2 + w[1] * (10 * (1 - 1 / (8 * math.pi)) * math.cos(x[0]) + 10)


def himmelblau(m, x, w):
    a, b = x
    if m == 0:
        return himmelblau(1, [a / 2, 0.8 * b], w) + b**3 - (a + 1) ** 2
    return w[0] * (a**2 + b - 11) ** 2 + w[1] * (a + b**2 - 7) ** 2


def rosenbrock(m, x, w):
    steep, end = (100, 1) if m != 1 else (50, -2)
    f = sum(w[0] * steep * (b - a**2) ** 2 + w[1] * (end - a) ** 2 for a, b in zip(x, x[1:]))
    return ((f - 4 - sum(x) / 2) / (10 + sum(x) / 4), f - sum(x) / 2, f)[m]


def levy(m, x, w):
    dents, offset = ((0, 1.5), (0.5, 0.5), (1, 0))[m]
    u = [1 + (v - offset - 1) / 4 for v in x]
    terms = [(v - 1) ** 2 * (1 + dents * 10 * math.sin(math.pi * v + 1) ** 2) for v in u[:-1]]
    terms.append((u[-1] - 1) ** 2 * (1 + dents * math.sin(2 * math.pi * u[-1]) ** 2))
    terms[0] += dents * math.sin(math.pi * u[0]) ** 2
    return sum(weight * term for weight, term in zip(w, terms))


def classic(function, seed, task, dimensions, reach, weights):
    random = Random(seed, 14, task)
    shift = [random.uniform(-reach, reach) for _ in range(dimensions)]
    w = [random.uniform(0.8, 1.2) for _ in range(weights)]
    return lambda m, x: -function(m, [v - s for v, s in zip(x, shift)], w)


def case(problem, seed, task, function, points):
    fidelities = {"gas": 6, "forrester": 3, "branin": 3, "himmelblau": 2, "rosenbrock": 3, "levy": 3}.get(problem, 4)
    values = [[function(m, x) for x in points] for m in range(fidelities)]
    return {"problem": problem, "seed": seed, "task": task, "points": points, "values": values}


def main():
    cube = [[0.3, 0.2, 0.5, 0.3, 0.3, 0.6], [0.4, 0.9, 0.8, 0.6, 0.1, 0.1]]
    sources = [[1500, 8, 10, 5], [1200, 40, 5, 3], [3000, -200, 30, 8]]
    settings = [[-102, 1, -14, 0], [24, 0, 24, 0], [-90, 0.8, -202, 0]]
    cases = [
        case("hartmann6", 3, 4, hartmann6(3, 4, False), cube),
        case("hartmann6:truth=first", 8, 0, hartmann6(8, 0, True), cube),
        case("gas", 3, 2, gas(3, 2), sources),
        case("rrm", 7, 0, rrm(7, 0, 2, 64), settings),
        case("rrm:antennas=32", 7, 5, rrm(7, 5, 2, 32), settings),
        case("rrm:stations=3,antennas=32", 1, 2, rrm(1, 2, 3, 32), [x + [-84, 0.9] for x in settings]),
        case("forrester", 3, 1, classic(forrester, 3, 1, 1, 0.1, 1), [[0.1], [0.76], [1]]),
        case("branin", 3, 2, classic(branin, 3, 2, 2, 1.5, 2), [[-5, 0], [3, 2.5], [9, 14]]),
        case("himmelblau", 4, 0, classic(himmelblau, 4, 0, 2, 1, 2), [[3, 2], [-4, 5], [0.5, -3]]),
        case("rosenbrock", 5, 3, classic(rosenbrock, 5, 3, 4, 0.8, 2), [[1, 1, 1, 1], [-2, 2, 0.5, -1]]),
        case("levy", 6, 4, classic(levy, 6, 4, 8, 3, 8), [[1] * 8, [-10, 9, 0, 3, -4, 5.5, -7, 2]]),
    ]
    out = pathlib.Path(__file__).with_name("problems.json")
    out.write_text(json.dumps(cases, indent=1) + "\n")


if __name__ == "__main__":
    main()
