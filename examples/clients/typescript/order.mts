// Places an order and asks for transitions, with a client generated from the OpenAPI document.
//
//   npm install openapi-typescript@7.13.0 openapi-fetch@0.17.0 typescript@5.9.3
//   npx openapi-typescript http://127.0.0.1:8701/openapi.json -o ratchet.d.ts
//   npx tsc --target es2022 --module nodenext --strict order.mts
//   node order.mjs http://127.0.0.1:8701 web-1
import createClient from "openapi-fetch";
import type { paths } from "./ratchet.d.ts";

declare const process: { argv: string[]; env: Record<string, string | undefined> };

const [url, orderId] = process.argv.slice(2);
const key = process.env.RATCHET_KEY; // `ratchet dev` needs none
const client = createClient<paths>({ baseUrl: url, headers: key ? { Authorization: `Bearer ${key}` } : {} });

// The id of the order makes a repeat harmless: it gets the same answer.
for (let i = 0; i < 2; i++) {
  const { data, error } = await client.PUT("/v1/orders/{orderId}", {
    params: { path: { orderId } },
    body: {
      items: [{ sku: "mug", quantity: 2, price: 1250 }],
      total: { amount: 2500, currency: "EUR" },
      execution: "none",
    },
  });
  if (error) throw new Error(`${error.code}: ${error.detail}`);
  console.log("placed", data.orderId, data.state);
}

// Idempotency-Key names the request. A repeat with the key gets the first answer.
for (const [event, request] of [["hold", "desk-1"], ["hold", "desk-1"], ["ship", "desk-2"]] as const) {
  const { data, error } = await client.POST("/v1/orders/{orderId}/transitions", {
    params: { path: { orderId }, header: { "Idempotency-Key": request } },
    body: { event },
  });
  if (error) console.log(event, "refused:", error.code);
  else console.log(event, "applied:", data.verdict);
}

const { data } = await client.GET("/v1/orders/{orderId}", { params: { path: { orderId } } });
console.log("now", data?.state);
