//! Every endpoint: the one table from which the routes and the OpenAPI document are made.

use std::sync::OnceLock;

use super::call::{Call, Reply};
use super::problem::Problem;
use super::token::Role;
use super::{boards, openapi, stream, tasks, workflows};
use crate::engine::Command;
use crate::tools::Shape;

/// The methods in use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Method {
    /// Looks.
    Get,
    /// Makes or changes.
    Post,
    /// Changes fields.
    Patch,
    /// Hides.
    Delete,
}

impl Method {
    /// The method in small letters.
    pub fn as_str(self) -> &'static str {
        match self {
            Method::Get => "get",
            Method::Post => "post",
            Method::Patch => "patch",
            Method::Delete => "delete",
        }
    }
}

/// What a body may be.
#[derive(Clone, Copy)]
pub enum Body {
    /// There is none; what is sent is not read.
    None,
    /// A JSON object of this shape. Where the shape needs no field, the body may be left out.
    Object(&'static Shape),
    /// The definition of a workflow, JSON or YAML.
    Definition,
}

/// What is done.
#[derive(Clone, Copy)]
pub enum Does {
    /// Looks, and answers.
    Look(fn(&Call) -> Result<Reply, Problem>),
    /// Gives the one command that is carried out; its outcome is the answer.
    Change(fn(&Call) -> Result<Command, Problem>),
    /// Follows the events.
    Follow,
}

/// What the answer is, in the document's words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answer {
    /// An object of this schema.
    One(&'static str),
    /// A list of such.
    List(&'static str),
    /// Bytes.
    Bytes,
    /// A stream of events.
    Stream,
}

/// One endpoint.
#[derive(Clone, Copy)]
pub struct Endpoint {
    /// The method.
    pub method: Method,
    /// The path under the prefix.
    pub path: &'static str,
    /// Its name, for generated clients.
    pub id: &'static str,
    /// What it does.
    pub about: &'static str,
    /// The query's fields.
    pub query: &'static Shape,
    /// The body.
    pub body: Body,
    /// The status of a full success.
    pub status: u16,
    /// What is answered.
    pub answer: Answer,
    /// Which further refusals there are, beside those of every endpoint of its kind.
    pub refusals: &'static [u16],
    /// What is done.
    pub does: Does,
}

impl Endpoint {
    /// Who may call it.
    pub fn role(&self) -> Role {
        match self.method {
            Method::Get => Role::Read,
            _ => Role::Admin,
        }
    }

    /// Whether it changes something.
    pub fn is_write(&self) -> bool {
        self.method != Method::Get
    }

    /// The names of the parts of its path that vary.
    pub fn params(&self) -> impl Iterator<Item = &'static str> {
        self.path.split('/').filter_map(|part| part.strip_prefix('{')?.strip_suffix('}'))
    }
}

/// All endpoints.
pub fn endpoints() -> &'static [Endpoint] {
    static ALL: OnceLock<Vec<Endpoint>> = OnceLock::new();
    ALL.get_or_init(|| {
        [tasks::ENDPOINTS, workflows::ENDPOINTS, boards::ENDPOINTS, &[stream::ENDPOINT, openapi::ENDPOINT]]
            .concat()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn no_endpoint_is_there_twice() {
        let names: BTreeSet<&str> = endpoints().iter().map(|endpoint| endpoint.id).collect();
        let paths: BTreeSet<(&str, &str)> =
            endpoints().iter().map(|endpoint| (endpoint.path, endpoint.method.as_str())).collect();
        assert_eq!((names.len(), paths.len()), (endpoints().len(), endpoints().len()));
    }
}
