use crate::eval::tests::{fails, prints};

#[test]
fn every_library_of_upstream_loads() {
    let source = "load('bsoup.star', 'bsoup')\nload('encoding/base64.star', 'base64')\nload('encoding/csv.star', 'csv')\n\
        load('encoding/json.star', 'json')\nload('encoding/yaml.star', 'yaml')\nload('geo.star', 'geo')\nload('hash.star', 'hash')\n\
        load('html.star', 'html')\nload('http.star', 'http')\nload('math.star', 'math')\n\
        load('re.star', 're')\nload('time.star', 'time')\nload('xlsx.star', 'xlsx')\nload('zipfile.star', 'ZipFile')\nload('krmfn.star', 'krmfn')\n\
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

#[test]
fn times_are_parsed_shown_and_computed() {
    let time = |body: &str| {
        prints(&format!("load('time.star', 'time')\nt = time.parse_time('2024-02-28T23:04:05.5+02:00')\nprint({body})"))
    };
    assert_eq!(time("t"), "2024-02-28 23:04:05.5 +0200 +0200");
    assert_eq!(
        time("t.in_location('UTC'), t.unix, t.year, t.month, t.hour, t.nanosecond"),
        "2024-02-28 21:04:05.5 +0000 UTC 1709154245 2024 2 23 500000000"
    );
    assert_eq!(
        time("t + time.parse_duration('25h'), t - time.hour"),
        "2024-03-01 00:04:05.5 +0200 +0200 2024-02-28 22:04:05.5 +0200 +0200"
    );
    assert_eq!(
        time("t - time.time(year=2024, month=2, day=28), t > time.zero(), t == t.in_location('UTC')"),
        "21h4m5.5s True True"
    );
    assert_eq!(
        time("t.format('Mon, 02 Jan 2006 3:04PM MST'), t.format('20060102-150405.000'), t.format('_2/1/06')"),
        "Wed, 28 Feb 2024 11:04PM +0200 20240228-230405.500 28/2/24"
    );
    assert_eq!(
        time("time.parse_time('Jan 2, 2006 at 3:04pm', format='Jan 2, 2006 at 3:04pm')"),
        "2006-01-02 15:04:00 +0000 UTC"
    );
    assert_eq!(
        time("time.from_timestamp(0), time.zero(), time.is_valid_timezone('UTC'), time.is_valid_timezone('x')"),
        "1970-01-01 00:00:00 +0000 UTC 0001-01-01 00:00:00 +0000 UTC True False"
    );
    assert_eq!(
        time(
            "time.duration('1h15m30.918s'), time.duration('-1.5ms'), time.duration('90s').minutes, time.duration('0'), 2 * time.second / 4"
        ),
        "1h15m30.918s -1.5ms 1.5 0s 500ms"
    );
    let fails = |body: &str| fails(&format!("load('time.star', 'time')\n{body}"));
    assert_eq!(
        fails("time.parse_time('2023-02-29T00:00:00Z')"),
        "parsing time \"2023-02-29T00:00:00Z\" as \"2006-01-02T15:04:05Z07:00\": it does not fit"
    );
    assert_eq!(fails("time.parse_duration('1 hour')"), "time: invalid duration \"1 hour\"");
    assert_eq!(
        fails("time.time(year=2024, location='Europe/Berlin')"),
        "unknown time zone Europe/Berlin: only UTC is known here"
    );
    assert_eq!(fails("time.hour * (1 << 62)"), "time: the result is out of range");
}
