//! The words of `--mount`, as docker and kpt spell them.

use std::path::PathBuf;

/// One `--mount`: which directory is seen as what.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mount {
    /// The directory of this machine, relative to the working directory.
    pub source: PathBuf,
    /// The absolute path at which functions see it.
    pub target: String,
}

/// A `--mount` that cannot be had.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum MountError {
    /// A word that is none of the known ones.
    #[error("`{0}` is no option of a mount; write `type=bind,src=DIR,dst=/PATH`")]
    Option(String),
    /// A type other than `bind`.
    #[error("type `{0}`: only directories of this machine can be mounted; write `type=bind`")]
    Type(String),
    /// Writable.
    #[error(
        "`{0}`: functions read a copy of the directory and cannot write to it; leave it out, and let the function put what \
         it has to say into resources or results"
    )]
    Writable(String),
    /// Neither true nor false.
    #[error("`{0}`: write `true` or `false`")]
    Bool(String),
    /// One of the two that must be there.
    #[error("`{0}` is missing; write `type=bind,src=DIR,dst=/PATH`")]
    Missing(&'static str),
    /// Named twice.
    #[error("`{0}` is given twice")]
    Twice(&'static str),
    /// Not absolute, or with `..`.
    #[error("`dst={0}`: write an absolute path without `..`, as in `/schemas`")]
    Target(String),
}

impl std::str::FromStr for Mount {
    type Err = MountError;

    /// Reads `type=bind,src=PATH,dst=/path`. `source` and `target` or `destination` are other spellings;
    /// `readonly`, `ro` and `rw=false` say what is so anyway; `type` may be left out.
    fn from_str(text: &str) -> Result<Self, MountError> {
        let mut source = None;
        let mut target = None;
        for option in text.split(',').filter(|option| !option.is_empty()) {
            let (key, value) = match option.split_once('=') {
                Some((key, value)) => (key, Some(value)),
                None => (option, None),
            };
            let set = |place: &mut Option<String>, name, value: &str| match place.replace(value.to_owned()) {
                Some(_) => Err(MountError::Twice(name)),
                None => Ok(()),
            };
            match (key, value) {
                ("type", Some("bind")) => {}
                ("type", Some(other)) => return Err(MountError::Type(other.to_owned())),
                ("src" | "source", Some(value)) => set(&mut source, "src", value)?,
                ("dst" | "target" | "destination", Some(value)) => set(&mut target, "dst", value)?,
                ("rw" | "readonly" | "ro", value) => {
                    let yes = match value {
                        None | Some("true" | "1") => true,
                        Some("false" | "0") => false,
                        Some(_) => return Err(MountError::Bool(option.to_owned())),
                    };
                    if yes == (key == "rw") {
                        return Err(MountError::Writable(option.to_owned()));
                    }
                }
                _ => return Err(MountError::Option(option.to_owned())),
            }
        }
        let source = source.filter(|source| !source.is_empty()).ok_or(MountError::Missing("src=DIR"))?;
        let given = target.ok_or(MountError::Missing("dst=/PATH"))?;
        let target = self::target(&given).ok_or(MountError::Target(given))?;
        Ok(Mount { source: source.into(), target })
    }
}

/// The longest target: as long as a path may be.
const MAX_TARGET: usize = 4096;

/// A target without empty names and a `/` at the end; nothing for one that cannot be.
pub(super) fn target(text: &str) -> Option<String> {
    let names: Vec<&str> = text.strip_prefix('/')?.split('/').filter(|name| !name.is_empty()).collect();
    let bad = |name: &&str| matches!(*name, "." | "..") || name.contains(char::is_control);
    if text.len() > MAX_TARGET || names.iter().any(bad) {
        return None;
    }
    Some(format!("/{}", names.join("/")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mount(source: &str, target: &str) -> Mount {
        Mount { source: source.into(), target: target.to_owned() }
    }

    #[test]
    fn all_spellings_of_docker_and_kpt_are_read() {
        for text in [
            "type=bind,src=./s,dst=/d",
            "src=./s,dst=/d",
            "dst=/d/,source=./s,type=bind",
            "type=bind,source=./s,target=//d",
            "type=bind,src=./s,destination=/d,readonly",
            "type=bind,src=./s,dst=/d,ro=true",
            "type=bind,src=./s,dst=/d,rw=false,readonly=1",
        ] {
            assert_eq!(text.parse(), Ok(mount("./s", "/d")), "{text}");
        }
        assert_eq!("src=a=b,dst=/".parse(), Ok(mount("a=b", "/")));
    }

    #[test]
    fn what_cannot_be_had_is_told() {
        for (text, error) in [
            ("type=bind,src=s,dst=/d,rw=true", MountError::Writable("rw=true".into())),
            ("type=bind,src=s,dst=/d,rw", MountError::Writable("rw".into())),
            ("type=bind,src=s,dst=/d,readonly=false", MountError::Writable("readonly=false".into())),
            ("type=bind,src=s,dst=/d,rw=yes", MountError::Bool("rw=yes".into())),
            ("type=volume,src=s,dst=/d", MountError::Type("volume".into())),
            ("type=tmpfs,dst=/d", MountError::Type("tmpfs".into())),
            ("type=bind,src=s,dst=/d,bind-propagation=shared", MountError::Option("bind-propagation=shared".into())),
            ("s:/d", MountError::Option("s:/d".into())),
            ("type=bind,src,dst=/d", MountError::Option("src".into())),
            ("", MountError::Missing("src=DIR")),
            ("type=bind,src=,dst=/d", MountError::Missing("src=DIR")),
            ("type=bind,src=s", MountError::Missing("dst=/PATH")),
            ("src=a,source=b,dst=/d", MountError::Twice("src")),
            ("src=a,dst=/d,target=/e", MountError::Twice("dst")),
            ("src=s,dst=d", MountError::Target("d".into())),
            ("src=s,dst=", MountError::Target(String::new())),
            ("src=s,dst=/a/../b", MountError::Target("/a/../b".into())),
            ("src=s,dst=/a\n", MountError::Target("/a\n".into())),
        ] {
            assert_eq!(text.parse::<Mount>(), Err(error), "{text}");
        }
    }
}
