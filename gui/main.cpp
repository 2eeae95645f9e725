#include "gui/program.hpp"

int main(int argc, char** argv) { return stepcast::run_gui(argc, argv); }
