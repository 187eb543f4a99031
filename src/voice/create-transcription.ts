import type { CreatedJob } from '../jobs/index.ts';
import type { BoundedWork } from '../platform/bounded-work/bounded-work.ts';
import { WorkQueueFull, WorkTooCostly } from '../platform/bounded-work/task.ts';
import { clock } from '../platform/clock.ts';
import type { Scope } from '../platform/database/scope.ts';
import { unavailable } from '../platform/errors.ts';
import type { AudioFormat } from '../providers/core/speech/audio-format.ts';
import { examineAudio } from '../providers/index.ts';
import type { Files, Spooled } from '../storage/index.ts';
import { type CreateServices, createCall, type NewCall } from './create-call.ts';
import { refused } from './errors.ts';
import { failPoint } from './fail-points.ts';

export interface TranscriptionServices extends CreateServices {
  files: Pick<Files, 'keep' | 'record' | 'withdraw'>;
}

/** Maximum length of a recording. */
const maxSeconds = 1_800;

/** How long a recording may wait until it is examined. */
const waitMs = 60_000;

/** A recording is removed when its call ends, and after this time in any case. */
const keptMs = 25 * 3_600_000;

/**
 * Measures a recording in a process of its own, whose time and memory are limited.
 * @throws AppError validation_error with a published sentence; service_unavailable when too many wait
 */
export async function examineRecording(
  { renderings }: { renderings: BoundedWork },
  { tenantKey }: Scope,
  path: string,
): Promise<{ format: AudioFormat; seconds: number }> {
  const examined = await renderings.run(examineAudio, tenantKey, { path }, { waitMs }).catch((error: unknown) => {
    if (error instanceof WorkTooCostly) return null;
    throw error instanceof WorkQueueFull ? unavailable('The examination of recordings') : error;
  });
  if (!examined) throw refused('Unsupported format');
  if (examined.seconds > maxSeconds) throw refused('Audio too long');
  const { format, seconds } = examined;
  return { format, seconds };
}

const names = new Intl.DisplayNames(['en'], { type: 'language', fallback: 'none' });

/**
 * The requested language, without its region.
 * @returns two letters in lower case; undefined where none was asked for
 * @throws AppError validation_error with a published sentence
 */
export function languageOf(asked: string | undefined): string | undefined {
  if (asked === undefined) return undefined;
  const code = /^([a-z]{2})(?:[-_][a-z0-9_-]{1,30})?$/i.exec(asked)?.[1]?.toLowerCase();
  if (code === undefined || names.of(code) === undefined) throw refused('Invalid language');
  return code;
}

/**
 * Stores a received recording, and creates its transcription. If the transcription is refused, nothing is kept.
 * @throws AppError as `createCall`; StorageFailure
 */
export async function createTranscription(
  services: TranscriptionServices,
  scope: Scope,
  recording: Spooled,
  call: Omit<NewCall, 'kind' | 'file' | 'also'>,
): Promise<CreatedJob> {
  const { files } = services;
  const stored = await files.keep(scope, recording, { kind: 'recording', type: 'bin', title: 'recording' });
  failPoint('voice.stored');
  try {
    const created = await createCall(services, scope, {
      ...call,
      kind: 'stt',
      file: stored.name,
      also: (tx) => files.record(tx, stored, new Date(clock.now() + keptMs)),
    });
    if (created.replayed) await files.withdraw(scope, stored);
    return created;
  } catch (error) {
    // Where that fails the sweep removes it after a day.
    await files.withdraw(scope, stored).catch(() => {});
    throw error;
  }
}
