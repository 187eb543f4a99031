import { randomUUID } from 'node:crypto';
import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Attacker, Prepared } from './attack.ts';

const list = (length: number) => Array.from({ length }, (_, index) => index);

const unreadMs = 3_000;

/** The longest answers there are, of requests sent ahead on a connection that reads nothing. */
export async function leaveTimesUnread({ api, client }: Attacker): Promise<Prepared> {
  const eventType = { name: 'Round the clock', slug: `all-${randomUUID()}`, duration: 5, slotInterval: 5 };
  const { id } = await client.post<{ id: string }>('/api/v1/scheduling/event-types', eventType);
  const { hostname, port } = new URL(api);
  const path = `/api/v1/scheduling/availability?eventTypeId=${id}&start=2030-01-01&end=2030-01-31`;
  const head = `GET ${path} HTTP/1.1\r\nHost: ${hostname}\r\nAuthorization: Bearer ${client.key}\r\n\r\n`;
  return {
    async repeat() {
      const socket = connect(Number(port), hostname);
      socket.on('error', () => {});
      socket.pause();
      socket.write(head.repeat(16));
      await sleep(unreadMs);
      socket.destroy();
    },
  };
}

/** Upscales and videos together, which are rendered in the processes that others' pictures need. */
export async function renderPicturesAndVideos({ client }: Attacker): Promise<Prepared> {
  const { url: imageUrl } = await client.post<{ url: string }>('/api/studio/generate', { prompt: 'A boat' });
  return {
    repeat: (caller) =>
      caller % 2
        ? client.send('POST', '/api/studio/upscale', { imageUrl, scale: 4 })
        : client.send('POST', '/api/studio/generate-video', { prompt: randomUUID() }),
  };
}

/** Requests that all wait for the first one with their Idempotency-Key. */
export async function repeatOneKey({ client }: Attacker): Promise<Prepared> {
  const body = { name: 'Once', steps: [] };
  return {
    // All callers have the same key for a moment.
    repeat: () =>
      client.send('POST', '/api/v1/workflows', body, { 'idempotency-key': String(Math.floor(Date.now() / 250)) }),
  };
}

/** Prompts that name what is not there, each name a warning. */
export async function nameUnknownVariables({ client, createWorkflow }: Attacker): Promise<Prepared> {
  const prompt = list(60_000)
    .map((index) => `{{m${index}}}`)
    .join('');
  const id = await createWorkflow([{ id: 'say', type: 'prompt', prompt }]);
  return { repeat: () => client.send('POST', `/api/v1/workflows/${id}/execute`, { input: 'x' }) };
}

/** Batches as large as the plan allows, one after the other. */
export async function startBatches({ client, createWorkflow }: Attacker): Promise<Prepared> {
  const id = await createWorkflow([{ id: 't', type: 'transform', expression: '1' }]);
  const items = list(1_000).map((input) => ({ input }));
  return { repeat: () => client.send('POST', `/api/v1/workflows/${id}/batch`, { items }) };
}

/** Flows of as many steps as an input asks for. */
export async function mapLargeLists({ client, createWorkflow }: Attacker): Promise<Prepared> {
  const id = await createWorkflow([
    {
      id: 'each',
      type: 'map',
      items: 'input',
      concurrency: 20,
      steps: [{ id: 't', type: 'transform', expression: 'item' }],
    },
  ]);
  const input = list(1_000);
  return { repeat: () => client.send('POST', `/api/v1/workflows/${id}/execute`, { input }) };
}

/** Events for a hundred runs that wait for them, and look at their large inputs. */
export async function sendAwaitedEvents({ client, createWorkflow }: Attacker): Promise<Prepared> {
  const branches = list(20).map((index) => ({
    id: `b${index}`,
    steps: [{ id: `w${index}`, type: 'event', event: 'asked', match: 'input.startsWith("y") && event.data.n == 1' }],
  }));
  const id = await createWorkflow([{ id: 'all', type: 'parallel', branches, concurrency: 20 }]);
  for (const text of list(5))
    await client.send('POST', `/api/v1/workflows/${id}/execute`, { input: 'x'.repeat(900_000) + text, async: true });
  return { repeat: () => client.send('POST', '/api/v1/events', { name: 'asked', data: { n: 1 } }) };
}
