use super::{NESTING, check};

/// `line:column: message` of the first fault, or nothing.
fn fault(source: &str) -> String {
    check(source).fault.map_or_else(String::new, |f| format!("{}: {}", f.at, f.message))
}

#[test]
fn the_texts_of_kpts_own_failing_scripts() {
    let script = "# AND conditional\ndef isHTTPBin(r):\n  return r[\"apiVersion\"] == \"apps/v1\" and r[\"kind\"] == \"Deployment\" and \n  r[\"metadata\"]\n";
    assert_eq!(fault(script), "3:73: got newline, want primary expression");
    let script = "# a\n# b\ndef isStatefulSet(r):\n  return r[\"apiVersion\"] == \"apps/v1\" and\n  r[\"kind\"] == \"StatefulSet\"\n";
    assert_eq!(fault(script), "4:42: got newline, want primary expression");
}

#[test]
fn faults_are_told_in_gos_words_and_at_its_places() {
    for (source, expected) in [
        ("x = ", "1:5: got end of file, want primary expression"),
        ("x = \n", "1:5: got newline, want primary expression"),
        ("x = )", "1:5: unexpected ')'"),
        ("f(1 2)", "1:5: got int literal, want ','"),
        ("f(1", "1:4: got end of file, want ')'"),
        ("f(1\n", "2:1: got end of file, want ')'"),
        ("[1, 2", "1:6: got end of file, want ']'"),
        ("[1, 2)", "1:6: got ')', want ']'"),
        ("{1: 2, 3}", "1:9: got '}', want ':'"),
        ("if x\n  pass", "1:5: got newline, want ':'"),
        ("if x:\npass\n", "2:1: got pass, want indent"),
        ("if x:\ny = 1\n", "2:1: got identifier, want indent"),
        ("def f(x)\n  pass\n", "1:9: got newline, want ':'"),
        ("def (x):\n  pass\n", "1:5: not an identifier"),
        ("def f:\n  pass\n", "1:6: got ':', want '('"),
        ("for x y:\n  pass\n", "1:7: got identifier, want in"),
        ("a = b = c\n", "1:7: got '=', want newline"),
        ("a b\n", "1:3: got identifier, want newline"),
        ("  x = 1\n", "1:3: got indent, want primary expression"),
        ("x = 1\n  y = 2\n", "2:3: got indent, want primary expression"),
        ("if x:\n    a = 1\n  b = 2\n", "3:3: unindent does not match any outer indentation level"),
        ("x = 1,\n", "1:6: unparenthesized tuple with trailing comma"),
        ("x = 1 if y\n", "1:7: conditional expression without else clause"),
        ("1 < 2 < 3\n", "1:7: < does not associate with < (use parens)"),
        ("[x for x in y z]\n", "1:15: got identifier, want ']', for, or if"),
        ("f(1=2)\n", "1:4: keyword argument must have form name=expr"),
        ("x = 'abc\n", "1:9: unexpected newline in string"),
        ("x = '''abc\n", "1:5: unexpected EOF in string"),
        ("x = 'a\\qb'\n", "1:5: invalid escape sequence \\q"),
        ("x = 07\n", "1:5: obsolete form of octal literal; use 0o7"),
        ("x = 0x\n", "1:5: invalid hex literal"),
        ("x = 1e\n", "1:5: invalid float literal"),
        ("x = 1 $ 2\n", "1:7: unexpected input character '$'"),
        ("x = 1 \\ 2\n", "1:7: stray backslash in program"),
        ("load()\n", "1:6: first operand of load statement must be a string literal"),
        ("load('a.star')\n", "1:5: load statement must import at least 1 symbol"),
        ("x.1\n", "1:2: got float literal, want newline"),
        ("x.(1)\n", "1:3: not an identifier"),
        ("x not y\n", "1:7: got identifier, want in"),
        ("lambda x 1\n", "1:10: got int literal, want ','"),
        ("else:\n  pass\n", "1:1: got else, want primary expression"),
        ("x = \"é\" é\n", "1:9: got identifier, want newline"),
        ("import os\n", "1:1: got illegal token, want primary expression (`import` is a reserved word)"),
    ] {
        assert_eq!(fault(source), expected, "of {source:?}");
    }
}

#[test]
fn scripts_of_every_shape_pass() {
    for source in [
        "",
        "\n\n# only a comment",
        "x = 1; y = 2;\n",
        "if a: pass\nelif b: pass\nelse: pass",
        "def f(a, b=1, *args, **kwargs):\n  return a\n",
        "def f(a, *, b):\n  return\nf(1, b=2,)\n",
        "for k, v in d.items():\n  if k: continue\n  break\n",
        "for x in [1,\n  2,\n\n  # comment\n  3]:\n  pass\n",
        "x = [a for a in b if a not in c for d in e]\n",
        "x = {k: v for k, v in y}\n",
        "x = a[1:2:3] + a[:] + a[::2] + a[1:] + a[-1]\n",
        "x = () + (1,) + (1, 2)\n",
        "x = not a == b and c or d if e else lambda x, *y: x\n",
        "x = \"b\"[0]\n",
        "x = r'\\d' + b'x' + '''a\n'b''' + \"\\\"\"\n",
        "x = 1.5 + .5 + 1e3 + 0xFF + 0o17 + 0b11 + 0\n",
        "load('a.star', 'b', c='d')\n",
        "a.b[0].c(x)(y)[1] += 2\n",
        "x = -1 + ~2 - +3\n",
        "x = a \\\n  + b\n",
        "def f():\n  pass",
        "def f():\n  if x:\n    return 1\n\n  # dedented comment\n# more\n  return 2\nf()\n",
        "x, y = y, x\nreturn_value = 1\n",
        "x = 1 << 2 | 3 & 4 ^ 5 >> 6 // 7 % 8\r\ny = 2\r\n",
    ] {
        assert_eq!(fault(source), "", "of {source:?}");
    }
}

#[test]
fn tabs_in_indentation_become_the_spaces_that_they_count_for() {
    let checked = check("if x:\n\ty = '\t'\n  \tz = [\n\t1]\n# c\n");
    assert_eq!(checked.source, "if x:\n        y = '\t'\n        z = [\n\t1]\n# c\n");
    assert!(checked.fault.is_none());
}

#[test]
fn a_while_loop_is_refused_with_what_to_do() {
    let fault = check("x = 0\nwhile x < 3:\n  x += 1\n").fault.unwrap();
    assert_eq!((fault.at.line, fault.at.column, fault.last_word), (2, 1, true));
    assert!(fault.message.contains("`while` loops are not supported"), "{}", fault.message);
    // a name that only contains the word is a name
    assert!(check("whiles = 1\nx = 'while'\n").fault.is_none());
}

#[test]
fn nesting_of_every_kind_is_bounded() {
    let n = NESTING as usize;
    for source in [
        format!("x = {}1{}", "(".repeat(n), ")".repeat(n)),
        format!("x = {}1{}", "[".repeat(n), "]".repeat(n)),
        format!("x = {}1", "-".repeat(n)),
        format!("x = {}1", "not ".repeat(n)),
        format!("x = 1{}", " + 1".repeat(n)),
        format!("x{}", ".y".repeat(n)),
        format!("x{}", "()".repeat(n)),
        format!("x = {}1", "lambda: ".repeat(n)),
        format!("x = {}1", "1 if 1 else ".repeat(n)),
        format!("if x: pass\n{}", "elif x: pass\n".repeat(n)),
        format!("x = [1 {}]", "for x in y ".repeat(n)),
        (0..n).fold(String::new(), |s, i| s + &" ".repeat(i) + "if x:\n") + &" ".repeat(n) + "pass\n",
    ] {
        let fault = check(&source).fault.unwrap();
        assert!(fault.message.contains("nested more than 200 levels"), "{}", fault.message);
        assert!(fault.last_word);
    }
    // a long script is no deep one
    assert!(check(&"if x:\n  y = [1, (2), {3: 4}] + z.a.b()\n".repeat(2000)).fault.is_none());
    assert!(check(&format!("x = [{}]", "1 + 2, ".repeat(2000))).fault.is_none());
}
