//! Who may do what, from a roles file.

use std::collections::{HashMap, HashSet};
use std::path::Path;
use std::sync::Arc;

use portico_krm::yaml::Lined;
use schemars::JsonSchema;
use serde::Deserialize;

use super::{Attributes, Authorizer, Identity};
use crate::config::{ConfigError, Header, nearest, read_bytes, read_document};

/// Verbs that mean something.
const VERBS: [&str; 10] =
    ["get", "list", "watch", "create", "update", "patch", "delete", "deletecollection", "post", "*"];

/// Stands for everything.
const ALL: &str = "*";

/// The file, as it is written.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(
    deny_unknown_fields,
    rename_all = "camelCase",
    expecting = "a mapping with `apiVersion`, `kind`, `roles`, `bindings`"
)]
pub(crate) struct RolesFile {
    /// `portico.dev/v1alpha1`
    api_version: String,
    /// `Roles`
    kind: String,
    /// What somebody may do.
    #[schemars(with = "Vec<RoleFields>")]
    roles: Vec<Lined<RoleFields>>,
    /// Who may do it, and where.
    #[schemars(with = "Vec<BindingFields>")]
    bindings: Vec<Lined<BindingFields>>,
}

/// A role.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase", expecting = "a mapping with `name` and `rules`")]
struct RoleFields {
    /// Its name, for bindings.
    name: String,
    /// What is allowed; nothing else is.
    #[schemars(with = "Vec<RuleFields>")]
    rules: Vec<Lined<RuleFields>>,
}

/// A rule: verbs on resources, or on paths that are no resources.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(
    deny_unknown_fields,
    default,
    rename_all = "camelCase",
    expecting = "a mapping with `verbs` and `resources` or `paths`"
)]
struct RuleFields {
    /// `get`, `list`, `watch`, `create`, `update`, `patch`, `delete`, `deletecollection`; `*` for all.
    verbs: Vec<String>,
    /// API groups, `""` for the core; without this field all of them.
    groups: Vec<String>,
    /// `packagerevisions`, `packagerevisions/log`, `packagerevisions/*`; `*` for all with all their subresources.
    resources: Vec<String>,
    /// `/metrics`, `/ui/*`; a star at the end stands for any rest.
    paths: Vec<String>,
}

/// A binding.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(
    deny_unknown_fields,
    default,
    rename_all = "camelCase",
    expecting = "a mapping with `role`, `users`, `groups`, `namespaces`"
)]
struct BindingFields {
    /// The role's name.
    role: String,
    /// Users who have it.
    users: Vec<String>,
    /// Groups whose members have it.
    groups: Vec<String>,
    /// The namespaces in which they have it; `*` for all, and for requests about all at once. Paths have none.
    namespaces: Vec<String>,
}

/// A rule, as it is asked.
#[derive(Debug)]
struct Rule {
    verbs: Vec<String>,
    groups: Vec<String>,
    resources: Vec<String>,
    paths: Vec<String>,
}

/// A role, somewhere.
#[derive(Debug, Clone)]
struct Grant {
    rules: Arc<Vec<Rule>>,
    namespaces: Arc<HashSet<String>>,
}

/// Who may do what. What no rule allows is forbidden.
#[derive(Debug, Default)]
pub struct Roles {
    users: HashMap<String, Vec<Grant>>,
    groups: HashMap<String, Vec<Grant>>,
}

impl Roles {
    /// Reads the file.
    pub fn load(path: &Path) -> Result<Self, ConfigError> {
        Self::read(&path.display().to_string(), &read_bytes(path)?)
    }

    /// Reads the file's text; `path` is how messages name it.
    pub fn read(path: &str, bytes: &[u8]) -> Result<Self, ConfigError> {
        let Some(file) = read_document::<RolesFile>(path, bytes)? else {
            return Err(Header::missing(path, "Roles"));
        };
        Header::check(path, "Roles", &file.api_version, &file.kind)?;
        let mut by_name: HashMap<String, Arc<Vec<Rule>>> = HashMap::new();
        for Lined { line, value } in file.roles {
            let RoleFields { name, rules } = value;
            let rules: Result<Vec<Rule>, ConfigError> =
                rules.into_iter().map(|rule| rule.value.rule(path, rule.line)).collect();
            if by_name.insert(name.clone(), Arc::new(rules?)).is_some() {
                return Err(wrong(path, line, format!("there are two roles called `{name}`")));
            }
        }
        let mut roles = Self::default();
        for Lined { line, value } in file.bindings {
            let BindingFields { role, users, groups, namespaces } = value;
            let Some(rules) = by_name.get(&role) else {
                let near = nearest(&role, by_name.keys().map(String::as_str));
                let near = near.map(|near| format!("; did you mean `{near}`?")).unwrap_or_default();
                return Err(wrong(path, line, format!("there is no role `{role}`{near}")));
            };
            if users.is_empty() && groups.is_empty() {
                return Err(wrong(path, line, "name the `users` or `groups` that have this role".into()));
            }
            if namespaces.is_empty() && rules.iter().any(|rule| !rule.resources.is_empty()) {
                let text = "name the `namespaces` in which they have this role; `[\"*\"]` is all of them";
                return Err(wrong(path, line, text.into()));
            }
            let grant = Grant { rules: Arc::clone(rules), namespaces: Arc::new(namespaces.into_iter().collect()) };
            for user in users {
                roles.users.entry(user).or_default().push(grant.clone());
            }
            for group in groups {
                roles.groups.entry(group).or_default().push(grant.clone());
            }
        }
        Ok(roles)
    }
}

fn wrong(path: &str, line: u32, text: String) -> ConfigError {
    ConfigError::Field { path: path.to_owned(), line, text }
}

impl RuleFields {
    fn rule(self, path: &str, line: u32) -> Result<Rule, ConfigError> {
        let Self { verbs, groups, resources, paths } = self;
        let wrong = |text: String| Err(wrong(path, line, text));
        if verbs.is_empty() || resources.is_empty() == paths.is_empty() {
            return wrong("a rule has `verbs`, and either `resources` or `paths`".into());
        }
        if let Some(verb) = verbs.iter().find(|verb| !VERBS.contains(&verb.as_str())) {
            return wrong(format!("there is no verb `{verb}`; there are: {}", VERBS.join(", ")));
        }
        if let Some(path) = paths.iter().find(|path| !path.starts_with('/') && *path != ALL) {
            return wrong(format!("the path `{path}` does not begin with `/`"));
        }
        if !paths.is_empty() && !groups.is_empty() {
            return wrong("paths have no `groups`; those that are no paths go into a rule with `resources`".into());
        }
        if let Some(star) = resources.iter().chain(&paths).find(|text| text[..text.len().max(1) - 1].contains('*')) {
            return wrong(format!("`{star}`: a star stands at the end, for all the rest"));
        }
        Ok(Rule { verbs, groups, resources, paths })
    }
}

impl Rule {
    fn allows(&self, what: &Attributes<'_>) -> bool {
        let named = |list: &[String], name: &str| list.iter().any(|known| known == ALL || known == name);
        if !named(&self.verbs, what.verb) {
            return false;
        }
        if what.resource.starts_with('/') {
            return self.paths.iter().any(|path| match path.strip_suffix('*') {
                Some(start) => what.resource.starts_with(start),
                None => path == what.resource,
            });
        }
        (self.groups.is_empty() || named(&self.groups, what.group))
            && self.resources.iter().any(|known| match known.split_once('/') {
                _ if known == ALL => true,
                None => known == what.resource && what.subresource.is_empty(),
                Some((resource, subresource)) => {
                    resource == what.resource
                        && !what.subresource.is_empty()
                        && (subresource == ALL || subresource == what.subresource)
                }
            })
    }
}

impl Grant {
    fn allows(&self, what: &Attributes<'_>) -> bool {
        let here = what.resource.starts_with('/')
            || self.namespaces.contains(ALL)
            || (!what.namespace.is_empty() && self.namespaces.contains(what.namespace));
        here && self.rules.iter().any(|rule| rule.allows(what))
    }
}

impl Authorizer for Roles {
    fn allows(&self, who: &Identity, what: &Attributes<'_>) -> Result<(), String> {
        let of_user = self.users.get(&*who.user).into_iter();
        let of_groups = who.groups.iter().filter_map(|group| self.groups.get(group));
        if of_user.chain(of_groups).flatten().any(|grant| grant.allows(what)) {
            return Ok(());
        }
        Err("no role allows it".to_owned())
    }
}

#[cfg(test)]
#[path = "roles_tests.rs"]
mod tests;
