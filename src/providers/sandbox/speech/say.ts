// Runs in a process of the pool.
import { writeFile } from 'node:fs/promises';
import type { Voice } from '../../core/speech/voices.ts';
import { transcriptName } from '../../speech/audio/examine-audio.ts';
import { Mp3File, mp3Seconds } from '../../speech/audio/mp3.ts';
import type { SpeechRequest } from '../../speech/voice-ports.ts';
import { id3Tag } from '../media/id3.ts';
import { runFlite } from './flite.ts';
import { piecesOf, pronounceable } from './pieces.ts';

/** The text to speak, and the file of the local disk for the result. */
export type Saying = SpeechRequest & { output: string };

interface Sound {
  /** One of the synthesizer's own. */
  voice: 'slt' | 'rms' | 'awb' | 'kal16';
  /** Its pitch in hertz, where it is not the voice's own. */
  hertz?: number;
}

const sounds: Record<Voice, Sound> = {
  alloy: { voice: 'slt' },
  echo: { voice: 'rms' },
  fable: { voice: 'awb' },
  // The voice rms knows no other pitch than its own.
  onyx: { voice: 'awb', hertz: 85 },
  nova: { voice: 'slt', hertz: 190 },
  shimmer: { voice: 'slt', hertz: 220 },
};

/**
 * Maximum characters at the ordinary speed. Longer texts, and texts that take as long because of a slow speed, are
 * spoken by the fastest voice, at the pitch of the requested one.
 */
const longText = 1_000;
const longSounds: Record<Voice, number> = { alloy: 170, echo: 110, fable: 125, onyx: 80, nova: 190, shimmer: 220 };

const soundOf = ({ voice, speed }: SpeechRequest, text: string): Sound =>
  text.length / speed > longText ? { voice: 'kal16', hertz: longSounds[voice] } : sounds[voice];

/** All voices that are used here have this rate. */
const sampleRate = 16_000;
const kilobits = 48;
const leastSeconds = 0.2;

/** Bytes of the header of the synthesizer's files. What follows are whole numbers of 16 bits, of one channel. */
const headerBytes = 44;

function samplesOf(wav: Buffer): Float32Array {
  const count = Math.max(0, Math.floor((wav.length - headerBytes) / 2));
  return Float32Array.from({ length: count }, (_, index) => wav.readInt16LE(headerBytes + 2 * index) / 32_768);
}

/** @returns the length of the file in seconds */
export async function perform({ output, ...request }: Saying): Promise<{ seconds: number }> {
  const { text, speed } = request;
  const spoken = pronounceable(text);
  const { voice, hertz } = soundOf(request, spoken);
  const pitch = hertz === undefined ? [] : ['--setf', `int_f0_target_mean=${hertz}`];
  const how = ['-voice', voice, '--setf', `duration_stretch=${1 / speed}`, ...pitch];
  const file = await Mp3File.begin(sampleRate, kilobits, id3Tag('sandbox', { [transcriptName]: text }));
  let said = 0;
  for (const piece of piecesOf(spoken)) {
    const samples = samplesOf(await runFlite([...how, '-t', piece]));
    said += samples.length;
    file.add([samples]);
  }
  const silence = Math.max(0, Math.ceil(leastSeconds * sampleRate) - said);
  if (silence > 0) file.add([new Float32Array(silence)]);
  const bytes = file.end();
  await writeFile(output, bytes);
  return { seconds: await mp3Seconds(bytes) };
}
