//! What `deploy/` holds: packages that Portico renders, pods without rights, configurations that the server takes.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use portico_tests::cli::Place;
use portico_tests::serving::Serving;
use portico_tests::{copy_tree, portico_binary, repository};
use serde_yaml::Value;
use tempfile::TempDir;

const PACKAGES: [&str; 2] = ["portico", "function-runner"];

fn package(name: &str) -> PathBuf {
    repository().join("deploy").join(name)
}

/// Runs `portico`, and gives what it printed.
fn portico(arguments: &[&str], directory: &Path, stdin: &str) -> Result<String> {
    use std::io::Write as _;
    use std::process::{Command, Stdio};
    let mut child = Command::new(portico_binary()?)
        .args(arguments)
        .current_dir(directory)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()?;
    // What is larger than the pipe would block, and these are not.
    child.stdin.take().context("a pipe")?.write_all(stdin.as_bytes())?;
    let output = child.wait_with_output()?;
    let said = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "`portico {}`: {}\n{said}", arguments.join(" "), output.status);
    Ok(String::from_utf8(output.stdout)?)
}

/// The objects that the README's commands send to the cluster.
fn objects(directory: &Path) -> Result<Vec<Value>> {
    let list = portico(&["source", "."], directory, "")?;
    let arguments = ["eval", "-", "--image", "remove-local-config-resources", "-o", "unwrap"];
    let documents = portico(&arguments, directory, &list)?;
    let objects: Result<Vec<Value>, _> = documents.split("\n---\n").map(serde_yaml::from_str).collect();
    Ok(objects?)
}

/// The value at a path, or nothing.
fn at<'v>(value: &'v Value, path: &[&str]) -> &'v Value {
    const NOTHING: &Value = &Value::Null;
    path.iter().fold(value, |value, key| value.get(*key).unwrap_or(NOTHING))
}

fn text<'v>(value: &'v Value, path: &[&str]) -> &'v str {
    at(value, path).as_str().unwrap_or_default()
}

fn items<'v>(value: &'v Value, path: &[&str]) -> &'v [Value] {
    at(value, path).as_sequence().map(Vec::as_slice).unwrap_or_default()
}

fn of_kind<'v>(objects: &'v [Value], kind: &'v str) -> impl Iterator<Item = &'v Value> {
    objects.iter().filter(move |object| text(object, &["kind"]) == kind)
}

#[test]
fn the_packages_are_rendered_as_they_stand() -> Result<()> {
    for name in PACKAGES {
        portico(&["render", "--check"], &package(name), "").context(name)?;
    }
    Ok(())
}

/// The setters reach what they are for, and objects that are none are found out.
#[test]
fn the_packages_are_rendered_with_other_settings() -> Result<()> {
    for name in PACKAGES {
        let place = tempfile::tempdir()?;
        let directory = place.path().join(name);
        copy_tree(&package(name), &directory)?;
        let change = |file: &str, from: &str, to: &str| -> Result<()> {
            let text = std::fs::read_to_string(directory.join(file))?;
            ensure!(text.contains(from), "`{name}/{file}` has no `{from}`");
            Ok(std::fs::write(directory.join(file), text.replace(from, to))?)
        };
        change("setters.yaml", "image: registry.example.com/portico:v0.1.0", "image: other.example.com/p:v9")?;
        change("setters.yaml", "cpu: ", "cpu: \"7\" # ")?;
        let namespace = if name == "portico" { "portico-system" } else { "porch-system" };
        change("Kptfile", &format!("namespace: {namespace}"), "namespace: elsewhere")?;
        portico(&["render"], &directory, "").context(name)?;
        let objects = objects(&directory)?;
        let deployment = of_kind(&objects, "Deployment").next().context("a Deployment")?;
        let container = &items(deployment, &["spec", "template", "spec", "containers"])[0];
        assert_eq!(text(container, &["image"]), "other.example.com/p:v9", "{name}");
        assert_eq!(text(container, &["resources", "requests", "cpu"]), "7", "{name}");
        for object in objects.iter().filter(|object| text(object, &["kind"]) != "Namespace") {
            assert_eq!(text(object, &["metadata", "namespace"]), "elsewhere", "{object:?}");
        }

        change("service.yaml", "port: ", "prot: ")?;
        let refused = portico(&["render"], &directory, "").expect_err("no Service").to_string();
        assert!(refused.contains("missing property 'port'"), "{refused}");
    }
    Ok(())
}

/// Nothing that runs may do anything in the cluster, nor as root, nor to its own image.
#[test]
fn pods_have_no_rights() -> Result<()> {
    for name in PACKAGES {
        let objects = objects(&package(name))?;
        for binding in of_kind(&objects, "RoleBinding").chain(of_kind(&objects, "ClusterRoleBinding")) {
            for subject in items(binding, &["subjects"]) {
                assert_eq!(text(subject, &["kind"]), "Group", "{name}: rights are for people");
            }
        }
        for role in of_kind(&objects, "Role").chain(of_kind(&objects, "ClusterRole")) {
            for rule in items(role, &["rules"]) {
                for resource in items(rule, &["resources"]) {
                    let resource = resource.as_str().unwrap_or_default();
                    assert!(!["secrets", "pods", "*"].contains(&resource), "{name}: {resource}");
                }
            }
        }
        for account in of_kind(&objects, "ServiceAccount") {
            assert_eq!(at(account, &["automountServiceAccountToken"]), &Value::Bool(false), "{name}");
        }
        let deployments: Vec<&Value> = of_kind(&objects, "Deployment").collect();
        assert_eq!(deployments.len(), 1, "{name}");
        let pod = at(deployments[0], &["spec", "template", "spec"]);
        assert_eq!(at(pod, &["automountServiceAccountToken"]), &Value::Bool(false), "{name}");
        assert_eq!(at(pod, &["securityContext", "runAsNonRoot"]), &Value::Bool(true), "{name}");
        assert_eq!(text(pod, &["securityContext", "seccompProfile", "type"]), "RuntimeDefault", "{name}");
        for container in items(pod, &["containers"]) {
            let context = at(container, &["securityContext"]);
            assert_eq!(at(context, &["readOnlyRootFilesystem"]), &Value::Bool(true), "{name}");
            assert_eq!(at(context, &["allowPrivilegeEscalation"]), &Value::Bool(false), "{name}");
            assert_eq!(items(context, &["capabilities", "drop"]), [Value::from("ALL")], "{name}");
            for probe in ["startupProbe", "livenessProbe", "readinessProbe"] {
                assert!(at(container, &[probe]).is_mapping(), "{name}: {probe}");
            }
            assert!(!text(container, &["resources", "limits", "memory"]).is_empty(), "{name}");
        }
        assert_eq!(of_kind(&objects, "PodDisruptionBudget").count(), 1, "{name}");
        for policy in of_kind(&objects, "NetworkPolicy") {
            assert!(
                items(policy, &["spec", "egress"]).is_empty() && items(policy, &["spec", "policyTypes"]).len() == 2
            );
        }
    }
    Ok(())
}

/// What takes the place of Porch's function runner has its names: the address that Porch dials leads to it, and the
/// Deployment that is there is replaced.
#[test]
fn the_function_runner_stands_where_porch_looks_for_it() -> Result<()> {
    let objects = objects(&package("function-runner"))?;
    let service = of_kind(&objects, "Service").next().context("a Service")?;
    let deployment = of_kind(&objects, "Deployment").next().context("a Deployment")?;
    for object in [service, deployment] {
        assert_eq!(text(object, &["metadata", "name"]), "function-runner");
        assert_eq!(text(object, &["metadata", "namespace"]), "porch-system");
    }
    assert_eq!(items(service, &["spec", "ports"])[0].get("port").and_then(Value::as_u64), Some(9445));
    let selector = at(service, &["spec", "selector"]);
    assert_eq!(text(selector, &["app"]), "function-runner");
    assert_eq!(at(deployment, &["spec", "selector", "matchLabels"]), selector);
    assert_eq!(at(deployment, &["spec", "template", "metadata", "labels"]), selector);
    Ok(())
}

/// The server reads the files of the `ConfigMaps` as they are mounted, with the arguments of the pods.
#[test]
fn the_server_takes_the_configurations() -> Result<()> {
    for name in PACKAGES {
        let objects = objects(&package(name))?;
        let root = mounted(&objects)?;
        let deployment = of_kind(&objects, "Deployment").next().context("a Deployment")?;
        let container = &items(deployment, &["spec", "template", "spec", "containers"])[0];
        let arguments: Vec<String> = items(container, &["args"])
            .iter()
            .filter_map(Value::as_str)
            .map(|argument| argument.replace("=/", &format!("={}/", root.path().display())))
            .collect();
        let mut arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        arguments.push("--check");
        portico(&arguments, root.path(), "").context(name)?;
    }
    Ok(())
}

/// A root directory with what the pod would find in it, its own paths changed to lie below it.
fn mounted(objects: &[Value]) -> Result<TempDir> {
    let root = tempfile::tempdir()?;
    let etc = root.path().join("etc/portico");
    for directory in ["configuration", "tls", "access"] {
        std::fs::create_dir_all(etc.join(directory))?;
    }
    std::fs::create_dir_all(root.path().join("var/lib/portico"))?;
    let configuration = of_kind(objects, "ConfigMap").next().context("a ConfigMap")?;
    for (file, content) in at(configuration, &["data"]).as_mapping().context("data")? {
        let content = content.as_str().context("text")?;
        let here = content.replace(" /etc/", &format!(" {}/etc/", root.path().display()));
        let here = here.replace(" /var/", &format!(" {}/var/", root.path().display()));
        std::fs::write(etc.join("configuration").join(file.as_str().context("a name")?), here)?;
    }
    let certificate = rcgen::generate_simple_self_signed(vec!["portico.portico-system.svc".to_owned()])?;
    std::fs::write(etc.join("tls/tls.crt"), certificate.cert.pem())?;
    std::fs::write(etc.join("tls/tls.key"), certificate.signing_key.serialize_pem())?;
    let digest = "ab".repeat(32);
    let tokens =
        format!("apiVersion: portico.dev/v1alpha1\nkind: Tokens\ntokens:\n- user: prometheus\n  sha256: {digest}\n");
    std::fs::write(etc.join("access/tokens.yaml"), tokens)?;
    Ok(root)
}

/// Base images and paths are named in two files each.
#[test]
fn the_image_has_the_program_where_the_pods_expect_it() -> Result<()> {
    let recipe = std::fs::read_to_string(repository().join("deploy/Containerfile"))?;
    let entry = r#"ENTRYPOINT ["/usr/local/bin/portico"]"#;
    assert!(recipe.contains(entry) && recipe.contains("--from=build /portico /usr/local/bin/portico"));
    assert!(recipe.contains("target-feature=+crt-static") && recipe.contains("distroless/static-"), "it stands alone");
    let user = recipe.lines().find_map(|line| line.strip_prefix("USER ")).context("a user")?;
    let version = env!("CARGO_PKG_RUST_VERSION");
    assert!(recipe.contains(&format!("rust:{version}-")), "the recipe builds with another Rust than {version}");
    for name in PACKAGES {
        let deployment = std::fs::read_to_string(package(name).join("deployment.yaml"))?;
        let [uid, gid] =
            ["runAsUser", "runAsGroup"].map(|key| format!("{key}: {}", &user[..user.find(':').unwrap_or(0)]));
        assert!(deployment.contains(&uid) && deployment.contains(&gid), "{name}: the image's user is {user}");
    }
    Ok(())
}

/// With the configuration as it is mounted the server shows its metrics and keeps nothing for anybody.
#[test]
fn the_function_runner_shows_its_metrics_and_nothing_else() -> Result<()> {
    let objects = objects(&package("function-runner"))?;
    let root = mounted(&objects)?;
    let file = root.path().join("etc/portico/configuration/server.yaml");
    let configuration = std::fs::read_to_string(&file)?;
    ensure!(configuration.contains("\"[::]:8080\"") && configuration.contains("\"[::]:9445\""), "{configuration}");
    let configuration = configuration.replace("[::]:8080", "127.0.0.1:0").replace("[::]:9445", "127.0.0.1:0");
    std::fs::write(&file, configuration)?;
    let place = Place::with(&[])?;
    let server = Serving::start(&place, &format!("serve --config {}", file.display()))?;
    let (code, metrics) = server.get("/metrics")?;
    ensure!(code == 200 && metrics.contains("portico_call_wait_seconds_count 0"), "{code}: {metrics}");
    // Discovery is for everybody and tells nothing that is anybody's.
    for path in ["/apis/porch.kpt.dev/v1alpha1/packagerevisions", "/ui/api/queue", "/api/v1/events"] {
        let (code, body) = server.get(path)?;
        ensure!(code == 403, "{path}: {code}: {body}");
    }
    Ok(())
}

/// What the autoscaler goes by is told by the server, as the adapter's rule asks for it.
#[test]
fn the_autoscaler_goes_by_metrics_that_there_are() -> Result<()> {
    let objects = objects(&package("function-runner"))?;
    let scaler = of_kind(&objects, "HorizontalPodAutoscaler").next().context("an autoscaler")?;
    let metrics = items(scaler, &["spec", "metrics"]).iter().map(|metric| text(metric, &["pods", "metric", "name"]));
    let names: Vec<&str> = metrics.filter(|name| !name.is_empty()).collect();
    assert_eq!(names, ["portico_call_wait_seconds"]);
    let rule = std::fs::read_to_string(repository().join("docs/operating.md"))?;
    assert!(rule.contains(&format!("as: {}", names[0])) && rule.contains(&format!("{}_sum{{", names[0])));
    let monitor = of_kind(&objects, "PodMonitor").next().context("a PodMonitor")?;
    let deployment = of_kind(&objects, "Deployment").next().context("a Deployment")?;
    assert_eq!(at(monitor, &["spec", "selector"]), at(deployment, &["spec", "selector"]));
    let port = text(&items(monitor, &["spec", "podMetricsEndpoints"])[0], &["port"]);
    let ports = items(&items(deployment, &["spec", "template", "spec", "containers"])[0], &["ports"]);
    assert!(ports.iter().any(|one| text(one, &["name"]) == port), "no pod has the port `{port}`");
    Ok(())
}

/// Names of metrics in a text, without what a histogram's parts add to them.
fn metrics(text: &str) -> BTreeSet<&str> {
    let words = text.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_'));
    let named = words.filter(|word| ["portico_", "workqueue_", "process_"].iter().any(|start| word.starts_with(start)));
    let parts = ["_bucket", "_count", "_sum"];
    named.map(|name| parts.iter().find_map(|part| name.strip_suffix(part)).unwrap_or(name)).collect()
}

/// Whoever is told of a number is told what to do about it, and no rule rests on one that nobody gives.
#[test]
fn operators_are_told_what_to_do_about_each_metric() -> Result<()> {
    let read = |path: &str| std::fs::read_to_string(repository().join(path)).context(path.to_owned());
    let (given, told) = (read("docs/server-metrics.md")?, read("docs/operating.md")?);
    let rules = read("deploy/portico/alerts.yaml")?;
    assert!(metrics(&given).len() > 40, "{:?}", metrics(&given));
    assert_eq!(metrics(&told), metrics(&given));
    let unknown: Vec<_> = metrics(&rules).difference(&metrics(&given)).copied().collect();
    assert!(unknown.is_empty() && metrics(&rules).len() > 5, "{unknown:?}");
    Ok(())
}
