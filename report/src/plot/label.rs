//! How numbers and words are written on a chart, and how much room they take.

/// A number in few signs: three significant digits, with a power of ten only when it must be.
pub fn short_number(v: f64) -> String {
    let size = v.abs();
    if v == 0.0 {
        return "0".into();
    }
    if !v.is_finite() {
        return "–".into();
    }
    if !(1e-3..1e5).contains(&size) {
        let exponent = size.log10().floor() as i32;
        let digits = trimmed(v / 10f64.powi(exponent), 1);
        let power = format!("10{}", superscript(exponent));
        return match digits.as_str() {
            "1" => power,
            "−1" => format!("−{power}"),
            _ => format!("{digits}·{power}"),
        };
    }
    let decimals = (2 - size.log10().floor() as i32).clamp(0, 5);
    trimmed(v, decimals as usize)
}

/// A number with a fixed count of decimals, so that numbers below each other line up.
pub fn fixed_number(v: f64, decimals: usize) -> String {
    match format!("{v:.decimals$}") {
        _ if !v.is_finite() => "–".into(),
        _ if v.abs() >= 1e15 => short_number(v),
        zero if zero.bytes().all(|b| matches!(b, b'-' | b'0' | b'.')) => zero.replace('-', ""),
        text => text.replace('-', "−"),
    }
}

/// Decimals that show two significant digits of an uncertainty: more would mean nothing.
pub fn decimals_for(uncertainty: f64) -> usize {
    match uncertainty.abs() {
        u if u > 0.0 && u.is_finite() => (1 - u.log10().floor() as i32).clamp(0, 9) as usize,
        _ => 3,
    }
}

fn trimmed(v: f64, decimals: usize) -> String {
    let text = format!("{v:.decimals$}");
    let text = if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { &text };
    text.replace('-', "−")
}

fn superscript(exponent: i32) -> String {
    let sign = |c| match c {
        '-' => '⁻',
        '1' => '¹',
        '2' => '²',
        '3' => '³',
        digit => char::from_u32(0x2070 + u32::from(digit as u8 - b'0')).unwrap_or(digit),
    };
    exponent.to_string().chars().map(sign).collect()
}

/// About how wide a text is, in pixels: the reader's typeface is not known here.
pub(super) fn text_width(text: &str, size: f64) -> f64 {
    let sign = |c: char| match c {
        'i' | 'l' | 'j' | '.' | ',' | ':' | ';' | '|' | '\'' | 'I' | '!' | ' ' => 0.32,
        'f' | 't' | 'r' | '-' | '(' | ')' => 0.4,
        'm' | 'w' | 'M' | 'W' => 0.92,
        c if c.is_uppercase() => 0.7,
        _ => 0.62,
    };
    text.chars().map(sign).sum::<f64>() * size
}

/// Breaks labels of the given widths into lines no wider than `room`; returns the indices of each line.
pub(super) fn wrapped(widths: &[f64], room: f64) -> Vec<Vec<usize>> {
    let mut lines: Vec<Vec<usize>> = Vec::new();
    let mut used = f64::INFINITY;
    for (i, width) in widths.iter().enumerate() {
        if used + width > room {
            lines.push(Vec::new());
            used = 0.0;
        }
        used += width;
        if let Some(line) = lines.last_mut() {
            line.push(i);
        }
    }
    lines
}

/// Moves labels apart that would overlap: positions at least `distance` from each other, within `bounds` as far as
/// there is room, in the order of `wanted`.
pub(super) fn spread(wanted: &[f64], distance: f64, bounds: (f64, f64)) -> Vec<f64> {
    let mut order: Vec<usize> = (0..wanted.len()).collect();
    order.sort_by(|&a, &b| wanted[a].total_cmp(&wanted[b]));
    let mut placed = wanted.to_vec();
    // A few rounds of pushing neighbours apart equally keep each label near its curve.
    for _ in 0..200 {
        for pair in order.windows(2) {
            let overlap = distance - (placed[pair[1]] - placed[pair[0]]);
            if overlap > 0.0 {
                placed[pair[0]] -= overlap / 2.0;
                placed[pair[1]] += overlap / 2.0;
            }
        }
        placed.iter_mut().for_each(|p| *p = p.clamp(bounds.0, bounds.1.max(bounds.0)));
    }
    placed
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short_for_people() {
        let cases = [
            (0.0, "0"),
            (0.6, "0.6"),
            (1234.6, "1235"),
            (0.61449, "0.614"),
            (-2.5, "−2.5"),
            (1e-4, "10⁻⁴"),
            (2.5e-7, "2.5·10⁻⁷"),
            (1e6, "10⁶"),
            (99_999.0, "99999"),
            (f64::NAN, "–"),
        ];
        for (value, text) in cases {
            assert_eq!(short_number(value), text);
        }
    }

    #[test]
    fn uncertain_numbers_keep_the_digits_that_mean_something() {
        let shown = |v, uncertainty| fixed_number(v, decimals_for(uncertainty));
        assert_eq!(shown(0.61449, 0.0321), "0.614");
        assert_eq!(shown(-12.345, 2.4), "−12.3");
        assert_eq!(shown(-0.0001, 0.1), "0.00");
        assert_eq!(shown(46.2, 0.0), "46.200");
        assert_eq!(fixed_number(f64::NAN, 2), "–");
    }

    #[test]
    fn labels_are_moved_apart_and_stay_in_order() {
        let placed = spread(&[50.0, 52.0, 51.0, 10.0], 14.0, (0.0, 100.0));
        let mut sorted = placed.clone();
        sorted.sort_by(f64::total_cmp);
        assert!(sorted.windows(2).all(|p| p[1] - p[0] > 13.9), "{placed:?}");
        assert!(placed[0] < placed[2] && placed[2] < placed[1]);
        assert!(spread(&[], 5.0, (0.0, 1.0)).is_empty());
    }

    #[test]
    fn legends_break_into_lines() {
        assert_eq!(wrapped(&[40.0, 40.0, 40.0], 100.0), [vec![0, 1], vec![2]]);
        assert_eq!(wrapped(&[400.0, 40.0], 100.0), [vec![0], vec![1]]);
    }
}
