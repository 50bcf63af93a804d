//! ST's NUCLEO-H7A3ZI-Q: STM32H7A3ZI, a Cortex-M7 at 280 MHz.
//!
//! | part | what it is |
//! |---|---|
//! | serial line | USART3, PD8 transmits, PD9 receives: the virtual serial port of the on-board ST-LINK; 115 200 baud, 8N1 |
//! | flash | the second bank, 1 MB at `0x0810_0000` |
//! | log | `defmt` over RTT, read by the debug probe |
//! | LEDs | LD1 green PB0, LD2 yellow PE1, LD3 red PB14 |
//! | watchdog | independent watchdog, 8 s |
//! | clock | 280 MHz from the internal oscillator, which needs no jumper and is good enough for the line |

mod flash;

use cortex_m::peripheral::MPU;
use embassy_stm32::gpio::{AnyPin, Level, Output, Speed};
use embassy_stm32::peripherals::{IWDG1, USART3};
use embassy_stm32::rcc::{
    AHBPrescaler, APBPrescaler, HSIPrescaler, Pll, PllDiv, PllMul, PllPreDiv, PllSource, SupplyConfig,
    Sysclk, VoltageScale,
};
use embassy_stm32::usart::{BufferedInterruptHandler, BufferedUart, Config as SerialConfig};
use embassy_stm32::wdg::IndependentWatchdog;
use embassy_stm32::{Config, Peri, bind_interrupts, pac};

use super::cortex::{self, CortexSystem, Watchdog};
use super::probed;
use crate::board::{Board, Parts};
use crate::leds::Leds;

pub use super::cortex::{idle, restart};
pub use super::probed::exit;
pub use flash::Flash;

/// Frequency of the processor, in Hz.
const CLOCK: u32 = 280_000_000;
/// The watchdog's patience, in microseconds.
const WATCHDOG: u32 = 8_000_000;

bind_interrupts!(struct Interrupts {
    USART3 => BufferedInterruptHandler<USART3>;
});

type Led = Output<'static>;

/// The board.
pub enum Nucleo {}

impl Board for Nucleo {
    const NAME: &'static str = "nucleo-h7a3zi";
    type Serial = BufferedUart<'static>;
    type Flash = Flash;
    type System = CortexSystem<Leds<Led, Led, Led>, IndependentWatchdog<'static, IWDG1>>;
}

/// Sets the board up.
///
/// # Panics
/// When called a second time.
pub fn take() -> Parts<Nucleo> {
    let mut core = cortex_m::Peripherals::take().expect("the board is taken once");
    cortex::guard_stack(&mut core.MPU);
    let chip = embassy_stm32::init(clocks());
    leave_data_flash_uncached(&mut core.MPU);
    core.SCB.enable_icache();
    core.SCB.enable_dcache(&mut core.CPUID);
    cortex::start_clock(core.SYST, CLOCK);

    let mut watchdog = IndependentWatchdog::new(chip.IWDG1, WATCHDOG);
    watchdog.unleash();
    let mut serial_config = SerialConfig::default();
    serial_config.baudrate = probed::BAUD_RATE;
    let (to_send, received) = probed::serial_buffers();
    let serial =
        BufferedUart::new(chip.USART3, chip.PD9, chip.PD8, to_send, received, Interrupts, serial_config)
            .unwrap_or_else(|_| panic!("the clock allows the line's speed"));
    let led = |pin: Peri<'static, AnyPin>| Output::new(pin, Level::Low, Speed::Low);
    let leds = Leds::new(led(chip.PB0.into()), led(chip.PE1.into()), led(chip.PB14.into()));
    let system = CortexSystem::new(leds, watchdog, watchdog_ran_out());
    Parts { serial, flash: flash::open(chip.FLASH), system }
}

/// 64 MHz / 4 · 35 / 2 = 280 MHz; buses at half of it. The board feeds the core from its own converter (SMPS).
fn clocks() -> Config {
    let mut config = Config::default();
    config.rcc.hsi = Some(HSIPrescaler::DIV1);
    config.rcc.pll1 = Some(Pll {
        source: PllSource::HSI,
        prediv: PllPreDiv::DIV4,
        mul: PllMul::MUL35,
        divp: Some(PllDiv::DIV2),
        divq: None,
        divr: None,
    });
    config.rcc.sys = Sysclk::PLL1_P;
    config.rcc.d1c_pre = AHBPrescaler::DIV1;
    config.rcc.ahb_pre = AHBPrescaler::DIV1;
    config.rcc.apb1_pre = APBPrescaler::DIV2;
    config.rcc.apb2_pre = APBPrescaler::DIV2;
    config.rcc.apb3_pre = APBPrescaler::DIV2;
    config.rcc.apb4_pre = APBPrescaler::DIV2;
    config.rcc.voltage_scale = VoltageScale::Scale0;
    config.rcc.supply_config = SupplyConfig::DirectSMPS;
    config
}

/// Keeps the cache away from the data flash: it would show what stood there before an erase, and its line fills would
/// touch torn words beside the one that was asked for.
fn leave_data_flash_uncached(mpu: &mut MPU) {
    const SIZE_1_MB: u32 = 19 << 1;
    const NORMAL_UNCACHED: u32 = 1 << 19;
    const FULL_ACCESS: u32 = 3 << 24;
    const NO_EXECUTE: u32 = 1 << 28;
    const ENABLE: u32 = 1;
    // SAFETY: region 2 covers the data flash alone, and takes no right from it but that of running code.
    unsafe {
        mpu.rnr.write(2);
        mpu.rbar.write(probed::flash::addresses().start);
        mpu.rasr.write(NO_EXECUTE | FULL_ACCESS | NORMAL_UNCACHED | SIZE_1_MB | ENABLE);
    }
    cortex_m::asm::dsb();
    cortex_m::asm::isb();
}

/// Whether the watchdog was the reason for this start.
fn watchdog_ran_out() -> bool {
    let ran_out = pac::RCC.rsr().read().iwdg1rstf();
    pac::RCC.rsr().modify(|flags| flags.set_rmvf(true));
    ran_out
}

impl Watchdog for IndependentWatchdog<'static, IWDG1> {
    fn feed(&mut self) {
        self.pet();
    }
}
