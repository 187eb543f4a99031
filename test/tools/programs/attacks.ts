// Tries what the program of a tool server must not be able to do. Writes one line of JSON for each word that it reads.
import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { env } from 'node:process';
import { createInterface } from 'node:readline';
import { Worker } from 'node:worker_threads';

const held: Buffer[] = [];
const attempts: Record<string, () => unknown> = {
  environment: () => env,
  read: () => readFileSync('/etc/passwd', 'utf8').length,
  above: () => readdirSync('..'),
  write: () => writeFileSync('/tmp/atelier-attack', 'x'),
  own: () => writeFileSync('own', 'x'),
  start: () => spawnSync('/bin/true').error?.message ?? 'started',
  worker: () => new Worker('', { eval: true }).threadId,
  connect: () => connect(80, '127.0.0.1').connecting,
  large: () => writeFileSync('large', Buffer.alloc(2 * 1024 * 1024)),
  hog: () => {
    for (;;) held.push(Buffer.alloc(16 * 1024 * 1024, 1));
  },
  spin: () => {
    for (;;);
  },
  nest: () => {
    process.stdout.write(`${'['.repeat(2_000_000)}\n`);
  },
  fill: () => {
    process.stdout.write(`[${'{},'.repeat(20_000)}{}]\n`);
  },
  pour: () => {
    setInterval(() => process.stdout.write('x'.repeat(500_000)), 1);
  },
};

for await (const word of createInterface({ input: process.stdin })) {
  let said: unknown;
  try {
    said = attempts[word]!();
  } catch (error) {
    said = `refused: ${(error as Error).message}`;
  }
  process.stdout.write(`${JSON.stringify(said ?? 'done')}\n`);
}
