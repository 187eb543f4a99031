import { startedUnits } from '../../credits/core/started-units.ts';

/** In credits. */
const voicePrices = { speechPer1000Characters: 1, transcriptionPerMinute: 2 } as const;

/** The price of a spoken text in whole credits. @param characters code points */
export const speechPrice = (characters: number): number =>
  voicePrices.speechPer1000Characters * startedUnits(characters, 1_000);

/** The price of a transcription in whole credits. @param seconds the measured length of the recording */
export const transcriptionPrice = (seconds: number): number =>
  voicePrices.transcriptionPerMinute * startedUnits(seconds, 60);
