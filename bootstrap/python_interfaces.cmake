# Passed to CMake as CMAKE_PROJECT_INCLUDE when interface packages are built against the ROS wheels.

# Python uses the type support for C alone. That for C++ takes two thirds of the compiler's time, so
# it leaves the list of generators, which is complete once they are found and never made again.
find_package(ament_cmake REQUIRED)
find_package(rosidl_default_generators REQUIRED)
list(FILTER AMENT_EXTENSIONS_rosidl_generate_idl_interfaces EXCLUDE REGEX "_cpp:")

# Targets exported by the wheels name include folders of the machine the wheels were built on, and
# CMake refuses a target whose include folder is missing. Once the whole project is read, forget
# the folders that do not exist here; generator expressions are left alone.
function(drop_missing_includes)
  get_property(targets DIRECTORY PROPERTY IMPORTED_TARGETS)
  foreach(target IN LISTS targets)
    get_target_property(folders ${target} INTERFACE_INCLUDE_DIRECTORIES)
    if(NOT folders)
      continue()
    endif()
    set(present "")
    foreach(folder IN LISTS folders)
      if(folder MATCHES "\\$<" OR EXISTS "${folder}")
        list(APPEND present "${folder}")
      endif()
    endforeach()
    set_target_properties(${target} PROPERTIES INTERFACE_INCLUDE_DIRECTORIES "${present}")
  endforeach()
endfunction()
cmake_language(DEFER CALL drop_missing_includes)
