// The program's entry point, for main() and for the component's `run` export.
#pragma once

/// Runs `quasi` with the arguments and returns its exit code.
int quasi_main(int argc, char** argv);
