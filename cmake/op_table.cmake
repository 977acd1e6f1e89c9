# The folder src/ops is the registry of operations: each file <name>.cpp defines
# `const OpFamily <name>`, and the generated table names them all, sorted. A file that does not
# keep its promise is a link error. A file with a header beside it is no op but what ops share:
# ops need none, nobody includes them.
function(plimsoll_write_op_table folder table)
  set(keywords and auto bool break case catch char class concept const continue default delete do
               double else enum explicit export extern false float for friend goto if inline int
               long mutable namespace new not operator or private protected public register
               return short signed sizeof static struct switch template this throw true try
               typedef typeid union unsigned using virtual void volatile while xor)
  file(GLOB files CONFIGURE_DEPENDS ${folder}/*.cpp)
  list(SORT files)
  set(lines "")
  foreach(file ${files})
    cmake_path(GET file STEM name)
    if(EXISTS ${folder}/${name}.h)
      continue()
    endif()
    if(name IN_LIST keywords OR NOT name MATCHES "^[a-z][a-z0-9_]*$")
      message(FATAL_ERROR "src/ops/${name}.cpp: the file name is used as a C++ identifier; "
                          "choose one that is lower_snake_case and not a keyword")
    endif()
    string(APPEND lines "PLIMSOLL_OP(${name})\n")
  endforeach()
  # Written only when it changes, so that adding an op recompiles one file and not the folder.
  file(CONFIGURE OUTPUT ${table} CONTENT "${lines}" @ONLY)
endfunction()
