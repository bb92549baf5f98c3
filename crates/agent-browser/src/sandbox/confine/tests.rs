use super::*;

fn run_with(arguments: &[&str]) -> ConfineError {
    let Err(error) = run(&mut arguments.iter().map(OsString::from));
    error
}

#[test]
fn confine_config_round_trips_through_its_argument() {
    let config = ConfineConfig::new(Plan::default(), KernelFeatures { landlock: 6, seccomp: true });
    let [name, text] = config.arguments();
    assert_eq!(name, SUBCOMMAND);
    assert_eq!(parse_config::<ConfineConfig>(&mut [text].into_iter()).expect("parsed"), config);
}

#[test]
fn confine_without_config_starts_nothing() {
    for line in [&[][..], &["{}", "/bin/true"], &["", "/bin/true"]] {
        assert!(matches!(run_with(line), ConfineError::Config(_)), "{line:?}");
    }
    let config = ConfineConfig::new(Plan::default(), KernelFeatures { landlock: 0, seccomp: false });
    let [_, text] = config.arguments();
    assert!(matches!(run_with(&[text.to_str().expect("text")]), ConfineError::NoProgram), "control: it is valid");
}
