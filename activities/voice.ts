import type { Database } from '../src/platform/database/database.ts';
import type { Log } from '../src/platform/observability/log.ts';
import type { JobContext, JobEnd } from '../src/temporal/contracts/jobs.ts';
import { voiceJob } from '../src/voice/job.ts';
import { type PerformServices, performCall } from '../src/voice/perform-call.ts';
import { jobActivities } from './activity-context.ts';

interface VoiceActivityServices extends PerformServices {
  database: Database;
  log: Log;
}

export const createVoiceActivities = (services: VoiceActivityServices) => {
  const { attempt, recordCancelled } = jobActivities(voiceJob, services);
  return {
    /** Calls the provider once and records the result. Fails retryably while the provider may be called again. */
    performVoiceCall: (ref: JobContext): Promise<JobEnd> =>
      attempt(ref, (scope, call) => performCall(services, scope, ref, call)),

    recordVoiceCallCancelled: recordCancelled,
  };
};

export type VoiceActivities = ReturnType<typeof createVoiceActivities>;
