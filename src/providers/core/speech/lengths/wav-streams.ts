/** The word of 16 bits with this index behind the start of a frame. */
type Words = (index: number) => number;

/** Bytes of frames by their first words, 0 for words that begin none. */
type FrameSize = (word: Words) => number;

/** As many words as say the size of a frame. */
const headWords = 5;

/** AAC in ADTS. */
const adts: FrameSize = (word) => {
  const isFrame = (word(0) & 0xfff6) === 0xfff0 && ((word(1) >> 10) & 15) <= 12;
  return isFrame ? ((word(1) & 3) << 11) | (word(2) >> 5) : 0;
};

/** Kilobits of a stream of AC-3. */
const ac3Rates = [32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320, 384, 448, 512, 576, 640];

/** AC-3, and its successor from version 11. */
const ac3: FrameSize = (word) => {
  if (word(0) !== 0x0b77) return 0;
  const [version, rate, code] = [(word(2) >> 3) & 31, (word(2) >> 14) & 3, (word(2) >> 8) & 63];
  if (version > 16) return 0;
  if (version > 10) return ((word(1) & 0x7ff) + 1) * 2;
  const kilobits = ac3Rates[code >> 1] ?? 0;
  if (rate === 1) return (Math.floor((kilobits * 320) / 147) + (code & 1)) * 2;
  return rate === 3 ? 0 : kilobits * (rate === 0 ? 4 : 6);
};

/** DTS, of which a word has 16 bits or, on discs, 14. */
const dts: FrameSize = (word) => {
  if (word(0) === 0x7ffe && word(1) === 0x8001) return (((word(2) & 3) << 12) | (word(3) >> 4)) + 1;
  if (word(0) !== 0x1fff || word(1) !== 0xe800 || word(2) >> 4 !== 0x7f) return 0;
  const bytes = (((word(3) & 0x3ff) << 4) | ((word(4) >> 10) & 15)) + 1;
  return Math.floor((bytes * 8) / 14) * 2;
};

/** Words are written from either end. The words of ADTS are not: its frames begin at any byte. */
const bigEndian = (data: Buffer, at: number) => (data[at]! << 8) | data[at + 1]!;
const littleEndian = (data: Buffer, at: number) => (data[at + 1]! << 8) | data[at]!;
const streams: [FrameSize, typeof bigEndian][] = [
  [adts, bigEndian],
  [ac3, bigEndian],
  [ac3, littleEndian],
  [dts, bigEndian],
  [dts, littleEndian],
];

/** Whether a frame of any of them may begin with this word: few do, so that a long recording costs little. */
const isStart = (word: number) =>
  (word & 0xfff6) === 0xfff0 ||
  word === 0x0b77 ||
  word === 0x770b ||
  word === 0x7ffe ||
  word === 0xfe7f ||
  word === 0x1fff ||
  word === 0xff1f;

/** Players look at the start of a recording alone, at most at so much. */
const maxBytes = 5_000_000;

/** So many frames in a row are not found by chance. */
const minFrames = 5;

function beginsStream(data: Buffer, start: number, [sizeOf, read]: (typeof streams)[number]): boolean {
  let at = start;
  for (let count = 0; count < minFrames; count++) {
    if (at + headWords * 2 > data.length) return false;
    const size = sizeOf((index) => read(data, at + index * 2));
    if (size < headWords) return false;
    at += size;
  }
  return true;
}

/**
 * Whether data that is declared not to be compressed is a stream of AAC, AC-3 or DTS. Some players recognize that and play it,
 * which is longer than the data would be.
 */
export function hasCompressedStream(data: Buffer): boolean {
  const end = Math.min(data.length - headWords * 2, maxBytes);
  for (let at = 0; at <= end; at++) {
    if (isStart(bigEndian(data, at)) && streams.some((stream) => beginsStream(data, at, stream))) return true;
  }
  return false;
}
