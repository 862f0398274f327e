/* Starts app\TARGET with the Python in runtime\. Compiled twice: for the window (-DGUI) and for the engine. Not run yet. */
#define UNICODE
#include <stdlib.h>
#include <wchar.h>
#include <windows.h>

typedef int (*PyMain)(int, wchar_t **);

static int run(void) {
    static wchar_t folder[32768], script[32768], library[32768];
    GetModuleFileNameW(0, folder, 32768);
    *wcsrchr(folder, L'\\') = 0;
    swprintf(script, 32768, L"%ls\\app\\%ls", folder, TARGET);
    swprintf(library, 32768, L"%ls\\runtime\\python313.dll", folder);
    SetDllDirectoryW(L"");
    HMODULE python = LoadLibraryExW(library, 0, LOAD_WITH_ALTERED_SEARCH_PATH);
    if (!python) {
        MessageBoxW(0, L"The Python runtime could not be loaded. Please install Headstart again.", L"Headstart", MB_ICONERROR);
        return 3;
    }
    wchar_t **words = calloc(__argc + 3, sizeof *words);
    int count = 0;
    words[count++] = __wargv[0];
    words[count++] = L"-I";
    words[count++] = script;
    for (int at = 1; at < __argc; at++) words[count++] = __wargv[at];
    return ((PyMain)(void *)GetProcAddress(python, "Py_Main"))(count, words);
}

#ifdef GUI
int WINAPI wWinMain(HINSTANCE a, HINSTANCE b, LPWSTR c, int d) { return run(); }
#else
int wmain(void) { return run(); }
#endif
