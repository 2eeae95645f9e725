# Language level, build type, and the tools that speed a build up where they are installed.
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "Debug or Release" FORCE)
endif()

# GCC spends a tenth of its time collecting garbage within limits that are meant for small machines; these take a fifth more memory.
add_compile_options($<$<CXX_COMPILER_ID:GNU>:--param=ggc-min-expand=300> $<$<CXX_COMPILER_ID:GNU>:--param=ggc-min-heapsize=1000000>)

find_program(CCACHE_PROGRAM ccache)
if(CCACHE_PROGRAM AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CCACHE_PROGRAM})
endif()
find_program(MOLD_PROGRAM mold)
if(MOLD_PROGRAM)
  add_link_options(-fuse-ld=mold)
endif()

# An installed tree in small: bin/ has the binaries, share/stepcast the data, so a binary finds its data by one rule,
# ../share/stepcast relative to itself, wherever it runs.
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/bin)
file(MAKE_DIRECTORY ${PROJECT_BINARY_DIR}/share)
if(NOT EXISTS ${PROJECT_BINARY_DIR}/share/stepcast)
  file(CREATE_LINK ${PROJECT_SOURCE_DIR} ${PROJECT_BINARY_DIR}/share/stepcast SYMBOLIC)
endif()
