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

use embassy_stm32::gpio::{Level, Output, Speed};
use embassy_stm32::peripherals::{IWDG, USART2};
use embassy_stm32::rcc::{AHBPrescaler, APBPrescaler, Pll, PllMul, PllPDiv, PllPreDiv, PllSource, Sysclk};
use embassy_stm32::usart::{BufferedInterruptHandler, BufferedUart, Config as SerialConfig};
use embassy_stm32::wdg::IndependentWatchdog;
use embassy_stm32::{Config, bind_interrupts, pac};

use super::cortex::{self, CortexSystem, Watchdog};
use super::probed;
use crate::board::{Board, Parts};
use crate::leds::OneLed;

pub use super::cortex::{idle, restart};
pub use super::probed::exit;
pub use flash::Flash;

/// Frequency of the processor, in Hz.
const CLOCK: u32 = 168_000_000;
/// The watchdog's patience, in microseconds.
const WATCHDOG: u32 = 8_000_000;

bind_interrupts!(struct Interrupts {
    USART2 => BufferedInterruptHandler<USART2>;
});

/// The board.
pub enum Nucleo {}

impl Board for Nucleo {
    const NAME: &'static str = "nucleo-f446re";
    type Serial = BufferedUart<'static>;
    type Flash = Flash;
    type System = CortexSystem<OneLed<Output<'static>>, IndependentWatchdog<'static, IWDG>>;
}

/// Sets the board up.
///
/// # Panics
/// When called a second time.
pub fn take() -> Parts<Nucleo> {
    let mut core = cortex_m::Peripherals::take().expect("the board is taken once");
    cortex::guard_stack(&mut core.MPU);
    let chip = embassy_stm32::init(clocks());
    cortex::start_clock(core.SYST, CLOCK);
    let mut watchdog = IndependentWatchdog::new(chip.IWDG, WATCHDOG);
    watchdog.unleash();
    let mut serial_config = SerialConfig::default();
    serial_config.baudrate = probed::BAUD_RATE;
    let (to_send, received) = probed::serial_buffers();
    let serial =
        BufferedUart::new(chip.USART2, chip.PA3, chip.PA2, to_send, received, Interrupts, serial_config)
            .unwrap_or_else(|_| panic!("the clock allows the line's speed"));
    let led = OneLed::new(Output::new(chip.PA5, Level::Low, Speed::Low));
    let system = CortexSystem::new(led, watchdog, watchdog_ran_out());
    Parts { serial, flash: flash::open(chip.FLASH), system }
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

/// Whether the watchdog was the reason for this start.
fn watchdog_ran_out() -> bool {
    let ran_out = pac::RCC.csr().read().wdgrstf();
    pac::RCC.csr().modify(|flags| flags.set_rmvf(true));
    ran_out
}

impl Watchdog for IndependentWatchdog<'static, IWDG> {
    fn feed(&mut self) {
        self.pet();
    }
}
