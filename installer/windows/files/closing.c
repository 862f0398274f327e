/* `closing FOLDER [SECONDS]`: asks every window of the programs in FOLDER to close and waits until these have ended.
   Without SECONDS it only looks. Exit code 0: none runs; 1: one runs still; 2: wrongly asked. Part of the setup. */
#include <stdlib.h>
#include <wchar.h>
#include <windows.h>
#include <tlhelp32.h>

#define LONGEST 32768
enum { NONE = 0, RUNNING = 1, MISUSED = 2, STEP = 200 };

static BOOL CALLBACK ask(HWND window, LPARAM process) {
    DWORD owner = 0;
    GetWindowThreadProcessId(window, &owner);
    if (owner == (DWORD)process && IsWindowVisible(window) && !GetWindow(window, GW_OWNER)) PostMessageW(window, WM_CLOSE, 0, 0);
    return TRUE;
}

static int is_inside(DWORD process, const wchar_t *folder) {
    static wchar_t path[LONGEST];
    DWORD length = LONGEST;
    size_t start = wcslen(folder);
    HANDLE handle = OpenProcess(PROCESS_QUERY_LIMITED_INFORMATION, FALSE, process);
    if (!handle) return 0;
    BOOL known = QueryFullProcessImageNameW(handle, 0, path, &length);
    CloseHandle(handle);
    return known && length > start && path[start] == L'\\' && !_wcsnicmp(path, folder, start);
}

/* How many run besides this one, and the setup or its remover that started it; these are asked to close if `asking`. */
static int look(const wchar_t *folder, int asking) {
    int found = 0;
    PROCESSENTRY32W entry = {.dwSize = sizeof entry};
    HANDLE all = CreateToolhelp32Snapshot(TH32CS_SNAPPROCESS, 0);
    if (all == INVALID_HANDLE_VALUE) return 0;
    for (BOOL more = Process32FirstW(all, &entry); more; more = Process32NextW(all, &entry)) {
        if (_wcsnicmp(entry.szExeFile, L"headstart", 9) || !is_inside(entry.th32ProcessID, folder)) continue;
        found++;
        if (asking) EnumWindows(ask, (LPARAM)entry.th32ProcessID);
    }
    CloseHandle(all);
    return found;
}

int WINAPI wWinMain(HINSTANCE instance, HINSTANCE before, LPWSTR line, int show) {
    (void)instance, (void)before, (void)line, (void)show;
    if (__argc < 2) return MISUSED;
    long left = __argc > 2 ? 1000 * _wtol(__wargv[2]) : 0;
    if (!look(__wargv[1], left > 0)) return NONE;
    for (; left > 0; left -= STEP) {
        Sleep(STEP);
        if (!look(__wargv[1], 0)) return NONE;
    }
    return RUNNING;
}
