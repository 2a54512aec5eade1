use super::*;

const TEXT: &str = "\
apiVersion: portico.dev/v1alpha1
kind: Roles
roles:
- name: author
  rules:
  - verbs: [get, list, watch, create, update, patch, delete]
    groups: [porch.kpt.dev]
    resources: [packagerevisions, packagerevisionresources, packagerevisions/log]
- name: approver
  rules:
  - verbs: ['*']
    resources: [packagerevisions/*]
- name: operator
  rules:
  - verbs: ['*']
    resources: ['*']
  - verbs: [get]
    paths: [/metrics, /ui/*]
bindings:
- role: author
  users: [ann]
  namespaces: [team-a]
- role: approver
  groups: [leads]
  namespaces: [team-a, team-b]
- role: operator
  groups: [operators]
  namespaces: ['*']
";

fn roles() -> Roles {
    Roles::read("r.yaml", TEXT.as_bytes()).expect("right")
}

fn who(user: &str, groups: &[&str]) -> Identity {
    Identity::authenticated(user, groups.iter().map(|&group| group.to_owned()).collect())
}

/// `verb namespace resource[/subresource]`.
fn may(who: &Identity, what: &str) -> bool {
    let mut words = what.split(' ');
    let mut word = || words.next().unwrap_or_default();
    let (verb, namespace, resource) = (word(), word(), word());
    let (resource, subresource) =
        if resource.starts_with('/') { (resource, "") } else { resource.split_once('/').unwrap_or((resource, "")) };
    let group = if resource == "events" { "" } else { "porch.kpt.dev" };
    let what = Attributes { verb, group, resource, subresource, namespace, name: "x" };
    roles().allows(who, &what).is_ok()
}

#[test]
fn a_role_holds_in_its_namespaces_and_for_its_resources() {
    let ann = who("ann", &[]);
    for what in [
        "get team-a packagerevisions",
        "list team-a packagerevisions",
        "watch team-a packagerevisionresources",
        "update team-a packagerevisionresources",
        "get team-a packagerevisions/log",
        "delete team-a packagerevisions",
    ] {
        assert!(may(&ann, what), "{what}");
    }
    for what in [
        // Another namespace, all of them, none.
        "get team-b packagerevisions",
        "list team-b packagerevisions",
        "watch team-b packagerevisions",
        "create team-b packagerevisions",
        "get team-b packagerevisions/log",
        "list  packagerevisions",
        // What the role does not name.
        "update team-a packagerevisions/approval",
        "create team-a packagerevisions/cancel",
        "deletecollection team-a packagerevisions",
        "list team-a events",
        "get  /metrics",
    ] {
        assert!(!may(&ann, what), "{what}");
    }
    assert!(!may(&who("bob", &[]), "get team-a packagerevisions"));
}

#[test]
fn a_star_of_a_resource_is_its_subresources_alone() {
    let lead = who("eve", &["leads"]);
    assert!(may(&lead, "update team-b packagerevisions/approval"));
    assert!(may(&lead, "create team-a packagerevisions/cancel"));
    assert!(!may(&lead, "get team-a packagerevisions"));
    assert!(!may(&lead, "update team-c packagerevisions/approval"));
    assert!(!may(&lead, "update team-a packagerevisionresources/approval"));
}

#[test]
fn an_operator_may_do_all_and_paths_are_named() {
    let op = who("root", &["operators"]);
    for what in ["list  packagerevisions", "delete any packagerevisions", "get x packagerevisions/log", "list x events"]
    {
        assert!(may(&op, what), "{what}");
    }
    assert!(may(&op, "get  /metrics") && may(&op, "get  /ui/api/queue"));
    assert!(!may(&op, "get  /other") && !may(&op, "delete  /metrics") && !may(&op, "get  /ui"));
}

#[test]
fn what_is_wrong_is_said_with_its_line() {
    for (from, to, words) in [
        ("kind: Roles", "kind: Tokens", "r.yaml: `kind` is `Tokens`"),
        ("- role: author", "- role: auhtor", "r.yaml:20: there is no role `auhtor`; did you mean `author`?"),
        ("- name: approver", "- name: author", "r.yaml:9: there are two roles called `author`"),
        ("  users: [ann]\n", "", "r.yaml:20: name the `users` or `groups`"),
        ("  namespaces: [team-a]\n", "", "r.yaml:20: name the `namespaces`"),
        ("verbs: [get, list", "verbs: [read, list", "r.yaml:6: there is no verb `read`"),
        ("[/metrics, /ui/*]", "[metrics]", "r.yaml:17: the path `metrics`"),
        ("[/metrics, /ui/*]", "[/*/x]", "r.yaml:17: `/*/x`: a star stands at the end"),
        ("    paths: [/metrics, /ui/*]\n", "", "r.yaml:17: a rule has `verbs`, and either"),
        ("  users: [ann]", "  user: [ann]", "r.yaml:21: `bindings[0]`: unknown field `user`"),
    ] {
        assert!(TEXT.contains(from), "{from}");
        let said = Roles::read("r.yaml", TEXT.replacen(from, to, 1).as_bytes()).expect_err(to).to_string();
        assert!(said.starts_with(words), "{to}: {said}");
    }
}
