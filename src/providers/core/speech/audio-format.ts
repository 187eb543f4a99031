/** Formats of recordings, by the ending of their files. */
export type AudioFormat = 'mp3' | 'mp4' | 'wav' | 'webm';

/** As many bytes as are needed to recognize the format. */
export const formatBytes = 12;

const beginsWith = (head: Uint8Array, bytes: readonly number[], at = 0) =>
  bytes.every((byte, index) => head[at + index] === byte);
const ascii = (text: string) => [...text].map((letter) => letter.charCodeAt(0));

const [id3, riff, wave, ftyp] = ['ID3', 'RIFF', 'WAVE', 'ftyp'].map(ascii) as [number[], number[], number[], number[]];
const ebml = [0x1a, 0x45, 0xdf, 0xa3];

/** The start of a frame of MPEG audio: eleven bits, then neither a reserved version nor a reserved layer. */
const isFrame = ([first, second = 0]: Uint8Array) =>
  first === 0xff && (second & 0xe0) === 0xe0 && (second & 0x18) !== 0x08 && (second & 0x06) !== 0;

/**
 * The format that the first bytes of a file have, whatever its name says.
 * @param head its first 12 bytes, or all of a shorter file
 * @returns undefined for any other file
 */
export function audioFormatOf(head: Uint8Array): AudioFormat | undefined {
  if (beginsWith(head, id3) || isFrame(head)) return 'mp3';
  if (beginsWith(head, ftyp, 4)) return 'mp4';
  if (beginsWith(head, riff) && beginsWith(head, wave, 8)) return 'wav';
  return beginsWith(head, ebml) ? 'webm' : undefined;
}
