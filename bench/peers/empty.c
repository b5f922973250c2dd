/* empty.c - the program to compare starts with: it does nothing. */
int main(void)
{
	return 0;
}
