// Orders as handlers of Restate: stock of a SKU as a virtual object, an order as a workflow. The arguments are the directory of
// the server's data, the URL of the bank, the carrier and the receiver, four ports (ingress, admin,
// node, and our own), and optionally a program that serves the handlers in place of this one. Prints "ready", and
// ends with its input. Only benchmarks use it.
import { spawn } from "node:child_process";
import http2 from "node:http2";
import readline from "node:readline";
import * as restate from "@restatedev/restate-sdk";
import { register, startServer } from "./server.mjs";

const far = process.argv[3];

/** Sends a request to a far side, which acts once per key. What it answers with an error is tried again by Restate. */
async function send(method, path, key, body) {
  const response = await fetch(far + path, {
    method,
    headers: { "content-type": "application/json", "idempotency-key": key },
    body: JSON.stringify(body),
  });
  const text = await response.text();
  if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text}`);

  return text === "" ? null : JSON.parse(text);
}

/** Tells the customer once that the order is in the state. */
const notify = (ctx, id, state) =>
  ctx.run(`notify ${state}`, async () => {
    await send("POST", "/hooks", `${id}/${state}`, { type: `order.${state}`, data: { orderId: id, state } });
  });

const stock = restate.object({
  name: "stock",
  handlers: {
    set: async (ctx, available) => ctx.set("available", available),
    reserve: async (ctx, quantity) => {
      const available = (await ctx.get("available")) ?? 0;
      if (available < quantity) throw new restate.TerminalError("out of stock");
      ctx.set("available", available - quantity);
    },
  },
});

const order = restate.workflow({
  name: "order",
  handlers: {
    run: async (ctx, { sku, quantity, amount }) => {
      const id = ctx.key;
      await ctx.objectClient(stock, sku).reserve(quantity);
      await ctx.run("charge", () => send("PUT", `/bank/operations/${id}-sale`, `${id}-sale`, { kind: "sale", orderId: id, amount, currency: "EUR" }));
      await notify(ctx, id, "PAYMENT_RECEIVED");

      const shipped = ctx.awakeable();
      const delivered = ctx.awakeable();
      await ctx.run("book", () =>
        send("PUT", `/carrier/shipments/${id}~shipping`, `${id}~shipping`, { orderId: id, shipped: shipped.id, delivered: delivered.id }),
      );
      await shipped.promise;
      await notify(ctx, id, "SHIPPED");
      await delivered.promise;
      await notify(ctx, id, "DELIVERED");
    },
  },
});

const [ingress, admin, node, own] = process.argv[4].split(",").map(Number);
startServer(process.argv[2], { ingress, admin, node });

// Handlers of another SDK are a program of their own.
const program = process.argv[5];
if (program) {
  const child = spawn(program, [`127.0.0.1:${own}`, far], { stdio: ["ignore", "ignore", "inherit"] });
  process.on("exit", () => child.kill("SIGKILL"));
} else {
  const endpoint = restate.createEndpointHandler({ services: [stock, order], logger: () => {} });
  http2.createServer(endpoint).listen(own, "127.0.0.1");
}
await register(admin, `http://127.0.0.1:${own}`);
console.log("ready");

for await (const _ of readline.createInterface({ input: process.stdin }));
process.exit(0);
