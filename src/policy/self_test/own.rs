//! The test of own kernels: a tiny network on the very variants that the 450M model flies on, held against Burn's on the CPU.

use burn::tensor::Device;

use super::{SEED, probes};
use crate::gpu::OpenedDevice;
use crate::gpu::compute::Compute;
use crate::policy::seeded::{Precision, Seeded};
use crate::policy::smolvla::prepared::PreparedSmolVla;
use crate::policy::smolvla::{NetworkError, SmolVla, Stage, Trace, tiny};
use crate::policy::{NetworkInput, RtcGuidance, RtcSchedule};

/// The device's stages and the CPU's, in one order.
pub(super) fn stages(
    opened: &OpenedDevice,
    compute: &Compute,
) -> Result<(Vec<Stage>, Vec<Stage>), NetworkError> {
    let architecture = tiny::architecture();
    let source = Seeded::new(&architecture, SEED, Precision::F32);
    let format = opened.arithmetic.format;
    let mut own =
        PreparedSmolVla::load_as_full(&architecture, &source, &opened.device, compute, format)?;
    let cpu = SmolVla::load(&architecture, &source, &Device::flex(), &mut |_| ())?;
    let steps = architecture.num_steps;
    let mut ours = run(|input, guidance, trace| {
        let sample = own.sample_actions(input, steps, guidance, trace)?;
        Ok(sample.actions)
    })?;
    let mut theirs = run(|input, guidance, trace| {
        let sample = cpu.sample_actions(input, steps, guidance, trace)?;
        Ok(sample.actions)
    })?;
    // Fused kernels never write down what Burn's network shows between them.
    theirs.retain(|stage| ours.iter().any(|ours| ours.name == stage.name));
    ours.extend(probes::all(&opened.device)?);
    theirs.extend(probes::all(&Device::flex())?);
    Ok((ours, theirs))
}

type Sampler<'a> = dyn FnMut(&NetworkInput, Option<&RtcGuidance>, &mut Trace) -> Result<Vec<f32>, NetworkError>
    + 'a;

/// Two samples of different lengths stage by stage, the first again from what is prepared by then, and once guided.
fn run(
    mut sample: impl FnMut(
        &NetworkInput,
        Option<&RtcGuidance>,
        &mut Trace,
    ) -> Result<Vec<f32>, NetworkError>,
) -> Result<Vec<Stage>, NetworkError> {
    let sample: &mut Sampler<'_> = &mut sample;
    let architecture = tiny::architecture();
    let input = tiny::input(&architecture, 2);
    let mut stages = Vec::new();
    for at in 0..2 {
        let mut trace = Trace::on();
        let actions = sample(&input.sample(at), None, &mut trace)?;
        stages.extend(trace.into_stages());
        stages.push(stage("actions", actions));
    }
    let guidance = RtcGuidance {
        left_over: vec![vec![0.7; architecture.max_action_dim]; 5],
        inference_delay: 2,
        execution_horizon: 5,
        max_guidance_weight: 10.0,
        schedule: RtcSchedule::Linear,
    };
    for (name, guidance) in [("guided actions", Some(&guidance)), ("actions again", None)] {
        let actions = sample(&input.sample(0), guidance, &mut Trace::off())?;
        stages.push(stage(name, actions));
    }
    Ok(stages)
}

fn stage(name: &str, values: Vec<f32>) -> Stage {
    Stage {
        name: name.to_owned(),
        shape: vec![values.len()],
        values,
    }
}
