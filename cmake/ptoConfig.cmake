include("${CMAKE_CURRENT_LIST_DIR}/ptoTargets.cmake")
