//! What the launches of one shader share: the uniforms of equal ones, and what stands in for memory that they do not touch.

use bytemuck::Pod;

use crate::gpu::compute::{Buffer, Compute, Slice};

/// Uniforms `P` of one shader.
#[derive(Debug)]
pub struct Launches<P> {
    compute: Compute,
    uniforms: Vec<(P, Buffer)>,
    /// Stand in for what a launch does not read or write.
    unread: Buffer,
    unwritten: Buffer,
}

impl<P: Pod + PartialEq> Launches<P> {
    pub fn new(compute: &Compute) -> Self {
        Self {
            compute: compute.clone(),
            uniforms: Vec::new(),
            unread: compute.buffer("nothing to read", 4),
            unwritten: compute.buffer("nothing to write", 4),
        }
    }

    /// Where the kernels run.
    pub fn compute(&self) -> &Compute {
        &self.compute
    }

    /// A uniform that holds `params`.
    pub fn uniform(&mut self, params: P) -> Slice {
        let known = self.uniforms.iter().find(|(known, _)| *known == params);
        if let Some((_, buffer)) = known {
            return buffer.whole();
        }
        let buffer = self.compute.uniform("parameters of a kernel", &[params]);
        let slice = buffer.whole();
        self.uniforms.push((params, buffer));
        slice
    }

    /// `slice`, or a word that nobody reads.
    pub fn or_unread(&self, slice: Option<&Slice>) -> Slice {
        slice.cloned().unwrap_or_else(|| self.unread.whole())
    }

    /// `slice`, or a word that nobody writes.
    pub fn or_unwritten(&self, slice: Option<&Slice>) -> Slice {
        slice.cloned().unwrap_or_else(|| self.unwritten.whole())
    }
}
