/* product.c - what the products of one API are asked for, and what they cannot do. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include <berth/mem.h>
#include <berth/product.h>
#include <berth/str.h>

#include "container/container.h"
#include "engine/sync.h"

static char data[] = "/srv/data", work[] = "/srv/work", plain[] = "/srv/plain";
static struct mount mounts[] = {
	{.source = data, .target = data, .read_only = true}, {.source = work, .target = work}};

static struct spec describe_for(const char *product)
{
	return (struct spec){.role = SPEC_TOOL,
		.product = product ? product_named(product) : NULL,
		.name = "berth-x",
		.session = "s",
		.proof = "p",
		.image = "box:1",
		.uid = 1000,
		.gid = 1000,
		.secrets = true,
		.limits = {.memory_bytes = 64 << 20, .tmp_bytes = 8 << 20},
		.mounts = {COUNT(mounts), COUNT(mounts), mounts}};
}

static cJSON *parse_body(const struct spec *s)
{
	AUTO_STR struct str body = STR_INIT;
	cJSON *root;

	spec_body(s, &body);
	root = ejson_parse(body.s, body.len, NULL);
	assert_non_null(root);
	return root;
}

static const char *tmpfs_of(const cJSON *root, const char *target)
{
	return ejson_string(ejson_path(root, "HostConfig", "Tmpfs", NULL), target);
}

static const char *seccomp_of(const cJSON *root)
{
	const cJSON *option;

	cJSON_ArrayForEach(option, ejson_path(root, "HostConfig", "SecurityOpt", NULL))
	{
		if (!strncmp(ejson_text(option), "seccomp=", 8))
			return ejson_text(option) + 8;
	}
	return "";
}

static void test_asked_of_docker(void **state)
{
	struct spec s = describe_for(NULL), same = describe_for("docker"),
		    unknown = describe_for("crate");
	AUTO_JSON cJSON *root = parse_body(&s);
	const cJSON *list = ejson_path(root, "HostConfig", "Mounts", NULL);
	char a[17], b[17], c[17];

	(void)state;
	assert_string_equal(tmpfs_of(root, "/tmp"),
		"rw,nosuid,nodev,size=8388608,nr_inodes=4096,exec,mode=1777");
	assert_string_equal(tmpfs_of(root, "/run/secrets"),
		"rw,nosuid,nodev,size=1048576,nr_inodes=256,noexec,mode=0700,uid=1000,gid=1000");
	assert_string_equal(tmpfs_of(root, "/var/tmp"), "");
	assert_int_equal(*seccomp_of(root), '{');
	assert_true(cJSON_IsFalse(
		ejson_path(cJSON_GetArrayItem(list, 1), "BindOptions", "NonRecursive", NULL)));
	spec_hash(&s, a);
	spec_hash(&same, b);
	spec_hash(&unknown, c);
	assert_string_equal(a, b);
	assert_string_equal(a, c);
}

static void test_asked_of_podman(void **state)
{
	struct spec s = describe_for("podman");
	struct memory_fs fs[SPEC_MEMORY_MAX];
	AUTO_JSON cJSON *root = NULL, *sudo = NULL;
	const cJSON *list;
	char before[17], after[17];

	(void)state;
	spec_hash(&s, before);
	s.seccomp_file = "/var/lib/berth/seccomp.json";
	spec_hash(&s, after);
	assert_string_equal(before, after); /* the filter counts, not where it is */
	root = parse_body(&s);
	assert_string_equal(
		tmpfs_of(root, "/tmp"), "rw,nosuid,nodev,size=8388608,notmpcopyup,exec,mode=1777");
	assert_string_equal(tmpfs_of(root, "/run/secrets"),
		"rw,nosuid,nodev,size=1048576,notmpcopyup,noexec,mode=0700");
	assert_int_equal(strncmp(tmpfs_of(root, "/var/tmp"), "ro,", 3), 0);
	assert_string_equal(seccomp_of(root), "/var/lib/berth/seccomp.json");
	/* `false` would be taken for a wish. */
	list = ejson_path(root, "HostConfig", "Mounts", NULL);
	assert_true(cJSON_IsTrue(
		ejson_path(cJSON_GetArrayItem(list, 0), "BindOptions", "NonRecursive", NULL)));
	assert_null(ejson_get(cJSON_GetArrayItem(list, 1), "BindOptions"));
	/* What has no words there is set later, of all of them. */
	assert_true(memory_fs_needed(&s));
	assert_int_equal(spec_memory(&s, fs), 5);
	for (size_t i = 0; i < 5; i++)
		assert_true(fs[i].files > 0 && fs[i].bytes > 0);
	/* A root that may be written to needs no place beside it. */
	s.sudo = true;
	sudo = parse_body(&s);
	assert_string_equal(tmpfs_of(sudo, "/var/tmp"), "");
}

static void test_paths_not_mounted(void **state)
{
	static const char *const odd[] = {
		"/srv/a,b", "/srv/a,ro=false", "/srv/\"a", "/srv/a\nb", "/srv/a\rb"};

	(void)state;
	for (size_t i = 0; i < 2 * COUNT(odd); i++) {
		AUTO_FREE char *path = xstrdup(odd[i / 2]);
		struct mount one = {.source = i % 2 ? path : plain, .target = i % 2 ? plain : path};
		struct spec s = describe_for("podman");
		struct err e = ERR_INIT;

		s.mounts = (struct mount_list){1, 1, &one};
		assert_int_equal(spec_refuses(&s, &e), -1);
		assert_int_equal(e.kind, ERR_REFUSED);
		assert_non_null(strstr(e.msg, path));
		s.product = product_named("docker");
		assert_int_equal(spec_refuses(&s, &e), 0);
	}
}

static void test_refused_product(void **state)
{
	static const struct {
		const char *product;
		bool rootless, refused;
	} of[] = {{"podman", false, false}, {"podman", true, true}, {"docker", true, false},
		{"docker", false, false}};

	(void)state;
	for (size_t i = 0; i < COUNT(of); i++) {
		struct engine_info info = {
			.product = of[i].product, .version = "4.3.1", .rootless = of[i].rootless};
		struct err e = ERR_INIT;

		info.lacks = product_lacks(&info);
		assert_int_equal(product_refuses(&info, &e) != 0, of[i].refused);
		if (of[i].refused)
			assert_non_null(strstr(e.msg, "podman 4.3.1"));
		assert_int_equal(info.lacks != 0, !strcmp(of[i].product, "podman"));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_asked_of_docker),
		cmocka_unit_test(test_asked_of_podman),
		cmocka_unit_test(test_paths_not_mounted),
		cmocka_unit_test(test_refused_product),
	};

	return cmocka_run_group_tests_name("product", tests, NULL, NULL);
}
