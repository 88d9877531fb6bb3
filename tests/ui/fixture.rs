//! Snapshots as a runtime would publish them, made by a small queue model, so that the window can be seen and tested alone.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use glam::{Quat, Vec3};
use smolpilot::clock::Tick;
use smolpilot::joint::JointVec;
use smolpilot::observation::Frame;
use smolpilot::policy::{PolicySpec, StageTimes};
use smolpilot::runtime::{
    ArmSource, CameraStatus, CameraView, ChunkView, Connection, Delay, EXPERT, Fault, FaultKind,
    Health, JointHealth, Knobs, Latencies, Mode, Percentiles, PolicyStatus, QueueView, RigView,
    Sample, Snapshot, Stopped, ViewBinding,
};
use smolpilot::scene::{Cube, Props};

const FPS: u64 = 30;
const CHUNK: usize = 50;
const LATENCY_TICKS: u64 = 12;

/// The clock of the fixture at a tick.
fn at(tick: u64) -> Duration {
    Duration::from_nanos(tick * 1_000_000_000 / FPS)
}

/// A smooth motion, robot units.
pub fn pose(tick: f32) -> JointVec {
    let t = tick / FPS as f32;
    JointVec([
        28.0 * (0.5 * t).sin(),
        -22.0 + 18.0 * (0.37 * t + 0.4).sin(),
        31.0 + 14.0 * (0.61 * t).cos(),
        12.0 * (0.8 * t + 1.0).sin(),
        5.0 * (0.3 * t).sin(),
        35.0 + 30.0 * (0.45 * t).sin(),
    ])
}

/// A picture with enough in it to see that it is the right way up.
pub fn picture(seed: u8, seq: u64) -> Frame {
    let (width, height) = (160_u32, 120_u32);
    let mut rgb = Vec::with_capacity((width * height * 3) as usize);
    for y in 0..height {
        for x in 0..width {
            let on_table = y > 52;
            let shade = if on_table { 150 } else { 95 } - (y / 6) as u8;
            let cube = x.abs_diff(60 + u32::from(seed) * 25) < 11 && y.abs_diff(82) < 11;
            let arm = x.abs_diff(100 - y / 3) < 7 && y < 78;
            rgb.extend(match (cube, arm) {
                (true, _) => [190, 48, 44],
                (_, true) => [224, 158, 62],
                _ => [shade, shade, shade.saturating_add(8)],
            });
        }
    }
    Frame::new(width, height, rgb, seq, at(seq)).expect("the picture has its size")
}

fn camera(name: &str, seed: u8, tick: u64) -> CameraView {
    CameraView {
        name: name.to_owned(),
        source: format!("simulated {name} camera, 640x480"),
        frame: Some(picture(seed, tick)),
        age: Some(Duration::from_millis(12)),
        rate_hz: 30.0,
        status: CameraStatus::Live,
    }
}

/// Twenty seconds of an asynchronous run, ending at `tick`.
fn history(tick: u64, knobs: &Knobs) -> (VecDeque<Sample>, u64, u32) {
    let first = tick.saturating_sub(20 * FPS);
    let mut samples = VecDeque::new();
    let mut queue = 0_u32;
    let mut asked: Option<u64> = None;
    let mut arrived_at = first;
    for now in first..=tick {
        let threshold = if tick - now > 150 {
            0.55
        } else {
            knobs.chunk_size_threshold
        };
        let mut arrived = false;
        if asked.is_some_and(|asked| now - asked >= LATENCY_TICKS) {
            asked = None;
            arrived = true;
            arrived_at = now;
            queue = queue.max(CHUNK as u32 - LATENCY_TICKS as u32);
        }
        let requested = asked.is_none() && (queue as f32) < threshold * CHUNK as f32;
        if requested {
            asked = Some(now);
        }
        samples.push_back(Sample {
            tick: Tick(now),
            at: at(now),
            measured: pose(now as f32 - 2.5),
            commanded: pose(now as f32),
            queue,
            actions_per_chunk: CHUNK as u32,
            threshold,
            requested,
            arrived,
            starved: queue == 0,
            seam: if arrived { 2.4 } else { 0.0 },
            mode: Mode::Policy,
            intervention: false,
            changed: tick - now == 150,
        });
        queue = queue.saturating_sub(1);
    }
    (samples, arrived_at, queue)
}

fn chunk(observed_at: u64, bias: f32) -> ChunkView {
    let actions: Vec<JointVec> = (0..CHUNK as u64)
        .map(|k| {
            let drift = bias * k as f32 / CHUNK as f32;
            JointVec(pose((observed_at + k) as f32).0.map(|value| value + drift))
        })
        .collect();
    ChunkView {
        first_tick: Tick(observed_at),
        arrived_at: Tick(observed_at + LATENCY_TICKS),
        actions: actions.into(),
        skipped: LATENCY_TICKS as usize,
        seam: 2.4,
        times: StageTimes::default(),
    }
}

fn percentiles(p50_us: u64, p95_us: u64) -> Percentiles {
    Percentiles {
        p50: Duration::from_micros(p50_us),
        p95: Duration::from_micros(p95_us),
    }
}

fn latencies() -> Latencies {
    Latencies {
        chunks: 214,
        capture: percentiles(17_400, 31_800),
        preprocess: percentiles(2_310, 3_900),
        vision: percentiles(46_200, 58_700),
        prefix: percentiles(71_500, 83_000),
        denoise: percentiles(228_000, 262_000),
        wait: percentiles(9_800, 30_100),
        total: percentiles(364_000, 421_000),
    }
}

/// What the policy of the fixture is.
pub fn spec() -> PolicySpec {
    PolicySpec {
        name: "untrained demo network".to_owned(),
        views: ["camera1", "camera2", "camera3"]
            .map(|name| format!("observation.images.{name}"))
            .to_vec(),
        state_dim: 6,
        action_dim: 6,
        max_action_dim: 32,
        chunk_size: CHUNK,
        n_action_steps: CHUNK,
        num_steps: 10,
        vlm_layers: 16,
        expert_layers: 16,
        parameters: 450_046_176,
        device: "NVIDIA GeForce RTX 4070 · wgpu (Vulkan)".to_owned(),
        device_why: "best hardware GPU".to_owned(),
        precision: "f32".to_owned(),
        warnings: vec!["untrained: its motion means nothing".to_owned()],
        ..PolicySpec::default()
    }
}

fn views() -> Vec<ViewBinding> {
    let binding = |name: &str, camera: Option<&str>| ViewBinding {
        view: format!("observation.images.{name}"),
        camera: camera.map(str::to_owned),
    };
    vec![
        binding("camera1", Some("front")),
        binding("camera2", Some("wrist")),
        binding("camera3", None),
    ]
}

fn cubes() -> Props {
    let cube = |x: f32, y: f32, color: [f32; 3]| Cube {
        position: Vec3::new(x, y, 0.0125),
        orientation: Quat::from_rotation_z(0.3),
        edge: 0.025,
        color,
    };
    Props {
        cubes: vec![
            cube(0.24, 0.06, [0.6, 0.04, 0.03]),
            cube(0.2, -0.08, [0.03, 0.2, 0.5]),
        ],
        ..Props::default()
    }
}

/// Servos that have worked for a while.
pub fn health() -> Health {
    let rows = [
        (33, 12.0, -4.0, 96.0, 2),
        (38, 11.9, 31.0, 540.0, 11),
        (36, 11.9, -22.0, 410.0, 7),
        (31, 12.0, 9.0, 150.0, 3),
        (30, 12.0, 1.0, 40.0, 2),
        (34, 11.9, 12.0, 180.0, 4),
    ];
    let joint = |(celsius, volts, load_percent, milliamperes, errors)| JointHealth {
        celsius,
        volts,
        load_percent,
        milliamperes,
        errors,
        age: Duration::from_millis(4),
        ..JointHealth::default()
    };
    Health {
        joints: rows.map(joint),
        ..Health::default()
    }
}

/// The policy drives, the plan is fresh.
pub fn running(tick: u64) -> Snapshot {
    let knobs = Knobs::default();
    let (history, arrived_at, queue) = history(tick, &knobs);
    let observed_at = arrived_at - LATENCY_TICKS;
    let upcoming: Vec<JointVec> = (0..u64::from(queue))
        .map(|k| pose((tick + k) as f32))
        .collect();
    Snapshot {
        now: at(tick),
        tick: Tick(tick),
        mode: Mode::Policy,
        health: health(),
        arm: "Pretend rig".to_owned(),
        connection: Connection::Connected { torque: true },
        rate_hz: 30.0,
        measured: pose(tick as f32 - 2.5),
        commanded: pose(tick as f32),
        limits: [
            JointVec([-110.0, -100.0, -95.0, -95.0, -160.0, 0.0]),
            JointVec([110.0, 100.0, 95.0, 95.0, 160.0, 100.0]),
        ],
        knobs,
        tick_p99: Duration::from_micros(412),
        task: "put the red cube in the box".to_owned(),
        generation: 3,
        policy_source: "demo".to_owned(),
        policy: PolicyStatus::Ready { busy: false },
        spec: Some(Arc::new(spec())),
        queue: QueueView {
            fill: queue as f32 / CHUNK as f32,
            upcoming: upcoming.into(),
            requested_at: None,
            g_min: Some(0.24),
            g_min_p95: Some(0.28),
            ..QueueView::default()
        },
        chunk: Some(Arc::new(chunk(observed_at, 6.0))),
        previous_chunk: Some(Arc::new(chunk(observed_at - 27, -7.0))),
        history: Arc::new(history),
        latency: latencies(),
        delay: Delay { last: 11, p95: 13 },
        cameras: vec![camera("front", 0, tick), camera("wrist", 1, tick)],
        views: views(),
        chunks: 214,
        requests: 215,
        bus_retries: 2,
        max_step: 1.8,
        props: Arc::new(cubes()),
        ..Snapshot::default()
    }
}

/// The expert is half way on the simulated rig.
pub fn on_rig() -> Snapshot {
    let mut snapshot = running(3_000);
    snapshot.sources.follower = Some(ArmSource::Simulated);
    EXPERT.clone_into(&mut snapshot.policy_source);
    snapshot.rig = Some(Arc::new(RigView {
        seed: 7,
        laid: 3,
        speed: 1.0,
        tasks: ["put the red cube in the box", "sort the cubes"]
            .map(str::to_owned)
            .to_vec(),
        sentences: ["put the … cube in the box", "sort the cubes"]
            .map(str::to_owned)
            .to_vec(),
        task: Some("put the red cube in the box".to_owned()),
        progress: 0.6,
        stage: "the red cube is carried".to_owned(),
        elapsed: Duration::from_millis(5_200),
        repeats: true,
        successes: 2,
        attempts: 3,
        ..RigView::default()
    }));
    snapshot
}

/// Nobody drives; the policy is ready.
pub fn idle() -> Snapshot {
    let held = pose(0.0);
    let mut snapshot = running(3_000);
    let still = snapshot.history.iter().map(|sample| Sample {
        measured: held,
        commanded: held,
        queue: 0,
        requested: false,
        arrived: false,
        starved: false,
        seam: 0.0,
        changed: false,
        ..*sample
    });
    snapshot.history = Arc::new(still.collect());
    snapshot.mode = Mode::Hold;
    snapshot.measured = held;
    snapshot.commanded = held;
    snapshot.jog = held;
    snapshot.queue.upcoming = Arc::from([]);
    snapshot.queue.fill = 0.0;
    snapshot.chunk = None;
    snapshot.previous_chunk = None;
    snapshot
}

/// Stopped by the operator twelve seconds ago.
pub fn stopped() -> Snapshot {
    let mut snapshot = idle();
    snapshot.stopped = Some(Stopped {
        by: "the operator".to_owned(),
        since: snapshot.now.saturating_sub(Duration::from_secs(12)),
        acknowledged: true,
    });
    snapshot
}

/// A person drives.
pub fn jogging() -> Snapshot {
    let mut snapshot = idle();
    snapshot.mode = Mode::Jog;
    snapshot
}

/// A slow device: the queue runs dry, and no g helps.
pub fn starved() -> Snapshot {
    let mut snapshot = running(3_000);
    let tick = snapshot.tick.0;
    let dry = snapshot.history.iter().map(|sample| {
        let phase = (sample.tick.0 + 40) % 110;
        let queue = 38_u64.saturating_sub(phase) as u32;
        Sample {
            queue,
            starved: queue == 0,
            requested: phase == 3,
            arrived: phase == 0,
            ..*sample
        }
    });
    snapshot.history = Arc::new(dry.collect());
    snapshot.queue = QueueView {
        requested_at: Some(Tick(tick - 77)),
        starved_since: Some(snapshot.now.saturating_sub(Duration::from_millis(2_300))),
        starved_because: Some("the device is slow: a chunk takes 3.42 s".to_owned()),
        g_min: Some(2.05),
        g_min_p95: Some(2.31),
        no_g_keeps_fresh: true,
        ..QueueView::default()
    };
    snapshot.latency.denoise = percentiles(2_900_000, 3_300_000);
    snapshot.latency.total = percentiles(3_420_000, 3_850_000);
    snapshot.policy = PolicyStatus::Ready { busy: true };
    snapshot.starved_ticks = 1_432;
    snapshot
}

/// A stale camera and a bus that lost packets.
pub fn faulty() -> Snapshot {
    let mut snapshot = running(3_000);
    snapshot.cameras[1].status = CameraStatus::Stale;
    snapshot.cameras[1].age = Some(Duration::from_millis(1_840));
    snapshot.cameras[1].rate_hz = 0.0;
    snapshot.faults = vec![
        Fault {
            id: 7,
            kind: FaultKind::CameraStale,
            what: "Camera wrist has given no picture for 1.8 s; the policy is paused.".to_owned(),
            remedy: "Check its cable and its USB port; it is being reopened.".to_owned(),
            since: snapshot.now.saturating_sub(Duration::from_millis(1_300)),
            count: 1,
            active: true,
        },
        Fault {
            id: 5,
            kind: FaultKind::BusRetry,
            what: "Joint wrist_roll lost 2 packets on the bus.".to_owned(),
            remedy: "Check the cable between wrist_flex and wrist_roll.".to_owned(),
            since: snapshot.now.saturating_sub(Duration::from_secs(75)),
            count: 2,
            active: false,
        },
    ];
    snapshot
}

/// Just started: nothing is there yet.
pub fn empty() -> Snapshot {
    Snapshot::default()
}
