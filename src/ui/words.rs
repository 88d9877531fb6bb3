//! Numbers and names as people read them: fixed width, a unit, no more digits than they mean.

use std::time::Duration;

use crate::joint::Joint;

/// A short span: "12 ms", "840 ms", "3.4 s", "2 min 05 s".
pub fn span(duration: Duration) -> String {
    let seconds = duration.as_secs_f64();
    if seconds < 0.9995 {
        format!("{:.0} ms", seconds * 1e3)
    } else if seconds < 59.95 {
        format!("{seconds:.1} s")
    } else {
        let whole = duration.as_secs();
        format!("{} min {:02} s", whole / 60, whole % 60)
    }
}

/// A span that is watched while it grows: "0.3 s", "12.0 s", "2 min 05 s".
pub fn seconds(duration: Duration) -> String {
    let seconds = duration.as_secs_f64();
    if seconds < 59.95 {
        format!("{seconds:.1} s")
    } else {
        span(duration)
    }
}

/// A span as a clock shows it: "00:12", "1:02:03".
pub fn clock(duration: Duration) -> String {
    let whole = duration.as_secs();
    let (hours, minutes, seconds) = (whole / 3600, whole / 60 % 60, whole % 60);
    if hours > 0 {
        format!("{hours}:{minutes:02}:{seconds:02}")
    } else {
        format!("{minutes:02}:{seconds:02}")
    }
}

/// A span that is planned with: "45 s", "12 min", "4 h 10 min", "3 days".
pub fn long(duration: Duration) -> String {
    let whole = duration.as_secs();
    match whole {
        0..90 => format!("{whole} s"),
        90..6_000 => format!("{} min", whole / 60),
        6_000..172_800 => format!("{} h {:02} min", whole / 3600, whole / 60 % 60),
        _ => format!("{} days", whole / 86_400),
    }
}

/// A size on disk: "840 MB", "12.3 GB".
pub fn bytes(count: u64) -> String {
    match count {
        0..1_000_000 => format!("{} kB", count / 1_000),
        1_000_000..1_000_000_000 => format!("{} MB", count / 1_000_000),
        _ => format!("{:.1} GB", count as f64 / 1e9),
    }
}

/// A latency with three significant figures: "0.42 ms", "12.3 ms", "123 ms", "1.23 s".
pub fn latency(duration: Duration) -> String {
    let ms = duration.as_secs_f64() * 1e3;
    match ms {
        _ if ms < 9.995 => format!("{ms:.2} ms"),
        _ if ms < 99.95 => format!("{ms:.1} ms"),
        _ if ms < 999.5 => format!("{ms:.0} ms"),
        _ => format!("{:.2} s", ms / 1e3),
    }
}

/// A whole number in groups of three: "12 345".
pub fn count(value: u64) -> String {
    let digits = value.to_string();
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push('\u{2009}');
        }
        out.push(digit);
    }
    out
}

/// The size of a network: "450 M parameters", "12 k parameters".
pub fn parameters(value: u64) -> String {
    match value {
        0..1_000 => format!("{value} parameters"),
        1_000..1_000_000 => format!("{} k parameters", value / 1_000),
        1_000_000..10_000_000 => format!("{:.1} M parameters", value as f64 / 1e6),
        _ => format!("{:.0} M parameters", value as f64 / 1e6),
    }
}

/// A joint's name for a label.
pub fn joint(joint: Joint) -> &'static str {
    match joint {
        Joint::ShoulderPan => "shoulder pan",
        Joint::ShoulderLift => "shoulder lift",
        Joint::ElbowFlex => "elbow flex",
        Joint::WristFlex => "wrist flex",
        Joint::WristRoll => "wrist roll",
        Joint::Gripper => "gripper",
    }
}

/// A joint's name where there is little room.
pub fn joint_short(joint: Joint) -> &'static str {
    match joint {
        Joint::ShoulderPan => "pan",
        Joint::ShoulderLift => "lift",
        Joint::ElbowFlex => "elbow",
        Joint::WristFlex => "wrist",
        Joint::WristRoll => "roll",
        Joint::Gripper => "grip",
    }
}

/// A joint value with its unit: "-12.3°", "45.0 %".
pub fn joint_value(joint: Joint, value: f32) -> String {
    match joint {
        Joint::Gripper => format!("{value:.1} %"),
        _ => format!("{value:.1}°"),
    }
}

/// The last part of a feature key: "observation.images.camera1" becomes "camera1".
pub fn view(key: &str) -> &str {
    key.strip_prefix("observation.images.").unwrap_or(key)
}

/// One or many: "1 action", "3 actions".
pub fn plural(count: usize, one: &str) -> String {
    format!("{count} {one}{}", if count == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_keep_their_unit_readable() {
        assert_eq!(span(Duration::from_millis(12)), "12 ms");
        assert_eq!(span(Duration::from_micros(999_800)), "1.0 s");
        assert_eq!(span(Duration::from_millis(3_440)), "3.4 s");
        assert_eq!(span(Duration::from_secs(125)), "2 min 05 s");
        assert_eq!(seconds(Duration::from_millis(340)), "0.3 s");
        assert_eq!(latency(Duration::from_micros(420)), "0.42 ms");
        assert_eq!(latency(Duration::from_micros(12_340)), "12.3 ms");
        assert_eq!(latency(Duration::from_micros(999_700)), "1.00 s");
        assert_eq!(clock(Duration::from_secs(12)), "00:12");
        assert_eq!(clock(Duration::from_secs(3_723)), "1:02:03");
        let long = [45, 725, 15_000, 300_000].map(|seconds| long(Duration::from_secs(seconds)));
        assert_eq!(long, ["45 s", "12 min", "4 h 10 min", "3 days"]);
        assert_eq!(bytes(840_000_000), "840 MB");
        assert_eq!(bytes(12_340_000_000), "12.3 GB");
    }

    #[test]
    fn numbers_are_grouped_and_named() {
        assert_eq!(count(1_234_567), "1\u{2009}234\u{2009}567");
        assert_eq!(count(12), "12");
        assert_eq!(parameters(450_046_176), "450 M parameters");
        assert_eq!(parameters(1_732_896), "1.7 M parameters");
        assert_eq!(view("observation.images.top"), "top");
        assert_eq!(plural(1, "action"), "1 action");
    }
}
