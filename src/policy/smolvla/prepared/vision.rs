//! The eyes as a GPU flies them: tower and connector over all pictures at once, seven launches a layer.

mod weights;

use self::weights::VisionWeights;
pub(super) use self::weights::check;
use super::super::error::{NetworkError, Result};
use super::super::trace::Trace;
use super::super::vision::{Pictures, positions};
use super::tower::{Builder, Grown, Kernels, Loader, Program, Stream, View, step_of};
use crate::gpu::compute::{Flow, Sequence, Slice};
use crate::gpu::kernels::attention::{Attention, Heads};
use crate::gpu::kernels::matmul::{self, Finish, Layout, Product, Split};
use crate::gpu::kernels::prefix::Features;
use crate::policy::{Architecture, VisionArchitecture};

/// The largest binding that every adapter takes, in words.
const BINDING_WORDS: usize = (128 << 20) / 4;

/// Tower and connector. Twins: `VisionModel` and `Connector`.
#[derive(Debug)]
pub(super) struct PreparedVision {
    sizes: VisionArchitecture,
    scale_factor: usize,
    /// Width of the VLM.
    hidden_size: usize,
    weights: VisionWeights,
    memory: Memory,
    plan: Option<Plan>,
    /// The largest binding that is made.
    binding_words: usize,
}

#[derive(Debug, Default)]
struct Memory {
    pixels: Grown,
    positions: Grown,
    x: Grown,
    stats: Grown,
    parts: Grown,
    qkv: Grown,
    attended: Grown,
    inner: Grown,
    normed: Grown,
    features: Grown,
}

/// What a plan was made for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Geometry {
    pub(super) pictures: usize,
    pub(super) height: usize,
    pub(super) width: usize,
}

#[derive(Debug)]
struct Plan {
    geometry: Geometry,
    program: Program,
    pixels: Slice,
    features: Features,
    tokens: usize,
}

/// Slices of what some pictures need while they go through the tower.
struct Room {
    /// First picture, and how many.
    first: usize,
    pictures: usize,
    patches: usize,
    qkv: Slice,
    attended: Slice,
    inner: Slice,
    normed: Slice,
}

impl Geometry {
    /// Of the pictures in a group.
    pub(super) fn of(pictures: Option<&Pictures<'_>>) -> Self {
        pictures.map_or_else(Self::default, |group| Self {
            pictures: group.pixels.len(),
            height: group.height,
            width: group.width,
        })
    }
}

impl PreparedVision {
    /// # Errors
    /// A tensor that does not fit, sizes that the kernels do not take, or a device without room.
    pub(super) fn load(loader: &mut Loader<'_, '_>, architecture: &Architecture) -> Result<Self> {
        let sizes = architecture.vision.clone();
        Ok(Self {
            weights: VisionWeights::load(loader, architecture)?,
            scale_factor: architecture.scale_factor,
            hidden_size: architecture.hidden_size,
            memory: Memory::default(),
            plan: None,
            binding_words: BINDING_WORDS,
            sizes,
        })
    }

    /// Makes ready for pictures of that kind. Does nothing when it is ready already.
    ///
    /// # Errors
    /// Pictures that cannot be cut into patches or tokens, or a device that refuses.
    pub(super) fn prepare(&mut self, kernels: &mut Kernels, geometry: Geometry) -> Result<()> {
        if self.plan.as_ref().map(|plan| plan.geometry) == Some(geometry) {
            return Ok(());
        }
        self.plan = None;
        let plan = self.plan_for(kernels, geometry)?;
        kernels.compute.settle(&mut |_| ())?;
        self.plan = Some(plan);
        Ok(())
    }

    /// Tokens that a picture becomes.
    pub(super) fn tokens(&self) -> usize {
        self.plan.as_ref().map_or(0, |plan| plan.tokens)
    }

    /// Where the connector leaves its tokens; `None` before [`PreparedVision::prepare`].
    pub(super) fn features(&self) -> Option<&Features> {
        self.plan.as_ref().map(|plan| &plan.features)
    }

    /// The prepared launches, for an account of what they cost.
    pub(super) fn sequence(&self) -> Option<&Sequence> {
        self.plan.as_ref().map(|plan| plan.program.sequence())
    }

    /// Sends the pictures that the plan was made for.
    pub(super) fn write(&self, kernels: &Kernels, pictures: &Pictures<'_>) {
        let Some(plan) = &self.plan else { return };
        let size = 3 * pictures.height * pictures.width;
        for (i, pixels) in pictures.pixels.iter().enumerate() {
            kernels
                .compute
                .write(&plan.pixels.part(i * size, size), pixels);
        }
    }

    pub(super) fn encode(&self, flow: &mut Flow<'_>) {
        if let Some(plan) = &self.plan {
            plan.program.encode(flow);
        }
    }

    /// Runs it in pieces and shows what is between them.
    ///
    /// # Errors
    /// The device is lost.
    pub(super) fn run_watched(&self, kernels: &Kernels, trace: &mut Trace) -> Result<()> {
        match &self.plan {
            Some(plan) => plan.program.run_watched(&kernels.compute, trace),
            None => Ok(()),
        }
    }

    fn plan_for(&mut self, kernels: &mut Kernels, geometry: Geometry) -> Result<Plan> {
        let compute = kernels.compute.clone();
        let (side, out) = self.grid(geometry)?;
        let (patches, tokens) = (side * side, out * out);
        let Geometry {
            pictures,
            height,
            width,
        } = geometry;
        let pixels =
            self.memory
                .pixels
                .fit(&compute, "the pictures", pictures * 3 * height * width)?;
        let connector = &self.weights.connector.matrix;
        // As many pictures at once as a binding holds of the widest activation.
        let widest = step_of(self.sizes.intermediate_size.max(3 * self.sizes.hidden_size));
        let at_once = (self.binding_words / (patches * widest).max(1)).clamp(1, pictures.max(1));
        let parts = matmul::parts(at_once.min(pictures) * tokens, connector);
        let row_step = step_of(self.hidden_size);
        let part_step = pictures * tokens * row_step;
        let features = Features {
            values: self.memory.features.fit(
                &compute,
                "the pictures' features",
                parts * part_step,
            )?,
            parts,
            part_step,
            row_step,
            scale: (self.hidden_size as f64).sqrt() as f32,
        };
        let (embedding, hidden) = (&self.weights.position_embedding, self.sizes.hidden_size);
        let a_side = self.sizes.image_size / self.sizes.patch_size;
        let table = positions(embedding, hidden, a_side, [side, side]);
        let table_slice = self
            .memory
            .positions
            .fit(&compute, "positions", table.len())?;
        compute.write(&table_slice, &table);
        let mut builder = Builder::new(kernels);
        for first in (0..pictures).step_by(at_once) {
            let count = at_once.min(pictures - first);
            let (mut stream, room) = self.room(&builder.kernels.compute, first, count, patches)?;
            self.embed(
                &mut builder,
                &stream,
                &room,
                (&pixels, &table_slice),
                geometry,
            )?;
            for i in 0..self.weights.layers.len() {
                self.layer(&mut builder, i, &mut stream, &room)?;
            }
            self.connect(&mut builder, &mut stream, &room, &features, side)?;
        }
        Ok(Plan {
            geometry,
            program: builder.finish("vision"),
            pixels,
            features,
            tokens,
        })
    }

    /// Patches and tokens on the side of a picture.
    fn grid(&self, geometry: Geometry) -> Result<(usize, usize)> {
        let (patch, s) = (self.sizes.patch_size, self.scale_factor);
        let (height, width) = (geometry.height, geometry.width);
        if geometry.pictures == 0 {
            return Ok((0, 0));
        }
        if height % patch != 0 || width % patch != 0 || height * width == 0 {
            return Err(NetworkError::Input(format!(
                "a picture of {width}x{height} cannot be cut into patches of {patch} pixels"
            )));
        }
        let side = height / patch;
        if height != width || !side.is_multiple_of(s) {
            return Err(NetworkError::Input(format!(
                "{} patches a picture cannot be shuffled by {s}: pictures must be square, their patch grid a multiple of {s}",
                side * (width / patch)
            )));
        }
        Ok((side, side / s))
    }

    /// Memory for `pictures` pictures on their way through the layers.
    fn room(
        &mut self,
        compute: &crate::gpu::compute::Compute,
        first: usize,
        pictures: usize,
        patches: usize,
    ) -> Result<(Stream, Room)> {
        let (rows, width) = (pictures * patches, self.sizes.hidden_size);
        let layers = self.weights.layers.iter();
        let parts = layers
            .flat_map(|layer| [&layer.out_proj, &layer.fc2])
            .map(|linear| linear.part_words(rows))
            .max()
            .unwrap_or(0);
        let memory = &mut self.memory;
        let fit = |grown: &mut Grown, width: usize| {
            grown.fit(compute, "the vision tower", rows * step_of(width))
        };
        let room = Room {
            first,
            pictures,
            patches,
            qkv: fit(&mut memory.qkv, 3 * width)?,
            attended: fit(&mut memory.attended, width)?,
            inner: fit(&mut memory.inner, self.sizes.intermediate_size)?,
            normed: fit(&mut memory.normed, width)?,
        };
        let x = fit(&mut memory.x, width)?;
        let stats = memory.stats.fit(compute, "the vision tower", 2 * rows)?;
        let parts = memory.parts.fit(compute, "the vision tower", parts)?;
        Ok((Stream::new(x, rows, width, stats, parts), room))
    }

    /// Cuts pictures into patches while the product reads them, and adds the positions.
    fn embed(
        &self,
        builder: &mut Builder<'_>,
        stream: &Stream,
        room: &Room,
        (pixels, table): (&Slice, &Slice),
        geometry: Geometry,
    ) -> Result<()> {
        let (height, width) = (geometry.height, geometry.width);
        let linear = &self.weights.patch_embedding;
        let product = Product {
            a_base: room.first * 3 * height * width,
            layout: Layout::Patches {
                height,
                width,
                patch: self.sizes.patch_size,
            },
            finish: Finish::Table {
                period: room.patches,
                step: stream.width,
            },
            table: Some(table.clone()),
            ..linear.after(pixels, stream.rows, &stream.x, stream.step())
        };
        builder.product("vision.embeddings", &product)?;
        builder.see(stream.view("vision.embeddings", room.pictures));
        Ok(())
    }

    fn layer(
        &self,
        builder: &mut Builder<'_>,
        i: usize,
        stream: &mut Stream,
        room: &Room,
    ) -> Result<()> {
        let layer = &self.weights.layers[i];
        let at = |part: &str| format!("vision.{i}.{part}");
        let rows = stream.rows;
        let (qkv_step, inner_step) = (
            step_of(3 * self.sizes.hidden_size),
            step_of(self.sizes.intermediate_size),
        );
        let norm = builder.measure(at("norm1"), stream, &layer.layer_norm1)?;
        if i == 1 {
            builder.see(stream.view("vision.layer0_out", room.pictures));
        }
        let qkv = layer.qkv_proj.after(&stream.x, rows, &room.qkv, qkv_step);
        let norm = Some(norm);
        builder.product(at("qkv"), &Product { norm, ..qkv })?;
        builder.attend(at("attention"), &self.attention(room))?;
        builder.add(at("out"), &layer.out_proj, &room.attended, stream)?;
        let norm = builder.measure(at("norm2"), stream, &layer.layer_norm2)?;
        let fc1 = Product {
            norm: Some(norm),
            finish: Finish::Gelu,
            ..layer.fc1.after(&stream.x, rows, &room.inner, inner_step)
        };
        builder.product(at("fc1"), &fc1)?;
        builder.add(at("fc2"), &layer.fc2, &room.inner, stream)
    }

    fn attention(&self, room: &Room) -> Attention {
        let (heads, width) = (self.sizes.num_heads, self.sizes.hidden_size);
        let (head_dim, row) = (width / heads, step_of(3 * width));
        let at = |base: usize| Heads {
            base,
            row,
            head: head_dim,
            picture: room.patches * row,
        };
        Attention {
            pictures: room.pictures,
            heads,
            group: 1,
            head_dim,
            queries: room.patches,
            keys: room.patches,
            hidden: 0,
            scale: 1.0 / (head_dim as f64).sqrt(),
            q: room.qkv.clone(),
            q_heads: at(0),
            k: room.qkv.clone(),
            v: room.qkv.clone(),
            kv_heads: at(width),
            v_base: 2 * width,
            out: room.attended.clone(),
            out_row: step_of(width),
        }
    }

    /// The last norm, and the product that joins neighbouring patches while it reads them.
    fn connect(
        &self,
        builder: &mut Builder<'_>,
        stream: &mut Stream,
        room: &Room,
        features: &Features,
        side: usize,
    ) -> Result<()> {
        let norm = &self.weights.post_layernorm;
        builder.normalize("vision.post_norm", stream, norm, &room.normed)?;
        if self.weights.layers.len() == 1 {
            builder.see(stream.view("vision.layer0_out", room.pictures));
        }
        let shape = vec![room.pictures, room.patches, stream.width];
        let view = View::rows(
            "vision.last_hidden_state",
            shape,
            &room.normed,
            stream.step(),
        );
        builder.see(view);
        let tokens = room.patches / (self.scale_factor * self.scale_factor);
        let base = room.first * tokens * features.row_step;
        let linear = &self.weights.connector;
        let product = Product {
            layout: Layout::Shuffled {
                side,
                factor: self.scale_factor,
                width: stream.width,
                step: stream.step(),
            },
            out_base: base,
            split: Split::Inputs {
                parts: features.parts,
                step: features.part_step,
            },
            ..linear.after(
                &room.normed,
                room.pictures * tokens,
                &features.values,
                features.row_step,
            )
        };
        builder.product("vision.connector", &product)?;
        let shape = vec![room.pictures, tokens, self.hidden_size];
        let values = features.values.rest(base);
        let view = View::rows("vision.connector", shape, &values, features.row_step);
        builder.see(view.in_parts(features.parts, features.part_step));
        Ok(())
    }
}

#[cfg(test)]
mod tests;
