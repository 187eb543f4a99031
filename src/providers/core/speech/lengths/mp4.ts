import type { Measure } from './measures.ts';
import { allBoxes, type Box, long, uint } from './mp4-boxes.ts';
import { measureOf } from './mp4-codecs.ts';
import { samplesInTables } from './mp4-samples.ts';
import { CollectedSamples, type Samples, Unmeasurable } from './samples.ts';

/** Tables that a track has once. */
const tableTypes = new Set(['tkhd', 'mdhd', 'stsd', 'stts', 'stsz', 'stz2', 'stsc', 'stco', 'co64']);

/** More than any recording has. */
const maxTracks = 64;
const maxBoxes = 500_000;

interface Track {
  tables: Map<string, Buffer>;
  handlers: Set<string>;
  /** Length of all samples in fragments by their own figures, in units. */
  length: number;
  samples: CollectedSamples;
}

/** Defaults of the samples of a fragment, and where the next of them begins. */
interface Fragment {
  track: Track | undefined;
  base: number;
  at: number;
  sampleLength: number;
  sampleSize: number;
}

const flagsOf = (buffer: Buffer) => uint(buffer, 0) & 0xff_ffff;

/** The length of all samples, from the table of their lengths. */
function lengthInTable(table: Buffer | undefined): number {
  const count = uint(table, 4);
  let length = 0;
  for (let entry = 0, at = 8; entry < count && at + 8 <= table!.length; entry++, at += 8) {
    length += uint(table, at) * uint(table, at + 4);
  }
  return length;
}

const idOf = ({ tables }: Track) => uint(tables.get('tkhd'), tables.get('tkhd')?.[0] === 1 ? 20 : 12);
const scaleOf = ({ tables }: Track) => uint(tables.get('mdhd'), tables.get('mdhd')?.[0] === 1 ? 20 : 12);

/** Reads the optional fields of a box one after the other. */
function fieldReader(box: Buffer, start: number): (isThere: boolean, size: number) => number | undefined {
  let at = start;
  return (isThere, size) => {
    if (!isThere) return undefined;
    at += size;
    return size === 8 ? long(box, at - 8) : uint(box, at - 4);
  };
}

class Recording {
  readonly #file: Buffer;
  readonly #tracks: Track[] = [];
  readonly #defaults = new Map<number, { length: number; size: number }>();
  #hasMovie = false;
  #boxes = 0;
  #moof = 0;
  #fragment: Fragment | undefined;

  constructor(file: Buffer) {
    this.#file = file;
  }

  /** @throws Unmeasurable */
  read({ type, content, head }: Box): void {
    if (++this.#boxes > maxBoxes) throw new Unmeasurable();
    const track = this.#tracks.at(-1);
    if (type === 'moov') {
      if (this.#hasMovie) throw new Unmeasurable();
      this.#hasMovie = true;
    } else if (type === 'trak') {
      if (this.#tracks.length >= maxTracks) throw new Unmeasurable();
      this.#tracks.push({ tables: new Map(), handlers: new Set(), length: 0, samples: new CollectedSamples() });
    } else if (type === 'hdlr' && track) {
      track.handlers.add(content.toString('latin1', 8, 12));
    } else if (tableTypes.has(type) && track) {
      if (track.tables.has(type)) throw new Unmeasurable();
      track.tables.set(type, content);
    } else if (type === 'trex') {
      this.#defaults.set(uint(content, 4), { length: uint(content, 12), size: uint(content, 16) });
    } else if (type === 'moof') {
      this.#moof = content.byteOffset - this.#file.byteOffset - head;
      this.#fragment = undefined;
    } else if (type === 'tfhd') this.#beginFragment(content);
    else if (type === 'trun') this.#readRun(content);
  }

  #beginFragment(header: Buffer): void {
    const [flags, id] = [flagsOf(header), uint(header, 4)];
    const read = fieldReader(header, 8);
    const has = (flag: number) => (flags & flag) !== 0;
    const ownBase = read(has(0x1), 8);
    read(has(0x2), 4);
    const [length, size] = [read(has(0x8), 4), read(has(0x10), 4)];
    const defaults = this.#defaults.get(id);
    // Without a base of its own the data of a track follows that of the one before.
    const base = ownBase ?? (has(0x2_0000) ? this.#moof : (this.#fragment?.at ?? this.#moof));
    this.#fragment = {
      track: this.#tracks.find((track) => idOf(track) === id),
      base,
      at: base,
      sampleLength: length ?? defaults?.length ?? 0,
      sampleSize: size ?? defaults?.size ?? 0,
    };
  }

  #readRun(run: Buffer): void {
    const fragment = this.#fragment;
    if (!fragment?.track) return;
    const { track, sampleLength, sampleSize } = fragment;
    const [flags, count] = [flagsOf(run), uint(run, 4)];
    const has = (flag: number) => (flags & flag) !== 0;
    if (has(0x1)) fragment.at = fragment.base + (uint(run, 8) | 0);
    const bytes = [0x100, 0x200, 0x400, 0x800].filter(has).length * 4;
    const start = 8 + [0x1, 0x4].filter(has).length * 4;
    const samples = bytes === 0 ? count : Math.min(count, Math.floor((run.length - start) / bytes));
    for (let sample = 0, at = start; sample < samples; sample++, at += bytes) {
      const size = has(0x200) ? uint(run, at + (has(0x100) ? 4 : 0)) : sampleSize;
      track.length += has(0x100) ? uint(run, at) : sampleLength;
      track.samples.add(fragment.at, size);
      fragment.at += size;
    }
  }

  /** @throws Unmeasurable */
  get seconds(): number {
    return this.#tracks.reduce((max, track) => Math.max(max, this.#secondsOf(track)), 0);
  }

  #secondsOf(track: Track): number {
    const { tables, handlers } = track;
    const measure = tables.has('stsd') ? measureOf(tables.get('stsd')!) : undefined;
    // Players take a track of a format of sound for one, too, unless it says that it is a video.
    if (!handlers.has('soun') && (!measure || handlers.has('vide'))) return 0;
    if (!measure || (tables.has('stsz') && tables.has('stz2')) || (tables.has('stco') && tables.has('co64'))) {
      throw new Unmeasurable();
    }
    const measured = this.#measure(measure, samplesInTables(tables)) + this.#measure(measure, track.samples);
    const scale = scaleOf(track);
    const declared = scale > 0 ? (lengthInTable(tables.get('stts')) + track.length) / scale : 0;
    return Math.max(declared, measured);
  }

  #measure(measure: Measure, samples: Samples): number {
    return samples.count === 0 ? 0 : measure(samples, this.#file);
  }
}

/**
 * The length of the sound of an MP4 file: that of all samples of its longest sound track, also in fragments. It is the longer
 * one of what the tables of the file say and what the samples themselves are: the caller writes the tables.
 * @returns seconds, 0 without sound, and for a file that says a thing twice or has sound that cannot be measured
 */
export function mp4Seconds(file: Buffer): number {
  const recording = new Recording(file);
  try {
    for (const box of allBoxes(file)) recording.read(box);
    return recording.seconds;
  } catch (error) {
    if (error instanceof Unmeasurable) return 0;
    throw error;
  }
}
