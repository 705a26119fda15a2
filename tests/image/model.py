"""A model on loopback that does what tests/image/script.json says: a list of commands for each tier, one after the other.

A tier is known by the heading of its prompt, its place in the list by the results that it has received so far.
"""
import http.server
import json
import re
import sys

SCRIPT: dict[str, list[str]] = {}


def next_step(request: dict) -> dict:
    tools = {tool["name"] for tool in request.get("tools", [])}
    if "StructuredOutput" in tools:
        return {"type": "tool_use", "name": "StructuredOutput", "input": {"ok": True}}
    text = json.dumps(request["messages"])
    tier = re.search(r"# Tier (\d)", text)
    steps = SCRIPT.get(tier.group(1), []) if tier and tools else []
    done = text.count('"tool_result"')
    if done < len(steps):
        return {"type": "tool_use", "name": "Bash", "input": {"command": steps[done], "description": "a step"}}
    return {"type": "text", "text": "done"}


def events(request: dict, step: dict):
    called = step["type"] == "tool_use"
    message = {"id": "msg_1", "type": "message", "role": "assistant", "model": request["model"], "content": [],
               "stop_reason": None, "stop_sequence": None, "usage": {"input_tokens": 10, "output_tokens": 5}}
    yield {"type": "message_start", "message": message}
    if called:
        call = f"toolu_{len(json.dumps(request)):08d}"
        opening = {"type": "tool_use", "id": call, "name": step["name"], "input": {}}
        delta = {"type": "input_json_delta", "partial_json": json.dumps(step["input"])}
    else:
        opening = {"type": "text", "text": ""}
        delta = {"type": "text_delta", "text": step["text"]}
    yield {"type": "content_block_start", "index": 0, "content_block": opening}
    yield {"type": "content_block_delta", "index": 0, "delta": delta}
    yield {"type": "content_block_stop", "index": 0}
    yield {"type": "message_delta", "delta": {"stop_reason": "tool_use" if called else "end_turn",
                                              "stop_sequence": None}, "usage": {"output_tokens": 5}}
    yield {"type": "message_stop"}


class Handler(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        request = json.loads(self.rfile.read(int(self.headers.get("content-length", 0))) or "{}")
        if self.path.startswith("/v1/messages") and "messages" in request and request.get("stream"):
            step = next_step(request)
            stream = "".join(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in events(request, step))
            self.answer("text/event-stream", stream)
        else:
            self.answer("application/json", json.dumps({"input_tokens": 1}))

    def do_GET(self):
        self.answer("application/json", '{"data": []}')

    def answer(self, kind: str, body: str):
        self.send_response(200)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(body.encode())))
        self.end_headers()
        self.wfile.write(body.encode())

    def log_message(self, *_):
        pass


def serve(handler: type) -> None:
    http.server.ThreadingHTTPServer(("127.0.0.1", 8765), handler).serve_forever()


if __name__ == "__main__":
    SCRIPT = json.load(open(sys.argv[1]))
    serve(Handler)
