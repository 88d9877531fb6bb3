//! One call to the hub as the person who is logged in, and what its refusals mean.

use std::io;
use std::time::Duration;

use serde_json::Value;
use ureq::http::{HeaderMap, Response};
use ureq::{Agent, Body, SendBody};

use crate::hub::{Error, HubId, PATIENCE};

/// The longest answer that is read, bytes.
const LONGEST_ANSWER: u64 = 64 << 20;

/// The way to the hub.
pub struct Wire<'a> {
    id: &'a HubId,
    token: &'a str,
    agent: Agent,
    silence: Duration,
}

/// What came back.
pub struct Answer {
    pub status: u16,
    pub headers: HeaderMap,
    pub body: Vec<u8>,
}

impl Answer {
    /// A header's text.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }
}

impl<'a> Wire<'a> {
    pub fn new(id: &'a HubId, token: &'a str, silence: Duration) -> Self {
        let config = Agent::config_builder()
            .http_status_as_error(false)
            .timeout_connect(Some(PATIENCE))
            .timeout_recv_response(Some(silence))
            .timeout_per_write(Some(silence))
            .build();
        Self {
            id,
            token,
            agent: config.into(),
            silence,
        }
    }

    /// Posts JSON.
    ///
    /// # Errors
    /// The hub is not reached; what it says is for the caller.
    pub fn post(&self, url: &str, body: &Value) -> Result<Answer, Error> {
        self.post_as(url, "application/json", &[], body.to_string().as_bytes())
    }

    /// Posts anything.
    ///
    /// # Errors
    /// As [`Wire::post`].
    pub fn post_as(
        &self,
        url: &str,
        kind: &str,
        headers: &[(&str, &str)],
        body: &[u8],
    ) -> Result<Answer, Error> {
        let mut request = self
            .agent
            .post(url)
            .header("Authorization", format!("Bearer {}", self.token))
            .header("Content-Type", kind);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        self.answer(request.send(body))
    }

    /// Deletes what is at an address.
    ///
    /// # Errors
    /// As [`Wire::post`].
    pub fn delete(&self, url: &str) -> Result<Answer, Error> {
        let request = self.agent.delete(url);
        let request = request.header("Authorization", format!("Bearer {}", self.token));
        self.answer(request.call())
    }

    /// Puts bytes where a signed address says: the token goes to nobody but the hub.
    ///
    /// # Errors
    /// As [`Wire::post`], or the bytes cannot be read.
    pub fn put(&self, url: &str, bytes: &mut dyn io::Read, size: u64) -> Result<Answer, Error> {
        let request = self
            .agent
            .put(url)
            .header("Content-Length", size.to_string());
        self.answer(request.send(SendBody::from_reader(bytes)))
    }

    /// Posts JSON to a signed address.
    ///
    /// # Errors
    /// As [`Wire::post`].
    pub fn post_signed(&self, url: &str, kind: &str, body: &Value) -> Result<Answer, Error> {
        let request = self
            .agent
            .post(url)
            .header("Accept", kind)
            .header("Content-Type", kind);
        self.answer(request.send(body.to_string().as_bytes()))
    }

    /// The answer, unless the hub refuses.
    ///
    /// # Errors
    /// What the hub's status means.
    pub fn accept(&self, answer: Answer) -> Result<Answer, Error> {
        let id = self.id.to_string();
        match answer.status {
            200..=299 => Ok(answer),
            401 => Err(Error::Unauthorized { id }),
            403 => Err(Error::NotYours {
                id,
                why: reason(&answer),
            }),
            status if status >= 500 => Err(Error::Trouble { id, status }),
            status => Err(Error::Refused {
                id,
                status,
                why: reason(&answer),
            }),
        }
    }

    /// The JSON of an answer, unless the hub refuses.
    ///
    /// # Errors
    /// As [`Wire::accept`], or it is no JSON.
    pub fn json(&self, answer: Answer) -> Result<Value, Error> {
        let answer = self.accept(answer)?;
        serde_json::from_slice(&answer.body).map_err(|err| Error::nonsense(self.id, &err))
    }

    fn answer(&self, answer: Result<Response<Body>, ureq::Error>) -> Result<Answer, Error> {
        let (parts, body) = answer.map_err(|err| self.fault(err))?.into_parts();
        let body = body.into_with_config().limit(LONGEST_ANSWER).read_to_vec();
        Ok(Answer {
            status: parts.status.as_u16(),
            headers: parts.headers,
            body: body.map_err(|err| self.fault(err))?,
        })
    }

    fn fault(&self, err: ureq::Error) -> Error {
        match err {
            ureq::Error::Timeout(_) => Error::Silent {
                id: self.id.to_string(),
                what: "sending the files".to_owned(),
                seconds: self.silence.as_secs(),
            },
            err => Error::from_request(self.id, "", err).sending(),
        }
    }
}

/// Why the hub refuses, in its own words.
fn reason(answer: &Answer) -> String {
    if let Some(words) = answer.header("x-error-message") {
        return words.to_owned();
    }
    let body: Value = serde_json::from_slice(&answer.body).unwrap_or_default();
    body["error"]
        .as_str()
        .unwrap_or("it gives no reason")
        .to_owned()
}
