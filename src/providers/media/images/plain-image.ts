import { crc32 } from 'node:zlib';
import { exifHead, isSmallProfile, maxProfileBytes, orientationAlone } from './image-metadata.ts';

/** Each scan of a JPEG goes over the whole image. Encoders write about ten. */
const maxScans = 64;

/** A chunk of a PNG unchanged, or undefined for an omitted one. `found` holds the names of the kept ones. */
function keptOfPng(name: string, whole: Buffer, found: Set<string>): Buffer | undefined {
  const isCritical = name.charCodeAt(0) >= 0x41 && name.charCodeAt(0) <= 0x5a;
  if (isCritical) return whole;
  if (found.has(name)) return undefined;
  const content = whole.subarray(8, -4);
  if (name === 'tRNS') return whole;
  if (name === 'iCCP') return isSmallProfile(content) ? whole : undefined;
  const exif = name === 'eXIf' ? orientationAlone(content) : undefined;
  return exif && pngChunk(name, exif);
}

function pngChunk(name: string, content: Buffer): Buffer {
  const chunk = Buffer.alloc(content.length + 12);
  chunk.writeUInt32BE(content.length);
  chunk.write(name, 4, 'latin1');
  content.copy(chunk, 8);
  chunk.writeUInt32BE(crc32(chunk.subarray(4, -4)), content.length + 8);
  return chunk;
}

function plainPng(file: Buffer): Buffer[] {
  const parts = [file.subarray(0, 8)];
  const found = new Set<string>();
  for (let at = 8; at + 8 <= file.length; ) {
    const name = file.toString('latin1', at + 4, at + 8);
    const end = at + 12 + file.readUInt32BE(at);
    const kept = keptOfPng(name, file.subarray(at, end), found);
    if (kept) {
      parts.push(kept);
      found.add(name);
    }
    if (name === 'IEND') break;
    at = end;
  }
  return parts;
}

const marker = { app0: 0xe0, app1: 0xe1, app2: 0xe2, app14: 0xee, app15: 0xef, comment: 0xfe } as const;
const [startOfScan, endOfImage] = [0xda, 0xd9];

/** Whether a marker has no length: fill bytes, stuffed bytes, TEM, and RST0 to SOI. */
const isAlone = (code: number) => code === 0xff || code <= 0x01 || (code >= 0xd0 && code <= 0xd8);

const iccHead = Buffer.from('ICC_PROFILE\0', 'latin1');

const startsWith = (content: Buffer, head: Buffer) => content.subarray(0, head.length).equals(head);

/** Keeps the segments of a JPEG that decide its colors and its orientation. */
class JpegSegments {
  readonly #found = new Set<number>();
  readonly #profile: Buffer[] = [];
  #profileBytes = 0;

  add(code: number, whole: Buffer): Buffer | undefined {
    if (code !== marker.comment && (code < marker.app0 || code > marker.app15)) return whole;
    const content = whole.subarray(4);
    if (code === marker.app2 && startsWith(content, iccHead)) this.#addProfile(whole);
    if (this.#found.has(code)) return undefined;
    if (code === marker.app1) return this.#orientation(content);
    if (code !== marker.app0 && code !== marker.app14) return undefined;
    this.#found.add(code);
    return whole;
  }

  /** The profile, which can span several segments. */
  get profile(): Buffer[] {
    return this.#profileBytes > maxProfileBytes ? [] : this.#profile;
  }

  #addProfile(whole: Buffer): void {
    this.#profileBytes += whole.length;
    if (this.#profileBytes <= maxProfileBytes) this.#profile.push(whole);
  }

  #orientation(content: Buffer): Buffer | undefined {
    const tiff = startsWith(content, exifHead) ? orientationAlone(content) : undefined;
    if (!tiff) return undefined;
    this.#found.add(marker.app1);
    const head = Buffer.from([0xff, marker.app1, 0, 2 + exifHead.length + tiff.length]);
    return Buffer.concat([head, exifHead, tiff]);
  }
}

/** The index of the next marker that is followed by a segment, or that ends the image. */
function nextMarker(file: Buffer, start: number): number {
  for (let at = file.indexOf(0xff, start); at >= 0; at = file.indexOf(0xff, at + 1)) {
    const code = file[at + 1];
    if (code !== undefined && !isAlone(code)) return at;
  }
  return file.length;
}

function plainJpeg(file: Buffer): Buffer[] | undefined {
  const parts: Buffer[] = [];
  const segments = new JpegSegments();
  let scans = 0;
  for (let at = nextMarker(file, 2); at + 4 <= file.length || file[at + 1] === endOfImage; ) {
    const code = file[at + 1]!;
    if (code === endOfImage) {
      parts.push(file.subarray(at, at + 2));
      break;
    }
    const end = at + 2 + file.readUInt16BE(at + 2);
    const next = nextMarker(file, end);
    if (code === startOfScan && ++scans > maxScans) return undefined;
    // The image's data follows the head of a scan. Elsewhere nothing belongs between two segments.
    const kept = segments.add(code, file.subarray(at, code === startOfScan ? next : end));
    if (kept) parts.push(kept);
    at = next;
  }
  return [file.subarray(0, 2), ...segments.profile, ...parts];
}

/** Bits of the head of an extended WebP that say which chunks there are. */
const webpFlags = { ICCP: 0x20, EXIF: 0x08, 'XMP ': 0x04 } as const;
const imageChunks = new Set(['VP8 ', 'VP8L', 'ALPH', 'ANIM', 'ANMF']);

function webpChunk(name: string, content: Buffer): Buffer {
  const chunk = Buffer.alloc(8 + content.length + (content.length % 2));
  chunk.write(name, 'latin1');
  chunk.writeUInt32LE(content.length, 4);
  content.copy(chunk, 8);
  return chunk;
}

function keptOfWebp(name: string, whole: Buffer): Buffer | undefined {
  if (imageChunks.has(name)) return whole;
  const content = whole.subarray(8);
  if (name === 'ICCP') return content.length <= maxProfileBytes ? whole : undefined;
  const exif = name === 'EXIF' ? orientationAlone(content) : undefined;
  return exif && webpChunk(name, exif);
}

/** The first image alone, of a moving one too. */
function plainWebp(file: Buffer): Buffer[] {
  const head = Buffer.from(file.subarray(0, 12));
  const parts: Buffer[] = [head];
  const found = new Set<string>();
  let flags: Buffer | undefined;
  let size = 4;
  for (let at = 12; at + 8 <= file.length; ) {
    const name = file.toString('latin1', at, at + 4);
    const length = file.readUInt32LE(at + 4);
    const end = at + 8 + length + (length % 2);
    const whole = file.subarray(at, end);
    at = end;
    if (found.has(name)) continue;
    if (name === 'VP8X') flags = Buffer.from(whole);
    const kept = name === 'VP8X' ? flags : keptOfWebp(name, whole);
    if (!kept) continue;
    found.add(name);
    parts.push(kept);
    // A truncated chunk counts with its full size, so that the decoder sees that it is truncated.
    size += kept.length + (end - Math.min(end, file.length));
  }
  if (flags && flags.length > 8) {
    const present = Object.entries(webpFlags).filter(([name]) => found.has(name));
    const all = Object.values(webpFlags).reduce((sum, bit) => sum | bit, 0);
    flags[8] = (flags[8]! & ~all) | present.reduce((sum, [, bit]) => sum | bit, 0);
  }
  head.writeUInt32LE(size, 4);
  return parts;
}

/**
 * The parts of an image's file that its pixels and their colours need. Other parts (texts, EXIF, XMP, comments,
 * profiles larger than 1 MiB, further images) are left out without being unpacked: some of them take more work than the
 * image. The orientation in EXIF stays. Takes linear time.
 * @returns undefined for a JPEG with more than 64 scans
 */
export function plainImage(file: Buffer): Buffer[] | undefined {
  if (file[0] === 0x89) return plainPng(file);
  return file[0] === 0xff ? plainJpeg(file) : plainWebp(file);
}
