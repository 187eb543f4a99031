import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import sharp from 'sharp';
import type { Item } from '../item.ts';
import { memoryBelow } from '../memory.ts';

const side = 4_000;
const rounds = 3;
const sampleMs = 20;

/** A picture without large areas of one colour, of 16 megapixels and below 25 MiB. */
async function picture(): Promise<Buffer> {
  const small = Buffer.from(Array.from({ length: 400 * 400 * 3 }, (_, at) => (at * 2_654_435_761) >>> 24));
  return sharp(small, { raw: { width: 400, height: 400, channels: 3 } })
    .resize(side, side, { kernel: 'cubic' })
    .jpeg({ quality: 85 })
    .toBuffer();
}

/** In MB, of the product with its pools, pages that processes share counted once. */
const megabytesOf = (pid: number) => memoryBelow(pid).reduce((sum, { proportional }) => sum + proportional, 0);

async function peakDuring(pid: number, work: Promise<unknown>): Promise<number> {
  let peak = 0;
  let isOver = false;
  const watching = (async () => {
    while (!isOver) {
      peak = Math.max(peak, megabytesOf(pid));
      await sleep(sampleMs);
    }
  })();
  try {
    await work;
  } finally {
    isOver = true;
    await watching;
  }
  return peak;
}

/** P28: what the largest upscale takes of the machine's memory, in the product and the processes of its pools. */
export const upscaleMemory: Item = {
  name: 'P28',
  title: 'POST /api/studio/upscale from 16 to 64 megapixels: peak memory above that at rest, and its time',
  needs: 'stand',
  async run(stand, cleanup) {
    const image = await picture();
    const server = createServer((_, response) => void response.end(image)).listen(0, '127.0.0.1');
    cleanup.add(() => void server.close());
    await once(server, 'listening');
    const imageUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}/large.jpg`;
    const upscale = () => stand.client.post('/api/studio/upscale', { imageUrl, scale: 2 });
    // The pool's processes are there, with what they load.
    await stand.client.post('/api/studio/generate', { prompt: 'A warm-up' });
    const [peaks, times]: number[][] = [[], []];
    await sleep(2_000);
    // Once: what a process has had it may keep.
    const atRest = megabytesOf(stand.productPid);
    for (let round = 0; round < rounds; round++) {
      const begun = performance.now();
      peaks!.push((await peakDuring(stand.productPid, upscale())) - atRest);
      times!.push(performance.now() - begun);
    }
    server.close();
    return [
      {
        rows: [{ name: 'an upscale', unit: 'ms', values: times! }],
        verdicts: [{ name: 'MB above rest', values: peaks!, aim: { atMost: 400 } }],
      },
    ];
  },
};
