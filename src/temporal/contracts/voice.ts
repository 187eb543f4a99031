import type { RetryProfile } from './retry-profile.ts';
import type { WorkContext } from './work-context.ts';

export const voiceWorkflows = { performVoiceCall: 'performVoiceCall' } as const;

export interface VoiceWorkflows {
  performVoiceCall(args: PerformVoiceCallArgs): Promise<void>;
}

/** One id per call: Temporal refuses a second start of the same one, whichever process makes it. */
export const voiceCallWorkflowId = (callId: string) => `voice-${callId}`;

/** Every duration of a call is a value, so that tests run a whole retry schedule in seconds. */
export interface VoiceCallPolicy {
  /** Of one attempt. */
  timeoutMs: number;
  heartbeatTimeoutMs: number;
  /** How often a provider is asked in all, while it certainly did no work. */
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

/** References and small values only: texts and recordings stay in PostgreSQL and in the storage. */
export interface PerformVoiceCallArgs extends WorkContext {
  callId: string;
  /** Notification channel of the process whose caller waits for the end. */
  waiter: string | null;
  policy: VoiceCallPolicy;
}

export type VoiceCallEnd = { kind: 'ended' } | { kind: 'failed'; code: string };
