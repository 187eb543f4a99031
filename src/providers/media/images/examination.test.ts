import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import sharp from 'sharp';
import { tenantKeyOf } from '../../../../test/platform/tenant-key.ts';
import { BoundedWork } from '../../../platform/bounded-work/bounded-work.ts';
import { openLog } from '../../../platform/observability/log.ts';
import { examineImage } from './examination.ts';

let folder: string;
let work: BoundedWork;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'examination-'));
  work = new BoundedWork({ log: openLog('error', 'test'), tasks: [examineImage] });
});
afterAll(async () => {
  work.close();
  await rm(folder, { recursive: true });
});

async function examine(content: Buffer, transparency = false) {
  const path = join(folder, 'image');
  await writeFile(path, content);
  return work.run(examineImage, tenantKeyOf('one'), { path, maxPixels: 100_000, transparency });
}

const red = { r: 220, g: 20, b: 30 };
const blank = (width: number, height: number) => sharp({ create: { width, height, channels: 3, background: '#fff' } });
const rgba = (alpha: number) => sharp({ create: { width: 8, height: 6, channels: 4, background: { ...red, alpha } } });
const noise = (width: number, height: number) =>
  sharp(Buffer.from(Array.from({ length: width * height * 3 }, (_, at) => (at * 2_654_435_761) >>> 24)), {
    raw: { width, height, channels: 3 },
  });

test('an image is known by its size when it is upright, and by its pixels', async () => {
  const turned = await blank(30, 20).withMetadata({ orientation: 6 }).jpeg().toBuffer();
  expect(await examine(turned)).toEqual({ size: { width: 20, height: 30 }, hasTransparency: false });
  const opaque = await rgba(1).png().toBuffer();
  expect(await examine(opaque)).toEqual({ size: { width: 8, height: 6 }, hasTransparency: true });
  expect(await examine(opaque, true)).toEqual({ size: { width: 8, height: 6 }, hasTransparency: false });
  expect(await examine(await rgba(0.5).webp().toBuffer(), true)).toMatchObject({ hasTransparency: true });
});

test('an image is refused when the last of it is missing, and when it is too large or none', async () => {
  const picture = noise(300, 200);
  const all = [await picture.png().toBuffer(), await picture.jpeg().toBuffer(), await picture.webp().toBuffer()];
  for (const whole of all) {
    expect(await examine(whole)).toMatchObject({ size: { width: 300, height: 200 } });
    const cut = whole.subarray(0, Math.floor(whole.length * 0.98));
    expect(await examine(cut)).toEqual({ refused: 'undecodable' });
  }
  expect(await examine(await blank(400, 300).png().toBuffer())).toEqual({ refused: 'pixels' });
  expect(await examine(Buffer.from('GIF89a'))).toEqual({ refused: 'format' });
});
