# bin/ has the binaries, share/stepcast the data in the layout of the source tree: a binary finds it at ../share/stepcast.
set(data ${CMAKE_INSTALL_DATADIR}/stepcast)
install(TARGETS stepcast stepcast-worker RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(DIRECTORY hardware-catalog models scenarios calibration DESTINATION ${data}
        FILES_MATCHING PATTERN "*.json" PATTERN "*.jsonc" PATTERN "*.csv" PATTERN "*.md"
        PATTERN "never-fit.txt")
install(DIRECTORY docs/ DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(FILES LICENSE NOTICE CHANGELOG.md DESTINATION ${CMAKE_INSTALL_DOCDIR})
