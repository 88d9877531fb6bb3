//! Draws what the rig's cameras saw of a take, on a few threads, in the order of its rows.

use std::sync::Arc;
use std::thread;

use crossbeam_channel::{Receiver, bounded};

use crate::dataset::Step;
use crate::lab::flight::Error;
use crate::lab::take::Take;
use crate::observation::Frame;
use crate::sim::{Scenery, SimStudio, Viewpoint};

/// Sets of pictures that a thread may be ahead.
const AHEAD: usize = 2;

/// Cameras of one size, and a painter for each thread.
pub struct Studio {
    size: [u32; 2],
    painters: Vec<SimStudio>,
}

impl Studio {
    /// Draws on the CPU, so that the pictures are the same on every machine of a kind, on so many threads. `size` is width and
    /// height, pixels.
    pub fn new(size: [u32; 2], cameras: &[Viewpoint], jobs: usize) -> Self {
        let painter = |_| SimStudio::new(size, Scenery::plain(), cameras);
        Self {
            size,
            painters: (0..jobs.max(1)).map(painter).collect(),
        }
    }

    /// Other light, colours and lenses from the next take on.
    pub fn dress(&mut self, scenery: Scenery) {
        for painter in &mut self.painters {
            painter.dress(scenery);
        }
    }

    /// Gives each row of the take its pictures and hands it on, in order.
    ///
    /// # Errors
    /// That of `each`, which ends it; or a thread cannot be started or has fallen over.
    pub fn film<E: From<Error>>(
        &mut self,
        take: &Take,
        mut each: impl FnMut(Step) -> Result<(), E>,
    ) -> Result<(), E> {
        let size = self.size;
        let jobs = self.painters.len();
        thread::scope(|scope| {
            let mut drawn: Vec<Receiver<Vec<Arc<[u8]>>>> = Vec::new();
            for (job, painter) in self.painters.iter_mut().enumerate() {
                let (send, receive) = bounded(AHEAD);
                drawn.push(receive);
                let scenes = take.scenes.iter().skip(job).step_by(jobs);
                let draw = move || {
                    for scene in scenes {
                        // Nobody wants the rest.
                        if send.send(painter.draw(scene.joints, &scene.props)).is_err() {
                            return;
                        }
                    }
                };
                thread::Builder::new()
                    .name(format!("studio-{}", job + 1))
                    .spawn_scoped(scope, draw)
                    .map_err(Error::Thread)?;
            }
            for (row, step) in take.steps.iter().enumerate() {
                let pictures = drawn[row % jobs].recv();
                let pictures =
                    pictures.map_err(|_closed| Error::Fallen(format!("drawing row {row}")))?;
                let frames = pictures.into_iter().map(|rgb| {
                    let [width, height] = size;
                    Frame::new(width, height, rgb, row as u64 + 1, step.at)
                });
                each(Step {
                    frames: frames.collect(),
                    ..step.clone()
                })?;
            }
            Ok(())
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    use crate::dataset::Provenance;
    use crate::joint::JointVec;
    use crate::lab::take::Scene;
    use crate::scene::Props;

    fn take(rows: u16) -> Take {
        let step = |row: u16| Step {
            at: Duration::from_millis(u64::from(row) * 33),
            state: JointVec::default(),
            action: JointVec::default(),
            frames: vec![],
            task: Arc::from("turn"),
            provenance: Provenance::default(),
            missed: 0,
        };
        let scene = |row: u16| Scene {
            joints: JointVec([f32::from(row) * 5.0; 6]),
            props: Props::default(),
        };
        Take {
            seed: 1,
            steps: (0..rows).map(step).collect(),
            scenes: (0..rows).map(scene).collect(),
            failure: None,
        }
    }

    fn filmed(jobs: usize) -> Vec<Step> {
        let mut studio = Studio::new([32, 24], &[Viewpoint::Front, Viewpoint::Wrist], jobs);
        let mut steps = vec![];
        let each = |step| {
            steps.push(step);
            Ok::<_, Error>(())
        };
        studio.film(&take(7), each).unwrap();
        steps
    }

    #[test]
    fn the_pictures_do_not_depend_on_the_threads() {
        let (one, three) = (filmed(1), filmed(3));
        assert_eq!((one.len(), three.len()), (7, 7));
        for (one, three) in one.iter().zip(&three) {
            assert_eq!((one.at, one.frames.len()), (three.at, 2));
            let rgb = |step: &Step| {
                step.frames
                    .iter()
                    .flatten()
                    .map(|it| Arc::clone(&it.rgb))
                    .collect::<Vec<_>>()
            };
            assert_eq!(rgb(one), rgb(three));
        }
        let front = |step: &Step| Arc::clone(&step.frames[0].as_ref().unwrap().rgb);
        assert_ne!(front(&one[0]), front(&one[6]));
    }

    #[test]
    fn whoever_takes_the_rows_can_end_it() {
        let mut studio = Studio::new([32, 24], &[Viewpoint::Front], 2);
        let mut rows = 0;
        let ended = studio.film(&take(50), |_| {
            rows += 1;
            if rows == 5 {
                Err(Error::Cancelled)
            } else {
                Ok(())
            }
        });
        assert!(matches!(ended, Err(Error::Cancelled)));
        assert_eq!(rows, 5);
    }
}
