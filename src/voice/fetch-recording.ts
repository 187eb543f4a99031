import { createReadStream } from 'node:fs';
import { join } from 'node:path';
import type { CreatedJob } from '../jobs/index.ts';
import type { BoundedWork } from '../platform/bounded-work/bounded-work.ts';
import type { IdempotencyClaim } from '../platform/database/idempotency.ts';
import type { Scope } from '../platform/database/scope.ts';
import { AppError, invalid } from '../platform/errors.ts';
import { openWorkFolder } from '../platform/work-folder.ts';
import { enforceStorageLimit, type FetchOptions, type Files, fetchFile } from '../storage/index.ts';
import type { PlanName } from '../tenancy/core/plans.ts';
import { transcriptionPrice } from './core/prices.ts';
import { createTranscription, examineRecording, type TranscriptionServices } from './create-transcription.ts';
import type { FetchedTranscription } from './transcription-request.ts';
import type { UploadSlots } from './upload-slots.ts';

export interface RecordingServices extends TranscriptionServices, Omit<FetchOptions, 'files'> {
  files: TranscriptionServices['files'] & FetchOptions['files'] & Pick<Files, 'receive' | 'discard'>;
  renderings: BoundedWork;
  uploadSlots: UploadSlots;
}

const maxBytes = 25 * 1024 * 1024;

const recording = { noun: 'recording', path: 'url', accept: 'audio/*,video/mp4,video/webm', maxBytes };

/** Problems of the recording itself are reported for its address. */
function ofAddress(error: unknown): unknown {
  const isPlain = error instanceof AppError && error.kind === 'validation_error' && error.facts === undefined;
  return isPlain ? invalid([{ path: 'url', message: error.message }]) : error;
}

interface NewTranscription {
  plan: PlanName;
  idempotency: IdempotencyClaim | undefined;
  signal: AbortSignal;
  /** Notification channel of the process that waits for the end. */
  waiter?: string;
}

/** @param path of a new file, which the caller removes */
async function fetchTo(
  services: RecordingServices,
  scope: Scope,
  { url, ...asked }: FetchedTranscription,
  { signal, waiter, ...call }: NewTranscription,
  path: string,
): Promise<CreatedJob> {
  const { files } = services;
  await fetchFile(services, recording, url, path, { signal });
  const received = await files.receive(createReadStream(path), { maxBytes, signal });
  try {
    const { format, seconds } = await examineRecording(services, scope, received.path).catch((error: unknown) => {
      throw ofAddress(error);
    });
    const request = { format, seconds, ...asked };
    const price = transcriptionPrice(seconds);
    return await createTranscription(services, scope, received, { request, price, waiter: waiter ?? null, ...call });
  } finally {
    await files.discard(received);
  }
}

/**
 * Fetches a recording from the address of a caller, and creates its transcription. If the transcription is refused,
 * nothing is kept.
 * @throws AppError validation_error with the path `url`; rate_limit_exceeded while too many recordings arrive; as
 *   `createTranscription`; StorageFailure; the reason of `signal`
 */
export async function transcribeFrom(
  services: RecordingServices,
  scope: Scope,
  asked: FetchedTranscription,
  call: NewTranscription,
): Promise<CreatedJob> {
  await enforceStorageLimit(scope);
  const leave = await services.uploadSlots.enter(scope.tenant.organizationId);
  try {
    const { path: folder, discard } = await openWorkFolder();
    try {
      return await fetchTo(services, scope, asked, call, join(folder, 'recording'));
    } finally {
      await discard();
    }
  } finally {
    leave();
  }
}
