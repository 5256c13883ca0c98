// The native program's entry: what a component's is in component_run.cc.
int quasi_main(int argc, char** argv);

int main(int argc, char** argv) { return quasi_main(argc, argv); }
