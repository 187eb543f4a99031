import { long, short, uint } from './mp4-boxes.ts';
import { maxSamples, type Samples, Unmeasurable } from './samples.ts';

/** The sizes of samples: one for all, or a table. */
interface Sizes {
  count: number;
  /** The size of the sample with this index, in bytes. */
  of(index: number): number;
  bytes: number;
}

function sizesOf(stsz: Buffer | undefined, stz2: Buffer | undefined): Sizes {
  const uniform = uint(stsz, 4);
  if (uniform > 0) {
    const count = uint(stsz, 8);
    return { count, of: () => uniform, bytes: count * uniform };
  }
  const table = stsz ?? stz2;
  if (!table) return { count: 0, of: () => 0, bytes: 0 };
  const bits = stsz ? 32 : table[7]!;
  const count = Math.min(uint(table, 8), Math.floor(((table.length - 12) * 8) / Math.max(4, bits)));
  const of = (index: number) => {
    if (bits === 32) return uint(table, 12 + index * 4);
    if (bits === 16) return short(table, 12 + index * 2);
    if (bits === 8) return table[12 + index] ?? 0;
    return ((table[12 + (index >> 1)] ?? 0) >> (index % 2 === 0 ? 4 : 0)) & 15;
  };
  let bytes = 0;
  for (let index = 0; index < count; index++) bytes += of(index);
  return { count, of, bytes };
}

/** The samples in the tables of a track: their sizes, how many a chunk has, and where the chunks are. */
export function samplesInTables(tables: ReadonlyMap<string, Buffer>): Samples {
  const sizes = sizesOf(tables.get('stsz'), tables.get('stz2'));
  const [stsc, stco, co64] = [tables.get('stsc'), tables.get('stco'), tables.get('co64')];
  const chunks = uint(stco ?? co64, 4);
  const offsetOf = (chunk: number) => (stco ? uint(stco, 8 + chunk * 4) : long(co64!, 8 + chunk * 8));
  return {
    count: sizes.count,
    bytes: sizes.bytes,
    *[Symbol.iterator]() {
      let [index, entry] = [0, 0];
      for (let chunk = 0; chunk < chunks && index < sizes.count; chunk++) {
        // An entry says how many samples each chunk has, from the one that it names.
        while (entry + 1 < uint(stsc, 4) && uint(stsc, 8 + (entry + 1) * 12) <= chunk + 1) entry++;
        let at = offsetOf(chunk);
        for (let left = uint(stsc, 12 + entry * 12); left > 0 && index < sizes.count; left--, index++) {
          if (index >= maxSamples) throw new Unmeasurable();
          const size = sizes.of(index);
          yield { at, size };
          at += size;
        }
      }
    },
  };
}
