/** Ids of elements, with their marks. */
const ids = {
  segment: 0x18538067,
  info: 0x1549a966,
  timestampScale: 0x2ad7b1,
  tracks: 0x1654ae6b,
  track: 0xae,
  trackNumber: 0xd7,
  trackType: 0x83,
  defaultDuration: 0x23e383,
  cluster: 0x1f43b675,
  timestamp: 0xe7,
  group: 0xa0,
  block: 0xa1,
  simpleBlock: 0xa3,
} as const;

/** Elements whose contents are walked through like what follows them: live recordings do not know their sizes. */
const entered: ReadonlySet<number> = new Set([ids.segment, ids.info, ids.tracks, ids.track, ids.cluster, ids.group]);

const sound = 2;
/** More than any recording has. */
const maxTracks = 64;
/** Nanoseconds of a unit, where a file does not say. */
const defaultScale = 1_000_000;

interface VariableNumber {
  value: number;
  /** In bytes. */
  size: number;
}

/** A number of variable size. @param keepsMark true for ids */
function readNumber(file: Buffer, at: number, keepsMark: boolean): VariableNumber | undefined {
  const first = file[at];
  if (first === undefined || first === 0) return undefined;
  const size = Math.clz32(first) - 23;
  if (at + size > file.length) return undefined;
  let value = keepsMark ? first : first & (0xff >> size);
  for (let index = 1; index < size; index++) value = value * 256 + file[at + index]!;
  return { value, size };
}

const unsigned = (content: Buffer) => [...content.subarray(0, 8)].reduce((sum, byte) => sum * 256 + byte, 0);

interface Track {
  number: number;
  isSound: boolean;
  /** Nanoseconds of a block. */
  blockLength: number;
  /** Times of its blocks, in units. */
  first: number;
  last: number;
  /** From the block before the last to the last. */
  step: number;
}

class Recording {
  readonly #tracks: Track[] = [];
  #scale = defaultScale;
  #cluster = 0;

  enter(id: number): void {
    if (id !== ids.track || this.#tracks.length >= maxTracks) return;
    const [first, last] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];
    this.#tracks.push({ number: 0, isSound: false, blockLength: 0, first, last, step: 0 });
  }

  read(id: number, content: Buffer): void {
    const track = this.#tracks.at(-1);
    if (id === ids.timestampScale) this.#scale = unsigned(content) || defaultScale;
    else if (id === ids.timestamp) this.#cluster = unsigned(content);
    else if (id === ids.trackNumber && track) track.number = unsigned(content);
    else if (id === ids.trackType && track) track.isSound = unsigned(content) === sound;
    else if (id === ids.defaultDuration && track) track.blockLength = unsigned(content);
    else if (id === ids.block || id === ids.simpleBlock) this.#readBlock(content);
  }

  #readBlock(content: Buffer): void {
    const number = readNumber(content, 0, false);
    const track = this.#tracks.find((one) => one.isSound && one.number === number?.value);
    if (!number || !track || number.size + 2 > content.length) return;
    const time = this.#cluster + content.readInt16BE(number.size);
    if (time > track.last) {
      track.step = Number.isFinite(track.last) ? time - track.last : 0;
      track.last = time;
    }
    track.first = Math.min(track.first, time);
  }

  get seconds(): number {
    const lengths = this.#tracks
      .filter(({ isSound, last }) => isSound && Number.isFinite(last))
      .map(
        ({ first, last, step, blockLength }) => (last - first + step) * this.#scale + (step === 0 ? blockLength : 0),
      );
    return Math.max(0, ...lengths) / 1e9;
  }
}

/**
 * The length of the sound of a WebM file: from its first block to its last, whatever its header says. Recordings of
 * browsers have no length in their headers.
 * @returns seconds, 0 without sound
 */
export function webmSeconds(file: Buffer): number {
  const recording = new Recording();
  for (let at = 0; at < file.length; ) {
    const id = readNumber(file, at, true);
    const size = id && readNumber(file, at + id.size, false);
    if (!id || !size) break;
    const start = at + id.size + size.size;
    if (entered.has(id.value)) {
      recording.enter(id.value);
      at = start;
    } else {
      recording.read(id.value, file.subarray(start, Math.min(file.length, start + size.value)));
      at = start + size.value;
    }
  }
  return recording.seconds;
}
