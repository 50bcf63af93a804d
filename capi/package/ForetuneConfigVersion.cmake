# Before 1.0 a minor version may change what a program sees.
set(PACKAGE_VERSION "@VERSION@")
string(REGEX MATCH "^[0-9]+\\.[0-9]+" _foretune_minor "@VERSION@")
if("${PACKAGE_FIND_VERSION}" MATCHES "^${_foretune_minor}($|\\.)" AND NOT PACKAGE_FIND_VERSION VERSION_GREATER PACKAGE_VERSION)
  set(PACKAGE_VERSION_COMPATIBLE TRUE)
  if(PACKAGE_FIND_VERSION VERSION_EQUAL PACKAGE_VERSION)
    set(PACKAGE_VERSION_EXACT TRUE)
  endif()
endif()
