/* Becomes nixpkgs' Chromium: what is left of the shell script that nixpkgs puts around it.
 *
 * That build asks the variable where a setuid sandbox is, without looking whether there is an answer, and would not live without
 * one. "Nowhere" is an answer: Chromium then makes its sandbox of namespaces, or says that it cannot. Must never do more than that.
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
