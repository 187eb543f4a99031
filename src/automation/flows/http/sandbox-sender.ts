import { setTimeout as sleep } from 'node:timers/promises';
import { readJson } from '../../../platform/core/bounded-json.ts';
import { EgressFailure } from '../../../platform/egress/egress-failure.ts';
import { holdUntilReleased } from '../../../platform/parts/holds.ts';
import { isStillOverloaded, readSandboxWords } from '../../../providers/core/sandbox-words.ts';
import { hiddenSecret } from './hide-secrets.ts';
import { type HttpAnswer, type HttpRequest, type HttpSender, maxAnswerBytes } from './http-sender.ts';

const answerOf = (status: number, body: unknown): HttpAnswer => ({
  status,
  headers: { 'content-type': 'application/json' },
  body: Buffer.from(JSON.stringify(body)),
  truncated: false,
});

/** The request to the sandbox server, in the form of its answer. */
function echoOf({ method, url, headers, secretHeaders, body }: HttpRequest) {
  const shown = Object.entries(headers).map(([name, value]) => [
    name.toLowerCase(),
    secretHeaders.has(name) ? hiddenSecret : value,
  ]);
  const parsed = body === undefined ? null : readJson(body, maxAnswerBytes);
  return { method, url, headers: Object.fromEntries(shown.toSorted()), body: parsed === undefined ? body : parsed };
}

/** Answers every request with a copy of the request. The sandbox words of prompts work in `url` and `body`. */
export const sandboxSender: HttpSender = {
  async send(request, { attempt, timeoutMs, signal }) {
    const words = readSandboxWords(`${request.url}\n${request.body ?? ''}`, '');
    await holdUntilReleased(words.hold, signal);
    if (words.slowSeconds > 0) {
      await sleep(Math.min(words.slowSeconds * 1_000, timeoutMs), undefined, { signal });
      if (words.slowSeconds * 1_000 > timeoutMs) throw new EgressFailure('timeout');
    }
    if (words.failure === 'timeout') throw new EgressFailure('timeout');
    if (words.failure === 'fail') {
      return { ...answerOf(500, { error: 'The sandbox was asked to fail.' }), isFinal: true };
    }
    if (words.failure === 'refuse') return answerOf(403, { error: 'The sandbox was asked to refuse.' });
    if (isStillOverloaded(words, attempt)) return answerOf(503, { error: 'The sandbox was asked to be overloaded.' });
    return answerOf(200, echoOf(request));
  },
};
