use portico_runtime::{LimitName, LimitValue};

use super::*;

const HEAD: &str = "apiVersion: portico.dev/v1alpha1\nkind: ServerConfiguration\n";

fn flags() -> Flags {
    Flags { store: Some("/tmp/store.redb".into()), ..Flags::default() }
}

fn read(text: &str) -> ServerConfig {
    ServerConfig::read("s.yaml", format!("{HEAD}{text}").as_bytes(), &flags()).unwrap_or_else(|error| panic!("{error}"))
}

fn refused(text: &str, flags: &Flags) -> String {
    ServerConfig::read("s.yaml", format!("{HEAD}{text}").as_bytes(), flags).expect_err(text).to_string()
}

#[test]
fn flags_go_before_the_file_and_defaults_fill_the_rest() {
    let config = ServerConfig::load(None, &flags()).expect("a store is enough");
    assert_eq!((config.api.to_string().as_str(), config.grpc.is_none()), ("127.0.0.1:8080", true));
    assert_eq!(config.requests, RequestLimits::default());
    assert!(config.workers >= 1);
    let fallback = crate::grpc::Fallback::at("function-runner:9445").expect("an address");
    let flags =
        Flags { workers: Some(7), log_format: Some(LogFormat::Json), fallback: Some(fallback.clone()), ..flags() };
    let text =
        format!("{HEAD}store: /srv/other.redb\nworkers: 3\nlisten: {{api: 127.0.0.1:99}}\nlog: {{format: text}}\n");
    let config = ServerConfig::read("s.yaml", text.as_bytes(), &flags).expect("right");
    assert_eq!((config.store, config.workers, config.log.format), ("/tmp/store.redb".into(), 7, LogFormat::Json));
    assert_eq!(config.api.to_string(), "127.0.0.1:99");
    assert_eq!(config.grpc_settings.fallback, Some(fallback));
}

#[test]
fn every_part_is_read() {
    let config = read(
        "\
listen: {api: 'unix:/run/api.sock', grpc: '127.0.0.1:9445'}
limits: {memory: 256MiB}
maximum: {renderTime: 1m}
functions:
- name: starlark
  limits: {stepTime: 20s}
modules: {directories: [/srv/fn], prefix: ghcr.io/kptdev, allowed: ['ghcr.io/kptdev/*']}
compiler: {memory: 1GiB}
isolation: process
queue: {entries: 5000, memory: 4GiB, age: 1m}
quota: {renders: 4}
namespaces:
  team-a:
    limits: {memory: 64MiB}
    modules: [/srv/team-a]
    quota: {renders: 1, memory: 2GiB, fuelPerSecond: 1G, priority: normal}
requests: {bodyBytes: 1MiB, perSecond: 10, time: 5s}
records: {hidden: [Login.example.com, ConfigMap]}
log: {level: debug}
drain: {delay: 2s}
",
    );
    assert_eq!(
        config.limits.as_ref().and_then(|l| l.get(LimitName::Memory)).map(|s| s.value),
        Some(LimitValue::Bytes(256 << 20))
    );
    assert_eq!((config.queue.entries, config.queue.memory), (5_000, 4 << 30));
    assert_eq!((config.quota.running, config.quota.fuel), (4, None));
    let team = &config.namespaces["team-a"];
    let quota = team.quota.expect("it has one");
    assert_eq!((quota.running, quota.memory, quota.highest), (1, 2 << 30, Priority::Normal));
    assert_eq!(quota.fuel, Some(Fuel { per_second: 1_000_000_000, most: 60_000_000_000 }));
    assert_eq!(team.modules, [PathBuf::from("/srv/team-a")]);
    assert_eq!((config.requests.body_bytes, config.requests.per_second), (1 << 20, 10));
    assert_eq!(config.drain, Drain { delay: Duration::from_secs(2), ..Drain::default() });
    assert_eq!(config.isolation, Isolation::Process);
}

#[test]
fn what_others_reach_is_refused_without_protection_unless_somebody_says_so() {
    let open = "listen: {api: '0.0.0.0:1'}\n";
    assert!(refused(open, &flags()).contains("others reach `0.0.0.0:1`, and there is no `tls`"));
    let flagged = |tls, authentication| Flags { without_tls: tls, without_authentication: authentication, ..flags() };
    assert!(refused(open, &flagged(true, false)).contains("nobody is asked who they are"));
    assert!(refused(open, &flagged(false, true)).contains("there is no `tls`"));
    let both = format!("{HEAD}{open}");
    ServerConfig::read("s.yaml", both.as_bytes(), &flagged(true, true)).expect("it is said in so many words");
    let tls = format!("{open}tls: {{certificate: /c.pem, key: /k.pem}}\n");
    assert!(refused(&tls, &flags()).contains("nobody is asked who they are"));
    // What everybody may do can be little.
    read(&format!("{tls}access: {{roles: /r.yaml}}\n"));
    let tokens = format!("{tls}access: {{tokens: /t.yaml}}\n");
    assert!(refused(&tokens, &flags()).contains("nothing says who may do what"));
    let clients = tls.replace("key: /k.pem", "key: /k.pem, clientAuthorities: /ca.pem");
    read(&format!("{clients}access: {{roles: /r.yaml}}\n"));
    read(&tokens.replace("tokens: /t.yaml", "tokens: /t.yaml, roles: /r.yaml"));
    let grpc = "listen: {grpc: '0.0.0.0:1'}\n";
    assert!(refused(grpc, &flags()).contains("gRPC has no TLS"));
    assert!(refused(grpc, &flagged(true, false)).contains("nothing says what they may do"));
    let with_roles = format!("{HEAD}{grpc}access: {{roles: /r.yaml}}\n");
    ServerConfig::read("s.yaml", with_roles.as_bytes(), &flagged(true, false)).expect("roles say what they may do");
    ServerConfig::read("s.yaml", format!("{HEAD}{grpc}").as_bytes(), &flagged(true, true)).expect("it is said");
}

#[test]
fn what_is_wrong_is_said_with_its_line_and_what_to_do() {
    for (text, words) in [
        ("stroe: /a\n", "s.yaml:3: unknown field `stroe`"),
        ("requests:\n  inFligth: 3\n", "s.yaml:4: `requests`: unknown field `inFligth`"),
        ("requests:\n  bodyBytes: many\n", "s.yaml:4: `requests.bodyBytes`: `many` is no value for it: write `64MiB`"),
        ("namespaces:\n  a:\n    limits: {memry: 1}\n", "s.yaml:5: `namespaces.a.limits`: unknown limit `memry`"),
        (
            "namespaces:\n  a:\n    quota: {priority: hihg}\n",
            "s.yaml:5: `hihg` is no priority; there are low, normal, high; did you mean `high`?",
        ),
        ("listen:\n  api: here\n", "s.yaml:4: `listen.api`: `here` is no address"),
        ("isolation: vm\n", "s.yaml:3: `isolation`: "),
        ("log: {format: xml}\n", "s.yaml:3: `log.format`: `xml` is none; write `text` or `json`"),
        ("workers: 0\n", "s.yaml: `workers` is 0"),
        ("access: {tokens: t.yaml}\n", "s.yaml: `access.tokens`: `t.yaml`: write an absolute path"),
        (
            "quota: {memory: 1MiB}\n",
            "s.yaml: renders may use 1107296256 bytes (`limits.memory` and `retainedMemory`), and `quota.memory`",
        ),
        (
            "limits: {memory: 1MiB}\nnamespaces: {a: {limits: {memory: 2MiB}, quota: {memory: 33MiB}}}\n",
            "s.yaml: renders in `a` may use 35651584 bytes",
        ),
        ("functions: [{name: a, limits: {fuel: 1}}]\n", "s.yaml:3: `fuel` is a limit of the whole render"),
    ] {
        let said = refused(text, &flags());
        assert!(said.starts_with(words), "{text:?}: {said}");
    }
    assert!(refused("stroe: /a\n", &flags()).ends_with("did you mean `store`?"));
    assert!(refused("", &Flags::default()).contains("`--store`"));
    let old = ServerConfig::read("s.yaml", b"apiVersion: portico.dev/v0\nkind: ServerConfiguration\n", &flags());
    assert!(old.expect_err("too old").to_string().contains("this version reads `portico.dev/v1alpha1`"));
    let empty = ServerConfig::read("s.yaml", b"# nothing\n", &flags()).expect_err("empty").to_string();
    assert!(empty.contains("begin with `apiVersion: portico.dev/v1alpha1`"), "{empty}");
}

#[test]
fn what_needs_a_restart_is_named() {
    let before = read("workers: 1\n");
    assert!(before.needs_restart(&read("workers: 2\nlimits: {memory: 1MiB}\nnamespaces: {a: {}}\n")).is_empty());
    let after = read("listen: {api: 127.0.0.1:1}\nlog: {level: warn}\nqueue: {entries: 5}\n");
    assert_eq!(before.needs_restart(&after), ["listen", "queue", "log"]);
}

#[test]
fn kinds_whose_values_are_hidden_are_kinds() {
    let config = read("records: {hidden: [Login.example.com, ConfigMap]}\n");
    let named: Vec<(&str, &str)> = config.hidden.iter().map(|kind| (kind.kind.as_str(), kind.group.as_str())).collect();
    assert_eq!(named, [("Login", "example.com"), ("ConfigMap", "")]);
    for wrong in ["login", "", "Login.", "Lo-gin", "Login.Example", "v1/Secret"] {
        let text = refused(&format!("records:\n  hidden:\n  - {wrong:?}\n"), &flags());
        assert!(text.contains("s.yaml:5") && text.contains("is no kind; write `Login.example.com`"), "{text}");
    }
}
