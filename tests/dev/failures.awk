# Prints what failed in the output of a step, each with the first lines of why: tests, compiler errors, files that are not
# formatted. With -v names=1, prints the names of failed tests only.
#
#     awk -f tests/dev/failures.awk OUTPUT

BEGIN { limit = 6 }

# Colors.
{ gsub(/\033\[[0-9;]*m/, "") }

# A test: its name, and the message of its first panic, or else the beginning of its output.
/^---- .* stdout ----$/ {
  finish()
  name = $0
  sub(/^---- /, "", name)
  sub(/ stdout ----$/, "", name)
  next
}
/^(failures:|successes:|test result: .*)$/ { finish(); next }
name != "" {
  if (/ panicked at / && !panicked) { panicked = 1; count = 0 }
  if (/^(stack backtrace:|note: run with `RUST_BACKTRACE=)/ && panicked) ended = 1
  if (!ended && NF && count < limit) lines[++count] = $0
  next
}

# A compiler's or a linter's error, with its place.
/^error(\[[A-Z0-9]+\])?: / && !/^error: could not compile|^error: aborting/ { add($0); wants_place = 1; next }
wants_place && /^ *--> / { add("  " $0); wants_place = 0; next }
/^Diff in / || /^In .* line [0-9]+:$/ { add($0); next }
NF && !/^test / { last[++total] = $0 }

END {
  finish()
  if (names || any) exit
  for (i = 1; i <= errors; i++) print "  " error[i]
  # Nothing is known about this output, so its end must do.
  if (!errors) for (i = total > limit ? total - limit + 1 : 1; i <= total; i++) print "  " last[i]
}

function add(line) { if (errors < 2 * limit) error[++errors] = line }

function finish(  i) {
  if (name == "") return
  if (names) print name
  else {
    print "  " name
    for (i = 1; i <= count; i++) print "      " lines[i]
  }
  any = 1
  name = ""
  count = panicked = ended = 0
}
