#!/usr/bin/env python3
"""Stands in for a measurement of `problem.toml`: power, alpha, tilt and the number of samples; prints the value, and with
`kpis` behind them what the two weakest users get and what is drawn, too.

The same question gets the same answer: the noise comes from a hash of it.
"""
import json
import math
import struct
import sys
import zlib

power, alpha, tilt = (float(word) for word in sys.argv[1:4])
samples = int(sys.argv[4])
value = 20 - ((power + 80 * alpha + 10) / 40) ** 2 - 4 * (alpha - 0.7) ** 2 - ((tilt - 3) / 4) ** 2
noise = zlib.crc32(struct.pack("<3fI", power, alpha, tilt, samples)) / 2**32 - 0.5
value += noise * 5 / math.sqrt(samples)
if "kpis" in sys.argv[5:]:
    edge = math.exp(-((power + 70) / 60) ** 2 + noise * 0.5 / math.sqrt(samples))
    print(json.dumps({"value": value, "edge": edge, "draw": 10 + power / 10 + tilt / 5}))
else:
    print(value)
