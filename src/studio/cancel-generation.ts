import type { Scope } from '../platform/database/scope.ts';
import { statement } from '../platform/database/sql.ts';
import { typed } from '../platform/database/sql-types.ts';
import type { GenerationRequest } from '../providers/core/media/requests.ts';
import { type Call, type MediaRegistry, mediaModelFor } from '../providers/index.ts';
import { failPoint } from './fail-points.ts';
import { ageMs, type GenerationDetail, getVideo } from './generations.ts';
import { type GenerationJobServices, generationJob } from './job.ts';

const findSubmitted = statement({
  name: 'generation.submitted',
  parameters: { generationId: 'uuid' },
  row: { request: typed<GenerationRequest>('jsonb'), seed: 'float8', upstreamId: 'text', ageMs: 'float8' },
  text: `select request, seed::float8 as seed, upstream_id as "upstreamId", ${ageMs} from generation
    where organization_id = :organizationId and environment = :environment and id = :generationId
      and upstream_id is not null`,
});

/** Asks the provider of a generation, where it has it, to cancel it. @throws ProviderFailure */
export async function cancelAtProvider(
  { media }: { media: MediaRegistry },
  scope: Scope,
  generationId: string,
  call: Pick<Call, 'attempt' | 'signal'>,
): Promise<void> {
  const submitted = await scope.one(findSubmitted, { generationId });
  if (!submitted) return;
  const { upstreamId, ...rest } = submitted;
  const { environment } = scope.tenant;
  const { model } = mediaModelFor(media, environment, rest.request);
  await model.cancel({ id: generationId, image: null, ...rest }, upstreamId, { tenantKey: scope.tenantKey, ...call });
}

/**
 * Cancels a video: the same transaction returns its credits, and later results of its workflow are dropped. A video
 * that has ended stays unchanged.
 * @param id a UUID or `vid_…`
 * @returns the video as it is now
 * @throws AppError not_found
 */
export async function cancelVideo(
  services: GenerationJobServices,
  scope: Scope,
  id: string,
): Promise<GenerationDetail> {
  const video = await getVideo(scope, id);
  if (video.status !== 'processing') return video;
  await generationJob.cancel(services, scope, video.id);
  failPoint('generation.cancelled');
  return getVideo(scope, id);
}
