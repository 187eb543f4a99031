// Runs in a process of the pool.
import { open } from 'node:fs/promises';
import { parseFile } from 'music-metadata';
import { type AudioFormat, audioFormatOf, formatBytes } from '../core/speech/audio-format.ts';

/** A recording, or `null` for a file that is none: another format, no sound, or no length. */
export type ExaminedAudio = {
  format: AudioFormat;
  /** To the millisecond. */
  seconds: number;
  /** What the sandbox's speech says, from the file itself. */
  transcript: string | null;
} | null;

/** The name under which the sandbox's speech has its text. */
export const transcriptName = 'SANDBOX_TRANSCRIPT';

async function formatOf(path: string): Promise<AudioFormat | undefined> {
  const file = await open(path);
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(formatBytes), 0, formatBytes, 0);
    return audioFormatOf(buffer.subarray(0, bytesRead));
  } finally {
    await file.close();
  }
}

/** Measures a file, to its last frame where its header does not tell its length. */
export async function perform({ path }: { path: string }): Promise<ExaminedAudio> {
  const format = await formatOf(path);
  if (format === undefined) return null;
  const metadata = await parseFile(path, { duration: true, skipCovers: true }).catch(() => undefined);
  if (!metadata) return null;
  const { hasAudio, duration = 0, sampleRate } = metadata.format;
  const hasSound = hasAudio !== false && sampleRate !== undefined;
  const seconds = Math.round(duration * 1_000) / 1_000;
  if (!hasSound || !Number.isFinite(seconds) || seconds <= 0) return null;
  const tags = Object.values(metadata.native).flat();
  const own = tags.find(({ id }) => id === `TXXX:${transcriptName}`)?.value;
  return { format, seconds, transcript: typeof own === 'string' ? own : null };
}
