/*
 * audit_text.h - records of the audit log in words, for the screen and for the command line alike.
 *
 * Everything appended is neutralised.
 */
#ifndef AUDIT_TEXT_H
#define AUDIT_TEXT_H

#include <berth/audit.h>
#include <berth/str.h>

/* "root/alpha": the person, and the agent that it was done for or to; a shell of root in alpha is not alpha's. */
void audit_text_who(struct str *out, const struct audit_record *r);
void audit_text_target(
	struct str *out, const struct audit_record *r); /* name, else short id, else - */
void audit_text_detail(struct str *out, const struct audit_record *r); /* params, items, error */
/* "ok" "failed" ... "intent"; with the duration where there is one: "ok 12.4 s". */
void audit_text_outcome(struct str *out, const struct audit_record *r);
/* One sentence about a verdict, without "berth:". */
void audit_text_verdict(struct str *out, const struct audit_verdict *v);

#endif
