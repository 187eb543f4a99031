/** Operations with a price, and the facts it depends on. Prompt enhancement is included with price 0. */
export type Work =
  | { operation: 'image'; quality: 'standard' | 'high' | 'ultra' }
  | { operation: 'video'; seconds: number }
  | { operation: 'music'; seconds: number }
  | { operation: 'upscale'; scale: 2 | 4 }
  | { operation: 'background_removal' }
  | { operation: 'prompt_enhancement' }
  /** One message; `toolsCalled` when the model called at least one tool to answer it. */
  | { operation: 'chat' | 'agent'; toolsCalled: boolean }
  | { operation: 'tts'; characters: number }
  | { operation: 'stt'; seconds: number };

export type Operation = Work['operation'];

/** All prices, in credits. */
export const prices = {
  image: { standard: 1, high: 2, ultra: 5 },
  videoPerSecond: 5,
  musicPer10Seconds: 3,
  upscale: { 2: 1, 4: 2 },
  backgroundRemoval: 1,
  promptEnhancement: 0,
  message: 1,
  toolOverheadPerMessage: 1,
  ttsPer1000Characters: 1,
  sttPerMinute: 2,
} as const;

const thousandths = 1_000;

/**
 * The number of started units: 10 seconds are one unit of 10, 10.001 seconds are two. Lengths are rounded to thousandths,
 * so that measurement noise costs nothing.
 */
function startedUnits(amount: number, unit: number): number {
  if (!(amount >= 0 && amount <= Number.MAX_SAFE_INTEGER / thousandths)) {
    throw new RangeError(`Not an amount that has a price: ${amount}`);
  }
  return Math.ceil(Math.round(amount * thousandths) / (unit * thousandths));
}

/** The price of an operation in whole credits. @throws RangeError for an invalid length */
export function priceOf(work: Work): number {
  switch (work.operation) {
    case 'image':
      return prices.image[work.quality];
    case 'video':
      return prices.videoPerSecond * startedUnits(work.seconds, 1);
    case 'music':
      return prices.musicPer10Seconds * startedUnits(work.seconds, 10);
    case 'upscale':
      return prices.upscale[work.scale];
    case 'background_removal':
      return prices.backgroundRemoval;
    case 'prompt_enhancement':
      return prices.promptEnhancement;
    case 'chat':
    case 'agent':
      return prices.message + (work.toolsCalled ? prices.toolOverheadPerMessage : 0);
    case 'tts':
      return prices.ttsPer1000Characters * startedUnits(work.characters, 1_000);
    case 'stt':
      return prices.sttPerMinute * startedUnits(work.seconds, 60);
  }
}
