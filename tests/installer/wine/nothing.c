/* Stands in for a function that Wine 8 lacks and that has nothing to do here. Never part of a package. */
void *nothing(void) { return 0; }
