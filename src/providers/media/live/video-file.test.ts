import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { videoFile } from '../../../../test/fakes/media-files.ts';
import { readVideoHeader } from '../../core/media/mp4-header.ts';
import { readVideoFile } from './video-file.ts';

let folder: string;
let mp4: Buffer;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'video-file-'));
  mp4 = (await videoFile({ width: 320, height: 192 }, 5)).bytes;
});
afterAll(() => rm(folder, { recursive: true }));

async function read(...parts: Uint8Array[]) {
  const path = join(folder, 'video.mp4');
  await writeFile(path, Buffer.concat(parts));
  return readVideoFile(path);
}

function box(type: string, ...contents: Buffer[]): Buffer {
  const content = Buffer.concat(contents);
  const head = Buffer.alloc(8);
  head.writeUInt32BE(8 + content.length);
  head.write(type, 4, 'latin1');
  return Buffer.concat([head, content]);
}
const words = (...values: number[]) => Buffer.from(new Uint32Array(values).buffer).swap32();

/** The boxes of the file, by their types. */
function topBoxes(): Map<string, Buffer> {
  const found = new Map<string, Buffer>();
  for (let at = 0; at < mp4.length; at += mp4.readUInt32BE(at)) {
    found.set(mp4.toString('latin1', at + 4, at + 8), mp4.subarray(at, at + mp4.readUInt32BE(at)));
  }
  return found;
}

const header = { width: 320, height: 192, seconds: 5 };

test('size and length are read wherever the index stands', async () => {
  expect(await read(mp4)).toEqual(header);
  const { ftyp, moov, mdat } = Object.fromEntries(topBoxes()) as Record<string, Buffer>;
  expect(await read(ftyp!, mdat!, box('free', Buffer.alloc(5)), moov!)).toEqual(header);
  expect(await read(ftyp!, moov!, mdat!)).toEqual(header);
  // A box that goes on to the end of the file, and one with a long size.
  const open = Buffer.from(mdat!);
  open.writeUInt32BE(0, 0);
  expect(await read(ftyp!, moov!, open)).toEqual(header);
  const long = Buffer.concat([words(1), Buffer.from('mdat'), words(0, mdat!.length + 8), mdat!.subarray(8)]);
  expect(await read(ftyp!, long, moov!)).toEqual(header);
});

test('what is cut, has no pictures or no index is damaged, and what is no MP4 is of another type', async () => {
  const { ftyp, moov, mdat } = Object.fromEntries(topBoxes()) as Record<string, Buffer>;
  for (const part of [0.3, 0.5, 0.99])
    expect(await read(mp4.subarray(0, Math.floor(mp4.length * part)))).toBe('damaged');
  expect(await read(ftyp!, moov!)).toBe('damaged');
  expect(await read(ftyp!, mdat!)).toBe('damaged');
  expect(await read(ftyp!, box('moov'), mdat!)).toBe('damaged');
  expect(await read(ftyp!, Buffer.alloc(100))).toBe('damaged');
  for (const other of [Buffer.alloc(0), Buffer.from('<html>'), Buffer.from('RIFF....WAVE........')]) {
    expect(await read(other)).toBe('another type');
  }
});

test('a film in fragments has the length of its extension', () => {
  const tkhd = box('tkhd', Buffer.alloc(76), words(640 * 65_536, 360 * 65_536));
  const hdlr = box('hdlr', Buffer.alloc(8), Buffer.from('vide'), Buffer.alloc(13));
  const track = (seconds: number) =>
    box('trak', tkhd, box('mdia', hdlr, box('mdhd', words(0, 0, 0, 1_000, seconds * 1_000, 0))));
  const film = box('mvhd', words(0, 0, 0, 600, 0), Buffer.alloc(80));
  const sound = box('trak', box('mdia', box('hdlr', Buffer.alloc(8), Buffer.from('soun'), Buffer.alloc(13))));
  const extension = box('mvex', box('mehd', words(0, 3_000)));
  expect(readVideoHeader(Buffer.concat([film, sound, track(0), extension]))).toEqual({
    width: 640,
    height: 360,
    seconds: 5,
  });
  expect(readVideoHeader(Buffer.concat([film, sound, track(7)]))).toEqual({ width: 640, height: 360, seconds: 7 });
  expect(readVideoHeader(Buffer.concat([film, sound, track(0)]))).toBeUndefined();
  expect(readVideoHeader(Buffer.concat([film, sound]))).toBeUndefined();
});

test('no bytes of an index are too much for it', () => {
  const moov = topBoxes().get('moov')!.subarray(8);
  fc.assert(
    fc.property(fc.array(fc.tuple(fc.nat(moov.length - 1), fc.nat(255)), { maxLength: 20 }), (changes) => {
      const changed = Buffer.from(moov);
      for (const [at, value] of changes) changed[at] = value;
      readVideoHeader(changed);
    }),
  );
  fc.assert(fc.property(fc.uint8Array({ maxLength: 300 }), (bytes) => void readVideoHeader(bytes)));
});
