import { type Sample, Unmeasurable } from './samples.ts';
import { readNumber } from './webm-elements.ts';

/** How a block says the sizes of its frames, by the two bits of its flags. */
const lacing = { none: 0, xiph: 1, fixed: 2 };

/** Whether a block has several frames. @param flagsAt where its flags are */
export const hasLaces = (block: Buffer, flagsAt: number): boolean => ((block[flagsAt]! >> 1) & 3) !== lacing.none;

/** A size that Xiph's lacing says: bytes that are added, up to the first that is less than 255. */
function xiphSize(block: Buffer, at: number): { size: number; at: number } {
  let [size, end] = [0, at];
  for (; end < block.length; end++) {
    size += block[end]!;
    if (block[end] !== 255) break;
  }
  return { size, at: end + 1 };
}

/** Sizes of all frames but the last, and where the first frame begins. */
function sizesIn(block: Buffer, start: number, count: number, isXiph: boolean): { sizes: number[]; at: number } {
  const sizes: number[] = [];
  let at = start;
  while (sizes.length < count - 1) {
    if (isXiph) {
      const read = xiphSize(block, at);
      sizes.push(read.size);
      at = read.at;
      continue;
    }
    const read = readNumber(block, at, false);
    if (!read) throw new Unmeasurable();
    // All but the first say how they differ from the one before.
    const before = sizes.at(-1);
    sizes.push(before === undefined ? read.value : before + read.value - (2 ** (7 * read.size - 1) - 1));
    at += read.size;
  }
  return { sizes, at };
}

/**
 * The frames in a block.
 * @param flagsAt where its flags are, behind which the frames begin
 * @throws Unmeasurable for sizes that are not those of the block
 */
export function framesOf(block: Buffer, flagsAt: number): Sample[] {
  const kind = (block[flagsAt]! >> 1) & 3;
  const start = flagsAt + 1;
  if (!hasLaces(block, flagsAt)) return [{ at: start, size: block.length - start }];
  const count = (block[start] ?? 0) + 1;
  const isFixed = kind === lacing.fixed;
  const read = isFixed ? undefined : sizesIn(block, start + 1, count, kind === lacing.xiph);
  let at = read?.at ?? start + 1;
  const left = block.length - at;
  const sizes = read?.sizes ?? Array<number>(count - 1).fill(left / count);
  const last = left - sizes.reduce((sum, size) => sum + size, 0);
  if ([...sizes, last].some((size) => size < 0 || !Number.isInteger(size))) throw new Unmeasurable();
  return [...sizes, last].map((size) => {
    const frame = { at, size };
    at += size;
    return frame;
  });
}
