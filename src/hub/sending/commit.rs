//! The commit that makes all files of a shipment appear at once, and the tag that names it.

use std::io;

use base64::Engine as _;
use serde_json::{Value, json};

use super::wire::Wire;
use super::{Content, Shipment, Weighed, api};
use crate::hub::{Error, Hub, HubId};

/// Commits small files by their content, large ones by their hash.
pub fn commit(
    hub: &Hub,
    wire: &Wire<'_>,
    id: &HubId,
    shipment: &Shipment,
    weighed: &[Weighed],
) -> Result<(), Error> {
    let mut lines = vec![entry(
        "header",
        json!({ "summary": shipment.message, "description": "" }),
    )];
    for one in weighed {
        let path = &one.parcel.path;
        lines.push(if one.is_large {
            let stored =
                json!({ "path": path, "algo": "sha256", "oid": one.oid, "size": one.size });
            entry("lfsFile", stored)
        } else {
            let bytes = content(one).map_err(|err| match &one.parcel.content {
                Content::File(file) => Error::unreadable(id, file, &err),
                Content::Text(_) => Error::nonsense(id, &err),
            })?;
            let text = base64::engine::general_purpose::STANDARD.encode(bytes);
            entry(
                "file",
                json!({ "path": path, "content": text, "encoding": "base64" }),
            )
        });
    }
    for path in &shipment.removed {
        lines.push(entry("deletedFile", json!({ "path": path })));
    }
    let url = api(hub, id, &format!("commit/{}", id.repo().url_revision()));
    let body = lines.join("\n");
    let answer = wire.post_as(&url, "application/x-ndjson", &[], body.as_bytes())?;
    wire.accept(answer).map(drop)
}

/// One line of a commit.
#[expect(clippy::needless_pass_by_value, reason = "it is made for this")]
fn entry(key: &str, value: Value) -> String {
    json!({ "key": key, "value": value }).to_string()
}

fn content(one: &Weighed) -> io::Result<Vec<u8>> {
    match &one.parcel.content {
        Content::File(path) => std::fs::read(path),
        Content::Text(text) => Ok(text.clone().into_bytes()),
    }
}

/// Names the newest commit; LeRobot finds a data set by the tag of its format.
pub fn tag(hub: &Hub, wire: &Wire<'_>, id: &HubId, tag: &str) -> Result<(), Error> {
    let make = api(hub, id, &format!("tag/{}", id.repo().url_revision()));
    let named = json!({ "tag": tag });
    let answer = wire.post(&make, &named)?;
    if answer.status != 409 {
        return wire.accept(answer).map(drop);
    }
    // The name is in use for an earlier commit.
    wire.accept(wire.delete(&api(hub, id, &format!("tag/{tag}")))?)?;
    wire.accept(wire.post(&make, &named)?).map(drop)
}
