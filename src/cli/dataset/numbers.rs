//! Episodes as they are typed: `3`, `0,2,5-7`, `all`.

use std::str::FromStr;

/// The farthest number that makes sense: a slip such as `1-9999999999` must not fill the memory.
const MOST: usize = 10_000_000;

/// Episodes of a data set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Episodes {
    All,
    /// Each once, in the order that they were typed in.
    These(Vec<usize>),
}

impl Episodes {
    /// Their numbers in a data set of so many.
    pub fn of(&self, count: usize) -> Vec<usize> {
        match self {
            Self::All => (0..count).collect(),
            Self::These(numbers) => numbers.clone(),
        }
    }
}

impl FromStr for Episodes {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if text == "all" {
            return Ok(Self::All);
        }
        let wrong = || format!("expected episodes such as 3, 0,2,5-7 or all, not {text:?}");
        let number = |text: &str| {
            text.trim()
                .parse::<usize>()
                .ok()
                .filter(|number| *number < MOST)
        };
        let mut numbers = Vec::new();
        for part in text.split(',') {
            let (first, last) = part.split_once('-').unwrap_or((part, part));
            let first = number(first).ok_or_else(wrong)?;
            let last = number(last).ok_or_else(wrong)?;
            if last < first {
                return Err(wrong());
            }
            numbers.extend(first..=last);
        }
        let mut seen = std::collections::HashSet::new();
        numbers.retain(|number| seen.insert(*number));
        Ok(Self::These(numbers))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_and_ranges_are_read_each_episode_once() {
        let read = |text: &str| text.parse::<Episodes>().unwrap().of(3);
        assert_eq!(read("3"), [3]);
        assert_eq!(read("5-7,0,6"), [5, 6, 7, 0]);
        assert_eq!(read("all"), [0, 1, 2]);
        for wrong in ["", "a", "3-1", "1,,2", "-1", "0-99999999999"] {
            assert!(wrong.parse::<Episodes>().is_err(), "{wrong}");
        }
    }
}
