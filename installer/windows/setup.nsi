; Headstart for one user of Windows, 64 bit. makensis -DVERSION=0.1.0 setup.nsi, with the program in dist\. Not run yet.
Target amd64-unicode
!include "MUI2.nsh"
!include "FileFunc.nsh"
!define NAME "Headstart"
!define ENTRY "Software\Microsoft\Windows\CurrentVersion\Uninstall\${NAME}"
!define TYPE "Headstart.Chats"
Name "${NAME}"
OutFile "Headstart-${VERSION}-setup.exe"
RequestExecutionLevel user
InstallDir "$LOCALAPPDATA\Programs\${NAME}"
InstallDirRegKey HKCU "Software\${NAME}" "InstallDir"
SetCompressor /SOLID lzma
ManifestDPIAware true
!insertmacro MUI_PAGE_WELCOME
!insertmacro MUI_PAGE_DIRECTORY
!insertmacro MUI_PAGE_INSTFILES
!define MUI_FINISHPAGE_RUN "$INSTDIR\headstart.exe"
!insertmacro MUI_PAGE_FINISH
!insertmacro MUI_UNPAGE_CONFIRM
!insertmacro MUI_UNPAGE_INSTFILES
!insertmacro MUI_LANGUAGE "English"
!insertmacro MUI_LANGUAGE "SimpChinese"
!insertmacro MUI_LANGUAGE "TradChinese"

; A program that runs cannot be replaced: its file cannot be opened for writing.
!macro RequireClosed
  again:
  IfFileExists "$INSTDIR\headstart.exe" 0 closed
  ClearErrors
  FileOpen $0 "$INSTDIR\headstart.exe" a
  IfErrors 0 free
  MessageBox MB_RETRYCANCEL|MB_ICONEXCLAMATION "Headstart is running. Close it, then choose Retry." /SD IDCANCEL IDRETRY again
  Abort
  free:
  FileClose $0
  closed:
!macroend

Section "Program"
  !insertmacro RequireClosed
  RMDir /r "$INSTDIR\app"
  RMDir /r "$INSTDIR\lib"
  RMDir /r "$INSTDIR\runtime"
  SetOutPath "$INSTDIR"
  File /r "dist\*.*"
  CreateShortcut "$SMPROGRAMS\${NAME}.lnk" "$INSTDIR\headstart.exe"
  WriteUninstaller "$INSTDIR\uninstall.exe"
  WriteRegStr HKCU "Software\${NAME}" "InstallDir" "$INSTDIR"
  WriteRegStr HKCU "Software\Classes\${TYPE}\shell\open\command" "" '"$INSTDIR\headstart.exe" --open "%1"'
  WriteRegStr HKCU "Software\Classes\Applications\headstart.exe\shell\open\command" "" '"$INSTDIR\headstart.exe" --open "%1"'
  WriteRegStr HKCU "${ENTRY}" "DisplayName" "${NAME}"
  WriteRegStr HKCU "${ENTRY}" "DisplayVersion" "${VERSION}"
  WriteRegStr HKCU "${ENTRY}" "DisplayIcon" "$INSTDIR\headstart.exe"
  WriteRegStr HKCU "${ENTRY}" "UninstallString" '"$INSTDIR\uninstall.exe"'
  WriteRegStr HKCU "${ENTRY}" "QuietUninstallString" '"$INSTDIR\uninstall.exe" /S'
SectionEnd

Section "Uninstall"
  !insertmacro RequireClosed
  RMDir /r "$INSTDIR\app"
  RMDir /r "$INSTDIR\lib"
  RMDir /r "$INSTDIR\runtime"
  RMDir /r "$INSTDIR\models"
  Delete "$INSTDIR\*.exe"
  Delete "$INSTDIR\*.dll"
  RMDir "$INSTDIR"
  Delete "$SMPROGRAMS\${NAME}.lnk"
  DeleteRegKey HKCU "${ENTRY}"
  DeleteRegKey HKCU "Software\Classes\${TYPE}"
  DeleteRegKey HKCU "Software\Classes\Applications\headstart.exe"
  DeleteRegKey HKCU "Software\${NAME}"
  ; Chats stay; models are large, so whoever removes the program is asked.
  MessageBox MB_YESNO|MB_DEFBUTTON2 "Delete the models too? Chats and settings stay in $LOCALAPPDATA\headstart." /SD IDNO IDNO kept
  RMDir /r "$LOCALAPPDATA\headstart\models"
  kept:
SectionEnd
