//! The small formulas against the reference: masks, rotary positions, the time embedding, real-time chunking.

use burn::tensor::{Device, Tensor, TensorData};
use smolpilot::policy::smolvla::{apply_rope, att_2d_masks, sinusoid};
use smolpilot::policy::{RtcSchedule, rtc};

use crate::FORMULAS;
use crate::reference::File;
use crate::report::Report;

pub fn check(device: &Device, title: &str) {
    let golden = File::open("unit_golden.safetensors");
    let mut report = Report::new(format!("formulas on {title}"));
    rope(&golden, device, &mut report);
    time(&golden, &mut report);
    chunking(&golden, &mut report);
    assert_eq!(
        att_2d_masks(&golden.flags("mask.pad"), &golden.flags("mask.att")),
        golden.flags("mask.2d")
    );
    report.finish();
}

fn rope(golden: &File, device: &Device, report: &mut Report) {
    let x = golden.get("rope.x");
    let shape: [usize; 4] = x.shape.try_into().unwrap();
    let positions: Vec<Vec<i64>> = golden
        .integers("rope.pos")
        .chunks(shape[1])
        .map(<[i64]>::to_vec)
        .collect();
    let x = Tensor::<4>::from_data(TensorData::new(x.values, shape), device);
    let ours: Vec<f32> = apply_rope(x, &positions).try_into_vec_as().unwrap();
    report.compare("rope", &ours, &golden.get("rope.out").values, FORMULAS);
}

fn time(golden: &File, report: &mut Report) {
    let times = golden.get("sinusoid.time").values;
    for width in [36, 720] {
        let ours: Vec<f32> = times
            .iter()
            .flat_map(|&t| sinusoid(t, width, (4e-3, 4.0)))
            .collect();
        let reference = golden.get(&format!("sinusoid.{width}.f32")).values;
        report.compare("sinusoid", &ours, &reference, FORMULAS);
    }
}

fn chunking(golden: &File, report: &mut Report) {
    for (name, schedule) in [
        ("ZEROS", RtcSchedule::Zeros),
        ("ONES", RtcSchedule::Ones),
        ("LINEAR", RtcSchedule::Linear),
        ("EXP", RtcSchedule::Exp),
    ] {
        for (start, end, total) in [
            (2, 5, 8),
            (0, 10, 50),
            (4, 10, 50),
            (12, 10, 50),
            (3, 3, 8),
            (0, 50, 50),
        ] {
            let reference = golden
                .get(&format!("rtc.weights.{name}.{start}_{end}_{total}"))
                .values;
            let ours = rtc::weights(schedule, start, end, total);
            report.compare(&format!("rtc.weights.{name}"), &ours, &reference, FORMULAS);
        }
    }
    let ours: Vec<f32> = (0..10)
        .map(|step| rtc::guidance_weight((1.0 - f64::from(step) * 0.1) as f32, 10.0))
        .collect();
    let reference = golden.get("rtc.guidance_weight.10steps_max10").values;
    report.compare("rtc.guidance_weight", &ours, &reference, 1e-5);
}
