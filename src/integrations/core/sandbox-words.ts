import {
  findSandboxWords,
  holdOf,
  isStillOverloaded,
  slowSecondsOf,
  textOfJson,
  wholeNumberOf,
} from '../../providers/core/sandbox-words.ts';
import type { ReportedFailure } from './after-failure.ts';

const usualRetryAfter = 30;

/** The sandbox words of a payload for an attempt, counted from 1. They can be in any of its strings. */
export function readSandboxWords(
  payload: unknown,
  attempt: number,
): { slowSeconds: number; hold: string | undefined; failure?: ReportedFailure } {
  const words = findSandboxWords(textOfJson(payload));
  const find = (wanted: string) => words.find(({ name }) => name === wanted);
  const limited = find('rate_limited');
  const failure: ReportedFailure | undefined = find('fail')
    ? { kind: 'action_failed', providerCode: 'sandbox_failure' }
    : limited
      ? { kind: 'rate_limited', retryAfterSeconds: wholeNumberOf(limited) ?? usualRetryAfter }
      : find('auth_expired')
        ? { kind: 'auth_expired' }
        : isStillOverloaded({ overloaded: find('overloaded') !== undefined }, attempt)
          ? { kind: 'not_done' }
          : undefined;
  return { slowSeconds: slowSecondsOf(words), hold: holdOf(words), ...(failure && { failure }) };
}
