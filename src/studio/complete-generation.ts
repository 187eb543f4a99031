import type { Scope } from '../platform/database/scope.ts';
import { statement } from '../platform/database/sql.ts';
import type { GenerationRequest } from '../providers/core/media/requests.ts';
import type { MadeMedia } from '../providers/index.ts';
import type { Files, SignedUrls, StoredFile } from '../storage/index.ts';
import type { JobRef } from '../temporal/contracts/jobs.ts';
import { publishEvent } from '../webhooks/index.ts';
import { settledCredits } from './core/credits.ts';
import { videoCompleted } from './core/events.ts';
import { type GenerationJobServices, generationJob } from './job.ts';

export interface EndServices extends GenerationJobServices {
  files: Files;
  signedUrls: SignedUrls;
}

// The input image is no longer needed.
const complete = statement({
  name: 'generation.complete',
  parameters: {
    id: 'uuid',
    file: 'text',
    width: 'int?',
    height: 'int?',
    seconds: 'float8?',
    credits: 'int',
    hasTransparency: 'boolean?',
  },
  row: { input: 'text?' },
  text: `update generation set status = 'completed', file = :file, width = :width, height = :height,
          seconds = :seconds, credits = :credits, has_transparency = :hasTransparency, image_url = null,
          finished_at = clock_timestamp()
    where organization_id = :organizationId and environment = :environment and id = :id and status = 'processing'
   returning image->>'file' as input`,
});

/**
 * Records a finished generation: its row, its file and its charge are one transaction.
 * @returns false when it had ended before; the file is then removed by the sweep, and nothing is charged
 */
export function completeGeneration(
  services: EndServices,
  scope: Scope,
  ref: JobRef,
  { request, stored, made }: { request: GenerationRequest; stored: StoredFile; made: MadeMedia },
): Promise<boolean> {
  const { id } = ref;
  const amount = settledCredits(request, made.seconds);
  const { width = null, height = null } = made.size ?? {};
  return generationJob.end(services, scope, ref, async ({ tx, settleCredits }) => {
    const ended = await tx.one(complete, {
      id,
      file: stored.name,
      width,
      height,
      seconds: made.seconds,
      credits: amount,
      hasTransparency: made.hasTransparency,
    });
    if (!ended) return false;
    await services.files.record(tx, stored);
    if (ended.input !== null) await services.files.remove(tx, [ended.input]);
    await settleCredits(amount);
    if (request.kind === 'video') {
      await publishEvent(tx, videoCompleted, id, {
        videoId: id,
        url: services.signedUrls.sign(stored.name),
        status: 'completed',
        duration: made.seconds!,
        width: width!,
        height: height!,
        creditsUsed: amount,
      });
    }
    return true;
  });
}
