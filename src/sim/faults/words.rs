//! The short forms in which faults are written: on the command line, in fault scripts, and in tests.

use std::str::FromStr;
use std::time::Duration;

use super::{Aim, Chance, Distortion, EVERY_SERVO, Fault};

/// A fault that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` is no fault. Known, N counts answers from 0, ID may be `all`: drop:N lose flip:N:BIT truncate:BYTES before:N=HEX inside:N=HEX \
     after:N=HEX duplicate:N reverse swap:N:N wrongid:N=ID toolong:N tooshort:N params:N=HEX late:MS delay:MS stall:MS burst:N mute:ID \
     mute:ID*TRANSACTIONS silent echo echo:off disconnect disconnect:BYTES supply:VOLTS alarms:ID=BITS stuck:ID worn:ID object:ID=COUNTS \
     kick:ID=COUNTS pos:ID=COUNTS offset:ID=COUNTS brownout:ID temperature:ID=C id:OLD=NEW model:ID=NUMBER firmware:ID=MAJOR.MINOR \
     poke:ID:ADDRESS=BYTE heal; of the hands in a script: hand:GESTURE plug:JOINT unplug:JOINT only:JOINT plug:all"
)]
pub struct UnknownFault(String);

impl FromStr for Fault {
    type Err = UnknownFault;

    /// Reads the short form: `burst:50`, `mute:3`, `pos:5=4095`.
    fn from_str(text: &str) -> Result<Self, UnknownFault> {
        let text = text.trim();
        let (name, argument) = text.split_once(':').unwrap_or((text, ""));
        let argument = Argument(argument);
        let fault = if let Some(distortion) = distortion(name, argument) {
            Some(Self::Next {
                skip: 0,
                distortion,
            })
        } else {
            of_line(name, argument).or_else(|| of_servo(name, argument))
        };
        fault.ok_or_else(|| UnknownFault(text.to_owned()))
    }
}

impl FromStr for Aim {
    type Err = UnknownFault;

    /// Reads a fault that chance may choose. `ID` in it stands for any servo, and a distortion without numbers strikes
    /// anywhere: `mute:ID*3`, `flip`.
    fn from_str(text: &str) -> Result<Self, UnknownFault> {
        let unknown = |_| UnknownFault(text.to_owned());
        let fault: Fault = text.replace("ID", "1").parse().map_err(unknown)?;
        let bare = matches!(fault, Fault::Next { .. }) && !text.contains(':');
        Ok(if bare || text.contains("ID") {
            Self::Anywhere(fault)
        } else {
            Self::Exactly(fault)
        })
    }
}

impl Chance {
    /// Reads `1/500`.
    pub(in crate::sim) fn one_in(word: &str) -> Option<u32> {
        let number = word.strip_prefix("1/").and_then(|n| n.parse().ok());
        number.filter(|n| *n > 0)
    }

    /// Reads `1/500` and `drop|flip|mute:ID*3`.
    pub(in crate::sim) fn from_words(
        one_in: &str,
        seed: u64,
        of: &str,
    ) -> Result<Self, UnknownFault> {
        let unknown = || UnknownFault(one_in.to_owned());
        Ok(Self {
            one_in: Self::one_in(one_in).ok_or_else(unknown)?,
            seed,
            of: of.split('|').map(str::parse).collect::<Result<_, _>>()?,
        })
    }
}

/// What stands behind the colon.
#[derive(Clone, Copy)]
struct Argument<'a>(&'a str);

impl<'a> Argument<'a> {
    fn whole<T: FromStr>(self) -> Option<T> {
        self.0.parse().ok()
    }

    /// The number, zero where there is none.
    fn nth(self) -> Option<usize> {
        if self.0.is_empty() {
            Some(0)
        } else {
            self.whole()
        }
    }

    /// A quantity of the world: neither infinite nor undefined.
    fn finite(self) -> Option<f64> {
        self.whole().filter(|value: &f64| value.is_finite())
    }

    fn ms(self) -> Option<Duration> {
        self.whole().map(Duration::from_millis)
    }

    fn id(self) -> Option<u8> {
        id(self.0)
    }

    fn split(self, by: char) -> Option<(Self, Self)> {
        let (left, right) = self.0.split_once(by)?;
        Some((Self(left), Self(right)))
    }

    /// `ID=VALUE`
    fn servo<T: FromStr>(self) -> Option<(u8, T)> {
        let (left, right) = self.split('=')?;
        Some((left.id()?, right.whole()?))
    }

    /// `N=HEX`; one odd byte where there is nothing.
    fn bytes(self) -> Option<(usize, Vec<u8>)> {
        if self.0.is_empty() {
            return Some((0, vec![0xFF]));
        }
        let (nth, hex) = self.split('=')?;
        let pairs: Vec<&str> = hex
            .0
            .as_bytes()
            .chunks(2)
            .map(str_of)
            .collect::<Option<_>>()?;
        let byte = |pair: &&'a str| u8::from_str_radix(pair, 16).ok();
        let bytes: Option<Vec<u8>> = pairs.iter().map(byte).collect();
        Some((nth.whole()?, bytes.filter(|bytes| !bytes.is_empty())?))
    }
}

fn str_of(pair: &[u8]) -> Option<&str> {
    std::str::from_utf8(pair)
        .ok()
        .filter(|pair| pair.len() == 2)
}

fn id(text: &str) -> Option<u8> {
    match text {
        "all" => Some(EVERY_SERVO),
        number => number.parse().ok(),
    }
}

/// A byte as a person writes status bits: `33` or `0x21`.
fn bits(text: &str) -> Option<u8> {
    match text.strip_prefix("0x") {
        Some(hex) => u8::from_str_radix(hex, 16).ok(),
        None => text.parse().ok(),
    }
}

/// What strikes one transaction.
fn distortion(name: &str, argument: Argument<'_>) -> Option<Distortion> {
    Some(match name {
        "lose" => Distortion::LoseRequest,
        "drop" => Distortion::Drop(argument.nth()?),
        "flip" if argument.0.is_empty() => Distortion::Flip { nth: 0, bit: 0 },
        "flip" => {
            let (nth, bit) = argument.split(':')?;
            Distortion::Flip {
                nth: nth.whole()?,
                bit: bit.whole()?,
            }
        }
        "truncate" => Distortion::Truncate(argument.nth()?),
        "before" => argument
            .bytes()
            .map(|(nth, bytes)| Distortion::Before(nth, bytes))?,
        "inside" => argument
            .bytes()
            .map(|(nth, bytes)| Distortion::Inside(nth, bytes))?,
        "after" => argument
            .bytes()
            .map(|(nth, bytes)| Distortion::After(nth, bytes))?,
        "params" => argument
            .bytes()
            .map(|(nth, bytes)| Distortion::Params(nth, bytes))?,
        "duplicate" => Distortion::Duplicate(argument.nth()?),
        "reverse" => Distortion::Reverse,
        "swap" if argument.0.is_empty() => Distortion::Swap(0, 1),
        "swap" => {
            let (first, second) = argument.split(':')?;
            Distortion::Swap(first.whole()?, second.whole()?)
        }
        "wrongid" if argument.0.is_empty() => Distortion::WrongId(0, 9),
        "wrongid" => {
            let (nth, id) = argument.split('=')?;
            Distortion::WrongId(nth.whole()?, id.whole()?)
        }
        "toolong" => Distortion::TooLong(argument.nth()?),
        "tooshort" => Distortion::TooShort(argument.nth()?),
        "late" => Distortion::Late(argument.ms()?),
        _ => return None,
    })
}

/// Faults of the line as a whole.
fn of_line(name: &str, argument: Argument<'_>) -> Option<Fault> {
    match name {
        "burst" => argument.whole().map(Fault::Burst),
        "silent" => Some(Fault::Silent),
        "echo" if argument.0 == "off" => Some(Fault::EchoOff),
        "echo" => Some(Fault::Echo),
        "delay" => argument.ms().map(Fault::Delay),
        "stall" => argument.ms().map(Fault::Stall),
        "supply" => argument
            .finite()
            .filter(|volts| *volts >= 0.0)
            .map(Fault::Supply),
        "disconnect" if argument.0.is_empty() => Some(Fault::Disconnect),
        "disconnect" => argument.whole().map(Fault::DisconnectAfter),
        "heal" => Some(Fault::Heal),
        _ => None,
    }
}

/// Faults of one servo, or of each.
fn of_servo(name: &str, argument: Argument<'_>) -> Option<Fault> {
    Some(match name {
        "mute" => match argument.split('*') {
            Some((id, count)) => Fault::MuteFor(id.id()?, count.whole()?),
            None => Fault::Mute(argument.id()?),
        },
        "alarms" => {
            let (id, mask) = argument.split('=')?;
            Fault::Alarms(id.id()?, bits(mask.0)?)
        }
        "stuck" => Fault::Stuck(argument.id()?),
        "worn" => Fault::Worn(argument.id()?),
        "object" => argument.servo().map(|(id, at)| Fault::Object(id, at))?,
        "kick" => argument.servo().map(|(id, by)| Fault::Kick(id, by))?,
        "pos" => argument.servo().map(|(id, at)| Fault::Position(id, at))?,
        "offset" => argument.servo().map(|(id, to)| Fault::Offset(id, to))?,
        "brownout" => Fault::BrownOut(argument.id()?),
        "temperature" => {
            let (id, celsius) = argument.split('=')?;
            Fault::Temperature(id.id()?, celsius.finite()?)
        }
        "id" => argument
            .servo()
            .map(|(old, new)| Fault::Readdress(old, new))?,
        "model" => argument
            .servo()
            .map(|(id, model)| Fault::Model(id, model))?,
        "firmware" => {
            let (id, version) = argument.split('=')?;
            let (major, minor) = version.split('.')?;
            Fault::Firmware(id.id()?, major.whole()?, minor.whole()?)
        }
        "poke" => {
            let (place, value) = argument.split('=')?;
            let (id, address) = place.split(':')?;
            Fault::Poke {
                id: id.id()?,
                address: address.whole()?,
                value: bits(value.0)?,
            }
        }
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn next(distortion: Distortion) -> Fault {
        Fault::Next {
            skip: 0,
            distortion,
        }
    }

    #[test]
    fn short_forms_are_read() {
        let ms = Duration::from_millis;
        let poke = |id, address, value| Fault::Poke { id, address, value };
        let cases = [
            ("burst:50", Fault::Burst(50)),
            ("mute:3", Fault::Mute(3)),
            ("mute:3*8", Fault::MuteFor(3, 8)),
            ("mute:all", Fault::Mute(EVERY_SERVO)),
            ("delay:8", Fault::Delay(ms(8))),
            ("echo", Fault::Echo),
            ("echo:off", Fault::EchoOff),
            ("alarms:6=0x20", Fault::Alarms(6, 32)),
            ("stuck:6", Fault::Stuck(6)),
            ("object:6=2500", Fault::Object(6, 2500)),
            ("kick:3=-80", Fault::Kick(3, -80)),
            ("pos:5=4095", Fault::Position(5, 4095)),
            ("offset:5=-1500", Fault::Offset(5, -1500)),
            ("brownout:all", Fault::BrownOut(EVERY_SERVO)),
            ("temperature:6=58.5", Fault::Temperature(6, 58.5)),
            ("supply:4.2", Fault::Supply(4.2)),
            ("disconnect", Fault::Disconnect),
            ("disconnect:40", Fault::DisconnectAfter(40)),
            ("model:4=2825", Fault::Model(4, 2825)),
            ("firmware:5=3.9", Fault::Firmware(5, 3, 9)),
            ("id:2=1", Fault::Readdress(2, 1)),
            ("poke:2:3=4", poke(2, 3, 4)),
            ("heal", Fault::Heal),
        ];
        for (text, fault) in cases {
            assert_eq!(text.parse(), Ok(fault), "{text}");
        }
    }

    #[test]
    fn every_way_to_spoil_an_answer_has_a_word() {
        let cases = [
            ("drop", Distortion::Drop(0)),
            ("drop:4", Distortion::Drop(4)),
            ("lose", Distortion::LoseRequest),
            ("flip:2:28", Distortion::Flip { nth: 2, bit: 28 }),
            ("truncate:70", Distortion::Truncate(70)),
            ("before:1=FFff00", Distortion::Before(1, vec![255, 255, 0])),
            ("inside:1=0a", Distortion::Inside(1, vec![10])),
            ("after", Distortion::After(0, vec![255])),
            ("duplicate:3", Distortion::Duplicate(3)),
            ("reverse", Distortion::Reverse),
            ("swap:1:4", Distortion::Swap(1, 4)),
            ("wrongid:0=9", Distortion::WrongId(0, 9)),
            ("toolong:1", Distortion::TooLong(1)),
            ("tooshort", Distortion::TooShort(0)),
            ("params:1=B80B", Distortion::Params(1, vec![0xB8, 0x0B])),
            ("late:20", Distortion::Late(Duration::from_millis(20))),
        ];
        for (text, distortion) in cases {
            assert_eq!(text.parse(), Ok(next(distortion)), "{text}");
        }
    }

    #[test]
    fn what_is_no_fault_is_told_with_what_there_is() {
        for text in [
            "",
            "burst",
            "mute:x",
            "pos:5",
            "explode:1",
            "before:1=F",
            "before:1=",
            "flip:1",
            "model:4=70000",
            "firmware:5=3",
            "supply:nan",
            "supply:inf",
            "supply:-5",
            "temperature:6=nan",
            "temperature:6=-inf",
            "swap:1",
        ] {
            let why = text.parse::<Fault>().unwrap_err().to_string();
            assert!(why.contains("mute:ID") && why.contains(text), "{why}");
        }
    }

    #[test]
    fn chances_aim_at_any_servo_or_answer_unless_told() {
        let chance = Chance::from_words("1/500", 7, "drop|late:20|mute:ID*3|stuck:2").unwrap();
        let late = Distortion::Late(Duration::from_millis(20));
        let aims = [
            Aim::Anywhere(next(Distortion::Drop(0))),
            Aim::Exactly(next(late)),
            Aim::Anywhere(Fault::MuteFor(1, 3)),
            Aim::Exactly(Fault::Stuck(2)),
        ];
        assert_eq!((chance.one_in, chance.seed), (500, 7));
        assert_eq!(chance.of, aims);
        for (one_in, of, wrong) in [
            ("1/0", "drop", "1/0"),
            ("500", "drop", "500"),
            ("1/9", "drop|bang:ID", "bang:ID"),
            ("1/9", "drop|", ""),
        ] {
            let why = Chance::from_words(one_in, 0, of).unwrap_err();
            assert_eq!(why, UnknownFault(wrong.to_owned()));
        }
    }
}
