use std::cell::RefCell;

use portico_krm::yaml::{EmitOptions, ParseLimits, SeqStyle, Tree, emit_document};

use super::{Surroundings, transform};
use crate::eval::Script;

fn tree(text: &str) -> Tree {
    Tree::parse(text, &ParseLimits::default()).unwrap().expect("a document")
}

fn run(source: &str, items: &[&str], config: Option<&str>) -> Result<Vec<String>, String> {
    let script = Script { name: "s".to_owned(), source: source.to_owned() };
    let config = config.map(tree);
    let environment = [("HOME".to_owned(), "/".to_owned())];
    let surroundings = Surroundings { function_config: config.as_ref(), environment: &environment };
    let printed = RefCell::new(Vec::new());
    let items = items.iter().map(|item| tree(item)).collect();
    let out = transform(&script, items, surroundings, &printed).map_err(|e| e.message)?;
    let mut texts = printed.into_inner();
    texts.extend(out.iter().map(|tree| {
        let mut text = String::new();
        emit_document(tree, &EmitOptions { sequences: SeqStyle::Wide }, &mut text);
        text
    }));
    Ok(texts)
}

/// The one resource `item` behind the script.
fn edited(source: &str, item: &str) -> String {
    run(source, &[item], None).unwrap_or_else(|e| panic!("{e}")).pop().expect("one resource")
}

const EVERYTHING: &str = "\
# head
apiVersion: v1 # line
kind: 'ConfigMap'
metadata: {name: x, labels: {a: \"1\"}}
data:
  # a comment
  int: 0x1F
  old: 017
  big: 123456789012345678901234567890
  float: 1.50
  exp: 1e3
  yes: yes
  null: ~
  date: 2024-01-31
  1: one
  true: {}
  block: |
    two
    lines
  folded: >-
    one line
  list: [a, 'b', {c: d}]
# foot
";

#[test]
fn what_a_script_does_not_touch_stays_as_it_was() {
    assert_eq!(edited("pass", EVERYTHING), EVERYTHING);
    // assigning what is there already changes nothing
    let same = "d = ctx.resource_list['items'][0]['data']\nd['int'] = 31\nd['exp'] = 1000.0\nd['list'] = ['a', 'b', {'c': 'd'}]\nd['date'] = '2024-01-31'\nd[None] = None";
    assert_eq!(edited(same, EVERYTHING), EVERYTHING);
    // nor does rebuilding the whole resource in place
    let rebuilt = "r = ctx.resource_list['items'][0]\nc = dict(r)\nr.clear()\nr.update(c)";
    assert_eq!(edited(rebuilt, EVERYTHING), EVERYTHING);
}

#[test]
fn values_have_the_types_of_their_scalars() {
    let source = "d = ctx.resource_list['items'][0]['data']\n\
        print([d[k] for k in ['int', 'old', 'big', 'float', 'exp', 'yes', None, 'date', 1, True, 'block', 'folded']])";
    assert_eq!(
        run(source, &[EVERYTHING], None).unwrap()[0],
        "[31, 15, 123456789012345678901234567890, 1.5, 1000.0, \"yes\", None, \"2024-01-31\", \"one\", {}, \"two\\nlines\\n\", \"one line\"]"
    );
}

#[test]
fn only_what_changed_is_written_anew() {
    let item = "kind: A\nspec:\n  # replicas\n  replicas: 1 # small\n  image: \"nginx:1\" # set\n  plain: x\n  gone: 1\n  last: 'x'\n";
    let source = "s = ctx.resource_list['items'][0]['spec']\ns['replicas'] = 4 / 2\ns['image'] = 'nginx:2'\ns['plain'] = 'true'\ns.pop('gone')\ns['new'] = {'b': [1, True, None, 1.5, 'yes'], 'a': (1,)}";
    assert_eq!(
        edited(source, item),
        "kind: A\nspec:\n  # replicas\n  replicas: 2 # small\n  image: \"nginx:2\" # set\n  plain: \"true\"\n  last: 'x'\n  new:\n    a:\n      - 1\n    b:\n      - 1\n      - true\n      - null\n      - 1.5\n      - \"yes\"\n"
    );
}

#[test]
fn comments_follow_their_list_element() {
    let item = "kind: A\nlist:\n  - name: a # first\n    v: 1\n  - name: b # second\n    v: 2\nports:\n  - 80 # http\n  - 443 # https\n";
    let source = "r = ctx.resource_list['items'][0]\nr['list'].insert(0, {'name': 'guard'})\nr['list'][1]['v'] = 7\nr['ports'] = [443, 8080]";
    assert_eq!(
        edited(source, item),
        "kind: A\nlist:\n  - name: guard\n  - name: a # first\n    v: 7\n  - name: b # second\n    v: 2\nports:\n  - 443 # https\n  - 8080\n"
    );
    let reversed = "r = ctx.resource_list['items'][0]\nr['list'] = reversed(r['list'])";
    assert_eq!(
        edited(reversed, item),
        "kind: A\nlist:\n  - name: b # second\n    v: 2\n  - name: a # first\n    v: 1\nports:\n  - 80 # http\n  - 443 # https\n"
    );
}

#[test]
fn resources_are_added_removed_reordered_and_copied() {
    let items = ["kind: A # a\n", "kind: B # b\n"];
    let run = |source: &str| run(source, &items, None).unwrap();
    assert_eq!(
        run("ctx.resource_list['items'].append({'kind': 'C'})"),
        ["kind: A # a\n", "kind: B # b\n", "kind: C\n"]
    );
    assert_eq!(
        run("ctx.resource_list['items'] = [r for r in ctx.resource_list['items'] if r['kind'] != 'A']"),
        ["kind: B # b\n"]
    );
    assert_eq!(
        run("ctx.resource_list['items'] = reversed(ctx.resource_list['items'])"),
        ["kind: B # b\n", "kind: A # a\n"]
    );
    assert_eq!(run("ctx.resource_list['items'] += [ctx.resource_list['items'][0]]").len(), 3);
    assert_eq!(run("ctx.resource_list['items'] = []"), Vec::<String>::new());
    assert_eq!(run("ctx.resource_list.pop('items')"), Vec::<String>::new());
    // the dict is the resource, whatever it is made to look like
    assert_eq!(
        run("a, b = ctx.resource_list['items']\na['kind'], b['kind'] = b['kind'], a['kind']"),
        ["kind: B # a\n", "kind: A # b\n"]
    );
}

#[test]
fn resources_stay_themselves_over_a_garbage_collection() {
    let source = "x = []\nfor i in range(300):\n  x = ['%d' % j for j in range(300)]\nfor i in range(3):\n  x = i\nctx.resource_list['items'][1]['m'] = 1";
    assert_eq!(
        run(source, &["kind: A # a\n", "kind: B # b\n"], None).unwrap(),
        ["kind: A # a\n", "kind: B # b\nm: 1\n"]
    );
}

#[test]
fn the_open_api_document_is_a_dict_that_is_read_when_it_is_asked() {
    let prints = |expression: &str| run(&format!("d = ctx.open_api['definitions']\nprint({expression})"), &[], None);
    for (expression, printed) in [
        ("ctx.open_api['swagger'], 'definitions' in ctx.open_api, len(ctx.open_api)", "2.0 True 4"),
        (
            "d['io.k8s.api.apps.v1.Deployment']['x-kubernetes-group-version-kind']",
            "[{\"group\": \"apps\", \"kind\": \"Deployment\", \"version\": \"v1\"}]",
        ),
        ("d['io.k8s.api.core.v1.Pod']['x-kubernetes-group-version-kind'][0]['group'] == ''", "True"),
        (
            "d['io.k8s.api.apps.v1.Deployment']['properties']['spec']['$ref']",
            "#/definitions/io.k8s.api.apps.v1.DeploymentSpec",
        ),
        ("d['io.k8s.api.apps.v1.DeploymentSpec']['properties']['replicas']['type']", "integer"),
        ("'x-kubernetes-group-version-kind' in d['io.k8s.api.apps.v1.DeploymentSpec']", "False"),
        ("'io.k8s.api.apps.v1.Deployment' in d, 'nope' in d, 1 in d", "True False False"),
        ("d.get('nope'), d.get('nope', 1), ctx.open_api.get('swagger')", "None 1 2.0"),
        ("len(d) == len(d.keys()), len(d) > 500, 'io.k8s.api.core.v1.Pod' in d.keys()", "True True True"),
        ("[n for n in d if n.endswith('.v1.Deployment')]", "[\"io.k8s.api.apps.v1.Deployment\"]"),
        (
            "[n for n, s in d.items() if {'group': 'batch', 'version': 'v1', 'kind': 'Job'} in s.get('x-kubernetes-group-version-kind', [])]",
            "[\"io.k8s.api.batch.v1.Job\"]",
        ),
    ] {
        assert_eq!(prints(expression).unwrap(), [printed], "{expression}");
    }
    assert_eq!(prints("d['nope']").unwrap_err(), "key \"nope\" not in dict");
}

#[test]
fn a_script_sees_its_function_config_and_environment() {
    let config = "apiVersion: v1\nkind: ConfigMap\ndata:\n  source: x\n  ns: prod\n";
    let source = "print(ctx.resource_list['functionConfig']['data']['ns'], ctx.environment, ctx.resource_list['kind'])\nctx.resource_list['functionConfig'] = 1\nctx.resource_list['results'] = 1";
    assert_eq!(run(source, &[], Some(config)).unwrap(), ["prod {\"HOME\": \"/\"} ResourceList"]);
    assert_eq!(
        run("ctx.resource_lst", &[], None).unwrap_err(),
        "struct has no .resource_lst field or method (did you mean .resource_list?)"
    );
}

#[test]
fn aliases_and_merge_keys_are_plain_values() {
    let item = "base: &b {x: 1, y: 2}\nuse: *b\nmerged:\n  <<: *b\n  y: 3 # three\n";
    assert_eq!(edited("pass", item), item.replace("<<", "!!merge <<"));
    let source = "r = ctx.resource_list['items'][0]\nr['base']['x'] = 9\nprint(r['use'], r['merged'])";
    assert_eq!(
        run(source, &[item], None).unwrap(),
        [
            "{\"x\": 1, \"y\": 2} {\"y\": 3, \"x\": 1}",
            "base: {x: 9, y: 2}\nuse: {x: 1, y: 2}\nmerged:\n  y: 3 # three\n  x: 1\n"
        ]
    );
    let mut bomb = "a: &a [x, x, x, x, x, x, x, x, x, x]\n".to_owned();
    for (name, before) in ('b'..='i').zip('a'..) {
        let aliases = vec![format!("*{before}"); 10].join(", ");
        bomb.extend([name, ':', ' ', '&', name, ' ', '[']);
        bomb.extend([&aliases, "]\n"]);
    }
    assert_eq!(run("pass", &[&bomb], None).unwrap_err(), "item 0: aliases stand for more than 500000 values");
    let cycle = "a: &a\n  b: *a\n";
    assert!(run("pass", &[cycle], None).unwrap_err().contains("aliases nest values more than 400 levels deep"));
}

#[test]
fn what_is_no_resource_list_is_refused_with_its_place() {
    let items = ["kind: A\nspec: {}\n"];
    for (source, message) in [
        ("ctx.resource_list['items'] = 'x'", "`ctx.resource_list[\"items\"]` must be a list, but it is a string"),
        (
            "ctx.resource_list['items'].append('x')",
            "`ctx.resource_list[\"items\"][1]` must be a dict, but it is a string",
        ),
        (
            "ctx.resource_list['items'][0]['spec']['f'] = [len]",
            "item 0: `spec.f[0]`: a function can't be written to YAML",
        ),
        ("ctx.resource_list['items'][0]['spec'][(1, 2)] = 1", "item 0: `spec`: a tuple can't be a key in YAML"),
    ] {
        assert_eq!(run(source, &items, None).unwrap_err(), message, "of {source:?}");
    }
    let endless = run("r = ctx.resource_list['items'][0]\nr['spec']['self'] = r['spec']", &items, None).unwrap_err();
    assert_eq!(
        endless,
        format!(
            "item 0: `spec.self{}…`: values are nested more than 400 levels deep; does one hold itself?",
            ".self".repeat(10)
        )
    );
    let complex = run("pass", &["? [a]\n: b\n"], None).unwrap_err();
    assert_eq!(complex, "item 0: the mapping key in line 1 is no scalar, which a script can't handle");
}
