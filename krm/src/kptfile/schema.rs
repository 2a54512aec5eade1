//! What a Kptfile of version `kpt.dev/v1` may hold: every field, in the order in which kpt writes them, with the names
//! that Go has for the types, because kpt's messages show them.

/// A mapping with known keys.
pub(super) struct Type {
    /// How Go's messages call it.
    pub(super) go: &'static str,
    pub(super) fields: &'static [Field],
}

/// One key of a [`Type`].
pub(super) struct Field {
    pub(super) key: &'static str,
    pub(super) shape: Shape,
    /// Written even when it is empty or zero.
    pub(super) always: bool,
    /// Unknown to kpt, and to us unless asked for: see [`super::Experiments`].
    pub(super) experimental: bool,
}

/// What a field holds.
#[derive(Clone, Copy)]
pub(super) enum Shape {
    /// A string; the name is Go's.
    Text(&'static str),
    /// Anything: a scalar's text, or a collection as YAML.
    AnyText,
    /// A whole number.
    Number,
    /// A list of strings.
    Texts,
    /// A mapping from strings to strings.
    Strings,
    /// A mapping that is always there in Go: written unless it is empty.
    Inline(&'static Type),
    /// A mapping that may be absent: written even when it is empty.
    One(&'static Type),
    /// Like `One`, but unknown keys are skipped.
    Open(&'static Type),
    /// A list of mappings.
    Many(&'static Type),
}

impl Type {
    pub(super) fn field(&self, key: &str) -> Option<&'static Field> {
        self.fields.iter().find(|field| field.key == key)
    }
}

impl Shape {
    /// The type of the mapping or of the elements.
    pub(super) fn inner(self) -> Option<&'static Type> {
        match self {
            Shape::Inline(t) | Shape::One(t) | Shape::Open(t) | Shape::Many(t) => Some(t),
            _ => None,
        }
    }
}

const STRING: Shape = Shape::Text("string");

const fn field(key: &'static str, shape: Shape) -> Field {
    Field { key, shape, always: false, experimental: false }
}

const fn always(key: &'static str, shape: Shape) -> Field {
    Field { key, shape, always: true, experimental: false }
}

const fn experimental(key: &'static str, shape: Shape) -> Field {
    Field { key, shape, always: false, experimental: true }
}

pub(super) static KPTFILE: Type = Type {
    go: "v1.KptFile",
    fields: &[
        field("apiVersion", STRING),
        field("kind", STRING),
        field("metadata", Shape::Inline(&METADATA)),
        field("upstream", Shape::One(&UPSTREAM)),
        field("upstreamLock", Shape::One(&LOCATOR)),
        field("info", Shape::One(&INFO)),
        field("pipeline", Shape::One(&PIPELINE)),
        field("inventory", Shape::One(&INVENTORY)),
        field("status", Shape::One(&STATUS)),
    ],
};

static METADATA: Type = Type {
    go: "yaml.ObjectMeta",
    fields: &[
        field("name", STRING),
        field("namespace", STRING),
        field("labels", Shape::Strings),
        field("annotations", Shape::Strings),
    ],
};

static UPSTREAM: Type = Type {
    go: "v1.Upstream",
    fields: &[
        field("type", Shape::Text("v1.OriginType")),
        field("git", Shape::One(&GIT)),
        field("updateStrategy", Shape::Text("v1.UpdateStrategyType")),
    ],
};

static GIT: Type =
    Type { go: "v1.Git", fields: &[field("repo", STRING), field("directory", STRING), field("ref", STRING)] };

static LOCATOR: Type = Type {
    go: "v1.Locator",
    fields: &[
        field("type", Shape::Text("v1.OriginType")),
        field("git", Shape::One(&GIT_LOCK)),
        field("generic", Shape::One(&GENERIC_LOCK)),
    ],
};

static GIT_LOCK: Type = Type {
    go: "v1.GitLock",
    fields: &[field("repo", STRING), field("directory", STRING), field("ref", STRING), field("commit", STRING)],
};

static GENERIC_LOCK: Type = Type {
    go: "v1.GenericLock",
    fields: &[field("storeID", STRING), field("resourceID", STRING), field("resourceVersion", STRING)],
};

static INFO: Type = Type {
    go: "v1.PackageInfo",
    fields: &[
        field("site", STRING),
        field("emails", Shape::Texts),
        field("license", STRING),
        field("licenseFile", STRING),
        field("description", STRING),
        field("keywords", Shape::Texts),
        field("man", STRING),
        field("readinessGates", Shape::Many(&READINESS_GATE)),
    ],
};

static READINESS_GATE: Type = Type { go: "v1.ReadinessGate", fields: &[always("conditionType", STRING)] };

static PIPELINE: Type = Type {
    go: "v1.Pipeline",
    fields: &[field("mutators", Shape::Many(&FUNCTION)), field("validators", Shape::Many(&FUNCTION))],
};

static FUNCTION: Type = Type {
    go: "v1.Function",
    fields: &[
        field("image", STRING),
        field("exec", STRING),
        field("configPath", STRING),
        field("configMap", Shape::Strings),
        field("name", STRING),
        field("tag", STRING),
        field("selectors", Shape::Many(&SELECTOR)),
        field("exclude", Shape::Many(&SELECTOR)),
        experimental("condition", STRING),
    ],
};

static SELECTOR: Type = Type {
    go: "v1.Selector",
    fields: &[
        field("apiVersion", STRING),
        field("kind", STRING),
        field("name", STRING),
        field("namespace", STRING),
        field("labels", Shape::Strings),
        field("annotations", Shape::Strings),
    ],
};

static INVENTORY: Type = Type {
    go: "v1.Inventory",
    fields: &[
        field("namespace", STRING),
        field("name", STRING),
        field("inventoryID", STRING),
        field("labels", Shape::Strings),
        field("annotations", Shape::Strings),
    ],
};

static STATUS: Type = Type {
    go: "v1.Status",
    fields: &[field("conditions", Shape::Many(&CONDITION)), field("renderStatus", Shape::One(&RENDER_STATUS))],
};

static CONDITION: Type = Type {
    go: "v1.Condition",
    fields: &[
        always("type", STRING),
        always("status", Shape::Text("v1.ConditionStatus")),
        field("reason", STRING),
        field("message", STRING),
    ],
};

static RENDER_STATUS: Type = Type {
    go: "v1.RenderStatus",
    fields: &[
        field("mutationSteps", Shape::Many(&STEP)),
        field("validationSteps", Shape::Many(&STEP)),
        field("errorSummary", STRING),
    ],
};

static STEP: Type = Type {
    go: "v1.PipelineStepResult",
    fields: &[
        field("name", STRING),
        field("image", STRING),
        field("exec", STRING),
        field("executionError", STRING),
        field("stderr", STRING),
        always("exitCode", Shape::Number),
        // ours: only a render with conditions writes it
        field("state", STRING),
        field("results", Shape::Many(&RESULT)),
        field("errorResults", Shape::Many(&RESULT)),
    ],
};

static RESULT: Type = Type {
    go: "v1.ResultItem",
    fields: &[
        field("message", STRING),
        field("severity", Shape::Text("framework.Severity")),
        field("resourceRef", Shape::One(&RESOURCE_REF)),
        field("field", Shape::Open(&RESULT_FIELD)),
        field("file", Shape::One(&RESULT_FILE)),
        field("tags", Shape::Strings),
    ],
};

static RESOURCE_REF: Type = Type {
    go: "yaml.ResourceIdentifier",
    fields: &[field("apiVersion", STRING), field("kind", STRING), field("name", STRING), field("namespace", STRING)],
};

static RESULT_FIELD: Type = Type {
    go: "v1.Field",
    fields: &[field("path", STRING), field("currentValue", Shape::AnyText), field("proposedValue", Shape::AnyText)],
};

static RESULT_FILE: Type =
    Type { go: "framework.File", fields: &[field("path", STRING), field("index", Shape::Number)] };
