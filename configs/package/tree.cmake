# tree.cmake - CPack reads it when the files of a package are in place: what Debian's policy asks of them, and nothing
# that differs between two builds of one commit (times, modes, what the umask was).
include(${CPACK_BERTH_BUILD}/version.cmake)
set(root ${CPACK_TEMPORARY_INSTALL_DIRECTORY}/usr)
set(doc ${root}/share/doc/berth)
function(run)
  execute_process(COMMAND ${ARGN} COMMAND_ERROR_IS_FATAL ANY)
endfunction()

# The texts of the libraries that are linked statically go with the programs.
file(READ ${CPACK_BERTH_SOURCE}/configs/package/copyright text)
foreach(package ${CPACK_BERTH_STATIC})
  if(EXISTS /usr/share/doc/${package}/copyright)
    file(READ /usr/share/doc/${package}/copyright more)
    string(APPEND text "\n---- ${package} ----\n\n${more}")
  else()
    string(APPEND text "\n---- ${package}: see its Debian package ----\n")
  endif()
endforeach()
file(WRITE ${doc}/copyright "${text}")
string(TIMESTAMP time "%a, %d %b %Y %H:%M:%S +0000" UTC)
file(WRITE ${doc}/changelog "berth (${BERTH_VERSION}) unstable; urgency=medium

  * Built of commit ${BERTH_COMMIT}.

 -- ${CPACK_DEBIAN_PACKAGE_MAINTAINER}  ${time}
")
run(gzip -9nf ${doc}/changelog ${root}/share/man/man1/berth.1)
# Debian's zsh looks here, not where it does on other systems.
file(MAKE_DIRECTORY ${root}/share/zsh/vendor-completions)
file(RENAME ${root}/share/zsh/site-functions/_berth ${root}/share/zsh/vendor-completions/_berth)
file(REMOVE_RECURSE ${root}/share/zsh/site-functions)
# Into /etc only here: who installs berth elsewhere has `berth doctor --fix`.
set(etc ${CPACK_TEMPORARY_INSTALL_DIRECTORY}/etc)
configure_file(${CPACK_BERTH_SOURCE}/configs/berth-agent.apparmor ${etc}/apparmor.d/berth-agent COPYONLY)
run(find ${root} -type f -perm /111 -exec chmod 755 {} +)
run(find ${root} ${etc} ( -type d -exec chmod 755 {} + ) -o ( -type f ! -perm /111 -exec chmod 644 {} + ))
run(find ${CPACK_TEMPORARY_INSTALL_DIRECTORY} -exec touch -hd @${BERTH_DATE} {} +)
