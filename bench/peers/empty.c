/* empty.c - does nothing: the program that start-up times are compared with. */
int main(void)
{
	return 0;
}
