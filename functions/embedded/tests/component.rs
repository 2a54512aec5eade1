//! A function of the catalog as a component: the same package comes out, byte for byte.

mod made;

use std::collections::BTreeMap;
use std::sync::Arc;

use portico_catalog::Catalog;
use portico_runtime::package::{PackageFiles, PackageLimits};
use portico_runtime::{
    Allocation, CancelToken, Engine, EngineConfig, FunctionError, FunctionModule, FunctionSource, ModuleCode, Outcome,
    RenderOptions, Renderer, Sources,
};

/// The small functions, from one component for all.
struct Components(Arc<[u8]>);

impl FunctionSource for Components {
    fn resolve(&self, image: &str) -> Result<Option<FunctionModule>, FunctionError> {
        let name = image.rsplit('/').next().unwrap_or(image).split(':').next().unwrap_or(image).to_owned();
        Ok(Some(FunctionModule { name, code: ModuleCode::Wasm(Arc::clone(&self.0)) }))
    }
}

const KPTFILE: &str = "\
apiVersion: kpt.dev/v1
kind: Kptfile
metadata:
  name: shop
pipeline:
  mutators:
    - image: set-namespace
      configMap:
        namespace: prod
    - image: set-labels
      configMap:
        tier: backend
    - image: search-replace
      configMap:
        by-path: spec.replicas
        put-value: '3'
";

fn deployment(number: usize) -> String {
    format!(
        "# what {number} is for\napiVersion: apps/v1\nkind: Deployment\nmetadata:\n    name: \"d{number}\"\nspec:\n  \
         replicas:   {number} # as it was\n  selector: {{matchLabels: {{app: d{number}}}}}\n  template:\n    \
         metadata: {{labels: {{app: d{number}}}}}\n    spec: {{containers: [{{name: a, image: 'a:1'}}]}}\n"
    )
}

fn render(engine: &Engine, source: Arc<dyn FunctionSource>) -> Outcome {
    let mut files = BTreeMap::from([("Kptfile".to_owned(), KPTFILE.as_bytes().to_vec())]);
    for number in 0..40 {
        files.insert(format!("d{number}.yaml"), deployment(number).into_bytes());
    }
    let files: BTreeMap<&str, Vec<u8>> = files.iter().map(|(path, content)| (path.as_str(), content.clone())).collect();
    let files = PackageFiles::from_map("/w/shop", files, &PackageLimits::default()).expect("a package");
    Renderer::new(engine.clone(), Sources::new(vec![source]))
        .render(&files, &RenderOptions::default(), &CancelToken::new(), &mut ())
        .expect("it begins")
}

#[test]
fn a_package_comes_out_the_same_byte_for_byte() {
    let component: Arc<[u8]> = made::component().expect("the functions are built: `cargo xtask functions`").into();
    for allocation in [Allocation::OnDemand, Allocation::Auto] {
        let engine = Engine::new(EngineConfig { allocation, ..EngineConfig::default() }).expect("an engine");
        let core = render(&engine, Arc::new(Catalog));
        let other = render(&engine, Arc::new(Components(Arc::clone(&component))));
        assert_eq!((&core.failure, core.executed()), (&None, 3));
        assert_eq!((&other.failure, other.executed()), (&None, 3));
        assert!(core.changes.len() > 40, "{}", core.changes.len());
        assert_eq!(core.changes, other.changes);
        for (core, other) in core.steps.iter().zip(&other.steps) {
            assert_eq!((&core.results, &core.stderr), (&other.results, &other.stderr));
        }
        // The component is compiled once for the three of them; each has a Store of its own.
        assert_eq!((engine.compilations(), core.stores, other.stores), (1, 1, 3));
    }
}
