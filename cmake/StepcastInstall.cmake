# bin/ has the binaries, share/stepcast the data in the layout of the source tree: a binary finds it at ../share/stepcast.
# Components are the Debian packages (cmake/StepcastPackages.cmake).
set(data ${CMAKE_INSTALL_DATADIR}/stepcast)
install(TARGETS stepcast stepcast-worker stepcast-onnx-graph RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT cli)
install(DIRECTORY hardware-catalog models scenarios calibration DESTINATION ${data} COMPONENT catalog
        FILES_MATCHING PATTERN "*.json" PATTERN "*.jsonc" PATTERN "*.csv" PATTERN "*.md"
        PATTERN "never-fit.txt")
install(DIRECTORY docs/ DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT catalog)
install(FILES LICENSE NOTICE CHANGELOG.md DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT catalog)
install(DIRECTORY clients/ DESTINATION ${data}/clients COMPONENT cli)
if(STEPCAST_GUI)
  install(TARGETS stepcast-gui RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT gui)
  install(FILES packaging/stepcast-gui.desktop DESTINATION ${CMAKE_INSTALL_DATADIR}/applications COMPONENT gui)
  install(FILES packaging/org.stepcast.Stepcast.metainfo.xml DESTINATION ${CMAKE_INSTALL_DATADIR}/metainfo
          COMPONENT gui)
  install(FILES packaging/stepcast-mime.xml DESTINATION ${CMAKE_INSTALL_DATADIR}/mime/packages COMPONENT gui)
  install(FILES packaging/stepcast.svg DESTINATION ${CMAKE_INSTALL_DATADIR}/icons/hicolor/scalable/apps COMPONENT gui)
endif()

# Manual pages and completions are printed by the program itself.
set(manual ${PROJECT_BINARY_DIR}/manual)
add_custom_command(OUTPUT ${manual}/written
  COMMAND ${CMAKE_COMMAND} -E rm -rf ${manual}/man1
  COMMAND ${CMAKE_COMMAND} -E make_directory ${manual}/man1
  COMMAND stepcast manual ${manual}/man1
  COMMAND find ${manual}/man1 -name *.1 -exec gzip -9n {} +
  COMMAND stepcast completion bash > ${manual}/stepcast
  COMMAND stepcast completion zsh > ${manual}/_stepcast
  COMMAND ${CMAKE_COMMAND} -E touch ${manual}/written
  DEPENDS stepcast VERBATIM COMMENT "Writing manual pages and completions")
add_custom_target(stepcast-manual ALL DEPENDS ${manual}/written)
install(DIRECTORY ${manual}/man1 DESTINATION ${CMAKE_INSTALL_MANDIR} COMPONENT cli)
install(FILES ${manual}/stepcast DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions COMPONENT cli)
install(FILES ${manual}/_stepcast DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/vendor-completions COMPONENT cli)

# The library, for find_package(Stepcast): headers in the layout of the source tree, so that their includes hold.
include(CMakePackageConfigHelpers)
set(package ${CMAKE_INSTALL_LIBDIR}/cmake/Stepcast)
set(libraries stepcast_options stepcast_units stepcast_fields stepcast_catalog stepcast_models stepcast_protocol
    stepcast_sim stepcast_collective stepcast_rank_graph stepcast_report)
install(TARGETS ${libraries} EXPORT StepcastTargets COMPONENT library
        ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}
        INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/stepcast)
install(EXPORT StepcastTargets NAMESPACE Stepcast:: DESTINATION ${package} COMPONENT library)
foreach(layer units fields hardware-catalog models sim report)
  install(DIRECTORY ${layer} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/stepcast COMPONENT library
          FILES_MATCHING PATTERN "*.hpp" PATTERN "sim/worker" EXCLUDE PATTERN "sim/engine" EXCLUDE)
endforeach()
install(FILES ${PROJECT_BINARY_DIR}/generated/version.hpp DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/stepcast
        COMPONENT library)
configure_package_config_file(cmake/StepcastConfig.cmake.in ${PROJECT_BINARY_DIR}/generated/StepcastConfig.cmake
                              INSTALL_DESTINATION ${package})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/generated/StepcastConfigVersion.cmake
                                 COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/generated/StepcastConfig.cmake
              ${PROJECT_BINARY_DIR}/generated/StepcastConfigVersion.cmake
        DESTINATION ${package} COMPONENT library)
