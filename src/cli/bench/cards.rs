//! What the makers of GPUs say that their products can do, to tell how fast a chunk could be where nobody has measured it.

use serde::Serialize;

/// Where the figures of a card come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Source {
    /// Rates and bandwidth as printed by the maker.
    DataSheet,
    /// The maker prints units, clock and bandwidth; rates are units × clock × 2.
    UnitsTimesClock,
    /// As above, but the matrix rate is the maker's own comparison with an earlier product.
    Comparison,
}

impl Source {
    /// In words.
    pub fn words(self) -> &'static str {
        match self {
            Self::DataSheet => "data sheet",
            Self::UnitsTimesClock => "units × clock",
            Self::Comparison => "units × clock; matrices by the maker's comparison",
        }
    }
}

/// One GPU at its boost clock. Real kernels reach a part of it: 60 to 80 % of a rate is good, 90 % of a bandwidth.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Card {
    pub name: &'static str,
    /// GB/s of its memory.
    pub bandwidth: f64,
    /// TFLOP/s in f32, without matrix units.
    pub f32_rate: f64,
    /// TFLOP/s in f16, without matrix units: what WGSL with `shader_f16` can reach.
    pub f16_rate: f64,
    /// TFLOP/s of dense f16 products with f32 sums on matrix units, which WGSL does not reach; `None` where there are none.
    pub matrix_rate: Option<f64>,
    /// Between two launches that depend on each other, µs.
    pub launch_us: f64,
    pub source: Source,
}

/// Between dependent launches of one pass the host has no part: the device drains the last workgroups, makes their stores
/// visible and fills up again. That is no figure of a data sheet; prepared graphs of small kernels are known to run
/// some 2 to 4 µs apart on large cards, and the slower clocks and memory of what sits beside a CPU make it more.
const LARGE: f64 = 3.0;
const SMALL: f64 = 5.0;

const fn card(name: &'static str, bandwidth: f64, rates: [f64; 2], matrix: Option<f64>) -> Card {
    Card {
        name,
        bandwidth,
        f32_rate: rates[0],
        f16_rate: rates[1],
        matrix_rate: matrix,
        launch_us: LARGE,
        source: Source::DataSheet,
    }
}

const fn small(card: Card) -> Card {
    Card {
        launch_us: SMALL,
        ..card
    }
}

const fn from(card: Card, source: Source) -> Card {
    Card { source, ..card }
}

/// The table. Consumer NVIDIA cards halve the matrix rate when they sum in f32; that half is meant here.
pub const CARDS: &[Card] = &[
    card("RTX 5090", 1792.0, [104.8, 104.8], Some(209.5)),
    card("RTX 4090", 1008.0, [82.6, 82.6], Some(165.2)),
    card("RTX 4060 Laptop", 256.0, [14.6, 14.6], Some(29.1)),
    card("RTX 3060", 360.0, [12.7, 12.7], Some(25.5)),
    card("H200", 4800.0, [67.0, 134.0], Some(989.0)),
    card("RX 7900 XTX", 960.0, [61.4, 122.8], Some(122.8)),
    card("RX 6600", 224.0, [8.9, 17.9], None),
    card("Arc A770", 560.0, [17.2, 34.4], Some(137.6)),
    from(
        small(card("Radeon 780M", 89.6, [8.3, 16.6], Some(16.6))),
        Source::UnitsTimesClock,
    ),
    from(
        small(card("Steam Deck", 88.0, [1.6, 3.3], None)),
        Source::UnitsTimesClock,
    ),
    from(
        small(card("Iris Xe", 68.3, [2.2, 4.4], None)),
        Source::UnitsTimesClock,
    ),
    small(card("Apple M2", 100.0, [3.6, 3.6], None)),
    from(
        small(card("Apple M3", 100.0, [4.1, 4.1], None)),
        Source::UnitsTimesClock,
    ),
    from(
        small(card("Apple M5", 153.0, [4.2, 4.2], Some(17.0))),
        Source::Comparison,
    ),
    from(
        small(card("Apple M5 Pro", 307.0, [8.3, 8.3], Some(34.0))),
        Source::Comparison,
    ),
    from(
        small(card("Jetson Orin Nano", 102.4, [2.1, 4.2], Some(16.7))),
        Source::UnitsTimesClock,
    ),
    from(
        small(card("Jetson AGX Orin", 204.8, [5.3, 10.6], Some(42.5))),
        Source::UnitsTimesClock,
    ),
];

/// Cards whose name holds every word of `wanted`, whatever the case; with `all`, every card.
pub fn named(wanted: &str) -> Vec<Card> {
    let words =
        |text: &str| -> Vec<String> { text.split_whitespace().map(str::to_lowercase).collect() };
    let wanted = words(wanted);
    if wanted == ["all"] {
        return CARDS.to_vec();
    }
    let has = |card: &&Card| {
        let own = words(card.name);
        !wanted.is_empty() && wanted.iter().all(|word| own.contains(word))
    };
    let exact = |card: &Card| words(card.name).len() == wanted.len();
    let mut found: Vec<Card> = CARDS.iter().filter(has).copied().collect();
    if found.iter().any(exact) {
        found.retain(exact);
    }
    found
}

/// The card that an adapter's name means, for example `NVIDIA GeForce RTX 4090` or `Apple M2`; the longest name wins.
pub fn of_adapter(adapter: &str) -> Option<Card> {
    let plain = adapter
        .to_lowercase()
        .replace("(tm)", "")
        .replace("(r)", "");
    let own: Vec<&str> = plain.split_whitespace().collect();
    let is_meant = |card: &&Card| {
        let name = card.name.to_lowercase();
        name.split_whitespace().all(|word| own.contains(&word))
    };
    let whole = |card: &Card| {
        // An "RTX 4060 Ti" or an "M2 Max" is another card than the one without.
        let other = ["ti", "super", "max", "ultra", "laptop", "pro", "xt", "d"];
        let name = card.name.to_lowercase();
        let extra =
            |word: &&str| other.contains(word) && !name.split_whitespace().any(|w| w == *word);
        !own.iter().any(extra)
    };
    CARDS
        .iter()
        .filter(is_meant)
        .filter(|card| whole(card))
        .max_by_key(|card| card.name.len())
        .copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cards_are_found_by_some_of_their_words() {
        let names = |wanted| -> Vec<_> { named(wanted).iter().map(|card| card.name).collect() };
        assert_eq!(names("rtx 4090"), ["RTX 4090"]);
        assert_eq!(names("M5"), ["Apple M5", "Apple M5 Pro"]);
        assert_eq!(names("apple m5"), ["Apple M5"]);
        assert_eq!(names("all").len(), CARDS.len());
        assert!(names("voodoo").is_empty() && names("").is_empty());
    }

    #[test]
    fn an_adapter_is_recognised_and_its_bigger_sister_is_not() {
        let name = |adapter| of_adapter(adapter).map(|card| card.name);
        assert_eq!(name("NVIDIA GeForce RTX 4090"), Some("RTX 4090"));
        assert_eq!(name("Intel(R) Arc(TM) A770 Graphics"), Some("Arc A770"));
        assert_eq!(
            name("NVIDIA GeForce RTX 4060 Laptop GPU"),
            Some("RTX 4060 Laptop")
        );
        assert_eq!(name("AMD Radeon RX 7900 XTX"), Some("RX 7900 XTX"));
        assert_eq!(name("Apple M5 Pro"), Some("Apple M5 Pro"));
        for other in [
            "NVIDIA GeForce RTX 4060",
            "Apple M2 Max",
            "llvmpipe (LLVM 15.0.6)",
        ] {
            assert_eq!(name(other), None, "{other}");
        }
    }

    #[test]
    fn every_card_is_plausible() {
        for card in CARDS {
            let rates = [card.bandwidth, card.f32_rate, card.f16_rate, card.launch_us];
            assert!(rates.iter().all(|rate| *rate > 0.0), "{}", card.name);
            assert!(card.f16_rate >= card.f32_rate, "{}", card.name);
            let matrix = card.matrix_rate.unwrap_or(f64::INFINITY);
            assert!(matrix >= card.f16_rate, "{}", card.name);
            assert_eq!(named(card.name).len(), 1, "{} is there twice", card.name);
        }
    }
}
