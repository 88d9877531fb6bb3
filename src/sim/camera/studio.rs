//! Draws what the rig's cameras see, whenever asked: no thread and no clock, so that a measured run gets the same pictures every time.

use std::sync::Arc;

use crate::joint::JointVec;
use crate::scene::{Painter, Props, SceneInput};
use crate::sim::Scenery;
use crate::sim::camera::Viewpoint;

/// The cameras of one rig and what draws their pictures.
pub struct SimStudio {
    painter: Painter,
    scenery: Scenery,
    cameras: Vec<Viewpoint>,
}

impl SimStudio {
    /// Draws on the CPU, whatever adapters there are: the same pictures on every machine of a kind. `size` is width and height, pixels.
    pub fn new(size: [u32; 2], scenery: Scenery, cameras: &[Viewpoint]) -> Self {
        let painter = Painter::software(size, "the pictures must not depend on an adapter".into());
        Self::with(painter, scenery, cameras)
    }

    /// Draws with this painter, in its size.
    pub fn with(painter: Painter, scenery: Scenery, cameras: &[Viewpoint]) -> Self {
        Self {
            painter,
            scenery,
            cameras: cameras.to_vec(),
        }
    }

    /// In the order of their pictures.
    pub fn cameras(&self) -> &[Viewpoint] {
        &self.cameras
    }

    /// What draws.
    pub fn painter(&self) -> &Painter {
        &self.painter
    }

    /// How the rig looks.
    pub fn scenery(&self) -> &Scenery {
        &self.scenery
    }

    /// Other light, colours, lenses and places of the cameras from the next picture on.
    pub fn dress(&mut self, scenery: Scenery) {
        self.scenery = scenery;
    }

    /// One picture of each camera: RGB, 8 bits a channel, row-major. `joints` are the true angles in robot units.
    pub fn draw(&mut self, joints: JointVec, props: &Props) -> Vec<Arc<[u8]>> {
        let input = SceneInput {
            joints,
            ghost: None,
            ribbons: &[],
            props,
            look: &self.scenery.look,
        };
        let pictures = self.cameras.iter().map(|&camera| {
            let view = self.scenery.view(camera, joints);
            Arc::from(self.painter.draw(&input, &view))
        });
        pictures.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scene::{Cube, Edges, Look, Software};
    use crate::sim::{Colour, front_view, top_view, wrist_view};
    use glam::{Quat, vec3};

    const SIZE: [u32; 2] = [48, 36];
    const JOINTS: JointVec = JointVec([0.0, -20.0, 35.0, 65.0, 0.0, 60.0]);

    /// A table with one cube, so far to the left.
    fn cube_at(y: f32) -> Props {
        let cube = Cube {
            position: vec3(0.22, y, 0.0125),
            orientation: Quat::from_rotation_z(0.3),
            edge: 0.025,
            color: Colour::Red.rgb(),
        };
        Props {
            cubes: vec![cube],
            ..Props::default()
        }
    }

    #[test]
    fn the_plain_studio_takes_the_pictures_of_the_plain_views() {
        let props = cube_at(0.02);
        let mut studio = SimStudio::new(SIZE, Scenery::plain(), &Viewpoint::ALL);
        let pictures = studio.draw(JOINTS, &props);
        let look = Look::camera();
        let input = SceneInput {
            joints: JOINTS,
            ghost: None,
            ribbons: &[],
            props: &props,
            look: &look,
        };
        let views = [front_view(), wrist_view(JOINTS), top_view()];
        for (picture, view) in pictures.iter().zip(views) {
            let expected = Software::new(SIZE, Edges::Stepped).draw(&input, &view);
            assert_eq!(**picture, *expected);
        }
    }

    #[test]
    fn equal_seeds_give_equal_pictures_whatever_was_drawn_before() {
        let (one, other) = (cube_at(0.02), cube_at(-0.06));
        let scenery = Scenery::seeded(5, 1.0);
        let mut fresh = SimStudio::new(SIZE, scenery, &[Viewpoint::Front, Viewpoint::Top]);
        let expected = fresh.draw(JOINTS, &one);
        let mut used = SimStudio::new(SIZE, Scenery::plain(), fresh.cameras());
        let plain = used.draw(JOINTS, &one);
        used.draw(JointVec::default(), &other);
        used.dress(scenery);
        assert_eq!(used.draw(JOINTS, &one), expected);
        assert_ne!(plain, expected);
        used.dress(Scenery::seeded(6, 1.0));
        assert_ne!(used.draw(JOINTS, &one), expected);
    }
}
