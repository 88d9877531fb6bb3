//! The one place that names the `.wgsl` files, so that each is loaded, labelled and checked in the same way.

/// A shader file of `/shaders`, valid WGSL as it stands.
#[derive(Clone, Copy, Debug)]
pub struct Shader {
    /// Path below `/shaders`.
    pub name: &'static str,
    pub source: &'static str,
    /// Written for adapters on which exactly eight threads run in step; only in a file that has such a variant.
    pub eights: bool,
}

impl Shader {
    /// Compiles the file on `device`, under its own name.
    pub fn module(&self, device: &wgpu::Device) -> wgpu::ShaderModule {
        device.create_shader_module(wgpu::ShaderModuleDescriptor {
            label: Some(self.name),
            source: wgpu::ShaderSource::Wgsl(self.text().into()),
        })
    }

    /// The same file with its workgroup tiles in half precision.
    pub fn half_module(&self, device: &wgpu::Device) -> wgpu::ShaderModule {
        device.create_shader_module(wgpu::ShaderModuleDescriptor {
            label: Some(self.name),
            source: wgpu::ShaderSource::Wgsl(self.half_source().into()),
        })
    }

    /// A file that can compute in half precision says `alias real = f32;` once; here it becomes f16.
    pub fn half_source(&self) -> String {
        format!(
            "enable f16;\n{}",
            self.text().replace(REAL, "alias real = f16;")
        )
    }

    /// The same file for adapters on which exactly eight threads run in step: what its function `handed` reads from memory, they hand
    /// to each other.
    #[must_use]
    pub fn in_eights(self) -> Self {
        Self {
            eights: true,
            ..self
        }
    }

    /// The file as it is compiled.
    fn text(&self) -> String {
        if self.eights {
            let (before, after) = self.source.split_once(HANDED).unwrap_or((self.source, ""));
            let rest = after.split_once('}').map_or("", |(_, rest)| rest);
            format!("{before}{HANDED}    return subgroupShuffle(own, row);\n}}{rest}")
        } else {
            self.source.to_owned()
        }
    }

    /// Whether the file has a half-precision variant.
    pub fn has_half(&self) -> bool {
        self.source.contains(REAL)
    }
}

/// The head of the function that fetches a row for eight threads.
const HANDED: &str = "fn handed(own: vec4<f32>, at: u32, row: u32) -> vec4<f32> {\n";

/// The line that names the type of workgroup tiles.
const REAL: &str = "alias real = f32;";

/// The arm, its table, the cubes, the ghost and the ribbons.
pub const SCENE: Shader = Shader {
    name: "scene.wgsl",
    source: include_str!("../../shaders/scene.wgsl"),
    eights: false,
};

/// Products with few rows: the action expert.
pub const SKINNY: Shader = Shader {
    name: "skinny.wgsl",
    source: include_str!("../../shaders/skinny.wgsl"),
    eights: false,
};

/// The actions' attention over the prefix and themselves.
pub const ATTENTION_SUFFIX: Shader = Shader {
    name: "attention_suffix.wgsl",
    source: include_str!("../../shaders/attention_suffix.wgsl"),
    eights: false,
};

/// Products with many rows: vision tower, connector and prefix.
pub const MATMUL: Shader = Shader {
    name: "matmul.wgsl",
    source: include_str!("../../shaders/matmul.wgsl"),
    eights: false,
};

/// Attention over whole sequences: vision tower and prefix.
pub const ATTENTION: Shader = Shader {
    name: "attention.wgsl",
    source: include_str!("../../shaders/attention.wgsl"),
    eights: false,
};

/// Means and deviations of rows.
pub const NORM: Shader = Shader {
    name: "norm.wgsl",
    source: include_str!("../../shaders/norm.wgsl"),
    eights: false,
};

/// The layout of what the VLM reads.
pub const PREFIX: Shader = Shader {
    name: "prefix.wgsl",
    source: include_str!("../../shaders/prefix.wgsl"),
    eights: false,
};

/// Every shader of the house.
pub const ALL: &[Shader] = &[
    SCENE,
    SKINNY,
    ATTENTION_SUFFIX,
    MATMUL,
    ATTENTION,
    NORM,
    PREFIX,
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_shader_is_valid_as_it_stands() {
        for shader in ALL {
            validate(shader.name, shader.source);
            if shader.has_half() {
                validate(shader.name, &shader.half_source());
            }
            if shader.source.contains("fn handed(") {
                let eights = shader.in_eights();
                validate(shader.name, &eights.text());
                validate(shader.name, &eights.half_source());
                rewritten(
                    shader.source,
                    &eights.text(),
                    "    return subgroupShuffle(own, row);",
                );
            }
            if shader.source.contains("alias real") {
                let half = shader.half_source();
                let half = half.strip_prefix("enable f16;\n").unwrap();
                rewritten(shader.source, half, "alias real = f16;");
            }
        }
    }

    /// One line of the file is another in its variant, and nothing else: a head that was written otherwise would go unfound.
    fn rewritten(plain: &str, variant: &str, line: &str) {
        assert_eq!(plain.lines().count(), variant.lines().count());
        let lines = plain.lines().zip(variant.lines());
        let others: Vec<&str> = lines.filter(|(a, b)| a != b).map(|(_, b)| b).collect();
        assert_eq!(others, [line]);
    }

    fn validate(name: &str, source: &str) {
        let module = naga::front::wgsl::parse_str(source)
            .unwrap_or_else(|e| panic!("{name}: {}", e.emit_to_string(source)));
        let mut validator = naga::valid::Validator::new(
            naga::valid::ValidationFlags::all(),
            naga::valid::Capabilities::all(),
        );
        validator
            .validate(&module)
            .unwrap_or_else(|e| panic!("{name}: {e:?}"));
    }
}
