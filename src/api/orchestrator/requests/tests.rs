use super::*;
use serde_json::json;

const SINGLE: RequestRules = RequestRules { requires_tenant: false, is_strict: false };
const SHARED: RequestRules = RequestRules { requires_tenant: true, is_strict: false };
const STRICT: RequestRules = RequestRules { requires_tenant: false, is_strict: true };

fn exec(rules: RequestRules, value: Value) -> Result<ExecRequest, Vec<FieldError>> {
    parse(&RequestSchemas::new(rules).exec, value)
}

fn batch(rules: RequestRules, value: Value) -> Result<BatchRequest, Vec<FieldError>> {
    parse(&RequestSchemas::new(rules).batch, value)
}

/// Parses a body as a client of the compat profile sends it.
fn lenient_exec(mut body: Value) -> Result<ExecRequest, Vec<FieldError>> {
    let schemas = RequestSchemas::new(SINGLE).lenient();
    convert(&schemas.exec, &mut body);
    parse(&schemas.exec, body)
}

fn lenient_batch(mut body: Value) -> Result<BatchRequest, Vec<FieldError>> {
    let schemas = RequestSchemas::new(SINGLE).lenient();
    convert(&schemas.batch, &mut body);
    parse(&schemas.batch, body)
}

/// Returns the errors as clients read them, one on each line.
fn errors<T: std::fmt::Debug>(result: Result<T, Vec<FieldError>>) -> String {
    let errors = result.expect_err("refused").into_iter();
    errors.map(|error| serde_json::to_string(&error.below("body")).expect("JSON")).collect::<Vec<_>>().join("\n")
}

// Requirement 4.1.
#[test]
fn body_defaults_and_ranges() {
    let request = exec(SINGLE, json!({"cmd": "snapshot", "x": 1, "cargo_id": null})).expect("valid");
    let caller = Caller::default();
    let expected =
        ExecRequest { cmd: ExecCommand("snapshot".into()), timeout: Duration::from_secs(30), caller: caller.clone() };
    assert_eq!(request, expected);
    let request = batch(SINGLE, json!({"commands": ["a"]})).expect("valid");
    let timeout = Duration::from_mins(1);
    assert_eq!(request, BatchRequest { commands: vec![ExecCommand("a".into())], timeout, stop_on_error: true, caller });
    for (timeout, seconds) in [(json!(1), 1), (json!(300), 300), (json!(30.0), 30)] {
        let request = exec(SINGLE, json!({"cmd": "", "timeout": timeout})).expect("valid");
        assert_eq!(request.timeout, Duration::from_secs(seconds));
    }
    assert!(batch(SINGLE, json!({"commands": ["a"], "timeout": 600})).is_ok());
    let request = exec(SHARED, json!({"cmd": "a", "sandbox_id": "s", "cargo_id": "c"})).expect("valid");
    assert_eq!(request.caller, Caller { tenant: TenantId::new("s"), cargo: CargoId::new("c") });
}

// Requirement 4.1.
#[test]
fn body_problems_name_location_without_echoing_input() {
    let rows = [
        errors(exec(SINGLE, json!(["secret"]))),
        errors(exec(SHARED, json!({"secret": 1}))),
        errors(exec(SINGLE, json!({"cmd": 5, "timeout": "secret", "sandbox_id": "../secret", "cargo_id": 5}))),
        errors(exec(SINGLE, json!({"cmd": "a", "timeout": 0}))),
        errors(exec(SINGLE, json!({"cmd": "a", "timeout": 301}))),
        errors(exec(SINGLE, json!({"cmd": "a", "timeout": 1.5}))),
        errors(exec(SINGLE, json!({"cmd": "a", "timeout": true}))),
        errors(exec(SINGLE, json!({"cmd": null}))),
        errors(exec(SHARED, json!({"cmd": "a", "sandbox_id": null}))),
        errors(batch(SINGLE, json!({"commands": []}))),
        errors(batch(SINGLE, json!({"commands": "secret", "stop_on_error": 1}))),
        errors(batch(SINGLE, json!({"commands": ["a", 5, null], "timeout": 601}))),
        errors(batch(SINGLE, json!({"commands": vec!["a"; MAX_COMMANDS + 1]}))),
        errors(exec(STRICT, json!({"cmd": "a", "secret": 1}))),
        errors(parse_json(b"{\"cmd\": \"secret\"\n, }")),
    ];
    let text = rows.join("\n\n");
    assert!(!text.contains("secret"), "{text}");
    insta::assert_snapshot!(text);
}

// Requirement 4.1.
#[test]
fn openapi_schemas_agree_with_body_parsers() {
    for rules in [SINGLE, SHARED, STRICT] {
        let schemas = RequestSchemas::new(rules);
        let exec = jsonschema::validator_for(&schemas.exec).expect("a schema");
        let batch = jsonschema::validator_for(&schemas.batch).expect("a schema");
        for value in [
            json!({}),
            json!([]),
            json!({"cmd": "a"}),
            json!({"cmd": 1}),
            json!({"cmd": "a", "timeout": 300}),
            json!({"cmd": "a", "timeout": 301}),
            json!({"cmd": "a", "timeout": 0}),
            json!({"cmd": "a", "timeout": 1.5}),
            json!({"cmd": "a", "timeout": 30.0, "sandbox_id": "s"}),
            json!({"cmd": "a", "timeout": null, "sandbox_id": "s"}),
            json!({"cmd": "a", "timeout": 1e300, "sandbox_id": "s"}),
            json!({"cmd": "a", "sandbox_id": "s"}),
            json!({"cmd": "a", "sandbox_id": "s/x"}),
            json!({"cmd": "a", "sandbox_id": "s", "cargo_id": ""}),
            json!({"cmd": "a", "sandbox_id": "s", "cargo_id": null}),
            json!({"cmd": "a", "sandbox_id": 5}),
            json!({"cmd": "a", "sandbox_id": "s", "unknown": 5}),
            json!({"commands": []}),
            json!({"commands": ["a"], "sandbox_id": "s"}),
            json!({"commands": ["a"], "timeout": 600, "sandbox_id": "s"}),
            json!({"commands": ["a"], "timeout": 601, "sandbox_id": "s"}),
            json!({"commands": [1], "sandbox_id": "s"}),
            json!({"commands": ["a"], "stop_on_error": "no", "sandbox_id": "s"}),
        ] {
            assert_eq!(
                exec.is_valid(&value),
                parse::<ExecRequest>(&schemas.exec, value.clone()).is_ok(),
                "{rules:?} {value}"
            );
            assert_eq!(
                batch.is_valid(&value),
                parse::<BatchRequest>(&schemas.batch, value.clone()).is_ok(),
                "{rules:?} {value}"
            );
        }
    }
}

// Requirement 4.1.
#[test]
fn numbers_and_booleans_are_read_from_text() {
    for (timeout, seconds) in [(json!("5"), 5), (json!(" 5 "), 5), (json!("5.0"), 5), (json!("+5"), 5), (json!(5), 5)] {
        let request = lenient_exec(json!({"cmd": "a", "timeout": timeout})).expect("valid");
        assert_eq!(request.timeout.as_secs(), seconds, "{timeout}");
    }
    for (value, expected) in
        [(json!(1), true), (json!(0), false), (json!("No"), false), (json!("on"), true), (json!(1.0), true)]
    {
        let request = lenient_batch(json!({"commands": ["a"], "stop_on_error": value})).expect("valid");
        assert_eq!(request.stop_on_error, expected, "{value}");
    }
    for timeout in
        [json!("0"), json!("301"), json!("x"), json!(""), json!("5."), json!("5.5"), json!("1e1"), json!(["5"])]
    {
        assert!(lenient_exec(json!({"cmd": "a", "timeout": timeout})).is_err(), "{timeout}");
    }
    for value in [json!(2), json!("maybe"), json!(""), json!(0.5), json!([])] {
        assert!(lenient_batch(json!({"commands": ["a"], "stop_on_error": value})).is_err(), "{value}");
    }
    assert!(lenient_exec(json!({"cmd": 5})).is_err(), "a command is a text");
    let strict = parse::<ExecRequest>(&RequestSchemas::new(SINGLE).exec, json!({"cmd": "a", "timeout": "5"}));
    assert!(strict.is_err(), "control: other profiles read numbers only");
}

// Requirement 4.1.
#[test]
fn tenants_may_have_dots_and_batches_a_thousand_commands() {
    for (name, is_valid) in [("a.b", true), ("a", true), ("..", false), (".a", false), ("a/b", false)] {
        assert_eq!(lenient_exec(json!({"cmd": "a", "sandbox_id": name})).is_ok(), is_valid, "{name}");
    }
    assert!(lenient_exec(json!({"cmd": "a", "cargo_id": "a.b"})).is_err(), "a cargo is a folder");
    assert!(lenient_batch(json!({"commands": vec!["a"; MAX_LENIENT_COMMANDS]})).is_ok());
    assert!(lenient_batch(json!({"commands": vec!["a"; MAX_LENIENT_COMMANDS + 1]})).is_err());
    let strict = parse::<ExecRequest>(&RequestSchemas::new(SINGLE).exec, json!({"cmd": "a", "sandbox_id": "a.b"}));
    assert!(strict.is_err(), "control");
}
