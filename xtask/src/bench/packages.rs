//! Packages of any size, made of Deployments as people write them.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use anyhow::Result;

const PER_FILE: usize = 10;

/// Writes a package of `count` Deployments whose pipeline holds these functions (in flow style).
pub(crate) fn write(directory: &Path, count: usize, functions: &[&str]) -> Result<PathBuf> {
    std::fs::create_dir_all(directory)?;
    let mut kptfile =
        "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: bench\npipeline:\n  mutators:\n".to_owned();
    for function in functions {
        writeln!(kptfile, "    - {function}")?;
    }
    std::fs::write(directory.join("Kptfile"), kptfile)?;
    if functions.iter().any(|f| f.contains("script.yaml")) {
        std::fs::write(directory.join("script.yaml"), SCRIPT)?;
    }
    fill(directory, count)?;
    Ok(directory.to_path_buf())
}

/// Puts the resources back as they were before a render.
pub(crate) fn reset(directory: &Path) -> Result<()> {
    let count = std::fs::read_to_string(directory.join(".count"))?.parse()?;
    fill(directory, count)
}

/// Bytes of all resource files.
pub(crate) fn size(directory: &Path) -> Result<u64> {
    let mut sum = 0;
    for entry in std::fs::read_dir(directory)? {
        sum += entry?.metadata()?.len();
    }
    Ok(sum)
}

fn fill(directory: &Path, count: usize) -> Result<()> {
    std::fs::write(directory.join(".count"), count.to_string())?;
    for file in 0..count.div_ceil(PER_FILE) {
        let numbers = file * PER_FILE..count.min((file + 1) * PER_FILE);
        let text = numbers.map(deployment).collect::<Vec<_>>().join("---\n");
        std::fs::write(directory.join(format!("deployments-{file:05}.yaml")), text)?;
    }
    Ok(())
}

const SCRIPT: &str = "apiVersion: fn.kpt.dev/v1alpha1
kind: StarlarkRun
metadata:
  name: scale
source: |
  for r in ctx.resource_list[\"items\"]:
    if r[\"kind\"] == \"Deployment\":
      r[\"spec\"][\"replicas\"] = 3
";

fn deployment(number: usize) -> String {
    format!(
        "apiVersion: apps/v1
kind: Deployment
metadata:
  name: service-{number} # kpt-set: ${{name}}-{number}
  labels:
    app.kubernetes.io/name: service-{number}
    app.kubernetes.io/component: backend
  annotations:
    description: \"one of many services\"
spec:
  replicas: 2 # how many
  revisionHistoryLimit: 3
  selector:
    matchLabels:
      app.kubernetes.io/name: service-{number}
  template:
    metadata:
      labels:
        app.kubernetes.io/name: service-{number}
    spec:
      serviceAccountName: service-{number}
      securityContext:
        runAsNonRoot: true
        seccompProfile:
          type: RuntimeDefault
      containers:
        - name: main
          image: registry.example.com/team/service:{number}.0.1
          args:
            - --listen=:8080
            - --log-level=info
          ports:
            - name: http
              containerPort: 8080
          env:
            - name: POD_NAME
              valueFrom:
                fieldRef:
                  fieldPath: metadata.name
            - name: DATABASE_URL
              value: postgres://database:5432/service-{number}
          # The limits come from last month's load test.
          resources:
            requests:
              cpu: 100m
              memory: 128Mi
            limits:
              cpu: 500m
              memory: 256Mi
          readinessProbe:
            httpGet:
              path: /readyz
              port: http
            periodSeconds: 5
"
    )
}
