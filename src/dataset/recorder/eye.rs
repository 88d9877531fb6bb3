//! The pictures of one camera on their way into the journal: scaled, counted for the statistics, encoded, written.

use std::path::PathBuf;

use crate::dataset::journal::StreamWriter;
use crate::dataset::recorder::lane::{Lane, Scribe};
use crate::dataset::recorder::room::Place;
use crate::dataset::stats::Pictures;
use crate::dataset::video::pixels::fit;
use crate::dataset::video::{Encoder, open_encoder};
use crate::dataset::{CameraShape, Disk, Error, Plan};
use crate::observation::Frame;
use crate::priority::Urgency;

/// A picture that waits for the encoder, and the room it takes meanwhile. One that is shown again shares its bytes.
#[derive(Debug)]
pub struct Waiting {
    pub frame: Frame,
    pub place: Option<Place>,
}

/// Encodes what it is given.
struct Eye {
    encoder: Encoder,
    stream: StreamWriter,
    pictures: Pictures,
}

/// Starts the thread that encodes a camera's pictures into the file at `path`. It goes after everything else of this machine.
///
/// # Errors
/// The encoder cannot be had, or the file cannot be written.
pub fn watch(
    plan: &Plan,
    camera: &CameraShape,
    path: PathBuf,
    disk: &Disk,
) -> Result<Lane<Waiting>, Error> {
    let name = format!("encoder of camera {}", camera.name);
    let (codec, fps, interval) = (plan.codec.clone(), plan.fps, plan.key_frame_interval);
    let (width, height, disk) = (camera.width, camera.height, disk.clone());
    Lane::start(&name, Urgency::Patient, move || {
        let encoder = open_encoder(&codec, width, height, fps, interval)?;
        let stream = StreamWriter::create(&path, encoder.config(), &disk)?;
        Ok(Eye {
            encoder,
            stream,
            pictures: Pictures::default(),
        })
    })
}

impl Scribe for Eye {
    type Item = Waiting;

    fn write(&mut self, waiting: Waiting) -> Result<usize, Error> {
        let Waiting { frame, place } = waiting;
        let (width, height) = self.encoder.size();
        let rgb = fit(&frame.rgb, (frame.width, frame.height), (width, height));
        self.pictures.push(width, height, &rgb);
        let unit = self.encoder.encode_rgb(&rgb)?;
        drop(rgb);
        drop(frame);
        drop(place);
        self.stream.write(&unit)
    }

    fn sync(&mut self) -> Result<(), Error> {
        self.stream.sync()
    }

    fn finish(self) -> Result<(), Error> {
        self.stream.finish(&self.pictures)
    }
}
