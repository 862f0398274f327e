; The setup of Headstart for one user of Windows, 64 bit. Run by setup.py, which writes what is included from "list.nsh".
Target amd64-unicode
!include "MUI2.nsh"
!include "FileFunc.nsh"
!include "WordFunc.nsh"
!include "Sections.nsh"
!define NAME "Headstart"
!define OWN "Software\${NAME}"
!define ENTRY "Software\Microsoft\Windows\CurrentVersion\Uninstall\${NAME}"
!define TYPE "Headstart.Chats"
!define CLASSES "Software\Classes"
!define DATA "$LOCALAPPDATA\headstart"
Name "${NAME}"
OutFile "${OUTPUT}"
RequestExecutionLevel user
InstallDir "$LOCALAPPDATA\Programs\${NAME}"
InstallDirRegKey HKCU "${OWN}" "InstallDir"
SetCompressor /SOLID lzma
SetCompressorDictSize 64
ManifestDPIAware true
BrandingText " "
VIProductVersion "${NUMBERS}"
VIAddVersionKey "ProductName" "${NAME}"
VIAddVersionKey "ProductVersion" "${VERSION}"
VIAddVersionKey "FileDescription" "${NAME} ${VERSION} setup"
VIAddVersionKey "FileVersion" "${VERSION}"
VIAddVersionKey "CompanyName" "The Headstart developers"
VIAddVersionKey "LegalCopyright" "Apache License 2.0"
!define MUI_ICON "${ICON}"
!define MUI_UNICON "${ICON}"
!insertmacro MUI_PAGE_WELCOME
!define MUI_PAGE_CUSTOMFUNCTION_LEAVE RequireOwnFolder
!insertmacro MUI_PAGE_DIRECTORY
!insertmacro MUI_PAGE_INSTFILES
!define MUI_FINISHPAGE_RUN "$INSTDIR\headstart.exe"
!insertmacro MUI_PAGE_FINISH
!insertmacro MUI_UNPAGE_CONFIRM
!insertmacro MUI_UNPAGE_COMPONENTS
!insertmacro MUI_UNPAGE_INSTFILES
!insertmacro MUI_LANGUAGE "English"
!insertmacro MUI_LANGUAGE "SimpChinese"
!insertmacro MUI_LANGUAGE "TradChinese"
!include "${WORDS}"
!include "${LIST}"

; A program that runs cannot be replaced or removed.
!macro CLOSE_RUNNING UN
Function ${UN}CloseRunning
  InitPluginsDir
  File "/oname=$PLUGINSDIR\closing.exe" "${CLOSING}"
  again:
  ExecWait '"$PLUGINSDIR\closing.exe" "$INSTDIR"' $0
  StrCmp $0 0 closed
  MessageBox MB_OKCANCEL|MB_ICONEXCLAMATION "$(IsRunning)" /SD IDOK IDCANCEL refused
  ExecWait '"$PLUGINSDIR\closing.exe" "$INSTDIR" 20' $0
  StrCmp $0 0 closed
  MessageBox MB_RETRYCANCEL|MB_ICONEXCLAMATION "$(StillRunning)" /SD IDCANCEL IDRETRY again
  refused:
  SetErrorLevel 2
  Abort "$(StillRunning)"
  closed:
FunctionEnd
!macroend
!insertmacro CLOSE_RUNNING ""
!insertmacro CLOSE_RUNNING "un."

; Its folders are replaced and removed as a whole: nobody else's may be among them.
Function RequireOwnFolder
  IfFileExists "$INSTDIR\headstart.exe" own
  ${DirState} "$INSTDIR" $0
  StrCmp $0 1 0 own
  MessageBox MB_OK|MB_ICONEXCLAMATION "$(FolderInUse)" /SD IDOK
  SetErrorLevel 2
  Abort
  own:
FunctionEnd

Function .onInit
  ReadRegStr $0 HKCU "${OWN}" "Msi"
  StrCmp $0 "" not_by_msi
  MessageBox MB_OK|MB_ICONEXCLAMATION "$(ByMsi)" /SD IDOK
  SetErrorLevel 2
  Quit
  not_by_msi:
  ReadRegStr $0 HKCU "${ENTRY}" "DisplayVersion"
  StrCmp $0 "" not_newer
  ${VersionCompare} "$0" "${VERSION}" $1
  StrCmp $1 1 0 not_newer
  MessageBox MB_YESNO|MB_DEFBUTTON2|MB_ICONEXCLAMATION "$(IsNewer)" /SD IDNO IDYES not_newer
  SetErrorLevel 2
  Quit
  not_newer:
FunctionEnd

!macro REMOVE_PROGRAM
  RMDir /r "$INSTDIR\app"
  RMDir /r "$INSTDIR\lib"
  RMDir /r "$INSTDIR\runtime"
  RMDir /r "$INSTDIR\models"
  RMDir /r "$INSTDIR\exporter"
  !insertmacro DELETE_FILES
!macroend

Section "Program"
  IfSilent 0 folder_is_known
  Call RequireOwnFolder
  folder_is_known:
  Call CloseRunning
  !insertmacro REMOVE_PROGRAM
  !insertmacro PUT_FILES
  SetOutPath "$INSTDIR"
  WriteUninstaller "$INSTDIR\uninstall.exe"
  CreateShortcut "$SMPROGRAMS\${NAME}.lnk" "$INSTDIR\headstart.exe"
  WriteRegStr HKCU "${OWN}" "InstallDir" "$INSTDIR"
  ; Windows knows files by their last ending only, and .json belongs to others: Headstart is offered beside them.
  WriteRegStr HKCU "${CLASSES}\${TYPE}" "" "$(TypeName)"
  WriteRegStr HKCU "${CLASSES}\${TYPE}\DefaultIcon" "" '"$INSTDIR\headstart.exe",0'
  WriteRegStr HKCU "${CLASSES}\${TYPE}\shell\open\command" "" '"$INSTDIR\headstart.exe" --open "%1"'
  WriteRegStr HKCU "${CLASSES}\.json\OpenWithProgids" "${TYPE}" ""
  WriteRegStr HKCU "${CLASSES}\SystemFileAssociations\.json\shell\${TYPE}" "" "$(OpenIn)"
  WriteRegStr HKCU "${CLASSES}\SystemFileAssociations\.json\shell\${TYPE}" "AppliesTo" 'System.FileName:"*.headstart.json"'
  WriteRegStr HKCU "${CLASSES}\SystemFileAssociations\.json\shell\${TYPE}" "Icon" '"$INSTDIR\headstart.exe",0'
  WriteRegStr HKCU "${CLASSES}\SystemFileAssociations\.json\shell\${TYPE}\command" "" '"$INSTDIR\headstart.exe" --open "%1"'
  WriteRegStr HKCU "${ENTRY}" "DisplayName" "${NAME}"
  WriteRegStr HKCU "${ENTRY}" "DisplayVersion" "${VERSION}"
  WriteRegStr HKCU "${ENTRY}" "DisplayIcon" "$INSTDIR\headstart.exe"
  WriteRegStr HKCU "${ENTRY}" "Publisher" "The Headstart developers"
  WriteRegStr HKCU "${ENTRY}" "InstallLocation" "$INSTDIR"
  WriteRegDWORD HKCU "${ENTRY}" "EstimatedSize" ${KILOBYTES}
  WriteRegDWORD HKCU "${ENTRY}" "NoModify" 1
  WriteRegDWORD HKCU "${ENTRY}" "NoRepair" 1
  WriteRegStr HKCU "${ENTRY}" "UninstallString" '"$INSTDIR\uninstall.exe"'
  WriteRegStr HKCU "${ENTRY}" "QuietUninstallString" '"$INSTDIR\uninstall.exe" /S'
  System::Call 'shell32::SHChangeNotify(i 0x08000000, i 0, p 0, p 0)' ; file types have changed
SectionEnd

Section "un.$(TheProgram)"
  SectionIn RO
  IfFileExists "$INSTDIR\headstart.exe" own
  Abort
  own:
  Call un.CloseRunning
  !insertmacro REMOVE_PROGRAM
  Delete "$INSTDIR\uninstall.exe"
  RMDir "$INSTDIR"
  Delete "$SMPROGRAMS\${NAME}.lnk"
  DeleteRegKey HKCU "${ENTRY}"
  DeleteRegKey HKCU "${CLASSES}\${TYPE}"
  DeleteRegKey HKCU "${CLASSES}\SystemFileAssociations\.json\shell\${TYPE}"
  DeleteRegValue HKCU "${CLASSES}\.json\OpenWithProgids" "${TYPE}"
  DeleteRegKey HKCU "${OWN}"
  System::Call 'shell32::SHChangeNotify(i 0x08000000, i 0, p 0, p 0)'
SectionEnd

; Everything in folder $R0 but the entry $R1. What a link points to is not deleted.
Function un.EmptyFolder
  FindFirst $R2 $R3 "$R0\*"
  next:
  StrCmp $R3 "" done
  StrCmp $R3 "." skip
  StrCmp $R3 ".." skip
  StrCmp $R3 $R1 skip
  ${GetFileAttributes} "$R0\$R3" "REPARSE_POINT" $R4
  StrCmp $R4 1 link
  IfFileExists "$R0\$R3\*" folder
  link:
  Delete "$R0\$R3"
  RMDir "$R0\$R3"
  Goto skip
  folder:
  RMDir /r "$R0\$R3"
  skip:
  FindNext $R2 $R3
  Goto next
  done:
  FindClose $R2
FunctionEnd

Section /o "un.$(TheModels)" MODELS
  StrCpy $R0 "${DATA}\models"
  StrCpy $R1 ""
  Call un.EmptyFolder
  RMDir "${DATA}\models"
  RMDir "${DATA}"
SectionEnd

Section /o "un.$(TheChats)" CHATS
  StrCpy $R0 "${DATA}"
  StrCpy $R1 "models"
  Call un.EmptyFolder
  RMDir "${DATA}"
SectionEnd

; A silent removal keeps both unless it is told to delete them by /MODELS and /CHATS.
Function un.onInit
  ${GetParameters} $0
  ClearErrors
  ${GetOptions} $0 "/MODELS" $1
  IfErrors keep_models
  !insertmacro SelectSection ${MODELS}
  keep_models:
  ClearErrors
  ${GetOptions} $0 "/CHATS" $1
  IfErrors keep_chats
  !insertmacro SelectSection ${CHATS}
  keep_chats:
FunctionEnd

!insertmacro MUI_UNFUNCTION_DESCRIPTION_BEGIN
  !insertmacro MUI_DESCRIPTION_TEXT ${MODELS} "$(AboutModels)"
  !insertmacro MUI_DESCRIPTION_TEXT ${CHATS} "$(AboutChats)"
!insertmacro MUI_UNFUNCTION_DESCRIPTION_END
