/* Random bytes as Windows 10 gives them to programs in Rust, from what Wine 8 has instead. Never part of a package. */
#include <windows.h>
#include <ntsecapi.h>

BOOL random_bytes(PBYTE place, SIZE_T length) { return RtlGenRandom(place, (ULONG)length); }
