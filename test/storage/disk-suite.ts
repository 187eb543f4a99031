import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { buffer } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { Disk } from '../../src/storage/ports.ts';
import type { Spool } from '../../src/storage/spool.ts';
import { until } from '../until.ts';

export interface DiskUnderTest {
  spool: Spool;
  /** The objects that it is sending, where that can be known. */
  sending?: () => number;
}

const newName = () => `${randomBytes(32).toString('base64url')}.png`;

/** The conformance suite: what is said of a disk holds for each of them. */
export function describeDisk(kind: string, open: () => Disk, { spool, sending }: DiskUnderTest): void {
  describe(kind, () => {
    let disk: Disk;
    beforeAll(() => {
      disk = open();
    });
    afterAll(() => disk.close());

    const stored = async (content: Buffer) => {
      const name = newName();
      const spooled = await spool.write(name, content, { maxBytes: content.length });
      await disk.put(name, spooled);
      await spool.discard(spooled);
      return name;
    };
    const read = async (name: string, first?: number, last?: number) => {
      const range = first === undefined ? undefined : { first, last: last! };
      const stream = await disk.open(name, range);
      return stream && buffer(stream);
    };

    test('gives back what was put, whole and in part', async () => {
      for (const bytes of [0, 1, 65_537, 3 * 1024 * 1024]) {
        const content = randomBytes(bytes);
        const name = await stored(content);
        expect(content.equals((await read(name))!)).toBe(true);
        if (bytes < 2) continue;
        expect(content.subarray(5, 65_537).equals((await read(name, 5, 65_536))!)).toBe(true);
        expect(content.subarray(-1).equals((await read(name, bytes - 1, bytes - 1))!)).toBe(true);
      }
    });

    test('knows no other name, and forgets what was removed', async () => {
      expect(await disk.open(newName(), undefined)).toBeUndefined();
      const name = await stored(Buffer.from('x'));
      await disk.remove(name);
      await disk.remove(name);
      expect(await disk.open(name, undefined)).toBeUndefined();
    });

    test('keeps nothing open of a reader that leaves', async () => {
      const name = await stored(Buffer.alloc(16 * 1024 * 1024));
      const stream = (await disk.open(name, undefined))!;
      await once(stream, 'readable');
      if (sending) expect(sending()).toBe(1);
      stream.destroy();
      await until('the other side has noticed', async () => !sending || sending() === 0);
      await disk.remove(name);
    });
  });
}
