//! The cameras as one tick sees them: the newest frame, its age, and whether it is fresh enough to act on.

use std::time::Duration;

use crate::camera::{Feed, FeedState};
use crate::runtime::{CameraStatus, CameraView};

/// A frame older than this pauses the policy.
pub const FRESH: Duration = Duration::from_millis(500);

/// Reads a feed at `now`. The picture is shared, not copied.
pub fn view_of(feed: &Feed, now: Duration) -> CameraView {
    let frame = feed.frames.get().map(|frame| (*frame).clone());
    let age = frame
        .as_ref()
        .map(|frame| now.saturating_sub(frame.captured_at));
    let stale = age.is_some_and(|age| age > FRESH);
    let (rate_hz, status) = match feed.state.get().as_deref() {
        Some(FeedState::Lost(why)) => (0.0, CameraStatus::Lost(why.clone())),
        Some(FeedState::Live { .. }) if stale => (0.0, CameraStatus::Stale),
        Some(&FeedState::Live { rate_hz }) => (rate_hz, CameraStatus::Live),
        Some(FeedState::Opening) | None => (0.0, CameraStatus::Opening),
    };
    CameraView {
        name: feed.name.clone(),
        source: feed.source.clone(),
        frame,
        age,
        rate_hz,
        status,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::observation::Frame;

    #[test]
    fn a_frame_goes_stale_after_half_a_second() {
        let feed = Feed::new("front", "simulated");
        assert_eq!(view_of(&feed, FRESH).status, CameraStatus::Opening);
        feed.state.set(FeedState::Live { rate_hz: 30.0 });
        if let Some(frame) = Frame::new(1, 1, vec![0; 3], 7, Duration::from_secs(1)) {
            feed.frames.set(frame);
        }
        let at = |ms| view_of(&feed, Duration::from_millis(ms));
        assert_eq!(at(1500).status, CameraStatus::Live);
        assert_eq!(at(1500).age, Some(FRESH));
        assert_eq!(
            (at(1501).status, at(1501).rate_hz),
            (CameraStatus::Stale, 0.0)
        );
        feed.state.set(FeedState::Lost("unplugged".to_owned()));
        assert_eq!(at(1501).status, CameraStatus::Lost("unplugged".to_owned()));
    }
}
