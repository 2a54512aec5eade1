use crate::eval::tests::{fails, prints};

#[test]
fn every_library_of_upstream_loads() {
    let source = "load('bsoup.star', 'bsoup')\nload('encoding/base64.star', 'base64')\nload('encoding/csv.star', 'csv')\n\
        load('encoding/json.star', 'json')\nload('encoding/yaml.star', 'yaml')\nload('geo.star', 'geo')\nload('hash.star', 'hash')\n\
        load('html.star', 'html')\nload('http.star', 'http')\nload('math.star', 'math')\n\
        load('re.star', 're')\nload('xlsx.star', 'xlsx')\nload('zipfile.star', 'ZipFile')\nload('krmfn.star', 'krmfn')\n\
        print('loaded')\n";
    assert_eq!(prints(source), "loaded");
}

#[test]
fn what_needs_a_network_fails_when_it_is_called() {
    let message = fails("load('http.star', 'http')\nhttp.get('https://example.com', headers={'a': 'b'})");
    assert!(message.starts_with("http.get: functions have no network"), "{message}");
    let message = fails("load('zipfile.star', 'ZipFile')\nZipFile('x')");
    assert_eq!(message, "ZipFile: this library is not available here");
}

#[test]
fn json_is_encoded_decoded_and_indented() {
    let json = |body: &str| prints(&format!("load('encoding/json.star', 'json')\n{body}"));
    assert_eq!(
        json("print(json.encode({'b': [1, 2.0, None, True, (1,)], 'a': 'x\"<é'}))"),
        "{\"a\":\"x\\\"<é\",\"b\":[1,2.0,null,true,[1]]}"
    );
    assert_eq!(
        json("print(json.decode('{\"b\": [1, 2.0, 1e3, null, true, 12345678901234567890], \"a\": \"x\"}'))"),
        "{\"b\": [1, 2.0, 1000.0, None, True, 12345678901234567890], \"a\": \"x\"}"
    );
    assert_eq!(json("print(json.decode('{', default=7))"), "7");
    assert_eq!(
        json("print(json.indent('{\"b\":[1,{}],\"a\":[]}', indent=' '))"),
        "{\n \"b\": [\n  1,\n  {}\n ],\n \"a\": []\n}"
    );
    let fails = |body: &str| fails(&format!("load('encoding/json.star', 'json')\n{body}"));
    assert!(fails("json.decode('{')").starts_with("json.decode: EOF"));
    assert_eq!(fails("json.encode({1: 2})"), "json.encode: dict has int key, want string");
    assert_eq!(fails("json.encode(len)"), "json.encode: cannot encode function as JSON");
    assert!(fails("x = []\nx.append(x)\njson.encode(x)").contains("does it hold itself?"));
    assert!(fails("json.decode('[' * 100000)").contains("recursion limit"));
}

#[test]
fn base64_has_four_dialects() {
    let base64 = |body: &str| prints(&format!("load('encoding/base64.star', 'base64')\nprint({body})"));
    assert_eq!(
        base64("base64.encode('hello world!'), base64.decode('aGVsbG8gd29ybGQh')"),
        "aGVsbG8gd29ybGQh hello world!"
    );
    assert_eq!(
        base64("base64.encode('a?>', encoding='url'), base64.encode('a', 'standard_raw'), base64.encode('a')"),
        "YT8- YQ YQ=="
    );
    let error = fails("load('encoding/base64.star', 'base64')\nbase64.decode('###')");
    assert!(error.starts_with("base64.decode: "), "{error}");
}

#[test]
fn digests_are_hex() {
    assert_eq!(
        prints(
            "load('hash.star', 'hash')\nprint(hash.md5('hello world!'))\nprint(hash.sha1('hello world!'))\nprint(hash.sha256('hello world!'))"
        ),
        "fc3ff98e8c6a0d3087d515c0473f8677\n430ce34d020724ed75a196dfc2ad67c77772d169\n7509e5bda0c762d2bac7f90d758b5b2263fa01ccbc542ab5e3df163be08e6ca9"
    );
}

#[test]
fn csv_is_read_and_written() {
    let csv = |body: &str| prints(&format!("load('encoding/csv.star', 'csv')\nprint({body})"));
    assert_eq!(csv("csv.read_all('a,b\\n1,\"x, y\"\\n')"), "[[\"a\", \"b\"], [\"1\", \"x, y\"]]");
    assert_eq!(
        csv("csv.read_all('a;b\\n# c\\n1;2\\n3;4', comma=';', comment='#', skip=1, limit=1)"),
        "[[\"1\", \"2\"]]"
    );
    assert_eq!(csv("repr(csv.write_all([['a', 'b c'], [1, 'x,\"y']]))"), "\"a,b c\\n1,\\\"x,\\\"\\\"y\\\"\\n\"");
    let error = fails("load('encoding/csv.star', 'csv')\ncsv.read_all('a,b\\n1\\n')");
    assert_eq!(error, "csv.read_all: record on line 2: wrong number of fields");
}

#[test]
fn math_takes_ints_and_floats() {
    let math = |body: &str| prints(&format!("load('math.star', 'math')\nprint({body})"));
    assert_eq!(
        math("math.ceil(1.2), math.floor(-1.2), math.round(2.5), math.sqrt(9), math.pow(2, 10)"),
        "2 -2 3.0 3.0 1024.0"
    );
    assert_eq!(math("math.log(8, 2), math.fabs(-3), math.mod(7, 4), math.floor(math.pi * 100)"), "3.0 3.0 3.0 314");
    assert_eq!(
        fails("load('math.star', 'math')\nmath.ceil(math.exp(1000))"),
        "math.ceil: cannot convert float inf to integer"
    );
}

#[test]
fn yaml_is_loaded_and_dumped() {
    let yaml = |body: &str| prints(&format!("load('encoding/yaml.star', 'yaml')\nprint({body})"));
    assert_eq!(
        yaml("yaml.loads('a: &x [1, 2.5, null, true, \"1\"]\\nb: *x\\n')"),
        "{\"a\": [1, 2.5, None, True, \"1\"], \"b\": [1, 2.5, None, True, \"1\"]}"
    );
    assert_eq!(yaml("yaml.loads('')"), "None");
    assert_eq!(
        yaml("yaml.dumps({'b': ['1', 1, None], 'a': {'c': 'x\\ny\\n'}})"),
        "a:\n  c: |\n    x\n    y\nb:\n- \"1\"\n- 1\n- null\n"
    );
    let error = fails("load('encoding/yaml.star', 'yaml')\nyaml.loads('a: [')");
    assert!(error.starts_with("yaml.loads: line "), "{error}");
}

#[test]
fn regular_expressions_match_split_and_replace() {
    let re = |body: &str| prints(&format!("load('re.star', 're')\nr = re.compile('(o+)(x?)')\nprint({body})"));
    assert_eq!(
        re("re.match('(o+)(x?)', 'foo box'), r.match('foo box'), r.match('none'[2:])"),
        "[(\"oo\", \"oo\", \"\"), (\"ox\", \"o\", \"x\")] [(\"oo\", \"oo\", \"\"), (\"ox\", \"o\", \"x\")] []"
    );
    assert_eq!(re("re.findall('foo', 'foo bar foo'), r.findall('foo box')"), "(\"foo\", \"foo\") (\"oo\", \"ox\")");
    assert_eq!(
        re("re.split(' ', 'a b c'), re.split(' ', 'a b c', maxsplit=1), r.split('foo box')"),
        "(\"a\", \"b\", \"c\") (\"a\", \"b c\") (\"f\", \" b\", \"\")"
    );
    assert_eq!(
        re("re.sub('o(.)', '<$1>', 'fob cox'), r.sub('-', 'foo box'), re.sub('o', '0', 'foo', count=1)"),
        "f<b> c<x> f- b- f0o"
    );
    let error = fails("load('re.star', 're')\nre.compile('(')");
    assert!(error.starts_with("error parsing regexp: "), "{error}");
}
