#!/usr/bin/env python3
"""A station in plain Python, written from docs/protocol.md alone: one task on a device, from greeting to recommendation.

    python3 station.py --connect tcp:127.0.0.1:7700
    python3 station.py --connect unix:/tmp/line
    python3 station.py --connect /dev/ttyACM0        # needs nothing but a port set to 115 200 baud: stty -F ... raw 115200

The problem is that of problem.toml, measured by measure.py.
"""
import argparse
import os
import select
import socket
import struct
import subprocess
import sys
import time
import zlib

VERSION = 5
TIMEOUT = 1.0     # seconds until a request is repeated
PATIENCE = 120.0  # seconds of silence after which to give up

# What is tuned: name, unit, and low, high and number of levels, or a list, or an interval.
PARAMETERS = [
    ("power", " dBm", ("grid", -120.0, 24.0, 73)),
    ("alpha", "", ("list", [0.0, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0])),
    ("tilt", " degrees", ("interval", 0.0, 10.0)),
]
FIDELITIES = [(1.0, 10, 0.25), (5.0, 100, 0.04)]  # cost, samples, variance of the noise
IN_USE = [-80.0, 0.8, 5.0]
FLOOR = (3, 0.9, 0.05)                            # a share of what the point in use gives, and the risk
TOLERANCE = 0.01
LIMITS = [([1.0, 100.0, 0.0], 60.0)]
REASONS = ["Budget", "Capacity", "Exhausted", "Stopped", "Tolerance"]


def described():
    """The problem as bytes."""
    out = struct.pack("<8B3f", 1, len(PARAMETERS), len(FIDELITIES), len(LIMITS), 0, 1, FLOOR[0], 0,
                      FLOOR[1], FLOOR[2], TOLERANCE)
    for _, _, shape in PARAMETERS:
        if shape[0] == "interval":
            out += struct.pack("<B2f", 0, *shape[1:])
        elif shape[0] == "grid":
            out += struct.pack("<B2fH", 1, *shape[1:])
        else:
            out += struct.pack("<BH%df" % len(shape[1]), 2, len(shape[1]), *shape[1])
    for cost, samples, noise in FIDELITIES:
        out += struct.pack("<fIf", cost, samples, noise)
    out += struct.pack("<%df" % len(IN_USE), *IN_USE)
    for coefficients, at_most in LIMITS:
        out += struct.pack("<%df" % (len(coefficients) + 1), *coefficients, at_most)
    return out


def varint(number):
    out = b""
    while number > 127:
        out, number = out + bytes([number & 127 | 128]), number >> 7
    return out + bytes([number])


def frame(tag, message):
    body = b">" + varint(tag) + message
    body += struct.pack("<I", zlib.crc32(body))
    out = b""
    for piece in body.split(b"\0"):
        while len(piece) >= 254:
            out, piece = out + b"\xff" + piece[:254], piece[254:]
        out += bytes([len(piece) + 1]) + piece
    return b"\0" + out + b"\0"


def unframed(coded):
    """Tag and message of what lies between two zeros, or None."""
    out = b""
    while coded:
        n, piece = coded[0], coded[1:coded[0]]
        if len(piece) < n - 1:
            return None
        coded = coded[n:]
        out += piece + (b"\0" if n < 255 and coded else b"")
    body, crc = out[:-4], out[-4:]
    if len(body) < 3 or body[0] != ord("<") or struct.pack("<I", zlib.crc32(body)) != crc:
        return None
    reader = Reader(body[1:])
    return reader.varint(), reader


class Reader:
    """Takes a message apart."""

    def __init__(self, data):
        self.data = data

    def byte(self):
        first, self.data = self.data[0], self.data[1:]
        return first

    def varint(self):
        number, shift = 0, 0
        while True:
            byte = self.byte()
            number |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return number

    def float(self):
        number, self.data = struct.unpack("<f", self.data[:4])[0], self.data[4:]
        return number

    def text(self):
        length = self.varint()
        text, self.data = self.data[:length].decode(), self.data[length:]
        return text

    def point(self):
        return [(self.varint, self.float)[kind]() for kind in (self.byte() for _ in range(self.varint()))]


class Line:
    """A socket or a serial port."""

    def __init__(self, address):
        if address.startswith("tcp:"):
            host, port = address[4:].rsplit(":", 1)
            self.socket = socket.create_connection((host, int(port)))
            self.handle = self.socket.fileno()
        elif address.startswith("unix:"):
            self.socket = socket.socket(socket.AF_UNIX)
            self.socket.connect(address[5:])
            self.handle = self.socket.fileno()
        else:
            self.handle = os.open(address, os.O_RDWR | os.O_NOCTTY)
        self.coded = b""
        self.tag = int(time.time()) & 0x7FFFFFFF

    def ask(self, message):
        """Sends a request, again and again, until its answer comes."""
        self.tag += 1
        end, due = time.monotonic() + PATIENCE, 0.0
        while time.monotonic() < end:
            if time.monotonic() >= due:
                os.write(self.handle, frame(self.tag, message))
                due = time.monotonic() + TIMEOUT
            for tag, reader in self.heard(due - time.monotonic()):
                if tag == self.tag:
                    return reader.varint(), reader
        sys.exit("no answer")

    def heard(self, seconds):
        if not select.select([self.handle], [], [], max(seconds, 0.0))[0]:
            return []
        data = os.read(self.handle, 512)
        if not data:
            sys.exit("the line is closed")
        *frames, self.coded = (self.coded + data).split(b"\0")
        return [answer for answer in map(unframed, filter(None, frames)) if answer]


def greeting(line):
    number, reader = line.ask(b"\0" + varint(VERSION))
    version = reader.varint()
    if number != 0 or version != VERSION:
        sys.exit("the device speaks version %d of the protocol, this station %d" % (version, VERSION))
    firmware, profile = reader.text(), reader.text()
    problem, dimensions, fidelities, tries = reader.varint(), reader.byte(), reader.byte(), reader.byte()
    phase, task, step = reader.varint(), reader.varint(), reader.varint()
    print("device: %s, profile %s, room for %d parameters and %d fidelities" % (firmware, profile, dimensions, fidelities))
    return phase, task


def begin(line, task, seed, budget):
    """Begins a task; the problem is described when the device does not know it."""
    problem = described()
    number = zlib.crc32(problem)
    message = b"\x01" + varint(task) + varint(number) + varint(seed) + struct.pack("<f", budget) + b"\0\0"
    for _ in range(20):
        answer, reader = line.ask(message)
        if answer == 1:
            return
        if answer == 12 and reader.varint() == 1:
            describe(line, problem, number)
        else:
            sys.exit("the device refuses to begin: %r" % reader.data)
    sys.exit("the device does not know the problem that it was told")


def describe(line, problem, number):
    answer, reader = line.ask(b"\x07\x01\0" + varint(len(problem)) + varint(number))
    while answer == 9:
        offset = reader.varint()
        if offset >= len(problem):
            return
        data = problem[offset:offset + 256]
        answer, reader = line.ask(b"\x08" + varint(number) + varint(offset) + varint(len(data)) + data)
    sys.exit("the device refuses the problem: %r" % reader.data)


def single(number):
    """The shortest decimal that is this number in single precision; whole numbers without an exponent."""
    if number == int(number) and abs(number) < 1e7:
        return "%d" % number
    for digits in range(1, 10):
        text = "%.*g" % (digits, number)
        if struct.pack("<f", float(text)) == struct.pack("<f", number):
            return text.rstrip("0").rstrip(".") if "." in text else text
    return repr(number)


def natural(point):
    """The parameters' values, as text."""
    values = []
    for coordinate, (_, _, shape) in zip(point, PARAMETERS):
        if shape[0] == "list":
            values.append(single(shape[1][coordinate]))
        elif shape[0] == "grid":
            values.append(single(shape[1] + (shape[2] - shape[1]) * coordinate / (shape[3] - 1)))
        else:
            values.append(single(struct.unpack("<f", struct.pack("<f", shape[1] + (shape[2] - shape[1]) * coordinate))[0]))
    return values


def shown(point):
    return ", ".join("%s = %s%s" % (name, value, unit) for (name, unit, _), value in zip(PARAMETERS, natural(point)))


def measured(point, samples):
    script = os.path.join(os.path.dirname(os.path.abspath(__file__)), "measure.py")
    words = [sys.executable, script, *natural(point), str(samples)]
    return float(subprocess.run(words, capture_output=True, text=True, check=True).stdout)


def query(line, reader):
    """Measures what is asked, as often as it is asked."""
    task, step = reader.varint(), reader.varint()
    attempt, fidelity, samples, cost = reader.byte(), reader.byte(), reader.varint(), reader.float()
    point = reader.point()
    while True:
        value = measured(point, samples)
        print("task %d query %2d: %s, %3d samples: %s" % (task, step, shown(point), samples, value))
        message = b"\x03" + varint(task) + varint(step) + bytes([attempt, 0]) + struct.pack("<f", value) + b"\0"
        answer, reader = line.ask(message)
        if answer != 5:
            return
        reader.varint(), reader.varint()
        attempt = reader.byte()


def tune(line, seed, budget):
    phase, task = greeting(line)
    if phase not in (1, 2):
        task += 1
        begin(line, task, seed, budget)
    while True:
        answer, reader = line.ask(b"\x02" + varint(task))
        if answer == 2:
            query(line, reader)
        elif answer == 3:
            time.sleep(0.02)
        elif answer == 6:
            break
        else:
            sys.exit("the task is lost: answer %d, %r" % (answer, reader.data))
    reader.varint()
    reason, queries, spent, mean = reader.varint(), reader.varint(), reader.float(), reader.float()
    print("task %d ended (%s) after %d queries for %s: %s, %s expected"
          % (task, REASONS[reason], queries, single(spent), shown(reader.point()), single(mean)))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--connect", required=True, metavar="ADDRESS")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--budget", type=float, default=100.0)
    arguments = parser.parse_args()
    tune(Line(arguments.connect), arguments.seed, arguments.budget)
