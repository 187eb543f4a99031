import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createWriteStream } from 'node:fs';
import { open, rm } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { pipeline } from 'node:stream/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { interleave, type Side } from '../interleave.ts';
import { compare, type Item } from '../item.ts';
import { memoryBelow } from '../memory.ts';
import type { Stand } from '../stand.ts';

const rounds = 5;
const uploadsPerRound = 4;
const sampleMs = 20;
const megabytes = 25;
const fileBytes = megabytes * 1024 * 1024;

/**
 * Not a recording: it is refused after it has arrived completely and was examined, so that only the upload is measured.
 */
const file = randomBytes(fileBytes);
file.write('a text', 0, 'latin1');

/** In MB, of the process that has the API, without the pools that examine files. */
const megabytesOf = (pid: number) => memoryBelow(pid)[0]?.resident ?? 0;

async function upload(url: URL, status: number, headers: Record<string, string> = {}): Promise<void> {
  const form = new FormData();
  form.set('audio', new Blob([file]), 'recording.mp3');
  const response = await fetch(url, { method: 'POST', headers, body: form });
  if (response.status !== status) throw new Error(`An upload was answered ${response.status}.`);
  await response.arrayBuffer();
}

/** What any server does with an upload: a pipe to a file, and a sync. */
async function bareServer(stand: Stand): Promise<{ url: URL; close(): void }> {
  let count = 0;
  const server = createServer(async (request, response) => {
    const path = stand.file(`bare-${count++}`);
    await pipeline(request, createWriteStream(path));
    const written = await open(path, 'r+');
    await written.sync();
    await written.close();
    await rm(path);
    response.end();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const url = new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`);
  return { url, close: () => void server.close() };
}

function sideOf(name: string, send: () => Promise<void>): Side {
  return {
    name,
    warmUp: send,
    async round() {
      const begun = performance.now();
      for (let sent = 0; sent < uploadsPerRound; sent++) await send();
      const seconds = (performance.now() - begun) / 1000;
      return { value: (megabytes * uploadsPerRound) / seconds, operations: uploadsPerRound };
    },
  };
}

/** The most that the product takes while `work` is done, above what it took before. */
async function riseDuring(pid: number, work: () => Promise<unknown>): Promise<number> {
  const before = megabytesOf(pid);
  let peak = before;
  const watching = new AbortController();
  const watch = (async () => {
    while (!watching.signal.aborted) {
      peak = Math.max(peak, megabytesOf(pid));
      await sleep(sampleMs);
    }
  })();
  try {
    await work();
  } finally {
    watching.abort();
    await watch;
  }
  return peak - before;
}

/** P19: how fast recordings of 25 MB arrive, against a bare pipe to the disk with a sync, and what memory that takes. */
export const uploadRecordings: Item = {
  name: 'P19',
  title: 'POST /api/voice/stt with 25 MB: MB a second against a bare pipe to the disk, and memory above that before',
  needs: 'stand',
  async run(stand, cleanup) {
    const bare = await bareServer(stand);
    cleanup.add(() => bare.close());
    const url = new URL('/api/voice/stt', stand.api);
    const send = () => upload(url, 400, { authorization: `Bearer ${stand.key}` });
    const sides = [sideOf('bare pipe', () => upload(bare.url, 200)), sideOf('product', send)];
    // The windows of a minute take 30.
    const measured = await interleave(stand.meter, rounds, sides);
    await sleep(60_000 - (Date.now() % 60_000));
    const rises: number[] = [];
    for (let round = 0; round < 3; round++) {
      rises.push(await riseDuring(stand.productPid, () => Promise.all([send(), send(), send(), send()])));
    }
    return [
      compare('MB/s', 'uploads', measured, { 'bare pipe': { atLeast: 0.8 } }),
      { rows: [], verdicts: [{ name: 'four uploads at once: MB above before', values: rises, aim: { atMost: 32 } }] },
    ];
  },
};
