# `cpack --config build/release/CPackConfig.cmake` makes the Debian packages, a component each.
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME stepcast)
set(CPACK_PACKAGE_VENDOR "The Stepcast authors")
set(CPACK_PACKAGE_CONTACT "The Stepcast authors <stepcast@invalid>")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_STRIP_FILES ON)
set(CPACK_COMPONENTS_ALL cli catalog library probes)
if(STEPCAST_GUI)
  list(APPEND CPACK_COMPONENTS_ALL gui)
endif()

set(CPACK_DEBIAN_CLI_PACKAGE_NAME stepcast)
set(CPACK_DEBIAN_CLI_PACKAGE_DEPENDS "stepcast-catalog (= ${PROJECT_VERSION})")
set(CPACK_DEBIAN_CLI_DESCRIPTION "Cluster simulator and capacity planner for distributed training
 Forecasts a training step before anyone buys, rents or reconfigures the cluster:
 throughput, scaling, communication, memory fit, power, energy and cost.")

set(CPACK_DEBIAN_CATALOG_PACKAGE_NAME stepcast-catalog)
set(CPACK_DEBIAN_CATALOG_PACKAGE_ARCHITECTURE all)
set(CPACK_DEBIAN_CATALOG_PACKAGE_SHLIBDEPS OFF)
set(CPACK_DEBIAN_CATALOG_DESCRIPTION "Hardware catalogue, scenarios and documentation of Stepcast
 Accelerators, servers, links, switches, storage, sites and fitted profiles, with the
 source of every figure.")

set(CPACK_DEBIAN_LIBRARY_PACKAGE_NAME libstepcast-dev)
set(CPACK_DEBIAN_LIBRARY_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_LIBRARY_PACKAGE_SHLIBDEPS OFF)
set(CPACK_DEBIAN_LIBRARY_PACKAGE_DEPENDS
    "stepcast (= ${PROJECT_VERSION}), libfmt-dev, nlohmann-json3-dev, libboost-dev")
set(CPACK_DEBIAN_LIBRARY_DESCRIPTION "C++ library of Stepcast
 Headers, static libraries and a CMake package: find_package(Stepcast).")

set(CPACK_DEBIAN_GUI_PACKAGE_NAME stepcast-gui)
set(CPACK_DEBIAN_GUI_PACKAGE_DEPENDS "stepcast (= ${PROJECT_VERSION}), qt6-qpa-plugins")
set(CPACK_DEBIAN_GUI_DESCRIPTION "Desktop program of Stepcast
 Choose servers, fabric, model and strategy, and see every figure change as you do.")

set(CPACK_DEBIAN_PROBES_PACKAGE_NAME stepcast-probes)
set(CPACK_DEBIAN_PROBES_PACKAGE_RECOMMENDS "fio")
set(CPACK_DEBIAN_PROBES_DESCRIPTION "Probes that measure a cluster for Stepcast
 NCCL and MPI collectives, GPU operators, storage and power, one JSON file a run. Needs
 neither the simulator nor CUDA to install; drivers and NCCL are loaded where they are.")
include(CPack)
