import { setImmediate as nextLoopRound } from 'node:timers/promises';
import { expect, test } from '@jest/globals';
import type { Database } from '../database/database.ts';
import { Sealer } from '../security/crypto.ts';
import { TextRelay } from './text-relay.ts';

const tenant = { organizationId: '01990000-0000-7000-8000-000000000000', environment: 'live' } as const;
const reader = { channel: 'readers', subject: 'run/step', tenant };

/** A database that keeps what is sent. */
function openRelay(ring: string | undefined) {
  const sent: string[] = [];
  const pool = {
    async query({ values: [, payloads] }: { values: [string[], string[]] }) {
      sent.push(...payloads);
      return { rows: [] };
    },
  };
  const relay = new TextRelay({ pool } as never as Database, new Sealer(ring), { table: 'run_step', maxWaiting: 100 });
  return { relay, sent };
}

test('a text is sent sealed, and opened for its tenant', async () => {
  const { relay, sent } = openRelay(`k1:${Buffer.alloc(32, 1).toString('base64')}`);
  relay.send(reader, { attempt: 1, at: 0, text: 'Hello' });
  const [subject = '', sealed = ''] = sent[0]!.split(' ');
  expect(relay.open({ subject, tenant }, sealed)).toEqual({ attempt: 1, at: 0, text: 'Hello' });
});

test('without keys nothing is sent, and the process goes on', async () => {
  const { relay, sent } = openRelay(undefined);
  relay.send(reader, { attempt: 1, at: 0, text: 'Hello' });
  // By then a rejection that nobody handles would have been reported.
  await nextLoopRound();
  expect(sent).toEqual([]);
});
