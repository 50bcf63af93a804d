//! The status on LEDs, over `embedded-hal` pins: three of them, or one that blinks.

use embedded_hal::digital::{ErrorType, OutputPin, PinState};

use crate::board::Status;

/// What shows the status.
pub trait Indicator {
    /// Takes up a status.
    fn show(&mut self, status: Status);

    /// What blinks goes on, at the time in milliseconds since the start. Call often.
    fn refresh(&mut self, _milliseconds: impl FnOnce() -> u32) {}
}

/// Three LEDs that light when their pin is high.
///
/// | status   | green | yellow | red |
/// |----------|-------|--------|-----|
/// | idle     | on    |        |     |
/// | watching | blinks |       |     |
/// | dropped  | on    |        | on  |
/// | thinking |       | on     |     |
/// | waiting  | on    | on     |     |
/// | below the floor | on | on | on |
/// | fault    |       |        | on  |
pub struct Leds<G, Y, R> {
    green: G,
    yellow: Y,
    red: R,
    status: Status,
}

impl<G, Y, R> Leds<G, Y, R> {
    /// LEDs for a device that is idle.
    pub fn new(green: G, yellow: Y, red: R) -> Self {
        Leds { green, yellow, red, status: Status::Idle }
    }
}

// A pin that refuses is left alone: an LED is no reason to stop tuning.
impl<G: OutputPin, Y: OutputPin, R: OutputPin> Indicator for Leds<G, Y, R> {
    fn show(&mut self, status: Status) {
        self.status = status;
        let (green, yellow, red) = match status {
            Status::Idle => (true, false, false),
            Status::Watching => return,
            Status::Dropped => (true, false, true),
            Status::Thinking => (false, true, false),
            Status::Waiting => (true, true, false),
            Status::Below => (true, true, true),
            Status::Fault => (false, false, true),
        };
        self.green.set_state(PinState::from(green)).ok();
        self.yellow.set_state(PinState::from(yellow)).ok();
        self.red.set_state(PinState::from(red)).ok();
    }

    fn refresh(&mut self, milliseconds: impl FnOnce() -> u32) {
        if self.status == Status::Watching {
            self.green.set_state(PinState::from(is_lit(Status::Waiting, milliseconds() % PERIOD))).ok();
            self.yellow.set_low().ok();
            self.red.set_low().ok();
        }
    }
}

/// One LED that lights when its pin is high, and tells the status by how it blinks.
///
/// | status   | in two seconds |
/// |----------|----------------|
/// | idle     | a short flash |
/// | watching | a long flash |
/// | dropped  | two short flashes |
/// | thinking | on |
/// | waiting  | on for a second |
/// | below the floor | the same, and a short flash |
/// | fault    | ten flashes |
pub struct OneLed<P> {
    pin: P,
    status: Status,
}

/// Milliseconds after which a pattern comes again.
const PERIOD: u32 = 2000;
/// Milliseconds of a short flash.
const FLASH: u32 = 100;

impl<P: OutputPin> OneLed<P> {
    /// An LED for a device that is idle.
    pub fn new(pin: P) -> Self {
        OneLed { pin, status: Status::Idle }
    }
}

impl<P: OutputPin> Indicator for OneLed<P> {
    fn show(&mut self, status: Status) {
        self.status = status;
    }

    fn refresh(&mut self, milliseconds: impl FnOnce() -> u32) {
        let on = is_lit(self.status, milliseconds() % PERIOD);
        self.pin.set_state(PinState::from(on)).ok();
    }
}

fn is_lit(status: Status, time: u32) -> bool {
    match status {
        Status::Idle => time < FLASH,
        Status::Watching => time < 5 * FLASH,
        Status::Dropped => time < FLASH || (3 * FLASH..4 * FLASH).contains(&time),
        Status::Thinking => true,
        Status::Waiting => time < PERIOD / 2,
        Status::Below => {
            time < PERIOD / 2 || (PERIOD / 2 + 2 * FLASH..PERIOD / 2 + 3 * FLASH).contains(&time)
        }
        Status::Fault => time % (2 * FLASH) < FLASH,
    }
}

/// A pin whose LED lights when it is low.
pub struct ActiveLow<P>(pub P);

impl<P: ErrorType> ErrorType for ActiveLow<P> {
    type Error = P::Error;
}

impl<P: OutputPin> OutputPin for ActiveLow<P> {
    fn set_low(&mut self) -> Result<(), P::Error> {
        self.0.set_high()
    }

    fn set_high(&mut self) -> Result<(), P::Error> {
        self.0.set_low()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use core::convert::Infallible;
    use std::vec::Vec;

    const ALL: [Status; 7] = [
        Status::Idle,
        Status::Dropped,
        Status::Thinking,
        Status::Waiting,
        Status::Below,
        Status::Fault,
        Status::Watching,
    ];

    struct Pin(bool);

    impl ErrorType for Pin {
        type Error = Infallible;
    }

    impl OutputPin for Pin {
        fn set_low(&mut self) -> Result<(), Infallible> {
            self.0 = false;
            Ok(())
        }
        fn set_high(&mut self) -> Result<(), Infallible> {
            self.0 = true;
            Ok(())
        }
    }

    #[test]
    fn every_status_looks_different() {
        let mut leds = Leds::new(Pin(false), Pin(false), Pin(true));
        let mut seen = ALL.map(|status| {
            leds.show(status);
            [0, PERIOD / 2].map(|time| {
                leds.refresh(|| time);
                (leds.green.0, leds.yellow.0, leds.red.0)
            })
        });
        seen.sort();
        assert!(seen.windows(2).all(|pair| pair[0] != pair[1]), "{seen:?}");
    }

    /// Flashes in a period, and milliseconds of light.
    fn blinking(status: Status) -> (usize, usize) {
        let mut led = OneLed::new(Pin(false));
        led.show(status);
        let light: Vec<bool> = (0..PERIOD)
            .map(|time| {
                led.refresh(|| time + 10 * PERIOD);
                led.pin.0
            })
            .collect();
        let flashes = light.iter().zip(light.iter().skip(1)).filter(|(now, next)| **now && !**next).count();
        (flashes, light.iter().filter(|lit| **lit).count())
    }

    #[test]
    fn one_led_tells_them_apart_by_blinking() {
        let seen = ALL.map(blinking);
        assert_eq!(seen, [(1, 100), (2, 200), (0, 2000), (1, 1000), (2, 1100), (10, 1000), (1, 500)]);
    }

    #[test]
    fn an_active_low_led_lights_when_its_pin_is_low() {
        let mut led = OneLed::new(ActiveLow(Pin(true)));
        led.show(Status::Thinking);
        led.refresh(|| 0);
        assert!(!led.pin.0.0);
    }
}
