//! Renders in a worker: the same bytes, and nothing that a worker does harms its parent.

use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use libtest_mimic::Trial;
use portico_runtime::package::{PackageFiles, PackageLimits};
use portico_runtime::{
    CallOptions, CancelToken, Event, FunctionError, FunctionModule, FunctionSource, Limits, Observer, Outcome,
    RenderError, RenderOptions, Renderer, Sources, WorkerConfig, WorkerLimits, to_resource_list,
};
use rustix::process::{Pid, Signal, kill_process};

use crate::guests::{ECHO, component, function, wasm};
use crate::programs::{Script, this, wait_for_the_end_of};

pub(crate) fn trials() -> Vec<Trial> {
    crate::trials![
        a_worker_renders_the_same,
        resources_come_back_as_they_are,
        a_render_that_fails_fails_in_the_same_words,
        commands_are_refused,
        what_a_worker_does_not_do_is_refused,
        a_worker_is_kept_for_its_tenant_alone,
        a_worker_for_one_render_is_not_kept,
        a_worker_without_work_ends,
        only_so_many_workers_wait,
        a_worker_that_is_killed_is_replaced_once,
        a_worker_that_is_killed_twice_is_an_error,
        a_worker_without_enough_memory_says_so,
        a_worker_that_used_up_its_processor_time_says_so,
        a_worker_that_does_not_answer_is_killed,
        a_worker_that_says_too_much_is_killed,
        what_is_no_worker_is_told_for_what_it_is,
        a_cancel_kills_the_worker,
        a_worker_ends_with_its_parent,
    ]
}

/// Computes for ever.
const SPIN: &str = r#"(func (export "_start") (loop $again (br $again)))"#;
/// Crashes.
const TRAP: &str = r#"(func (export "_start") unreachable)"#;

/// The functions `echo`, `spin` and `trap`, and something to do whenever one is asked for.
struct Guests<F>(F);

impl<F: Fn() + Send + Sync> FunctionSource for Guests<F> {
    fn resolve(&self, image: &str) -> Result<Option<FunctionModule>, FunctionError> {
        (self.0)();
        Ok(match image {
            "reg.io/echo:v1" => Some(function(wasm(ECHO))),
            "reg.io/component:v1" => Some(function(component(&wasm(ECHO)))),
            "reg.io/spin:v1" => Some(function(wasm(SPIN))),
            "reg.io/trap:v1" => Some(function(wasm(TRAP))),
            _ => None,
        })
    }

    fn names(&self) -> Vec<String> {
        vec!["echo".to_owned()]
    }

    fn absence(&self, image: &str) -> Option<String> {
        image.contains("/gone:").then(|| "is gone for a reason".to_owned())
    }

    fn notice(&self, image: &str) -> Option<String> {
        Some(format!("{image} is a test"))
    }
}

fn here() -> Renderer {
    renderer_with(|| {})
}

fn renderer_with(on_resolve: impl Fn() + Send + Sync + 'static) -> Renderer {
    Renderer::new(crate::guests::engine(), Sources::new(vec![Arc::new(Guests(on_resolve))]))
}

fn config(program: PathBuf, limits: WorkerLimits) -> WorkerConfig {
    WorkerConfig { program, limits }
}

fn isolated(program: PathBuf, limits: WorkerLimits) -> Renderer {
    here().isolated(config(program, limits))
}

/// A program that notes its process and is this program then.
fn noting() -> Script {
    Script::new("echo $$ >> $DIR/pids; exec $REAL \"$@\"")
}

fn pids(script: &Script) -> Vec<String> {
    script.read("pids").lines().map(str::to_owned).collect()
}

fn package(images: &[&str]) -> PackageFiles {
    let functions: Vec<String> = images.iter().map(|image| format!("  - image: reg.io/{image}:v1\n")).collect();
    let functions = functions.concat();
    let kptfile =
        format!("apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: p\npipeline:\n  mutators:\n{functions}");
    let resource = "# first\napiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: one # of them\ndata: {a: 'b'}\n";
    let map = [("Kptfile", kptfile.into_bytes()), ("sub/one.yaml", resource.as_bytes().to_vec())];
    PackageFiles::from_map("/some/pkg", map, &PackageLimits::default()).unwrap()
}

/// What can be compared of an outcome: the times are left out.
fn seen(mut outcome: Outcome) -> String {
    for step in &mut outcome.steps {
        step.elapsed = Duration::ZERO;
    }
    outcome.confinement = None;
    format!("{outcome:#?}")
}

#[derive(Default)]
struct Told(Vec<String>);

impl Observer for Told {
    fn event(&mut self, event: &Event<'_>) {
        let text = match event {
            Event::StepPassed(step) | Event::StepFailed(step) => format!("ended {} {:?}", step.image, step.state),
            other => format!("{other:?}"),
        };
        self.0.push(text);
    }
}

fn render(renderer: &Renderer, files: &PackageFiles) -> Result<Outcome, RenderError> {
    renderer.render(files, &RenderOptions::default(), &CancelToken::new(), &mut ())
}

fn refusal(renderer: &Renderer, files: &PackageFiles) -> String {
    let error = render(renderer, files).unwrap_err();
    assert!(matches!(error, RenderError::Worker { .. }), "{error:?}");
    error.to_string()
}

fn a_worker_renders_the_same() {
    let files = package(&["echo", "component", "echo"]);
    let (mut told_here, mut told_there) = (Told::default(), Told::default());
    let options = RenderOptions::default();
    let expected = here().render(&files, &options, &CancelToken::new(), &mut told_here).unwrap();
    assert!(expected.failure.is_none() && !expected.changes.is_empty());
    let renderer = isolated(this(), WorkerLimits::default());
    let expected = seen(expected);
    // The second time the worker has the module already.
    for _ in 0..2 {
        told_there.0.clear();
        let outcome = renderer.render(&files, &options, &CancelToken::new(), &mut told_there).unwrap();
        let confinement = outcome.confinement.unwrap();
        assert!(confinement.resources);
        assert!(confinement.system_calls || cfg!(not(target_os = "linux")), "{confinement}");
        assert_eq!(seen(outcome), expected);
        assert_eq!(told_there.0, told_here.0);
    }
}

fn resources_come_back_as_they_are() {
    let files = package(&["echo"]);
    let options = RenderOptions { out_of_place: true, ..RenderOptions::default() };
    let rendered = |renderer: &Renderer| {
        let outcome = renderer.render(&files, &options, &CancelToken::new(), &mut ()).unwrap();
        to_resource_list(outcome.resources, None)
    };
    let expected = rendered(&here());
    assert!(expected.contains("# of them"), "{expected}");
    assert_eq!(rendered(&isolated(this(), WorkerLimits::default())), expected);
}

fn a_render_that_fails_fails_in_the_same_words() {
    let renderer = isolated(this(), WorkerLimits::default());
    for images in [&["trap"][..], &["echoo"], &["spin"], &["echo", "nothing-like-it"], &["gone"]] {
        let files = package(images);
        let expected = seen(render(&here(), &files).unwrap());
        assert_eq!(seen(render(&renderer, &files).unwrap()), expected);
    }
    let empty = PackageFiles::from_map("/some/pkg", [("a.yaml", &b"a: b"[..])], &PackageLimits::default()).unwrap();
    let broken = PackageFiles::from_map("/some/pkg", [("Kptfile", &b"a: ["[..])], &PackageLimits::default()).unwrap();
    for files in [empty, broken] {
        let expected = render(&here(), &files).unwrap_err();
        assert_eq!(format!("{:?}", render(&renderer, &files).unwrap_err()), format!("{expected:?}"));
    }
}

fn commands_are_refused() {
    let call = CallOptions { allow_exec: true, ..CallOptions::default() };
    let options = RenderOptions { call, ..RenderOptions::default() };
    let renderer = isolated(this(), WorkerLimits::default());
    let error = renderer.render(&package(&["echo"]), &options, &CancelToken::new(), &mut ()).unwrap_err();
    assert!(error.to_string().contains("cannot run programs"), "{error}");
}

fn what_a_worker_does_not_do_is_refused() {
    let renderer = isolated(this(), WorkerLimits::default());
    let options = RenderOptions::default();
    let error = renderer.verify(&package(&["echo"]), &options, &CancelToken::new(), &mut ()).unwrap_err();
    assert!(error.to_string().contains("is not done in isolation"), "{error}");
}

fn a_worker_is_kept_for_its_tenant_alone() {
    let script = noting();
    let renderer = isolated(script.program(), WorkerLimits::default());
    let files = package(&["echo"]);
    for (tenant, started) in [("a", 1), ("a", 1), ("b", 2), ("a", 2), ("b", 2)] {
        render(&renderer.for_tenant(tenant), &files).unwrap();
        assert_eq!(pids(&script).len(), started, "{tenant}");
    }
    drop(renderer);
    for pid in pids(&script) {
        wait_for_the_end_of(&pid);
    }
}

fn a_worker_for_one_render_is_not_kept() {
    for limits in [
        WorkerLimits { renders: 1, ..WorkerLimits::default() },
        WorkerLimits { idle: Duration::ZERO, ..WorkerLimits::default() },
    ] {
        let script = noting();
        let renderer = isolated(script.program(), limits);
        for _ in 0..2 {
            render(&renderer, &package(&["echo"])).unwrap();
        }
        assert_eq!(pids(&script).len(), 2);
    }
}

fn a_worker_without_work_ends() {
    let script = noting();
    let limits = WorkerLimits { idle: Duration::from_millis(20), ..WorkerLimits::default() };
    let renderer = isolated(script.program(), limits);
    for round in 0..2 {
        render(&renderer, &package(&["echo"])).unwrap();
        wait_for_the_end_of(&pids(&script)[round]);
    }
}

fn only_so_many_workers_wait() {
    let script = noting();
    let limits = WorkerLimits { idle_workers: 1, idle: Duration::MAX, ..WorkerLimits::default() };
    let renderer = isolated(script.program(), limits);
    for tenant in ["a", "b"] {
        render(&renderer.for_tenant(tenant), &package(&["echo"])).unwrap();
    }
    wait_for_the_end_of(&pids(&script)[0]);
    render(&renderer.for_tenant("b"), &package(&["echo"])).unwrap();
    assert_eq!(pids(&script).len(), 2);
}

/// A renderer whose workers are killed when they ask for their first function, so many times.
fn killed(times: usize) -> (Script, Renderer) {
    let script = noting();
    let notes = script.file("pids");
    let left = AtomicUsize::new(times);
    let kill = move || {
        if left.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1)).is_ok() {
            let notes = std::fs::read_to_string(&notes).unwrap();
            let pid = notes.lines().last().unwrap();
            kill_process(Pid::from_raw(pid.parse().unwrap()).unwrap(), Signal::KILL).unwrap();
        }
    };
    let renderer = renderer_with(kill).isolated(config(script.program(), WorkerLimits::default()));
    (script, renderer)
}

fn a_worker_that_is_killed_is_replaced_once() {
    let (script, renderer) = killed(1);
    let files = package(&["echo"]);
    let mut told = Told::default();
    let outcome = renderer.render(&files, &RenderOptions::default(), &CancelToken::new(), &mut told).unwrap();
    assert_eq!(seen(outcome), seen(render(&here(), &files).unwrap()));
    assert_eq!(pids(&script).len(), 2);
    assert!(
        told.0.iter().any(|event| event.contains("died (it was killed") && event.contains("anew")),
        "{told:?}",
        told = told.0
    );
    // The one that took its place goes on.
    render(&renderer, &files).unwrap();
    assert_eq!(pids(&script).len(), 2);
}

fn a_worker_that_is_killed_twice_is_an_error() {
    let (script, renderer) = killed(2);
    let error = refusal(&renderer, &package(&["echo"]));
    let words = "could not be rendered in a process of its own: twice, and in the end: it was killed";
    assert!(error.contains(words), "{error}");
    assert_eq!(pids(&script).len(), 2);
    // That render alone: the next one is fine.
    render(&renderer, &package(&["echo"])).unwrap();
}

fn a_worker_without_enough_memory_says_so() {
    let limits = WorkerLimits { memory: 48 << 20, ..WorkerLimits::default() };
    let renderer = isolated(this(), limits);
    // Enough for a small package.
    render(&renderer, &package(&["echo"])).unwrap();
    let kptfile = b"apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: p\n".to_vec();
    let large = "# filler\n".repeat(6 << 20).into_bytes();
    let files = [("Kptfile", kptfile), ("large.yaml", large)];
    let files = PackageFiles::from_map("/some/pkg", files, &PackageLimits::default()).unwrap();
    let error = refusal(&renderer, &files);
    assert!(error.contains("it needed more than 48 MiB of memory"), "{error}");
}

fn unlimited() -> RenderOptions {
    let limits = Limits { fuel: u64::MAX, step_time: Duration::MAX, render_time: Duration::MAX, ..Limits::default() };
    RenderOptions { call: CallOptions { limits, ..CallOptions::default() }, ..RenderOptions::default() }
}

fn a_worker_that_used_up_its_processor_time_says_so() {
    let renderer = isolated(this(), WorkerLimits { cpu: Duration::from_secs(1), ..WorkerLimits::default() });
    let error = renderer.render(&package(&["spin"]), &unlimited(), &CancelToken::new(), &mut ()).unwrap_err();
    assert!(error.to_string().contains("it used more than 1s of processor time"), "{error}");
}

fn a_worker_that_does_not_answer_is_killed() {
    let script = Script::new("echo $$ >> $DIR/pids; exec sleep 3600");
    let limits = WorkerLimits { grace: Duration::from_millis(200), ..WorkerLimits::default() };
    let mut options = RenderOptions::default();
    options.call.limits.render_time = Duration::from_millis(100);
    let renderer = isolated(script.program(), limits);
    let error = renderer.render(&package(&["echo"]), &options, &CancelToken::new(), &mut ()).unwrap_err();
    assert!(error.to_string().contains("it did not answer within 300ms"), "{error}");
    wait_for_the_end_of(&pids(&script)[0]);
    assert_eq!(pids(&script).len(), 1);
}

fn a_worker_that_says_too_much_is_killed() {
    let limits = WorkerLimits { answer_bytes: 500, ..WorkerLimits::default() };
    let error = refusal(&isolated(this(), limits), &package(&["echo", "echo", "echo"]));
    assert!(error.contains("it said more than 500 bytes in one render"), "{error}");
    let script = Script::new("echo $$ >> $DIR/pids; exec yes");
    let error = refusal(&isolated(script.program(), WorkerLimits::default()), &package(&["echo"]));
    assert!(error.contains("it said more than 512 MiB in one render"), "{error}");
    wait_for_the_end_of(&pids(&script)[0]);
}

fn what_is_no_worker_is_told_for_what_it_is() {
    for (body, words) in [
        ("exit 3", "twice, and in the end: it ended with exit code 3; is it `portico`?"),
        ("echo 'no such command' >&2; exit 2", "it ended: no such command"),
        ("kill -ABRT $$", "it ended with signal 6"),
        ("printf '\\003\\0\\0\\0\\0\\0\\0\\0abc'; sleep 3600", "it said something that cannot be read"),
        // a question before a greeting
        ("printf '\\001\\0\\0\\0\\0\\0\\0\\0\\003'; sleep 3600", "it said something that cannot be read"),
        // version 99
        ("printf '\\006\\0\\0\\0\\0\\0\\0\\0\\0\\143\\0\\0\\0\\0'; sleep 3600", "is another version of this program"),
    ] {
        let script = Script::new(body);
        let error = refusal(&isolated(script.program(), WorkerLimits::default()), &package(&["echo"]));
        assert!(error.contains(words), "{body}: {error}");
    }
    let error = refusal(&isolated("/no/such/program".into(), WorkerLimits::default()), &package(&["echo"]));
    assert!(error.contains("`/no/such/program` cannot be started"), "{error}");
}

fn a_cancel_kills_the_worker() {
    let script = noting();
    let renderer = isolated(script.program(), WorkerLimits::default());
    let token = CancelToken::new();
    let files = package(&["spin"]);
    let seen = Mutex::new(0);
    let mut cancel = |event: &Event<'_>| {
        if let Event::StepStarted(_) = event {
            *seen.lock().unwrap() += 1;
            let token = token.clone();
            // From another thread, as a user does.
            std::thread::spawn(move || token.cancel());
        }
    };
    let error = renderer.render(&files, &unlimited(), &token, &mut cancel).unwrap_err();
    assert!(matches!(error, RenderError::Cancelled), "{error:?}");
    assert_eq!(*seen.lock().unwrap(), 1);
    wait_for_the_end_of(&pids(&script)[0]);
    let error = renderer.render(&files, &unlimited(), &token, &mut ()).unwrap_err();
    assert!(matches!(error, RenderError::Cancelled), "{error:?}");
}

/// What the first argument makes of this program: one that renders something endless in a worker.
pub(crate) const FOR_EVER: &str = "render-for-ever";

#[expect(clippy::print_stdout, reason = "the test reads it")]
pub(crate) fn for_ever(program: PathBuf) {
    let renderer = isolated(program, WorkerLimits::default());
    let mut tell = |event: &Event<'_>| {
        if let Event::StepStarted(_) = event {
            println!("it runs");
        }
    };
    drop(renderer.render(&package(&["spin"]), &unlimited(), &CancelToken::new(), &mut tell));
}

fn a_worker_ends_with_its_parent() {
    use std::io::BufRead;
    let script = noting();
    let mut parent = Command::new(this()).arg(FOR_EVER).arg(script.program()).stdout(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    std::io::BufReader::new(parent.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
    assert_eq!(line, "it runs\n");
    parent.kill().unwrap();
    assert_eq!(parent.wait().unwrap().signal(), Some(9));
    wait_for_the_end_of(&pids(&script)[0]);
}
