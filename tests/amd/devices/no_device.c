/* A libamdhip64 without a GPU, which answers as Debian's 5.2.3 was seen to. */
#define API __attribute__((visibility("default")))

API int hipInit(unsigned flags);
API int hipGetDeviceCount(int *count);
API const char *hipGetErrorString(int error);

int hipInit(unsigned flags)
{
	(void)flags;
	return 101;
}

int hipGetDeviceCount(int *count)
{
	*count = 0;
	return 100;
}

const char *hipGetErrorString(int error)
{
	return error == 101 ? "hipErrorInvalidDevice" : "hipErrorNoDevice";
}
