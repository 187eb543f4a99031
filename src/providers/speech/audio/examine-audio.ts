// Runs in a process of the pool.
import { readFile } from 'node:fs/promises';
import { parseBuffer } from 'music-metadata';
import { type AudioFormat, audioFormatOf, formatBytes } from '../../core/speech/audio-format.ts';
import { mp4Seconds } from '../../core/speech/lengths/mp4.ts';
import { mpegSeconds } from '../../core/speech/lengths/mpeg.ts';
import { wavSeconds } from '../../core/speech/lengths/wav.ts';
import { webmSeconds } from '../../core/speech/lengths/webm.ts';
import { speechLimits } from '../../core/speech/voices.ts';

/** A recording, or `null` for a file that is none: another format, no sound, or no length. */
export type ExaminedAudio = {
  format: AudioFormat;
  /** To the millisecond. */
  seconds: number;
  /** The text of the sandbox's speech, from the file itself. */
  transcript: string | null;
} | null;

/** The name under which the sandbox's speech has its text. */
export const transcriptName = 'SANDBOX_TRANSCRIPT';

/** Maximum length of a transcript in code points. */
const maxLength = speechLimits.codePoints;

const lengths: Record<AudioFormat, (file: Buffer) => number> = {
  mp3: mpegSeconds,
  mp4: mp4Seconds,
  wav: wavSeconds,
  webm: webmSeconds,
};

async function readTranscript(file: Buffer): Promise<string | null> {
  const metadata = await parseBuffer(file, { mimeType: 'audio/mpeg' }, { skipCovers: true }).catch(() => undefined);
  const tags = Object.values(metadata?.native ?? {}).flat();
  const own = tags.find(({ id }) => id === `TXXX:${transcriptName}`)?.value;
  // The sandbox writes none that is longer. Anybody can write one of 25 MB, which would be stored and answered.
  return typeof own === 'string' && [...own.slice(0, 3 * maxLength)].length <= maxLength ? own : null;
}

/**
 * Measures the contents of a file. Its headers are not trusted, because the length decides the price of a
 * transcription.
 */
export async function perform({ path }: { path: string }): Promise<ExaminedAudio> {
  const file = await readFile(path);
  const format = audioFormatOf(file.subarray(0, formatBytes));
  if (format === undefined) return null;
  const seconds = Math.round(lengths[format](file) * 1_000) / 1_000;
  if (!Number.isFinite(seconds) || seconds <= 0) return null;
  return { format, seconds, transcript: format === 'mp3' ? await readTranscript(file) : null };
}
