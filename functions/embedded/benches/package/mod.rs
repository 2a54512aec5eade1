//! A package of Deployments as a function gets it.

use std::fmt::Write as _;

/// A `ResourceList` of `count` Deployments of 2 KB in the second step of a render, with further items (each a list
/// element) and this `functionConfig` (indented by two).
pub(crate) fn list(count: usize, items: &str, config: Option<&str>) -> Vec<u8> {
    let mut text = "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems:\n".to_owned();
    for number in 0..count {
        write!(text, "{}", deployment(number)).expect("written");
    }
    text.push_str(items);
    if let Some(config) = config {
        text.push_str("functionConfig:\n");
        text.push_str(config);
    }
    text.into_bytes()
}

fn deployment(number: usize) -> String {
    let (file, index, id) = (number / 10, number % 10, number + 1);
    format!(
        "- apiVersion: apps/v1
  kind: Deployment
  metadata:
    name: service-{number} # kpt-set: ${{name}}-{number}
    labels:
      app.kubernetes.io/name: service-{number}
      app.kubernetes.io/component: backend
    annotations:
      description: \"one of many services\"
      config.kubernetes.io/index: '{index}'
      config.kubernetes.io/path: 'deployments-{file:05}.yaml'
      internal.config.kubernetes.io/index: '{index}'
      internal.config.kubernetes.io/package-path: '/packages/bench'
      internal.config.kubernetes.io/path: 'deployments-{file:05}.yaml'
      internal.config.kubernetes.io/seqindent: 'wide'
      internal.config.kubernetes.io/annotations-migration-resource-id: '{number}'
      internal.config.kubernetes.io/id: '{id}'
      config.k8s.io/id: '{id}'
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
