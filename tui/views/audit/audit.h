/* audit.h - opens the audit view from other views. */
#ifndef AUDIT_AUDIT_H
#define AUDIT_AUDIT_H

struct view;

/* Show the records about this container, image or agent: by its name, which people know; by its full id
 * where it has none. */
void audit_view_about(struct view *v, const char *name, const char *id);

#endif
