/* audit.h - what other views ask of the audit view. */
#ifndef AUDIT_AUDIT_H
#define AUDIT_AUDIT_H

struct view;

/* Show the records about this container, image or agent (its full id, or its name). */
void audit_view_about(struct view *v, const char *target);

#endif
