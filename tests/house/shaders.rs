//! Every shader is valid WGSL as it stands and is loaded by `gpu/shaders.rs`: pipelines compile late, and this is sooner.

use naga::front::wgsl;
use naga::valid::{Capabilities, ValidationFlags, Validator};

use crate::files::House;
use crate::report::Violation;

const RULE: &str = "shader";

pub fn check(house: &House) -> Vec<Violation> {
    let loader = house
        .rust("src/gpu/shaders.rs")
        .map_or("", |file| file.code.uncommented.as_str());
    house
        .shaders
        .iter()
        .flat_map(|(path, text)| {
            let invalid = validate(path, text).err();
            let unused = (!loader.contains(path.as_str()))
                .then(|| "gpu/shaders.rs does not load it: load it or delete it".to_owned());
            [invalid, unused]
                .into_iter()
                .flatten()
                .map(|why| Violation {
                    file: path.clone(),
                    line: None,
                    rule: RULE,
                    why,
                })
        })
        .collect()
}

fn validate(path: &str, text: &str) -> Result<(), String> {
    let module = wgsl::parse_str(text).map_err(|why| why.emit_to_string_with_path(text, path))?;
    Validator::new(ValidationFlags::all(), Capabilities::all())
        .validate(&module)
        .map(drop)
        .map_err(|why| why.emit_to_string_with_path(text, path))
}

#[test]
fn invalid_and_unused_shaders_are_named() {
    let mut house = House::of(&[(
        "src/gpu/shaders.rs",
        "include_str!(\"../../shaders/good.wgsl\"); // shaders/lone.wgsl",
    )]);
    let shader = |name: &str, text: &str| (format!("shaders/{name}.wgsl"), text.to_owned());
    house.shaders = vec![
        shader(
            "good",
            "@fragment fn f() -> @location(0) vec4f { return vec4f(1.0); }",
        ),
        shader("lone", "fn f() -> f32 { return 1.0; }"),
    ];
    let said = |house: &House| {
        check(house)
            .iter()
            .map(ToString::to_string)
            .collect::<Vec<_>>()
    };
    let lone = said(&house);
    assert_eq!(lone.len(), 1, "{lone:?}");
    assert!(lone[0].starts_with("shaders/lone.wgsl [shader] gpu/shaders.rs does not load it"));
    for wrong in [
        "fn f( {",
        "fn f() -> f32 { return 1u; }",
        "let {{ width }} = 1;",
    ] {
        house.shaders = vec![shader("good", wrong)];
        assert_eq!(said(&house).len(), 1, "{wrong}");
    }
}
