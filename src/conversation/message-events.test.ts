import { randomBytes, randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from '@jest/globals';
import { until } from '../../test/until.ts';
import type { Database } from '../platform/database/database.ts';
import { Sealer } from '../platform/security/crypto.ts';
import type { Tenant } from '../platform/tenant.ts';
import { MessageEvents } from './message-events.ts';
import { SentText } from './sent-text.ts';

const sealer = new Sealer(`k1:${randomBytes(32).toString('base64')}`);
const tenant: Tenant = { organizationId: randomUUID(), environment: 'test' };

/** A worker and a reader in two processes, with a database between them that takes its time. */
function openPair(takesMs = 0) {
  const payloads: string[] = [];
  let underWay = 0;
  let maxConcurrent = 0;
  const pool = {
    async query({ values: [channels, sent] }: { values: [string[], string[]] }) {
      maxConcurrent = Math.max(maxConcurrent, ++underWay);
      await sleep(takesMs);
      underWay--;
      for (const [n, payload] of sent.entries()) if (channels[n] === reader.channel) reader.receive(payload);
      payloads.push(...sent);
      return { rows: [] };
    },
  };
  const worker = new MessageEvents({ pool } as unknown as Database, sealer);
  const reader = new MessageEvents({ pool } as unknown as Database, sealer);
  return { worker, reader, payloads, maxConcurrent: () => maxConcurrent };
}

/** Writes a text as a model does. @returns what its reader receives */
function write({ worker, reader }: ReturnType<typeof openPair>, text: string, size: number) {
  const messageId = randomUUID();
  const sent = new SentText();
  reader.follow(messageId, { tenant, onDelta: (delta) => sent.accept(delta), onChange: () => {} });
  for (let at = 0; at < text.length; at += size) {
    worker.notifyDelta(messageId, reader.channel, tenant, { attempt: 1, at, text: text.slice(at, at + size) });
  }
  return { messageId, sent };
}

test('a reply goes from one process to another in order, sealed, in pieces that PostgreSQL takes', async () => {
  const pair = openPair();
  const text = 'Ein Satz über 🚲 und \u0000 und "Zeichen", lang genug. '.repeat(400);
  // Pieces of one character cut surrogate pairs in two.
  const { sent } = write(pair, text, 1);
  let read = '';
  await until('all of it is sent', async () => {
    read += sent.take();
    return read === text;
  });
  for (const payload of pair.payloads) {
    expect(Buffer.byteLength(payload)).toBeLessThan(8_000);
    expect(payload).not.toContain('Satz');
  }
});

test('many replies at a time are one statement at a time, and a slow database makes fewer pieces', async () => {
  const pair = openPair(30);
  const written = Array.from({ length: 50 }, (_, n) => write(pair, `Reply ${n} in many small parts. `.repeat(20), 3));
  const read = written.map(() => '');
  await until('all of them are sent', async () => {
    for (const [n, { sent }] of written.entries()) read[n] += sent.take();
    return read.every((text, n) => text === `Reply ${n} in many small parts. `.repeat(20));
  });
  expect(pair.maxConcurrent()).toBe(1);
  expect(pair.payloads.length).toBeLessThan(50 * 4);
});

test('what waits for a database that does not answer is bounded, and the rest is sent from the reply', async () => {
  const pair = openPair(200);
  const text = 'x'.repeat(300_000);
  const { messageId, sent } = write(pair, text, 1_000);
  await until('something is sent', async () => sent.hasWaiting);
  const first = sent.take();
  pair.worker.forget(messageId);
  expect(first.length).toBeLessThanOrEqual(64 * 1024);
  expect(first + sent.takeRest(text)).toBe(text);
});

test('a piece of another tenant, or that was changed, is nothing', () => {
  const { reader } = openPair();
  const messageId = randomUUID();
  const sent = new SentText();
  reader.follow(messageId, { tenant, onDelta: (delta) => sent.accept(delta), onChange: () => {} });
  const place = { table: 'conversation_message', column: 'delta', rowId: messageId };
  const foreign = { organizationId: randomUUID(), environment: 'test' } as const;
  reader.receive(`${messageId} ${sealer.seal('1 0 Hello', { ...place, tenant: foreign })}`);
  reader.receive(`${messageId} nonsense`);
  expect(sent.hasWaiting).toBe(false);
  reader.receive(`${messageId} ${sealer.seal('1 0 Hello', { ...place, tenant })}`);
  expect(sent.take()).toBe('Hello');
});
