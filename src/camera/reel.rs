//! A film that stands in for a camera: its pictures at its own rate, from the beginning again after the last.

use std::sync::Arc;
use std::time::Duration;

use super::error::Error;
use super::grab::{Grab, Grabbed, Picture};
use super::source::Source;
use crate::clock::Clock;
use crate::observation::Frame;

/// An opened film. Whoever opens it knows how films are decoded; a camera knows when a picture is due.
pub struct Reel {
    /// For people: "film.mp4 640x480 h264".
    pub what: String,
    /// Pictures a second.
    pub rate_hz: f64,
    /// How many there are, at least one.
    pub count: u64,
    /// Decodes a picture by its number; says in words why not.
    pub picture: Box<dyn FnMut(u64) -> Result<Frame, String>>,
}

/// Opens the film that a source names; says in words why not. It is called on the camera's own thread.
pub type Projector = Arc<dyn Fn(&Source) -> Result<Reel, String> + Send + Sync>;

/// A film that runs.
pub(super) struct Show {
    reel: Reel,
    clock: Clock,
    /// When picture 0 was due.
    began: Duration,
    /// The next picture, counted on through all repeats.
    next: u64,
    /// Its number and itself, decoded ahead, so that it appears when it is due and not when its decoder is done.
    ahead: Option<(u64, Frame)>,
}

impl Show {
    pub(super) fn new(reel: Reel, clock: &Clock) -> Result<Self, Error> {
        if reel.count == 0 || !(reel.rate_hz.is_finite() && reel.rate_hz > 0.0) {
            return Err(Error::Film(format!("{} holds no picture", reel.what)));
        }
        Ok(Self {
            reel,
            began: clock.now(),
            clock: clock.clone(),
            next: 0,
            ahead: None,
        })
    }

    fn picture(&mut self, number: u64) -> Result<Frame, Error> {
        (self.reel.picture)(number % self.reel.count).map_err(Error::Film)
    }

    /// When a picture is due. From the beginning, so that the film neither gains nor loses over hours.
    fn due(&self, number: u64) -> Duration {
        self.began + Duration::from_secs_f64(number as f64 / self.reel.rate_hz)
    }
}

impl Grab for Show {
    fn describe(&self) -> String {
        self.reel.what.clone()
    }

    fn grab(&mut self) -> Result<Grabbed, Error> {
        let now = self.clock.now();
        let due = self.due(self.next);
        if now < due {
            if self.ahead.is_none() {
                self.ahead = Some((self.next, self.picture(self.next)?));
            }
            return Ok(Grabbed {
                picture: None,
                wait: self.clock.until(due),
            });
        }
        // A decoder that is too slow leaves pictures out: a stand-in for a camera must stay in time.
        let passed = now.saturating_sub(self.began).as_secs_f64() * self.reel.rate_hz;
        let number = self.next.max(passed as u64);
        let frame = match self.ahead.take() {
            Some((ahead, frame)) if ahead == number => frame,
            _ => self.picture(number)?,
        };
        self.next = number + 1;
        Ok(Grabbed {
            picture: Some(Picture {
                width: frame.width,
                height: frame.height,
                rgb: frame.rgb,
                captured_at: now,
                new: true,
            }),
            wait: Duration::ZERO,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reel(count: u64) -> Reel {
        Reel {
            what: "a film".to_owned(),
            rate_hz: 25.0,
            count,
            picture: Box::new(|number| {
                let pixel = vec![number as u8; 3];
                Frame::new(1, 1, pixel, number, Duration::ZERO).ok_or_else(String::new)
            }),
        }
    }

    #[test]
    fn pictures_come_at_the_films_rate_and_begin_again() {
        let clock = Clock::virtual_at_zero();
        let mut show = Show::new(reel(3), &clock).unwrap();
        let mut seen = vec![];
        for _ in 0..5 {
            let grabbed = show.grab().unwrap();
            let picture = grabbed.picture.unwrap();
            seen.push((picture.rgb[0], picture.captured_at.as_millis()));
            let early = show.grab().unwrap();
            assert!(early.picture.is_none(), "none before its time");
            clock.advance(early.wait);
        }
        assert_eq!(seen, [(0, 0), (1, 40), (2, 80), (0, 120), (1, 160)]);
    }

    #[test]
    fn a_slow_decoder_leaves_pictures_out_and_stays_in_time() {
        let clock = Clock::virtual_at_zero();
        let mut show = Show::new(reel(100), &clock).unwrap();
        show.grab().unwrap();
        clock.advance(Duration::from_millis(410));
        let late = show.grab().unwrap();
        assert_eq!(late.picture.map(|picture| picture.rgb[0]), Some(10));
        assert_eq!(show.grab().unwrap().wait, Duration::from_millis(30));
    }

    #[test]
    fn a_film_without_pictures_is_refused() {
        assert!(Show::new(reel(0), &Clock::virtual_at_zero()).is_err());
    }
}
