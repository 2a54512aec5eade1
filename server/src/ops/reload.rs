//! Files that are read anew when they change.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use notify::event::{AccessKind, AccessMode, EventKind};
use notify::{RecommendedWatcher, RecursiveMode, Watcher as _};
use sha2::{Digest as _, Sha256};
use tokio::sync::mpsc;

use super::metrics::Metrics;

/// How long files have to be left alone before they are read: whoever writes them may not have finished.
const QUIET: Duration = Duration::from_millis(100);

/// How often that is waited for before they are read all the same.
const PATIENCE: u32 = 20;

/// How often files are looked at where nobody tells of changes: on network file systems, say.
const LOOK: Duration = Duration::from_secs(30);

/// Bytes of a file that are looked at. What is longer is refused when it is read.
const LOOKED_AT: u64 = 1 << 20;

/// Something that is made of files.
pub(crate) struct Subject {
    /// What it is, for messages: `configuration`, `tokens`.
    pub(crate) name: &'static str,
    /// Its files.
    pub(crate) files: Vec<PathBuf>,
    /// Reads them. With an error all stays as it was; the word says what is still to be done by hand.
    pub(crate) read: Box<dyn Fn() -> Result<String, String> + Send>,
}

/// What became of the last reading of each subject.
#[derive(Debug, Default)]
pub(crate) struct Standing {
    states: Mutex<BTreeMap<&'static str, State>>,
    metrics: Option<Arc<Metrics>>,
}

#[derive(Debug, Default)]
struct State {
    wrong: Option<String>,
    word: String,
}

impl Standing {
    /// One that counts each reading.
    pub(crate) fn counted(metrics: Arc<Metrics>) -> Self {
        Self { metrics: Some(metrics), ..Self::default() }
    }

    /// What is to be said of them. Files that are wrong do not make a server unfit that works by what they said before.
    pub(crate) fn words(&self) -> String {
        let states = self.lock();
        let words = states.iter().filter_map(|(name, state)| match &state.wrong {
            Some(wrong) => Some(format!("{name}: what was read before holds: {wrong}")),
            None => (!state.word.is_empty()).then(|| format!("{name}: {}", state.word)),
        });
        words.collect::<Vec<_>>().join("; ")
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<&'static str, State>> {
        self.states.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What the first reading came to. Nothing has changed for all that is known, so nothing is said unless it is wrong.
    fn first(&self, name: &'static str, result: Result<String, String>) {
        match result {
            Ok(word) => self.lock().entry(name).or_default().word = word,
            wrong => self.told(name, wrong),
        }
    }

    fn told(&self, name: &'static str, result: Result<String, String>) {
        if let Some(metrics) = &self.metrics {
            metrics.reloaded(result.is_ok());
        }
        let mut states = self.lock();
        let state = states.entry(name).or_default();
        match result {
            Ok(word) => {
                if word.is_empty() {
                    tracing::info!("{name}: changed, and holds now");
                } else {
                    tracing::warn!("{name}: changed, and holds now; {word}");
                }
                *state = State { wrong: None, word };
            }
            Err(wrong) => {
                tracing::error!("{name}: changed, and can't be used; what was read before holds: {wrong}");
                state.wrong = Some(wrong);
            }
        }
    }
}

/// A subject, and what its files held when they were read.
struct Seen {
    subject: Subject,
    contents: [u8; 32],
}

/// Reads subjects when their files change, as long as it is polled. Each is read once at the beginning, behind the watch:
/// what changed since the server was started by its files, which may be long, is not lost.
pub(crate) async fn keep_read(subjects: Vec<Subject>, standing: Arc<Standing>) {
    if subjects.is_empty() {
        return;
    }
    let (tell, mut told) = mpsc::channel(1);
    let files: Vec<PathBuf> = subjects.iter().flat_map(|subject| subject.files.clone()).collect();
    let mut directories = Directories::new(files, tell);
    directories.follow();
    let mut seen = Vec::with_capacity(subjects.len());
    for subject in subjects {
        // In this order: what is written in between is read once more.
        let contents = contents(&subject.files);
        standing.first(subject.name, (subject.read)());
        seen.push(Seen { subject, contents });
    }
    loop {
        directories.follow();
        tokio::select! {
            _ = told.recv() => {
                for _ in 0..PATIENCE {
                    if tokio::time::timeout(QUIET, told.recv()).await.is_err() {
                        break;
                    }
                }
            }
            () = tokio::time::sleep(LOOK) => {}
        }
        for seen in &mut seen {
            let now = contents(&seen.subject.files);
            if now != seen.contents {
                seen.contents = now;
                standing.told(seen.subject.name, (seen.subject.read)());
            }
        }
    }
}

/// A digest of what files hold. Small files: reading them is as cheap as asking for their times, and always right.
fn contents(files: &[PathBuf]) -> [u8; 32] {
    use std::io::Read as _;
    let mut all = Sha256::new();
    for file in files {
        let mut bytes = Vec::new();
        let opened = std::fs::File::open(file).ok().filter(|file| file.metadata().is_ok_and(|file| file.is_file()));
        match opened.map(|file| file.take(LOOKED_AT + 1).read_to_end(&mut bytes)) {
            Some(Ok(_)) => all.update([1]),
            _ => all.update([0]),
        }
        all.update((bytes.len() as u64).to_le_bytes());
        all.update(&bytes);
    }
    all.finalize().into()
}

/// The directories in which the files are. A file that is replaced is another one; the directory stays. Where a name leads
/// elsewhere by links, as in the volumes of Kubernetes, it is looked at there as well.
struct Directories {
    files: Vec<PathBuf>,
    watcher: Option<RecommendedWatcher>,
    watched: BTreeSet<PathBuf>,
}

impl Directories {
    fn new(files: Vec<PathBuf>, tell: mpsc::Sender<()>) -> Self {
        let names: BTreeSet<OsString> = files.iter().filter_map(|file| file.file_name().map(OsString::from)).collect();
        let told = move |event: notify::Result<notify::Event>| {
            if event.map_or(true, |event| concerns(&event, &names)) {
                // Where one word waits already, it will do.
                let _ = tell.try_send(());
            }
        };
        let watcher = notify::recommended_watcher(told);
        if let Err(error) = &watcher {
            tracing::warn!(%error, "nobody tells of changes of files; they are looked at every {} s", LOOK.as_secs());
        }
        Self { files, watcher: watcher.ok(), watched: BTreeSet::new() }
    }

    /// Watches where the files are now.
    fn follow(&mut self) {
        let Some(watcher) = &mut self.watcher else { return };
        let mut wanted = BTreeSet::new();
        for file in &self.files {
            wanted.extend(directory(file));
            wanted.extend(file.canonicalize().ok().as_deref().and_then(directory));
        }
        for gone in self.watched.difference(&wanted) {
            // It may be gone for good, and its watch with it.
            let _ = watcher.unwatch(gone);
        }
        for new in wanted.difference(&self.watched.clone()) {
            if let Err(error) = watcher.watch(new, RecursiveMode::NonRecursive) {
                tracing::debug!(%error, directory = %new.display(), "a directory can't be watched");
            } else {
                self.watched.insert(new.clone());
            }
        }
        self.watched.retain(|directory| wanted.contains(directory));
    }
}

fn directory(file: &Path) -> Option<PathBuf> {
    let parent = file.parent()?;
    Some(if parent.as_os_str().is_empty() { PathBuf::from(".") } else { parent.to_owned() })
}

/// True for what may have changed a file of ours. Our own reading is told as well, and changes nothing.
fn concerns(event: &notify::Event, names: &BTreeSet<OsString>) -> bool {
    let writes = !matches!(event.kind, EventKind::Access(kind) if kind != AccessKind::Close(AccessMode::Write));
    // Kubernetes swaps a link called `..data`.
    let ours = |path: &PathBuf| {
        path.file_name().is_none_or(|name| names.contains(name) || name.as_encoded_bytes().starts_with(b".."))
    };
    writes && (event.paths.is_empty() || event.paths.iter().any(ours))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    /// Keeps a file read, into a channel.
    struct Reader {
        read: mpsc::UnboundedReceiver<String>,
        standing: Arc<Standing>,
        task: tokio::task::JoinHandle<()>,
    }

    impl Drop for Reader {
        fn drop(&mut self) {
            self.task.abort();
        }
    }

    fn reader(file: &Path) -> Reader {
        let (tell, read) = mpsc::unbounded_channel();
        let path = file.to_owned();
        let subject = Subject {
            name: "tokens",
            files: vec![file.to_owned()],
            read: Box::new(move || {
                let text = fs::read_to_string(&path).map_err(|error| error.to_string())?;
                tell.send(text.clone()).map_err(|error| error.to_string())?;
                if text.contains("wrong") { Err(format!("`{text}`")) } else { Ok(String::new()) }
            }),
        };
        let standing = Arc::new(Standing::default());
        let task = tokio::spawn(keep_read(vec![subject], Arc::clone(&standing)));
        Reader { read, standing, task }
    }

    impl Reader {
        /// What is read next. Far more time than it takes, far less than until the next look.
        async fn next(&mut self) -> String {
            tokio::time::timeout(Duration::from_secs(20), self.read.recv())
                .await
                .expect("told")
                .expect("it is kept read")
        }
    }

    #[tokio::test]
    async fn a_file_that_is_written_or_replaced_is_read_and_a_wrong_one_is_told() {
        let directory = tempfile::tempdir().expect("a directory");
        let file = directory.path().join("tokens.yaml");
        fs::write(&file, "first").expect("written");
        let mut reader = reader(&file);
        // Once at the beginning, when the watch is there: from then on nothing is missed.
        assert_eq!(reader.next().await, "first");
        assert_eq!(reader.standing.words(), "");
        fs::write(&file, "wrong").expect("written");
        while reader.next().await != "wrong" {}
        let word = reader.standing.words();
        assert_eq!(word, "tokens: what was read before holds: `wrong`");
        let beside = directory.path().join("tokens.yaml.new");
        fs::write(&beside, "second").expect("written");
        fs::rename(&beside, &file).expect("renamed");
        while reader.next().await != "second" {}
        assert_eq!(reader.standing.words(), "");
    }

    #[tokio::test]
    async fn a_volume_of_kubernetes_is_swapped_by_a_link() {
        let directory = tempfile::tempdir().expect("a directory");
        let at = |name: &str| directory.path().join(name);
        let version = |name: &str, text: &str| {
            fs::create_dir(at(name)).expect("made");
            fs::write(at(name).join("tokens.yaml"), text).expect("written");
            symlink(name, at("..new")).expect("linked");
            fs::rename(at("..new"), at("..data")).expect("swapped");
        };
        version("..one", "one");
        symlink("..data/tokens.yaml", at("tokens.yaml")).expect("linked");
        let mut reader = reader(&at("tokens.yaml"));
        assert_eq!(reader.next().await, "one");
        version("..two", "two");
        while reader.next().await != "two" {}
        // Once more, with the first directory gone.
        fs::remove_dir_all(at("..one")).expect("removed");
        version("..three", "three");
        while reader.next().await != "three" {}
    }

    #[tokio::test]
    async fn what_is_wrong_by_the_time_of_the_first_reading_is_told() {
        let directory = tempfile::tempdir().expect("a directory");
        let file = directory.path().join("tokens.yaml");
        fs::write(&file, "wrong").expect("written");
        let mut reader = reader(&file);
        assert_eq!(reader.next().await, "wrong");
        // Read again after it was told: the first word stands by then.
        fs::write(&file, "wrong again").expect("written");
        while reader.next().await != "wrong again" {}
        assert!(reader.standing.words().starts_with("tokens: what was read before holds: `wrong"));
    }

    #[test]
    fn reading_is_no_change_and_neither_are_other_files() {
        let names = BTreeSet::from([OsString::from("tokens.yaml")]);
        let event = |kind, path: &str| notify::Event::new(kind).add_path(path.into());
        let modified = EventKind::Modify(notify::event::ModifyKind::Any);
        assert!(concerns(&event(modified, "/a/tokens.yaml"), &names));
        assert!(concerns(&event(modified, "/a/..data"), &names));
        assert!(concerns(&event(EventKind::Access(AccessKind::Close(AccessMode::Write)), "/a/tokens.yaml"), &names));
        assert!(!concerns(&event(EventKind::Access(AccessKind::Open(AccessMode::Any)), "/a/tokens.yaml"), &names));
        assert!(!concerns(&event(modified, "/a/other.yaml"), &names));
    }
}
