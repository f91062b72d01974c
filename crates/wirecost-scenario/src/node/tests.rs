use super::*;

#[test]
fn every_value_knows_its_line() {
    let node = Node::parse("a: 1\nb:\n  - 16B\n  - {c: true, d: 'x'}\n").expect("YAML");
    let b = node.get("b").expect("b");
    let Value::List(items) = &b.value else {
        panic!("not a list: {b:?}");
    };
    assert_eq!(items[0].place, Place::Line(3));
    assert_eq!(items[0].value, Value::Text("16B".into()));
    assert_eq!(
        items[1].get("c").map(|node| (&node.place, &node.value)),
        Some((&Place::Line(4), &Value::Bool(true)))
    );
    assert_eq!(
        node.get("a").map(|node| &node.value),
        Some(&Value::Number("1".into()))
    );
    assert_eq!(
        node.entries().map(|entries| entries[1].0.place.clone()),
        Some(Place::Line(2))
    );
}

#[test]
fn json_is_yaml() {
    let node = Node::parse("{\"a\": [1, \"x\"],\n \"b\": {\"c\": null}}").expect("JSON");
    assert_eq!(
        node.get("b").and_then(|b| b.get("c")).map(|c| &c.value),
        Some(&Value::Null)
    );
}

#[test]
fn only_true_and_false_are_booleans() {
    for word in ["yes", "no", "on", "off", "Yes", "y"] {
        let node = Node::parse(&format!("a: {word}")).expect("YAML");
        assert_eq!(node.get("a").map(|a| &a.value), Some(&Value::Text(word.into())));
    }
}

#[test]
fn repeated_keys_and_foreign_yaml_are_refused() {
    for (text, expected) in [
        ("a: 1\nb: 2\na: 3\n", "line 3: a is given twice in this table"),
        (
            "a: &x {b: 1}\nc:\n  <<: *x\n",
            "line 3: a merge key (<<) is not taken",
        ),
        ("a: 1\n---\nb: 1\n", "line 2: a second document begins here"),
        ("a: !!python/object:os.system x\n", "line 1: the tag "),
        ("a: *x\n", "line 1: nothing above has the anchor"),
        ("a: [1, 2\n", "line 1: "),
        ("a:\n\tb: 1\n", "line 2: tabs"),
        ("a: .nan\n", "line 1: .nan is not a value"),
    ] {
        let error = Node::parse(text).expect_err("an error");
        let said = error.to_string();
        assert!(said.starts_with(expected), "{text:?}: {said}");
        assert!(error.hint().is_some(), "{said}");
        assert!(!said.contains("olicy"), "no names of the parser's code: {said}");
    }
}

#[test]
fn bombs_end_at_their_limits() {
    let mut bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n".to_owned();
    for level in 1..12 {
        let before = format!("*a{}", level - 1);
        bomb += &format!("a{level}: &a{level} [{}]\n", [before.as_str(); 10].join(", "));
    }
    let deep = "[".repeat(100_000);
    let indented: String = (0..=17)
        .map(|level| format!("{}a:\n", " ".repeat(level)))
        .collect();
    let long = format!("a: {}", "x".repeat(MAX_BYTES));
    let wide = format!("a: [{}]", "1, ".repeat(MAX_VALUES));
    let replayed = format!("a: &a [{}x]\nb: [{}]\n", "x, ".repeat(1_500), "*a, ".repeat(90));
    let aliases = format!("a: &a 1\nb:\n{}", "- *a\n".repeat(1_001));
    let anchors: String = (0..1_001).map(|number| format!("- &a{number} 1\n")).collect();
    let heavy = format!("a: &a {}\nb: [*a, *a, *a, *a]\n", "x".repeat(2_000_000));
    for (text, line, limit) in [
        (bomb, "line 5: ", "more than 100,000 values"),
        (deep, "line 1: ", "more than 16 levels deep"),
        (indented, "line 17: ", "more than 16 levels deep"),
        (long, "", "at most 4 MiB"),
        (wide, "line 1: ", "more than 100,000 values"),
        (replayed, "line 2: ", "more than 100,000 values"),
        (aliases, "line 1003: ", "more than 1,000 aliases"),
        (anchors, "line 1001: ", "more than 1,000 anchors"),
        (heavy, "line 2: ", "more than 8 MiB of text"),
        ("a: 1\n---\nb: 1\n".to_owned(), "line 2: ", "a second document"),
    ] {
        let error = Node::parse(&text).expect_err(limit);
        let said = error.to_string();
        assert!(said.starts_with(line) && said.contains(limit), "{limit}: {said}");
        assert!(error.hint().is_some(), "{said}");
        assert!(
            !said.contains(['{', '_']),
            "no names of the parser's code: {said}"
        );
    }
}

/// The anchors alone say which parts of a scenario are the same: one may have as many aliases as there may be.
#[test]
fn one_value_may_have_many_aliases() {
    let text = format!("a: &a 1\nb:\n{}", "- *a\n".repeat(1_000));
    assert!(Node::parse(&text).is_ok());
}

#[test]
fn a_text_that_controls_a_terminal_is_refused_with_its_line() {
    for (text, refused) in [
        (
            "a: 1\nname: \"\\e[2J\"\n",
            "line 2: a text with the control character U+001B",
        ),
        (
            "a:\n- \"b\\a\"\n",
            "line 2: a text with the control character U+0007",
        ),
        (
            "\"\\x9b\": 1\n",
            "line 1: a text with the control character U+009B",
        ),
    ] {
        let error = Node::parse(text).expect_err(refused);
        assert_eq!(error.to_string(), refused);
        assert!(error.hint().is_some());
    }
    assert!(Node::parse("a: \"b\\r\\n\\tc\"\n").is_ok());
}
