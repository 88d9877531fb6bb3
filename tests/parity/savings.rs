//! What the network leaves out changes nothing: each saving against a run without it.

use burn::tensor::{Device, Tensor};
use smolpilot::gpu::{self, Launches};
use smolpilot::policy::checkpoint::Checkpoint;
use smolpilot::policy::smolvla::naive::{LanguagePadding, NaiveSmolVla};
use smolpilot::policy::smolvla::{EulerSteps, SmolVla, Trace};
use smolpilot::policy::{HostTensor, NetworkInput, TensorSource};

use crate::reference::Case;
use crate::report::Report;
use crate::stages::load;
use crate::{CACHED, TWINS};

/// All of them on one device.
pub fn check(device: &Device, title: &str) {
    let case = Case::open("tiny_a");
    let network = load(&case, device);
    let mut report = Report::new(format!("savings on {title}"));
    missing_camera(&case, &network, &mut report);
    word_padding(&case, &network, device, &mut report);
    batch(&case, &network, &mut report);
    cached_steps(&case, &network, &mut report);
    unread_tensors(&case, &network, device, &mut report);
    report.finish();
}

fn run(network: &SmolVla, input: &NetworkInput) -> Vec<f32> {
    let steps = network.architecture().num_steps;
    network
        .sample_actions(input, steps, None, &mut Trace::off())
        .unwrap()
        .actions
}

/// A camera that is missing is the same as no camera at all, and its pixels are not even looked at.
fn missing_camera(case: &Case, network: &SmolVla, report: &mut Report) {
    let mut masked = case.input.clone();
    masked.images[1].present = vec![false];
    masked.images[1].pixels.fill(f32::NAN);
    let mut absent = case.input.clone();
    absent.images.pop();
    let without = run(network, &absent);
    report.compare("missing camera", &run(network, &masked), &without, 0.0);
    let both = run(network, &case.input);
    let change = both
        .iter()
        .zip(&without)
        .fold(0.0_f32, |most, (a, b)| most.max((a - b).abs()));
    assert!(
        change > 0.01,
        "the second camera does not matter, so this test would prove nothing"
    );
}

/// Padded words are masked and do not move positions, so they need not be there.
fn word_padding(case: &Case, network: &SmolVla, device: &Device, report: &mut Report) {
    let short = run(network, &case.input);
    for length in [0, 48, 60] {
        let padding = LanguagePadding { length, token: 2 };
        let naive = NaiveSmolVla::load(
            &case.architecture,
            &case.checkpoint,
            device,
            padding,
            &mut |_| (),
        )
        .unwrap();
        let steps = case.architecture.num_steps;
        let padded = naive
            .sample_actions(&case.input, steps, None, &mut Trace::off())
            .unwrap();
        report.compare("word padding", &short, &padded.actions, TWINS);
    }
}

/// Two samples at once, one with a longer prompt and one with a camera less, equal the two alone.
fn batch(case: &Case, network: &SmolVla, report: &mut Report) {
    let first = &case.input;
    let mut second = first.clone();
    second.tokens[0].extend([5, 6, 7]);
    second.images[0].present = vec![false];
    for (i, value) in second.state.iter_mut().enumerate() {
        *value += 0.1 * (i as f32).cos();
    }
    let mut both = first.clone();
    both.batch = 2;
    both.tokens.extend(second.tokens.clone());
    both.state.extend(&second.state);
    both.noise.extend(&second.noise);
    for (image, other) in both.images.iter_mut().zip(&second.images) {
        image.pixels.extend(&other.pixels);
        image.present.extend(&other.present);
    }
    let alone = [run(network, first), run(network, &second)].concat();
    report.compare("batch of two", &run(network, &both), &alone, TWINS);
}

/// The cache is the same before and after ten steps, and a step from it equals one from a cache made for it alone.
fn cached_steps(case: &Case, network: &SmolVla, report: &mut Report) {
    let trace = &mut Trace::off();
    let features = network.embed_images(&case.input, trace).unwrap();
    let prefix = network.embed_prefix(&case.input, features).unwrap();
    let steps = EulerSteps::new(case.architecture.num_steps).unwrap();
    let rows = network.time_rows(&steps);
    let noise = || {
        let golden = case.golden.get("in.noise");
        let shape: [usize; 3] = golden.shape.try_into().unwrap();
        Tensor::<3>::from_data(
            burn::tensor::TensorData::new(golden.values, shape),
            network.device(),
        )
    };
    let values = |x: Tensor<3>| x.try_into_vec_as::<f32>().unwrap();
    let kept = network.prefill(&prefix, trace).unwrap();
    let first = values(
        network
            .denoise_step(&kept, noise(), &rows, 0, trace)
            .unwrap(),
    );
    for step in 0..steps.times.len() {
        let fresh = network.prefill(&prefix, trace).unwrap();
        let cached = network
            .denoise_step(&kept, noise(), &rows, step, trace)
            .unwrap();
        let uncached = network
            .denoise_step(&fresh, noise(), &rows, step, trace)
            .unwrap();
        report.compare(
            "cached against uncached",
            &values(cached),
            &values(uncached),
            CACHED,
        );
    }
    let again = values(
        network
            .denoise_step(&kept, noise(), &rows, 0, trace)
            .unwrap(),
    );
    report.compare("cache after ten steps", &again, &first, 0.0);
}

/// A checkpoint without what is never read.
struct Stripped<'a>(&'a Checkpoint, usize);

impl Stripped<'_> {
    fn keeps(&self, name: &str) -> bool {
        let last = format!("text_model.layers.{}.", self.1 - 1);
        let unread = name.ends_with("lm_head.weight") || name.ends_with("text_model.norm.weight");
        let beyond = name.contains(&last)
            && !["input_layernorm", "k_proj", "v_proj"]
                .iter()
                .any(|part| name.contains(part));
        !unread && !beyond
    }
}

impl TensorSource for Stripped<'_> {
    fn names(&self) -> Vec<String> {
        self.0
            .names()
            .into_iter()
            .filter(|name| self.keeps(name))
            .collect()
    }

    fn shape(&self, name: &str) -> Option<Vec<usize>> {
        self.keeps(name).then(|| self.0.shape(name)).flatten()
    }

    fn tensor(&self, name: &str) -> anyhow::Result<HostTensor> {
        anyhow::ensure!(self.keeps(name), "{name} was stripped");
        self.0.tensor(name)
    }
}

/// The word head, the VLM's final norm and the last VLM layer beyond its keys and values are not read.
fn unread_tensors(case: &Case, network: &SmolVla, device: &Device, report: &mut Report) {
    let source = Stripped(&case.checkpoint, case.architecture.num_vlm_layers);
    assert!(source.names().len() + 7 <= case.checkpoint.names().len());
    let stripped = SmolVla::load(&case.architecture, &source, device, &mut |_| ()).unwrap();
    report.compare(
        "unread tensors",
        &run(&stripped, &case.input),
        &run(network, &case.input),
        0.0,
    );
}

/// Kernels of one chunk, as the network runs and as the reference does. Printed, and compared.
pub fn count_kernels(device: &Device, title: &str) {
    let case = Case::open("tiny_a");
    let network = load(&case, device);
    let padding = LanguagePadding {
        length: 48,
        token: 2,
    };
    let naive = NaiveSmolVla::load(
        &case.architecture,
        &case.checkpoint,
        device,
        padding,
        &mut |_| (),
    )
    .unwrap();
    let quick = |steps| {
        let work = || {
            network
                .sample_actions(&case.input, steps, None, &mut Trace::off())
                .unwrap()
        };
        gpu::count_launches(work).1
    };
    let slow = |steps| {
        let work = || {
            naive
                .sample_actions(&case.input, steps, None, &mut Trace::off())
                .unwrap()
        };
        gpu::count_launches(work).1
    };
    assert_eq!(quick(2), quick(2), "the count is not exact");
    let (ours, theirs) = (quick(10), slow(10));
    let a_step = |few: Launches, many: Launches| many.total - few.total;
    let (our_step, their_step) = (a_step(quick(2), quick(3)), a_step(slow(2), slow(3)));
    println!("kernels of one chunk of tiny_a on {title}");
    println!(
        "  as it runs {} ({our_step} a step), naive {} ({their_step} a step)",
        ours.total, theirs.total
    );
    for (kernel, count) in &ours.by_kernel {
        println!("  {count:>6} {kernel}");
    }
    assert!(ours.total < theirs.total && our_step < their_step);
    assert!(
        gpu::memory(device)
            .is_some_and(|held| held.reserved_bytes >= held.in_use_bytes && held.in_use_bytes > 0)
    );
}
