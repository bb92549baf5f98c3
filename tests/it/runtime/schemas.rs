//! Validation of a server's responses against its `/openapi.json`.

use std::{
    collections::{BTreeSet, HashMap},
    sync::{Arc, Mutex},
};

use jsonschema::Validator;
use serde_json::{Value, json};

use super::client::HttpResponse;

/// The `OpenAPI` document of a server.
#[derive(Debug)]
pub(crate) struct Schemas {
    document: Value,
    /// Compiled schemas. Compiling takes longer than validating a response.
    read: Mutex<HashMap<String, Arc<Validator>>>,
}

impl Schemas {
    pub(crate) fn new(document: Value) -> Self {
        let version = document["openapi"].as_str().unwrap_or_default();
        // Since OpenAPI 3.1, schemas are JSON Schema, which responses are validated against.
        assert!(version.starts_with("3.1"), "openapi `{version}`");
        assert!(document["info"]["title"].is_string() && document["info"]["version"].is_string(), "{document}");
        Self { document, read: Mutex::default() }
    }

    pub(crate) fn document(&self) -> &Value {
        &self.document
    }

    /// Returns all routes, as `METHOD path`.
    pub(crate) fn routes(&self) -> BTreeSet<String> {
        let paths = self.document["paths"].as_object().unwrap().iter();
        paths
            .flat_map(|(path, methods)| {
                methods.as_object().unwrap().keys().map(move |method| format!("{} {path}", method.to_ascii_uppercase()))
            })
            .collect()
    }

    /// Returns the path template that matches a path.
    fn template(&self, path: &str) -> Option<&str> {
        let path = path.split('?').next().unwrap();
        let fits = |template: &str| {
            let (mut parts, mut wanted) = (path.split('/'), template.split('/'));
            loop {
                match (parts.next(), wanted.next()) {
                    (None, None) => return true,
                    (Some(part), Some(wanted)) if part == wanted || wanted.starts_with('{') => {}
                    _ => return false,
                }
            }
        };
        self.document["paths"].as_object().unwrap().keys().map(String::as_str).find(|template| fits(template))
    }

    /// Returns a JSON pointer to the schema of a response.
    fn answer(&self, method: &str, path: &str, status: u16) -> Option<String> {
        let template = self.template(path)?;
        let operation = self.document["paths"][template].get(method.to_ascii_lowercase())?;
        let answer = operation["responses"].get(status.to_string());
        assert!(answer.is_some(), "openapi.json has no response {status} for {method} {template}");
        let escaped = template.replace('~', "~0").replace('/', "~1");
        let mut location = format!("/paths/{escaped}/{}/responses/{status}", method.to_ascii_lowercase());
        // A response may refer to one that several routes share.
        if let Some(shared) = answer.and_then(|answer| answer["$ref"].as_str()) {
            shared.trim_start_matches('#').clone_into(&mut location);
        }
        location += "/content/application~1json/schema";
        self.document.pointer(&location).map(|_| location)
    }

    /// Fails unless a response matches the document.
    #[track_caller]
    pub(crate) fn check(&self, method: &str, path: &str, reply: &HttpResponse) {
        let schema = self.answer(method, path, reply.status);
        if reply.header("content-type") != Some("application/json") {
            assert!(schema.is_none(), "{method} {path} must return JSON: {reply:?}");
            return;
        }
        let body: Value = serde_json::from_str(&reply.body).unwrap_or_else(|_| panic!("not JSON: {reply:?}"));
        let Some(location) = schema else {
            // Unknown routes, and responses that a library produces.
            let known = self
                .template(path)
                .is_some_and(|known| self.document["paths"][known].get(method.to_ascii_lowercase()).is_some());
            assert!(
                !known || ["/mcp", "/openapi.json"].contains(&path),
                "openapi.json has no schema for {reply:?} of {method} {path}"
            );
            assert!(path == "/mcp" || body["detail"].is_string(), "an error needs `detail`: {reply:?}");
            return;
        };
        let validator = self.validator(&location);
        let problems: Vec<_> = validator.iter_errors(&body).map(|error| error.to_string()).collect();
        assert!(problems.is_empty(), "{method} {path} {}: {problems:?}: {body}", reply.status);
    }

    fn validator(&self, location: &str) -> Arc<Validator> {
        let mut read = self.read.lock().unwrap();
        let known = read.entry(location.to_owned()).or_insert_with(|| {
            let mut schema = self.document.clone();
            // A reference is a URI.
            schema["$ref"] = json!(format!("#{}", location.replace('{', "%7B").replace('}', "%7D")));
            Arc::new(jsonschema::validator_for(&schema).unwrap_or_else(|error| panic!("{location}: {error}")))
        });
        Arc::clone(known)
    }
}
