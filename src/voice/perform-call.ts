import { createReadStream } from 'node:fs';
import { join } from 'node:path';
import type { Scope } from '../platform/database/scope.ts';
import { statement } from '../platform/database/sql.ts';
import { typed } from '../platform/database/sql-types.ts';
import { ProviderFailure } from '../platform/provider-failure.ts';
import { openWorkFolder } from '../platform/work-folder.ts';
import type { Call, SpeechRequest, VoiceRegistry } from '../providers/index.ts';
import { type Files, StorageFailure } from '../storage/index.ts';
import type { JobEnd, JobRef } from '../temporal/contracts/jobs.ts';
import { completeCall, type EndServices, type Made } from './complete-call.ts';
import { type VoiceCallError, voiceCallStates } from './core/status.ts';
import type { VoiceKind } from './entities.ts';
import { failPoint } from './fail-points.ts';
import { timedOut, voiceJob, voiceSubmission } from './job.ts';
import { type TranscriptionRequest, voiceContents } from './sealed-call.ts';

export interface PerformServices extends EndServices {
  files: Pick<Files, 'store' | 'record' | 'remove' | 'copyTo'>;
  voices: VoiceRegistry;
}

export interface Attempt {
  /** From 1. */
  attempt: number;
  signal: AbortSignal;
}

const findOpen = statement({
  name: 'voice.open',
  parameters: { id: 'uuid' },
  row: { kind: typed<VoiceKind>('text'), request: 'text', file: 'text?', ageMs: 'float8' },
  text: `select kind, request, file, extract(epoch from atelier_now() - created_at)::float8 * 1000 as "ageMs"
     from voice_call
    where organization_id = :organizationId and environment = :environment and id = :id
      and status in (${voiceCallStates.sql('processing')})`,
});

const lost: VoiceCallError = {
  code: 'provider_error',
  message: "The provider's answer was lost. It may charge for each attempt, so the request is not repeated.",
};

/** The longest text at the slowest pace is a tenth of it. */
const maxSpeechBytes = 256 * 1024 * 1024;

/** Speaks a text, and stores the speech. */
async function speak(
  { voices, files }: PerformServices,
  scope: Scope,
  request: SpeechRequest,
  call: Call,
): Promise<Made> {
  const made = await voices.speechModel(scope.tenant.environment).speak(request, call);
  failPoint('voice.answered');
  try {
    const speech = await files.store(scope, {
      kind: 'speech',
      type: 'mp3',
      title: 'speech',
      maxBytes: maxSpeechBytes,
      signal: call.signal,
      content: createReadStream(made.path),
    });
    failPoint('voice.speech_stored');
    return { speech };
  } finally {
    await made.discard();
  }
}

/** Transcribes a stored recording. */
async function transcribe(
  { voices, files }: PerformServices,
  scope: Scope,
  { request, file }: { request: TranscriptionRequest; file: string },
  call: Call,
): Promise<Made> {
  const { format, seconds, language, prompt } = request;
  const { path: folder, discard } = await openWorkFolder();
  try {
    const path = join(folder, `recording.${format}`);
    await files.copyTo(file, path);
    const model = voices.transcriptionModel(scope.tenant.environment);
    const transcript = await model.transcribe({ path, format, seconds, language, prompt }, call);
    failPoint('voice.answered');
    return { transcript: { ...transcript, seconds } };
  } finally {
    await discard();
  }
}

/**
 * Calls the provider once, and records the result. A provider may charge for every attempt: a mark in the row, committed
 * before the request, prevents a second one after a crash. It is removed when the provider certainly did no work. Safe to
 * repeat: a call that has ended is left as it is.
 * @throws ProviderFailure or StorageFailure while another attempt may succeed; errors of the database
 */
export async function performCall(
  services: PerformServices,
  scope: Scope,
  ref: JobRef,
  { attempt, signal }: Attempt,
): Promise<JobEnd> {
  const { voices, voicePolicy: policy } = services;
  const { id } = ref;
  const open = await scope.one(findOpen, { id });
  if (!open) return { kind: 'ended' };
  const fail = async (error: VoiceCallError): Promise<JobEnd> => {
    await voiceJob.stopWith(services, scope, ref, error);
    return { kind: 'failed', code: error.code };
  };
  const leftMs = Math.ceil(policy.deadlineMs - open.ageMs);
  if (leftMs <= 0) return fail(timedOut);
  const limit = AbortSignal.timeout(leftMs);
  const { environment } = scope.tenant;
  const call = { tenantKey: scope.tenantKey, attempt, signal: AbortSignal.any([signal, limit]) };

  const repeatable = voices.isRepeatable(environment);
  if (!repeatable && !(await voiceSubmission.markSubmitted(scope, id))) return fail(lost);
  failPoint('voice.submitting');
  try {
    const request = voiceContents(services.sealer, scope).open(id, 'request', open.request);
    const made =
      open.kind === 'tts'
        ? await speak(services, scope, request as SpeechRequest, call)
        : await transcribe(services, scope, { request: request as TranscriptionRequest, file: open.file! }, call);
    await completeCall(services, scope, ref, made);
    return { kind: 'ended' };
  } catch (error) {
    signal.throwIfAborted();
    if (limit.aborted) return await fail(timedOut);
    const mayRepeat = attempt < policy.retry.maximumAttempts;
    if (error instanceof ProviderFailure) {
      if (!error.retryable || !mayRepeat) return await fail({ code: codeOf(error), message: error.message });
      if (!repeatable) await voiceSubmission.unmarkSubmitted(scope, id);
    }
    // A full disk stays full for longer than a caller waits.
    if (error instanceof StorageFailure && (!repeatable || !mayRepeat || error.reason !== 'unavailable')) {
      return await fail({ code: 'service_unavailable', message: error.message });
    }
    throw error;
  }
}

const codeOf = ({ kind }: ProviderFailure): VoiceCallError['code'] =>
  kind === 'timeout' ? 'timeout' : 'provider_error';
