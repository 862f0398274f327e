/* Starts app\start.py with the Python in runtime\, as PROGRAM: the window (-DGUI), the command line or the engine.
   Knows nothing of what these do. */
#include <stdio.h>
#include <stdlib.h>
#include <wchar.h>
#include <windows.h>

#define LONGEST 32768
typedef int (*PyMain)(int, wchar_t **);

static int fail(void) {
    const wchar_t *text = L"The Python runtime could not be loaded; please install Headstart again.";
#ifdef GUI
    MessageBoxW(0, text, L"Headstart", MB_ICONERROR);
#else
    fwprintf(stderr, L"headstart: %ls\n", text);
#endif
    return 3;
}

static int run(void) {
    static wchar_t folder[LONGEST], script[LONGEST], library[LONGEST];
    DWORD length = GetModuleFileNameW(0, folder, LONGEST);
    if (!length || length == LONGEST) return fail();
    *wcsrchr(folder, L'\\') = 0;
    if (swprintf(script, LONGEST, L"%ls\\app\\start.py", folder) < 0) return fail();
    if (swprintf(library, LONGEST, L"%ls\\runtime\\" PYTHON, folder) < 0) return fail();
    SetDllDirectoryW(L""); /* never load libraries from the folder that happens to be the current one */
    /* Beside Python and beside this program, where Microsoft's C++ libraries are. */
    HMODULE python = LoadLibraryExW(library, 0, LOAD_LIBRARY_SEARCH_DLL_LOAD_DIR | LOAD_LIBRARY_SEARCH_DEFAULT_DIRS);
    PyMain run_python = python ? (PyMain)(void *)GetProcAddress(python, "Py_Main") : 0;
    wchar_t **words = calloc(__argc + 4, sizeof *words);
    if (!run_python || !words) return fail();
    int count = 0;
    words[count++] = __wargv[0];
    words[count++] = L"-I"; /* neither variables nor folders of the user decide what is imported */
    words[count++] = script;
    words[count++] = PROGRAM;
    for (int at = 1; at < __argc; at++) words[count++] = __wargv[at];
    return run_python(count, words);
}

#ifdef GUI
int WINAPI wWinMain(HINSTANCE instance, HINSTANCE before, LPWSTR line, int show) {
    (void)instance, (void)before, (void)line, (void)show;
    return run();
}
#else
int wmain(void) { return run(); }
#endif
