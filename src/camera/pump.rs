//! One step of a camera: open it, take a picture, or say why not and when to try again. Pure but for its source, so that
//! unplugging is tested without a plug.

use std::collections::VecDeque;
use std::time::Duration;

use super::error::Error;
use super::feed::{Feed, FeedState};
use super::grab::{Grab, Picture};
use crate::clock::Clock;
use crate::observation::Frame;

/// The first wait after a loss; it doubles until [`LONGEST_WAIT`].
const SHORTEST_WAIT: Duration = Duration::from_millis(250);
/// A camera that was plugged in again is back after this at the latest.
const LONGEST_WAIT: Duration = Duration::from_secs(4);
/// Damaged frames in a row that a noisy cable may bring before the camera is opened anew.
const BAD_FRAMES: u32 = 15;
/// The rate is measured over this.
const RATE_WINDOW: Duration = Duration::from_secs(1);

/// Opens the source, at first and after each loss.
pub(super) type Opener = Box<dyn FnMut() -> Result<Box<dyn Grab>, Error> + Send>;

/// Fills a [`Feed`] from whatever the opener opens.
pub(super) struct Pump {
    feed: Feed,
    clock: Clock,
    open: Opener,
    opened: Option<Box<dyn Grab>>,
    /// Number of the next new picture; it goes on counting after a loss.
    seq: u64,
    arrivals: VecDeque<Duration>,
    bad: u32,
    wait: Duration,
}

impl Pump {
    pub(super) fn new(feed: Feed, clock: Clock, open: Opener) -> Self {
        Self {
            feed,
            clock,
            open,
            opened: None,
            seq: 0,
            arrivals: VecDeque::new(),
            bad: 0,
            wait: SHORTEST_WAIT,
        }
    }

    /// Opens the source or takes one picture from it. Returns how long to wait before the next step.
    pub(super) fn step(&mut self) -> Duration {
        let Some(source) = &mut self.opened else {
            return self.reopen();
        };
        match source.grab() {
            Ok(grabbed) => {
                if let Some(picture) = grabbed.picture {
                    self.publish(picture);
                }
                grabbed.wait
            }
            Err(why) if why.concerns_one_frame() && self.bad < BAD_FRAMES => {
                self.bad += 1;
                log::debug!("camera {}: {why}", self.feed.name);
                Duration::ZERO
            }
            Err(why) => self.lose(&why),
        }
    }

    /// Closes the source, says why, and returns the wait before the next attempt.
    pub(super) fn lose(&mut self, why: &Error) -> Duration {
        self.opened = None;
        self.bad = 0;
        self.arrivals.clear();
        // The last picture stays where it is: its age tells that it is old.
        self.feed.state.set(FeedState::Lost(why.to_string()));
        let wait = self.wait;
        self.wait = (wait * 2).min(LONGEST_WAIT);
        wait
    }

    fn reopen(&mut self) -> Duration {
        match (self.open)() {
            Ok(source) => {
                let what = source.describe();
                log::info!("camera {}: {what}", self.feed.name);
                self.feed.opened.set(what);
                self.opened = Some(source);
                Duration::ZERO
            }
            Err(why) => self.lose(&why),
        }
    }

    fn publish(&mut self, picture: Picture) {
        if picture.new {
            self.seq += 1;
        }
        let Picture { width, height, .. } = picture;
        let frame = Frame::new(width, height, picture.rgb, self.seq, picture.captured_at);
        let Some(frame) = frame else {
            self.lose(&Error::BadSize { width, height });
            return;
        };
        self.feed.frames.set(frame);
        self.bad = 0;
        self.wait = SHORTEST_WAIT;
        let rate_hz = self.rate_hz();
        self.feed.state.set(FeedState::Live { rate_hz });
    }

    /// Notes an arrival; frames a second over the last second.
    fn rate_hz(&mut self) -> f32 {
        let now = self.clock.now();
        self.arrivals.push_back(now);
        while self
            .arrivals
            .front()
            .is_some_and(|&oldest| now.saturating_sub(oldest) > RATE_WINDOW)
        {
            self.arrivals.pop_front();
        }
        let oldest = self.arrivals.front().copied().unwrap_or(now);
        let span = now.saturating_sub(oldest);
        if span.is_zero() {
            return 0.0;
        }
        (self.arrivals.len() - 1) as f32 / span.as_secs_f32()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use super::super::grab::Grabbed;
    use super::*;

    const PERIOD: Duration = Duration::from_millis(40);

    /// What the pretended camera does next.
    enum Event {
        Picture,
        Repeat,
        Damaged,
        Unplugged,
        Absent,
    }

    type Script = Arc<Mutex<VecDeque<Event>>>;

    struct Pretended {
        script: Script,
        clock: Clock,
    }

    impl Grab for Pretended {
        fn describe(&self) -> String {
            "pretended 2x1".to_owned()
        }

        fn grab(&mut self) -> Result<Grabbed, Error> {
            self.clock.advance(PERIOD);
            let picture = |new| Grabbed {
                picture: Some(Picture {
                    width: 2,
                    height: 1,
                    rgb: Arc::from([0; 6]),
                    captured_at: self.clock.now(),
                    new,
                }),
                wait: Duration::ZERO,
            };
            match self.script.lock().unwrap().pop_front().unwrap() {
                Event::Picture => Ok(picture(true)),
                Event::Repeat => Ok(picture(false)),
                Event::Damaged => Err(Error::Jpeg {
                    bytes: 9,
                    why: "torn".to_owned(),
                }),
                Event::Unplugged | Event::Absent => Err(Error::Stopped {
                    camera: "front".to_owned(),
                    why: "no such device".to_owned(),
                }),
            }
        }
    }

    fn pump(events: Vec<Event>) -> (Pump, Feed, Clock) {
        let clock = Clock::virtual_at_zero();
        let script: Script = Arc::new(Mutex::new(events.into()));
        let feed = Feed::new("front", "pretended");
        let for_opener = clock.clone();
        let open: Opener = Box::new(move || {
            let absent = matches!(script.lock().unwrap().front(), Some(Event::Absent));
            if absent {
                script.lock().unwrap().pop_front();
                return Err(Error::NoSuchCamera {
                    wanted: "front".to_owned(),
                    present: "none".to_owned(),
                });
            }
            Ok(Box::new(Pretended {
                script: Arc::clone(&script),
                clock: for_opener.clone(),
            }))
        });
        (Pump::new(feed.clone(), clock.clone(), open), feed, clock)
    }

    fn lost(feed: &Feed) -> Option<String> {
        match feed.state.get().as_deref() {
            Some(FeedState::Lost(why)) => Some(why.clone()),
            _ => None,
        }
    }

    #[test]
    fn frames_are_numbered_stamped_and_counted() {
        let (mut pump, feed, clock) = pump((0..60).map(|_| Event::Picture).collect());
        assert_eq!(feed.state.get().as_deref(), Some(&FeedState::Opening));
        assert_eq!(feed.describe(), "pretended");
        pump.step();
        assert_eq!(feed.describe(), "pretended 2x1");
        assert!(feed.frames.get().is_none());
        for seq in 1..=60 {
            pump.step();
            let frame = feed.frames.get().unwrap();
            assert_eq!((frame.seq, frame.captured_at), (seq, clock.now()));
        }
        let Some(FeedState::Live { rate_hz }) = feed.state.get().as_deref().cloned() else {
            panic!("not live");
        };
        assert!((rate_hz - 25.0).abs() < 0.01, "{rate_hz}");
    }

    #[test]
    fn after_unplugging_the_old_frame_ages_and_the_waits_double_until_it_is_back() {
        let mut events = vec![Event::Picture, Event::Unplugged];
        events.extend((0..6).map(|_| Event::Absent));
        events.push(Event::Picture);
        let (mut pump, feed, clock) = pump(events);
        pump.step();
        pump.step();
        let mut waits = vec![pump.step()];
        assert!(lost(&feed).unwrap().contains("no such device"));
        let last = feed.frames.get().unwrap();
        for _ in 0..6 {
            clock.advance(waits[waits.len() - 1]);
            waits.push(pump.step());
            let frame = feed.frames.get().unwrap();
            assert_eq!((frame.seq, frame.captured_at), (1, last.captured_at));
        }
        assert!(lost(&feed).unwrap().contains("no camera is called"));
        let millis: Vec<_> = waits.iter().map(Duration::as_millis).collect();
        assert_eq!(millis, [250, 500, 1000, 2000, 4000, 4000, 4000]);
        pump.step();
        pump.step();
        let frame = feed.frames.get().unwrap();
        assert_eq!((frame.seq, frame.captured_at), (2, clock.now()));
        assert!(lost(&feed).is_none());
        assert_eq!(pump.wait, SHORTEST_WAIT);
    }

    #[test]
    fn a_repeated_picture_keeps_its_number() {
        let (mut pump, feed, _) = pump(vec![Event::Picture, Event::Repeat, Event::Picture]);
        let mut seen = Vec::new();
        pump.step();
        for _ in 0..3 {
            pump.step();
            seen.push(feed.frames.get().unwrap().seq);
        }
        assert_eq!(seen, [1, 1, 2]);
    }

    #[test]
    fn single_damaged_frames_are_skipped_and_many_in_a_row_are_a_loss() {
        let mut events = vec![Event::Picture];
        events.extend((0..BAD_FRAMES).map(|_| Event::Damaged));
        events.push(Event::Picture);
        events.extend((0..=BAD_FRAMES).map(|_| Event::Damaged));
        let (mut pump, feed, _) = pump(events);
        for _ in 0..2 + BAD_FRAMES {
            assert_eq!(pump.step(), Duration::ZERO);
            assert!(lost(&feed).is_none());
        }
        pump.step();
        assert_eq!(feed.frames.get().unwrap().seq, 2);
        for _ in 0..BAD_FRAMES {
            assert_eq!(pump.step(), Duration::ZERO);
        }
        assert_eq!(pump.step(), SHORTEST_WAIT);
        assert!(lost(&feed).unwrap().contains("torn"));
    }
}
