import { setTimeout as sleep } from 'node:timers/promises';
import { holdUntilReleased } from '../../platform/parts/holds.ts';
import { ProviderFailure } from '../../platform/provider-failure.ts';
import { isStillOverloaded, type SandboxWords } from '../core/sandbox-words.ts';
import type { Call } from '../ports.ts';

/** The failure that a prompt requests; undefined if it requests none. */
export function requestedFailure(words: SandboxWords, model: string, attempt: number): ProviderFailure | undefined {
  const final = { retryable: false };
  switch (words.failure) {
    case 'fail':
      return new ProviderFailure('unavailable', 'The sandbox model failed (sandbox:fail).', final);
    case 'refuse':
      return new ProviderFailure('content_refused', 'The sandbox model refused the content (sandbox:refuse).');
    case 'timeout':
      return new ProviderFailure('timeout', 'The sandbox model did not answer in time (sandbox:timeout).', final);
    case 'fail_model':
      return new ProviderFailure('unavailable', `The sandbox model ${model} is not available (sandbox:fail@${model}).`);
  }
  if (!isStillOverloaded(words, attempt)) return undefined;
  return new ProviderFailure('overloaded', 'The sandbox model is overloaded (sandbox:overloaded).');
}

/** Waits as the words request. Half of the seconds of a text that is streamed pass between its parts. @throws the reason of the signal */
export async function pauseAsRequested(
  { slowSeconds, hold }: SandboxWords,
  { signal, onDelta }: Pick<Call, 'signal' | 'onDelta'>,
) {
  await holdUntilReleased(hold, signal);
  if (slowSeconds > 0) await pause(onDelta ? slowSeconds / 2 : slowSeconds, signal);
}

/** Waits. @throws the reason of the signal */
export async function pause(seconds: number, signal: AbortSignal): Promise<void> {
  try {
    await sleep(seconds * 1000, undefined, { signal });
  } catch (error) {
    throw signal.aborted ? signal.reason : error;
  }
}
