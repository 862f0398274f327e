<?xml version="1.0" encoding="utf-8"?>
<!DOCTYPE TS>
<TS version="2.1" language="zh_TW">
<context>
    <name>AboutDialog</name>
    <message>
        <source>About Headstart</source>
        <translation>關於 Headstart</translation>
    </message>
    <message>
        <source>Versions</source>
        <translation>版本資訊</translation>
    </message>
    <message>
        <source>Components</source>
        <translation>元件</translation>
    </message>
    <message>
        <source>Text of the licence</source>
        <translation>授權條款全文</translation>
    </message>
    <message>
        <source>Copy versions</source>
        <translation>複製版本資訊</translation>
    </message>
    <message>
        <source>Close</source>
        <translation>關閉</translation>
    </message>
    <message>
        <source>Headstart</source>
        <translation>Headstart</translation>
    </message>
    <message>
        <source>Licences</source>
        <translation>授權條款</translation>
    </message>
    <message>
        <source>Headstart {}</source>
        <translation>Headstart {}</translation>
    </message>
    <message>
        <source>Chat offline with a language model that gets a head start from a small one. Nothing you write leaves this computer, unless you choose a model on another computer. Free software under the Apache License 2.0.</source>
        <translation>與語言模型離線對話，並由一個小模型搶先一步來加快速度。除非您選擇另一台電腦上的模型，否則您寫的內容不會離開這台電腦。本軟體是 Apache License 2.0 授權下的自由軟體。</translation>
    </message>
    <message>
        <source>A newer Headstart is in your downloads folder. Close Headstart, then install {}.</source>
        <translation>「下載」資料夾裡有更新的 Headstart。請關閉 Headstart，然後安裝 {}。</translation>
    </message>
    <message>
        <source>Licence: {}</source>
        <translation>授權條款：{}</translation>
    </message>
    <message>
        <source>not named by the package</source>
        <translation>套件未註明</translation>
    </message>
    <message>
        <source>The package has no text of its licence.</source>
        <translation>此套件未附上授權條款全文。</translation>
    </message>
</context>
<context>
    <name>Actions</name>
    <message>
        <source>&amp;File</source>
        <translation>檔案(&amp;F)</translation>
    </message>
    <message>
        <source>&amp;Edit</source>
        <translation>編輯(&amp;E)</translation>
    </message>
    <message>
        <source>&amp;View</source>
        <translation>檢視(&amp;V)</translation>
    </message>
    <message>
        <source>&amp;Chat</source>
        <translation>對話(&amp;C)</translation>
    </message>
    <message>
        <source>&amp;Model</source>
        <translation>模型(&amp;M)</translation>
    </message>
    <message>
        <source>&amp;Help</source>
        <translation>說明(&amp;H)</translation>
    </message>
    <message>
        <source>&amp;New Chat</source>
        <translation>新增對話(&amp;N)</translation>
    </message>
    <message>
        <source>Quic&amp;k Ask…</source>
        <translation>快速提問(&amp;K)…</translation>
    </message>
    <message>
        <source>&amp;Export Chat…</source>
        <translation>匯出對話(&amp;E)…</translation>
    </message>
    <message>
        <source>&amp;Import Chats…</source>
        <translation>匯入對話(&amp;I)…</translation>
    </message>
    <message>
        <source>&amp;Rename Chat</source>
        <translation>重新命名對話(&amp;R)</translation>
    </message>
    <message>
        <source>&amp;Tags of Chat…</source>
        <translation>對話標籤(&amp;T)…</translation>
    </message>
    <message>
        <source>&amp;Pin Chat</source>
        <translation>釘選對話(&amp;P)</translation>
    </message>
    <message>
        <source>&amp;Archive Chat</source>
        <translation>封存對話(&amp;A)</translation>
    </message>
    <message>
        <source>&amp;Delete Chat</source>
        <translation>刪除對話(&amp;D)</translation>
    </message>
    <message>
        <source>Arc&amp;hive</source>
        <translation>封存(&amp;H)</translation>
    </message>
    <message>
        <source>Recentl&amp;y Deleted</source>
        <translation>最近刪除(&amp;Y)</translation>
    </message>
    <message>
        <source>Pre&amp;ferences…</source>
        <translation>偏好設定(&amp;F)…</translation>
    </message>
    <message>
        <source>&amp;Quit</source>
        <translation>結束(&amp;Q)</translation>
    </message>
    <message>
        <source>&amp;Undo</source>
        <translation>復原(&amp;U)</translation>
    </message>
    <message>
        <source>Cu&amp;t</source>
        <translation>剪下(&amp;T)</translation>
    </message>
    <message>
        <source>C&amp;opy</source>
        <translation>複製(&amp;O)</translation>
    </message>
    <message>
        <source>&amp;Paste</source>
        <translation>貼上(&amp;P)</translation>
    </message>
    <message>
        <source>Select &amp;All</source>
        <translation>全選(&amp;A)</translation>
    </message>
    <message>
        <source>&amp;Copy Last Answer</source>
        <translation>複製最後一則回答(&amp;C)</translation>
    </message>
    <message>
        <source>Copy &amp;Whole Chat</source>
        <translation>複製整個對話(&amp;W)</translation>
    </message>
    <message>
        <source>&amp;Find in Chat</source>
        <translation>在對話中尋找(&amp;F)</translation>
    </message>
    <message>
        <source>&amp;Search All Chats</source>
        <translation>搜尋所有對話(&amp;S)</translation>
    </message>
    <message>
        <source>&amp;Command Palette…</source>
        <translation>命令選擇區(&amp;C)…</translation>
    </message>
    <message>
        <source>&amp;Sidebar</source>
        <translation>側邊欄(&amp;S)</translation>
    </message>
    <message>
        <source>Chat Se&amp;ttings</source>
        <translation>對話設定(&amp;T)</translation>
    </message>
    <message>
        <source>Mark &amp;Faster Words</source>
        <translation>標出加速的詞(&amp;F)</translation>
    </message>
    <message>
        <source>&amp;Dictate</source>
        <translation>聽寫(&amp;D)</translation>
    </message>
    <message>
        <source>Working &amp;Folder…</source>
        <translation>工作資料夾(&amp;F)…</translation>
    </message>
    <message>
        <source>&amp;Manual…</source>
        <translation>使用手冊(&amp;M)…</translation>
    </message>
    <message>
        <source>&amp;Keys…</source>
        <translation>快速鍵(&amp;K)…</translation>
    </message>
    <message>
        <source>Li&amp;ve Figures</source>
        <translation>即時數據(&amp;V)</translation>
    </message>
    <message>
        <source>Zoom &amp;In</source>
        <translation>放大(&amp;I)</translation>
    </message>
    <message>
        <source>Zoom O&amp;ut</source>
        <translation>縮小(&amp;U)</translation>
    </message>
    <message>
        <source>&amp;Actual Size</source>
        <translation>實際大小(&amp;A)</translation>
    </message>
    <message>
        <source>S&amp;ystem Theme</source>
        <translation>跟隨系統主題(&amp;Y)</translation>
    </message>
    <message>
        <source>&amp;Light Theme</source>
        <translation>淺色主題(&amp;L)</translation>
    </message>
    <message>
        <source>&amp;Dark Theme</source>
        <translation>深色主題(&amp;D)</translation>
    </message>
    <message>
        <source>&amp;High Contrast Theme</source>
        <translation>高對比主題(&amp;H)</translation>
    </message>
    <message>
        <source>&amp;Stop</source>
        <translation>停止(&amp;S)</translation>
    </message>
    <message>
        <source>&amp;Regenerate Answer</source>
        <translation>重新產生回答(&amp;R)</translation>
    </message>
    <message>
        <source>&amp;Continue Answer</source>
        <translation>繼續回答(&amp;C)</translation>
    </message>
    <message>
        <source>C&amp;ompare Answers</source>
        <translation>比較回答(&amp;O)</translation>
    </message>
    <message>
        <source>Read Answer A&amp;loud</source>
        <translation>朗讀回答(&amp;L)</translation>
    </message>
    <message>
        <source>&amp;Edit Last Question</source>
        <translation>編輯上一個問題(&amp;E)</translation>
    </message>
    <message>
        <source>&amp;Go to Message Box</source>
        <translation>前往輸入框(&amp;G)</translation>
    </message>
    <message>
        <source>&amp;Attach Files…</source>
        <translation>附加檔案(&amp;A)…</translation>
    </message>
    <message>
        <source>&amp;Prompts…</source>
        <translation>提示詞(&amp;P)…</translation>
    </message>
    <message>
        <source>&amp;Tools…</source>
        <translation>工具(&amp;T)…</translation>
    </message>
    <message>
        <source>Enter Sends &amp;Message</source>
        <translation>按 Enter 鍵傳送訊息(&amp;M)</translation>
    </message>
    <message>
        <source>&amp;Next Chat</source>
        <translation>下一個對話(&amp;N)</translation>
    </message>
    <message>
        <source>Pre&amp;vious Chat</source>
        <translation>上一個對話(&amp;V)</translation>
    </message>
    <message>
        <source>&amp;Models…</source>
        <translation>模型管理(&amp;M)…</translation>
    </message>
    <message>
        <source>&amp;Race…</source>
        <translation>競速(&amp;R)…</translation>
    </message>
    <message>
        <source>&amp;Benchmark…</source>
        <translation>基準測試(&amp;B)…</translation>
    </message>
    <message>
        <source>&amp;Tune for This Machine…</source>
        <translation>為本機調校(&amp;T)…</translation>
    </message>
    <message>
        <source>Local &amp;Server…</source>
        <translation>本機伺服器(&amp;S)…</translation>
    </message>
    <message>
        <source>&amp;Load Again</source>
        <translation>重新載入(&amp;L)</translation>
    </message>
    <message>
        <source>&amp;Unload</source>
        <translation>卸載(&amp;U)</translation>
    </message>
    <message>
        <source>Show &amp;Logs</source>
        <translation>檢視記錄檔(&amp;L)</translation>
    </message>
    <message>
        <source>&amp;About Headstart</source>
        <translation>關於 Headstart(&amp;A)</translation>
    </message>
</context>
<context>
    <name>ActivityLine</name>
    <message>
        <source>Show</source>
        <translation>顯示</translation>
    </message>
    <message>
        <source>Show: {}</source>
        <translation>顯示：{}</translation>
    </message>
    <message>
        <source>ended</source>
        <translation>已結束</translation>
    </message>
</context>
<context>
    <name>AddModel</name>
    <message>
        <source>Precision of the weights</source>
        <translation>權重精度</translation>
    </message>
    <message>
        <source>As recommended</source>
        <translation>建議設定</translation>
    </message>
    <message>
        <source>Browse</source>
        <translation>瀏覽</translation>
    </message>
    <message>
        <source>Model</source>
        <translation>模型</translation>
    </message>
    <message>
        <source>Weights</source>
        <translation>權重</translation>
    </message>
    <message>
        <source>Folder with Weights, or an Exported Model…</source>
        <translation>內含權重的資料夾或已匯出的模型…</translation>
    </message>
    <message>
        <source>The model is checked after its conversion. You can also drop the folder of a converted model here.</source>
        <translation>模型轉換後會經過檢查。也可以把已轉換好的模型資料夾拖到這裡。</translation>
    </message>
    <message>
        <source>Model: name, folder or .gguf file</source>
        <translation>模型：名稱、資料夾或 .gguf 檔案</translation>
    </message>
    <message>
        <source>Draft model: name, folder or .gguf file</source>
        <translation>草稿模型：名稱、資料夾或 .gguf 檔案</translation>
    </message>
    <message>
        <source>optional</source>
        <translation>選填</translation>
    </message>
    <message>
        <source>Precise (INT8)</source>
        <translation>精確（INT8）</translation>
    </message>
    <message>
        <source>Fast (4 bits)</source>
        <translation>快速（4 位元）</translation>
    </message>
    <message>
        <source>GGUF File…</source>
        <translation>GGUF 檔案…</translation>
    </message>
    <message>
        <source>Download and convert</source>
        <translation>下載並轉換</translation>
    </message>
    <message>
        <source>Draft model</source>
        <translation>草稿模型</translation>
    </message>
    <message>
        <source>Folder of a model</source>
        <translation>模型資料夾</translation>
    </message>
    <message>
        <source>GGUF file</source>
        <translation>GGUF 檔案</translation>
    </message>
    <message>
        <source>GGUF files (*.gguf)</source>
        <translation>GGUF 檔案 (*.gguf)</translation>
    </message>
</context>
<context>
    <name>AddModelController</name>
    <message>
        <source>Setting up the exporter</source>
        <translation>正在設定匯出工具</translation>
    </message>
    <message>
        <source>This is not a model. Choose a folder that Headstart exported, a folder with config.json and weights, or a .gguf file.</source>
        <translation>這不是模型：需要由 Headstart 匯出的資料夾、內含 config.json 與權重的資料夾，或 .gguf 檔案。</translation>
    </message>
    <message>
        <source>Another model is being added. Add {} when that has ended.</source>
        <translation>正在新增另一個模型。請在其完成後再新增 {}。</translation>
    </message>
    <message>
        <source>Adding {}</source>
        <translation>正在新增 {}</translation>
    </message>
    <message>
        <source>Copying it into the library, and comparing every file with its hash</source>
        <translation>正在複製到模型庫，並逐一核對檔案的雜湊值</translation>
    </message>
    <message>
        <source>Cancelled.</source>
        <translation>已取消。</translation>
    </message>
    <message>
        <source>Pausing…</source>
        <translation>正在暫停…</translation>
    </message>
    <message>
        <source>Getting {}</source>
        <translation>正在取得 {}</translation>
    </message>
    <message>
        <source>{} is ready.</source>
        <translation>{} 已就緒。</translation>
    </message>
    <message>
        <source>Start a chat</source>
        <translation>開始對話</translation>
    </message>
    <message>
        <source>Paused. What has arrived is kept.</source>
        <translation>已暫停。已下載的部分會保留。</translation>
    </message>
    <message>
        <source>Resume</source>
        <translation>繼續</translation>
    </message>
    <message>
        <source>Try again</source>
        <translation>重試</translation>
    </message>
    <message>
        <source>{} is installed; every file is as it was exported.</source>
        <translation>{} 已安裝；所有檔案均與匯出時一致。</translation>
    </message>
</context>
<context>
    <name>AddRemoteServer</name>
    <message>
        <source>such as {}</source>
        <translation>例如 {}</translation>
    </message>
    <message>
        <source>Browse</source>
        <translation>瀏覽</translation>
    </message>
    <message>
        <source>Browse for a certificate</source>
        <translation>瀏覽憑證</translation>
    </message>
    <message>
        <source>Add</source>
        <translation>加入</translation>
    </message>
    <message>
        <source>Add this server</source>
        <translation>加入此伺服器</translation>
    </message>
    <message>
        <source>Add a server</source>
        <translation>加入伺服器</translation>
    </message>
    <message>
        <source>optional: default model</source>
        <translation>選填：預設模型</translation>
    </message>
    <message>
        <source>optional: API key</source>
        <translation>選填：API 金鑰</translation>
    </message>
    <message>
        <source>optional: system certificates</source>
        <translation>選填：系統憑證</translation>
    </message>
    <message>
        <source>A model may run on another computer, behind a server that speaks OpenAI&apos;s protocol: OpenVINO Model Server, vLLM, llama.cpp, another Headstart. Nothing is sent to it before you check or use it. Using an existing name replaces that server.</source>
        <translation>模型可以在另一台電腦上執行，由使用 OpenAI 協定的伺服器提供：OpenVINO Model Server、vLLM、llama.cpp 或另一個 Headstart。在您檢查或使用它之前，不會向它傳送任何內容。使用已有的名稱會取代該伺服器。</translation>
    </message>
    <message>
        <source>Name</source>
        <translation>名稱</translation>
    </message>
    <message>
        <source>Address</source>
        <translation>位址</translation>
    </message>
    <message>
        <source>Model</source>
        <translation>模型</translation>
    </message>
    <message>
        <source>Key</source>
        <translation>金鑰</translation>
    </message>
    <message>
        <source>Certificate</source>
        <translation>憑證</translation>
    </message>
    <message>
        <source>Certificates (*.pem *.crt)</source>
        <translation>憑證 (*.pem *.crt)</translation>
    </message>
    <message>
        <source>Certificate of an authority</source>
        <translation>簽發機構的憑證</translation>
    </message>
</context>
<context>
    <name>AdviceTable</name>
    <message>
        <source>Recommended settings</source>
        <translation>建議的設定</translation>
    </message>
    <message>
        <source>Best setting by class</source>
        <translation>各類別的最佳設定</translation>
    </message>
    <message>
        <source>What was the fastest for a whole answer, the wait for its first token included. Automatic needs none of these settings: it chooses for each step.</source>
        <translation>完成整個回答最快的設定，含首個 token 的等待時間。「自動」不需要這些設定：它會為每一步自行選擇。</translation>
    </message>
    <message>
        <source>Class</source>
        <translation>類別</translation>
    </message>
    <message>
        <source>Best setting</source>
        <translation>最佳設定</translation>
    </message>
    <message>
        <source>too little to tell: measure more</source>
        <translation>資料太少，無法判斷：請多測一些</translation>
    </message>
</context>
<context>
    <name>Announcer</name>
    <message>
        <source>The answer begins.</source>
        <translation>開始回答。</translation>
    </message>
    <message>
        <source>The answer is complete.</source>
        <translation>回答完成。</translation>
    </message>
</context>
<context>
    <name>AnswerColumn</name>
    <message>
        <source>Use this</source>
        <translation>採用</translation>
    </message>
    <message>
        <source>Use this answer</source>
        <translation>採用此回答</translation>
    </message>
</context>
<context>
    <name>AnswerReport</name>
    <message>
        <source>The answer reached its longest length.</source>
        <translation>回答已達長度上限。</translation>
    </message>
    <message>
        <source>The model repeats itself, so the answer was stopped.</source>
        <translation>模型一直在重複，因此已停止回答。</translation>
    </message>
    <message>
        <source>The content filter of the server withholds the rest of the answer.</source>
        <translation>伺服器的內容過濾器攔截了回答的其餘部分。</translation>
    </message>
    <message>
        <source>The context is full, so the answer ends here; start a new chat or fork this one earlier.</source>
        <translation>上下文已滿，回答到此為止；請新增對話，或從本對話較早的位置建立分支。</translation>
    </message>
    <message>
        <source>Stopped.</source>
        <translation>已停止。</translation>
    </message>
    <message>
        <source>Stopped before the first word.</source>
        <translation>在產生第一個字之前已停止。</translation>
    </message>
    <message>
        <source>The model ended its answer without a word.</source>
        <translation>模型沒有輸出任何內容就結束了回答。</translation>
    </message>
    <message>
        <source>{} tokens/s</source>
        <translation>{} token/秒</translation>
    </message>
    <message>
        <source>First token after {}</source>
        <translation>首個 token 用時 {}</translation>
    </message>
    <message>
        <source>{rate} % of the guesses accepted ({accepted} of {drafted})</source>
        <translation>猜測的接受率 {rate}%（{accepted}/{drafted}）</translation>
    </message>
    <message>
        <source>{}× faster</source>
        <translation>加速至 {} 倍</translation>
    </message>
    <message>
        <source>Nothing was guessed ahead</source>
        <translation>沒有預先猜測</translation>
    </message>
    <message>
        <source>{}× as fast as without guessing ahead</source>
        <translation>速度是不預先猜測時的 {} 倍</translation>
    </message>
    <message>
        <source>{} tokens per step</source>
        <translation>每步 {} 個 token</translation>
    </message>
    <message>
        <source>Thinking: {} tokens</source>
        <translation>思考：{} 個 token</translation>
    </message>
    <message>
        <source>Tokens from: {}</source>
        <translation>token 來源：{}</translation>
    </message>
    <message>
        <source>guessing</source>
        <translation>猜測</translation>
    </message>
    <message>
        <source>checking</source>
        <translation>檢查</translation>
    </message>
    <message>
        <source>Time saved (estimate): {}</source>
        <translation>節省的時間（估算）：{}</translation>
    </message>
    <message>
        <source>Time lost (estimate): {}</source>
        <translation>損失的時間（估算）：{}</translation>
    </message>
    <message>
        <source>{} s</source>
        <translation>{} 秒</translation>
    </message>
    <message>
        <source>other</source>
        <translation>其他</translation>
    </message>
    <message>
        <source>Time: {}</source>
        <translation>費時：{}</translation>
    </message>
    <message>
        <source>Prompt: {tokens} tokens, {known} of them read before</source>
        <translation>提示：{tokens} 個 token，其中 {known} 個已讀取過</translation>
    </message>
    <message>
        <source>Context: {used} of {room} tokens</source>
        <translation>上下文：已用 {used}/{room} token</translation>
    </message>
</context>
<context>
    <name>Application</name>
    <message>
        <source>Something went wrong inside Headstart. Your chats are saved. Details are in {}.</source>
        <translation>Headstart 內部發生錯誤。您的對話已儲存。詳情請見 {}。</translation>
    </message>
</context>
<context>
    <name>AttachmentChip</name>
    <message>
        <source>How the file is read; click to change it</source>
        <translation>檔案的讀取方式；按一下可變更</translation>
    </message>
    <message>
        <source>as text</source>
        <translation>以文字讀取</translation>
    </message>
    <message>
        <source>{way}: {beginning}</source>
        <translation>{way}：{beginning}</translation>
    </message>
    <message>
        <source>{file} is read as {way}</source>
        <translation>{file} 的讀取方式：{way}</translation>
    </message>
    <message>
        <source>{} · in passages</source>
        <translation>{} · 只取段落</translation>
    </message>
    <message>
        <source>The file does not fit the context, so the model gets the passages that fit your question.</source>
        <translation>檔案超出上下文，模型只會得到與您的問題相關的段落。</translation>
    </message>
</context>
<context>
    <name>AttachmentTray</name>
    <message>
        <source>Attached files</source>
        <translation>附件</translation>
    </message>
    <message>
        <source>Pasted picture</source>
        <translation>貼上的圖片</translation>
    </message>
    <message>
        <source>{} tokens</source>
        <translation>{} 個 token</translation>
    </message>
    <message>
        <source>Remove {}</source>
        <translation>移除 {}</translation>
    </message>
    <message>
        <source>Stop reading {}</source>
        <translation>停止讀取 {}</translation>
    </message>
    <message>
        <source>reading…</source>
        <translation>正在讀取…</translation>
    </message>
    <message>
        <source>{time} of {length}</source>
        <translation>{time}，共 {length}</translation>
    </message>
    <message>
        <source>page {page} of {pages}</source>
        <translation>第 {page} 頁，共 {pages} 頁</translation>
    </message>
    <message>
        <source>picture {number} of {count}</source>
        <translation>第 {number} 張圖片，共 {count} 張</translation>
    </message>
</context>
<context>
    <name>Attention</name>
    <message>
        <source>The answer is complete</source>
        <translation>回答已完成</translation>
    </message>
</context>
<context>
    <name>Benchmark</name>
    <message>
        <source>all prompts</source>
        <translation>全部提示詞</translation>
    </message>
    <message>
        <source>code</source>
        <translation>程式碼</translation>
    </message>
    <message>
        <source>edit</source>
        <translation>編輯</translation>
    </message>
    <message>
        <source>explanation</source>
        <translation>說明</translation>
    </message>
    <message>
        <source>summary</source>
        <translation>摘要</translation>
    </message>
    <message>
        <source>story</source>
        <translation>故事</translation>
    </message>
    <message>
        <source>translation</source>
        <translation>翻譯</translation>
    </message>
    <message>
        <source>retrieval</source>
        <translation>檢索</translation>
    </message>
    <message>
        <source>math</source>
        <translation>數學</translation>
    </message>
    <message>
        <source>extraction</source>
        <translation>擷取</translation>
    </message>
    <message>
        <source>roleplay</source>
        <translation>角色扮演</translation>
    </message>
    <message>
        <source>essay</source>
        <translation>議論文</translation>
    </message>
    <message>
        <source>qa</source>
        <translation>問答</translation>
    </message>
    <message>
        <source>agent</source>
        <translation>代理程式</translation>
    </message>
    <message>
        <source>revision</source>
        <translation>修改</translation>
    </message>
    <message>
        <source>article</source>
        <translation>長文</translation>
    </message>
    <message>
        <source>arithmetic</source>
        <translation>算術</translation>
    </message>
    <message>
        <source>json</source>
        <translation>JSON</translation>
    </message>
    <message>
        <source>mixed</source>
        <translation>中英混合</translation>
    </message>
    <message>
        <source>without speed-up</source>
        <translation>不加速</translation>
    </message>
    <message>
        <source>auto</source>
        <translation>自動</translation>
    </message>
    <message>
        <source>draft</source>
        <translation>草稿模型</translation>
    </message>
    <message>
        <source>eagle</source>
        <translation>EAGLE-3 草稿頭</translation>
    </message>
    <message>
        <source>ngram</source>
        <translation>n-gram</translation>
    </message>
    <message>
        <source>fixed</source>
        <translation>固定</translation>
    </message>
    <message>
        <source>threshold</source>
        <translation>閾值</translation>
    </message>
    <message>
        <source>off</source>
        <translation>關閉</translation>
    </message>
    <message>
        <source>n-gram</source>
        <translation>n-gram</translation>
    </message>
</context>
<context>
    <name>BenchmarkChart</name>
    <message>
        <source>Chart of the speedups</source>
        <translation>加速比圖表</translation>
    </message>
    <message>
        <source>{name}: {mean} times as fast as without speed-up</source>
        <translation>{name}：速度是不加速時的 {mean} 倍</translation>
    </message>
</context>
<context>
    <name>BenchmarkController</name>
    <message>
        <source>at the speed last measured here</source>
        <translation>依上次在此測得的速度</translation>
    </message>
    <message>
        <source>at ten tokens a second</source>
        <translation>依每秒 10 個 token</translation>
    </message>
    <message>
        <source>{prompts} prompts ({kinds}), about {heats} answers of at most {tokens} tokens: {time} {basis}.</source>
        <translation>{prompts} 個提示詞（{kinds}），約 {heats} 個回答，每個最多 {tokens} 個 token：需{time}（{basis}估算）。</translation>
    </message>
    <message>
        <source>A benchmark is running; stop it on its page, or wait for its end.</source>
        <translation>基準測試正在執行；請在其頁面上停止，或等待其結束。</translation>
    </message>
    <message>
        <source>Ends with the answer being written…</source>
        <translation>目前的回答寫完後結束…</translation>
    </message>
    <message>
        <source>Cancelled; the figures before it stay.</source>
        <translation>已取消；保留先前的數據。</translation>
    </message>
    <message>
        <source>{done} of {planned} answers</source>
        <translation>第 {done} 個回答，共 {planned} 個</translation>
    </message>
    <message>
        <source>{}, {} left</source>
        <translation>{}，剩餘{}</translation>
    </message>
    <message>
        <source>{} tokens/s</source>
        <translation>{} token/秒</translation>
    </message>
    <message>
        <source>{prompt}, repeat {repeat}, {contestant}: {speed}</source>
        <translation>{prompt}，第 {repeat} 次，{contestant}：{speed}</translation>
    </message>
    <message>
        <source>Warming up…</source>
        <translation>正在暖機…</translation>
    </message>
    <message>
        <source>Loading OpenVINO GenAI with the same models…</source>
        <translation>正在以相同的模型載入 OpenVINO GenAI…</translation>
    </message>
    <message>
        <source>under a minute</source>
        <translation>不到 1 分鐘</translation>
    </message>
    <message>
        <source>about a minute</source>
        <translation>約 1 分鐘</translation>
    </message>
    <message>
        <source>about {} minutes</source>
        <translation>約 {} 分鐘</translation>
    </message>
    <message>
        <source>about {} hours</source>
        <translation>約 {} 小時</translation>
    </message>
    <message>
        <source>Save the benchmark</source>
        <translation>儲存基準測試結果</translation>
    </message>
    <message>
        <source>{} cannot be written; choose another place.</source>
        <translation>無法寫入 {}；請選擇其他位置。</translation>
    </message>
</context>
<context>
    <name>BenchmarkForm</name>
    <message>
        <source>Race OpenVINO GenAI as well</source>
        <translation>同時與 OpenVINO GenAI 比較</translation>
    </message>
    <message>
        <source>With the same models, which are loaded again for it: that takes their memory up to three times.</source>
        <translation>使用相同的模型並為其再次載入：最多占用三倍記憶體。</translation>
    </message>
    <message>
        <source>Compare all lengths and drafters</source>
        <translation>比較每種長度和每種猜測方式</translation>
    </message>
    <message>
        <source>Takes about three times as long, and makes the advice exact.</source>
        <translation>用時約為三倍，建議因此更準確。</translation>
    </message>
    <message>
        <source>Maximum answer length in tokens</source>
        <translation>回答最大長度（token）</translation>
    </message>
    <message>
        <source>Extent</source>
        <translation>規模</translation>
    </message>
    <message>
        <source>At least one class of prompts is raced.</source>
        <translation>至少要有一類提示詞參加。</translation>
    </message>
    <message>
        <source>Classes of prompts</source>
        <translation>提示詞類別</translation>
    </message>
    <message>
        <source>Quick (2 minutes)</source>
        <translation>快速（2 分鐘）</translation>
    </message>
    <message>
        <source>Choose what is measured</source>
        <translation>自選測量內容</translation>
    </message>
    <message>
        <source>Prompts of each class</source>
        <translation>每類提示詞數</translation>
    </message>
    <message>
        <source>Repeats</source>
        <translation>重複次數</translation>
    </message>
</context>
<context>
    <name>BenchmarkPage</name>
    <message>
        <source>Benchmark</source>
        <translation>基準測試</translation>
    </message>
    <message>
        <source>Start the benchmark</source>
        <translation>開始基準測試</translation>
    </message>
    <message>
        <source>Measures how much faster the model of the open chat answers on this computer with each kind of speed-up. All answer the same prompts, in changing order. Chats wait meanwhile.</source>
        <translation>測量目前對話的模型在這台電腦上使用每種加速方式時快多少。所有方式以不斷變化的順序回答相同的提示詞。期間對話會等待。</translation>
    </message>
    <message>
        <source>Nothing has been measured on this computer yet.</source>
        <translation>這台電腦上還沒有測試結果。</translation>
    </message>
    <message>
        <source>Progress of the benchmark</source>
        <translation>基準測試進度</translation>
    </message>
</context>
<context>
    <name>BenchmarkReport</name>
    <message>
        <source>Automatic: {}× as fast as without speed-up</source>
        <translation>自動：速度是不加速時的 {} 倍</translation>
    </message>
    <message>
        <source>{device}, {cores} cores · {system} · OpenVINO {openvino} · Headstart {headstart} · {when}</source>
        <translation>{device}，{cores} 核心 · {system} · OpenVINO {openvino} · Headstart {headstart} · {when}</translation>
    </message>
    <message>
        <source>Bars are geometric means, whiskers the smallest and the largest of all prompts and repeats; answers of at most {tokens} tokens, {repeats} repeats.</source>
        <translation>長條為幾何平均值，誤差線為所有提示詞與重複測試中的最小值與最大值；每個回答最多 {tokens} 個 token，重複 {repeats} 次。</translation>
    </message>
    <message>
        <source>auto against {peer}, the peer&apos;s best setting: {ratio}× ({low} to {high})</source>
        <translation>自動模式與 {peer}（對方的最佳設定）相比：{ratio} 倍（{low} 至 {high}）</translation>
    </message>
    <message>
        <source>Some texts differ from those without speed-up ({}).</source>
        <translation>有些文字與不加速時不同（{}）。</translation>
    </message>
    <message>
        <source>Every setting wrote the same texts as without speed-up.</source>
        <translation>每種設定寫出的文字都與不加速時相同。</translation>
    </message>
    <message>
        <source>Class</source>
        <translation>類別</translation>
    </message>
    <message>
        <source>Without speed-up, tokens/s</source>
        <translation>不加速，token/秒</translation>
    </message>
    <message>
        <source>Speedups by class</source>
        <translation>各類別的加速比</translation>
    </message>
    <message>
        <source>{} with {}</source>
        <translation>{}，搭配 {}</translation>
    </message>
    <message>
        <source>speed compared with writing without speed-up</source>
        <translation>與不加速時相比的速度</translation>
    </message>
    <message>
        <source>The answers are too short for a speed.</source>
        <translation>回答太短，無法測速。</translation>
    </message>
    <message>
        <source>Save picture…</source>
        <translation>儲存圖片…</translation>
    </message>
    <message>
        <source>Save table (CSV)…</source>
        <translation>儲存表格 (CSV)…</translation>
    </message>
    <message>
        <source>Save everything (JSON)…</source>
        <translation>儲存全部 (JSON)…</translation>
    </message>
</context>
<context>
    <name>CallBar</name>
    <message>
        <source>What the tool would be given</source>
        <translation>將交給工具的內容</translation>
    </message>
    <message>
        <source>Call once</source>
        <translation>呼叫一次</translation>
    </message>
    <message>
        <source>Always in this chat</source>
        <translation>在此對話中一律允許</translation>
    </message>
    <message>
        <source>Do not call</source>
        <translation>不呼叫</translation>
    </message>
    <message>
        <source>Until Headstart is closed.</source>
        <translation>直到 Headstart 關閉為止。</translation>
    </message>
    <message>
        <source>The model wants to call {tool} of {server}, which {effects}.</source>
        <translation>模型想呼叫 {server} 的 {tool}：{effects}。</translation>
    </message>
</context>
<context>
    <name>Catalogue</name>
    <message>
        <source>Writes code.</source>
        <translation>擅長寫程式碼。</translation>
    </message>
    <message>
        <source>Small and quick on any computer; it knows little.</source>
        <translation>體積小，在任何電腦上都很快，但知識有限。</translation>
    </message>
    <message>
        <source>Medium-sized: good at most things.</source>
        <translation>中型：大多數事情都做得好。</translation>
    </message>
    <message>
        <source>Finds passages in the folders of projects in other words, and serves programs by the local server. It cannot chat.</source>
        <translation>換一種說法也能在專案的資料夾中找到段落，並透過本機伺服器供程式使用。它不能聊天。</translation>
    </message>
    <message>
        <source>Reads text in pictures and scans that you attach or keep in a project&apos;s folders: English, Chinese, Japanese and others. It cannot chat.</source>
        <translation>辨識您附加的或專案資料夾中的圖片和掃描檔裡的文字：英文、中文、日文等。它不能聊天。</translation>
    </message>
    <message>
        <source>Writes down what you say and what is said in recordings. It cannot chat.</source>
        <translation>把您說的話和錄音中的話寫成文字。不能聊天。</translation>
    </message>
    <message>
        <source>It knows English alone, and is the smaller of the two.</source>
        <translation>它只懂英語，是兩者中較小的一個。</translation>
    </message>
    <message>
        <source>It knows 99 languages, Chinese among them.</source>
        <translation>它懂 99 種語言，其中包括中文。</translation>
    </message>
    <message>
        <source>Large: knows the most, and takes its time.</source>
        <translation>大型：知識最豐富，但較慢。</translation>
    </message>
    <message>
        <source>It comes with a small helper that makes it faster.</source>
        <translation>附帶一個小助手，使其更快。</translation>
    </message>
    <message>
        <source>It can make a larger one faster.</source>
        <translation>可以讓更大的模型更快。</translation>
    </message>
    <message>
        <source>{download} to download · {result} on the disk · licence: {licence}</source>
        <translation>下載 {download} · 磁碟佔用 {result} · 授權條款：{licence}</translation>
    </message>
    <message>
        <source>Fits your memory.</source>
        <translation>記憶體足夠。</translation>
    </message>
    <message>
        <source>Too large for your memory.</source>
        <translation>太大，記憶體不足。</translation>
    </message>
    <message>
        <source>Show all models</source>
        <translation>顯示全部模型</translation>
    </message>
    <message>
        <source>Needs PyTorch, fetched once for all models: {fetched}, and {size} on the disk.</source>
        <translation>需要 PyTorch，所有模型只需下載一次：{fetched}，佔用磁碟 {size}。</translation>
    </message>
    <message>
        <source>Accept its licence on huggingface.co first, and log in with the hub&apos;s program.</source>
        <translation>請先在 huggingface.co 上接受其授權條款，並以 Hugging Face 的程式登入。</translation>
    </message>
    <message>
        <source>Get a model</source>
        <translation>取得模型</translation>
    </message>
    <message>
        <source>Search: a name, a licence, what it is good at</source>
        <translation>搜尋：名稱、授權條款或擅長的事情</translation>
    </message>
    <message>
        <source>Search the models</source>
        <translation>搜尋模型</translation>
    </message>
    <message>
        <source>Fits my memory</source>
        <translation>記憶體足夠</translation>
    </message>
    <message>
        <source>No model of the list is like that.</source>
        <translation>清單中沒有這樣的模型。</translation>
    </message>
    <message>
        <source>Another model, by name or file</source>
        <translation>其他模型：依名稱或檔案</translation>
    </message>
    <message>
        <source>Show all {} models</source>
        <translation>顯示全部 {} 個模型</translation>
    </message>
    <message>
        <source>Continues texts for programs, by the local server. It cannot chat.</source>
        <translation>透過本機伺服器為程式續寫文字。它不能聊天。</translation>
    </message>
</context>
<context>
    <name>ChatController</name>
    <message>
        <source>Everything is saved again.</source>
        <translation>一切已重新儲存。</translation>
    </message>
    <message>
        <source>New chat</source>
        <translation>新對話</translation>
    </message>
    <message>
        <source>As before: {}.</source>
        <translation>已復原：{}。</translation>
    </message>
    <message>
        <source>Changed since, and left as it is: {}.</source>
        <translation>之後又有變更，保持不變：{}。</translation>
    </message>
    <message>
        <source>Changes in the Folder</source>
        <translation>資料夾中的變更</translation>
    </message>
    <message>
        <source>The answer has changed the folder.</source>
        <translation>這個回答變更了資料夾。</translation>
    </message>
    <message>
        <source>Undo</source>
        <translation>復原</translation>
    </message>
    <message>
        <source>Delete Message</source>
        <translation>刪除訊息</translation>
    </message>
    <message>
        <source>Message deleted.</source>
        <translation>訊息已刪除。</translation>
    </message>
</context>
<context>
    <name>ChatList</name>
    <message>
        <source>Chats</source>
        <translation>對話</translation>
    </message>
</context>
<context>
    <name>ChatMenu</name>
    <message>
        <source>&amp;Restore</source>
        <translation>還原(&amp;R)</translation>
    </message>
    <message>
        <source>&amp;Delete for Good…</source>
        <translation>永久刪除(&amp;D)…</translation>
    </message>
    <message>
        <source>&amp;Rename</source>
        <translation>重新命名(&amp;R)</translation>
    </message>
    <message>
        <source>Un&amp;pin</source>
        <translation>取消釘選(&amp;P)</translation>
    </message>
    <message>
        <source>&amp;Pin</source>
        <translation>釘選(&amp;P)</translation>
    </message>
    <message>
        <source>&amp;Export {} Chats…</source>
        <translation>匯出 {} 個對話(&amp;E)…</translation>
    </message>
    <message>
        <source>&amp;Export…</source>
        <translation>匯出(&amp;E)…</translation>
    </message>
    <message>
        <source>Un&amp;archive</source>
        <translation>取消封存(&amp;A)</translation>
    </message>
    <message>
        <source>Un&amp;archive {} Chats</source>
        <translation>取消封存 {} 個對話(&amp;A)</translation>
    </message>
    <message>
        <source>&amp;Archive</source>
        <translation>封存(&amp;A)</translation>
    </message>
    <message>
        <source>&amp;Archive {} Chats</source>
        <translation>封存 {} 個對話(&amp;A)</translation>
    </message>
    <message>
        <source>&amp;Delete {} Chats</source>
        <translation>刪除 {} 個對話(&amp;D)</translation>
    </message>
    <message>
        <source>&amp;Delete</source>
        <translation>刪除(&amp;D)</translation>
    </message>
</context>
<context>
    <name>ChatPage</name>
    <message>
        <source>Chat</source>
        <translation>對話</translation>
    </message>
    <message>
        <source>Show or hide the sidebar</source>
        <translation>顯示或隱藏側邊欄</translation>
    </message>
    <message>
        <source>Mark faster words</source>
        <translation>標出加速的詞</translation>
    </message>
    <message>
        <source>Live figures</source>
        <translation>即時數據</translation>
    </message>
    <message>
        <source>Settings of this chat</source>
        <translation>此對話的設定</translation>
    </message>
    <message>
        <source>Faster words</source>
        <translation>更快的字詞</translation>
    </message>
    <message>
        <source>Figures</source>
        <translation>數據</translation>
    </message>
    <message>
        <source>Settings</source>
        <translation>設定</translation>
    </message>
</context>
<context>
    <name>ChatRows</name>
    <message>
        <source>In the attached file {}</source>
        <translation>在附件 {} 中</translation>
    </message>
    <message>
        <source>1 result</source>
        <translation>1 個結果</translation>
    </message>
    <message>
        <source>{} results</source>
        <translation>{} 個結果</translation>
    </message>
    <message>
        <source>New chat</source>
        <translation>新對話</translation>
    </message>
    <message>
        <source>pinned</source>
        <translation>已釘選</translation>
    </message>
    <message>
        <source>tagged {}</source>
        <translation>標籤：{}</translation>
    </message>
    <message>
        <source>in the attached file {}</source>
        <translation>在附件 {} 中</translation>
    </message>
</context>
<context>
    <name>ChatSession</name>
    <message>
        <source>The model could not be loaded.</source>
        <translation>模型未能載入。</translation>
    </message>
    <message>
        <source>Calling {}…</source>
        <translation>正在呼叫 {}…</translation>
    </message>
    <message>
        <source>At temperature 0 the answer would be the same; this one is written at temperature {}.</source>
        <translation>溫度為 0 時回答會完全相同；這一版以溫度 {} 寫成。</translation>
    </message>
    <message>
        <source>{} (fork)</source>
        <translation>{}（分支）</translation>
    </message>
    <message>
        <source>The question of this answer was deleted. Edit the answer, or ask again.</source>
        <translation>這則回答的問題已被刪除。請編輯該回答，或重新提問。</translation>
    </message>
    <message>
        <source>Waiting for the model…</source>
        <translation>正在等待模型…</translation>
    </message>
    <message>
        <source>Reading the conversation: {done} of {total} tokens</source>
        <translation>正在讀取對話：{done}/{total} token</translation>
    </message>
    <message>
        <source>Waiting for you: may {} be called?</source>
        <translation>等待您的決定：可以呼叫 {} 嗎？</translation>
    </message>
    <message>
        <source>An answer is still being written; stop it or wait for its end.</source>
        <translation>回答仍在產生；請停止它或等待其結束。</translation>
    </message>
    <message>
        <source>{fault} What is not saved stays here, and saving is tried again.</source>
        <translation>{fault}未儲存的內容會保留在此處，並將再次嘗試儲存。</translation>
    </message>
</context>
<context>
    <name>ChatsController</name>
    <message>
        <source>Archive</source>
        <translation>封存</translation>
    </message>
    <message>
        <source>Archived {}</source>
        <translation>已封存{}</translation>
    </message>
    <message>
        <source>Unarchive</source>
        <translation>取消封存</translation>
    </message>
    <message>
        <source>Unarchived {}</source>
        <translation>已取消封存{}</translation>
    </message>
    <message>
        <source>Restore</source>
        <translation>還原</translation>
    </message>
    <message>
        <source>Restored {}</source>
        <translation>已還原{}</translation>
    </message>
    <message>
        <source>Delete</source>
        <translation>刪除</translation>
    </message>
    <message>
        <source>Deleted {}</source>
        <translation>已刪除{}</translation>
    </message>
    <message>
        <source>New chat</source>
        <translation>新對話</translation>
    </message>
    <message>
        <source>{} chats</source>
        <translation>{} 個對話</translation>
    </message>
    <message>
        <source>“{}”</source>
        <translation>「{}」</translation>
    </message>
    <message>
        <source>{verb} {chats}</source>
        <translation>{verb}{chats}</translation>
    </message>
</context>
<context>
    <name>CommandPalette</name>
    <message>
        <source>Command palette</source>
        <translation>命令選擇區</translation>
    </message>
    <message>
        <source>Type a command or the title of a chat</source>
        <translation>輸入命令或對話標題</translation>
    </message>
    <message>
        <source>Commands and chats</source>
        <translation>命令與對話</translation>
    </message>
    <message>
        <source>New chat</source>
        <translation>新對話</translation>
    </message>
    <message>
        <source>chat</source>
        <translation>對話</translation>
    </message>
    <message>
        <source>No command or chat is called “{}”.</source>
        <translation>沒有名為「{}」的命令或對話。</translation>
    </message>
</context>
<context>
    <name>Comparison</name>
    <message>
        <source>Compare answers</source>
        <translation>比較回答</translation>
    </message>
    <message>
        <source>Mark differences</source>
        <translation>標出差異</translation>
    </message>
    <message>
        <source>Answer again</source>
        <translation>重新回答</translation>
    </message>
    <message>
        <source>With another model</source>
        <translation>以其他模型回答</translation>
    </message>
    <message>
        <source>First answer</source>
        <translation>第一個回答</translation>
    </message>
    <message>
        <source>Second answer</source>
        <translation>第二個回答</translation>
    </message>
</context>
<context>
    <name>ComparisonController</name>
    <message>
        <source>Regenerate with Another Model</source>
        <translation>用其他模型重新產生</translation>
    </message>
    <message>
        <source>With speed-up</source>
        <translation>加速</translation>
    </message>
    <message>
        <source>Without speed-up</source>
        <translation>不加速</translation>
    </message>
    <message>
        <source>without speed-up</source>
        <translation>不加速</translation>
    </message>
    <message>
        <source>with speed-up</source>
        <translation>加速</translation>
    </message>
    <message>
        <source>edited by you</source>
        <translation>您已編輯過</translation>
    </message>
    <message>
        <source>Version {}</source>
        <translation>版本 {}</translation>
    </message>
    <message>
        <source>Have another version written to compare with this one.</source>
        <translation>請再產生一個版本，以便與此版本比較。</translation>
    </message>
    <message>
        <source>writing…</source>
        <translation>正在產生…</translation>
    </message>
    <message>
        <source>Both texts are the same.</source>
        <translation>兩個回答的文字相同。</translation>
    </message>
    <message>
        <source>About {} of the words are the same.</source>
        <translation>約 {} 的詞相同。</translation>
    </message>
    <message>
        <source>Both were written equally fast.</source>
        <translation>兩者產生速度相同。</translation>
    </message>
    <message>
        <source>Version {fast} was written about {factor}× as fast as version {slow}.</source>
        <translation>版本 {fast} 的產生速度約為版本 {slow} 的 {factor} 倍。</translation>
    </message>
</context>
<context>
    <name>Composer</name>
    <message>
        <source>Ask anything</source>
        <translation>有問題，儘管問</translation>
    </message>
    <message>
        <source>{tokens} of {context} tokens</source>
        <translation>{tokens} / {context} token</translation>
    </message>
    <message>
        <source>The model can read no more than its context at once. A new chat has room.</source>
        <translation>模型一次能讀的內容不超過其上下文。新對話有空間。</translation>
    </message>
    <message>
        <source>Ready</source>
        <translation>就緒</translation>
    </message>
    <message>
        <source>Send</source>
        <translation>傳送</translation>
    </message>
    <message>
        <source>Think</source>
        <translation>思考</translation>
    </message>
    <message>
        <source>Ready ·</source>
        <translation>就緒 ·</translation>
    </message>
    <message>
        <source>Files go with questions; an answer has none.</source>
        <translation>附件只能隨問題傳送；回答不能帶附件。</translation>
    </message>
    <message>
        <source>Attach files (text, code, PDF, Word, web pages, e-books, pictures of text)</source>
        <translation>附加檔案（文字、程式碼、PDF、Word、網頁、電子書、含文字的圖片）</translation>
    </message>
    <message>
        <source>Model: {}</source>
        <translation>模型：{}</translation>
    </message>
    <message>
        <source>The model thinks before it answers.</source>
        <translation>模型先思考，再回答。</translation>
    </message>
    <message>
        <source>The model answers at once.</source>
        <translation>模型立即回答。</translation>
    </message>
    <message>
        <source>{} full</source>
        <translation>已用 {}</translation>
    </message>
    <message>
        <source>Chat {} full</source>
        <translation>對話已用 {}</translation>
    </message>
    <message>
        <source>Too long for the model</source>
        <translation>對模型來說太長</translation>
    </message>
    <message>
        <source>Too long</source>
        <translation>太長</translation>
    </message>
    <message>
        <source>about {tokens} tokens</source>
        <translation>約 {tokens} token</translation>
    </message>
    <message>
        <source>A file is still being read; send the message when it is there.</source>
        <translation>仍在讀取檔案；請等檔案讀完後再傳送訊息。</translation>
    </message>
    <message>
        <source>The model has read this chat and your message so far: its answer begins at once.</source>
        <translation>模型已讀完此對話和您目前輸入的訊息：回答會立即開始。</translation>
    </message>
    <message>
        <source>Stop</source>
        <translation>停止</translation>
    </message>
    <message>
        <source>Stop (Esc)</source>
        <translation>停止 (Esc)</translation>
    </message>
    <message>
        <source>Text, code and documents (*)</source>
        <translation>文字、程式碼和文件 (*)</translation>
    </message>
    <message>
        <source>Attach files</source>
        <translation>附加檔案</translation>
    </message>
</context>
<context>
    <name>ComposerController</name>
    <message>
        <source>Your message was not sent: files were still searched for it. Send it again in its chat.</source>
        <translation>訊息未傳送：仍在為它搜尋檔案。請在其對話中重新傳送。</translation>
    </message>
    <message>
        <source>A file that was still being read was not attached; attach it again there.</source>
        <translation>有一個檔案尚未讀完，因此沒有附加；請在原處重新附加。</translation>
    </message>
    <message>
        <source>You had begun this version before.</source>
        <translation>您先前已開始寫這個版本。</translation>
    </message>
    <message>
        <source>Your words for the other message stay with it.</source>
        <translation>您為另一則訊息寫的內容會隨它保留。</translation>
    </message>
    <message>
        <source>A file that was still being read was not attached.</source>
        <translation>有一個檔案尚未讀完，因此沒有附加。</translation>
    </message>
    <message>
        <source>Editing: sending creates a new version.</source>
        <translation>正在編輯：傳送後會產生新版本。</translation>
    </message>
    <message>
        <source>Editing the answer: sending keeps your words as a new version.</source>
        <translation>正在編輯回答：傳送後您的修改將儲存為新版本。</translation>
    </message>
    <message>
        <source>Cancel</source>
        <translation>取消</translation>
    </message>
    <message>
        <source>Undo</source>
        <translation>復原</translation>
    </message>
    <message>
        <source>Cancel Editing</source>
        <translation>取消編輯</translation>
    </message>
    <message>
        <source>What you had changed is dropped.</source>
        <translation>您的修改已捨棄。</translation>
    </message>
    <message>
        <source>Searching the files of the project…</source>
        <translation>正在搜尋專案的檔案…</translation>
    </message>
    <message>
        <source>Remove an attachment, shorten the message or start a new chat.</source>
        <translation>請移除附件、縮短訊息或新增對話。</translation>
    </message>
    <message>
        <source>Shorten the message or start a new chat.</source>
        <translation>請縮短訊息或新增對話。</translation>
    </message>
    <message>
        <source>This needs {tokens} tokens with the chat so far; the context holds {context} with the answer.</source>
        <translation>連同先前的對話共需 {tokens} 個 token，而上下文連同回答只能容納 {context} 個。</translation>
    </message>
    <message>
        <source>Get {model}</source>
        <translation>取得 {model}</translation>
    </message>
</context>
<context>
    <name>CopiedLine</name>
    <message>
        <source>Copy</source>
        <translation>複製</translation>
    </message>
</context>
<context>
    <name>CreativityEditor</name>
    <message>
        <source>Style</source>
        <translation>風格</translation>
    </message>
    <message>
        <source>Precise</source>
        <translation>精確</translation>
    </message>
    <message>
        <source>Balanced</source>
        <translation>均衡</translation>
    </message>
    <message>
        <source>Creative</source>
        <translation>創意</translation>
    </message>
    <message>
        <source>Keeps to the most likely words: for facts, code and translations.</source>
        <translation>只用最可能的詞：適合事實、程式碼和翻譯。</translation>
    </message>
    <message>
        <source>As the model&apos;s authors recommend.</source>
        <translation>按模型作者的建議。</translation>
    </message>
    <message>
        <source>Chooses words more freely: for stories and ideas.</source>
        <translation>用詞更自由：適合故事和點子。</translation>
    </message>
</context>
<context>
    <name>CurrentSettings</name>
    <message>
        <source>Deleted preset “{}”</source>
        <translation>已刪除範本「{}」</translation>
    </message>
    <message>
        <source>Replaced preset “{}”</source>
        <translation>已取代範本「{}」</translation>
    </message>
    <message>
        <source>Delete Preset “{}”</source>
        <translation>刪除範本「{}」</translation>
    </message>
    <message>
        <source>Replace Preset “{}”</source>
        <translation>取代範本「{}」</translation>
    </message>
</context>
<context>
    <name>DayGroups</name>
    <message>
        <source>Pinned</source>
        <translation>已釘選</translation>
    </message>
    <message>
        <source>Today</source>
        <translation>今天</translation>
    </message>
    <message>
        <source>Yesterday</source>
        <translation>昨天</translation>
    </message>
    <message>
        <source>Last 7 days</source>
        <translation>過去 7 天</translation>
    </message>
    <message>
        <source>Last 30 days</source>
        <translation>過去 30 天</translation>
    </message>
    <message>
        <source>MMMM yyyy</source>
        <translation>yyyy年M月</translation>
    </message>
</context>
<context>
    <name>Dialogs</name>
    <message>
        <source>The window must open again to change its language. Do that now? The chat is shown again. This stops an answer that is being written.</source>
        <translation>重新開啟視窗後才會使用另一種語言。現在重新開啟嗎？對話會再次顯示；正在寫的回答會停止。</translation>
    </message>
    <message>
        <source>Another language</source>
        <translation>另一種語言</translation>
    </message>
    <message>
        <source>Reopen now</source>
        <translation>現在重新開啟</translation>
    </message>
    <message>
        <source>Later</source>
        <translation>稍後</translation>
    </message>
    <message>
        <source>Models</source>
        <translation>模型</translation>
    </message>
    <message>
        <source>Chats</source>
        <translation>對話</translation>
    </message>
    <message>
        <source>Settings</source>
        <translation>設定</translation>
    </message>
    <message>
        <source>Measurements</source>
        <translation>測量數據</translation>
    </message>
    <message>
        <source>Logs</source>
        <translation>記錄檔</translation>
    </message>
    <message>
        <source>Downloads</source>
        <translation>下載內容</translation>
    </message>
</context>
<context>
    <name>DictationController</name>
    <message>
        <source>Dictation needs Whisper: get one of these models, then press the microphone again.</source>
        <translation>聽寫需要 Whisper：請取得其中一個模型，然後再次按下麥克風。</translation>
    </message>
    <message>
        <source>The dictation ended unexpectedly; click the microphone to go on.</source>
        <translation>聽寫意外結束；請點擊麥克風繼續。</translation>
    </message>
</context>
<context>
    <name>DictationWidget</name>
    <message>
        <source>Level of the microphone</source>
        <translation>麥克風音量</translation>
    </message>
    <message>
        <source>Stop dictating</source>
        <translation>停止聽寫</translation>
    </message>
    <message>
        <source>Dictate: click, or hold while you speak (Ctrl+D)</source>
        <translation>聽寫：點擊，或在說話時按住 (Ctrl+D)</translation>
    </message>
    <message>
        <source>Your last words are being written down</source>
        <translation>正在寫下最後說的話</translation>
    </message>
    <message>
        <source>Writing…</source>
        <translation>正在寫下…</translation>
    </message>
</context>
<context>
    <name>DocumentReader</name>
    <message>
        <source>{} could not be read to its end; save its text as a file and attach that.</source>
        <translation>未能完整讀取 {}；請將其文字另存為檔案後再附加。</translation>
    </message>
</context>
<context>
    <name>DocumentWriter</name>
    <message>
        <source>Image:</source>
        <translation>圖片：</translation>
    </message>
    <message>
        <source>text</source>
        <translation>文字</translation>
    </message>
    <message>
        <source>Copy</source>
        <translation>複製</translation>
    </message>
    <message>
        <source>Save as file…</source>
        <translation>另存為檔案…</translation>
    </message>
    <message>
        <source>Preview</source>
        <translation>預覽</translation>
    </message>
</context>
<context>
    <name>EmptyPage</name>
    <message>
        <source>What would you like to know?</source>
        <translation>您想了解些什麼？</translation>
    </message>
    <message>
        <source>Edit project…</source>
        <translation>編輯專案…</translation>
    </message>
    <message>
        <source>a system prompt</source>
        <translation>系統提示詞</translation>
    </message>
    <message>
        <source>1 file</source>
        <translation>1 個檔案</translation>
    </message>
    <message>
        <source>{} files</source>
        <translation>{} 個檔案</translation>
    </message>
    <message>
        <source>1 folder</source>
        <translation>1 個資料夾</translation>
    </message>
    <message>
        <source>{} folders</source>
        <translation>{} 個資料夾</translation>
    </message>
    <message>
        <source>A new chat in the project “{}”</source>
        <translation>專案「{}」中的新對話</translation>
    </message>
    <message>
        <source>{chat}, with: {parts}</source>
        <translation>{chat}，附帶：{parts}</translation>
    </message>
    <message>
        <source>Edit prompts…</source>
        <translation>編輯提示詞…</translation>
    </message>
</context>
<context>
    <name>EncryptionController</name>
    <message>
        <source>The passphrase was changed.</source>
        <translation>從現在起使用新的通關片語。</translation>
    </message>
</context>
<context>
    <name>EncryptionPage</name>
    <message>
        <source>Repeat the passphrase</source>
        <translation>再次輸入密語</translation>
    </message>
    <message>
        <source>I keep the passphrase in a place where I can find it</source>
        <translation>我已把通關片語保存在找得到的地方</translation>
    </message>
    <message>
        <source>Passphrase</source>
        <translation>通關片語</translation>
    </message>
    <message>
        <source>Encrypt and reopen</source>
        <translation>加密並重新開啟</translation>
    </message>
    <message>
        <source>Current passphrase</source>
        <translation>目前的通關片語</translation>
    </message>
    <message>
        <source>New passphrase</source>
        <translation>新的通關片語</translation>
    </message>
    <message>
        <source>Change the passphrase</source>
        <translation>變更通關片語</translation>
    </message>
    <message>
        <source>Decrypt and reopen</source>
        <translation>解密並重新開啟</translation>
    </message>
    <message>
        <source>Without the passphrase, nobody can read your chats on a stolen disk or in a copied folder. Titles, messages, attached files, drafts, the words of the search and the backups are encrypted. You type the passphrase at every start.</source>
        <translation>設定通關片語後，磁碟被竊或資料夾被複製時，別人無法讀取您的對話：標題、訊息、附加的檔案、草稿、搜尋索引和備份都會加密。每次啟動時都要輸入它。</translation>
    </message>
    <message>
        <source>Not protected: memory and swap while Headstart is open, an open window that you leave alone, chats that you exported, notifications, your settings with your own prompts, the models, and what the disk still holds of deleted files.</source>
        <translation>不受保護的有：Headstart 開啟時的記憶體和置換空間、無人看管的已開啟視窗、您匯出的對話、通知、包含您自己提示詞的設定、模型，以及磁碟上已刪除檔案的殘留內容。</translation>
    </message>
    <message>
        <source>All backups, damaged histories that were put aside, and what you typed into the terminal chat are deleted, because they are not encrypted. Then a new backup is made.</source>
        <translation>所有備份、另存的損壞記錄以及您在終端機對話中輸入的內容都會被刪除，因為它們沒有加密。然後會建立新的備份。</translation>
    </message>
    <message>
        <source>If you lose the passphrase, your chats cannot be recovered.</source>
        <translation>忘記通關片語，對話就會遺失：沒有人能找回，我們也不能。</translation>
    </message>
    <message>
        <source>The window closes and opens again. This stops an answer that is being written.</source>
        <translation>為此會關閉視窗並重新開啟；正在產生的回答會停止。</translation>
    </message>
    <message>
        <source>Encrypt your chats</source>
        <translation>加密您的對話</translation>
    </message>
    <message>
        <source>Your chats are encrypted. Headstart asks for the passphrase at every start.</source>
        <translation>您的對話已加密，每次啟動時都要輸入通關片語。</translation>
    </message>
    <message>
        <source>An older copy of the folder of the chats still opens with the old passphrase. To change the key too, decrypt the chats and encrypt them again.</source>
        <translation>先前複製過對話資料夾的人，仍可用舊的通關片語開啟那份副本。如果也要更換金鑰，請先解密對話，再重新加密。</translation>
    </message>
    <message>
        <source>Another passphrase</source>
        <translation>更換通關片語</translation>
    </message>
    <message>
        <source>Anyone who has the disk can then read the chats. Encrypted backups are deleted, and a new one is made.</source>
        <translation>此後，任何拿到磁碟的人都能讀取對話。加密的備份會被刪除，並建立新的備份。</translation>
    </message>
    <message>
        <source>Stop encrypting</source>
        <translation>停止加密</translation>
    </message>
</context>
<context>
    <name>EncryptionWork</name>
    <message>
        <source>Encrypting your chats</source>
        <translation>正在加密您的對話</translation>
    </message>
    <message>
        <source>Decrypting your chats</source>
        <translation>正在解密您的對話</translation>
    </message>
    <message>
        <source>The window opens again when this is done. If the computer turns off meanwhile, nothing is lost.</source>
        <translation>完成後視窗會重新開啟。即使電腦在此期間關機，也不會遺失任何內容。</translation>
    </message>
    <message>
        <source>Your chats are encrypted now.</source>
        <translation>您的對話現已加密。</translation>
    </message>
    <message>
        <source>Your chats are not encrypted any more.</source>
        <translation>您的對話不再加密。</translation>
    </message>
</context>
<context>
    <name>EngineLink</name>
    <message>
        <source>exit code {}</source>
        <translation>結束代碼 {}</translation>
    </message>
    <message>
        <source>The engine stopped unexpectedly ({}).</source>
        <translation>引擎意外停止（{}）。</translation>
    </message>
    <message>
        <source>The system ended the model, probably because memory ran out. Your text is kept.</source>
        <translation>系統終止了模型，可能是記憶體不足。您的文字已保留。</translation>
    </message>
    <message>
        <source>It was loading a model, which may need more memory than there is.</source>
        <translation>當時正在載入模型，可能是記憶體不足。</translation>
    </message>
    <message>
        <source>Details are in the log: {}</source>
        <translation>詳情請見記錄檔：{}</translation>
    </message>
</context>
<context>
    <name>Examples</name>
    <message>
        <source>Write a function</source>
        <translation>撰寫函式</translation>
    </message>
    <message>
        <source>Write a Python function that returns the ten most frequent words of a text, with two tests.</source>
        <translation>撰寫一個 Python 函式，傳回一段文字中出現次數最多的十個單字，並附兩個測試。</translation>
    </message>
    <message>
        <source>Draw a picture</source>
        <translation>畫一幅圖</translation>
    </message>
    <message>
        <source>Draw a sailing boat at sunset as one SVG file of simple shapes.</source>
        <translation>用簡單的圖形畫一艘夕陽下的帆船，給出一個 SVG 檔案。</translation>
    </message>
    <message>
        <source>Ask a database</source>
        <translation>查詢資料庫</translation>
    </message>
    <message>
        <source>Write an SQL query for the ten customers with the highest sales of the last twelve months, from the tables customers and orders.</source>
        <translation>根據資料表 customers 和 orders，撰寫一個 SQL 查詢，找出最近十二個月銷售額最高的十位客戶。</translation>
    </message>
    <message>
        <source>Understand code</source>
        <translation>讀懂程式碼</translation>
    </message>
    <message>
        <source>Explain this regular expression step by step, with three texts that it matches: ^(\d{1,3})(?:\.(\d{2}))?$</source>
        <translation>逐步解釋這個正規表示式，並給出三個符合它的文字：^(\d{1,3})(?:\.(\d{2}))?$</translation>
    </message>
    <message>
        <source>Send good wishes</source>
        <translation>送上祝福</translation>
    </message>
    <message>
        <source>Write a birthday greeting for a good friend in four sentences.</source>
        <translation>用四句話給一位好朋友寫生日祝福。</translation>
    </message>
    <message>
        <source>Collect ideas</source>
        <translation>收集點子</translation>
    </message>
    <message>
        <source>Give me five ideas for a rainy Sunday at home.</source>
        <translation>下雨的星期天待在家裡，給我出五個主意。</translation>
    </message>
    <message>
        <source>Write an e-mail</source>
        <translation>寫一封電子郵件</translation>
    </message>
    <message>
        <source>Write a short e-mail that moves a meeting from Tuesday to Thursday.</source>
        <translation>寫一封簡短的電子郵件，把會議從星期二改到星期四。</translation>
    </message>
    <message>
        <source>Explain something</source>
        <translation>解釋一件事</translation>
    </message>
    <message>
        <source>Explain in three sentences why leaves change their colour in autumn.</source>
        <translation>用三句話解釋樹葉在秋天為什麼會變色。</translation>
    </message>
    <message>
        <source>Explain how a refrigerator works, in simple words and four short steps.</source>
        <translation>用簡單的話分四小步解釋冰箱是怎樣運作的。</translation>
    </message>
    <message>
        <source>Make a plan</source>
        <translation>擬定計畫</translation>
    </message>
    <message>
        <source>Plan three days in Vienna for two people who like museums and good food. Give a table.</source>
        <translation>為兩個喜歡博物館和美食的人安排三天的維也納之行，用表格列出。</translation>
    </message>
    <message>
        <source>Write a letter</source>
        <translation>寫一封信</translation>
    </message>
    <message>
        <source>Write a friendly letter that asks my landlord to have the heating repaired.</source>
        <translation>寫一封語氣友善的信，請房東派人修理暖氣。</translation>
    </message>
    <message>
        <source>Decide</source>
        <translation>做決定</translation>
    </message>
    <message>
        <source>Compare renting and buying a flat in a table. Then name the three questions that decide it.</source>
        <translation>用表格比較租房和買房，然後列出決定取捨的三個問題。</translation>
    </message>
</context>
<context>
    <name>ExportRun</name>
    <message>
        <source>The export cannot be started: {}</source>
        <translation>無法開始匯出：{}</translation>
    </message>
    <message>
        <source>The export was ended from outside, perhaps for want of memory.</source>
        <translation>匯出遭外部終止，可能是記憶體不足。</translation>
    </message>
    <message>
        <source>Cancelled.</source>
        <translation>已取消。</translation>
    </message>
</context>
<context>
    <name>ExporterNote</name>
    <message>
        <source>Some models bring the exporter along</source>
        <translation>有些模型需要匯出工具</translation>
    </message>
    <message>
        <source>Copy command</source>
        <translation>複製命令</translation>
    </message>
    <message>
        <source>This sets the exporter up and makes a model:
{}
It may run on another computer, too: bring the folder that it makes (its --output) here and drop it on this page.</source>
        <translation>以下命令會設定匯出工具並產生模型：
{}
也可以在另一台電腦上執行：將它產生的資料夾（其 --output）帶到這裡，拖放到本頁面。</translation>
    </message>
    <message>
        <source>In a terminal</source>
        <translation>在終端機中操作</translation>
    </message>
    <message>
        <source>The exporter, which converts models that are no GGUF files, is not installed here and has to be set up by hand.</source>
        <translation>匯出工具用於轉換非 GGUF 格式的模型；這裡沒有安裝，需要手動設定。</translation>
    </message>
    <message>
        <source>Most models come as a GGUF file, which is ready in seconds. Others go through the exporter. It needs PyTorch and is set up in a folder of its own before the first such model, which takes Python 3.11 or newer with venv and the network. It fetches about {fetched}, which take {size} on the disk, and much more where PyTorch comes with libraries for graphics cards, as it usually does on Linux. Nothing is fetched before you choose a model.</source>
        <translation>大多數模型是 GGUF 檔案，幾秒即可使用。其他模型要經過匯出工具。它需要 PyTorch，在第一個這樣的模型之前裝進自己的資料夾，為此需要帶 venv 的 Python 3.11 或更新版本以及網路。它大約下載 {fetched}，佔用磁碟 {size}；如果 PyTorch 帶有顯示卡的程式庫（在 Linux 上通常如此），則會大得多。在您選擇模型之前不會下載任何東西。</translation>
    </message>
</context>
<context>
    <name>ExporterSetup</name>
    <message>
        <source>Fetching {} ({})</source>
        <translation>正在下載 {}（{}）</translation>
    </message>
    <message>
        <source>Fetching {}</source>
        <translation>正在下載 {}</translation>
    </message>
    <message>
        <source>Looking for {}</source>
        <translation>正在尋找 {}</translation>
    </message>
    <message>
        <source>Unpacking {} packages, which takes some minutes</source>
        <translation>正在解開 {} 個套件，需要幾分鐘</translation>
    </message>
    <message>
        <source>Looking for Python</source>
        <translation>正在尋找 Python</translation>
    </message>
    <message>
        <source>Trying it</source>
        <translation>正在試用</translation>
    </message>
    <message>
        <source>Asking what is to be fetched</source>
        <translation>正在查詢需要下載的內容</translation>
    </message>
    <message>
        <source>Making an environment for it</source>
        <translation>正在為它建立環境</translation>
    </message>
</context>
<context>
    <name>Faults</name>
    <message>
        <source>Calls tools: {done} of {tasks} small tasks on a folder were done right.</source>
        <translation>呼叫工具：{tasks} 個資料夾小任務中正確完成了 {done} 個。</translation>
    </message>
    <message>
        <source>Calls tools badly: {done} of {tasks} small tasks on a folder were done right.</source>
        <translation>不擅長呼叫工具：{tasks} 個資料夾小任務中只正確完成了 {done} 個。</translation>
    </message>
    <message>
        <source> on page {number}</source>
        <translation>（第 {number} 頁）</translation>
    </message>
    <message>
        <source>--device</source>
        <translation>「裝置」</translation>
    </message>
    <message>
        <source>--draft-device</source>
        <translation>「草稿模型的裝置」</translation>
    </message>
    <message>
        <source>--group-size is a number of weights, such as 64, or -1 for those of a whole row.</source>
        <translation>分組大小是權重的個數，例如 64；-1 表示一整列的權重。</translation>
    </message>
    <message>
        <source>--ratio is a share of the weights, above 0 and at most 1, such as 0.8.</source>
        <translation>比例是權重所佔的份額，大於 0 且不超過 1，例如 0.8。</translation>
    </message>
    <message>
        <source>--{error}.</source>
        <translation>{error}。</translation>
    </message>
    <message>
        <source>--{option} belongs to INT4: add --weights int4.</source>
        <translation>{option} 只適用於 INT4：請選擇 INT4 權重。</translation>
    </message>
    <message>
        <source>--{option} needs --draft, or the recipe of a pair.</source>
        <translation>{option} 需要草稿模型或模型對的配方。</translation>
    </message>
    <message>
        <source>A benchmark measures this computer, but {name} is another one: choose a model that is here.</source>
        <translation>基準測試測量的是這台電腦，而 {name} 是另一台電腦：請選擇這台電腦上的模型。</translation>
    </message>
    <message>
        <source>A benchmark needs at least one prompt, one repeat and answers of two tokens.</source>
        <translation>基準測試至少需要一個提示、一次重複和兩個 token 的回答。</translation>
    </message>
    <message>
        <source>A model named {folder} is installed already; remove it or rename the new folder.</source>
        <translation>已安裝名為 {folder} 的模型；請移除它，或為新資料夾改名。</translation>
    </message>
    <message>
        <source>A name is empty: name a recipe, a hub id, a Hugging Face folder or a .gguf file.</source>
        <translation>名稱為空：請填寫配方、hub ID、Hugging Face 資料夾或 .gguf 檔案。</translation>
    </message>
    <message>
        <source>A passphrase needs at least {shortest} characters; take several words.</source>
        <translation>通關片語至少需要 {shortest} 個字元；請使用多個詞。</translation>
    </message>
    <message>
        <source>A path must be a text.</source>
        <translation>路徑必須是文字。</translation>
    </message>
    <message>
        <source>A revision belongs to a model of the hub, but {title} does not come from there.</source>
        <translation>修訂版本屬於 hub 上的模型，而 {title} 並非來自那裡。</translation>
    </message>
    <message>
        <source>A server&apos;s name has up to 40 letters, digits, dots, dashes and underscores, unlike {name!r}.</source>
        <translation>伺服器名稱最多可有 40 個字母、數字、點、連字號和底線，{name!r} 不符合。</translation>
    </message>
    <message>
        <source>A tag needs a name; type one.</source>
        <translation>標籤需要名稱；請輸入名稱。</translation>
    </message>
    <message>
        <source>An NPU compiles a fixed prompt length in, while Headstart&apos;s own engine feeds passes of any length: leave out --engine headstart, or use --device CPU.</source>
        <translation>NPU 會將提示詞長度編譯為固定值，而 Headstart 自己的引擎需要任意長度的計算：請將引擎改為自動，或將裝置改為 CPU。</translation>
    </message>
    <message>
        <source>An NPU computes with symmetric weights, but {name} has {weights}: export it with --weights int4-sym, or use --device CPU.</source>
        <translation>NPU 使用對稱量化的權重，而 {name} 為 {weights}：請將權重設為 INT4-SYM 後重新匯出，或將裝置改為 CPU。</translation>
    </message>
    <message>
        <source>An NPU decides itself how it keeps keys and values: leave out --kv-precision.</source>
        <translation>NPU 自行決定鍵與值的精度：請將快取精度改為自動。</translation>
    </message>
    <message>
        <source>An NPU needs a context of at least {least} tokens, not {context}: use another --context.</source>
        <translation>NPU 至少需要 {least} 個 token 的上下文，而非 {context} 個：請變更上下文。</translation>
    </message>
    <message>
        <source>An NPU takes no guesses from the text: use a draft model, or --speculation off.</source>
        <translation>NPU 不能從文字中猜測：請使用草稿模型，或關閉加速。</translation>
    </message>
    <message>
        <source>An address must not hold a password; give the key with --key instead.</source>
        <translation>位址中不得包含密碼；請改在「金鑰」中填寫。</translation>
    </message>
    <message>
        <source>Another program is using the chat history {path}; close it and try again.</source>
        <translation>另一個程式正在使用聊天歷程記錄 {path}；請關閉該程式後再試一次。</translation>
    </message>
    <message>
        <source>Answers are about half as fast as they could be, as Headstart&apos;s own kernels are not used ({why}); {remedy}.</source>
        <translation>由於未使用 Headstart 自帶的運算核心（{why}），回答速度只有應有的一半左右；{remedy}。</translation>
    </message>
    <message>
        <source>Cancelled.</source>
        <translation>已取消。</translation>
    </message>
    <message>
        <source>Change {path}</source>
        <translation>變更 {path}</translation>
    </message>
    <message>
        <source>Encrypted chat histories need packages that are not installed: pip install {packages}, then start Headstart again.</source>
        <translation>加密的聊天歷程記錄需要未安裝的套件：請用 pip 安裝 {packages}，然後重新啟動 Headstart。</translation>
    </message>
    <message>
        <source>Exporting {name} needs about {wanted} of memory, but only {free} is free; close other programs, or export a smaller model.</source>
        <translation>匯出 {name} 約需 {wanted} 記憶體，但可用記憶體只有 {free}；請關閉其他應用程式，或匯出更小的模型。</translation>
    </message>
    <message>
        <source>Exporting {name} needs {wanted} of disk space at {place}, but only {free} is free; make room, or choose another --output.</source>
        <translation>匯出 {name} 需要 {wanted} 磁碟空間（位於 {place}），但可用空間僅 {free}；請在該處騰出空間。</translation>
    </message>
    <message>
        <source>Headstart is open already (process {process} on {host}) and does not answer; close it there, or end that process, then start Headstart again. If no such process runs, delete {lock}.</source>
        <translation>Headstart 已開啟（{host} 上的行程 {process}），但沒有回應；請在那裡關閉它或結束該行程，然後重新啟動 Headstart。如果沒有這樣的行程在執行，請刪除 {lock}。</translation>
    </message>
    <message>
        <source>Headstart runs a model on one device, not on {device}; present: {here}. Choose one with {option}, or AUTO.</source>
        <translation>Headstart 在一個裝置上執行模型，而非 {device}；現有裝置：{here}。請用{option}選擇其一，或選 AUTO。</translation>
    </message>
    <message>
        <source>Headstart&apos;s own engine uses the EAGLE-3 head {head} on a processor only: leave out --engine headstart, or use --device CPU.</source>
        <translation>Headstart 自己的引擎只在處理器上使用 EAGLE-3 草稿頭 {head}：請將引擎改為自動，或將裝置改為 CPU。</translation>
    </message>
    <message>
        <source>INT4 weights</source>
        <translation>INT4 權重</translation>
    </message>
    <message>
        <source>It takes about {wanted} of memory, but {free} is free: close other programs and tune again.</source>
        <translation>約需 {wanted} 記憶體，但只有 {free} 可用：請關閉其他程式，然後重新調校。</translation>
    </message>
    <message>
        <source>List the files of {path}</source>
        <translation>列出 {path} 的檔案</translation>
    </message>
    <message>
        <source>Loading {names} with {context} tokens of context takes about {wanted} of memory, but {present}: choose {shorter}, {lighter}, or a smaller model.</source>
        <translation>以 {context} 個 token 的上下文載入 {names} 約需 {wanted} 記憶體，但{present}：請選擇{shorter}、{lighter}，或更小的模型。</translation>
    </message>
    <message>
        <source>Make the folder {path}</source>
        <translation>新增資料夾 {path}</translation>
    </message>
    <message>
        <source>Memory ran out while the model was loaded: close other programs, choose a smaller context, or a smaller model.</source>
        <translation>載入模型時記憶體不足：請關閉其他程式，選擇較小的上下文或較小的模型。</translation>
    </message>
    <message>
        <source>Memory ran out, so the engine starts again: close other programs, start a new chat, or choose a smaller context.</source>
        <translation>記憶體不足，引擎正在重新啟動：請關閉其他程式、新增對話，或選擇較小的上下文。</translation>
    </message>
    <message>
        <source>Models of the kind {model_type!r} cannot be converted ({error}).</source>
        <translation>無法轉換 {model_type!r} 類型的模型（{error}）。</translation>
    </message>
    <message>
        <source>Models of this kind can have no head: their output rows were not found.</source>
        <translation>這種模型不能有草稿頭：找不到它的輸出列。</translation>
    </message>
    <message>
        <source>Move {source} to {target}</source>
        <translation>將 {source} 移到 {target}</translation>
    </message>
    <message>
        <source>Name a file in the folder.</source>
        <translation>請指定資料夾中的一個檔案。</translation>
    </message>
    <message>
        <source>Name what to export: a recipe, a hub id, a folder or a .gguf file (--list shows recipes).</source>
        <translation>請填寫要匯出的內容：配方、hub ID、資料夾或 .gguf 檔案。</translation>
    </message>
    <message>
        <source>Neither the model nor its chat template says which token ends an answer, so it cannot be used.</source>
        <translation>模型及其對話範本都沒有說明用哪個 token 結束回答，因此無法使用。</translation>
    </message>
    <message>
        <source>No Python was found on this computer; install Python 3.11 or newer, of 64 bits (Debian and Ubuntu: apt install python3 python3-venv), and try again.</source>
        <translation>在這台電腦上找不到 Python；請安裝 64 位元的 Python 3.11 或更新版本（Debian 和 Ubuntu：apt install python3 python3-venv），然後重試。</translation>
    </message>
    <message>
        <source>No computer is found by the address of {name}, {url}; check the spelling and your network.</source>
        <translation>找不到 {name} 的位址 {url} 所指的電腦；請檢查拼寫和網路。</translation>
    </message>
    <message>
        <source>No installed model can be used; `headstart models` says why.</source>
        <translation>已安裝的模型都無法使用；模型頁面上說明了原因。</translation>
    </message>
    <message>
        <source>No microphone can be used: connect one, and allow Headstart to use it in the settings of your system.</source>
        <translation>沒有可用的麥克風：請連接麥克風，並在系統設定中允許 Headstart 使用它。</translation>
    </message>
    <message>
        <source>No model is installed yet.</source>
        <translation>尚未安裝模型。</translation>
    </message>
    <message>
        <source>No model is installed yet; run {command} to get a small one.</source>
        <translation>尚未安裝模型；請在模型頁面新增一個。</translation>
    </message>
    <message>
        <source>No model is loaded; choose one first.</source>
        <translation>尚未載入模型；請先選擇模型。</translation>
    </message>
    <message>
        <source>OpenVINO GenAI cannot bound its guesses under a confidence threshold, and sixty in one round were seen: {ours}, or --num-assistant-tokens alone.</source>
        <translation>設有信心閾值時，OpenVINO GenAI 無法限制猜測數量，曾在一輪中猜測六十個：請{ours}，或只設每步猜測數（token）。</translation>
    </message>
    <message>
        <source>OpenVINO GenAI cannot limit thinking: {ours}, or leave out the budget.</source>
        <translation>OpenVINO GenAI 無法限制思考長度：{ours}，或不要設定思考上限。</translation>
    </message>
    <message>
        <source>OpenVINO GenAI cannot run {name} ({way}) on {device} ({reason}); {remedy}.</source>
        <translation>OpenVINO GenAI 無法執行 {name}（{way}），裝置為 {device}（{reason}）；請{remedy}。</translation>
    </message>
    <message>
        <source>OpenVINO GenAI failed ({reason}); {remedy}.</source>
        <translation>OpenVINO GenAI 發生錯誤（{reason}）；請{remedy}。</translation>
    </message>
    <message>
        <source>OpenVINO GenAI garbles sampled answers when a draft model guesses ahead (its issue 4190): {ours}, --temperature 0 or --speculation off.</source>
        <translation>有草稿模型預先猜測時，OpenVINO GenAI 會弄亂取樣得到的回答（其問題編號 4190）：請{ours}，或將溫度設為 0，或關閉加速。</translation>
    </message>
    <message>
        <source>OpenVINO GenAI has no acceptance threshold: {ours}.</source>
        <translation>OpenVINO GenAI 沒有接受閾值：請{ours}。</translation>
    </message>
    <message>
        <source>OpenVINO GenAI has no drafter {name}: {ours}.</source>
        <translation>OpenVINO GenAI 沒有 {name} 這種猜測方式：請{ours}。</translation>
    </message>
    <message>
        <source>OpenVINO GenAI is not asked how likely its tokens were: {ours}, or leave out logprobs.</source>
        <translation>OpenVINO GenAI 不提供其 token 的機率：請{ours}，或不要求 logprobs。</translation>
    </message>
    <message>
        <source>OpenVINO GenAI is not asked to keep to a JSON schema, a grammar or tools: {ours}, or leave it out.</source>
        <translation>OpenVINO GenAI 不支援遵循 JSON 結構描述、文法或工具：請{ours}，或不使用這些。</translation>
    </message>
    <message>
        <source>OpenVINO GenAI makes unlikely tokens likelier by presence and frequency penalties: {ours}, or --repetition-penalty.</source>
        <translation>OpenVINO GenAI 的存在懲罰和頻率懲罰會使不太可能的 token 變得更可能：請{ours}，或改用重複懲罰。</translation>
    </message>
    <message>
        <source>Others may read the key in {path}: run {command}, and change the key.</source>
        <translation>其他人可以讀取 {path} 中的金鑰：請將該檔案改為僅自己可讀，並更換金鑰。</translation>
    </message>
    <message>
        <source>Plan</source>
        <translation>計畫</translation>
    </message>
    <message>
        <source>Port {port} is taken by another program, maybe by another `headstart serve`: choose another one with --port, or --port 0 for any that is free.</source>
        <translation>連接埠 {port} 已被其他應用程式占用：請選擇其他連接埠。</translation>
    </message>
    <message>
        <source>Port {port} may not be used by this user: choose one above 1023 with --port.</source>
        <translation>目前的使用者不能使用連接埠 {port}：請選擇大於 1023 的連接埠。</translation>
    </message>
    <message>
        <source>Python {version} can make no environments here, as its module venv is missing; on Debian and Ubuntu, apt install python3-venv brings it. Then try again.</source>
        <translation>這裡的 Python {version} 缺少 venv 模組，無法建立環境；在 Debian 和 Ubuntu 上可用 apt install python3-venv 安裝。然後重試。</translation>
    </message>
    <message>
        <source>Read {path}</source>
        <translation>讀取 {path}</translation>
    </message>
    <message>
        <source>Reading {name} took more than {minutes:.0f} minutes at one place; save the file in parts.</source>
        <translation>讀取 {name} 時在一處用了超過 {minutes:.0f} 分鐘；請將檔案分成幾部分儲存。</translation>
    </message>
    <message>
        <source>Run a command</source>
        <translation>執行命令</translation>
    </message>
    <message>
        <source>Search the files of {path} for “{text}”</source>
        <translation>在 {path} 的檔案中搜尋「{text}」</translation>
    </message>
    <message>
        <source>Several models are installed ({names}): choose one with --model NAME.</source>
        <translation>已安裝多個模型（{names}）：請選擇其中一個模型。</translation>
    </message>
    <message>
        <source>Something unexpected happened ({kind}: {reason}); nothing half done was left. Add --verbose to see where, and report it.</source>
        <translation>發生意外錯誤（{kind}：{reason}）；沒有留下未完成的內容。請重試；如果再次出現，請回報此問題。</translation>
    </message>
    <message>
        <source>The GGUF file cannot be converted ({reason}).</source>
        <translation>無法轉換該 GGUF 檔案（{reason}）。</translation>
    </message>
    <message>
        <source>The Python found here is {version}, and 3.11 or newer is needed; install one and try again.</source>
        <translation>這裡找到的是 Python {version}，需要 3.11 或更新版本；請安裝後重試。</translation>
    </message>
    <message>
        <source>The argument {name} must be a text.</source>
        <translation>引數 {name} 必須是文字。</translation>
    </message>
    <message>
        <source>The certificate of {name} at {url} is not trusted ({fault}); if it is your own, add the server again with --certificate FILE, the authority that signed it.</source>
        <translation>{name}（{url}）的憑證不受信任（{fault}）；如果是您自己的憑證，請重新加入該伺服器，並在「憑證」中選擇簽發機構的憑證。</translation>
    </message>
    <message>
        <source>The certificate {certificate} cannot be used ({error}); name a file in PEM form.</source>
        <translation>無法使用憑證 {certificate}（{error}）；請指定 PEM 格式的檔案。</translation>
    </message>
    <message>
        <source>The chat history in {folder} is encrypted; open it in the window, with its passphrase.</source>
        <translation>{folder} 中的聊天歷程記錄已加密；請在視窗中用通關片語開啟。</translation>
    </message>
    <message>
        <source>The chat history in {path} cannot be used ({reason}); make the folder readable and writable for you, then try again.</source>
        <translation>無法使用 {path} 中的聊天歷程記錄（{reason}）；請讓您可以讀寫該資料夾，然後再試一次。</translation>
    </message>
    <message>
        <source>The chat history {path} could not be used ({error}); try again, then restart the program.</source>
        <translation>無法使用聊天歷程記錄 {path}（{error}）；請再試一次，仍不行則重新啟動程式。</translation>
    </message>
    <message>
        <source>The chat history {path} is damaged; open Headstart&apos;s window, which saves what can be read.</source>
        <translation>聊天記錄 {path} 已損壞；請開啟 Headstart 的視窗，它會儲存可以讀取的內容。</translation>
    </message>
    <message>
        <source>The chat history {path} was written by a newer version of Headstart (schema {version}, this one knows {newest}); update Headstart to open it.</source>
        <translation>聊天歷程記錄 {path} 由較新版本的 Headstart 寫入（結構版本 {version}，此版本支援到 {newest}）；請更新 Headstart 後再開啟。</translation>
    </message>
    <message>
        <source>The chat template cannot be used ({reason}); choose another version of the model.</source>
        <translation>無法使用對話範本（{reason}）；請選擇該模型的其他版本。</translation>
    </message>
    <message>
        <source>The chat template in {folder} cannot be read ({error}); export the model again.</source>
        <translation>{folder} 中的聊天範本無法讀取（{error}）；請重新匯出該模型。</translation>
    </message>
    <message>
        <source>The chat template in {folder} is not that of its source; choose another.</source>
        <translation>{folder} 中的聊天範本與其來源的不同；請另選一個模型。</translation>
    </message>
    <message>
        <source>The chat template of {name} cannot be used ({reason}); choose another version of the model.</source>
        <translation>{name} 的聊天範本無法使用（{reason}）；請選擇該模型的另一個版本。</translation>
    </message>
    <message>
        <source>The chat template of {name} has no place for a message of role &quot;{role}&quot; here; leave it out, or use the roles system, user and assistant in their usual order.</source>
        <translation>{name} 的對話範本在此處不接受角色為「{role}」的訊息；請移除該訊息，或依一般順序使用 system、user 與 assistant 角色。</translation>
    </message>
    <message>
        <source>The chat template of {name} refused this conversation ({reason}); change the system prompt or the order of the messages, or start a new conversation.</source>
        <translation>{name} 的對話範本拒絕了此對話（{reason}）；請變更系統提示詞或訊息順序，或新增對話。</translation>
    </message>
    <message>
        <source>The command cannot be started ({reason}).</source>
        <translation>無法啟動該命令（{reason}）。</translation>
    </message>
    <message>
        <source>The command is empty.</source>
        <translation>命令是空的。</translation>
    </message>
    <message>
        <source>The connection to {name} broke in the middle of the answer; what came of it is kept: continue it, or ask again.</source>
        <translation>與 {name} 的連線在回答途中中斷；已收到的部分會保留：請繼續產生，或重新提問。</translation>
    </message>
    <message>
        <source>The conversation has {count} tokens, but the NPU was compiled for prompts of at most {prompt}: start a new chat, shorten the text, or load it with a longer --context.</source>
        <translation>對話有 {count} 個 token，而 NPU 編譯時限定提示詞最多 {prompt} 個：請新增對話、縮短文字，或調大上下文後重新載入模型。</translation>
    </message>
    <message>
        <source>The conversation has {count} tokens, but the context holds {room} with the answer: start a new chat, shorten the text, or load the model with a longer --context.</source>
        <translation>對話有 {count} 個 token，而上下文連同回答只能容納 {room} 個：請新增對話、縮短文字，或調高上下文後重新載入模型。</translation>
    </message>
    <message>
        <source>The conversation is too long for {name} ({words}): start a new chat, or allow shorter answers.</source>
        <translation>對 {name} 來說對話太長（{words}）：請新增對話，或允許更短的回答。</translation>
    </message>
    <message>
        <source>The converted model cannot be used ({reason}); nothing was kept.</source>
        <translation>無法使用轉換後的模型（{reason}）；未保留任何內容。</translation>
    </message>
    <message>
        <source>The converted tokenizer cannot be compared with its source ({reason}); nothing was kept.</source>
        <translation>無法將轉換後的分詞器與其來源比較（{reason}）；未保留任何內容。</translation>
    </message>
    <message>
        <source>The disk at {place} became full; nothing half done was left. Make room and run the command again: what was fetched is kept.</source>
        <translation>{place} 所在的磁碟已滿；沒有留下未完成的內容。請騰出空間後重新匯出：已下載的內容會保留。</translation>
    </message>
    <message>
        <source>The disk is full, so the last change was not saved in {path}; free some space and try again: everything saved before is still there.</source>
        <translation>磁碟已滿，上次的變更未能儲存到 {path}；請清出空間後再試一次：先前儲存的內容都還在。</translation>
    </message>
    <message>
        <source>The disk is full; make room and try again.</source>
        <translation>磁碟已滿；請騰出空間後重試。</translation>
    </message>
    <message>
        <source>The engine cannot be started ({error}); install Headstart again.</source>
        <translation>無法啟動引擎（{error}）；請重新安裝 Headstart。</translation>
    </message>
    <message>
        <source>The engine did not answer in time and was ended; it starts again when needed.</source>
        <translation>引擎未及時回應，已被結束；需要時會重新啟動。</translation>
    </message>
    <message>
        <source>The engine did not stop in time and was ended; it starts again when needed.</source>
        <translation>引擎未及時停止，已被結束；需要時會重新啟動。</translation>
    </message>
    <message>
        <source>The engine failed. Details are in the log: {path}</source>
        <translation>引擎發生錯誤。詳情請見記錄檔：{path}</translation>
    </message>
    <message>
        <source>The engine gave no sign for {seconds:.0f} seconds while {doing}, so it was ended; it starts again when it is needed.</source>
        <translation>引擎在{doing}時有 {seconds:.0f} 秒沒有任何回應，因此已被結束；需要時會重新啟動。</translation>
    </message>
    <message>
        <source>The engine program belongs to another version of Headstart (its messages have version {found!r}, not {version}); install Headstart again.</source>
        <translation>引擎程式屬於另一版本的 Headstart（其訊息版本為 {found!r}，而非 {version}）；請重新安裝 Headstart。</translation>
    </message>
    <message>
        <source>The engine stopped too often; load the model again, or see {path}.</source>
        <translation>引擎停止得過於頻繁；請重新載入模型，或查看 {path}。</translation>
    </message>
    <message>
        <source>The engine stopped unexpectedly ({ending}); see {path}.</source>
        <translation>引擎意外停止（{ending}）；請查看 {path}。</translation>
    </message>
    <message>
        <source>The engine stopped unexpectedly ({ending}, as the system does when memory runs out); it starts again when it is needed.</source>
        <translation>引擎意外停止（{ending}，系統在記憶體不足時會這樣做）；需要時會重新啟動。</translation>
    </message>
    <message>
        <source>The engine&apos;s line is of an unknown kind: {excerpt}</source>
        <translation>引擎的這一行屬於未知的類型：{excerpt}</translation>
    </message>
    <message>
        <source>The engine&apos;s line was longer than {mebibytes} MiB, so it cannot be a message of Headstart.</source>
        <translation>引擎的一行超過 {mebibytes} MiB，因此不可能是 Headstart 的訊息。</translation>
    </message>
    <message>
        <source>The engine&apos;s message {name} is damaged ({error}).</source>
        <translation>引擎的訊息 {name} 已損壞（{error}）。</translation>
    </message>
    <message>
        <source>The exporter could not be set up: {reason}</source>
        <translation>無法設定匯出工具：{reason}</translation>
    </message>
    <message>
        <source>The exporter is being set up by another Headstart; wait until that has ended.</source>
        <translation>另一個 Headstart 正在設定匯出工具；請等它結束。</translation>
    </message>
    <message>
        <source>The exporter needs {needed} on the disk while it is set up, and {free} are free; make room and try again.</source>
        <translation>設定匯出工具期間需要 {needed} 的磁碟空間，而可用空間為 {free}；請騰出空間後重試。</translation>
    </message>
    <message>
        <source>The folder has more than {count} files.</source>
        <translation>該資料夾有超過 {count} 個檔案。</translation>
    </message>
    <message>
        <source>The folder has too many keys or hard links to run a command beside them.</source>
        <translation>該資料夾中的金鑰或硬連結過多，無法在其中執行命令。</translation>
    </message>
    <message>
        <source>The folder is too large to undo what the command changes.</source>
        <translation>該資料夾太大，無法復原命令所做的變更。</translation>
    </message>
    <message>
        <source>The folder itself is not moved.</source>
        <translation>不能移動該資料夾本身。</translation>
    </message>
    <message>
        <source>The index of your projects&apos; folders cannot be used ({error}); start Headstart again: it is made anew if it is damaged, and nothing is lost.</source>
        <translation>專案資料夾的索引無法使用（{error}）；請重新啟動 Headstart：如果索引已損壞，會重新建立，沒有遺失任何內容。</translation>
    </message>
    <message>
        <source>The key cannot be kept: there is no keyring, and {path} cannot be written ({strerror}). Set it in the environment variable {variable} instead.</source>
        <translation>無法儲存金鑰：沒有系統金鑰圈，且無法寫入 {path}（{strerror}）。請改在環境變數 {variable} 中設定金鑰。</translation>
    </message>
    <message>
        <source>The key in {where} cannot be read ({reason}); make it readable for you.</source>
        <translation>無法讀取 {where} 中的金鑰（{reason}）；請使其可供您讀取。</translation>
    </message>
    <message>
        <source>The list of draft tokens in {folder} {fault}; export the model again.</source>
        <translation>{folder} 中的草稿 token 清單有誤（{fault}）；請重新匯出模型。</translation>
    </message>
    <message>
        <source>The manifest of {folder} does not list {names}; export the model again.</source>
        <translation>{folder} 的資訊清單中沒有列出 {names}；請重新匯出模型。</translation>
    </message>
    <message>
        <source>The memory was used up; close other programs, or export a smaller model.</source>
        <translation>記憶體已用盡；請關閉其他應用程式，或匯出更小的模型。</translation>
    </message>
    <message>
        <source>The model&apos;s config.json does not say how long its context is, so it cannot be used.</source>
        <translation>該模型的 config.json 沒有說明上下文的長度，因此無法使用。</translation>
    </message>
    <message>
        <source>The name of a model has at most {most} bytes, and {name!r} has {size}; take a shorter one.</source>
        <translation>模型名稱最多 {most} 位元組，而 {name!r} 有 {size} 位元組；請使用更短的名稱。</translation>
    </message>
    <message>
        <source>The name of {name} has bytes that are no letters; give the file another name.</source>
        <translation>{name} 的名稱中有不是文字的位元組；請給檔案換一個名稱。</translation>
    </message>
    <message>
        <source>The package index cannot be reached; check this computer&apos;s network and try again. What was fetched to its end is not fetched again.</source>
        <translation>無法連線到套件索引；請檢查這台電腦的網路後重試。已完整下載的內容不會再次下載。</translation>
    </message>
    <message>
        <source>The package index lacks something for Python {version}; the log names it. Another Python, 3.11 or newer, may have all: install one and try again.</source>
        <translation>套件索引中缺少適用於 Python {version} 的內容，記錄中有其名稱。換用另一個 3.11 或更新版本的 Python 也許可行：請安裝後重試。</translation>
    </message>
    <message>
        <source>The package {package} is damaged ({error}) and was deleted; run the command again to fetch it anew.</source>
        <translation>套件 {package} 已損毀（{error}），已被刪除；請重新匯出，以重新下載。</translation>
    </message>
    <message>
        <source>The path {path} has characters that no name here may have.</source>
        <translation>路徑 {path} 含有名稱中不允許的字元。</translation>
    </message>
    <message>
        <source>The path {path} is too deep.</source>
        <translation>路徑 {path} 層級過深。</translation>
    </message>
    <message>
        <source>The picture cannot be read here; save it as a file, and attach that.</source>
        <translation>無法讀取該圖片；請將其儲存為檔案，然後附加該檔案。</translation>
    </message>
    <message>
        <source>The program that reads {name} ended twice at it, maybe for lack of memory; close other programs and start Headstart again, or save the file in parts.</source>
        <translation>讀取 {name} 的程式兩次在此檔案處結束，可能是記憶體不足；請關閉其他程式並重新啟動 Headstart，或將檔案分成幾部分儲存。</translation>
    </message>
    <message>
        <source>The recipe says {token} ends an answer, but the tokenizer has no such token.</source>
        <translation>配方稱回答以 {token} 結束，但分詞器沒有這個 token。</translation>
    </message>
    <message>
        <source>The recipe {name} states another pooling than its source; correct the recipe.</source>
        <translation>配方 {name} 寫明的池化方式與其來源不同；請更正配方。</translation>
    </message>
    <message>
        <source>The recipe {path} is wrong: {reason}.</source>
        <translation>配方 {path} 有誤：{reason}。</translation>
    </message>
    <message>
        <source>The server {name} cannot be started: there is no program {program}.</source>
        <translation>無法啟動伺服器 {name}：沒有程式 {program}。</translation>
    </message>
    <message>
        <source>The server {name} did not answer within {seconds} s{said}; “{line}” may be no MCP server.</source>
        <translation>伺服器 {name} 在 {seconds} 秒內沒有回應{said}；「{line}」可能不是 MCP 伺服器。</translation>
    </message>
    <message>
        <source>The server {name} did not start{said}; try “{line}” in a terminal.</source>
        <translation>伺服器 {name} 沒有啟動{said}；請在終端機中試執行「{line}」。</translation>
    </message>
    <message>
        <source>The server {name} has no “command”; name the program that it is.</source>
        <translation>伺服器 {name} 沒有「command」；請寫明它是哪個程式。</translation>
    </message>
    <message>
        <source>The server {name} is reached by an address; only servers with a “command” are started.</source>
        <translation>伺服器 {name} 要透過位址存取；這裡只啟動帶「command」的伺服器。</translation>
    </message>
    <message>
        <source>The servers cannot be saved in {path} ({strerror}); make the folder writable and try again.</source>
        <translation>無法將伺服器儲存到 {path}（{strerror}）；請讓該資料夾可寫入，然後再試一次。</translation>
    </message>
    <message>
        <source>The set-up was ended from outside, perhaps for want of memory; try again.</source>
        <translation>設定過程被外部終止，可能是記憶體不足；請重試。</translation>
    </message>
    <message>
        <source>The settings in {path} cannot be read ({reason}), so the usual ones hold; see that you may read the file and that it is in order, then start Headstart again.</source>
        <translation>無法讀取 {path} 中的設定（{reason}），因此使用預設設定；請確認您有權讀取該檔案且其內容無誤，然後重新啟動 Headstart。</translation>
    </message>
    <message>
        <source>The skill {name} is off.</source>
        <translation>技能 {name} 未啟用。</translation>
    </message>
    <message>
        <source>The target writes no texts whose tokens could be counted; --draft-vocab full does without.</source>
        <translation>目標模型沒有寫出可用於統計 token 的文字；請分別匯出兩個模型，這樣就不需要這些文字。</translation>
    </message>
    <message>
        <source>The text to search for is empty.</source>
        <translation>要搜尋的文字是空的。</translation>
    </message>
    <message>
        <source>The weights of the file cannot be used ({reason}).</source>
        <translation>無法使用該檔案的權重（{reason}）。</translation>
    </message>
    <message>
        <source>The “args” of the server {name} must be a list of texts.</source>
        <translation>伺服器 {name} 的「args」必須是文字清單。</translation>
    </message>
    <message>
        <source>The “env” of the server {name} must be an object of texts.</source>
        <translation>伺服器 {name} 的「env」必須是由文字組成的物件。</translation>
    </message>
    <message>
        <source>There are no kernels with {isa} for this processor; leave out --isa.</source>
        <translation>此處理器沒有支援 {isa} 的核心。</translation>
    </message>
    <message>
        <source>There are no tools yet: write your MCP servers into {path}, as other programs have them under “mcpServers”.</source>
        <translation>還沒有工具：請把您的 MCP 伺服器寫入 {path}，格式與其他程式的「mcpServers」相同。</translation>
    </message>
    <message>
        <source>There is a {path} already.</source>
        <translation>{path} 已經存在。</translation>
    </message>
    <message>
        <source>There is no file or folder {path}.</source>
        <translation>沒有檔案或資料夾 {path}。</translation>
    </message>
    <message>
        <source>There is no file {path}; check the path.</source>
        <translation>沒有檔案 {path}；請檢查路徑。</translation>
    </message>
    <message>
        <source>There is no folder {path}.</source>
        <translation>沒有資料夾 {path}。</translation>
    </message>
    <message>
        <source>There is no skill {name}; there are {names}.</source>
        <translation>沒有技能 {name}；現有 {names}。</translation>
    </message>
    <message>
        <source>There is no {path}.</source>
        <translation>沒有 {path}。</translation>
    </message>
    <message>
        <source>There is nothing to undo in this folder.</source>
        <translation>此資料夾中沒有可復原的內容。</translation>
    </message>
    <message>
        <source>These weights cannot be compressed to {weights} ({error}); try another --weights or --group-size.</source>
        <translation>這些權重不能壓縮為 {weights}（{error}）；請嘗試其他權重格式或分組大小。</translation>
    </message>
    <message>
        <source>This computer has no working bubblewrap, so the command can read and change whatever you can, and use the network.</source>
        <translation>這台電腦上沒有可用的 bubblewrap，因此該命令可以讀取和變更您能存取的一切，並使用網路。</translation>
    </message>
    <message>
        <source>This file may have passwords or keys, which the model would learn.</source>
        <translation>此檔案可能含有密碼或金鑰，模型會得知其內容。</translation>
    </message>
    <message>
        <source>This model does not know the language {language!r}; it knows {languages}.</source>
        <translation>此模型不懂語言 {language!r}；它懂的語言有 {languages}。</translation>
    </message>
    <message>
        <source>This model knows English alone and cannot translate: name another one.</source>
        <translation>此模型只懂英語，無法翻譯：請指定其他模型。</translation>
    </message>
    <message>
        <source>This system cannot confine file operations to a folder: use Linux or macOS.</source>
        <translation>此系統無法將檔案操作限制在一個資料夾內：請使用 Linux 或 macOS。</translation>
    </message>
    <message>
        <source>Tuning cannot measure {name}, an EAGLE-3 head; choose no draft, or a draft model.</source>
        <translation>調校無法測量 EAGLE-3 草稿頭 {name}；請不使用草稿模型，或選擇其他草稿模型。</translation>
    </message>
    <message>
        <source>Use a skill</source>
        <translation>使用技能</translation>
    </message>
    <message>
        <source>What you wrote while your chats could not be saved is in {path}, but it cannot be read; delete that folder if you do not need it.</source>
        <translation>在無法儲存聊天期間您所寫的內容在 {path} 中，但無法讀取；如果不需要，請刪除該資料夾。</translation>
    </message>
    <message>
        <source>Write the new file {path}</source>
        <translation>寫入新檔案 {path}</translation>
    </message>
    <message>
        <source>as a table</source>
        <translation>以表格讀取</translation>
    </message>
    <message>
        <source>bubblewrap does not work here any more.</source>
        <translation>bubblewrap 在此已無法使用。</translation>
    </message>
    <message>
        <source>chats of which {reason}</source>
        <translation>無法讀取的對話，原因是{reason}</translation>
    </message>
    <message>
        <source>chats without messages</source>
        <translation>沒有訊息的對話</translation>
    </message>
    <message>
        <source>choose a small model, or a computer whose processor has AVX2</source>
        <translation>請選擇較小的模型，或改用處理器支援 AVX2 的電腦</translation>
    </message>
    <message>
        <source>damaged files of the archive</source>
        <translation>壓縮檔中損毀的檔案</translation>
    </message>
    <message>
        <source>draft head</source>
        <translation>草稿頭</translation>
    </message>
    <message>
        <source>draft model</source>
        <translation>草稿模型</translation>
    </message>
    <message>
        <source>earlier text</source>
        <translation>前文</translation>
    </message>
    <message>
        <source>entries that are no chats</source>
        <translation>不是對話的項目</translation>
    </message>
    <message>
        <source>files</source>
        <translation>個檔案</translation>
    </message>
    <message>
        <source>files of which the export has only the names</source>
        <translation>匯出內容中只有名稱的檔案</translation>
    </message>
    <message>
        <source>hidden messages</source>
        <translation>隱藏的訊息</translation>
    </message>
    <message>
        <source>images, which are no text</source>
        <translation>圖片（不是文字）</translation>
    </message>
    <message>
        <source>install Headstart again with a C compiler at hand ({commands})</source>
        <translation>請在有 C 編譯器的情況下重新安裝 Headstart（{commands}）</translation>
    </message>
    <message>
        <source>it is a damaged archive</source>
        <translation>它是損壞的壓縮檔</translation>
    </message>
    <message>
        <source>it is an archive with a password</source>
        <translation>它是有密碼的壓縮檔</translation>
    </message>
    <message>
        <source>it is too long</source>
        <translation>它太長</translation>
    </message>
    <message>
        <source>it uses {names}, which no renderer has</source>
        <translation>它使用了任何轉譯器都沒有的 {names}</translation>
    </message>
    <message>
        <source>its text becomes too long</source>
        <translation>它產生的文字太長</translation>
    </message>
    <message>
        <source>its text is {text!r}, and not {expected!r}</source>
        <translation>它的文字是 {text!r}，而不是 {expected!r}</translation>
    </message>
    <message>
        <source>messages of the unknown kind {kind}</source>
        <translation>未知類型 {kind} 的訊息</translation>
    </message>
    <message>
        <source>other files of the archive</source>
        <translation>壓縮檔中的其他檔案</translation>
    </message>
    <message>
        <source>parts of the unknown kind {kind}</source>
        <translation>未知類型 {kind} 的部分</translation>
    </message>
    <message>
        <source>please report it</source>
        <translation>請回報此問題</translation>
    </message>
    <message>
        <source>recordings, which are no text</source>
        <translation>錄音或錄影（不是文字）</translation>
    </message>
    <message>
        <source>source</source>
        <translation>原始碼</translation>
    </message>
    <message>
        <source>text of the page</source>
        <translation>網頁文字</translation>
    </message>
    <message>
        <source>the model itself</source>
        <translation>模型自己</translation>
    </message>
    <message>
        <source>there is no chat in it that can be read: {left_out}</source>
        <translation>其中沒有可讀取的對話：{left_out}</translation>
    </message>
    <message>
        <source>they could not be tried ({error})</source>
        <translation>無法試用（{error}）</translation>
    </message>
    <message>
        <source>they do not load on this computer</source>
        <translation>在這部電腦上無法載入</translation>
    </message>
    <message>
        <source>they do not load, or have nothing for {isa}, which {variable} names</source>
        <translation>無法載入，或不支援 {variable} 指定的 {isa}</translation>
    </message>
    <message>
        <source>they were not compiled when Headstart was installed</source>
        <translation>安裝 Headstart 時未編譯</translation>
    </message>
    <message>
        <source>this processor lacks AVX2</source>
        <translation>此處理器不支援 AVX2</translation>
    </message>
    <message>
        <source>unset {variable}</source>
        <translation>請取消設定 {variable}</translation>
    </message>
    <message>
        <source>usual words</source>
        <translation>常用詞</translation>
    </message>
    <message>
        <source>who guessed this is not reported</source>
        <translation>回答者沒有說明這是由誰猜測的</translation>
    </message>
    <message>
        <source>{adapter} is an adapter of a kind that cannot be merged ({what}); take a plain LoRA adapter.</source>
        <translation>{adapter} 是一種無法合併的適配器（{what}）；請使用普通的 LoRA 適配器。</translation>
    </message>
    <message>
        <source>{adapter} was not made for {name}: {place} is missing there or has another shape; name the adapter with the model that it was made for.</source>
        <translation>{adapter} 不是為 {name} 製作的：那裡缺少 {place}，或其形狀不同；請將適配器與它所針對的模型一起指定。</translation>
    </message>
    <message>
        <source>{fault} The model would get wrong tokens, so it is not used; choose another.</source>
        <translation>{fault} 模型會得到錯誤的 token，因此不使用它；請選擇另一個模型。</translation>
    </message>
    <message>
        <source>{file} cannot be converted: {error}.</source>
        <translation>{file} 無法轉換：{error}。</translation>
    </message>
    <message>
        <source>{file} does not hold all weights of its kind: {tensor} is missing. Fetch it again, or choose another version of the model.</source>
        <translation>{file} 未包含該類模型的全部權重：缺少 {tensor}。請重新取得，或選擇該模型的其他版本。</translation>
    </message>
    <message>
        <source>{file} holds a model of the kind {name!r}, which is not read from GGUF files; known are {known}. Use the model&apos;s Hugging Face folder or hub id instead.</source>
        <translation>{file} 中的模型屬於 {name!r} 類型，無法從 GGUF 檔案讀取；支援的有 {known}。請改用該模型的 Hugging Face 資料夾或 hub ID。</translation>
    </message>
    <message>
        <source>{file} holds weights that are not known of its kind, such as {tensor}; use the model&apos;s Hugging Face folder or hub id instead.</source>
        <translation>{file} 包含該類模型中未知的權重，例如 {tensor}；請改用該模型的 Hugging Face 資料夾或 hub ID。</translation>
    </message>
    <message>
        <source>{file} of {adapter} cannot be read ({error}); fetch it again.</source>
        <translation>無法讀取 {adapter} 的 {file}（{error}）；請重新取得。</translation>
    </message>
    <message>
        <source>{file} says that {key} is {index!r}, but the vocabulary has no such token; correct the file, or fetch the model again.</source>
        <translation>{file} 中的 {key} 為 {index!r}，但詞表中沒有這個 token；請更正該檔案，或重新取得模型。</translation>
    </message>
    <message>
        <source>{folder} holds an adapter ({adapter_file}); name its model, and this folder with --adapter.</source>
        <translation>{folder} 中是適配器（{adapter_file}）；請指定它的模型，並將此資料夾作為適配器。</translation>
    </message>
    <message>
        <source>{head} is an EAGLE-3 head with weights that cannot be converted ({weight}); choose one without them.</source>
        <translation>{head} 是帶有無法轉換之權重（{weight}）的 EAGLE-3 草稿頭；請選擇沒有這些權重的草稿頭。</translation>
    </message>
    <message>
        <source>{name!r} cannot be the name of a model; take letters, digits and dashes.</source>
        <translation>{name!r} 不能用作模型名稱；請使用字母、數字和連字號。</translation>
    </message>
    <message>
        <source>{name} always thinks before it answers: ask for less of it, with the effort `low`.</source>
        <translation>{name} 總是先思考再回答：請將「思考」設為自動。</translation>
    </message>
    <message>
        <source>{name} cannot be loaded ({error}); export it again.</source>
        <translation>無法載入 {name}（{error}）；請重新匯出它。</translation>
    </message>
    <message>
        <source>{name} fits into the memory in 4 bits only, and agrees so with its source on {agreement} of the tokens, below {floor}; close other programs, take another model, or take it all the same with --weights int4.</source>
        <translation>{name} 只有 4 位元版本放得進記憶體，而這個版本只在 {agreement} 的 token 上與原模型一致，低於 {floor}；請關閉其他程式，或換一個模型。</translation>
    </message>
    <message>
        <source>{name} has no switch for thinking: leave the choice to it.</source>
        <translation>{name} 沒有思考開關：請讓它自己選擇。</translation>
    </message>
    <message>
        <source>{name} has the token {text!r} twice, as {index} and {other}, so one could not be written; take another file of the model.</source>
        <translation>{name} 中 token {text!r} 出現了兩次（{index} 和 {other}），因此其中一個無法寫出；請使用該模型的另一個檔案。</translation>
    </message>
    <message>
        <source>{name} has {count:.0f} million pixels, and {most:.0f} million is the most; save it smaller, and attach that.</source>
        <translation>{name} 有 {count:.0f} 百萬像素，最多為 {most:.0f} 百萬像素；請縮小後儲存，再附加。</translation>
    </message>
    <message>
        <source>{name} holds no speech that can be heard; describe what it holds.</source>
        <translation>{name} 中沒有可以聽清的語音；請描述其內容。</translation>
    </message>
    <message>
        <source>{name} holds weights of type {kind}, one of ik_llama.cpp&apos;s own types; take the Q4_K_M file of the model.</source>
        <translation>{name} 含有 {kind} 類型的權重，這是 ik_llama.cpp 自己的類型；請使用該模型的 Q4_K_M 檔案。</translation>
    </message>
    <message>
        <source>{name} has the blocks of its GGUF file, which OpenVINO GenAI cannot read: {ours}, or export it again with --weights int8.</source>
        <translation>{name} 保留了其 GGUF 檔案的資料區塊，OpenVINO GenAI 無法讀取：{ours}，或以 INT8 重新匯出。</translation>
    </message>
    <message>
        <source>{name} holds weights of type {kind}, which this version of Headstart does not know; update Headstart, or take a Q4_K_M file.</source>
        <translation>{name} 包含類型為 {kind} 的權重，此版本的 Headstart 不支援該類型；請更新 Headstart，或使用 Q4_K_M 檔案。</translation>
    </message>
    <message>
        <source>{name} is a GGUF file of the kind {kind!r}, which can only be exported from .safetensors files; use the model&apos;s Hugging Face folder or hub id instead.</source>
        <translation>{name} 是 {kind!r} 類型的 GGUF 檔案，這類模型只能從 .safetensors 檔案匯出；請改用該模型的 Hugging Face 資料夾或 hub id。</translation>
    </message>
    <message>
        <source>{name} is a GGUF file of version {version}, which this version of Headstart does not know; update Headstart, or take a file of version 3.</source>
        <translation>{name} 是版本 {version} 的 GGUF 檔案，此版本的 Headstart 不支援該版本；請更新 Headstart，或使用版本 3 的檔案。</translation>
    </message>
    <message>
        <source>{name} is a book of a kind that cannot be read here; convert it to EPUB or PDF, and attach that.</source>
        <translation>{name} 是這裡無法讀取的電子書格式；請轉換為 EPUB 或 PDF 後再附加。</translation>
    </message>
    <message>
        <source>{name} is a document of a kind that cannot be read here; save it as .docx or PDF, and attach that.</source>
        <translation>{name} 是這裡無法讀取的文件格式；請另存為 .docx 或 PDF 後再附加。</translation>
    </message>
    <message>
        <source>{name} is a model of the kind {kind!r}, which cannot be exported; take {recipe}, or another of a kind that {command} names.</source>
        <translation>{name} 是 {kind!r} 類型的模型，無法匯出；請改用 {recipe}。</translation>
    </message>
    <message>
        <source>{name} is a presentation; save it as PDF in the program that made it, and attach that.</source>
        <translation>{name} 是簡報；請在製作它的程式中另存為 PDF 後再附加。</translation>
    </message>
    <message>
        <source>{name} is a spreadsheet; save its sheet as CSV in the program that made it, and attach that.</source>
        <translation>{name} 是試算表；請在製作它的程式中將工作表另存為 CSV 後再附加。</translation>
    </message>
    <message>
        <source>{name} is an archive; unpack it and attach the files that matter.</source>
        <translation>{name} 是壓縮檔；請解壓縮後附加需要的檔案。</translation>
    </message>
    <message>
        <source>{name} is damaged: {part!r} is not one of its folders; export it again.</source>
        <translation>{name} 已損毀：{part!r} 不是它的資料夾；請重新匯出。</translation>
    </message>
    <message>
        <source>{name} is no text that can be read; attach text, Markdown, code, a web page, a notebook, .docx, EPUB or PDF, or save it as one of these first.</source>
        <translation>{name} 不是可讀取的文字；請附加文字、Markdown、程式碼、網頁、筆記本、.docx、EPUB 或 PDF，或先另存為其中一種。</translation>
    </message>
    <message>
        <source>{name} is not known to limit thinking: leave out the thinking budget, or choose a model of this computer.</source>
        <translation>不清楚 {name} 能否限制思考長度：請不要設定思考上限，或選擇本機上的模型。</translation>
    </message>
    <message>
        <source>{name} is not what its source is: it chooses among {found} tokens, and its source among {rows}. Name the source that it was made from, or export it again.</source>
        <translation>{name} 與其來源不同：它在 {found} 個 token 中選擇，而來源在 {rows} 個中選擇。請指定匯出它時所用的來源，或重新匯出。</translation>
    </message>
    <message>
        <source>{name} is not what its source is: they differ by {found} nats a token (KL) and not by {before} as when it was exported. Name the source that it was made from, or export it again.</source>
        <translation>{name} 與其來源不同：兩者每個 token 相差 {found} nat（KL），而匯出時相差 {before}。請指定匯出它時所用的來源，或重新匯出。</translation>
    </message>
    <message>
        <source>{name} is one of {count} parts of a model, and {missing} is not beside it; put all parts into one folder.</source>
        <translation>{name} 是某模型 {count} 個部分之一，但旁邊沒有 {missing}；請將所有部分放入同一資料夾。</translation>
    </message>
    <message>
        <source>{name} is one of {count} parts of a model, but its name does not say so; the names of the parts must end in -00001-of-{last}.gguf and so on.</source>
        <translation>{name} 是某模型 {count} 個部分之一，但其名稱未體現這一點；各部分的名稱必須以 -00001-of-{last}.gguf 等結尾。</translation>
    </message>
    <message>
        <source>{name} makes vectors in steps that cannot be done here ({kinds}); choose a model of a transformer and a pooling.</source>
        <translation>{name} 產生向量的某些步驟在這裡無法執行（{kinds}）；請選擇由 Transformer 和池化組成的模型。</translation>
    </message>
    <message>
        <source>{name} pools its tokens in a way that cannot be done here ({how}); choose a model that takes their mean, the first or the last.</source>
        <translation>{name} 合併 token 的方式在這裡無法執行（{how}）；請選擇取平均值、第一個或最後一個 token 的模型。</translation>
    </message>
    <message>
        <source>{name} says that {key} is {index}, but its vocabulary has no such token; take another file of the model.</source>
        <translation>{name} 中的 {key} 為 {index}，但其詞表中沒有這個 token；請使用該模型的其他檔案。</translation>
    </message>
    <message>
        <source>{name} says {key} = {value}, which changes what the model computes and is not known here; take another file of the model, or its Hugging Face folder.</source>
        <translation>{name} 中寫有 {key} = {value}，它會改變模型的計算，而這裡不支援它；請使用該模型的另一個檔案，或其 Hugging Face 資料夾。</translation>
    </message>
    <message>
        <source>{name} thinks although it was asked not to: its model has no switch for that, or another one.</source>
        <translation>{name} 仍在思考，儘管要求它不要思考：它的模型沒有這個開關，或開關不同。</translation>
    </message>
    <message>
        <source>{name} turns texts into vectors: it writes nothing, and is no part of a pair.</source>
        <translation>{name} 把文字轉換為向量：它不寫文字，也不能作為一對模型的一部分。</translation>
    </message>
    <message>
        <source>{name} wants words of its own before each text, which cannot be done here; choose another model.</source>
        <translation>{name} 要求在每段文字前加上它自己的詞語，這裡無法做到；請選擇其他模型。</translation>
    </message>
    <message>
        <source>{name} was exported with {made}; name the same with --adapter.</source>
        <translation>{name} 匯出時使用了 {made}；請指定同一個適配器。</translation>
    </message>
    <message>
        <source>{name} writes nothing, so no adapter can be merged into it.</source>
        <translation>{name} 不產生文字，因此無法將適配器合併到其中。</translation>
    </message>
    <message>
        <source>{path} cannot be read ({error}); fetch it again.</source>
        <translation>無法讀取 {path}（{error}）；請重新取得。</translation>
    </message>
    <message>
        <source>{path} cannot be read ({reason}); make it readable for you.</source>
        <translation>無法讀取 {path}（{reason}）；請讓您自己可以讀取它。</translation>
    </message>
    <message>
        <source>{path} holds no text that can be read, not even in pictures.</source>
        <translation>{path} 中沒有可以讀取的文字，圖片中也沒有。</translation>
    </message>
    <message>
        <source>{path} is invalid JSON ({error}); mend it there.</source>
        <translation>{path} 不是有效的 JSON（{error}）；請在其中改正。</translation>
    </message>
    <message>
        <source>{path} names no server: it needs an object “mcpServers” with one entry each.</source>
        <translation>{path} 沒有寫明任何伺服器：它需要一個「mcpServers」物件，每個伺服器一項。</translation>
    </message>
    <message>
        <source>The model cannot write answers with OpenVINO ({reason}).</source>
        <translation>該模型無法用 OpenVINO 寫出回答（{reason}）。</translation>
    </message>
    <message>
        <source>A benchmark times Headstart&apos;s own engine, and OpenVINO GenAI beside it: load the model on a CPU, and run it again.</source>
        <translation>基準測試測量 Headstart 自己的引擎，並與 OpenVINO GenAI 比較：請在 CPU 上載入模型，然後重新執行。</translation>
    </message>
    <message>
        <source>The key in {place} must be letters, digits and signs without a space.</source>
        <translation>{place} 中的金鑰只能由字母、數字和符號組成，不能有空格。</translation>
    </message>
    <message>
        <source>The model has no token {id}: leave it out of the prompt.</source>
        <translation>模型沒有 token {id}：請從提示中去掉它。</translation>
    </message>
    <message>
        <source>The model has no token {id}: leave out its bias.</source>
        <translation>模型沒有 token {id}：請去掉它的偏置。</translation>
    </message>
    <message>
        <source>Hugging Face cannot be reached</source>
        <translation>無法連線到 Hugging Face</translation>
    </message>
    <message>
        <source>--from belongs to the recipe of one model, which {source!r} is not; of a pair, name both files: `headstart-export FILE --draft FILE`.</source>
        <translation>用檔案代替下載只適用於單一模型的配方，而 {source!r} 不是；對於一對模型，請選擇兩個檔案。</translation>
    </message>
    <message>
        <source>A project needs a name; type one.</source>
        <translation>專案需要名稱；請輸入一個。</translation>
    </message>
    <message>
        <source>A vector of the exported {name} points elsewhere than that of its source (cosine {agreement}); choose a higher precision.</source>
        <translation>匯出的 {name} 的一個向量與來源的方向不同（餘弦 {agreement}）；請選擇更高的精度。</translation>
    </message>
    <message>
        <source>Another answer was begun meanwhile; continue this one when that has ended.</source>
        <translation>其間另一個回答已經開始；請在它結束後繼續這個回答。</translation>
    </message>
    <message>
        <source>The chat history in {path} cannot be used ({reason}); see that its disk is there and has room, then try again: everything saved before is still there.</source>
        <translation>無法使用 {path} 中的聊天記錄（{reason}）；請確認其磁碟可用且有剩餘空間，然後重試：之前儲存的內容都還在。</translation>
    </message>
    <message>
        <source>The chat history {path} is damaged, and nothing of it can be read; restore a backup.</source>
        <translation>對話記錄 {path} 已損毀，且其中的內容都無法讀取；請還原一個備份。</translation>
    </message>
    <message>
        <source>The chat history {path} is damaged; start Headstart again: it saves everything that can be read.</source>
        <translation>對話記錄 {path} 已損毀；請重新啟動 Headstart，它會儲存所有能讀取的內容。</translation>
    </message>
    <message>
        <source>The converted model gives other results {fault}, so it is not used; choose another one.</source>
        <translation>轉換後的模型{fault}得出不同的結果，因此不使用它；請選擇另一個模型。</translation>
    </message>
    <message>
        <source>The head in {folder} is not one for this model ({error}).</source>
        <translation>{folder} 中的草稿頭不適合這個模型（{error}）。</translation>
    </message>
    <message>
        <source>The index of your projects&apos; folders in {path} cannot be written ({reason}); it goes on by itself once there is room and you may write there, and nothing is lost.</source>
        <translation>無法寫入 {path} 中的專案資料夾索引（{reason}）；一旦有空間並且您可以寫入，就會自動繼續，沒有遺失任何內容。</translation>
    </message>
    <message>
        <source>The tokenizer in {folder} is damaged ({reason}); export the model again.</source>
        <translation>{folder} 中的分詞器已損毀（{reason}）；請重新匯出模型。</translation>
    </message>
    <message>
        <source>The tokenizer in {folder} swallows spaces before punctuation, which would damage code; export the model again with clean_up_tokenization_spaces off.</source>
        <translation>{folder} 中的分詞器會吃掉標點前的空格，這會破壞程式碼；請關閉 clean_up_tokenization_spaces 後重新匯出模型。</translation>
    </message>
    <message>
        <source>The tokenizer in {source} cannot be loaded ({error}).</source>
        <translation>無法載入 {source} 中的分詞器（{error}）。</translation>
    </message>
    <message>
        <source>The tokenizer reads {text} otherwise once it is converted; choose another model.</source>
        <translation>分詞器轉換後對 {text} 的讀取結果不同；請選擇其他模型。</translation>
    </message>
    <message>
        <source>The tokenizer rebuilt from {name} turns {text!r} into {back!r}; use the model&apos;s Hugging Face folder or hub id instead.</source>
        <translation>由 {name} 重建的分詞器將 {text!r} 變成了 {back!r}；請改用該模型的 Hugging Face 資料夾或 hub ID。</translation>
    </message>
    <message>
        <source>The weights in {folder} are compressed already; use the original model: it is then compressed once, and the loss is measured.</source>
        <translation>{folder} 中的權重已經壓縮過；請使用原始模型：這樣只壓縮一次，並會測量損失。</translation>
    </message>
    <message>
        <source>The weights in {head} cannot be loaded ({error}).</source>
        <translation>無法載入 {head} 中的權重（{error}）。</translation>
    </message>
    <message>
        <source>The weights in {source} cannot be loaded ({error}).</source>
        <translation>無法載入 {source} 中的權重（{error}）。</translation>
    </message>
    <message>
        <source>The weights should have become {asked}, but the converted model says {weights}; nothing was kept. Please report this with the versions of nncf and openvino.</source>
        <translation>權重本應變為 {asked}，但轉換後的模型卻是 {weights}；未保留任何內容。請連同 nncf 和 openvino 的版本一起回報此問題。</translation>
    </message>
    <message>
        <source>There already is a project “{kept}”; choose another name.</source>
        <translation>已有專案「{kept}」；請換一個名稱。</translation>
    </message>
    <message>
        <source>There already is a tag “{kept}”; choose another name.</source>
        <translation>已有標籤「{kept}」；請換一個名稱。</translation>
    </message>
    <message>
        <source>There is no device {device} here; present: {here}. Choose one with {option}.</source>
        <translation>這台電腦上沒有裝置 {device}；現有裝置：{here}。請用{option}選擇其中之一。</translation>
    </message>
    <message>
        <source>There is no file or folder {source}; check the path.</source>
        <translation>沒有檔案或資料夾 {source}；請檢查路徑。</translation>
    </message>
    <message>
        <source>There is no model recipe {name!r}; there are {names}.</source>
        <translation>沒有模型配方 {name!r}；可用的有 {names}。</translation>
    </message>
    <message>
        <source>There is no model {name!r}: none is installed yet; run {command} to get a small one.</source>
        <translation>沒有模型 {name!r}：尚未安裝任何模型；請在模型頁面新增一個。</translation>
    </message>
    <message>
        <source>There is no model {name!r}; installed are {names}.</source>
        <translation>沒有模型 {name!r}；已安裝的有 {names}。</translation>
    </message>
    <message>
        <source>There is no project “{name}” any more; make a new one.</source>
        <translation>專案「{name}」已不存在；請新增一個。</translation>
    </message>
    <message>
        <source>There is no server {name!r}; {there}. Add it with {command}.</source>
        <translation>沒有伺服器 {name!r}；{there}。請在模型頁面加入。</translation>
    </message>
    <message>
        <source>There is no such API at {url}{in_brackets}; check the address of {name}: it often ends in /v1.</source>
        <translation>{url}{in_brackets} 處沒有這樣的 API；請檢查 {name} 的位址：通常以 /v1 結尾。</translation>
    </message>
    <message>
        <source>There is no tag “{name}” any more; make a new one.</source>
        <translation>標籤「{name}」已不存在；請新增標籤。</translation>
    </message>
    <message>
        <source>This chat no longer exists in the history; start a new one.</source>
        <translation>歷程記錄中已沒有此對話；請新增對話。</translation>
    </message>
    <message>
        <source>This is not the passphrase of the chat history; try again, and mind capitals and the keyboard&apos;s language.</source>
        <translation>這不是聊天歷程記錄的通關片語；請再試一次，並留意大小寫和鍵盤語言。</translation>
    </message>
    <message>
        <source>This model has no tokens that mark a gap in a text: leave out the suffix, or use a model for code such as qwen2.5-coder.</source>
        <translation>此模型沒有標記文字空缺的 token：請去掉後綴，或使用 qwen2.5-coder 等程式碼模型。</translation>
    </message>
    <message>
        <source>This tokenizer cannot be converted to OpenVINO ({error}).</source>
        <translation>無法將此分詞器轉換為 OpenVINO（{error}）。</translation>
    </message>
    <message>
        <source>To check a passphrase takes {memory} MiB of memory; close other programs and try again.</source>
        <translation>核對通關片語需要 {memory} MiB 記憶體；請關閉其他程式後再試一次。</translation>
    </message>
    <message>
        <source>To guess a fixed number ahead, set the guesses per step (1 to 16), or use automatic.</source>
        <translation>要固定預先猜測的數量，請將每步猜測數設為 1 至 16，或改用自動。</translation>
    </message>
    <message>
        <source>Tuning needs {least} seconds at least, not {seconds}.</source>
        <translation>調校至少需要 {least} 秒，而非 {seconds} 秒。</translation>
    </message>
    <message>
        <source>With an NPU, model and draft run on it together: leave out --draft-device.</source>
        <translation>使用 NPU 時，模型與草稿模型一起在其上執行：請將草稿模型的裝置改為自動。</translation>
    </message>
    <message>
        <source>a chat has no list of messages</source>
        <translation>有一個對話沒有訊息清單</translation>
    </message>
    <message>
        <source>a message in it is not as it should be ({error})</source>
        <translation>其中有一則訊息不符合要求（{error}）</translation>
    </message>
    <message>
        <source>a smaller context</source>
        <translation>更小的上下文</translation>
    </message>
    <message>
        <source>a smaller context ({fitting} tokens would fit)</source>
        <translation>更小的上下文（{fitting} 個 token 可以容納）</translation>
    </message>
    <message>
        <source>a smaller context ({fitting} tokens would fit, {more} with a cache precision of 8 bits)</source>
        <translation>更小的上下文（{fitting} 個 token 可以容納；快取精度設為 8 位元時為 {more} 個）</translation>
    </message>
    <message>
        <source>a smaller draft or none</source>
        <translation>更小的草稿模型或不用草稿模型</translation>
    </message>
    <message>
        <source>a text in it has more than {most_characters:,} characters</source>
        <translation>其中有一段文字超過 {most_characters:,} 個字元</translation>
    </message>
    <message>
        <source>ask again, or use --device CPU</source>
        <translation>重新提問，或將裝置改為 CPU</translation>
    </message>
    <message>
        <source>ask again, or use --engine headstart</source>
        <translation>重新提問，或將引擎改為 Headstart</translation>
    </message>
    <message>
        <source>cannot be read ({error})</source>
        <translation>無法讀取：{error}</translation>
    </message>
    <message>
        <source>chats</source>
        <translation>對話</translation>
    </message>
    <message>
        <source>config.json in {folder} names another file for the weights ({elsewhere_key}), which is refused: they must be in {single_file} or in the files that {index_file} lists.</source>
        <translation>{folder} 中的 config.json 指定了另一個權重檔案（{elsewhere_key}），已拒絕：權重必須位於 {single_file} 或 {index_file} 所列的檔案中。</translation>
    </message>
    <message>
        <source>config.json in {source} cannot be used ({error}).</source>
        <translation>無法使用 {source} 中的 config.json（{error}）。</translation>
    </message>
    <message>
        <source>config.json of {name} does not say how many tokens it reads.</source>
        <translation>{name} 的 config.json 沒有說明它能讀取多少個 token。</translation>
    </message>
    <message>
        <source>draft {draft} does not fit {target}: {difference}; choose a draft with the same tokenizer.</source>
        <translation>草稿模型 {draft} 與 {target} 不相容：{difference}；請選擇分詞器相同的草稿模型。</translation>
    </message>
    <message>
        <source>host must be an address such as {example}, not {host!r}.</source>
        <translation>主機必須是 {example} 這樣的位址，而不是 {host!r}。</translation>
    </message>
    <message>
        <source>id {id} is {first} here and {second} there</source>
        <translation>ID {id} 在此處為 {first}，在彼處為 {second}</translation>
    </message>
    <message>
        <source>is damaged ({error})</source>
        <translation>已損毀（{error}）</translation>
    </message>
    <message>
        <source>is not a list of token ids</source>
        <translation>不是 token ID 清單</translation>
    </message>
    <message>
        <source>is not in the hub&apos;s cache and the network is switched off</source>
        <translation>不在 hub 的快取中，且網路已關閉</translation>
    </message>
    <message>
        <source>is not on the hub</source>
        <translation>不在 hub 上</translation>
    </message>
    <message>
        <source>it could not be tried</source>
        <translation>無法試用</translation>
    </message>
    <message>
        <source>it ended the process that tried it ({ending})</source>
        <translation>試用它的行程因此終止（{ending}）</translation>
    </message>
    <message>
        <source>it gave no sign for {patience:.0f} seconds</source>
        <translation>{patience:.0f} 秒沒有任何回應</translation>
    </message>
    <message>
        <source>it gave results that are not numbers</source>
        <translation>計算結果不是有效數字</translation>
    </message>
    <message>
        <source>it has no list of chats</source>
        <translation>其中沒有對話清單</translation>
    </message>
    <message>
        <source>it has version {found!r} of the format and only {version} is known</source>
        <translation>其格式版本為 {found!r}，而此處只支援 {version}</translation>
    </message>
    <message>
        <source>it has {count:,} {what} and at most {most:,} are read</source>
        <translation>其中{what}有 {count:,} 個，而最多讀取 {most:,} 個</translation>
    </message>
    <message>
        <source>it has {size:,} MB and at most {most_bytes} MB are read</source>
        <translation>它有 {size:,} MB，而最多只能讀取 {most_bytes} MB</translation>
    </message>
    <message>
        <source>it is not JSON ({error})</source>
        <translation>它不是 JSON（{error}）</translation>
    </message>
    <message>
        <source>it is not UTF-8 text</source>
        <translation>它不是 UTF-8 文字</translation>
    </message>
    <message>
        <source>it took more than {minutes} min</source>
        <translation>用時超過 {minutes} 分鐘</translation>
    </message>
    <message>
        <source>its parts are nested too deeply</source>
        <translation>其內容巢狀過深</translation>
    </message>
    <message>
        <source>known are {names}</source>
        <translation>已知的有 {names}</translation>
    </message>
    <message>
        <source>load the model with a smaller --context</source>
        <translation>調低上下文後重新載入模型</translation>
    </message>
    <message>
        <source>loading the model</source>
        <translation>載入模型</translation>
    </message>
    <message>
        <source>may change</source>
        <translation>可能會變更內容</translation>
    </message>
    <message>
        <source>may change and delete</source>
        <translation>可能會變更和刪除內容</translation>
    </message>
    <message>
        <source>may change and use the network</source>
        <translation>可能會變更內容並使用網路</translation>
    </message>
    <message>
        <source>may change, delete and use the network</source>
        <translation>可能會變更、刪除內容並使用網路</translation>
    </message>
    <message>
        <source>measuring</source>
        <translation>測量</translation>
    </message>
    <message>
        <source>message {message_id} does not follow its parent or stands twice</source>
        <translation>訊息 {message_id} 不在其上層之後，或出現了兩次</translation>
    </message>
    <message>
        <source>messages in one chat</source>
        <translation>單一對話的訊息</translation>
    </message>
    <message>
        <source>names a token outside the model&apos;s {logit_rows}</source>
        <translation>包含超出該模型 {logit_rows} 個 token 的項目</translation>
    </message>
    <message>
        <source>names a token twice</source>
        <translation>有重複的 token</translation>
    </message>
    <message>
        <source>no answer in time</source>
        <translation>未及時回應</translation>
    </message>
    <message>
        <source>none is known yet</source>
        <translation>目前沒有已知的伺服器</translation>
    </message>
    <message>
        <source>nothing</source>
        <translation>無</translation>
    </message>
    <message>
        <source>only reads</source>
        <translation>只讀取</translation>
    </message>
    <message>
        <source>only reads, perhaps from the network</source>
        <translation>只讀取，可能從網路讀取</translation>
    </message>
    <message>
        <source>reading the message</source>
        <translation>讀取訊息</translation>
    </message>
    <message>
        <source>results differ from exact ones by {divergence:.3g} nats, more than {limit:.3g}</source>
        <translation>結果與精確值相差 {divergence:.3g} nat，超過 {limit:.3g}</translation>
    </message>
    <message>
        <source>servers.{name} must be a table of texts.</source>
        <translation>servers.{name} 必須是由文字組成的表格。</translation>
    </message>
    <message>
        <source>starting</source>
        <translation>啟動</translation>
    </message>
    <message>
        <source>the connection is refused</source>
        <translation>連線被拒絕</translation>
    </message>
    <message>
        <source>the device refuses it ({reason})</source>
        <translation>裝置拒絕使用它（{reason}）</translation>
    </message>
    <message>
        <source>there is no chat in it</source>
        <translation>其中沒有對話</translation>
    </message>
    <message>
        <source>use --device CPU</source>
        <translation>將裝置改為 CPU</translation>
    </message>
    <message>
        <source>use --engine headstart</source>
        <translation>將引擎改為 Headstart</translation>
    </message>
    <message>
        <source>was built for another vocabulary than that of {name}</source>
        <translation>是為與 {name} 不同的詞彙表產生的</translation>
    </message>
    <message>
        <source>writing the answer</source>
        <translation>撰寫回答</translation>
    </message>
    <message>
        <source>{broken} of {found} results are not numbers</source>
        <translation>{broken} / {found} 個結果不是有效數字</translation>
    </message>
    <message>
        <source>{device} has {size}</source>
        <translation>{device} 只有 {size}</translation>
    </message>
    <message>
        <source>{device} refuses {name} ({reason}). Try --device CPU.</source>
        <translation>{device} 無法執行 {name}（{reason}）。請將裝置改為 CPU 再試。</translation>
    </message>
    <message>
        <source>{draft} cannot draft for {target}: id {id} is {first} in {target} but {second} in {draft}; choose a draft with the same vocabulary.</source>
        <translation>{draft} 不能作為 {target} 的草稿模型：ID {id} 在 {target} 中為 {first}，在 {draft} 中為 {second}；請選擇詞彙表相同的草稿模型。</translation>
    </message>
    <message>
        <source>{fault} Export the model again.</source>
        <translation>{fault} 請重新匯出該模型。</translation>
    </message>
    <message>
        <source>{file} cannot be read ({error}); name a file of keys.</source>
        <translation>無法讀取 {file}（{error}）；請指定一個金鑰檔案。</translation>
    </message>
    <message>
        <source>{file} has no key: write one on each line.</source>
        <translation>{file} 中沒有金鑰：請每行寫一個。</translation>
    </message>
    <message>
        <source>{file} is not a safetensors file that can be read; fetch it again.</source>
        <translation>{file} 不是可讀取的 safetensors 檔案；請重新取得。</translation>
    </message>
    <message>
        <source>{folder} cannot be copied to {root} ({strerror}); nothing was kept.</source>
        <translation>無法將 {folder} 複製到 {root}（{strerror}）；沒有保留任何內容。</translation>
    </message>
    <message>
        <source>{folder} cannot be loaded ({reason}). Export it again with {command}.</source>
        <translation>無法載入 {folder}（{reason}）。請在模型頁面重新匯出。</translation>
    </message>
    <message>
        <source>{folder} cannot be written to ({strerror}); choose another --output.</source>
        <translation>無法寫入 {folder}（{strerror}）；請為自己開啟該資料夾的寫入權限。</translation>
    </message>
    <message>
        <source>{folder} has its weights only as a pickle ({pickle}), and loading a pickle can run any code; use a version of the model with .safetensors files or a .gguf file.</source>
        <translation>{folder} 的權重只有 pickle 形式（{pickle}），而載入 pickle 可能會執行任意程式碼；請使用帶有 .safetensors 檔案的版本或 .gguf 檔案。</translation>
    </message>
    <message>
        <source>{folder} has no config.json, so it is not a Hugging Face model folder.</source>
        <translation>{folder} 中沒有 config.json，因此不是 Hugging Face 模型資料夾。</translation>
    </message>
    <message>
        <source>{folder} holds a pair; name its {target_folder} or {draft_folder} folder instead.</source>
        <translation>{folder} 中是模型組合；請改用其中的 {target_folder} 或 {draft_folder} 資料夾。</translation>
    </message>
    <message>
        <source>{folder} holds neither {single_file} nor {index_file}; name the folder of the original model.</source>
        <translation>{folder} 中既沒有 {single_file} 也沒有 {index_file}；請指定原始模型的資料夾。</translation>
    </message>
    <message>
        <source>{folder} is installed already; it lies in the folder of the models.</source>
        <translation>{folder} 已安裝；它就在模型資料夾中。</translation>
    </message>
    <message>
        <source>{folder} is not a Headstart model: {file_name} is missing; export it with `headstart models add`.</source>
        <translation>{folder} 不是 Headstart 模型：缺少 {file_name}；請在模型頁面匯出。</translation>
    </message>
    <message>
        <source>{folder} lacks {names}; export the model again.</source>
        <translation>{folder} 缺少 {names}；請重新匯出模型。</translation>
    </message>
    <message>
        <source>{folder} needs {wanted} of disk space at {root}, but only {free} is free; make room and add it again.</source>
        <translation>{folder} 需要 {wanted} 磁碟空間（位於 {root}），但只剩 {free} 可用；請清出空間後重新新增。</translation>
    </message>
    <message>
        <source>{folder} wants to run Python code of its own ({code_key} in {path}), which is refused; if you have read that code and trust it, add --trust-remote-code.</source>
        <translation>{folder} 要執行自帶的 Python 程式碼（{code_key}，位於 {path}），已被拒絕；請選擇其他模型。</translation>
    </message>
    <message>
        <source>{free} is free</source>
        <translation>可用記憶體為 {free}</translation>
    </message>
    <message>
        <source>{head} cannot guess for {target}: it was made for a {measure} of {second}, but {target} has {first}; choose the EAGLE-3 head that was made for this model.</source>
        <translation>{head} 不能為 {target} 猜測：它適用於 {measure} 為 {second} 的模型，而 {target} 為 {first}；請選擇為此模型製作的 EAGLE-3 草稿頭。</translation>
    </message>
    <message>
        <source>{head} is an EAGLE-3 head of a kind that cannot be converted ({model_type}, {num_hidden_layers} layers); choose one of a single Llama layer.</source>
        <translation>{head} 是無法轉換的 EAGLE-3 草稿頭（{model_type}，{num_hidden_layers} 層）；請選擇只有一個 Llama 層的草稿頭。</translation>
    </message>
    <message>
        <source>{host} can be reached from other computers: add --allow-network if that is what you want, or leave out --host to stay on this one.</source>
        <translation>其他電腦可以存取 {host}：請允許網路存取，或使用本機位址。</translation>
    </message>
    <message>
        <source>{host} port {port} cannot be used ({strerror}): choose others with --host and --port.</source>
        <translation>無法使用 {host} 的連接埠 {port}（{strerror}）：請選擇其他連接埠。</translation>
    </message>
    <message>
        <source>{index} in {folder} does not say where the weights are; fetch it again.</source>
        <translation>{folder} 中的 {index} 沒有說明權重的位置；請重新取得。</translation>
    </message>
    <message>
        <source>{listing}; {part}</source>
        <translation>{listing}；{part}</translation>
    </message>
    <message>
        <source>{model} computes a little differently here when it reads several tokens at once: where two words are almost equally likely, guesses may change which one you get.</source>
        <translation>{model} 在這裡一次讀取多個 token 時，計算結果略有不同：當兩個詞的可能性幾乎相同時，猜測可能改變最終出現的詞。</translation>
    </message>
    <message>
        <source>{model} does not run in {name} here, as {why}; it runs in {instead}.</source>
        <translation>{model} 在此處不能以 {name} 執行（{why}）；已改用 {instead}。</translation>
    </message>
    <message>
        <source>{name} and the source are not both a pair; name the recipe of the pair, or its two sources with --against and --draft.</source>
        <translation>{name} 和來源並非都是一對模型；請指定該對模型的配方，或它的兩個來源。</translation>
    </message>
    <message>
        <source>{name} broke off the answer ({detail}); ask again, or look into the log of that server.</source>
        <translation>{name} 中斷了回答（{detail}）；請重新提問，或查看該伺服器的記錄。</translation>
    </message>
    <message>
        <source>{name} cannot be converted ({error}).</source>
        <translation>無法轉換 {name}（{error}）。</translation>
    </message>
    <message>
        <source>{name} cannot be opened ({reason}); see that you may read it and that no other program keeps it.</source>
        <translation>無法開啟 {name}（{reason}）；請確認您有權讀取它，且沒有其他程式佔用它。</translation>
    </message>
    <message>
        <source>{name} cannot be reached at {url} ({detail}); check that the server runs there and that this computer has a network.</source>
        <translation>無法連線至 {name}，位址為 {url}（{detail}）；請確認伺服器正在執行，且這台電腦已連上網路。</translation>
    </message>
    <message>
        <source>{name} does not count tokens beforehand; ask, and it says what is too long.</source>
        <translation>{name} 不會預先計算 token；請直接提問，過長時它會告知。</translation>
    </message>
    <message>
        <source>{name} does not have the content it was exported with</source>
        <translation>{name} 的內容與匯出時不同</translation>
    </message>
    <message>
        <source>{name} does not know the model {model!r}{in_brackets}; {command} lists what it has.</source>
        <translation>{name} 沒有模型 {model!r}{in_brackets}；請重新加入該伺服器，並將模型填為它所具有的一個。</translation>
    </message>
    <message>
        <source>{name} does not say how a text becomes a vector ({file} is missing); choose a model for sentence-transformers.</source>
        <translation>{name} 沒有說明如何把文字變成向量（缺少 {file}）；請選擇用於 sentence-transformers 的模型。</translation>
    </message>
    <message>
        <source>{name} does not speak TLS as expected at {url} ({reason}); check the port, or whether the address begins with http://.</source>
        <translation>{name} 在 {url} 處未如預期使用 TLS（{reason}）；請檢查連接埠，或位址是否應以 http:// 開頭。</translation>
    </message>
    <message>
        <source>{name} does not take this request (status {status}{after_comma}); change what it names.</source>
        <translation>{name} 不接受此要求（狀態 {status}{after_comma}）；請更改其中指出的內容。</translation>
    </message>
    <message>
        <source>{name} does not list its models at {url}/models; check the address (it often ends in /v1), or name a model: remote:{name}/MODEL.</source>
        <translation>{name} 在 {url}/models 處沒有列出模型；請檢查位址（通常以 /v1 結尾），或重新加入 {name} 並填寫模型名稱。</translation>
    </message>
    <message>
        <source>The settings cannot be saved in {path} ({strerror}); see that you may read it and write there, and try again.</source>
        <translation>設定無法儲存到 {path}（{strerror}）；請確認您可以讀取它並在那裡寫入，然後重試。</translation>
    </message>
    <message>
        <source>{name} failed (status {status}{after_comma}); try again, or look into that server&apos;s log.</source>
        <translation>{name} 發生錯誤（狀態 {status}{after_comma}）；請重試，或查看該伺服器的記錄。</translation>
    </message>
    <message>
        <source>{name} gave results that are not numbers in {was}; it goes on in {now}.</source>
        <translation>{name} 以 {was} 計算的結果不是有效數字；已改用 {now} 繼續。</translation>
    </message>
    <message>
        <source>{name} gave results that are not numbers; load it again, in another precision.</source>
        <translation>{name} 的計算結果不是有效數字；請換一種精度重新載入。</translation>
    </message>
    <message>
        <source>{name} has a tokenizer of the kind {model!r}, which cannot be rebuilt faithfully from a GGUF file; use the model&apos;s Hugging Face folder or hub id instead.</source>
        <translation>{name} 的分詞器類型為 {model!r}，無法由 GGUF 檔案準確重建；請改用該模型的 Hugging Face 資料夾或 hub ID。</translation>
    </message>
    <message>
        <source>{name} has moved to {target}; if you trust that, add it again with that address.</source>
        <translation>{name} 已遷移到 {target}；如果您信任該位址，請用它重新加入。</translation>
    </message>
    <message>
        <source>{name} has no chat template, so it cannot hold a conversation; export the instruct or chat version of this model.</source>
        <translation>{name} 沒有對話範本，因此無法進行對話；請匯出此模型的 instruct 或 chat 版本。</translation>
    </message>
    <message>
        <source>{name} has no model {wanted!r}; it has {names}.</source>
        <translation>{name} 沒有模型 {wanted!r}；它有 {names}。</translation>
    </message>
    <message>
        <source>{name} has sent nothing for {seconds} s in the middle of the answer; what came of it is kept: continue it, or ask again.</source>
        <translation>{name} 在回答途中已有 {seconds} 秒未傳送任何內容；已收到的部分已保留：請繼續生成，或重新提問。</translation>
    </message>
    <message>
        <source>{name} has these models: {names}; name one of them: remote:{name}/MODEL.</source>
        <translation>{name} 有這些模型：{names}；請重新加入 {name} 並將模型填為其中之一。</translation>
    </message>
    <message>
        <source>{name} has {length:.1f} MB of text, and {largest:.0f} MB is the most; attach a part of it.</source>
        <translation>{name} 有 {length:.1f} MB 文字，而最多為 {largest:.0f} MB；請附加其中一部分。</translation>
    </message>
    <message>
        <source>{name} has {present} bytes instead of {wanted}</source>
        <translation>{name} 有 {present} 位元組，應為 {wanted} 位元組</translation>
    </message>
    <message>
        <source>{name} holds no text; if it is a scan, get PP-OCRv6 on the page of models: it reads text in pictures.</source>
        <translation>{name} 沒有文字；如果是掃描檔，請在模型頁面取得 PP-OCRv6，它能辨識圖片中的文字。</translation>
    </message>
    <message>
        <source>{name} is a mail of a kind that cannot be read here; save it as .eml.</source>
        <translation>{name} 是這裡無法讀取的郵件格式；請另存為 .eml。</translation>
    </message>
    <message>
        <source>{name} is a pair; name one model of it as the draft: {draft}.</source>
        <translation>{name} 是模型組合；請指定其中一個模型作為草稿模型：{draft}。</translation>
    </message>
    <message>
        <source>{name} is a picture that cannot be read here; save it as PNG or JPEG, and attach that.</source>
        <translation>{name} 是無法在此讀取的圖片；請將其儲存為 PNG 或 JPEG，然後附加。</translation>
    </message>
    <message>
        <source>{name} is a picture, and no model that reads text in pictures is installed; get PP-OCRv6 on the page of models (`headstart models add pp-ocrv6`), then attach it again.</source>
        <translation>{name} 是圖片，而沒有安裝辨識圖片文字的模型；請在模型頁面取得 PP-OCRv6，然後重新附加。</translation>
    </message>
    <message>
        <source>{name} is a recording of a kind that cannot be read here; save it as WAV, MP3, FLAC, Ogg or Opus, and attach that.</source>
        <translation>{name} 是無法在此讀取的錄音類型；請將其儲存為 WAV、MP3、FLAC、Ogg 或 Opus，然後附加。</translation>
    </message>
    <message>
        <source>{name} is a recording, and no model that writes down speech is installed; get Whisper on the page of models (`headstart models add whisper-base`), then attach it again.</source>
        <translation>{name} 是錄音，而沒有安裝把語音寫成文字的模型；請在模型頁面取得 Whisper，然後重新附加。</translation>
    </message>
    <message>
        <source>{name} is an image of a kind that cannot be read here; save it as PNG or JPEG, and attach that.</source>
        <translation>{name} 是無法在此讀取的圖片類型；請將其儲存為 PNG 或 JPEG，然後附加。</translation>
    </message>
    <message>
        <source>{name} is busy and asks you to wait; it is asked again in {seconds} s.</source>
        <translation>{name} 忙碌中，要求等待；將在 {seconds} 秒後再次請求。</translation>
    </message>
    <message>
        <source>{name} is busy{in_brackets} and asks you to wait {seconds} s; then try again.</source>
        <translation>{name} 忙碌中{in_brackets}，要求等待 {seconds} 秒；請在此之後重試。</translation>
    </message>
    <message>
        <source>{name} is busy{in_brackets}; try again in a while.</source>
        <translation>{name} 忙碌中{in_brackets}；請稍後再試。</translation>
    </message>
    <message>
        <source>{name} is damaged: {faults}; export it again with {command}.</source>
        <translation>{name} 已損毀：{faults}；請在模型頁面重新匯出。</translation>
    </message>
    <message>
        <source>{name} is damaged: {names}. Export it again with {command}.</source>
        <translation>{name} 已損毀：{names}。請在模型頁面重新匯出。</translation>
    </message>
    <message>
        <source>{name} is empty; there is nothing to attach.</source>
        <translation>{name} 是空的；沒有可附加的內容。</translation>
    </message>
    <message>
        <source>{name} is longer than {hours} hours; cut it, and take the parts one after the other.</source>
        <translation>{name} 超過 {hours} 小時；請將其剪開，逐段處理。</translation>
    </message>
    <message>
        <source>{name} is missing</source>
        <translation>缺少 {name}</translation>
    </message>
    <message>
        <source>{name} is no recording that can be read here; save it as WAV, MP3, FLAC, Ogg or Opus, and take that.</source>
        <translation>{name} 不是此處能讀取的錄音；請另存為 WAV、MP3、FLAC、Ogg 或 Opus 後再用。</translation>
    </message>
    <message>
        <source>{name} is not a time</source>
        <translation>{name} 不是時間</translation>
    </message>
    <message>
        <source>{name} is on another computer and can only chat; choose a model of `headstart models`.</source>
        <translation>{name} 在另一台電腦上，只能用於聊天；請選擇這台電腦上的模型。</translation>
    </message>
    <message>
        <source>{name} is only asked to answer conversations: for a text to be written on or a grammar choose a model of this computer.</source>
        <translation>{name} 只用於回答對話：續寫文字或使用語法時，請選擇本機的模型。</translation>
    </message>
    <message>
        <source>{name} keeps the blocks of a GGUF file, which OpenVINO Model Server does not know; export it with --weights int8, and a draft with --draft-weights int8.</source>
        <translation>{name} 保留了 GGUF 檔案的區塊，OpenVINO Model Server 不認得它們；請以 INT8 權重匯出。</translation>
    </message>
    <message>
        <source>{name} lies before 1970</source>
        <translation>{name} 早於 1970 年</translation>
    </message>
    <message>
        <source>{name} merges {merge!r}, but its vocabulary does not hold that; fetch the file again.</source>
        <translation>{name} 合併了 {merge!r}，但其詞彙表中沒有；請重新取得該檔案。</translation>
    </message>
    <message>
        <source>{name} must be {allowed}, not {value}.</source>
        <translation>{name} 必須是 {allowed}，而不是 {value}。</translation>
    </message>
    <message>
        <source>{name} must have names without spaces and strokes.</source>
        <translation>{name} 中的名稱不能含有空格和斜線。</translation>
    </message>
    <message>
        <source>{name} must have names.</source>
        <translation>{name} 中必須有名稱。</translation>
    </message>
    <message>
        <source>{name} must not hold an empty text.</source>
        <translation>{name} 中不能有空白文字。</translation>
    </message>
    <message>
        <source>{name} needs the exporter, which is not set up.</source>
        <translation>{name} 需要匯出工具，而它尚未設定。</translation>
    </message>
    <message>
        <source>{name} of {source} is not the file that commit {revision} had when it was exported before; empty the hub&apos;s cache and try again, or name another --output if the new one is to be trusted.</source>
        <translation>{source} 的 {name} 與以前匯出時提交 {revision} 中的檔案不同；請清空 hub 的快取後重試，或者在信任新檔案時先移除該模型。</translation>
    </message>
    <message>
        <source>{name} reads text in pictures and cannot chat: choose another model.</source>
        <translation>{name} 用於辨識圖片中的文字，不能聊天：請選擇其他模型。</translation>
    </message>
    <message>
        <source>{name} reads {text} instead of {proof} once it is converted; choose another model.</source>
        <translation>{name} 轉換後讀出的是 {text} 而不是 {proof}；請選擇其他模型。</translation>
    </message>
    <message>
        <source>{name} refuses the key{in_brackets}; give another one with {command}.</source>
        <translation>{name} 拒絕該金鑰{in_brackets}；請換一個金鑰重新加入該伺服器。</translation>
    </message>
    <message>
        <source>{name} shows no text that can be read; describe what it shows.</source>
        <translation>{name} 中沒有可以辨識的文字；請描述圖中的內容。</translation>
    </message>
    <message>
        <source>{name} splits its text by the rule {splitting!r}, which is not known here; known are {splittings}. Use the model&apos;s Hugging Face folder or hub id instead.</source>
        <translation>{name} 依規則 {splitting!r} 切分文字，此處不支援該規則；支援的有 {splittings}。請改用該模型的 Hugging Face 資料夾或 hub ID。</translation>
    </message>
    <message>
        <source>{name} turns texts into vectors and cannot chat: choose another model.</source>
        <translation>{name} 用於將文字轉換為向量，不能聊天：請選擇其他模型。</translation>
    </message>
    <message>
        <source>{name} wants a key{in_brackets}; give it with {command}.</source>
        <translation>{name} 需要金鑰{in_brackets}；請填寫金鑰並重新加入該伺服器。</translation>
    </message>
    <message>
        <source>{name} wants to call the tool {tool!r}, which it was not offered; what it wrote besides is kept: ask again, or turn off the tools of that server.</source>
        <translation>{name} 想呼叫未向它提供的工具 {tool!r}；它寫出的其他內容已保留：請重新提問，或關閉該伺服器的工具。</translation>
    </message>
    <message>
        <source>{name} was not checked, for the reason above.</source>
        <translation>由於上述原因，沒有檢查 {name}。</translation>
    </message>
    <message>
        <source>{name} was replaced while it was checked; run the check again.</source>
        <translation>{name} 在檢查期間被取代；請重新執行檢查。</translation>
    </message>
    <message>
        <source>{name} writes down speech and cannot chat: choose another model.</source>
        <translation>{name} 用於轉寫語音，不能聊天：請選擇其他模型。</translation>
    </message>
    <message>
        <source>{order} guesses among the tokens that it was made for: leave out --draft-vocab.</source>
        <translation>{order} 只在為其製作的 token 中猜測：不能另外指定詞彙表。</translation>
    </message>
    <message>
        <source>{order} is an EAGLE-3 head, no model by itself: name its target, and it with --draft.</source>
        <translation>{order} 是 EAGLE-3 草稿頭，本身不是模型：請在「模型」中填寫其目標模型，在「草稿模型」中填寫它。</translation>
    </message>
    <message>
        <source>{output} exists already; add --force to replace it, or choose another --output.</source>
        <translation>{output} 已存在；請先移除該模型，再重新匯出。</translation>
    </message>
    <message>
        <source>{output} exists and is not an exported model, so it is not replaced; choose another --output.</source>
        <translation>{output} 已存在且不是匯出的模型，因此不會被取代；請將其移到別處。</translation>
    </message>
    <message>
        <source>{output} is being exported already, by process {pid}; wait until that ends, or choose another --output.</source>
        <translation>{output} 正由行程 {pid} 匯出；請等待其結束。</translation>
    </message>
    <message>
        <source>{output} is in use; close what uses it and run the command again.</source>
        <translation>{output} 正在使用中；請關閉正在使用它的應用程式，然後重新匯出。</translation>
    </message>
    <message>
        <source>{package} cannot be fetched ({reason}); check the network and run it again.</source>
        <translation>無法取得 {package}（{reason}）；請檢查網路後重新匯出。</translation>
    </message>
    <message>
        <source>{package} did not arrive within {limit} minutes; run the command again to go on from here.</source>
        <translation>{package} 未能在 {limit} 分鐘內下載完成；請重新匯出，會從中斷處繼續。</translation>
    </message>
    <message>
        <source>{package} has no wheel that pip could fetch; the mirror may have changed.</source>
        <translation>{package} 沒有 pip 可取得的 wheel；鏡像可能已變更。</translation>
    </message>
    <message>
        <source>{pair} is the recipe of a pair: it names both models, so --draft does not fit.</source>
        <translation>{pair} 是成對模型的配方：它已包含兩個模型，因此請將「草稿模型」留空。</translation>
    </message>
    <message>
        <source>{path} belongs to git and is not changed here.</source>
        <translation>{path} 屬於 git，在此不會變更。</translation>
    </message>
    <message>
        <source>{path} cannot be a working folder, as Headstart&apos;s own files are there: choose a smaller one.</source>
        <translation>{path} 不能作為工作資料夾，因為其中有 Headstart 自己的檔案：請選擇更小的資料夾。</translation>
    </message>
    <message>
        <source>{path} cannot be opened ({reason}); choose another folder, or see that you may read this one.</source>
        <translation>無法開啟 {path}（{reason}）；請選擇其他資料夾，或確認您有權讀取此資料夾。</translation>
    </message>
    <message>
        <source>{path} cannot be read ({error}); export the model again.</source>
        <translation>無法讀取 {path}（{error}）；請重新匯出模型。</translation>
    </message>
    <message>
        <source>{path} cannot be read ({reason}).</source>
        <translation>無法讀取 {path}（{reason}）。</translation>
    </message>
    <message>
        <source>{path} cannot be read ({reason}); see that you may read it, and that its disk is in order.</source>
        <translation>無法讀取 {path}（{reason}）；請確認您有權讀取它，且其磁碟正常。</translation>
    </message>
    <message>
        <source>{path} cannot be read ({strerror}); choose a file that you may open.</source>
        <translation>無法讀取 {path}（{strerror}）；請選擇您有權開啟的檔案。</translation>
    </message>
    <message>
        <source>{path} cannot be used ({reason}).</source>
        <translation>無法使用 {path}（{reason}）。</translation>
    </message>
    <message>
        <source>{path} cannot be written ({reason}), so nothing was changed; make room there.</source>
        <translation>無法寫入 {path}（{reason}），因此沒有任何變更；請在那裡騰出空間。</translation>
    </message>
    <message>
        <source>{path} cannot be written ({reason}); make room there, and see that you may write there.</source>
        <translation>無法寫入 {path}（{reason}）；請在那裡騰出空間，並確認您有權寫入。</translation>
    </message>
    <message>
        <source>{path} cannot be written ({strerror}); choose another folder or make room there.</source>
        <translation>無法寫入 {path}（{strerror}）；請選擇其他資料夾，或在該處清出空間。</translation>
    </message>
    <message>
        <source>{path} has changed meanwhile: read it again.</source>
        <translation>{path} 在此期間已變更：請重新讀取。</translation>
    </message>
    <message>
        <source>{path} has changed since.</source>
        <translation>{path} 之後已變更。</translation>
    </message>
    <message>
        <source>{path} has more than {limit} bytes.</source>
        <translation>{path} 超過 {limit} 位元組。</translation>
    </message>
    <message>
        <source>{path} has no text.</source>
        <translation>{path} 沒有文字。</translation>
    </message>
    <message>
        <source>{path} in {folder} cannot be read ({error}); fetch it again.</source>
        <translation>無法讀取 {folder} 中的 {path}（{error}）；請重新取得。</translation>
    </message>
    <message>
        <source>{path} in {folder} is not what its name says; fetch it again.</source>
        <translation>{folder} 中的 {path} 與其名稱不符；請重新取得。</translation>
    </message>
    <message>
        <source>{path} is a folder: list its files.</source>
        <translation>{path} 是資料夾：請列出其中的檔案。</translation>
    </message>
    <message>
        <source>{path} is a folder; drop the files in it instead.</source>
        <translation>{path} 是資料夾；請改為拖入其中的檔案。</translation>
    </message>
    <message>
        <source>{path} is a hard link: it has another name, perhaps elsewhere.</source>
        <translation>{path} 是硬連結：它還有另一個名稱，可能在別處。</translation>
    </message>
    <message>
        <source>{path} is damaged (its added tokens); export the model again.</source>
        <translation>{path} 已損毀（附加 token 有誤）；請重新匯出模型。</translation>
    </message>
    <message>
        <source>{path} is damaged ({error}); export the model again.</source>
        <translation>{path} 已損毀（{error}）；請重新匯出模型。</translation>
    </message>
    <message>
        <source>{path} is damaged; export the model again.</source>
        <translation>{path} 已損毀；請重新匯出模型。</translation>
    </message>
    <message>
        <source>{path} is missing; export the model again.</source>
        <translation>缺少 {path}；請重新匯出模型。</translation>
    </message>
    <message>
        <source>{path} is neither a folder nor a .gguf file; name the model&apos;s folder.</source>
        <translation>{path} 既不是資料夾也不是 .gguf 檔案；請指定模型的資料夾。</translation>
    </message>
    <message>
        <source>{path} is no file.</source>
        <translation>{path} 不是檔案。</translation>
    </message>
    <message>
        <source>{path} is no folder.</source>
        <translation>{path} 不是資料夾。</translation>
    </message>
    <message>
        <source>{path} is no text in UTF-8, so it is not edited.</source>
        <translation>{path} 不是 UTF-8 文字，因此不會編輯。</translation>
    </message>
    <message>
        <source>{path} is not a GGUF file that can be used: {error}. Fetch it again.</source>
        <translation>{path} 不是可用的 GGUF 檔案：{error}。請重新取得。</translation>
    </message>
    <message>
        <source>{path} is not in the folder: name files by their paths in it.</source>
        <translation>{path} 不在該資料夾中：請用其中的路徑指定檔案。</translation>
    </message>
    <message>
        <source>{path} of --template cannot be read ({error}).</source>
        <translation>無法讀取聊天範本檔案 {path}（{error}）。</translation>
    </message>
    <message>
        <source>{path} of --template is no file; name one with a chat template.</source>
        <translation>{path} 不是檔案；請選擇一個含有聊天範本的檔案。</translation>
    </message>
    <message>
        <source>{path} was not attached: {most} files is the most for one message.</source>
        <translation>未附加 {path}：一則訊息最多可附加 {most} 個檔案。</translation>
    </message>
    <message>
        <source>{path} was written for another version of Headstart; export the model again.</source>
        <translation>{path} 是為另一版本的 Headstart 寫入的；請重新匯出模型。</translation>
    </message>
    <message>
        <source>{path} would have more than {limit} bytes.</source>
        <translation>{path} 將超過 {limit} 位元組。</translation>
    </message>
    <message>
        <source>{path} {what}; export the model again.</source>
        <translation>{path} {what}；請重新匯出模型。</translation>
    </message>
    <message>
        <source>{place} does not have the content it was exported with; copy the folder again, or export again.</source>
        <translation>{place} 的內容與匯出時不同；請重新複製該資料夾，或重新匯出。</translation>
    </message>
    <message>
        <source>{recipe} was not downloaded: {failures}. Check the network.</source>
        <translation>{recipe} 未能下載：{failures}。請檢查網路。</translation>
    </message>
    <message>
        <source>{source!r} is no recipe, no folder, no .gguf file and no hub id; did you mean {names}?</source>
        <translation>{source!r} 不是配方、資料夾、.gguf 檔案或 hub ID；是否想輸入 {names}？</translation>
    </message>
    <message>
        <source>{source!r} is no recipe, no folder, no .gguf file and no hub id; the recipes are {names}.</source>
        <translation>{source!r} 不是配方、資料夾、.gguf 檔案或 hub ID；配方有 {names}。</translation>
    </message>
    <message>
        <source>{source} asks for your consent: accept its licence on huggingface.co, and log in with `hf auth login`</source>
        <translation>{source} 需要您的同意：請在 huggingface.co 上接受其授權條款，並用 Hugging Face 的程式登入</translation>
    </message>
    <message>
        <source>{source} cannot be had from the hub ({error})</source>
        <translation>無法從 hub 取得 {source}（{error}）</translation>
    </message>
    <message>
        <source>{source} does not hold all weights of its architecture: {name} is missing or has another shape ({count} in all). Choose another version of the model.</source>
        <translation>{source} 沒有其架構的全部權重：{name} 缺少或形狀不同（共 {count} 個）。請選擇該模型的其他版本。</translation>
    </message>
    <message>
        <source>{source} has no {file_name}, which Headstart needs; use a newer version of the model.</source>
        <translation>{source} 沒有 Headstart 所需的 {file_name}；請使用該模型的較新版本。</translation>
    </message>
    <message>
        <source>{source} is the recipe of a pair and cannot be a draft; name one of its models.</source>
        <translation>{source} 是模型對的配方，不能作為草稿模型；請指定其中的一個模型。</translation>
    </message>
    <message>
        <source>{source} must be exported first, and the exporter is not installed; run: {command}</source>
        <translation>必須先匯出 {source}，而匯出工具尚未安裝。</translation>
    </message>
    <message>
        <source>{source} was not exported, for the reason above.</source>
        <translation>{source} 未匯出，原因見上。</translation>
    </message>
    <message>
        <source>{source} {reason} ({kind})</source>
        <translation>{source} {reason}（{kind}）</translation>
    </message>
    <message>
        <source>{target} and {draft}</source>
        <translation>{target} 和 {draft}</translation>
    </message>
    <message>
        <source>{target} has {num_hidden_layers} layers, but OpenVINO GenAI runs EAGLE-3 heads with models of at least {least_layers}; choose an ordinary draft.</source>
        <translation>{target} 有 {num_hidden_layers} 層，但 OpenVINO GenAI 只能為至少 {least_layers} 層的模型執行 EAGLE-3 草稿頭；請選擇一般的草稿模型。</translation>
    </message>
    <message>
        <source>{tensor} holds numbers that are not finite; fetch the file again.</source>
        <translation>{tensor} 含有非有限的數值；請重新下載該檔案。</translation>
    </message>
    <message>
        <source>{tensor} in {file} has the shape {shape} and not {expected}; choose another version of the model.</source>
        <translation>{file} 中 {tensor} 的形狀是 {shape}，而不是 {expected}；請選擇該模型的其他版本。</translation>
    </message>
    <message>
        <source>{title} is not what was expected: the joined file has the SHA-256 {found} instead of {wanted}. It was deleted; run the command again.</source>
        <translation>{title} 與預期不符：合併後的檔案的 SHA-256 為 {found}，而不是 {wanted}。已將其刪除；請重新匯出。</translation>
    </message>
    <message>
        <source>{what} ({count:,})</source>
        <translation>{what}（{count:,}）</translation>
    </message>
    <message>
        <source>{why}, in f32 too</source>
        <translation>{why}，使用 f32 時也一樣</translation>
    </message>
    <message>
        <source>{title} has a file that belongs outside its folder ({path}), so it is refused; choose another model.</source>
        <translation>{title} 中有一個檔案的位置在其資料夾之外（{path}），因此已拒絕；請選擇其他模型。</translation>
    </message>
    <message>
        <source>{title} is no zip file of a model that can be read ({error}); choose another model.</source>
        <translation>{title} 不是可以讀取的模型 zip 檔案（{error}）；請選擇其他模型。</translation>
    </message>
    <message>
        <source>The engine&apos;s line is not a message of Headstart: {excerpt}</source>
        <translation>引擎的這一行不是 Headstart 的訊息：{excerpt}</translation>
    </message>
    <message>
        <source>The index of the search is damaged; start Headstart again to rebuild it; no chat is lost.</source>
        <translation>搜尋索引已損毀；請重新啟動 Headstart 以重建索引：不會遺失任何對話。</translation>
    </message>
    <message>
        <source>The key of the chat history is damaged: put a copy of it at {path}; without it the chats cannot be read.</source>
        <translation>聊天歷程記錄的金鑰已損毀：請用它的副本取代 {path}；沒有金鑰便無法讀取對話。</translation>
    </message>
    <message>
        <source>{folder} is not a LoRA adapter ({error}); name a folder with the {settings} and {weights} that PEFT saves.</source>
        <translation>{folder} 不是 LoRA 適配器（{error}）；請指定含有 PEFT 所儲存的 {settings} 和 {weights} 的資料夾。</translation>
    </message>
    <message>
        <source>{name} in {folder} is not an ordinary file; fetch the model again.</source>
        <translation>{folder} 中的 {name} 不是一般檔案；請重新取得該模型。</translation>
    </message>
    <message>
        <source>{name} scales its positions, which is lost when a GGUF file is read; use the model&apos;s Hugging Face folder or hub id instead.</source>
        <translation>{name} 會縮放位置，而讀取 GGUF 檔案時會遺失這一點；請改用該模型的 Hugging Face 資料夾或 hub id。</translation>
    </message>
    <message>
        <source>There is no device {device} here; present: {here}. Choose one with {option}; `headstart doctor` says why a {wanted} cannot be used.</source>
        <translation>這台電腦上沒有裝置 {device}；現有裝置：{here}。請用{option}選擇其中之一。如果這台電腦有 {wanted}，則其驅動程式缺少或您無權使用。</translation>
    </message>
    <message>
        <source>files in it are not a list</source>
        <translation>其中的檔案不是清單</translation>
    </message>
    <message>
        <source>it is not an export of chats</source>
        <translation>它不是匯出的對話</translation>
    </message>
    <message>
        <source>projects in it are not a list</source>
        <translation>其中的專案不是清單</translation>
    </message>
    <message>
        <source>tags in it are not a list</source>
        <translation>其中的標籤不是清單</translation>
    </message>
    <message>
        <source>the arguments of a call in it are not a table</source>
        <translation>其中某次呼叫的參數不是表</translation>
    </message>
    <message>
        <source>{constant} in it is not a number</source>
        <translation>其中的 {constant} 不是數字</translation>
    </message>
    <message>
        <source>{file} cannot be read ({error}); `headstart serve --new-key` makes a new one.</source>
        <translation>無法讀取 {file}（{error}）；請按「新金鑰」重新產生。</translation>
    </message>
    <message>
        <source>{file} cannot be written ({strerror}); make room or correct its permissions.</source>
        <translation>無法寫入 {file}（{strerror}）；請騰出空間或更正其權限。</translation>
    </message>
    <message>
        <source>{file} is damaged; `headstart serve --new-key` makes a new one.</source>
        <translation>{file} 已損壞；請按「新金鑰」重新產生。</translation>
    </message>
    <message>
        <source>{index} in {folder} leads to {name!r}, which is not a .safetensors file of this folder; loading another can run any code, so it is refused.</source>
        <translation>{folder} 中的 {index} 指向 {name!r}，它不是此資料夾中的 .safetensors 檔案；載入其他檔案可能會執行任意程式碼，因此已拒絕。</translation>
    </message>
    <message>
        <source>{model} is damaged: {name!r} is not one of its files; export it again.</source>
        <translation>{model} 已損毀：{name!r} 不是它的檔案；請重新匯出。</translation>
    </message>
    <message>
        <source>{name!r} is not an exported model; there are {names}.</source>
        <translation>{name!r} 不是已匯出的模型；現有 {names}。</translation>
    </message>
    <message>
        <source>{name} in {folder} is missing or not an ordinary file; fetch it again.</source>
        <translation>{folder} 中的 {name} 缺少或不是一般檔案；請重新取得。</translation>
    </message>
    <message>
        <source>{path} cannot be read ({strerror}); check that it is there and that you may read it.</source>
        <translation>無法讀取 {path}（{strerror}）；請檢查它是否存在，以及您是否有權讀取它。</translation>
    </message>
    <message>
        <source>{path} has no text; there is nothing to read.</source>
        <translation>{path} 沒有文字，沒有可讀取的內容。</translation>
    </message>
    <message>
        <source>{path} has {count:,} pages, and {most_pages} is the most; use those that matter as a file of their own.</source>
        <translation>{path} 有 {count:,} 頁，而最多為 {most_pages} 頁；請將需要的頁面另存為檔案後使用。</translation>
    </message>
    <message>
        <source>{path} has {size:.0f} MB of text and markup when it is unpacked, and {largest:.0f} MB is the most; use a part of it.</source>
        <translation>{path} 解壓縮後有 {size:.0f} MB 的文字和標記，最多可為 {largest:.0f} MB；請使用其中一部分。</translation>
    </message>
    <message>
        <source>{path} has {size:.1f} MB, and {largest:.0f} MB is the most for a PDF; use a part of it.</source>
        <translation>{path} 有 {size:.1f} MB，而 PDF 最多為 {largest:.0f} MB；請使用其中一部分。</translation>
    </message>
    <message>
        <source>{path} has {size:.1f} MB, and {largest:.0f} MB is the most; use a part of it.</source>
        <translation>{path} 有 {size:.1f} MB，而最多為 {largest:.0f} MB；請使用其中一部分。</translation>
    </message>
    <message>
        <source>{path} holds pictures but no text, and no model that reads text in pictures is installed; it can be read once you get PP-OCRv6 on the page of models (`headstart models add pp-ocrv6`).</source>
        <translation>{path} 只有圖片而沒有文字，並且沒有安裝辨識圖片文字的模型；在模型頁面取得 PP-OCRv6 後即可讀取。</translation>
    </message>
    <message>
        <source>{path} holds pictures of pages but no text, as scans do, and no model that reads text in pictures is installed; it can be read once you get PP-OCRv6 on the page of models (`headstart models add pp-ocrv6`).</source>
        <translation>{path} 像掃描檔一樣只有頁面圖片而沒有文字，並且沒有安裝辨識圖片文字的模型；在模型頁面取得 PP-OCRv6 後即可讀取。</translation>
    </message>
    <message>
        <source>{path} is damaged or not what its name says; open it in the program that made it, save it again, and use that.</source>
        <translation>{path} 已損壞，或與其名稱不符；請在製作它的程式中開啟並重新儲存，然後使用新檔案。</translation>
    </message>
    <message>
        <source>{path} is damaged{where} or no PDF; open it in a PDF viewer, save it again, and use that.</source>
        <translation>{path} 已損毀{where}或不是 PDF；請用 PDF 閱讀器開啟並重新儲存，然後使用新檔案。</translation>
    </message>
    <message>
        <source>{path} is encrypted; open it with its password, save a copy without one, and use that.</source>
        <translation>{path} 已加密；請用密碼開啟它，另存一份無密碼的副本，再使用該副本。</translation>
    </message>
    <message>
        <source>{path} is protected against copying, so it cannot be read; use a copy without protection.</source>
        <translation>{path} 受防複製保護，無法讀取；請使用沒有保護的副本。</translation>
    </message>
    <message>
        <source>{path} shows letters{where}, but does not say which ones they are, so its text comes out as signs without a meaning; have its text recognised (OCR) as for a scan, then use that.</source>
        <translation>{path}{where}顯示了文字，卻沒有說明是哪些字，擷取出的只是沒有意義的符號；請像掃描檔一樣先辨識其中的文字（OCR），再使用結果。</translation>
    </message>
    <message>
        <source>{recipe} was not downloaded: {failures}. Check the name and the network. {other} needs no Hugging Face.</source>
        <translation>{recipe} 未能下載：{failures}。請檢查名稱和網路。{other} 不需要 Hugging Face。</translation>
    </message>
    <message>
        <source>{source}/{file} does not have the expected SHA-256, so it is not used. Try again, or take another model.</source>
        <translation>{source}/{file} 的 SHA-256 與預期不符，因此不會使用。請重試，或選擇其他模型。</translation>
    </message>
    <message>
        <source>{url!r} is not the address of a server; write it like https://host:8000/v1.</source>
        <translation>{url!r} 不是伺服器位址；請寫成 https://host:8000/v1 這樣的形式。</translation>
    </message>
    <message>
        <source>it has {value!r} instead of a number from {least}</source>
        <translation>{value!r} 處應為從 {least} 開始的數字</translation>
    </message>
    <message>
        <source>it has {value!r} instead of a text</source>
        <translation>{value!r} 處應為文字</translation>
    </message>
    <message>
        <source>{path} was not imported because {reason}; choose what Headstart, ChatGPT, Claude, Open WebUI, LM Studio, Jan or llama.cpp exported: a .json, .jsonl or .zip file.</source>
        <translation>未能匯入 {path}，原因是{reason}；請選擇由 Headstart、ChatGPT、Claude、Open WebUI、LM Studio、Jan 或 llama.cpp 匯出的 .json、.jsonl 或 .zip 檔案。</translation>
    </message>
    <message>
        <source>{what} in it is not a table</source>
        <translation>其中的 {what} 不是表格</translation>
    </message>
</context>
<context>
    <name>FindBar</name>
    <message>
        <source>Find in this chat</source>
        <translation>在此對話中尋找</translation>
    </message>
    <message>
        <source>Previous match</source>
        <translation>上一個相符項目</translation>
    </message>
    <message>
        <source>Next match</source>
        <translation>下一個相符項目</translation>
    </message>
    <message>
        <source>Close find</source>
        <translation>關閉尋找列</translation>
    </message>
    <message>
        <source>{} of {}</source>
        <translation>{}/{}</translation>
    </message>
    <message>
        <source>no match</source>
        <translation>沒有相符項目</translation>
    </message>
</context>
<context>
    <name>FolderBar</name>
    <message>
        <source>Details…</source>
        <translation>詳細資料…</translation>
    </message>
    <message>
        <source>Details of the working folder</source>
        <translation>工作資料夾的詳細資料</translation>
    </message>
    <message>
        <source>Take the folder back</source>
        <translation>收回資料夾</translation>
    </message>
    <message>
        <source>Works on {}</source>
        <translation>正在處理 {}</translation>
    </message>
</context>
<context>
    <name>FolderDialog</name>
    <message>
        <source>Working folder</source>
        <translation>工作資料夾</translation>
    </message>
    <message>
        <source>The model may read and change the files of one folder, and run commands there. You are asked before each step, and see each change before it is made. Nothing outside of the folder is read or changed.</source>
        <translation>模型可以讀取和變更一個資料夾中的檔案，並在其中執行命令。每一步之前都會詢問您，每項變更都會先給您看。資料夾之外的內容不會被讀取或變更。</translation>
    </message>
    <message>
        <source>Choose…</source>
        <translation>選擇…</translation>
    </message>
    <message>
        <source>Take back</source>
        <translation>收回</translation>
    </message>
    <message>
        <source>Also for new chats of the project “{}”</source>
        <translation>也用於專案「{}」中的新對話</translation>
    </message>
    <message>
        <source>Ask again</source>
        <translation>重新詢問</translation>
    </message>
    <message>
        <source>Skills</source>
        <translation>技能</translation>
    </message>
    <message>
        <source>Skill</source>
        <translation>技能</translation>
    </message>
    <message>
        <source>From</source>
        <translation>來源</translation>
    </message>
    <message>
        <source>About</source>
        <translation>說明</translation>
    </message>
    <message>
        <source>What was done</source>
        <translation>已執行的操作</translation>
    </message>
    <message>
        <source>Time</source>
        <translation>時間</translation>
    </message>
    <message>
        <source>Step</source>
        <translation>步驟</translation>
    </message>
    <message>
        <source>Result</source>
        <translation>結果</translation>
    </message>
    <message>
        <source>Undo last answer</source>
        <translation>復原上一個回答</translation>
    </message>
    <message>
        <source>Delete the record…</source>
        <translation>刪除記錄…</translation>
    </message>
    <message>
        <source>No folder</source>
        <translation>沒有資料夾</translation>
    </message>
    <message>
        <source>Commands run in bubblewrap: without a network, and with this folder alone.</source>
        <translation>命令在 bubblewrap 中執行：沒有網路，只能存取此資料夾。</translation>
    </message>
    <message>
        <source>bubblewrap is not installed or does not work here, so commands could read and change whatever you can. You are asked for each.</source>
        <translation>bubblewrap 未安裝或在此無法使用，因此命令可能讀取和變更您能存取的一切。每個命令都會詢問您。</translation>
    </message>
    <message>
        <source>reading</source>
        <translation>讀取</translation>
    </message>
    <message>
        <source>changes</source>
        <translation>變更</translation>
    </message>
    <message>
        <source>Without a question in this chat: {}</source>
        <translation>在此對話中不需詢問：{}</translation>
    </message>
    <message>
        <source>You are asked before each step.</source>
        <translation>每一步之前都會詢問您。</translation>
    </message>
    <message>
        <source>Headstart</source>
        <translation>Headstart</translation>
    </message>
    <message>
        <source>your skills</source>
        <translation>您的技能</translation>
    </message>
    <message>
        <source>this folder</source>
        <translation>此資料夾</translation>
    </message>
    <message>
        <source>{}, with scripts</source>
        <translation>{}，含指令碼</translation>
    </message>
    <message>
        <source>Choose the working folder</source>
        <translation>選擇工作資料夾</translation>
    </message>
    <message>
        <source>Delete the log, and what is kept to undo answers in this folder? Its files stay as they are.</source>
        <translation>要刪除記錄以及用於復原此資料夾中回答的內容嗎？資料夾中的檔案保持不變。</translation>
    </message>
    <message>
        <source>Delete</source>
        <translation>刪除</translation>
    </message>
    <message>
        <source>Close</source>
        <translation>關閉</translation>
    </message>
    <message>
        <source>Take the folder back</source>
        <translation>收回資料夾</translation>
    </message>
</context>
<context>
    <name>FolderList</name>
    <message>
        <source>No folders</source>
        <translation>沒有資料夾</translation>
    </message>
    <message>
        <source>Add folder…</source>
        <translation>加入資料夾…</translation>
    </message>
    <message>
        <source>For each question in the project, their files are searched, and the passages that fit go to the model. Files and index stay on this computer.</source>
        <translation>對專案中的每個問題，都會搜尋這些資料夾中的檔案，並把相符的段落交給模型。檔案和索引都留在這台電腦上。</translation>
    </message>
    <message>
        <source>Passages are found by their words. With the model {model} ({size}) they are found in other words, too.</source>
        <translation>目前依詞語尋找段落。有了模型 {model}（{size}），換一種說法也能找到。</translation>
    </message>
    <message>
        <source>Show the model</source>
        <translation>顯示模型</translation>
    </message>
    <message>
        <source>Folders</source>
        <translation>資料夾</translation>
    </message>
    <message>
        <source>The present model reads English. With {model} ({size}) passages in other languages are found in other words, too; all are prepared again in the background.</source>
        <translation>目前的模型只讀英語。使用 {model}（{size}）後，其他語言的段落也能以不同的說法找到；所有段落會在背景重新準備。</translation>
    </message>
    <message>
        <source>Add folder</source>
        <translation>加入資料夾</translation>
    </message>
</context>
<context>
    <name>FolderRow</name>
    <message>
        <source>Remove {}</source>
        <translation>移除 {}</translation>
    </message>
    <message>
        <source>Hidden files, links, folders such as node_modules, files without text and files above {largest} are skipped.</source>
        <translation>隱藏檔案、連結、node_modules 之類的資料夾、沒有文字的檔案以及大於 {largest} 的檔案會被略過。</translation>
    </message>
    <message>
        <source>1 file could not be read</source>
        <translation>1 個檔案無法讀取</translation>
    </message>
    <message>
        <source>{} files could not be read</source>
        <translation>{} 個檔案無法讀取</translation>
    </message>
    <message>
        <source>The folder is not there. What was read of it is kept until you remove it here.</source>
        <translation>資料夾不在了。已讀取的內容會保留，直到您在這裡移除它。</translation>
    </message>
    <message>
        <source>You may not open the folder: change its rights. What was read of it is kept until you remove it here.</source>
        <translation>您無權開啟此資料夾：請變更其權限。已讀取的內容會保留，直到您在此移除它。</translation>
    </message>
    <message>
        <source>Reading file {done} of {total}…</source>
        <translation>正在讀取第 {done} 個檔案，共 {total} 個…</translation>
    </message>
    <message>
        <source>Reading file {done} of {total}: {name}, {share}</source>
        <translation>正在讀取第 {done} 個檔案，共 {total} 個：{name}，{share}</translation>
    </message>
    <message>
        <source>Not read yet</source>
        <translation>尚未讀取</translation>
    </message>
    <message>
        <source>1 file</source>
        <translation>1 個檔案</translation>
    </message>
    <message>
        <source>{} files</source>
        <translation>{} 個檔案</translation>
    </message>
    <message>
        <source>preparing the search in other words, {}</source>
        <translation>正在準備依意思搜尋，{}</translation>
    </message>
    <message>
        <source>{} skipped</source>
        <translation>略過 {} 個</translation>
    </message>
    <message>
        <source>Only the first {} files are read.</source>
        <translation>只讀取前 {} 個檔案。</translation>
    </message>
    <message>
        <source>{}.</source>
        <translation>{}。</translation>
    </message>
    <message>
        <source>about {} minutes left</source>
        <translation>大約還需 {} 分鐘</translation>
    </message>
    <message>
        <source>about a minute left</source>
        <translation>大約還需一分鐘</translation>
    </message>
    <message>
        <source>{} (in {})</source>
        <translation>{}（位於 {}）</translation>
    </message>
</context>
<context>
    <name>FoldersController</name>
    <message>
        <source>{} is not there, so only what was read of it before was searched.</source>
        <translation>{} 不存在，因此只搜尋了先前已讀取的內容。</translation>
    </message>
    <message>
        <source>{} may not be opened, so only what was read of it was searched.</source>
        <translation>{} 無法開啟，因此只搜尋了從中讀取過的內容。</translation>
    </message>
    <message>
        <source>The files of the project are still being read, so not all of them were searched. Ask again in a moment.</source>
        <translation>專案檔案仍在讀取中，因此並未全部搜尋。請稍後再問一次。</translation>
    </message>
</context>
<context>
    <name>Formatting</name>
    <message>
        <source>{} %</source>
        <translation>{}%</translation>
    </message>
    <message>
        <source>{}, {}</source>
        <translation>{}、{}</translation>
    </message>
    <message>
        <source>{}: {}</source>
        <translation>{}：{}</translation>
    </message>
    <message>
        <source>{} {}</source>
        <translation>{}{}</translation>
    </message>
</context>
<context>
    <name>ImportExport</name>
    <message>
        <source>Writing {}</source>
        <translation>正在寫入 {}</translation>
    </message>
    <message>
        <source>Export chat</source>
        <translation>匯出對話</translation>
    </message>
    <message>
        <source>JSON with all versions (*.json)</source>
        <translation>包含所有版本的 JSON (*.json)</translation>
    </message>
    <message>
        <source>Export chats</source>
        <translation>匯出對話</translation>
    </message>
    <message>
        <source>Include settings and statistics</source>
        <translation>包含設定和統計資訊</translation>
    </message>
    <message>
        <source>Another chat is being written as PDF; wait until that is done.</source>
        <translation>正在將另一個對話寫成 PDF；請等它完成。</translation>
    </message>
    <message>
        <source>Markdown (*.md)</source>
        <translation>Markdown (*.md)</translation>
    </message>
    <message>
        <source>Web page (*.html)</source>
        <translation>網頁 (*.html)</translation>
    </message>
    <message>
        <source>PDF (*.pdf)</source>
        <translation>PDF (*.pdf)</translation>
    </message>
    <message>
        <source>Chats of Headstart, ChatGPT, Claude and others ({})</source>
        <translation>Headstart、ChatGPT、Claude 等的對話 ({})</translation>
    </message>
    <message>
        <source>Import chats</source>
        <translation>匯入對話</translation>
    </message>
    <message>
        <source>Import</source>
        <translation>匯入</translation>
    </message>
    <message>
        <source>Imported chats</source>
        <translation>匯入的對話</translation>
    </message>
    <message>
        <source>The export has further parts, import them too: {}.</source>
        <translation>該匯出還有其他部分，請一併匯入：{}。</translation>
    </message>
    <message>
        <source>Undo</source>
        <translation>復原</translation>
    </message>
    <message>
        <source>Chats that stay, because you changed them: {count}.</source>
        <translation>因你改動過而保留的對話：{count}。</translation>
    </message>
    <message>
        <source>Imported 1 chat from {program}.</source>
        <translation>已從 {program} 匯入 1 個對話。</translation>
    </message>
    <message>
        <source>Imported {count} chats from {program}.</source>
        <translation>已從 {program} 匯入 {count} 個對話。</translation>
    </message>
    <message>
        <source>Nothing is new in the chats from {program}.</source>
        <translation>來自 {program} 的對話沒有新內容。</translation>
    </message>
    <message>
        <source>No chat from {program} is new.</source>
        <translation>來自 {program} 的對話都不是新的。</translation>
    </message>
    <message>
        <source>Chats with new messages: {}.</source>
        <translation>有新訊息的對話：{} 個。</translation>
    </message>
    <message>
        <source>Here already: {}.</source>
        <translation>已在此處：{} 個。</translation>
    </message>
    <message>
        <source>Deleted here, and left out: {}.</source>
        <translation>已在此處刪除，未匯入：{} 個。</translation>
    </message>
    <message>
        <source>Projects: {}.</source>
        <translation>專案：{} 個。</translation>
    </message>
    <message>
        <source>{came} Left out: {kinds}.</source>
        <translation>{came}未匯入：{kinds}。</translation>
    </message>
    <message>
        <source>You</source>
        <translation>您</translation>
    </message>
    <message>
        <source>Assistant</source>
        <translation>助理</translation>
    </message>
    <message>
        <source>Chat</source>
        <translation>對話</translation>
    </message>
    <message>
        <source>Attachment</source>
        <translation>附件</translation>
    </message>
    <message>
        <source>Settings</source>
        <translation>設定</translation>
    </message>
    <message>
        <source>Statistics</source>
        <translation>統計資料</translation>
    </message>
    <message>
        <source>Thinking</source>
        <translation>思考過程</translation>
    </message>
    <message>
        <source>Tool</source>
        <translation>工具</translation>
    </message>
    <message>
        <source>stopped</source>
        <translation>已停止</translation>
    </message>
    <message>
        <source>interrupted</source>
        <translation>已中斷</translation>
    </message>
</context>
<context>
    <name>JobPage</name>
    <message>
        <source>Cancel</source>
        <translation>取消</translation>
    </message>
    <message>
        <source>Get a model</source>
        <translation>取得模型</translation>
    </message>
    <message>
        <source>running…</source>
        <translation>正在執行…</translation>
    </message>
</context>
<context>
    <name>KeysDialog</name>
    <message>
        <source>Keys</source>
        <translation>快速鍵</translation>
    </message>
    <message>
        <source>Message box</source>
        <translation>訊息輸入框</translation>
    </message>
    <message>
        <source>New line</source>
        <translation>換行</translation>
    </message>
    <message>
        <source>Last question again, in an empty box</source>
        <translation>在空輸入框中取回上一個問題</translation>
    </message>
    <message>
        <source>Choose a prompt</source>
        <translation>選擇提示詞</translation>
    </message>
</context>
<context>
    <name>Legend</name>
    <message>
        <source>Legend of token colours</source>
        <translation>token 顏色圖例</translation>
    </message>
    <message>
        <source>The model checked every word. A colour shows what had found the word in advance: the draft model (a small model), the draft head (a small addition to the model), earlier text that is repeated, or a table of what usually follows what. Words without a colour are the model&apos;s own.</source>
        <translation>模型檢查了每個詞。顏色表示該詞由誰提前找到：草稿模型（一個小模型）、草稿頭（模型的小附件）、重複的前文，或常見接續詞的表。沒有顏色的詞是模型自己寫的。</translation>
    </message>
    <message>
        <source>Faster thanks to</source>
        <translation>加速來自</translation>
    </message>
    <message>
        <source>No word is marked yet.</source>
        <translation>還沒有標出的詞。</translation>
    </message>
    <message>
        <source>unmarked: the model itself</source>
        <translation>無標記：模型自己</translation>
    </message>
</context>
<context>
    <name>LivePanel</name>
    <message>
        <source>Live figures</source>
        <translation>即時數據</translation>
    </message>
    <message>
        <source>Speed</source>
        <translation>速度</translation>
    </message>
    <message>
        <source>Accepted</source>
        <translation>接受率</translation>
    </message>
    <message>
        <source>Accepted by place</source>
        <translation>依位置的接受率</translation>
    </message>
    <message>
        <source>Time saved (estimate)</source>
        <translation>節省的時間（估算）</translation>
    </message>
    <message>
        <source>Time spent</source>
        <translation>用時分布</translation>
    </message>
    <message>
        <source>While the answer grows: of the last steps. At its end: of the whole answer.</source>
        <translation>產生過程中：最近幾步的資料；結束後：整個回答的資料。</translation>
    </message>
    <message>
        <source>{} s</source>
        <translation>{} 秒</translation>
    </message>
    <message>
        <source>How often the first token proposed in a step is accepted, and how often the last one.</source>
        <translation>每一步中第一個試寫的 token 被接受的比例，以及最後一個被接受的比例。</translation>
    </message>
    <message>
        <source>first {first} %, last {last} %</source>
        <translation>首個 {first} %，末個 {last} %</translation>
    </message>
    <message>
        <source>none</source>
        <translation>無</translation>
    </message>
    <message>
        <source>none yet</source>
        <translation>暫無</translation>
    </message>
    <message>
        <source>Proposing took {} s more than it saved.</source>
        <translation>試寫所用的時間比節省的多 {} 秒。</translation>
    </message>
    <message>
        <source>check</source>
        <translation>檢查</translation>
    </message>
    <message>
        <source>{} tokens/s</source>
        <translation>{} token/秒</translation>
    </message>
    <message>
        <source>Proposed</source>
        <translation>提前試寫</translation>
    </message>
    <message>
        <source>The program that writes this answer does not report what the speed-up saves.</source>
        <translation>寫這個回答的程式不回報加速節省了多少。</translation>
    </message>
    <message>
        <source>Compared with writing token by token, as estimated for this answer so far.</source>
        <translation>與逐個 token 書寫相比，是對此回答到目前為止的估計。</translation>
    </message>
    <message>
        <source>How many of the proposed tokens the model accepts.</source>
        <translation>提前試寫的 token 中被模型接受的比例。</translation>
    </message>
    <message>
        <source>Tokens proposed in each step, before the model checks them all at once.</source>
        <translation>每步在模型一次檢查之前提前試寫的 token 數。</translation>
    </message>
    <message>
        <source>Proposing, checking, and the rest.</source>
        <translation>提前試寫、檢查以及其餘部分。</translation>
    </message>
    <message>
        <source>propose</source>
        <translation>試寫</translation>
    </message>
    <message>
        <source>other</source>
        <translation>其他</translation>
    </message>
</context>
<context>
    <name>LoadProgress</name>
    <message>
        <source>{step} · {time}</source>
        <translation>{step} · {time}</translation>
    </message>
    <message>
        <source>{step} · {time}, usually about {expected} s</source>
        <translation>{step} · {time}，通常約 {expected} 秒</translation>
    </message>
    <message>
        <source>{} s</source>
        <translation>{} 秒</translation>
    </message>
    <message>
        <source>only the first time</source>
        <translation>僅首次需要</translation>
    </message>
    <message>
        <source>asking the other computer</source>
        <translation>正在詢問另一台電腦</translation>
    </message>
    <message>
        <source>starting OpenVINO</source>
        <translation>正在啟動 OpenVINO</translation>
    </message>
    <message>
        <source>testing the fastest way to compute, only the first time</source>
        <translation>正在測試最快的計算方式，僅首次需要</translation>
    </message>
    <message>
        <source>checking and compiling the model</source>
        <translation>正在檢查和編譯模型</translation>
    </message>
    <message>
        <source>checking and compiling the draft model</source>
        <translation>正在檢查和編譯草稿模型</translation>
    </message>
    <message>
        <source>warming up</source>
        <translation>正在暖機</translation>
    </message>
    <message>
        <source>starting the engine</source>
        <translation>正在啟動引擎</translation>
    </message>
</context>
<context>
    <name>LoadingChoices</name>
    <message>
        <source>With {tokens} tokens of context: {full} of memory in 16 bits, {small} in 8 bits.</source>
        <translation>上下文為 {tokens} 個 token 時：16 位元占用 {full} 記憶體，8 位元占用 {small}。</translation>
    </message>
    <message>
        <source>it uses the EAGLE-3 head {} on a processor only</source>
        <translation>它只在處理器上使用 EAGLE-3 草稿頭 {}</translation>
    </message>
    <message>
        <source>an NPU runs nothing else than OpenVINO GenAI</source>
        <translation>NPU 只能由 OpenVINO GenAI 執行</translation>
    </message>
    <message>
        <source>an NPU decides that itself</source>
        <translation>由 NPU 自行決定</translation>
    </message>
</context>
<context>
    <name>Manual</name>
    <message>
        <source>Begin</source>
        <translation>開始</translation>
    </message>
    <message>
        <source>Choose a model on the page Models; the recommended one suits this computer. It is downloaded once. Then write a question in the box below and press Enter. Nothing you write leaves this computer, unless you choose a model on another computer.</source>
        <translation>在「模型」頁選擇一個模型；推薦的模型適合這台電腦。它只需下載一次。然後在下方輸入框寫下問題並按 Enter 鍵。除非您選擇另一台電腦上的模型，否則您寫的內容不會離開這台電腦。</translation>
    </message>
    <message>
        <source>Answers</source>
        <translation>回答</translation>
    </message>
    <message>
        <source>Esc stops an answer. Below it you can copy it, edit it or have it written again, also by another model; the older version stays, and the arrows show it. Compare puts two versions side by side. You can edit your questions, too.</source>
        <translation>按 Esc 停止回答。在回答下方可以複製、編輯或重新產生，也可以用其他模型；舊版本會保留，用箭頭檢視。「比較」把兩個版本並排顯示。您也可以編輯自己的問題。</translation>
    </message>
    <message>
        <source>Files</source>
        <translation>檔案</translation>
    </message>
    <message>
        <source>Drop files on the window, or use the paper clip. Of a file that is too long, the model gets the passages that fit your question; the answer names them.</source>
        <translation>把檔案拖到視窗上，或使用迴紋針按鈕。如果檔案太長，模型會得到與問題相符的段落；回答會列出它們。</translation>
    </message>
    <message>
        <source>Keep order</source>
        <translation>整理</translation>
    </message>
    <message>
        <source>Double-click a chat in the sidebar to rename it. Drag chats onto tags and projects. A project has its own files and its own system prompt. The search looks into all chats.</source>
        <translation>按兩下側邊欄中的對話即可重新命名。可以把對話拖到標籤和專案上。專案有自己的檔案和系統提示詞。搜尋會查找所有對話。</translation>
    </message>
    <message>
        <source>Settings of a chat</source>
        <translation>對話的設定</translation>
    </message>
    <message>
        <source>The button with the sliders opens them: precise or creative, how long an answer may be, and whether the model thinks first. A preset tells the model how to behave.</source>
        <translation>帶滑桿的按鈕可開啟設定：精確或創意、回答可以多長，以及模型是否先思考。範本告訴模型該如何表現。</translation>
    </message>
    <message>
        <source>Why it is fast</source>
        <translation>為什麼快</translation>
    </message>
    <message>
        <source>Headstart guesses the next words with a small model, with earlier text, or with both. Your model checks several words at once and keeps only those that it would have written itself. So the answer is the same and comes sooner. The race shows it, and Details below an answer has the figures.</source>
        <translation>Headstart 用小模型、前文或兩者來猜測接下來的詞。您的模型一次檢查幾個詞，只保留它自己也會寫的詞。因此回答相同，但來得更快。競速頁可以看到這一點，回答下方的「詳細資料」有具體數字。</translation>
    </message>
    <message>
        <source>Tools</source>
        <translation>工具</translation>
    </message>
    <message>
        <source>Models can use programs that speak MCP. Add one under Tools in the menu Chat, or try the clock that comes with Headstart. You are asked before each call.</source>
        <translation>模型可以使用支援 MCP 的程式。在「對話」選單的「工具」中新增，或試用 Headstart 內附的時鐘。每次呼叫前都會詢問您。</translation>
    </message>
    <message>
        <source>Quick Ask</source>
        <translation>快速提問</translation>
    </message>
    <message>
        <source>Quick Ask is a small window for one question. Open it in the menu File or from the tray.</source>
        <translation>快速提問是用於一個問題的小視窗。從「檔案」選單或系統匣開啟。</translation>
    </message>
    <message>
        <source>Privacy</source>
        <translation>隱私</translation>
    </message>
    <message>
        <source>Chats are files on this computer. You can encrypt them on the page Privacy of the preferences. The page Folders shows where everything is.</source>
        <translation>對話是這台電腦上的檔案。您可以在偏好設定的「隱私」頁加密它們。「資料夾」頁顯示各項內容的位置。</translation>
    </message>
    <message>
        <source>Close</source>
        <translation>關閉</translation>
    </message>
</context>
<context>
    <name>ManualDialog</name>
    <message>
        <source>Manual</source>
        <translation>使用手冊</translation>
    </message>
</context>
<context>
    <name>MessageContents</name>
    <message>
        <source>Nothing in the files of the project fits “{}”.</source>
        <translation>專案的檔案中沒有與「{}」相符的內容。</translation>
    </message>
    <message>
        <source>{file}, page {page}</source>
        <translation>{file}，第 {page} 頁</translation>
    </message>
    <message>
        <source>{file}, line {line}</source>
        <translation>{file}，第 {line} 行</translation>
    </message>
    <message>
        <source>This answer was interrupted.</source>
        <translation>此回答已中斷。</translation>
    </message>
    <message>
        <source>Edited by you.</source>
        <translation>您已編輯過。</translation>
    </message>
</context>
<context>
    <name>MessageEdit</name>
    <message>
        <source>Message</source>
        <translation>訊息</translation>
    </message>
</context>
<context>
    <name>MessageFooter</name>
    <message>
        <source>Copy message</source>
        <translation>複製訊息</translation>
    </message>
    <message>
        <source>Edit message</source>
        <translation>編輯訊息</translation>
    </message>
    <message>
        <source>Regenerate answer</source>
        <translation>重新產生回答</translation>
    </message>
    <message>
        <source>More actions</source>
        <translation>更多動作</translation>
    </message>
    <message>
        <source>Previous version</source>
        <translation>上一個版本</translation>
    </message>
    <message>
        <source>Next version</source>
        <translation>下一個版本</translation>
    </message>
    <message>
        <source>Compare answers</source>
        <translation>比較回答</translation>
    </message>
    <message>
        <source>Show the details</source>
        <translation>顯示詳細資料</translation>
    </message>
    <message>
        <source>Details</source>
        <translation>詳細資料</translation>
    </message>
    <message>
        <source>Version {number} of {count}</source>
        <translation>第 {number} 個版本，共 {count} 個</translation>
    </message>
</context>
<context>
    <name>MessageHeader</name>
    <message>
        <source>You</source>
        <translation>您</translation>
    </message>
    <message>
        <source>Assistant</source>
        <translation>助理</translation>
    </message>
    <message>
        <source>System prompt</source>
        <translation>系統提示詞</translation>
    </message>
    <message>
        <source>writing…</source>
        <translation>正在產生…</translation>
    </message>
    <message>
        <source>stopped</source>
        <translation>已停止</translation>
    </message>
</context>
<context>
    <name>MessageView</name>
    <message>
        <source>Copy as Markdown</source>
        <translation>複製為 Markdown</translation>
    </message>
    <message>
        <source>Continue This Answer</source>
        <translation>繼續此回答</translation>
    </message>
    <message>
        <source>Compare Answers…</source>
        <translation>比較回答…</translation>
    </message>
    <message>
        <source>Select Message</source>
        <translation>選取訊息</translation>
    </message>
    <message>
        <source>Select up to Here</source>
        <translation>選取到此處</translation>
    </message>
    <message>
        <source>New Chat from Here</source>
        <translation>從此處新增對話</translation>
    </message>
    <message>
        <source>Delete Message</source>
        <translation>刪除訊息</translation>
    </message>
    <message>
        <source>Hide the thinking</source>
        <translation>隱藏思考過程</translation>
    </message>
    <message>
        <source>Show the thinking</source>
        <translation>顯示思考過程</translation>
    </message>
    <message>
        <source>Hide the calls of tools</source>
        <translation>隱藏工具呼叫</translation>
    </message>
    <message>
        <source>Show the calls of tools</source>
        <translation>顯示工具呼叫</translation>
    </message>
    <message>
        <source>Thinking… {} s</source>
        <translation>正在思考… {} 秒</translation>
    </message>
    <message>
        <source>Thought for {} s</source>
        <translation>思考了 {} 秒</translation>
    </message>
    <message>
        <source>Thoughts ({count} words)</source>
        <translation>思考過程（{count} 字）</translation>
    </message>
    <message>
        <source>Thinking…</source>
        <translation>正在思考…</translation>
    </message>
    <message>
        <source>Tools: {}</source>
        <translation>工具：{}</translation>
    </message>
    <message>
        <source>{names} and {count} more</source>
        <translation>{names} 等，另有 {count} 個</translation>
    </message>
    <message>
        <source>Hide the attached files</source>
        <translation>隱藏附件</translation>
    </message>
    <message>
        <source>Show the attached files</source>
        <translation>顯示附件</translation>
    </message>
    <message>
        <source>Message from {author}</source>
        <translation>來自{author}的訊息</translation>
    </message>
</context>
<context>
    <name>ModelCard</name>
    <message>
        <source>Verify</source>
        <translation>驗證</translation>
    </message>
    <message>
        <source>Verify {}</source>
        <translation>驗證 {}</translation>
    </message>
    <message>
        <source>Show folder</source>
        <translation>開啟資料夾</translation>
    </message>
    <message>
        <source>Show the folder of {}</source>
        <translation>開啟 {} 的資料夾</translation>
    </message>
    <message>
        <source>{} on the disk</source>
        <translation>磁碟佔用 {}</translation>
    </message>
    <message>
        <source>with a small helper</source>
        <translation>附帶小助手</translation>
    </message>
    <message>
        <source>Small helper: </source>
        <translation>小助手：</translation>
    </message>
    <message>
        <source>{} parameters</source>
        <translation>{} 參數</translation>
    </message>
    <message>
        <source>{} bits</source>
        <translation>{} 位元</translation>
    </message>
    <message>
        <source>Its fast form</source>
        <translation>它的快速版本</translation>
    </message>
    <message>
        <source>Its precise form</source>
        <translation>它的精確版本</translation>
    </message>
    <message>
        <source>not timed here yet</source>
        <translation>在這台電腦上還沒有測過速度</translation>
    </message>
    <message>
        <source>{theirs} tokens/s here without speed-up, this one {ours}</source>
        <translation>在這台電腦上不加速時為 {theirs} token/秒，本模型為 {ours}</translation>
    </message>
    <message>
        <source>Model: </source>
        <translation>模型：</translation>
    </message>
    <message>
        <source>cannot be used</source>
        <translation>無法使用</translation>
    </message>
</context>
<context>
    <name>ModelChoices</name>
    <message>
        <source>Automatic</source>
        <translation>自動</translation>
    </message>
    <message>
        <source>Automatic: {}</source>
        <translation>自動：{}</translation>
    </message>
    <message>
        <source>{name} ({size} on disk)</source>
        <translation>{name}（磁碟 {size}）</translation>
    </message>
    <message>
        <source>As the server has it</source>
        <translation>由伺服器決定</translation>
    </message>
    <message>
        <source>None (earlier text only)</source>
        <translation>無（僅用前文）</translation>
    </message>
    <message>
        <source>this is the model itself</source>
        <translation>這就是該模型本身</translation>
    </message>
    <message>
        <source>comparing the tokenizers…</source>
        <translation>正在比較分詞器…</translation>
    </message>
    <message>
        <source>different tokenizer: {}</source>
        <translation>分詞器不同：{}</translation>
    </message>
    <message>
        <source>needs {} more memory</source>
        <translation>還需要 {} 記憶體</translation>
    </message>
</context>
<context>
    <name>ModelFacts</name>
    <message>
        <source>No model is installed yet.</source>
        <translation>尚未安裝模型。</translation>
    </message>
    <message>
        <source>quality {} % of the original</source>
        <translation>品質為原模型的 {}%</translation>
    </message>
    <message>
        <source>Chooses the same next token as its source on {share} % of {tokens} tokens · KL {kl} · perplexity ×{ratio}</source>
        <translation>在 {tokens} 個 token 中，有 {share}% 與來源模型選出的下一個 token 相同 · KL {kl} · 困惑度 ×{ratio}</translation>
    </message>
    <message>
        <source>Takes at most {needed} of memory when its context is full; {free} is free.</source>
        <translation>上下文占滿時最多佔用 {needed} 記憶體；目前可用 {free}。</translation>
    </message>
    <message>
        <source>Takes at most {needed} of memory; {free} is free.</source>
        <translation>最多佔用 {needed} 記憶體；目前可用 {free}。</translation>
    </message>
    <message>
        <source>Takes about {needed} of memory when its context is full; {free} is free.</source>
        <translation>上下文占滿時約佔用 {needed} 記憶體；目前可用 {free}。</translation>
    </message>
    <message>
        <source>Takes about {needed} of memory; {free} is free.</source>
        <translation>約佔用 {needed} 記憶體；目前可用 {free}。</translation>
    </message>
    <message>
        <source>NPU: OpenVINO GenAI runs models of symmetric weights, their longest prompt compiled in; not tried yet.</source>
        <translation>NPU：由 OpenVINO GenAI 執行對稱量化的模型，最長提示詞在編譯時確定；尚未試過。</translation>
    </message>
    <message>
        <source>GPU: if a check at the first load fails, OpenVINO GenAI runs the model; not tried on a real one yet.</source>
        <translation>GPU：若首次載入時的檢查未通過，則由 OpenVINO GenAI 執行模型；尚未在真實 GPU 上試過。</translation>
    </message>
    <message>
        <source>{}: everything runs here.</source>
        <translation>{}：所有功能均可執行。</translation>
    </message>
</context>
<context>
    <name>ModelInUse</name>
    <message>
        <source>Show models</source>
        <translation>顯示模型</translation>
    </message>
    <message>
        <source>A model is being prepared. Ask again when it is there.</source>
        <translation>正在準備模型。請在就緒後再次提問。</translation>
    </message>
    <message>
        <source>Get a model</source>
        <translation>取得模型</translation>
    </message>
    <message>
        <source>No model loaded</source>
        <translation>未載入模型</translation>
    </message>
    <message>
        <source>No model</source>
        <translation>無模型</translation>
    </message>
    <message>
        <source>{} is in memory.</source>
        <translation>記憶體中是 {}。</translation>
    </message>
    <message>
        <source>No model is in memory.</source>
        <translation>記憶體中沒有模型。</translation>
    </message>
    <message>
        <source>loads with the next message</source>
        <translation>將隨下一則訊息載入</translation>
    </message>
    <message>
        <source>not loaded</source>
        <translation>未載入</translation>
    </message>
    <message>
        <source>{model} of the server {server}</source>
        <translation>伺服器 {server} 的 {model}</translation>
    </message>
    <message>
        <source>draft model {}</source>
        <translation>草稿模型 {}</translation>
    </message>
    <message>
        <source>draft head</source>
        <translation>草稿頭</translation>
    </message>
    <message>
        <source>earlier text</source>
        <translation>前文</translation>
    </message>
    <message>
        <source>{model} on {device}, speed-up by {guessing}</source>
        <translation>{model}，執行於 {device}，加速來自：{guessing}</translation>
    </message>
    <message>
        <source>It is being checked in the background.</source>
        <translation>正在背景檢查。</translation>
    </message>
    <message>
        <source>Load anyway</source>
        <translation>仍要載入</translation>
    </message>
    <message>
        <source>Load again</source>
        <translation>重新載入</translation>
    </message>
    <message>
        <source>{} is installed. It cannot chat.</source>
        <translation>{} 已安裝，但不能用於對話。</translation>
    </message>
    <message>
        <source>{} is ready. Write your first message.</source>
        <translation>{} 已就緒。寫下您的第一則訊息吧。</translation>
    </message>
</context>
<context>
    <name>ModelLoader</name>
    <message>
        <source>This measures models of this computer; choose one of them for the chat first.</source>
        <translation>這裡測量的是這台電腦上的模型；請先為對話選擇其中一個。</translation>
    </message>
    <message>
        <source>An answer is still being written; stop it or wait for its end.</source>
        <translation>回答仍在產生；請停止它或等待其結束。</translation>
    </message>
    <message>
        <source>Loading {}</source>
        <translation>正在載入 {}</translation>
    </message>
</context>
<context>
    <name>ModelSwitch</name>
    <message>
        <source>Models</source>
        <translation>模型</translation>
    </message>
    <message>
        <source>All Models…</source>
        <translation>所有模型…</translation>
    </message>
    <message>
        <source>{} of memory</source>
        <translation>{} 記憶體</translation>
    </message>
    <message>
        <source>{}, {} too much</source>
        <translation>{}，超出 {}</translation>
    </message>
</context>
<context>
    <name>ModelsController</name>
    <message>
        <source>It is being checked in the background.</source>
        <translation>正在背景檢查。</translation>
    </message>
    <message>
        <source>Step {step} of {steps}.</source>
        <translation>第 {step} 步，共 {steps} 步。</translation>
    </message>
    <message>
        <source>Every file is as it was exported; it loads and answers.</source>
        <translation>所有檔案均與匯出時一致；模型可以載入並回答。</translation>
    </message>
    <message>
        <source>Remove it and add it again.</source>
        <translation>請將其移除後重新新增。</translation>
    </message>
    <message>
        <source>Remove {name}{size} from this computer? Chats written with it stay.</source>
        <translation>要從這台電腦移除 {name}{size} 嗎？用它產生的對話會保留。</translation>
    </message>
    <message>
        <source>Remove model</source>
        <translation>移除模型</translation>
    </message>
    <message>
        <source>Remove</source>
        <translation>移除</translation>
    </message>
</context>
<context>
    <name>ModelsPage</name>
    <message>
        <source>Models</source>
        <translation>模型</translation>
    </message>
    <message>
        <source>Models are in {}</source>
        <translation>模型位於 {}</translation>
    </message>
</context>
<context>
    <name>NamedCard</name>
    <message>
        <source>Use</source>
        <translation>使用</translation>
    </message>
    <message>
        <source>Use {}</source>
        <translation>使用 {}</translation>
    </message>
    <message>
        <source>Remove…</source>
        <translation>移除…</translation>
    </message>
    <message>
        <source>Remove {}</source>
        <translation>移除 {}</translation>
    </message>
    <message>
        <source>in use</source>
        <translation>使用中</translation>
    </message>
</context>
<context>
    <name>NoticeBar</name>
    <message>
        <source>Undo</source>
        <translation>復原</translation>
    </message>
    <message>
        <source>Dismiss</source>
        <translation>關閉</translation>
    </message>
    <message>
        <source>Saved to {}</source>
        <translation>已儲存至 {}</translation>
    </message>
    <message>
        <source>Show in folder</source>
        <translation>在資料夾中顯示</translation>
    </message>
</context>
<context>
    <name>NumberEditor</name>
    <message>
        <source>Auto</source>
        <translation>自動</translation>
    </message>
    <message>
        <source>{}: automatic</source>
        <translation>{}：自動</translation>
    </message>
    <message>
        <source>The value that the model&apos;s authors recommend</source>
        <translation>模型作者建議的值</translation>
    </message>
    <message>
        <source>{typed} is out of bounds ({low} to {high}); {value} is used.</source>
        <translation>{typed} 超出範圍（{low} 至 {high}）；已改用 {value}。</translation>
    </message>
</context>
<context>
    <name>Outside</name>
    <message>
        <source>Nothing you write leaves this computer, and no other one is configured.</source>
        <translation>您寫的內容不會離開這台電腦，也沒有設定其他電腦。</translation>
    </message>
    <message>
        <source>Offline</source>
        <translation>離線</translation>
    </message>
    <message>
        <source>This chat stays on this computer. Others are configured: {}.</source>
        <translation>此對話留在這台電腦上。已設定其他電腦：{}。</translation>
    </message>
    <message>
        <source>On this computer</source>
        <translation>在這台電腦上</translation>
    </message>
    <message>
        <source>Nothing you write leaves this computer; what you asked for is being fetched.</source>
        <translation>您寫的內容不會離開這台電腦；正在下載您要求的內容。</translation>
    </message>
    <message>
        <source>Messages go to another program on this computer: {}.</source>
        <translation>訊息會傳送到這台電腦上的另一個程式：{}。</translation>
    </message>
    <message>
        <source>Tools of {} may send on what a model gives them. Headstart cannot see whether they use the network.</source>
        <translation>{} 的工具可能會把模型交給它們的內容傳送出去。Headstart 無法得知它們是否使用網路。</translation>
    </message>
    <message>
        <source>Tools may go online</source>
        <translation>工具可能連網</translation>
    </message>
    <message>
        <source>Leaves this computer</source>
        <translation>離開這台電腦</translation>
    </message>
    <message>
        <source>Messages of this chat leave this computer: they go to {name} at {address}.</source>
        <translation>此對話的訊息會離開這台電腦：它們會傳送到 {name}，位址為 {address}。</translation>
    </message>
    <message>
        <source>On the way they can be read by others, as http does not encrypt.</source>
        <translation>http 不加密，途中可能被他人讀取。</translation>
    </message>
    <message>
        <source>another program</source>
        <translation>另一個程式</translation>
    </message>
    <message>
        <source>another computer</source>
        <translation>另一台電腦</translation>
    </message>
    <message>
        <source>{name} ({place})</source>
        <translation>{name}（{place}）</translation>
    </message>
</context>
<context>
    <name>Page</name>
    <message>
        <source>Back to the chat</source>
        <translation>返回對話</translation>
    </message>
    <message>
        <source>Back to the chat (Esc)</source>
        <translation>返回對話 (Esc)</translation>
    </message>
</context>
<context>
    <name>PassphraseDialog</name>
    <message>
        <source>Passphrase</source>
        <translation>通關片語</translation>
    </message>
    <message>
        <source>Open</source>
        <translation>開啟</translation>
    </message>
    <message>
        <source>Quit</source>
        <translation>結束</translation>
    </message>
    <message>
        <source>Your chats are encrypted</source>
        <translation>您的對話已加密</translation>
    </message>
    <message>
        <source>Type the passphrase that you chose for them. Nobody can open them without it.</source>
        <translation>請輸入您為它們設定的通關片語。沒有它，任何人都無法開啟對話。</translation>
    </message>
</context>
<context>
    <name>PassphraseForm</name>
    <message>
        <source>Show what is typed</source>
        <translation>顯示輸入的內容</translation>
    </message>
    <message>
        <source>Checking the passphrase.</source>
        <translation>正在核對通關片語。</translation>
    </message>
    <message>
        <source>The two new passphrases differ.</source>
        <translation>兩次輸入的新通關片語不一致。</translation>
    </message>
    <message>
        <source>A passphrase needs at least {} characters; use several words.</source>
        <translation>通關片語至少需要 {} 個字元；請使用多個詞。</translation>
    </message>
</context>
<context>
    <name>PdfExport</name>
    <message>
        <source>{page} / {pages}</source>
        <translation>{page} / {pages}</translation>
    </message>
</context>
<context>
    <name>PlaceBar</name>
    <message>
        <source>Restore</source>
        <translation>還原</translation>
    </message>
    <message>
        <source>Empty now…</source>
        <translation>立即清空…</translation>
    </message>
    <message>
        <source>Recently deleted</source>
        <translation>最近刪除</translation>
    </message>
    <message>
        <source>Archive</source>
        <translation>封存</translation>
    </message>
    <message>
        <source>After {} days they are deleted for good.</source>
        <translation>{} 天後將永久刪除。</translation>
    </message>
    <message>
        <source>All chats</source>
        <translation>所有對話</translation>
    </message>
    <message>
        <source>The search finds these chats, too.</source>
        <translation>搜尋也能找到這些對話。</translation>
    </message>
</context>
<context>
    <name>Placement</name>
    <message>
        <source>Where models run</source>
        <translation>模型的執行位置</translation>
    </message>
    <message>
        <source>{} of memory is free for a model (with the memory of the one in use).</source>
        <translation>可供模型使用的記憶體為 {}（包括正在使用的模型所佔的記憶體）。</translation>
    </message>
</context>
<context>
    <name>PreferencesDialog</name>
    <message>
        <source>Preferences</source>
        <translation>偏好設定</translation>
    </message>
    <message>
        <source>Pages of the preferences</source>
        <translation>偏好設定頁面</translation>
    </message>
    <message>
        <source>Restore defaults</source>
        <translation>還原預設值</translation>
    </message>
    <message>
        <source>Close</source>
        <translation>關閉</translation>
    </message>
    <message>
        <source>Privacy</source>
        <translation>隱私</translation>
    </message>
    <message>
        <source>Folders</source>
        <translation>資料夾</translation>
    </message>
    <message>
        <source>Appearance</source>
        <translation>外觀</translation>
    </message>
    <message>
        <source>Chat</source>
        <translation>對話</translation>
    </message>
    <message>
        <source>Model</source>
        <translation>模型</translation>
    </message>
    <message>
        <source>Speed-up</source>
        <translation>加速</translation>
    </message>
    <message>
        <source>Speech</source>
        <translation>語音</translation>
    </message>
    <message>
        <source>Changes apply at once. A chat can have settings of its own, which come first.</source>
        <translation>變更立即生效。對話可以有自己的設定，並優先採用。</translation>
    </message>
    <message>
        <source>Answers</source>
        <translation>回答</translation>
    </message>
    <message>
        <source>Show</source>
        <translation>開啟</translation>
    </message>
    <message>
        <source>Show the folder: {}</source>
        <translation>開啟資料夾：{}</translation>
    </message>
</context>
<context>
    <name>PresetButton</name>
    <message>
        <source>What the model is told before the chat, and how freely it chooses words</source>
        <translation>對話開始前告訴模型的話，以及它用詞的自由程度</translation>
    </message>
    <message>
        <source>None</source>
        <translation>無</translation>
    </message>
    <message>
        <source>Preset: {}</source>
        <translation>範本：{}</translation>
    </message>
    <message>
        <source>Presets</source>
        <translation>範本</translation>
    </message>
</context>
<context>
    <name>PresetEditor</name>
    <message>
        <source>Save as Preset…</source>
        <translation>存為範本…</translation>
    </message>
    <message>
        <source>Rename Preset…</source>
        <translation>重新命名範本…</translation>
    </message>
    <message>
        <source>Delete Preset</source>
        <translation>刪除範本</translation>
    </message>
    <message>
        <source>Save as preset</source>
        <translation>存為範本</translation>
    </message>
    <message>
        <source>Rename preset</source>
        <translation>重新命名範本</translation>
    </message>
    <message>
        <source>Name</source>
        <translation>名稱</translation>
    </message>
</context>
<context>
    <name>Presets</name>
    <message>
        <source>Assistant</source>
        <translation>助理</translation>
    </message>
    <message>
        <source>You are a helpful assistant. Answer clearly and get to the point. If you do not know something or are not sure, say so.</source>
        <translation>你是一位樂於助人的助理。回答要清楚、切中要點。如果不知道或不確定，就直接說明。</translation>
    </message>
    <message>
        <source>Short answers</source>
        <translation>簡短回答</translation>
    </message>
    <message>
        <source>Answer in three sentences at most, without an introduction and without a summary.</source>
        <translation>最多用三句話回答，不要開場白，也不要總結。</translation>
    </message>
    <message>
        <source>Programmer</source>
        <translation>程式設計師</translation>
    </message>
    <message>
        <source>You are an experienced programmer. Give complete code that runs, in one block with its language, then explain in a few sentences why you wrote it so. Use the standard library where it will do.</source>
        <translation>你是一位經驗豐富的程式設計師。給出可以直接執行的完整程式碼，放在一個標明語言的程式碼區塊中，然後用幾句話說明為什麼這樣寫。標準函式庫夠用時就用標準函式庫。</translation>
    </message>
    <message>
        <source>Code reviewer</source>
        <translation>程式碼審查者</translation>
    </message>
    <message>
        <source>You review code. List what is wrong or risky, the worst first: where it is, what happens, and how to repair it. Then name what could be simpler. Do not praise.</source>
        <translation>你負責審查程式碼。列出錯誤和有風險的地方，最嚴重的放在最前面：在哪裡、會發生什麼、怎樣修正。然後指出哪些地方可以更簡單。不要誇獎。</translation>
    </message>
    <message>
        <source>Translator</source>
        <translation>翻譯</translation>
    </message>
    <message>
        <source>Translate what you are given into English, and English into the language that was used before. Keep meaning, tone and formatting. Give only the translation.</source>
        <translation>把收到的中文譯成英文，把其他語言譯成中文。保留原意、語氣和格式。只給出譯文。</translation>
    </message>
    <message>
        <source>Editor</source>
        <translation>編輯</translation>
    </message>
    <message>
        <source>Correct the text that you are given: spelling, grammar and awkward sentences. Keep its language, its meaning and its tone. Give the corrected text, then a list of the important changes.</source>
        <translation>修改收到的文字：錯字、文法和不通順的句子。保留它的語言、意思和語氣。先給出改好的文字，再列出重要的更動。</translation>
    </message>
    <message>
        <source>Teacher</source>
        <translation>老師</translation>
    </message>
    <message>
        <source>You are a patient teacher. Explain step by step in simple words, give an example from daily life, and end with one question that checks whether it was understood.</source>
        <translation>你是一位有耐心的老師。用簡單的話一步一步講解，舉一個日常生活中的例子，最後提一個問題，檢查是否聽懂了。</translation>
    </message>
    <message>
        <source>Storyteller</source>
        <translation>說故事的人</translation>
    </message>
    <message>
        <source>You write stories. Use vivid details, dialogue and surprising turns, avoid clichés, and bring each story to an end.</source>
        <translation>你寫故事。運用生動的細節、對話和出人意料的轉折，避免陳腔濫調，並讓每個故事都有結局。</translation>
    </message>
</context>
<context>
    <name>PreviewDialog</name>
    <message>
        <source>Preview</source>
        <translation>預覽</translation>
    </message>
    <message>
        <source>Close</source>
        <translation>關閉</translation>
    </message>
    <message>
        <source>Scripts do not run, and nothing is loaded from the network or the disk. A browser shows more of the layout: save the code as a file and open it there.</source>
        <translation>指令碼不會執行，也不會從網路或磁碟載入任何內容。瀏覽器能顯示更完整的版面：把程式碼另存為檔案，再用瀏覽器開啟。</translation>
    </message>
    <message>
        <source>Scripts do not run, and nothing is loaded from the network or the disk.</source>
        <translation>指令碼不會執行，也不會從網路或磁碟載入任何內容。</translation>
    </message>
    <message>
        <source>This is not a complete SVG picture, so it cannot be shown.</source>
        <translation>這不是完整的 SVG 圖，因此無法顯示。</translation>
    </message>
</context>
<context>
    <name>Program</name>
    <message>
        <source>The export has ended</source>
        <translation>匯出已結束</translation>
    </message>
    <message>
        <source>Reset Settings</source>
        <translation>重設設定</translation>
    </message>
    <message>
        <source>The chat has the settings of all chats.</source>
        <translation>此對話使用所有對話的設定。</translation>
    </message>
    <message>
        <source>Replace System Prompt</source>
        <translation>取代系統提示詞</translation>
    </message>
    <message>
        <source>The system prompt is replaced.</source>
        <translation>系統提示詞已被取代。</translation>
    </message>
</context>
<context>
    <name>ProjectDialog</name>
    <message>
        <source>Project</source>
        <translation>專案</translation>
    </message>
    <message>
        <source>New project</source>
        <translation>新增專案</translation>
    </message>
    <message>
        <source>The model used last</source>
        <translation>上次使用的模型</translation>
    </message>
    <message>
        <source>No files</source>
        <translation>沒有檔案</translation>
    </message>
    <message>
        <source>Add files…</source>
        <translation>加入檔案…</translation>
    </message>
    <message>
        <source>Cancel</source>
        <translation>取消</translation>
    </message>
    <message>
        <source>Save</source>
        <translation>儲存</translation>
    </message>
    <message>
        <source>Add files</source>
        <translation>加入檔案</translation>
    </message>
    <message>
        <source>Name</source>
        <translation>名稱</translation>
    </message>
    <message>
        <source>System prompt</source>
        <translation>系統提示詞</translation>
    </message>
    <message>
        <source>Model</source>
        <translation>模型</translation>
    </message>
    <message>
        <source>Files</source>
        <translation>檔案</translation>
    </message>
    <message>
        <source>System prompt, model and files are for new chats in this project.</source>
        <translation>系統提示詞、模型和檔案用於此專案中的新對話。</translation>
    </message>
</context>
<context>
    <name>ProjectMenu</name>
    <message>
        <source>&amp;Move to Project</source>
        <translation>移到專案(&amp;M)</translation>
    </message>
    <message>
        <source>No Project</source>
        <translation>不屬於任何專案</translation>
    </message>
    <message>
        <source>&amp;New Project…</source>
        <translation>新增專案(&amp;N)…</translation>
    </message>
</context>
<context>
    <name>ProjectsController</name>
    <message>
        <source>Delete the project “{}” with its system prompt and files?</source>
        <translation>刪除專案「{}」及其系統提示詞和檔案？</translation>
    </message>
    <message>
        <source>Its chat stays.</source>
        <translation>其中的對話會保留。</translation>
    </message>
    <message>
        <source>Its {} chats stay.</source>
        <translation>其中的 {} 個對話會保留。</translation>
    </message>
    <message>
        <source>Its folders stay on the disk.</source>
        <translation>其中的資料夾會留在磁碟上。</translation>
    </message>
    <message>
        <source>Delete project</source>
        <translation>刪除專案</translation>
    </message>
    <message>
        <source>Delete</source>
        <translation>刪除</translation>
    </message>
</context>
<context>
    <name>PromptDialog</name>
    <message>
        <source>Prompts</source>
        <translation>提示詞</translation>
    </message>
    <message>
        <source>Name</source>
        <translation>名稱</translation>
    </message>
    <message>
        <source>Text of the prompt</source>
        <translation>提示詞內容</translation>
    </message>
    <message>
        <source>New</source>
        <translation>新增</translation>
    </message>
    <message>
        <source>New from selection</source>
        <translation>以選取的文字新增</translation>
    </message>
    <message>
        <source>Remove</source>
        <translation>移除</translation>
    </message>
    <message>
        <source>Bring back the built-in ones</source>
        <translation>還原內建提示詞</translation>
    </message>
    <message>
        <source>Cancel</source>
        <translation>取消</translation>
    </message>
    <message>
        <source>Save</source>
        <translation>儲存</translation>
    </message>
    <message>
        <source>prompt</source>
        <translation>提示詞</translation>
    </message>
    <message>
        <source>Select text in the chat or in the message.</source>
        <translation>請先在對話或訊息中選取文字。</translation>
    </message>
    <message>
        <source>Every prompt needs a name.</source>
        <translation>每個提示詞都需要名稱。</translation>
    </message>
    <message>
        <source>Two prompts are called /{}; give one another name.</source>
        <translation>有兩個提示詞都叫 /{}；請為其中一個改名。</translation>
    </message>
    <message>
        <source>/{} has no text yet.</source>
        <translation>/{} 還沒有內容。</translation>
    </message>
    <message>
        <source>Text</source>
        <translation>內容</translation>
    </message>
    <message>
        <source>Typed as /name at the beginning of a message. {cursor} is where you continue to write; {selection} and {clipboard} put in the text selected in the chat or copied.</source>
        <translation>在訊息開頭輸入「/名稱」即可使用。{cursor} 是繼續輸入的位置；{selection} 與 {clipboard} 會填入對話中選取的文字或剪貼簿中的文字。</translation>
    </message>
</context>
<context>
    <name>PromptPopup</name>
    <message>
        <source>Edit prompts…</source>
        <translation>編輯提示詞…</translation>
    </message>
    <message>
        <source>Prompts</source>
        <translation>提示詞</translation>
    </message>
</context>
<context>
    <name>Prompts</name>
    <message>
        <source>summarise</source>
        <translation>摘要</translation>
    </message>
    <message>
        <source>Summarise the following text in five points at most. Keep names and numbers.

{selection}{cursor}</source>
        <translation>請以不超過五個重點摘要以下文字，保留其中的名稱與數字。

{selection}{cursor}</translation>
    </message>
    <message>
        <source>translate</source>
        <translation>翻譯</translation>
    </message>
    <message>
        <source>Translate the following text into English. Give only the translation.

{selection}{cursor}</source>
        <translation>請將以下文字翻譯成英文，只給出譯文。

{selection}{cursor}</translation>
    </message>
    <message>
        <source>rewrite</source>
        <translation>改寫</translation>
    </message>
    <message>
        <source>Rewrite the following text so that it is clear and correct. Keep its meaning, its language and about its length.

{selection}{cursor}</source>
        <translation>請改寫以下文字，使其清楚、正確，並保持原意、原語言與大致篇幅。

{selection}{cursor}</translation>
    </message>
    <message>
        <source>explain</source>
        <translation>解釋</translation>
    </message>
    <message>
        <source>Explain step by step what this code does, and point out what looks wrong.

```
{selection}{cursor}
```</source>
        <translation>請逐步解釋這段程式碼的作用，並指出看起來有問題的地方。

```
{selection}{cursor}
```</translation>
    </message>
    <message>
        <source>tests</source>
        <translation>測試</translation>
    </message>
    <message>
        <source>Write unit tests for this code. Cover ordinary cases, limits and errors.

```
{selection}{cursor}
```</source>
        <translation>請為這段程式碼撰寫單元測試，涵蓋一般情況、邊界情況與錯誤情況。

```
{selection}{cursor}
```</translation>
    </message>
</context>
<context>
    <name>ProposalBar</name>
    <message>
        <source>Allow</source>
        <translation>允許</translation>
    </message>
    <message>
        <source>Edit…</source>
        <translation>編輯…</translation>
    </message>
    <message>
        <source>Do not allow</source>
        <translation>不允許</translation>
    </message>
    <message>
        <source>Until Headstart is closed.</source>
        <translation>直到 Headstart 關閉為止。</translation>
    </message>
    <message>
        <source>The model wants to: {}</source>
        <translation>模型想要：{}</translation>
    </message>
    <message>
        <source>Shift+Tab leads to the answers.</source>
        <translation>按 Shift+Tab 可前往各個回答選項。</translation>
    </message>
    <message>
        <source>Always read in this chat</source>
        <translation>在此對話中一律讀取</translation>
    </message>
    <message>
        <source>Always change in this chat</source>
        <translation>在此對話中一律變更</translation>
    </message>
    <message>
        <source>Always this command in this chat</source>
        <translation>在此對話中一律執行此命令</translation>
    </message>
    <message>
        <source>What would change</source>
        <translation>將要變更的內容</translation>
    </message>
    <message>
        <source>The new text of the file</source>
        <translation>檔案的新文字</translation>
    </message>
</context>
<context>
    <name>QuickAsk</name>
    <message>
        <source>Quick Ask</source>
        <translation>快速提問</translation>
    </message>
    <message>
        <source>Ask a question</source>
        <translation>提一個問題</translation>
    </message>
    <message>
        <source>Question</source>
        <translation>問題</translation>
    </message>
    <message>
        <source>Answer</source>
        <translation>回答</translation>
    </message>
    <message>
        <source>Stop</source>
        <translation>停止</translation>
    </message>
    <message>
        <source>Copy</source>
        <translation>複製</translation>
    </message>
    <message>
        <source>Open in Headstart</source>
        <translation>在 Headstart 中開啟</translation>
    </message>
    <message>
        <source>Thinking…</source>
        <translation>正在思考…</translation>
    </message>
</context>
<context>
    <name>QuickAskController</name>
    <message>
        <source>Quick Ask</source>
        <translation>快速提問</translation>
    </message>
    <message>
        <source>Open Headstart</source>
        <translation>開啟 Headstart</translation>
    </message>
    <message>
        <source>Quit</source>
        <translation>結束</translation>
    </message>
</context>
<context>
    <name>RaceController</name>
    <message>
        <source>A race is running; stop it on its page, or wait for its end.</source>
        <translation>競速正在進行；請在其頁面上停止，或等待其結束。</translation>
    </message>
    <message>
        <source>Reading the prompt once, so that both start alike…</source>
        <translation>先讀取一遍提示詞，讓雙方從相同的狀態開始…</translation>
    </message>
    <message>
        <source>Without speed-up: one token at a time…</source>
        <translation>不加速：一次一個 token…</translation>
    </message>
    <message>
        <source>With speed-up: several tokens at a time, where they are right…</source>
        <translation>加速：正確時一次寫幾個 token…</translation>
    </message>
    <message>
        <source>Without speed-up again, to see how steady this computer is…</source>
        <translation>再次不加速，以了解這台電腦有多穩定…</translation>
    </message>
    <message>
        <source>earlier text</source>
        <translation>前文</translation>
    </message>
    <message>
        <source>a draft model</source>
        <translation>草稿模型</translation>
    </message>
    <message>
        <source>a draft head</source>
        <translation>草稿頭</translation>
    </message>
    <message>
        <source>Stopped.</source>
        <translation>已停止。</translation>
    </message>
    <message>
        <source>{model} on {device}, speed-up by {guessing}</source>
        <translation>{model}，執行於 {device}，加速來自：{guessing}</translation>
    </message>
    <message>
        <source>Both at once, at the times that were just measured…</source>
        <translation>雙方同時重播，依剛才測得的時間…</translation>
    </message>
</context>
<context>
    <name>RaceForm</name>
    <message>
        <source>Code</source>
        <translation>程式碼</translation>
    </message>
    <message>
        <source>Write a Python class LinkedList with the methods append, insert, remove, find and __iter__. Use type hints and a docstring for every method. Answer with the code only.</source>
        <translation>撰寫一個 Python 類別 LinkedList，包含 append、insert、remove、find 與 __iter__ 方法。每個方法都要有型別提示與 docstring。只回答程式碼。</translation>
    </message>
    <message>
        <source>Tests</source>
        <translation>測試</translation>
    </message>
    <message>
        <source>Write ten unit tests with pytest for a function slugify(text: str) -&gt; str that makes web addresses of titles. Answer with the code only.</source>
        <translation>函式 slugify(text: str) -&gt; str 把標題轉換為網址。用 pytest 為它撰寫十個單元測試。只回答程式碼。</translation>
    </message>
    <message>
        <source>Explanation</source>
        <translation>說明</translation>
    </message>
    <message>
        <source>Explain step by step how a hash table finds an entry.</source>
        <translation>逐步說明雜湊表如何找到一個項目。</translation>
    </message>
    <message>
        <source>Letter</source>
        <translation>信件</translation>
    </message>
    <message>
        <source>Write a polite letter to a neighbour about music that is too loud in the evening.</source>
        <translation>給鄰居寫一封有禮貌的信，談談晚上音樂聲太大的問題。</translation>
    </message>
    <message>
        <source>Tell a short story about a lighthouse keeper who collects words.</source>
        <translation>講一個關於收集詞語的燈塔看守人的短篇故事。</translation>
    </message>
    <message>
        <source>Prompt</source>
        <translation>提示詞</translation>
    </message>
    <message>
        <source>Story</source>
        <translation>故事</translation>
    </message>
    <message>
        <source>Example</source>
        <translation>範例</translation>
    </message>
</context>
<context>
    <name>RaceLane</name>
    <message>
        <source>not started</source>
        <translation>尚未開始</translation>
    </message>
    <message>
        <source>{} s</source>
        <translation>{} 秒</translation>
    </message>
    <message>
        <source>{} tokens</source>
        <translation>{} token</translation>
    </message>
    <message>
        <source>{} tokens/s</source>
        <translation>{} token/秒</translation>
    </message>
    <message>
        <source>Text of: {}</source>
        <translation>{}的文字</translation>
    </message>
    <message>
        <source>Progress of: {}</source>
        <translation>{}的進度</translation>
    </message>
</context>
<context>
    <name>RacePage</name>
    <message>
        <source>Race</source>
        <translation>競速</translation>
    </message>
    <message>
        <source>Start the race</source>
        <translation>開始競速</translation>
    </message>
    <message>
        <source>The model answers one request without and with Headstart&apos;s speed-up: the next words are guessed, and the model checks several at once. Both texts are the same.</source>
        <translation>模型對同一請求分別在不加速和加速時作答：先猜測接下來的詞，再由模型一次檢查幾個。兩段文字相同。</translation>
    </message>
    <message>
        <source>Stop</source>
        <translation>停止</translation>
    </message>
    <message>
        <source>Replay both at once</source>
        <translation>雙方同時重播</translation>
    </message>
    <message>
        <source>Without speed-up</source>
        <translation>不加速</translation>
    </message>
    <message>
        <source>With speed-up</source>
        <translation>加速</translation>
    </message>
    <message>
        <source>Identical: {equal} of {total} tokens.</source>
        <translation>完全相同：{total} 個 token 中的 {equal} 個。</translation>
    </message>
    <message>
        <source>{equal} of {total} tokens are equal; the first difference is at token {first}.</source>
        <translation>{total} 個 token 中有 {equal} 個相同；第一處不同在第 {first} 個 token。</translation>
    </message>
    <message>
        <source>No clear difference</source>
        <translation>沒有明顯差別</translation>
    </message>
    <message>
        <source>The answers differ in length, so their times cannot be compared.</source>
        <translation>兩個回答長度不同，因此無法比較時間。</translation>
    </message>
    <message>
        <source>Without speed-up it was run twice, to see how steady this computer is: {faster} s, which counts, and {slower} s.</source>
        <translation>不加速的執行進行了兩次，以了解這台電腦有多穩定：{faster} 秒（以此為準）和 {slower} 秒。</translation>
    </message>
    <message>
        <source>The answer is too short for a speed.</source>
        <translation>回答太短，無法測速。</translation>
    </message>
    <message>
        <source>The model repeats itself, so its speed is no gain. Try another prompt.</source>
        <translation>模型一直在重複，重複得快沒有意義。請換一個提示詞。</translation>
    </message>
</context>
<context>
    <name>ReadAloudController</name>
    <message>
        <source>No speech service answers: install speech-dispatcher with a voice, such as the packages speech-dispatcher and speech-dispatcher-espeak-ng, and try again.</source>
        <translation>沒有語音服務回應：請安裝帶語音的 speech-dispatcher，例如套件 speech-dispatcher 和 speech-dispatcher-espeak-ng，然後再試一次。</translation>
    </message>
    <message>
        <source>Answers are read aloud on Linux only: use the screen reader of your system.</source>
        <translation>回答只能在 Linux 上朗讀：請使用系統的螢幕閱讀器。</translation>
    </message>
    <message>
        <source>Reading aloud</source>
        <translation>正在朗讀</translation>
    </message>
    <message>
        <source>Stop</source>
        <translation>停止</translation>
    </message>
    <message>
        <source>Stop Reading</source>
        <translation>停止朗讀</translation>
    </message>
    <message>
        <source>Read Aloud</source>
        <translation>朗讀</translation>
    </message>
</context>
<context>
    <name>RecipeRow</name>
    <message>
        <source>installed</source>
        <translation>已安裝</translation>
    </message>
    <message>
        <source>recommended</source>
        <translation>推薦</translation>
    </message>
    <message>
        <source>Get</source>
        <translation>取得</translation>
    </message>
    <message>
        <source>Get {}</source>
        <translation>取得 {}</translation>
    </message>
    <message>
        <source>Get fast (4 bits)</source>
        <translation>取得快速版（4 位元）</translation>
    </message>
    <message>
        <source>Get {} fast (4 bits)</source>
        <translation>取得 {} 快速版（4 位元）</translation>
    </message>
    <message>
        <source>Not tried by Headstart&apos;s own tests.</source>
        <translation>未經 Headstart 自身測試驗證。</translation>
    </message>
    <message>
        <source>With 4 bits: {} on the disk, faster and a little less exact</source>
        <translation>4 位元：磁碟佔用 {}，更快，但精度略低</translation>
    </message>
</context>
<context>
    <name>Recovery</name>
    <message>
        <source>Try Again</source>
        <translation>重試</translation>
    </message>
    <message>
        <source>Start with an Empty History</source>
        <translation>以空的歷程記錄開始</translation>
    </message>
    <message>
        <source>Restore the Backup of {}</source>
        <translation>還原 {} 的備份</translation>
    </message>
    <message>
        <source>Your chats can be saved in their folder again, and what is new is in it now.</source>
        <translation>對話又可以儲存在原來的資料夾中，新的內容已經寫入。</translation>
    </message>
    <message>
        <source>The index of your chats was damaged and has been made anew. No chat is lost.</source>
        <translation>對話的索引已損毀，現已重建。沒有遺失任何對話。</translation>
    </message>
    <message>
        <source>Until then your chats are kept in {}, and go back by themselves.</source>
        <translation>在此之前，對話儲存在 {} 中，之後會自動寫回。</translation>
    </message>
    <message>
        <source>Open What Can Be Read</source>
        <translation>開啟可讀取的內容</translation>
    </message>
    <message>
        <source>Whatever you choose, the damaged file is kept.</source>
        <translation>無論選擇哪一項，損毀的檔案都會保留。</translation>
    </message>
    <message>
        <source>The backup of {} is damaged too.</source>
        <translation>{} 的備份也已損毀。</translation>
    </message>
    <message>
        <source>The file with your chats is damaged, and nothing of it can be read.</source>
        <translation>儲存對話的檔案已損毀，其中的內容都無法讀取。</translation>
    </message>
    <message>
        <source>1 chat</source>
        <translation>1 個對話</translation>
    </message>
    <message>
        <source>{} chats</source>
        <translation>{} 個對話</translation>
    </message>
    <message>
        <source>The file with your chats is damaged. Still readable: {messages} in {chats}.</source>
        <translation>儲存對話的檔案已損毀。仍可讀取：{chats}中的 {messages}。</translation>
    </message>
    <message>
        <source>{title} ({count})</source>
        <translation>{title}（{count}）</translation>
    </message>
    <message>
        <source>a chat without title</source>
        <translation>一個無標題的對話</translation>
    </message>
    <message>
        <source>{} more chats</source>
        <translation>另外 {} 個對話</translation>
    </message>
    <message>
        <source>Damaged or lost: {messages}, in {chats}.</source>
        <translation>損毀或遺失：{messages}，位於{chats}。</translation>
    </message>
    <message>
        <source>1 message</source>
        <translation>1 則訊息</translation>
    </message>
    <message>
        <source>{} messages</source>
        <translation>{} 則訊息</translation>
    </message>
    <message>
        <source>The damaged history is kept as {}.</source>
        <translation>損毀的記錄保留為 {}。</translation>
    </message>
    <message>
        <source>The backup of {time} was restored; the damaged history is kept as {path}.</source>
        <translation>已還原 {time} 的備份；損毀的歷程記錄保留在 {path}。</translation>
    </message>
    <message>
        <source>The history is empty now; the damaged one is kept as {path}.</source>
        <translation>歷程記錄現已清空；損毀的歷程記錄保留在 {path}。</translation>
    </message>
    <message>
        <source>Quit</source>
        <translation>結束</translation>
    </message>
</context>
<context>
    <name>RemoteServerCard</name>
    <message>
        <source>Check</source>
        <translation>檢查</translation>
    </message>
    <message>
        <source>Check {}</source>
        <translation>檢查 {}</translation>
    </message>
    <message>
        <source>default model</source>
        <translation>預設模型</translation>
    </message>
    <message>
        <source>http does not encrypt: others can read the messages and the key on the way.</source>
        <translation>http 不加密：傳送的內容和金鑰在途中可能被他人讀取。</translation>
    </message>
    <message>
        <source>Trusts the authority in {} too.</source>
        <translation>也信任 {} 中的簽發機構。</translation>
    </message>
</context>
<context>
    <name>RemoteServersController</name>
    <message>
        <source>{name} is {address}. Check it, or choose it for a chat.</source>
        <translation>{name} 的位址是 {address}。請檢查它，或在對話中選用。</translation>
    </message>
    <message>
        <source>A key is one line of letters, digits and signs; nothing was kept.</source>
        <translation>金鑰是一行字母、數字和符號；未儲存任何內容。</translation>
    </message>
    <message>
        <source>There is no file {}; name the certificate of the authority in PEM form.</source>
        <translation>沒有檔案 {}；請指定簽發機構的 PEM 格式憑證。</translation>
    </message>
    <message>
        <source>This system has no keyring, so the key is in {}, which only you can read.</source>
        <translation>此系統沒有金鑰圈，因此金鑰儲存在 {} 中，只有您可以讀取。</translation>
    </message>
    <message>
        <source>Asking it for its models and for a word…</source>
        <translation>正在詢問它的模型，並請它回答一個詞…</translation>
    </message>
    <message>
        <source>It answers.</source>
        <translation>它有回應。</translation>
    </message>
    <message>
        <source>Forget the server {} and its key? Chats written with it stay.</source>
        <translation>要移除伺服器 {} 及其金鑰嗎？用它寫的對話會保留。</translation>
    </message>
    <message>
        <source>Remove server</source>
        <translation>移除伺服器</translation>
    </message>
    <message>
        <source>Remove</source>
        <translation>移除</translation>
    </message>
    <message>
        <source>Without a key.</source>
        <translation>沒有金鑰。</translation>
    </message>
    <message>
        <source>The key is in the system&apos;s keyring.</source>
        <translation>金鑰在系統的金鑰圈中。</translation>
    </message>
    <message>
        <source>The key is in an environment variable.</source>
        <translation>金鑰在環境變數中。</translation>
    </message>
    <message>
        <source>The key is in {}.</source>
        <translation>金鑰在 {} 中。</translation>
    </message>
</context>
<context>
    <name>RemoteServersList</name>
    <message>
        <source>Servers</source>
        <translation>伺服器</translation>
    </message>
</context>
<context>
    <name>RequestLog</name>
    <message>
        <source>Requests</source>
        <translation>要求</translation>
    </message>
    <message>
        <source>No requests yet. Prompts are never logged.</source>
        <translation>還沒有請求。提示詞從不記錄。</translation>
    </message>
    <message>
        <source>Time</source>
        <translation>時間</translation>
    </message>
    <message>
        <source>Request</source>
        <translation>要求</translation>
    </message>
    <message>
        <source>Status</source>
        <translation>狀態</translation>
    </message>
    <message>
        <source>Tokens</source>
        <translation>token 數</translation>
    </message>
    <message>
        <source>Seconds</source>
        <translation>秒</translation>
    </message>
    <message>
        <source>running</source>
        <translation>進行中</translation>
    </message>
    <message>
        <source>client left</source>
        <translation>用戶端已中斷</translation>
    </message>
</context>
<context>
    <name>SelectionBar</name>
    <message>
        <source>Copy as Markdown</source>
        <translation>複製為 Markdown</translation>
    </message>
    <message>
        <source>Copy as text</source>
        <translation>複製為文字</translation>
    </message>
    <message>
        <source>Select nothing</source>
        <translation>取消選取</translation>
    </message>
    <message>
        <source>1 message selected. Click another name with Shift to select up to there.</source>
        <translation>已選取 1 則訊息。按住 Shift 點選另一個名稱可選取到該處。</translation>
    </message>
    <message>
        <source>{} messages selected</source>
        <translation>已選取 {} 則訊息</translation>
    </message>
</context>
<context>
    <name>ServerAddress</name>
    <message>
        <source>New key</source>
        <translation>新金鑰</translation>
    </message>
    <message>
        <source>Address</source>
        <translation>位址</translation>
    </message>
    <message>
        <source>Copy the address</source>
        <translation>複製位址</translation>
    </message>
    <message>
        <source>Key</source>
        <translation>金鑰</translation>
    </message>
    <message>
        <source>Copy the key</source>
        <translation>複製金鑰</translation>
    </message>
    <message>
        <source>Try it in a terminal</source>
        <translation>在終端機中試用</translation>
    </message>
    <message>
        <source>Copy the command</source>
        <translation>複製命令</translation>
    </message>
    <message>
        <source>kept as a hash only</source>
        <translation>只保存了雜湊值</translation>
    </message>
    <message>
        <source>none yet</source>
        <translation>尚無</translation>
    </message>
    <message>
        <source>Programs send it as their API key. Copy it now: when this window closes, only its hash is left.</source>
        <translation>程式將其作為 API 金鑰傳送。請現在複製：此視窗關閉後只保留其雜湊值。</translation>
    </message>
    <message>
        <source>The key was shown when it was made. If you have lost it, make a new one; the old one ends then.</source>
        <translation>金鑰只在產生時顯示。如已遺失，可產生新金鑰；舊金鑰隨即失效。</translation>
    </message>
    <message>
        <source>It is made when the server is switched on for the first time.</source>
        <translation>首次開啟伺服器時產生。</translation>
    </message>
    <message>
        <source>For your programs</source>
        <translation>供您的程式使用</translation>
    </message>
</context>
<context>
    <name>ServerController</name>
    <message>
        <source>The model of the open chat is on another computer; choose one of this computer.</source>
        <translation>目前對話的模型在另一台電腦上；請選擇這台電腦上的模型。</translation>
    </message>
    <message>
        <source>The server stopped unexpectedly; Help › Show Logs says more.</source>
        <translation>伺服器意外停止；詳情請見「說明 › 檢視記錄檔」。</translation>
    </message>
    <message>
        <source>A request is being answered; waiting: {}.</source>
        <translation>正在回應一個要求；等待中：{}。</translation>
    </message>
    <message>
        <source>A request is being answered.</source>
        <translation>正在回應一個要求。</translation>
    </message>
    <message>
        <source>The window has changed to a model on another computer, so the server ended.</source>
        <translation>視窗已改用另一台電腦上的模型，因此伺服器已停止。</translation>
    </message>
    <message>
        <source>The model was unloaded, so the server ended.</source>
        <translation>模型已卸載，因此伺服器已停止。</translation>
    </message>
    <message>
        <source>It is started again with the new key.</source>
        <translation>正在用新金鑰重新啟動。</translation>
    </message>
    <message>
        <source>Port {} is taken by another program; choose another port, then switch the server on again.</source>
        <translation>連接埠 {} 已被另一個程式占用；請選擇其他連接埠，然後重新開啟伺服器。</translation>
    </message>
    <message>
        <source>Make another key? Programs that have the present one are turned away until they get it.</source>
        <translation>要產生新金鑰嗎？使用現有金鑰的程式在換用新金鑰之前會被拒絕。</translation>
    </message>
    <message>
        <source>New key</source>
        <translation>新金鑰</translation>
    </message>
    <message>
        <source>Make another key</source>
        <translation>產生新金鑰</translation>
    </message>
</context>
<context>
    <name>ServerDialog</name>
    <message>
        <source>Tool server</source>
        <translation>工具伺服器</translation>
    </message>
    <message>
        <source>New tool server</source>
        <translation>新增工具伺服器</translation>
    </message>
    <message>
        <source>such as files</source>
        <translation>例如 files</translation>
    </message>
    <message>
        <source>such as npx, uvx or the path of a program</source>
        <translation>例如 npx、uvx 或程式的路徑</translation>
    </message>
    <message>
        <source>one on each line</source>
        <translation>每行一個</translation>
    </message>
    <message>
        <source>one on each line, such as API_KEY=…</source>
        <translation>每行一個，例如 API_KEY=…</translation>
    </message>
    <message>
        <source>Test</source>
        <translation>測試</translation>
    </message>
    <message>
        <source>Cancel</source>
        <translation>取消</translation>
    </message>
    <message>
        <source>Save</source>
        <translation>儲存</translation>
    </message>
    <message>
        <source>It works. Its tools: {}</source>
        <translation>可以執行。其工具：{}</translation>
    </message>
    <message>
        <source>It works, but has no tools.</source>
        <translation>可以執行，但沒有工具。</translation>
    </message>
    <message>
        <source>server</source>
        <translation>伺服器</translation>
    </message>
    <message>
        <source>Starting it…</source>
        <translation>正在啟動…</translation>
    </message>
    <message>
        <source>Another server has this name.</source>
        <translation>另一個伺服器已使用此名稱。</translation>
    </message>
    <message>
        <source>Name</source>
        <translation>名稱</translation>
    </message>
    <message>
        <source>Program</source>
        <translation>程式</translation>
    </message>
    <message>
        <source>Arguments</source>
        <translation>參數</translation>
    </message>
    <message>
        <source>Variables, for keys and passwords</source>
        <translation>變數，用於金鑰和密碼</translation>
    </message>
</context>
<context>
    <name>ServerNote</name>
    <message>
        <source>Answer other programs</source>
        <translation>回應其他程式</translation>
    </message>
    <message>
        <source>Copy command</source>
        <translation>複製命令</translation>
    </message>
    <message>
        <source>Local server…</source>
        <translation>本機伺服器…</translation>
    </message>
    <message>
        <source>Editors and scripts on this computer can use a model as they use OpenAI&apos;s API. Switch that on on the page of the local server, or type this in a terminal, where the model needs its memory a second time:
{}</source>
        <translation>這台電腦上的編輯器和指令碼可以像使用 OpenAI 的 API 一樣使用模型。請在「本機伺服器」頁開啟，或在終端機中輸入以下命令（模型會再佔用一份記憶體）：
{}</translation>
    </message>
</context>
<context>
    <name>ServerPage</name>
    <message>
        <source>Local server</source>
        <translation>本機伺服器</translation>
    </message>
    <message>
        <source>Editors and scripts on this computer can ask the model of the open chat as they ask OpenAI&apos;s API. Other computers, web pages and programs without the key are refused. The server ends with this window.</source>
        <translation>這台電腦上的編輯器和指令碼可以像呼叫 OpenAI 的 API 一樣使用目前對話的模型。其他電腦、網頁以及沒有金鑰的程式均無法存取；伺服器隨此視窗一同結束。</translation>
    </message>
</context>
<context>
    <name>ServerSwitch</name>
    <message>
        <source>Off</source>
        <translation>關閉</translation>
    </message>
    <message>
        <source>Starting</source>
        <translation>正在啟動</translation>
    </message>
    <message>
        <source>Ready</source>
        <translation>就緒</translation>
    </message>
    <message>
        <source>Busy</source>
        <translation>忙碌</translation>
    </message>
    <message>
        <source>Stopping</source>
        <translation>正在停止</translation>
    </message>
    <message>
        <source>Failed</source>
        <translation>發生錯誤</translation>
    </message>
    <message>
        <source>Local API server</source>
        <translation>本機 API 伺服器</translation>
    </message>
    <message>
        <source>The server is being started</source>
        <translation>正在啟動伺服器</translation>
    </message>
    <message>
        <source>Model: {}</source>
        <translation>模型：{}</translation>
    </message>
    <message>
        <source>The open chat has another model or other settings now; switch off and on to serve those.</source>
        <translation>目前對話已改用其他模型或設定；關閉後再開啟即可提供它們。</translation>
    </message>
</context>
<context>
    <name>Settings</name>
    <message>
        <source>Theme</source>
        <translation>主題</translation>
    </message>
    <message>
        <source>Text size</source>
        <translation>文字大小</translation>
    </message>
    <message>
        <source>Zoom</source>
        <translation>縮放</translation>
    </message>
    <message>
        <source>Language</source>
        <translation>語言</translation>
    </message>
    <message>
        <source>Reduced motion</source>
        <translation>減少動態效果</translation>
    </message>
    <message>
        <source>Stay in the tray</source>
        <translation>留在系統匣</translation>
    </message>
    <message>
        <source>Model</source>
        <translation>模型</translation>
    </message>
    <message>
        <source>Draft model</source>
        <translation>草稿模型</translation>
    </message>
    <message>
        <source>Device</source>
        <translation>裝置</translation>
    </message>
    <message>
        <source>Context</source>
        <translation>上下文</translation>
    </message>
    <message>
        <source>Tokens of context to make room for; higher allows longer chats and takes more memory.</source>
        <translation>為上下文預留的 token 數；越高，對話可以越長，占用的記憶體也越多。</translation>
    </message>
    <message>
        <source>Engine</source>
        <translation>引擎</translation>
    </message>
    <message>
        <source>System prompt</source>
        <translation>系統提示詞</translation>
    </message>
    <message>
        <source>Thinking</source>
        <translation>思考</translation>
    </message>
    <message>
        <source>Most tokens of thinking; then the answer begins.</source>
        <translation>思考最多用多少 token；之後開始回答。</translation>
    </message>
    <message>
        <source>Speed-up</source>
        <translation>加速</translation>
    </message>
    <message>
        <source>Confidence threshold</source>
        <translation>信心閾值</translation>
    </message>
    <message>
        <source>Guessing stops below this confidence of the draft model; higher guesses less, and more of it is accepted.</source>
        <translation>草稿模型的信心低於此值時停止猜測；越高，猜測越少，但被接受的比例越大。</translation>
    </message>
    <message>
        <source>Below 1 guesses are accepted that may change the answer; 1 changes nothing.</source>
        <translation>小於 1 時會接受可能改變回答的猜測；為 1 時回答不變。</translation>
    </message>
    <message>
        <source>Temperature</source>
        <translation>溫度</translation>
    </message>
    <message>
        <source>How freely words are chosen; 0 always takes the likeliest, higher gives more variety and more mistakes.</source>
        <translation>選詞的隨機程度；0 表示一律選取機率最高的詞，越高則變化越多、錯誤也越多。</translation>
    </message>
    <message>
        <source>Top-p</source>
        <translation>Top-p</translation>
    </message>
    <message>
        <source>Share of the likeliest tokens to choose from; higher gives more variety.</source>
        <translation>從累計機率達到此值的 token 中選取；越高，變化越多。</translation>
    </message>
    <message>
        <source>Top-k</source>
        <translation>Top-k</translation>
    </message>
    <message>
        <source>Number of the likeliest tokens to choose from; higher gives more variety, 0 takes all.</source>
        <translation>從機率最高的若干個 token 中選取；越高，變化越多；0 表示不限。</translation>
    </message>
    <message>
        <source>Min-p</source>
        <translation>Min-p</translation>
    </message>
    <message>
        <source>Least likelihood relative to the likeliest token; higher gives less variety.</source>
        <translation>相對於最可能的 token 的最低機率；越高，變化越少。</translation>
    </message>
    <message>
        <source>Repetition penalty</source>
        <translation>重複懲罰</translation>
    </message>
    <message>
        <source>Above 1, words of prompt and answer are repeated less; far above 1 the text becomes odd.</source>
        <translation>大於 1 時，減少重複提示詞和回答中已有的詞；遠大於 1 時，文字會變得怪異。</translation>
    </message>
    <message>
        <source>Presence penalty</source>
        <translation>存在懲罰</translation>
    </message>
    <message>
        <source>Against words already in the answer; higher brings more new words.</source>
        <translation>減少回答中已經出現過的詞；越高，新詞越多。</translation>
    </message>
    <message>
        <source>Frequency penalty</source>
        <translation>頻率懲罰</translation>
    </message>
    <message>
        <source>Against words often in the answer; higher repeats them less.</source>
        <translation>減少回答中頻繁出現的詞；越高，重複越少。</translation>
    </message>
    <message>
        <source>Seed</source>
        <translation>隨機種子</translation>
    </message>
    <message>
        <source>The same seed chooses the same words; another seed gives another answer.</source>
        <translation>相同的種子會選出相同的詞；換一個種子就會得到另一個回答。</translation>
    </message>
    <message>
        <source>Port</source>
        <translation>連接埠</translation>
    </message>
    <message>
        <source>Acceptance threshold</source>
        <translation>接受閾值</translation>
    </message>
    <message>
        <source>Titles by the model</source>
        <translation>由模型命名標題</translation>
    </message>
    <message>
        <source>System</source>
        <translation>跟隨系統</translation>
    </message>
    <message>
        <source>Light</source>
        <translation>淺色</translation>
    </message>
    <message>
        <source>Dark</source>
        <translation>深色</translation>
    </message>
    <message>
        <source>High contrast</source>
        <translation>高對比</translation>
    </message>
    <message>
        <source>On</source>
        <translation>開啟</translation>
    </message>
    <message>
        <source>Automatic</source>
        <translation>自動</translation>
    </message>
    <message>
        <source> tokens</source>
        <translation> token</translation>
    </message>
    <message>
        <source>Fixed</source>
        <translation>固定</translation>
    </message>
    <message>
        <source>Off</source>
        <translation>關閉</translation>
    </message>
    <message>
        <source>Always</source>
        <translation>一律</translation>
    </message>
    <message>
        <source>Never</source>
        <translation>永不</translation>
    </message>
    <message>
        <source>16 bits</source>
        <translation>16 位元</translation>
    </message>
    <message>
        <source>8 bits</source>
        <translation>8 位元</translation>
    </message>
    <message>
        <source>Colours: light, dark or with high contrast.</source>
        <translation>介面色彩：淺色、深色或高對比。</translation>
    </message>
    <message>
        <source>The window opens again in another language.</source>
        <translation>視窗會以另一種語言重新開啟。</translation>
    </message>
    <message>
        <source>Size of the text in points.</source>
        <translation>文字大小，單位為點。</translation>
    </message>
    <message>
        <source>Scale of the window in percent.</source>
        <translation>視窗的縮放百分比。</translation>
    </message>
    <message>
        <source>Nothing moves or blinks by itself.</source>
        <translation>介面元素不會自行移動或閃爍。</translation>
    </message>
    <message>
        <source>What the model is told before every chat.</source>
        <translation>每次對話開始前告訴模型的內容。</translation>
    </message>
    <message>
        <source>Device that runs the model; automatic takes what tuning found, or else the processor.</source>
        <translation>執行模型的裝置；「自動」採用調校的結果，否則用處理器。</translation>
    </message>
    <message>
        <source>Draft device</source>
        <translation>草稿模型的裝置</translation>
    </message>
    <message>
        <source>Device that runs the draft model; automatic takes what tuning found, or else that of the model.</source>
        <translation>執行草稿模型的裝置；「自動」採用調校的結果，否則與模型相同。</translation>
    </message>
    <message>
        <source>Longest answer</source>
        <translation>回答最大長度</translation>
    </message>
    <message>
        <source>Longest answer in tokens; a word has one or two.</source>
        <translation>回答的最大長度，以 token 計；一個詞有一到兩個。</translation>
    </message>
    <message>
        <source>Think before the answer, if the model can do both.</source>
        <translation>回答前先思考，如果模型兩者都能做到。</translation>
    </message>
    <message>
        <source>Longest thinking</source>
        <translation>思考最大長度</translation>
    </message>
    <message>
        <source>Guesses per step</source>
        <translation>每步猜測數</translation>
    </message>
    <message>
        <source>Most tokens guessed in one step; higher saves time where guesses are accepted, and loses it where not.</source>
        <translation>每步最多猜測的 token 數；越高，猜測被接受時越省時間，不被接受時則浪費時間。</translation>
    </message>
    <message>
        <source>Who runs the model: automatic takes Headstart wherever it works, and OpenVINO GenAI elsewhere.</source>
        <translation>由誰執行模型：自動時凡 Headstart 可用之處用它，其餘用 OpenVINO GenAI。</translation>
    </message>
    <message>
        <source>Mark faster words</source>
        <translation>標出加速的詞</translation>
    </message>
    <message>
        <source>Colours show which words came faster, and thanks to what.</source>
        <translation>用顏色表示哪些詞加速了，以及加速來自什麼。</translation>
    </message>
    <message>
        <source>Enter sends the message</source>
        <translation>按 Enter 鍵傳送訊息</translation>
    </message>
    <message>
        <source>If off, Ctrl+Enter sends.</source>
        <translation>關閉時，按 Ctrl+Enter 傳送。</translation>
    </message>
    <message>
        <source>Open the last chat at start</source>
        <translation>啟動時開啟上次的對話</translation>
    </message>
    <message>
        <source>If off, Headstart starts with a new chat.</source>
        <translation>關閉時，Headstart 以新對話啟動。</translation>
    </message>
    <message>
        <source>Notify me when a long answer is ready</source>
        <translation>長回答完成時通知我</translation>
    </message>
    <message>
        <source>Only while you work in another window.</source>
        <translation>僅當您在其他視窗工作時。</translation>
    </message>
    <message>
        <source>Show the answer&apos;s beginning in notifications</source>
        <translation>在通知中顯示回答的開頭</translation>
    </message>
    <message>
        <source>Without it, only the chat&apos;s title.</source>
        <translation>否則只顯示對話的標題。</translation>
    </message>
    <message>
        <source>Closing the window then leaves Headstart in the tray, ready at once. Ctrl+Q ends it.</source>
        <translation>關閉視窗後，Headstart 留在系統匣中，隨時可用。按 Ctrl+Q 結束。</translation>
    </message>
    <message>
        <source>Disk space for old chats</source>
        <translation>舊對話的磁碟空間</translation>
    </message>
    <message>
        <source>Keeps what a model has read, so that old chats answer at once. 0 keeps nothing.</source>
        <translation>保留模型讀過的內容，使舊對話立即可答。0 表示不保留。</translation>
    </message>
    <message>
        <source>Read while you type</source>
        <translation>在您輸入時閱讀</translation>
    </message>
    <message>
        <source>The model reads what you type before you send it, so that the answer begins at once. Automatic: not on battery.</source>
        <translation>模型在您傳送之前就閱讀您輸入的內容，使回答立即開始。自動：使用電池時不進行。</translation>
    </message>
    <message>
        <source>The model finds short titles for chats when it is idle. Automatic: not on battery.</source>
        <translation>模型閒置時為對話取簡短的標題。自動：使用電池時不進行。</translation>
    </message>
    <message>
        <source>Read answers aloud</source>
        <translation>朗讀回答</translation>
    </message>
    <message>
        <source>The desktop&apos;s voice speaks each sentence as it is written. Esc stops it.</source>
        <translation>桌面的語音會隨寫隨讀每個句子。按 Esc 停止。</translation>
    </message>
    <message>
        <source>Speed of speech</source>
        <translation>語速</translation>
    </message>
    <message>
        <source>From -100 to 100; 0 is the usual one.</source>
        <translation>從 -100 到 100；0 是平常的語速。</translation>
    </message>
    <message>
        <source>Models may use tools</source>
        <translation>模型可以使用工具</translation>
    </message>
    <message>
        <source>You are asked before each call. Add tools in the menu Chat.</source>
        <translation>每次呼叫前都會詢問您。在「對話」選單中新增工具。</translation>
    </message>
    <message>
        <source>The model that answers. Automatic prefers a pair, which is faster.</source>
        <translation>負責回答的模型。自動時優先採用更快的組合。</translation>
    </message>
    <message>
        <source>A small model that guesses ahead for the large one. Automatic takes the one of the pair.</source>
        <translation>為大模型預先猜測的小模型。自動時採用組合中的小模型。</translation>
    </message>
    <message>
        <source>Cache precision</source>
        <translation>快取精度</translation>
    </message>
    <message>
        <source>How the model remembers a chat: 8 bits hold nearly twice the context in the same memory, but without Headstart&apos;s kernels rejected guesses leave a trace. Automatic is 16.</source>
        <translation>模型以何種精度記住對話：8 位元在同樣的記憶體中可容納近兩倍的上下文，但不使用 Headstart 的核心時，被拒絕的猜測會留下痕跡。自動為 16 位元。</translation>
    </message>
    <message>
        <source>Stop sequences</source>
        <translation>停止序列</translation>
    </message>
    <message>
        <source>Where programs of this computer find the local API server.</source>
        <translation>這台電腦上的程式在此連接埠找到本機 API 伺服器。</translation>
    </message>
    <message>
        <source>Who decides how far to guess ahead.</source>
        <translation>由誰決定預先猜測多少。</translation>
    </message>
    <message>
        <source>The answer ends before one of these texts.</source>
        <translation>回答在出現其中任一文字之前結束。</translation>
    </message>
    <message>
        <source>System prompts by name.</source>
        <translation>依名稱儲存的系統提示詞。</translation>
    </message>
    <message>
        <source>Texts that /name puts into the message; an empty one hides a built-in one.</source>
        <translation>用「/名稱」填入訊息的文字；留空則隱藏同名的內建提示詞。</translation>
    </message>
</context>
<context>
    <name>SettingsForm</name>
    <message>
        <source>Headstart guesses the next words and the model checks them: the answer stays the same and comes sooner.</source>
        <translation>Headstart 猜測接下來的詞，由模型檢查：回答不變，但來得更快。</translation>
    </message>
    <message>
        <source>Headstart always guesses this many tokens ahead, even where that saves no time.</source>
        <translation>Headstart 一律預先猜測這麼多 token，即使不省時間。</translation>
    </message>
    <message>
        <source>The model writes one token at a time.</source>
        <translation>模型一次寫一個 token。</translation>
    </message>
</context>
<context>
    <name>SidePanel</name>
    <message>
        <source>Settings of this chat</source>
        <translation>此對話的設定</translation>
    </message>
    <message>
        <source>More</source>
        <translation>更多</translation>
    </message>
    <message>
        <source>Reset</source>
        <translation>重設</translation>
    </message>
    <message>
        <source>Back to the settings of all chats</source>
        <translation>還原為所有對話的設定</translation>
    </message>
    <message>
        <source>Use for all chats</source>
        <translation>套用至所有對話</translation>
    </message>
    <message>
        <source>Make these the settings of every chat that has none of its own</source>
        <translation>將這些設定套用至所有沒有自身設定的對話</translation>
    </message>
    <message>
        <source>Speed-up</source>
        <translation>加速</translation>
    </message>
    <message>
        <source>Answers</source>
        <translation>回答</translation>
    </message>
    <message>
        <source>Loading</source>
        <translation>載入</translation>
    </message>
</context>
<context>
    <name>Sidebar</name>
    <message>
        <source>Sidebar</source>
        <translation>側邊欄</translation>
    </message>
    <message>
        <source>New chat</source>
        <translation>新對話</translation>
    </message>
    <message>
        <source>Models</source>
        <translation>模型</translation>
    </message>
    <message>
        <source>Search chats</source>
        <translation>搜尋對話</translation>
    </message>
    <message>
        <source>Projects</source>
        <translation>專案</translation>
    </message>
    <message>
        <source>Tags</source>
        <translation>標籤</translation>
    </message>
    <message>
        <source>New tag</source>
        <translation>新增標籤</translation>
    </message>
    <message>
        <source>Name of the tag:</source>
        <translation>標籤名稱：</translation>
    </message>
    <message>
        <source>New tag; chats can be dragged onto tags</source>
        <translation>新增標籤；可將對話拖曳到標籤上</translation>
    </message>
    <message>
        <source>New project</source>
        <translation>新增專案</translation>
    </message>
    <message>
        <source>Archive ({})</source>
        <translation>封存 ({})</translation>
    </message>
    <message>
        <source>Recently deleted ({})</source>
        <translation>最近刪除 ({})</translation>
    </message>
    <message>
        <source>New project; chats can be dragged onto projects</source>
        <translation>新增專案；可將對話拖到專案上</translation>
    </message>
    <message>
        <source>Nothing found for “{}” in chats tagged “{}”.</source>
        <translation>在標籤「{1}」的對話中找不到「{0}」。</translation>
    </message>
    <message>
        <source>Nothing found for “{}”.</source>
        <translation>找不到「{}」。</translation>
    </message>
    <message>
        <source>No chat is tagged “{}” yet. Drag chats onto it, or use their menu.</source>
        <translation>還沒有對話帶有標籤「{}」。可將對話拖曳到標籤上，或使用對話的選單。</translation>
    </message>
    <message>
        <source>No chat is in “{}” yet. Begin one, or drag chats onto it.</source>
        <translation>「{}」中還沒有對話。請新增一個，或將對話拖到專案上。</translation>
    </message>
    <message>
        <source>Nothing was deleted in the last {} days.</source>
        <translation>最近 {} 天沒有刪除任何對話。</translation>
    </message>
    <message>
        <source>No chat is archived. The menu of a chat can archive it.</source>
        <translation>沒有已封存的對話。可以在對話的選單中將其封存。</translation>
    </message>
    <message>
        <source>No chats yet. A chat appears here after its first message.</source>
        <translation>還沒有對話。從第一則訊息開始，對話會保存在這裡。</translation>
    </message>
    <message>
        <source>&amp;Rename</source>
        <translation>重新命名(&amp;R)</translation>
    </message>
    <message>
        <source>&amp;Delete (Chats Stay)</source>
        <translation>刪除（保留對話）(&amp;D)</translation>
    </message>
    <message>
        <source>&amp;Edit…</source>
        <translation>編輯(&amp;E)…</translation>
    </message>
    <message>
        <source>&amp;Delete (Chats Stay)…</source>
        <translation>刪除（保留對話）(&amp;D)…</translation>
    </message>
</context>
<context>
    <name>SidebarController</name>
    <message>
        <source>Delete this chat for good?</source>
        <translation>永久刪除這個對話？</translation>
    </message>
    <message>
        <source>Delete these {} chats for good?</source>
        <translation>永久刪除這 {} 個對話？</translation>
    </message>
    <message>
        <source>This cannot be undone, and reaches the backups, too. Damaged histories that were kept are deleted.</source>
        <translation>此操作無法復原，備份中的內容也會一併刪除。保留下來的已損毀記錄也會被刪除。</translation>
    </message>
    <message>
        <source>Delete for good</source>
        <translation>永久刪除</translation>
    </message>
    <message>
        <source>Delete for Good</source>
        <translation>永久刪除</translation>
    </message>
    <message>
        <source>Deleted 1 chat for good</source>
        <translation>已永久刪除 1 個對話</translation>
    </message>
    <message>
        <source>Deleted {} chats for good</source>
        <translation>已永久刪除 {} 個對話</translation>
    </message>
    <message>
        <source>Undo</source>
        <translation>復原</translation>
    </message>
    <message>
        <source>Undo: {}</source>
        <translation>復原：{}</translation>
    </message>
</context>
<context>
    <name>SourceList</name>
    <message>
        <source>Passages of files</source>
        <translation>檔案中的段落</translation>
    </message>
    <message>
        <source>Given to the model:</source>
        <translation>提供給模型：</translation>
    </message>
    <message>
        <source>Given to the model, found for “{}”:</source>
        <translation>提供給模型，依「{}」找到：</translation>
    </message>
    <message>
        <source>From {}:</source>
        <translation>出自 {}：</translation>
    </message>
    <message>
        <source>Open the File</source>
        <translation>開啟檔案</translation>
    </message>
    <message>
        <source>Show in Its Folder</source>
        <translation>在資料夾中顯示</translation>
    </message>
    <message>
        <source>The file is no longer there</source>
        <translation>檔案已不在了</translation>
    </message>
    <message>
        <source>{file}, after {percent} % of it</source>
        <translation>{file}，位於 {percent}% 處</translation>
    </message>
    <message>
        <source>Passage of {file}: {words}</source>
        <translation>{file} 中的段落：{words}</translation>
    </message>
</context>
<context>
    <name>Speech</name>
    <message>
        <source>Code, 1 line.</source>
        <translation>程式碼，1 行。</translation>
    </message>
    <message>
        <source>Code, {} lines.</source>
        <translation>程式碼，{} 行。</translation>
    </message>
    <message>
        <source>formula</source>
        <translation>公式</translation>
    </message>
    <message>
        <source>Done: </source>
        <translation>已完成：</translation>
    </message>
    <message>
        <source>To do: </source>
        <translation>待辦：</translation>
    </message>
</context>
<context>
    <name>SuggestedActions</name>
    <message>
        <source>Answer</source>
        <translation>回答</translation>
    </message>
    <message>
        <source>Continue</source>
        <translation>繼續</translation>
    </message>
    <message>
        <source>Try again</source>
        <translation>重試</translation>
    </message>
    <message>
        <source>Try again at temperature {}</source>
        <translation>以溫度 {} 重試</translation>
    </message>
    <message>
        <source>Go on anyway</source>
        <translation>仍要繼續</translation>
    </message>
</context>
<context>
    <name>TagList</name>
    <message>
        <source>1 chat</source>
        <translation>1 個對話</translation>
    </message>
    <message>
        <source>{} chats</source>
        <translation>{} 個對話</translation>
    </message>
</context>
<context>
    <name>TagMenu</name>
    <message>
        <source>&amp;Tags</source>
        <translation>標籤(&amp;T)</translation>
    </message>
    <message>
        <source>&amp;New Tag…</source>
        <translation>新增標籤(&amp;N)…</translation>
    </message>
</context>
<context>
    <name>TagsController</name>
    <message>
        <source>Delete Tag “{}”</source>
        <translation>刪除標籤「{}」</translation>
    </message>
    <message>
        <source>Deleted tag “{}”</source>
        <translation>已刪除標籤「{}」</translation>
    </message>
</context>
<context>
    <name>TextEditor</name>
    <message>
        <source>one on each line</source>
        <translation>每行一個</translation>
    </message>
</context>
<context>
    <name>TextView</name>
    <message>
        <source>Open this address in the browser?

{}</source>
        <translation>要在瀏覽器中開啟此網址嗎？

{}</translation>
    </message>
    <message>
        <source>Open link</source>
        <translation>開啟連結</translation>
    </message>
    <message>
        <source>Copy</source>
        <translation>複製</translation>
    </message>
    <message>
        <source>Copy as Markdown</source>
        <translation>複製為 Markdown</translation>
    </message>
    <message>
        <source>Copy Link Address</source>
        <translation>複製連結網址</translation>
    </message>
    <message>
        <source>Copy Table</source>
        <translation>複製表格</translation>
    </message>
    <message>
        <source>Select All</source>
        <translation>全選</translation>
    </message>
    <message>
        <source>Copied</source>
        <translation>已複製</translation>
    </message>
    <message>
        <source>code</source>
        <translation>程式碼</translation>
    </message>
    <message>
        <source>Save code as a file</source>
        <translation>將程式碼另存為檔案</translation>
    </message>
    <message>
        <source>{origin}. Nothing was proposed in this step.</source>
        <translation>{origin}。這一步沒有提前試寫。</translation>
    </message>
    <message>
        <source>{origin}. This step: {drafter} proposed {drafted}, {accepted} accepted.</source>
        <translation>{origin}。這一步：{drafter}提前試寫 {drafted} 個，接受 {accepted} 個。</translation>
    </message>
</context>
<context>
    <name>TitleController</name>
    <message>
        <source>Write a title for this conversation, in its language and in at most six words. Answer with the title alone.</source>
        <translation>用對話所用的語言為這段對話取一個標題，最多十二個字。只回答標題。</translation>
    </message>
</context>
<context>
    <name>ToolsDialog</name>
    <message>
        <source>Tools</source>
        <translation>工具</translation>
    </message>
    <message>
        <source>Models may use tools</source>
        <translation>模型可以使用工具</translation>
    </message>
    <message>
        <source>Tools are programs that models may use. You are asked before each call.</source>
        <translation>工具是模型可以使用的程式。每次呼叫前都會詢問您。</translation>
    </message>
    <message>
        <source>Tool</source>
        <translation>工具</translation>
    </message>
    <message>
        <source>About</source>
        <translation>說明</translation>
    </message>
    <message>
        <source>What it may do</source>
        <translation>可以做什麼</translation>
    </message>
    <message>
        <source>There is no tool server yet. Add one that speaks MCP, or try the clock: it works offline.</source>
        <translation>還沒有工具伺服器。請新增一個支援 MCP 的，或試用時鐘：它可以離線使用。</translation>
    </message>
    <message>
        <source>Try the clock</source>
        <translation>試用時鐘</translation>
    </message>
    <message>
        <source>Add…</source>
        <translation>新增…</translation>
    </message>
    <message>
        <source>Edit…</source>
        <translation>編輯…</translation>
    </message>
    <message>
        <source>Start again</source>
        <translation>重新啟動</translation>
    </message>
    <message>
        <source>Remove</source>
        <translation>移除</translation>
    </message>
    <message>
        <source>Show the file</source>
        <translation>顯示檔案</translation>
    </message>
    <message>
        <source>left out</source>
        <translation>已停用</translation>
    </message>
    <message>
        <source>does not run</source>
        <translation>沒有執行</translation>
    </message>
    <message>
        <source>tools are off</source>
        <translation>工具已關閉</translation>
    </message>
    <message>
        <source>Remove the server “{}”? The program itself stays.</source>
        <translation>移除伺服器「{}」？程式本身會保留。</translation>
    </message>
    <message>
        <source>Remove server</source>
        <translation>移除伺服器</translation>
    </message>
    <message>
        <source>clock</source>
        <translation>時鐘</translation>
    </message>
    <message>
        <source>Close</source>
        <translation>關閉</translation>
    </message>
    <message>
        <source>Starting the servers…</source>
        <translation>正在啟動伺服器…</translation>
    </message>
</context>
<context>
    <name>Transcript</name>
    <message>
        <source>Messages</source>
        <translation>訊息</translation>
    </message>
    <message>
        <source>Jump to the newest message</source>
        <translation>跳至最新訊息</translation>
    </message>
</context>
<context>
    <name>Tuning</name>
    <message>
        <source>Model</source>
        <translation>模型</translation>
    </message>
    <message>
        <source>Loading the model…</source>
        <translation>正在載入模型…</translation>
    </message>
    <message>
        <source>Loading the draft models…</source>
        <translation>正在載入草稿模型…</translation>
    </message>
    <message>
        <source>as it is</source>
        <translation>預設設定</translation>
    </message>
    <message>
        <source>no draft model</source>
        <translation>無草稿模型</translation>
    </message>
    <message>
        <source>the draft with all rows</source>
        <translation>草稿模型，全部 token</translation>
    </message>
    <message>
        <source>the draft with {} rows</source>
        <translation>草稿模型，{} 個 token</translation>
    </message>
    <message>
        <source>the draft {}</source>
        <translation>草稿模型 {}</translation>
    </message>
    <message>
        <source>threads not tied to cores</source>
        <translation>執行緒不綁定核心</translation>
    </message>
    <message>
        <source>1 thread</source>
        <translation>1 個執行緒</translation>
    </message>
    <message>
        <source>{} threads, two a core</source>
        <translation>{} 個執行緒，每核兩個</translation>
    </message>
    <message>
        <source>{} threads</source>
        <translation>{} 個執行緒</translation>
    </message>
    <message>
        <source>on {}</source>
        <translation>在 {} 上</translation>
    </message>
    <message>
        <source>in {}</source>
        <translation>用 {} 精度</translation>
    </message>
    <message>
        <source>token of an answer</source>
        <translation>回答的每個 token</translation>
    </message>
    <message>
        <source>Speed-up</source>
        <translation>加速</translation>
    </message>
    <message>
        <source>nothing else</source>
        <translation>沒有其他設定</translation>
    </message>
    <message>
        <source>{default} against {others}</source>
        <translation>{default} 對比 {others}</translation>
    </message>
    <message>
        <source>chosen</source>
        <translation>已選用</translation>
    </message>
    <message>
        <source>no time left</source>
        <translation>時間不夠</translation>
    </message>
    <message>
        <source>{setting}, because it was {gain} ({figures}).</source>
        <translation>{setting}，因為{gain}（{figures}）。</translation>
    </message>
    <message>
        <source>as it is ({}), as there is nothing else to try here.</source>
        <translation>預設設定（{}），因為這裡沒有其他設定可試。</translation>
    </message>
    <message>
        <source>as it is, as the time was over before anything else was timed; give it more.</source>
        <translation>預設設定，因為在測量其他設定之前時間已用完；請給更多時間。</translation>
    </message>
    <message>
        <source>as it is, as nothing else runs here.</source>
        <translation>預設設定，因為其他設定在這裡都無法執行。</translation>
    </message>
    <message>
        <source>as it is, because the best of the others, {setting}, {shortfall}.</source>
        <translation>預設設定，因為其餘中最好的（{setting}）{shortfall}。</translation>
    </message>
    <message>
        <source>as it is, because the best of the others, {setting}, {shortfall}; not all were timed.</source>
        <translation>預設設定，因為其餘中最好的（{setting}）{shortfall}；並非所有設定都測量過。</translation>
    </message>
    <message>
        <source>was not faster: {}</source>
        <translation>並不更快：{}</translation>
    </message>
    <message>
        <source>gained too little to tell: {}</source>
        <translation>收益太小，無法斷定：{}</translation>
    </message>
    <message>
        <source>was not faster often enough to rule out chance: {}</source>
        <translation>更快的次數不足以排除偶然：{}</translation>
    </message>
    <message>
        <source>{median}× as fast as the default ({low}–{high}), ahead in {better} of {pairs} runs</source>
        <translation>速度是預設設定的 {median} 倍（{low}–{high}），{pairs} 次中領先 {better} 次</translation>
    </message>
    <message>
        <source>{what}: {mine} instead of {before} ms</source>
        <translation>{what}：{mine} 毫秒，原為 {before} 毫秒</translation>
    </message>
    <message>
        <source>{what}: {mine} ms</source>
        <translation>{what}：{mine} 毫秒</translation>
    </message>
</context>
<context>
    <name>TuningController</name>
    <message>
        <source>{}: in other precisions and with other numbers of threads</source>
        <translation>{}：換用其他精度和執行緒數</translation>
    </message>
    <message>
        <source>Speed-up: with earlier text alone</source>
        <translation>加速：僅用前文</translation>
    </message>
    <message>
        <source>Speed-up: with its draft model, and without</source>
        <translation>加速：使用與不使用其草稿模型</translation>
    </message>
    <message>
        <source>{}; with other installed draft models that fit</source>
        <translation>{}；換用其他已安裝且合適的草稿模型</translation>
    </message>
    <message>
        <source>on other devices of this computer</source>
        <translation>換到本機的其他裝置上</translation>
    </message>
    <message>
        <source>Not tried: other devices, as the settings name {}</source>
        <translation>不嘗試其他裝置，因為設定中指定了 {}</translation>
    </message>
    <message>
        <source>Looking for draft models that fit…</source>
        <translation>正在尋找合適的草稿模型…</translation>
    </message>
    <message>
        <source>Cancelled; nothing was changed.</source>
        <translation>已取消；沒有任何變更。</translation>
    </message>
    <message>
        <source>Ends with the run being timed…</source>
        <translation>計時中的這一次結束後即停止…</translation>
    </message>
    <message>
        <source>Ends soon.</source>
        <translation>即將結束。</translation>
    </message>
    <message>
        <source>At most {} s left.</source>
        <translation>最多還需 {} 秒。</translation>
    </message>
    <message>
        <source>A tuning is running; stop it on its page, or wait for its end.</source>
        <translation>正在調校；請在其頁面上停止，或等它結束。</translation>
    </message>
</context>
<context>
    <name>TuningPage</name>
    <message>
        <source>Tune for this machine</source>
        <translation>為本機調校</translation>
    </message>
    <message>
        <source>Start tuning</source>
        <translation>開始調校</translation>
    </message>
    <message>
        <source>Finds the fastest settings for the model of the open chat on this computer, and uses them from then on. What you have set yourself stays as it is. Chats wait meanwhile.</source>
        <translation>為目前對話的模型找出在這台電腦上最快的設定，並從此採用。您自己設定的值保持不變。期間對話會等待。</translation>
    </message>
    <message>
        <source>At most (seconds)</source>
        <translation>最多（秒）</translation>
    </message>
    <message>
        <source>{} has not been tuned on this computer yet: it runs with the defaults.</source>
        <translation>{} 尚未在本機上調校：它以預設設定執行。</translation>
    </message>
    <message>
        <source>Progress of the tuning</source>
        <translation>調校進度</translation>
    </message>
</context>
<context>
    <name>TuningReport</name>
    <message>
        <source>Forget</source>
        <translation>忘記</translation>
    </message>
    <message>
        <source>Load this model with the defaults again</source>
        <translation>重新以預設設定載入此模型</translation>
    </message>
    <message>
        <source>{}: measurements</source>
        <translation>{}：測量結果</translation>
    </message>
    <message>
        <source>nothing tried here is faster than the defaults.</source>
        <translation>所試的設定都不比預設設定快。</translation>
    </message>
    <message>
        <source>the fastest settings found here are used from now on.</source>
        <translation>從現在起採用在此找到的最快設定。</translation>
    </message>
    <message>
        <source>{seconds} s on {device}, OpenVINO {openvino}</source>
        <translation>在 {device} 上用時 {seconds} 秒，OpenVINO {openvino}</translation>
    </message>
    <message>
        <source>Table: {}</source>
        <translation>表格：{}</translation>
    </message>
    <message>
        <source>ms, {}</source>
        <translation>毫秒，{}</translation>
    </message>
    <message>
        <source>Setting</source>
        <translation>設定</translation>
    </message>
    <message>
        <source>Speed</source>
        <translation>速度</translation>
    </message>
    <message>
        <source>Ahead</source>
        <translation>領先</translation>
    </message>
    <message>
        <source>Outcome</source>
        <translation>結果</translation>
    </message>
</context>
<context>
    <name>Verification</name>
    <message>
        <source>Comparing every file with its hash: {} %</source>
        <translation>正在逐一核對檔案的雜湊值：{}%</translation>
    </message>
    <message>
        <source>Every file is as it was exported. Loading it and asking for a word…</source>
        <translation>所有檔案均與匯出時一致。正在載入模型並試答一個詞…</translation>
    </message>
</context>
<context>
    <name>Welcome</name>
    <message>
        <source>Welcome. One thing is missing: a model.</source>
        <translation>歡迎使用。還差一樣東西：模型。</translation>
    </message>
    <message>
        <source>Choose one to begin with; you can add others later. It is downloaded and converted once. Afterwards everything stays on this computer.</source>
        <translation>請先選擇一個，之後可以再新增其他模型。模型只需下載並轉換一次，之後一切都留在這台電腦上。</translation>
    </message>
</context>
<context>
    <name>WindowCommands</name>
    <message>
        <source>&amp;Undo: {}</source>
        <translation>復原(&amp;U)：{}</translation>
    </message>
    <message>
        <source>&amp;Undo</source>
        <translation>復原(&amp;U)</translation>
    </message>
</context>
<context>
    <name>WorkBar</name>
    <message>
        <source>Cancel</source>
        <translation>取消</translation>
    </message>
</context>
<context>
    <name>WorkCard</name>
    <message>
        <source>Cancel</source>
        <translation>取消</translation>
    </message>
    <message>
        <source>Show log</source>
        <translation>顯示記錄</translation>
    </message>
    <message>
        <source>Pause</source>
        <translation>暫停</translation>
    </message>
    <message>
        <source>Log</source>
        <translation>記錄檔</translation>
    </message>
    <message>
        <source>{step} · {done} of {total}</source>
        <translation>{step} · 已完成 {done}，共 {total}</translation>
    </message>
    <message>
        <source>{} min left</source>
        <translation>剩餘 {} 分鐘</translation>
    </message>
    <message>
        <source>{} s left</source>
        <translation>剩餘 {} 秒</translation>
    </message>
    <message>
        <source> · {rate} MB/s · {left}</source>
        <translation> · {rate} MB/s · {left}</translation>
    </message>
    <message>
        <source>{step} · {seconds} s</source>
        <translation>{step} · {seconds} 秒</translation>
    </message>
    <message>
        <source>Dismiss</source>
        <translation>關閉</translation>
    </message>
    <message>
        <source>Hide log</source>
        <translation>隱藏記錄</translation>
    </message>
</context>
</TS>
