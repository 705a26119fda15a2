//! A stand-in for an MCP server.

/// A program that serves one MCP tool, in shell. A call runs `call`, in which `answer` sends a result and `$line` is the request.
pub fn mcp_server(tool: &str, call: &str) -> String {
    format!(
        r#"
while IFS= read -r line; do
  id=$(printf '%s' "$line" | sed -n 's/.*"id":\([0-9]*\).*/\1/p')
  answer() {{ printf '{{"jsonrpc":"2.0","id":%s,"result":%s}}\n' "$id" "$1"; }}
  case $line in
    *'"method":"initialize"'*) answer '{{"protocolVersion":"2025-06-18","capabilities":{{"tools":{{}}}},"serverInfo":{{"name":"notes","version":"1"}}}}' ;;
    *'"method":"tools/list"'*) answer '{{"tools":[{{"name":"{tool}","description":"a note","inputSchema":{{"type":"object"}}}}]}}' ;;
    *'"method":"tools/call"'*) {call} ;;
  esac
done"#
    )
}
