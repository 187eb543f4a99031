import { setTimeout as sleep } from 'node:timers/promises';
import type { Attack, Attacker, Prepared } from '../attack.ts';
import { attacks } from '../attacks.ts';
import { ProductClient } from '../product-client.ts';

/** The arguments of this program. */
export interface AttackerArgs {
  api: string;
  /** One per organization. */
  keys: string[];
  hangingUrl: string;
  attack: string;
}

/**
 * Makes one attack: `prepare`, `begin`, `end`. It has a process of its own, so that its work does not disturb the
 * clocks of the bench.
 */
const { api, keys, hangingUrl, attack: name } = JSON.parse(process.argv[2] ?? '') as AttackerArgs;
/** A refused client repeats its request after this time: a refusal is the product's answer, and not an attack. */
const refusedMs = 1_000;
const attack = attacks.find((one) => one.name === name) as Attack;
const clients = keys.map((key) => new ProductClient(api, key));
const created: { client: ProductClient; path: string }[] = [];
/** How often each status was answered; `none` when the connection was cut. */
const answers: Record<string, number> = {};
let prepared: Prepared[] = [];
let isOver = false;

const attackerOf = (client: ProductClient): Attacker => {
  const create = async (collection: string, body: object) => {
    const { id } = await client.post<{ id: string }>(`/api/v1/${collection}`, body);
    created.push({ client, path: `/api/v1/${collection}/${id}` });
    return id;
  };
  return {
    api,
    client,
    hangingUrl,
    createWorkflow: (steps) => create('workflows', { name: 'Attack', steps }),
    createWebhook: (url) =>
      create('webhooks', { name: 'Attack', url, events: ['workflow.run.completed'] }).catch(() => undefined),
  };
};

async function call({ repeat }: Prepared, caller: number): Promise<void> {
  while (!isOver) {
    const answer = await repeat(caller).catch(() => ({ status: 'none' }));
    const status = String((answer as { status?: unknown } | undefined)?.status ?? 'done');
    answers[status] = (answers[status] ?? 0) + 1;
    if (status === '429' || status === '503' || status === 'none') await sleep(refusedMs);
  }
}

async function end(): Promise<void> {
  isOver = true;
  // Closes open connections, then deletes the created resources.
  for (const client of clients) client.close();
  for (const { client, path } of created) await client.send('DELETE', path).catch(() => {});
  for (const client of clients) client.close();
}

process.on('message', async ({ order }: { order: 'prepare' | 'begin' | 'end' }) => {
  if (order === 'prepare') {
    prepared = await Promise.all(clients.map((client) => attack.prepare(attackerOf(client))));
    process.send?.({ ids: prepared.flatMap(({ ids = [] }) => ids) });
  } else if (order === 'begin') {
    for (const one of prepared) {
      for (let caller = 0; caller < attack.callers; caller++) void call(one, caller);
    }
    process.send?.({});
  } else {
    await end();
    process.send?.({ answers });
  }
});
for (const signal of ['SIGTERM', 'disconnect']) process.on(signal, () => process.exit(0));
process.send?.({});
