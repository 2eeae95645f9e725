// Carries the precompiled headers of the layers (see the root CMakeLists.txt).
