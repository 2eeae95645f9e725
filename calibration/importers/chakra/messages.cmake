# The wire format of Chakra traces: code that protoc writes, on protobuf's lite runtime. Static, so that the program that
# starts in milliseconds loads no further library; ours to compile, but not to lint.
find_program(PROTOC protoc REQUIRED)
find_library(PROTOBUF_LITE libprotobuf-lite.a REQUIRED)
find_library(ZLIB_STATIC libz.a REQUIRED)
find_package(Threads REQUIRED)
set(messages ${CMAKE_CURRENT_BINARY_DIR}/messages)
file(MAKE_DIRECTORY ${messages})
add_custom_command(
  OUTPUT ${messages}/chakra.pb.cc ${messages}/chakra.pb.h
  COMMAND ${PROTOC} --cpp_out=${messages} --proto_path=${CMAKE_CURRENT_LIST_DIR} chakra.proto
  DEPENDS ${CMAKE_CURRENT_LIST_DIR}/chakra.proto VERBATIM)
add_library(stepcast_chakra_messages STATIC ${messages}/chakra.pb.cc ${messages}/chakra.pb.h)
target_include_directories(stepcast_chakra_messages SYSTEM PUBLIC ${messages})
target_link_libraries(stepcast_chakra_messages PUBLIC ${PROTOBUF_LITE} Threads::Threads)
target_link_libraries(stepcast_calibration PRIVATE stepcast_chakra_messages ${ZLIB_STATIC})
