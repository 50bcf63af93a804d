"""A board as LabWired (https://pypi.org/project/labwired) emulates its chip; its serial line is a port of this machine.

    python drivers.py BOARD ELF [FAILURES]

Prints the board's log, in frames of defmt; beside it the port, then a line for every power failure: FAILURES of them, at random
instants, while the data flash keeps what it holds. The emulator runs the
program and has most of the chip. What it leaves out, and silicon does not, is played here between two slices of time, as the
chip's manual has it: the boards below say what. `cargo xtask test drivers` plays the other side.
"""

import random
import socket
import struct
import sys
import tempfile
from pathlib import Path

from labwired import Sim

BYTE = 1e-4  # s: about what a byte takes at 115 200 baud

CHIP = """
name: "chip"
arch: "arm"
core: "cortex-m4"
cpu_hz: {clock}
flash: {{base: {flash}, size: "{flash_size}"}}
ram: {{base: 0x20000000, size: "{ram_size}"}}
memory_regions: [{memory}]
peripherals:
  - {{id: "systick", type: "systick", base_address: 0xE000E010}}
"""


def memory(name, base):
    return f'{{name: "{name}", base: {base:#x}, size: "1KB"}}'


def part(name, kind, base, irq=None, profile=None):
    irq = "" if irq is None else f", irq: {irq}"
    profile = "" if profile is None else f', config: {{profile: "{profile}"}}'
    return f'  - {{id: "{name}", type: "{kind}", base_address: {base:#x}, size: "1KB"{irq}{profile}}}\n'


class Board:
    """A chip that is switched on with this in its data flash."""

    def __init__(self, elf, stored):
        with tempfile.TemporaryDirectory() as folder:
            chip, system = Path(folder, "chip.yaml"), Path(folder, "system.yaml")
            chip.write_text(self.CHIP)
            system.write_text('name: "board"\nchip: "chip.yaml"\nexternal_devices: []\n')
            self.sim = Sim(elf, system=system, uart=self.UART)
        self.get, self.set = self.sim.read_u32, self.sim.write_u32
        for at, (word,) in zip(range(*self.STORAGE, 4), struct.iter_unpack("<I", stored)):
            self.set(at, word)
        self.start()

    def stored(self):
        start, end = self.STORAGE
        return self.sim.read_memory(start, end - start)

    def run(self):
        """The time of a byte, in slices; what was sent meanwhile."""
        for _ in range(self.SLICES):
            self.sim.run_for(BYTE / self.SLICES)
            self.play()
        return self.sent(self.sim.read_uart_bytes())

    def sent(self, data):
        return data

    def log(self):
        """Reads the log as a debug probe does, from a ring in memory."""
        head = self.sim.symbol("_SEGGER_RTT")
        if self.sim.read_memory(head, 10) == b"SEGGER RTT":
            ring, size, written, read = struct.unpack("<4I", self.sim.read_memory(head + 28, 16))
            if read != written:
                data = self.sim.read_memory(ring, size)
                sys.stdout.buffer.write(data[read:written] if read < written else data[read:] + data[:written])
                sys.stdout.buffer.flush()
                self.set(head + 40, written)


class Nrf52840(Board):
    """Played: UARTE0's interrupts, every byte's way to the buffer and its count by PPI and TIMER0. The emulator has neither, and
    would end a transfer before its buffer is full."""

    CHIP = CHIP.format(
        clock=64_000_000, flash=0, flash_size="1024KB", ram_size="256KB", memory=memory("errata", 0xF0000C00)
    ) + "".join([
        part("clock", "nrf_clock", 0x40000000, 0),
        part("uart0", "nrf52840_uart", 0x40002000, 2),
        part("gpiote", "nrf52840_gpiotasksevents", 0x40006000, 6),
        part("timer0", "nrf52840_timer", 0x40008000, 8),
        part("temp", "nrf52840_temp", 0x4000C000, 12),
        part("wdt", "nrf52840_watchdog", 0x40010000, 16),
        part("nvmc", "nrf52840_nvmc", 0x4001E000),
        part("ppi", "nrf52840_ppi", 0x4001F000),
        part("gpio0", "gpio", 0x50000000, profile="nrf52"),
        part("ficr", "nrf52840_ficr", 0x10000000),
        part("uicr", "nrf52840_uicr", 0x10001000),
    ]).replace('size: "1KB"', 'size: "4KB"')
    STORAGE = (0xF0000, 0x100000)
    FAILURES = (0.1, 0.4)  # s from power to the next failure; a start takes 0.17
    UART, SLICES = None, 1
    UARTE, TIMER, PENDING = 0x40002000, 0x40008000, 0xE000E200
    EVENTS, INTEN, ENABLE, RXD_PTR, RXD_MAXCNT = UARTE + 0x100, UARTE + 0x300, UARTE + 0x500, UARTE + 0x534, UARTE + 0x538
    COUNT, CLEAR, CAPTURE, CAPTURED, WRAPS_AT = TIMER + 0x008, TIMER + 0x00C, TIMER + 0x04C, TIMER + 0x54C, TIMER + 0x544
    ENDRX, ENDTX, RXSTARTED = 4, 8, 19

    def start(self):
        """Nothing is in the buffer, of which none was full; nothing was counted."""
        self.buffered, self.full, self.counted = bytearray(), None, 0

    def receive(self, byte):
        buffer, room = self.get(self.RXD_PTR), self.get(self.RXD_MAXCNT)
        if self.get(self.ENABLE) != 8 or room == 0 or buffer == self.full:
            return  # the driver is not there yet, or has no room
        self.set(self.CAPTURE, 1)
        if self.get(self.CAPTURED) != self.counted:
            self.start()  # the driver has begun anew
        at = buffer + len(self.buffered)
        shift, at = 8 * (at % 4), at - at % 4
        self.set(at, self.get(at) & ~(0xFF << shift) | byte << shift)
        self.buffered.append(byte)
        self.counted = (self.counted + 1) % self.get(self.WRAPS_AT)
        self.set(self.COUNT if self.counted else self.CLEAR, 1)
        if len(self.buffered) == room:
            self.sim.send_bytes(self.buffered)  # here the emulator is right to end it
            self.buffered.clear()
            self.full = buffer

    def play(self):
        enabled = self.get(self.INTEN)
        events = (self.ENDRX, self.ENDTX, self.RXSTARTED)
        if any(enabled >> event & 1 and self.get(self.EVENTS + 4 * event) for event in events):
            self.set(self.PENDING, 1 << 2)


class Stm32f446(Board):
    """Played: USART2's interrupt for a byte that came, PWR's ready bits, the flash controller. The emulator takes a write to
    USART2's status for a byte 0x80 that is sent; it is left out, so that this line is for text."""

    CHIP = CHIP.format(
        clock=168_000_000, flash=0x08000000, flash_size="512KB", ram_size="128KB",
        memory=memory("pwr", 0x40007000) + ", " + memory("flash_controller", 0x40023C00),
    ) + "".join([
        part("rcc", "rcc", 0x40023800, profile="stm32f4"),
        part("gpioa", "stm32f4_gpio", 0x40020000),
        part("gpiob", "stm32f4_gpio", 0x40020400),
        part("gpioc", "stm32f4_gpio", 0x40020800),
        part("uart2", "uart", 0x40004400, 38),
        part("iwdg", "iwdg", 0x40003000),
        part("dbgmcu", "dbgmcu", 0xE0042000),
    ])
    STORAGE = (0x08004000, 0x08014000)
    FAILURES = (0.001, 0.06)  # a start takes 0.006
    UART, SLICES = "uart2", 10
    USART_SR, USART_CR1, PENDING = 0x40004400, 0x4000440C, 0xE000E204
    PWR_CSR, FLASH_KEYR, FLASH_SR, FLASH_CR = 0x40007004, 0x40023C04, 0x40023C0C, 0x40023C10
    RECEIVED, READY, BUSY = 1 << 5, 0x34000, 1 << 16
    ERASE, START, LOCK = 1 << 1, 1 << 16, 1 << 31
    SECTORS = [0x08000000, 0x08004000, 0x08008000, 0x0800C000, 0x08010000, 0x08020000]

    def start(self):
        self.set(self.PWR_CSR, self.READY)
        self.set(self.FLASH_SR, self.BUSY)  # until `flash` sees what is asked for
        self.set(self.FLASH_CR, self.LOCK)

    def receive(self, byte):
        self.sim.send_bytes(bytes([byte]))

    def sent(self, data):
        return data.replace(b"\x80", b"")

    def play(self):
        if self.get(self.USART_SR) & self.get(self.USART_CR1) & self.RECEIVED:
            self.set(self.PENDING, 1 << 6)
        if self.get(self.FLASH_KEYR) == 0xCDEF89AB:
            self.flash()

    def flash(self):
        """From the second key to the lock, looks every few instructions: sectors are erased here, words written by the processor."""
        self.set(self.FLASH_KEYR, 0)
        self.set(self.FLASH_CR, self.get(self.FLASH_CR) & ~self.LOCK)
        while not (control := self.get(self.FLASH_CR)) & self.LOCK:
            if control & self.ERASE and control & self.START:
                first = control >> 3 & 0xF
                for word in range(*self.SECTORS[first : first + 2], 4):
                    self.set(word, 0xFFFFFFFF)
                self.set(self.FLASH_CR, control & ~self.START)
            self.set(self.FLASH_SR, 0)
            self.sim.run_for(1e-7)
        self.set(self.FLASH_SR, self.BUSY)


BOARDS = {"nrf52840-dk": Nrf52840, "nucleo-f446re": Stm32f446}


class Line:
    """The port. Clients may come and go, one at a time; what is sent while there is none is lost."""

    def __init__(self):
        self.server, self.client = socket.create_server(("127.0.0.1", 0)), None
        self.server.setblocking(False)
        print(self.server.getsockname()[1], file=sys.stderr, flush=True)

    def received(self):
        try:
            if self.client is None:
                self.client, _ = self.server.accept()
                self.client.setblocking(False)
            data = self.client.recv(4096)
            if not data:
                self.client = None
            return data
        except BlockingIOError:
            return b""
        except OSError:
            self.client = None
            return b""

    def send(self, data):
        try:
            if self.client is not None and data:
                self.client.settimeout(10)
                self.client.sendall(data)
                self.client.setblocking(False)
        except OSError:
            self.client = None


def main(name, elf, failures=0):
    board, line, chance, waiting = BOARDS[name], Line(), random.Random(7), bytearray()
    start, end = board.STORAGE
    device, failed = board(elf, b"\xff" * (end - start)), 0
    until = chance.uniform(*board.FAILURES)
    while True:
        waiting += line.received()
        if waiting:
            device.receive(waiting.pop(0))
        line.send(device.run())
        device.log()
        if failed < int(failures) and device.sim.time > until:
            failed, until = failed + 1, chance.uniform(*board.FAILURES)
            device = board(elf, device.stored())
            print(f"power failure {failed}", file=sys.stderr, flush=True)


main(*sys.argv[1:])
