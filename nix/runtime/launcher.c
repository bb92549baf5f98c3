/* Starts nixpkgs' Chromium, in place of nixpkgs' wrapper script.
 *
 * nixpkgs' build does not start if the variable with the path of the setuid sandbox is unset. With an empty value, Chromium
 * uses its namespace sandbox, or reports that it cannot.
 */
#include <stdlib.h>
#include <unistd.h>

/* EX_OSERR */
enum { FAILED = 71 };

int main(int argc, char **argv) {
  (void)argc;
  if (setenv("CHROME_DEVEL_SANDBOX", "", 1) != 0) return FAILED;
  argv[0] = PROGRAM;
  execv(PROGRAM, argv);
  return FAILED;
}
