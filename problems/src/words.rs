//! Words for people: lines on the error output, counts, time spans.

use std::io::Write;
use std::time::Duration;

/// A line for people on the error output. That it cannot be read is no reason to stop.
pub fn say(text: &str) {
    let _ = writeln!(std::io::stderr(), "{text}");
}

/// `1 study`, `2 studies`, `3 tasks`.
pub fn counted(count: usize, noun: &str) -> String {
    match (count, noun.strip_suffix('y')) {
        (1, _) => format!("1 {noun}"),
        (_, Some(stem)) => format!("{count} {stem}ies"),
        (_, None) => format!("{count} {noun}s"),
    }
}

/// A number with all its digits, as a power of ten where these would be mostly zeros: `0.25`, `-80`, `1e300`.
pub fn number(value: f64) -> String {
    let plain = value == 0.0 || (1e-5..1e16).contains(&value.abs()) || !value.is_finite();
    if plain { format!("{value}") } else { format!("{value:e}") }
}

/// The `f64` with the fewest digits that is this `f32`.
pub fn shortest(value: f32) -> f64 {
    value.to_string().parse().unwrap_or(f64::from(value))
}

/// A time span above 0, as a user gives it: a number of seconds.
pub fn seconds(text: &str) -> Result<Duration, String> {
    let wrong = || "takes a number of seconds above 0".to_string();
    let value: f64 = text.parse().map_err(|_| wrong())?;
    Duration::try_from_secs_f64(value).ok().filter(|time| !time.is_zero()).ok_or_else(wrong)
}

/// A time span in words, two units at most.
pub fn spell(time: Duration) -> String {
    let seconds = time.as_secs_f64();
    let minutes = (seconds / 60.0).round() as u64;
    match minutes {
        _ if seconds < 9.5 => format!("{seconds:.1} s"),
        _ if seconds < 99.5 => format!("{seconds:.0} s"),
        ..100 => format!("{minutes} min"),
        100..2880 => format!("{} h {} min", minutes / 60, minutes % 60),
        _ => format!("{} d {} h", minutes / 1440, minutes % 1440 / 60),
    }
}
