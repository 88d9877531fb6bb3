//! Which camera feeds which view of the checkpoint, and the observation that follows from it. A wrong binding feeds a
//! policy the wrong picture without any error, so the binding is explicit and shown.

use std::time::Duration;

use crate::joint::JointVec;
use crate::observation::{Frame, Observation};
use crate::runtime::{CameraView, ViewBinding};

/// Whether two names end in the same part: `observation.images.image` is how `image` is written out, and early
/// checkpoints call it `observation.image`.
pub fn same_view(a: &str, b: &str) -> bool {
    let last = |name: &str| name.rsplit('.').next().map(str::to_owned);
    last(a) == last(b)
}

/// The binding for `views`: what the operator chose earlier (by a view's key, else by the last part of it), else the
/// camera of the same name, else the next free camera in order.
pub fn guess(
    views: &[String],
    cameras: &[CameraView],
    remembered: &[ViewBinding],
) -> Vec<ViewBinding> {
    let exists = |name: &str| cameras.iter().any(|camera| camera.name == name);
    let mut bindings: Vec<(ViewBinding, bool)> = views
        .iter()
        .map(|view| {
            let whole = remembered.iter().find(|binding| binding.view == *view);
            let strangers = remembered.iter().filter(|it| !views.contains(&it.view));
            let chosen = whole
                .or_else(|| strangers.into_iter().find(|it| same_view(&it.view, view)))
                .map(|binding| binding.camera.clone())
                .filter(|camera| camera.as_deref().is_none_or(exists));
            let suffix = view.rsplit('.').next().unwrap_or(view);
            let same_name = exists(suffix).then(|| suffix.to_owned());
            let settled = chosen.is_some() || same_name.is_some();
            let camera = chosen.unwrap_or(same_name);
            let view = view.clone();
            (ViewBinding { view, camera }, settled)
        })
        .collect();
    for at in 0..bindings.len() {
        if !bindings[at].1 {
            let free = cameras.iter().find(|camera| {
                let taken = |(binding, _): &(ViewBinding, bool)| {
                    binding.camera.as_deref() == Some(camera.name.as_str())
                };
                !bindings.iter().any(taken)
            });
            bindings[at].0.camera = free.map(|camera| camera.name.clone());
        }
    }
    bindings.into_iter().map(|(binding, _)| binding).collect()
}

/// Changes or adds one binding.
pub fn bind(bindings: &mut Vec<ViewBinding>, view: &str, camera: Option<String>) {
    match bindings.iter_mut().find(|binding| binding.view == view) {
        Some(binding) => binding.camera = camera,
        None => bindings.push(ViewBinding {
            view: view.to_owned(),
            camera,
        }),
    }
}

/// The camera that feeds a view, if it is there.
pub fn camera_of<'a>(binding: &ViewBinding, cameras: &'a [CameraView]) -> Option<&'a CameraView> {
    let name = binding.camera.as_deref()?;
    cameras.iter().find(|camera| camera.name == name)
}

/// The observation of this tick and the age of its newest picture. Pictures are shared, not copied; a view without a
/// camera is left out.
pub fn observation(
    bindings: &[ViewBinding],
    cameras: &[CameraView],
    measured: JointVec,
    task: &str,
) -> (Observation, Duration) {
    let seen = bindings.iter().filter_map(|binding| {
        let camera = camera_of(binding, cameras)?;
        Some((binding.view.clone(), camera.frame.clone()?, camera.age?))
    });
    let (mut images, mut newest): (Vec<(String, Frame)>, Option<Duration>) = (vec![], None);
    for (view, frame, age) in seen {
        newest = Some(newest.map_or(age, |newest| newest.min(age)));
        images.push((view, frame));
    }
    let observation = Observation {
        images,
        state: measured.0.to_vec(),
        task: task.to_owned(),
    };
    (observation, newest.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runtime::CameraStatus;

    fn camera(name: &str, age_ms: u64) -> CameraView {
        CameraView {
            name: name.to_owned(),
            source: String::new(),
            frame: Frame::new(1, 1, vec![1, 2, 3], 1, Duration::ZERO),
            age: Some(Duration::from_millis(age_ms)),
            rate_hz: 30.0,
            status: CameraStatus::Live,
        }
    }

    fn cameras_of(bindings: &[ViewBinding]) -> Vec<Option<&str>> {
        let cameras = bindings.iter().map(|binding| binding.camera.as_deref());
        cameras.collect()
    }

    #[test]
    fn names_win_over_order_and_choices_win_over_names() {
        let views = ["observation.images.top", "observation.images.wrist"].map(str::to_owned);
        let cameras = [camera("wrist", 5), camera("front", 5)];
        let guessed = guess(&views, &cameras, &[]);
        assert_eq!(cameras_of(&guessed), [Some("front"), Some("wrist")]);
        let mut remembered = vec![];
        bind(&mut remembered, &views[1], None);
        bind(&mut remembered, &views[0], Some("gone".to_owned()));
        let guessed = guess(&views, &cameras, &remembered);
        assert_eq!(cameras_of(&guessed), [Some("wrist"), None]);
        assert_eq!(cameras_of(&guess(&views, &[], &[])), [None, None]);
    }

    /// `--view image=wrist` was read as a view of newer checkpoints, and left the guess in force on `observation.image`.
    #[test]
    fn a_view_may_be_named_by_the_last_part_of_its_key() {
        let views = ["observation.image", "observation.wrist"].map(str::to_owned);
        let cameras = [camera("wrist", 5), camera("front", 5)];
        let mut named = vec![];
        bind(
            &mut named,
            "observation.images.image",
            Some("wrist".to_owned()),
        );
        bind(
            &mut named,
            "observation.images.wrist",
            Some("front".to_owned()),
        );
        let swapped = [Some("wrist"), Some("front")];
        assert_eq!(cameras_of(&guess(&views, &cameras, &named)), swapped);
        bind(&mut named, &views[0], Some("front".to_owned()));
        let whole = guess(&views, &cameras, &named);
        assert_eq!(cameras_of(&whole), [Some("front"), Some("front")]);
    }

    #[test]
    fn pictures_are_shared_and_unbound_views_left_out() {
        let cameras = [camera("front", 40), camera("wrist", 7)];
        let mut bindings = vec![];
        bind(&mut bindings, "a", Some("front".to_owned()));
        bind(&mut bindings, "b", None);
        bind(&mut bindings, "c", Some("wrist".to_owned()));
        let (seen, newest) = observation(&bindings, &cameras, JointVec([2.0; 6]), "go");
        let keys: Vec<&str> = seen.images.iter().map(|(key, _)| key.as_str()).collect();
        assert_eq!((keys, newest), (vec!["a", "c"], Duration::from_millis(7)));
        let shared = cameras[0].frame.as_ref().map(|frame| frame.rgb.as_ptr());
        assert_eq!(seen.image("a").map(|frame| frame.rgb.as_ptr()), shared);
        assert_eq!((seen.state.len(), seen.task.as_str()), (6, "go"));
    }
}
