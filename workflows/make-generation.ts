import {
  condition,
  defineSignal,
  patched,
  proxyLocalActivities,
  setCurrentDetails,
  setHandler,
  setWorkflowOptions,
} from '@temporalio/workflow';
import type { GenerationActivities } from '../activities/generations.ts';
import type { JobContext, JobEnd } from '../src/temporal/contracts/jobs.ts';
import {
  type GenerationPolicy,
  type GenerationProgress,
  generationContract,
  generationMessages,
  type MakeGenerationArgs,
} from '../src/temporal/contracts/studio.ts';
import { orElse } from './activity-calls.ts';
import { jobActivities, runJob } from './job.ts';

/** One attempt, in a local activity, which needs no task of its own. @returns undefined when it is to be made as any other */
async function advanceLocally(ref: JobContext, policy: GenerationPolicy): Promise<GenerationProgress | undefined> {
  const local = proxyLocalActivities<GenerationActivities>({
    startToCloseTimeout: policy.instantMs,
    retry: { maximumAttempts: 1 },
  });
  const { maximumAttempts: maxAttempts } = policy.retry;
  return orElse(local.advanceGeneration({ ...ref, maxAttempts }), () => undefined);
}

const providerReported = defineSignal(generationMessages.providerReported);

/** The reason why a generation waits, in one line. */
function waitsFor(progress: Extract<GenerationProgress, { ms: number }>): string {
  const until = new Date(Date.now() + progress.ms).toISOString().slice(0, 19);
  if (progress.kind === 'image') {
    return `Waits for a slot to fetch its image, and tries again at ${until}Z. Cancel to give the credits back.`;
  }
  const { kind, provider, percent, withoutFile } = progress;
  if (withoutFile !== undefined) {
    return `${provider} finished the job without a usable file. Looks again at ${until}Z. Cancel to give the credits back.`;
  }
  return kind === 'lost'
    ? `${provider} did not confirm that it took the job. Waits until ${until}Z for its report. Cancel to give the credits back.`
    : `Waits for ${provider} (${percent} %), and asks again at ${until}Z. Cancel to give the credits back.`;
}

/** One generation of Studio. While its provider works it waits here, and holds no worker. */
export async function makeGeneration({ policy, instant, ...ref }: MakeGenerationArgs): Promise<void> {
  const activities = jobActivities<GenerationActivities>(policy);
  const { maximumAttempts: maxAttempts } = policy.retry;
  let reported = false;
  setHandler(
    providerReported,
    () => {
      reported = true;
    },
    { description: 'Ask the provider now, and not only when the time has come.' },
  );
  // Workers of the version before this patch do not know of it.
  let isInstant = instant === true && patched('instant');
  let withoutFile = 0;
  const advance = async () => {
    const made = isInstant ? await advanceLocally(ref, policy) : undefined;
    isInstant = false;
    return made ?? activities.advanceGeneration({ ...ref, maxAttempts, withoutFile });
  };
  const work = async (): Promise<JobEnd> => {
    for (;;) {
      setCurrentDetails('Calls its provider, or makes and stores the file.');
      reported = false;
      const progress = await advance();
      if (progress.kind === 'ended' || progress.kind === 'failed') return progress;
      if (progress.kind === 'wait') withoutFile = progress.withoutFile ?? withoutFile;
      setCurrentDetails(waitsFor(progress));
      // A file that is not ready needs its time, even if its provider or its caller asks for it.
      const needsTime = 'withoutFile' in progress;
      await condition(() => reported && !needsTime, progress.ms);
    }
  };
  await runJob(generationContract, ref, {
    work,
    recordCancelled: () => activities.recordGenerationCancelled(ref),
    cancelling: 'Is being cancelled: its credits are given back, and its provider is notified.',
  });
}
// A video waits for half an hour, and workers of an earlier version may have ended by then.
setWorkflowOptions({ versioningBehavior: 'AUTO_UPGRADE' }, makeGeneration);
