// Takes Ratchet's webhooks: verifies each, acts once for each id, and answers.
//
//   npm install standardwebhooks@1.1.1
//   WEBHOOK_SECRET=whsec_... node receiver.mjs 9000 done.txt
import { closeSync, existsSync, fsyncSync, openSync, readFileSync, writeSync } from "node:fs";
import { createServer } from "node:http";
import { Webhook } from "standardwebhooks";

const hook = new Webhook(process.env.WEBHOOK_SECRET);
const [port, name] = process.argv.slice(2);

// One line for each message that was acted on: its id, a space and its body. A shop stores the id in
// the transaction of its effect instead.
const lines = existsSync(name) ? readFileSync(name, "utf8").split("\n") : [];
const ids = new Set(lines.map((line) => line.split(" ")[0]));

function actOnce(id, body) {
  if (ids.has(id)) return;
  const file = openSync(name, "a");
  writeSync(file, `${id} ${body}\n`);
  fsyncSync(file); // before the answer: the sender does not send it again
  closeSync(file);
  ids.add(id);
}

createServer(async (request, response) => {
  const parts = [];
  let length = 0;
  for await (const part of request) {
    length += part.length;
    if (length > 256 << 10) return response.writeHead(413).end();
    parts.push(part);
  }
  const body = Buffer.concat(parts); // the raw bytes: parse them only once they are verified
  try {
    hook.verify(body, request.headers);
  } catch {
    return response.writeHead(401).end();
  }
  actOnce(request.headers["webhook-id"], body.toString());
  response.writeHead(204).end();
}).listen(Number(port), "127.0.0.1");
