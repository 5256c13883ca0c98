// Entry of a GoogleTest program that is a component.
#include <gtest/gtest.h>

int quasi_main(int argc, char** argv);

int quasi_main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
