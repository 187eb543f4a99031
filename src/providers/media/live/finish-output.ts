// Runs in a process of the pool.
import { open, readFile, writeFile } from 'node:fs/promises';
import { encodeMp3, mp3Seconds } from '../../speech/audio/mp3.ts';
import { readWav } from '../../speech/audio/wav.ts';
import { perform as examine } from '../images/examine-image.ts';
import { type ImageProblem, openImage, type Size } from '../images/open-image.ts';
import { readVideoFile } from './video-file.ts';

/** A file of a provider, and its expected format. Paths are files of the local disk. */
export interface Finishing {
  kind: 'image' | 'video' | 'sound';
  path: string;
  /** Where another file is written, if this one has another format than is wanted. */
  output: string;
  maxPixels: number;
  /** For images: the result is a PNG, and reports whether any pixel is not opaque. */
  asCutOut: boolean;
}

/** The format of the file, or its problem in words that follow "The file". */
export type Finished =
  | {
      type: 'png' | 'jpg' | 'webp' | 'mp4' | 'mp3';
      path: string;
      size: Size | null;
      seconds: number | null;
      hasTransparency: boolean | null;
    }
  | { wrong: string /** The file is whole, so that another look would find the same. */; isFinal?: true };

const anotherType: Finished = { wrong: 'has another type than it should have' };

const imageProblems: Record<ImageProblem, string> = {
  format: anotherType.wrong,
  pixels: 'has too many pixels',
  undecodable: 'is damaged',
};

const problem = (found: ImageProblem): Finished => {
  const wrong = imageProblems[found];
  return found === 'pixels' ? { wrong, isFinal: true } : { wrong };
};

async function firstBytes(path: string): Promise<Buffer> {
  const file = await open(path);
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(16), 0, 16, 0);
    return buffer.subarray(0, bytesRead);
  } finally {
    await file.close();
  }
}

async function finishImage({ path, output, maxPixels, asCutOut }: Finishing, head: Buffer): Promise<Finished> {
  const examined = await examine({ path, maxPixels, transparency: asCutOut });
  if ('refused' in examined) return problem(examined.refused);
  const { size, hasTransparency } = examined;
  const type = head[0] === 0x89 ? 'png' : head[0] === 0xff ? 'jpg' : 'webp';
  const rest = { size, seconds: null, hasTransparency: asCutOut ? hasTransparency : null };
  if (!asCutOut || type === 'png') return { type, path, ...rest };
  const image = await openImage(path, maxPixels);
  await image.open().png().toFile(output);
  return { type: 'png', path: output, ...rest };
}

async function finishVideo({ path, maxPixels }: Finishing): Promise<Finished> {
  const header = await readVideoFile(path);
  if (header === 'another type') return anotherType;
  if (header === 'damaged') return { wrong: imageProblems.undecodable };
  const { width, height, seconds } = header;
  if (width * height > maxPixels) return problem('pixels');
  return { type: 'mp4', path, size: { width, height }, seconds, hasTransparency: null };
}

async function finishSound({ path, output }: Finishing, head: Buffer): Promise<Finished> {
  const rest = { type: 'mp3', size: null, hasTransparency: null } as const;
  const file = await readFile(path);
  const isMp3 = head.toString('latin1', 0, 3) === 'ID3' || (head[0] === 0xff && (head[1]! & 0xe6) === 0xe2);
  if (isMp3) {
    const seconds = await mp3Seconds(file).catch(() => undefined);
    return seconds === undefined || seconds === 0 ? { wrong: imageProblems.undecodable } : { ...rest, path, seconds };
  }
  if (head.toString('latin1', 0, 4) !== 'RIFF') return anotherType;
  const sound = readWav(file);
  if (!sound) return { wrong: imageProblems.undecodable };
  const encoded = await encodeMp3(sound.channels, sound.sampleRate);
  await writeFile(output, encoded);
  return { ...rest, path: output, seconds: await mp3Seconds(encoded) };
}

/** Looks at a file from its first byte to its last, measures it, and gives it the format that is wanted. */
export async function perform(finishing: Finishing): Promise<Finished> {
  const head = await firstBytes(finishing.path);
  if (head.length === 0) return { wrong: 'is empty' };
  switch (finishing.kind) {
    case 'image':
      return finishImage(finishing, head);
    case 'video':
      return finishVideo(finishing);
    case 'sound':
      return finishSound(finishing, head);
  }
}
