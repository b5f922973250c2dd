/* berth_git.c - berth-git: reads the git repository in its working directory, sandboxed (berth/repo.h). */
#include <berth/repo.h>

int main(int argc, char **argv)
{
	repo_main(argc > 1 ? argv[1] : NULL);
}
