; The installer for Windows: NSIS 3, compiled by `python -m builder windows` (elsewhere than on Windows
; `windows-script` compiles it with empty files, to check it). It reads payload.nsh, which the builder
; writes: the version, the sizes, and every file by name, so that removal knows exactly what was
; installed and touches nothing else.
;
; Switches: /S silent, /AllUsers or /CurrentUser, /PATH (the command in terminals), /D=FOLDER (last, unquoted).
; Exit codes: 0 done, 1 cancelled, 2 not all could be written or removed; and as Windows numbers them: 5 no
; rights, 32 GPU Explorer is running, 50 this Windows cannot run it, 183 the folder is another program's,
; 206 its path is too long.

Unicode true
ManifestDPIAware true
ManifestLongPathAware true
SetCompressor /SOLID lzma
SetDateSave off ; the same files give the same installer, whenever it is compiled
AllowSkipFiles off
CRCCheck on

!include "${GENERATED}/payload.nsh"
SetCompressorDictSize ${DICTIONARY_MB}

!define NAME "GPU Explorer"
!define PUBLISHER "GPU Explorer contributors"
!define PROGRAM "gpuexplorer.exe"
!define COMMAND "gpuexplorer-cli.exe"
!define UNINSTALLER "uninstall.exe"
!define SUFFIX ".gpux"
!define PROGID "GPUExplorer.Session.1"
!define UNINSTALL_KEY "Software\Microsoft\Windows\CurrentVersion\Uninstall\GPUExplorer"
!define APP_PATHS_KEY "Software\Microsoft\Windows\CurrentVersion\App Paths\${PROGRAM}"
!define APPLICATION_KEY "Software\Classes\Applications\${PROGRAM}"
!define CAPABILITIES_KEY "Software\GPUExplorer\Capabilities"
!define MAX_PATH_LENGTH 259 ; without the terminating zero

!define ERROR_ACCESS_DENIED 5
!define ERROR_SHARING_VIOLATION 32
!define ERROR_NOT_SUPPORTED 50
!define ERROR_ALREADY_EXISTS 183
!define ERROR_FILENAME_EXCED_RANGE 206

; --- for whom ---------------------------------------------------------------------------------------

; With administrator's rights both are offered, without them it is the user alone.
!define MULTIUSER_EXECUTIONLEVEL Highest
!define MULTIUSER_MUI
!define MULTIUSER_INSTALLMODE_COMMANDLINE
!define MULTIUSER_INSTALLMODE_DEFAULT_CURRENTUSER
!define MULTIUSER_INSTALLMODE_DEFAULT_REGISTRY_KEY "${UNINSTALL_KEY}"
!define MULTIUSER_INSTALLMODE_DEFAULT_REGISTRY_VALUENAME "InstallLocation"
!define MULTIUSER_INSTALLMODE_INSTDIR "${NAME}"
!define MULTIUSER_INSTALLMODE_INSTDIR_REGISTRY_KEY "${UNINSTALL_KEY}"
!define MULTIUSER_INSTALLMODE_INSTDIR_REGISTRY_VALUENAME "InstallLocation"
!define MULTIUSER_INSTALLMODE_FUNCTION ModeChosen
!define MULTIUSER_USE_PROGRAMFILES64
!define MULTIUSER_NOUNINSTALL ; what it sets for a remover is not this folder, when there are two
!include MultiUser.nsh
!include MUI2.nsh
!include FileFunc.nsh
!include Integration.nsh
!include LogicLib.nsh
!include Sections.nsh
!include WinMessages.nsh
!include WinVer.nsh
!include x64.nsh

Name "${NAME}"
OutFile "${OUTFILE}"
BrandingText "${NAME} ${VERSION}"
ShowInstDetails nevershow
ShowUninstDetails nevershow

VIProductVersion "${VERSION_QUAD}"
VIFileVersion "${VERSION_QUAD}"
VIAddVersionKey "ProductName" "${NAME}"
VIAddVersionKey "ProductVersion" "${VERSION}"
VIAddVersionKey "FileVersion" "${VERSION}"
VIAddVersionKey "FileDescription" "${NAME} Setup"
VIAddVersionKey "CompanyName" "${PUBLISHER}"
VIAddVersionKey "LegalCopyright" "${PUBLISHER}, MIT licence"

!ifdef SIGN_COMMAND
  !finalize '${SIGN_COMMAND} "%1"'
  !uninstfinalize '${SIGN_COMMAND} "%1"'
!endif

Var ForcedFolder ; /D=, which MultiUser.nsh would overwrite
Var OldFolder    ; where the same scope has an installation
Var Problem      ; why a folder will not do, in a sentence; empty: it will
Var ProblemCode

!define MUI_ICON "${ICON}"
!define MUI_UNICON "${ICON}"
!define MUI_WELCOMEFINISHPAGE_BITMAP "${SIDE_PICTURE}"
!define MUI_WELCOMEPAGE_TEXT "Turn a knob, see the hardware answer.$\r$\n$\r$\nVersion \
  ${VERSION} is installed for you alone, or with an administrator's rights for all users. An upgrade \
  keeps your history, settings and session files.$\r$\n$\r$\n$_CLICK"
!define MUI_ABORTWARNING
!define MUI_COMPONENTSPAGE_SMALLDESC
!define MUI_FINISHPAGE_NOAUTOCLOSE
!define MUI_FINISHPAGE_RUN
!define MUI_FINISHPAGE_RUN_TEXT "Start ${NAME}"
!define MUI_FINISHPAGE_RUN_FUNCTION StartProgram

!insertmacro MUI_PAGE_WELCOME
!insertmacro MUI_PAGE_LICENSE "${TERMS}"
!insertmacro MULTIUSER_PAGE_INSTALLMODE
!insertmacro MUI_PAGE_COMPONENTS
!define MUI_PAGE_CUSTOMFUNCTION_LEAVE FolderChosen
!insertmacro MUI_PAGE_DIRECTORY
!insertmacro MUI_PAGE_INSTFILES
!insertmacro MUI_PAGE_FINISH
!insertmacro MUI_UNPAGE_CONFIRM
!insertmacro MUI_UNPAGE_INSTFILES
!insertmacro MUI_LANGUAGE "English"

ReserveFile /plugin System.dll
ReserveFile /plugin UserInfo.dll
ReserveFile /plugin nsDialogs.dll

; --- a running program ------------------------------------------------------------------------------

; Stops while a program of the folder $0 runs: the window, a command, or an engine that a script
; started. Windows refuses to open a running program for writing, and nothing else does so with a
; sharing violation.
!macro STOP_WHILE_RUNNING UN
  Function ${UN}StopWhileRunning
    again:
    StrCpy $3 ""
    Push "${COMMAND}"
    Push "${PROGRAM}"
    ${For} $1 1 2
      Pop $2
      ; GENERIC_WRITE, every sharing allowed, OPEN_EXISTING
      System::Call 'kernel32::CreateFileW(w "$0\$2", i 0x40000000, i 7, p 0, i 3, i 0, p 0) p.r4 ?e'
      Pop $5
      ${If} $4 P<> -1
        System::Call 'kernel32::CloseHandle(p r4)'
      ${ElseIf} $5 = ${ERROR_SHARING_VIOLATION}
        StrCpy $3 $2
      ${EndIf}
    ${Next}
    ${If} $3 != ""
      MessageBox MB_RETRYCANCEL|MB_ICONEXCLAMATION \
        "${NAME} is running ($0\$3). Close its windows and stop its commands, then choose Retry." \
        /SD IDCANCEL IDRETRY again
      SetErrorLevel ${ERROR_SHARING_VIOLATION}
      Abort "${NAME} is running."
    ${EndIf}
  FunctionEnd
!macroend
!insertmacro STOP_WHILE_RUNNING ""
!insertmacro STOP_WHILE_RUNNING "un."

; --- PATH -------------------------------------------------------------------------------------------

; NSIS cuts strings at 1024 characters and would destroy a longer PATH, so the value never becomes
; one: it stays in memory of our own and keeps its type.

; Opens the environment of $1 ("machine" or "user") and reads PATH with a ";" before and behind it.
; $2: the key's handle or 0; $3: the value's type; $4: the memory, with room for $INSTDIR.
!macro PATH_READ UN
  Function ${UN}PathRead
    ${If} $1 == "machine"
      StrCpy $5 0x80000002
      StrCpy $6 "SYSTEM\CurrentControlSet\Control\Session Manager\Environment"
    ${Else}
      StrCpy $5 0x80000001
      StrCpy $6 "Environment"
    ${EndIf}
    StrCpy $3 2 ; REG_EXPAND_SZ, when there is no value yet
    StrCpy $4 0
    ; KEY_QUERY_VALUE | KEY_SET_VALUE | KEY_WOW64_64KEY
    System::Call 'advapi32::RegOpenKeyExW(p $5, w r6, i 0, i 0x0103, *p .r2) i.r7'
    ${If} $7 <> 0
      StrCpy $2 0
      Return
    ${EndIf}
    System::Call 'advapi32::RegQueryValueExW(p r2, w "Path", p 0, *i .r5, p 0, *i 0r6) i.r7'
    ${If} $7 = 0
      StrCpy $3 $5
    ${ElseIf} $7 = 2 ; ERROR_FILE_NOT_FOUND: there is none yet
      StrCpy $6 0
    ${Else}
      System::Call 'advapi32::RegCloseKey(p r2)'
      StrCpy $2 0
      Return
    ${EndIf}
    IntOp $5 $6 + 4096
    System::Alloc $5 ; filled with zeros
    Pop $4
    System::Call '*$4(&i2 59)' ; ";"
    ${If} $6 > 0
      IntPtrOp $5 $4 + 2
      System::Call 'advapi32::RegQueryValueExW(p r2, w "Path", p 0, p 0, p r5, *i r6r6) i.r7'
      ${If} $7 <> 0 ; somebody made it longer meanwhile: nothing is changed
        System::Free $4
        System::Call 'advapi32::RegCloseKey(p r2)'
        StrCpy $2 0
        Return
      ${EndIf}
    ${EndIf}
    System::Call 'kernel32::lstrcatW(p r4, w ";")'
  FunctionEnd
!macroend

; Writes the memory $4 back without its first and last character, and lets go of everything.
!macro PATH_WRITE UN
  Function ${UN}PathWrite
    System::Call 'kernel32::lstrlenW(p r4) i.r5'
    IntOp $5 $5 - 1
    IntOp $6 $5 * 2
    IntPtrOp $7 $4 + $6
    System::Call '*$7(&i2 0)' ; the last one
    IntPtrOp $7 $4 + 2
    ${If} $5 > 1
      System::Call 'advapi32::RegSetValueExW(p r2, w "Path", i 0, i r3, p r7, i r6)'
    ${Else}
      System::Call 'advapi32::RegDeleteValueW(p r2, w "Path")'
    ${EndIf}
    SendMessage ${HWND_BROADCAST} ${WM_SETTINGCHANGE} 0 "STR:Environment" /TIMEOUT=5000
  FunctionEnd
!macroend

!macro PATH_CLOSE
  System::Free $4
  System::Call 'advapi32::RegCloseKey(p r2)'
!macroend

!insertmacro PATH_READ ""
!insertmacro PATH_WRITE ""
!insertmacro PATH_READ "un."
!insertmacro PATH_WRITE "un."

; Adds the folder $0 to the end of the PATH of $1, once.
Function PathAdd
  Call PathRead
  ${If} $2 P<> 0
    System::Call 'shlwapi::StrStrIW(p r4, w ";$0;") p.r5'
    ${If} $5 P= 0
      System::Call 'kernel32::lstrlenW(p r4) i.r5'
      ${If} $5 = 2 ; ";;": it was empty
        System::Call 'kernel32::lstrcpyW(p r4, w ";$0;")'
      ${Else}
        System::Call 'kernel32::lstrcatW(p r4, w "$0;")'
      ${EndIf}
      Call PathWrite
    ${EndIf}
    !insertmacro PATH_CLOSE
  ${EndIf}
FunctionEnd

; Takes the folder $0 out of the PATH of $1.
Function un.PathRemove
  Call un.PathRead
  ${If} $2 P<> 0
    StrCpy $8 0
    StrLen $9 "$0;"
    IntOp $9 $9 * 2
    ${Do}
      System::Call 'shlwapi::StrStrIW(p r4, w ";$0;") p.r5'
      ${If} $5 P= 0
        ${Break}
      ${EndIf}
      StrCpy $8 1
      IntPtrOp $6 $5 + $9 ; from its last ";" on, everything moves to its first
      System::Call 'kernel32::lstrlenW(p r6) i.r7'
      IntOp $7 $7 * 2
      IntOp $7 $7 + 2
      System::Call 'kernel32::RtlMoveMemory(p r5, p r6, i r7)'
    ${Loop}
    ${If} $8 = 1
      Call un.PathWrite
    ${EndIf}
    !insertmacro PATH_CLOSE
  ${EndIf}
FunctionEnd

; --- the folder -------------------------------------------------------------------------------------

Function CheckFolder
  StrCpy $Problem ""
  StrLen $0 $INSTDIR
  IntOp $1 ${MAX_PATH_LENGTH} - ${LONGEST}
  IntOp $1 $1 - 1
  ${If} $0 > $1
    StrCpy $ProblemCode ${ERROR_FILENAME_EXCED_RANGE}
    StrCpy $Problem "The folder's path has $0 characters; choose one of at most $1, because Windows \
      ends paths at ${MAX_PATH_LENGTH}."
    Return
  ${EndIf}
  ${If} $INSTDIR == $OldFolder
    Return
  ${EndIf}
  ; Ours in the other scope, or another program's: its files would be overwritten and later removed.
  ${If} ${FileExists} "$INSTDIR\${UNINSTALLER}"
  ${OrIf} ${FileExists} "$INSTDIR\_internal\*.*"
    StrCpy $ProblemCode ${ERROR_ALREADY_EXISTS}
    StrCpy $Problem "$INSTDIR holds files of another program; choose another folder, or remove them \
      first."
  ${EndIf}
FunctionEnd

Function FolderChosen
  Call CheckFolder
  ${If} $Problem != ""
    MessageBox MB_OK|MB_ICONEXCLAMATION "$Problem"
    Abort
  ${EndIf}
FunctionEnd

; --- what is installed ------------------------------------------------------------------------------

Section "!${NAME}" MAIN
  SectionIn RO
  SetOverwrite on

  Call CheckFolder
  ${If} $Problem != ""
    MessageBox MB_OK|MB_ICONEXCLAMATION "$Problem" /SD IDOK
    SetErrorLevel $ProblemCode
    Abort "$Problem"
  ${EndIf}

  ; The installed version knows best what it put where.
  ${If} $OldFolder != ""
  ${AndIf} ${FileExists} "$OldFolder\${UNINSTALLER}"
    StrCpy $0 $OldFolder
    Call StopWhileRunning
    DetailPrint "Removing the installed version from $OldFolder"
    ClearErrors
    ; With _?= it runs where it is and is waited for; it must be the last and unquoted.
    ExecWait '"$OldFolder\${UNINSTALLER}" /S _?=$OldFolder' $1
    ${If} ${Errors}
      StrCpy $1 2
    ${EndIf}
    ${If} $1 <> 0
      MessageBox MB_OK|MB_ICONSTOP \
        "The installed version in $OldFolder could not be removed (code $1). Remove it in Windows' \
        settings, then run this again." /SD IDOK
      SetErrorLevel $1
      Abort "The installed version could not be removed."
    ${EndIf}
    Delete "$OldFolder\${UNINSTALLER}"
    RMDir "$OldFolder"
  ${EndIf}

  ; First the way back: whatever happens from here on can be removed in Windows' settings.
  SetOutPath "$INSTDIR"
  WriteUninstaller "$INSTDIR\${UNINSTALLER}"
  WriteRegStr SHCTX "${UNINSTALL_KEY}" "DisplayName" "${NAME}"
  WriteRegStr SHCTX "${UNINSTALL_KEY}" "DisplayVersion" "${VERSION}"
  WriteRegStr SHCTX "${UNINSTALL_KEY}" "DisplayIcon" "$INSTDIR\${PROGRAM},0"
  WriteRegStr SHCTX "${UNINSTALL_KEY}" "Publisher" "${PUBLISHER}"
  WriteRegStr SHCTX "${UNINSTALL_KEY}" "InstallLocation" "$INSTDIR"
  WriteRegStr SHCTX "${UNINSTALL_KEY}" "UninstallString" '"$INSTDIR\${UNINSTALLER}"'
  WriteRegStr SHCTX "${UNINSTALL_KEY}" "QuietUninstallString" '"$INSTDIR\${UNINSTALLER}" /S'
  WriteRegDWORD SHCTX "${UNINSTALL_KEY}" "EstimatedSize" ${SIZE_KB}
  WriteRegDWORD SHCTX "${UNINSTALL_KEY}" "NoModify" 1
  WriteRegDWORD SHCTX "${UNINSTALL_KEY}" "NoRepair" 1

  !insertmacro PAYLOAD_INSTALL

  ; Win+R, and `start gpuexplorer`.
  WriteRegStr SHCTX "${APP_PATHS_KEY}" "" "$INSTDIR\${PROGRAM}"

  ; "Open with" knows the program whether it is the default for session files or not.
  WriteRegStr SHCTX "${APPLICATION_KEY}" "FriendlyAppName" "${NAME}"
  WriteRegStr SHCTX "${APPLICATION_KEY}\DefaultIcon" "" "$INSTDIR\${PROGRAM},0"
  WriteRegStr SHCTX "${APPLICATION_KEY}\shell\open\command" "" '"$INSTDIR\${PROGRAM}" "%1"'
  WriteRegStr SHCTX "${APPLICATION_KEY}\SupportedTypes" "${SUFFIX}" ""
  WriteRegStr SHCTX "Software\Classes\${PROGID}" "" "${NAME} session"
  WriteRegStr SHCTX "Software\Classes\${PROGID}\DefaultIcon" "" "$INSTDIR\${PROGRAM},0"
  WriteRegStr SHCTX "Software\Classes\${PROGID}\shell\open\command" "" '"$INSTDIR\${PROGRAM}" "%1"'
  WriteRegStr SHCTX "Software\Classes\${SUFFIX}\OpenWithProgids" "${PROGID}" ""
  WriteRegStr SHCTX "${CAPABILITIES_KEY}" "ApplicationName" "${NAME}"
  WriteRegStr SHCTX "${CAPABILITIES_KEY}" "ApplicationDescription" "A desktop laboratory for GPU kernels"
  WriteRegStr SHCTX "${CAPABILITIES_KEY}\FileAssociations" "${SUFFIX}" "${PROGID}"
  WriteRegStr SHCTX "Software\RegisteredApplications" "GPUExplorer" "${CAPABILITIES_KEY}"
SectionEnd

Section "Start menu" START_MENU
  CreateShortcut "$SMPROGRAMS\${NAME}.lnk" "$INSTDIR\${PROGRAM}" "" "$INSTDIR\${PROGRAM}" 0
  WriteRegDWORD SHCTX "${UNINSTALL_KEY}" "HasStartMenu" 1
SectionEnd

Section /o "Desktop" DESKTOP
  CreateShortcut "$DESKTOP\${NAME}.lnk" "$INSTDIR\${PROGRAM}" "" "$INSTDIR\${PROGRAM}" 0
  WriteRegDWORD SHCTX "${UNINSTALL_KEY}" "HasDesktop" 1
SectionEnd

Section "Session files (${SUFFIX})" SESSIONS
  ; A type that belongs to somebody else is left alone; "Open with" offers us there.
  ReadRegStr $0 SHCTX "Software\Classes\${SUFFIX}" ""
  ${If} $0 == ""
    WriteRegStr SHCTX "Software\Classes\${SUFFIX}" "" "${PROGID}"
  ${EndIf}
  WriteRegDWORD SHCTX "${UNINSTALL_KEY}" "HasSessions" 1
SectionEnd

Section /o "The command in terminals (PATH)" ON_PATH
  StrCpy $0 "$INSTDIR\bin"
  StrCpy $1 "user"
  ${If} $MultiUser.InstallMode == "AllUsers"
    StrCpy $1 "machine"
  ${EndIf}
  Call PathAdd
  WriteRegDWORD SHCTX "${UNINSTALL_KEY}" "HasPath" 1
SectionEnd

Section -tell
  ${NotifyShell_AssocChanged}
SectionEnd

!insertmacro MUI_FUNCTION_DESCRIPTION_BEGIN
  !insertmacro MUI_DESCRIPTION_TEXT ${MAIN} "The window, the command line, the engine with its CPU device, the kernels and the help."
  !insertmacro MUI_DESCRIPTION_TEXT ${START_MENU} "A shortcut in the Start menu."
  !insertmacro MUI_DESCRIPTION_TEXT ${DESKTOP} "A shortcut on the desktop."
  !insertmacro MUI_DESCRIPTION_TEXT ${SESSIONS} "A double click on a session file opens it."
  !insertmacro MUI_DESCRIPTION_TEXT ${ON_PATH} "Makes gpuexplorer a command in new terminals."
!insertmacro MUI_FUNCTION_DESCRIPTION_END

; An upgrade keeps what was chosen before.
!macro AS_BEFORE SECTION VALUE
  ReadRegDWORD $0 SHCTX "${UNINSTALL_KEY}" "${VALUE}"
  ${If} $0 = 1
    !insertmacro SelectSection ${SECTION}
  ${Else}
    !insertmacro UnselectSection ${SECTION}
  ${EndIf}
!macroend

; MultiUser.nsh calls this whenever the scope is known: $INSTDIR is the old or the usual folder.
Function ModeChosen
  ReadRegStr $OldFolder SHCTX "${UNINSTALL_KEY}" "InstallLocation"
  ${If} $ForcedFolder != ""
    StrCpy $INSTDIR $ForcedFolder
  ${EndIf}
  ${If} $OldFolder != ""
    !insertmacro AS_BEFORE ${START_MENU} "HasStartMenu"
    !insertmacro AS_BEFORE ${DESKTOP} "HasDesktop"
    !insertmacro AS_BEFORE ${SESSIONS} "HasSessions"
    !insertmacro AS_BEFORE ${ON_PATH} "HasPath"
  ${EndIf}
FunctionEnd

Function .onInit
  SetRegView 64 ; also for what MultiUser.nsh reads
  StrCpy $ForcedFolder $INSTDIR ; empty without /D=
  ${IfNot} ${RunningX64}
  ${OrIfNot} ${AtLeastWin10}
    MessageBox MB_OK|MB_ICONSTOP "${NAME} needs Windows 10 or 11 on a 64-bit processor." /SD IDOK
    SetErrorLevel ${ERROR_NOT_SUPPORTED}
    Quit
  ${EndIf}

  ; MultiUser.nsh would ask here even when silent.
  ${GetParameters} $0
  ClearErrors
  ${GetOptions} $0 "/AllUsers" $1
  ${IfNot} ${Errors}
    UserInfo::GetAccountType
    Pop $1
    ${If} $1 != "Admin"
      MessageBox MB_OK|MB_ICONSTOP "Installing for all users needs an administrator's rights." /SD IDOK
      SetErrorLevel ${ERROR_ACCESS_DENIED}
      Quit
    ${EndIf}
  ${EndIf}
  !insertmacro MULTIUSER_INIT

  ${GetParameters} $0
  ClearErrors
  ${GetOptions} $0 "/PATH" $1
  ${IfNot} ${Errors}
    !insertmacro SelectSection ${ON_PATH}
  ${EndIf}
FunctionEnd

; Through the shell, so that it runs with the user's rights even when this ran with more.
Function StartProgram
  Exec '"$WINDIR\explorer.exe" "$INSTDIR\${PROGRAM}"'
FunctionEnd

; --- removal ----------------------------------------------------------------------------------------

Function un.onInit
  SetRegView 64
  ReadRegStr $0 HKLM "${UNINSTALL_KEY}" "InstallLocation"
  UserInfo::GetAccountType
  Pop $1
  ${If} $0 == $INSTDIR
  ${AndIf} $1 != "Admin"
    MessageBox MB_OK|MB_ICONSTOP \
      "${NAME} is installed for all users here; removing it needs an administrator's rights." /SD IDOK
    SetErrorLevel ${ERROR_ACCESS_DENIED}
    Quit
  ${EndIf}
FunctionEnd

; Takes out of Windows what the shell's context ($1: "user" or "machine") knows of an installation,
; when that is gone. So it is not asked how this folder is spelled: by a short name, or another drive.
Function un.Forget
  ReadRegStr $R0 SHCTX "${UNINSTALL_KEY}" "InstallLocation"
  ${If} $R0 == ""
  ${OrIf} ${FileExists} "$R0\${PROGRAM}"
    Return
  ${EndIf}
  ReadRegDWORD $0 SHCTX "${UNINSTALL_KEY}" "HasStartMenu"
  ${If} $0 = 1
    Delete "$SMPROGRAMS\${NAME}.lnk"
  ${EndIf}
  ReadRegDWORD $0 SHCTX "${UNINSTALL_KEY}" "HasDesktop"
  ${If} $0 = 1
    Delete "$DESKTOP\${NAME}.lnk"
  ${EndIf}
  ReadRegDWORD $0 SHCTX "${UNINSTALL_KEY}" "HasPath"
  ${If} $0 = 1
    StrCpy $0 "$R0\bin"
    Call un.PathRemove
  ${EndIf}

  ReadRegStr $0 SHCTX "Software\Classes\${SUFFIX}" ""
  ${If} $0 == "${PROGID}"
    DeleteRegValue SHCTX "Software\Classes\${SUFFIX}" ""
  ${EndIf}
  DeleteRegValue SHCTX "Software\Classes\${SUFFIX}\OpenWithProgids" "${PROGID}"
  DeleteRegKey /ifnosubkeys /ifnovalues SHCTX "Software\Classes\${SUFFIX}\OpenWithProgids"
  DeleteRegKey /ifnosubkeys /ifnovalues SHCTX "Software\Classes\${SUFFIX}"
  DeleteRegKey SHCTX "Software\Classes\${PROGID}"
  DeleteRegKey SHCTX "${APPLICATION_KEY}"
  DeleteRegKey SHCTX "${APP_PATHS_KEY}"
  DeleteRegValue SHCTX "Software\RegisteredApplications" "GPUExplorer"
  DeleteRegKey SHCTX "${CAPABILITIES_KEY}"
  DeleteRegKey /ifnosubkeys /ifnovalues SHCTX "Software\GPUExplorer"
  DeleteRegKey SHCTX "${UNINSTALL_KEY}"
FunctionEnd

Section "Uninstall"
  StrCpy $0 $INSTDIR
  Call un.StopWhileRunning

  ; The current folder of a process cannot be removed.
  SetOutPath "$TEMP"
  ClearErrors
  !insertmacro PAYLOAD_REMOVE_FILES
  ${If} ${Errors}
    MessageBox MB_OK|MB_ICONEXCLAMATION \
      "Some files in $INSTDIR could not be removed, because another program uses them. Close it and \
      remove ${NAME} again." /SD IDOK
    SetErrorLevel 2
    Abort "Some files could not be removed."
  ${EndIf}
  ; A folder goes only when nothing of anybody else is in it.
  !insertmacro PAYLOAD_REMOVE_FOLDERS

  SetShellVarContext current
  StrCpy $1 "user"
  Call un.Forget
  SetShellVarContext all
  StrCpy $1 "machine"
  Call un.Forget
  ${NotifyShell_AssocChanged}

  Delete "$INSTDIR\${UNINSTALLER}" ; an upgrade, for which it runs where it is, deletes it itself
  RMDir "$INSTDIR"
SectionEnd
