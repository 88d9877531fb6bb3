//! What a reader of a camera holds, whether a device, a picture or the simulated scene fills it.

use crate::latest::Latest;
use crate::observation::Frame;

/// The reader's end of one camera.
#[derive(Clone, Debug)]
pub struct Feed {
    /// The name given by the operator: front, wrist.
    pub name: String,
    /// What fills it, for people: "HD Webcam (/dev/video0) 640x480 MJPEG", "image front.png", "simulated".
    pub source: String,
    /// The same once it is open, with the mode that was settled on; see [`Feed::describe`].
    pub opened: Latest<String>,
    /// The newest frame; its `captured_at` tells its age.
    pub frames: Latest<Frame>,
    /// How the camera is.
    pub state: Latest<FeedState>,
}

/// How a camera is, as its own thread sees it.
#[derive(Clone, Debug, PartialEq)]
pub enum FeedState {
    /// Being opened for the first time.
    Opening,
    /// Delivering, at this rate over the last second.
    Live { rate_hz: f32 },
    /// Gone, with the reason and what to do; being reopened.
    Lost(String),
}

impl Feed {
    /// A feed that nothing has filled yet.
    pub fn new(name: impl Into<String>, source: impl Into<String>) -> Self {
        let state = Latest::new();
        state.set(FeedState::Opening);
        Self {
            name: name.into(),
            source: source.into(),
            opened: Latest::new(),
            frames: Latest::new(),
            state,
        }
    }

    /// What fills it, as exactly as is known by now.
    pub fn describe(&self) -> String {
        self.opened
            .get()
            .map_or_else(|| self.source.clone(), |opened| (*opened).clone())
    }
}
