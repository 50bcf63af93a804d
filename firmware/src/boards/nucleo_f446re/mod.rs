//! ST's NUCLEO-F446RE: STM32F446RE, a Cortex-M4F at 168 MHz.
//!
//! | part | what it is |
//! |---|---|
//! | serial line | USART2, PA2 transmits, PA3 receives: the virtual serial port of the on-board ST-LINK; 115 200 baud, 8N1 |
//! | flash | sectors 1 to 4, see [`flash`] |
//! | log | `defmt` over RTT, read by the debug probe |
//! | LED | LD2 green PA5, the only one: it blinks |
//! | watchdog | independent watchdog, 8 s |
//! | clock | 168 MHz from the internal oscillator, which needs no jumper and is good enough for the serial line |

mod flash;

use cortex_m::asm::wfi;
use cortex_m::peripheral::SCB;
use defmt_rtt as _;
use embassy_stm32::gpio::{Level, Output, Speed};
use embassy_stm32::peripherals::{IWDG, USART2};
use embassy_stm32::rcc::{AHBPrescaler, APBPrescaler, Pll, PllMul, PllPDiv, PllPreDiv, PllSource, Sysclk};
use embassy_stm32::usart::{BufferedInterruptHandler, BufferedUart, Config as SerialConfig};
use embassy_stm32::wdg::IndependentWatchdog;
use embassy_stm32::{Config, bind_interrupts, pac};
use static_cell::ConstStaticCell;

use super::cortex;
use crate::board::{Board, Cause, Fault, Parts, SERIAL_BUFFER, Stack, Status, System};
use crate::leds::OneLed;

pub use flash::Flash;

/// Frequency of the processor, in Hz.
const CLOCK: u32 = 168_000_000;
const BAUD_RATE: u32 = 115_200;
/// The watchdog's patience, in microseconds.
const WATCHDOG: u32 = 8_000_000;

bind_interrupts!(struct Interrupts {
    USART2 => BufferedInterruptHandler<USART2>;
});

static RECEIVED: ConstStaticCell<[u8; SERIAL_BUFFER]> = ConstStaticCell::new([0; SERIAL_BUFFER]);
static TO_SEND: ConstStaticCell<[u8; SERIAL_BUFFER]> = ConstStaticCell::new([0; SERIAL_BUFFER]);

/// The board, set up.
pub struct Nucleo {
    serial: BufferedUart<'static>,
    flash: Flash,
    system: NucleoSystem,
}

/// Sets the board up.
///
/// # Panics
/// When called a second time.
pub fn take() -> Nucleo {
    let mut core = cortex_m::Peripherals::take().expect("the board is taken once");
    cortex::guard_stack(&mut core.MPU);
    let chip = embassy_stm32::init(clocks());
    cortex::start_clock(core.SYST, CLOCK);
    let mut watchdog = IndependentWatchdog::new(chip.IWDG, WATCHDOG);
    watchdog.unleash();
    let mut serial_config = SerialConfig::default();
    serial_config.baudrate = BAUD_RATE;
    let (to_send, received) = (TO_SEND.take(), RECEIVED.take());
    let serial =
        BufferedUart::new(chip.USART2, chip.PA3, chip.PA2, to_send, received, Interrupts, serial_config)
            .expect("the serial line's speed is within the clock's reach");
    let led = OneLed::new(Output::new(chip.PA5, Level::Low, Speed::Low));
    let system = NucleoSystem { led, watchdog, last_fault: last_fault() };
    Nucleo { serial, flash: Flash::new(chip.FLASH), system }
}

/// Stops: there is nowhere to exit to. A debugger halts here; without one the watchdog starts the board again.
pub fn exit(ok: bool) -> ! {
    defmt::info!("stopped, {}", if ok { "all well" } else { "something failed" });
    loop {
        cortex_m::asm::bkpt();
    }
}

/// Starts again from the reset vector.
pub fn restart() -> ! {
    SCB::sys_reset()
}

/// 16 MHz / 8 · 168 / 2 = 168 MHz; the slower bus at a quarter, the faster at half of it.
fn clocks() -> Config {
    let mut config = Config::default();
    config.rcc.hsi = true;
    config.rcc.pll_src = PllSource::HSI;
    config.rcc.pll = Some(Pll {
        prediv: PllPreDiv::DIV8,
        mul: PllMul::MUL168,
        divp: Some(PllPDiv::DIV2),
        divq: None,
        divr: None,
    });
    config.rcc.sys = Sysclk::PLL1_P;
    config.rcc.ahb_pre = AHBPrescaler::DIV1;
    config.rcc.apb1_pre = APBPrescaler::DIV4;
    config.rcc.apb2_pre = APBPrescaler::DIV2;
    config
}

/// The note of the previous run, or the chip's own word that its watchdog ran out.
fn last_fault() -> Option<Fault> {
    let by_watchdog = pac::RCC.csr().read().wdgrstf();
    pac::RCC.csr().modify(|flags| flags.set_rmvf(true));
    let watchdog = Fault { cause: Cause::Watchdog, pc: 0, status: 0 };
    cortex::take_note().or(by_watchdog.then_some(watchdog))
}

impl Board for Nucleo {
    const NAME: &'static str = "nucleo-f446re";
    type Serial = BufferedUart<'static>;
    type Flash = Flash;
    type System = NucleoSystem;

    fn split(self) -> Parts<Self> {
        Parts { serial: self.serial, flash: self.flash, system: self.system }
    }
}

/// Everything but serial line and flash.
pub struct NucleoSystem {
    led: OneLed<Output<'static>>,
    watchdog: IndependentWatchdog<'static, IWDG>,
    last_fault: Option<Fault>,
}

impl System for NucleoSystem {
    fn show(&mut self, status: Status) {
        self.led.show(status);
    }

    fn feed(&mut self) {
        self.watchdog.pet();
        self.led.refresh(cortex::milliseconds());
    }

    fn ticks(&self) -> u64 {
        cortex::ticks()
    }

    fn ticks_per_second(&self) -> u32 {
        cortex::ticks_per_second()
    }

    fn idle(&mut self) {
        wfi();
    }

    fn stack(&self) -> Stack {
        cortex::stack()
    }

    fn last_fault(&self) -> Option<Fault> {
        self.last_fault
    }

    fn restart(&mut self) -> ! {
        restart()
    }
}
