import type { JobArgs, JobContract } from './jobs.ts';
import { queues } from './queues.ts';
import type { RetryProfile } from './retry-profile.ts';

export const voiceContract = {
  name: 'voice',
  noun: 'voice call',
  idName: 'callId',
  workflow: 'performVoiceCall',
  queue: queues.generation,
  failureType: 'VoiceCallFailed',
} as const satisfies JobContract;

export interface VoiceWorkflows {
  performVoiceCall(args: JobArgs<VoiceCallPolicy>): Promise<void>;
}

export interface VoiceCallPolicy {
  /** Time limit of one attempt. */
  timeoutMs: number;
  heartbeatTimeoutMs: number;
  /** Maximum requests to a provider, while it certainly did no work. */
  retry: RetryProfile;
  /** How long a call may take from its creation. */
  deadlineMs: number;
}

export const defaultVoiceCallPolicy: VoiceCallPolicy = {
  timeoutMs: 310_000,
  heartbeatTimeoutMs: 10_000,
  retry: { initialIntervalMs: 1_000, backoff: 2, maximumIntervalMs: 30_000, maximumAttempts: 4 },
  deadlineMs: 300_000,
};
