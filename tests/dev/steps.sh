# The steps of `./dev test`.
# shellcheck shell=bash disable=SC2034,SC2154

# Name, usual minutes and seconds on two cores, what it checks, what it needs.
step_table=(
  "fmt|0:02|formatting of the Rust code, subjects of new commits|Rust; git for the subjects"
  "lint|0:40|clippy, rustdoc and shellcheck report nothing|Rust; apt: shellcheck"
  "deny|2:20|licenses and build scripts of dependencies, if they changed|Rust, git; downloads cargo-deny once"
  "nix|1:15|Nix files, deployments, workflows, pages, licenses agree|Rust; apt: nix-bin jq python3-yaml python3-venv zstd"
  "test|3:05|unit and integration tests in a sandbox, page examples|Rust, Node 20; apt: bubblewrap busybox-static"
  "setup|0:45 (*)|installs Chromium, agent-browser, MCP clients and screen|Node 20, Python 3; root if a package is missing"
  "e2e|11:30|end-to-end tests with the real browser, in a network namespace|root, or unprivileged user namespaces; runs setup"
  "stack|7:00|the contents of the image: wall, screen, services, policies|root; runs setup"
  "static|1:25|in \`all\`: the static program for this machine is so, and runs|Rust; apt: binutils"
)
steps=("${step_table[@]%%|*}")
# Those of `./dev test`.
every_run=("${steps[@]:0:${#steps[@]}-1}")

# step_field NUMBER STEP: prints a field of the table, from 0
step_field() {
  local row fields
  for row in "${step_table[@]}"; do
    IFS='|' read -r -a fields <<<"$row"
    if [ "${fields[0]}" = "$2" ]; then printf '%s\n' "${fields[$1]}"; fi
  done
}

# describe STEP: prints one line about what a step of a run checks
describe() {
  case $1 in
    build) echo "the program and its tests" ;;
    part*) echo "${part_table[${1#part } - 1]}" ;;
    *) step_field 2 "$1" ;;
  esac
}

# Programs that are built for each architecture.
static_targets=(x86_64-unknown-linux-musl aarch64-unknown-linux-musl)

# --- what is new ----------------------------------------------------------------

# `./dev test fmt` skips this commit and its ancestors: they are older than the rule for subjects.
subjects_since=99fbbf82fcfcd3d45a6ca9993b3aafeb845c5278
subject_limit=72

is_checkout() {
  [ "$(git rev-parse --show-toplevel 2>/dev/null)" = "$root" ] && git rev-parse --quiet --verify HEAD >/dev/null
}

# need_history WHAT: fails if commits are missing
need_history() {
  [ "$(git rev-parse --is-shallow-repository)" = false ] ||
    die "the clone is shallow, and $1 depends on the commits" "git fetch --unshallow"
}

# default_branch: prints the branch that has the commits that are not new, if there is one
default_branch() {
  local branch ref
  branch=$(git symbolic-ref --quiet --short HEAD) || branch=''
  for ref in refs/remotes/origin/main refs/remotes/origin/master refs/heads/main refs/heads/master; do
    # A default branch is compared with its remote counterpart only, never with itself.
    if [ "$ref" = "refs/heads/$branch" ]; then continue; fi
    if [[ $branch =~ ^(main|master)$ ]] && [ "$ref" != "refs/remotes/origin/$branch" ]; then continue; fi
    if git rev-parse --quiet --verify "$ref^{commit}" >/dev/null; then
      echo "$ref"
      return
    fi
  done
}

# new_commits: prints the git arguments that select the new commits: those that the default branch lacks. At its end, the last
# ones are new.
new_commits() {
  local base
  base=$(default_branch)
  if [ -n "$base" ] && [ -n "$(git rev-list --max-count=1 "$base..HEAD")" ]; then
    echo "$base..HEAD"
  else
    echo "--max-count=20 HEAD"
  fi
}

# --- fmt ------------------------------------------------------------------------

# check_subjects: every new commit has a subject of the form `area: text`
check_subjects() {
  local LC_ALL=C.UTF-8 line subject commits list count=0 wrong=()
  if ! is_checkout; then
    note "not a git checkout: the subjects of commits were not checked"
    return
  fi
  if ! git cat-file -e "$subjects_since^{commit}" 2>/dev/null; then
    note "the history is incomplete (a shallow clone?): the subjects of commits were not checked"
    return
  fi
  read -r -a commits < <(new_commits)
  if ! list=$(git log --no-merges --format='%h %s' "${commits[@]}" "^$subjects_since"); then
    note "git cannot list the new commits: their subjects were not checked"
    return
  fi
  while IFS= read -r line; do
    [ -n "$line" ] || continue
    count=$((count + 1)) subject=${line#* }
    if ((${#subject} > subject_limit)); then
      wrong+=("$line (${#subject} characters)")
    elif [[ ! $subject =~ ^[a-z0-9._/-]+(, [a-z0-9._/-]+)*:\ [^\ ] ]]; then
      wrong+=("$line (no \`area: text\`)")
    fi
  done <<<"$list"
  ((${#wrong[@]} == 0)) || die "the subject of a commit is \`area: imperative\`, at most $subject_limit characters" \
    "${wrong[@]}" "Reword them: git commit --amend, or git rebase --interactive"
  note "subjects of new commits: $count checked"
}

step_fmt() {
  need_rust
  need_component fmt rustfmt
  cargo fmt --all --check || die "some files are not formatted" "./dev fmt"
  check_subjects
}

# --- lint, deny, nix ------------------------------------------------------------

# Without a build, clippy and rustdoc check what they need themselves.
step_lint() {
  local file line scripts=()
  need_rust
  need_component clippy clippy
  if [ -n "$build_wrapper" ]; then check_build; else check_target "$(rustc --print host-tuple)"; fi
  need shellcheck shellcheck
  while IFS= read -r -d '' file; do
    # A binary file is not a script.
    LC_ALL=C IFS= read -r line <"$file" 2>/dev/null || continue
    if [[ $line =~ ^'#!'.*[/\ ](ba)?sh(\ -p)?$ ]]; then scripts+=("$file"); fi
  done < <(find . \( -name .dev -o -name .git -o -name node_modules -o -name target \) -prune -o -type f -perm -u+x -print0)
  shellcheck -- .ci/run tests/dev/*.sh "${scripts[@]}"
}

# check_build: clippy has built the tests, and reported nothing; and rustdoc reports nothing with what is built
check_build() {
  # Cargo repeats what a compiler said when it built a file that is still fresh.
  CARGO_TERM_COLOR=never cargo_test --no-run >/dev/null 2>"$scratch/warnings" || { cat -- "$scratch/warnings" >&2 && return 1; }
  ! grep --before-context 5 --after-context 20 '^warning' -- "$scratch/warnings" || die "clippy reports warnings" "cargo clippy --workspace --all-targets"
  RUSTDOC=$root/tests/dev/rustdoc-lints cargo_test --doc
}

# check_target TARGET: clippy and rustdoc report nothing about any file for this target
check_target() {
  need_target "$1"
  cargo clippy --workspace --locked --all-targets --target "$1" -- --deny warnings
  # With the examples, the dependencies have the features that clippy has checked already.
  RUSTDOCFLAGS="--deny warnings" cargo doc --workspace --locked --no-deps --document-private-items --lib --examples --target "$1"
}

# changed PATTERN WHY: succeeds if new commits, or files that are not committed yet, change a file whose path matches PATTERN. WHY says
# what depends on it.
changed() {
  local commits
  is_checkout || return 0
  need_history "$2"
  read -r -a commits < <(new_commits)
  {
    git log --format= --name-only --diff-merges=first-parent "${commits[@]}"
    git diff --name-only HEAD
    git ls-files --others --exclude-standard
  } | grep --extended-regexp "$1" >/dev/null
}

check_dependencies() {
  need_rust
  need_cargo_deny
  "$tools/bin/cargo-deny" --locked check bans licenses sources
}

# check_crate_licenses: writes the license texts of the program's crates. Control: a list without a license that a crate has.
check_crate_licenses() {
  need_cargo_about
  PATH=$tools/bin:$PATH nix/licenses/crates "$scratch/crates.txt"
  note "license texts of crates: $(stat -c %s -- "$scratch/crates.txt") bytes"
  grep --invert-match '"Unicode-3.0"' nix/licenses/about.toml >"$scratch/about.toml"
  if PATH=$tools/bin:$PATH nix/licenses/crates "$scratch/refused.txt" "$scratch/about.toml" >"$scratch/refused" 2>&1; then
    die "cargo-about accepts a license that is not on its list" "See nix/licenses/about.toml."
  fi
  grep --quiet 'Unicode-3.0' "$scratch/refused" || { cat -- "$scratch/refused" >&2 && die "cargo-about failed for another reason"; }
}

step_deny() {
  if changed '^(Cargo\.lock|deny\.toml|(.*/)?Cargo\.toml)$' "whether the dependencies changed"; then
    check_dependencies
  else
    note "not run: no new commit changes Cargo.lock, a Cargo.toml or deny.toml. \`./dev test all\` always runs it"
  fi
}

step_nix() {
  need ar binutils
  need nix-instantiate nix-bin
  need jq jq
  need zstd zstd
  need python3 python3
  need_system_python
  /usr/bin/python3 -c 'import yaml' 2>/dev/null || need_package python3-yaml python3-yaml
  # Debian packages venv separately.
  python3 -c 'import ensurepip, venv' 2>/dev/null || need_package python3-venv python3-venv
  # What the slow checks read. Python files are in many folders, and are always checked.
  local packaging='^((\.github|deploy|nix|tests/(image|nix))/|deny\.toml|flake\.|README|rust-toolchain|(.*/)?Cargo\.(lock|toml)$)' checks=all
  if [ -n "$is_every_run" ]; then
    changed "$packaging" "whether the packaging changed" || checks=quick
  fi
  if [ -z "$is_every_run" ] || changed '\.nix$' "whether Nix files changed"; then need_nixfmt; fi
  PATH=$tools/bin:$PATH tests/nix/check "$checks"
}

# --- test -----------------------------------------------------------------------

add_build() {
  if [ -n "${is_done[build]:-}" ] || is_pending build; then return; fi
  # Not in the job, where they would wait for the installation of what `setup` needs.
  need_rust
  need_system_python
  add_job build build fmt build_tests
}

# cargo_test ARGUMENT...: runs `cargo test` with the compiler of the run, so that all of it uses the same build
cargo_test() { RUSTC_WORKSPACE_WRAPPER=$build_wrapper cargo test --workspace --locked "$@"; }

# build_tests: builds everything that tests run, once, with one set of features. Writes the messages of cargo into `$programs`.
build_tests() {
  cargo_test --no-run --message-format=json-render-diagnostics >"$programs"
  integration_program >/dev/null
}

# test_programs FILE: prints the test programs in cargo's messages, each after the folder in which cargo runs it
test_programs() {
  /usr/bin/python3 tests/nix/test-programs <"$1"
}

# integration_program: prints the path of the program of tests/it
integration_program() {
  local program
  program=$(test_programs "$programs" | sed -n 's|.*\t\(.*/it-[^/]*\)$|\1|p')
  [ -x "$program" ] || die "cargo built no program of tests/it"
  echo "$program"
}

step_test() {
  need_sandbox
  tests/nix/sandbox "${test_arguments[@]}" <"$programs"
  note "the ignored tests need the test network: ./dev test e2e stack"
}

test_documentation() { cargo_test --doc -- "${test_arguments[@]}"; }

# --- static ---------------------------------------------------------------------

# Builds with nix/rustc-wrapper. Other builds must not use their files: cargo does not notice a wrapper or a change of it.
static_folder=$target/static-builds

# build_static TARGET FOLDER: builds the program of the current folder into a folder
build_static() {
  RUSTC_WRAPPER=$root/nix/rustc-wrapper cargo build --locked --profile static --target "$1" --target-dir "$2"
}

# check_static TARGET: builds the program for a target, and checks that it is static, runs and can be archived
check_static() {
  local file=$static_folder/$1/static/browser-shell arch=${1%%-*} runner=()
  need_rust
  need readelf binutils
  need_target "$1"
  build_static "$1" "$static_folder"
  if readelf --program-headers --wide "$file" | grep -q INTERP || readelf --dynamic --wide "$file" | grep -q NEEDED; then
    die "$file is not static" "A dependency links a system library: see \`cargo tree --target $1\`."
  fi
  # A name in the function iconv, of which nix/sbom/vex.json states that it is not there. Control: musl has it.
  grep --quiet --text ksc5601 -- "$(rustc --print sysroot)/lib/rustlib/$1/lib/self-contained/libc.a" ||
    die "musl for $1 has another iconv" "Choose another name of it in check_static and in nix/crate.nix."
  ! grep --quiet --text ksc5601 -- "$file" || die "$file contains iconv" "See CVE-2025-26519 in nix/sbom/vex.json."
  if [ "$arch" != "$(uname -m)" ]; then
    need "qemu-$arch" qemu-user
    runner=("qemu-$arch")
  fi
  "${runner[@]}" "$file" tools >"$scratch/tools.$arch"
  note "$arch: $("${runner[@]}" "$file" --version)"
  check_archive "$file" "$arch" "${runner[@]}"
}

# check_archive PROGRAM ARCH [RUNNER...]: makes the archive of a release, and runs the program out of it
check_archive() {
  local program=$1 version oci name file
  case $2 in x86_64) oci=amd64 ;; *) oci=arm64 ;; esac
  shift 2
  version=$(sed -n 's/^version = "\(.*\)"$/\1/p' Cargo.toml | head -n 1)
  name=browser-shell-$version-linux-$oci
  # Stand-ins for the license texts: `check_dependencies` writes those of the crates.
  mkdir -p -- "$scratch/licenses"
  for file in crates.txt musl.txt rust-std.html; do printf '%s\n' "$file" >"$scratch/licenses/$file"; done
  nix/archive "$program" "$scratch/licenses" "$version" "$oci" "$scratch/archives"
  (cd -- "$scratch/archives" && sha256sum --quiet --check -- "$name.tar.gz.sha256" && tar -xzf "$name.tar.gz")
  [ "$("$@" "$scratch/archives/$name/browser-shell" --version)" = "browser-shell $version" ] || die "the program of $name has another version"
  note "$name.tar.gz: $(stat -c %s -- "$scratch/archives/$name.tar.gz") bytes"
}

# check_same_bytes TARGET: builds the program again as on another host, in another folder and with crates in another folder, and
# compares it. It has only the files that Nix builds it from. tests/static/same-bytes has the controls.
check_same_bytes() {
  local folder=$scratch/same/bytes files=()
  mkdir -p -- "$folder/cargo" "$folder/source"
  ln -s -- "${CARGO_HOME:-$HOME/.cargo}"/* "$folder/cargo"
  mapfile -t files < <(sed -n '/^  program = /,/^  );/s|.*[ (]\.\./\([A-Za-z.][^ )]\+\).*|\1|p' nix/sources.nix)
  cp -R --parents -t "$folder/source" -- "${files[@]}"
  # Cargo requires the sources of all targets.
  ln -s -- "$root/benches" "$root/tests" "$folder/source"
  (
    cd -- "$folder/source" || exit
    CARGO_HOME=$folder/cargo RUSTC=$root/tests/static/other-host build_static "$1" "$folder/target"
  )
  cmp -- "$static_folder/$1/static/browser-shell" "$folder/target/$1/static/browser-shell" ||
    die "the program for $1 depends on the host or the folder that it is built on" "See nix/rustc-wrapper and tests/static/same-bytes."
  if grep --quiet --fixed-strings --regexp "$root" --regexp "${CARGO_HOME:-$HOME/.cargo}" -- "$static_folder/$1/static/browser-shell"; then
    die "the program for $1 contains a folder of the build" "strings $static_folder/$1/static/browser-shell"
  fi
  note "${1%%-*}: the same bytes from another host and in other folders"
}

# Of this machine's architecture. The other one is in a part of `./dev test all`.
step_static() {
  local name
  for name in "${static_targets[@]}"; do
    if [ "${name%%-*}" = "$(uname -m)" ]; then
      check_static "$name"
      tests/static/same-bytes "$name"
    fi
  done
}

check_other_machine() {
  local name arch
  need_component clippy clippy
  for name in "${static_targets[@]}"; do
    arch=${name%%-*}
    if [ "$arch" != "$(uname -m)" ]; then
      check_target "$name"
      check_static "$name"
      "$target/debug/browser-shell" tools | cmp -- - "$scratch/tools.$arch" ||
        die "\`browser-shell tools\` differs between the two architectures"
      check_same_bytes "$name"
    fi
  done
}

# --- setup ----------------------------------------------------------------------

add_setup() {
  if [ -n "${is_done[setup]:-}" ] || is_pending setup; then return; fi
  add_job setup setup fmt step_setup
}

step_setup() {
  tests/e2e/setup
  tests/aio-base/setup
}
