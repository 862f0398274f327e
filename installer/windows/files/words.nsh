; What the setup says, in the languages of the window.
!macro WORDS LANGUAGE RUNNING STILL FOLDER MSI NEWER TYPE_NAME OPEN
  LangString IsRunning ${LANG_${LANGUAGE}} "${RUNNING}"
  LangString StillRunning ${LANG_${LANGUAGE}} "${STILL}"
  LangString FolderInUse ${LANG_${LANGUAGE}} "${FOLDER}"
  LangString ByMsi ${LANG_${LANGUAGE}} "${MSI}"
  LangString IsNewer ${LANG_${LANGUAGE}} "${NEWER}"
  LangString TypeName ${LANG_${LANGUAGE}} "${TYPE_NAME}"
  LangString OpenIn ${LANG_${LANGUAGE}} "${OPEN}"
!macroend
!macro WORDS_OF_REMOVAL LANGUAGE PROGRAM MODELS ABOUT_MODELS CHATS ABOUT_CHATS
  LangString TheProgram ${LANG_${LANGUAGE}} "${PROGRAM}"
  LangString TheModels ${LANG_${LANGUAGE}} "${MODELS}"
  LangString AboutModels ${LANG_${LANGUAGE}} "${ABOUT_MODELS}"
  LangString TheChats ${LANG_${LANGUAGE}} "${CHATS}"
  LangString AboutChats ${LANG_${LANGUAGE}} "${ABOUT_CHATS}"
!macroend
!insertmacro WORDS ENGLISH \
  "Headstart is running. It will be closed; what is saved stays." \
  "Headstart is still running. Close it, then choose Retry." \
  "This folder has other files in it. Choose an empty one." \
  "Headstart was installed by its .msi file. Remove it in the settings of Windows first; chats and models stay." \
  "A newer Headstart ($0) is installed. Version ${VERSION} will refuse to open its chats. Install it all the same?" \
  "Chats exported by Headstart" \
  "Open in Headstart"
!insertmacro WORDS_OF_REMOVAL ENGLISH \
  "Headstart" \
  "Models" \
  "Delete the models in ${DATA}\models, too. They can be exported again." \
  "Chats and settings" \
  "Delete all chats, their backups and the settings in ${DATA}, too. Nothing can bring them back."
!insertmacro WORDS SIMPCHINESE \
  "Headstart 正在运行，将被关闭；已保存的内容不受影响。" \
  "Headstart 仍在运行。请先关闭它，然后选择“重试”。" \
  "此文件夹中有其他文件。请选择一个空文件夹。" \
  "Headstart 是用 .msi 文件安装的。请先在 Windows 设置中卸载它；聊天和模型会保留。" \
  "已安装更新的 Headstart（$0）。${VERSION} 版将拒绝打开它的聊天记录。仍要安装吗？" \
  "Headstart 导出的聊天" \
  "在 Headstart 中打开"
!insertmacro WORDS_OF_REMOVAL SIMPCHINESE \
  "Headstart" \
  "模型" \
  "同时删除 ${DATA}\models 中的模型。模型可以重新导出。" \
  "聊天和设置" \
  "同时删除 ${DATA} 中的全部聊天、备份和设置。删除后无法恢复。"
!insertmacro WORDS TRADCHINESE \
  "Headstart 正在執行，將會關閉；已儲存的內容不受影響。" \
  "Headstart 仍在執行。請先關閉它，然後選擇「重試」。" \
  "此資料夾中有其他檔案。請選擇空的資料夾。" \
  "Headstart 是以 .msi 檔案安裝的。請先在 Windows 設定中移除它；聊天和模型會保留。" \
  "已安裝較新的 Headstart（$0）。${VERSION} 版將拒絕開啟它的聊天記錄。仍要安裝嗎？" \
  "Headstart 匯出的聊天" \
  "在 Headstart 中開啟"
!insertmacro WORDS_OF_REMOVAL TRADCHINESE \
  "Headstart" \
  "模型" \
  "同時刪除 ${DATA}\models 中的模型。模型可以重新匯出。" \
  "聊天和設定" \
  "同時刪除 ${DATA} 中的所有聊天、備份和設定。刪除後無法復原。"
