import type { Measure } from './measures.ts';
import { CollectedSamples, Unmeasurable } from './samples.ts';
import { measureOf } from './webm-codecs.ts';
import { type Element, elements, hidesCluster, ids, readNumber } from './webm-elements.ts';
import { framesOf, hasLaces } from './webm-lacing.ts';

const sound = 2;
/** More than any recording has. */
const maxTracks = 64;
const maxElements = 3_000_000;
/** No name of a codec is as long. */
const maxCodecBytes = 64;
/** Nanoseconds of a unit, where a file does not say. */
const defaultScale = 1_000_000;
/** Times are rounded to units. */
const roundingSeconds = 0.002;

const unsigned = (content: Buffer) => content.subarray(0, 8).reduce((sum, byte) => sum * 256 + byte, 0);

function float(content: Buffer | undefined): number {
  if (content?.length === 4) return content.readFloatBE(0);
  return content?.length === 8 ? content.readDoubleBE(0) : 0;
}

/** What a track says once. */
const fields: ReadonlySet<number> = new Set([
  ids.trackNumber,
  ids.trackType,
  ids.defaultDuration,
  ids.codec,
  ids.codecPrivate,
  ids.encodings,
  ids.audio,
  ids.hertz,
  ids.channels,
  ids.bits,
]);

interface Track {
  fields: Map<number, Buffer>;
  isSound: boolean;
  isOpaque: boolean;
  samples: CollectedSamples;
  /** Times of its blocks, in units. */
  first: number;
  last: number;
  /** From the block before the last to the last. */
  step: number;
}

const codecOf = ({ fields }: Track) =>
  fields.get(ids.codec)?.subarray(0, maxCodecBytes).toString('latin1').split('\0')[0] ?? '';
const numberIn = ({ fields }: Track, id: number) => unsigned(fields.get(id) ?? Buffer.alloc(0));

/** Players take a track of a format of sound for one, too. */
const isSound = (track: Track) => numberIn(track, ids.trackType) === sound || codecOf(track).startsWith('A_');

/** Players lose their way in what they cannot take apart. They take blocks of these formats as they are. */
const opaqueCodecs = ['V_VP', 'V_AV1', 'V_MPEG4/ISO/', 'V_MPEGH/ISO/', 'A_'];

const isOpaque = (track: Track) =>
  !track.fields.has(ids.encodings) && opaqueCodecs.some((prefix) => codecOf(track).startsWith(prefix));

/** @returns undefined for sound that cannot be measured, and also where its packets are encoded once more */
function measureOfTrack(track: Track): Measure | undefined {
  if (track.fields.has(ids.encodings)) return undefined;
  const hertz = float(track.fields.get(ids.hertz)) || 8_000;
  const config = track.fields.get(ids.codecPrivate) ?? Buffer.alloc(0);
  const channels = numberIn(track, ids.channels) || 1;
  return measureOf({ codec: codecOf(track), config, hertz, channels, bits: numberIn(track, ids.bits) });
}

class Recording {
  readonly #tracks: Track[] = [];
  #byNumber = new Map<number, Track>();
  #scale = defaultScale;
  #cluster = 0;
  #elements = 0;

  /** Reads what a file says about its tracks. Players find that behind the sound, too. @throws Unmeasurable */
  readTracks({ id, content }: Element): void {
    if (++this.#elements > maxElements) throw new Unmeasurable();
    if (id === ids.timestampScale) this.#scale = unsigned(content) || defaultScale;
    if (id === ids.track) {
      if (this.#tracks.length >= maxTracks) throw new Unmeasurable();
      const [first, last] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];
      this.#tracks.push({
        fields: new Map(),
        isSound: false,
        isOpaque: false,
        samples: new CollectedSamples(),
        first,
        last,
        step: 0,
      });
    }
    const track = this.#tracks.at(-1);
    if (!track || !fields.has(id)) return;
    if (track.fields.has(id)) throw new Unmeasurable();
    track.fields.set(id, content);
  }

  /** @throws Unmeasurable for tracks with the same number */
  numberTracks(): void {
    this.#byNumber = new Map(this.#tracks.map((track) => [numberIn(track, ids.trackNumber), track]));
    if (this.#byNumber.size < this.#tracks.length) throw new Unmeasurable();
    for (const track of this.#tracks) {
      track.isSound = isSound(track);
      track.isOpaque = isOpaque(track);
    }
  }

  /** Reads the sound. @throws Unmeasurable where players would find another end of an element, and more sound behind it */
  readSound({ id, content, at, isWhole }: Element): void {
    if (id === ids.timestamp) this.#cluster = unsigned(content);
    const isBlock = id === ids.block || id === ids.simpleBlock;
    const number = isBlock ? readNumber(content, 0, false) : undefined;
    const track = number && number.size + 3 <= content.length ? this.#byNumber.get(number.value) : undefined;
    const isRead = isWhole && track?.isOpaque && !hasLaces(content, number!.size + 2);
    if (!isRead && hidesCluster(content)) throw new Unmeasurable();
    if (!number || !track?.isSound) return;
    const time = this.#cluster + content.readInt16BE(number.size);
    if (time > track.last) {
      track.step = Number.isFinite(track.last) ? time - track.last : 0;
      track.last = time;
    }
    track.first = Math.min(track.first, time);
    // The sizes of frames are not those of a block that ends with a truncated file.
    if (!isWhole && hasLaces(content, number.size + 2)) return;
    for (const frame of framesOf(content, number.size + 2)) track.samples.add(at + frame.at, frame.size);
  }

  /** @throws Unmeasurable */
  secondsIn(file: Buffer): number {
    return this.#tracks.reduce((max, track) => Math.max(max, this.#secondsOf(track, file)), 0);
  }

  #secondsOf(track: Track, file: Buffer): number {
    const { samples, first, last, step } = track;
    if (!track.isSound || !Number.isFinite(last)) return 0;
    const measure = measureOfTrack(track);
    if (!measure) throw new Unmeasurable();
    const blockLength = step === 0 ? numberIn(track, ids.defaultDuration) : 0;
    const declared = ((last - first + step) * this.#scale + blockLength) / 1e9;
    return Math.max(declared, samples.count === 0 ? 0 : measure(samples, file) - roundingSeconds);
  }
}

/**
 * The length of the sound of a WebM file: from its first block to its last, whatever its header says, or that of all packets
 * in these blocks if that is longer, because the caller writes the times. Recordings of browsers have no length in their headers.
 * @returns seconds, 0 without sound, and for a file that contradicts itself or has sound that cannot be measured
 */
export function webmSeconds(file: Buffer): number {
  const recording = new Recording();
  try {
    for (const element of elements(file)) recording.readTracks(element);
    recording.numberTracks();
    for (const element of elements(file)) recording.readSound(element);
    return recording.secondsIn(file);
  } catch (error) {
    if (error instanceof Unmeasurable) return 0;
    throw error;
  }
}
