import { type Random, randomFrom } from './random.ts';

const { sin, exp, round, PI } = Math;

export const sampleRate = 44_100;

const scales = [
  [0, 2, 4, 5, 7, 9, 11],
  [0, 2, 3, 5, 7, 8, 10],
] as const;
const progressions = [
  [0, 4, 5, 3],
  [0, 5, 3, 4],
  [0, 3, 0, 4],
] as const;

const beatsPerChord = 4;
const defaultTempo = { min: 80, max: 132 };
const fade = { inSeconds: 0.01, outSeconds: 0.5 };

const frequency = (note: number) => 440 * 2 ** ((note - 69) / 12);

/** The tempo of music if the request names none. */
export const tempoOf = (digest: string): number => randomFrom(digest).whole(defaultTempo.min, defaultTempo.max);

/** Adds a tone that dies away to a channel. */
function addTone(
  channel: Float32Array,
  { at, seconds, hertz, gain }: { at: number; seconds: number; hertz: number; gain: number },
): void {
  const start = round(at * sampleRate);
  const end = Math.min(channel.length, start + round(seconds * sampleRate));
  const step = (2 * PI * hertz) / sampleRate;
  const decay = exp(-4 / (seconds * sampleRate));
  for (let index = start, level = gain; index < end; index++, level *= decay) {
    const phase = step * (index - start);
    channel[index] = channel[index]! + level * (sin(phase) + 0.3 * sin(2 * phase));
  }
}

/** A drum on the beat. It falls in pitch and is the loudest sound, so that the beat can be heard and measured. */
function addKick(channel: Float32Array, at: number): void {
  const start = round(at * sampleRate);
  const end = Math.min(channel.length, start + round(0.16 * sampleRate));
  for (let index = start, phase = 0; index < end; index++) {
    const time = (index - start) / sampleRate;
    phase += (2 * PI * (50 + 110 * exp(-time * 30))) / sampleRate;
    channel[index] = channel[index]! + 0.5 * exp(-time * 22) * sin(phase);
  }
}

function addBeat({ both, left, right }: Channels, beat: number, secondsPerBeat: number, of: Melody): void {
  const { scale, progression, root, random } = of;
  const degree = progression[Math.floor(beat / beatsPerChord) % progression.length]!;
  const note = (step: number) => root + 12 * Math.floor((degree + step) / 7) + scale[(degree + step) % 7]!;
  const at = beat * secondsPerBeat;
  addKick(both, at);
  addTone(both, { at, seconds: secondsPerBeat, hertz: frequency(note(0) - 12), gain: 0.1 });
  for (const step of beat % beatsPerChord === 0 ? [0, 2, 4] : []) {
    addTone(both, { at, seconds: secondsPerBeat * beatsPerChord, hertz: frequency(note(step)), gain: 0.05 });
  }
  const melody = { at, seconds: secondsPerBeat * 0.9, hertz: frequency(note(random.whole(0, 6)) + 12), gain: 0.06 };
  addTone(random.next() < 0.5 ? left : right, melody);
}

/** The sound that both sides share is computed once. */
interface Channels {
  both: Float32Array;
  left: Float32Array;
  right: Float32Array;
}

interface Melody {
  scale: (typeof scales)[number];
  progression: (typeof progressions)[number];
  root: number;
  random: Random;
}

function fadeEnds(channel: Float32Array): void {
  const [first, last] = [fade.inSeconds, fade.outSeconds].map((seconds) => round(seconds * sampleRate)) as [
    number,
    number,
  ];
  for (let at = 0; at < Math.min(first, channel.length); at++) channel[at] = channel[at]! * (at / first);
  for (let at = 0; at < Math.min(last, channel.length); at++) {
    const index = channel.length - 1 - at;
    channel[index] = channel[index]! * (at / last);
  }
}

/**
 * Composes music: chords, a bass, a melody, and a drum on every beat.
 * @param digest SHA-256 of the canonical request, in hex
 * @returns samples of the left and the right channel, -1 to 1
 */
export function compose(digest: string, seconds: number, bpm: number): [Float32Array, Float32Array] {
  const random = randomFrom(digest);
  const melody: Melody = {
    scale: random.pick(scales),
    progression: random.pick(progressions),
    root: random.whole(48, 59),
    random,
  };
  const length = round(seconds * sampleRate);
  const channels = { both: new Float32Array(length), left: new Float32Array(length), right: new Float32Array(length) };
  const secondsPerBeat = 60 / bpm;
  for (let beat = 0; beat * secondsPerBeat < seconds; beat++) addBeat(channels, beat, secondsPerBeat, melody);
  const { both, left, right } = channels;
  for (const channel of [left, right]) {
    for (let index = 0; index < length; index++) channel[index] = channel[index]! + both[index]!;
    fadeEnds(channel);
  }
  return [left, right];
}
