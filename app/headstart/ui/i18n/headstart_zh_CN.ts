<?xml version="1.0" encoding="utf-8"?>
<!DOCTYPE TS>
<TS version="2.1" language="zh_CN">
<context>
    <name>AboutDialog</name>
    <message>
        <source>About Headstart</source>
        <translation>关于 Headstart</translation>
    </message>
    <message>
        <source>Versions</source>
        <translation>版本信息</translation>
    </message>
    <message>
        <source>Components</source>
        <translation>组件</translation>
    </message>
    <message>
        <source>Text of the licence</source>
        <translation>许可证文本</translation>
    </message>
    <message>
        <source>Copy versions</source>
        <translation>复制版本信息</translation>
    </message>
    <message>
        <source>Close</source>
        <translation>关闭</translation>
    </message>
    <message>
        <source>Headstart</source>
        <translation>Headstart</translation>
    </message>
    <message>
        <source>Licences</source>
        <translation>许可证</translation>
    </message>
    <message>
        <source>Headstart {}</source>
        <translation>Headstart {}</translation>
    </message>
    <message>
        <source>Chat offline with a language model that gets a head start from a small one. Nothing you write leaves this computer, unless you choose a model on another computer. Free software under the Apache License 2.0.</source>
        <translation>与语言模型离线对话，并由一个小模型抢先一步来提速。除非您选择另一台电脑上的模型，否则您写的内容不会离开这台电脑。本软件是 Apache License 2.0 许可下的自由软件。</translation>
    </message>
    <message>
        <source>A newer Headstart is in your downloads folder. Close Headstart, then install {}.</source>
        <translation>“下载”文件夹里有更新的 Headstart。请关闭 Headstart，然后安装 {}。</translation>
    </message>
    <message>
        <source>Licence: {}</source>
        <translation>许可证：{}</translation>
    </message>
    <message>
        <source>not named by the package</source>
        <translation>软件包未注明</translation>
    </message>
    <message>
        <source>The package has no text of its licence.</source>
        <translation>该软件包没有附带许可证文本。</translation>
    </message>
</context>
<context>
    <name>Actions</name>
    <message>
        <source>&amp;File</source>
        <translation>文件(&amp;F)</translation>
    </message>
    <message>
        <source>&amp;Edit</source>
        <translation>编辑(&amp;E)</translation>
    </message>
    <message>
        <source>&amp;View</source>
        <translation>视图(&amp;V)</translation>
    </message>
    <message>
        <source>&amp;Chat</source>
        <translation>对话(&amp;C)</translation>
    </message>
    <message>
        <source>&amp;Model</source>
        <translation>模型(&amp;M)</translation>
    </message>
    <message>
        <source>&amp;Help</source>
        <translation>帮助(&amp;H)</translation>
    </message>
    <message>
        <source>&amp;New Chat</source>
        <translation>新建对话(&amp;N)</translation>
    </message>
    <message>
        <source>Quic&amp;k Ask…</source>
        <translation>快速提问(&amp;K)…</translation>
    </message>
    <message>
        <source>&amp;Export Chat…</source>
        <translation>导出对话(&amp;E)…</translation>
    </message>
    <message>
        <source>&amp;Import Chats…</source>
        <translation>导入对话(&amp;I)…</translation>
    </message>
    <message>
        <source>&amp;Rename Chat</source>
        <translation>重命名对话(&amp;R)</translation>
    </message>
    <message>
        <source>&amp;Tags of Chat…</source>
        <translation>对话标签(&amp;T)…</translation>
    </message>
    <message>
        <source>&amp;Pin Chat</source>
        <translation>置顶对话(&amp;P)</translation>
    </message>
    <message>
        <source>&amp;Archive Chat</source>
        <translation>归档对话(&amp;A)</translation>
    </message>
    <message>
        <source>&amp;Delete Chat</source>
        <translation>删除对话(&amp;D)</translation>
    </message>
    <message>
        <source>Arc&amp;hive</source>
        <translation>归档(&amp;H)</translation>
    </message>
    <message>
        <source>Recentl&amp;y Deleted</source>
        <translation>最近删除(&amp;Y)</translation>
    </message>
    <message>
        <source>Pre&amp;ferences…</source>
        <translation>首选项(&amp;F)…</translation>
    </message>
    <message>
        <source>&amp;Quit</source>
        <translation>退出(&amp;Q)</translation>
    </message>
    <message>
        <source>&amp;Undo</source>
        <translation>撤销(&amp;U)</translation>
    </message>
    <message>
        <source>Cu&amp;t</source>
        <translation>剪切(&amp;T)</translation>
    </message>
    <message>
        <source>C&amp;opy</source>
        <translation>复制(&amp;O)</translation>
    </message>
    <message>
        <source>&amp;Paste</source>
        <translation>粘贴(&amp;P)</translation>
    </message>
    <message>
        <source>Select &amp;All</source>
        <translation>全选(&amp;A)</translation>
    </message>
    <message>
        <source>&amp;Copy Last Answer</source>
        <translation>复制最后一条回答(&amp;C)</translation>
    </message>
    <message>
        <source>Copy &amp;Whole Chat</source>
        <translation>复制整个对话(&amp;W)</translation>
    </message>
    <message>
        <source>&amp;Find in Chat</source>
        <translation>在对话中查找(&amp;F)</translation>
    </message>
    <message>
        <source>&amp;Search All Chats</source>
        <translation>搜索所有对话(&amp;S)</translation>
    </message>
    <message>
        <source>&amp;Command Palette…</source>
        <translation>命令面板(&amp;C)…</translation>
    </message>
    <message>
        <source>&amp;Sidebar</source>
        <translation>侧边栏(&amp;S)</translation>
    </message>
    <message>
        <source>Chat Se&amp;ttings</source>
        <translation>对话设置(&amp;T)</translation>
    </message>
    <message>
        <source>Mark &amp;Faster Words</source>
        <translation>标出提速的词(&amp;F)</translation>
    </message>
    <message>
        <source>&amp;Dictate</source>
        <translation>听写(&amp;D)</translation>
    </message>
    <message>
        <source>Working &amp;Folder…</source>
        <translation>工作文件夹(&amp;F)…</translation>
    </message>
    <message>
        <source>&amp;Manual…</source>
        <translation>使用手册(&amp;M)…</translation>
    </message>
    <message>
        <source>&amp;Keys…</source>
        <translation>快捷键(&amp;K)…</translation>
    </message>
    <message>
        <source>Li&amp;ve Figures</source>
        <translation>实时数据(&amp;V)</translation>
    </message>
    <message>
        <source>Zoom &amp;In</source>
        <translation>放大(&amp;I)</translation>
    </message>
    <message>
        <source>Zoom O&amp;ut</source>
        <translation>缩小(&amp;U)</translation>
    </message>
    <message>
        <source>&amp;Actual Size</source>
        <translation>实际大小(&amp;A)</translation>
    </message>
    <message>
        <source>S&amp;ystem Theme</source>
        <translation>跟随系统主题(&amp;Y)</translation>
    </message>
    <message>
        <source>&amp;Light Theme</source>
        <translation>浅色主题(&amp;L)</translation>
    </message>
    <message>
        <source>&amp;Dark Theme</source>
        <translation>深色主题(&amp;D)</translation>
    </message>
    <message>
        <source>&amp;High Contrast Theme</source>
        <translation>高对比度主题(&amp;H)</translation>
    </message>
    <message>
        <source>&amp;Stop</source>
        <translation>停止(&amp;S)</translation>
    </message>
    <message>
        <source>&amp;Regenerate Answer</source>
        <translation>重新生成回答(&amp;R)</translation>
    </message>
    <message>
        <source>&amp;Continue Answer</source>
        <translation>继续回答(&amp;C)</translation>
    </message>
    <message>
        <source>C&amp;ompare Answers</source>
        <translation>比较回答(&amp;O)</translation>
    </message>
    <message>
        <source>Read Answer A&amp;loud</source>
        <translation>朗读回答(&amp;L)</translation>
    </message>
    <message>
        <source>&amp;Edit Last Question</source>
        <translation>编辑上一个问题(&amp;E)</translation>
    </message>
    <message>
        <source>&amp;Go to Message Box</source>
        <translation>转到输入框(&amp;G)</translation>
    </message>
    <message>
        <source>&amp;Attach Files…</source>
        <translation>添加附件(&amp;A)…</translation>
    </message>
    <message>
        <source>&amp;Prompts…</source>
        <translation>提示词(&amp;P)…</translation>
    </message>
    <message>
        <source>&amp;Tools…</source>
        <translation>工具(&amp;T)…</translation>
    </message>
    <message>
        <source>Enter Sends &amp;Message</source>
        <translation>按 Enter 键发送消息(&amp;M)</translation>
    </message>
    <message>
        <source>&amp;Next Chat</source>
        <translation>下一个对话(&amp;N)</translation>
    </message>
    <message>
        <source>Pre&amp;vious Chat</source>
        <translation>上一个对话(&amp;V)</translation>
    </message>
    <message>
        <source>&amp;Models…</source>
        <translation>模型管理(&amp;M)…</translation>
    </message>
    <message>
        <source>&amp;Race…</source>
        <translation>竞速(&amp;R)…</translation>
    </message>
    <message>
        <source>&amp;Benchmark…</source>
        <translation>基准测试(&amp;B)…</translation>
    </message>
    <message>
        <source>&amp;Tune for This Machine…</source>
        <translation>为本机调优(&amp;T)…</translation>
    </message>
    <message>
        <source>Local &amp;Server…</source>
        <translation>本地服务器(&amp;S)…</translation>
    </message>
    <message>
        <source>&amp;Load Again</source>
        <translation>重新加载(&amp;L)</translation>
    </message>
    <message>
        <source>&amp;Unload</source>
        <translation>卸载(&amp;U)</translation>
    </message>
    <message>
        <source>Show &amp;Logs</source>
        <translation>查看日志(&amp;L)</translation>
    </message>
    <message>
        <source>&amp;About Headstart</source>
        <translation>关于 Headstart(&amp;A)</translation>
    </message>
</context>
<context>
    <name>ActivityLine</name>
    <message>
        <source>Show</source>
        <translation>显示</translation>
    </message>
    <message>
        <source>Show: {}</source>
        <translation>显示：{}</translation>
    </message>
    <message>
        <source>ended</source>
        <translation>已结束</translation>
    </message>
</context>
<context>
    <name>AddModel</name>
    <message>
        <source>Precision of the weights</source>
        <translation>权重精度</translation>
    </message>
    <message>
        <source>As recommended</source>
        <translation>推荐设置</translation>
    </message>
    <message>
        <source>Browse</source>
        <translation>浏览</translation>
    </message>
    <message>
        <source>Model</source>
        <translation>模型</translation>
    </message>
    <message>
        <source>Weights</source>
        <translation>权重</translation>
    </message>
    <message>
        <source>Folder with Weights, or an Exported Model…</source>
        <translation>含有权重的文件夹或已导出的模型…</translation>
    </message>
    <message>
        <source>The model is checked after its conversion. You can also drop the folder of a converted model here.</source>
        <translation>模型转换后会经过检查。也可以把已转换好的模型文件夹拖到这里。</translation>
    </message>
    <message>
        <source>Model: name, folder or .gguf file</source>
        <translation>模型：名称、文件夹或 .gguf 文件</translation>
    </message>
    <message>
        <source>Draft model: name, folder or .gguf file</source>
        <translation>草稿模型：名称、文件夹或 .gguf 文件</translation>
    </message>
    <message>
        <source>optional</source>
        <translation>可选</translation>
    </message>
    <message>
        <source>Precise (INT8)</source>
        <translation>精确（INT8）</translation>
    </message>
    <message>
        <source>Fast (4 bits)</source>
        <translation>快速（4 位）</translation>
    </message>
    <message>
        <source>GGUF File…</source>
        <translation>GGUF 文件…</translation>
    </message>
    <message>
        <source>Download and convert</source>
        <translation>下载并转换</translation>
    </message>
    <message>
        <source>Draft model</source>
        <translation>草稿模型</translation>
    </message>
    <message>
        <source>Folder of a model</source>
        <translation>模型文件夹</translation>
    </message>
    <message>
        <source>GGUF file</source>
        <translation>GGUF 文件</translation>
    </message>
    <message>
        <source>GGUF files (*.gguf)</source>
        <translation>GGUF 文件 (*.gguf)</translation>
    </message>
</context>
<context>
    <name>AddModelController</name>
    <message>
        <source>Setting up the exporter</source>
        <translation>正在设置导出工具</translation>
    </message>
    <message>
        <source>This is not a model. Choose a folder that Headstart exported, a folder with config.json and weights, or a .gguf file.</source>
        <translation>这不是模型：需要由 Headstart 导出的文件夹、含有 config.json 和权重的文件夹，或 .gguf 文件。</translation>
    </message>
    <message>
        <source>Another model is being added. Add {} when that has ended.</source>
        <translation>正在添加另一个模型。请在其完成后再添加 {}。</translation>
    </message>
    <message>
        <source>Adding {}</source>
        <translation>正在添加 {}</translation>
    </message>
    <message>
        <source>Copying it into the library, and comparing every file with its hash</source>
        <translation>正在复制到模型库，并逐个核对文件的哈希值</translation>
    </message>
    <message>
        <source>Cancelled.</source>
        <translation>已取消。</translation>
    </message>
    <message>
        <source>Pausing…</source>
        <translation>正在暂停…</translation>
    </message>
    <message>
        <source>Getting {}</source>
        <translation>正在获取 {}</translation>
    </message>
    <message>
        <source>{} is ready.</source>
        <translation>{} 已就绪。</translation>
    </message>
    <message>
        <source>Start a chat</source>
        <translation>开始对话</translation>
    </message>
    <message>
        <source>Paused. What has arrived is kept.</source>
        <translation>已暂停。已下载的部分会保留。</translation>
    </message>
    <message>
        <source>Resume</source>
        <translation>继续</translation>
    </message>
    <message>
        <source>Try again</source>
        <translation>重试</translation>
    </message>
    <message>
        <source>{} is installed; every file is as it was exported.</source>
        <translation>{} 已安装；所有文件均与导出时一致。</translation>
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
        <translation>浏览</translation>
    </message>
    <message>
        <source>Browse for a certificate</source>
        <translation>浏览证书</translation>
    </message>
    <message>
        <source>Add</source>
        <translation>添加</translation>
    </message>
    <message>
        <source>Add this server</source>
        <translation>添加此服务器</translation>
    </message>
    <message>
        <source>Add a server</source>
        <translation>添加服务器</translation>
    </message>
    <message>
        <source>optional: default model</source>
        <translation>可选：默认模型</translation>
    </message>
    <message>
        <source>optional: API key</source>
        <translation>可选：API 密钥</translation>
    </message>
    <message>
        <source>optional: system certificates</source>
        <translation>可选：系统证书</translation>
    </message>
    <message>
        <source>A model may run on another computer, behind a server that speaks OpenAI&apos;s protocol: OpenVINO Model Server, vLLM, llama.cpp, another Headstart. Nothing is sent to it before you check or use it. Using an existing name replaces that server.</source>
        <translation>模型可以运行在另一台电脑上，由使用 OpenAI 协议的服务器提供：OpenVINO Model Server、vLLM、llama.cpp 或另一个 Headstart。在您检查或使用它之前，不会向它发送任何内容。使用已有的名称会替换该服务器。</translation>
    </message>
    <message>
        <source>Name</source>
        <translation>名称</translation>
    </message>
    <message>
        <source>Address</source>
        <translation>地址</translation>
    </message>
    <message>
        <source>Model</source>
        <translation>模型</translation>
    </message>
    <message>
        <source>Key</source>
        <translation>密钥</translation>
    </message>
    <message>
        <source>Certificate</source>
        <translation>证书</translation>
    </message>
    <message>
        <source>Certificates (*.pem *.crt)</source>
        <translation>证书 (*.pem *.crt)</translation>
    </message>
    <message>
        <source>Certificate of an authority</source>
        <translation>签发机构的证书</translation>
    </message>
</context>
<context>
    <name>AdviceTable</name>
    <message>
        <source>Recommended settings</source>
        <translation>建议的设置</translation>
    </message>
    <message>
        <source>Best setting by class</source>
        <translation>各类别的最佳设置</translation>
    </message>
    <message>
        <source>What was the fastest for a whole answer, the wait for its first token included. Automatic needs none of these settings: it chooses for each step.</source>
        <translation>完成整个回答最快的设置，含首个 token 的等待时间。“自动”不需要这些设置：它会为每一步自行选择。</translation>
    </message>
    <message>
        <source>Class</source>
        <translation>类别</translation>
    </message>
    <message>
        <source>Best setting</source>
        <translation>最佳设置</translation>
    </message>
    <message>
        <source>too little to tell: measure more</source>
        <translation>数据太少，无法判断：请多测一些</translation>
    </message>
</context>
<context>
    <name>Announcer</name>
    <message>
        <source>The answer begins.</source>
        <translation>开始回答。</translation>
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
        <translation>采用</translation>
    </message>
    <message>
        <source>Use this answer</source>
        <translation>采用此回答</translation>
    </message>
</context>
<context>
    <name>AnswerReport</name>
    <message>
        <source>The answer reached its longest length.</source>
        <translation>回答已达到最大长度。</translation>
    </message>
    <message>
        <source>The model repeats itself, so the answer was stopped.</source>
        <translation>模型一直在重复，因此已停止回答。</translation>
    </message>
    <message>
        <source>The content filter of the server withholds the rest of the answer.</source>
        <translation>服务器的内容过滤器拦截了回答的其余部分。</translation>
    </message>
    <message>
        <source>The context is full, so the answer ends here; start a new chat or fork this one earlier.</source>
        <translation>上下文已满，回答到此为止；请新建对话，或从本对话更早的位置创建分支。</translation>
    </message>
    <message>
        <source>Stopped.</source>
        <translation>已停止。</translation>
    </message>
    <message>
        <source>Stopped before the first word.</source>
        <translation>在生成第一个字之前已停止。</translation>
    </message>
    <message>
        <source>The model ended its answer without a word.</source>
        <translation>模型没有输出任何内容就结束了回答。</translation>
    </message>
    <message>
        <source>{} tokens/s</source>
        <translation>{} token/秒</translation>
    </message>
    <message>
        <source>First token after {}</source>
        <translation>首个 token 用时 {}</translation>
    </message>
    <message>
        <source>{rate} % of the guesses accepted ({accepted} of {drafted})</source>
        <translation>猜测的接受率 {rate}%（{accepted}/{drafted}）</translation>
    </message>
    <message>
        <source>{}× faster</source>
        <translation>提速至 {} 倍</translation>
    </message>
    <message>
        <source>Nothing was guessed ahead</source>
        <translation>没有预先猜测</translation>
    </message>
    <message>
        <source>{}× as fast as without guessing ahead</source>
        <translation>速度是不预先猜测时的 {} 倍</translation>
    </message>
    <message>
        <source>{} tokens per step</source>
        <translation>每步 {} 个 token</translation>
    </message>
    <message>
        <source>Thinking: {} tokens</source>
        <translation>思考：{} 个 token</translation>
    </message>
    <message>
        <source>Tokens from: {}</source>
        <translation>token 来源：{}</translation>
    </message>
    <message>
        <source>guessing</source>
        <translation>猜测</translation>
    </message>
    <message>
        <source>checking</source>
        <translation>检查</translation>
    </message>
    <message>
        <source>Time saved (estimate): {}</source>
        <translation>节省的时间（估算）：{}</translation>
    </message>
    <message>
        <source>Time lost (estimate): {}</source>
        <translation>损失的时间（估算）：{}</translation>
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
        <translation>用时：{}</translation>
    </message>
    <message>
        <source>Prompt: {tokens} tokens, {known} of them read before</source>
        <translation>提示：{tokens} 个 token，其中 {known} 个已读取过</translation>
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
        <translation>Headstart 内部出现错误。您的对话已保存。详情请见 {}。</translation>
    </message>
</context>
<context>
    <name>AttachmentChip</name>
    <message>
        <source>How the file is read; click to change it</source>
        <translation>文件的读取方式；点击可更改</translation>
    </message>
    <message>
        <source>as text</source>
        <translation>按文本</translation>
    </message>
    <message>
        <source>{way}: {beginning}</source>
        <translation>{way}：{beginning}</translation>
    </message>
    <message>
        <source>{file} is read as {way}</source>
        <translation>{file} 的读取方式：{way}</translation>
    </message>
    <message>
        <source>{} · in passages</source>
        <translation>{} · 只取段落</translation>
    </message>
    <message>
        <source>The file does not fit the context, so the model gets the passages that fit your question.</source>
        <translation>文件超出上下文，模型只得到与您的问题相关的段落。</translation>
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
        <translation>粘贴的图片</translation>
    </message>
    <message>
        <source>{} tokens</source>
        <translation>{} 个 token</translation>
    </message>
    <message>
        <source>Remove {}</source>
        <translation>移除 {}</translation>
    </message>
    <message>
        <source>Stop reading {}</source>
        <translation>停止读取 {}</translation>
    </message>
    <message>
        <source>reading…</source>
        <translation>正在读取…</translation>
    </message>
    <message>
        <source>{time} of {length}</source>
        <translation>{time}，共 {length}</translation>
    </message>
    <message>
        <source>page {page} of {pages}</source>
        <translation>第 {page} 页，共 {pages} 页</translation>
    </message>
    <message>
        <source>picture {number} of {count}</source>
        <translation>第 {number} 张图片，共 {count} 张</translation>
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
        <translation>全部提示词</translation>
    </message>
    <message>
        <source>code</source>
        <translation>代码</translation>
    </message>
    <message>
        <source>edit</source>
        <translation>编辑</translation>
    </message>
    <message>
        <source>explanation</source>
        <translation>说明</translation>
    </message>
    <message>
        <source>summary</source>
        <translation>总结</translation>
    </message>
    <message>
        <source>story</source>
        <translation>故事</translation>
    </message>
    <message>
        <source>translation</source>
        <translation>翻译</translation>
    </message>
    <message>
        <source>retrieval</source>
        <translation>检索</translation>
    </message>
    <message>
        <source>math</source>
        <translation>数学</translation>
    </message>
    <message>
        <source>extraction</source>
        <translation>提取</translation>
    </message>
    <message>
        <source>roleplay</source>
        <translation>角色扮演</translation>
    </message>
    <message>
        <source>essay</source>
        <translation>议论文</translation>
    </message>
    <message>
        <source>qa</source>
        <translation>问答</translation>
    </message>
    <message>
        <source>agent</source>
        <translation>智能体</translation>
    </message>
    <message>
        <source>revision</source>
        <translation>修改</translation>
    </message>
    <message>
        <source>article</source>
        <translation>长文</translation>
    </message>
    <message>
        <source>arithmetic</source>
        <translation>算术</translation>
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
        <translation>自动</translation>
    </message>
    <message>
        <source>draft</source>
        <translation>草稿模型</translation>
    </message>
    <message>
        <source>eagle</source>
        <translation>EAGLE-3 草稿头</translation>
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
        <translation>阈值</translation>
    </message>
    <message>
        <source>off</source>
        <translation>关闭</translation>
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
        <translation>加速比图表</translation>
    </message>
    <message>
        <source>{name}: {mean} times as fast as without speed-up</source>
        <translation>{name}：速度是不加速时的 {mean} 倍</translation>
    </message>
</context>
<context>
    <name>BenchmarkController</name>
    <message>
        <source>at the speed last measured here</source>
        <translation>按上次在此测得的速度</translation>
    </message>
    <message>
        <source>at ten tokens a second</source>
        <translation>按每秒 10 个 token</translation>
    </message>
    <message>
        <source>{prompts} prompts ({kinds}), about {heats} answers of at most {tokens} tokens: {time} {basis}.</source>
        <translation>{prompts} 个提示词（{kinds}），约 {heats} 个回答，每个最多 {tokens} 个 token：需{time}（{basis}估算）。</translation>
    </message>
    <message>
        <source>A benchmark is running; stop it on its page, or wait for its end.</source>
        <translation>基准测试正在运行；请在其页面上停止，或等待其结束。</translation>
    </message>
    <message>
        <source>Ends with the answer being written…</source>
        <translation>当前回答写完后结束…</translation>
    </message>
    <message>
        <source>Cancelled; the figures before it stay.</source>
        <translation>已取消；保留之前的数据。</translation>
    </message>
    <message>
        <source>{done} of {planned} answers</source>
        <translation>第 {done} 个回答，共 {planned} 个</translation>
    </message>
    <message>
        <source>{}, {} left</source>
        <translation>{}，剩余{}</translation>
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
        <translation>正在预热…</translation>
    </message>
    <message>
        <source>Loading OpenVINO GenAI with the same models…</source>
        <translation>正在用相同的模型加载 OpenVINO GenAI…</translation>
    </message>
    <message>
        <source>under a minute</source>
        <translation>不到 1 分钟</translation>
    </message>
    <message>
        <source>about a minute</source>
        <translation>约 1 分钟</translation>
    </message>
    <message>
        <source>about {} minutes</source>
        <translation>约 {} 分钟</translation>
    </message>
    <message>
        <source>about {} hours</source>
        <translation>约 {} 小时</translation>
    </message>
    <message>
        <source>Save the benchmark</source>
        <translation>保存基准测试结果</translation>
    </message>
    <message>
        <source>{} cannot be written; choose another place.</source>
        <translation>无法写入 {}；请选择其他位置。</translation>
    </message>
</context>
<context>
    <name>BenchmarkForm</name>
    <message>
        <source>Race OpenVINO GenAI as well</source>
        <translation>同时与 OpenVINO GenAI 比较</translation>
    </message>
    <message>
        <source>With the same models, which are loaded again for it: that takes their memory up to three times.</source>
        <translation>使用相同的模型并为其再次加载：最多占用三倍内存。</translation>
    </message>
    <message>
        <source>Compare all lengths and drafters</source>
        <translation>比较每种长度和每种猜测方式</translation>
    </message>
    <message>
        <source>Takes about three times as long, and makes the advice exact.</source>
        <translation>用时约为三倍，建议因此更准确。</translation>
    </message>
    <message>
        <source>Maximum answer length in tokens</source>
        <translation>回答最大长度（token）</translation>
    </message>
    <message>
        <source>Extent</source>
        <translation>规模</translation>
    </message>
    <message>
        <source>At least one class of prompts is raced.</source>
        <translation>至少要有一类提示词参加。</translation>
    </message>
    <message>
        <source>Classes of prompts</source>
        <translation>提示词类别</translation>
    </message>
    <message>
        <source>Quick (2 minutes)</source>
        <translation>快速（2 分钟）</translation>
    </message>
    <message>
        <source>Choose what is measured</source>
        <translation>自选测量内容</translation>
    </message>
    <message>
        <source>Prompts of each class</source>
        <translation>每类提示词数</translation>
    </message>
    <message>
        <source>Repeats</source>
        <translation>重复次数</translation>
    </message>
</context>
<context>
    <name>BenchmarkPage</name>
    <message>
        <source>Benchmark</source>
        <translation>基准测试</translation>
    </message>
    <message>
        <source>Start the benchmark</source>
        <translation>开始基准测试</translation>
    </message>
    <message>
        <source>Measures how much faster the model of the open chat answers on this computer with each kind of speed-up. All answer the same prompts, in changing order. Chats wait meanwhile.</source>
        <translation>测量当前对话的模型在这台电脑上使用每种加速方式时快多少。所有方式以不断变化的顺序回答相同的提示词。期间对话会等待。</translation>
    </message>
    <message>
        <source>Nothing has been measured on this computer yet.</source>
        <translation>这台电脑上还没有测试结果。</translation>
    </message>
    <message>
        <source>Progress of the benchmark</source>
        <translation>基准测试进度</translation>
    </message>
</context>
<context>
    <name>BenchmarkReport</name>
    <message>
        <source>Automatic: {}× as fast as without speed-up</source>
        <translation>自动：速度是不加速时的 {} 倍</translation>
    </message>
    <message>
        <source>{device}, {cores} cores · {system} · OpenVINO {openvino} · Headstart {headstart} · {when}</source>
        <translation>{device}，{cores} 核 · {system} · OpenVINO {openvino} · Headstart {headstart} · {when}</translation>
    </message>
    <message>
        <source>Bars are geometric means, whiskers the smallest and the largest of all prompts and repeats; answers of at most {tokens} tokens, {repeats} repeats.</source>
        <translation>条形为几何平均值，误差线为所有提示词和重复测试中的最小值与最大值；每个回答最多 {tokens} 个 token，重复 {repeats} 次。</translation>
    </message>
    <message>
        <source>auto against {peer}, the peer&apos;s best setting: {ratio}× ({low} to {high})</source>
        <translation>自动模式与 {peer}（对方的最佳设置）相比：{ratio} 倍（{low} 至 {high}）</translation>
    </message>
    <message>
        <source>Some texts differ from those without speed-up ({}).</source>
        <translation>有些文字与不加速时不同（{}）。</translation>
    </message>
    <message>
        <source>Every setting wrote the same texts as without speed-up.</source>
        <translation>每种设置写出的文字都与不加速时相同。</translation>
    </message>
    <message>
        <source>Class</source>
        <translation>类别</translation>
    </message>
    <message>
        <source>Without speed-up, tokens/s</source>
        <translation>不加速，token/秒</translation>
    </message>
    <message>
        <source>Speedups by class</source>
        <translation>各类别的加速比</translation>
    </message>
    <message>
        <source>{} with {}</source>
        <translation>{}，搭配 {}</translation>
    </message>
    <message>
        <source>speed compared with writing without speed-up</source>
        <translation>与不加速时相比的速度</translation>
    </message>
    <message>
        <source>The answers are too short for a speed.</source>
        <translation>回答太短，无法测速。</translation>
    </message>
    <message>
        <source>Save picture…</source>
        <translation>保存图片…</translation>
    </message>
    <message>
        <source>Save table (CSV)…</source>
        <translation>保存表格 (CSV)…</translation>
    </message>
    <message>
        <source>Save everything (JSON)…</source>
        <translation>保存全部 (JSON)…</translation>
    </message>
</context>
<context>
    <name>CallBar</name>
    <message>
        <source>What the tool would be given</source>
        <translation>将交给工具的内容</translation>
    </message>
    <message>
        <source>Call once</source>
        <translation>调用一次</translation>
    </message>
    <message>
        <source>Always in this chat</source>
        <translation>在此对话中始终允许</translation>
    </message>
    <message>
        <source>Do not call</source>
        <translation>不调用</translation>
    </message>
    <message>
        <source>Until Headstart is closed.</source>
        <translation>直到 Headstart 关闭为止。</translation>
    </message>
    <message>
        <source>The model wants to call {tool} of {server}, which {effects}.</source>
        <translation>模型想调用 {server} 的 {tool}：{effects}。</translation>
    </message>
</context>
<context>
    <name>Catalogue</name>
    <message>
        <source>Writes code.</source>
        <translation>擅长写代码。</translation>
    </message>
    <message>
        <source>Small and quick on any computer; it knows little.</source>
        <translation>体积小，在任何电脑上都很快，但知识有限。</translation>
    </message>
    <message>
        <source>Medium-sized: good at most things.</source>
        <translation>中型：大多数事情都做得好。</translation>
    </message>
    <message>
        <source>Finds passages in the folders of projects in other words, and serves programs by the local server. It cannot chat.</source>
        <translation>换一种说法也能在项目的文件夹中找到段落，并通过本地服务器供程序使用。它不能聊天。</translation>
    </message>
    <message>
        <source>Reads text in pictures and scans that you attach or keep in a project&apos;s folders: English, Chinese, Japanese and others. It cannot chat.</source>
        <translation>识别您附加的或项目文件夹中的图片和扫描件里的文字：英文、中文、日文等。它不能聊天。</translation>
    </message>
    <message>
        <source>Writes down what you say and what is said in recordings. It cannot chat.</source>
        <translation>把您说的话和录音中的话写成文字。不能聊天。</translation>
    </message>
    <message>
        <source>It knows English alone, and is the smaller of the two.</source>
        <translation>它只懂英语，是两者中较小的一个。</translation>
    </message>
    <message>
        <source>It knows 99 languages, Chinese among them.</source>
        <translation>它懂 99 种语言，其中包括中文。</translation>
    </message>
    <message>
        <source>Large: knows the most, and takes its time.</source>
        <translation>大型：知识最丰富，但较慢。</translation>
    </message>
    <message>
        <source>It comes with a small helper that makes it faster.</source>
        <translation>附带一个小助手，使其更快。</translation>
    </message>
    <message>
        <source>It can make a larger one faster.</source>
        <translation>可以让更大的模型更快。</translation>
    </message>
    <message>
        <source>{download} to download · {result} on the disk · licence: {licence}</source>
        <translation>下载 {download} · 磁盘占用 {result} · 许可证：{licence}</translation>
    </message>
    <message>
        <source>Fits your memory.</source>
        <translation>内存足够。</translation>
    </message>
    <message>
        <source>Too large for your memory.</source>
        <translation>太大，内存不够。</translation>
    </message>
    <message>
        <source>Show all models</source>
        <translation>显示全部模型</translation>
    </message>
    <message>
        <source>Needs PyTorch, fetched once for all models: {fetched}, and {size} on the disk.</source>
        <translation>需要 PyTorch，所有模型只需下载一次：{fetched}，占用磁盘 {size}。</translation>
    </message>
    <message>
        <source>Accept its licence on huggingface.co first, and log in with the hub&apos;s program.</source>
        <translation>请先在 huggingface.co 上接受其许可证，并用 Hugging Face 的程序登录。</translation>
    </message>
    <message>
        <source>Get a model</source>
        <translation>获取模型</translation>
    </message>
    <message>
        <source>Search: a name, a licence, what it is good at</source>
        <translation>搜索：名称、许可证或擅长的事情</translation>
    </message>
    <message>
        <source>Search the models</source>
        <translation>搜索模型</translation>
    </message>
    <message>
        <source>Fits my memory</source>
        <translation>内存足够</translation>
    </message>
    <message>
        <source>No model of the list is like that.</source>
        <translation>列表中没有这样的模型。</translation>
    </message>
    <message>
        <source>Another model, by name or file</source>
        <translation>其他模型：按名称或文件</translation>
    </message>
    <message>
        <source>Show all {} models</source>
        <translation>显示全部 {} 个模型</translation>
    </message>
    <message>
        <source>Continues texts for programs, by the local server. It cannot chat.</source>
        <translation>通过本地服务器为程序续写文本。它不能聊天。</translation>
    </message>
</context>
<context>
    <name>ChatController</name>
    <message>
        <source>Everything is saved again.</source>
        <translation>一切已重新保存。</translation>
    </message>
    <message>
        <source>New chat</source>
        <translation>新对话</translation>
    </message>
    <message>
        <source>As before: {}.</source>
        <translation>已恢复原样：{}。</translation>
    </message>
    <message>
        <source>Changed since, and left as it is: {}.</source>
        <translation>之后又有改动，保持不变：{}。</translation>
    </message>
    <message>
        <source>Changes in the Folder</source>
        <translation>文件夹中的更改</translation>
    </message>
    <message>
        <source>The answer has changed the folder.</source>
        <translation>这个回答更改了文件夹。</translation>
    </message>
    <message>
        <source>Undo</source>
        <translation>撤销</translation>
    </message>
    <message>
        <source>Delete Message</source>
        <translation>删除消息</translation>
    </message>
    <message>
        <source>Message deleted.</source>
        <translation>消息已删除。</translation>
    </message>
</context>
<context>
    <name>ChatList</name>
    <message>
        <source>Chats</source>
        <translation>对话</translation>
    </message>
</context>
<context>
    <name>ChatMenu</name>
    <message>
        <source>&amp;Restore</source>
        <translation>恢复(&amp;R)</translation>
    </message>
    <message>
        <source>&amp;Delete for Good…</source>
        <translation>永久删除(&amp;D)…</translation>
    </message>
    <message>
        <source>&amp;Rename</source>
        <translation>重命名(&amp;R)</translation>
    </message>
    <message>
        <source>Un&amp;pin</source>
        <translation>取消置顶(&amp;P)</translation>
    </message>
    <message>
        <source>&amp;Pin</source>
        <translation>置顶(&amp;P)</translation>
    </message>
    <message>
        <source>&amp;Export {} Chats…</source>
        <translation>导出 {} 个对话(&amp;E)…</translation>
    </message>
    <message>
        <source>&amp;Export…</source>
        <translation>导出(&amp;E)…</translation>
    </message>
    <message>
        <source>Un&amp;archive</source>
        <translation>取消归档(&amp;A)</translation>
    </message>
    <message>
        <source>Un&amp;archive {} Chats</source>
        <translation>取消归档 {} 个对话(&amp;A)</translation>
    </message>
    <message>
        <source>&amp;Archive</source>
        <translation>归档(&amp;A)</translation>
    </message>
    <message>
        <source>&amp;Archive {} Chats</source>
        <translation>归档 {} 个对话(&amp;A)</translation>
    </message>
    <message>
        <source>&amp;Delete {} Chats</source>
        <translation>删除 {} 个对话(&amp;D)</translation>
    </message>
    <message>
        <source>&amp;Delete</source>
        <translation>删除(&amp;D)</translation>
    </message>
</context>
<context>
    <name>ChatPage</name>
    <message>
        <source>Chat</source>
        <translation>对话</translation>
    </message>
    <message>
        <source>Show or hide the sidebar</source>
        <translation>显示或隐藏侧边栏</translation>
    </message>
    <message>
        <source>Mark faster words</source>
        <translation>标出提速的词</translation>
    </message>
    <message>
        <source>Live figures</source>
        <translation>实时数据</translation>
    </message>
    <message>
        <source>Settings of this chat</source>
        <translation>本对话的设置</translation>
    </message>
    <message>
        <source>Faster words</source>
        <translation>更快的词</translation>
    </message>
    <message>
        <source>Figures</source>
        <translation>数据</translation>
    </message>
    <message>
        <source>Settings</source>
        <translation>设置</translation>
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
        <translation>1 个结果</translation>
    </message>
    <message>
        <source>{} results</source>
        <translation>{} 个结果</translation>
    </message>
    <message>
        <source>New chat</source>
        <translation>新对话</translation>
    </message>
    <message>
        <source>pinned</source>
        <translation>已置顶</translation>
    </message>
    <message>
        <source>tagged {}</source>
        <translation>标签：{}</translation>
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
        <translation>模型未能加载。</translation>
    </message>
    <message>
        <source>Calling {}…</source>
        <translation>正在调用 {}…</translation>
    </message>
    <message>
        <source>At temperature 0 the answer would be the same; this one is written at temperature {}.</source>
        <translation>温度为 0 时回答会完全相同；这一版以温度 {} 写成。</translation>
    </message>
    <message>
        <source>{} (fork)</source>
        <translation>{}（分支）</translation>
    </message>
    <message>
        <source>The question of this answer was deleted. Edit the answer, or ask again.</source>
        <translation>这条回答的问题已被删除。请编辑该回答，或重新提问。</translation>
    </message>
    <message>
        <source>Waiting for the model…</source>
        <translation>正在等待模型…</translation>
    </message>
    <message>
        <source>Reading the conversation: {done} of {total} tokens</source>
        <translation>正在读取对话：{done}/{total} token</translation>
    </message>
    <message>
        <source>Waiting for you: may {} be called?</source>
        <translation>等待您的决定：可以调用 {} 吗？</translation>
    </message>
    <message>
        <source>An answer is still being written; stop it or wait for its end.</source>
        <translation>回答仍在生成；请停止它或等待其结束。</translation>
    </message>
    <message>
        <source>{fault} What is not saved stays here, and saving is tried again.</source>
        <translation>{fault}未保存的内容会保留在此处，并将再次尝试保存。</translation>
    </message>
</context>
<context>
    <name>ChatsController</name>
    <message>
        <source>Archive</source>
        <translation>归档</translation>
    </message>
    <message>
        <source>Archived {}</source>
        <translation>已归档{}</translation>
    </message>
    <message>
        <source>Unarchive</source>
        <translation>取消归档</translation>
    </message>
    <message>
        <source>Unarchived {}</source>
        <translation>已取消归档{}</translation>
    </message>
    <message>
        <source>Restore</source>
        <translation>恢复</translation>
    </message>
    <message>
        <source>Restored {}</source>
        <translation>已恢复{}</translation>
    </message>
    <message>
        <source>Delete</source>
        <translation>删除</translation>
    </message>
    <message>
        <source>Deleted {}</source>
        <translation>已删除{}</translation>
    </message>
    <message>
        <source>New chat</source>
        <translation>新对话</translation>
    </message>
    <message>
        <source>{} chats</source>
        <translation>{} 个对话</translation>
    </message>
    <message>
        <source>“{}”</source>
        <translation>“{}”</translation>
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
        <translation>命令面板</translation>
    </message>
    <message>
        <source>Type a command or the title of a chat</source>
        <translation>输入命令或对话标题</translation>
    </message>
    <message>
        <source>Commands and chats</source>
        <translation>命令和对话</translation>
    </message>
    <message>
        <source>New chat</source>
        <translation>新对话</translation>
    </message>
    <message>
        <source>chat</source>
        <translation>对话</translation>
    </message>
    <message>
        <source>No command or chat is called “{}”.</source>
        <translation>没有名为“{}”的命令或对话。</translation>
    </message>
</context>
<context>
    <name>Comparison</name>
    <message>
        <source>Compare answers</source>
        <translation>比较回答</translation>
    </message>
    <message>
        <source>Mark differences</source>
        <translation>标出差异</translation>
    </message>
    <message>
        <source>Answer again</source>
        <translation>重新回答</translation>
    </message>
    <message>
        <source>With another model</source>
        <translation>用其他模型回答</translation>
    </message>
    <message>
        <source>First answer</source>
        <translation>第一个回答</translation>
    </message>
    <message>
        <source>Second answer</source>
        <translation>第二个回答</translation>
    </message>
</context>
<context>
    <name>ComparisonController</name>
    <message>
        <source>Regenerate with Another Model</source>
        <translation>用其他模型重新生成</translation>
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
        <translation>您已编辑过</translation>
    </message>
    <message>
        <source>Version {}</source>
        <translation>版本 {}</translation>
    </message>
    <message>
        <source>Have another version written to compare with this one.</source>
        <translation>请再生成一个版本，以便与此版本比较。</translation>
    </message>
    <message>
        <source>writing…</source>
        <translation>正在生成…</translation>
    </message>
    <message>
        <source>Both texts are the same.</source>
        <translation>两个回答的文本相同。</translation>
    </message>
    <message>
        <source>About {} of the words are the same.</source>
        <translation>约 {} 的词相同。</translation>
    </message>
    <message>
        <source>Both were written equally fast.</source>
        <translation>两者生成速度相同。</translation>
    </message>
    <message>
        <source>Version {fast} was written about {factor}× as fast as version {slow}.</source>
        <translation>版本 {fast} 的生成速度约为版本 {slow} 的 {factor} 倍。</translation>
    </message>
</context>
<context>
    <name>Composer</name>
    <message>
        <source>Ask anything</source>
        <translation>有问题，尽管问</translation>
    </message>
    <message>
        <source>{tokens} of {context} tokens</source>
        <translation>{tokens} / {context} token</translation>
    </message>
    <message>
        <source>The model can read no more than its context at once. A new chat has room.</source>
        <translation>模型一次能读的内容不超过其上下文。新对话有空间。</translation>
    </message>
    <message>
        <source>Ready</source>
        <translation>就绪</translation>
    </message>
    <message>
        <source>Send</source>
        <translation>发送</translation>
    </message>
    <message>
        <source>Think</source>
        <translation>思考</translation>
    </message>
    <message>
        <source>Ready ·</source>
        <translation>就绪 ·</translation>
    </message>
    <message>
        <source>Files go with questions; an answer has none.</source>
        <translation>附件只能随问题发送；回答不能带附件。</translation>
    </message>
    <message>
        <source>Attach files (text, code, PDF, Word, web pages, e-books, pictures of text)</source>
        <translation>附加文件（文本、代码、PDF、Word、网页、电子书、含文字的图片）</translation>
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
        <translation>对话已用 {}</translation>
    </message>
    <message>
        <source>Too long for the model</source>
        <translation>对模型来说太长</translation>
    </message>
    <message>
        <source>Too long</source>
        <translation>太长</translation>
    </message>
    <message>
        <source>about {tokens} tokens</source>
        <translation>约 {tokens} token</translation>
    </message>
    <message>
        <source>A file is still being read; send the message when it is there.</source>
        <translation>仍在读取文件；请等文件读完后再发送消息。</translation>
    </message>
    <message>
        <source>The model has read this chat and your message so far: its answer begins at once.</source>
        <translation>模型已读完此对话和您目前输入的消息：回答会立即开始。</translation>
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
        <translation>文本、代码和文档 (*)</translation>
    </message>
    <message>
        <source>Attach files</source>
        <translation>添加附件</translation>
    </message>
</context>
<context>
    <name>ComposerController</name>
    <message>
        <source>Your message was not sent: files were still searched for it. Send it again in its chat.</source>
        <translation>消息未发送：仍在为它搜索文件。请在其对话中重新发送。</translation>
    </message>
    <message>
        <source>A file that was still being read was not attached; attach it again there.</source>
        <translation>有一个文件尚未读完，因此没有附加；请在原处重新附加。</translation>
    </message>
    <message>
        <source>You had begun this version before.</source>
        <translation>您先前已开始写这个版本。</translation>
    </message>
    <message>
        <source>Your words for the other message stay with it.</source>
        <translation>您为另一条消息写的内容会随它保留。</translation>
    </message>
    <message>
        <source>A file that was still being read was not attached.</source>
        <translation>有一个文件尚未读完，因此没有附加。</translation>
    </message>
    <message>
        <source>Editing: sending creates a new version.</source>
        <translation>正在编辑：发送后会生成新版本。</translation>
    </message>
    <message>
        <source>Editing the answer: sending keeps your words as a new version.</source>
        <translation>正在编辑回答：发送后您的修改将保存为新版本。</translation>
    </message>
    <message>
        <source>Cancel</source>
        <translation>取消</translation>
    </message>
    <message>
        <source>Undo</source>
        <translation>撤销</translation>
    </message>
    <message>
        <source>Cancel Editing</source>
        <translation>取消编辑</translation>
    </message>
    <message>
        <source>What you had changed is dropped.</source>
        <translation>您的修改已丢弃。</translation>
    </message>
    <message>
        <source>Searching the files of the project…</source>
        <translation>正在搜索项目的文件…</translation>
    </message>
    <message>
        <source>Remove an attachment, shorten the message or start a new chat.</source>
        <translation>请移除附件、缩短消息或新建对话。</translation>
    </message>
    <message>
        <source>Shorten the message or start a new chat.</source>
        <translation>请缩短消息或新建对话。</translation>
    </message>
    <message>
        <source>This needs {tokens} tokens with the chat so far; the context holds {context} with the answer.</source>
        <translation>连同此前的对话共需 {tokens} 个 token，而上下文连同回答只能容纳 {context} 个。</translation>
    </message>
    <message>
        <source>Get {model}</source>
        <translation>获取 {model}</translation>
    </message>
</context>
<context>
    <name>CopiedLine</name>
    <message>
        <source>Copy</source>
        <translation>复制</translation>
    </message>
</context>
<context>
    <name>CreativityEditor</name>
    <message>
        <source>Style</source>
        <translation>风格</translation>
    </message>
    <message>
        <source>Precise</source>
        <translation>精确</translation>
    </message>
    <message>
        <source>Balanced</source>
        <translation>均衡</translation>
    </message>
    <message>
        <source>Creative</source>
        <translation>创意</translation>
    </message>
    <message>
        <source>Keeps to the most likely words: for facts, code and translations.</source>
        <translation>只用最可能的词：适合事实、代码和翻译。</translation>
    </message>
    <message>
        <source>As the model&apos;s authors recommend.</source>
        <translation>按模型作者的建议。</translation>
    </message>
    <message>
        <source>Chooses words more freely: for stories and ideas.</source>
        <translation>用词更自由：适合故事和点子。</translation>
    </message>
</context>
<context>
    <name>CurrentSettings</name>
    <message>
        <source>Deleted preset “{}”</source>
        <translation>已删除预设“{}”</translation>
    </message>
    <message>
        <source>Replaced preset “{}”</source>
        <translation>已替换预设“{}”</translation>
    </message>
    <message>
        <source>Delete Preset “{}”</source>
        <translation>删除预设“{}”</translation>
    </message>
    <message>
        <source>Replace Preset “{}”</source>
        <translation>替换预设“{}”</translation>
    </message>
</context>
<context>
    <name>DayGroups</name>
    <message>
        <source>Pinned</source>
        <translation>已置顶</translation>
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
        <translation>最近 7 天</translation>
    </message>
    <message>
        <source>Last 30 days</source>
        <translation>最近 30 天</translation>
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
        <translation>重新打开窗口后才会使用另一种语言。现在重新打开吗？对话会再次显示；正在写的回答会停止。</translation>
    </message>
    <message>
        <source>Another language</source>
        <translation>另一种语言</translation>
    </message>
    <message>
        <source>Reopen now</source>
        <translation>现在重新打开</translation>
    </message>
    <message>
        <source>Later</source>
        <translation>稍后</translation>
    </message>
    <message>
        <source>Models</source>
        <translation>模型</translation>
    </message>
    <message>
        <source>Chats</source>
        <translation>对话</translation>
    </message>
    <message>
        <source>Settings</source>
        <translation>设置</translation>
    </message>
    <message>
        <source>Measurements</source>
        <translation>测量数据</translation>
    </message>
    <message>
        <source>Logs</source>
        <translation>日志</translation>
    </message>
    <message>
        <source>Downloads</source>
        <translation>下载内容</translation>
    </message>
</context>
<context>
    <name>DictationController</name>
    <message>
        <source>Dictation needs Whisper: get one of these models, then press the microphone again.</source>
        <translation>听写需要 Whisper：请获取其中一个模型，然后再次按下麦克风。</translation>
    </message>
    <message>
        <source>The dictation ended unexpectedly; click the microphone to go on.</source>
        <translation>听写意外结束；请点击麦克风继续。</translation>
    </message>
</context>
<context>
    <name>DictationWidget</name>
    <message>
        <source>Level of the microphone</source>
        <translation>麦克风音量</translation>
    </message>
    <message>
        <source>Stop dictating</source>
        <translation>停止听写</translation>
    </message>
    <message>
        <source>Dictate: click, or hold while you speak (Ctrl+D)</source>
        <translation>听写：点击，或在说话时按住 (Ctrl+D)</translation>
    </message>
    <message>
        <source>Your last words are being written down</source>
        <translation>正在写下最后说的话</translation>
    </message>
    <message>
        <source>Writing…</source>
        <translation>正在写下…</translation>
    </message>
</context>
<context>
    <name>DocumentReader</name>
    <message>
        <source>{} could not be read to its end; save its text as a file and attach that.</source>
        <translation>未能完整读取 {}；请将其文本另存为文件后再附加。</translation>
    </message>
</context>
<context>
    <name>DocumentWriter</name>
    <message>
        <source>Image:</source>
        <translation>图片：</translation>
    </message>
    <message>
        <source>text</source>
        <translation>文本</translation>
    </message>
    <message>
        <source>Copy</source>
        <translation>复制</translation>
    </message>
    <message>
        <source>Save as file…</source>
        <translation>另存为文件…</translation>
    </message>
    <message>
        <source>Preview</source>
        <translation>预览</translation>
    </message>
</context>
<context>
    <name>EmptyPage</name>
    <message>
        <source>What would you like to know?</source>
        <translation>您想了解些什么？</translation>
    </message>
    <message>
        <source>Edit project…</source>
        <translation>编辑项目…</translation>
    </message>
    <message>
        <source>a system prompt</source>
        <translation>系统提示词</translation>
    </message>
    <message>
        <source>1 file</source>
        <translation>1 个文件</translation>
    </message>
    <message>
        <source>{} files</source>
        <translation>{} 个文件</translation>
    </message>
    <message>
        <source>1 folder</source>
        <translation>1 个文件夹</translation>
    </message>
    <message>
        <source>{} folders</source>
        <translation>{} 个文件夹</translation>
    </message>
    <message>
        <source>A new chat in the project “{}”</source>
        <translation>项目“{}”中的新对话</translation>
    </message>
    <message>
        <source>{chat}, with: {parts}</source>
        <translation>{chat}，附带：{parts}</translation>
    </message>
    <message>
        <source>Edit prompts…</source>
        <translation>编辑提示词…</translation>
    </message>
</context>
<context>
    <name>EncryptionController</name>
    <message>
        <source>The passphrase was changed.</source>
        <translation>从现在起使用新的密码短语。</translation>
    </message>
</context>
<context>
    <name>EncryptionPage</name>
    <message>
        <source>Repeat the passphrase</source>
        <translation>再次输入密码短语</translation>
    </message>
    <message>
        <source>I keep the passphrase in a place where I can find it</source>
        <translation>我已把密码短语保存在找得到的地方</translation>
    </message>
    <message>
        <source>Passphrase</source>
        <translation>密码短语</translation>
    </message>
    <message>
        <source>Encrypt and reopen</source>
        <translation>加密并重新打开</translation>
    </message>
    <message>
        <source>Current passphrase</source>
        <translation>当前密码短语</translation>
    </message>
    <message>
        <source>New passphrase</source>
        <translation>新密码短语</translation>
    </message>
    <message>
        <source>Change the passphrase</source>
        <translation>更改密码短语</translation>
    </message>
    <message>
        <source>Decrypt and reopen</source>
        <translation>解密并重新打开</translation>
    </message>
    <message>
        <source>Without the passphrase, nobody can read your chats on a stolen disk or in a copied folder. Titles, messages, attached files, drafts, the words of the search and the backups are encrypted. You type the passphrase at every start.</source>
        <translation>设置密码短语后，磁盘被盗或文件夹被复制时，别人无法读取您的对话：标题、消息、附加的文件、草稿、搜索索引和备份都会加密。每次启动时都要输入它。</translation>
    </message>
    <message>
        <source>Not protected: memory and swap while Headstart is open, an open window that you leave alone, chats that you exported, notifications, your settings with your own prompts, the models, and what the disk still holds of deleted files.</source>
        <translation>不受保护的有：Headstart 打开时的内存和交换空间、无人看管的已打开窗口、您导出的对话、通知、包含您自己提示词的设置、模型，以及磁盘上已删除文件的残留内容。</translation>
    </message>
    <message>
        <source>All backups, damaged histories that were put aside, and what you typed into the terminal chat are deleted, because they are not encrypted. Then a new backup is made.</source>
        <translation>所有备份、另存的损坏历史记录以及您在终端对话中输入的内容都会被删除，因为它们没有加密。然后会创建新的备份。</translation>
    </message>
    <message>
        <source>If you lose the passphrase, your chats cannot be recovered.</source>
        <translation>忘记密码短语，对话就会丢失：没有人能找回，我们也不能。</translation>
    </message>
    <message>
        <source>The window closes and opens again. This stops an answer that is being written.</source>
        <translation>为此会关闭窗口并重新打开；正在生成的回答会停止。</translation>
    </message>
    <message>
        <source>Encrypt your chats</source>
        <translation>加密您的对话</translation>
    </message>
    <message>
        <source>Your chats are encrypted. Headstart asks for the passphrase at every start.</source>
        <translation>您的对话已加密，每次启动时都要输入密码短语。</translation>
    </message>
    <message>
        <source>An older copy of the folder of the chats still opens with the old passphrase. To change the key too, decrypt the chats and encrypt them again.</source>
        <translation>此前复制过对话文件夹的人，仍可用旧的密码短语打开那份副本。如果也要更换密钥，请先解密对话，再重新加密。</translation>
    </message>
    <message>
        <source>Another passphrase</source>
        <translation>更换密码短语</translation>
    </message>
    <message>
        <source>Anyone who has the disk can then read the chats. Encrypted backups are deleted, and a new one is made.</source>
        <translation>此后，任何拿到磁盘的人都能读取对话。加密的备份会被删除，并创建新的备份。</translation>
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
        <translation>正在加密您的对话</translation>
    </message>
    <message>
        <source>Decrypting your chats</source>
        <translation>正在解密您的对话</translation>
    </message>
    <message>
        <source>The window opens again when this is done. If the computer turns off meanwhile, nothing is lost.</source>
        <translation>完成后窗口会重新打开。即使电脑在此期间关机，也不会丢失任何内容。</translation>
    </message>
    <message>
        <source>Your chats are encrypted now.</source>
        <translation>您的对话现已加密。</translation>
    </message>
    <message>
        <source>Your chats are not encrypted any more.</source>
        <translation>您的对话不再加密。</translation>
    </message>
</context>
<context>
    <name>EngineLink</name>
    <message>
        <source>exit code {}</source>
        <translation>退出代码 {}</translation>
    </message>
    <message>
        <source>The engine stopped unexpectedly ({}).</source>
        <translation>引擎意外停止（{}）。</translation>
    </message>
    <message>
        <source>The system ended the model, probably because memory ran out. Your text is kept.</source>
        <translation>系统终止了模型，可能是内存不足。您的文本已保留。</translation>
    </message>
    <message>
        <source>It was loading a model, which may need more memory than there is.</source>
        <translation>当时正在加载模型，可能是内存不足。</translation>
    </message>
    <message>
        <source>Details are in the log: {}</source>
        <translation>详情请见日志：{}</translation>
    </message>
</context>
<context>
    <name>Examples</name>
    <message>
        <source>Write a function</source>
        <translation>编写函数</translation>
    </message>
    <message>
        <source>Write a Python function that returns the ten most frequent words of a text, with two tests.</source>
        <translation>编写一个 Python 函数，返回一段文本中出现次数最多的十个单词，并附两个测试。</translation>
    </message>
    <message>
        <source>Draw a picture</source>
        <translation>画一幅图</translation>
    </message>
    <message>
        <source>Draw a sailing boat at sunset as one SVG file of simple shapes.</source>
        <translation>用简单的图形画一艘夕阳下的帆船，给出一个 SVG 文件。</translation>
    </message>
    <message>
        <source>Ask a database</source>
        <translation>查询数据库</translation>
    </message>
    <message>
        <source>Write an SQL query for the ten customers with the highest sales of the last twelve months, from the tables customers and orders.</source>
        <translation>根据表 customers 和 orders，编写一条 SQL 查询，找出最近十二个月销售额最高的十位客户。</translation>
    </message>
    <message>
        <source>Understand code</source>
        <translation>读懂代码</translation>
    </message>
    <message>
        <source>Explain this regular expression step by step, with three texts that it matches: ^(\d{1,3})(?:\.(\d{2}))?$</source>
        <translation>逐步解释这个正则表达式，并给出三个能与它匹配的文本：^(\d{1,3})(?:\.(\d{2}))?$</translation>
    </message>
    <message>
        <source>Send good wishes</source>
        <translation>送上祝福</translation>
    </message>
    <message>
        <source>Write a birthday greeting for a good friend in four sentences.</source>
        <translation>用四句话给一位好朋友写生日祝福。</translation>
    </message>
    <message>
        <source>Collect ideas</source>
        <translation>收集点子</translation>
    </message>
    <message>
        <source>Give me five ideas for a rainy Sunday at home.</source>
        <translation>下雨的星期天待在家里，给我出五个主意。</translation>
    </message>
    <message>
        <source>Write an e-mail</source>
        <translation>写一封邮件</translation>
    </message>
    <message>
        <source>Write a short e-mail that moves a meeting from Tuesday to Thursday.</source>
        <translation>写一封简短的邮件，把会议从星期二改到星期四。</translation>
    </message>
    <message>
        <source>Explain something</source>
        <translation>解释一件事</translation>
    </message>
    <message>
        <source>Explain in three sentences why leaves change their colour in autumn.</source>
        <translation>用三句话解释树叶在秋天为什么会变色。</translation>
    </message>
    <message>
        <source>Explain how a refrigerator works, in simple words and four short steps.</source>
        <translation>用简单的话分四小步解释冰箱是怎样工作的。</translation>
    </message>
    <message>
        <source>Make a plan</source>
        <translation>制定计划</translation>
    </message>
    <message>
        <source>Plan three days in Vienna for two people who like museums and good food. Give a table.</source>
        <translation>为两个喜欢博物馆和美食的人安排三天的维也纳之行，用表格列出。</translation>
    </message>
    <message>
        <source>Write a letter</source>
        <translation>写一封信</translation>
    </message>
    <message>
        <source>Write a friendly letter that asks my landlord to have the heating repaired.</source>
        <translation>写一封语气友好的信，请房东派人修理暖气。</translation>
    </message>
    <message>
        <source>Decide</source>
        <translation>做决定</translation>
    </message>
    <message>
        <source>Compare renting and buying a flat in a table. Then name the three questions that decide it.</source>
        <translation>用表格比较租房和买房，然后列出决定取舍的三个问题。</translation>
    </message>
</context>
<context>
    <name>ExportRun</name>
    <message>
        <source>The export cannot be started: {}</source>
        <translation>无法开始导出：{}</translation>
    </message>
    <message>
        <source>The export was ended from outside, perhaps for want of memory.</source>
        <translation>导出被外部终止，可能是内存不足。</translation>
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
        <translation>有些模型需要导出工具</translation>
    </message>
    <message>
        <source>Copy command</source>
        <translation>复制命令</translation>
    </message>
    <message>
        <source>This sets the exporter up and makes a model:
{}
It may run on another computer, too: bring the folder that it makes (its --output) here and drop it on this page.</source>
        <translation>以下命令会设置导出工具并生成模型：
{}
也可以在另一台电脑上运行：把它生成的文件夹（其 --output）带到这里，拖放到本页面。</translation>
    </message>
    <message>
        <source>In a terminal</source>
        <translation>在终端中操作</translation>
    </message>
    <message>
        <source>The exporter, which converts models that are no GGUF files, is not installed here and has to be set up by hand.</source>
        <translation>导出工具用于转换非 GGUF 格式的模型；这里没有安装，需要手动设置。</translation>
    </message>
    <message>
        <source>Most models come as a GGUF file, which is ready in seconds. Others go through the exporter. It needs PyTorch and is set up in a folder of its own before the first such model, which takes Python 3.11 or newer with venv and the network. It fetches about {fetched}, which take {size} on the disk, and much more where PyTorch comes with libraries for graphics cards, as it usually does on Linux. Nothing is fetched before you choose a model.</source>
        <translation>大多数模型是 GGUF 文件，几秒即可使用。其他模型要经过导出工具。它需要 PyTorch，在第一个这样的模型之前装进自己的文件夹，为此需要带 venv 的 Python 3.11 或更新版本以及网络。它大约下载 {fetched}，占用磁盘 {size}；如果 PyTorch 带有显卡的库（在 Linux 上通常如此），则会大得多。在您选择模型之前不会下载任何东西。</translation>
    </message>
</context>
<context>
    <name>ExporterSetup</name>
    <message>
        <source>Fetching {} ({})</source>
        <translation>正在下载 {}（{}）</translation>
    </message>
    <message>
        <source>Fetching {}</source>
        <translation>正在下载 {}</translation>
    </message>
    <message>
        <source>Looking for {}</source>
        <translation>正在查找 {}</translation>
    </message>
    <message>
        <source>Unpacking {} packages, which takes some minutes</source>
        <translation>正在解包 {} 个软件包，需要几分钟</translation>
    </message>
    <message>
        <source>Looking for Python</source>
        <translation>正在查找 Python</translation>
    </message>
    <message>
        <source>Trying it</source>
        <translation>正在试用</translation>
    </message>
    <message>
        <source>Asking what is to be fetched</source>
        <translation>正在查询需要下载的内容</translation>
    </message>
    <message>
        <source>Making an environment for it</source>
        <translation>正在为它创建环境</translation>
    </message>
</context>
<context>
    <name>Faults</name>
    <message>
        <source>Calls tools: {done} of {tasks} small tasks on a folder were done right.</source>
        <translation>调用工具：{tasks} 个文件夹小任务中正确完成了 {done} 个。</translation>
    </message>
    <message>
        <source>Calls tools badly: {done} of {tasks} small tasks on a folder were done right.</source>
        <translation>不擅长调用工具：{tasks} 个文件夹小任务中只正确完成了 {done} 个。</translation>
    </message>
    <message>
        <source> on page {number}</source>
        <translation>（第 {number} 页）</translation>
    </message>
    <message>
        <source>--device</source>
        <translation>“设备”</translation>
    </message>
    <message>
        <source>--draft-device</source>
        <translation>“草稿模型的设备”</translation>
    </message>
    <message>
        <source>--group-size is a number of weights, such as 64, or -1 for those of a whole row.</source>
        <translation>分组大小是权重的个数，例如 64；-1 表示一整行的权重。</translation>
    </message>
    <message>
        <source>--ratio is a share of the weights, above 0 and at most 1, such as 0.8.</source>
        <translation>比例是权重所占的份额，大于 0 且不超过 1，例如 0.8。</translation>
    </message>
    <message>
        <source>--{error}.</source>
        <translation>{error}。</translation>
    </message>
    <message>
        <source>--{option} belongs to INT4: add --weights int4.</source>
        <translation>{option} 只适用于 INT4：请选择 INT4 权重。</translation>
    </message>
    <message>
        <source>--{option} needs --draft, or the recipe of a pair.</source>
        <translation>{option} 需要草稿模型或模型对的配方。</translation>
    </message>
    <message>
        <source>A benchmark measures this computer, but {name} is another one: choose a model that is here.</source>
        <translation>基准测试测量的是这台电脑，而 {name} 是另一台电脑：请选择这台电脑上的模型。</translation>
    </message>
    <message>
        <source>A benchmark needs at least one prompt, one repeat and answers of two tokens.</source>
        <translation>基准测试至少需要一个提示、一次重复和两个 token 的回答。</translation>
    </message>
    <message>
        <source>A model named {folder} is installed already; remove it or rename the new folder.</source>
        <translation>已安装名为 {folder} 的模型；请移除它，或为新文件夹改名。</translation>
    </message>
    <message>
        <source>A name is empty: name a recipe, a hub id, a Hugging Face folder or a .gguf file.</source>
        <translation>名称为空：请填写配方、hub ID、Hugging Face 文件夹或 .gguf 文件。</translation>
    </message>
    <message>
        <source>A passphrase needs at least {shortest} characters; take several words.</source>
        <translation>密码短语至少需要 {shortest} 个字符；请使用多个词。</translation>
    </message>
    <message>
        <source>A path must be a text.</source>
        <translation>路径必须是文本。</translation>
    </message>
    <message>
        <source>A revision belongs to a model of the hub, but {title} does not come from there.</source>
        <translation>修订版本属于 hub 上的模型，而 {title} 并非来自那里。</translation>
    </message>
    <message>
        <source>A server&apos;s name has up to 40 letters, digits, dots, dashes and underscores, unlike {name!r}.</source>
        <translation>服务器名称最多可有 40 个字母、数字、点、连字符和下划线，{name!r} 不符合。</translation>
    </message>
    <message>
        <source>A tag needs a name; type one.</source>
        <translation>标签需要名称；请输入名称。</translation>
    </message>
    <message>
        <source>An NPU compiles a fixed prompt length in, while Headstart&apos;s own engine feeds passes of any length: leave out --engine headstart, or use --device CPU.</source>
        <translation>NPU 会将提示词长度编译为固定值，而 Headstart 自己的引擎需要任意长度的计算：请将引擎改为自动，或将设备改为 CPU。</translation>
    </message>
    <message>
        <source>An NPU computes with symmetric weights, but {name} has {weights}: export it with --weights int4-sym, or use --device CPU.</source>
        <translation>NPU 使用对称量化的权重，而 {name} 为 {weights}：请将权重设为 INT4-SYM 后重新导出，或将设备改为 CPU。</translation>
    </message>
    <message>
        <source>An NPU decides itself how it keeps keys and values: leave out --kv-precision.</source>
        <translation>NPU 自行决定键与值的精度：请将缓存精度改为自动。</translation>
    </message>
    <message>
        <source>An NPU needs a context of at least {least} tokens, not {context}: use another --context.</source>
        <translation>NPU 至少需要 {least} 个 token 的上下文，而不是 {context} 个：请更改上下文。</translation>
    </message>
    <message>
        <source>An NPU takes no guesses from the text: use a draft model, or --speculation off.</source>
        <translation>NPU 不能从文本中猜测：请使用草稿模型，或关闭加速。</translation>
    </message>
    <message>
        <source>An address must not hold a password; give the key with --key instead.</source>
        <translation>地址中不得包含密码；请改在“密钥”中填写。</translation>
    </message>
    <message>
        <source>Another program is using the chat history {path}; close it and try again.</source>
        <translation>另一个程序正在使用聊天历史记录 {path}；请关闭该程序后重试。</translation>
    </message>
    <message>
        <source>Answers are about half as fast as they could be, as Headstart&apos;s own kernels are not used ({why}); {remedy}.</source>
        <translation>由于未使用 Headstart 自带的计算内核（{why}），回答速度只有应有的一半左右；{remedy}。</translation>
    </message>
    <message>
        <source>Cancelled.</source>
        <translation>已取消。</translation>
    </message>
    <message>
        <source>Change {path}</source>
        <translation>更改 {path}</translation>
    </message>
    <message>
        <source>Encrypted chat histories need packages that are not installed: pip install {packages}, then start Headstart again.</source>
        <translation>加密的聊天历史记录需要未安装的软件包：请用 pip 安装 {packages}，然后重新启动 Headstart。</translation>
    </message>
    <message>
        <source>Exporting {name} needs about {wanted} of memory, but only {free} is free; close other programs, or export a smaller model.</source>
        <translation>导出 {name} 约需 {wanted} 内存，但可用内存只有 {free}；请关闭其他程序，或导出更小的模型。</translation>
    </message>
    <message>
        <source>Exporting {name} needs {wanted} of disk space at {place}, but only {free} is free; make room, or choose another --output.</source>
        <translation>导出 {name} 需要 {wanted} 磁盘空间（位于 {place}），但可用空间仅 {free}；请在该处腾出空间。</translation>
    </message>
    <message>
        <source>Headstart is open already (process {process} on {host}) and does not answer; close it there, or end that process, then start Headstart again. If no such process runs, delete {lock}.</source>
        <translation>Headstart 已打开（{host} 上的进程 {process}），但没有响应；请在那里关闭它或结束该进程，然后重新启动 Headstart。如果没有这样的进程在运行，请删除 {lock}。</translation>
    </message>
    <message>
        <source>Headstart runs a model on one device, not on {device}; present: {here}. Choose one with {option}, or AUTO.</source>
        <translation>Headstart 在一个设备上运行模型，而不是 {device}；现有设备：{here}。请用{option}选择其一，或选 AUTO。</translation>
    </message>
    <message>
        <source>Headstart&apos;s own engine uses the EAGLE-3 head {head} on a processor only: leave out --engine headstart, or use --device CPU.</source>
        <translation>Headstart 自己的引擎只在处理器上使用 EAGLE-3 草稿头 {head}：请将引擎改为自动，或将设备改为 CPU。</translation>
    </message>
    <message>
        <source>INT4 weights</source>
        <translation>INT4 权重</translation>
    </message>
    <message>
        <source>It takes about {wanted} of memory, but {free} is free: close other programs and tune again.</source>
        <translation>约需 {wanted} 内存，但只有 {free} 可用：请关闭其他程序，然后重新调优。</translation>
    </message>
    <message>
        <source>List the files of {path}</source>
        <translation>列出 {path} 的文件</translation>
    </message>
    <message>
        <source>Loading {names} with {context} tokens of context takes about {wanted} of memory, but {present}: choose {shorter}, {lighter}, or a smaller model.</source>
        <translation>以 {context} 个 token 的上下文加载 {names} 约需 {wanted} 内存，但{present}：请选择{shorter}、{lighter}，或更小的模型。</translation>
    </message>
    <message>
        <source>Make the folder {path}</source>
        <translation>新建文件夹 {path}</translation>
    </message>
    <message>
        <source>Memory ran out while the model was loaded: close other programs, choose a smaller context, or a smaller model.</source>
        <translation>加载模型时内存不足：请关闭其他程序，选择较小的上下文或较小的模型。</translation>
    </message>
    <message>
        <source>Memory ran out, so the engine starts again: close other programs, start a new chat, or choose a smaller context.</source>
        <translation>内存不足，引擎正在重新启动：请关闭其他程序、新建对话，或选择较小的上下文。</translation>
    </message>
    <message>
        <source>Models of the kind {model_type!r} cannot be converted ({error}).</source>
        <translation>无法转换 {model_type!r} 类型的模型（{error}）。</translation>
    </message>
    <message>
        <source>Models of this kind can have no head: their output rows were not found.</source>
        <translation>这种模型不能有草稿头：找不到它的输出行。</translation>
    </message>
    <message>
        <source>Move {source} to {target}</source>
        <translation>将 {source} 移到 {target}</translation>
    </message>
    <message>
        <source>Name a file in the folder.</source>
        <translation>请给出文件夹中的一个文件。</translation>
    </message>
    <message>
        <source>Name what to export: a recipe, a hub id, a folder or a .gguf file (--list shows recipes).</source>
        <translation>请填写要导出的内容：配方、hub ID、文件夹或 .gguf 文件。</translation>
    </message>
    <message>
        <source>Neither the model nor its chat template says which token ends an answer, so it cannot be used.</source>
        <translation>模型及其对话模板都没有说明用哪个 token 结束回答，因此无法使用。</translation>
    </message>
    <message>
        <source>No Python was found on this computer; install Python 3.11 or newer, of 64 bits (Debian and Ubuntu: apt install python3 python3-venv), and try again.</source>
        <translation>在本计算机上未找到 Python；请安装 64 位的 Python 3.11 或更高版本（Debian 和 Ubuntu：apt install python3 python3-venv），然后重试。</translation>
    </message>
    <message>
        <source>No computer is found by the address of {name}, {url}; check the spelling and your network.</source>
        <translation>找不到 {name} 的地址 {url} 所指的电脑；请检查拼写和网络。</translation>
    </message>
    <message>
        <source>No installed model can be used; `headstart models` says why.</source>
        <translation>已安装的模型都无法使用；模型页面上说明了原因。</translation>
    </message>
    <message>
        <source>No microphone can be used: connect one, and allow Headstart to use it in the settings of your system.</source>
        <translation>没有可用的麦克风：请连接麦克风，并在系统设置中允许 Headstart 使用它。</translation>
    </message>
    <message>
        <source>No model is installed yet.</source>
        <translation>尚未安装模型。</translation>
    </message>
    <message>
        <source>No model is installed yet; run {command} to get a small one.</source>
        <translation>尚未安装模型；请在模型页面添加一个。</translation>
    </message>
    <message>
        <source>No model is loaded; choose one first.</source>
        <translation>尚未加载模型；请先选择模型。</translation>
    </message>
    <message>
        <source>OpenVINO GenAI cannot bound its guesses under a confidence threshold, and sixty in one round were seen: {ours}, or --num-assistant-tokens alone.</source>
        <translation>设有置信度阈值时，OpenVINO GenAI 无法限制猜测数量，曾在一轮中猜测六十个：请{ours}，或只设每步猜测数（token）。</translation>
    </message>
    <message>
        <source>OpenVINO GenAI cannot limit thinking: {ours}, or leave out the budget.</source>
        <translation>OpenVINO GenAI 无法限制思考长度：{ours}，或不要设置思考上限。</translation>
    </message>
    <message>
        <source>OpenVINO GenAI cannot run {name} ({way}) on {device} ({reason}); {remedy}.</source>
        <translation>OpenVINO GenAI 无法运行 {name}（{way}），设备为 {device}（{reason}）；请{remedy}。</translation>
    </message>
    <message>
        <source>OpenVINO GenAI failed ({reason}); {remedy}.</source>
        <translation>OpenVINO GenAI 出错（{reason}）；请{remedy}。</translation>
    </message>
    <message>
        <source>OpenVINO GenAI garbles sampled answers when a draft model guesses ahead (its issue 4190): {ours}, --temperature 0 or --speculation off.</source>
        <translation>有草稿模型预先猜测时，OpenVINO GenAI 会弄乱采样得到的回答（其问题编号 4190）：请{ours}，或将温度设为 0，或关闭加速。</translation>
    </message>
    <message>
        <source>OpenVINO GenAI has no acceptance threshold: {ours}.</source>
        <translation>OpenVINO GenAI 没有接受阈值：请{ours}。</translation>
    </message>
    <message>
        <source>OpenVINO GenAI has no drafter {name}: {ours}.</source>
        <translation>OpenVINO GenAI 没有 {name} 这种猜测方式：请{ours}。</translation>
    </message>
    <message>
        <source>OpenVINO GenAI is not asked how likely its tokens were: {ours}, or leave out logprobs.</source>
        <translation>OpenVINO GenAI 不提供其 token 的概率：请{ours}，或不要求 logprobs。</translation>
    </message>
    <message>
        <source>OpenVINO GenAI is not asked to keep to a JSON schema, a grammar or tools: {ours}, or leave it out.</source>
        <translation>OpenVINO GenAI 不支持遵循 JSON 架构、语法或工具：请{ours}，或不使用这些。</translation>
    </message>
    <message>
        <source>OpenVINO GenAI makes unlikely tokens likelier by presence and frequency penalties: {ours}, or --repetition-penalty.</source>
        <translation>OpenVINO GenAI 的存在惩罚和频率惩罚会使不太可能的 token 变得更可能：请{ours}，或改用重复惩罚。</translation>
    </message>
    <message>
        <source>Others may read the key in {path}: run {command}, and change the key.</source>
        <translation>其他人可以读取 {path} 中的密钥：请将该文件改为仅自己可读，并更换密钥。</translation>
    </message>
    <message>
        <source>Plan</source>
        <translation>计划</translation>
    </message>
    <message>
        <source>Port {port} is taken by another program, maybe by another `headstart serve`: choose another one with --port, or --port 0 for any that is free.</source>
        <translation>端口 {port} 已被其他程序占用：请选择其他端口。</translation>
    </message>
    <message>
        <source>Port {port} may not be used by this user: choose one above 1023 with --port.</source>
        <translation>当前用户不能使用端口 {port}：请选择大于 1023 的端口。</translation>
    </message>
    <message>
        <source>Python {version} can make no environments here, as its module venv is missing; on Debian and Ubuntu, apt install python3-venv brings it. Then try again.</source>
        <translation>这里的 Python {version} 缺少 venv 模块，无法创建环境；在 Debian 和 Ubuntu 上可用 apt install python3-venv 安装。然后重试。</translation>
    </message>
    <message>
        <source>Read {path}</source>
        <translation>读取 {path}</translation>
    </message>
    <message>
        <source>Reading {name} took more than {minutes:.0f} minutes at one place; save the file in parts.</source>
        <translation>读取 {name} 时在一处用了超过 {minutes:.0f} 分钟；请将文件分成几部分保存。</translation>
    </message>
    <message>
        <source>Run a command</source>
        <translation>运行命令</translation>
    </message>
    <message>
        <source>Search the files of {path} for “{text}”</source>
        <translation>在 {path} 的文件中搜索“{text}”</translation>
    </message>
    <message>
        <source>Several models are installed ({names}): choose one with --model NAME.</source>
        <translation>已安装多个模型（{names}）：请选择其中一个模型。</translation>
    </message>
    <message>
        <source>Something unexpected happened ({kind}: {reason}); nothing half done was left. Add --verbose to see where, and report it.</source>
        <translation>发生意外错误（{kind}：{reason}）；没有留下未完成的内容。请重试；如果再次出现，请报告此问题。</translation>
    </message>
    <message>
        <source>The GGUF file cannot be converted ({reason}).</source>
        <translation>无法转换该 GGUF 文件（{reason}）。</translation>
    </message>
    <message>
        <source>The Python found here is {version}, and 3.11 or newer is needed; install one and try again.</source>
        <translation>这里找到的是 Python {version}，需要 3.11 或更高版本；请安装后重试。</translation>
    </message>
    <message>
        <source>The argument {name} must be a text.</source>
        <translation>参数 {name} 必须是文本。</translation>
    </message>
    <message>
        <source>The certificate of {name} at {url} is not trusted ({fault}); if it is your own, add the server again with --certificate FILE, the authority that signed it.</source>
        <translation>{name}（{url}）的证书不受信任（{fault}）；如果是您自己的证书，请重新添加该服务器，并在“证书”中选择签发机构的证书。</translation>
    </message>
    <message>
        <source>The certificate {certificate} cannot be used ({error}); name a file in PEM form.</source>
        <translation>无法使用证书 {certificate}（{error}）；请指定 PEM 格式的文件。</translation>
    </message>
    <message>
        <source>The chat history in {folder} is encrypted; open it in the window, with its passphrase.</source>
        <translation>{folder} 中的聊天历史记录已加密；请在窗口中用密码短语打开。</translation>
    </message>
    <message>
        <source>The chat history in {path} cannot be used ({reason}); make the folder readable and writable for you, then try again.</source>
        <translation>无法使用 {path} 中的聊天历史记录（{reason}）；请让您可以读写该文件夹，然后重试。</translation>
    </message>
    <message>
        <source>The chat history {path} could not be used ({error}); try again, then restart the program.</source>
        <translation>无法使用聊天历史记录 {path}（{error}）；请重试，仍不行则重启程序。</translation>
    </message>
    <message>
        <source>The chat history {path} is damaged; open Headstart&apos;s window, which saves what can be read.</source>
        <translation>聊天记录 {path} 已损坏；请打开 Headstart 的窗口，它会保存可以读取的内容。</translation>
    </message>
    <message>
        <source>The chat history {path} was written by a newer version of Headstart (schema {version}, this one knows {newest}); update Headstart to open it.</source>
        <translation>聊天历史记录 {path} 由更新版本的 Headstart 写入（架构版本 {version}，此版本支持到 {newest}）；请更新 Headstart 后再打开。</translation>
    </message>
    <message>
        <source>The chat template cannot be used ({reason}); choose another version of the model.</source>
        <translation>无法使用对话模板（{reason}）；请选择该模型的其他版本。</translation>
    </message>
    <message>
        <source>The chat template in {folder} cannot be read ({error}); export the model again.</source>
        <translation>{folder} 中的聊天模板无法读取（{error}）；请重新导出该模型。</translation>
    </message>
    <message>
        <source>The chat template in {folder} is not that of its source; choose another.</source>
        <translation>{folder} 中的聊天模板与其来源的不同；请另选一个模型。</translation>
    </message>
    <message>
        <source>The chat template of {name} cannot be used ({reason}); choose another version of the model.</source>
        <translation>{name} 的聊天模板无法使用（{reason}）；请选择该模型的另一个版本。</translation>
    </message>
    <message>
        <source>The chat template of {name} has no place for a message of role &quot;{role}&quot; here; leave it out, or use the roles system, user and assistant in their usual order.</source>
        <translation>{name} 的对话模板在此处不接受角色为“{role}”的消息；请去掉该消息，或按通常的顺序使用 system、user 和 assistant 角色。</translation>
    </message>
    <message>
        <source>The chat template of {name} refused this conversation ({reason}); change the system prompt or the order of the messages, or start a new conversation.</source>
        <translation>{name} 的对话模板拒绝了此对话（{reason}）；请更改系统提示词或消息顺序，或新建对话。</translation>
    </message>
    <message>
        <source>The command cannot be started ({reason}).</source>
        <translation>无法启动该命令（{reason}）。</translation>
    </message>
    <message>
        <source>The command is empty.</source>
        <translation>命令为空。</translation>
    </message>
    <message>
        <source>The connection to {name} broke in the middle of the answer; what came of it is kept: continue it, or ask again.</source>
        <translation>与 {name} 的连接在回答途中中断；已收到的部分会保留：请继续生成，或重新提问。</translation>
    </message>
    <message>
        <source>The conversation has {count} tokens, but the NPU was compiled for prompts of at most {prompt}: start a new chat, shorten the text, or load it with a longer --context.</source>
        <translation>对话有 {count} 个 token，而 NPU 编译时限定提示词最多 {prompt} 个：请新建对话、缩短文本，或调大上下文后重新加载模型。</translation>
    </message>
    <message>
        <source>The conversation has {count} tokens, but the context holds {room} with the answer: start a new chat, shorten the text, or load the model with a longer --context.</source>
        <translation>对话有 {count} 个 token，而上下文连同回答只能容纳 {room} 个：请新建对话、缩短文本，或调大上下文后重新加载模型。</translation>
    </message>
    <message>
        <source>The conversation is too long for {name} ({words}): start a new chat, or allow shorter answers.</source>
        <translation>对 {name} 来说对话太长（{words}）：请新建对话，或允许更短的回答。</translation>
    </message>
    <message>
        <source>The converted model cannot be used ({reason}); nothing was kept.</source>
        <translation>无法使用转换后的模型（{reason}）；未保留任何内容。</translation>
    </message>
    <message>
        <source>The converted tokenizer cannot be compared with its source ({reason}); nothing was kept.</source>
        <translation>无法将转换后的分词器与其来源比较（{reason}）；未保留任何内容。</translation>
    </message>
    <message>
        <source>The disk at {place} became full; nothing half done was left. Make room and run the command again: what was fetched is kept.</source>
        <translation>{place} 所在的磁盘已满；没有留下未完成的内容。请腾出空间后重新导出：已下载的内容会保留。</translation>
    </message>
    <message>
        <source>The disk is full, so the last change was not saved in {path}; free some space and try again: everything saved before is still there.</source>
        <translation>磁盘已满，上次的更改未能保存到 {path}；请腾出空间后重试：此前保存的内容都还在。</translation>
    </message>
    <message>
        <source>The disk is full; make room and try again.</source>
        <translation>磁盘已满；请腾出空间后重试。</translation>
    </message>
    <message>
        <source>The engine cannot be started ({error}); install Headstart again.</source>
        <translation>无法启动引擎（{error}）；请重新安装 Headstart。</translation>
    </message>
    <message>
        <source>The engine did not answer in time and was ended; it starts again when needed.</source>
        <translation>引擎未及时回应，已被结束；需要时会重新启动。</translation>
    </message>
    <message>
        <source>The engine did not stop in time and was ended; it starts again when needed.</source>
        <translation>引擎未及时停止，已被结束；需要时会重新启动。</translation>
    </message>
    <message>
        <source>The engine failed. Details are in the log: {path}</source>
        <translation>引擎出错。详情请见日志：{path}</translation>
    </message>
    <message>
        <source>The engine gave no sign for {seconds:.0f} seconds while {doing}, so it was ended; it starts again when it is needed.</source>
        <translation>引擎在{doing}时有 {seconds:.0f} 秒没有任何响应，因此已被结束；需要时会重新启动。</translation>
    </message>
    <message>
        <source>The engine program belongs to another version of Headstart (its messages have version {found!r}, not {version}); install Headstart again.</source>
        <translation>引擎程序属于另一版本的 Headstart（其消息版本为 {found!r}，而不是 {version}）；请重新安装 Headstart。</translation>
    </message>
    <message>
        <source>The engine stopped too often; load the model again, or see {path}.</source>
        <translation>引擎停止得过于频繁；请重新加载模型，或查看 {path}。</translation>
    </message>
    <message>
        <source>The engine stopped unexpectedly ({ending}); see {path}.</source>
        <translation>引擎意外停止（{ending}）；请查看 {path}。</translation>
    </message>
    <message>
        <source>The engine stopped unexpectedly ({ending}, as the system does when memory runs out); it starts again when it is needed.</source>
        <translation>引擎意外停止（{ending}，系统在内存不足时会这样做）；需要时会重新启动。</translation>
    </message>
    <message>
        <source>The engine&apos;s line is of an unknown kind: {excerpt}</source>
        <translation>引擎的这一行属于未知的类型：{excerpt}</translation>
    </message>
    <message>
        <source>The engine&apos;s line was longer than {mebibytes} MiB, so it cannot be a message of Headstart.</source>
        <translation>引擎的一行超过 {mebibytes} MiB，因此不可能是 Headstart 的消息。</translation>
    </message>
    <message>
        <source>The engine&apos;s message {name} is damaged ({error}).</source>
        <translation>引擎的消息 {name} 已损坏（{error}）。</translation>
    </message>
    <message>
        <source>The exporter could not be set up: {reason}</source>
        <translation>无法设置导出工具：{reason}</translation>
    </message>
    <message>
        <source>The exporter is being set up by another Headstart; wait until that has ended.</source>
        <translation>另一个 Headstart 正在设置导出工具；请等它结束。</translation>
    </message>
    <message>
        <source>The exporter needs {needed} on the disk while it is set up, and {free} are free; make room and try again.</source>
        <translation>设置导出工具期间需要 {needed} 的磁盘空间，而可用空间为 {free}；请腾出空间后重试。</translation>
    </message>
    <message>
        <source>The folder has more than {count} files.</source>
        <translation>该文件夹有超过 {count} 个文件。</translation>
    </message>
    <message>
        <source>The folder has too many keys or hard links to run a command beside them.</source>
        <translation>该文件夹中的密钥或硬链接过多，无法在其中运行命令。</translation>
    </message>
    <message>
        <source>The folder is too large to undo what the command changes.</source>
        <translation>该文件夹太大，无法撤销命令所做的更改。</translation>
    </message>
    <message>
        <source>The folder itself is not moved.</source>
        <translation>不能移动该文件夹本身。</translation>
    </message>
    <message>
        <source>The index of your projects&apos; folders cannot be used ({error}); start Headstart again: it is made anew if it is damaged, and nothing is lost.</source>
        <translation>项目文件夹的索引无法使用（{error}）；请重新启动 Headstart：如果索引已损坏，会重新建立，没有丢失任何内容。</translation>
    </message>
    <message>
        <source>The key cannot be kept: there is no keyring, and {path} cannot be written ({strerror}). Set it in the environment variable {variable} instead.</source>
        <translation>无法保存密钥：没有系统密钥环，且无法写入 {path}（{strerror}）。请改在环境变量 {variable} 中设置密钥。</translation>
    </message>
    <message>
        <source>The key in {where} cannot be read ({reason}); make it readable for you.</source>
        <translation>无法读取 {where} 中的密钥（{reason}）；请使其可供您读取。</translation>
    </message>
    <message>
        <source>The list of draft tokens in {folder} {fault}; export the model again.</source>
        <translation>{folder} 中的草稿 token 列表有误（{fault}）；请重新导出模型。</translation>
    </message>
    <message>
        <source>The manifest of {folder} does not list {names}; export the model again.</source>
        <translation>{folder} 的清单中没有列出 {names}；请重新导出模型。</translation>
    </message>
    <message>
        <source>The memory was used up; close other programs, or export a smaller model.</source>
        <translation>内存已用尽；请关闭其他程序，或导出更小的模型。</translation>
    </message>
    <message>
        <source>The model&apos;s config.json does not say how long its context is, so it cannot be used.</source>
        <translation>该模型的 config.json 没有说明上下文的长度，因此无法使用。</translation>
    </message>
    <message>
        <source>The name of a model has at most {most} bytes, and {name!r} has {size}; take a shorter one.</source>
        <translation>模型名称最多 {most} 字节，而 {name!r} 有 {size} 字节；请使用更短的名称。</translation>
    </message>
    <message>
        <source>The name of {name} has bytes that are no letters; give the file another name.</source>
        <translation>{name} 的名称中有不是文字的字节；请给文件换一个名称。</translation>
    </message>
    <message>
        <source>The package index cannot be reached; check this computer&apos;s network and try again. What was fetched to its end is not fetched again.</source>
        <translation>无法连接软件包索引；请检查本计算机的网络后重试。已完整下载的内容不会再次下载。</translation>
    </message>
    <message>
        <source>The package index lacks something for Python {version}; the log names it. Another Python, 3.11 or newer, may have all: install one and try again.</source>
        <translation>软件包索引中缺少适用于 Python {version} 的内容，日志中有其名称。换用另一个 3.11 或更高版本的 Python 也许可行：请安装后重试。</translation>
    </message>
    <message>
        <source>The package {package} is damaged ({error}) and was deleted; run the command again to fetch it anew.</source>
        <translation>软件包 {package} 已损坏（{error}），已被删除；请重新导出，以重新下载。</translation>
    </message>
    <message>
        <source>The path {path} has characters that no name here may have.</source>
        <translation>路径 {path} 含有名称中不允许的字符。</translation>
    </message>
    <message>
        <source>The path {path} is too deep.</source>
        <translation>路径 {path} 层级过深。</translation>
    </message>
    <message>
        <source>The picture cannot be read here; save it as a file, and attach that.</source>
        <translation>无法读取该图片；请将其保存为文件，然后附加该文件。</translation>
    </message>
    <message>
        <source>The program that reads {name} ended twice at it, maybe for lack of memory; close other programs and start Headstart again, or save the file in parts.</source>
        <translation>读取 {name} 的程序两次在此文件处结束，可能是内存不足；请关闭其他程序并重新启动 Headstart，或将文件分成几部分保存。</translation>
    </message>
    <message>
        <source>The recipe says {token} ends an answer, but the tokenizer has no such token.</source>
        <translation>配方称回答以 {token} 结束，但分词器没有这个 token。</translation>
    </message>
    <message>
        <source>The recipe {name} states another pooling than its source; correct the recipe.</source>
        <translation>配方 {name} 写明的池化方式与其来源不同；请更正配方。</translation>
    </message>
    <message>
        <source>The recipe {path} is wrong: {reason}.</source>
        <translation>配方 {path} 有误：{reason}。</translation>
    </message>
    <message>
        <source>The server {name} cannot be started: there is no program {program}.</source>
        <translation>无法启动服务器 {name}：没有程序 {program}。</translation>
    </message>
    <message>
        <source>The server {name} did not answer within {seconds} s{said}; “{line}” may be no MCP server.</source>
        <translation>服务器 {name} 在 {seconds} 秒内没有回应{said}；“{line}”可能不是 MCP 服务器。</translation>
    </message>
    <message>
        <source>The server {name} did not start{said}; try “{line}” in a terminal.</source>
        <translation>服务器 {name} 没有启动{said}；请在终端中试运行“{line}”。</translation>
    </message>
    <message>
        <source>The server {name} has no “command”; name the program that it is.</source>
        <translation>服务器 {name} 没有“command”；请写明它是哪个程序。</translation>
    </message>
    <message>
        <source>The server {name} is reached by an address; only servers with a “command” are started.</source>
        <translation>服务器 {name} 要通过地址访问；这里只启动带“command”的服务器。</translation>
    </message>
    <message>
        <source>The servers cannot be saved in {path} ({strerror}); make the folder writable and try again.</source>
        <translation>无法将服务器保存到 {path}（{strerror}）；请让该文件夹可写入，然后重试。</translation>
    </message>
    <message>
        <source>The set-up was ended from outside, perhaps for want of memory; try again.</source>
        <translation>设置过程被外部终止，可能是内存不足；请重试。</translation>
    </message>
    <message>
        <source>The settings in {path} cannot be read ({reason}), so the usual ones hold; see that you may read the file and that it is in order, then start Headstart again.</source>
        <translation>无法读取 {path} 中的设置（{reason}），因此使用默认设置；请确认您有权读取该文件且其内容无误，然后重新启动 Headstart。</translation>
    </message>
    <message>
        <source>The skill {name} is off.</source>
        <translation>技能 {name} 未启用。</translation>
    </message>
    <message>
        <source>The target writes no texts whose tokens could be counted; --draft-vocab full does without.</source>
        <translation>目标模型没有写出可用于统计 token 的文本；请分别导出两个模型，这样就不需要这些文本。</translation>
    </message>
    <message>
        <source>The text to search for is empty.</source>
        <translation>要搜索的文本为空。</translation>
    </message>
    <message>
        <source>The weights of the file cannot be used ({reason}).</source>
        <translation>无法使用该文件的权重（{reason}）。</translation>
    </message>
    <message>
        <source>The “args” of the server {name} must be a list of texts.</source>
        <translation>服务器 {name} 的“args”必须是文本列表。</translation>
    </message>
    <message>
        <source>The “env” of the server {name} must be an object of texts.</source>
        <translation>服务器 {name} 的“env”必须是由文本组成的对象。</translation>
    </message>
    <message>
        <source>There are no kernels with {isa} for this processor; leave out --isa.</source>
        <translation>此处理器没有支持 {isa} 的内核。</translation>
    </message>
    <message>
        <source>There are no tools yet: write your MCP servers into {path}, as other programs have them under “mcpServers”.</source>
        <translation>还没有工具：请把您的 MCP 服务器写入 {path}，格式与其他程序的“mcpServers”相同。</translation>
    </message>
    <message>
        <source>There is a {path} already.</source>
        <translation>{path} 已经存在。</translation>
    </message>
    <message>
        <source>There is no file or folder {path}.</source>
        <translation>没有文件或文件夹 {path}。</translation>
    </message>
    <message>
        <source>There is no file {path}; check the path.</source>
        <translation>没有文件 {path}；请检查路径。</translation>
    </message>
    <message>
        <source>There is no folder {path}.</source>
        <translation>没有文件夹 {path}。</translation>
    </message>
    <message>
        <source>There is no skill {name}; there are {names}.</source>
        <translation>没有技能 {name}；现有 {names}。</translation>
    </message>
    <message>
        <source>There is no {path}.</source>
        <translation>没有 {path}。</translation>
    </message>
    <message>
        <source>There is nothing to undo in this folder.</source>
        <translation>此文件夹中没有可撤销的内容。</translation>
    </message>
    <message>
        <source>These weights cannot be compressed to {weights} ({error}); try another --weights or --group-size.</source>
        <translation>这些权重不能压缩为 {weights}（{error}）；请尝试其他权重格式或分组大小。</translation>
    </message>
    <message>
        <source>This computer has no working bubblewrap, so the command can read and change whatever you can, and use the network.</source>
        <translation>这台计算机上没有可用的 bubblewrap，因此该命令可以读取和更改您能访问的一切，并使用网络。</translation>
    </message>
    <message>
        <source>This file may have passwords or keys, which the model would learn.</source>
        <translation>此文件可能含有密码或密钥，模型会得知其内容。</translation>
    </message>
    <message>
        <source>This model does not know the language {language!r}; it knows {languages}.</source>
        <translation>此模型不懂语言 {language!r}；它懂的语言有 {languages}。</translation>
    </message>
    <message>
        <source>This model knows English alone and cannot translate: name another one.</source>
        <translation>此模型只懂英语，不能翻译：请指定其他模型。</translation>
    </message>
    <message>
        <source>This system cannot confine file operations to a folder: use Linux or macOS.</source>
        <translation>此系统无法把文件操作限制在一个文件夹内：请使用 Linux 或 macOS。</translation>
    </message>
    <message>
        <source>Tuning cannot measure {name}, an EAGLE-3 head; choose no draft, or a draft model.</source>
        <translation>调优无法测量 EAGLE-3 草稿头 {name}；请不使用草稿模型，或选择其他草稿模型。</translation>
    </message>
    <message>
        <source>Use a skill</source>
        <translation>使用技能</translation>
    </message>
    <message>
        <source>What you wrote while your chats could not be saved is in {path}, but it cannot be read; delete that folder if you do not need it.</source>
        <translation>在无法保存聊天期间您所写的内容在 {path} 中，但无法读取；如果不需要，请删除该文件夹。</translation>
    </message>
    <message>
        <source>Write the new file {path}</source>
        <translation>写入新文件 {path}</translation>
    </message>
    <message>
        <source>as a table</source>
        <translation>按表格</translation>
    </message>
    <message>
        <source>bubblewrap does not work here any more.</source>
        <translation>bubblewrap 在此已无法使用。</translation>
    </message>
    <message>
        <source>chats of which {reason}</source>
        <translation>无法读取的对话，原因是{reason}</translation>
    </message>
    <message>
        <source>chats without messages</source>
        <translation>没有消息的对话</translation>
    </message>
    <message>
        <source>choose a small model, or a computer whose processor has AVX2</source>
        <translation>请选择较小的模型，或换用处理器支持 AVX2 的电脑</translation>
    </message>
    <message>
        <source>damaged files of the archive</source>
        <translation>压缩包中损坏的文件</translation>
    </message>
    <message>
        <source>draft head</source>
        <translation>草稿头</translation>
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
        <translation>不是对话的条目</translation>
    </message>
    <message>
        <source>files</source>
        <translation>个文件</translation>
    </message>
    <message>
        <source>files of which the export has only the names</source>
        <translation>导出内容中只有名称的文件</translation>
    </message>
    <message>
        <source>hidden messages</source>
        <translation>隐藏的消息</translation>
    </message>
    <message>
        <source>images, which are no text</source>
        <translation>图片（不是文本）</translation>
    </message>
    <message>
        <source>install Headstart again with a C compiler at hand ({commands})</source>
        <translation>请在有 C 编译器的情况下重新安装 Headstart（{commands}）</translation>
    </message>
    <message>
        <source>it is a damaged archive</source>
        <translation>它是损坏的压缩包</translation>
    </message>
    <message>
        <source>it is an archive with a password</source>
        <translation>它是有密码的压缩包</translation>
    </message>
    <message>
        <source>it is too long</source>
        <translation>它太长</translation>
    </message>
    <message>
        <source>it uses {names}, which no renderer has</source>
        <translation>它使用了任何渲染器都没有的 {names}</translation>
    </message>
    <message>
        <source>its text becomes too long</source>
        <translation>它生成的文本太长</translation>
    </message>
    <message>
        <source>its text is {text!r}, and not {expected!r}</source>
        <translation>它的文本是 {text!r}，而不是 {expected!r}</translation>
    </message>
    <message>
        <source>messages of the unknown kind {kind}</source>
        <translation>未知类型 {kind} 的消息</translation>
    </message>
    <message>
        <source>other files of the archive</source>
        <translation>压缩包中的其他文件</translation>
    </message>
    <message>
        <source>parts of the unknown kind {kind}</source>
        <translation>未知类型 {kind} 的部分</translation>
    </message>
    <message>
        <source>please report it</source>
        <translation>请报告此问题</translation>
    </message>
    <message>
        <source>recordings, which are no text</source>
        <translation>录音或录像（不是文本）</translation>
    </message>
    <message>
        <source>source</source>
        <translation>源代码</translation>
    </message>
    <message>
        <source>text of the page</source>
        <translation>网页文本</translation>
    </message>
    <message>
        <source>the model itself</source>
        <translation>模型自己</translation>
    </message>
    <message>
        <source>there is no chat in it that can be read: {left_out}</source>
        <translation>其中没有可读取的对话：{left_out}</translation>
    </message>
    <message>
        <source>they could not be tried ({error})</source>
        <translation>无法试用（{error}）</translation>
    </message>
    <message>
        <source>they do not load on this computer</source>
        <translation>在此电脑上无法加载</translation>
    </message>
    <message>
        <source>they do not load, or have nothing for {isa}, which {variable} names</source>
        <translation>无法加载，或不支持 {variable} 指定的 {isa}</translation>
    </message>
    <message>
        <source>they were not compiled when Headstart was installed</source>
        <translation>安装 Headstart 时未编译</translation>
    </message>
    <message>
        <source>this processor lacks AVX2</source>
        <translation>此处理器不支持 AVX2</translation>
    </message>
    <message>
        <source>unset {variable}</source>
        <translation>请取消设置 {variable}</translation>
    </message>
    <message>
        <source>usual words</source>
        <translation>常用词</translation>
    </message>
    <message>
        <source>who guessed this is not reported</source>
        <translation>回答者没有说明这是由谁猜测的</translation>
    </message>
    <message>
        <source>{adapter} is an adapter of a kind that cannot be merged ({what}); take a plain LoRA adapter.</source>
        <translation>{adapter} 是一种无法合并的适配器（{what}）；请使用普通的 LoRA 适配器。</translation>
    </message>
    <message>
        <source>{adapter} was not made for {name}: {place} is missing there or has another shape; name the adapter with the model that it was made for.</source>
        <translation>{adapter} 不是为 {name} 制作的：那里缺少 {place}，或其形状不同；请将适配器与它所针对的模型一起指定。</translation>
    </message>
    <message>
        <source>{fault} The model would get wrong tokens, so it is not used; choose another.</source>
        <translation>{fault} 模型会得到错误的 token，因此不使用它；请选择另一个模型。</translation>
    </message>
    <message>
        <source>{file} cannot be converted: {error}.</source>
        <translation>{file} 无法转换：{error}。</translation>
    </message>
    <message>
        <source>{file} does not hold all weights of its kind: {tensor} is missing. Fetch it again, or choose another version of the model.</source>
        <translation>{file} 没有包含该类模型的全部权重：缺少 {tensor}。请重新获取，或选择该模型的其他版本。</translation>
    </message>
    <message>
        <source>{file} holds a model of the kind {name!r}, which is not read from GGUF files; known are {known}. Use the model&apos;s Hugging Face folder or hub id instead.</source>
        <translation>{file} 中的模型属于 {name!r} 类型，不能从 GGUF 文件读取；支持的有 {known}。请改用该模型的 Hugging Face 文件夹或 hub ID。</translation>
    </message>
    <message>
        <source>{file} holds weights that are not known of its kind, such as {tensor}; use the model&apos;s Hugging Face folder or hub id instead.</source>
        <translation>{file} 包含该类模型中未知的权重，例如 {tensor}；请改用该模型的 Hugging Face 文件夹或 hub ID。</translation>
    </message>
    <message>
        <source>{file} of {adapter} cannot be read ({error}); fetch it again.</source>
        <translation>无法读取 {adapter} 的 {file}（{error}）；请重新获取。</translation>
    </message>
    <message>
        <source>{file} says that {key} is {index!r}, but the vocabulary has no such token; correct the file, or fetch the model again.</source>
        <translation>{file} 中的 {key} 为 {index!r}，但词表中没有这个 token；请更正该文件，或重新获取模型。</translation>
    </message>
    <message>
        <source>{folder} holds an adapter ({adapter_file}); name its model, and this folder with --adapter.</source>
        <translation>{folder} 中是适配器（{adapter_file}）；请指定它的模型，并将此文件夹作为适配器。</translation>
    </message>
    <message>
        <source>{head} is an EAGLE-3 head with weights that cannot be converted ({weight}); choose one without them.</source>
        <translation>{head} 是带有无法转换的权重（{weight}）的 EAGLE-3 草稿头；请选择没有这些权重的草稿头。</translation>
    </message>
    <message>
        <source>{name!r} cannot be the name of a model; take letters, digits and dashes.</source>
        <translation>{name!r} 不能用作模型名称；请使用字母、数字和连字符。</translation>
    </message>
    <message>
        <source>{name} always thinks before it answers: ask for less of it, with the effort `low`.</source>
        <translation>{name} 总是先思考再回答：请把“思考”设为自动。</translation>
    </message>
    <message>
        <source>{name} cannot be loaded ({error}); export it again.</source>
        <translation>无法加载 {name}（{error}）；请重新导出它。</translation>
    </message>
    <message>
        <source>{name} fits into the memory in 4 bits only, and agrees so with its source on {agreement} of the tokens, below {floor}; close other programs, take another model, or take it all the same with --weights int4.</source>
        <translation>{name} 只有 4 位版本放得进内存，而这个版本只在 {agreement} 的 token 上与原模型一致，低于 {floor}；请关闭其他程序，或换一个模型。</translation>
    </message>
    <message>
        <source>{name} has no switch for thinking: leave the choice to it.</source>
        <translation>{name} 没有思考开关：请让它自己选择。</translation>
    </message>
    <message>
        <source>{name} has the token {text!r} twice, as {index} and {other}, so one could not be written; take another file of the model.</source>
        <translation>{name} 中 token {text!r} 出现了两次（{index} 和 {other}），因此其中一个无法写出；请使用该模型的另一个文件。</translation>
    </message>
    <message>
        <source>{name} has {count:.0f} million pixels, and {most:.0f} million is the most; save it smaller, and attach that.</source>
        <translation>{name} 有 {count:.0f} 百万像素，最多为 {most:.0f} 百万像素；请缩小后保存，再附加。</translation>
    </message>
    <message>
        <source>{name} holds no speech that can be heard; describe what it holds.</source>
        <translation>{name} 中没有可以听清的语音；请描述其内容。</translation>
    </message>
    <message>
        <source>{name} holds weights of type {kind}, one of ik_llama.cpp&apos;s own types; take the Q4_K_M file of the model.</source>
        <translation>{name} 含有 {kind} 类型的权重，这是 ik_llama.cpp 自己的类型；请使用该模型的 Q4_K_M 文件。</translation>
    </message>
    <message>
        <source>{name} has the blocks of its GGUF file, which OpenVINO GenAI cannot read: {ours}, or export it again with --weights int8.</source>
        <translation>{name} 保留了其 GGUF 文件的数据块，OpenVINO GenAI 无法读取：{ours}，或以 INT8 重新导出。</translation>
    </message>
    <message>
        <source>{name} holds weights of type {kind}, which this version of Headstart does not know; update Headstart, or take a Q4_K_M file.</source>
        <translation>{name} 包含类型为 {kind} 的权重，此版本的 Headstart 不支持该类型；请更新 Headstart，或使用 Q4_K_M 文件。</translation>
    </message>
    <message>
        <source>{name} is a GGUF file of the kind {kind!r}, which can only be exported from .safetensors files; use the model&apos;s Hugging Face folder or hub id instead.</source>
        <translation>{name} 是 {kind!r} 类型的 GGUF 文件，这类模型只能从 .safetensors 文件导出；请改用该模型的 Hugging Face 文件夹或 hub id。</translation>
    </message>
    <message>
        <source>{name} is a GGUF file of version {version}, which this version of Headstart does not know; update Headstart, or take a file of version 3.</source>
        <translation>{name} 是版本 {version} 的 GGUF 文件，此版本的 Headstart 不支持该版本；请更新 Headstart，或使用版本 3 的文件。</translation>
    </message>
    <message>
        <source>{name} is a book of a kind that cannot be read here; convert it to EPUB or PDF, and attach that.</source>
        <translation>{name} 是这里无法读取的电子书格式；请转换为 EPUB 或 PDF 后再附加。</translation>
    </message>
    <message>
        <source>{name} is a document of a kind that cannot be read here; save it as .docx or PDF, and attach that.</source>
        <translation>{name} 是这里无法读取的文档格式；请另存为 .docx 或 PDF 后再附加。</translation>
    </message>
    <message>
        <source>{name} is a model of the kind {kind!r}, which cannot be exported; take {recipe}, or another of a kind that {command} names.</source>
        <translation>{name} 是 {kind!r} 类型的模型，无法导出；请改用 {recipe}。</translation>
    </message>
    <message>
        <source>{name} is a presentation; save it as PDF in the program that made it, and attach that.</source>
        <translation>{name} 是演示文稿；请在制作它的程序中另存为 PDF 后再附加。</translation>
    </message>
    <message>
        <source>{name} is a spreadsheet; save its sheet as CSV in the program that made it, and attach that.</source>
        <translation>{name} 是电子表格；请在制作它的程序中将工作表另存为 CSV 后再附加。</translation>
    </message>
    <message>
        <source>{name} is an archive; unpack it and attach the files that matter.</source>
        <translation>{name} 是压缩包；请解压后附加需要的文件。</translation>
    </message>
    <message>
        <source>{name} is damaged: {part!r} is not one of its folders; export it again.</source>
        <translation>{name} 已损坏：{part!r} 不是它的文件夹；请重新导出。</translation>
    </message>
    <message>
        <source>{name} is no text that can be read; attach text, Markdown, code, a web page, a notebook, .docx, EPUB or PDF, or save it as one of these first.</source>
        <translation>{name} 不是可读取的文本；请附加文本、Markdown、代码、网页、笔记本、.docx、EPUB 或 PDF，或先另存为其中一种。</translation>
    </message>
    <message>
        <source>{name} is not known to limit thinking: leave out the thinking budget, or choose a model of this computer.</source>
        <translation>不清楚 {name} 能否限制思考长度：请不要设置思考上限，或选择本机上的模型。</translation>
    </message>
    <message>
        <source>{name} is not what its source is: it chooses among {found} tokens, and its source among {rows}. Name the source that it was made from, or export it again.</source>
        <translation>{name} 与其来源不同：它在 {found} 个 token 中选择，而来源在 {rows} 个中选择。请指定导出它时所用的来源，或重新导出。</translation>
    </message>
    <message>
        <source>{name} is not what its source is: they differ by {found} nats a token (KL) and not by {before} as when it was exported. Name the source that it was made from, or export it again.</source>
        <translation>{name} 与其来源不同：两者每个 token 相差 {found} nat（KL），而导出时相差 {before}。请指定导出它时所用的来源，或重新导出。</translation>
    </message>
    <message>
        <source>{name} is one of {count} parts of a model, and {missing} is not beside it; put all parts into one folder.</source>
        <translation>{name} 是某模型 {count} 个部分之一，但旁边没有 {missing}；请将所有部分放入同一文件夹。</translation>
    </message>
    <message>
        <source>{name} is one of {count} parts of a model, but its name does not say so; the names of the parts must end in -00001-of-{last}.gguf and so on.</source>
        <translation>{name} 是某模型 {count} 个部分之一，但其名称未体现这一点；各部分的名称必须以 -00001-of-{last}.gguf 等结尾。</translation>
    </message>
    <message>
        <source>{name} makes vectors in steps that cannot be done here ({kinds}); choose a model of a transformer and a pooling.</source>
        <translation>{name} 生成向量的某些步骤在这里无法执行（{kinds}）；请选择由 Transformer 和池化组成的模型。</translation>
    </message>
    <message>
        <source>{name} pools its tokens in a way that cannot be done here ({how}); choose a model that takes their mean, the first or the last.</source>
        <translation>{name} 合并 token 的方式在这里无法执行（{how}）；请选择取平均值、第一个或最后一个 token 的模型。</translation>
    </message>
    <message>
        <source>{name} says that {key} is {index}, but its vocabulary has no such token; take another file of the model.</source>
        <translation>{name} 中的 {key} 为 {index}，但其词表中没有这个 token；请使用该模型的其他文件。</translation>
    </message>
    <message>
        <source>{name} says {key} = {value}, which changes what the model computes and is not known here; take another file of the model, or its Hugging Face folder.</source>
        <translation>{name} 中写有 {key} = {value}，它会改变模型的计算，而这里不支持它；请使用该模型的另一个文件，或其 Hugging Face 文件夹。</translation>
    </message>
    <message>
        <source>{name} thinks although it was asked not to: its model has no switch for that, or another one.</source>
        <translation>{name} 仍在思考，尽管要求它不要思考：它的模型没有这个开关，或开关不同。</translation>
    </message>
    <message>
        <source>{name} turns texts into vectors: it writes nothing, and is no part of a pair.</source>
        <translation>{name} 把文本转换为向量：它不写文字，也不能作为一对模型的一部分。</translation>
    </message>
    <message>
        <source>{name} wants words of its own before each text, which cannot be done here; choose another model.</source>
        <translation>{name} 要求在每段文本前加上它自己的词语，这里无法做到；请选择其他模型。</translation>
    </message>
    <message>
        <source>{name} was exported with {made}; name the same with --adapter.</source>
        <translation>{name} 导出时使用了 {made}；请指定同一个适配器。</translation>
    </message>
    <message>
        <source>{name} writes nothing, so no adapter can be merged into it.</source>
        <translation>{name} 不生成文本，因此无法将适配器合并到其中。</translation>
    </message>
    <message>
        <source>{path} cannot be read ({error}); fetch it again.</source>
        <translation>无法读取 {path}（{error}）；请重新获取。</translation>
    </message>
    <message>
        <source>{path} cannot be read ({reason}); make it readable for you.</source>
        <translation>无法读取 {path}（{reason}）；请让您自己可以读取它。</translation>
    </message>
    <message>
        <source>{path} holds no text that can be read, not even in pictures.</source>
        <translation>{path} 中没有可以读取的文字，图片中也没有。</translation>
    </message>
    <message>
        <source>{path} is invalid JSON ({error}); mend it there.</source>
        <translation>{path} 不是有效的 JSON（{error}）；请在其中改正。</translation>
    </message>
    <message>
        <source>{path} names no server: it needs an object “mcpServers” with one entry each.</source>
        <translation>{path} 没有写明任何服务器：它需要一个“mcpServers”对象，每个服务器一项。</translation>
    </message>
    <message>
        <source>The model cannot write answers with OpenVINO ({reason}).</source>
        <translation>该模型无法用 OpenVINO 写出回答（{reason}）。</translation>
    </message>
    <message>
        <source>A benchmark times Headstart&apos;s own engine, and OpenVINO GenAI beside it: load the model on a CPU, and run it again.</source>
        <translation>基准测试测量 Headstart 自己的引擎，并与 OpenVINO GenAI 比较：请在 CPU 上加载模型，然后重新运行。</translation>
    </message>
    <message>
        <source>The key in {place} must be letters, digits and signs without a space.</source>
        <translation>{place} 中的密钥只能由字母、数字和符号组成，不能有空格。</translation>
    </message>
    <message>
        <source>The model has no token {id}: leave it out of the prompt.</source>
        <translation>模型没有 token {id}：请从提示中去掉它。</translation>
    </message>
    <message>
        <source>The model has no token {id}: leave out its bias.</source>
        <translation>模型没有 token {id}：请去掉它的偏置。</translation>
    </message>
    <message>
        <source>Hugging Face cannot be reached</source>
        <translation>无法连接 Hugging Face</translation>
    </message>
    <message>
        <source>--from belongs to the recipe of one model, which {source!r} is not; of a pair, name both files: `headstart-export FILE --draft FILE`.</source>
        <translation>用文件代替下载只适用于单个模型的配方，而 {source!r} 不是；对于一对模型，请选择两个文件。</translation>
    </message>
    <message>
        <source>A project needs a name; type one.</source>
        <translation>项目需要名称；请输入一个。</translation>
    </message>
    <message>
        <source>A vector of the exported {name} points elsewhere than that of its source (cosine {agreement}); choose a higher precision.</source>
        <translation>导出的 {name} 的一个向量与来源的方向不同（余弦 {agreement}）；请选择更高的精度。</translation>
    </message>
    <message>
        <source>Another answer was begun meanwhile; continue this one when that has ended.</source>
        <translation>其间另一个回答已经开始；请在它结束后继续这个回答。</translation>
    </message>
    <message>
        <source>The chat history in {path} cannot be used ({reason}); see that its disk is there and has room, then try again: everything saved before is still there.</source>
        <translation>无法使用 {path} 中的聊天记录（{reason}）；请确认其磁盘可用且有剩余空间，然后重试：之前保存的内容都还在。</translation>
    </message>
    <message>
        <source>The chat history {path} is damaged, and nothing of it can be read; restore a backup.</source>
        <translation>对话历史 {path} 已损坏，且其中的内容都无法读取；请恢复一个备份。</translation>
    </message>
    <message>
        <source>The chat history {path} is damaged; start Headstart again: it saves everything that can be read.</source>
        <translation>对话历史 {path} 已损坏；请重新启动 Headstart，它会保存所有能读取的内容。</translation>
    </message>
    <message>
        <source>The converted model gives other results {fault}, so it is not used; choose another one.</source>
        <translation>转换后的模型{fault}得出不同的结果，因此不使用它；请选择另一个模型。</translation>
    </message>
    <message>
        <source>The head in {folder} is not one for this model ({error}).</source>
        <translation>{folder} 中的草稿头不适合这个模型（{error}）。</translation>
    </message>
    <message>
        <source>The index of your projects&apos; folders in {path} cannot be written ({reason}); it goes on by itself once there is room and you may write there, and nothing is lost.</source>
        <translation>无法写入 {path} 中的项目文件夹索引（{reason}）；一旦有空间并且您可以写入，就会自动继续，没有丢失任何内容。</translation>
    </message>
    <message>
        <source>The tokenizer in {folder} is damaged ({reason}); export the model again.</source>
        <translation>{folder} 中的分词器已损坏（{reason}）；请重新导出模型。</translation>
    </message>
    <message>
        <source>The tokenizer in {folder} swallows spaces before punctuation, which would damage code; export the model again with clean_up_tokenization_spaces off.</source>
        <translation>{folder} 中的分词器会吞掉标点前的空格，这会破坏代码；请关闭 clean_up_tokenization_spaces 后重新导出模型。</translation>
    </message>
    <message>
        <source>The tokenizer in {source} cannot be loaded ({error}).</source>
        <translation>无法加载 {source} 中的分词器（{error}）。</translation>
    </message>
    <message>
        <source>The tokenizer reads {text} otherwise once it is converted; choose another model.</source>
        <translation>分词器转换后对 {text} 的读取结果不同；请选择其他模型。</translation>
    </message>
    <message>
        <source>The tokenizer rebuilt from {name} turns {text!r} into {back!r}; use the model&apos;s Hugging Face folder or hub id instead.</source>
        <translation>由 {name} 重建的分词器将 {text!r} 变成了 {back!r}；请改用该模型的 Hugging Face 文件夹或 hub ID。</translation>
    </message>
    <message>
        <source>The weights in {folder} are compressed already; use the original model: it is then compressed once, and the loss is measured.</source>
        <translation>{folder} 中的权重已经压缩过；请使用原始模型：这样只压缩一次，并会测量损失。</translation>
    </message>
    <message>
        <source>The weights in {head} cannot be loaded ({error}).</source>
        <translation>无法加载 {head} 中的权重（{error}）。</translation>
    </message>
    <message>
        <source>The weights in {source} cannot be loaded ({error}).</source>
        <translation>无法加载 {source} 中的权重（{error}）。</translation>
    </message>
    <message>
        <source>The weights should have become {asked}, but the converted model says {weights}; nothing was kept. Please report this with the versions of nncf and openvino.</source>
        <translation>权重本应变为 {asked}，但转换后的模型却是 {weights}；未保留任何内容。请连同 nncf 和 openvino 的版本一起报告此问题。</translation>
    </message>
    <message>
        <source>There already is a project “{kept}”; choose another name.</source>
        <translation>已有项目“{kept}”；请换一个名称。</translation>
    </message>
    <message>
        <source>There already is a tag “{kept}”; choose another name.</source>
        <translation>已有标签“{kept}”；请换一个名称。</translation>
    </message>
    <message>
        <source>There is no device {device} here; present: {here}. Choose one with {option}.</source>
        <translation>这台电脑上没有设备 {device}；现有设备：{here}。请用{option}选择其中之一。</translation>
    </message>
    <message>
        <source>There is no file or folder {source}; check the path.</source>
        <translation>没有文件或文件夹 {source}；请检查路径。</translation>
    </message>
    <message>
        <source>There is no model recipe {name!r}; there are {names}.</source>
        <translation>没有模型配方 {name!r}；可用的有 {names}。</translation>
    </message>
    <message>
        <source>There is no model {name!r}: none is installed yet; run {command} to get a small one.</source>
        <translation>没有模型 {name!r}：尚未安装任何模型；请在模型页面添加一个。</translation>
    </message>
    <message>
        <source>There is no model {name!r}; installed are {names}.</source>
        <translation>没有模型 {name!r}；已安装的有 {names}。</translation>
    </message>
    <message>
        <source>There is no project “{name}” any more; make a new one.</source>
        <translation>项目“{name}”已不存在；请新建一个。</translation>
    </message>
    <message>
        <source>There is no server {name!r}; {there}. Add it with {command}.</source>
        <translation>没有服务器 {name!r}；{there}。请在模型页面添加。</translation>
    </message>
    <message>
        <source>There is no such API at {url}{in_brackets}; check the address of {name}: it often ends in /v1.</source>
        <translation>{url}{in_brackets} 处没有这样的 API；请检查 {name} 的地址：通常以 /v1 结尾。</translation>
    </message>
    <message>
        <source>There is no tag “{name}” any more; make a new one.</source>
        <translation>标签“{name}”已不存在；请新建标签。</translation>
    </message>
    <message>
        <source>This chat no longer exists in the history; start a new one.</source>
        <translation>历史记录中已没有此对话；请新建对话。</translation>
    </message>
    <message>
        <source>This is not the passphrase of the chat history; try again, and mind capitals and the keyboard&apos;s language.</source>
        <translation>这不是聊天历史记录的密码短语；请重试，并留意大小写和键盘语言。</translation>
    </message>
    <message>
        <source>This model has no tokens that mark a gap in a text: leave out the suffix, or use a model for code such as qwen2.5-coder.</source>
        <translation>此模型没有标记文本空缺的 token：请去掉后缀，或使用 qwen2.5-coder 等代码模型。</translation>
    </message>
    <message>
        <source>This tokenizer cannot be converted to OpenVINO ({error}).</source>
        <translation>无法将此分词器转换为 OpenVINO（{error}）。</translation>
    </message>
    <message>
        <source>To check a passphrase takes {memory} MiB of memory; close other programs and try again.</source>
        <translation>核对密码短语需要 {memory} MiB 内存；请关闭其他程序后重试。</translation>
    </message>
    <message>
        <source>To guess a fixed number ahead, set the guesses per step (1 to 16), or use automatic.</source>
        <translation>要固定预先猜测的数量，请将每步猜测数设为 1 至 16，或改用自动。</translation>
    </message>
    <message>
        <source>Tuning needs {least} seconds at least, not {seconds}.</source>
        <translation>调优至少需要 {least} 秒，而不是 {seconds} 秒。</translation>
    </message>
    <message>
        <source>With an NPU, model and draft run on it together: leave out --draft-device.</source>
        <translation>使用 NPU 时，模型与草稿模型一起在其上运行：请将草稿模型的设备改为自动。</translation>
    </message>
    <message>
        <source>a chat has no list of messages</source>
        <translation>有一个对话没有消息列表</translation>
    </message>
    <message>
        <source>a message in it is not as it should be ({error})</source>
        <translation>其中有一条消息不符合要求（{error}）</translation>
    </message>
    <message>
        <source>a smaller context</source>
        <translation>更小的上下文</translation>
    </message>
    <message>
        <source>a smaller context ({fitting} tokens would fit)</source>
        <translation>更小的上下文（{fitting} 个 token 可以容纳）</translation>
    </message>
    <message>
        <source>a smaller context ({fitting} tokens would fit, {more} with a cache precision of 8 bits)</source>
        <translation>更小的上下文（{fitting} 个 token 可以容纳；缓存精度设为 8 位时为 {more} 个）</translation>
    </message>
    <message>
        <source>a smaller draft or none</source>
        <translation>更小的草稿模型或不用草稿模型</translation>
    </message>
    <message>
        <source>a text in it has more than {most_characters:,} characters</source>
        <translation>其中有一段文字超过 {most_characters:,} 个字符</translation>
    </message>
    <message>
        <source>ask again, or use --device CPU</source>
        <translation>重新提问，或将设备改为 CPU</translation>
    </message>
    <message>
        <source>ask again, or use --engine headstart</source>
        <translation>重新提问，或将引擎改为 Headstart</translation>
    </message>
    <message>
        <source>cannot be read ({error})</source>
        <translation>无法读取：{error}</translation>
    </message>
    <message>
        <source>chats</source>
        <translation>对话</translation>
    </message>
    <message>
        <source>config.json in {folder} names another file for the weights ({elsewhere_key}), which is refused: they must be in {single_file} or in the files that {index_file} lists.</source>
        <translation>{folder} 中的 config.json 指定了另一个权重文件（{elsewhere_key}），已拒绝：权重必须位于 {single_file} 或 {index_file} 所列的文件中。</translation>
    </message>
    <message>
        <source>config.json in {source} cannot be used ({error}).</source>
        <translation>无法使用 {source} 中的 config.json（{error}）。</translation>
    </message>
    <message>
        <source>config.json of {name} does not say how many tokens it reads.</source>
        <translation>{name} 的 config.json 没有说明它能读取多少个 token。</translation>
    </message>
    <message>
        <source>draft {draft} does not fit {target}: {difference}; choose a draft with the same tokenizer.</source>
        <translation>草稿模型 {draft} 与 {target} 不匹配：{difference}；请选择分词器相同的草稿模型。</translation>
    </message>
    <message>
        <source>host must be an address such as {example}, not {host!r}.</source>
        <translation>主机必须是 {example} 这样的地址，而不是 {host!r}。</translation>
    </message>
    <message>
        <source>id {id} is {first} here and {second} there</source>
        <translation>ID {id} 在此处为 {first}，在彼处为 {second}</translation>
    </message>
    <message>
        <source>is damaged ({error})</source>
        <translation>已损坏（{error}）</translation>
    </message>
    <message>
        <source>is not a list of token ids</source>
        <translation>不是 token ID 列表</translation>
    </message>
    <message>
        <source>is not in the hub&apos;s cache and the network is switched off</source>
        <translation>不在 hub 的缓存中，且网络已关闭</translation>
    </message>
    <message>
        <source>is not on the hub</source>
        <translation>不在 hub 上</translation>
    </message>
    <message>
        <source>it could not be tried</source>
        <translation>无法试用</translation>
    </message>
    <message>
        <source>it ended the process that tried it ({ending})</source>
        <translation>试用它的进程因此终止（{ending}）</translation>
    </message>
    <message>
        <source>it gave no sign for {patience:.0f} seconds</source>
        <translation>{patience:.0f} 秒没有任何响应</translation>
    </message>
    <message>
        <source>it gave results that are not numbers</source>
        <translation>计算结果不是有效数字</translation>
    </message>
    <message>
        <source>it has no list of chats</source>
        <translation>其中没有对话列表</translation>
    </message>
    <message>
        <source>it has version {found!r} of the format and only {version} is known</source>
        <translation>其格式版本为 {found!r}，而此处只支持 {version}</translation>
    </message>
    <message>
        <source>it has {count:,} {what} and at most {most:,} are read</source>
        <translation>其中{what}有 {count:,} 个，而最多读取 {most:,} 个</translation>
    </message>
    <message>
        <source>it has {size:,} MB and at most {most_bytes} MB are read</source>
        <translation>它有 {size:,} MB，而最多只能读取 {most_bytes} MB</translation>
    </message>
    <message>
        <source>it is not JSON ({error})</source>
        <translation>它不是 JSON（{error}）</translation>
    </message>
    <message>
        <source>it is not UTF-8 text</source>
        <translation>它不是 UTF-8 文本</translation>
    </message>
    <message>
        <source>it took more than {minutes} min</source>
        <translation>用时超过 {minutes} 分钟</translation>
    </message>
    <message>
        <source>its parts are nested too deeply</source>
        <translation>其内容嵌套过深</translation>
    </message>
    <message>
        <source>known are {names}</source>
        <translation>已知的有 {names}</translation>
    </message>
    <message>
        <source>load the model with a smaller --context</source>
        <translation>调小上下文后重新加载模型</translation>
    </message>
    <message>
        <source>loading the model</source>
        <translation>加载模型</translation>
    </message>
    <message>
        <source>may change</source>
        <translation>可能会更改内容</translation>
    </message>
    <message>
        <source>may change and delete</source>
        <translation>可能会更改和删除内容</translation>
    </message>
    <message>
        <source>may change and use the network</source>
        <translation>可能会更改内容并使用网络</translation>
    </message>
    <message>
        <source>may change, delete and use the network</source>
        <translation>可能会更改、删除内容并使用网络</translation>
    </message>
    <message>
        <source>measuring</source>
        <translation>测量</translation>
    </message>
    <message>
        <source>message {message_id} does not follow its parent or stands twice</source>
        <translation>消息 {message_id} 不在其上级之后，或出现了两次</translation>
    </message>
    <message>
        <source>messages in one chat</source>
        <translation>单个对话的消息</translation>
    </message>
    <message>
        <source>names a token outside the model&apos;s {logit_rows}</source>
        <translation>包含超出该模型 {logit_rows} 个 token 的条目</translation>
    </message>
    <message>
        <source>names a token twice</source>
        <translation>有重复的 token</translation>
    </message>
    <message>
        <source>no answer in time</source>
        <translation>未及时回应</translation>
    </message>
    <message>
        <source>none is known yet</source>
        <translation>目前没有已知的服务器</translation>
    </message>
    <message>
        <source>nothing</source>
        <translation>无</translation>
    </message>
    <message>
        <source>only reads</source>
        <translation>只读取</translation>
    </message>
    <message>
        <source>only reads, perhaps from the network</source>
        <translation>只读取，可能从网络读取</translation>
    </message>
    <message>
        <source>reading the message</source>
        <translation>读取消息</translation>
    </message>
    <message>
        <source>results differ from exact ones by {divergence:.3g} nats, more than {limit:.3g}</source>
        <translation>结果与精确值相差 {divergence:.3g} nat，超过 {limit:.3g}</translation>
    </message>
    <message>
        <source>servers.{name} must be a table of texts.</source>
        <translation>servers.{name} 必须是由文本组成的表。</translation>
    </message>
    <message>
        <source>starting</source>
        <translation>启动</translation>
    </message>
    <message>
        <source>the connection is refused</source>
        <translation>连接被拒绝</translation>
    </message>
    <message>
        <source>the device refuses it ({reason})</source>
        <translation>设备拒绝使用它（{reason}）</translation>
    </message>
    <message>
        <source>there is no chat in it</source>
        <translation>其中没有对话</translation>
    </message>
    <message>
        <source>use --device CPU</source>
        <translation>将设备改为 CPU</translation>
    </message>
    <message>
        <source>use --engine headstart</source>
        <translation>将引擎改为 Headstart</translation>
    </message>
    <message>
        <source>was built for another vocabulary than that of {name}</source>
        <translation>是为与 {name} 不同的词汇表生成的</translation>
    </message>
    <message>
        <source>writing the answer</source>
        <translation>撰写回答</translation>
    </message>
    <message>
        <source>{broken} of {found} results are not numbers</source>
        <translation>{broken} / {found} 个结果不是有效数字</translation>
    </message>
    <message>
        <source>{device} has {size}</source>
        <translation>{device} 只有 {size}</translation>
    </message>
    <message>
        <source>{device} refuses {name} ({reason}). Try --device CPU.</source>
        <translation>{device} 无法运行 {name}（{reason}）。请将设备改为 CPU 再试。</translation>
    </message>
    <message>
        <source>{draft} cannot draft for {target}: id {id} is {first} in {target} but {second} in {draft}; choose a draft with the same vocabulary.</source>
        <translation>{draft} 不能作为 {target} 的草稿模型：ID {id} 在 {target} 中为 {first}，在 {draft} 中为 {second}；请选择词表相同的草稿模型。</translation>
    </message>
    <message>
        <source>{fault} Export the model again.</source>
        <translation>{fault} 请重新导出该模型。</translation>
    </message>
    <message>
        <source>{file} cannot be read ({error}); name a file of keys.</source>
        <translation>无法读取 {file}（{error}）；请指定一个密钥文件。</translation>
    </message>
    <message>
        <source>{file} has no key: write one on each line.</source>
        <translation>{file} 中没有密钥：请每行写一个。</translation>
    </message>
    <message>
        <source>{file} is not a safetensors file that can be read; fetch it again.</source>
        <translation>{file} 不是可读取的 safetensors 文件；请重新获取。</translation>
    </message>
    <message>
        <source>{folder} cannot be copied to {root} ({strerror}); nothing was kept.</source>
        <translation>无法将 {folder} 复制到 {root}（{strerror}）；没有保留任何内容。</translation>
    </message>
    <message>
        <source>{folder} cannot be loaded ({reason}). Export it again with {command}.</source>
        <translation>无法加载 {folder}（{reason}）。请在模型页面重新导出。</translation>
    </message>
    <message>
        <source>{folder} cannot be written to ({strerror}); choose another --output.</source>
        <translation>无法写入 {folder}（{strerror}）；请为自己开启该文件夹的写入权限。</translation>
    </message>
    <message>
        <source>{folder} has its weights only as a pickle ({pickle}), and loading a pickle can run any code; use a version of the model with .safetensors files or a .gguf file.</source>
        <translation>{folder} 的权重只有 pickle 形式（{pickle}），而加载 pickle 可能会运行任意代码；请使用带有 .safetensors 文件的版本或 .gguf 文件。</translation>
    </message>
    <message>
        <source>{folder} has no config.json, so it is not a Hugging Face model folder.</source>
        <translation>{folder} 中没有 config.json，因此不是 Hugging Face 模型文件夹。</translation>
    </message>
    <message>
        <source>{folder} holds a pair; name its {target_folder} or {draft_folder} folder instead.</source>
        <translation>{folder} 中是模型组合；请改用其中的 {target_folder} 或 {draft_folder} 文件夹。</translation>
    </message>
    <message>
        <source>{folder} holds neither {single_file} nor {index_file}; name the folder of the original model.</source>
        <translation>{folder} 中既没有 {single_file} 也没有 {index_file}；请指定原始模型的文件夹。</translation>
    </message>
    <message>
        <source>{folder} is installed already; it lies in the folder of the models.</source>
        <translation>{folder} 已安装；它就在模型文件夹中。</translation>
    </message>
    <message>
        <source>{folder} is not a Headstart model: {file_name} is missing; export it with `headstart models add`.</source>
        <translation>{folder} 不是 Headstart 模型：缺少 {file_name}；请在模型页面导出。</translation>
    </message>
    <message>
        <source>{folder} lacks {names}; export the model again.</source>
        <translation>{folder} 缺少 {names}；请重新导出模型。</translation>
    </message>
    <message>
        <source>{folder} needs {wanted} of disk space at {root}, but only {free} is free; make room and add it again.</source>
        <translation>{folder} 需要 {wanted} 磁盘空间（位于 {root}），但只剩 {free} 可用；请腾出空间后重新添加。</translation>
    </message>
    <message>
        <source>{folder} wants to run Python code of its own ({code_key} in {path}), which is refused; if you have read that code and trust it, add --trust-remote-code.</source>
        <translation>{folder} 要运行自带的 Python 代码（{code_key}，位于 {path}），已被拒绝；请选择其他模型。</translation>
    </message>
    <message>
        <source>{free} is free</source>
        <translation>可用内存为 {free}</translation>
    </message>
    <message>
        <source>{head} cannot guess for {target}: it was made for a {measure} of {second}, but {target} has {first}; choose the EAGLE-3 head that was made for this model.</source>
        <translation>{head} 不能为 {target} 猜测：它适用于 {measure} 为 {second} 的模型，而 {target} 为 {first}；请选择为此模型制作的 EAGLE-3 草稿头。</translation>
    </message>
    <message>
        <source>{head} is an EAGLE-3 head of a kind that cannot be converted ({model_type}, {num_hidden_layers} layers); choose one of a single Llama layer.</source>
        <translation>{head} 是无法转换的 EAGLE-3 草稿头（{model_type}，{num_hidden_layers} 层）；请选择只有一个 Llama 层的草稿头。</translation>
    </message>
    <message>
        <source>{host} can be reached from other computers: add --allow-network if that is what you want, or leave out --host to stay on this one.</source>
        <translation>其他计算机可以访问 {host}：请允许网络访问，或使用本机地址。</translation>
    </message>
    <message>
        <source>{host} port {port} cannot be used ({strerror}): choose others with --host and --port.</source>
        <translation>无法使用 {host} 的端口 {port}（{strerror}）：请选择其他端口。</translation>
    </message>
    <message>
        <source>{index} in {folder} does not say where the weights are; fetch it again.</source>
        <translation>{folder} 中的 {index} 没有说明权重的位置；请重新获取。</translation>
    </message>
    <message>
        <source>{listing}; {part}</source>
        <translation>{listing}；{part}</translation>
    </message>
    <message>
        <source>{model} computes a little differently here when it reads several tokens at once: where two words are almost equally likely, guesses may change which one you get.</source>
        <translation>{model} 在这里一次读取多个 token 时，计算结果略有不同：当两个词的可能性几乎相同时，猜测可能改变最终出现的词。</translation>
    </message>
    <message>
        <source>{model} does not run in {name} here, as {why}; it runs in {instead}.</source>
        <translation>{model} 在此处不能以 {name} 运行（{why}）；已改用 {instead}。</translation>
    </message>
    <message>
        <source>{name} and the source are not both a pair; name the recipe of the pair, or its two sources with --against and --draft.</source>
        <translation>{name} 和来源并非都是一对模型；请指定该对模型的配方，或它的两个来源。</translation>
    </message>
    <message>
        <source>{name} broke off the answer ({detail}); ask again, or look into the log of that server.</source>
        <translation>{name} 中断了回答（{detail}）；请重新提问，或查看该服务器的日志。</translation>
    </message>
    <message>
        <source>{name} cannot be converted ({error}).</source>
        <translation>无法转换 {name}（{error}）。</translation>
    </message>
    <message>
        <source>{name} cannot be opened ({reason}); see that you may read it and that no other program keeps it.</source>
        <translation>无法打开 {name}（{reason}）；请确认您有权读取它，且没有其他程序占用它。</translation>
    </message>
    <message>
        <source>{name} cannot be reached at {url} ({detail}); check that the server runs there and that this computer has a network.</source>
        <translation>无法连接 {name}，地址为 {url}（{detail}）；请确认服务器正在运行，且这台电脑已联网。</translation>
    </message>
    <message>
        <source>{name} does not count tokens beforehand; ask, and it says what is too long.</source>
        <translation>{name} 不会预先计算 token；请直接提问，过长时它会告知。</translation>
    </message>
    <message>
        <source>{name} does not have the content it was exported with</source>
        <translation>{name} 的内容与导出时不同</translation>
    </message>
    <message>
        <source>{name} does not know the model {model!r}{in_brackets}; {command} lists what it has.</source>
        <translation>{name} 没有模型 {model!r}{in_brackets}；请重新添加该服务器，并将模型填为它所具有的一个。</translation>
    </message>
    <message>
        <source>{name} does not say how a text becomes a vector ({file} is missing); choose a model for sentence-transformers.</source>
        <translation>{name} 没有说明如何把文本变成向量（缺少 {file}）；请选择用于 sentence-transformers 的模型。</translation>
    </message>
    <message>
        <source>{name} does not speak TLS as expected at {url} ({reason}); check the port, or whether the address begins with http://.</source>
        <translation>{name} 在 {url} 处未按预期使用 TLS（{reason}）；请检查端口，或地址是否应以 http:// 开头。</translation>
    </message>
    <message>
        <source>{name} does not take this request (status {status}{after_comma}); change what it names.</source>
        <translation>{name} 不接受此请求（状态 {status}{after_comma}）；请更改其中指出的内容。</translation>
    </message>
    <message>
        <source>{name} does not list its models at {url}/models; check the address (it often ends in /v1), or name a model: remote:{name}/MODEL.</source>
        <translation>{name} 在 {url}/models 处没有列出模型；请检查地址（通常以 /v1 结尾），或重新添加 {name} 并填写模型名称。</translation>
    </message>
    <message>
        <source>The settings cannot be saved in {path} ({strerror}); see that you may read it and write there, and try again.</source>
        <translation>设置无法保存到 {path}（{strerror}）；请确认您可以读取它并在那里写入，然后重试。</translation>
    </message>
    <message>
        <source>{name} failed (status {status}{after_comma}); try again, or look into that server&apos;s log.</source>
        <translation>{name} 出错（状态 {status}{after_comma}）；请重试，或查看该服务器的日志。</translation>
    </message>
    <message>
        <source>{name} gave results that are not numbers in {was}; it goes on in {now}.</source>
        <translation>{name} 以 {was} 计算的结果不是有效数字；已改用 {now} 继续。</translation>
    </message>
    <message>
        <source>{name} gave results that are not numbers; load it again, in another precision.</source>
        <translation>{name} 的计算结果不是有效数字；请换一种精度重新加载。</translation>
    </message>
    <message>
        <source>{name} has a tokenizer of the kind {model!r}, which cannot be rebuilt faithfully from a GGUF file; use the model&apos;s Hugging Face folder or hub id instead.</source>
        <translation>{name} 的分词器类型为 {model!r}，无法由 GGUF 文件准确重建；请改用该模型的 Hugging Face 文件夹或 hub ID。</translation>
    </message>
    <message>
        <source>{name} has moved to {target}; if you trust that, add it again with that address.</source>
        <translation>{name} 已迁移到 {target}；如果您信任该地址，请用它重新添加。</translation>
    </message>
    <message>
        <source>{name} has no chat template, so it cannot hold a conversation; export the instruct or chat version of this model.</source>
        <translation>{name} 没有对话模板，因此无法进行对话；请导出此模型的 instruct 或 chat 版本。</translation>
    </message>
    <message>
        <source>{name} has no model {wanted!r}; it has {names}.</source>
        <translation>{name} 没有模型 {wanted!r}；它有 {names}。</translation>
    </message>
    <message>
        <source>{name} has sent nothing for {seconds} s in the middle of the answer; what came of it is kept: continue it, or ask again.</source>
        <translation>{name} 在回答途中已有 {seconds} 秒没有发送任何内容；已收到的部分已保留：请继续生成，或重新提问。</translation>
    </message>
    <message>
        <source>{name} has these models: {names}; name one of them: remote:{name}/MODEL.</source>
        <translation>{name} 有这些模型：{names}；请重新添加 {name} 并将模型填为其中之一。</translation>
    </message>
    <message>
        <source>{name} has {length:.1f} MB of text, and {largest:.0f} MB is the most; attach a part of it.</source>
        <translation>{name} 有 {length:.1f} MB 文本，而最多为 {largest:.0f} MB；请附加其中一部分。</translation>
    </message>
    <message>
        <source>{name} has {present} bytes instead of {wanted}</source>
        <translation>{name} 有 {present} 字节，应为 {wanted} 字节</translation>
    </message>
    <message>
        <source>{name} holds no text; if it is a scan, get PP-OCRv6 on the page of models: it reads text in pictures.</source>
        <translation>{name} 没有文字；如果是扫描件，请在模型页面获取 PP-OCRv6，它能识别图片中的文字。</translation>
    </message>
    <message>
        <source>{name} is a mail of a kind that cannot be read here; save it as .eml.</source>
        <translation>{name} 是这里无法读取的邮件格式；请另存为 .eml。</translation>
    </message>
    <message>
        <source>{name} is a pair; name one model of it as the draft: {draft}.</source>
        <translation>{name} 是模型组合；请指定其中一个模型作为草稿模型：{draft}。</translation>
    </message>
    <message>
        <source>{name} is a picture that cannot be read here; save it as PNG or JPEG, and attach that.</source>
        <translation>{name} 是无法在此读取的图片；请将其保存为 PNG 或 JPEG，然后附加。</translation>
    </message>
    <message>
        <source>{name} is a picture, and no model that reads text in pictures is installed; get PP-OCRv6 on the page of models (`headstart models add pp-ocrv6`), then attach it again.</source>
        <translation>{name} 是图片，而没有安装识别图片文字的模型；请在模型页面获取 PP-OCRv6，然后重新附加。</translation>
    </message>
    <message>
        <source>{name} is a recording of a kind that cannot be read here; save it as WAV, MP3, FLAC, Ogg or Opus, and attach that.</source>
        <translation>{name} 是无法在此读取的录音类型；请将其保存为 WAV、MP3、FLAC、Ogg 或 Opus，然后附加。</translation>
    </message>
    <message>
        <source>{name} is a recording, and no model that writes down speech is installed; get Whisper on the page of models (`headstart models add whisper-base`), then attach it again.</source>
        <translation>{name} 是录音，而没有安装把语音写成文字的模型；请在模型页面获取 Whisper，然后重新附加。</translation>
    </message>
    <message>
        <source>{name} is an image of a kind that cannot be read here; save it as PNG or JPEG, and attach that.</source>
        <translation>{name} 是无法在此读取的图片类型；请将其保存为 PNG 或 JPEG，然后附加。</translation>
    </message>
    <message>
        <source>{name} is busy and asks you to wait; it is asked again in {seconds} s.</source>
        <translation>{name} 正忙，要求等待；将在 {seconds} 秒后再次请求。</translation>
    </message>
    <message>
        <source>{name} is busy{in_brackets} and asks you to wait {seconds} s; then try again.</source>
        <translation>{name} 正忙{in_brackets}，要求等待 {seconds} 秒；请在此之后重试。</translation>
    </message>
    <message>
        <source>{name} is busy{in_brackets}; try again in a while.</source>
        <translation>{name} 正忙{in_brackets}；请稍后再试。</translation>
    </message>
    <message>
        <source>{name} is damaged: {faults}; export it again with {command}.</source>
        <translation>{name} 已损坏：{faults}；请在模型页面重新导出。</translation>
    </message>
    <message>
        <source>{name} is damaged: {names}. Export it again with {command}.</source>
        <translation>{name} 已损坏：{names}。请在模型页面重新导出。</translation>
    </message>
    <message>
        <source>{name} is empty; there is nothing to attach.</source>
        <translation>{name} 是空的；没有可附加的内容。</translation>
    </message>
    <message>
        <source>{name} is longer than {hours} hours; cut it, and take the parts one after the other.</source>
        <translation>{name} 超过 {hours} 小时；请将其剪开，逐段处理。</translation>
    </message>
    <message>
        <source>{name} is missing</source>
        <translation>缺少 {name}</translation>
    </message>
    <message>
        <source>{name} is no recording that can be read here; save it as WAV, MP3, FLAC, Ogg or Opus, and take that.</source>
        <translation>{name} 不是此处能读取的录音；请另存为 WAV、MP3、FLAC、Ogg 或 Opus 后再用。</translation>
    </message>
    <message>
        <source>{name} is not a time</source>
        <translation>{name} 不是时间</translation>
    </message>
    <message>
        <source>{name} is on another computer and can only chat; choose a model of `headstart models`.</source>
        <translation>{name} 在另一台电脑上，只能用于聊天；请选择这台电脑上的模型。</translation>
    </message>
    <message>
        <source>{name} is only asked to answer conversations: for a text to be written on or a grammar choose a model of this computer.</source>
        <translation>{name} 只用于回答对话：续写文本或使用语法时，请选择本机的模型。</translation>
    </message>
    <message>
        <source>{name} keeps the blocks of a GGUF file, which OpenVINO Model Server does not know; export it with --weights int8, and a draft with --draft-weights int8.</source>
        <translation>{name} 保留了 GGUF 文件的块，OpenVINO Model Server 不认识它们；请以 INT8 权重导出。</translation>
    </message>
    <message>
        <source>{name} lies before 1970</source>
        <translation>{name} 早于 1970 年</translation>
    </message>
    <message>
        <source>{name} merges {merge!r}, but its vocabulary does not hold that; fetch the file again.</source>
        <translation>{name} 合并了 {merge!r}，但其词表中没有；请重新获取该文件。</translation>
    </message>
    <message>
        <source>{name} must be {allowed}, not {value}.</source>
        <translation>{name} 必须是 {allowed}，而不是 {value}。</translation>
    </message>
    <message>
        <source>{name} must have names without spaces and strokes.</source>
        <translation>{name} 中的名称不能含有空格和斜杠。</translation>
    </message>
    <message>
        <source>{name} must have names.</source>
        <translation>{name} 中必须有名称。</translation>
    </message>
    <message>
        <source>{name} must not hold an empty text.</source>
        <translation>{name} 中不能有空文本。</translation>
    </message>
    <message>
        <source>{name} needs the exporter, which is not set up.</source>
        <translation>{name} 需要导出工具，而它尚未设置。</translation>
    </message>
    <message>
        <source>{name} of {source} is not the file that commit {revision} had when it was exported before; empty the hub&apos;s cache and try again, or name another --output if the new one is to be trusted.</source>
        <translation>{source} 的 {name} 与以前导出时提交 {revision} 中的文件不同；请清空 hub 的缓存后重试，或者在信任新文件时先移除该模型。</translation>
    </message>
    <message>
        <source>{name} reads text in pictures and cannot chat: choose another model.</source>
        <translation>{name} 用于识别图片中的文字，不能聊天：请选择其他模型。</translation>
    </message>
    <message>
        <source>{name} reads {text} instead of {proof} once it is converted; choose another model.</source>
        <translation>{name} 转换后读出的是 {text} 而不是 {proof}；请选择其他模型。</translation>
    </message>
    <message>
        <source>{name} refuses the key{in_brackets}; give another one with {command}.</source>
        <translation>{name} 拒绝该密钥{in_brackets}；请换一个密钥重新添加该服务器。</translation>
    </message>
    <message>
        <source>{name} shows no text that can be read; describe what it shows.</source>
        <translation>{name} 中没有可以识别的文字；请描述图中的内容。</translation>
    </message>
    <message>
        <source>{name} splits its text by the rule {splitting!r}, which is not known here; known are {splittings}. Use the model&apos;s Hugging Face folder or hub id instead.</source>
        <translation>{name} 按规则 {splitting!r} 切分文本，此处不支持该规则；支持的有 {splittings}。请改用该模型的 Hugging Face 文件夹或 hub ID。</translation>
    </message>
    <message>
        <source>{name} turns texts into vectors and cannot chat: choose another model.</source>
        <translation>{name} 用于将文本转换为向量，不能聊天：请选择其他模型。</translation>
    </message>
    <message>
        <source>{name} wants a key{in_brackets}; give it with {command}.</source>
        <translation>{name} 需要密钥{in_brackets}；请填写密钥并重新添加该服务器。</translation>
    </message>
    <message>
        <source>{name} wants to call the tool {tool!r}, which it was not offered; what it wrote besides is kept: ask again, or turn off the tools of that server.</source>
        <translation>{name} 想调用未向它提供的工具 {tool!r}；它写出的其他内容已保留：请重新提问，或关闭该服务器的工具。</translation>
    </message>
    <message>
        <source>{name} was not checked, for the reason above.</source>
        <translation>由于上述原因，没有检查 {name}。</translation>
    </message>
    <message>
        <source>{name} was replaced while it was checked; run the check again.</source>
        <translation>{name} 在检查期间被替换；请重新运行检查。</translation>
    </message>
    <message>
        <source>{name} writes down speech and cannot chat: choose another model.</source>
        <translation>{name} 用于转写语音，不能聊天：请选择其他模型。</translation>
    </message>
    <message>
        <source>{order} guesses among the tokens that it was made for: leave out --draft-vocab.</source>
        <translation>{order} 只在为其制作的 token 中猜测：不能另外指定词表。</translation>
    </message>
    <message>
        <source>{order} is an EAGLE-3 head, no model by itself: name its target, and it with --draft.</source>
        <translation>{order} 是 EAGLE-3 草稿头，本身不是模型：请在“模型”中填写其目标模型，在“草稿模型”中填写它。</translation>
    </message>
    <message>
        <source>{output} exists already; add --force to replace it, or choose another --output.</source>
        <translation>{output} 已存在；请先移除该模型，再重新导出。</translation>
    </message>
    <message>
        <source>{output} exists and is not an exported model, so it is not replaced; choose another --output.</source>
        <translation>{output} 已存在且不是导出的模型，因此不会被替换；请将其移到别处。</translation>
    </message>
    <message>
        <source>{output} is being exported already, by process {pid}; wait until that ends, or choose another --output.</source>
        <translation>{output} 正由进程 {pid} 导出；请等待其结束。</translation>
    </message>
    <message>
        <source>{output} is in use; close what uses it and run the command again.</source>
        <translation>{output} 正在使用中；请关闭正在使用它的程序，然后重新导出。</translation>
    </message>
    <message>
        <source>{package} cannot be fetched ({reason}); check the network and run it again.</source>
        <translation>无法获取 {package}（{reason}）；请检查网络后重新导出。</translation>
    </message>
    <message>
        <source>{package} did not arrive within {limit} minutes; run the command again to go on from here.</source>
        <translation>{package} 未能在 {limit} 分钟内下载完成；请重新导出，会从中断处继续。</translation>
    </message>
    <message>
        <source>{package} has no wheel that pip could fetch; the mirror may have changed.</source>
        <translation>{package} 没有 pip 可获取的 wheel；镜像可能已变更。</translation>
    </message>
    <message>
        <source>{pair} is the recipe of a pair: it names both models, so --draft does not fit.</source>
        <translation>{pair} 是成对模型的配方：它已包含两个模型，因此请将“草稿模型”留空。</translation>
    </message>
    <message>
        <source>{path} belongs to git and is not changed here.</source>
        <translation>{path} 属于 git，在此不会更改。</translation>
    </message>
    <message>
        <source>{path} cannot be a working folder, as Headstart&apos;s own files are there: choose a smaller one.</source>
        <translation>{path} 不能作为工作文件夹，因为其中有 Headstart 自己的文件：请选择更小的文件夹。</translation>
    </message>
    <message>
        <source>{path} cannot be opened ({reason}); choose another folder, or see that you may read this one.</source>
        <translation>无法打开 {path}（{reason}）；请选择其他文件夹，或确认您有权读取此文件夹。</translation>
    </message>
    <message>
        <source>{path} cannot be read ({error}); export the model again.</source>
        <translation>无法读取 {path}（{error}）；请重新导出模型。</translation>
    </message>
    <message>
        <source>{path} cannot be read ({reason}).</source>
        <translation>无法读取 {path}（{reason}）。</translation>
    </message>
    <message>
        <source>{path} cannot be read ({reason}); see that you may read it, and that its disk is in order.</source>
        <translation>无法读取 {path}（{reason}）；请确认您有权读取它，且其磁盘正常。</translation>
    </message>
    <message>
        <source>{path} cannot be read ({strerror}); choose a file that you may open.</source>
        <translation>无法读取 {path}（{strerror}）；请选择您有权打开的文件。</translation>
    </message>
    <message>
        <source>{path} cannot be used ({reason}).</source>
        <translation>无法使用 {path}（{reason}）。</translation>
    </message>
    <message>
        <source>{path} cannot be written ({reason}), so nothing was changed; make room there.</source>
        <translation>无法写入 {path}（{reason}），因此没有任何更改；请在那里腾出空间。</translation>
    </message>
    <message>
        <source>{path} cannot be written ({reason}); make room there, and see that you may write there.</source>
        <translation>无法写入 {path}（{reason}）；请在那里腾出空间，并确认您有权写入。</translation>
    </message>
    <message>
        <source>{path} cannot be written ({strerror}); choose another folder or make room there.</source>
        <translation>无法写入 {path}（{strerror}）；请选择其他文件夹，或在该处腾出空间。</translation>
    </message>
    <message>
        <source>{path} has changed meanwhile: read it again.</source>
        <translation>{path} 在此期间已更改：请重新读取。</translation>
    </message>
    <message>
        <source>{path} has changed since.</source>
        <translation>{path} 之后已更改。</translation>
    </message>
    <message>
        <source>{path} has more than {limit} bytes.</source>
        <translation>{path} 超过 {limit} 字节。</translation>
    </message>
    <message>
        <source>{path} has no text.</source>
        <translation>{path} 没有文本。</translation>
    </message>
    <message>
        <source>{path} in {folder} cannot be read ({error}); fetch it again.</source>
        <translation>无法读取 {folder} 中的 {path}（{error}）；请重新获取。</translation>
    </message>
    <message>
        <source>{path} in {folder} is not what its name says; fetch it again.</source>
        <translation>{folder} 中的 {path} 与其名称不符；请重新获取。</translation>
    </message>
    <message>
        <source>{path} is a folder: list its files.</source>
        <translation>{path} 是文件夹：请列出其中的文件。</translation>
    </message>
    <message>
        <source>{path} is a folder; drop the files in it instead.</source>
        <translation>{path} 是文件夹；请改为拖入其中的文件。</translation>
    </message>
    <message>
        <source>{path} is a hard link: it has another name, perhaps elsewhere.</source>
        <translation>{path} 是硬链接：它还有另一个名称，可能在别处。</translation>
    </message>
    <message>
        <source>{path} is damaged (its added tokens); export the model again.</source>
        <translation>{path} 已损坏（附加 token 有误）；请重新导出模型。</translation>
    </message>
    <message>
        <source>{path} is damaged ({error}); export the model again.</source>
        <translation>{path} 已损坏（{error}）；请重新导出模型。</translation>
    </message>
    <message>
        <source>{path} is damaged; export the model again.</source>
        <translation>{path} 已损坏；请重新导出模型。</translation>
    </message>
    <message>
        <source>{path} is missing; export the model again.</source>
        <translation>缺少 {path}；请重新导出模型。</translation>
    </message>
    <message>
        <source>{path} is neither a folder nor a .gguf file; name the model&apos;s folder.</source>
        <translation>{path} 既不是文件夹也不是 .gguf 文件；请指定模型的文件夹。</translation>
    </message>
    <message>
        <source>{path} is no file.</source>
        <translation>{path} 不是文件。</translation>
    </message>
    <message>
        <source>{path} is no folder.</source>
        <translation>{path} 不是文件夹。</translation>
    </message>
    <message>
        <source>{path} is no text in UTF-8, so it is not edited.</source>
        <translation>{path} 不是 UTF-8 文本，因此不会编辑。</translation>
    </message>
    <message>
        <source>{path} is not a GGUF file that can be used: {error}. Fetch it again.</source>
        <translation>{path} 不是可用的 GGUF 文件：{error}。请重新获取。</translation>
    </message>
    <message>
        <source>{path} is not in the folder: name files by their paths in it.</source>
        <translation>{path} 不在该文件夹中：请用其中的路径指定文件。</translation>
    </message>
    <message>
        <source>{path} of --template cannot be read ({error}).</source>
        <translation>无法读取聊天模板文件 {path}（{error}）。</translation>
    </message>
    <message>
        <source>{path} of --template is no file; name one with a chat template.</source>
        <translation>{path} 不是文件；请选择一个含有聊天模板的文件。</translation>
    </message>
    <message>
        <source>{path} was not attached: {most} files is the most for one message.</source>
        <translation>未附加 {path}：一条消息最多可附加 {most} 个文件。</translation>
    </message>
    <message>
        <source>{path} was written for another version of Headstart; export the model again.</source>
        <translation>{path} 是为另一版本的 Headstart 写入的；请重新导出模型。</translation>
    </message>
    <message>
        <source>{path} would have more than {limit} bytes.</source>
        <translation>{path} 将超过 {limit} 字节。</translation>
    </message>
    <message>
        <source>{path} {what}; export the model again.</source>
        <translation>{path} {what}；请重新导出模型。</translation>
    </message>
    <message>
        <source>{place} does not have the content it was exported with; copy the folder again, or export again.</source>
        <translation>{place} 的内容与导出时不同；请重新复制该文件夹，或重新导出。</translation>
    </message>
    <message>
        <source>{recipe} was not downloaded: {failures}. Check the network.</source>
        <translation>{recipe} 未能下载：{failures}。请检查网络。</translation>
    </message>
    <message>
        <source>{source!r} is no recipe, no folder, no .gguf file and no hub id; did you mean {names}?</source>
        <translation>{source!r} 不是配方、文件夹、.gguf 文件或 hub ID；是否想输入 {names}？</translation>
    </message>
    <message>
        <source>{source!r} is no recipe, no folder, no .gguf file and no hub id; the recipes are {names}.</source>
        <translation>{source!r} 不是配方、文件夹、.gguf 文件或 hub ID；配方有 {names}。</translation>
    </message>
    <message>
        <source>{source} asks for your consent: accept its licence on huggingface.co, and log in with `hf auth login`</source>
        <translation>{source} 需要您的同意：请在 huggingface.co 上接受其许可证，并用 Hugging Face 的程序登录</translation>
    </message>
    <message>
        <source>{source} cannot be had from the hub ({error})</source>
        <translation>无法从 hub 获取 {source}（{error}）</translation>
    </message>
    <message>
        <source>{source} does not hold all weights of its architecture: {name} is missing or has another shape ({count} in all). Choose another version of the model.</source>
        <translation>{source} 没有其架构的全部权重：{name} 缺失或形状不同（共 {count} 个）。请选择该模型的其他版本。</translation>
    </message>
    <message>
        <source>{source} has no {file_name}, which Headstart needs; use a newer version of the model.</source>
        <translation>{source} 没有 Headstart 所需的 {file_name}；请使用该模型的较新版本。</translation>
    </message>
    <message>
        <source>{source} is the recipe of a pair and cannot be a draft; name one of its models.</source>
        <translation>{source} 是模型对的配方，不能作为草稿模型；请指定其中的一个模型。</translation>
    </message>
    <message>
        <source>{source} must be exported first, and the exporter is not installed; run: {command}</source>
        <translation>必须先导出 {source}，而导出工具尚未安装。</translation>
    </message>
    <message>
        <source>{source} was not exported, for the reason above.</source>
        <translation>{source} 未导出，原因见上。</translation>
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
        <translation>{target} 有 {num_hidden_layers} 层，但 OpenVINO GenAI 只能为至少 {least_layers} 层的模型运行 EAGLE-3 草稿头；请选择普通的草稿模型。</translation>
    </message>
    <message>
        <source>{tensor} holds numbers that are not finite; fetch the file again.</source>
        <translation>{tensor} 含有非有限的数值；请重新下载该文件。</translation>
    </message>
    <message>
        <source>{tensor} in {file} has the shape {shape} and not {expected}; choose another version of the model.</source>
        <translation>{file} 中 {tensor} 的形状是 {shape}，而不是 {expected}；请选择该模型的其他版本。</translation>
    </message>
    <message>
        <source>{title} is not what was expected: the joined file has the SHA-256 {found} instead of {wanted}. It was deleted; run the command again.</source>
        <translation>{title} 与预期不符：合并后的文件的 SHA-256 为 {found}，而不是 {wanted}。已将其删除；请重新导出。</translation>
    </message>
    <message>
        <source>{what} ({count:,})</source>
        <translation>{what}（{count:,}）</translation>
    </message>
    <message>
        <source>{why}, in f32 too</source>
        <translation>{why}，使用 f32 时也一样</translation>
    </message>
    <message>
        <source>{title} has a file that belongs outside its folder ({path}), so it is refused; choose another model.</source>
        <translation>{title} 中有一个文件的位置在其文件夹之外（{path}），因此已拒绝；请选择其他模型。</translation>
    </message>
    <message>
        <source>{title} is no zip file of a model that can be read ({error}); choose another model.</source>
        <translation>{title} 不是可以读取的模型 zip 文件（{error}）；请选择其他模型。</translation>
    </message>
    <message>
        <source>The engine&apos;s line is not a message of Headstart: {excerpt}</source>
        <translation>引擎的这一行不是 Headstart 的消息：{excerpt}</translation>
    </message>
    <message>
        <source>The index of the search is damaged; start Headstart again to rebuild it; no chat is lost.</source>
        <translation>搜索索引已损坏；请重新启动 Headstart 以重建索引：不会丢失任何对话。</translation>
    </message>
    <message>
        <source>The key of the chat history is damaged: put a copy of it at {path}; without it the chats cannot be read.</source>
        <translation>聊天历史记录的密钥已损坏：请用它的副本替换 {path}；没有密钥便无法读取对话。</translation>
    </message>
    <message>
        <source>{folder} is not a LoRA adapter ({error}); name a folder with the {settings} and {weights} that PEFT saves.</source>
        <translation>{folder} 不是 LoRA 适配器（{error}）；请指定含有 PEFT 所保存的 {settings} 和 {weights} 的文件夹。</translation>
    </message>
    <message>
        <source>{name} in {folder} is not an ordinary file; fetch the model again.</source>
        <translation>{folder} 中的 {name} 不是普通文件；请重新获取该模型。</translation>
    </message>
    <message>
        <source>{name} scales its positions, which is lost when a GGUF file is read; use the model&apos;s Hugging Face folder or hub id instead.</source>
        <translation>{name} 会缩放位置，而读取 GGUF 文件时会丢失这一点；请改用该模型的 Hugging Face 文件夹或 hub id。</translation>
    </message>
    <message>
        <source>There is no device {device} here; present: {here}. Choose one with {option}; `headstart doctor` says why a {wanted} cannot be used.</source>
        <translation>这台电脑上没有设备 {device}；现有设备：{here}。请用{option}选择其中之一。如果这台电脑有 {wanted}，则其驱动程序缺失或您无权使用。</translation>
    </message>
    <message>
        <source>files in it are not a list</source>
        <translation>其中的文件不是列表</translation>
    </message>
    <message>
        <source>it is not an export of chats</source>
        <translation>它不是导出的对话</translation>
    </message>
    <message>
        <source>projects in it are not a list</source>
        <translation>其中的项目不是列表</translation>
    </message>
    <message>
        <source>tags in it are not a list</source>
        <translation>其中的标签不是列表</translation>
    </message>
    <message>
        <source>the arguments of a call in it are not a table</source>
        <translation>其中某次调用的参数不是表</translation>
    </message>
    <message>
        <source>{constant} in it is not a number</source>
        <translation>其中的 {constant} 不是数字</translation>
    </message>
    <message>
        <source>{file} cannot be read ({error}); `headstart serve --new-key` makes a new one.</source>
        <translation>无法读取 {file}（{error}）；请按“新密钥”重新生成。</translation>
    </message>
    <message>
        <source>{file} cannot be written ({strerror}); make room or correct its permissions.</source>
        <translation>无法写入 {file}（{strerror}）；请腾出空间或更正其权限。</translation>
    </message>
    <message>
        <source>{file} is damaged; `headstart serve --new-key` makes a new one.</source>
        <translation>{file} 已损坏；请按“新密钥”重新生成。</translation>
    </message>
    <message>
        <source>{index} in {folder} leads to {name!r}, which is not a .safetensors file of this folder; loading another can run any code, so it is refused.</source>
        <translation>{folder} 中的 {index} 指向 {name!r}，它不是此文件夹中的 .safetensors 文件；加载其他文件可能会运行任意代码，因此已拒绝。</translation>
    </message>
    <message>
        <source>{model} is damaged: {name!r} is not one of its files; export it again.</source>
        <translation>{model} 已损坏：{name!r} 不是它的文件；请重新导出。</translation>
    </message>
    <message>
        <source>{name!r} is not an exported model; there are {names}.</source>
        <translation>{name!r} 不是已导出的模型；现有 {names}。</translation>
    </message>
    <message>
        <source>{name} in {folder} is missing or not an ordinary file; fetch it again.</source>
        <translation>{folder} 中的 {name} 缺失或不是普通文件；请重新获取。</translation>
    </message>
    <message>
        <source>{path} cannot be read ({strerror}); check that it is there and that you may read it.</source>
        <translation>无法读取 {path}（{strerror}）；请检查它是否存在，以及您是否有权读取它。</translation>
    </message>
    <message>
        <source>{path} has no text; there is nothing to read.</source>
        <translation>{path} 没有文本，没有可读取的内容。</translation>
    </message>
    <message>
        <source>{path} has {count:,} pages, and {most_pages} is the most; use those that matter as a file of their own.</source>
        <translation>{path} 有 {count:,} 页，而最多为 {most_pages} 页；请将需要的页面另存为文件后使用。</translation>
    </message>
    <message>
        <source>{path} has {size:.0f} MB of text and markup when it is unpacked, and {largest:.0f} MB is the most; use a part of it.</source>
        <translation>{path} 解压后有 {size:.0f} MB 的文本和标记，最多可为 {largest:.0f} MB；请使用其中一部分。</translation>
    </message>
    <message>
        <source>{path} has {size:.1f} MB, and {largest:.0f} MB is the most for a PDF; use a part of it.</source>
        <translation>{path} 有 {size:.1f} MB，而 PDF 最多为 {largest:.0f} MB；请使用其中一部分。</translation>
    </message>
    <message>
        <source>{path} has {size:.1f} MB, and {largest:.0f} MB is the most; use a part of it.</source>
        <translation>{path} 有 {size:.1f} MB，而最多为 {largest:.0f} MB；请使用其中一部分。</translation>
    </message>
    <message>
        <source>{path} holds pictures but no text, and no model that reads text in pictures is installed; it can be read once you get PP-OCRv6 on the page of models (`headstart models add pp-ocrv6`).</source>
        <translation>{path} 只有图片而没有文字，并且没有安装识别图片文字的模型；在模型页面获取 PP-OCRv6 后即可读取。</translation>
    </message>
    <message>
        <source>{path} holds pictures of pages but no text, as scans do, and no model that reads text in pictures is installed; it can be read once you get PP-OCRv6 on the page of models (`headstart models add pp-ocrv6`).</source>
        <translation>{path} 像扫描件一样只有页面图片而没有文字，并且没有安装识别图片文字的模型；在模型页面获取 PP-OCRv6 后即可读取。</translation>
    </message>
    <message>
        <source>{path} is damaged or not what its name says; open it in the program that made it, save it again, and use that.</source>
        <translation>{path} 已损坏，或与其名称不符；请在制作它的程序中打开并重新保存，然后使用新文件。</translation>
    </message>
    <message>
        <source>{path} is damaged{where} or no PDF; open it in a PDF viewer, save it again, and use that.</source>
        <translation>{path} 已损坏{where}或不是 PDF；请用 PDF 阅读器打开并重新保存，然后使用新文件。</translation>
    </message>
    <message>
        <source>{path} is encrypted; open it with its password, save a copy without one, and use that.</source>
        <translation>{path} 已加密；请用密码打开它，另存一份无密码的副本，再使用该副本。</translation>
    </message>
    <message>
        <source>{path} is protected against copying, so it cannot be read; use a copy without protection.</source>
        <translation>{path} 受防复制保护，无法读取；请使用没有保护的副本。</translation>
    </message>
    <message>
        <source>{path} shows letters{where}, but does not say which ones they are, so its text comes out as signs without a meaning; have its text recognised (OCR) as for a scan, then use that.</source>
        <translation>{path}{where}显示了文字，却没有说明是哪些字，提取出的只是没有意义的符号；请像扫描件一样先识别其中的文字（OCR），再使用结果。</translation>
    </message>
    <message>
        <source>{recipe} was not downloaded: {failures}. Check the name and the network. {other} needs no Hugging Face.</source>
        <translation>{recipe} 未能下载：{failures}。请检查名称和网络。{other} 不需要 Hugging Face。</translation>
    </message>
    <message>
        <source>{source}/{file} does not have the expected SHA-256, so it is not used. Try again, or take another model.</source>
        <translation>{source}/{file} 的 SHA-256 与预期不符，因此不会使用。请重试，或选择其他模型。</translation>
    </message>
    <message>
        <source>{url!r} is not the address of a server; write it like https://host:8000/v1.</source>
        <translation>{url!r} 不是服务器地址；请写成 https://host:8000/v1 这样的形式。</translation>
    </message>
    <message>
        <source>it has {value!r} instead of a number from {least}</source>
        <translation>{value!r} 处应为从 {least} 开始的数字</translation>
    </message>
    <message>
        <source>it has {value!r} instead of a text</source>
        <translation>{value!r} 处应为文本</translation>
    </message>
    <message>
        <source>{path} was not imported because {reason}; choose what Headstart, ChatGPT, Claude, Open WebUI, LM Studio, Jan or llama.cpp exported: a .json, .jsonl or .zip file.</source>
        <translation>未能导入 {path}，原因是{reason}；请选择由 Headstart、ChatGPT、Claude、Open WebUI、LM Studio、Jan 或 llama.cpp 导出的 .json、.jsonl 或 .zip 文件。</translation>
    </message>
    <message>
        <source>{what} in it is not a table</source>
        <translation>其中的 {what} 不是表</translation>
    </message>
</context>
<context>
    <name>FindBar</name>
    <message>
        <source>Find in this chat</source>
        <translation>在本对话中查找</translation>
    </message>
    <message>
        <source>Previous match</source>
        <translation>上一个匹配项</translation>
    </message>
    <message>
        <source>Next match</source>
        <translation>下一个匹配项</translation>
    </message>
    <message>
        <source>Close find</source>
        <translation>关闭查找栏</translation>
    </message>
    <message>
        <source>{} of {}</source>
        <translation>{}/{}</translation>
    </message>
    <message>
        <source>no match</source>
        <translation>无匹配项</translation>
    </message>
</context>
<context>
    <name>FolderBar</name>
    <message>
        <source>Details…</source>
        <translation>详情…</translation>
    </message>
    <message>
        <source>Details of the working folder</source>
        <translation>工作文件夹的详情</translation>
    </message>
    <message>
        <source>Take the folder back</source>
        <translation>收回文件夹</translation>
    </message>
    <message>
        <source>Works on {}</source>
        <translation>正在处理 {}</translation>
    </message>
</context>
<context>
    <name>FolderDialog</name>
    <message>
        <source>Working folder</source>
        <translation>工作文件夹</translation>
    </message>
    <message>
        <source>The model may read and change the files of one folder, and run commands there. You are asked before each step, and see each change before it is made. Nothing outside of the folder is read or changed.</source>
        <translation>模型可以读取和更改一个文件夹中的文件，并在其中运行命令。每一步之前都会询问您，每项更改都会先给您看。文件夹之外的内容不会被读取或更改。</translation>
    </message>
    <message>
        <source>Choose…</source>
        <translation>选择…</translation>
    </message>
    <message>
        <source>Take back</source>
        <translation>收回</translation>
    </message>
    <message>
        <source>Also for new chats of the project “{}”</source>
        <translation>也用于项目“{}”中的新对话</translation>
    </message>
    <message>
        <source>Ask again</source>
        <translation>重新询问</translation>
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
        <translation>来源</translation>
    </message>
    <message>
        <source>About</source>
        <translation>说明</translation>
    </message>
    <message>
        <source>What was done</source>
        <translation>已执行的操作</translation>
    </message>
    <message>
        <source>Time</source>
        <translation>时间</translation>
    </message>
    <message>
        <source>Step</source>
        <translation>步骤</translation>
    </message>
    <message>
        <source>Result</source>
        <translation>结果</translation>
    </message>
    <message>
        <source>Undo last answer</source>
        <translation>撤销上一个回答</translation>
    </message>
    <message>
        <source>Delete the record…</source>
        <translation>删除记录…</translation>
    </message>
    <message>
        <source>No folder</source>
        <translation>没有文件夹</translation>
    </message>
    <message>
        <source>Commands run in bubblewrap: without a network, and with this folder alone.</source>
        <translation>命令在 bubblewrap 中运行：没有网络，只能访问此文件夹。</translation>
    </message>
    <message>
        <source>bubblewrap is not installed or does not work here, so commands could read and change whatever you can. You are asked for each.</source>
        <translation>bubblewrap 未安装或在此无法使用，因此命令可能读取和更改您能访问的一切。每个命令都会询问您。</translation>
    </message>
    <message>
        <source>reading</source>
        <translation>读取</translation>
    </message>
    <message>
        <source>changes</source>
        <translation>更改</translation>
    </message>
    <message>
        <source>Without a question in this chat: {}</source>
        <translation>在此对话中无需询问：{}</translation>
    </message>
    <message>
        <source>You are asked before each step.</source>
        <translation>每一步之前都会询问您。</translation>
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
        <translation>此文件夹</translation>
    </message>
    <message>
        <source>{}, with scripts</source>
        <translation>{}，带脚本</translation>
    </message>
    <message>
        <source>Choose the working folder</source>
        <translation>选择工作文件夹</translation>
    </message>
    <message>
        <source>Delete the log, and what is kept to undo answers in this folder? Its files stay as they are.</source>
        <translation>要删除日志以及用于撤销此文件夹中回答的内容吗？文件夹中的文件保持不变。</translation>
    </message>
    <message>
        <source>Delete</source>
        <translation>删除</translation>
    </message>
    <message>
        <source>Close</source>
        <translation>关闭</translation>
    </message>
    <message>
        <source>Take the folder back</source>
        <translation>收回文件夹</translation>
    </message>
</context>
<context>
    <name>FolderList</name>
    <message>
        <source>No folders</source>
        <translation>没有文件夹</translation>
    </message>
    <message>
        <source>Add folder…</source>
        <translation>添加文件夹…</translation>
    </message>
    <message>
        <source>For each question in the project, their files are searched, and the passages that fit go to the model. Files and index stay on this computer.</source>
        <translation>对项目中的每个问题，都会搜索这些文件夹中的文件，并把匹配的段落交给模型。文件和索引都留在这台电脑上。</translation>
    </message>
    <message>
        <source>Passages are found by their words. With the model {model} ({size}) they are found in other words, too.</source>
        <translation>目前按词语查找段落。有了模型 {model}（{size}），换一种说法也能找到。</translation>
    </message>
    <message>
        <source>Show the model</source>
        <translation>显示模型</translation>
    </message>
    <message>
        <source>Folders</source>
        <translation>文件夹</translation>
    </message>
    <message>
        <source>The present model reads English. With {model} ({size}) passages in other languages are found in other words, too; all are prepared again in the background.</source>
        <translation>当前模型只读英语。使用 {model}（{size}）后，其他语言的段落也能以不同的说法找到；所有段落会在后台重新准备。</translation>
    </message>
    <message>
        <source>Add folder</source>
        <translation>添加文件夹</translation>
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
        <translation>隐藏文件、链接、node_modules 之类的文件夹、没有文本的文件以及大于 {largest} 的文件会被跳过。</translation>
    </message>
    <message>
        <source>1 file could not be read</source>
        <translation>1 个文件无法读取</translation>
    </message>
    <message>
        <source>{} files could not be read</source>
        <translation>{} 个文件无法读取</translation>
    </message>
    <message>
        <source>The folder is not there. What was read of it is kept until you remove it here.</source>
        <translation>文件夹不在了。已读取的内容会保留，直到您在这里移除它。</translation>
    </message>
    <message>
        <source>You may not open the folder: change its rights. What was read of it is kept until you remove it here.</source>
        <translation>您无权打开此文件夹：请更改其权限。已读取的内容会保留，直到您在此移除它。</translation>
    </message>
    <message>
        <source>Reading file {done} of {total}…</source>
        <translation>正在读取第 {done} 个文件，共 {total} 个…</translation>
    </message>
    <message>
        <source>Reading file {done} of {total}: {name}, {share}</source>
        <translation>正在读取第 {done} 个文件，共 {total} 个：{name}，{share}</translation>
    </message>
    <message>
        <source>Not read yet</source>
        <translation>尚未读取</translation>
    </message>
    <message>
        <source>1 file</source>
        <translation>1 个文件</translation>
    </message>
    <message>
        <source>{} files</source>
        <translation>{} 个文件</translation>
    </message>
    <message>
        <source>preparing the search in other words, {}</source>
        <translation>正在准备按意思搜索，{}</translation>
    </message>
    <message>
        <source>{} skipped</source>
        <translation>跳过 {} 个</translation>
    </message>
    <message>
        <source>Only the first {} files are read.</source>
        <translation>只读取前 {} 个文件。</translation>
    </message>
    <message>
        <source>{}.</source>
        <translation>{}。</translation>
    </message>
    <message>
        <source>about {} minutes left</source>
        <translation>大约还需 {} 分钟</translation>
    </message>
    <message>
        <source>about a minute left</source>
        <translation>大约还需一分钟</translation>
    </message>
    <message>
        <source>{} (in {})</source>
        <translation>{}（位于 {}）</translation>
    </message>
</context>
<context>
    <name>FoldersController</name>
    <message>
        <source>{} is not there, so only what was read of it before was searched.</source>
        <translation>{} 不存在，因此只搜索了之前已读取的内容。</translation>
    </message>
    <message>
        <source>{} may not be opened, so only what was read of it was searched.</source>
        <translation>{} 无法打开，因此只搜索了从中读取过的内容。</translation>
    </message>
    <message>
        <source>The files of the project are still being read, so not all of them were searched. Ask again in a moment.</source>
        <translation>项目文件仍在读取中，因此并未全部搜索。请稍后再问一次。</translation>
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
        <translation>正在写入 {}</translation>
    </message>
    <message>
        <source>Export chat</source>
        <translation>导出对话</translation>
    </message>
    <message>
        <source>JSON with all versions (*.json)</source>
        <translation>包含所有版本的 JSON (*.json)</translation>
    </message>
    <message>
        <source>Export chats</source>
        <translation>导出对话</translation>
    </message>
    <message>
        <source>Include settings and statistics</source>
        <translation>包含设置和统计信息</translation>
    </message>
    <message>
        <source>Another chat is being written as PDF; wait until that is done.</source>
        <translation>正在将另一个对话写成 PDF；请等它完成。</translation>
    </message>
    <message>
        <source>Markdown (*.md)</source>
        <translation>Markdown (*.md)</translation>
    </message>
    <message>
        <source>Web page (*.html)</source>
        <translation>网页 (*.html)</translation>
    </message>
    <message>
        <source>PDF (*.pdf)</source>
        <translation>PDF (*.pdf)</translation>
    </message>
    <message>
        <source>Chats of Headstart, ChatGPT, Claude and others ({})</source>
        <translation>Headstart、ChatGPT、Claude 等的对话 ({})</translation>
    </message>
    <message>
        <source>Import chats</source>
        <translation>导入对话</translation>
    </message>
    <message>
        <source>Import</source>
        <translation>导入</translation>
    </message>
    <message>
        <source>Imported chats</source>
        <translation>导入的对话</translation>
    </message>
    <message>
        <source>The export has further parts, import them too: {}.</source>
        <translation>该导出还有其他部分，请一并导入：{}。</translation>
    </message>
    <message>
        <source>Undo</source>
        <translation>撤销</translation>
    </message>
    <message>
        <source>Chats that stay, because you changed them: {count}.</source>
        <translation>因你改动过而保留的对话：{count}。</translation>
    </message>
    <message>
        <source>Imported 1 chat from {program}.</source>
        <translation>已从 {program} 导入 1 个对话。</translation>
    </message>
    <message>
        <source>Imported {count} chats from {program}.</source>
        <translation>已从 {program} 导入 {count} 个对话。</translation>
    </message>
    <message>
        <source>Nothing is new in the chats from {program}.</source>
        <translation>来自 {program} 的对话没有新内容。</translation>
    </message>
    <message>
        <source>No chat from {program} is new.</source>
        <translation>来自 {program} 的对话都不是新的。</translation>
    </message>
    <message>
        <source>Chats with new messages: {}.</source>
        <translation>有新消息的对话：{} 个。</translation>
    </message>
    <message>
        <source>Here already: {}.</source>
        <translation>已在此处：{} 个。</translation>
    </message>
    <message>
        <source>Deleted here, and left out: {}.</source>
        <translation>已在此处删除，未导入：{} 个。</translation>
    </message>
    <message>
        <source>Projects: {}.</source>
        <translation>项目：{} 个。</translation>
    </message>
    <message>
        <source>{came} Left out: {kinds}.</source>
        <translation>{came}未导入：{kinds}。</translation>
    </message>
    <message>
        <source>You</source>
        <translation>您</translation>
    </message>
    <message>
        <source>Assistant</source>
        <translation>助手</translation>
    </message>
    <message>
        <source>Chat</source>
        <translation>对话</translation>
    </message>
    <message>
        <source>Attachment</source>
        <translation>附件</translation>
    </message>
    <message>
        <source>Settings</source>
        <translation>设置</translation>
    </message>
    <message>
        <source>Statistics</source>
        <translation>统计信息</translation>
    </message>
    <message>
        <source>Thinking</source>
        <translation>思考过程</translation>
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
        <translation>已中断</translation>
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
        <translation>获取模型</translation>
    </message>
    <message>
        <source>running…</source>
        <translation>正在运行…</translation>
    </message>
</context>
<context>
    <name>KeysDialog</name>
    <message>
        <source>Keys</source>
        <translation>快捷键</translation>
    </message>
    <message>
        <source>Message box</source>
        <translation>消息输入框</translation>
    </message>
    <message>
        <source>New line</source>
        <translation>换行</translation>
    </message>
    <message>
        <source>Last question again, in an empty box</source>
        <translation>在空输入框中取回上一个问题</translation>
    </message>
    <message>
        <source>Choose a prompt</source>
        <translation>选择提示词</translation>
    </message>
</context>
<context>
    <name>Legend</name>
    <message>
        <source>Legend of token colours</source>
        <translation>token 颜色图例</translation>
    </message>
    <message>
        <source>The model checked every word. A colour shows what had found the word in advance: the draft model (a small model), the draft head (a small addition to the model), earlier text that is repeated, or a table of what usually follows what. Words without a colour are the model&apos;s own.</source>
        <translation>模型检查了每个词。颜色表示该词由谁提前找到：草稿模型（一个小模型）、草稿头（模型的小附件）、重复的前文，或常见接续词的表。没有颜色的词是模型自己写的。</translation>
    </message>
    <message>
        <source>Faster thanks to</source>
        <translation>提速来自</translation>
    </message>
    <message>
        <source>No word is marked yet.</source>
        <translation>还没有标出的词。</translation>
    </message>
    <message>
        <source>unmarked: the model itself</source>
        <translation>无标记：模型自己</translation>
    </message>
</context>
<context>
    <name>LivePanel</name>
    <message>
        <source>Live figures</source>
        <translation>实时数据</translation>
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
        <translation>按位置的接受率</translation>
    </message>
    <message>
        <source>Time saved (estimate)</source>
        <translation>节省的时间（估算）</translation>
    </message>
    <message>
        <source>Time spent</source>
        <translation>用时分布</translation>
    </message>
    <message>
        <source>While the answer grows: of the last steps. At its end: of the whole answer.</source>
        <translation>生成过程中：最近几步的数据；结束后：整个回答的数据。</translation>
    </message>
    <message>
        <source>{} s</source>
        <translation>{} 秒</translation>
    </message>
    <message>
        <source>How often the first token proposed in a step is accepted, and how often the last one.</source>
        <translation>每一步中第一个试写的 token 被接受的比例，以及最后一个被接受的比例。</translation>
    </message>
    <message>
        <source>first {first} %, last {last} %</source>
        <translation>首个 {first} %，末个 {last} %</translation>
    </message>
    <message>
        <source>none</source>
        <translation>无</translation>
    </message>
    <message>
        <source>none yet</source>
        <translation>暂无</translation>
    </message>
    <message>
        <source>Proposing took {} s more than it saved.</source>
        <translation>试写所用的时间比节省的多 {} 秒。</translation>
    </message>
    <message>
        <source>check</source>
        <translation>检查</translation>
    </message>
    <message>
        <source>{} tokens/s</source>
        <translation>{} token/秒</translation>
    </message>
    <message>
        <source>Proposed</source>
        <translation>提前试写</translation>
    </message>
    <message>
        <source>The program that writes this answer does not report what the speed-up saves.</source>
        <translation>写这个回答的程序不报告加速节省了多少。</translation>
    </message>
    <message>
        <source>Compared with writing token by token, as estimated for this answer so far.</source>
        <translation>与逐个 token 书写相比，是对本回答到目前为止的估计。</translation>
    </message>
    <message>
        <source>How many of the proposed tokens the model accepts.</source>
        <translation>提前试写的 token 中被模型接受的比例。</translation>
    </message>
    <message>
        <source>Tokens proposed in each step, before the model checks them all at once.</source>
        <translation>每步在模型一次检查之前提前试写的 token 数。</translation>
    </message>
    <message>
        <source>Proposing, checking, and the rest.</source>
        <translation>提前试写、检查以及其余部分。</translation>
    </message>
    <message>
        <source>propose</source>
        <translation>试写</translation>
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
        <translation>{step} · {time}，通常约 {expected} 秒</translation>
    </message>
    <message>
        <source>{} s</source>
        <translation>{} 秒</translation>
    </message>
    <message>
        <source>only the first time</source>
        <translation>仅首次需要</translation>
    </message>
    <message>
        <source>asking the other computer</source>
        <translation>正在询问另一台电脑</translation>
    </message>
    <message>
        <source>starting OpenVINO</source>
        <translation>正在启动 OpenVINO</translation>
    </message>
    <message>
        <source>testing the fastest way to compute, only the first time</source>
        <translation>正在测试最快的计算方式，仅首次需要</translation>
    </message>
    <message>
        <source>checking and compiling the model</source>
        <translation>正在检查和编译模型</translation>
    </message>
    <message>
        <source>checking and compiling the draft model</source>
        <translation>正在检查和编译草稿模型</translation>
    </message>
    <message>
        <source>warming up</source>
        <translation>正在预热</translation>
    </message>
    <message>
        <source>starting the engine</source>
        <translation>正在启动引擎</translation>
    </message>
</context>
<context>
    <name>LoadingChoices</name>
    <message>
        <source>With {tokens} tokens of context: {full} of memory in 16 bits, {small} in 8 bits.</source>
        <translation>上下文为 {tokens} 个 token 时：16 位占用 {full} 内存，8 位占用 {small}。</translation>
    </message>
    <message>
        <source>it uses the EAGLE-3 head {} on a processor only</source>
        <translation>它只在处理器上使用 EAGLE-3 草稿头 {}</translation>
    </message>
    <message>
        <source>an NPU runs nothing else than OpenVINO GenAI</source>
        <translation>NPU 只能由 OpenVINO GenAI 运行</translation>
    </message>
    <message>
        <source>an NPU decides that itself</source>
        <translation>由 NPU 自行决定</translation>
    </message>
</context>
<context>
    <name>Manual</name>
    <message>
        <source>Begin</source>
        <translation>开始</translation>
    </message>
    <message>
        <source>Choose a model on the page Models; the recommended one suits this computer. It is downloaded once. Then write a question in the box below and press Enter. Nothing you write leaves this computer, unless you choose a model on another computer.</source>
        <translation>在“模型”页选择一个模型；推荐的模型适合这台电脑。它只需下载一次。然后在下方输入框写下问题并按回车键。除非您选择另一台电脑上的模型，否则您写的内容不会离开这台电脑。</translation>
    </message>
    <message>
        <source>Answers</source>
        <translation>回答</translation>
    </message>
    <message>
        <source>Esc stops an answer. Below it you can copy it, edit it or have it written again, also by another model; the older version stays, and the arrows show it. Compare puts two versions side by side. You can edit your questions, too.</source>
        <translation>按 Esc 停止回答。在回答下方可以复制、编辑或重新生成，也可以用其他模型；旧版本会保留，用箭头查看。“比较”把两个版本并排显示。您也可以编辑自己的问题。</translation>
    </message>
    <message>
        <source>Files</source>
        <translation>文件</translation>
    </message>
    <message>
        <source>Drop files on the window, or use the paper clip. Of a file that is too long, the model gets the passages that fit your question; the answer names them.</source>
        <translation>把文件拖到窗口上，或使用回形针按钮。如果文件太长，模型会得到与问题相符的段落；回答会列出它们。</translation>
    </message>
    <message>
        <source>Keep order</source>
        <translation>整理</translation>
    </message>
    <message>
        <source>Double-click a chat in the sidebar to rename it. Drag chats onto tags and projects. A project has its own files and its own system prompt. The search looks into all chats.</source>
        <translation>双击侧边栏中的对话即可重命名。可以把对话拖到标签和项目上。项目有自己的文件和系统提示词。搜索会查找所有对话。</translation>
    </message>
    <message>
        <source>Settings of a chat</source>
        <translation>对话的设置</translation>
    </message>
    <message>
        <source>The button with the sliders opens them: precise or creative, how long an answer may be, and whether the model thinks first. A preset tells the model how to behave.</source>
        <translation>带滑块的按钮可打开设置：精确或创意、回答可以多长，以及模型是否先思考。预设告诉模型该如何表现。</translation>
    </message>
    <message>
        <source>Why it is fast</source>
        <translation>为什么快</translation>
    </message>
    <message>
        <source>Headstart guesses the next words with a small model, with earlier text, or with both. Your model checks several words at once and keeps only those that it would have written itself. So the answer is the same and comes sooner. The race shows it, and Details below an answer has the figures.</source>
        <translation>Headstart 用小模型、前文或两者来猜测接下来的词。您的模型一次检查几个词，只保留它自己也会写的词。因此回答相同，但来得更快。竞速页可以看到这一点，回答下方的“详情”有具体数字。</translation>
    </message>
    <message>
        <source>Tools</source>
        <translation>工具</translation>
    </message>
    <message>
        <source>Models can use programs that speak MCP. Add one under Tools in the menu Chat, or try the clock that comes with Headstart. You are asked before each call.</source>
        <translation>模型可以使用支持 MCP 的程序。在“对话”菜单的“工具”中添加，或试用 Headstart 自带的时钟。每次调用前都会询问您。</translation>
    </message>
    <message>
        <source>Quick Ask</source>
        <translation>快速提问</translation>
    </message>
    <message>
        <source>Quick Ask is a small window for one question. Open it in the menu File or from the tray.</source>
        <translation>快速提问是用于一个问题的小窗口。从“文件”菜单或托盘打开。</translation>
    </message>
    <message>
        <source>Privacy</source>
        <translation>隐私</translation>
    </message>
    <message>
        <source>Chats are files on this computer. You can encrypt them on the page Privacy of the preferences. The page Folders shows where everything is.</source>
        <translation>对话是这台电脑上的文件。您可以在首选项的“隐私”页加密它们。“文件夹”页显示各项内容的位置。</translation>
    </message>
    <message>
        <source>Close</source>
        <translation>关闭</translation>
    </message>
</context>
<context>
    <name>ManualDialog</name>
    <message>
        <source>Manual</source>
        <translation>使用手册</translation>
    </message>
</context>
<context>
    <name>MessageContents</name>
    <message>
        <source>Nothing in the files of the project fits “{}”.</source>
        <translation>项目的文件中没有与“{}”相符的内容。</translation>
    </message>
    <message>
        <source>{file}, page {page}</source>
        <translation>{file}，第 {page} 页</translation>
    </message>
    <message>
        <source>{file}, line {line}</source>
        <translation>{file}，第 {line} 行</translation>
    </message>
    <message>
        <source>This answer was interrupted.</source>
        <translation>此回答已中断。</translation>
    </message>
    <message>
        <source>Edited by you.</source>
        <translation>您已编辑过。</translation>
    </message>
</context>
<context>
    <name>MessageEdit</name>
    <message>
        <source>Message</source>
        <translation>消息</translation>
    </message>
</context>
<context>
    <name>MessageFooter</name>
    <message>
        <source>Copy message</source>
        <translation>复制消息</translation>
    </message>
    <message>
        <source>Edit message</source>
        <translation>编辑消息</translation>
    </message>
    <message>
        <source>Regenerate answer</source>
        <translation>重新生成回答</translation>
    </message>
    <message>
        <source>More actions</source>
        <translation>更多操作</translation>
    </message>
    <message>
        <source>Previous version</source>
        <translation>上一个版本</translation>
    </message>
    <message>
        <source>Next version</source>
        <translation>下一个版本</translation>
    </message>
    <message>
        <source>Compare answers</source>
        <translation>比较回答</translation>
    </message>
    <message>
        <source>Show the details</source>
        <translation>显示详情</translation>
    </message>
    <message>
        <source>Details</source>
        <translation>详情</translation>
    </message>
    <message>
        <source>Version {number} of {count}</source>
        <translation>第 {number} 个版本，共 {count} 个</translation>
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
        <translation>助手</translation>
    </message>
    <message>
        <source>System prompt</source>
        <translation>系统提示词</translation>
    </message>
    <message>
        <source>writing…</source>
        <translation>正在生成…</translation>
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
        <translation>复制为 Markdown</translation>
    </message>
    <message>
        <source>Continue This Answer</source>
        <translation>继续此回答</translation>
    </message>
    <message>
        <source>Compare Answers…</source>
        <translation>比较回答…</translation>
    </message>
    <message>
        <source>Select Message</source>
        <translation>选择消息</translation>
    </message>
    <message>
        <source>Select up to Here</source>
        <translation>选择到此处</translation>
    </message>
    <message>
        <source>New Chat from Here</source>
        <translation>从此处新建对话</translation>
    </message>
    <message>
        <source>Delete Message</source>
        <translation>删除消息</translation>
    </message>
    <message>
        <source>Hide the thinking</source>
        <translation>隐藏思考过程</translation>
    </message>
    <message>
        <source>Show the thinking</source>
        <translation>显示思考过程</translation>
    </message>
    <message>
        <source>Hide the calls of tools</source>
        <translation>隐藏工具调用</translation>
    </message>
    <message>
        <source>Show the calls of tools</source>
        <translation>显示工具调用</translation>
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
        <translation>思考过程（{count} 字）</translation>
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
        <translation>{names} 等，另有 {count} 个</translation>
    </message>
    <message>
        <source>Hide the attached files</source>
        <translation>隐藏附件</translation>
    </message>
    <message>
        <source>Show the attached files</source>
        <translation>显示附件</translation>
    </message>
    <message>
        <source>Message from {author}</source>
        <translation>来自{author}的消息</translation>
    </message>
</context>
<context>
    <name>ModelCard</name>
    <message>
        <source>Verify</source>
        <translation>校验</translation>
    </message>
    <message>
        <source>Verify {}</source>
        <translation>校验 {}</translation>
    </message>
    <message>
        <source>Show folder</source>
        <translation>打开文件夹</translation>
    </message>
    <message>
        <source>Show the folder of {}</source>
        <translation>打开 {} 的文件夹</translation>
    </message>
    <message>
        <source>{} on the disk</source>
        <translation>磁盘占用 {}</translation>
    </message>
    <message>
        <source>with a small helper</source>
        <translation>附带小助手</translation>
    </message>
    <message>
        <source>Small helper: </source>
        <translation>小助手：</translation>
    </message>
    <message>
        <source>{} parameters</source>
        <translation>{} 参数</translation>
    </message>
    <message>
        <source>{} bits</source>
        <translation>{} 位</translation>
    </message>
    <message>
        <source>Its fast form</source>
        <translation>它的快速版本</translation>
    </message>
    <message>
        <source>Its precise form</source>
        <translation>它的精确版本</translation>
    </message>
    <message>
        <source>not timed here yet</source>
        <translation>在这台电脑上还没有测过速度</translation>
    </message>
    <message>
        <source>{theirs} tokens/s here without speed-up, this one {ours}</source>
        <translation>在这台电脑上不加速时为 {theirs} token/秒，本模型为 {ours}</translation>
    </message>
    <message>
        <source>Model: </source>
        <translation>模型：</translation>
    </message>
    <message>
        <source>cannot be used</source>
        <translation>无法使用</translation>
    </message>
</context>
<context>
    <name>ModelChoices</name>
    <message>
        <source>Automatic</source>
        <translation>自动</translation>
    </message>
    <message>
        <source>Automatic: {}</source>
        <translation>自动：{}</translation>
    </message>
    <message>
        <source>{name} ({size} on disk)</source>
        <translation>{name}（磁盘 {size}）</translation>
    </message>
    <message>
        <source>As the server has it</source>
        <translation>由服务器决定</translation>
    </message>
    <message>
        <source>None (earlier text only)</source>
        <translation>无（仅用前文）</translation>
    </message>
    <message>
        <source>this is the model itself</source>
        <translation>这就是该模型本身</translation>
    </message>
    <message>
        <source>comparing the tokenizers…</source>
        <translation>正在比较分词器…</translation>
    </message>
    <message>
        <source>different tokenizer: {}</source>
        <translation>分词器不同：{}</translation>
    </message>
    <message>
        <source>needs {} more memory</source>
        <translation>还需要 {} 内存</translation>
    </message>
</context>
<context>
    <name>ModelFacts</name>
    <message>
        <source>No model is installed yet.</source>
        <translation>尚未安装模型。</translation>
    </message>
    <message>
        <source>quality {} % of the original</source>
        <translation>质量为原模型的 {}%</translation>
    </message>
    <message>
        <source>Chooses the same next token as its source on {share} % of {tokens} tokens · KL {kl} · perplexity ×{ratio}</source>
        <translation>在 {tokens} 个 token 中，有 {share}% 与源模型选出的下一个 token 相同 · KL {kl} · 困惑度 ×{ratio}</translation>
    </message>
    <message>
        <source>Takes at most {needed} of memory when its context is full; {free} is free.</source>
        <translation>上下文占满时最多占用 {needed} 内存；当前可用 {free}。</translation>
    </message>
    <message>
        <source>Takes at most {needed} of memory; {free} is free.</source>
        <translation>最多占用 {needed} 内存；当前可用 {free}。</translation>
    </message>
    <message>
        <source>Takes about {needed} of memory when its context is full; {free} is free.</source>
        <translation>上下文占满时约占用 {needed} 内存；当前可用 {free}。</translation>
    </message>
    <message>
        <source>Takes about {needed} of memory; {free} is free.</source>
        <translation>约占用 {needed} 内存；当前可用 {free}。</translation>
    </message>
    <message>
        <source>NPU: OpenVINO GenAI runs models of symmetric weights, their longest prompt compiled in; not tried yet.</source>
        <translation>NPU：由 OpenVINO GenAI 运行对称量化的模型，最长提示词在编译时确定；尚未试过。</translation>
    </message>
    <message>
        <source>GPU: if a check at the first load fails, OpenVINO GenAI runs the model; not tried on a real one yet.</source>
        <translation>GPU：若首次加载时的检查未通过，则由 OpenVINO GenAI 运行模型；尚未在真实 GPU 上试过。</translation>
    </message>
    <message>
        <source>{}: everything runs here.</source>
        <translation>{}：所有功能均可运行。</translation>
    </message>
</context>
<context>
    <name>ModelInUse</name>
    <message>
        <source>Show models</source>
        <translation>显示模型</translation>
    </message>
    <message>
        <source>A model is being prepared. Ask again when it is there.</source>
        <translation>正在准备模型。请在就绪后再次提问。</translation>
    </message>
    <message>
        <source>Get a model</source>
        <translation>获取模型</translation>
    </message>
    <message>
        <source>No model loaded</source>
        <translation>未加载模型</translation>
    </message>
    <message>
        <source>No model</source>
        <translation>无模型</translation>
    </message>
    <message>
        <source>{} is in memory.</source>
        <translation>内存中是 {}。</translation>
    </message>
    <message>
        <source>No model is in memory.</source>
        <translation>内存中没有模型。</translation>
    </message>
    <message>
        <source>loads with the next message</source>
        <translation>将随下一条消息加载</translation>
    </message>
    <message>
        <source>not loaded</source>
        <translation>未加载</translation>
    </message>
    <message>
        <source>{model} of the server {server}</source>
        <translation>服务器 {server} 的 {model}</translation>
    </message>
    <message>
        <source>draft model {}</source>
        <translation>草稿模型 {}</translation>
    </message>
    <message>
        <source>draft head</source>
        <translation>草稿头</translation>
    </message>
    <message>
        <source>earlier text</source>
        <translation>前文</translation>
    </message>
    <message>
        <source>{model} on {device}, speed-up by {guessing}</source>
        <translation>{model}，运行于 {device}，提速来自：{guessing}</translation>
    </message>
    <message>
        <source>It is being checked in the background.</source>
        <translation>正在后台检查。</translation>
    </message>
    <message>
        <source>Load anyway</source>
        <translation>仍然加载</translation>
    </message>
    <message>
        <source>Load again</source>
        <translation>重新加载</translation>
    </message>
    <message>
        <source>{} is installed. It cannot chat.</source>
        <translation>{} 已安装，但不能用于对话。</translation>
    </message>
    <message>
        <source>{} is ready. Write your first message.</source>
        <translation>{} 已就绪。写下您的第一条消息吧。</translation>
    </message>
</context>
<context>
    <name>ModelLoader</name>
    <message>
        <source>This measures models of this computer; choose one of them for the chat first.</source>
        <translation>这里测量的是这台电脑上的模型；请先为对话选择其中一个。</translation>
    </message>
    <message>
        <source>An answer is still being written; stop it or wait for its end.</source>
        <translation>回答仍在生成；请停止它或等待其结束。</translation>
    </message>
    <message>
        <source>Loading {}</source>
        <translation>正在加载 {}</translation>
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
        <translation>{} 内存</translation>
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
        <translation>正在后台检查。</translation>
    </message>
    <message>
        <source>Step {step} of {steps}.</source>
        <translation>第 {step} 步，共 {steps} 步。</translation>
    </message>
    <message>
        <source>Every file is as it was exported; it loads and answers.</source>
        <translation>所有文件均与导出时一致；模型可以加载并回答。</translation>
    </message>
    <message>
        <source>Remove it and add it again.</source>
        <translation>请将其移除后重新添加。</translation>
    </message>
    <message>
        <source>Remove {name}{size} from this computer? Chats written with it stay.</source>
        <translation>要从这台电脑移除 {name}{size} 吗？用它生成的对话会保留。</translation>
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
        <translation>模型位于 {}</translation>
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
        <translation>撤销</translation>
    </message>
    <message>
        <source>Dismiss</source>
        <translation>关闭</translation>
    </message>
    <message>
        <source>Saved to {}</source>
        <translation>已保存到 {}</translation>
    </message>
    <message>
        <source>Show in folder</source>
        <translation>在文件夹中显示</translation>
    </message>
</context>
<context>
    <name>NumberEditor</name>
    <message>
        <source>Auto</source>
        <translation>自动</translation>
    </message>
    <message>
        <source>{}: automatic</source>
        <translation>{}：自动</translation>
    </message>
    <message>
        <source>The value that the model&apos;s authors recommend</source>
        <translation>模型作者建议的值</translation>
    </message>
    <message>
        <source>{typed} is out of bounds ({low} to {high}); {value} is used.</source>
        <translation>{typed} 超出范围（{low} 至 {high}）；已改用 {value}。</translation>
    </message>
</context>
<context>
    <name>Outside</name>
    <message>
        <source>Nothing you write leaves this computer, and no other one is configured.</source>
        <translation>您写的内容不会离开这台电脑，也没有配置其他电脑。</translation>
    </message>
    <message>
        <source>Offline</source>
        <translation>离线</translation>
    </message>
    <message>
        <source>This chat stays on this computer. Others are configured: {}.</source>
        <translation>此对话留在这台电脑上。已配置其他电脑：{}。</translation>
    </message>
    <message>
        <source>On this computer</source>
        <translation>在这台电脑上</translation>
    </message>
    <message>
        <source>Nothing you write leaves this computer; what you asked for is being fetched.</source>
        <translation>您写的内容不会离开这台电脑；正在下载您要求的内容。</translation>
    </message>
    <message>
        <source>Messages go to another program on this computer: {}.</source>
        <translation>消息会发送到这台电脑上的另一个程序：{}。</translation>
    </message>
    <message>
        <source>Tools of {} may send on what a model gives them. Headstart cannot see whether they use the network.</source>
        <translation>{} 的工具可能会把模型交给它们的内容发送出去。Headstart 无法得知它们是否使用网络。</translation>
    </message>
    <message>
        <source>Tools may go online</source>
        <translation>工具可能联网</translation>
    </message>
    <message>
        <source>Leaves this computer</source>
        <translation>离开这台电脑</translation>
    </message>
    <message>
        <source>Messages of this chat leave this computer: they go to {name} at {address}.</source>
        <translation>此对话的消息会离开这台电脑：它们会发送到 {name}，地址为 {address}。</translation>
    </message>
    <message>
        <source>On the way they can be read by others, as http does not encrypt.</source>
        <translation>http 不加密，途中可能被他人读取。</translation>
    </message>
    <message>
        <source>another program</source>
        <translation>另一个程序</translation>
    </message>
    <message>
        <source>another computer</source>
        <translation>另一台电脑</translation>
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
        <translation>返回对话</translation>
    </message>
    <message>
        <source>Back to the chat (Esc)</source>
        <translation>返回对话 (Esc)</translation>
    </message>
</context>
<context>
    <name>PassphraseDialog</name>
    <message>
        <source>Passphrase</source>
        <translation>密码短语</translation>
    </message>
    <message>
        <source>Open</source>
        <translation>打开</translation>
    </message>
    <message>
        <source>Quit</source>
        <translation>退出</translation>
    </message>
    <message>
        <source>Your chats are encrypted</source>
        <translation>您的对话已加密</translation>
    </message>
    <message>
        <source>Type the passphrase that you chose for them. Nobody can open them without it.</source>
        <translation>请输入您为它们设置的密码短语。没有它，任何人都无法打开对话。</translation>
    </message>
</context>
<context>
    <name>PassphraseForm</name>
    <message>
        <source>Show what is typed</source>
        <translation>显示输入的内容</translation>
    </message>
    <message>
        <source>Checking the passphrase.</source>
        <translation>正在核对密码短语。</translation>
    </message>
    <message>
        <source>The two new passphrases differ.</source>
        <translation>两次输入的新密码短语不一致。</translation>
    </message>
    <message>
        <source>A passphrase needs at least {} characters; use several words.</source>
        <translation>密码短语至少需要 {} 个字符；请使用多个词。</translation>
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
        <translation>恢复</translation>
    </message>
    <message>
        <source>Empty now…</source>
        <translation>立即清空…</translation>
    </message>
    <message>
        <source>Recently deleted</source>
        <translation>最近删除</translation>
    </message>
    <message>
        <source>Archive</source>
        <translation>归档</translation>
    </message>
    <message>
        <source>After {} days they are deleted for good.</source>
        <translation>{} 天后将永久删除。</translation>
    </message>
    <message>
        <source>All chats</source>
        <translation>所有对话</translation>
    </message>
    <message>
        <source>The search finds these chats, too.</source>
        <translation>搜索也能找到这些对话。</translation>
    </message>
</context>
<context>
    <name>Placement</name>
    <message>
        <source>Where models run</source>
        <translation>模型的运行位置</translation>
    </message>
    <message>
        <source>{} of memory is free for a model (with the memory of the one in use).</source>
        <translation>可供模型使用的内存为 {}（包括正在使用的模型所占的内存）。</translation>
    </message>
</context>
<context>
    <name>PreferencesDialog</name>
    <message>
        <source>Preferences</source>
        <translation>首选项</translation>
    </message>
    <message>
        <source>Pages of the preferences</source>
        <translation>首选项页面</translation>
    </message>
    <message>
        <source>Restore defaults</source>
        <translation>恢复默认值</translation>
    </message>
    <message>
        <source>Close</source>
        <translation>关闭</translation>
    </message>
    <message>
        <source>Privacy</source>
        <translation>隐私</translation>
    </message>
    <message>
        <source>Folders</source>
        <translation>文件夹</translation>
    </message>
    <message>
        <source>Appearance</source>
        <translation>外观</translation>
    </message>
    <message>
        <source>Chat</source>
        <translation>对话</translation>
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
        <translation>语音</translation>
    </message>
    <message>
        <source>Changes apply at once. A chat can have settings of its own, which come first.</source>
        <translation>更改立即生效。对话可以有自己的设置，并优先采用。</translation>
    </message>
    <message>
        <source>Answers</source>
        <translation>回答</translation>
    </message>
    <message>
        <source>Show</source>
        <translation>打开</translation>
    </message>
    <message>
        <source>Show the folder: {}</source>
        <translation>打开文件夹：{}</translation>
    </message>
</context>
<context>
    <name>PresetButton</name>
    <message>
        <source>What the model is told before the chat, and how freely it chooses words</source>
        <translation>对话开始前告诉模型的话，以及它用词的自由程度</translation>
    </message>
    <message>
        <source>None</source>
        <translation>无</translation>
    </message>
    <message>
        <source>Preset: {}</source>
        <translation>预设：{}</translation>
    </message>
    <message>
        <source>Presets</source>
        <translation>预设</translation>
    </message>
</context>
<context>
    <name>PresetEditor</name>
    <message>
        <source>Save as Preset…</source>
        <translation>存为预设…</translation>
    </message>
    <message>
        <source>Rename Preset…</source>
        <translation>重命名预设…</translation>
    </message>
    <message>
        <source>Delete Preset</source>
        <translation>删除预设</translation>
    </message>
    <message>
        <source>Save as preset</source>
        <translation>存为预设</translation>
    </message>
    <message>
        <source>Rename preset</source>
        <translation>重命名预设</translation>
    </message>
    <message>
        <source>Name</source>
        <translation>名称</translation>
    </message>
</context>
<context>
    <name>Presets</name>
    <message>
        <source>Assistant</source>
        <translation>助手</translation>
    </message>
    <message>
        <source>You are a helpful assistant. Answer clearly and get to the point. If you do not know something or are not sure, say so.</source>
        <translation>你是一位乐于助人的助手。回答要清楚、切中要点。如果不知道或不确定，就直接说明。</translation>
    </message>
    <message>
        <source>Short answers</source>
        <translation>简短回答</translation>
    </message>
    <message>
        <source>Answer in three sentences at most, without an introduction and without a summary.</source>
        <translation>最多用三句话回答，不要开场白，也不要总结。</translation>
    </message>
    <message>
        <source>Programmer</source>
        <translation>程序员</translation>
    </message>
    <message>
        <source>You are an experienced programmer. Give complete code that runs, in one block with its language, then explain in a few sentences why you wrote it so. Use the standard library where it will do.</source>
        <translation>你是一位经验丰富的程序员。给出可以直接运行的完整代码，放在一个标明语言的代码块中，然后用几句话说明为什么这样写。标准库够用时就用标准库。</translation>
    </message>
    <message>
        <source>Code reviewer</source>
        <translation>代码审查者</translation>
    </message>
    <message>
        <source>You review code. List what is wrong or risky, the worst first: where it is, what happens, and how to repair it. Then name what could be simpler. Do not praise.</source>
        <translation>你负责审查代码。列出错误和有风险的地方，最严重的放在最前面：在哪里、会发生什么、怎样修复。然后指出哪些地方可以更简单。不要夸奖。</translation>
    </message>
    <message>
        <source>Translator</source>
        <translation>翻译</translation>
    </message>
    <message>
        <source>Translate what you are given into English, and English into the language that was used before. Keep meaning, tone and formatting. Give only the translation.</source>
        <translation>把收到的中文译成英文，把其他语言译成中文。保留原意、语气和格式。只给出译文。</translation>
    </message>
    <message>
        <source>Editor</source>
        <translation>编辑</translation>
    </message>
    <message>
        <source>Correct the text that you are given: spelling, grammar and awkward sentences. Keep its language, its meaning and its tone. Give the corrected text, then a list of the important changes.</source>
        <translation>修改收到的文本：错别字、语法和不通顺的句子。保留它的语言、意思和语气。先给出改好的文本，再列出重要的改动。</translation>
    </message>
    <message>
        <source>Teacher</source>
        <translation>老师</translation>
    </message>
    <message>
        <source>You are a patient teacher. Explain step by step in simple words, give an example from daily life, and end with one question that checks whether it was understood.</source>
        <translation>你是一位耐心的老师。用简单的话一步一步讲解，举一个日常生活中的例子，最后提一个问题，检查是否听懂了。</translation>
    </message>
    <message>
        <source>Storyteller</source>
        <translation>讲故事的人</translation>
    </message>
    <message>
        <source>You write stories. Use vivid details, dialogue and surprising turns, avoid clichés, and bring each story to an end.</source>
        <translation>你写故事。运用生动的细节、对话和出人意料的转折，避免陈词滥调，并让每个故事都有结局。</translation>
    </message>
</context>
<context>
    <name>PreviewDialog</name>
    <message>
        <source>Preview</source>
        <translation>预览</translation>
    </message>
    <message>
        <source>Close</source>
        <translation>关闭</translation>
    </message>
    <message>
        <source>Scripts do not run, and nothing is loaded from the network or the disk. A browser shows more of the layout: save the code as a file and open it there.</source>
        <translation>脚本不会运行，也不会从网络或磁盘加载任何内容。浏览器能显示更完整的版面：把代码另存为文件，再用浏览器打开。</translation>
    </message>
    <message>
        <source>Scripts do not run, and nothing is loaded from the network or the disk.</source>
        <translation>脚本不会运行，也不会从网络或磁盘加载任何内容。</translation>
    </message>
    <message>
        <source>This is not a complete SVG picture, so it cannot be shown.</source>
        <translation>这不是完整的 SVG 图，因此无法显示。</translation>
    </message>
</context>
<context>
    <name>Program</name>
    <message>
        <source>The export has ended</source>
        <translation>导出已结束</translation>
    </message>
    <message>
        <source>Reset Settings</source>
        <translation>重置设置</translation>
    </message>
    <message>
        <source>The chat has the settings of all chats.</source>
        <translation>此对话使用所有对话的设置。</translation>
    </message>
    <message>
        <source>Replace System Prompt</source>
        <translation>替换系统提示词</translation>
    </message>
    <message>
        <source>The system prompt is replaced.</source>
        <translation>系统提示词已被替换。</translation>
    </message>
</context>
<context>
    <name>ProjectDialog</name>
    <message>
        <source>Project</source>
        <translation>项目</translation>
    </message>
    <message>
        <source>New project</source>
        <translation>新建项目</translation>
    </message>
    <message>
        <source>The model used last</source>
        <translation>上次使用的模型</translation>
    </message>
    <message>
        <source>No files</source>
        <translation>没有文件</translation>
    </message>
    <message>
        <source>Add files…</source>
        <translation>添加文件…</translation>
    </message>
    <message>
        <source>Cancel</source>
        <translation>取消</translation>
    </message>
    <message>
        <source>Save</source>
        <translation>保存</translation>
    </message>
    <message>
        <source>Add files</source>
        <translation>添加文件</translation>
    </message>
    <message>
        <source>Name</source>
        <translation>名称</translation>
    </message>
    <message>
        <source>System prompt</source>
        <translation>系统提示词</translation>
    </message>
    <message>
        <source>Model</source>
        <translation>模型</translation>
    </message>
    <message>
        <source>Files</source>
        <translation>文件</translation>
    </message>
    <message>
        <source>System prompt, model and files are for new chats in this project.</source>
        <translation>系统提示词、模型和文件用于此项目中的新对话。</translation>
    </message>
</context>
<context>
    <name>ProjectMenu</name>
    <message>
        <source>&amp;Move to Project</source>
        <translation>移到项目(&amp;M)</translation>
    </message>
    <message>
        <source>No Project</source>
        <translation>不属于任何项目</translation>
    </message>
    <message>
        <source>&amp;New Project…</source>
        <translation>新建项目(&amp;N)…</translation>
    </message>
</context>
<context>
    <name>ProjectsController</name>
    <message>
        <source>Delete the project “{}” with its system prompt and files?</source>
        <translation>删除项目“{}”及其系统提示词和文件？</translation>
    </message>
    <message>
        <source>Its chat stays.</source>
        <translation>其中的对话会保留。</translation>
    </message>
    <message>
        <source>Its {} chats stay.</source>
        <translation>其中的 {} 个对话会保留。</translation>
    </message>
    <message>
        <source>Its folders stay on the disk.</source>
        <translation>其中的文件夹会留在磁盘上。</translation>
    </message>
    <message>
        <source>Delete project</source>
        <translation>删除项目</translation>
    </message>
    <message>
        <source>Delete</source>
        <translation>删除</translation>
    </message>
</context>
<context>
    <name>PromptDialog</name>
    <message>
        <source>Prompts</source>
        <translation>提示词</translation>
    </message>
    <message>
        <source>Name</source>
        <translation>名称</translation>
    </message>
    <message>
        <source>Text of the prompt</source>
        <translation>提示词文本</translation>
    </message>
    <message>
        <source>New</source>
        <translation>新建</translation>
    </message>
    <message>
        <source>New from selection</source>
        <translation>用所选文本新建</translation>
    </message>
    <message>
        <source>Remove</source>
        <translation>移除</translation>
    </message>
    <message>
        <source>Bring back the built-in ones</source>
        <translation>恢复内置提示词</translation>
    </message>
    <message>
        <source>Cancel</source>
        <translation>取消</translation>
    </message>
    <message>
        <source>Save</source>
        <translation>保存</translation>
    </message>
    <message>
        <source>prompt</source>
        <translation>提示词</translation>
    </message>
    <message>
        <source>Select text in the chat or in the message.</source>
        <translation>请先在对话或消息中选择文本。</translation>
    </message>
    <message>
        <source>Every prompt needs a name.</source>
        <translation>每个提示词都需要名称。</translation>
    </message>
    <message>
        <source>Two prompts are called /{}; give one another name.</source>
        <translation>有两个提示词都叫 /{}；请为其中一个改名。</translation>
    </message>
    <message>
        <source>/{} has no text yet.</source>
        <translation>/{} 还没有文本。</translation>
    </message>
    <message>
        <source>Text</source>
        <translation>文本</translation>
    </message>
    <message>
        <source>Typed as /name at the beginning of a message. {cursor} is where you continue to write; {selection} and {clipboard} put in the text selected in the chat or copied.</source>
        <translation>在消息开头输入“/名称”即可使用。{cursor} 是继续输入的位置；{selection} 和 {clipboard} 会填入对话中所选的文本或剪贴板中的文本。</translation>
    </message>
</context>
<context>
    <name>PromptPopup</name>
    <message>
        <source>Edit prompts…</source>
        <translation>编辑提示词…</translation>
    </message>
    <message>
        <source>Prompts</source>
        <translation>提示词</translation>
    </message>
</context>
<context>
    <name>Prompts</name>
    <message>
        <source>summarise</source>
        <translation>总结</translation>
    </message>
    <message>
        <source>Summarise the following text in five points at most. Keep names and numbers.

{selection}{cursor}</source>
        <translation>请用不超过五个要点总结以下文本，保留其中的名称和数字。

{selection}{cursor}</translation>
    </message>
    <message>
        <source>translate</source>
        <translation>翻译</translation>
    </message>
    <message>
        <source>Translate the following text into English. Give only the translation.

{selection}{cursor}</source>
        <translation>请将以下文本翻译成英文，只给出译文。

{selection}{cursor}</translation>
    </message>
    <message>
        <source>rewrite</source>
        <translation>改写</translation>
    </message>
    <message>
        <source>Rewrite the following text so that it is clear and correct. Keep its meaning, its language and about its length.

{selection}{cursor}</source>
        <translation>请改写以下文本，使其清楚、正确，并保持原意、原语言和大致篇幅。

{selection}{cursor}</translation>
    </message>
    <message>
        <source>explain</source>
        <translation>解释</translation>
    </message>
    <message>
        <source>Explain step by step what this code does, and point out what looks wrong.

```
{selection}{cursor}
```</source>
        <translation>请逐步解释这段代码的作用，并指出看起来有问题的地方。

```
{selection}{cursor}
```</translation>
    </message>
    <message>
        <source>tests</source>
        <translation>测试</translation>
    </message>
    <message>
        <source>Write unit tests for this code. Cover ordinary cases, limits and errors.

```
{selection}{cursor}
```</source>
        <translation>请为这段代码编写单元测试，覆盖常规情况、边界情况和错误情况。

```
{selection}{cursor}
```</translation>
    </message>
</context>
<context>
    <name>ProposalBar</name>
    <message>
        <source>Allow</source>
        <translation>允许</translation>
    </message>
    <message>
        <source>Edit…</source>
        <translation>编辑…</translation>
    </message>
    <message>
        <source>Do not allow</source>
        <translation>不允许</translation>
    </message>
    <message>
        <source>Until Headstart is closed.</source>
        <translation>直到 Headstart 关闭为止。</translation>
    </message>
    <message>
        <source>The model wants to: {}</source>
        <translation>模型想要：{}</translation>
    </message>
    <message>
        <source>Shift+Tab leads to the answers.</source>
        <translation>按 Shift+Tab 可前往各个回答选项。</translation>
    </message>
    <message>
        <source>Always read in this chat</source>
        <translation>在此对话中始终读取</translation>
    </message>
    <message>
        <source>Always change in this chat</source>
        <translation>在此对话中始终更改</translation>
    </message>
    <message>
        <source>Always this command in this chat</source>
        <translation>在此对话中始终运行此命令</translation>
    </message>
    <message>
        <source>What would change</source>
        <translation>将要更改的内容</translation>
    </message>
    <message>
        <source>The new text of the file</source>
        <translation>文件的新文本</translation>
    </message>
</context>
<context>
    <name>QuickAsk</name>
    <message>
        <source>Quick Ask</source>
        <translation>快速提问</translation>
    </message>
    <message>
        <source>Ask a question</source>
        <translation>提一个问题</translation>
    </message>
    <message>
        <source>Question</source>
        <translation>问题</translation>
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
        <translation>复制</translation>
    </message>
    <message>
        <source>Open in Headstart</source>
        <translation>在 Headstart 中打开</translation>
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
        <translation>快速提问</translation>
    </message>
    <message>
        <source>Open Headstart</source>
        <translation>打开 Headstart</translation>
    </message>
    <message>
        <source>Quit</source>
        <translation>退出</translation>
    </message>
</context>
<context>
    <name>RaceController</name>
    <message>
        <source>A race is running; stop it on its page, or wait for its end.</source>
        <translation>竞速正在进行；请在其页面上停止，或等待其结束。</translation>
    </message>
    <message>
        <source>Reading the prompt once, so that both start alike…</source>
        <translation>先读取一遍提示词，让双方从相同的状态开始…</translation>
    </message>
    <message>
        <source>Without speed-up: one token at a time…</source>
        <translation>不加速：一次一个 token…</translation>
    </message>
    <message>
        <source>With speed-up: several tokens at a time, where they are right…</source>
        <translation>加速：正确时一次写几个 token…</translation>
    </message>
    <message>
        <source>Without speed-up again, to see how steady this computer is…</source>
        <translation>再次不加速，以了解这台电脑有多稳定…</translation>
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
        <translation>草稿头</translation>
    </message>
    <message>
        <source>Stopped.</source>
        <translation>已停止。</translation>
    </message>
    <message>
        <source>{model} on {device}, speed-up by {guessing}</source>
        <translation>{model}，运行于 {device}，提速来自：{guessing}</translation>
    </message>
    <message>
        <source>Both at once, at the times that were just measured…</source>
        <translation>双方同时重放，按刚才测得的时间…</translation>
    </message>
</context>
<context>
    <name>RaceForm</name>
    <message>
        <source>Code</source>
        <translation>代码</translation>
    </message>
    <message>
        <source>Write a Python class LinkedList with the methods append, insert, remove, find and __iter__. Use type hints and a docstring for every method. Answer with the code only.</source>
        <translation>编写一个 Python 类 LinkedList，包含 append、insert、remove、find 和 __iter__ 方法。每个方法都要有类型注解和文档字符串。只回答代码。</translation>
    </message>
    <message>
        <source>Tests</source>
        <translation>测试</translation>
    </message>
    <message>
        <source>Write ten unit tests with pytest for a function slugify(text: str) -&gt; str that makes web addresses of titles. Answer with the code only.</source>
        <translation>函数 slugify(text: str) -&gt; str 把标题转换为网址。用 pytest 为它编写十个单元测试。只回答代码。</translation>
    </message>
    <message>
        <source>Explanation</source>
        <translation>说明</translation>
    </message>
    <message>
        <source>Explain step by step how a hash table finds an entry.</source>
        <translation>逐步说明哈希表如何找到一个条目。</translation>
    </message>
    <message>
        <source>Letter</source>
        <translation>信件</translation>
    </message>
    <message>
        <source>Write a polite letter to a neighbour about music that is too loud in the evening.</source>
        <translation>给邻居写一封礼貌的信，谈谈晚上音乐声太大的问题。</translation>
    </message>
    <message>
        <source>Tell a short story about a lighthouse keeper who collects words.</source>
        <translation>讲一个关于收集词语的灯塔看守人的短篇故事。</translation>
    </message>
    <message>
        <source>Prompt</source>
        <translation>提示词</translation>
    </message>
    <message>
        <source>Story</source>
        <translation>故事</translation>
    </message>
    <message>
        <source>Example</source>
        <translation>示例</translation>
    </message>
</context>
<context>
    <name>RaceLane</name>
    <message>
        <source>not started</source>
        <translation>未开始</translation>
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
        <translation>{}的文本</translation>
    </message>
    <message>
        <source>Progress of: {}</source>
        <translation>{}的进度</translation>
    </message>
</context>
<context>
    <name>RacePage</name>
    <message>
        <source>Race</source>
        <translation>竞速</translation>
    </message>
    <message>
        <source>Start the race</source>
        <translation>开始竞速</translation>
    </message>
    <message>
        <source>The model answers one request without and with Headstart&apos;s speed-up: the next words are guessed, and the model checks several at once. Both texts are the same.</source>
        <translation>模型对同一请求分别在不加速和加速时作答：先猜测接下来的词，再由模型一次检查几个。两段文字相同。</translation>
    </message>
    <message>
        <source>Stop</source>
        <translation>停止</translation>
    </message>
    <message>
        <source>Replay both at once</source>
        <translation>双方同时重放</translation>
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
        <translation>完全相同：{total} 个 token 中的 {equal} 个。</translation>
    </message>
    <message>
        <source>{equal} of {total} tokens are equal; the first difference is at token {first}.</source>
        <translation>{total} 个 token 中有 {equal} 个相同；第一处不同在第 {first} 个 token。</translation>
    </message>
    <message>
        <source>No clear difference</source>
        <translation>没有明显差别</translation>
    </message>
    <message>
        <source>The answers differ in length, so their times cannot be compared.</source>
        <translation>两个回答长度不同，因此无法比较时间。</translation>
    </message>
    <message>
        <source>Without speed-up it was run twice, to see how steady this computer is: {faster} s, which counts, and {slower} s.</source>
        <translation>不加速的运行进行了两次，以了解这台电脑有多稳定：{faster} 秒（以此为准）和 {slower} 秒。</translation>
    </message>
    <message>
        <source>The answer is too short for a speed.</source>
        <translation>回答太短，无法测速。</translation>
    </message>
    <message>
        <source>The model repeats itself, so its speed is no gain. Try another prompt.</source>
        <translation>模型一直在重复，重复得快没有意义。请换一个提示词。</translation>
    </message>
</context>
<context>
    <name>ReadAloudController</name>
    <message>
        <source>No speech service answers: install speech-dispatcher with a voice, such as the packages speech-dispatcher and speech-dispatcher-espeak-ng, and try again.</source>
        <translation>没有语音服务响应：请安装带语音的 speech-dispatcher，例如软件包 speech-dispatcher 和 speech-dispatcher-espeak-ng，然后重试。</translation>
    </message>
    <message>
        <source>Answers are read aloud on Linux only: use the screen reader of your system.</source>
        <translation>回答只能在 Linux 上朗读：请使用系统的屏幕阅读器。</translation>
    </message>
    <message>
        <source>Reading aloud</source>
        <translation>正在朗读</translation>
    </message>
    <message>
        <source>Stop</source>
        <translation>停止</translation>
    </message>
    <message>
        <source>Stop Reading</source>
        <translation>停止朗读</translation>
    </message>
    <message>
        <source>Read Aloud</source>
        <translation>朗读</translation>
    </message>
</context>
<context>
    <name>RecipeRow</name>
    <message>
        <source>installed</source>
        <translation>已安装</translation>
    </message>
    <message>
        <source>recommended</source>
        <translation>推荐</translation>
    </message>
    <message>
        <source>Get</source>
        <translation>获取</translation>
    </message>
    <message>
        <source>Get {}</source>
        <translation>获取 {}</translation>
    </message>
    <message>
        <source>Get fast (4 bits)</source>
        <translation>获取快速版（4 位）</translation>
    </message>
    <message>
        <source>Get {} fast (4 bits)</source>
        <translation>获取 {} 快速版（4 位）</translation>
    </message>
    <message>
        <source>Not tried by Headstart&apos;s own tests.</source>
        <translation>未经 Headstart 自身测试验证。</translation>
    </message>
    <message>
        <source>With 4 bits: {} on the disk, faster and a little less exact</source>
        <translation>4 位：磁盘占用 {}，更快，但精度略低</translation>
    </message>
</context>
<context>
    <name>Recovery</name>
    <message>
        <source>Try Again</source>
        <translation>重试</translation>
    </message>
    <message>
        <source>Start with an Empty History</source>
        <translation>以空的历史记录开始</translation>
    </message>
    <message>
        <source>Restore the Backup of {}</source>
        <translation>恢复 {} 的备份</translation>
    </message>
    <message>
        <source>Your chats can be saved in their folder again, and what is new is in it now.</source>
        <translation>对话又可以保存在原来的文件夹中，新的内容已经写入。</translation>
    </message>
    <message>
        <source>The index of your chats was damaged and has been made anew. No chat is lost.</source>
        <translation>对话的索引已损坏，现已重建。没有丢失任何对话。</translation>
    </message>
    <message>
        <source>Until then your chats are kept in {}, and go back by themselves.</source>
        <translation>在此之前，对话保存在 {} 中，之后会自动写回。</translation>
    </message>
    <message>
        <source>Open What Can Be Read</source>
        <translation>打开可读取的内容</translation>
    </message>
    <message>
        <source>Whatever you choose, the damaged file is kept.</source>
        <translation>无论选择哪一项，损坏的文件都会保留。</translation>
    </message>
    <message>
        <source>The backup of {} is damaged too.</source>
        <translation>{} 的备份也已损坏。</translation>
    </message>
    <message>
        <source>The file with your chats is damaged, and nothing of it can be read.</source>
        <translation>保存对话的文件已损坏，其中的内容都无法读取。</translation>
    </message>
    <message>
        <source>1 chat</source>
        <translation>1 个对话</translation>
    </message>
    <message>
        <source>{} chats</source>
        <translation>{} 个对话</translation>
    </message>
    <message>
        <source>The file with your chats is damaged. Still readable: {messages} in {chats}.</source>
        <translation>保存对话的文件已损坏。仍可读取：{chats}中的 {messages}。</translation>
    </message>
    <message>
        <source>{title} ({count})</source>
        <translation>{title}（{count}）</translation>
    </message>
    <message>
        <source>a chat without title</source>
        <translation>一个无标题的对话</translation>
    </message>
    <message>
        <source>{} more chats</source>
        <translation>另外 {} 个对话</translation>
    </message>
    <message>
        <source>Damaged or lost: {messages}, in {chats}.</source>
        <translation>损坏或丢失：{messages}，位于{chats}。</translation>
    </message>
    <message>
        <source>1 message</source>
        <translation>1 条消息</translation>
    </message>
    <message>
        <source>{} messages</source>
        <translation>{} 条消息</translation>
    </message>
    <message>
        <source>The damaged history is kept as {}.</source>
        <translation>损坏的历史保留为 {}。</translation>
    </message>
    <message>
        <source>The backup of {time} was restored; the damaged history is kept as {path}.</source>
        <translation>已恢复 {time} 的备份；损坏的历史记录保留在 {path}。</translation>
    </message>
    <message>
        <source>The history is empty now; the damaged one is kept as {path}.</source>
        <translation>历史记录现已清空；损坏的历史记录保留在 {path}。</translation>
    </message>
    <message>
        <source>Quit</source>
        <translation>退出</translation>
    </message>
</context>
<context>
    <name>RemoteServerCard</name>
    <message>
        <source>Check</source>
        <translation>检查</translation>
    </message>
    <message>
        <source>Check {}</source>
        <translation>检查 {}</translation>
    </message>
    <message>
        <source>default model</source>
        <translation>默认模型</translation>
    </message>
    <message>
        <source>http does not encrypt: others can read the messages and the key on the way.</source>
        <translation>http 不加密：发送的内容和密钥在途中可能被他人读取。</translation>
    </message>
    <message>
        <source>Trusts the authority in {} too.</source>
        <translation>也信任 {} 中的签发机构。</translation>
    </message>
</context>
<context>
    <name>RemoteServersController</name>
    <message>
        <source>{name} is {address}. Check it, or choose it for a chat.</source>
        <translation>{name} 的地址是 {address}。请检查它，或在对话中选用。</translation>
    </message>
    <message>
        <source>A key is one line of letters, digits and signs; nothing was kept.</source>
        <translation>密钥是一行字母、数字和符号；未保存任何内容。</translation>
    </message>
    <message>
        <source>There is no file {}; name the certificate of the authority in PEM form.</source>
        <translation>没有文件 {}；请指定签发机构的 PEM 格式证书。</translation>
    </message>
    <message>
        <source>This system has no keyring, so the key is in {}, which only you can read.</source>
        <translation>此系统没有密钥环，因此密钥保存在 {} 中，只有您可以读取。</translation>
    </message>
    <message>
        <source>Asking it for its models and for a word…</source>
        <translation>正在询问它的模型，并请它回答一个词…</translation>
    </message>
    <message>
        <source>It answers.</source>
        <translation>它有应答。</translation>
    </message>
    <message>
        <source>Forget the server {} and its key? Chats written with it stay.</source>
        <translation>要移除服务器 {} 及其密钥吗？用它写的对话会保留。</translation>
    </message>
    <message>
        <source>Remove server</source>
        <translation>移除服务器</translation>
    </message>
    <message>
        <source>Remove</source>
        <translation>移除</translation>
    </message>
    <message>
        <source>Without a key.</source>
        <translation>没有密钥。</translation>
    </message>
    <message>
        <source>The key is in the system&apos;s keyring.</source>
        <translation>密钥在系统的密钥环中。</translation>
    </message>
    <message>
        <source>The key is in an environment variable.</source>
        <translation>密钥在环境变量中。</translation>
    </message>
    <message>
        <source>The key is in {}.</source>
        <translation>密钥在 {} 中。</translation>
    </message>
</context>
<context>
    <name>RemoteServersList</name>
    <message>
        <source>Servers</source>
        <translation>服务器</translation>
    </message>
</context>
<context>
    <name>RequestLog</name>
    <message>
        <source>Requests</source>
        <translation>请求</translation>
    </message>
    <message>
        <source>No requests yet. Prompts are never logged.</source>
        <translation>还没有请求。提示词从不记录。</translation>
    </message>
    <message>
        <source>Time</source>
        <translation>时间</translation>
    </message>
    <message>
        <source>Request</source>
        <translation>请求</translation>
    </message>
    <message>
        <source>Status</source>
        <translation>状态</translation>
    </message>
    <message>
        <source>Tokens</source>
        <translation>token 数</translation>
    </message>
    <message>
        <source>Seconds</source>
        <translation>秒</translation>
    </message>
    <message>
        <source>running</source>
        <translation>进行中</translation>
    </message>
    <message>
        <source>client left</source>
        <translation>客户端已断开</translation>
    </message>
</context>
<context>
    <name>SelectionBar</name>
    <message>
        <source>Copy as Markdown</source>
        <translation>复制为 Markdown</translation>
    </message>
    <message>
        <source>Copy as text</source>
        <translation>复制为文本</translation>
    </message>
    <message>
        <source>Select nothing</source>
        <translation>取消选择</translation>
    </message>
    <message>
        <source>1 message selected. Click another name with Shift to select up to there.</source>
        <translation>已选择 1 条消息。按住 Shift 点击另一个名称可选择到该处。</translation>
    </message>
    <message>
        <source>{} messages selected</source>
        <translation>已选择 {} 条消息</translation>
    </message>
</context>
<context>
    <name>ServerAddress</name>
    <message>
        <source>New key</source>
        <translation>新密钥</translation>
    </message>
    <message>
        <source>Address</source>
        <translation>地址</translation>
    </message>
    <message>
        <source>Copy the address</source>
        <translation>复制地址</translation>
    </message>
    <message>
        <source>Key</source>
        <translation>密钥</translation>
    </message>
    <message>
        <source>Copy the key</source>
        <translation>复制密钥</translation>
    </message>
    <message>
        <source>Try it in a terminal</source>
        <translation>在终端中试用</translation>
    </message>
    <message>
        <source>Copy the command</source>
        <translation>复制命令</translation>
    </message>
    <message>
        <source>kept as a hash only</source>
        <translation>只保存了哈希值</translation>
    </message>
    <message>
        <source>none yet</source>
        <translation>尚无</translation>
    </message>
    <message>
        <source>Programs send it as their API key. Copy it now: when this window closes, only its hash is left.</source>
        <translation>程序将其作为 API 密钥发送。请现在复制：此窗口关闭后只保留其哈希值。</translation>
    </message>
    <message>
        <source>The key was shown when it was made. If you have lost it, make a new one; the old one ends then.</source>
        <translation>密钥只在生成时显示。如已遗失，可生成新密钥；旧密钥随即失效。</translation>
    </message>
    <message>
        <source>It is made when the server is switched on for the first time.</source>
        <translation>首次打开服务器时生成。</translation>
    </message>
    <message>
        <source>For your programs</source>
        <translation>供您的程序使用</translation>
    </message>
</context>
<context>
    <name>ServerController</name>
    <message>
        <source>The model of the open chat is on another computer; choose one of this computer.</source>
        <translation>当前对话的模型在另一台电脑上；请选择这台电脑上的模型。</translation>
    </message>
    <message>
        <source>The server stopped unexpectedly; Help › Show Logs says more.</source>
        <translation>服务器意外停止；详情请见“帮助 › 查看日志”。</translation>
    </message>
    <message>
        <source>A request is being answered; waiting: {}.</source>
        <translation>正在应答一个请求；等待中：{}。</translation>
    </message>
    <message>
        <source>A request is being answered.</source>
        <translation>正在应答一个请求。</translation>
    </message>
    <message>
        <source>The window has changed to a model on another computer, so the server ended.</source>
        <translation>窗口已改用另一台电脑上的模型，因此服务器已停止。</translation>
    </message>
    <message>
        <source>The model was unloaded, so the server ended.</source>
        <translation>模型已卸载，因此服务器已停止。</translation>
    </message>
    <message>
        <source>It is started again with the new key.</source>
        <translation>正在用新密钥重新启动。</translation>
    </message>
    <message>
        <source>Port {} is taken by another program; choose another port, then switch the server on again.</source>
        <translation>端口 {} 已被另一个程序占用；请选择其他端口，然后重新打开服务器。</translation>
    </message>
    <message>
        <source>Make another key? Programs that have the present one are turned away until they get it.</source>
        <translation>要生成新密钥吗？使用现有密钥的程序在换用新密钥之前会被拒绝。</translation>
    </message>
    <message>
        <source>New key</source>
        <translation>新密钥</translation>
    </message>
    <message>
        <source>Make another key</source>
        <translation>生成新密钥</translation>
    </message>
</context>
<context>
    <name>ServerDialog</name>
    <message>
        <source>Tool server</source>
        <translation>工具服务器</translation>
    </message>
    <message>
        <source>New tool server</source>
        <translation>新建工具服务器</translation>
    </message>
    <message>
        <source>such as files</source>
        <translation>例如 files</translation>
    </message>
    <message>
        <source>such as npx, uvx or the path of a program</source>
        <translation>例如 npx、uvx 或程序的路径</translation>
    </message>
    <message>
        <source>one on each line</source>
        <translation>每行一个</translation>
    </message>
    <message>
        <source>one on each line, such as API_KEY=…</source>
        <translation>每行一个，例如 API_KEY=…</translation>
    </message>
    <message>
        <source>Test</source>
        <translation>测试</translation>
    </message>
    <message>
        <source>Cancel</source>
        <translation>取消</translation>
    </message>
    <message>
        <source>Save</source>
        <translation>保存</translation>
    </message>
    <message>
        <source>It works. Its tools: {}</source>
        <translation>可以运行。其工具：{}</translation>
    </message>
    <message>
        <source>It works, but has no tools.</source>
        <translation>可以运行，但没有工具。</translation>
    </message>
    <message>
        <source>server</source>
        <translation>服务器</translation>
    </message>
    <message>
        <source>Starting it…</source>
        <translation>正在启动…</translation>
    </message>
    <message>
        <source>Another server has this name.</source>
        <translation>另一个服务器已使用此名称。</translation>
    </message>
    <message>
        <source>Name</source>
        <translation>名称</translation>
    </message>
    <message>
        <source>Program</source>
        <translation>程序</translation>
    </message>
    <message>
        <source>Arguments</source>
        <translation>参数</translation>
    </message>
    <message>
        <source>Variables, for keys and passwords</source>
        <translation>变量，用于密钥和密码</translation>
    </message>
</context>
<context>
    <name>ServerNote</name>
    <message>
        <source>Answer other programs</source>
        <translation>应答其他程序</translation>
    </message>
    <message>
        <source>Copy command</source>
        <translation>复制命令</translation>
    </message>
    <message>
        <source>Local server…</source>
        <translation>本地服务器…</translation>
    </message>
    <message>
        <source>Editors and scripts on this computer can use a model as they use OpenAI&apos;s API. Switch that on on the page of the local server, or type this in a terminal, where the model needs its memory a second time:
{}</source>
        <translation>这台电脑上的编辑器和脚本可以像使用 OpenAI 的 API 一样使用模型。请在“本地服务器”页开启，或在终端中输入以下命令（模型会再占用一份内存）：
{}</translation>
    </message>
</context>
<context>
    <name>ServerPage</name>
    <message>
        <source>Local server</source>
        <translation>本地服务器</translation>
    </message>
    <message>
        <source>Editors and scripts on this computer can ask the model of the open chat as they ask OpenAI&apos;s API. Other computers, web pages and programs without the key are refused. The server ends with this window.</source>
        <translation>这台电脑上的编辑器和脚本可以像调用 OpenAI 的 API 一样使用当前对话的模型。其他电脑、网页以及没有密钥的程序均无法访问；服务器随此窗口一同结束。</translation>
    </message>
</context>
<context>
    <name>ServerSwitch</name>
    <message>
        <source>Off</source>
        <translation>关闭</translation>
    </message>
    <message>
        <source>Starting</source>
        <translation>正在启动</translation>
    </message>
    <message>
        <source>Ready</source>
        <translation>就绪</translation>
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
        <translation>出错</translation>
    </message>
    <message>
        <source>Local API server</source>
        <translation>本地 API 服务器</translation>
    </message>
    <message>
        <source>The server is being started</source>
        <translation>正在启动服务器</translation>
    </message>
    <message>
        <source>Model: {}</source>
        <translation>模型：{}</translation>
    </message>
    <message>
        <source>The open chat has another model or other settings now; switch off and on to serve those.</source>
        <translation>当前对话已改用其他模型或设置；关闭后再打开即可提供它们。</translation>
    </message>
</context>
<context>
    <name>Settings</name>
    <message>
        <source>Theme</source>
        <translation>主题</translation>
    </message>
    <message>
        <source>Text size</source>
        <translation>文字大小</translation>
    </message>
    <message>
        <source>Zoom</source>
        <translation>缩放</translation>
    </message>
    <message>
        <source>Language</source>
        <translation>语言</translation>
    </message>
    <message>
        <source>Reduced motion</source>
        <translation>减弱动态效果</translation>
    </message>
    <message>
        <source>Stay in the tray</source>
        <translation>留在系统托盘</translation>
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
        <translation>设备</translation>
    </message>
    <message>
        <source>Context</source>
        <translation>上下文</translation>
    </message>
    <message>
        <source>Tokens of context to make room for; higher allows longer chats and takes more memory.</source>
        <translation>为上下文预留的 token 数；越高，对话可以越长，占用的内存也越多。</translation>
    </message>
    <message>
        <source>Engine</source>
        <translation>引擎</translation>
    </message>
    <message>
        <source>System prompt</source>
        <translation>系统提示词</translation>
    </message>
    <message>
        <source>Thinking</source>
        <translation>思考</translation>
    </message>
    <message>
        <source>Most tokens of thinking; then the answer begins.</source>
        <translation>思考最多用多少 token；之后开始回答。</translation>
    </message>
    <message>
        <source>Speed-up</source>
        <translation>加速</translation>
    </message>
    <message>
        <source>Confidence threshold</source>
        <translation>置信度阈值</translation>
    </message>
    <message>
        <source>Guessing stops below this confidence of the draft model; higher guesses less, and more of it is accepted.</source>
        <translation>草稿模型的置信度低于此值时停止猜测；越高，猜测越少，但被接受的比例越大。</translation>
    </message>
    <message>
        <source>Below 1 guesses are accepted that may change the answer; 1 changes nothing.</source>
        <translation>小于 1 时会接受可能改变回答的猜测；为 1 时回答不变。</translation>
    </message>
    <message>
        <source>Temperature</source>
        <translation>温度</translation>
    </message>
    <message>
        <source>How freely words are chosen; 0 always takes the likeliest, higher gives more variety and more mistakes.</source>
        <translation>选词的随机程度；0 表示总是选取概率最高的词，越高则变化越多、错误也越多。</translation>
    </message>
    <message>
        <source>Top-p</source>
        <translation>Top-p</translation>
    </message>
    <message>
        <source>Share of the likeliest tokens to choose from; higher gives more variety.</source>
        <translation>从累计概率达到此值的 token 中选取；越高，变化越多。</translation>
    </message>
    <message>
        <source>Top-k</source>
        <translation>Top-k</translation>
    </message>
    <message>
        <source>Number of the likeliest tokens to choose from; higher gives more variety, 0 takes all.</source>
        <translation>从概率最高的若干个 token 中选取；越高，变化越多；0 表示不限。</translation>
    </message>
    <message>
        <source>Min-p</source>
        <translation>Min-p</translation>
    </message>
    <message>
        <source>Least likelihood relative to the likeliest token; higher gives less variety.</source>
        <translation>相对于最可能的 token 的最低概率；越高，变化越少。</translation>
    </message>
    <message>
        <source>Repetition penalty</source>
        <translation>重复惩罚</translation>
    </message>
    <message>
        <source>Above 1, words of prompt and answer are repeated less; far above 1 the text becomes odd.</source>
        <translation>大于 1 时，减少重复提示词和回答中已有的词；远大于 1 时，文本会变得怪异。</translation>
    </message>
    <message>
        <source>Presence penalty</source>
        <translation>存在惩罚</translation>
    </message>
    <message>
        <source>Against words already in the answer; higher brings more new words.</source>
        <translation>减少回答中已经出现过的词；越高，新词越多。</translation>
    </message>
    <message>
        <source>Frequency penalty</source>
        <translation>频率惩罚</translation>
    </message>
    <message>
        <source>Against words often in the answer; higher repeats them less.</source>
        <translation>减少回答中频繁出现的词；越高，重复越少。</translation>
    </message>
    <message>
        <source>Seed</source>
        <translation>随机种子</translation>
    </message>
    <message>
        <source>The same seed chooses the same words; another seed gives another answer.</source>
        <translation>相同的种子会选出相同的词；换一个种子就会得到另一个回答。</translation>
    </message>
    <message>
        <source>Port</source>
        <translation>端口</translation>
    </message>
    <message>
        <source>Acceptance threshold</source>
        <translation>接受阈值</translation>
    </message>
    <message>
        <source>Titles by the model</source>
        <translation>由模型起标题</translation>
    </message>
    <message>
        <source>System</source>
        <translation>跟随系统</translation>
    </message>
    <message>
        <source>Light</source>
        <translation>浅色</translation>
    </message>
    <message>
        <source>Dark</source>
        <translation>深色</translation>
    </message>
    <message>
        <source>High contrast</source>
        <translation>高对比度</translation>
    </message>
    <message>
        <source>On</source>
        <translation>开启</translation>
    </message>
    <message>
        <source>Automatic</source>
        <translation>自动</translation>
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
        <translation>关闭</translation>
    </message>
    <message>
        <source>Always</source>
        <translation>始终</translation>
    </message>
    <message>
        <source>Never</source>
        <translation>从不</translation>
    </message>
    <message>
        <source>16 bits</source>
        <translation>16 位</translation>
    </message>
    <message>
        <source>8 bits</source>
        <translation>8 位</translation>
    </message>
    <message>
        <source>Colours: light, dark or with high contrast.</source>
        <translation>界面颜色：浅色、深色或高对比度。</translation>
    </message>
    <message>
        <source>The window opens again in another language.</source>
        <translation>窗口会以另一种语言重新打开。</translation>
    </message>
    <message>
        <source>Size of the text in points.</source>
        <translation>文字大小，单位为磅。</translation>
    </message>
    <message>
        <source>Scale of the window in percent.</source>
        <translation>窗口的缩放百分比。</translation>
    </message>
    <message>
        <source>Nothing moves or blinks by itself.</source>
        <translation>界面元素不会自行移动或闪烁。</translation>
    </message>
    <message>
        <source>What the model is told before every chat.</source>
        <translation>每次对话开始前告诉模型的内容。</translation>
    </message>
    <message>
        <source>Device that runs the model; automatic takes what tuning found, or else the processor.</source>
        <translation>运行模型的设备；“自动”采用调优的结果，否则用处理器。</translation>
    </message>
    <message>
        <source>Draft device</source>
        <translation>草稿模型的设备</translation>
    </message>
    <message>
        <source>Device that runs the draft model; automatic takes what tuning found, or else that of the model.</source>
        <translation>运行草稿模型的设备；“自动”采用调优的结果，否则与模型相同。</translation>
    </message>
    <message>
        <source>Longest answer</source>
        <translation>回答最大长度</translation>
    </message>
    <message>
        <source>Longest answer in tokens; a word has one or two.</source>
        <translation>回答的最大长度，以 token 计；一个词有一到两个。</translation>
    </message>
    <message>
        <source>Think before the answer, if the model can do both.</source>
        <translation>回答前先思考，如果模型两者都能做到。</translation>
    </message>
    <message>
        <source>Longest thinking</source>
        <translation>思考最大长度</translation>
    </message>
    <message>
        <source>Guesses per step</source>
        <translation>每步猜测数</translation>
    </message>
    <message>
        <source>Most tokens guessed in one step; higher saves time where guesses are accepted, and loses it where not.</source>
        <translation>每步最多猜测的 token 数；越高，猜测被接受时越省时间，不被接受时则浪费时间。</translation>
    </message>
    <message>
        <source>Who runs the model: automatic takes Headstart wherever it works, and OpenVINO GenAI elsewhere.</source>
        <translation>由谁运行模型：自动时凡 Headstart 可用之处用它，其余用 OpenVINO GenAI。</translation>
    </message>
    <message>
        <source>Mark faster words</source>
        <translation>标出提速的词</translation>
    </message>
    <message>
        <source>Colours show which words came faster, and thanks to what.</source>
        <translation>用颜色表示哪些词提速了，以及提速来自什么。</translation>
    </message>
    <message>
        <source>Enter sends the message</source>
        <translation>按回车键发送消息</translation>
    </message>
    <message>
        <source>If off, Ctrl+Enter sends.</source>
        <translation>关闭时，按 Ctrl+Enter 发送。</translation>
    </message>
    <message>
        <source>Open the last chat at start</source>
        <translation>启动时打开上次的对话</translation>
    </message>
    <message>
        <source>If off, Headstart starts with a new chat.</source>
        <translation>关闭时，Headstart 以新对话启动。</translation>
    </message>
    <message>
        <source>Notify me when a long answer is ready</source>
        <translation>长回答完成时通知我</translation>
    </message>
    <message>
        <source>Only while you work in another window.</source>
        <translation>仅当您在其他窗口工作时。</translation>
    </message>
    <message>
        <source>Show the answer&apos;s beginning in notifications</source>
        <translation>在通知中显示回答的开头</translation>
    </message>
    <message>
        <source>Without it, only the chat&apos;s title.</source>
        <translation>否则只显示对话的标题。</translation>
    </message>
    <message>
        <source>Closing the window then leaves Headstart in the tray, ready at once. Ctrl+Q ends it.</source>
        <translation>关闭窗口后，Headstart 留在托盘中，随时可用。按 Ctrl+Q 退出。</translation>
    </message>
    <message>
        <source>Disk space for old chats</source>
        <translation>旧对话的磁盘空间</translation>
    </message>
    <message>
        <source>Keeps what a model has read, so that old chats answer at once. 0 keeps nothing.</source>
        <translation>保留模型读过的内容，使旧对话立即可答。0 表示不保留。</translation>
    </message>
    <message>
        <source>Read while you type</source>
        <translation>在您输入时阅读</translation>
    </message>
    <message>
        <source>The model reads what you type before you send it, so that the answer begins at once. Automatic: not on battery.</source>
        <translation>模型在您发送之前就阅读您输入的内容，使回答立即开始。自动：使用电池时不进行。</translation>
    </message>
    <message>
        <source>The model finds short titles for chats when it is idle. Automatic: not on battery.</source>
        <translation>模型空闲时为对话取简短的标题。自动：使用电池时不进行。</translation>
    </message>
    <message>
        <source>Read answers aloud</source>
        <translation>朗读回答</translation>
    </message>
    <message>
        <source>The desktop&apos;s voice speaks each sentence as it is written. Esc stops it.</source>
        <translation>桌面的语音会随写随读每个句子。按 Esc 停止。</translation>
    </message>
    <message>
        <source>Speed of speech</source>
        <translation>语速</translation>
    </message>
    <message>
        <source>From -100 to 100; 0 is the usual one.</source>
        <translation>从 -100 到 100；0 是平常的语速。</translation>
    </message>
    <message>
        <source>Models may use tools</source>
        <translation>模型可以使用工具</translation>
    </message>
    <message>
        <source>You are asked before each call. Add tools in the menu Chat.</source>
        <translation>每次调用前都会询问您。在“对话”菜单中添加工具。</translation>
    </message>
    <message>
        <source>The model that answers. Automatic prefers a pair, which is faster.</source>
        <translation>负责回答的模型。自动时优先采用更快的组合。</translation>
    </message>
    <message>
        <source>A small model that guesses ahead for the large one. Automatic takes the one of the pair.</source>
        <translation>为大模型预先猜测的小模型。自动时采用组合中的小模型。</translation>
    </message>
    <message>
        <source>Cache precision</source>
        <translation>缓存精度</translation>
    </message>
    <message>
        <source>How the model remembers a chat: 8 bits hold nearly twice the context in the same memory, but without Headstart&apos;s kernels rejected guesses leave a trace. Automatic is 16.</source>
        <translation>模型以何种精度记住对话：8 位在同样的内存中可容纳近两倍的上下文，但不使用 Headstart 的内核时，被拒绝的猜测会留下痕迹。自动为 16 位。</translation>
    </message>
    <message>
        <source>Stop sequences</source>
        <translation>停止序列</translation>
    </message>
    <message>
        <source>Where programs of this computer find the local API server.</source>
        <translation>这台电脑上的程序在此端口找到本地 API 服务器。</translation>
    </message>
    <message>
        <source>Who decides how far to guess ahead.</source>
        <translation>由谁决定预先猜测多少。</translation>
    </message>
    <message>
        <source>The answer ends before one of these texts.</source>
        <translation>回答在出现其中任一文本之前结束。</translation>
    </message>
    <message>
        <source>System prompts by name.</source>
        <translation>按名称保存的系统提示词。</translation>
    </message>
    <message>
        <source>Texts that /name puts into the message; an empty one hides a built-in one.</source>
        <translation>用“/名称”填入消息的文本；留空则隐藏同名的内置提示词。</translation>
    </message>
</context>
<context>
    <name>SettingsForm</name>
    <message>
        <source>Headstart guesses the next words and the model checks them: the answer stays the same and comes sooner.</source>
        <translation>Headstart 猜测接下来的词，由模型检查：回答不变，但来得更快。</translation>
    </message>
    <message>
        <source>Headstart always guesses this many tokens ahead, even where that saves no time.</source>
        <translation>Headstart 总是预先猜测这么多 token，即使不省时间。</translation>
    </message>
    <message>
        <source>The model writes one token at a time.</source>
        <translation>模型一次写一个 token。</translation>
    </message>
</context>
<context>
    <name>SidePanel</name>
    <message>
        <source>Settings of this chat</source>
        <translation>本对话的设置</translation>
    </message>
    <message>
        <source>More</source>
        <translation>更多</translation>
    </message>
    <message>
        <source>Reset</source>
        <translation>重置</translation>
    </message>
    <message>
        <source>Back to the settings of all chats</source>
        <translation>恢复为所有对话的设置</translation>
    </message>
    <message>
        <source>Use for all chats</source>
        <translation>用于所有对话</translation>
    </message>
    <message>
        <source>Make these the settings of every chat that has none of its own</source>
        <translation>将这些设置用于所有没有自身设置的对话</translation>
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
        <translation>加载</translation>
    </message>
</context>
<context>
    <name>Sidebar</name>
    <message>
        <source>Sidebar</source>
        <translation>侧边栏</translation>
    </message>
    <message>
        <source>New chat</source>
        <translation>新对话</translation>
    </message>
    <message>
        <source>Models</source>
        <translation>模型</translation>
    </message>
    <message>
        <source>Search chats</source>
        <translation>搜索对话</translation>
    </message>
    <message>
        <source>Projects</source>
        <translation>项目</translation>
    </message>
    <message>
        <source>Tags</source>
        <translation>标签</translation>
    </message>
    <message>
        <source>New tag</source>
        <translation>新建标签</translation>
    </message>
    <message>
        <source>Name of the tag:</source>
        <translation>标签名称：</translation>
    </message>
    <message>
        <source>New tag; chats can be dragged onto tags</source>
        <translation>新建标签；可将对话拖到标签上</translation>
    </message>
    <message>
        <source>New project</source>
        <translation>新建项目</translation>
    </message>
    <message>
        <source>Archive ({})</source>
        <translation>归档 ({})</translation>
    </message>
    <message>
        <source>Recently deleted ({})</source>
        <translation>最近删除 ({})</translation>
    </message>
    <message>
        <source>New project; chats can be dragged onto projects</source>
        <translation>新建项目；可将对话拖到项目上</translation>
    </message>
    <message>
        <source>Nothing found for “{}” in chats tagged “{}”.</source>
        <translation>在标签“{1}”的对话中没有找到“{0}”。</translation>
    </message>
    <message>
        <source>Nothing found for “{}”.</source>
        <translation>没有找到“{}”。</translation>
    </message>
    <message>
        <source>No chat is tagged “{}” yet. Drag chats onto it, or use their menu.</source>
        <translation>还没有对话带有标签“{}”。可将对话拖到标签上，或使用对话的菜单。</translation>
    </message>
    <message>
        <source>No chat is in “{}” yet. Begin one, or drag chats onto it.</source>
        <translation>“{}”中还没有对话。请新建一个，或将对话拖到项目上。</translation>
    </message>
    <message>
        <source>Nothing was deleted in the last {} days.</source>
        <translation>最近 {} 天没有删除任何对话。</translation>
    </message>
    <message>
        <source>No chat is archived. The menu of a chat can archive it.</source>
        <translation>没有已归档的对话。可以在对话的菜单中将其归档。</translation>
    </message>
    <message>
        <source>No chats yet. A chat appears here after its first message.</source>
        <translation>还没有对话。从第一条消息开始，对话会保存在这里。</translation>
    </message>
    <message>
        <source>&amp;Rename</source>
        <translation>重命名(&amp;R)</translation>
    </message>
    <message>
        <source>&amp;Delete (Chats Stay)</source>
        <translation>删除（保留对话）(&amp;D)</translation>
    </message>
    <message>
        <source>&amp;Edit…</source>
        <translation>编辑(&amp;E)…</translation>
    </message>
    <message>
        <source>&amp;Delete (Chats Stay)…</source>
        <translation>删除（保留对话）(&amp;D)…</translation>
    </message>
</context>
<context>
    <name>SidebarController</name>
    <message>
        <source>Delete this chat for good?</source>
        <translation>永久删除这个对话？</translation>
    </message>
    <message>
        <source>Delete these {} chats for good?</source>
        <translation>永久删除这 {} 个对话？</translation>
    </message>
    <message>
        <source>This cannot be undone, and reaches the backups, too. Damaged histories that were kept are deleted.</source>
        <translation>此操作无法撤销，备份中的内容也会一并删除。保留下来的已损坏历史也会被删除。</translation>
    </message>
    <message>
        <source>Delete for good</source>
        <translation>永久删除</translation>
    </message>
    <message>
        <source>Delete for Good</source>
        <translation>永久删除</translation>
    </message>
    <message>
        <source>Deleted 1 chat for good</source>
        <translation>已永久删除 1 个对话</translation>
    </message>
    <message>
        <source>Deleted {} chats for good</source>
        <translation>已永久删除 {} 个对话</translation>
    </message>
    <message>
        <source>Undo</source>
        <translation>撤销</translation>
    </message>
    <message>
        <source>Undo: {}</source>
        <translation>撤销：{}</translation>
    </message>
</context>
<context>
    <name>SourceList</name>
    <message>
        <source>Passages of files</source>
        <translation>文件中的段落</translation>
    </message>
    <message>
        <source>Given to the model:</source>
        <translation>提供给模型：</translation>
    </message>
    <message>
        <source>Given to the model, found for “{}”:</source>
        <translation>提供给模型，按“{}”找到：</translation>
    </message>
    <message>
        <source>From {}:</source>
        <translation>出自 {}：</translation>
    </message>
    <message>
        <source>Open the File</source>
        <translation>打开文件</translation>
    </message>
    <message>
        <source>Show in Its Folder</source>
        <translation>在文件夹中显示</translation>
    </message>
    <message>
        <source>The file is no longer there</source>
        <translation>文件已不在了</translation>
    </message>
    <message>
        <source>{file}, after {percent} % of it</source>
        <translation>{file}，位于 {percent}% 处</translation>
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
        <translation>代码，1 行。</translation>
    </message>
    <message>
        <source>Code, {} lines.</source>
        <translation>代码，{} 行。</translation>
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
        <translation>待办：</translation>
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
        <translation>继续</translation>
    </message>
    <message>
        <source>Try again</source>
        <translation>重试</translation>
    </message>
    <message>
        <source>Try again at temperature {}</source>
        <translation>以温度 {} 重试</translation>
    </message>
    <message>
        <source>Go on anyway</source>
        <translation>仍然继续</translation>
    </message>
</context>
<context>
    <name>TagList</name>
    <message>
        <source>1 chat</source>
        <translation>1 个对话</translation>
    </message>
    <message>
        <source>{} chats</source>
        <translation>{} 个对话</translation>
    </message>
</context>
<context>
    <name>TagMenu</name>
    <message>
        <source>&amp;Tags</source>
        <translation>标签(&amp;T)</translation>
    </message>
    <message>
        <source>&amp;New Tag…</source>
        <translation>新建标签(&amp;N)…</translation>
    </message>
</context>
<context>
    <name>TagsController</name>
    <message>
        <source>Delete Tag “{}”</source>
        <translation>删除标签“{}”</translation>
    </message>
    <message>
        <source>Deleted tag “{}”</source>
        <translation>已删除标签“{}”</translation>
    </message>
</context>
<context>
    <name>TextEditor</name>
    <message>
        <source>one on each line</source>
        <translation>每行一个</translation>
    </message>
</context>
<context>
    <name>TextView</name>
    <message>
        <source>Open this address in the browser?

{}</source>
        <translation>要在浏览器中打开此地址吗？

{}</translation>
    </message>
    <message>
        <source>Open link</source>
        <translation>打开链接</translation>
    </message>
    <message>
        <source>Copy</source>
        <translation>复制</translation>
    </message>
    <message>
        <source>Copy as Markdown</source>
        <translation>复制为 Markdown</translation>
    </message>
    <message>
        <source>Copy Link Address</source>
        <translation>复制链接地址</translation>
    </message>
    <message>
        <source>Copy Table</source>
        <translation>复制表格</translation>
    </message>
    <message>
        <source>Select All</source>
        <translation>全选</translation>
    </message>
    <message>
        <source>Copied</source>
        <translation>已复制</translation>
    </message>
    <message>
        <source>code</source>
        <translation>代码</translation>
    </message>
    <message>
        <source>Save code as a file</source>
        <translation>将代码另存为文件</translation>
    </message>
    <message>
        <source>{origin}. Nothing was proposed in this step.</source>
        <translation>{origin}。这一步没有提前试写。</translation>
    </message>
    <message>
        <source>{origin}. This step: {drafter} proposed {drafted}, {accepted} accepted.</source>
        <translation>{origin}。这一步：{drafter}提前试写 {drafted} 个，接受 {accepted} 个。</translation>
    </message>
</context>
<context>
    <name>TitleController</name>
    <message>
        <source>Write a title for this conversation, in its language and in at most six words. Answer with the title alone.</source>
        <translation>用对话所用的语言给这段对话起一个标题，最多十二个字。只回答标题。</translation>
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
        <translation>工具是模型可以使用的程序。每次调用前都会询问您。</translation>
    </message>
    <message>
        <source>Tool</source>
        <translation>工具</translation>
    </message>
    <message>
        <source>About</source>
        <translation>说明</translation>
    </message>
    <message>
        <source>What it may do</source>
        <translation>可以做什么</translation>
    </message>
    <message>
        <source>There is no tool server yet. Add one that speaks MCP, or try the clock: it works offline.</source>
        <translation>还没有工具服务器。请添加一个支持 MCP 的，或试用时钟：它可以离线使用。</translation>
    </message>
    <message>
        <source>Try the clock</source>
        <translation>试用时钟</translation>
    </message>
    <message>
        <source>Add…</source>
        <translation>添加…</translation>
    </message>
    <message>
        <source>Edit…</source>
        <translation>编辑…</translation>
    </message>
    <message>
        <source>Start again</source>
        <translation>重新启动</translation>
    </message>
    <message>
        <source>Remove</source>
        <translation>移除</translation>
    </message>
    <message>
        <source>Show the file</source>
        <translation>显示文件</translation>
    </message>
    <message>
        <source>left out</source>
        <translation>已停用</translation>
    </message>
    <message>
        <source>does not run</source>
        <translation>没有运行</translation>
    </message>
    <message>
        <source>tools are off</source>
        <translation>工具已关闭</translation>
    </message>
    <message>
        <source>Remove the server “{}”? The program itself stays.</source>
        <translation>移除服务器“{}”？程序本身会保留。</translation>
    </message>
    <message>
        <source>Remove server</source>
        <translation>移除服务器</translation>
    </message>
    <message>
        <source>clock</source>
        <translation>时钟</translation>
    </message>
    <message>
        <source>Close</source>
        <translation>关闭</translation>
    </message>
    <message>
        <source>Starting the servers…</source>
        <translation>正在启动服务器…</translation>
    </message>
</context>
<context>
    <name>Transcript</name>
    <message>
        <source>Messages</source>
        <translation>消息</translation>
    </message>
    <message>
        <source>Jump to the newest message</source>
        <translation>跳到最新消息</translation>
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
        <translation>正在加载模型…</translation>
    </message>
    <message>
        <source>Loading the draft models…</source>
        <translation>正在加载草稿模型…</translation>
    </message>
    <message>
        <source>as it is</source>
        <translation>默认设置</translation>
    </message>
    <message>
        <source>no draft model</source>
        <translation>无草稿模型</translation>
    </message>
    <message>
        <source>the draft with all rows</source>
        <translation>草稿模型，全部 token</translation>
    </message>
    <message>
        <source>the draft with {} rows</source>
        <translation>草稿模型，{} 个 token</translation>
    </message>
    <message>
        <source>the draft {}</source>
        <translation>草稿模型 {}</translation>
    </message>
    <message>
        <source>threads not tied to cores</source>
        <translation>线程不绑定核心</translation>
    </message>
    <message>
        <source>1 thread</source>
        <translation>1 个线程</translation>
    </message>
    <message>
        <source>{} threads, two a core</source>
        <translation>{} 个线程，每核两个</translation>
    </message>
    <message>
        <source>{} threads</source>
        <translation>{} 个线程</translation>
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
        <translation>回答的每个 token</translation>
    </message>
    <message>
        <source>Speed-up</source>
        <translation>加速</translation>
    </message>
    <message>
        <source>nothing else</source>
        <translation>没有其他设置</translation>
    </message>
    <message>
        <source>{default} against {others}</source>
        <translation>{default} 对比 {others}</translation>
    </message>
    <message>
        <source>chosen</source>
        <translation>已选用</translation>
    </message>
    <message>
        <source>no time left</source>
        <translation>时间不够</translation>
    </message>
    <message>
        <source>{setting}, because it was {gain} ({figures}).</source>
        <translation>{setting}，因为{gain}（{figures}）。</translation>
    </message>
    <message>
        <source>as it is ({}), as there is nothing else to try here.</source>
        <translation>默认设置（{}），因为这里没有其他设置可试。</translation>
    </message>
    <message>
        <source>as it is, as the time was over before anything else was timed; give it more.</source>
        <translation>默认设置，因为在测量其他设置之前时间已用完；请给更多时间。</translation>
    </message>
    <message>
        <source>as it is, as nothing else runs here.</source>
        <translation>默认设置，因为其他设置在这里都无法运行。</translation>
    </message>
    <message>
        <source>as it is, because the best of the others, {setting}, {shortfall}.</source>
        <translation>默认设置，因为其余中最好的（{setting}）{shortfall}。</translation>
    </message>
    <message>
        <source>as it is, because the best of the others, {setting}, {shortfall}; not all were timed.</source>
        <translation>默认设置，因为其余中最好的（{setting}）{shortfall}；并非所有设置都测量过。</translation>
    </message>
    <message>
        <source>was not faster: {}</source>
        <translation>并不更快：{}</translation>
    </message>
    <message>
        <source>gained too little to tell: {}</source>
        <translation>收益太小，无法断定：{}</translation>
    </message>
    <message>
        <source>was not faster often enough to rule out chance: {}</source>
        <translation>更快的次数不足以排除偶然：{}</translation>
    </message>
    <message>
        <source>{median}× as fast as the default ({low}–{high}), ahead in {better} of {pairs} runs</source>
        <translation>速度是默认设置的 {median} 倍（{low}–{high}），{pairs} 次中领先 {better} 次</translation>
    </message>
    <message>
        <source>{what}: {mine} instead of {before} ms</source>
        <translation>{what}：{mine} 毫秒，原为 {before} 毫秒</translation>
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
        <translation>{}：换用其他精度和线程数</translation>
    </message>
    <message>
        <source>Speed-up: with earlier text alone</source>
        <translation>加速：仅用前文</translation>
    </message>
    <message>
        <source>Speed-up: with its draft model, and without</source>
        <translation>加速：使用与不使用其草稿模型</translation>
    </message>
    <message>
        <source>{}; with other installed draft models that fit</source>
        <translation>{}；换用其他已安装且合适的草稿模型</translation>
    </message>
    <message>
        <source>on other devices of this computer</source>
        <translation>换到本机的其他设备上</translation>
    </message>
    <message>
        <source>Not tried: other devices, as the settings name {}</source>
        <translation>不尝试其他设备，因为设置中指定了 {}</translation>
    </message>
    <message>
        <source>Looking for draft models that fit…</source>
        <translation>正在寻找合适的草稿模型…</translation>
    </message>
    <message>
        <source>Cancelled; nothing was changed.</source>
        <translation>已取消；没有任何改动。</translation>
    </message>
    <message>
        <source>Ends with the run being timed…</source>
        <translation>计时中的这一次结束后即停止…</translation>
    </message>
    <message>
        <source>Ends soon.</source>
        <translation>即将结束。</translation>
    </message>
    <message>
        <source>At most {} s left.</source>
        <translation>最多还需 {} 秒。</translation>
    </message>
    <message>
        <source>A tuning is running; stop it on its page, or wait for its end.</source>
        <translation>正在调优；请在其页面上停止，或等它结束。</translation>
    </message>
</context>
<context>
    <name>TuningPage</name>
    <message>
        <source>Tune for this machine</source>
        <translation>为本机调优</translation>
    </message>
    <message>
        <source>Start tuning</source>
        <translation>开始调优</translation>
    </message>
    <message>
        <source>Finds the fastest settings for the model of the open chat on this computer, and uses them from then on. What you have set yourself stays as it is. Chats wait meanwhile.</source>
        <translation>为当前对话的模型找出在这台电脑上最快的设置，并从此采用。您自己设定的值保持不变。期间对话会等待。</translation>
    </message>
    <message>
        <source>At most (seconds)</source>
        <translation>最多（秒）</translation>
    </message>
    <message>
        <source>{} has not been tuned on this computer yet: it runs with the defaults.</source>
        <translation>{} 尚未在本机上调优：它以默认设置运行。</translation>
    </message>
    <message>
        <source>Progress of the tuning</source>
        <translation>调优进度</translation>
    </message>
</context>
<context>
    <name>TuningReport</name>
    <message>
        <source>Forget</source>
        <translation>忘记</translation>
    </message>
    <message>
        <source>Load this model with the defaults again</source>
        <translation>重新以默认设置加载此模型</translation>
    </message>
    <message>
        <source>{}: measurements</source>
        <translation>{}：测量结果</translation>
    </message>
    <message>
        <source>nothing tried here is faster than the defaults.</source>
        <translation>所试的设置都不比默认设置快。</translation>
    </message>
    <message>
        <source>the fastest settings found here are used from now on.</source>
        <translation>从现在起采用在此找到的最快设置。</translation>
    </message>
    <message>
        <source>{seconds} s on {device}, OpenVINO {openvino}</source>
        <translation>在 {device} 上用时 {seconds} 秒，OpenVINO {openvino}</translation>
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
        <translation>设置</translation>
    </message>
    <message>
        <source>Speed</source>
        <translation>速度</translation>
    </message>
    <message>
        <source>Ahead</source>
        <translation>领先</translation>
    </message>
    <message>
        <source>Outcome</source>
        <translation>结果</translation>
    </message>
</context>
<context>
    <name>Verification</name>
    <message>
        <source>Comparing every file with its hash: {} %</source>
        <translation>正在逐个核对文件的哈希值：{}%</translation>
    </message>
    <message>
        <source>Every file is as it was exported. Loading it and asking for a word…</source>
        <translation>所有文件均与导出时一致。正在加载模型并试答一个词…</translation>
    </message>
</context>
<context>
    <name>Welcome</name>
    <message>
        <source>Welcome. One thing is missing: a model.</source>
        <translation>欢迎使用。还差一样东西：模型。</translation>
    </message>
    <message>
        <source>Choose one to begin with; you can add others later. It is downloaded and converted once. Afterwards everything stays on this computer.</source>
        <translation>请先选择一个，以后可以再添加其他模型。模型只需下载并转换一次，之后一切都留在这台电脑上。</translation>
    </message>
</context>
<context>
    <name>WindowCommands</name>
    <message>
        <source>&amp;Undo: {}</source>
        <translation>撤销(&amp;U)：{}</translation>
    </message>
    <message>
        <source>&amp;Undo</source>
        <translation>撤销(&amp;U)</translation>
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
        <translation>显示日志</translation>
    </message>
    <message>
        <source>Pause</source>
        <translation>暂停</translation>
    </message>
    <message>
        <source>Log</source>
        <translation>日志</translation>
    </message>
    <message>
        <source>{step} · {done} of {total}</source>
        <translation>{step} · 已完成 {done}，共 {total}</translation>
    </message>
    <message>
        <source>{} min left</source>
        <translation>剩余 {} 分钟</translation>
    </message>
    <message>
        <source>{} s left</source>
        <translation>剩余 {} 秒</translation>
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
        <translation>关闭</translation>
    </message>
    <message>
        <source>Hide log</source>
        <translation>隐藏日志</translation>
    </message>
</context>
</TS>
