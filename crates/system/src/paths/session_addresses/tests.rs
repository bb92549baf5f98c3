use std::collections::BTreeSet;
use std::os::unix::fs::symlink;

use super::*;

fn id(text: &str) -> SessionId {
    SessionId::new(text).expect("a valid id")
}

fn session_of(folder: &Path, address: &SessionAddress) -> Result<SessionId, Decision> {
    SessionAddresses::session_of(folder, address.proxy().ip())
}

#[test]
fn sessions_of_two_processes_have_different_addresses() {
    let dir = tempfile::tempdir().expect("a folder");
    let folder = dir.path().join("e");
    let writers = [(); 2].map(|()| SessionAddresses::create(&folder, 8119, 6).expect("created"));
    let mut held: Vec<_> =
        (0..6).filter_map(|number| writers[number % 2].allocate(&id(&format!("s{number}")))).collect();
    let distinct: BTreeSet<_> = held.iter().map(SessionAddress::proxy).collect();
    assert_eq!(distinct.len(), 6);
    assert_eq!(distinct.first(), Some(&"127.0.1.1:8119".parse().expect("an address")));
    for (number, address) in held.iter().enumerate() {
        assert_eq!(session_of(&folder, address), Ok(id(&format!("s{number}"))));
    }
    assert!(writers[0].allocate(&id("more")).is_none() && writers[1].allocate(&id("more")).is_none());

    let freed = held.remove(3);
    let proxy = freed.proxy();
    drop(freed);
    let refusal = SessionAddresses::session_of(&folder, proxy.ip()).expect_err("free");
    assert_eq!(refusal.code, Code::SessionUnknown);
    let again = writers[0].allocate(&id("more")).expect("control: one is free");
    assert_eq!((again.proxy(), session_of(&folder, &again)), (proxy, Ok(id("more"))));
}

#[test]
fn freed_address_is_used_last() {
    let dir = tempfile::tempdir().expect("a folder");
    let addresses = SessionAddresses::create(&dir.path().join("e"), 1, 3).expect("created");
    let order: Vec<_> = (0..5).map(|_| addresses.allocate(&id("a")).expect("free").proxy().ip().to_string()).collect();
    assert_eq!(order, ["127.0.1.1", "127.0.1.2", "127.0.1.3", "127.0.1.1", "127.0.1.2"]);
    assert!(SessionAddresses::create(dir.path(), 1, 0).expect("created").allocate(&id("a")).is_none());
}

#[test]
fn files_are_readable_by_all_and_replaced_in_one_step() {
    let dir = tempfile::tempdir().expect("a folder");
    let folder = dir.path().join("e");
    let addresses = SessionAddresses::create(&folder, 1, 1).expect("created");
    let address = addresses.allocate(&id("a")).expect("free");
    let mode = |path: &Path| path.symlink_metadata().expect("a file").mode() & 0o777;
    assert_eq!((mode(&folder), mode(&address.file)), (0o755, 0o644));
    assert_eq!(mode(&folder.join("127.0.1.1.lock")), 0o600);
    let name = TenantId::with_dots(&"t.".repeat(50)).expect("a name").session_id();
    drop(address);
    let address = addresses.allocate(&name).expect("free");
    assert_eq!(session_of(&folder, &address), Ok(name), "names of tenants are longer than ids");
    assert!(!folder.join("127.0.1.1.new").exists());
}

#[test]
fn owner_of_session_is_part_of_its_file() {
    let dir = tempfile::tempdir().expect("a folder");
    let addresses = SessionAddresses::create(dir.path(), 1, 2).expect("created");
    let subject = |text: &str| Subject::new(text).expect("valid");
    let longest =
        TenantId::with_dots(&"t.".repeat(64)).expect("a name").session_id().owned_by(subject(&"x".repeat(255)));
    for id in [id("a").owned_by(subject("alice b")), longest] {
        let address = addresses.allocate(&id).expect("free");
        assert_eq!(session_of(dir.path(), &address), Ok(id));
    }
    let address = addresses.allocate(&id("a")).expect("free");
    assert_eq!(session_of(dir.path(), &address), Ok(id("a")), "control: no owner");
    for text in ["a\n\n", "a\nalice\nbob\n", "a\nali\tce\n", "\nalice\n"] {
        fs::write(&address.file, text).expect("written");
        assert!(session_of(dir.path(), &address).is_err(), "{text:?}");
    }
}

#[test]
fn files_of_ended_processes_are_removed() {
    let dir = tempfile::tempdir().expect("a folder");
    let addresses = SessionAddresses::create(dir.path(), 1, 1).expect("created");
    let held = addresses.allocate(&id("held")).expect("free");
    let stale = dir.path().join("127.0.1.2");
    fs::write(&stale, "stale").expect("written");
    SessionAddresses::create(dir.path(), 1, 2).expect("created");
    assert!(!stale.exists());
    assert_eq!(session_of(dir.path(), &held), Ok(id("held")), "control: it is in use");
}

#[test]
fn folder_of_others_or_behind_a_link_is_refused() {
    let dir = tempfile::tempdir().expect("a folder");
    let create = |path: &Path| SessionAddresses::create(path, 1, 1);
    let folder = dir.path().join("e");
    fs::create_dir(&folder).expect("created");
    for mode in [0o775, 0o757] {
        fs::set_permissions(&folder, Permissions::from_mode(mode)).expect("changed");
        assert!(matches!(create(&folder), Err(PathError::WritableByOthers(_))), "{mode:o}");
    }
    fs::set_permissions(&folder, Permissions::from_mode(0o755)).expect("changed");
    let link = dir.path().join("link");
    symlink(&folder, &link).expect("linked");
    assert!(matches!(create(&link), Err(PathError::NotAFolder(_))));
    assert!(matches!(create(&dir.path().join("missing/e")), Err(PathError::Io { .. })));
    create(&folder).expect("control");
    symlink(dir.path().join("elsewhere"), folder.join("127.0.1.1.new")).expect("linked");
    assert!(create(&folder).expect("created").allocate(&id("a")).is_none(), "a link is not written through");
    assert!(!dir.path().join("elsewhere").exists());
}
