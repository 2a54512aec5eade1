//! Manifests as people write them, as many as asked for.

use std::fmt::Write as _;

/// One file of `Deployment`s and `ConfigMap`s, each a document, with comments and setters.
pub(crate) fn file(size: usize) -> String {
    let mut out = String::with_capacity(size + 4096);
    let mut n = 0;
    while out.len() < size {
        if n > 0 {
            out.push_str("---\n");
        }
        if n % 3 == 2 {
            config_map(&mut out, n);
        } else {
            deployment(&mut out, n);
        }
        n += 1;
    }
    out
}

/// The same resources as items of one `ResourceList`.
pub(crate) fn list(size: usize) -> String {
    let mut out = String::from("apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems:\n");
    for document in file(size).split("---\n") {
        let mut first = true;
        for line in document.lines().skip_while(|line| line.starts_with('#')) {
            let lead = if std::mem::take(&mut first) { "- " } else { "  " };
            let _ = writeln!(out, "{}{line}", if line.is_empty() { "" } else { lead });
        }
    }
    out
}

fn deployment(out: &mut String, n: usize) {
    let _ = write!(
        out,
        "# Serves part {n} of the shop.
apiVersion: apps/v1
kind: Deployment
metadata:
  name: app-{n}
  namespace: team-{team} # kpt-set: ${{namespace}}
  labels:
    app.kubernetes.io/name: app-{n}
    app.kubernetes.io/part-of: shop
  annotations:
    example.com/owner: \"team-{team}@example.com\"
spec:
  replicas: {replicas} # kpt-set: ${{replicas}}
  selector:
    matchLabels:
      app.kubernetes.io/name: app-{n}
  template:
    metadata:
      labels:
        app.kubernetes.io/name: app-{n}
    spec:
      serviceAccountName: app-{n}
      containers:
      - name: main
        image: registry.example.com/shop/app:1.{team}.{n} # kpt-set: ${{image}}
        args: [\"--listen\", \"0.0.0.0:8080\"]
        ports:
        - containerPort: 8080
          protocol: TCP
        env:
        - name: LOG_LEVEL
          value: info
        - name: DATABASE_URL
          valueFrom:
            secretKeyRef:
              name: database
              key: url
        # Measured under load.
        resources:
          requests:
            cpu: 100m
            memory: 128Mi
          limits:
            memory: 256Mi
        readinessProbe:
          httpGet:
            path: /healthz
            port: 8080
          periodSeconds: 10
",
        team = n % 7,
        replicas = 1 + n % 5,
    );
}

fn config_map(out: &mut String, n: usize) {
    let _ = write!(
        out,
        "apiVersion: v1
kind: ConfigMap
metadata:
  name: settings-{n}
  namespace: team-{team}
data:
  mode: 'on'
  application.properties: |
    # settings of part {n}
    server.port=8080
    server.name=app-{n}

    feature.search=true
    feature.basket=false
",
        team = n % 7,
    );
}
