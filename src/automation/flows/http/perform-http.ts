import { setImmediate as yieldToEventLoop } from 'node:timers/promises';
import type { BoundedWork } from '../../../platform/bounded-work/bounded-work.ts';
import { clock } from '../../../platform/clock.ts';
import { readRetryAfter } from '../../../platform/core/retry-after.ts';
import { withoutEnd } from '../../../platform/core/without-end.ts';
import type { Scope } from '../../../platform/database/scope.ts';
import { EgressFailure, wasNeverSent } from '../../../platform/egress/egress-failure.ts';
import type { Log } from '../../../platform/observability/log.ts';
import { ProviderFailure } from '../../../platform/provider-failure.ts';
import { SealError, type Sealer, secretsUnreadableMessage } from '../../../platform/security/crypto.ts';
import {
  defaultTimeoutSeconds,
  type HttpFields,
  httpAttempts,
  InvalidRequest,
  isSuccess,
  isTemporary,
  mayRepeat,
  type RenderedRequest,
  renderRequest,
} from '../../core/http-request.ts';
import type { TemplateValues, Warning } from '../../core/template.ts';
import { failPoint } from '../../fail-points.ts';
import { openSecrets } from '../../secrets/secrets.ts';
import type { StepEnd, StepFault } from '../../steps/step-context.ts';
import { storable } from '../../steps/storable.ts';
import { type Hide, hideSecrets } from './hide-secrets.ts';
import type { HttpAnswer, HttpSender, HttpSenders } from './http-sender.ts';
import { readBody } from './read-answer.ts';
import { AlreadySent, recordSending } from './sent-steps.ts';

export interface HttpServices {
  httpSenders: HttpSenders;
  sealer: Sealer;
  boundedWork: BoundedWork;
  log: Log;
}

/** One attempt of a step of type `http`. */
export interface HttpAttempt {
  runId: string;
  /** The position of the row of the step, which exists. */
  position: number;
  /** `<run id>.<path>`: the Idempotency-Key that is sent, the same for each attempt. */
  key: string;
  /** From 1, interrupted ones included. */
  number: number;
  signal: AbortSignal;
}

const maxRetryAfterMs = 60_000;
const shownBytes = 2_048;

const lost: StepFault = {
  status: 'failed',
  code: 'outcome_unknown',
  message: 'The request was sent and its answer was lost. It may have been performed, and is not repeated.',
};

const invalid = (message: string): StepFault => ({ status: 'failed', code: 'invalid_payload', message });

/** The part of an answer that the failure of a request shows: its status and the beginning of its body. */
async function detailsOf({ status, ...answer }: HttpAnswer, hide: Hide) {
  const { body } = await readBody(answer, hide);
  const text = typeof body === 'string' ? body : body === null ? '' : JSON.stringify(body);
  const cut = Buffer.from(text).subarray(0, shownBytes).toString('utf8');
  return { status, body: cut.length < text.length ? withoutEnd(cut, '\ufffd') : cut };
}

/** What became of a request that was answered. @throws ProviderFailure when it may be sent again */
async function endOf(step: HttpFields, answer: HttpAnswer, number: number, hide: Hide): Promise<StepEnd> {
  const { status } = answer;
  if (!isSuccess(step, status)) {
    const message = `The server answered with status ${status}.`;
    if (isTemporary(status) && !answer.isFinal && mayRepeat(step) && number < httpAttempts(step)) {
      const waitMs = readRetryAfter(answer.headers['retry-after'], clock.now());
      throw new ProviderFailure(status === 429 ? 'rate_limited' : 'unavailable', message, {
        status,
        ...(waitMs !== undefined && { retryAfterMs: Math.min(waitMs, maxRetryAfterMs) }),
      });
    }
    return { status: 'failed', code: 'http_error', message, details: await detailsOf(answer, hide) };
  }
  const tooLarge: StepFault = { status: 'failed', code: 'output_too_large', message: 'The answer is too large.' };
  if (answer.truncated) return tooLarge;
  // Reading an answer of megabytes takes as long as others should wait, and writing it does again.
  const read = await readBody(answer, hide);
  await yieldToEventLoop();
  const output = storable({ status, headers: await hide(answer.headers), ...read });
  return output ? { status: 'completed', output } : tooLarge;
}

/** What became of a request that got no answer. @throws ProviderFailure when it may be sent again */
function endWithoutAnswer(step: HttpFields, failure: EgressFailure, number: number): StepFault {
  const { errorClass, message } = failure;
  if (errorClass === 'forbidden_destination' || errorClass === 'invalid_request') return invalid(message);
  if (!mayRepeat(step) && !wasNeverSent(failure)) return lost;
  const isTimeout = errorClass === 'timeout';
  if (mayRepeat(step) && number < httpAttempts(step)) {
    throw new ProviderFailure(isTimeout ? 'timeout' : 'connection', message);
  }
  return { status: 'failed', code: isTimeout ? 'timeout' : 'service_unavailable', message };
}

/** The secrets of a step, by the header that each is sent in. */
async function headerSecrets(
  { sealer }: HttpServices,
  scope: Scope,
  { secretHeaders = {} }: HttpFields,
): Promise<{ secrets: Record<string, string> } | { fault: StepFault }> {
  try {
    const opened = await openSecrets({ sealer }, scope, Object.values(secretHeaders));
    const secrets: [string, string][] = [];
    for (const [header, name] of Object.entries(secretHeaders)) {
      const value = opened.get(name);
      if (value === undefined) {
        return { fault: { status: 'failed', code: 'secret_not_found', message: `No secret has the name ${name}.` } };
      }
      secrets.push([header, value]);
    }
    return { secrets: Object.fromEntries(secrets) };
  } catch (error) {
    if (!(error instanceof SealError)) throw error;
    return { fault: { status: 'failed', code: 'internal_error', message: secretsUnreadableMessage } };
  }
}

/**
 * Makes one attempt of a step of type `http`. A request that must not be repeated is recorded before it is sent: after
 * a crash it is not sent again, and its step fails with `outcome_unknown`.
 * @throws ProviderFailure when another attempt may succeed; TemplateTooLong; the reason of `signal`; errors of the database
 */
export async function performHttp(
  services: HttpServices,
  scope: Scope,
  step: HttpFields,
  values: TemplateValues,
  attempt: HttpAttempt,
): Promise<StepEnd> {
  let rendered: RenderedRequest;
  try {
    const parts = renderRequest(step, values, attempt.key);
    rendered = await services.boundedWork.inMainThreadByParts(scope.tenantKey, parts);
  } catch (error) {
    if (!(error instanceof InvalidRequest)) throw error;
    return { ...invalid(error.message), warnings: error.warnings };
  }
  const { warnings } = rendered;
  return { ...(await send(services, scope, step, rendered, attempt)), ...withWarnings(warnings) };
}

const withWarnings = (warnings: Warning[]) => (warnings.length > 0 ? { warnings } : {});

async function send(
  services: HttpServices,
  scope: Scope,
  step: HttpFields,
  rendered: RenderedRequest,
  { runId, position, number, signal }: HttpAttempt,
): Promise<StepEnd> {
  const found = await headerSecrets(services, scope, step);
  if ('fault' in found) return found.fault;
  const { secrets } = found;
  const { method, url, headers, body } = rendered;
  const request = {
    method,
    url,
    headers: { ...headers, ...secrets },
    secretHeaders: new Set(Object.keys(secrets)),
    body,
  };
  const sender: HttpSender = services.httpSenders[scope.tenant.environment];
  const hide = hideSecrets(Object.values(secrets));
  try {
    const answer = await sender.send(request, {
      attempt: number,
      timeoutMs: (step.timeoutSeconds ?? defaultTimeoutSeconds) * 1_000,
      tenantKey: scope.tenantKey,
      signal,
      async sending() {
        if (!mayRepeat(step)) await recordSending(scope, { runId, position });
        failPoint('step.sending');
      },
    });
    failPoint('step.called');
    return await endOf(step, answer, number, hide);
  } catch (error) {
    if (error instanceof AlreadySent) return lost;
    if (error instanceof EgressFailure) return endWithoutAnswer(step, error, number);
    throw error;
  }
}
