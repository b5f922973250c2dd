/* users.c - reads users from /etc/passwd, without NSS. */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <berth/file.h>
#include <berth/users.h>
#include <berth/mem.h>

int users_open(struct users *u, const char *file, struct err *e)
{
	AUTO_CLOSE int fd = file_open(AT_FDCWD, file, 0);

	u->file = NULL;
	if (fd < 0 && errno == ENOENT)
		return 0;
	u->file = fd < 0 ? NULL : fdopen(fd, "r");
	if (!u->file)
		return err_sys(e, errno, "cannot read the list of users, %s", file);
	steal_fd(&fd);
	return 0;
}

/* The line with its end, or NULL; what is too long is read to its end and empty. */
static char *next_user_line(struct users *u)
{
	if (!fgets(u->line, sizeof u->line, u->file))
		return NULL;
	if (!strchr(u->line, '\n') && strlen(u->line) == sizeof u->line - 1) {
		for (int c = 0; c != '\n' && c != EOF;)
			c = getc(u->file);
		u->line[0] = '\0';
	}
	u->line[strcspn(u->line, "\n")] = '\0';
	return u->line;
}

/* passwd(5): name:password:UID:GID:GECOS:directory:shell */
static bool parse_user(char *line, struct user *ret)
{
	char *field[7], *end;
	unsigned long uid;

	for (size_t i = 0; i < COUNT(field); i++)
		if (!(field[i] = strsep(&line, ":")))
			return false;
	if (!isdigit((unsigned char)field[2][0]) || !field[0][0])
		return false;
	errno = 0;
	uid = strtoul(field[2], &end, 10);
	if (errno || *end || uid > UINT32_MAX)
		return false;
	*ret = (struct user){(uint32_t)uid, field[0], field[5]};
	return true;
}

bool users_next(struct users *u, struct user *ret, struct err *e)
{
	char *line;

	while (u->file && (line = next_user_line(u)))
		if (parse_user(line, ret))
			return true;
	if (u->file && ferror(u->file))
		err_sys(e, errno, "cannot read the list of users");
	return false;
}

void users_release(struct users *u)
{
	if (u->file)
		fclose(u->file);
	u->file = NULL;
}

static bool find_user(struct users *u, uint32_t uid, struct user *ret)
{
	if (users_open(u, USERS_FILE, NULL))
		return false;
	while (users_next(u, ret, NULL))
		if (ret->uid == uid)
			return true;
	return false;
}

static bool fit_to_show(const char *name)
{
	for (const char *c = name; *c; c++)
		if (!isgraph((unsigned char)*c) || (unsigned char)*c > 0x7e)
			return false;
	return strlen(name) < USER_NAME_MAX;
}

char *user_name(uint32_t uid, char buf[USER_NAME_MAX])
{
	struct users u;
	struct user found;

	if (find_user(&u, uid, &found) && fit_to_show(found.name))
		snprintf(buf, USER_NAME_MAX, "%s", found.name);
	else
		snprintf(buf, USER_NAME_MAX, "%u", uid);
	users_release(&u);
	return buf;
}

char *user_home(uint32_t uid)
{
	struct users u;
	struct user found;
	char *home = NULL;

	if (find_user(&u, uid, &found) && found.home[0] == '/')
		home = xstrdup(found.home);
	users_release(&u);
	return home;
}
